#!/usr/bin/env bash
# SkyPilot's files load as they are: warnings at most, each where it belongs.
. "$(dirname "$0")/tap.sh"

files=$root/tests/cli/skypilot

# loads FILE STAGES WARNED_FIELDS: exit 0, that many stages, warnings for exactly these fields
loads() {
    run plan --check "$files/$1"
    is "$code:$err" "0:" "$1 is valid"
    contains "$out" "valid, $2 stage" "$1 has $2 stages"
    is "$(sed -n 's/.*warning: [^:]*: \([a-z_.]*\):.*/\1/p' <<<"$out" | sort | tr '\n' ' ')" "$3" \
        "$1: what is ignored"
}

loads single.yaml 1 \
    "resources.autostop resources.disk_tier resources.job_recovery resources.labels resources.ports "
loads pipeline.yaml 2 ""
loads parallel.yaml 2 ""
loads service.yaml 1 "resources.infra resources.network_tier resources.ports service "
loads storage.yaml 1 \
    "config event_callback experimental resources.accelerator_args resources.local_disk volumes "

run plan --check "$files/service.yaml"
contains "$out" "service.yaml:1: warning: stage stage-1: service: has no meaning here" \
    "a warning has file and line"
done_testing
