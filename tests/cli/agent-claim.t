#!/usr/bin/env bash
# Which home uses a machine, as the agents of several homes there settle it.
. "$(dirname "$0")/tap.sh"

agent=${TRADEWIND_BUILD:-$root/build}/tradewind-agent
[[ -x $agent ]] || agent=$(dirname "$TRADEWIND")/tradewind-agent
homes=$scratch/homes
mkdir -p "$homes/ann" "$homes/bob"
file=$homes/in-use.$(uname -n)

# agent WORDS...: sets $code and $err
agent() {
    "$agent" "$@" 2>"$scratch/err" </dev/null
    code=$?
    err=$(<"$scratch/err")
}

# claim HOME TOKEN SECONDS
claim() {
    agent claim "$homes/$1" "$2" "$3" "$1@desk"
}

claim ann job-1-1 3600
is "$code" 0 "a machine that nobody uses can be had"
claim bob job-7-1 3600
is "$code $err" "5 tradewind-agent: in use by ann@desk" "not by two homes at once"
claim ann job-1-1 3600
is "$code" 0 "who has it may say so again"
claim ann job-2-1 300
is "$code $(cut -d' ' -f2 "$file")" "0 job-1-1" "another job of that home that only looks changes nothing"
claim ann job-2-1 3600
is "$code $(cut -d' ' -f2 "$file")" "0 job-2-1" "one that has it does"
agent release "$homes/ann" job-1-1
claim bob job-7-1 3600
is "$code" 5 "what was taken for another job is not given back"
agent release "$homes/bob" job-2-1
claim bob job-7-1 3600
is "$code" 5 "nor by another home"
agent release "$homes/ann" job-2-1
agent release "$homes/ann" job-2-1
is "$code" 0 "giving back can be repeated"
claim bob job-7-1 3600
is "$code" 0 "then the next has it"
agent release "$homes/bob" job-7-1

claim ann job-1-1 0
claim bob job-7-1 0
is "$code" 0 "a claim that lapsed is none"
echo "ann job-1-1 $((($(date +%s) + 86400) * 1000)) ann@desk" >"$file"
claim bob job-7-1 0
is "$code" 0 "nor one that is longer than any can be: the clock was put back"
for text in '' garbage 'ann job-1-1 soon x' '../x t 99999999999999 y' "$(head -c 5000 /dev/zero | tr '\0' x)"; do
    printf '%s\n' "$text" >"$file"
    claim bob job-7-1 0
    is "$code" 0 "what is no claim is none: ${text:0:20}"
done

# ---- a job that outlived its broker and its claim ----
mkdir "$homes/ann/1"
printf '%s\n' 'tradewind-job 1' 'id 1' 'command sh' 'command -c' \
    "command while [ ! -e '$scratch/go' ]; do sleep 0.05; done" >"$homes/ann/1/job"
"$agent" run "$homes/ann/1" >/dev/null 2>&1 &
for i in {1..600}; do
    grep -qs started "$homes/ann/1/state" && break
    sleep 0.1
done
claim ann job-1-1 0
claim bob job-7-1 3600
is "$code" 5 "as long as a job runs there its home has the machine"
touch "$scratch/go"
wait
for i in {1..600}; do # its agent has a last breath
    claim bob job-7-1 3600
    [ "$code" = 0 ] && break
    sleep 0.1
done
is "$code" 0 "and not longer"
agent release "$homes/bob" job-7-1

# ---- all at once ----
for i in {1..20}; do
    for home in ann bob; do
        ("$agent" claim "$homes/$home" "job-$i-1" 3600 "$home@desk" 2>/dev/null && echo "$home" >>won) &
    done
done
wait
is "$(sort won | uniq -c | awk '{print $1}')" 20 "of two homes that ask at once one has it"

for bad in "two words" "" ..; do
    agent claim "$homes/ann" "$bad" 60 ann@desk
    is "$code" 2 "'$bad' is no token"
done
agent claim "$homes/ann" job-1-1 soon ann@desk
is "$code" 2 "nor is 'soon' a time"
agent claim "$homes/cat" job-1-1 60 cat@desk
check "a home that is not there has none" test "$code" -ne 0

done_testing
