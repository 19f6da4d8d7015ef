#!/usr/bin/env bash
# Who may read a lake: its owner alone, wherever its content lies; or a group that shares it.
. "$(dirname "$0")/tap.sh"

umask 022
# What others could read or write below these directories.
open_to_others() { find "$@" ! -type l -perm /077 -printf '%M %p\n' | sort; }
small=(--cpus 0.5 --memory 256)

# ---- private ----
mkdir in
echo small >in/small
head -c 300000 /dev/urandom >in/large
printf '#!/bin/sh\necho hi\n' >in/script
chmod 755 in/script
check "a lake is begun" "$TRADEWIND" put in /data/ --set s
check "a catalog" "$TRADEWIND" catalog export exported
check "is imported" "$TRADEWIND" catalog import exported
is "$(stat -c %a exported/offers.csv)" 644 "and what was exported is the user's"
check "with a session" "$TRADEWIND" session begin /data/later --size 3
cat >p.yaml <<'YAML'
name: p
inputs: [{from: in, size: 1KB, place: local}]
outputs: {o: 0.001}
estimate: {seconds: 5}
secrets: {TOKEN: null}
run: |
  find "$PWD" ! -type l -perm /077 -printf '%M %p\n' >"$TRADEWIND_OUTPUT/o/open"
  find .. ! -type l -perm /077 -printf '%M %p\n' >>"$TRADEWIND_OUTPUT/o/open"
  echo made >"$TRADEWIND_OUTPUT/o/made"
  stat -c %a "$TRADEWIND_OUTPUT/o/made" "$TRADEWIND_INPUT"/*/small >"$TRADEWIND_OUTPUT/o/modes" || true
YAML
TOKEN=hush-hush check "a run" "$TRADEWIND" run p.yaml --yes
check "a failed job with a checkpoint" sh -c '! "$TRADEWIND" job submit --wait --checkpoint 1h "$@" -- \
    sh -c "echo x >\$TRADEWIND_CHECKPOINT/x; exit 3"' sh "${small[@]}"
check "a sweep" "$TRADEWIND" sweep sw "${small[@]}" -- sh -c 'echo {n=1,2}'
check "a profile" "$TRADEWIND" profile pr --cpus 0.5 --mems 256 -- sh -c 'sleep 0.0$2' sh --n '{1,2,3,4}'
is "$(open_to_others "$TRADEWIND_HOME")" "" "nothing in the home can be read by others"
is "$("$TRADEWIND" cat /p.p/o/open)" "" "nor in the directory of a job"
is "$(stat -c %a "$TRADEWIND_HOME" "$TRADEWIND_HOME"/lake.db "$TRADEWIND_HOME"/objects | tr '\n' ' ')" \
    "700 600 700 " "the home, its database and its store"
check "get" "$TRADEWIND" get /data/ out
is "$(find out -type f -printf '%m %f\n' | sort)" "$(find in -type f -printf '%m %f\n' | sort)" \
    "what get writes has the user's umask"
(umask 027 && "$TRADEWIND" get /data/in/small kept >/dev/null)
is "$(find kept -type f -printf %m)" 640 "whatever it is"
check "a store elsewhere" env TRADEWIND_HOME="$scratch/far" "$TRADEWIND" init --store "dir:$scratch/store"
TRADEWIND_HOME=$scratch/far check "has content" "$TRADEWIND" put in /data/
is "$(open_to_others far store)" "" "it is private, too"

# ---- doctor and fsck ----
modes_of() { "$TRADEWIND" doctor --json | json '[(c["verdict"], c["fix"]) for c in d["checks"] if c["check"] == "modes"]'; }
contains "$(modes_of)" "'ok'" "doctor finds that in order"
blob=$(find "$TRADEWIND_HOME/objects" -type f | head -1)
chmod 755 "$TRADEWIND_HOME/objects"
chmod 644 "$blob" "$TRADEWIND_HOME/lake.db"
is "$(modes_of)" "[('warning', '\`tradewind fsck --fix-modes\`')]" "an older lake is open, and doctor says so"
run fsck
is "$code" 0 "fsck alone changes nothing"
is "$(stat -c %a "$blob")" 644 "of that"
run fsck --fix-modes
is "$code" 0 "fsck --fix-modes $err"
# The log files of an open database have its mode: they count where no broker had them open before.
check "says what it did" grep -q '^[35] files and directories that others could read or write are closed to them.$' <<<"$out"
is "$(open_to_others "$TRADEWIND_HOME")" "" "and does it"
is "$("$TRADEWIND" fsck --fix-modes --json | json 'd["modes_fixed"]')" 0 "once"

# ---- shared ----
fails 2 'there is no group "no-such-group"; see' init --shared no-such-group
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    skip "two users of a group" "needs root and setpriv"
else
    "$TRADEWIND" broker --stop
    # Two users without names would do; a group needs one.
    group=$(getent group users | cut -d: -f1)
    gid=$(getent group users | cut -d: -f3)
    chmod 711 "$scratch"
    lab=$scratch/lab
    mkdir "$lab"
    cp -r in "$lab/in"
    chmod -R a+rX "$lab"
    install -d -o 61001 -g "$gid" -m 755 "$lab/home-of-ann"
    as() { # UID, GROUPS, command
        local uid=$1 groups=$2
        shift 2
        (umask 022 && cd "$lab" && HOME=/nonexistent TRADEWIND_HOME=$lab/home-of-ann/lake setpriv \
            --reuid "$uid" --regid "$uid" --groups "$groups" --inh-caps=-all "$@")
    }
    program=$lab/tradewind
    install -m 755 "$TRADEWIND" "$program"
    install -m 755 "$(dirname "$TRADEWIND")/tradewind-agent" "$lab/tradewind-agent"
    ann() { as 61001 "$gid" "$program" "$@"; }
    bob() { as 61002 "$gid" "$program" "$@"; }
    eve() { as 61003 61003 "$program" "$@"; }
    check "ann shares a lake with her group" ann init --shared "$group"
    check "puts a set" ann put in /data/ --set s
    check "bob sees it" bob ls /data/in
    is "$(bob cat /data/in/small)" small "reads it"
    echo of bob >"$lab/in/small"
    check "puts a version of his own" bob put in /data/ --set s
    is "$(ann cat /data/in/small)" "of bob" "which ann reads"
    check "ann puts more" ann put in/large /more/
    check "bob tags, finds" bob tag /data/in/small who=bob
    is "$(ann find who=bob --json | json '[f["ref"] for f in d]')" "['/data/in/small#2']" "what ann finds"
    check "bob gets what ann stored" cmp <(bob cat /more/large) "$lab/in/large"
    check "bob removes" bob rm /more/large
    check "and collects what is left" bob gc --yes
    check "ann puts after that" ann put in/large /again/
    check "bob verifies all of it" bob fsck
    contains "$(ann doctor --json | json '[c["found"] for c in d["checks"] if c["check"] == "modes"]')" \
        "the group that shares them alone" "doctor knows that it is shared"
    is "$(find "$lab/home-of-ann/lake" ! -type l -perm /007 -printf '%M %p\n')" "" "others are left out"
    check "eve cannot" sh -c '! "$@"' sh setpriv --reuid 61003 --regid 61003 --groups 61003 \
        env TRADEWIND_HOME="$lab/home-of-ann/lake" "$program" ls /data/in
    said=$(bob job submit -- true 2>&1)
    is $? 4 "jobs are the owner's alone: they run as that user"
    contains "$said" "lake is shared by a group, and its jobs run as its owner" "which the error says"
    is "$(ann job ls --all --json | json 'len(d)')" 0 "nothing is queued"
    check "ann's do run" ann job submit --wait "${small[@]}" -- true
    is "$(find "$lab/home-of-ann/lake/jobs" ! -type l -perm /077 -printf '%M %p\n')" "" \
        "in directories that the group cannot read"
    ann broker --stop
fi
done_testing
