#!/usr/bin/env bash
# Jobs from submission to the end: what they see, what is kept of them, and what each command says.
# Jobs that must be met in a certain state wait for a line in a fifo of ours, so that nothing here
# depends on how fast the machine is.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

# submit ARGUMENTS...: the number of a new job in $job
submit() {
    run job submit --json "$@"
    job=$(json "d['id']" <<<"$out")
}

# of JOB EXPRESSION: of job show's answer d
of() {
    "$TRADEWIND" job show "$1" --json | json "$2"
}

# reaches JOB STATE...: waits until the job is in one of these states
reaches() {
    local id=$1 state i
    shift
    for ((i = 0; i < 1200; i++)); do
        state=$(of "$id" "d['state']")
        [[ " $* " == *" $state "* ]] && return
        sleep 0.05
    done
    echo "# job $id is $state, not $*"
    return 1
}

# appears FILE TEXT: waits until the file has it
appears() {
    local i
    for ((i = 0; i < 1200; i++)); do
        grep -qs -- "$2" "$1" && return
        sleep 0.05
    done
    echo "# no \"$2\" in $1"
    return 1
}

# blocked NAME: a command that prints "ready" and ends when a line comes by fifo NAME
blocked() {
    mkfifo "$scratch/$1"
    command=(sh -c "echo ready; read line <'$scratch/$1'; echo \"got \$line\"")
}

# free NAME: lets it go
free() {
    echo go >"$scratch/$1"
}

# ---- without any job ----

run job ls
is "$code $out" "0 There are no jobs; tradewind job submit -- COMMAND makes one." 'nothing to list'
run job ls --json
is "$(json d <<<"$out")" '[]' 'an empty list'
fails 3 'there is no job 7 yet' job show 7
fails 2 'id "seven": must be a number, as in 7 or job:7' job show seven
fails 2 'id 0: must be a number, as in 7 or job:7' job logs 0
fails 2 'ids "7x": must be a number, as in 7 or job:7' job kill 7x

# ---- what cannot be submitted ----

fails 2 'an operand is missing' job submit
fails 2 'CPUs come in halves' job submit --cpus 0.3 -- true
fails 2 'CPUs come in halves' job submit --cpus 0 -- true
fails 2 'more than any machine has' job submit --cpus 1e9 -- true
fails 5 '819200 GB of memory are more than' job submit --memory 800TB -- true
fails 2 '--time-limit: must be more than 0 and at most ten years' job submit --time-limit 1e30h -- true
fails 2 'word 2 of the command is not UTF-8 text' job submit -- echo $'a\xff'
fails 2 'job submit: no option --bogus; `tradewind help' job submit --bogus -- true
TRADEWIND_HOME=$scratch/$'a\nb' fails 2 'control character: choose another directory' job submit -- true
fails 2 '--cpus "two": must be a number' job submit --cpus two -- true
fails 2 'steps of 256 MB' job submit --memory 300 -- true
fails 2 'steps of 256 MB' job submit --memory 0.1GB -- true
fails 2 '"lots" is not a size' job submit --memory lots -- true
fails 5 "more than this machine has: $(nproc)" job submit --cpus 4096 -- true
fails 5 'of memory are more than this machine has for jobs' job submit --memory 900000GB -- true
fails 2 '--time-limit' job submit --time-limit soon -- true
fails 2 '--time-limit: must be more than 0' job submit --time-limit 0 -- true
fails 2 '"A" is not NAME=VALUE' job submit --env A -- true
fails 2 '"1A=x" is not NAME=VALUE' job submit --env 1A=x -- true
fails 2 'are reserved' job submit --env TRADEWIND_JOB=1 -- true
fails 2 'did you mean local?' job submit --on loca -- true
fails 2 'there are no hosts but this machine (local)' job submit --on elsewhere-quite -- true
mkdir -p "$TRADEWIND_HOME"
echo 'hosts: {lab: [{host: gpu1.lab, cpus: 4, memory: 8}]}' >"$TRADEWIND_HOME/config.yaml"
fails 5 'no host of lab has 8 CPUs' job submit --on lab --cpus 8 -- true
fails 5 'no host of lab has 1 CPUs and 16384 MB' job submit --on lab --memory 16GB -- true
fails 2 'did you mean lab?' job submit --on labs -- true
fails 3 'there is no set @none' job submit --input @none -- true
fails 2 'is not a name for a set' job submit --output a/b -- true
fails 3 'there is no directory' job submit --code missing -- true
run job ls --json
is "$(json d <<<"$out")" '[]' 'nothing of it was submitted'

# ---- a job that finishes ----

run job submit --wait -- true
is "$code" 0 'a job that finishes'
contains "$out" 'job 1 finished' 'says so'
run job submit -- sh -c 'echo hello; echo there >&2'
is "$(head -n 1 <<<"$out")" 'job 2' 'its number stands alone in the first line'
contains "$out" 'tradewind job logs -f 2' 'and how to follow it below'
run job wait 2
is "$code" 0 'it can be waited for'
contains "$out" 'job 2 finished' 'and its end is told'
run job logs 2
is "$out" $'hello\nthere' 'both its streams are in its log'
run job logs job:2 --tail 1
is "$out" there 'the last line'
run job show 2 --json
is "$(json "sorted({'id','state','exit_code','user','project','input','output','command','cpus','memory_mb','queued_at','started_at','finished_at','runtime_s','cost_usd','machine','limits','reason','transitions'} - set(d))" <<<"$out")" \
    '[]' 'job show --json has every field'
is "$(json "d['id'], d['state'], d['exit_code'], d['user'], d['project'], d['input'], d['output'], d['cpus'], d['memory_mb']" <<<"$out")" \
    "2 finished 0 $(id -un) default None None 1.0 1024" 'what was asked for, and what came'
is "$(json "d['command']" <<<"$out")" "['sh', '-c', 'echo hello; echo there >&2']" 'the command is a list'
is "$(json "[t['state'] for t in d['transitions']]" <<<"$out")" \
    "['queued', 'launching', 'fetching', 'running', 'storing', 'finished']" 'every state has a row'
is "$(json "[t['at'] for t in d['transitions']] == sorted(t['at'] for t in d['transitions'])" <<<"$out")" True \
    'in the order of time'
is "$(json "d['queued_at'] <= d['started_at'] <= d['finished_at'] and d['queued_at'].endswith('Z')" <<<"$out")" True \
    'times are ISO 8601, UTC'
is "$(json "d['runtime_s'] >= 0 and d['cost_usd'] >= 0 and bool(d['machine']) and bool(d['limits'])" <<<"$out")" True \
    'time, cost, machine and limits are known'
run job show 2
contains "$out" 'job 2: finished' 'for people'
contains "$out" "command   sh -c 'echo hello; echo there >&2'" 'the command can be typed again'

# ---- a job that fails ----

run job submit --wait -- sh -c 'echo one; echo the reason; exit 3'
is "$code" 3 'the exit code is that of the job'
contains "$out" 'failed' 'it says so'
contains "$out" 'the reason' 'with the last lines of its log'
is "$(of 3 "d['state'], d['exit_code'], d['output']")" 'failed 3 None' 'its record'
contains "$(of 3 "d['reason']")" 'the reason' 'which has them, too'
run job show 3
contains "$out" 'the reason' 'and shows them'
submit -- ./no-such-program
run job wait "$job"
check 'a command that is not there fails' test "$code" -ne 0
is "$(of "$job" "d['state']")" failed 'as a job'
contains "$(of "$job" "d['reason']")" no-such-program 'that names it'
run job submit --wait --json -- sh -c 'kill -9 $$'
is "$code" 137 'a signal counts as in a shell'
is "$(json "d['state'], d['exit_code']" <<<"$out")" 'failed 137' '--wait --json prints what job show does'

# ---- environment, code, input, output ----

mkdir -p code/sub
printf '#!/bin/sh\necho "run in $(pwd -P)"; cat sub/data; echo spoiled >sub/data\n' >code/run.sh
chmod +x code/run.sh
echo original >code/sub/data
echo junk >code/x.log
echo '*.log' >code/.gitignore
run job submit --wait --code code -- ./run.sh
is "$code" 0 'code runs'
run job logs 6
contains "$out" original 'in a copy'
lacks "$out" "$scratch/code" 'of its own'
is "$(<code/sub/data)" original 'what it changes there stays there'
is "$(of 6 "d['code'], d['commit']")" '@code-code:1 None' 'which is a set version'
run set show @code-code
lacks "$out" x.log 'without what is ignored'
submit --code code -- sh -c 'cat sub/data'
run job wait "$job"
is "$(of "$job" "d['code']")" '@code-code:1' 'the same one as long as nothing changes'
echo changed >code/sub/data
submit --code code -- cat sub/data
run job wait "$job"
is "$("$TRADEWIND" job logs "$job")" changed 'a change is seen'
is "$(of "$job" "d['code']")" '@code-code:2' 'and makes the next version'
git -C code init -q
git -C code add -A
git -C code -c user.name=t -c user.email=t@example.org commit -qm one
commit=$(git -C code rev-parse HEAD)
submit --code code -- true
is "$(of "$job" "d['commit'], d['dirty']")" "$commit False" 'the commit is recorded'
echo again >code/sub/data
submit --code code -- true
is "$(of "$job" "d['commit'], d['dirty']")" "$commit True" 'and whether the tree differs from it'

run job submit --wait --env GREETING='hello, you' --env EMPTY= -- \
    sh -c 'echo "$GREETING/$EMPTY/$TRADEWIND_JOB"; ls "$TRADEWIND_INPUT" "$TRADEWIND_OUTPUT"'
id=$(sed -n 's/^job \([0-9]*\)$/\1/p' <<<"$out")
is "$("$TRADEWIND" job logs "$id" | head -n 1)" "hello, you//$id" 'its environment'
is "$(of "$id" "d['env']")" "{'GREETING': 'hello, you', 'EMPTY': ''}" 'which is on record'

mkdir qa
echo one >qa/1
echo two >qa/2
"$TRADEWIND" put qa /qa --set QA >/dev/null
submit --input @QA --output Upper -- sh -c 'tr a-z A-Z <"$TRADEWIND_INPUT/qa/1" >"$TRADEWIND_OUTPUT/1"
    echo "[TRADEWIND_TAG] model:BERT"; echo "[TRADEWIND_TAG_NUM] precision:0.75"'
run job wait "$job"
is "$code" 0 'a job with input and output'
is "$(of "$job" "d['input'], d['output'], d['output_set']")" '@QA:1 @Upper:1 Upper' 'both exact'
is "$("$TRADEWIND" cat /Upper/1@Upper:1)" ONE 'the output is in the lake'
run trace @Upper --json
is "$(json "[(x['from'], x['to'], x['kind'], x['job']) for x in d['edges']]" <<<"$out")" \
    "[('@Upper:1', '@QA:1', 'job', $job)]" 'with an edge that names the job'
run find 'kind=set model=BERT precision>0.5' --json
contains "$out" '"@Upper:1"' 'the output has the tags that were printed'
run find "kind=job precision=0.75" --json
contains "$out" "\"job:$job\"" 'and so has the job'
is "$(of "$job" "d['tags']['model'], d['tags']['precision']")" 'BERT 0.75' 'which shows them'
submit --input /qa/ -- ls "$scratch"
is "$(of "$job" "d['input']")" '@job-input:1' 'a directory becomes a set first'
submit --input /qa/1@QA -- true
is "$(of "$job" "d['input']")" '/qa/1@QA:1' 'a file of a set version is one already'
fails 2 'a job is not data' job submit --input "job:$job" -- true

submit --output Upper -- sh -c 'echo half >"$TRADEWIND_OUTPUT/1"; exit 1'
run job wait "$job"
is "$code $(of "$job" "d['output']")" '1 None' 'a failed job has no output'
fails 3 '@Upper' set show @Upper:2

# ---- metrics ----

submit --name first -- sh -c 'for i in 1 2 3 4; do echo "[TRADEWIND_METRIC] loss $i 0.$((5 - i))"; done
    echo "[TRADEWIND_METRIC] loss one 2"; echo "[TRADEWIND_TAG] nonsense"; echo "[TRADEWIND_TAG] seed:1"' - --rate 0.1
first=$job
submit --name second -- sh -c 'echo "[TRADEWIND_METRIC] loss 1 0.9"; echo "[TRADEWIND_TAG] seed:2"' - --rate 0.2
second=$job
run job wait "$first" "$second"
is "$code" 0 'lines that cannot be read fail no job'
run job metrics "$first" --json
is "$(json "[(m['name'], m['step'], m['value']) for m in d]" <<<"$out")" \
    "[('loss', 1.0, 0.4), ('loss', 2.0, 0.3), ('loss', 3.0, 0.2), ('loss', 4.0, 0.1)]" 'metrics are kept step by step'
run job metrics "$first"
contains "$out" loss 'for people'
run job metrics "$first" --name loss --svg loss.svg
contains "$out" 0.4 'one of them'
check 'drawn' grep -q '</svg>' loss.svg
fails 3 'has no metric "los"' job metrics "$first" --name los
run job metrics 1
contains "$out" 'has printed no metrics' 'or none'
# A job has at most 1,000 of them: the one too many takes none of the others with it.
cat >many.sh <<'EOF'
for i in $(seq 1000); do echo "[TRADEWIND_METRIC] n$i 1 1"; done
sleep 1
echo '[TRADEWIND_METRIC] n1 2 5
[TRADEWIND_METRIC] beyond 1 1
[TRADEWIND_METRIC] n1000 2 7'
EOF
run job submit --wait --json -- sh "$PWD/many.sh"
many=$(json 'd["id"]' <<<"$out")
contains "$(json 'd["warnings"]' <<<"$out")" 'no room for beyond' 'one metric too many is warned of'
run job metrics "$many" --json
is "$(json '[(m["name"], m["value"]) for m in d if m["step"] == 2], len({m["name"] for m in d})' <<<"$out")" \
    "[('n1', 5.0), ('n1000', 7.0)] 1000" 'and those that came with it are kept'
is "$(of "$first" "len(d['warnings'])")" 2 'what could not be read is told'
# Mistakes without end fill no disk: 64 KiB of them are kept, and a line that says so.
run job submit --wait --json -- sh -c 'yes "[TRADEWIND_METRIC] loss one" | head -n 20000'
warnings=$TRADEWIND_HOME/jobs/$(json 'd["id"]' <<<"$out")/warnings
is "$(tail -n 1 "$warnings") $(grep -c left.out "$warnings") $(($(wc -c <"$warnings") >> 10))" \
    'further warnings are left out 1 64' 'endless warnings end'
run job logs "$first"
contains "$err" 'the step "one" is not a number' 'beside the log'
contains "$out" '[TRADEWIND_TAG] nonsense' 'in which it stands as it was printed'
run job compare "$first" "$second"
contains "$(grep '^loss' <<<"$out")" '0.1' 'compare shows the last value of a metric'
contains "$(grep '^rate' <<<"$out")" '0.2' 'arguments that differ'
contains "$(grep '^seed' <<<"$out")" '2' 'and tags'
lacks "$out" memory 'but not what is the same'
run job compare "$first" "$second" --json
is "$(json "[(j['metrics']['loss'], j['tags']['seed']) for j in d]" <<<"$out")" '[(0.1, 1), (0.9, 2)]' 'as JSON'
fails 2 'an operand is missing' job compare 1
fails 3 'there is no job 999' job compare 1 999

# ---- following ----

blocked follow
submit -- "${command[@]}"
"$TRADEWIND" job logs -f "$job" >followed &
follower=$!
check 'what is printed appears while it runs' appears followed ready
free follow
wait $follower
is "$? $(<followed)" $'0 ready\ngot go' 'and the following ends with the job'
run job logs "$job" --tail 0 -f
is "$code $out" '0 ' 'a job that is over is followed no more'
submit -- printf 'a\033[2Jb\n'
run job wait "$job"
is "$("$TRADEWIND" job logs "$job" | od -An -c | tr -d ' ')" 'a033[2Jb\n' 'a log is printed byte for byte'
lacks "$(script -qec "'$TRADEWIND' job logs $job" /dev/null </dev/null)" $'\033' 'a terminal gets it harmless'

# ---- waiting ----

blocked long
submit -- "${command[@]}"
long=$job
check 'it runs' reaches "$long" running
run job wait "$long" --timeout 0.1
is "$code" 124 'waiting has an end'
contains "$err" "job $long is still running" 'and says how it stands'
run job wait 2 3 "$long" --timeout 0.1
is "$code" 124 'also among others'
run job wait 2 3
is "$code" 3 'of several jobs the first failure counts'
blocked patient
"$TRADEWIND" job submit --wait -- "${command[@]}" >waiting 2>waited &
waiter=$!
check 'another waits' appears waiting 'job '
patient=$(sed -n 's/^job //p' waiting)
check 'and runs' reaches "$patient" running
kill -INT $waiter
wait $waiter
is "$?" 130 'interrupted, the waiting ends'
contains "$(<waited)" "job $patient continues" 'says that the job does not'
is "$(of "$patient" "d['state']")" running 'and it does not'
free patient
run job wait "$patient"
is "$code" 0 'so it finishes'
free long

# ---- queue and quota ----

"$TRADEWIND" job wait "$long" >/dev/null
"$TRADEWIND" broker --stop >/dev/null
"$TRADEWIND" config set limits.jobs_per_user 1 >/dev/null
blocked head
submit -- "${command[@]}"
head=$job
check 'the first of a queue runs' reaches "$head" running
submit -- true
second=$job
submit --output Upper -- true
third=$job
submit -- true
fourth=$job
is "$(of "$second" "d['state']") $(of "$third" "d['state']")" 'queued queued' 'one at a time: the others wait'
run job ls --state queued,running --json
is "$(json "[j['id'] for j in d]" <<<"$out")" "[$fourth, $third, $second, $head]" 'and are listed, the newest first'
run job kill "$third" --reason 'wrong input'
is "$code $out" "0 job $third is killed" 'one that waits is killed at once'
is "$(of "$third" "d['state'], d['reason'], d['started_at'], d['output']")" 'killed wrong input None None' \
    'and never begins'
run job wait "$third"
is "$code" 1 'it did not finish'
run job kill "$third"
is "$code $out" "0 job $third was over already: killed" 'killing again changes nothing'
is "$(of "$third" "d['reason']")" 'wrong input' 'nor its reason'
fails 3 'there is no job 999' job kill "$head" 999
is "$(of "$head" "d['state']")" running 'where one is unknown none is killed'
free head
run job wait "$head" "$second" "$fourth"
is "$code" 0 'the others follow'
is "$("$TRADEWIND" job ls --json --all | json "[j['id'] for j in sorted((j for j in d if j['id'] in ($head, $second, $fourth)), key=lambda j: j['started_at'])] == [$head, $second, $fourth]")" \
    True 'in the order of their coming'

# ---- killing ----

submit --output Upper -- sh -c 'echo half >"$TRADEWIND_OUTPUT/1"; sh -c "sleep 1000 & echo grandchild \$!; wait"; echo survived'
check 'a job with a grandchild runs' appears "$TRADEWIND_HOME/jobs/$job/log" grandchild
grandchild=$(sed -n 's/^grandchild //p' "$TRADEWIND_HOME/jobs/$job/log")
run job kill "$job"
contains "$out" "job $job is being killed" 'one that runs is asked to stop'
run job wait "$job"
check 'its end is no success' test "$code" -ne 0
is "$(of "$job" "d['state'], d['output']")" 'killed None' 'it is killed, without an output'
fails 3 '@Upper' set show @Upper:2
for ((i = 0; i < 200; i++)); do
    kill -0 "$grandchild" 2>/dev/null || break
    sleep 0.05
done
check 'its whole tree is gone' test "$i" -lt 200
run job kill "$job" 2
is "$out" "job $job was over already: killed"$'\n''job 2 was over already: finished' 'whatever is over stays'

# Whenever the end comes, at once or while it is fetched, run or stored: it is all or nothing.
"$TRADEWIND" config set limits.jobs_per_user 2 >/dev/null
"$TRADEWIND" broker --stop >/dev/null
jobs=()
for delay in 0 0 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.15 0.2; do
    submit --input @QA --output Any --code code -- \
        sh -c 'cp "$TRADEWIND_INPUT"/qa/* "$TRADEWIND_OUTPUT"; echo "$TRADEWIND_JOB" >"$TRADEWIND_OUTPUT/id"'
    jobs+=("$job")
    sleep "$delay"
    "$TRADEWIND" job kill "$job" >/dev/null || echo "# kill $job: $?"
done
"$TRADEWIND" job wait "${jobs[@]}" >/dev/null
"$TRADEWIND" job ls --all --json >listed
is "$(json "[(j['id'], j['state'], j['output']) for j in d if j['output_set'] == 'Any' and (j['state'], j['output'] is None) not in (('killed', True), ('finished', False))]" <listed)" \
    '[]' 'killed at any time, a job has an output or none, as its state says'
finished=$(json "sum(j['output_set'] == 'Any' and j['state'] == 'finished' for j in d)" <listed)
is "$("$TRADEWIND" set ls --all --json | json "sorted(s['version'] for s in d if s['set'] == 'Any') == list(range(1, $finished + 1))")" \
    True 'and killed ones take no number'

# ---- limits ----

submit --time-limit 0.5 -- sleep 1000
run job wait "$job"
is "$(of "$job" "d['state']")" failed 'a job over its time fails'
contains "$(of "$job" "d['reason']")" 'time limit' 'and says why'

# ---- once more ----

run job rerun "$id" --wait
is "$code" 0 'a job runs again'
again=$(sed -n 's/^job \([0-9]*\)$/\1/p' <<<"$out")
is "$(of "$again" "d['rerun_of'], d['env']['GREETING'], d['command'][0]")" "$id hello, you sh" \
    'as a new one with the same request'
is "$("$TRADEWIND" job logs "$again" | head -n 1)" "hello, you//$again" 'that has its own number'
fails 3 'there is no job 999; the last one is job' job rerun 999

# ---- checkpoints ----

run job submit --wait -- false
is "$("$TRADEWIND" job show $((again + 1)) | grep '^command')" 'command   false' 'a command of one line'
fails 2 'never had a checkpoint' job submit --continue $((again + 1)) -- true
fails 2 "job $again finished" job submit --continue "$again" -- true
run job submit --wait --checkpoint 1h -- sh -c 'echo 1 >"$TRADEWIND_CHECKPOINT/x"; exit 3'
run job submit --wait --checkpoint 1h -- false
fails 2 'it saved nothing' job submit --continue $((again + 3)) -- true
run job submit --wait --continue $((again + 2)) -- sh -c 'cat "$TRADEWIND_CHECKPOINT/x"'
is "$code" 0 'a job begins with what another left'
fails 2 'a job that continued it finished' job submit --continue $((again + 2)) -- true
run job submit --wait -- sh -c $'echo "b  c"\n\nexit 3'
contains "$("$TRADEWIND" job show $((again + 5)))" $'command\n          sh -c \'echo "b  c"\n\n          exit 3\'\n' \
    'the lines of a command stay lines'
again=$((again + 5))

# ---- lists ----

run job ls --name first --json
is "$(json "[j['id'] for j in d]" <<<"$out")" "[$first]" 'by name'
run job ls --user nobody-else
is "$out" 'No job matches.' 'by user'
run job ls --limit 2
is "$(grep -c finished <<<"$out") $(tail -n 1 <<<"$out")" '1 These are the first 2; --all shows all of them.' \
    'the newest, as many as asked for'
run job ls --all --json
count=$(json 'len(d)' <<<"$out")
is "$count" "$again" 'all of them'
run job ls --sort runtime --json --all
is "$(json "[j['runtime_s'] or 0 for j in d] == sorted((j['runtime_s'] or 0 for j in d), reverse=True)" <<<"$out")" True \
    'the longest first'
run job ls --sort state --json --all
is "$(json "[j['state'] for j in d][0], [j['state'] for j in d][-1]" <<<"$out")" 'finished killed' 'by state'
run job ls --all
check 'lines fit 100 columns' python3 -c 'import sys; sys.exit(any(len(x) > 100 for x in sys.argv[1].split("\n")))' "$out"
fails 2 '"runing" is not a state' job ls --state runing
fails 2 '--sort' job ls --sort size
fails 2 'exclude each other' job ls --all --limit 3
fails 2 'a whole number' job ls --limit 1.5

fails 2 "job submit: no option --lr; if it belongs to the command that is to run, write -- before that: \
tradewind job submit --cpus 2 -- python3 'my train.py' --lr 0.1 -v" \
    job submit --cpus 2 python3 'my train.py' --lr 0.1 -v
fails 2 "write -- before that: tradewind sweep s -- python3 train.py --lr '{1,2}'" \
    sweep s python3 train.py --lr '{1,2}'

# ---- too few open files for a broker ----

err=$(ulimit -n 16; TRADEWIND_HOME=$scratch/few "$TRADEWIND" job submit -- true 2>&1 >/dev/null)
is "$?" 5 "a job that no broker can run for want of open files"
contains "$err" "a broker needs 64 open files, and the limit of this shell is 16: raise it, as in ulimit -n 1024" \
    "names the limit"

# ---- as much of the command as fits ----

words=$(printf ' abcdefghi%.0s' {1..30}) # 300 characters
run job submit --wait --name "a job with a name" -- true $words
for width in 80 100 200; do
    shown=$(COLUMNS=$width "$TRADEWIND" job ls --limit 1 | grep finished | wc -L)
    check "job ls fills $width columns" test "$shown" -eq "$width"
done
contains "$(COLUMNS=1000 "$TRADEWIND" job ls --limit 1)" "true$words" 'the whole command where it fits'
contains "$(COLUMNS=100 "$TRADEWIND" job ls --limit 1)" 'a job w…' 'the name gives way to it'
narrow=$(COLUMNS=80 "$TRADEWIND" job ls --limit 1)
lacks "$narrow" "memory" 'columns that matter less give way to both'
check 'the time of submission stays whole' grep -Eq ' [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} ' <<<"$narrow"

done_testing
