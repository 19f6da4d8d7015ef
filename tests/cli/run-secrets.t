#!/usr/bin/env bash
# Secrets reach the stage and nothing else: no record, no log, no message, no argument.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

# Put together here, so that no file of the test holds them.
token=tok$((12345 * 6789))en other=oth$((98765 * 4321))er third=thi$((55555 * 333))rd
# Of each, only whether it is right goes out.
sum() { printf %s "$1" | sha256sum | cut -c 1-16; }
cat >s.yaml <<YAML
name: s
---
name: one
envs: {TOKEN: of-the-file, PLAIN: seen}
secrets: {TOKEN: null, OTHER: $other}
outputs: {o: 0.001}
run: |
  sum() { printf %s "\$1" | sha256sum | cut -c 1-16; }
  echo "\$(sum "\$TOKEN") \$(sum "\$OTHER") \$PLAIN" >"\$TRADEWIND_OUTPUT/o/sums"
  echo "the token is \$TOKEN, the other \$OTHER"
  echo "[TRADEWIND_TAG] told:\$TOKEN"
---
name: two
needs: one
inputs: [one.o]
outputs: {o: 0.001}
run: |
  printf %s "\$THIRD" | sha256sum | cut -c 1-16 >"\$TRADEWIND_OUTPUT/o/sum"
  test -z "\$TOKEN" && echo no token here >"\$TRADEWIND_OUTPUT/o/none"
  stat -c %a "\$TRADEWIND_OUTPUT/../job" >"\$TRADEWIND_OUTPUT/o/mode"
  stat -c %a $scratch/home/secrets/1 >>"\$TRADEWIND_OUTPUT/o/mode"
YAML

fails 2 "s.yaml:3: stage one: secret TOKEN has no value: set it in the environment" \
    run s.yaml --yes --json
fails 2 "--secret THIRD: the environment has no such variable" run s.yaml --yes --json --secret THIRD
fails 2 "--secret: write NAME, whose value is in the environment, or NAME=VALUE" \
    run s.yaml --yes --json --secret "=$third"
lacks "$err" "$third" "which shows no value"
is "$("$TRADEWIND" run ls --json)" "[]" "nothing was started"

TOKEN=$token THIRD=$third run run s.yaml --yes --secret THIRD
is "$code" 0 "it runs"
is "$("$TRADEWIND" cat /s.one/o/sums)" "$(sum "$token") $(sum "$other") seen" \
    "a stage has its secrets: of the environment, of the file, before a variable of that name"
is "$("$TRADEWIND" cat /s.two/o/sum)" "$(sum "$third")" "--secret gives one to every stage"
is "$("$TRADEWIND" cat /s.two/o/none)" "no token here" "a stage has no other's"
is "$("$TRADEWIND" cat /s.two/o/mode)" "600
600" "the files that hold them are for their owner alone"
is "$("$TRADEWIND" job logs 1 | head -n 1)" \
    "the token is ***, the other ***" "the log has stars instead"

# Everything that is left, as it lies there and as it is told.
everything() {
    cat <<<"$out$err"
    find "$TRADEWIND_HOME" -type f -exec cat {} +
    "$TRADEWIND" job show 1 --json
    "$TRADEWIND" run show 1 --json
    "$TRADEWIND" get / "$scratch/got" >/dev/null 2>&1
    find "$scratch/got" -type f -exec cat {} + 2>/dev/null
}
everything >all.bin
for secret in "$token" "$other" "$third"; do
    is "$(grep -c -a -F "$secret" all.bin)" 0 "nothing in the home or the lake holds it"
done
is "$(find "$TRADEWIND_HOME/secrets" -type f | wc -l)" 0 "the values went with the run"

# ---- a run that is stopped, and gone on with ----
cat >again.yaml <<YAML
name: again
---
name: wrong
secrets: {TOKEN: null}
outputs: {o: 0.001}
run: |
  test -e $scratch/right || { echo "no \$TOKEN" >&2; exit 5; }
  printf %s "\$TOKEN" | sha256sum | cut -c 1-16 >"\$TRADEWIND_OUTPUT/o/sum"
YAML
TOKEN=$token run run again.yaml --yes
is "$code" 1 "a stage with a secret fails"
contains "$out" "exit code 5; its log ends: no ***" "its message has stars, too"
touch right
fails 2 "secret TOKEN has no value" run again.yaml --yes --resume --json
run run again.yaml --yes --resume --secret "TOKEN=$token"
is "$code $("$TRADEWIND" cat /again.wrong/o/sum)" "0 $(sum "$token")" "--resume wants them again"
"$TRADEWIND" broker --stop >/dev/null
everything >all.bin
is "$(grep -c -a -F "$token" all.bin)" 0 "and nothing holds it"
fails 2 "was given secrets, which are not kept" job rerun 1

done_testing
