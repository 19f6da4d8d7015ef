#!/usr/bin/env bash
# Files in the lake: init, ls, log, rm, chmod, chown; names, numbers, races.
. "$(dirname "$0")/tap.sh"

# paths: of the JSON array on stdin, "path#version" each
paths() {
    json '" ".join(f["path"] + ("" if f["version"] is None else "#%d" % f["version"]) for f in d)'
}

# put TEXT PATH: makes a version of one path
put() {
    printf '%s' "$1" | "$TRADEWIND" put - "$2" >/dev/null
}

# ---- init
run init
is "$code" 0 "init"
contains "$out" "dir:$TRADEWIND_HOME/objects" "says where content goes"
is "$(stat -c %a "$TRADEWIND_HOME")" 700 "the home is its owner's"
run init --store "dir:$scratch/elsewhere" --json
is "$(json 'd["store"]' <<<"$out")" "dir:$scratch/elsewhere" "an empty lake takes another store"
is "$("$TRADEWIND" config get store)" "dir:$scratch/elsewhere" "the configuration has it"
run init --store dir:relative
is "$("$TRADEWIND" config get store)" "dir:$scratch/relative" "a path is taken from here"
fails 2 "--endpoint is for a store in a bucket" init --endpoint http://localhost:1
fails 2 "--store" init --store ftp://x
fails 2 "lacks a directory" init --store dir:
run init --store "dir:$TRADEWIND_HOME/objects"
is "$code" 0 "back to where it was"

# ---- ls
is "$("$TRADEWIND" ls)" "" "an empty lake lists nothing"
is "$("$TRADEWIND" ls --json)" "[]" "in JSON as well"
put one /data/train.json
put two /data/train.json
put abc /data/sub/x
put abc /top
is "$("$TRADEWIND" ls)" "/data/
/top" "what stands directly in a directory"
is "$("$TRADEWIND" ls --json /data | paths)" "/data/sub/ /data/train.json#2" "a directory"
is "$("$TRADEWIND" ls -r --json | paths)" "/data/sub/x#1 /data/train.json#2 /top#1" "recursively"
is "$("$TRADEWIND" ls --json '/data/train.json#1' | paths)" "/data/train.json#1" "one version"
is "$("$TRADEWIND" ls --json /data/train.json:1 | paths)" "/data/train.json#1" "with a colon"
# sha256 of "abc": FIPS 180-2, example B.1
is "$("$TRADEWIND" ls --json /top | json '(d[0]["size_bytes"], d[0]["sha256"])')" \
    "(3, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')" "size and digest"
is "$("$TRADEWIND" ls --json /top | json 'd[0]["creator"]')" "$(id -un)" "creator"
is "$("$TRADEWIND" ls --json /top | json \
    '__import__("re").fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d[0]["create_time"]) is not None')" \
    True "time in ISO 8601 with milliseconds"
is "$("$TRADEWIND" ls --json / | json 'sorted(k for k in d[0] if d[0][k] is None)')" \
    "['create_time', 'creator', 'sha256', 'size_bytes', 'version']" "a directory has only its path"
contains "$("$TRADEWIND" ls -l /top)" "rw-rw-rw-  $(id -un)" "permissions and owner"
contains "$("$TRADEWIND" ls -rl)" "#2" "letters joined"
fails 3 "did you mean /data/train.json?" ls /data/trian.json
fails 3 "has no version 7: the newest is 2" ls '/data/train.json#7'
fails 3 "has no version 7: the newest is 2" get '/data/train.json#7' back
fails 3 "has no version 7: the newest is 2" cat '/data/train.json#7'
check "nothing was written" test ! -e back
run get '/data/train.json#*' whole
is "$(cat whole/data/train.json)" "$("$TRADEWIND" cat '/data/train.json#2')" \
    "a file as a whole is its latest version for get"
is "$("$TRADEWIND" cat '/data/train.json#*')" "$("$TRADEWIND" cat '/data/train.json#2')" "and for cat"
fails 2 "is not one file" cat /data/
fails 2 "is not a reference" ls data
fails 3 "there is no job 7" ls job:7

# ---- literal names win over suffixes
put a /t10
put b /t10:30
is "$("$TRADEWIND" ls --json /t10:30 | paths)" "/t10:30#1" "a path that exists literally"
is "$("$TRADEWIND" ls --json /t10%3A30 | paths)" "/t10:30#1" "escaped"
is "$("$TRADEWIND" ls --json /t10:1 | paths)" "/t10#1" "a suffix where it does not"

# ---- log, rm
put three /data/train.json
is "$("$TRADEWIND" log --json /data/train.json | paths)" \
    "/data/train.json#3 /data/train.json#2 /data/train.json#1" "newest first"
run rm '/data/train.json#3'
is "$out" "Removed 1 version." "one version"
is "$("$TRADEWIND" ls --json /data/train.json | paths)" "/data/train.json#2" "the one before shows"
is "$("$TRADEWIND" log --json /data/train.json | json '[f["removed"] for f in d]')" \
    "[True, False, False]" "the log keeps it"
contains "$("$TRADEWIND" log /data/train.json)" "removed" "for people too"
put four /data/train.json
is "$("$TRADEWIND" ls --json /data/train.json | paths)" "/data/train.json#4" "numbers go on"
fails 2 "-r removes everything below" rm /data
fails 3 "there is no file /nowhere" rm /top /nowhere
is "$("$TRADEWIND" ls --json /top | paths)" "/top#1" "nothing happens when one is missing"
run rm -r /data --json
is "$(json 'd["removed_versions"]' <<<"$out")" 4 "a directory: 3 versions of one file, 1 of another"
fails 3 "" ls /data/
is "$("$TRADEWIND" log --json /data/train.json | json 'len(d)')" 4 "removed files have a log"

# all versions one by one, newest first, and the rest at once
for n in 1 2 3; do
    for path in /gone/single /gone/file /gone/tree/x; do
        echo $n | "$TRADEWIND" put - $path --set Gone >/dev/null
    done
done
for ref in '/gone/single#3' '/gone/single#2' '/gone/single#1' '/gone/file#3' /gone/file \
    '/gone/tree/x#3' '/gone/tree/x#2'; do
    "$TRADEWIND" rm "$ref" >/dev/null
done
"$TRADEWIND" rm -r /gone/tree/ >/dev/null
for n in 9 8 7 6 5 4 3 2 1; do
    "$TRADEWIND" rm "@Gone:$n" >/dev/null
done
run fsck
is "$code" 0 "fsck finds nothing wrong with versions that were removed one by one" ||
    printf '%s\n' "$out" | sed 's/^/# /'
echo 4 | "$TRADEWIND" put - /gone/single --set Gone >/dev/null
is "$("$TRADEWIND" set show @Gone:10 --json | json 'd["files"][0]["version"]')" 4 "numbers go on"
"$TRADEWIND" rm @Gone:10 /gone/single >/dev/null

# ---- permissions
run chmod 640 /top
is "$code" 0 "chmod"
contains "$("$TRADEWIND" ls -l /top)" "rw-r-----" "shows"
run chown ann:vision /top
contains "$("$TRADEWIND" ls -l /top)" "ann         vision" "chown"
is "$("$TRADEWIND" ls -l --json /top | json '(d[0]["owner"], d[0]["group"], d[0]["mode"])')" \
    "('ann', 'vision', '640')" "in JSON"
is "$("$TRADEWIND" ls --json /top | json '[k for k in ("owner", "group", "mode") if k in d[0]]')" "[]" \
    "only when asked for"
run chown : /top
is "$("$TRADEWIND" ls -l --json /top | json 'd[0]["group"]')" None "no group"
run chown ann:vision /top
fails 2 "is not a mode" chmod 999 /top
fails 3 "there is no" chmod 600 /nope
fails 2 "no owner" chown '' /top

# ---- files and directories
echo content >file
fails 2 "/top is a file" put file /top/below
fails 2 "empty part" put file '/a//b'
put x /dir/file
fails 2 "/dir cannot be put: it is a directory" put - /dir <file

# ---- the store of a lake with content stays
fails 2 "has its content in dir:objects" init --store "dir:$scratch/elsewhere"
"$TRADEWIND" config set store "dir:$scratch/elsewhere"
fails 2 "config set store dir:objects" ls
"$TRADEWIND" config set store dir:objects
is "$("$TRADEWIND" ls --json /top | paths)" "/top#1" "the way out that it names works"
mv "$TRADEWIND_HOME" "$scratch/moved"
is "$(TRADEWIND_HOME=$scratch/moved "$TRADEWIND" cat /top)" abc "a home may move"
mv "$scratch/moved" "$TRADEWIND_HOME"

# ---- two writers and more racing on one path
for p in 1 2 3 4; do
    for i in 1 2 3 4 5; do
        put "$p $i" /race || echo failed >>failed
    done &
done
wait
check "no put fails" test ! -e failed
is "$("$TRADEWIND" log --json /race | json '[f["version"] for f in d] == list(range(20, 0, -1))')" \
    True "twenty puts have twenty consecutive numbers"

done_testing
