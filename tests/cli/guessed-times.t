#!/usr/bin/env bash
# Stages without an estimate: what is guessed, and that text and JSON say so beside a proven plan.
. "$(dirname "$0")/tap.sh"

cat >p.yaml <<'END'
name: p
---
name: prep
estimate: {minutes: 5}
run: ./prep
---
name: train
resources: {accelerators: {V100: 1, A100: 1}}
envs: {MODEL: ResNet-50}
inputs:
  - {from: s3://bucket/images, size: 20, location: aws/us-east-1}
run: python train.py --epochs 3
---
name: report
run: ./report
END
run plan p.yaml --cloud gcp
is "$code" 0 "a plan"
contains "$out" "guessed run times: 2 of 3 stages" "the proof does not hide the guesses"
contains "$out" "on a V100, scaled by the accelerator's speed" "what is guessed"
contains "$(tr -s ' \n' ' ' <<<"$out")" "3 epochs of 20 GB, 100 kB per sample, at the throughput of ResNet-50" "from what"
run plan p.yaml --cloud gcp --json
is "$(json "d['run_times_guessed'], [s['estimate'] for s in d['stages']]" <<<"$out")" \
    "2 ['figure', 'guess', 'guess']" "in JSON, too"
# 20 GB are 200,000 samples: three epochs at 2.845981212 batches of 128 a second, on an A100 2.5 times as fast.
is "$(json "sum(abs(s['run_s'] / (3 * 2e5 / 128 / 2.845981212 / f) - 1) < 0.001 for f in (1, 2.5) for s in d['stages'][1:2])" <<<"$out")" \
    1 "the run time of the training"
sed -i 's/ResNet-50/unheard-of/' p.yaml
run plan p.yaml --cloud gcp
contains "$(tr -s ' \n' ' ' <<<"$out")" "train: run time: 1 h on a V100, scaled by the accelerator's speed (no estimate given)" \
    "a model without figures: an hour, scaled"
done_testing
