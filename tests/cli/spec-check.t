#!/usr/bin/env bash
# A pipeline file that is wrong: every finding with file and line, exit 2, nothing done.
. "$(dirname "$0")/tap.sh"

cat >bad.yaml <<'YAML'
name: broken
objectiv: cost
---
name: prep
runn: ./prep
num_nodes: 0
outputs: {clean: -3}
service: {replicas: 1}
---
name: train
needs: [perp]
inputs: [prep.claen, gone.csv]
resources: {cpus: 8x, infra: aws/us-east-1, region: eu-west-1}
estimate: {hours: 1, work: 3}
secrets: {TOKEN: [hunter2]}
YAML
run plan --check bad.yaml
is "$code" 2 "a file with errors exits 2"
while read -r line part; do
    contains "$out" "bad.yaml:$line: " "something on line $line"
    check "line $line says: $part" grep -qF -- "$part" <(grep "^bad.yaml:$line:" <<<"$out")
done <<'WANTED'
2 "objectiv": did you mean objective?
5 stage prep: unknown field "runn": did you mean run?
6 num_nodes: "0" is out of range
7 outputs.clean: "-3" is not a size
8 warning: stage prep: service
11 needs: no stage is named "perp": did you mean prep?
12 input "gone.csv": No such file
13 resources.cpus: "8x"
13 region "eu-west-1" disagrees with infra on line 13
14 work beside hours
15 secrets.TOKEN: must be text
WANTED
lacks "$out$err" hunter2 "no secret is shown"

run plan --check --json bad.yaml
is "$code" 2 "--json too"
check "one JSON object" perl -MJSON::PP -e 'decode_json(shift)->{valid} and die' "$out"

fails 2 "bad.yaml:2: " plan bad.yaml
fails 2 "nowhere.yaml: No such file" plan nowhere.yaml
fails 2 "Is a directory" plan .

: >empty.yaml
fails 2 "empty.yaml: is empty" plan empty.yaml
printf 'run: caf\351\n' >latin1.yaml
fails 2 "latin1.yaml:1: not UTF-8: byte 0xe9 at byte 8" plan latin1.yaml
printf 'run: a\nname: b\0c\n' >nul.yaml
fails 2 "nul.yaml:2: control character 0x00" plan nul.yaml
printf 'run: [a\nname: b\n' >syntax.yaml
fails 2 "syntax.yaml:2: not YAML" plan syntax.yaml
head -c 5000000 /dev/zero | tr '\0' '#' >large.yaml
fails 2 "large.yaml: larger than 4 MiB" plan large.yaml
head -c 100000 /dev/zero | tr '\0' '[' >deep.yaml
fails 2 "deep.yaml:1: nested more than 64 levels deep" plan deep.yaml
{
    echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
    for i in 1 2 3 4 5 6 7 8 9; do
        a="*a$((i - 1))"
        echo "a$i: &a$i [$a, $a, $a, $a, $a, $a, $a, $a, $a, $a]"
    done
} >bomb.yaml
fails 2 "bomb.yaml:6: more than 200000 values once aliases are expanded" plan bomb.yaml
printf 'name: a\nneeds: [b]\nrun: x\n---\nname: b\nrun: x\nneeds: [a]\n' >cycle.yaml
fails 2 "cycle.yaml:1: stages need each other: a (line 1) needs b (line 5) needs a" plan cycle.yaml

mkdir data
head -c 3000000 /dev/zero >data/x
printf 'run: x\ninputs: [data]\noutputs: {y: 9x}\n' >good.yaml
run plan --check good.yaml
is "$code:$out" "0:good.yaml: valid, 1 stage, 0 warnings" "a file without findings"
code=0
out=$("$TRADEWIND" plan --check - <good.yaml 2>&1) || code=$?
is "$code:$out" "0:-: valid, 1 stage, 0 warnings" "from standard input"

# The documentation's examples: the first block is a whole file, other lines stand for one field.
docs=$root/docs/pipeline-file.md
sed -n '/^```yaml/,/^```$/p' "$docs" | sed '1d; /^```$/,$d' >documented.yaml
run plan --check documented.yaml
contains "$out" "valid, 2 stages, 0 warnings" "the documentation's pipeline"
shown=0
while read -r line; do
    case $line in
        estimate:* | inputs:*{* | outputs:*{*) echo "$line" >line.yaml ;;
        accelerators:*) echo "resources: {${line%% #*}}" >line.yaml ;;
        *) continue ;;
    esac
    run plan --check line.yaml
    is "$code:$err" "0:" "documented: $line"
    shown=$((shown + 1))
done < <(sed -n '/^```yaml/,/^```$/p' "$docs" | grep -E '^[a-z]')
check "there are such lines" test "$shown" -ge 12
grep -oE '\| `[a-z_]+: [^`]*` \|$' "$docs" | sed 's/^| `//; s/` |$//' >fields
while read -r line; do
    for file in "$line" "resources: {$line}"; do
        echo "$file" >line.yaml
        run plan --check line.yaml
        [[ $code == 0 ]] && break
    done
    [[ $line == needs:* ]] && continue
    is "$code:$out" "0:line.yaml: valid, 1 stage, 0 warnings" "documented: $line"
done <fields
check "there are such fields" test "$(wc -l <fields)" -ge 25
fails 2 'not-there.yaml: No such file' plan --check not-there.yaml
done_testing
