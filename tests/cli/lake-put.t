#!/usr/bin/env bash
# put, get and cat: the forms of cp -r, versions, order, interruptions
. "$(dirname "$0")/tap.sh"

sha() {
    sha256sum <"$1" | cut -d ' ' -f 1
}

# ---- the forms of cp -r: what get brings back is what cp -r makes ----

mkdir -p tree/sub/deep tree/empty other
printf 'one' >tree/a
printf 'two' >tree/sub/b
printf '' >tree/sub/deep/nothing
printf 'x' >'tree/with space'
printf 'x1' >'tree/ha#sh'
printf 'x2' >'tree/co:lon:2'
printf 'x3' >'tree/at@sign'
printf 'x4' >'tree/per%23cent'
printf 'x5' >'tree/ünïcode'
printf 'x6' >'tree/-dash'
printf 'run' >tree/sub/run.sh
chmod 755 tree/sub/run.sh
head -c $((1024 * 1024 - 1)) /dev/urandom >tree/below
head -c $((1024 * 1024)) /dev/urandom >tree/at
head -c $((1024 * 1024 + 1)) /dev/urandom >tree/above
printf 'c' >other/c
ln -s ../a tree/sub/link

# as_cp DESTINATION SOURCE...: put and cp -r make the same; directories without files do not count,
# and links to files are followed
as_cp() {
    local destination=$1 name
    shift
    name="put $* $destination is cp -rL"
    rm -rf cp back "$TRADEWIND_HOME"
    mkdir -p cp
    if [[ $destination == */ ]]; then mkdir -p "cp$destination"; else mkdir -p "cp${destination%/*}"; fi
    cp -rL "$@" "cp$destination"
    find cp -type d -empty -delete
    run put "$@" "$destination"
    check "$name: exit 0" test "$code" = 0 || echo "# $err"
    run get / back
    check "$name: get brings it back" diff -r cp back
}
as_cp /x/ tree
as_cp /x/ tree/
as_cp /x tree
as_cp /x/ tree/.
as_cp /x tree/a
as_cp /x/y/z tree/a
as_cp /x/ tree/a other tree/sub
as_cp / tree
as_cp /x/ other/../tree/sub/..
check "the executable bit comes back" test -x back/x/sub/run.sh
check "and no other file has one" test ! -x back/x/a

# ---- versions, order, JSON ----

rm -rf "$TRADEWIND_HOME"
is "$("$TRADEWIND" put --json other/c tree/a tree/sub/b /v/ | json '[(f["path"], f["version"], f["size_bytes"], f["unchanged"]) for f in d]')" \
    "[('/v/c', 1, 1, False), ('/v/a', 1, 3, False), ('/v/b', 1, 3, False)]" "the order of the request"
is "$("$TRADEWIND" put --json tree/a /v/ | json '[(f["version"], f["unchanged"], f["sha256"]) for f in d]')" \
    "[(1, True, '$(sha tree/a)')]" "unchanged content makes no version"
is "$("$TRADEWIND" put --force --json tree/a /v/ | json 'd[0]["version"]')" 2 "unless --force"
printf 'three' >tree/a
run put tree/a /v/
contains "$out" "/v/a#3" "the next version, for people"
is "$("$TRADEWIND" cat /v/a#1)" one "the old version is as it was"
is "$("$TRADEWIND" cat /v/a)" three "the latest without a number"
run put tree/a /v/
contains "$out" unchanged "unchanged is said"
for text in first second third; do
    printf '%s' $text >again
    "$TRADEWIND" put again /v/again >/dev/null
done
"$TRADEWIND" rm '/v/again#3' >/dev/null
printf 'second' >again
is "$("$TRADEWIND" put --json again /v/again | json '[(f["version"], f["unchanged"], f["sha256"]) for f in d]')" \
    "[(2, True, '$(sha again)')]" "unchanged since the newest version that is left: its number is told"
is "$("$TRADEWIND" put --json again /v/again | json '[(f["version"], f["unchanged"]) for f in d]')" \
    "[(2, True)]" "as it is when the file need not be read"
"$TRADEWIND" rm /v/again >/dev/null
printf 'from stdin' | "$TRADEWIND" put - /v/stdin >/dev/null
is "$("$TRADEWIND" cat /v/stdin)" "from stdin" "standard input"
head -c 3000000 /dev/urandom >big
check "a large standard input" "$TRADEWIND" put - /v/big <big >/dev/null
check "comes back" cmp big <("$TRADEWIND" cat /v/big)
run put tree/sub /s/ --set Sub --tag model=BERT --tag stage
contains "$out" "@Sub:1" "a set version is made"
is "$("$TRADEWIND" set show @Sub --json | json '[f["path"] for f in d["files"]]')" \
    "['/s/sub/b', '/s/sub/deep/nothing', '/s/sub/link', '/s/sub/run.sh']" "of all of them"
is "$("$TRADEWIND" put --json tree/empty /none/)" "[]" "a directory without files is no files"

# ---- refusals: nothing changes ----

before=$("$TRADEWIND" ls -r / --json)
fails 3 "no such file" put nowhere /v/
fails 3 "no such file" put tree/a nowhere /v/
fails 2 "end it in '/'" put tree/a other/c /v/x
fails 2 "begin with '/'" put tree/a v/x
fails 2 "would both become /v/c" put other/c other/../other/c /v/
fails 2 "is a file, not a directory" put tree/a /v/a/b
fails 2 "is a directory" put tree/a /v
fails 2 "whole path" put - /v/ </dev/null
fails 2 "must be the only source" put - tree/a /v/ </dev/null
fails 2 "creator" put tree/a /new --tag creator=me
fails 2 "" put tree/a /new --set 'no name'
mkdir bad
printf '' >"bad/$(printf 'a\377b')"
fails 2 "a?b" put bad /v/
mkdir newline
printf '' >newline/$'a\nb'
fails 2 "a?b" put newline /v/
if [[ $EUID != 0 ]]; then
    printf '' >secret
    chmod 0 secret
    fails 4 secret put tree/a secret /v/
fi
is "$("$TRADEWIND" ls -r / --json)" "$before" "nothing of this has changed anything"
is "$("$TRADEWIND" session status --json)" "[]" "nor left a session"

# ---- get ----

run get /v/ out
check "get" test "$code" = 0
printf 'mine' >out/v/a
fails 2 "/v/a" get /v/ out
is "$(cat out/v/a)" mine "a differing file stays"
check "--force overwrites it" "$TRADEWIND" get --force /v/ out >/dev/null
is "$(cat out/v/a)" three "with the lake's content"
is "$("$TRADEWIND" get --json /v/ out | json 'd["files"], d["unchanged"]')" "0 5" \
    "unchanged files are not written"
fails 2 "has no name" put '' /v/nameless
fails 2 "two versions of /v/a" get '/v/a#1' '/v/a#2' out2
check "nothing was written" test ! -e out2
"$TRADEWIND" put tree/a /nest/x >/dev/null
"$TRADEWIND" put tree/a /nest/x-y >/dev/null
"$TRADEWIND" set create Flat /nest/ >/dev/null
"$TRADEWIND" rm -r /nest/ >/dev/null
"$TRADEWIND" put tree/a /nest/x/z >/dev/null
"$TRADEWIND" set create Deep /nest/ >/dev/null
fails 2 "/nest/x/z" get @Flat @Deep out2
check "a file below a file: nothing was written" test ! -e out2
fails 3 "" get /nothing out2
fails 3 "" cat /nothing
fails 2 "not one file" cat /v/
check "several references" "$TRADEWIND" get /v/a#1 @Sub out3 >/dev/null
is "$(cat out3/v/a out3/s/sub/b)" onetwo "come together"
check "links where possible" "$TRADEWIND" get --link /v/ out4 >/dev/null
check "the same content" cmp big out4/v/big

# ---- names that a reference would read otherwise ----

echo marked >marked
run put marked '/mark/a#1'
contains "$out" "/mark/a%231#1" "a '#' in a path is printed so that it can be read"
run put marked '/mark/a%231' --force --json
is "$(json 'd[0]["path"], d[0]["version"]' <<<"$out")" "/mark/a#1 2" "and put reads what is printed"
cp marked 'x%23'
run put 'x%23' /mark/ --json
is "$(json 'd[0]["path"]' <<<"$out")" "/mark/x%23" "names of local files are taken as they are"
run session begin '/mark/s%3A%40%25' --json
is "$(json 'd["files"][0]["path"]' <<<"$out")" "/mark/s:@%" "session begin reads it, too"
session=$(json 'd["session"]' <<<"$out")
check "and session put" "$TRADEWIND" session put "$session" marked '/mark/s%3a%40%25' >/dev/null
"$TRADEWIND" session abort "$session" >/dev/null

# ---- ways out ----

run put marked /mark/ --set @Q
contains "$out" "@Q:1" "--set takes the name of a set with its '@', too"
is "$("$TRADEWIND" session begin /mark/q --set @Q --json | json 'd["set"]')" Q "in session begin as well"
fails 2 "is not a name for a set" put marked /mark/ --set @@Q
fails 2 "has no name" get /mark/ ''
mkdir odd
echo x >odd/$'a\tb'
fails 2 "must be renamed or left out" put odd /mark/
# A disk that is full, as near as everybody can come: no file may be longer than a megabyte.
head -c 1100000 /dev/urandom >over
head -c 1050000 /dev/urandom >over2
"$TRADEWIND" put over over2 /full/ >/dev/null
(
    trap '' XFSZ
    ulimit -f 1024
    "$TRADEWIND" get /full/ full >/dev/null 2>full.err
    echo $? >full.code
)
is "$(<full.code)" 7 "a get that cannot write"
contains "$(<full.err)" "full/full/over: write: File too large" "names the file and the reason"
lacks "$(<full.err)" "damaged" "and does not blame the content"
lacks "$(<full.err)" "over2" "nor goes on with others"

# ---- interruptions ----

mkdir long

store_bytes() {
    du -sb "$TRADEWIND_HOME"/objects/*/large 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# more_files: 40 more, for a put that takes longer
more_files() {
    local had
    had=$(find long -type f | wc -l)
    for ((i = had + 1000; i < had + 1040; i++)); do head -c 4000000 /dev/urandom >long/$i; done
    files=$((had + 40))
}

# stop_put SIGNAL: runs the put and sends the signal when some content is stored; $code is its end.
# A put that was faster than the signal is tried with more files.
stop_put() {
    code=0
    while ((code == 0 && files < 400)); do
        rm -rf "$TRADEWIND_HOME"
        # Whoever runs the tests may have told them to ignore a terminal that goes.
        env --default-signal=HUP "$TRADEWIND" put long /long/ >put.out 2>put.err &
        local put=$!
        while (($(store_bytes) < 12000000)); do
            kill -0 $put 2>/dev/null || break
            sleep 0.005
        done
        kill -"$1" $put 2>/dev/null
        wait $put 2>/dev/null || code=$?
        ((code)) || more_files
    done
}

more_files
stop_put INT
is "$code" 6 "Ctrl-C: exit 6"
contains "$(<put.err)" "run the same put again" "and says how to go on"
is "$("$TRADEWIND" ls -r / --json)" "[]" "nothing has a number yet"
is "$("$TRADEWIND" session status --json | json 'len(d), d[0]["state"], d[0]["n_arrived"] > 0')" \
    "1 pending True" "a session is left"
stored=$(store_bytes)
run put long /long/
contains "$err" "resumed session" "the same put goes on"
check "nothing is stored twice ($stored, then $(store_bytes))" \
    test "$(store_bytes)" -lt $((files * 4000000 + 1500000))
is "$("$TRADEWIND" session status --json)" "[]" "the session is over"
is "$("$TRADEWIND" ls -r / --json | json 'len(d), {f["version"] for f in d}')" "$files {1}" "one version each"
stop_put HUP
is "$code" 6 "a terminal that goes: exit 6"
contains "$(<put.err)" "run the same put again" "and says how to go on"
is "$("$TRADEWIND" session status --json | json '[s["state"] for s in d]')" "['pending']" "a session is left"
stop_put KILL
is "$code" 137 "kill -9"
is "$("$TRADEWIND" ls -r / --json)" "[]" "nothing has a number"
is "$("$TRADEWIND" session status --json | json '[s["state"] for s in d]')" "['pending']" "a session is left"
run put long /long/
contains "$err" "resumed session" "the same put goes on"
rm -rf back
check "and everything is there" "$TRADEWIND" get /long/ back >/dev/null
check "as it should be" diff -r long back/long/long
is "$("$TRADEWIND" session status --json)" "[]" "the session is over"

# ---- several at once ----

rm -rf "$TRADEWIND_HOME"
for i in {1..8}; do
    (for n in {1..3}; do printf '%s' "$i $n" | "$TRADEWIND" put - /one >/dev/null || echo fail >>failed; done) &
done
wait
check "puts from 8 processes to one path all succeed" test ! -e failed
is "$("$TRADEWIND" log /one --json | json 'sorted(f["version"] for f in d) == list(range(1, 25))')" True \
    "24 consecutive versions"
is "$(for n in {1..24}; do "$TRADEWIND" cat "/one#$n"; echo; done | sort -u | wc -l)" 24 "all different"
done_testing
