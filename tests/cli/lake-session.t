#!/usr/bin/env bash
# session begin, status, put, finish, abort
. "$(dirname "$0")/tap.sh"

printf 'alpha' >a
head -c 2500000 /dev/urandom >b
printf 'other' >c
sha_a=$(sha256sum <a | cut -d ' ' -f 1)
sha_b=$(sha256sum <b | cut -d ' ' -f 1)

# ---- the course of one ----

run session begin /up/b /up/a --set Up --tag k=v --json
is "$(json 'd["session"], d["state"], d["set"], [(f["path"], f["state"], f["version"]) for f in d["files"]]' <<<"$out")" \
    "1 pending Up [('/up/b', 'pending', None), ('/up/a', 'pending', None)]" "begin"
is "$(json '[f["object"] for f in d["files"]]' <<<"$out")" "['1-t-0', '1-t-1']" "each has an upload target"
run session put 1 a /up/a
check "a file arrives" test "$code" = 0
fails 2 "/up/b (has not arrived)" session finish 1
is "$("$TRADEWIND" ls -r / --json)" "[]" "nothing has a number before all is there"
check "the other arrives" "$TRADEWIND" session put 1 b /up/b >/dev/null
is "$("$TRADEWIND" session status 1 --json | json '[(f["state"], f["size_bytes"], f["sha256"]) for f in d["files"]]')" \
    "[('arrived', 2500000, '$sha_b'), ('arrived', 5, '$sha_a')]" "status tells length and digest"
run session finish 1 --json
is "$(json 'd["state"], [(f["path"], f["version"], f["state"]) for f in d["files"]]' <<<"$out")" \
    "committed [('/up/b', 1, 'committed'), ('/up/a', 1, 'committed')]" "finish, in the order of the request"
first=$out
run session finish 1 --json
is "$out" "$first" "finish again: the same answer"
check "the content is there" cmp b <("$TRADEWIND" cat /up/b@Up:1)
fails 2 "committed" session abort 1
fails 2 "committed" session put 1 a /up/a
run session status
contains "$out" "No sessions" "none is pending"

# ---- announced length and digest ----

run session begin /an --size 5 --sha256 "$sha_a" --json
check "announced" test "$code" = 0
fails 2 "2500000 bytes, 5 were announced" session put 2 b /an
fails 2 "was announced" session put 2 c /an
check "as announced" "$TRADEWIND" session put 2 a /an >/dev/null
check "finish" "$TRADEWIND" session finish 2 >/dev/null
echo '[{"path": "/from/1", "size_bytes": 5, "sha256": "'"$sha_a"'"}, {"path": "/from/2"}]' >list.json
is "$("$TRADEWIND" session begin --from list.json --json | json '[(f["path"], f["size_bytes"]) for f in d["files"]]')" \
    "[('/from/1', 5), ('/from/2', None)]" "a list in JSON"
is "$("$TRADEWIND" session begin --from - --json <list.json | json 'd["session"]')" 4 "from standard input"
check "standard input for a file" "$TRADEWIND" session put 4 - /from/2 <c >/dev/null

# ---- abort ----

"$TRADEWIND" session put 3 a /from/1 >/dev/null
run session abort 3
contains "$out" "aborted" "abort"
check "again is fine" "$TRADEWIND" session abort 3 >/dev/null
fails 2 "aborted" session finish 3
fails 2 "aborted" session put 3 a /from/1
is "$("$TRADEWIND" cat /an)" alpha "content that others use stays"
run session begin /big
"$TRADEWIND" session put 5 b /big >/dev/null
head -c 2500000 /dev/urandom >d
"$TRADEWIND" session put 5 d /big >/dev/null
is "$(find "$TRADEWIND_HOME/objects" -size +2000k | wc -l)" 2 "two large contents are stored"
"$TRADEWIND" session abort 5 >/dev/null
"$TRADEWIND" session abort 4 >/dev/null
is "$(find "$TRADEWIND_HOME/objects" -size +2000k | wc -l)" 1 "the one only the session had is gone"
check "the other one is whole" cmp b <("$TRADEWIND" cat /up/b)

# ---- time ----

run session begin /short --expires 1s --json
sleep 1.2
fails 2 "expired" session finish 6
fails 2 "expired" session put 6 a /short
is "$("$TRADEWIND" session status 6 --json | json 'd["state"]')" expired "status says so"

# ---- kill -9 at any point: the session is as it was ----

run session begin /k/a /k/b --json
id=$(json 'd["session"]' <<<"$out")
for n in 1 2 3; do
    "$TRADEWIND" session put "$id" b /k/b >/dev/null 2>&1 &
    put=$!
    sleep "0.00$n"
    kill -9 $put 2>/dev/null
    wait $put 2>/dev/null
done
"$TRADEWIND" session put "$id" b /k/b >/dev/null
"$TRADEWIND" session put "$id" a /k/a >/dev/null
"$TRADEWIND" session finish "$id" >/dev/null 2>&1 &
finish=$!
sleep 0.004
kill -9 $finish 2>/dev/null
wait $finish 2>/dev/null
is "$("$TRADEWIND" session finish "$id" --json | json '[(f["path"], f["version"]) for f in d["files"]]')" \
    "[('/k/a', 1), ('/k/b', 1)]" "finish after kill -9: one version each"

# ---- refusals ----

fails 2 "must be a whole number" session finish x
fails 3 "no session 99" session finish 99
fails 3 "no session 99" session status 99
fails 2 "named twice" session begin /x /x
fails 2 "/s/d/e cannot be put beside /s/d, which is a file" session begin /s/d/e '/s/d!' /s/d
fails 2 "/up/a/x cannot be put: /up/a is a file" session begin /up/c /up/a/x
fails 2 "/up cannot be put: it is a directory" session begin /up
fails 2 "" session begin x
fails 2 "name the paths" session begin
fails 2 "for one path" session begin /x /y --size 3
fails 2 "from excludes paths" session begin /x --from list.json
fails 2 "--size 1.5: must be a whole number" session begin /x --size 1.5
fails 2 "sha256" session begin /x --sha256 abc
fails 3 "no-list" session begin --from no-list
echo '{}' >wrong.json
fails 2 "an array" session begin --from wrong.json
echo '[{"path": 3}]' >wrong.json
fails 2 "element 0" session begin --from wrong.json
fails 5 "has no URLs for other programs" session begin /x --urls --json
is "$("$TRADEWIND" session status --json | json 'sum(s["state"] == "pending" for s in d)')" 0 "none of these has begun one"
done_testing
