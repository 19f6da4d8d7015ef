#!/bin/bash
# A broker killed at every write it makes and at every process it starts, then many at random.
# Soak: at most 2400 s, 4 shards
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_SHARD=$SOAK_SHARD TRADEWIND_KILLS=${TRADEWIND_KILLS:-all} \
    TRADEWIND_ROUNDS=${TRADEWIND_ROUNDS:-13} exec tests/cli/broker-kill.t
