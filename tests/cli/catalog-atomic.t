#!/usr/bin/env bash
# An import that is killed at any moment leaves the old catalog or the new one; imports at the same
# time take turns.
. "$(dirname "$0")/tap.sh"

header=cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour

# offers CLOUD N: a CSV with so many offers
offers() {
    awk -v cloud="$1" -v n="$2" -v header="$header" 'BEGIN {
        print header
        for (i = 0; i < n; i++)
            print cloud ",r" i % 20 ",,type-" i ",2,8,,,,0." (i % 9 + 1) ",,"
    }'
}

# state: offers of cloud x in the catalog in use, and anything said on stderr
state() {
    "$TRADEWIND" catalog info --json 2>said | json '*(c["offers"] for c in d["clouds"] if c["cloud"] == "x")'
    cat said
}

offers x 20000 >old.csv
offers x 21000 >new.csv
"$TRADEWIND" catalog import old.csv >/dev/null
is "$(state)" 20000 "the old catalog is in use"

# How long an import takes here, to spread the kills over it.
began=$(date +%s%N)
TRADEWIND_HOME=$scratch/elsewhere "$TRADEWIND" catalog import new.csv >/dev/null
whole_us=$((($(date +%s%N) - began) / 1000))

old=0 new=0 wrong=
kills=40
for ((i = 0; i < kills; i++)); do
    "$TRADEWIND" catalog import new.csv >/dev/null 2>&1 &
    pid=$!
    sleep "$(awk -v us="$whole_us" -v i=$i -v n=$kills 'BEGIN { printf "%.6f", us * (i + 0.5) / n / 1e6 * 1.1 }')"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    case $(state) in
    20000) old=$((old + 1)) ;;
    21000)
        new=$((new + 1))
        "$TRADEWIND" catalog import old.csv >/dev/null
        ;;
    *) wrong="$wrong $i:$(state)" ;;
    esac
done
is "$wrong" "" "killed $kills times: $old times the old catalog, $new times the new one"
check "some kills came before the end" test $old -gt 0

run catalog import old.csv
is "$code $(state)" "0 20000" "the next import works"
is "$(find "$TRADEWIND_HOME/catalog" -maxdepth 1 -name 'gen-*' | wc -l)" 1 \
    "and leaves one generation"

# Several at once: each brings a cloud of its own, and none may lose another's.
pids=()
for cloud in c1 c2 c3 c4; do
    offers $cloud 500 >$cloud.csv
    "$TRADEWIND" catalog import $cloud.csv >/dev/null &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
    wait "$pid" || failed=$((failed + 1))
done
is $failed 0 "four imports at once all succeed"
is "$("$TRADEWIND" catalog info | grep -c '^c[1-4] .* 500 ')" 4 "and all four clouds are there"

# While somebody imports, somebody else reads.
(for _ in 1 2 3 4 5 6; do "$TRADEWIND" catalog import c1.csv >/dev/null || echo failed; done) >imports &
writer=$!
errors=0
while kill -0 $writer 2>/dev/null; do
    run catalog info
    [[ $code == 0 && -z $err ]] || errors=$((errors + 1))
done
wait $writer
is "$errors $(cat imports)" "0 " "readers see no error meanwhile"

# A disk that is full, or a directory that cannot be written.
if [[ $(id -u) != 0 ]]; then
    chmod 500 "$TRADEWIND_HOME/catalog"
    run catalog import new.csv
    chmod 700 "$TRADEWIND_HOME/catalog"
    is "$code" 4 "a directory that cannot be written is exit 4"
else
    skip "a directory that cannot be written" "root can write everywhere"
fi
# A write past the limit fails like one on a full disk, once its signal is ignored.
message=$(trap '' XFSZ; ulimit -f 8; "$TRADEWIND" catalog import new.csv 2>&1 >/dev/null)
is $? 7 "an import that cannot write its files is exit 7"
contains "$message" "offers.csv: File too large" "and names the file"
is "$(state)" 20000 "and changes nothing"
is "$(ls "$TRADEWIND_HOME/catalog" | grep -c '^gen-')" 1 "nor leaves anything behind"
done_testing
