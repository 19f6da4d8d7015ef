#!/bin/bash
# A million small files through the data lake, each command within 300 MB: put, put again, listed,
# made a set, got back, cleaned. usage: lake-million.sh [FILES]
# Soak: at most 2700 s
. "$(dirname "$0")/scratch.bash"
files=${1:-1000000}

# counts FILE WANTED: lines
counts() {
    [ "$(wc -l <"$1")" = "$2" ] && return
    echo "$1 has $(wc -l <"$1") lines, not $2"
    status=1
}

python3 - "$files" <<'PYTHON'
import os, sys
for i in range(int(sys.argv[1])):
    if i % 1000 == 0:
        directory = f"data/{i // 1000:04}"
        os.makedirs(directory)
    with open(f"{directory}/file-{i:07}.txt", "w") as f:
        f.write(f"content of file {i}\n")
PYTHON
measured "put $files files" "$TRADEWIND" put data / >/dev/null
measured "put again, unchanged" "$TRADEWIND" put data / >/dev/null
measured "put --json, unchanged" "$TRADEWIND" put data / --json >/dev/null
measured "ls -r" "$TRADEWIND" ls -r >list
counts list "$files"
measured "ls -r --json" "$TRADEWIND" ls -r --json >/dev/null
measured "set create of all" "$TRADEWIND" set create All / >/dev/null
measured "set create of a directory" "$TRADEWIND" set create Part /data/0000/ >/dev/null
measured "set show" "$TRADEWIND" set show @All --json >/dev/null
measured "find" "$TRADEWIND" find 'size>10' --limit 100 >list
measured "get the set" "$TRADEWIND" get @All out >/dev/null
diff -rq data out/data >differences || status=1
head -n 5 differences
measured "get again, unchanged" "$TRADEWIND" get @All out >/dev/null
measured "fsck" "$TRADEWIND" fsck >/dev/null
measured "rm of the set" "$TRADEWIND" rm @All >/dev/null
measured "gc without --yes" "$TRADEWIND" gc >/dev/null
measured "gc without --yes, --json" "$TRADEWIND" gc --json >/dev/null
measured "gc --yes" "$TRADEWIND" gc --yes >/dev/null
"$TRADEWIND" get @Part part >/dev/null && diff -rq data/0000 part/data/0000 || status=1
measured "put after gc" "$TRADEWIND" put data / --set All >/dev/null
measured "rm -r of the files" "$TRADEWIND" rm -r /data >/dev/null
measured "fsck in the end" "$TRADEWIND" fsck
exit $status
