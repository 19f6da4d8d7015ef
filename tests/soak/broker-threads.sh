#!/bin/bash
# The broker's workers, a broker under load (jobs with input, code and output, which are fetched and
# stored beside the loop), and the tests of jobs here and on hosts, all under the thread sanitizer.
# Soak: at most 2400 s
# shellcheck source=tests/soak/scratch.bash
. "$(dirname "$0")/scratch.bash"
TRADEWIND_BUILD=$TRADEWIND_BUILD/san-thread
TRADEWIND=$TRADEWIND_BUILD/tradewind
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
if "$TRADEWIND_BUILD/tests/unit/broker/test_workers" >workers.log 2>&1; then
    echo "ok workers"
else
    grep -A 30 "WARNING: ThreadSanitizer\|^not ok" workers.log | head -n 60
    status=1
fi

trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
export TRADEWIND_BROKER_IDLE_S=5
jobs=${SOAK_JOBS:-40}
mkdir in code
echo words >in/words
echo 'cat "$1"' >code/tool.sh
"$TRADEWIND" put in /data/ --set words >/dev/null || exit 1
for ((i = 1; i <= jobs; i++)); do
    "$TRADEWIND" job submit --input @words --code code --output "made$((i % 5))" --cpus 0.5 \
        --memory 256 -- sh -c "sh tool.sh \"\$TRADEWIND_INPUT/data/in/words\" >\"\$TRADEWIND_OUTPUT/n$i\"
            echo '[TRADEWIND_METRIC] n 1 $i'" >/dev/null || status=1
done
for ((i = 1; i <= jobs; i++)); do
    "$TRADEWIND" job wait "$i" >/dev/null || { echo "NOT OK job $i"; status=1; break; }
done
"$TRADEWIND" broker --stop
# A race is a warning, a crash an error. A broker that crashes is started again: its first report will do.
if grep -m 1 -A 30 ": ThreadSanitizer: " "$TRADEWIND_HOME/broker.log"; then
    status=1
fi
((status)) || echo "ok $jobs jobs with input, code and output"

# Brokers of these tests go on after a report, which is found afterwards.
export TRADEWIND_SLOW=1
export TSAN_OPTIONS=exitcode=66:log_path=$scratch/report
trap 'rm -rf "$scratch"' EXIT
unset TRADEWIND_HOME TRADEWIND_BROKER_IDLE_S
for name in job run run-gang run-on-hosts hosts broker-trouble; do
    if "$here/../cli/$name.t" >"$name.log" 2>&1; then
        echo "ok $name.t"
    else
        echo "NOT OK $name.t"
        grep -v "^ok" "$name.log" | head -n 20
        status=1
    fi
done
if ls report.* >/dev/null 2>&1; then
    cat report.*
    status=1
fi
exit "$status"
