#!/bin/bash
# Every fuzzer on its corpus, for FUZZ_S seconds each.
# Soak: at most 2400 s, 2 shards
cd "$(dirname "$0")/../.." || exit 1
shard=${SOAK_SHARD:-1/1}
n=0 status=0
for source in tests/fuzz/fuzz_*.c; do
    ((n++ % ${shard#*/} == ${shard%/*} - 1)) || continue
    tests/fuzz/run "$TRADEWIND_BUILD/fuzz/bin/$(basename "$source" .c)" "${FUZZ_S:-60}" || status=1
done
exit $status
