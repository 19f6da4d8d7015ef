#!/usr/bin/env bash
# Parameters, metrics and tags of jobs: where they come from, and what finds them again.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

# submit ARGUMENTS...: the number of a new job in $job, when it is over
submit() {
    run job submit --json "$@"
    job=$(json "d['id']" <<<"$out")
    "$TRADEWIND" job wait "$job" >/dev/null 2>&1
}

# of JOB EXPRESSION: of job show's answer d
of() {
    "$TRADEWIND" job show "$1" --json | json "$2"
}

# ---- parameters and metrics are metadata ----

cat >train.sh <<'END'
echo "[TRADEWIND_METRIC] loss 1 0.9"
echo "[TRADEWIND_METRIC] loss 2 $1"
echo "[TRADEWIND_METRIC] loss 3 $2"
echo "model $1 $2" >"$TRADEWIND_OUTPUT/model"
END
submit --env LR=0.5 --env HF_TOKEN=hf_abc --output Model -- sh "$PWD/train.sh" 0.2 0.3 --epoch 5
first=$job
submit --env LR=0.5 --output Model -- sh "$PWD/train.sh" 0.1 0.35 --epoch 6
second=$job
submit --env LR=0.1 --env loss=mse --output Model -- sh "$PWD/train.sh" 0.2 0.05 --epoch 7
third=$job

run find 'kind=job LR=0.5 loss<0.4' --min loss --json
is "$(json "d[0]['ref']" <<<"$out")" "job:$first" "the job with the least last value"
run find 'kind=job LR=0.5 loss<0.4' --min loss.min --json
is "$(json "d[0]['ref']" <<<"$out")" "job:$second" "the job with the least value of all"
run find 'kind=set LR=0.5 loss.min<0.15' --json
is "$(json "[i['ref'] for i in d]" <<<"$out")" "['@Model:2']" "its output has them, too"
run find 'kind=job param.loss=mse metric.loss<0.1 loss.steps=3 epoch=7'
contains "$out" "job:$third" "a name that is a parameter and a metric needs its prefix"
contains "$out" "mse" "and the columns show both"
run find 'kind=job loss<0.1'
contains "$out" "job:$third" "the bare name is the metric"
is "$(of "$first" "d['params']")" "{'LR': 0.5, 'epoch': 5}" "parameters, without a secret"
run find 'kind=job HF_TOKEN'
is "$out" "Nothing found." "a secret is no metadata"
is "$(of "$first" "d['metrics']['loss']")" \
    "{'last': 0.3, 'min': 0.2, 'max': 0.9, 'steps': 3, 'last_step': 3.0}" "a series as a whole"
run job show "$first"
contains "$out" "params    LR=0.5, epoch=5" "job show has parameters"
contains "$out" "metrics   loss=0.3, from 0.2 to 0.9, 3 steps" "and metrics"

run job submit --wait -- sh -c 'echo "[TRADEWIND_METRIC] sum 1 0.205000000000000002"; echo "[TRADEWIND_METRIC] third 1 0.3333333333333333"; echo "[TRADEWIND_METRIC] count 1 123456789"'
run find 'kind=job sum>0 third>0 count>0'
check "numbers as people write them" grep -Eq '^job:[0-9]+ +0\.205 +0\.333333 +123456789$' <<<"$out"
run find 'kind=job third>0' --json
is "$(json "d[0]['meta']['third']" <<<"$out")" 0.3333333333333333 "all digits in JSON"

# A running job has its last value in the metadata: here it waits for the line in the fifo.
mkfifo gate
run job submit --json -- sh -c "echo '[TRADEWIND_METRIC] live 7 0.125'; read x <$PWD/gate"
live=$(json "d['id']" <<<"$out")
for ((i = 0; i < 600; i++)); do
    run find 'kind=job live=0.125' --json
    includes "$out" "job:$live" && break
    sleep 0.05
done
contains "$out" "job:$live" "the last value can be found while the job runs"
is "$(of "$live" "d['state']")" running "it does run"
echo go >gate
run job wait "$live"

# ---- side by side ----

run job compare "$first" "$second" "$third"
contains "$out" "LR          0.5       0.5       0.1" "parameters that differ"
lacks "$out" "finished_at" "nothing else"
contains "$out" "param.loss  -         -         mse" "a parameter with the name of a metric"
contains "$out" "loss        0.3       0.35      0.05 *" "metrics, the best marked"
contains "$out" "loss.min    0.2       0.1       0.05" "and their best values"
wide=$(COLUMNS=60 "$TRADEWIND" job compare "$first" "$second" "$third" "$live")
contains "$wide" "0.05 *" "four jobs are rows, and numbers stay whole on a narrow terminal"
check "the columns that do not fit follow below" test "$(grep -c '^job ' <<<"$wide")" -gt 1
check "neither is wider" test "$(wc -L <<<"$wide")" -le 60
run job compare "$first" "$second" --json
is "$(json "[j['best'] for j in d]" <<<"$out")" "[['loss'], []]" "the best in JSON"
is "$(json "d[1]['metrics'], d[1]['params']" <<<"$out")" "{'loss': 0.35} {'LR': 0.5, 'epoch': 6}" \
    "parameters and metrics in JSON"
run job compare "$first" "$second" --svg loss.svg
is "$(grep -c '<path' loss.svg)" 2 "two lines over each other"
contains "$(<loss.svg)" "job $second" "with a legend"
fails 2 "--json and --svg exclude each other" job compare "$first" "$second" --svg x.svg --json

cat >p.yaml <<'END'
name: exp
---
name: prep
run: |
  echo "[TRADEWIND_METRIC] rows 0 100"
  echo 1 >"$TRADEWIND_OUTPUT/data/x"
outputs: {data: 0.001}
---
name: train
envs: {LR: 0.1, SEED: 3}
inputs: [prep.data]
metrics: json
run: |
  echo "{\"accuracy\": $LR, \"rows\": 7, \"step\": 1}"
  echo 1 >"$TRADEWIND_OUTPUT/model/x"
outputs: {model: 0.001}
END
for rate in 0.25 0.75 0.5; do
    run run p.yaml --yes --env LR=$rate
    is "$code" 0 "a run with LR=$rate"
done
run run compare 1 2 3
contains "$out" "LR          0.25   " "runs side by side"
contains "$out" "accuracy    0.25      0.75 *    0.5" "the best run is marked"
contains "$out" "train.rows  7 " "a name of two stages is told apart"
lacks "$out" "SEED" "what is the same is left out"
run run ls --metric accuracy --sort accuracy --where 'LR>0.3' --json
is "$(json "[r['run'] for r in d]" <<<"$out")" "[2, 3]" "the best run first, of those that fit"
run run ls --sort LR --reverse --json
is "$(json "[r['run'] for r in d]" <<<"$out")" "[2, 3, 1]" "by a parameter, reversed"
run run ls --sort LR --limit 1 --json
is "$(json "[r['run'] for r in d]" <<<"$out")" "[1]" "the least parameter"
run run ls --metric accuracy --where 'state=finished name=exp param.LR<0.3 metric.accuracy.max<1'
contains "$out" "0.25" "the metric is a column"
is "$(wc -l <<<"$out")" 2 "one run fits"
run run ls --where 'nosuch'
is "$out" "No run meets the conditions." "none fits"
fails 2 "--where: expression: column 4" run ls --where 'LR>>7'
fails 2 "--reverse needs --sort" run ls --reverse
run run show 2 --json
is "$(json "d['params'], d['metrics']['accuracy']['last']" <<<"$out")" \
    "{'LR': 0.75, 'SEED': 3} 0.75" "run show has parameters and metrics"
run run show 2
contains "$out" "params: LR=0.75, SEED=3" "for people, too"
contains "$out" "accuracy    0.75" "with a table of metrics"

# ---- lines of JSON ----

cat >json.sh <<'END'
echo '{"loss": 0.42, "step": 10, "note": "x"}'
echo '{"loss": NaN, "step": 11}'
END
submit --metrics json -- sh "$PWD/json.sh"
is "$(of "$job" "d['metrics']['loss']")" \
    "{'last': None, 'min': 0.42, 'max': 0.42, 'steps': 2, 'last_step': 11.0}" "lines of JSON"
submit -- sh "$PWD/json.sh"
is "$(of "$job" "d['metrics']")" "{}" "are metrics only where that is asked for"
fails 2 "--metrics yaml: must be json" job submit --metrics yaml -- true

# ---- the Python package ----

cat >client.py <<'END'
from tradewind import experiment
experiment.metrics(1, loss=float(experiment.param("LR")), acc=float("nan"))
experiment.metric("loss", 2, 0.5)
experiment.tag("model", "BERT")
END
submit --env LR=0.75 -- env "PYTHONPATH=$root/sdk/python" python3 -B "$PWD/client.py"
is "$(of "$job" "d['metrics']['loss'], d['metrics']['acc']['last'], d['tags']['model']")" \
    "{'last': 0.5, 'min': 0.5, 'max': 0.75, 'steps': 2, 'last_step': 2.0} None BERT" \
    "metrics and tags from Python"

# ---- event files of TensorBoard ----

events() {
    python3 "$root/tests/cli/tfevents.py" "$@"
}
mkdir -p one two/train two/validation
events one/events.out.tfevents.1 loss 1 0.5 loss 2 0.25 +acc 2 0.75 %lr 2 0.125 nan 1 nan
submit --output TB -- sh -c "mkdir -p \$TRADEWIND_OUTPUT/logs/a; cp $PWD/one/* \$TRADEWIND_OUTPUT/logs/a"
is "$(of "$job" "{k: (v['last'], v['steps']) for k, v in d['metrics'].items()}")" \
    "{'acc': (0.75, 1), 'loss': (0.25, 2), 'lr': (0.125, 1), 'nan': (None, 1)}" \
    "scalars: simple values, and tensors of floats and doubles"
run find 'kind=set acc=0.75 lr=0.125' --json
is "$(json "[i['ref'] for i in d]" <<<"$out")" "['@TB:1']" "its output is found by them"
events two/train/events.out.tfevents.1 loss 1 0.5
events two/validation/events.out.tfevents.1 loss 1 0.75
head -c 40 one/events.out.tfevents.1 >two/train/events.out.tfevents.2
printf 'not an event file' >two/events.out.tfevents.3
submit --output TB -- sh -c "cp -r $PWD/two/. \$TRADEWIND_OUTPUT"
is "$(of "$job" "sorted((k, v['last']) for k, v in d['metrics'].items())")" \
    "[('train/loss', 0.5), ('validation/loss', 0.75)]" "directories come before the names"
is "$(of "$job" "d['state'], d['warnings']")" "finished ['output: events.out.tfevents.3: at byte 0: \
the length of a record does not fit its checksum']" "what cannot be read is a warning"

# ---- tags of sets ----

mkdir data
echo 1 >data/a
run put data /data --set Data
echo 2 >data/a
submit --input @Data --output Model -- sh -c 'echo "[ACAI_TAG] Model accuracy:0.91"
    echo "[TRADEWIND_TAG] Data rows:12"; echo "[TRADEWIND_TAG] Modell accuracy:0.55"
    echo x >"$TRADEWIND_OUTPUT/model"'
made=$(of "$job" "d['output']")
run put data /data --set Data
run find accuracy=0.91 --json
is "$(json "[i['ref'] for i in d]" <<<"$out")" "['$made', 'job:$job']" \
    "the version that the job makes"
run find rows=12 --json
is "$(json "[i['ref'] for i in d]" <<<"$out")" "['@Data:1']" "the version that it reads"
run find accuracy=0.55
is "$out" "Nothing found." "a name that is neither tags nothing"
run job logs "$job"
contains "$err" "warning: tag accuracy=0.55 of set Modell: job $job neither reads nor makes a set Modell" \
    "and the log says so"

# ---- job show ----

run job submit --wait -- sh -c 'echo "[TRADEWIND_TAG] note:two words"; exit 0'
run job show "$(head -n 1 <<<"$out" | tr -dc 0-9)"
contains "$out" "tags      note=two words" "tags of a job"
is "$(grep -c 'exit 0' <<<"$out")" 1 "its script stands in the command alone"

done_testing
