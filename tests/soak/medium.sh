#!/bin/bash
# Medium cases against a mixed-integer program: soak/medium.sh [FIRST..LAST]
# Soak: at most 3000 s
cd "$(dirname "$0")/../.." || exit 1
seeds=${1:-1000..1060}
medium=tests/referee/medium.py
status=0
first=${seeds%..*}
if command -v cbc >/dev/null; then
    /usr/bin/python3 $medium --small --seeds "$first..$((first + 500))" || status=1
    /usr/bin/python3 $medium --seeds "$seeds" || status=1
else
    echo "# no cbc (package coinor-cbc): only whether answers fit together"
fi
/usr/bin/python3 $medium --alone --seeds "$first..$((first + 300))" || status=1
exit $status
