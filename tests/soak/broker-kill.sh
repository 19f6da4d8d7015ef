#!/bin/bash
# A broker killed at every write it makes and at every process it starts, then many at random.
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_BUILD=$(dirname "$TRADEWIND") TRADEWIND_KILLS=${TRADEWIND_KILLS:-all} \
    TRADEWIND_ROUNDS=${TRADEWIND_ROUNDS:-50} exec tests/cli/broker-kill.t
