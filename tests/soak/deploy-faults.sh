#!/bin/bash
# Functions deployed and destroyed under thousands of fault schedules, against the models of clouds.
# Soak: at most 1800 s, 4 shards
cd "$(dirname "$0")/../.." || exit 1
shard=${SOAK_SHARD:-1/1}
n=$((4000 / ${shard#*/}))
SEEDS=$n FIRST_SEED=$((10000 + n * (${shard%/*} - 1))) TRADEWIND_LOG=error \
    "$TRADEWIND_BUILD/tests/unit/cloud/test_deploy_faults" 2>/dev/null | grep -v '^ok'
exit "${PIPESTATUS[0]}"
