#!/usr/bin/env bash
# Stages of several nodes: all begin together, one that ends badly ends the others, and a broker
# that is killed on the way finds them again.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

wait_for() { # a condition, for at most two minutes
    local i
    for i in {1..1200}; do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
kill_of() { # the agent of a job
    PYTHONPATH=$root/tests/cli python3 -c 'import sys, broker_home
home = broker_home.Home.__new__(broker_home.Home)
home.path = sys.argv[1]
found = home.supervisors(int(sys.argv[2]))
assert len(found) == 1, found
broker_home.os.kill(found[0], 9)' "$TRADEWIND_HOME" "$1"
}
stage_of() { "$TRADEWIND" run show "$1" --json | json "d['stages'][0]['$2']"; }

# ---- together ----
mkdir met
cat >meet.yaml <<YAML
name: meet
num_nodes: 2
resources: {cpus: 1+}
outputs: {o: 0.001}
run: |
  touch $scratch/met/\$SKYPILOT_NODE_RANK
  until [ "\$(ls $scratch/met | wc -l)" = 2 ]; do sleep 0.05; done
  echo "\$SKYPILOT_NODE_RANK of \$SKYPILOT_NUM_NODES" \$SKYPILOT_NODE_IPS \
    \$SKYPILOT_NUM_GPUS_PER_NODE >"\$TRADEWIND_OUTPUT/o/mine"
  cp "\$TRADEWIND_OUTPUT/o/mine" $scratch/mine.\$SKYPILOT_NODE_RANK
  echo "\$SKYPILOT_TASK_ID" >$scratch/task.\$SKYPILOT_NODE_RANK
YAML
check "two nodes that wait for each other" "$TRADEWIND" run meet.yaml --yes >meet.txt
is "$(<mine.0)" "0 of 2 127.0.0.1 127.0.0.1 0" "each knows its rank, the others and its GPUs"
is "$(<mine.1)" "1 of 2 127.0.0.1 127.0.0.1 0" "both of them"
is "$(<task.0)" "$(<task.1)" "and has the same name for the task"
is "$("$TRADEWIND" cat /meet.meet/o/mine)" "0 of 2 127.0.0.1 127.0.0.1 0" \
    "what the first one makes is the stage's output"
is "$("$TRADEWIND" job ls --json | json 'sorted((j["id"], j["state"]) for j in d)')" \
    "[(1, 'finished'), (2, 'finished')]" "each is a job"
check "they share the machine" awk "BEGIN {exit !(2 * $("$TRADEWIND" job show 1 --json |
    json 'd["cpus"]') <= $(nproc))}"
fails 2 "job 1 ran together with others; run its pipeline again" job rerun 1
fails 2 "was made by one of several jobs that ran together: run its pipeline again" replay @meet.meet
check "again" "$TRADEWIND" run meet.yaml --yes >/dev/null
is "$(stage_of 2 state)" reused "what did not change is taken over"
sed 's/num_nodes: 2/num_nodes: 5000/' meet.yaml >many.yaml
fails 5 "many.yaml:1: stage meet: 5000 nodes do not fit this machine at once" \
    run many.yaml --yes --json

# ---- one fails ----
cat >fails.yaml <<YAML
name: fails
num_nodes: 2
outputs: {o: 0.001}
run: |
  trap 'touch $scratch/polite; exit 1' TERM
  touch $scratch/up.\$SKYPILOT_NODE_RANK
  until [ -e $scratch/up.0 ] && [ -e $scratch/up.1 ]; do sleep 0.05; done
  [ \$SKYPILOT_NODE_RANK = 1 ] && { echo bad luck; exit 3; }
  for i in {1..1200}; do sleep 0.1; done
YAML
"$TRADEWIND" run fails.yaml --yes >fails.txt 2>&1
is "$?" 1 "a node that fails fails the stage"
contains "$(<fails.txt)" "rank 1 failed: exit code 3" "which says which and why"
check "the other was asked to end" test -e polite
is "$(stage_of 3 attempts)" 1 "it is not tried again"
is "$("$TRADEWIND" set ls --json | json '[s["set"] for s in d if s["set"] == "fails.fails"]')" "[]" \
    "and leaves nothing"

# ---- one is lost ----
cat >lost.yaml <<YAML
name: lost
num_nodes: 2
run: |
  echo \$TRADEWIND_JOB >>$scratch/ran
  until [ -e $scratch/go ]; do sleep 0.05; done
YAML
touch ran
ran() { [ "$(wc -l <ran)" = "$1" ]; }
"$TRADEWIND" run lost.yaml --yes >lost.txt 2>&1 &
watcher=$!
check "both run" wait_for ran 2
kill_of "$(sort -n ran | tail -n 1)"
check "the agent of one killed, both begin again" wait_for ran 4
touch go
wait $watcher
is "$?" 0 "and finish"
check "which is said" grep -q 'attempt 2 of 3: job [0-9]* was lost: rank 1 was lost: ' lost.txt

# ---- stopped, and a broker that is killed ----
rm -f go
: >ran
sed 's/name: lost/name: stopped/' lost.yaml >stopped.yaml
"$TRADEWIND" run stopped.yaml --yes --no-cache >stopped.txt 2>&1 &
watcher=$!
check "two more run" wait_for ran 2
kill -INT $watcher
wait $watcher
is "$?" 130 "Ctrl-C stops them"
# Of the gangs before, one each.
is "$("$TRADEWIND" job ls --json | json 'sum(j["state"] == "killed" for j in d)')" 4 "both"
: >ran
sed 's/name: lost/name: orphans/' lost.yaml >orphans.yaml
run=$("$TRADEWIND" run orphans.yaml --yes --no-cache --detach | sed -n 's/^run //p')
check "and two more" wait_for ran 2
broker=$(python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(100).decode().split()[-1])' \
    "$TRADEWIND_HOME/broker.sock")
kill -9 "$broker"
touch go
check "their broker killed, the next finds both" "$TRADEWIND" run show "$run" --follow >/dev/null
is "$(stage_of "$run" state) $(wc -l <ran)" "finished 2" "each ran once"

done_testing
