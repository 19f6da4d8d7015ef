#!/bin/bash
# Policies against a second solver, GLPK, on random problems. TRADEWIND_SLOW=1, for a program built
# with sanitizers, tries fewer.
cd "$(dirname "$0")/../.." || exit 1
export TRADEWIND="${TRADEWIND:-build/tradewind}" PYTHONDONTWRITEBYTECODE=1
if ! command -v glpsol >/dev/null; then
    echo "1..0 # SKIP no glpsol (Debian package glpk-utils)"
    exit 0
fi
count=40
[[ -n ${TRADEWIND_SLOW:-} ]] && count=10
exec /usr/bin/python3 tests/referee/policy.py --count "$count"
