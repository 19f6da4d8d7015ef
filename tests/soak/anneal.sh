#!/bin/bash
# Plans of large DAGs against annealing by the referee's model: soak/anneal.sh [FIRST..LAST]
# Soak: at most 1800 s
cd "$(dirname "$0")/../.." || exit 1
exec /usr/bin/python3 tests/referee/anneal.py --seeds "${1:-1..40}"
