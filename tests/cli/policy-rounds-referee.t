#!/bin/bash
# policy simulate against a second writing of its rules, and its shares against GLPK where there is
# one, on random traces. TRADEWIND_SLOW=1, for a program built with sanitizers, tries fewer.
cd "$(dirname "$0")/../.." || exit 1
export TRADEWIND="${TRADEWIND:-build/tradewind}" PYTHONDONTWRITEBYTECODE=1
count=30
[[ -n ${TRADEWIND_SLOW:-} ]] && count=8
exec /usr/bin/python3 tests/referee/policy_rounds.py --count "$count" --solves 1
