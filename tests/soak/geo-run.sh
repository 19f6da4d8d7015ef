#!/bin/bash
# Trainings across four emulated regions: twenty rounds of each topology, gradients of 6.5 MB; each with a
# worker killed, an event that comes twice and a store that fails, with compressed gradients, and with larger
# ones over two connections.
# Soak: at most 2400 s
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_GEO_ROUNDS=${TRADEWIND_GEO_ROUNDS:-20} \
    TRADEWIND_GEO_HIDDEN=${TRADEWIND_GEO_HIDDEN:-2048} exec tests/cli/geo-run.t
