#!/bin/bash
# Brokers with runs on instances of a cloud, killed at random, and runs whose cloud fails at random.
# Soak: at most 3000 s, 4 shards
cd "$(dirname "$0")/../.." || exit 1
shard=${SOAK_SHARD:-1/1}
n=${shard#*/}
TRADEWIND_ROUNDS=$((80 / n)) TRADEWIND_KILLS=10 tests/cli/run-clouds-kill.t random || status=1
TRADEWIND_SEED=$((1000 * ${shard%/*})) TRADEWIND_SEEDS=$((120 / n)) tests/cli/run-clouds-faults.t seeds || status=1
exit "${status:-0}"
