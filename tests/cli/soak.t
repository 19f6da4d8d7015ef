#!/bin/bash
# The runner of the soak, with parts made up here that end in all ways.
. "$(dirname "$0")/tap.sh"

part() {
    { echo '#!/bin/bash'; cat; } >"parts/$1.sh"
    chmod +x "parts/$1.sh"
}
# ends PID: within a minute
ends() {
    local i
    for ((i = 0; i < 3000; i++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.02
    done
    return 1
}

mkdir parts build
cp "$root/tests/soak/run" parts/run
part works <<<'# Soak: at most 90 s, 3 shards
echo "shard $SOAK_SHARD of ${TRADEWIND##*/} in $TRADEWIND_BUILD"; echo $SOAK_SHARD >>order'
part first <<<'# Soak: at most 100 s
echo first >>order'
part breaks <<<'echo the reason; exit 3'
part hangs <<<'# Soak: at most 1 s
sleep 1000 & echo $! >child; wait'
part skips <<<'# Soak: at most 80 s
echo "1..0 # SKIP no such machine"'

# soak ARGUMENTS...: $out and $code of the runner, durations left out
soak() {
    code=0
    out=$(parts/run "$@" 2>&1) || code=$?
    out=$(sed -E 's/ +[0-9]+ s( |$)/ N s\1/; s/in [0-9]+ minutes/in N minutes/' <<<"$out")
}

export SOAK_AT_ONCE=1
soak build works first
is "$code:$out" "0:ok      first N s
ok      works 1/3 N s
ok      works 2/3 N s
ok      works 3/3 N s
4 ok, 0 failed, 0 skipped in N minutes; outputs in $scratch/build/soak" "a line per part, and a summary"
is "$(echo $(<order))" "first 1/3 2/3 3/3" "what may take longest begins first"
is "$(<build/soak/works-2-3.log)" "shard 2/3 of tradewind in $scratch/build" \
    "each shard has a log, and knows its share and its build"

export SOAK_AT_ONCE=9
soak build breaks hangs skips
is "$code" 1 "a part that fails fails the whole"
contains "$out" "FAILED  breaks N s  exit status 3, see $scratch/build/soak/breaks.log
    the reason" "it is named, with its status and what it said"
contains "$out" "FAILED  hangs N s  time-out" "a part that hangs is ended"
check "with its processes" ends "$(<child)"
contains "$out" "skipped skips N s  no such machine" "a part that skips says why"
contains "$out" "0 ok, 2 failed, 1 skipped" "the summary counts them"
soak build
contains "$out" "4 ok, 2 failed, 1 skipped" "without names, all parts run"

soak build nothing
is "$code" 2 "an unknown part is a usage error"
contains "$out" "nothing: no such part" "it is named"
contains "$out" "parts: breaks first hangs skips works" "beside the parts there are"
soak
is "$code" 2 "as are no arguments"

# Ctrl-C: the parts end, too.
sed -i 's/at most 1 s/at most 100 s/' parts/hangs.sh
rm child
parts/run build hangs >/dev/null 2>&1 &
until [ -s child ]; do sleep 0.02; done
kill -TERM $!
wait $!
is $? 130 "a runner that is ended says so"
check "and its parts are gone" ends "$(<child)"

# Every part of the real soak says how long it may take.
is "$(grep -L '^# Soak: at most [0-9]* s' "$root"/tests/soak/*.sh)" "" "every part is bounded"
# The list of inputs names every fuzzer.
is "$(for source in "$root"/tests/fuzz/fuzz_*.c; do
    name=${source##*/fuzz_}
    grep -q "\`${name%.c}\`" "$root/tests/fuzz/README.md" || echo "${name%.c}"
done)" "" "tests/fuzz/README.md lists the fuzzers"
done_testing
