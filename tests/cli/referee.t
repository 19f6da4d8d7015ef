#!/bin/bash
# The planner against a second implementation of its model, which looks at every combination.
# TRADEWIND_SLOW=1, for a program built with sanitizers, tries fewer cases.
cd "$(dirname "$0")/../.." || exit 1
export TRADEWIND="${TRADEWIND:-build/tradewind}"
referee=tests/referee
seeds=1..120 large=1..4
if [[ -n ${TRADEWIND_SLOW:-} ]]; then
    seeds=1..20 large=1..1
fi

echo 1..3
number=0
check() { # NAME COMMAND...: what the command prints is shown only when it fails
    local name=$1 output
    shift
    number=$((number + 1))
    if output=$("$@" 2>&1); then
        echo "ok $number - $name"
    else
        sed 's/^\(# \)\?/# /' <<<"$output"
        echo "not ok $number - $name"
    fi
}

python=/usr/bin/python3
check "the referee agrees with figures worked out by hand" $python $referee/selftest.py
check "plans equal the referee's, seeds $seeds" $python $referee/run.py --seeds $seeds
check "a search cut short stays honest, seeds $large" $python $referee/cut.py --seeds $large
