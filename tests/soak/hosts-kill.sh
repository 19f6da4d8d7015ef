#!/bin/bash
# A broker with jobs on hosts, killed at every write it makes and at every process it starts.
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_BUILD=$(dirname "$TRADEWIND") TRADEWIND_KILLS=${TRADEWIND_KILLS:-all} \
    TRADEWIND_ROUNDS=${TRADEWIND_ROUNDS:-20} exec tests/cli/hosts-kill.t
