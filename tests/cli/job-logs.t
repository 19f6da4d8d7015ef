#!/usr/bin/env bash
# Logs of jobs: bounded, counted by gc, removed by job rm.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

is "$("$TRADEWIND" config show --json | json '[s["value"] for s in d["settings"] if s["key"] == "limits.log_mb"]' 2>/dev/null ||
    "$TRADEWIND" config get limits.log_mb)" "[1024.0]" "a log has at most 1024 MB unless the configuration says otherwise"
fails 2 "limits.log_mb" config set limits.log_mb 0
"$TRADEWIND" config set limits.log_mb 0.1 >/dev/null

run job submit --wait -- sh -c 'echo first; seq 100000; echo last'
is "$code" 0 "a job that prints 588,906 bytes"
log=$TRADEWIND_HOME/jobs/1/log
check "its log has at most 0.1 MB and a line" test "$(stat -c %s "$log")" -le $((104858 + 200))
check "and most of that" test "$(stat -c %s "$log")" -ge 100000
is "$(head -n 2 "$log" | tr '\n' ' ')$(tail -n 2 "$log" | tr '\n' ' ')" "first 1 100000 last " \
    "its first and its last lines are there"
contains "$(grep -v '^[0-9]*$' "$log")" "were dropped here" "a line says what was left out"
is "$("$TRADEWIND" job logs 1 | md5sum)" "$(md5sum <"$log")" "job logs shows that"
run job submit --wait -- echo short
is "$("$TRADEWIND" job logs 2)" short "a short log is whole"

# ---- gc ----

bytes=$(cat "$TRADEWIND_HOME"/jobs/*/{log,state} | wc -c)
is "$("$TRADEWIND" gc --json | json 'd["logs"], d["log_bytes"], d["kept_outputs"]')" "2 $bytes 0" \
    "gc counts logs"
contains "$("$TRADEWIND" gc)" "Logs of 2 jobs take 10" "and says how much they take"
"$TRADEWIND" gc --yes >/dev/null
check "gc leaves them" test -s "$log"
run job submit --wait -- sh -c 'head -c 5000 /dev/zero >"$TRADEWIND_OUTPUT/$(printf "a\nb")"'
is "$("$TRADEWIND" gc --json | json 'd["kept_outputs"], d["kept_output_bytes"]')" "1 5000" \
    "gc counts unsaved outputs"
contains "$("$TRADEWIND" gc)" "Outputs of 1 unsaved or failed job, which are in no set, take 4.9 KiB" "and says so"
"$TRADEWIND" gc --yes >/dev/null
check "gc leaves them, too" test -s "$TRADEWIND_HOME/jobs/3/output/"*
run job rm 1
is "$code" 0 "job rm removes a log"
check "the file" test ! -e "$log"
is "$("$TRADEWIND" gc --json | json 'd["logs"]')" 2 "gc counts one less"

# Killed between the record and the directory.
mkdir -p "$TRADEWIND_HOME/jobs/77"
touch "$TRADEWIND_HOME/jobs/77/removed"
echo log >"$TRADEWIND_HOME/jobs/77/log"
is "$("$TRADEWIND" gc --json | json 'd["logs"], d["leftovers"], d["leftover_bytes"]')" "2 1 4" \
    "what a killed job rm left is a leftover"
"$TRADEWIND" gc --yes >/dev/null
check "which gc removes" test ! -e "$TRADEWIND_HOME/jobs/77"

# ---- floods of tags ----
# shellcheck disable=SC2016
run job submit --wait --json -- sh -c 'seq 1 5000 | sed "s/.*/[TRADEWIND_TAG] t&:1/"
    seq 1 5000 | sed "s/.*/[TRADEWIND_TAG] nosuch t&:1/"'
is "$(json 'd["state"]' <<<"$out")" finished "a job that prints tags without end ends"
flooded=$(json 'd["id"]' <<<"$out")
is "$("$TRADEWIND" find t1000=1 --json | json 'len(d)') $("$TRADEWIND" find t1001=1 --json | json 'len(d)')" \
    "1 0" "with 1,000 tags"
contains "$("$TRADEWIND" job show "$flooded")" "further tags or metrics are dropped" "which a warning says"
"$TRADEWIND" broker --stop >/dev/null

done_testing
