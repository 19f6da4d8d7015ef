#!/usr/bin/env bash
# Stages that ask for accelerators: a run on this machine gives them its GPUs, or says before the
# question that it lacks them, and then starts only with --without-gpus. The same of sweeps and
# replays.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=60 PATH="$scratch/bin:$PATH"
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
unset CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES

# gpus LINE...: what nvidia-smi tells from now on
gpus() {
    mkdir -p bin
    {
        echo '#!/bin/sh'
        echo 'case "$*" in --query-gpu=index,name*) cat <<X'
        printf '%s\n' "$@"
        echo 'X'
        echo ';; *) exec sleep 1000 ;; esac'
    } >bin/nvidia-smi
    chmod +x bin/nvidia-smi
}

cat >train.yaml <<'YAML'
name: two
---
name: prep
estimate: {seconds: 60}
run: echo "prep ${CUDA_VISIBLE_DEVICES-none}"
---
name: train
needs: [prep]
resources: {accelerators: [V100, A100:2]}
estimate: {seconds: 60}
outputs: {o: 0.001}
run: |
  echo "train ${CUDA_VISIBLE_DEVICES-none} $SKYPILOT_NUM_GPUS_PER_NODE"
  echo "$TRADEWIND_JOB" >"$TRADEWIND_OUTPUT/o/x"
YAML
# printed RUN STAGE
printed() {
    "$TRADEWIND" job logs "$("$TRADEWIND" run show "$1" --json |
        json "[s['job'] for s in d['stages'] if s['stage'] == '$2'][0]")"
}

# ---- a machine that lacks them ----

run run train.yaml --yes
is "$code" 5 "--yes alone is refused"
contains "$out" "Stage train asks for V100:1 or A100:2: this machine has no GPU." \
    "after the plan, which says what is missing"
contains "$err" "stage train asks for V100:1 or A100:2, and this machine has no GPU: --without-gpus" \
    "with the way to run it"
is "$("$TRADEWIND" run ls --json)" "[]" "nothing was started"
fails 5 "train.yaml:7: stage train asks for V100:1 or A100:2" run train.yaml --yes --json
fails 5 "--without-gpus" run train.yaml --yes --detach --json
check "a simulation has machines of its own" "$TRADEWIND" run train.yaml --on sim --yes >/dev/null
run run train.yaml --on sim --yes --without-gpus
is "$code" 2 "and no use for the option"

# On a terminal the question does not come.
python3 - "$TRADEWIND" <<'PY' >terminal
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "run", "train.yaml"])
text = b""
try:
    while part := os.read(fd, 65536):
        text += part
        if b"[Y/n]" in text:
            os.write(fd, b"y\n")
except OSError:
    pass
print(text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
contains "$(cat terminal)" "Stage train asks for V100:1 or A100:2: this machine has no GPU." \
    "on a terminal it is said, too"
lacks "$(cat terminal)" "Run it?" "instead of the question"

run run train.yaml --yes --without-gpus
is "$code" 0 "--without-gpus runs it"
contains "$out" "Stage train asks for V100:1 or A100:2 and runs without (--without-gpus)" "and says so"
contains "$out" "train: planned" "with a note"
contains "$out" "without its accelerators" "in the bill"
first=$("$TRADEWIND" run ls --json | json "max(r['run'] for r in d)")
is "$(printed "$first" train)" "train none 0" "the stage is not told of any"

# ---- a machine that has them ----

gpus "0, Tesla T4, 15360" "1, NVIDIA A100-SXM4-40GB, 40960" "2, NVIDIA A100-SXM4-40GB, 40960"
run run train.yaml --yes --no-cache
is "$code" 0 "a machine with one of the alternatives"
second=$("$TRADEWIND" run ls --json | json "max(r['run'] for r in d)")
is "$(printed "$second" train)" "train 1,2 2" "gives the stage its two"
is "$(printed "$second" prep)" "prep none" "and the other none"
lacks "$out" "without" "without a word about it"
run run train.yaml --yes --no-cache --without-gpus
is "$(printed $((second + 1)) train)" "train 1,2 2" "as it does with --without-gpus"
gpus "0, NVIDIA A100-SXM4-40GB, 40960"
fails 5 "this machine has 1 x NVIDIA A100-SXM4-40GB" run train.yaml --yes --json

cat >nodes.yaml <<'YAML'
name: nodes
num_nodes: 2
resources: {cloud: aws, accelerators: T4}
estimate: {seconds: 60}
run: echo "$SKYPILOT_NODE_RANK $CUDA_VISIBLE_DEVICES"
YAML
gpus "0, Tesla T4, 15360"
fails 5 "stage nodes asks for T4:1" run nodes.yaml --yes --json
gpus "0, Tesla T4, 15360" "1, Tesla T4, 15360"
check "a stage of two nodes" "$TRADEWIND" run nodes.yaml --yes >/dev/null
job=$("$TRADEWIND" run show $((second + 2)) --json | json "d['stages'][0]['job']")
is "$("$TRADEWIND" job logs "$job") $("$TRADEWIND" job logs $((job + 1)))" "0 0 1 1" \
    "gives each its own"

cat >any.yaml <<'YAML'
name: any
resources: {any_of: [{accelerators: H100}, {cpus: 2}]}
estimate: {seconds: 60}
run: echo "${CUDA_VISIBLE_DEVICES-none}"
YAML
check "a stage with an alternative that needs none" "$TRADEWIND" run any.yaml --yes >/dev/null

# ---- replay, rerun, sweep ----

gpus "0, NVIDIA A100-SXM4-40GB, 40960" "1, NVIDIA A100-SXM4-40GB, 40960"
run replay @two.train:2 --yes
is "$code" 0 "a replay"
replayed=$("$TRADEWIND" run ls --json | json "max(r['run'] for r in d)")
is "$(printed "$replayed" train)" "train 0,1 2" "gets the GPUs that are there now"
rm bin/nvidia-smi
fails 5 "stage train asks for A100:2: this machine has no GPU; --without-gpus runs it without" \
    replay @two.train:2 --yes
run replay @two.train:2 --yes --without-gpus
is "$code" 0 "--without-gpus runs it"
is "$(printed $((replayed + 1)) train)" "train none 2" "without"

fails 5 "stage train asks for V100:1 or A100:2" sweep s train.yaml --param LR=1,2
check "a sweep with --without-gpus" "$TRADEWIND" sweep s train.yaml --param LR=1,2 --without-gpus \
    >/dev/null 2>&1
fails 5 "--gpus: 1 GPU: this machine has no GPU" sweep c --gpus 1 -- echo '{1,2}'
fails 2 "the pipeline file says what --gpus is" sweep s train.yaml --param LR=1,2 --gpus 1
fails 2 "--without-gpus is for pipelines" sweep c --without-gpus -- echo '{1,2}'
gpus "0, Tesla T4, 15360"
run sweep c --gpus T4 --cpus 0.5 --memory 256MB --json -- sh -c 'echo $CUDA_VISIBLE_DEVICES # {1,2}'
is "$code" 0 "a sweep of jobs with GPUs"
jobs=$("$TRADEWIND" job ls --name 'sweep c' --json | json "*[j['id'] for j in d], sep=' '")
for job in $jobs; do
    is "$("$TRADEWIND" job logs "$job")" 0 "job $job had the one"
done
run profile p --gpus 1 --cpus 0.5 --mems 256 --json -- sh -c 'echo $CUDA_VISIBLE_DEVICES # {1}'
is "$("$TRADEWIND" job logs "$("$TRADEWIND" job ls --name 'profile p' --json | json "d[0]['id']")")" \
    0 "and of a profile"

done_testing
