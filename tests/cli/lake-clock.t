#!/usr/bin/env bash
# A clock that jumps, back and forth, between commands and within them: versions stay in order,
# times are what the clock said, and nothing that was committed expires.
. "$(dirname "$0")/tap.sh"

shim=${TRADEWIND_BUILD:-$(dirname "$TRADEWIND")}/tests/tools/clock.so
[ -e "$shim" ] || skip_all "no $shim: \`make unit\` builds it"
export TRADEWIND_TEST_CLOCK=$scratch/clock ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
# Only tradewind's clock jumps, not that of the programs around it.
printf '#!/bin/sh\nLD_PRELOAD="%s" exec "%s" "$@"\n' "$shim" "$TRADEWIND" >tradewind
chmod +x tradewind
TRADEWIND=$scratch/tradewind
year=31536000

# at SECONDS: the clock jumps to so far from now
at() {
    echo "$1" >"$TRADEWIND_TEST_CLOCK"
}

# put TEXT PATH OPTIONS...
put() {
    local text=$1
    shift
    printf '%s' "$text" | "$TRADEWIND" put - "$@" >/dev/null
}

# clean NAME
clean() {
    run fsck --json
    is "$code $(json 'd["problems"]' <<<"$out" 2>&1)" "0 []" "$1: fsck is clean"
}

at -$((2 * year))
put zero /probe
past=$("$TRADEWIND" ls --json /probe | json 'd[0]["create_time"][:4]')
is "$past" "$(date -u -d "-$((2 * year)) seconds" +%Y)" "the clock can be moved"

# ---- between puts
at 0
put one /f --set S
at -$year
put two /f --set S
at $year
put three /f --set S
at 0
put four /f --set S
at -$year
"$TRADEWIND" set create T @S /probe >/dev/null
put five /f --set S
"$TRADEWIND" log --json /f >log
is "$(json '[f["version"] for f in d]' <log)" "[5, 4, 3, 2, 1]" "versions are in order"
year_at() {
    date -u -d "$1 seconds" +%Y
}
is "$(json '" ".join(f["create_time"][:4] for f in d)' <log)" \
    "$(year_at -$year) $(year_at 0) $(year_at +$year) $(year_at -$year) $(year_at 0)" \
    "a clock that was wrong once spoils no later time"
at -$((2 * year))
contains "$(put told /told 2>&1)" "times of versions are out of order" "which is told"
at 0
is "$("$TRADEWIND" cat /f)" five "the latest is the one put last"
for v in 1 2 3 4 5; do
    is "$("$TRADEWIND" cat "/f@S:$v")" "$(sed -n "${v}p" <<<"one
two
three
four
five")" "version $v of the set"
done
is "$("$TRADEWIND" trace @T --json | json 'sorted(n["ref"] for n in d["nodes"])')" "['@S:4', '@T:1']" \
    "the trace is right"
clean "puts"

# ---- gc with a clock that is wrong
for jump in -$year $year 0; do
    at $jump
    run gc --yes --json
    is "$code" 0 "gc at $jump"
    is "$("$TRADEWIND" cat /f@S:1) $("$TRADEWIND" cat /f@S:5)" "one five" "what sets hold stays"
done
clean "gc"

# ---- sessions
begin() {
    "$TRADEWIND" session begin "$@" --json | json 'd["session"]'
}
state() {
    "$TRADEWIND" session status "$1" --json | json 'd["state"]'
}
echo content >file
at 0
one=$(begin /s/one)
"$TRADEWIND" session put "$one" file /s/one >/dev/null
at -$year
is "$(state "$one")" pending "the clock goes back: the session is pending"
run session finish "$one"
is "$code" 0 "and can be finished"
is "$("$TRADEWIND" cat /s/one)" content "its file is there"
is "$(state "$one")" committed "it is committed"
"$TRADEWIND" pin /s/one

at 0
two=$(begin /s/two)
"$TRADEWIND" session put "$two" file /s/two >/dev/null
at $year
is "$(state "$two")" expired "the clock goes forward: a session left alone expires"
fails 2 "expired" session finish "$two"
fails 3 "" ls /s/two
at 0
is "$(state "$two")" pending "and back before anyone cleaned up: it is there again"
at $year
"$TRADEWIND" gc --yes >/dev/null
at 0
run session finish "$two"
check "once gc has run it is over" test "$code" = 2 -o "$code" = 3
is "$("$TRADEWIND" cat /s/one) $("$TRADEWIND" cat /f@S:3)" "content three" "what was committed is there"
clean "sessions"

at $year
three=$(begin /s/three)
at 0
"$TRADEWIND" gc --yes >/dev/null
is "$(state "$three")" pending "begun in the future: pending"
run session abort "$three"
is "$code" 0 "it can be given up"
clean "a session from the future"

# ---- a put that is at work, while the clock jumps and gc runs
at 0
mkdir large
for i in 1 2 3; do
    truncate -s 250M "large/$i"
    echo "$i" >>"large/$i"
done
"$TRADEWIND" put large / --set Large >/dev/null 2>message &
process=$!
for jump in $year -$year $((2 * year)) 0 $year; do
    at "$jump"
    "$TRADEWIND" gc --yes >/dev/null 2>&1
done
wait $process
is "$? $(<message)" "0 " "a put at work is not touched by the jumps, nor by gc"
is "$("$TRADEWIND" cat /large/2@Large | tail -c 2)" 2 "its files are there"
clean "in the end"

done_testing
