#!/bin/bash
# The commands that write to a lake, killed at every write they make.
# Soak: at most 2400 s, 4 shards
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_FIRST=${SOAK_SHARD%/*} TRADEWIND_STEP=${SOAK_SHARD#*/} exec tests/cli/lake-crash.t
