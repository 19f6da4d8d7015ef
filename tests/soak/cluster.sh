#!/bin/bash
# Training clusters on hosts for longer: the curve of one, two and three workers behind a narrow link,
# and a host that falls dead.
# Soak: at most 1800 s
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_LONG=1 exec tests/cli/cluster-run.t
