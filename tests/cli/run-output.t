#!/usr/bin/env bash
# run prints what the stages print, as it comes, behind the name of the stage: in a pipe, on a
# terminal, of floods, with secrets masked.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=60
trap 'touch "$scratch/go"; "$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

cat >two.yaml <<YAML
name: two
---
name: prep
estimate: {seconds: 60}
secrets: {TOKEN: null}
run: |
  echo "begun with \$TOKEN"
  while [ ! -e '$scratch/go' ]; do sleep 0.05; done
  printf '10%%\r50%%\r100%%\n\tafter a tab, \$1\nno newline at the end'
---
name: train
needs: [prep]
num_nodes: 2
estimate: {seconds: 60}
run: echo "rank \$SKYPILOT_NODE_RANK"; [ "\$SKYPILOT_NODE_RANK" = 1 ] && echo 'on stderr' >&2 || true
YAML

# ---- a pipe ----

# Its line is there while the stage waits for us.
"$TRADEWIND" run two.yaml --yes --secret TOKEN=swordfish >out 2>err &
pid=$!
n=0
while ! grep -q '^prep | begun' out && [ $((n += 1)) -lt 600 ]; do sleep 0.05; done
is "$(grep '^prep |' out)" "prep | begun with ***" "a line comes while its stage runs, its secret masked"
touch go
wait "$pid"
is "$?" 0 "the run ends well"
is "$(grep '^prep | ' out)" "prep | begun with ***
prep | 100%
prep |  after a tab, \$1
prep | no newline at the end" "a progress bar is what it drew last; the last line needs no newline"
is "$(grep '^train\[' out | sort)" "train[0] | rank 0
train[1] | on stderr
train[1] | rank 1" "nodes are told apart"
is "$(sed -n '/^Running/,/^Run 1/{
    s/^  \(prep\|train\) *\(started\|finished\).*/\1 \2/p
    s/^\(prep\|train\).* | .*/\1/p
}' out | uniq)" \
    "prep started
prep
prep finished
train started
train
train finished" "lines stand between the start and the end of their stage"

run run two.yaml --yes --secret TOKEN=swordfish --no-cache --quiet
lacks "$out" " | " "--quiet leaves the progress alone"
contains "$out" "  prep                 finished" "which is there"
run run two.yaml --yes --secret TOKEN=swordfish --no-cache --json
lacks "$out" '"log"' "--json has the events that it had"
run run two.yaml --yes --secret TOKEN=swordfish
lacks "$out" "prep | " "a reused stage prints nothing"
run run show 1 --follow
contains "$out" "train[1] | rank 1" "run show --follow has the lines, too"
run run show 1 --follow -q
lacks "$out" " | " "unless it is to be quiet"

# ---- a terminal ----

cat >colour.yaml <<'YAML'
name: colour
estimate: {seconds: 60}
run: printf '\033[31mred\033[0m \033]0;title\007and \033[2J\033[10Aback\033c \001\200 grün\n'
YAML
cat >terminal.py <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text = b""
try:
    while part := os.read(fd, 65536):
        text += part
except OSError:
    pass
sys.stdout.buffer.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
LC_ALL=C.UTF-8 COLUMNS=80 TERM=xterm python3 terminal.py "$TRADEWIND" run colour.yaml --yes >seen
is "$?" 0 "a run on a terminal"
is "$(grep -ao 'colour | .*' seen | tr -d '\r')" "colour | red and back?c ?? grün" \
    "gets no control characters of a job"
contains "$(grep -a -A3 'colour | ' seen)" $'\033[2K  colour' "progress is drawn below"
run run colour.yaml --yes --no-cache
contains "$out" $'colour | \033[31mred' "a pipe gets the line as it is"

# ---- floods ----

cat >flood.yaml <<'YAML'
name: flood
---
name: flood
estimate: {seconds: 60}
run: |
  seq -f 'line %.0f of a flood, which is somewhat longer than its number' 1 400000
  echo flood is over
---
name: calm
estimate: {seconds: 60}
run: for i in 1 2 3; do echo calm $i; done
YAML
"$TRADEWIND" run flood.yaml --yes --no-cache >out 2>err
is "$?" 0 "a stage that prints 25 MB"
job=$("$TRADEWIND" job ls --name flood --json | json "d[0]['id']")
check "is cut" test "$(wc -c <out)" -lt 16000000
contains "$(grep 'left out' out | head -n 1)" "MB left out: tradewind job logs $job has them)" \
    "with a line that says so and where all of it is"
is "$(grep '^flood | ' out | tail -n 1)" "flood | flood is over" "its last line is there"
is "$(grep -c '^calm | ' out)" 3 "as are those of another stage"
is "$(grep '^flood | ' out | grep -v 'left out' | grep -vxE 'flood \| (line [0-9]+ of a flood, which is somewhat longer than its number|flood is over)')" \
    "" "no line is torn"
is "$("$TRADEWIND" job logs "$job" | wc -l)" 400001 "the log has all of them"

# Who reads nothing holds up the run's display, and neither the run nor its memory.
cat >endless.yaml <<YAML
name: endless
estimate: {seconds: 60}
run: |
  for i in \$(seq 60); do head -c 1000000 /dev/zero | tr '\\\\0' x | fold -w 99; done
  touch '$scratch/printed'
YAML
mkfifo slow
"$TRADEWIND" run endless.yaml --yes >slow 2>err &
pid=$!
exec 9<slow
n=0
while [ ! -e printed ] && [ $((n += 1)) -lt 1200 ]; do sleep 0.05; done
check "a reader that reads nothing holds up no stage" test -e printed
check "nor does run keep what was printed in memory" \
    test "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 400000
cat <&9 >/dev/null
exec 9<&-
wait "$pid"
is "$?" 0 "and the run ends well"

done_testing
