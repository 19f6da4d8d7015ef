#!/usr/bin/env python3
"""Runs a command and prints its time and peak memory: peak.py NAME COMMAND [ARGUMENT...]

Exit status 1 when the command fails or needs more than 300 MB, the limit of the data lake."""

import os
import sys
import time

LIMIT_MB = 300


def main():
    name, *command = sys.argv[1:]
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    took_s = time.monotonic() - began
    peak_mb = usage.ru_maxrss * 1024 / 1e6
    code = os.waitstatus_to_exitcode(status)
    trouble = f"  exit status {code}" if code else ""
    if peak_mb > LIMIT_MB:
        trouble += f"  more than {LIMIT_MB} MB"
    print(f"{name:<44} {took_s:9.1f} s {peak_mb:7.0f} MB{trouble}", file=sys.stderr, flush=True)
    sys.exit(1 if trouble else 0)


main()
