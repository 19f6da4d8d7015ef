#!/usr/bin/env python3
"""A broker that is killed at its writes and starts of processes while its jobs run on hosts behind
sshd. Whatever the moment: the next broker brings each job to the end it should have, each command ran
once, no line of a log is missing or there twice, and nothing stays rented, running or lying there.
TRADEWIND_KILLS: how many moments, evenly spread; "all" for each."""

import os
import shutil
import sys

from broker_home import SLOW, Home, done, scratch_directory, until
from broker_killer import Killer, why_not
from ssh_hosts import Hosts
from ssh_hosts import why_not as why_no_hosts

KILLS = os.environ.get("TRADEWIND_KILLS", "5" if SLOW else "10")
RANDOM_ROUNDS = int(os.environ.get("TRADEWIND_ROUNDS", "1"))
LINES = 300
LOG = "".join(f"line {i}\n" for i in range(1, LINES + 1))
ORDER = ["queued", "launching", "fetching", "running", "storing", "finished"]
TRANSITIONS = {"whole": ORDER, "plain": ORDER, "fails": [*ORDER[:4], "failed"]}


def queue_all(home):
    """Everything is queued while no broker runs."""
    for name, text in (("in/words", "three small words\n"), ("code/count.sh", 'wc -w <"$1"\n')):
        path = os.path.join(home.scratch, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w") as f:
            f.write(text)
    count = f"i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo line $i; done; "
    with home.nobody():
        home.good("put", "in", "/data/", "--set", "words")
        home.submit(
            home.once("whole") + 'sh count.sh "$TRADEWIND_INPUT/data/in/words" '
            '>"$TRADEWIND_OUTPUT/count"; ' + count,
            "--name", "whole", "--on", "lab", "--input", "@words", "--code", "code",
            "--output", "made",
        )
        home.submit(
            home.once("plain") + count + "echo '[TRADEWIND_METRIC] loss 1 0.5'; sleep 0.3",
            "--name", "plain", "--on", "ssh",
        )
        home.submit(
            home.once("fails") + 'echo x >"$TRADEWIND_CHECKPOINT/x"; exit 3',
            "--name", "fails", "--on", "lab", "--output", "failed", "--checkpoint", "1h",
        )
    home.keep()


def without_waits(states):
    """A job that found every host taken went back to the queue."""
    out = []
    for state in states:
        if state == "queued" and out[-1:] == ["launching"]:
            out.pop()
        elif not (state == "queued" and out):
            out.append(state)
    return out


def job_trouble(home, name, job):
    steps = home.json("job", "show", str(job["id"]))["transitions"]
    if without_waits([t["state"] for t in steps]) != TRANSITIONS[name]:
        return f"{name} went {[(t['state'], t['reason'] or '') for t in steps]}"
    if home.times_run(name) != 1:
        return f"{name} ran {home.times_run(name)} times"
    if name == "whole" and home.log(job["id"]) != LOG:
        return f"the log of whole: {home.log(job['id'])[:200]}"
    return ""


def lake_trouble(home, jobs):
    if home.good("cat", "/made/count").split() != ["3"]:
        return "the output of whole is not what it wrote"
    points = home.json("job", "metrics", str(jobs["plain"]["id"]))
    if [(p["name"], p["step"], p["value"]) for p in points] != [("loss", 1, 0.5)]:
        return f"metrics {points}"
    saved = os.path.join(home.path, "jobs", str(jobs["fails"]["id"]), "checkpoint", "x")
    if not os.path.exists(saved):
        return "the checkpoint of fails is gone"
    shutil.rmtree(os.path.dirname(saved))
    return home.fsck()


def trouble(home, hosts):
    """After the last broker: what is not as it should be, as text."""
    if not home.finish_all():
        return f"not over: {[(j['name'], j['state']) for j in home.jobs().values()]}"
    jobs = {job["name"]: job for job in home.jobs().values()}
    for name, job in jobs.items():
        if found := job_trouble(home, name, job):
            return found

    def left():
        return [*home.json("machines", "ls"), *hosts.processes(), *hosts.left_there(home)]

    # The last broker ended when all was cleared; connections of killed ones take a moment to go.
    until(lambda: not left(), 30)
    if there := left():
        return f"left there: {there}: {hosts.files_there(home)}"
    return lake_trouble(home, jobs) or home.leftovers()


def main():
    if reason := why_not() or why_no_hosts():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        home = Home(scratch)
        hosts = Hosts(scratch, 2)
        hosts.use(home)

        def clean():
            home.end_everything()
            hosts.end_processes()
            shutil.rmtree(hosts.root_of(home), ignore_errors=True)

        def found():
            what = trouble(home, hosts)
            hosts.forget_claims()
            return what

        killer = Killer(home, found, clean)
        try:
            queue_all(home)
            calls = killer.count_calls()
            killer.everywhere(calls, KILLS)
            killer.again_and_again(calls, RANDOM_ROUNDS)
        finally:
            home.end_everything()
            hosts.stop(home)
    return done()


if __name__ == "__main__":
    sys.exit(main())
