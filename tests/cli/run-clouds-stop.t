#!/usr/bin/env python3
"""Runs on a cloud that are stopped, and their jobs killed, in every state: by Ctrl-C, `run stop` and
`job kill`; and where the secrets of the account are while they run."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time

from broker_home import check, done, scratch_directory, together, until
from cloud_runs import MOMENTS, SECRET, cloud, in_state, stage, trouble, why_not

LONG = stage("long", "trap '' TERM; sleep 600", outputs="{}")
MILD = stage("mild", "sleep 600", outputs="{}")


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
    """The instance is there, and the answer that says so is lost."""
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


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        together(*[functools.partial(interrupt, scratch, n) for n in (1, 2)],
                 *[functools.partial(stopped_when, scratch, m)
                   for m in ("launching", "booting", "fetching", "running")],
                 *[functools.partial(killed_job, scratch, m) for m in ("booting", "running")],
                 functools.partial(test_stop_without_an_answer, scratch),
                 functools.partial(test_secrets, scratch))
    return done()


sys.exit(main())
