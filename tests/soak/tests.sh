#!/bin/bash
# All tests with both builds, without the fuzzers, which are a part of their own.
# Soak: at most 3600 s
cd "$(dirname "$0")/../.." || exit 1
TESTS=all FUZZ_S=0 exec tests/run --build "$TRADEWIND_BUILD"
