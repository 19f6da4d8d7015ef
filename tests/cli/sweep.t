#!/bin/bash
# Hyper-parameter search: values, searches, ranks, the best output, and resuming.
. "$(dirname "$0")/tap.sh"

cat >train.sh <<'END'
# train.sh LR STEPS: loss = LR + 1/step; begins where its checkpoint ended.
step=0
[ -f "$TRADEWIND_CHECKPOINT/step" ] && step=$(cat "$TRADEWIND_CHECKPOINT/step") && echo "resumed at $step"
trap 'echo $step >"$TRADEWIND_CHECKPOINT/step"; exit 1' TERM
while [ $step -lt $2 ]; do
    step=$((step + 1))
    echo "[TRADEWIND_METRIC] loss $step $(awk -v l=$1 -v s=$step 'BEGIN { printf "%.6f", l + 1 / s }')"
    sleep 0.05 &
    wait $!
done
echo $1 >"$TRADEWIND_OUTPUT/lr"
END
mkdir code && mv train.sh code

# ---- a grid with a metric ----

check "a grid over a log range" "$TRADEWIND" sweep grid --metric loss --output model -- \
    sh -c 'echo "[TRADEWIND_METRIC] loss 1 $0"; echo $0 >"$TRADEWIND_OUTPUT/lr"' '{lr=log:1e-3..1e-1}' >text 2>progress
contains "$(<progress)" "sweep grid: 3 jobs, 0 finished before, 3 submitted now" "one trial per power of ten"
is "$(awk 'NR > 1 && NF > 5 { print $1, $2, $3, $4 }' text)" $'1 finished 0.001 0.001\n2 finished 0.01 0.01\n3 finished 0.1 0.1' \
    "the least loss is best"
is "$("$TRADEWIND" cat /model/lr@model:best)" 0.001 "@SET:best is the best trial's output"
"$TRADEWIND" sweep show grid --json >out.json
is "$(json "d['metric'], d['goal'], d['search'], [(t['rank'], t['params'], t['value'], t['best'], len(t['jobs'])) for t in d['trials']]" <out.json)" \
    "loss min grid [(1, {'lr': 0.001}, 0.001, True, 1), (2, {'lr': 0.01}, 0.01, False, 1), (3, {'lr': 0.1}, 0.1, False, 1)]" \
    "sweep show --json"
is "$("$TRADEWIND" sweep show grid --csv | cut -d , -f 1,2 | tr '\n' ' ')" "rank,state 1,finished 2,finished 3,finished " "--csv"
is "$("$TRADEWIND" find 'kind=job lr=0.01' | tail -n +2 | wc -l)" 1 "the parameter is recorded"
check "the same with the other goal" "$TRADEWIND" sweep grid --metric loss --goal max --output model -- \
    sh -c 'echo "[TRADEWIND_METRIC] loss 1 $0"; echo $0 >"$TRADEWIND_OUTPUT/lr"' '{lr=log:1e-3..1e-1}' >text 2>progress
contains "$(<progress)" "3 jobs, 3 finished before, 0 submitted now" "runs nothing again"
is "$("$TRADEWIND" cat /model/lr@model:best)" 0.1 "and the best is another"

# ---- random ----

random=("$TRADEWIND" sweep random --search random --json -- true '{lr=log:1e-5..1e-1}' '{layers=2..8}')
"${random[@]}" >/dev/null 2>progress
contains "$(<progress)" "20 jobs" "20 trials where ranges have no end of values"
"$TRADEWIND" sweep random --search random --trials 25 --json -- true '{lr=log:1e-5..1e-1}' '{layers=2..8}' >out.json 2>progress
contains "$(<progress)" "25 jobs, 20 finished before, 5 submitted now" "the same seed makes the same trials, more extend them"
is "$(json "all(1e-5 <= t['params']['lr'] <= 0.1 and 2 <= t['params']['layers'] <= 8 for t in d['trials'])" <out.json)" True \
    "within their ranges"
"$TRADEWIND" sweep random --search random --seed 1 --trials 5 --json -- true '{lr=log:1e-5..1e-1}' '{layers=2..8}' >/dev/null 2>progress
contains "$(<progress)" "5 jobs, 0 finished before, 5 submitted now" "another seed makes others"

# ---- halving ----

# 9 trials: two rungs, at steps 1 and 3; of 9 trials 3 pass the first, of 3 one the second.
halving=("$TRADEWIND" sweep halving --json --search halving --metric loss --output halved --code code -- \
    sh train.sh '{lr=0.9,0.8,0.7,0.1,0.2,0.3,0.4,0.5,0.6}' 40)
check "halving" "${halving[@]}" >out.json 2>progress
is "$(json "d['finished'], d['stopped'], d['jobs_count']" <out.json)" "1 8 9" "one of nine trials finishes"
is "$(json "(lambda t: (t['params']['lr'], t['state'], t['step']))(d['trials'][0])" <out.json)" "(0.1, 'finished', 40.0)" "the best one"
is "$("$TRADEWIND" cat /halved/lr@halved:best)" 0.1 "whose output is @SET:best"
is "$(json "all(t['step'] < 40 for t in d['trials'][1:])" <out.json)" True "the others were stopped early"
jobs=$(json "' '.join(str(j) for t in d['trials'] for j in t['jobs'][1:])" <out.json)
check "some were continued" test -n "$jobs"
for job in $jobs; do "$TRADEWIND" job logs "$job"; done >logs
check "from their checkpoints" grep -q '^resumed at [1-9]' logs
"${halving[@]}" >text 2>progress
contains "$(<progress)" "9 jobs, 1 finished before, 0 submitted now" "the same command has nothing left to do"

# ---- resuming ----

# Killed while trials wait for their turn; the records say where the next command begins.
resumed=("$TRADEWIND" sweep resumed --json --search halving --metric loss --parallel 2 --code code -- \
    sh train.sh '{lr=0.3,0.2,0.1,0.4,0.5,0.6}' 30)
"${resumed[@]}" >/dev/null 2>&1 &
sweep=$!
until "$TRADEWIND" sweep show resumed --json 2>/dev/null | json "len(d['trials'])" 2>/dev/null | grep -q '[3-6]'; do sleep 0.05; done
kill -9 $sweep
wait $sweep 2>/dev/null
"${resumed[@]}" >out.json 2>progress
is "$? $(json "d['finished'], d['stopped'], d['jobs_count'], d['trials'][0]['params']['lr']" <out.json)" "0 2 4 6 0.1" \
    "after kill -9 the same command ends as if nothing had happened: the best 2 of 6 finish"

# ---- limits ----

"$TRADEWIND" config set prices.vcpu_hour 36000 >/dev/null # 10 USD per second
"$TRADEWIND" sweep dear --max-cost 3 --parallel 1 --json -- sh -c 'sleep 0.2' x '{n=1..50}' >out.json 2>progress
is $? 1 "a sweep past its cap"
contains "$(<progress)" "spending cap --max-cost reached" "says so"
check "and stops starting trials" test "$(json "sum(1 for t in d['trials'] if t['jobs'])" <out.json)" -lt 10
"$TRADEWIND" config set prices.vcpu_hour 0.03 >/dev/null

# ---- pipelines ----

cat >p.yaml <<'END'
name: train
run: |
  echo "[TRADEWIND_METRIC] loss 1 $LR"
  echo $LR >$TRADEWIND_OUTPUT/model/lr
envs: {LR: 1}
outputs: {model: 0.001}
---
name: test
inputs: [train.model]
run: echo tested >$TRADEWIND_OUTPUT/report/text
outputs: {report: 0.001}
END
check "a sweep of a pipeline" "$TRADEWIND" sweep pipe p.yaml --metric loss --param LR=0.3,0.1,0.2 >text 2>progress
contains "$(<progress)" "sweep pipe: 3 runs, 0 finished before, 3 submitted now" "one run per trial"
is "$("$TRADEWIND" sweep show pipe --json | json "[(t['params']['LR'], t['run']) for t in d['trials']]")" "[(0.1, 2), (0.2, 3), (0.3, 1)]" \
    "ranked by the metric of a stage"
is "$("$TRADEWIND" cat /p.train/model/lr@p.train:best)" 0.1 "each stage's set has the alias best"
"$TRADEWIND" sweep pipe p.yaml --metric loss --param LR=0.3,0.1,0.2,0.05 >text 2>progress
contains "$(<progress)" "4 runs, 3 finished before, 1 submitted now" "more values extend it"
is "$("$TRADEWIND" cat /p.train/model/lr@p.train:best)" 0.05 "and the alias follows"

# ---- refused ----

fails 2 "--search halving compares trials: add --metric NAME" sweep x --search halving -- true '{1,2}'
fails 2 "--trials: a grid tries every combination" sweep x --trials 3 -- true '{1,2}'
fails 2 "x: a grid needs the number of values: write x=0.1..0.9/5" sweep x -- true '{x=0.1..0.9}'
fails 2 "--param: \"LR\" is not NAME=VALUES" sweep x p.yaml --param LR
fails 2 "--param goes with the path of one pipeline file" sweep x --param LR=1,2 -- a b
fails 3 "there is no sweep none" sweep show none
check "nothing of them was recorded" test ! -e "$TRADEWIND_HOME/sweeps/x.json"

"$TRADEWIND" broker --stop >/dev/null
done_testing
