#!/usr/bin/env bash
# The variables of a job: those of the shell that submits it, whenever the broker was started, and
# those of --env, which reach the stages that declare them.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=60
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
unset VIRTUAL_ENV CONDA_PREFIX PYTHONPATH LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES

# of JOB EXPRESSION: of job show's answer d
of() {
    "$TRADEWIND" job show "$1" --json | json "$2"
}

# The broker's own environment, which later jobs must not get.
check "a broker of another shell" env LD_LIBRARY_PATH=/of-the-broker CUDA_VISIBLE_DEVICES=9 \
    PYTHONPATH=/of-the-broker "$TRADEWIND" job submit --wait -- true >/dev/null

# ---- the submitter's shell ----

mkdir -p env/bin
printf '#!/bin/sh\necho tool of the environment\n' >env/bin/only-here
chmod +x env/bin/only-here
check "a program that only the submitter's PATH has" env PATH="$scratch/env/bin:$PATH" \
    "$TRADEWIND" job submit --wait -- only-here >/dev/null
run job logs 2
is "$out" "tool of the environment" "is found"
is "$(of 2 "d['submitter_env']['PATH']")" "$scratch/env/bin:$PATH" "its PATH is recorded"

show='echo $VIRTUAL_ENV,$CONDA_PREFIX,$PYTHONPATH,$LD_LIBRARY_PATH,$CUDA_VISIBLE_DEVICES'
check "all six variables" env VIRTUAL_ENV=/v CONDA_PREFIX=/c PYTHONPATH=/p LD_LIBRARY_PATH=/l \
    CUDA_VISIBLE_DEVICES=1,2 "$TRADEWIND" job submit --wait -- sh -c "$show" >/dev/null
run job logs 3
is "$out" "/v,/c,/p,/l,1,2" "reach the job"
is "$(of 3 "sorted(d['submitter_env'].items())[0], len(d['submitter_env'])")" \
    "('CONDA_PREFIX', '/c') 6" "and stand in its record"

check "a shell that has none of them" "$TRADEWIND" job submit --wait -- sh -c "$show" >/dev/null
run job logs 4
is "$out" ",,,," "passes none, not the broker's either"

check "--env counts more" env PYTHONPATH=/p "$TRADEWIND" job submit --wait --env PYTHONPATH=/mine \
    -- sh -c 'echo $PYTHONPATH' >/dev/null
run job logs 5
is "$out" "/mine" "than the shell"

check "a rerun" env PYTHONPATH=/again "$TRADEWIND" job rerun 3 --wait >/dev/null
run job logs 6
is "$out" ",,/again,," "has the variables of who reruns"

# ---- other machines ----

echo 'hosts: {lab: [{host: 127.255.255.254, cpus: 4, memory: 8}]}' >"$TRADEWIND_HOME/config.yaml"
run job submit --on lab --json -- true
job=$(json "d['id']" <<<"$out")
is "$(of "$job" "d['submitter_env']")" "{}" "a job for another machine is not told ours"
check "which no command waits for" "$TRADEWIND" job kill "$job" >/dev/null 2>&1
rm "$TRADEWIND_HOME/config.yaml"

# ---- pipelines ----

cat >two.yaml <<'YAML'
name: two
---
name: prep
run: echo prep $LR $OTHER $PYTHONPATH
---
name: train
needs: [prep]
envs: {LR: 0.1}
run: echo train $LR $OTHER $PYTHONPATH
YAML
# printed RUN: what its stages printed
printed() {
    local id
    for id in $("$TRADEWIND" run show "$1" --json | json "*[s['job'] for s in d['stages']]"); do
        "$TRADEWIND" job logs "$id"
    done
}

PYTHONPATH=/p run run two.yaml --yes --env LR=0.2
is "$code" 0 "a run with a value for a variable that one stage declares"
is "$(printed 1)" $'prep /p\ntrain 0.2 /p' "reaches that stage alone"
lacks "$err" "declares" "without a warning"
run run two.yaml --yes --env OTHER=x
is "$(printed 2)" $'prep x\ntrain 0.1 x' "one that no stage declares reaches all"
contains "$err" "--env OTHER: no stage declares it in envs: all stages get it" "with a warning"
is "$(grep -c 'no stage declares' <<<"$err")" 1 "which is said once"

done_testing
