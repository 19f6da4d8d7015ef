#!/usr/bin/env bash
# Runs in the background: followed, stopped from elsewhere, and shown on a small terminal.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
stop_broker() { "$TRADEWIND" broker --stop >/dev/null 2>&1 || true; }
trap 'stop_broker; rm -rf "$scratch"' EXIT

# From the JSON of a run, r.
of_run() { # RUN, what
    "$TRADEWIND" run show "$1" --json |
        python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval("(" + sys.argv[1] + ")"))' "$2"
}
wait_for() { # a condition, for at most a minute
    local i
    for i in {1..600}; do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

# ---- followed, and stopped ----
cat >slow.yaml <<EOF
name: slow
---
name: quick
run: "true"
---
name: long
needs: quick
run: |
  trap 'touch $scratch/polite; exit 1' TERM
  touch $scratch/running
  for i in {1..600}; do sleep 0.1; done
EOF
"$TRADEWIND" run slow.yaml --yes --detach >detached.txt
run=$(sed -n 's/^run //p' detached.txt)
is "$(tail -n 2 detached.txt)" "Follow it with: tradewind run show $run --follow
Stop it with: tradewind run stop $run" "--detach says how to follow and stop it"
check "the long stage runs" wait_for test -e running
"$TRADEWIND" run show "$run" --follow >followed.txt 2>&1 &
watcher=$!
check "it is followed" wait_for grep -q 'long  *started' followed.txt
kill -INT $watcher
wait $watcher
is "$?" 130 "Ctrl-C ends the following"
sleep 1
is "$(of_run "$run" "r['state']") $(test -e polite; echo $?)" "running 1" "and not the run"
is "$(of_run "$run" "r['stages'][1]['state'], r['stages'][1]['runtime_s'] >= 1,
    r['stages'][1]['cost_usd'] > 0,
    abs(r['cost_usd'] - sum(s['cost_usd'] for s in r['stages'])) < 1e-9")" \
    "('running', True, True, True)" "its row has time and cost so far, the same as the sum"
is "$("$TRADEWIND" run stop "$run")" \
    "stopping run $run; finished stages keep their outputs. Repeat the command to stop it at once." "run stop"
"$TRADEWIND" run show "$run" --follow >stopped.txt
is "$? $(of_run "$run" "[s['state'] for s in r['stages']]")" "130 ['finished', 'stopped']" \
    "stops it"
check "its job could end by itself" test -e polite
check "that is said once" grep -qx '  long stopped: the run was stopped' stopped.txt
is "$("$TRADEWIND" run stop "$run")" "run $run was over already: stopped" "it is over"
rm -f running
cat >deaf.yaml <<EOF
name: deaf
run: |
  trap '' TERM
  touch $scratch/running
  for i in {1..600}; do sleep 0.1; done
EOF
"$TRADEWIND" run deaf.yaml --yes --detach >detached.txt
run=$(sed -n 's/^run //p' detached.txt)
check "a deaf stage runs" wait_for test -e running
began=$SECONDS
"$TRADEWIND" run stop "$run" >/dev/null
is "$("$TRADEWIND" run stop "$run")" "stopping run $run at once" "stopped twice"
"$TRADEWIND" run show "$run" --follow >/dev/null
check "at once, not after its half minute" test $((SECONDS - began)) -lt 30
is "$("$TRADEWIND" run stop x 2>&1; echo $?)" \
    "tradewind: run \"x\": must be a whole number
2" "no run"

# ---- on a small terminal ----
{
    printf 'name: many\nexecution: parallel\n'
    for i in {1..8}; do
        printf -- '---\nname: stage-%s-with-a-long-name-of-its-own\nrun: "true"\n' "$i"
    done
} >many.yaml
"$TRADEWIND" run many.yaml --yes --detach >detached.txt
run=$(sed -n 's/^run //p' detached.txt)
"$TRADEWIND" run show "$run" --follow >/dev/null
is "$(python3 - "$TRADEWIND" "$run" <<'EOF'
import fcntl, os, pty, re, struct, subprocess, sys, termios
us, them = pty.openpty()
fcntl.ioctl(them, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 40, 0, 0))
p = subprocess.Popen([sys.argv[1], "run", "show", sys.argv[2], "--follow"],
                     stdout=subprocess.DEVNULL, stderr=them)
os.close(them)
text = b""
try:
    while more := os.read(us, 65536):
        text += more
except OSError:  # the end, as a terminal has it
    pass
p.wait()
text = re.sub(r"\x1b\[[0-9]*[A-Z]", "", text.decode())
lines = text.replace("\r", "").splitlines()
print(len(lines), max(map(len, lines)) <= 40, lines[-1])
EOF
)" "5 True   and 4 more" "lines are cut to its width, and as many as it has"

# --- Ctrl-C on a terminal: progress is drawn below the message, not over it
printf 'name: terminal\nrun: "touch %s/began; sleep 600"\n' "$scratch" >terminal.yaml
is "$(python3 - "$TRADEWIND" "$scratch/began" <<'EOF'
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["tradewind", "run", "terminal.yaml", "--yes"])
text, stopped = b"", False
try:
    while True:
        if select.select([terminal], [], [], 0.05)[0]:
            text += os.read(terminal, 65536)
        if not stopped and os.path.exists(sys.argv[2]):
            stopped = True
            os.write(terminal, b"\x03")
except OSError:  # the end, as a terminal has it
    pass
message, _, below = text.decode().replace("\r", "").rpartition("Ctrl-C again: at once.\n")
print("\nStopping;" in message, below.startswith("\x1b[2K"), os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
EOF
)" "True True 130" "the message stays, and the run is stopped"

is "$(python3 - "$TRADEWIND" <<'EOF'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["tradewind", "run", "terminal.yaml", "--on", "sim"])
text = b""
try:
    while b"[Y/n]" not in text:
        text += os.read(terminal, 65536)
    os.write(terminal, b"\x03")
    while os.read(terminal, 65536):
        pass
except OSError:  # the end, as a terminal has it
    pass
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
EOF
)" 2 "Ctrl-C at the question ends the command"

done_testing
