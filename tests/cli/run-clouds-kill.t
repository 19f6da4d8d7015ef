#!/usr/bin/env python3
"""Brokers of runs on a cloud that are killed at any moment, and commands: whatever the moment, the run
finishes, no instance is left and none is launched twice, and the bill is that of the cloud.
TRADEWIND_ROUNDS: how many homes; TRADEWIND_KILLS: how often each of their brokers is killed; the
argument "random": these alone."""

import contextlib
import functools
import os
import random
import signal
import subprocess
import sys
import time

from broker_home import check, done, scratch_directory, together, until
from cloud_runs import MOMENTS, cloud, stage, trouble, wake, why_not

ROUNDS = int(os.environ.get("TRADEWIND_ROUNDS", "3"))
KILLS = int(os.environ.get("TRADEWIND_KILLS", "6"))
FIRST = stage("first", 'sleep 1; hostname >"$TRADEWIND_OUTPUT/o/host"; echo ran >>$HOME/ran-first',
              outputs="{o: 0.001}")
SECOND = stage("second", 'cat "$TRADEWIND_INPUT/p.first/o/host" >"$TRADEWIND_OUTPUT/o/first"; sleep 1',
               needs="first", inputs="[first.o]", outputs="{o: 0.001}")


def kill_broker(home):
    """Whether there was one."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        os.kill(home.broker_pid(), signal.SIGKILL)
        return True
    return False


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


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    first = random.randrange(1 << 30)
    with scratch_directory() as scratch:
        wanted = [functools.partial(killed_at_random, scratch, first + i) for i in range(ROUNDS)]
        if "random" not in sys.argv[1:]:
            wanted += [functools.partial(killed_when, scratch, m) for m in MOMENTS]
            wanted.append(functools.partial(test_command_killed, scratch))
        for i in range(0, len(wanted), 10):
            together(*wanted[i:i + 10])
    return done()


if __name__ == "__main__":
    sys.exit(main())
