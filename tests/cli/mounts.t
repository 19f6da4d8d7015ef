#!/usr/bin/env bash
# file_mounts: at their paths when the stage runs, as private copies, part of what decides reuse; and
# refused before the run where bubblewrap cannot make them.
. "$(dirname "$0")/tap.sh"

bwrap --dev-bind / / true 2>/dev/null || skip_all "bubblewrap cannot make mounts here"
export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30 HOME=$scratch/user
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
mkdir -p user d/sub code
echo kept >user/own
echo one >d/f
echo deep >d/sub/g
echo 'cat used.txt' >code/go.sh
echo used >code/used.txt
echo unused >code/unused.txt
place=/tradewind-mount-$$
agent=${TRADEWIND_BUILD:-$root/build}/tradewind-agent
[[ -x $agent ]] || agent=$(dirname "$TRADEWIND")/tradewind-agent

cat >p.yaml <<YAML
name: p
workdir: code
file_mounts: {$place/new/data: ./d, ~/models: ./d/sub, below/file: ./d/f}
outputs: {o: 0.001}
estimate: {seconds: 30}
run: |
  set -e
  cat $place/new/data/f $place/new/data/sub/g ~/models/g below/file ~/own >"\$TRADEWIND_OUTPUT/o/all"
  sh go.sh
  echo changed >$place/new/data/f
  echo more >$place/new/data/more
YAML
check "a stage with mounts runs" "$TRADEWIND" run p.yaml --yes >run.txt 2>&1
is "$("$TRADEWIND" cat /p.p/o/all)" "one
deep
deep
one
kept" "each is at its path, and what was there before still is"
is "$(cat d/f; ls d)" "one
f
sub" "what the stage writes there does not change the source"
check "nothing is made on the machine" test ! -e "$place" -a ! -e user/models
contains "$("$TRADEWIND" job show 1)" "$place/new/data" "job show lists them"

# Reuse.
stage_state() { "$TRADEWIND" run show "$1" --json | json 'd["stages"][0]["state"]'; }
again() { "$TRADEWIND" run p.yaml --yes >run.txt 2>&1; }
again
is "$(stage_state 2)" reused "the same data: reused"
echo unused more >>code/unused.txt
again
is "$(stage_state 3)" reused "code that the stage did not use: still learned under bubblewrap"
echo used more >>code/used.txt
again
is "$(stage_state 4)" finished "code that it used: runs"
echo two >d/f
again
is "$(stage_state 5)" finished "other data in a mount: runs"
sed -i "s|$place/new|$place/other|g" p.yaml
again
is "$(stage_state 6)" finished "another path: runs"
sed -i "/^file_mounts/s|below/file|also: ./d/f, below/file|" p.yaml
again
is "$(stage_state 7)" finished "one more: runs"
contains "$(cat run.txt)" "mount also is new" "and says so"

# One in another, and one that lies in a list.
cat >nested.yaml <<YAML
name: nested
file_mounts: {$place/: ./d, ~/x: ./d, ~/x/inner/: ./d/sub, $place/sub/list: {source: [./d/f, d/sub]}}
outputs: {o: 0.001}
estimate: {seconds: 30}
run: |
  cat ~/x/f ~/x/inner/g $place/sub/list/f $place/sub/list/sub/g $place/sub/g >"\$TRADEWIND_OUTPUT/o/all"
YAML
check "nested mounts" "$TRADEWIND" run nested.yaml --yes >run.txt 2>&1
is "$("$TRADEWIND" cat /nested.nested/o/all | paste -sd' ')" "two deep two deep deep" "have their data"

# SIGTERM reaches the command, and its end is its own.
cat >slow.yaml <<YAML
name: slow
file_mounts: {$place: ./d}
estimate: {seconds: 30}
run: |
  trap 'echo got it; exit 0' TERM
  echo ready
  sleep 100 & wait
YAML
"$TRADEWIND" run slow.yaml --yes >slow.txt 2>&1 &
running=$!
job=
for _ in $(seq 300); do
    job=$("$TRADEWIND" job ls --json | json '[j["id"] for j in d if j["name"] == "slow"][0]' 2>/dev/null)
    [ -n "$job" ] && "$TRADEWIND" job logs "$job" 2>/dev/null | grep -q ready && break
    sleep 0.1
done
"$TRADEWIND" job kill "$job" >/dev/null
wait "$running"
contains "$("$TRADEWIND" job logs "$job")" "got it" "SIGTERM reaches a command with mounts"

# A job of a user who is not root.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups \
    bwrap --dev-bind / / true 2>/dev/null; then
    mkdir nobody
    cp -r d nobody/
    printf 'name: u\nfile_mounts: {%s: ./d}\noutputs: {o: 0.001}\nestimate: {seconds: 30}
run: cat %s/f >"$TRADEWIND_OUTPUT/o/f"; echo x >%s/new\n' "$place" "$place" "$place" >nobody/u.yaml
    chmod 755 "$scratch"
    chown -R 65534:65534 nobody
    user() { (cd nobody && TRADEWIND_HOME=$scratch/nobody/home HOME=$scratch/nobody \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$TRADEWIND" "$@"); }
    check "a user without rights gets mounts, too" user run u.yaml --yes >user.txt 2>&1
    is "$(user cat /u.u/o/f)" two "with their data"
    user broker --stop >/dev/null 2>&1
else
    skip "a user without rights gets mounts, too" "no user namespaces"
fi

# What lies outside the directory of the pipeline is shown before the question.
mkdir -p far/away near
echo secret >far/away/key
echo table >far/table
echo here >near/own
ln -s ../far/away/key near/link
cat >near/out.yaml <<YAML
name: out
inputs: [$scratch/far/table]
file_mounts: {$place: ../far/away, ~/key: ./link, ~/own: ./own}
outputs: {o: 0.001}
estimate: {seconds: 30}
run: cat $place/key ~/key ~/own >"\$TRADEWIND_OUTPUT/o/all"
YAML
far=$(realpath far)
"$TRADEWIND" run near/out.yaml <<<no >asked.txt 2>&1
is "$(grep ' reads ' asked.txt)" "Stage out reads $far/table.
Stage out reads $far/away, which it finds at $place.
Stage out reads $far/away/key, which it finds at ~/key." \
    "what lies outside the pipeline's directory is shown, behind links, too, and nothing else"
check "before the question" grep -q "to confirm the plan on" asked.txt
cat near/out.yaml asked.txt | sed 's/^/# /' >shown.txt

# Refused before the run.
mkdir bin
for program in bash sh env cat sleep git mktemp rm true; do ln -s "$(command -v $program)" bin/; done
"$TRADEWIND" broker --stop >/dev/null 2>&1
runs=$("$TRADEWIND" run ls --json | json 'len(d)')
without() { # what the error says, name: with the programs in bin alone
    local path=$PATH
    PATH=$scratch/bin
    run run p.yaml --yes
    PATH=$path
    check "$2" failed_as 5 "$1" || printf '# %s\n' "$code" "$out" "$err"
}
without "p.yaml:1: stage p: file_mounts need bubblewrap, which is not installed on this machine" \
    "without bubblewrap it is refused"
# On another machine the agent finds out, before the command starts.
told() { # what its state says, name
    rm -rf there
    mkdir -p there/1/input/p
    echo x >there/1/input/p/f
    printf 'tradewind-job 1\nid 1\ncommand echo\ncommand started\nmount p/f\t/tw-none\n' >there/1/job
    PATH=$scratch/bin "$agent" run "$scratch/there/1" >/dev/null
    contains "$(cat there/1/state)" "cause=no-start text=it could not be started: $1" "$2"
    is "$(cat there/1/log)" "" "and the command was not started"
}
told "file_mounts need bubblewrap, which is not installed on this machine" "the agent refuses it"
printf '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n' >bin/bwrap
chmod +x bin/bwrap
without "cannot make mounts on this machine: bwrap: No permissions" "one that cannot make mounts"
told "file_mounts need bubblewrap, and it cannot make mounts on this machine: bwrap: No perm" "likewise"
refused() { # file, what the last line says
    run run "$1" --yes
    check "$1 is refused" test "$code:$out" = "2:"
    contains "$err" "tradewind: $2" "and says why"
}
printf 'name: b\nfile_mounts: {/out: {name: bucket, store: s3}}\nrun: "true"\n' >bucket.yaml
refused bucket.yaml "bucket.yaml:2: stage b: file_mounts: /out has no source"
printf 'name: g\nfile_mounts: {/out: ./gone}\nrun: "true"\n' >gone.yaml
refused gone.yaml "gone.yaml:2: stage g: file_mounts: /out: ./gone: No such file"
mkdir empty
printf 'name: e\nfile_mounts: {/out: ./empty}\nrun: "true"\n' >empty.yaml
refused empty.yaml "empty.yaml:2: stage e: file_mounts: /out: ./empty is an empty directory"
is "$("$TRADEWIND" run ls --json | json 'len(d)')" "$runs" "and none of them becomes a run"
for path in / .. /a/../b '~' ; do
    printf 'name: t\nfile_mounts: {"%s": ./d}\nrun: "true"\n' "$path" >t.yaml
    fails 2 "is not a path where something can be mounted" plan t.yaml
done

# --check warns about what is not carried out.
cat >check.yaml <<'YAML'
name: check
resources: {disk_tier: best, ports: [80], labels: {a: b}, autostop: true}
file_mounts:
  /a: {source: ./d, name: n, store: s3, mode: MOUNT, persistent: true}
  /b: {source: ./d, mode: COPY}
  /c: {name: empty}
outputs: {"s3://bucket/o": 1}
run: "true"
YAML
"$TRADEWIND" plan check.yaml --check >check.txt 2>&1
for field in disk_tier ports labels autostop; do
    contains "$(cat check.txt)" "check.yaml:2: warning: stage check: resources.$field: " "$field"
done
for field in name store mode persistent; do
    contains "$(cat check.txt)" "check.yaml:4: warning: stage check: file_mounts./a.$field: " "$field"
done
lacks "$(cat check.txt)" "check.yaml:5:" "a copy is carried out"
contains "$(cat check.txt)" "check.yaml:6: warning: stage check: file_mounts./c: has no source" \
    "a mount without source"
contains "$(cat check.txt)" "check.yaml:7: warning: stage check: outputs.s3://bucket/o: is planned, but a run refuses it" \
    "an output at an address"
# ---- a file that would steer the terminal ----
printf 'name: m\nrun: x\nfile_mounts: {"/d\\e[2J\\e]0;t\\a/..": ./in}\nenvs: {"A\\e[31m": 1}\n' >steer.yaml
fails 2 'file_mounts./d?[2J?]0;t?/..: is not a path where something can be mounted' plan steer.yaml
run plan --check steer.yaml
contains "$out" 'envs.A?[31m: is not a variable name' "findings are shown without what steers a terminal"
lacks "$out$err" $'\e' "no escape sequence comes through"
fails 2 'no?[31m.yaml: No such file' plan $'no\e[31m.yaml'

done_testing
