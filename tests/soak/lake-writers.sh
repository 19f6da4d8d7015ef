#!/bin/bash
# Ten thousand writers in turn on one path of the data lake. usage: lake-writers.sh [WRITERS]
# Soak: at most 1200 s
. "$(dirname "$0")/scratch.bash"
writers=${1:-10000}
SECONDS=0
for ((i = 1; i <= writers; i++)); do
    "$TRADEWIND" put - /turn <<<"writer $i" >/dev/null || status=1
done
echo "$writers writers in turn: $SECONDS s"
"$TRADEWIND" log --json /turn |
    python3 -c '
import hashlib, json, sys
n = int(sys.argv[1])
versions = json.load(sys.stdin)
assert [v["version"] for v in versions] == list(range(n, 0, -1)), "numbers"
for v in versions:
    wanted = hashlib.sha256(b"writer %d\n" % v["version"]).hexdigest()
    assert v["sha256"] == wanted, "content of version %d" % v["version"]
times = [v["create_time"] for v in versions]
assert times == sorted(times, reverse=True), "times"
' "$writers" || status=1
[ "$("$TRADEWIND" cat "/turn#$((writers / 2))")" = "writer $((writers / 2))" ] || status=1
"$TRADEWIND" fsck || status=1
exit $status
