#!/bin/bash
# Twenty thousand random cases: the exact solver against the exhaustive one.
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_CASES=${1:-20000} TRADEWIND_SEED=100000 \
    "$(dirname "$TRADEWIND")/tests/unit/plan/test_exact"
