#!/bin/bash
# Twenty thousand random cases: the exact solver against the exhaustive one.
# Soak: at most 1200 s, 2 shards
cd "$(dirname "$0")/../.." || exit 1
shard=${SOAK_SHARD:-1/1}
cases=$((${1:-20000} / ${shard#*/}))
TRADEWIND_CASES=$cases TRADEWIND_SEED=$((100000 + cases * (${shard%/*} - 1))) \
    "$TRADEWIND_BUILD/tests/unit/plan/test_exact"
