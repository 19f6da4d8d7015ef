#!/usr/bin/env bash
# The wall clock is put back an hour while a broker works: what is to last seconds lasts seconds.
. "$(dirname "$0")/tap.sh"

shim=${TRADEWIND_BUILD:-$(dirname "$TRADEWIND")}/tests/tools/clock.so
[ -e "$shim" ] || skip_all "no $shim: \`make unit\` builds it"
export TRADEWIND_HOME=$scratch/home TRADEWIND_TEST_CLOCK=$scratch/clock
export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

# broker IDLE: in the background, with the clock of the file
broker() {
    echo 0 >"$TRADEWIND_TEST_CLOCK"
    LD_PRELOAD=$shim TRADEWIND_BROKER_IDLE_S=$1 "$TRADEWIND" broker >ready.txt 2>broker.txt &
    pid=$!
    until_true grep -q ready ready.txt
}

# until_true COMMAND...: at most two minutes
until_true() {
    local i
    for i in {1..1200}; do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}

is_gone() {
    ! kill -0 "$pid"
}

broker 60
"$TRADEWIND" job submit --time-limit 1s -- sh -c "touch '$scratch/begun'; sleep 600" >/dev/null
check "a job runs" until_true test -e begun
echo -3600 >"$TRADEWIND_TEST_CLOCK"
run job wait 1 --timeout 120s
contains "$out" "time limit" "its time limit ends it, clock or not"
is "$("$TRADEWIND" job show 1 --json | json '0 <= d["runtime_s"] < 1800')" True \
    "it did not run for an hour by the record"
"$TRADEWIND" broker --stop >/dev/null
wait "$pid"

broker 2
run job submit --wait -- true
is "$code" 0 "a job ends, and there is nothing more to do"
echo -3600 >"$TRADEWIND_TEST_CLOCK"
check "the broker goes when it was idle, clock or not" until_true is_gone

done_testing
