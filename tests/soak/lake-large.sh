#!/bin/bash
# A file of 50 GB, mostly holes, in and out of the data lake within 300 MB of memory and without
# taking 50 GB of disk. usage: lake-large.sh [GIGABYTES]
# Soak: at most 2700 s
. "$(dirname "$0")/scratch.bash"
gigabytes=${1:-50}

# small WHAT PATH: takes less than 1 GB of disk
small() {
    local mb
    mb=$(du -sm "$2" | cut -f 1)
    printf '%-44s %9s   %7s MB\n' "disk: $1" "" "$mb"
    [ "$mb" -lt 1000 ] || status=1
}

# Something here and there, also across what could be the end of a part.
truncate -s "${gigabytes}G" large
for ((i = 0; i < gigabytes; i++)); do
    head -c 1000000 /dev/urandom |
        dd of=large bs=64K seek=$((i * 16384 + 1500 + i)) conv=notrunc status=none
done
echo end >>large
measured "sha256 of the source, by openssl" openssl dgst -sha256 -r large >wanted
measured "put" "$TRADEWIND" put large / --set Large >/dev/null
small "the store" home
measured "put again" "$TRADEWIND" put large / >/dev/null
# The memory of both counts, that of openssl is small.
measured "cat, sha256 by openssl" bash -c '"$TRADEWIND" cat /large | openssl dgst -sha256 -r' >got
[ "$(cut -c 1-64 wanted)" = "$(cut -c 1-64 got)" ] || { echo "cat gives something else"; status=1; }
"$TRADEWIND" ls --json /large | grep -q "$(cut -c 1-64 wanted)" || { echo "ls tells another digest"; status=1; }
measured "get" "$TRADEWIND" get /large out >/dev/null
small "what get wrote" out
measured "cmp" cmp large out/large
measured "get again, unchanged" "$TRADEWIND" get /large out >/dev/null
measured "fsck" "$TRADEWIND" fsck >/dev/null
measured "rm" "$TRADEWIND" rm @Large /large >/dev/null
measured "gc --yes" "$TRADEWIND" gc --yes >/dev/null
exit $status
