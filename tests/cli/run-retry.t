#!/usr/bin/env bash
# A stage whose machine is lost is tried again, a few times; one that fails by itself is not.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

wait_for() { # a condition, for at most two minutes
    local i
    for i in {1..300}; do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
# As if the machine of a job were gone: its agent is killed.
lose() { # the job
    PYTHONPATH=$root/tests/cli python3 -c 'import sys, broker_home
home = broker_home.Home.__new__(broker_home.Home)
home.path = sys.argv[1]
found = home.supervisors(int(sys.argv[2]))
assert len(found) == 1, found
broker_home.os.kill(found[0], 9)' "$TRADEWIND_HOME" "$1"
}

cat >frail.yaml <<YAML
name: frail
outputs: {o: 0.001}
run: |
  echo "\$SKYPILOT_TASK_ID" >>$scratch/tasks
  echo \$TRADEWIND_JOB >>$scratch/jobs
  until test -e $scratch/go; do sleep 0.05; done
  echo 1 >"\$TRADEWIND_OUTPUT/o/n"
YAML
touch jobs
count() { [ "$(wc -l <jobs)" = "$1" ]; }
"$TRADEWIND" run frail.yaml --yes >frail.txt 2>&1 &
watcher=$!
check "it runs" wait_for count 1
lose 1
check "its agent killed, it runs again" wait_for count 2
touch go
wait $watcher
is "$?" 0 "and finishes"
is "$(grep -c 'started    job 2, attempt 2 of 3: job 1 was lost: ' frail.txt)" 1 "one line says so"
check "and so does the bill" grep -q 'frail: 2 attempts, since machines were lost' frail.txt
is "$(sort -u tasks | wc -l) $(sort -u tasks | cut -c 1-12)" "1 tradewind-1_" \
    "both attempts have the same name for SkyPilot's task"
is "$("$TRADEWIND" run show 1 --json | json 'd["stages"][0]["attempts"], d["stages"][0]["job"]')" \
    "2 2" "the record has both"
is "$("$TRADEWIND" job show 1 --json | json 'd["state"]')" lost "the first job is lost"

# Lost again and again.
rm -f go
: >jobs
sed 's/name: frail/name: doomed/' frail.yaml >doomed.yaml
"$TRADEWIND" run doomed.yaml --yes >doomed.txt 2>&1 &
watcher=$!
for i in 1 2 3; do
    check "attempt $i" wait_for count $i
    lose "$(tail -n 1 jobs)"
done
wait $watcher
is "$?" 1 "three attempts are enough"
check "and it is said" grep -q 'doomed failed: lost 3 times, the last time: ' doomed.txt
is "$(wc -l <jobs)" 3 "there is no fourth"

# By itself.
: >jobs
printf 'name: wrong\nrun: |\n  echo x >>%s/jobs\n  exit 3\n' "$scratch" >wrong.yaml
"$TRADEWIND" run wrong.yaml --yes >/dev/null 2>&1
is "$? $(wc -l <jobs)" "1 1" "a stage that fails by its exit code runs once"

# ---- what a resumed run begins with ----
cat >saves.yaml <<YAML
name: saves
---
name: quick
run: "true"
---
name: long
needs: quick
checkpoint: 1h
run: exit 7
YAML
"$TRADEWIND" run saves.yaml --yes >/dev/null 2>&1
run="$("$TRADEWIND" run ls --json | json 'd[0]["run"]')"
job=$("$TRADEWIND" run show "$run" --json | json 'd["stages"][1]["job"]')
"$TRADEWIND" run saves.yaml --yes --resume >resumed.txt 2>&1
check "a stage with checkpoints goes on from those of its last job" \
    grep -q "long: resumed from the checkpoint of job $job" resumed.txt
lacks "$(<resumed.txt)" "quick: went on" "and no other does"

done_testing
