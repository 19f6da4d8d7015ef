#!/usr/bin/env bash
# What jobs leave in $TRADEWIND_OUTPUT: sets of jobs that name none, reproduced versions.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

json() { # FIELD JOB
    "$TRADEWIND" job show --json "$2" | jq -r ".$1"
}

# ---- every job has an output ----

run job submit --wait -- sh -c 'echo model > "$TRADEWIND_OUTPUT/m"'
is "$code" 0 "a job without --output finishes"
contains "$out$err" "output @job-1:1" "its output is the set job-1"
is "$("$TRADEWIND" cat /job-1/m@job-1:1)" model "which holds what it wrote"
is "$(json output 1) $(json state 1)" "@job-1:1 finished" "and stands in its record"
contains "$("$TRADEWIND" job show 1)" "@job-1:1" "which job show prints"
contains "$("$TRADEWIND" find 'kind=set job=1')" "@job-1:1" "find finds it by its job"

run job submit --wait -- true
is "$code" 0 "a job that writes nothing finishes"
is "$(json output 2)" null "and has no output"
fails 3 "no set @job-2" set show @job-2

run job rerun 1
"$TRADEWIND" job wait 3 >/dev/null 2>&1
is "$(json output 3)" @job-3:1 "a rerun has a set of its own"

run sweep s -- sh -c 'echo $0 > "$TRADEWIND_OUTPUT/value"' '{1,2}'
is "$("$TRADEWIND" cat /job-4/value@job-4; "$TRADEWIND" cat /job-5/value@job-5)" $'1\n2' \
    "trials of a sweep keep their outputs"

cat >spin <<'SH'
#!/bin/sh
seq "$2" >"$TRADEWIND_OUTPUT/lines"
SH
chmod +x spin
mkdir code && mv spin code/
"$TRADEWIND" profile spin --code code --cpus 0.5,1 --mems 256 -- ./spin --n '{2,3,4}' >/dev/null 2>&1
is "$("$TRADEWIND" job ls --json | jq -r '[.[] | select(.name == "profile spin") | .output == "@job-\(.id):1"] | all, length' | tr '\n' ' ')" \
    "true 6 " "runs of a profile have an output each"
run autoprovision spin --values n=4 --max-time 1000h --yes --wait
id=$("$TRADEWIND" job ls --json | jq -r '.[0].id')
"$TRADEWIND" job wait "$id" >/dev/null
is "$("$TRADEWIND" cat "/job-$id/lines@job-$id" | tail -n 1)" 4 "and the job of autoprovision"
cat >plain.yaml <<'YAML'
name: plain
---
name: s
estimate: {seconds: 1}
run: echo made >"$TRADEWIND_OUTPUT/file"
YAML
"$TRADEWIND" run plain.yaml --yes >/dev/null
id=$("$TRADEWIND" job ls --json | jq -r '.[0].id')
is "$("$TRADEWIND" cat "/job-$id/file@job-$id")" made "and a stage that declares none"

# ---- declared outputs of a stage ----

# stage OUTPUTS COMMAND: a pipeline of one stage
stage() {
    printf 'name: o\n---\nname: s\noutputs: %s\nestimate: {seconds: 1}\nrun: |\n  %s\n' "$1" "$2" >o.yaml
}
ends() { # CODE TEXT NAME
    run run o.yaml --yes --no-cache
    is "$code" "$1" "$3"
    contains "$out$err" "$2" "$3: $2"
}
last() {
    "$TRADEWIND" job ls --json | jq -r '.[0].id'
}

stage '{model.pt: 0.001, logs: 0.001}' \
    'test ! -e "$TRADEWIND_OUTPUT/model.pt" && echo m >"$TRADEWIND_OUTPUT/model.pt"; echo l >"$TRADEWIND_OUTPUT/logs/l"'
ends 0 "of o: finished" "an output with an extension is a file, another a directory"
is "$("$TRADEWIND" ls -r @o.s:1)" $'/o.s/logs/l\n/o.s/model.pt' "both are in the set"
stage '{model.pt: 0.001, logs: 0.001}' 'echo m >"$TRADEWIND_OUTPUT/model.pth"; echo l >"$TRADEWIND_OUTPUT/logs/l"'
ends 1 'output model.pt: it is missing' "a missing file fails the stage"
job=$(last)
is "$(json state "$job")" failed "its job failed"
contains "$(json reason "$job")" "what it wrote stays in $TRADEWIND_HOME/jobs/$job/output" \
    "the reason says where the rest is"
is "$(cat "$TRADEWIND_HOME/jobs/$job/output/model.pth")" m "which is there"
stage '{model.pt: 0.001}' ': >"$TRADEWIND_OUTPUT/model.pt"'
ends 1 'output model.pt: it is empty' "an empty file fails the stage"
stage '{model: 0.001}' 'echo hello'
ends 1 'output model: it is empty' "an empty directory fails the stage"
stage '{model: 0.001}' 'rmdir "$TRADEWIND_OUTPUT/model"; echo m >"$TRADEWIND_OUTPUT/model"'
ends 1 'output model: it is not a directory' "a file in place of a directory fails the stage"
stage '{model.pt: 0.001}' 'mkdir "$TRADEWIND_OUTPUT/model.pt"'
ends 1 'output model.pt: it is not a file' "a directory in place of a file fails the stage"
hint='write $TRADEWIND_OUTPUT/model/FILE, or declare a file, as in model.txt'
stage '{model: 0.001}' 'echo m >"$TRADEWIND_OUTPUT/model"'
ends 1 'output/model: Is a directory' "a redirect onto the directory fails the stage"
contains "$(json reason "$(last)")" "$hint" "with a hint"
stage '{model: 0.001}' 'echo m >"$TRADEWIND_OUTPUT/model"; echo on'
ends 1 'output model: it is empty' "also when the command goes on"
contains "$(json reason "$(last)")" "$hint" "with the hint, too"

cat >two.yaml <<'YAML'
name: two
---
name: a
outputs: {model.pt: 0.001}
estimate: {seconds: 1}
run: echo weights >"$TRADEWIND_OUTPUT/model.pt"
---
name: b
needs: a
inputs: [a.model.pt]
outputs: {seen.txt: 0.001}
estimate: {seconds: 1}
run: cat "$TRADEWIND_INPUT/two.a/model.pt" >"$TRADEWIND_OUTPUT/seen.txt"
YAML
run run two.yaml --yes
is "$code $("$TRADEWIND" cat /two.b/seen.txt@two.b)" "0 weights" "the next stage reads the file"

done_testing
