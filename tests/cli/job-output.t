#!/usr/bin/env bash
# What jobs leave in $TRADEWIND_OUTPUT: sets of jobs that name none, reproduced versions.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

json() { # FIELD JOB
    "$TRADEWIND" job show --json "$2" | jq -r ".$1"
}

# ---- every job has an output ----

run job submit --wait -- sh -c 'echo model > "$TRADEWIND_OUTPUT/m"'
is "$code" 0 "a job without --output finishes"
contains "$out$err" "output @job-1:1" "its output is the set job-1"
is "$("$TRADEWIND" cat /job-1/m@job-1:1)" model "which holds what it wrote"
is "$(json output 1) $(json state 1)" "@job-1:1 finished" "and stands in its record"
contains "$("$TRADEWIND" job show 1)" "@job-1:1" "which job show prints"
contains "$("$TRADEWIND" find 'kind=set job=1')" "@job-1:1" "find finds it by its job"

run job submit --wait -- true
is "$code" 0 "a job that writes nothing finishes"
is "$(json output 2)" null "and has no output"
fails 3 "no set @job-2" set show @job-2

run job rerun 1
"$TRADEWIND" job wait 3 >/dev/null 2>&1
is "$(json output 3)" @job-3:1 "a rerun has a set of its own"

run sweep s -- sh -c 'echo $0 > "$TRADEWIND_OUTPUT/value"' '{1,2}'
is "$("$TRADEWIND" cat /job-4/value@job-4; "$TRADEWIND" cat /job-5/value@job-5)" $'1\n2' \
    "trials of a sweep keep their outputs"

done_testing
