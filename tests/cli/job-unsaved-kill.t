#!/usr/bin/env python3
"""Kills at the writes of all that handle an output that cannot be stored: the broker, job save, job rm. The
output is there afterwards, in the job's directory or in the lake, unless job rm removed the job.
TRADEWIND_KILLS: how many moments, evenly spread; "all" for each."""

import os
import subprocess
import sys

from broker_home import SLOW, Home, check, done, scratch_directory, until
from broker_killer import KILLAT, KILLED, Killer, calls_of, why_not

KILLS = os.environ.get("TRADEWIND_KILLS", "4" if SLOW else "16")
CONTENT = "hours of work\n"
STATES = ["queued", "launching", "fetching", "running", "storing", "unsaved"]


def queue(home):
    with home.nobody():
        home.submit(home.once("job") + 'echo hours of work >"$TRADEWIND_OUTPUT/$(printf "a\\tb")"',
                    "--name", "job", "--output", "made")
    home.keep()


def kept(home):
    """The output in the job's directory; "" = it is not there, or not whole."""
    for name in ("a\tb", "a_b"):
        try:
            with open(os.path.join(home.path, "jobs", "1", "output", name)) as f:
                return f.read()
        except FileNotFoundError:
            pass
    return ""


def leftovers(home):
    """Besides what an unsaved job keeps."""
    until(lambda: not home.processes(), 30)
    until(lambda: not home.groups(), 10)
    mine = (os.path.join("jobs", "1", "output"), os.path.join("untidy", "1"))
    left = [p for p in [*home.groups(), *home.untidy()] if not p.endswith(mine)]
    return f"left behind: {left}" if left else ""


def broker_trouble(home):
    def is_over():
        home.run("broker")
        return home.state(1) == "unsaved"

    if not until(is_over):
        return f"it is {home.json('job', 'show', '1')}"
    states = [t["state"] for t in home.json("job", "show", "1")["transitions"]]
    if states != STATES or home.times_run("job") != 1:
        return f"it went {states} and ran {home.times_run('job')} times"
    if kept(home) != CONTENT:
        return "its output is gone"
    return leftovers(home) or saved_trouble(home)


def saved_trouble(home):
    got = home.run("job", "save", "1", "--rename")
    if got.returncode != 0:
        return f"job save: {got.returncode} {got.stderr}"
    if home.state(1) != "finished" or home.good("cat", "/made/a_b@made:1") != CONTENT:
        return f"it is not saved: {home.json('job', 'show', '1')}"
    if len(home.json("set", "ls", "--all")) != 1:
        return f"sets {home.json('set', 'ls', '--all')}"
    return home.fsck() or home.leftovers()


def removed_trouble(home):
    """Either nothing happened yet, or the job is gone and gc finishes."""
    if home.run("job", "show", "1").returncode == 0:
        if home.state(1) != "unsaved" or kept(home) != CONTENT:
            return f"its record is there, and its output is not: {home.json('job', 'show', '1')}"
        if home.run("job", "rm", "1").returncode != 0:
            return "job rm does not do it again"
    home.good("gc", "--yes")
    left = os.path.join(home.path, "jobs", "1")
    if os.path.exists(left):
        return f"{os.listdir(left)} is left behind"
    return home.fsck()


def kill_command(home, trouble, *command):
    """Killed at moments, evenly spread."""

    def kill_at(call, half):
        home.restore()
        before = [KILLAT, "--alone", *(["--half"] if half else []), str(call)]
        return home.run(*command, before=before)

    whole = kill_at(10**9, False)
    name = " ".join(command)
    check(whole.returncode == 0, f"{name} does it, under a tracer", whole.stderr)
    calls, troubles, killed = calls_of(whole), [], 0
    n = calls if KILLS == "all" else min(int(KILLS), calls)
    for i in range(n):
        call = 1 + i * calls // n
        killed += kill_at(call, call % 2 == 0).returncode == KILLED
        if found := trouble(home):
            troubles.append(f"killed at call {call}: {found}")
    check(killed * 2 >= n, f"{name}: killed at {killed} of {calls} calls, {n} were wanted")
    check(not troubles, f"{name}: and the output is never lost", *troubles[:5])


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        home = Home(scratch)
        killer = Killer(home, lambda: broker_trouble(home))
        try:
            queue(home)
            killer.everywhere(killer.count_calls(), KILLS)
            home.restore()
            home.run("broker")
            check(home.state(1) == "unsaved", "an unsaved job", home.json("job", "show", "1"))
            home.stop_broker()
            unsaved = Home(scratch, "unsaved")
            subprocess.run(["rm", "-rf", unsaved.path, unsaved.ran], check=True)
            os.rename(home.path, unsaved.path)
            os.rename(home.ran, unsaved.ran)
            unsaved.keep()
            kill_command(unsaved, saved_trouble, "job", "save", "1", "--rename")
            kill_command(unsaved, removed_trouble, "job", "rm", "1")
            unsaved.end_everything()
        finally:
            os.makedirs(home.path, exist_ok=True)
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
