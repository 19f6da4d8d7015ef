#!/usr/bin/env bash
# Sets are made again by their jobs: the same content under the old version, other content as a new
# one that says so; newer input leads to newer output; and what is cheaper to make again is let go.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

job() { # input, output, command
    "$TRADEWIND" job submit --input "$1" --output "$2" --wait -- bash -c "$3" >/dev/null
}
versions() { # of a set
    "$TRADEWIND" set ls "$1" --all --json | json '[s["version"] for s in d]'
}
let_go() { # at a price that makes everything cheaper to make again
    "$TRADEWIND" gc --economic --gb-month 900000000 --horizon 1200 "$@"
}
# The stages of a run in order: name=state.
states() {
    "$TRADEWIND" run show "$1" --json | json '" ".join(s["stage"] + "=" + s["state"] for s in d["stages"])'
}

# ---- a deterministic chain of three ----
mkdir data
printf '1\n2\n3\n' >data/n
"$TRADEWIND" put data / --set numbers >/dev/null
check "the first job" job @numbers squares \
    'while read -r n; do echo $((n * n)); done <"$TRADEWIND_INPUT/data/n" >"$TRADEWIND_OUTPUT/n"'
check "the second" job @squares sums \
    'awk "{ s += \$1; print s }" "$TRADEWIND_INPUT/squares/n" >"$TRADEWIND_OUTPUT/n"'
check "the third" job @sums last 'tail -n 1 "$TRADEWIND_INPUT/sums/n" >"$TRADEWIND_OUTPUT/n"'
# 1 + 4 + 9
is "$("$TRADEWIND" cat /last/n)" 14 "the chain is right"

run replay @last </dev/null
is "$code $err" "2 tradewind: no terminal to confirm the plan on: --yes runs it" \
    "nothing runs unasked"
contains "$out" "1 job to run" "but what would run is said first"
contains "$out" "@last:1" "and what it makes"
run replay @last --yes
is "$code" 0 "replayed while everything is there"
contains "$out" "@last:1 is restored" "it is the same"
is "$(versions last)" "[1]" "and nothing new is made"
is "$("$TRADEWIND" trace @last --cost --json | json 'd["cost"]["jobs"]')" 3 \
    "a replay is no part of what the set cost"

# ---- the content goes, and comes back ----
"$TRADEWIND" alias @sums:1 keep >/dev/null
"$TRADEWIND" pin @squares:1
run gc --economic --gb-month 900000000 --horizon 1200 --json
is "$(json '[(s["set"], s["goes"]) for s in d["sets"]]' <<<"$out")" "[('@last:1', True)]" \
    "what is pinned or has an alias is not weighed"
"$TRADEWIND" pin --remove @squares:1
"$TRADEWIND" alias --remove @sums:keep >/dev/null
run gc --economic
is "$code" 0 "at real prices"
contains "$out" "None is cheaper to recreate" "a few bytes are cheaper to keep"
run gc --economic --gb-month 900000000 --horizon 1200
contains "$out" "Nothing was removed" "a look removes nothing"
is "$("$TRADEWIND" cat /last/n)" 14 "nothing"
check "let go" let_go --yes >/dev/null
fails 3 "the content of 1 file was removed by gc: /last/n; \`tradewind replay @last:1\` makes it \
again" get @last away
is "$(versions last)" "[1]" "the version stays"
check "fsck finds nothing wrong" "$TRADEWIND" fsck >/dev/null
is "$(let_go --json | json 'd["sets"]')" "[]" "nothing is left to let go"
is "$("$TRADEWIND" cat /data/n | tr '\n' ' ')" "1 2 3 " "what no job made stays"
run replay @last --yes --json
is "$code" 0 "replayed"
is "$(tail -n 1 <<<"$out" | json '[(s["recorded"], s["output"], s["same"]) for s in d["sets"]]')" \
    "[('@squares:1', '@squares:1', True), ('@sums:1', '@sums:1', True), ('@last:1', '@last:1', True)]" \
    "all three ran, in order, and gave what they had given"
check "get" "$TRADEWIND" get @last back >/dev/null
is "$(cat back/last/n) $(versions last) $(versions sums) $(versions squares)" "14 [1] [1] [1]" \
    "the content is back under its old version"
check "fsck" "$TRADEWIND" fsck >/dev/null
check "let go of again" let_go --yes >/dev/null
check "and a part of the way replayed" "$TRADEWIND" replay @sums --yes >sums.txt
contains "$(<sums.txt)" "2 jobs to run" "only what it takes"
contains "$(<sums.txt)" "@sums:1 is restored" "it is back"
fails 3 "replay @last:1" get @last away
check "the rest" "$TRADEWIND" replay @last --yes >last.txt
contains "$(<last.txt)" "1 job to run" "with what is there need not run"

# ---- a pipeline's inputs are sets of their own ----
cat >two.yaml <<'EOT'
name: two
---
name: a
outputs: {x: 0.001, y: 0.001}
run: |
  echo x >"$TRADEWIND_OUTPUT/x/f"
  echo y >"$TRADEWIND_OUTPUT/y/f"
---
name: b
needs: a
inputs: [a.x]
outputs: {z: 0.001}
run: tr x z <"$TRADEWIND_INPUT/two.a/x/f" >"$TRADEWIND_OUTPUT/z/f"
EOT
check "a pipeline" "$TRADEWIND" run two.yaml --yes >/dev/null
check "let go of" let_go --yes >/dev/null
fails 3 "replay @two.b:1" get @two.b away
check "its end is replayed" "$TRADEWIND" replay @two.b --yes >two.txt
contains "$(<two.txt)" "2 jobs to run" "by both stages"
is "$(versions two.a) $(versions two.b.input) $(versions two.b) $("$TRADEWIND" cat /two.b/z/f)" \
    "[1] [1] [1] z" "nothing new was made on the way"
check "let go of once more" let_go --yes >/dev/null
check "a run does not count on what is gone" "$TRADEWIND" run two.yaml --yes >/dev/null
is "$(states "$("$TRADEWIND" run ls --json | json 'd[0]["run"]')")" "a=finished b=finished" \
    "but runs its stages"

# ---- one that is not deterministic ----
check "a job that never gives the same" job @numbers random \
    'echo "$RANDOM $$ $(date +%s%N)" >"$TRADEWIND_OUTPUT/n"'
check "and one on top of it" job @random more \
    'rev "$TRADEWIND_INPUT/random/n" >"$TRADEWIND_OUTPUT/n"'
check "both let go of" let_go --yes >/dev/null
check "replayed" "$TRADEWIND" replay @more:1 --yes >more.txt
contains "$(<more.txt)" "@random:2 differs from @random:1" "the first differs"
contains "$(<more.txt)" "@more:2 differs from @more:1" "so does what comes of it"
is "$("$TRADEWIND" find 'kind=set non_deterministic~.' --json |
    json '[(s["ref"], s["meta"]["non_deterministic"]) for s in d]')" \
    "[('@random:2', '@random:1'), ('@more:2', '@more:1')]" "the new versions say so"
is "$("$TRADEWIND" cat /more/n | rev)" "$("$TRADEWIND" cat /random/n)" "the second worked on the first's"
is "$("$TRADEWIND" trace @more:2 --back --hops 1 --json | json '[n["ref"] for n in d["nodes"]]')" \
    "['@more:2', '@random:2']" "and the provenance says that"
is "$(let_go --json | json '[s["set"] for s in d["sets"] if "random" in s["set"] or "more" in s["set"]]')" \
    "[]" "what cannot be made again is not let go"

# ---- newer input ----
printf '10\n20\n' >data/n
"$TRADEWIND" put data / --set numbers >/dev/null
run rerun --from @numbers </dev/null
is "$code" 2 "rerun asks, too"
contains "$out" "5 jobs to run" "everything that came of the older version"
check "rerun" "$TRADEWIND" rerun --from @numbers --yes >rerun.txt
# 100 + 400
is "$("$TRADEWIND" cat /last/n) $(versions last)" "500 [1, 2]" "the outputs are next versions"
is "$("$TRADEWIND" trace @last:2 --back --json | json '[n["ref"] for n in d["nodes"]]')" \
    "['@last:2', '@sums:2', '@squares:2', '@numbers:2']" "made from the newer input alone"
run rerun --from @numbers --yes
is "$code $out" "0 Nothing to run: no job used older versions alone." "once"
check "a pipeline whose data was let go" "$TRADEWIND" run two.yaml --yes >/dev/null
echo xx >f
"$TRADEWIND" put f /two.a/x/f >/dev/null
"$TRADEWIND" set create two.a /two.a/ >/dev/null
check "over the set that a pipeline made of its input" "$TRADEWIND" rerun --from @two.a --yes \
    >/dev/null
is "$(versions two.b) $("$TRADEWIND" trace @two.b --back --hops 2 --json |
    json '[n["ref"] for n in d["nodes"]]')" \
    "[1, 2] ['@two.b:2', '@two.b.input:4', '@two.a:2']" "which is made anew"
is "$("$TRADEWIND" set show @two.b.input --json | json '[f["path"] for f in d["files"]]')" \
    "['/two.a/x/f']" "with the directory that it held, and no other"
"$TRADEWIND" set create two.a @two.a >/dev/null
check "on a version with the same files" "$TRADEWIND" rerun --from @two.a --yes >same.txt
contains "$(<same.txt)" "reproduced @two.b:2" "the same comes out"
is "$(versions two.a) $(versions two.b)" "[1, 2, 3] [1, 2]" "and no version is made"
run rerun --from @two.a --yes
is "$code $out" "0 Nothing to run: no job used older versions alone." "it is up to date"

# ---- bad input ----
fails 2 "is there, and no job made it" replay @numbers
fails 2 "is not a whole set version" replay /data/n
fails 3 "nothing" replay @nothing
fails 2 "--from @SET" rerun
fails 2 "--horizon" gc --economic --horizon 0
fails 2 "--economic" gc --horizon 2
fails 2 "--keep-latest" gc --economic --keep-latest

done_testing
