#!/bin/bash
# Hyper-parameter search: values, searches, ranks, the best output, and resuming.
. "$(dirname "$0")/tap.sh"

cat >train.sh <<'END'
# train.sh LR STEPS HOLD: loss = LR + 1/step; begins where its checkpoint ended. At each "STEP LR" that
# the file HOLD lists it waits to be stopped, so that no trial outruns the command that compares them.
step=0 lr=$1 steps=$2 hold=$3
[ -f "$TRADEWIND_CHECKPOINT/step" ] && step=$(cat "$TRADEWIND_CHECKPOINT/step") && echo "resumed at $step"
trap 'echo $step >"$TRADEWIND_CHECKPOINT/step"; exit 1' TERM
while [ $step -lt $steps ]; do
    step=$((step + 1))
    echo "[TRADEWIND_METRIC] loss $step $(awk -v l=$lr -v s=$step 'BEGIN { printf "%.6f", l + 1 / s }')"
    grep -qx "$step $lr" "$hold" && sleep 60 &
    # SIGTERM may end the sleep before it reaches this shell: then it is about to come.
    wait $! || [ $? -lt 128 ] || { sleep 60 & wait $!; }
done
echo $lr >"$TRADEWIND_OUTPUT/lr"
END
mkdir code && mv train.sh code

# holds STEP LR...: lines of a file HOLD
holds() {
    local step=$1
    shift
    printf "$step %s\n" "$@"
}

# ---- a grid with a metric ----

is "$("$TRADEWIND" sweep ls --json)" "[]" "there are no sweeps"
contains "$("$TRADEWIND" sweep ls)" "tradewind sweep NAME -- COMMAND" "and the text says how to start one"

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

check "trials that never print the metric" "$TRADEWIND" sweep silent --metric loss -- true '{1,2}' >text 2>progress
contains "$(<progress)" "sweep silent: no trial has the metric loss: they have no ranks, and none is the best; a metric is a line [TRADEWIND_METRIC] loss STEP VALUE, or of JSON with --metrics json" "the command says so"

"$TRADEWIND" sweep failing -- sh -c 'test $0 = 2 || { echo no data; exit 3; }' '{1,2,3}' >text 2>progress
is "$?" 1 "trials that fail"
contains "$(<progress)" "sweep failing: 2 of 3 trials failed; job " "are counted"
contains "$(<progress)" ": exit code 3; its log ends: no data" "with the reason of the first"

# The best of grid is 0.1 since its goal is max.
"$TRADEWIND" sweep ls --json >out.json
is "$(json "[(s['name'], s['search'], s['trials'], s['finished'], s['metric'], s['value']) for s in d]" <out.json)" \
    "[('failing', 'grid', 3, 1, None, None), ('grid', 'grid', 3, 3, 'loss', 0.1), ('silent', 'grid', 2, 2, 'loss', None)]" "sweep ls"
is "$(json "[s['best'] for s in d]" <out.json)" "[None, '$("$TRADEWIND" sweep show grid --json | json "d['best']")', None]" \
    "with the output of the best trial"

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

# 9 trials: two rungs, at steps 1 and 3. Seed 0 (SplitMix64) draws 0.9, 0.8, 0.7, 0.1 to 0.6. One at a
# time, every decision follows from the rule: 0.9 and 0.8 stop at step 1, 0.7 is the best of three;
# 0.1 is the best of four; of six two pass, so that 0.2 continues; then 0.1 is the best of three at
# step 3, and ends. With the ninth trial 0.3 continues as well.
{
    holds 1 0.9 0.8 0.2 0.3 0.4 0.5 0.6
    holds 3 0.7 0.1 0.2 0.3
} >code/one-by-one
halving=("$TRADEWIND" sweep halving --json --search halving --metric loss --output halved --parallel 1 --code code -- \
    sh train.sh '{lr=0.7,0.3,0.2,0.8,0.5,0.6,0.4,0.9,0.1}' 40 one-by-one)
check "halving" "${halving[@]}" >out.json 2>progress
is "$(json "d['finished'], d['stopped'], d['jobs_count']" <out.json)" "1 8 9" "one of nine trials finishes"
is "$(json "'\n'.join('%s %s %g %d' % t for t in sorted((t['params']['lr'], t['state'], t['step'], len(t['jobs'])) for t in d['trials']))" <out.json)" \
    "0.1 finished 40 2
0.2 stopped 3 2
0.3 stopped 3 2
0.4 stopped 1 1
0.5 stopped 1 1
0.6 stopped 1 1
0.7 stopped 3 1
0.8 stopped 1 1
0.9 stopped 1 1" "each trial goes as far as it is among the best third"
is "$(json "d['trials'][0]['params']['lr'], d['trials'][0]['best']" <out.json)" "0.1 True" "the finished one ranks first"
is "$("$TRADEWIND" cat /halved/lr@halved:best)" 0.1 "its output is @SET:best"
for job in $(json "' '.join(str(t['jobs'][1]) for t in sorted(d['trials'], key=lambda t: t['params']['lr']) if len(t['jobs']) > 1)" <out.json); do
    "$TRADEWIND" job logs "$job" | head -n 1
done >logs
is "$(<logs)" $'resumed at 3\nresumed at 1\nresumed at 1' "three continue from their checkpoints"
contains "$("$TRADEWIND" job show "$(json "d['trials'][0]['jobs'][0]" <out.json)")" "halving: not among the best at step 3" \
    "job show says why a trial was stopped"
"${halving[@]}" >text 2>progress
contains "$(<progress)" "9 jobs, 1 finished before, 0 submitted now" "the same command has nothing left to do"

is "$("$TRADEWIND" trace @halved:best --back --cost --json | json 'd["cost"]["jobs"]')" 2 \
    "what it cost counts both jobs of the best trial"

# Side by side, in whatever order: only the best trial goes beyond a rung by itself.
for rung in 1 3; do holds $rung 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9; done >code/together
sed -i '/^1 0.[23]$/d' code/together # may pass the first rung before they are told to stop
"$TRADEWIND" config set limits.jobs_per_user 9 >/dev/null
together=("$TRADEWIND" sweep together --json --search halving --metric loss --cpus 0.5 --memory 256 --code code -- \
    sh train.sh '{lr=0.9,0.8,0.7,0.1,0.2,0.3,0.4,0.5,0.6}' 40 together)
check "halving of trials side by side" "${together[@]}" >out.json 2>progress
# The value at a rung is LR + 1/rung: trials rank by their LR.
cat >rule.py <<'END'
import json, sys
trials = json.load(sys.stdin)['trials']
for t in trials:
    rung = max(r for r in (1, 3) if t['step'] >= r)
    there = sorted(o['params']['lr'] for o in trials if o['step'] >= rung)
    is_best = t['params']['lr'] in there[:len(there) // 3]
    good = t['state'] == 'finished' or t['state'] == 'stopped' and t['step'] < 40 and not is_best
    if not good:
        print(t['params']['lr'], t['state'], 'at step', t['step'], there)
END
is "$(python3 rule.py <out.json)" "" "a trial that is among the best third of its rung does not stop"
is "$(json "(lambda t: (t['params']['lr'], t['state'], t['step'], t['best']))(d['trials'][0])" <out.json)" "(0.1, 'finished', 40.0, True)" \
    "the best trial finishes"
"${together[@]}" >text 2>progress
contains "$(<progress)" "finished before, 0 submitted now" "and the same command has nothing left to do"

# A trial may be stopped while it is queued: its checkpoint is then that of an earlier job.
holds 1 0.1 0.2 0.3 >code/queued
"$TRADEWIND" config set limits.jobs_per_user 1 >/dev/null
trial=("$TRADEWIND" job submit --name "sweep queued" --cpus 1 --memory 256 --checkpoint 10m --code code -- sh train.sh 0.1 2 queued)
stopped=$("${trial[@]}" 2>&1 | sed -n 's/^job //p')
until "$TRADEWIND" job metrics "$stopped" 2>/dev/null | grep -q loss; do sleep 0.05; done
queued=$("${trial[@]}" 2>&1 | sed -n 's/^job //p')
"$TRADEWIND" job kill "$queued" --reason "halving: by hand" >/dev/null
"$TRADEWIND" job kill "$stopped" --reason "halving: by hand" >/dev/null
"$TRADEWIND" job wait "$queued" "$stopped" >/dev/null
"$TRADEWIND" sweep queued --json --search halving --metric loss --memory 256 --code code -- \
    sh train.sh '{lr=0.1,0.2,0.3}' 2 queued >out.json 2>progress
is "$(json "d['trials'][0]['state'], len(d['trials'][0]['jobs'])" <out.json)" "finished 3" "a trial that was stopped in the queue continues"
is "$("$TRADEWIND" job logs "$(json "d['trials'][0]['jobs'][2]" <out.json)" | head -n 1)" "resumed at 1" "from its last checkpoint"
"$TRADEWIND" config set limits.jobs_per_user 4 >/dev/null

# ---- resuming ----

# Killed while trials wait for their turn; the records say where the next command begins. Seed 0 draws
# 0.2 and 0.1 first: only they are ever among the best third.
holds 1 0.3 0.4 0.5 0.6 >code/resumed
resumed=("$TRADEWIND" sweep resumed --json --search halving --metric loss --parallel 2 --code code -- \
    sh train.sh '{lr=0.3,0.4,0.1,0.6,0.5,0.2}' 30 resumed)
"${resumed[@]}" >/dev/null 2>&1 &
sweep=$!
until "$TRADEWIND" sweep show resumed --json 2>/dev/null | json "len(d['trials'])" 2>/dev/null | grep -q '[3-6]'; do sleep 0.05; done
kill -9 $sweep
wait $sweep 2>/dev/null
"${resumed[@]}" >out.json 2>progress
is "$? $(json "d['finished'], d['stopped'], d['jobs_count'], d['trials'][0]['params']['lr']" <out.json)" "0 2 4 6 0.1" \
    "after kill -9 the same command ends as if nothing had happened: the best 2 of 6 finish"

# ---- limits ----

# The first trial runs until it is stopped.
"$TRADEWIND" config set prices.vcpu_hour 36000 >/dev/null # 10 USD per second
"$TRADEWIND" sweep dear --max-cost 3 --parallel 1 --json -- sleep '{n=1000..1049}' >out.json 2>progress
is $? 1 "a sweep past its cap"
contains "$(<progress)" "spending cap --max-cost reached" "says so"
is "$(json "[t['state'] for t in d['trials'] if t['jobs']]" <out.json)" "['killed']" "stops its trial, and starts no other"
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

# --output names the set that gets the alias; that of the other stage stays where it was.
"$TRADEWIND" sweep one p.yaml --metric loss --param LR=0.4 --param SEED=7,2026-11-01 --output p.test >text 2>progress
is "$("$TRADEWIND" sweep show one --json | json "sorted(str(t['params']['SEED']) for t in d['trials'])")" "['2026-11-01', '7']" \
    "a whole number is no decimal"
is "$("$TRADEWIND" cat /p.train/model/lr@p.train:best)" 0.05 "--output: the alias of that set alone"
check "is set" test -n "$("$TRADEWIND" cat /p.test/report/text@p.test:best)"

# ---- variables of all trials ----

envs=(sweep envs --output envs --env SCALE=3 -- sh -c 'echo $((SCALE * $0)) >"$TRADEWIND_OUTPUT/x"' '{1,2}')
"$TRADEWIND" "${envs[@]}" >text 2>progress
# Trials end in either order.
is "$({ "$TRADEWIND" cat /envs/x@envs:1; "$TRADEWIND" cat /envs/x@envs:2; } | sort)" $'3\n6' "--env reaches every trial"
"$TRADEWIND" "${envs[@]}" >text 2>progress
contains "$(<progress)" "2 jobs, 2 finished before, 0 submitted now" "the same again runs nothing"
"$TRADEWIND" "${envs[@]:0:5}" SCALE=4 "${envs[@]:6}" >text 2>progress
contains "$(<progress)" "2 jobs, 0 finished before, 2 submitted now" "another value makes other trials"
"$TRADEWIND" sweep pipe-env p.yaml --metric loss --param SEED=1,2 --env LR=9 >text 2>progress
is "$("$TRADEWIND" sweep show pipe-env --json | json "[t['value'] for t in d['trials']]")" "[9.0, 9.0]" \
    "of a pipeline, the stages that declare it"

# ---- refused ----

fails 2 "--env LR: it has another value already" sweep x p.yaml --param LR=1,2 --env LR=3
fails 2 "--env: \"LR\" is not NAME=VALUE" sweep x --env LR -- true '{1,2}'

fails 2 "--search halving compares trials: add --metric NAME" sweep x --search halving -- true '{1,2}'
fails 2 "--trials: a grid tries every combination" sweep x --trials 3 -- true '{1,2}'
fails 2 "x: a grid needs the number of values: write x=0.1..0.9/5" sweep x -- true '{x=0.1..0.9}'
fails 2 "or a range with its name, as in '{lr=log:1e-4..1e-1}'" sweep x -- true --lr '{log:1e-3..1e-1}'
fails 2 "--param: \"LR\" is not NAME=VALUES" sweep x p.yaml --param LR
fails 2 "--param goes with the path of one pipeline file" sweep x --param LR=1,2 -- a b
fails 2 "--output: p.yaml: no stage makes the set train; its sets: p.train, p.test" sweep x p.yaml --param LR=1,2 --output train
fails 3 "there is no sweep none" sweep show none
check "nothing of them was recorded" test ! -e "$TRADEWIND_HOME/sweeps/x.json"

"$TRADEWIND" broker --stop >/dev/null
# ---- metrics in lines of JSON ----

"$TRADEWIND" sweep lines --metric loss --metrics json --json -- sh -c 'echo "{\"loss\": $0, \"step\": 3}"' '{0.5,0.25}' >out.json
is "$(json "[(t['params'], t['value']) for t in d['trials']]" <out.json)" "[({'arg1': 0.25}, 0.25), ({'arg1': 0.5}, 0.5)]" \
    "trials print metrics as JSON"
fails 2 "--metrics csv: must be json" sweep lines --metrics csv -- true '{1,2}'
fails 2 "the pipeline file says what --metrics is" sweep lines p.yaml --param A=1,2 --metrics json

done_testing
