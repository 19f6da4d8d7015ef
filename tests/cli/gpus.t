#!/usr/bin/env bash
# GPUs of this machine: found by nvidia-smi and rocm-smi, held by one job at a time, whatever becomes
# of the tools and of the broker; gangs of jobs.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=60
trap 'touch "$scratch/go"; "$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
unset CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES

# tool NAME: a script on PATH, its text on stdin
tool() {
    mkdir -p bin
    { echo '#!/bin/sh' && cat; } >bin/"$1"
    chmod +x bin/"$1"
}
export PATH="$scratch/bin:$PATH"
# of JOB EXPRESSION: of job show's answer d
of() {
    "$TRADEWIND" job show "$1" --json | json "$2"
}
submit() {
    "$TRADEWIND" job submit --cpus 0.5 --memory 256MB --json "$@" | json "d['id']"
}
# until_state JOB STATE
until_state() {
    local n=0
    while [ "$(of "$1" "d['state']")" != "$2" ] && [ $((n += 1)) -lt 600 ]; do sleep 0.05; done
    is "$(of "$1" "d['state']")" "$2" "job $1 is $2"
}
wait_go='while [ ! -e "$0/go" ]; do sleep 0.05; done'

# ---- no tool, tools that fail ----

fails 5 "--gpus: 1 GPU: this machine has no GPU" job submit --gpus 1 -- true
fails 5 "--gpus: A100:8: this machine has no GPU" job submit --gpus A100:8 -- true
fails 2 '--gpus: "two:" is not a number of GPUs: write 2, A100:2 or A100' \
    job submit --gpus two: -- true
fails 2 "--gpus" job submit --gpus -- true

tool nvidia-smi <<'SH'
echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
exit 9
SH
fails 5 "nvidia-smi fails with exit code 9: NVIDIA-SMI has failed because" \
    job submit --gpus 1 -- true
tool nvidia-smi <<'SH'
echo "No devices were found"
exit 6
SH
fails 5 "this machine has no GPU" job submit --gpus 1 -- true
lacks "$err" "exit code" "a driver without GPUs is no failure"
tool nvidia-smi <<'SH'
echo "hello world"
SH
fails 5 "nvidia-smi prints no list of GPUs: hello world" job submit --gpus 1 -- true
tool nvidia-smi <<'SH'
yes "0, Tesla T4, 15360"
SH
fails 5 "nvidia-smi prints more than a list of GPUs" job submit --gpus 1 -- true
tool nvidia-smi <<'SH'
echo $$ >"$(dirname "$0")/hanging"
exec >&- 2>&-
sleep 1000 &
wait
SH
fails 5 "nvidia-smi does not answer within 10 s" job submit --gpus 1 -- true
check "a tool that hangs is ended, with what it started" \
    test -z "$(ps -o stat= -o pid= -g "$(cat bin/hanging)" | grep -v '^Z')"
is "$("$TRADEWIND" job ls --json)" "[]" "nothing was submitted"

# ---- GPUs ----

tool nvidia-smi <<'SH'
case "$*" in
"--query-gpu=index,name,memory.total --format=csv,noheader,nounits")
    printf '0, NVIDIA A100-SXM4-40GB, 40960\n1, NVIDIA A100-SXM4-40GB, 40960\n2, Tesla T4, 15360\n' ;;
"--query-gpu=index,uuid --format=csv,noheader,nounits")
    printf '0, GPU-aaaa1111-22\n1, GPU-bbbb3333-44\n2, GPU-cccc5555-66\n' ;;
*) exec sleep 1000 ;; # the agent asks for utilization
esac
SH
tool rocm-smi <<'SH'
[ "$*" = "--showproductname --json" ] || exit 2
echo '{"card0": {"Card Series": "AMD Instinct MI210", "Card Model": "0x0c34"}}'
SH
fails 5 "--gpus: 3 GPUs: this machine has 2 x NVIDIA A100-SXM4-40GB, 1 x Tesla T4, 1 x AMD" \
    job submit --gpus 3 -- true
fails 5 "--gpus: H100:1: this machine has" job submit --gpus H100 -- true

show='echo ${CUDA_VISIBLE_DEVICES-none}/${HIP_VISIBLE_DEVICES-none}'
first=$(submit --gpus A100:2 -- sh -c "$show; $wait_go" "$scratch")
second=$(submit --gpus A100 -- sh -c "$show; $wait_go" "$scratch")
amd=$(submit --gpus MI210 -- sh -c "$show; $wait_go" "$scratch")
plain=$(submit -- sh -c "$show")
until_state "$first" running
until_state "$amd" running
until_state "$plain" finished
is "$(of "$first" "d['gpus'], d['gpu_type'], d['devices']")" "2 A100 nvidia:0,nvidia:1" \
    "its record says what it has"
is "$(of "$second" "d['state'], d['devices']")" "queued None" "another waits for them"
is "$(of "$second" "d['reason']")" "waits for A100:1: job $first holds nvidia:0,nvidia:1" \
    "and says so"
run job show "$second"
contains "$out" "job $second: queued: waits for A100:1: job $first holds nvidia:0,nvidia:1" \
    "to people, too"
contains "$out" "1 A100 GPU, on local" "beside what it asked for"

# A broker that is killed knows from the records what is taken.
pid=$(pgrep -f '^tradewind broker$' | while read -r p; do
    tr '\0' '\n' <"/proc/$p/environ" | grep -qx "TRADEWIND_HOME=$TRADEWIND_HOME" && echo "$p"
done)
check "the broker is killed" kill -9 "$pid"
rm bin/nvidia-smi bin/rocm-smi # and cannot ask again
third=$(CUDA_VISIBLE_DEVICES=1 submit -- true)
until_state "$third" finished
is "$(of "$second" "d['state']")" "queued" "a new broker gives no GPU away"
is "$(of "$first" "d['devices']")" "nvidia:0,nvidia:1" "that a running job has"
touch go
check "all end" "$TRADEWIND" job wait "$first" "$second" "$amd" >/dev/null
run job logs "$first"
is "$out" "0,1/-1" "the first saw its own two alone"
run job logs "$second"
is "$out" "0/-1" "the second one of them later"
run job logs "$amd"
is "$out" "-1/0" "a GPU of AMD is another"
run job logs "$plain"
is "$out" "none/none" "a job that asks for none is not told of any"

# ---- CUDA_VISIBLE_DEVICES of the submitter ----

tool nvidia-smi <<'SH'
case "$*" in
--query-gpu=index,name*) printf '0, Tesla T4, 15360\n1, Tesla T4, 15360\n' ;;
--query-gpu=index,uuid*) printf '0, GPU-aaaa1111-22\n1, GPU-bbbb3333-44\n' ;;
*) exec sleep 1000 ;;
esac
SH
# seen VALUE: what a job sees that is submitted with that variable
seen() {
    local id
    id=$(CUDA_VISIBLE_DEVICES=$1 submit --gpus 1 -- sh -c 'echo $CUDA_VISIBLE_DEVICES')
    "$TRADEWIND" job wait "$id" >/dev/null && "$TRADEWIND" job logs "$id"
}
is "$(seen 1)" 1 "the submitter's list narrows what a job may have"
is "$(seen GPU-bbbb)" 1 "a UUID, too"
CUDA_VISIBLE_DEVICES=1 fails 5 "1 x Tesla T4 (CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES leaves 1 of 2)" \
    job submit --gpus 2 -- true
CUDA_VISIBLE_DEVICES='' fails 5 "this machine has no GPU" job submit --gpus 1 -- true
is "$(submit --gpus 1 --env CUDA_VISIBLE_DEVICES=0,1 -- sh -c 'echo $CUDA_VISIBLE_DEVICES' >id &&
    "$TRADEWIND" job wait "$(cat id)" >/dev/null && "$TRADEWIND" job logs "$(cat id)")" 0 \
    "no variable of a job widens it"

again=$("$TRADEWIND" job rerun "$(cat id)" --json | json "d['id']")
check "a rerun" "$TRADEWIND" job wait "$again" >/dev/null
is "$(of "$again" "d['gpus'], d['devices']")" "1 nvidia:0" "gets a GPU, too"
mv bin/nvidia-smi bin/away
fails 5 "1 GPU: this machine has no GPU" job rerun "$(cat id)"
mv bin/away bin/nvidia-smi

# ---- containers ----

# Says what it is asked, and runs nothing.
tool podman <<SH
echo "\$@" >>'$scratch/podman-asked'
SH
tool rocm-smi <<'SH'
echo '{"card0": {"Card Series": "AMD Instinct MI210", "Card Model": "0x0c34"}}'
SH
"$TRADEWIND" job submit --gpus T4 --image some/image --wait -- true >/dev/null 2>&1
contains "$(grep '^run ' podman-asked)" "--device nvidia.com/gpu=all" "a container has the GPUs"
rm podman-asked
"$TRADEWIND" job submit --gpus MI210 --image some/image --wait -- true >/dev/null 2>&1
contains "$(grep '^run ' podman-asked)" "--device /dev/kfd --device /dev/dri" "those of AMD, too"
rm podman-asked
"$TRADEWIND" job submit --image some/image --wait -- true >/dev/null 2>&1
lacks "$(grep '^run ' podman-asked)" "--device" "and none where none is asked for"
rm bin/podman bin/rocm-smi

# ---- gangs ----

fails 2 "--nodes" job submit --nodes 0 -- true
fails 5 "1000 nodes at once: 1000 CPUs are more than this machine has" \
    job submit --nodes 1000 -- true
fails 5 "1 GPU for each of 3 nodes: this machine has 2 x Tesla T4" \
    job submit --gpus 1 --nodes 3 --cpus 0.5 --memory 256MB -- true
run job submit --gpus 1 --nodes 2 --cpus 0.5 --memory 256MB --output pair --wait -- sh -c \
    'echo $SKYPILOT_NODE_RANK/$SKYPILOT_NUM_NODES $SKYPILOT_NUM_GPUS_PER_NODE $CUDA_VISIBLE_DEVICES
    echo $SKYPILOT_NODE_RANK >$TRADEWIND_OUTPUT/rank'
is "$code" 0 "a job of two nodes"
lead=$(awk 'NR == 1 { print $2 }' <<<"$out")
contains "$out" "job $lead finished" "of which the first is told"
contains "$out" "job $((lead + 1)) finished" "as is the second"
is "$("$TRADEWIND" job logs "$lead") and $("$TRADEWIND" job logs $((lead + 1)))" \
    "0/2 1 0 and 1/2 1 1" "each node has its rank and its GPU"
is "$("$TRADEWIND" cat @pair:rank 2>/dev/null || "$TRADEWIND" cat /pair/rank)" 0 \
    "the output is that of the first"
is "$(of "$lead" "d['nodes']")" 2 "the record says how many they are"

run job submit --nodes 2 --cpus 0.5 --memory 256MB --wait -- sh -c \
    '[ $SKYPILOT_NODE_RANK = 0 ] && exec sleep 1000; exit 3'
is "$code" 3 "a node that fails ends the gang"
contains "$out" "rank 1 of its gang, job $((lead + 3)), failed" "and the others say why"

held=$(submit --gpus 2 -- sleep 1000)
until_state "$held" running
gang=$(submit --gpus 1 --nodes 2 -- sleep 1000)
is "$(of $((gang + 1)) "d['reason']")" \
    "waits for 1 GPU for each of 2 nodes: job $held holds nvidia:0,nvidia:1" "a gang waits as one"
run job kill $((gang + 1)) --json
is "$(of "$gang" "d['state']") $(of $((gang + 1)) "d['state']")" "killed killed" \
    "and is killed as one"
check "cleared" "$TRADEWIND" job kill "$held" >/dev/null

again=$("$TRADEWIND" job rerun $((lead + 1)) --json | json "d['id'], d['nodes']")
is "${again#* }" 2 "a rerun of a node is one of the gang"
check "which ends well" "$TRADEWIND" job wait "${again% *}" $((${again% *} + 1)) >/dev/null

# ---- hosts ----

cat >"$TRADEWIND_HOME/config.yaml" <<'YAML'
hosts:
  lab:
    - {host: 127.255.255.253, cpus: 4, memory: 8, accelerators: "A100-80GB:2"}
    - {host: 127.255.255.254, cpus: 4, memory: 8}
YAML
fails 5 "--gpus: A100-80GB:4: the hosts of lab do not have them" \
    job submit --on lab --gpus A100-80GB:4 -- true
fails 5 "H100:1: the hosts of lab" job submit --on lab --gpus H100 -- true
fails 5 "1 GPU for each of 2 nodes: the hosts of lab" \
    job submit --on lab --gpus 1 --nodes 2 -- true
fails 5 "3 nodes need 3 hosts" job submit --on lab --nodes 3 -- true
far=$(submit --on lab --gpus a100-80gb:2 -- true)
is "$(of "$far" "d['gpus'], d['gpu_type']")" "2 A100-80GB" "a host that has them"
check "is not waited for" "$TRADEWIND" job kill "$far" >/dev/null 2>&1

done_testing
