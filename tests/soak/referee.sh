#!/bin/bash
# Thousands of random cases against the referee: soak/referee.sh [FIRST..LAST]
# Soak: at most 3000 s
cd "$(dirname "$0")/../.." || exit 1
seeds=${1:-1000..6000}
status=0
/usr/bin/python3 tests/referee/run.py --seeds "$seeds" || status=1
first=${seeds%..*}
/usr/bin/python3 tests/referee/run.py --seeds "$first..$((first + 40))" --max-plans 100000 || status=1
/usr/bin/python3 tests/referee/cut.py --seeds "$first..$((first + 60))" || status=1
exit $status
