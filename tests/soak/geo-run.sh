#!/bin/bash
# Trainings across four emulated regions: twenty rounds of each topology, gradients of 6.5 MB.
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_BUILD=$(dirname "$TRADEWIND") TRADEWIND_GEO_ROUNDS=${TRADEWIND_GEO_ROUNDS:-20} \
    TRADEWIND_GEO_HIDDEN=${TRADEWIND_GEO_HIDDEN:-2048} exec tests/cli/geo-run.t
