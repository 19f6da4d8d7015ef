#!/usr/bin/env python3
"""Brokers of runs on a cloud that are killed at any moment: whatever the moment, the run finishes, no
instance is left and none is launched twice, and the bill is that of the cloud. Commands that are
interrupted, runs that are stopped and jobs that are killed in every state; and secrets.
TRADEWIND_ROUNDS: how many homes; TRADEWIND_KILLS: how often each broker is killed."""

import contextlib
import functools
import os
import random
import signal
import subprocess
import sys
import time

from broker_home import FINAL, check, done, scratch_directory, together, until
from cloud_home import EAST, SECRET, WEST, cloud, stage, why_not

ROUNDS = int(os.environ.get("TRADEWIND_ROUNDS", "3"))
KILLS = int(os.environ.get("TRADEWIND_KILLS", "6"))
PRICES = {("us-east-1", False): EAST, ("us-west-2", False): WEST}
FIRST = stage("first", 'sleep 1; hostname >"$TRADEWIND_OUTPUT/o/host"; echo ran >>$HOME/ran-first',
              outputs="{o: 0.001}")
SECOND = stage("second", 'cat "$TRADEWIND_INPUT/p.first/o/host" >"$TRADEWIND_OUTPUT/o/first"; sleep 1',
               needs="first", inputs="[first.o]", outputs="{o: 0.001}")
LONG = stage("long", "trap '' TERM; sleep 600", outputs="{}")
MILD = stage("mild", "sleep 600", outputs="{}")


def kill_broker(home):
    """Whether there was one."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        os.kill(home.broker_pid(), signal.SIGKILL)
        return True
    return False


def wake(home):
    """As the next command does."""
    home.run("run", "ls")


def trouble(home, run, good="finished"):
    """What is not as it should be once it is over, as text."""
    def over():
        wake(home)
        return home.show(run)["state"] != "running"

    if not until(over):
        return f"not over: {home.show(run)}"
    shown = home.show(run)
    if shown["state"] != good:
        return f"{shown['state']}, not {good}: {shown}"
    for _ in range(200):
        if not home.json("machines", "ls"):
            break
        wake(home)
        time.sleep(0.1)
    if left := home.clean_up():
        return left
    if alive := home.alive():
        return f"alive: {alive}"
    if home.twins():
        return f"{home.twins()} twins"
    cost, by_model = home.cost_of_records(), home.cost_by_model(PRICES)
    if cost != by_model:
        return f"costs {cost}, and {by_model} by the cloud: {home.records()} {home.instances()}"
    of_run = round(home.show(run)["cost_usd"] * 1e6)
    if of_run != cost:
        return f"the run costs {of_run}, its machines {cost}: {home.show(run)} {home.records()}"
    return home.fsck()


# ---- the moments of a life ----

def in_state(home, run, state):
    def reached():
        job = home.show(run)["stages"][0]["job"]
        return job and (home.state(job) == state or home.state(job) in FINAL)
    return until(reached)


MOMENTS = {
    "launching": lambda home, run: until(lambda: home.model()["calls"].get("RunInstances")),
    "booting": lambda home, run: until(home.alive),
    "fetching": lambda home, run: in_state(home, run, "fetching"),
    "running": lambda home, run: in_state(home, run, "running"),
    "storing": lambda home, run: in_state(home, run, "storing"),
    "terminating": lambda home, run: until(lambda: home.model()["calls"].get("TerminateInstances")),
}


def killed_when(scratch, moment):
    with cloud(scratch, moment, boot_s=1, idle_s=3) as home:
        run = home.start("p", FIRST, SECOND)
        MOMENTS[moment](home, run)
        killed = kill_broker(home)
        found = trouble(home, run)
        check(killed and not found, f"a broker killed when {moment} is not noticed afterwards", found)


def killed_at_random(scratch, seed):
    dice = random.Random(seed)
    with cloud(scratch, f"random{seed}", idle_s=3) as home:
        run = home.start("p", FIRST, SECOND)
        for _ in range(KILLS):
            time.sleep(dice.uniform(0, 2.5))
            kill_broker(home)
            wake(home)
        found = trouble(home, run)
        check(not found, f"a broker killed {KILLS} times, seed {seed}", found)


def test_command_killed(scratch):
    with cloud(scratch, "command", idle_s=3) as home:
        command = subprocess.Popen(
            [os.environ["TRADEWIND"], "run", home.write("p", FIRST, SECOND), "--on", "aws", "--yes"],
            env=home.env, cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(home.alive)
        command.kill()
        command.wait()
        found = trouble(home, "1")
        check(not found, "a command that is killed is not noticed either", found)


# ---- stops ----

def interrupt(scratch, times):
    with cloud(scratch, f"interrupt{times}") as home:
        command = subprocess.Popen(
            [os.environ["TRADEWIND"], "run", home.write("long", LONG if times > 1 else MILD), "--on", "aws", "--yes"],
            env=home.env, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until(lambda: home.run("run", "show", "1").returncode == 0)
        in_state(home, "1", "running")
        began = time.monotonic()
        for _ in range(times):
            command.send_signal(signal.SIGINT)
            time.sleep(1)
        text = command.communicate()[0]
        check(command.returncode == 130, f"Ctrl-C {times} times ends the run", command.returncode, text)
        check(time.monotonic() - began < 25, "soon", time.monotonic() - began)
        bills = home.nothing_bills()
        check(not bills, "and its instance", bills)
        found = trouble(home, "1", "stopped")
        check(not found, "which is all of it", found)


def stopped_when(scratch, moment):
    with cloud(scratch, "stop-" + moment, boot_s=1) as home:
        run = home.start("mild", MILD)
        MOMENTS[moment](home, run)
        home.run("run", "stop", run)
        found = trouble(home, run, "stopped")
        check(not found, f"a run stopped when {moment} leaves nothing", found)


def killed_job(scratch, moment):
    with cloud(scratch, "job-" + moment, boot_s=1) as home:
        run = home.start("mild", MILD)
        MOMENTS[moment](home, run)
        home.run("job", "kill", str(home.stage_job(run)))
        found = trouble(home, run, "stopped")
        check(not found, f"a job killed when {moment} leaves nothing", found)


def test_stop_without_an_answer(scratch):
    """The instance is there, and nobody was told."""
    with cloud(scratch, "unheard", faults=1, only=["reset-after"], of=["RunInstances"]) as home:
        run = home.start("mild", MILD)
        until(home.alive)
        home.run("run", "stop", run)
        home.set(faults=0)
        found = trouble(home, run, "stopped")
        check(not found, "a run stopped while the answer to its launch is lost leaves nothing", found)


# ---- secrets ----

TOKEN = "FQoGZXIvYXdzEtoken" + str(12345 * 6789)


def holders():
    """Processes with one of the secrets on their command line, or, on an instance and on the way to one,
    in their environment."""
    found = []
    here = os.readlink("/proc/self/ns/net")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
            with open(f"/proc/{pid}/environ", "rb") as f:
                environ = f.read()
            is_away = b"ssh" in words or os.readlink(f"/proc/{pid}/ns/net") != here
            for secret in SECRET.encode(), TOKEN.encode():
                if secret in words or (is_away and secret in environ):
                    found.append(words)
    return found


def test_secrets(scratch):
    with cloud(scratch, "secrets") as home:
        home.env["AWS_SESSION_TOKEN"] = TOKEN
        home.env["TRADEWIND_LOG"] = "debug"
        run = home.start("env", stage("env", 'env | sort; cat /proc/self/environ | tr "\\0" "\\n"; sleep 3',
                                      outputs="{}"))
        seen = []
        while home.show(run)["state"] == "running":
            seen += holders()
        check(home.show(run)["state"] == "finished", "a job prints its environment", home.show(run))
        check(not seen, "no process there or on the way, and no command line, ever had the secrets", set(seen))
        log = home.log(home.stage_job(run))
        check("AWS_" not in log and SECRET not in log and TOKEN not in log, "nor had the job", log)
        places = [home.path, *[f"/tmp/{d}" for d in os.listdir("/tmp") if d.startswith("tw-vm-")]]
        found = subprocess.run(["grep", "-rlaE", "--devices=skip", f"{SECRET.replace('+', '[+]')}|{TOKEN}", *places],
                               capture_output=True, text=True).stdout
        check(not found, "nor does any file of the home or of an instance", found)


STATES = ["launching", "booting", "fetching", "running"]


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    first = random.randrange(1 << 30)
    with scratch_directory() as scratch:
        all_tests = {
            "moments": [functools.partial(killed_when, scratch, m) for m in MOMENTS]
            + [functools.partial(test_command_killed, scratch)],
            "random": [functools.partial(killed_at_random, scratch, first + i) for i in range(ROUNDS)],
            "stops": [functools.partial(interrupt, scratch, n) for n in (1, 2)]
            + [functools.partial(stopped_when, scratch, m) for m in STATES]
            + [functools.partial(killed_job, scratch, m) for m in STATES[1::2]]
            + [functools.partial(test_stop_without_an_answer, scratch)],
            "secrets": [functools.partial(test_secrets, scratch)],
        }
        wanted = [t for name, tests in all_tests.items() if not sys.argv[1:] or name in sys.argv[1:]
                  for t in tests]
        for i in range(0, len(wanted), 8):
            together(*wanted[i:i + 8])
    return done()


sys.exit(main())
