#!/bin/bash
# The commands that write to a lake, killed at every write they make.
cd "$(dirname "$0")/../.." || exit 1
TRADEWIND_BUILD=$(dirname "$TRADEWIND") TRADEWIND_STEP=1 exec tests/cli/lake-crash.t
