#!/usr/bin/env python3
"""market import, killed at every call it makes that changes files.

Afterwards all of the import is there or nothing of it, the same import works, and nothing is left
lying about."""

import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ["TRADEWIND"]
KILLAT = os.path.join(os.environ["TRADEWIND_BUILD"], "tests", "tools", "killat")
HEADER = "cloud,region,zone,instance_type,time,price_usd_per_hour\n"
KILLED = 99
# An import takes a dozen calls; one that takes so many has changed its ways.
CALLS_MAX = 200

results = []


def check(good, name):
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


def write_history(path, machine, days):
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEADER)
        for day in range(1, days + 1):
            out.write(f"aws,us-east-1,us-east-1a,{machine},2020-03-{day:02}T00:00:00Z,0.{day:02}\n")


class Home:
    def __init__(self, scratch):
        self.scratch = scratch
        self.home = os.path.join(scratch, "home")
        # The leak checker cannot work beside a tracer.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.env = {**os.environ, "TRADEWIND_HOME": self.home, "ASAN_OPTIONS": asan}

    def run(self, *args, before=()):
        command = [*before, PROGRAM, *args]
        return subprocess.run(
            command, env=self.env, cwd=self.scratch, capture_output=True, text=True
        )

    def seen(self):
        """What is kept, as people see it; None when there is nothing yet."""
        done = self.run("market", "stats", "--json")
        if done.returncode != 0 and "no price histories yet" in done.stderr:
            return None
        return done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"

    def files(self):
        where = os.path.join(self.home, "market")
        return sorted(os.listdir(where)) if os.path.isdir(where) else []

    def begin(self, template):
        shutil.rmtree(self.home, ignore_errors=True)
        if template:
            shutil.copytree(template, self.home)


def kill_everywhere(home, name, template, files):
    """Kills the import of the files at its first call, its second one, and so on."""
    home.begin(template)
    before = home.seen()
    done = home.run("market", "import", *files)
    after, left = home.seen(), home.files()
    check(done.returncode == 0 and after not in (None, before), f"{name}: it works at all")
    for half in (False, True):
        kills = whole = wrong = 0
        for call in range(1, CALLS_MAX):
            home.begin(template)
            tool = [KILLAT, *(["--half"] if half else []), str(call)]
            done = home.run("market", "import", *files, before=tool)
            if done.returncode != KILLED:
                break
            kills += 1
            seen = home.seen()
            whole += seen == after
            again = home.run("market", "import", *files)
            good = seen in (before, after) and again.returncode == 0
            good = good and home.seen() == after and home.files() == left
            wrong += not good
            if not good:
                print(f"# {name}, call {call}: {done.stderr}{again.stderr}{home.files()}")
        how = "half carried out" if half else "not carried out"
        check(
            wrong == 0 and kills >= 5 and done.returncode == 0,
            f"{name}, calls {how}: {kills} kills, all or nothing each time ({whole} times all)",
        )


def main():
    if not os.path.exists(KILLAT) or os.uname().machine != "x86_64":
        print("1..0 # SKIP the killer knows x86-64 alone")
        return 0
    # A killed process loses nothing that the kernel has, so memory will do for a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tradewind-crash-", dir=memory) as scratch:
        home = Home(scratch)
        write_history(os.path.join(scratch, "first.csv"), "p2.xlarge", 20)
        write_history(os.path.join(scratch, "second.csv"), "p3.2xlarge", 25)
        write_history(os.path.join(scratch, "third.csv"), "p3.8xlarge", 15)
        kill_everywhere(home, "the first import", None, ["first.csv"])
        home.begin(None)
        home.run("market", "import", "first.csv")
        template = os.path.join(scratch, "template")
        shutil.copytree(home.home, template)
        kill_everywhere(home, "two more files", template, ["second.csv", "third.csv"])
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
