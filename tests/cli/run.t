#!/usr/bin/env bash
# Pipelines run for real on this machine: order, reuse, failure, resumption, interruption, and a
# broker that is killed on the way.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
broker_pid() { sed -n 's/^tradewind [^ ]* //p' < <(
    python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(100).decode(), end="")' \
        "$TRADEWIND_HOME/broker.sock"); }
stop_broker() { "$TRADEWIND" broker --stop >/dev/null 2>&1 || true; }
trap 'stop_broker; rm -rf "$scratch"' EXIT

# The states of the stages of a run, by name.
states() {
    "$TRADEWIND" run show "$1" --json |
        python3 -c 'import json, sys
print(" ".join(s["stage"] + "=" + s["state"] for s in json.load(sys.stdin)["stages"]))'
}
run_state() {
    "$TRADEWIND" run show "$1" --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'
}

mkdir data code
echo 5 >data/n
echo 'cat "$1"' >code/tool.sh
cat >sum.yaml <<'EOF'
name: sum
---
name: twice
workdir: code
inputs:
  - {from: data, size: 1KB, place: local}
outputs: {doubled: 0.001}
envs: {FACTOR: 2}
estimate: {seconds: 60}
run: |
  n=$(bash tool.sh "$TRADEWIND_INPUT/sum/data/n")
  echo $((n * FACTOR)) >"$TRADEWIND_OUTPUT/doubled/n"
  echo "[TRADEWIND_METRIC] n 1 $n"
---
name: plus
needs: twice
inputs: [twice.doubled]
outputs: {total: 0.001}
estimate: {seconds: 60}
run: |
  echo $(($(cat "$TRADEWIND_INPUT/sum.twice/doubled/n") + 1)) >"$TRADEWIND_OUTPUT/total/n"
  echo "[TRADEWIND_TAG_NUM] total:$(cat "$TRADEWIND_OUTPUT/total/n")"
  echo "$TRADEWIND_STAGE $TRADEWIND_RUN $SKYPILOT_NUM_NODES" >"$TRADEWIND_OUTPUT/total/who"
EOF
# A newcomer's first file often has no workdir.
echo 'echo 1' >tool.sh
printf 'name: bare\n---\nname: one\nestimate: 1s\nrun: cd . && bash "tool.sh" absent.sh\n' >bare.yaml
is "$("$TRADEWIND" run bare.yaml --yes 2>&1 >/dev/null | grep workdir)" \
    "bare.yaml:3: stage one names tool.sh, which it will not find: it has no workdir; \
workdir: . gives it the files beside the pipeline's" "a file that is not sent is named before the run"
sed -i 's/^estimate: 1s/&\nworkdir: ./' bare.yaml
is "$("$TRADEWIND" run bare.yaml --yes 2>&1 >/dev/null | grep names)" "" "a file that is sent is not"
stop_broker
rm -rf tool.sh bare.yaml "$TRADEWIND_HOME"
is "$("$TRADEWIND" run sum.yaml </dev/null 2>&1 >/dev/null; echo $?)" \
    "tradewind: no terminal to confirm the plan on: --yes runs it
2" "without --yes and a terminal nothing is run"
check "it is run" "$TRADEWIND" run sum.yaml --yes >first.txt
check "the plan is shown" grep -q 'plan with the lowest cost' first.txt
check "and that it is a local run" grep -q '^Running locally' first.txt
is "$(states 1)" "twice=finished plus=finished" "both stages finished"
# 5 x 2 + 1
is "$("$TRADEWIND" cat /sum.plus/total/n)" 11 "the result is right, and in the lake"
is "$("$TRADEWIND" cat /sum.plus/total/who)" "plus 1 1" "a stage knows its name, its run, its nodes"
is "$("$TRADEWIND" find 'kind=set total=11' --json | python3 -c 'import json, sys
print([f["ref"] for f in json.load(sys.stdin)])')" "['@sum.plus:1']" "its tag is on its output"
"$TRADEWIND" trace @sum.plus --back --json >trace.json
is "$(python3 -c 'import json
t = json.load(open("trace.json"))
print(len(t["nodes"]), sorted(e["job"] for e in t["edges"] if e["kind"] == "job"))')" \
    "5 [1, 1, 2]" "the way back leads over both jobs to the data and the code"

# ---- nothing is done twice ----
check "again" "$TRADEWIND" run sum.yaml --yes >again.txt
is "$(states 2)" "twice=reused plus=reused" "unchanged stages are taken over"
echo 7 >data/n
check "with other data" "$TRADEWIND" run sum.yaml --yes >/dev/null
is "$(states 3) $("$TRADEWIND" cat /sum.plus/total/n)" "twice=finished plus=finished 15" \
    "changed input runs again"
echo '# nothing new' >>code/tool.sh
check "with other code" "$TRADEWIND" run sum.yaml --yes >/dev/null
is "$(states 4)" "twice=finished plus=reused" \
    "changed code runs again, and what it leaves unchanged need not"
check "with another variable" "$TRADEWIND" run sum.yaml --yes --env FACTOR=3 >/dev/null
is "$(states 5) $("$TRADEWIND" cat /sum.plus/total/n)" "twice=finished plus=finished 22" \
    "a changed variable, too"
check "--no-cache" "$TRADEWIND" run sum.yaml --yes --no-cache >/dev/null
is "$(states 6)" "twice=finished plus=finished" "runs everything"

# ---- a stage fails ----
cat >fails.yaml <<EOF
name: fails
execution: parallel
---
name: first
outputs: {o: 0.001}
run: echo 1 >"\$TRADEWIND_OUTPUT/o/n"
---
name: second
needs: first
outputs: {o: 0.001}
run: |
  echo 'not yet'
  echo 'almost there'
  test -e $scratch/repaired || exit 9
  echo 2 >"\$TRADEWIND_OUTPUT/o/n"
---
name: third
needs: second
run: "true"
---
name: alone
run: "true"
EOF
"$TRADEWIND" run fails.yaml --yes >failed.txt 2>&1
is "$?" 1 "a failed stage fails the run"
is "$(states 7)" "first=finished second=failed third=skipped alone=finished" \
    "and stops what depends on it and nothing else"
check "the message has the exit code and the end of the log" \
    grep -q '^  second failed: exit code 9; its log ends:$' failed.txt
is "$(grep -A 2 'its log ends' failed.txt | tail -n 2)" "    not yet
    almost there" "line by line"
is "$("$TRADEWIND" set ls --json | python3 -c 'import json, sys
print(any(s["set"].startswith("fails.second") and "input" not in s["set"]
          for s in json.load(sys.stdin)))')" False "a failed job leaves no version"
touch repaired
check "--resume" "$TRADEWIND" run fails.yaml --yes --resume >/dev/null
is "$(states 8)" "first=reused second=finished third=finished alone=reused" \
    "goes on at the failed stage"
is "$("$TRADEWIND" run sum2.yaml --yes 2>&1 >/dev/null; echo $?)" \
    "tradewind: sum2.yaml: No such file or directory
2" "a file that is not there"

# ---- stopped by its user ----
cat >slow.yaml <<EOF
name: slow
---
name: quick
outputs: {o: 0.001}
run: echo 1 >"\$TRADEWIND_OUTPUT/o/n"
---
name: long
needs: quick
outputs: {o: 0.001}
run: |
  trap 'touch $scratch/polite; exit 1' TERM
  touch $scratch/running
  for i in {1..600}; do sleep 0.1; done
---
name: after
needs: long
run: "true"
EOF
wait_for() { # a condition, for at most a minute
    local i
    for i in {1..600}; do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
"$TRADEWIND" run slow.yaml --yes >slow.txt 2>&1 &
watcher=$!
check "the long stage runs" wait_for test -e running
kill -INT $watcher
wait $watcher
is "$?" 130 "Ctrl-C stops the run"
check "its job could end by itself" test -e polite
is "$(states 9)" "quick=finished long=stopped after=stopped" "what is finished stays"
is "$(run_state 9)" stopped "the record says so"
"$TRADEWIND" run show 9 --json >nine.json
job=$(python3 -c 'import json; print(json.load(open("nine.json"))["stages"][1]["job"])')
check "nothing of it runs on" wait_for test ! -e "$TRADEWIND_HOME/jobs/$job/work"

# One that does not listen: twice.
rm -f running
cat >deaf.yaml <<EOF
name: deaf
run: |
  trap '' TERM
  touch $scratch/running
  for i in {1..600}; do sleep 0.1; done
EOF
"$TRADEWIND" run deaf.yaml --yes >deaf.txt 2>&1 &
watcher=$!
check "a deaf stage runs" wait_for test -e running
began=$SECONDS
kill -INT $watcher
check "the first is heard" wait_for grep -q 'Ctrl-C again' deaf.txt
kill -INT $watcher
wait $watcher
is "$?" 130 "twice stops it"
check "at once, not after its half minute" test $((SECONDS - began)) -lt 30

# ---- the broker is killed on the way ----
rm -f running go
cat >patient.yaml <<EOF
name: patient
---
name: waits
outputs: {o: 0.001}
run: |
  touch $scratch/running
  echo before
  until test -e $scratch/go; do sleep 0.05; done
  echo after
  echo "[TRADEWIND_TAG] done:yes"
  echo 1 >"\$TRADEWIND_OUTPUT/o/n"
---
name: then
needs: waits
outputs: {o: 0.001}
run: cp -r "\$TRADEWIND_INPUT/patient.waits/o/n" "\$TRADEWIND_OUTPUT/o/copy"
EOF
"$TRADEWIND" run patient.yaml --yes --detach >patient.txt
is "$(sed -n 's/^run //p' patient.txt)" 11 "--detach gives the number of the run"
check "its first stage runs" wait_for test -e running
kill -9 "$(broker_pid)"
touch go
is "$(run_state 11)" running "without its broker it stands"
check "the next command starts another" "$TRADEWIND" run show 11 --follow >/dev/null
is "$(states 11)" "waits=finished then=finished" "which finds the agent and goes on to the end"
"$TRADEWIND" run show 11 --json >eleven.json
job=$(python3 -c 'import json; print(json.load(open("eleven.json"))["stages"][0]["job"])')
is "$(<"$TRADEWIND_HOME/jobs/$job/log")" "before
after
[TRADEWIND_TAG] done:yes" "no line of its log is lost"
is "$("$TRADEWIND" find 'kind=set done=yes' --json | grep -c '@patient.waits:1')" 1 \
    "nor a tag that was printed meanwhile"

# ---- variables that the file does not name ----
cat >given.yaml <<'EOF'
name: given
---
name: first
outputs: {o: 0.001}
run: echo "$GIVEN" >"$TRADEWIND_OUTPUT/o/n"
---
name: second
envs: {GIVEN: 1}
outputs: {o: 0.001}
run: echo "$GIVEN" >"$TRADEWIND_OUTPUT/o/n"
EOF
check "--env of a name that one stage declares" \
    "$TRADEWIND" run given.yaml --yes --env GIVEN=a --env GIVEN=b=c >/dev/null
is "$("$TRADEWIND" cat /given.first/o/n) $("$TRADEWIND" cat /given.second/o/n)" " b=c" \
    "sets it for that stage, to the last value"

# ---- for programs ----
"$TRADEWIND" run sum.yaml --yes --json >events.json
is "$(python3 -c 'import json
events = [json.loads(line) for line in open("events.json")]
print([e["event"] for e in events], events[-1]["state"], events[-1]["stages"][0]["state"])')" \
    "['stage', 'stage', 'run'] finished reused" "--json tells every change and the end"
is "$(grep -c '[0-9]\.[0-9]\{16\}' events.json)" 0 "with numbers as short as they are"
is "$("$TRADEWIND" run ls --json | python3 -c 'import json, sys
print([r["run"] for r in json.load(sys.stdin)][:3])')" "[13, 12, 11]" "run ls, newest first"

# ---- simulated ----
check "a simulated run" "$TRADEWIND" run sum.yaml --yes --on sim --seed 3 >simulated.txt
check "says so" grep -q 'in virtual time: nothing is launched, no work' simulated.txt
"$TRADEWIND" run sum.yaml --yes --on sim --seed 3 --json >paper1.json
"$TRADEWIND" run sum.yaml --yes --on sim --seed 3 --json >paper2.json
is "$(sed 's/"run": *[0-9]*//; s/"[a-z]*_at": *"[^"]*"//g' paper1.json)" \
    "$(sed 's/"run": *[0-9]*//; s/"[a-z]*_at": *"[^"]*"//g' paper2.json)" "the same seed, the same run"
check "its stages are told" grep -q '"stage": *"plus"' paper1.json
is "$("$TRADEWIND" machines ls --json)" "[]" "no machine is left"

is "$(TRADEWIND_HOME=$scratch/new "$TRADEWIND" run ls)" \
    "There are no runs; tradewind run PIPELINE starts one." "a new home has no runs"

# ---- bad input ----
refused() { # what, error, command...
    local what=$1 text=$2
    shift 2
    is "$("$@" 2>&1 >/dev/null; echo "exit $?")" "tradewind: $text
exit 2" "$what"
}
refused "somewhere else" "--on moon: neither local, sim nor a cloud, and there are no host groups yet: name some under hosts: in $TRADEWIND_HOME/config.yaml" \
    "$TRADEWIND" run sum.yaml --on moon --yes
refused "an option that simulations do not have" "--no-cache: a simulation (--on sim) has no use for it" \
    "$TRADEWIND" run sum.yaml --yes --on sim --no-cache
is "$("$TRADEWIND" run sum.yaml --on sim --yes --faults <(echo 'slow-boot 30m') | tail -n 1)" \
    "failed: a stage failed" "faults are read once: a pipe will do"
refused "an option of another place" "--seed needs --on sim" \
    "$TRADEWIND" run sum.yaml --yes --seed 1
printf 'name: v\nenvs: {KEY: null}\nrun: "true"\n' >v.yaml
refused "a variable without a value" "v.yaml:1: stage v: KEY has no value: give --env KEY=VALUE" \
    "$TRADEWIND" run v.yaml --yes
check "with a value" "$TRADEWIND" run v.yaml --yes --env KEY=1 >/dev/null
printf 'name: u\ninputs:\n  - {from: "r2://b/x", size: 1, place: gcp/us-central1}\nrun: "true"\n' \
    >u.yaml
refused "an input that cannot be fetched" "u.yaml:3: stage u: r2://b/x cannot be fetched, only \
s3://, gs://, az://, https:// and http:// can: put a copy into the lake and name it as lake:/path" "$TRADEWIND" run u.yaml --yes
for name in .. .x; do
    printf 'name: o\noutputs:\n  "%s": 0.001\nrun: "true"\n' "$name" >o.yaml
    refused "an output named \"$name\"" "o.yaml:3: stage o: output \"$name\": it names a directory; \
give it a name that does not begin with '.'" "$TRADEWIND" run o.yaml --yes
done
cat >same.yaml <<'EOF'
name: same
---
name: a b
outputs: {o: 0.001}
run: "true"
---
name: a-b
outputs: {o: 0.001}
run: "true"
EOF
refused "two stages with one set" "same.yaml:7: stage a-b: its data and the output of stage a b \
(line 3) would both be the set same.a-b: rename one of them" "$TRADEWIND" run same.yaml --yes
for key in TRADEWIND_INPUT SKYPILOT_NODE_RANK; do
    printf 'name: own\nenvs: {%s: x}\nrun: "true"\n' $key >own.yaml
    refused "$key in the file" "own.yaml:1: stage own: $key is set by tradewind itself: use another \
name" "$TRADEWIND" run own.yaml --yes
    refused "$key by --env" "--env $key: tradewind sets it itself: use another name" \
        "$TRADEWIND" run sum.yaml --yes --env $key=1
done
printf 'name: w\nworkdir: nowhere\nrun: "true"\n' >w.yaml
refused "a workdir that is not there" "w.yaml:1: stage w: workdir nowhere: there is no such \
directory" "$TRADEWIND" run w.yaml --yes
is "$("$TRADEWIND" run ls --json | python3 -c 'import json, sys
print({r["name"] for r in json.load(sys.stdin)} & {"o", "same", "own", "w"})')" "set()" \
    "none of these was begun"
# What needs no plan to be seen is said before there is one.
before_plan() { # what, error, option...
    local what=$1 text=$2
    shift 2
    is "$("$TRADEWIND" run sum.yaml --yes "$@" 2>&1; echo "exit $?")" "tradewind: $text
exit 2" "$what"
}
before_plan "a cap of nothing" "--max-cost 0: must be above 0 and at most 1e+09" \
    --max-cost 0
before_plan "a seed that is none" "--seed \"x\": must be a whole number" --on sim --seed x
before_plan "a simulated run in the background" \
    "--detach: a simulated run is over in milliseconds, in this command: leave it out" \
    --on sim --detach
before_plan "both --resume and --no-cache" "--resume keeps finished stages, --no-cache does not" \
    --resume --no-cache
# ---- a terminal of 80 columns ----

printf 'name: w\n---\nname: prepares\noutputs: {x.txt: 0.001}\nrun: echo 1 >"$TRADEWIND_OUTPUT/x.txt"\n' >wide.yaml
"$TRADEWIND" run wide.yaml --yes >wide.txt
COLUMNS=80 "$TRADEWIND" run show "$("$TRADEWIND" run ls --limit 1 --json | json "d[0]['run']")" >wide.txt
check "has the whole name of the output" grep -q '@w.prepares:1$' wide.txt
check "and no longer line" test "$(grep '^  ' wide.txt | LC_ALL=C.UTF-8 wc -L)" -le 80

# ---- stages among the jobs ----

printf 'name: t\nsetup: touch ready\nrun: |\n  # sums\n  test -e ready\n  expr 1 \\\n    + 2\n' >text.yaml
"$TRADEWIND" run text.yaml --yes >text.txt
check "job ls has a stage's own text, on one line" grep -Eq ' t +test -e ready expr 1 \+ 2$' \
    <<<"$(COLUMNS=200 "$TRADEWIND" job ls --limit 1)"

is "$("$TRADEWIND" run show 99 2>&1; echo $?)" \
    "tradewind: there is no run 99; \`tradewind run ls\` lists them
3" "a run that is not there"

# ---- a typo among alternatives ----

printf 'name: typo\nrun: echo\nestimate: {seconds: 1}\nresources: {accelerators: {A100: 1, H1O0: 1}}\n' >typo.yaml
run plan typo.yaml
is "$code" 0 "an alternative that no offer has leaves the other"
contains "$err" "typo.yaml:4: stage typo: the catalog has no accelerator H1O0; did you mean H100?" "and is told"

done_testing
