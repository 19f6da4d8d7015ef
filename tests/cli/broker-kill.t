#!/usr/bin/env python3
"""A broker that is killed at its writes and starts of processes, one after the other.

Jobs with input, code and output, without any of them, one that fails, one that its user ends, and a
pipeline of two stages. Whatever the moment: the next broker brings each job to the end it should
have, each command ran once, logs, metrics and versions are as if nothing had happened, and nothing is
left behind. TRADEWIND_KILLS: how many moments, evenly spread; "all" for each."""

import os
import sys

from broker_home import PROGRAM, SLOW, Home, done, scratch_directory
from broker_killer import Killer, why_not

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


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        home = Home(scratch)
        killer = Killer(home, lambda: trouble(home))
        try:
            queue_all(home)
            calls = killer.count_calls()
            killer.everywhere(calls, KILLS)
            killer.again_and_again(calls, RANDOM_ROUNDS)
        finally:
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
