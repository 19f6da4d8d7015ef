#!/bin/bash
# A broker with jobs on hosts, killed at every write it makes and at every process it starts.
# Soak: at most 3000 s, 4 shards
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_SHARD=$SOAK_SHARD TRADEWIND_KILLS=${TRADEWIND_KILLS:-all} \
    TRADEWIND_ROUNDS=${TRADEWIND_ROUNDS:-5} exec tests/cli/hosts-kill.t
