#!/usr/bin/env python3
"""A broker that is killed at its writes and starts of processes, one after the other.

Jobs with input, code and output, without any of them, one that fails, one that its user ends, and a
pipeline of two stages. Whatever the moment: the next broker brings each job to the end it should
have, each command ran once, logs, metrics and versions are as if nothing had happened, and nothing is
left behind. TRADEWIND_KILLS: how many moments, evenly spread; "all" for each."""

import json
import os
import random
import sys

from broker_home import PROGRAM, SLOW, Home, check, done, scratch_directory

KILLAT = os.path.join(os.environ["TRADEWIND_BUILD"], "tests", "tools", "killat")
KILLED = 99
KILLS = os.environ.get("TRADEWIND_KILLS", "6" if SLOW else "24")
RANDOM_ROUNDS = int(os.environ.get("TRADEWIND_ROUNDS", "1" if SLOW else "2"))
LINES = 300
LOG = "".join(f"line {i}\n" for i in range(1, LINES + 1))

PIPELINE = """
name: two
---
name: first
outputs: {half: 0.001}
resources: {cpus: 1}
estimate: {seconds: 60}
run: |
  ONCE_first
  echo 20 >"$TRADEWIND_OUTPUT/half/n"
---
name: second
needs: first
inputs: [first.half]
outputs: {whole: 0.001}
resources: {cpus: 1}
estimate: {seconds: 60}
run: |
  ONCE_second
  echo $(($(cat "$TRADEWIND_INPUT/two.first/half/n") * 2)) >"$TRADEWIND_OUTPUT/whole/n"
"""

ORDER = ["queued", "launching", "fetching", "running", "storing", "finished"]
TRANSITIONS = {
    "whole": ORDER,
    "plain": ORDER,
    "fails": [*ORDER[:4], "failed"],
    "killed": [*ORDER[:4], "killed"],
    "first": ORDER,
    "second": ORDER,
}
SETS = {"made": [1], "two.first": [1], "two.second": [1]}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def queue_all(home):
    """Everything is queued while no broker runs."""
    write(os.path.join(home.scratch, "in", "words"), "three small words\n")
    write(os.path.join(home.scratch, "code", "count.sh"), 'wc -w <"$1"\n')
    pipeline = PIPELINE
    for stage in ("first", "second"):
        pipeline = pipeline.replace("ONCE_" + stage, home.once(stage))
    write(os.path.join(home.scratch, "two.yaml"), pipeline)
    count = f"i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo line $i; done; "
    # The job ends itself, as its user would: by a command, whoever serves then.
    user = f"TRADEWIND_HOME='{home.path}' TRADEWIND_BROKER_IDLE_S=0 '{PROGRAM}'"
    with home.nobody():
        home.good("put", "in", "/data/", "--set", "words")
        home.submit(
            home.once("whole") + 'sh count.sh "$TRADEWIND_INPUT/data/in/words" '
            '>"$TRADEWIND_OUTPUT/count"; ' + count,
            "--name", "whole", "--input", "@words", "--code", "code", "--output", "made",
        )
        home.submit(
            home.once("plain") + count + "echo '[TRADEWIND_METRIC] loss 1 0.5'; "
            "echo '[TRADEWIND_METRIC] loss'; echo '[TRADEWIND_TAG] colour:plain'",
            "--name", "plain",
        )
        home.submit(
            home.once("fails") + 'echo x >"$TRADEWIND_OUTPUT/x"; exit 3',
            "--name", "fails", "--output", "failed",
        )
        home.submit(
            home.once("killed") + 'echo x >"$TRADEWIND_OUTPUT/x"; '
            f'{user} job kill "$TRADEWIND_JOB" >/dev/null; exec sleep 1000',
            "--name", "killed", "--output", "killed",
        )
        home.good("run", "two.yaml", "--yes", "--detach")
    home.keep()


def job_trouble(home, name, job):
    states = [t["state"] for t in home.json("job", "show", str(job["id"]))["transitions"]]
    if states != TRANSITIONS[name]:
        return f"{name} went {states}: {job['reason']}"
    if home.times_run(name) != 1:
        return f"{name} ran {home.times_run(name)} times"
    if name == "whole" and home.log(job["id"]) != LOG:
        return f"the log of whole: {home.log(job['id'])[:200]}"
    return ""


def plain_trouble(home, job):
    """What a log told is there once."""
    points = home.json("job", "metrics", str(job))
    if [(p["name"], p["step"], p["value"]) for p in points] != [("loss", 1, 0.5)]:
        return f"metrics {points}"
    if (found := [f["ref"] for f in home.json("find", "colour=plain")]) != [f"job:{job}"]:
        return f"tagged {found}"
    with open(os.path.join(home.path, "jobs", str(job), "warnings")) as f:
        warnings = f.readlines()
    # Of the metric without a value.
    return "" if len(warnings) == 1 else f"warnings {warnings}"


def lake_trouble(home):
    numbers = {}
    for version in home.json("set", "ls", "--all"):
        numbers.setdefault(version["set"], []).append(version["version"])
    inputs = numbers.pop("two.second.input", [])
    if sorted(inputs) != list(range(1, len(inputs) + 1)):
        return f"versions of an input have gaps: {inputs}"
    made = {name: sorted(n) for name, n in numbers.items() if name in SETS}
    if made != SETS or "failed" in numbers or "killed" in numbers:
        return f"sets {numbers}"
    if home.good("cat", "/made/count").split() != ["3"]:
        return "the output of whole is not what it wrote"
    if home.good("cat", "/two.second/whole/n").split() != ["40"]:
        return "the output of second is not what it wrote"
    return home.fsck()


def trouble(home):
    """After the last broker: what is not as it should be, as text."""
    if not home.finish_all():
        return f"not over: {[(j['name'], j['state']) for j in home.jobs().values()]}"
    jobs = {job["name"]: job for job in home.jobs().values()}
    if sorted(jobs) != sorted(TRANSITIONS) or len(home.jobs()) != len(TRANSITIONS):
        return f"jobs {[j['name'] for j in home.jobs().values()]}"
    for name, job in jobs.items():
        if found := job_trouble(home, name, job):
            return found
    if (state := home.json("run", "show", "1")["state"]) != "finished":
        return f"the run is {state}"
    return plain_trouble(home, jobs["plain"]["id"]) or lake_trouble(home) or home.leftovers()


def kill_at(home, call, half):
    before = [KILLAT, "--alone", *(["--half"] if half else []), str(call)]
    got = home.run("broker", before=before)
    if "Sanitizer" in got.stderr or "runtime error" in got.stderr:
        raise RuntimeError(got.stderr)
    return got


def count_calls(home):
    """Of a broker that nobody kills."""
    home.restore()
    done_by = kill_at(home, 10**9, False)
    check(done_by.returncode == 0, "a broker serves all, under a tracer", done_by.stderr)
    check(not (found := trouble(home)), "as it should", found)
    return int(done_by.stderr.split("killat:")[-1].split()[0])


def moments(calls):
    if KILLS == "all":
        return range(1, calls + 1)
    n = min(int(KILLS), calls)
    shift = random.randrange(max(calls // n, 1))
    return [1 + i * calls // n + shift for i in range(n)]


def test_everywhere(home, calls):
    kills, troubles = 0, []
    for call in moments(calls):
        home.restore()
        half = call % 2 == 0
        if kill_at(home, call, half).returncode == KILLED:
            kills += 1
        if found := trouble(home):
            troubles.append(f"killed at call {call}{' (half)' if half else ''}: {found}")
            home.end_everything()
    # Calls differ from run to run: the last ones may not come.
    check(kills * 2 > len(moments(calls)), f"killed at {kills} of {calls} calls")
    check(not troubles, "and never to be noticed afterwards", *troubles[:5])


def test_again_and_again(home, calls):
    """Brokers that are killed one after the other, each some way on."""
    troubles = []
    for round_number in range(RANDOM_ROUNDS):
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        home.restore()
        for _ in range(12):
            kill_at(home, dice.randrange(1, calls // 4), dice.random() < 0.5)
        if found := trouble(home):
            troubles.append(f"round {round_number}, seed {seed}: {found}")
            home.end_everything()
    check(not troubles, f"{RANDOM_ROUNDS} x 12 brokers killed at random", *troubles[:5])


def main():
    if not os.path.exists(KILLAT) or os.uname().machine != "x86_64":
        print("1..0 # SKIP the killer knows x86-64 alone")
        return 0
    with scratch_directory() as scratch:
        home = Home(scratch)
        try:
            queue_all(home)
            calls = count_calls(home)
            test_everywhere(home, calls)
            test_again_and_again(home, calls)
        finally:
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
