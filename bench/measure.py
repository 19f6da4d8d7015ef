"""What the benchmark programs share: one process, timed to its end."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PROGRAM = os.path.abspath(os.environ.get("TRADEWIND", os.path.join(ROOT, "build", "tradewind")))


def spawn(command, settings):
    """Runs one process, with these settings in its environment: (seconds, peak memory in MB)."""
    env = {**os.environ, **settings}
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(command)}: exit status {process.returncode}")
    return seconds, usage.ru_maxrss / 1024


def verdict(good):
    return "ok" if good else "MISSED"
