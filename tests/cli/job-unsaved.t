#!/usr/bin/env bash
# Outputs that cannot be stored: a name that the lake cannot hold, a full disk, a set of another user.
# The output stays, the job is unsaved, and `job save` or room on the disk finishes it.

# Small disks are mounted in a namespace of the test's own, which takes them along when it ends.
if [ -z "$TRADEWIND_TEST_NAMESPACE" ]; then
    export TRADEWIND_TEST_NAMESPACE=none
    # shellcheck disable=SC2016 # $1 is the inner shell's
    if [ "$(id -u)" -eq 0 ] &&
        unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs "$1"' sh "${TMPDIR:-/tmp}" 2>/dev/null; then
        TRADEWIND_TEST_NAMESPACE=own exec unshare -m "$0"
    fi
fi
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    TRADEWIND_HOME=$scratch/small/home "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=30 TRADEWIND_BROKER_STORE_WAIT_S=0.3

of() { # EXPRESSION JOB: of its record d
    "$TRADEWIND" job show --json "$2" | json "$1"
}
becomes() { # STATE JOB
    local i
    for i in $(seq 600); do
        [ "$(of 'd["state"]' "$2")" = "$1" ] && return 0
        sleep 0.1
    done
    return 1
}

# ---- a name that the lake cannot hold ----

run job submit --wait --output m -- \
    sh -c 'cd "$TRADEWIND_OUTPUT"; mkdir d; echo 1 >"$(printf "d/a\tb")"; echo 2 >d/a_b; echo 3 >plain'
is "$code" 1 "a job whose output has a tab in a name does not succeed"
contains "$out" "job 1 is unsaved after" "it is unsaved"
contains "$out" 'a?b must be renamed or left out' "the file is named"
contains "$out" "tradewind job save 1 [--output SET] [--rename]" "and the way out"
is "$(of "d['state'], d['saves_later'], d['output'], d['exit_code']" 1)" "unsaved False None 0" \
    "its record says so, and that nothing is tried again"
is "$(of '[t["state"] for t in d["transitions"]][-2:]' 1)" "['storing', 'unsaved']" "with the change"
is "$(cat "$TRADEWIND_HOME"/jobs/1/output/plain)" 3 "the output stays"
contains "$("$TRADEWIND" job ls --state unsaved)" " unsaved " "job ls finds it by its state"
contains "$("$TRADEWIND" find 'kind=job state=unsaved' 2>&1)" "job:1" "and so does find"
run job wait 1
is "$code" 1 "job wait does not wait for it"
is "$("$TRADEWIND" job logs -f 1)" "" "nor does job logs -f"
run job kill 1
contains "$out" "over already: unsaved" "job kill leaves it alone"
"$TRADEWIND" broker --stop >/dev/null
run job save 1
is "$code" 2 "job save without --rename fails again"
contains "$err" "job 1 is still unsaved: " "and says what is the case"
contains "$err" 'a?b must be renamed' "and why"
contains "$err" "; rename such files with --rename" "and what to do"
is "$(cat "$TRADEWIND_HOME"/jobs/1/output/plain)" 3 "it stays through new brokers and attempts"
fails 2 'output: "-x" is not a name' job save 1 --output=-x
fails 3 "there is no job 99" job save 99
run job save 1 --rename --output other --json
is "$code $(json 'd["output"], d["renamed"]' <<<"$out")" \
    "0 @other:1 [{'from': 'd/a?b', 'to': 'd/a_b.2'}]" "--rename and --output store it"
is "$(of 'd["state"], d["output"]' 1)" "finished @other:1" "the job is finished"
is "$("$TRADEWIND" cat /other/d/a_b@other; "$TRADEWIND" cat /other/d/a_b.2@other)" $'2\n1' "no file replaced another"
is "$(ls "$TRADEWIND_HOME/jobs/1" | tr '\n' ' ')$(ls "$TRADEWIND_HOME/untidy")" "agent.lock log state " \
    "nothing else is left behind"
contains "$("$TRADEWIND" find 'kind=set job=1')" "@other:1" "the set knows its job"
run job save 1
is "$code $out" "0 job 1 was saved already: output @other:1" "job save again changes nothing"
run job submit --wait -- false
fails 2 "job 2 is failed: there is no unsaved output" job save 2

# ---- in a pipeline ----

mkdir p
cat >p/p.yaml <<'YAML'
name: p
---
name: a
outputs: {made: 0.001}
estimate: {seconds: 1}
run: |
  echo made >"$TRADEWIND_OUTPUT/made/$(printf 'x\ty')"
  echo ran >>"$RAN"
---
name: b
needs: a
inputs: [a.made]
outputs: {copy: 0.001}
estimate: {seconds: 1}
run: cat "$TRADEWIND_INPUT"/p.a/made/* >"$TRADEWIND_OUTPUT/copy/n"
YAML
export RAN=$scratch/ran
sed -i "s|\\\$RAN|$RAN|" p/p.yaml
run run p/p.yaml --yes
is "$code" 1 "a run with an unsaved stage fails"
job=$("$TRADEWIND" run show 1 --json | json 'd["stages"][0]["job"]')
contains "$out$err" "\`tradewind job save $job\` stores it" "and says what to do"
"$TRADEWIND" job save "$job" --rename >/dev/null
run run p/p.yaml --resume --yes
is "$code" 0 "after job save the run continues"
is "$(cat "$RAN")" ran "the saved stage ran once"
is "$("$TRADEWIND" cat /p.b/copy/n@p.b)" made "and the next one read its output"
run job rm "$job"
is "$code" 2 "a job whose output is there stays"
contains "$err" "job $job made @p.a:1" "and the set is named"

# ---- job rm ----

run job submit --wait -- sh -c 'echo lost >"$TRADEWIND_OUTPUT/$(printf "a\nb")"; echo logged'
last=$("$TRADEWIND" job ls --json | json 'd[0]["id"]')
is "$(of 'd["state"]' "$last")" unsaved "another one is unsaved"
spent=$("$TRADEWIND" bill --json | json 'd["cost_usd"]')
# As job save does while it stores.
err=$(flock "$TRADEWIND_HOME/jobs/$last" "$TRADEWIND" job rm "$last" 2>&1 >/dev/null)
is "$?" 6 "job rm refuses a job whose output is being stored"
contains "$err" "another process stores the output of job $last now; remove it when that is over" "and says so"
is "$(of 'd["state"]' "$last")" unsaved "which stays as it was"
run job rm "$last" 2
is "$code" 0 "job rm removes it, and a failed one"
contains "$out" "job $last is removed, with its unsaved output: " "and says what went"
check "the directories go" test ! -e "$TRADEWIND_HOME/jobs/$last" -a ! -e "$TRADEWIND_HOME/jobs/2"
fails 3 "there is no job $last" job show "$last"
is "$("$TRADEWIND" bill --json | json 'd["cost_usd"]')" "$spent" "the bill keeps what they cost"
is "$("$TRADEWIND" fsck --json | json 'd["problems"]')" "[]" "fsck is clean"
printf 'name: q\n---\nname: bad\nestimate: {seconds: 1}\nrun: exit 3\n' >q.yaml
"$TRADEWIND" run q.yaml --yes >/dev/null
failed=$("$TRADEWIND" job ls --json | json 'd[0]["id"]')
run job rm "$failed"
is "$code" 0 "the job of a run that failed can be removed"
contains "$("$TRADEWIND" run show 3)" "bad failed: exit code 3" "and run show still works"
is "$("$TRADEWIND" run ls --json | json 'len(d)')" 3 "and run ls"
run job submit -- sleep 1000
running=$("$TRADEWIND" job ls --json | json 'd[0]["id"]')
becomes running "$running"
fails 2 "job $running is running: wait for its end" job rm "$running"
fails 2 "job 1 made @other:1" job rm 1
"$TRADEWIND" job kill "$running" >/dev/null
becomes killed "$running"
run job rm "$running"
is "$code" 0 "a killed job can be removed"
"$TRADEWIND" broker --stop >/dev/null

# ---- a full disk ----

if [ "$TRADEWIND_TEST_NAMESPACE" != own ]; then
    skip "outputs on a full disk" "only root may mount one"
    done_testing
    exit
fi
export TRADEWIND_HOME=$scratch/small/home
mkdir small
mount -t tmpfs -o size=24m tmpfs small
run job submit --wait -- true
head -c 9000000 /dev/urandom >small/fill
run job submit --output big -- sh -c 'head -c 10000000 /dev/urandom >"$TRADEWIND_OUTPUT/x"'
check "an output that finds no room makes its job unsaved" becomes unsaved 2
contains "$(of 'd["reason"]' 2)" "No space left on device" "for that reason"
is "$(of 'd["saves_later"]' 2)" True "it is tried again"
contains "$("$TRADEWIND" job show 2)" "is stored when that passes" "which job show says"
before=$(sha256sum <small/home/jobs/2/output/x)
run job submit --wait -- true
is "$code" 0 "other jobs go on"
kill -9 "$(cat small/home/broker.pid 2>/dev/null || fuser small/home/broker.lock 2>/dev/null)"
run job wait 2 --timeout 5s
is "$code" 124 "job wait waits for it, after the broker was killed"
contains "$err" "job 2 is unsaved, and waits for a better time: " "and says what it waits for"
rm small/fill
check "with room again it is stored" becomes finished 2
is "$("$TRADEWIND" cat /big/x@big | sha256sum)" "$before" "as it was made"
head -c 6000000 /dev/urandom >small/fill
run job submit --output big -- sh -c 'head -c 5000000 /dev/urandom >"$TRADEWIND_OUTPUT/x"'
job=$("$TRADEWIND" job ls --json | json 'd[0]["id"]')
check "a further one is unsaved" becomes unsaved "$job"
run job kill "$job"
for i in $(seq 100); do [ "$(of 'd["saves_later"]' "$job")" = False ] && break; sleep 0.1; done
is "$(of "d['state'], d['saves_later']" "$job")" "unsaved False" "which keeps the output"
check "it is there" test -s "small/home/jobs/$job/output/x"
rm small/fill
run job save "$job"
is "$code" 0 "job save stores it"
TRADEWIND_HOME=$scratch/small/home "$TRADEWIND" broker --stop >/dev/null
for i in $(seq 100); do umount small 2>/dev/null && break; sleep 0.1; done

done_testing
