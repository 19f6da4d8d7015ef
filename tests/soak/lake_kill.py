#!/usr/bin/env python3
"""Processes on one lake die by SIGKILL at random moments: lake_kill.py SECONDS [SEED]

After each round: fsck is clean, versions have no gaps, everything a process told to be committed
reads back, and whatever is there is whole."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ["TRADEWIND"]
WRITERS = 4
# Some puts end before the signal comes, most do not.
LONGEST_ROUND_S = 0.3


def fail(text, output=""):
    print(f"NOT OK {text}\n{output}", flush=True)
    sys.exit(1)


class Lake:
    def __init__(self, scratch, seed):
        self.scratch, self.random = scratch, random.Random(seed)
        self.contents = {}  # sha256 of everything ever offered
        self.committed = {}  # "/p#1" of what a put told, to its sha256
        self.puts = self.killed = self.rounds = 0

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def start(self, *arguments):
        return subprocess.Popen(
            [PROGRAM, *arguments], cwd=self.scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def ask(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.scratch, capture_output=True)
        if done.returncode:
            fail(f"{' '.join(arguments)}: exit {done.returncode}", done.stderr.decode())
        return done.stdout

    def offer(self, path):
        """A new local file, sometimes a large one, sometimes one seen before."""
        size = self.random.choice([10, 3000, 3000, 200_000, 1_500_000])
        seed = self.random.randrange(50 if size == 3000 else 1_000_000_000)
        data = random.Random(seed).randbytes(size)
        with open(path, "wb") as f:
            f.write(data)
        self.contents[hashlib.sha256(data).hexdigest()] = size

    def prepare(self, writer):
        directory = self.path(f"w{writer}")
        if os.path.isdir(directory) and self.random.random() < 0.3:
            return  # the same put again, which goes on
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        for i in range(self.random.randrange(1, 20)):
            self.offer(os.path.join(directory, f"f{i}"))

    def begin_put(self, writer):
        # Half of them on paths that all writers share
        to = self.random.choice([f"/own{writer}/", "/common/"])
        return self.start("put", f"w{writer}/.", to, "--set", f"S{writer}", "--json", "--force")

    def note_put(self, output):
        files = json.loads(output)
        self.puts += 1
        for f in files:
            self.committed[f"{f['path']}#{f['version']}"] = f["sha256"]

    def round(self):
        self.rounds += 1
        for writer in range(WRITERS):
            self.prepare(writer)
        puts = [self.begin_put(writer) for writer in range(WRITERS)]
        others = [self.start("set", "create", "All", "/")] if self.committed else []
        if self.random.random() < 0.5:
            others.append(self.start("gc", "--yes"))
        time.sleep(self.random.random() ** 2 * LONGEST_ROUND_S)
        # Some are left to finish, so that the rest fails while they work.
        for process in puts:
            if self.random.random() < 0.8:
                process.kill()
        for process in others:
            if self.random.random() < 0.8:
                process.kill()
        for process in puts:
            out, err = process.communicate()
            if process.returncode == 0:
                self.note_put(out)
            elif process.returncode == -signal.SIGKILL:
                self.killed += 1
            else:
                fail(f"put: exit {process.returncode}", err.decode())
        for process in others:
            _, err = process.communicate()
            if process.returncode not in (0, -signal.SIGKILL):
                fail(f"{process.args[1:]}: exit {process.returncode}", err.decode())

    def check_numbers(self):
        for f in json.loads(self.ask("ls", "-r", "--json")):
            log = json.loads(self.ask("log", "--json", f["path"]))
            numbers = [v["version"] for v in log]
            if numbers != list(range(len(log), 0, -1)):
                fail(f"{f['path']} has versions {numbers}")

    def check_sets(self):
        """Each version of each set reads back whole, with contents that were offered."""
        for s in json.loads(self.ask("set", "ls", "--json")):
            version = self.random.randrange(1, s["version"] + 1)
            out = self.path("out")
            shutil.rmtree(out, ignore_errors=True)
            self.ask("get", f"@{s['set']}:{version}", out)
            for directory, _, names in os.walk(out):
                for name in names:
                    with open(os.path.join(directory, name), "rb") as f:
                        digest = hashlib.sha256(f.read()).hexdigest()
                    if digest not in self.contents:
                        fail(f"@{s['set']}:{version} holds {directory}/{name}, which nobody put")

    def check_committed(self):
        for ref in self.random.sample(sorted(self.committed), min(10, len(self.committed))):
            got = hashlib.sha256(self.ask("cat", ref)).hexdigest()
            if got != self.committed[ref]:
                fail(f"{ref} reads back as something else")

    def check(self):
        report = json.loads(self.ask("fsck", "--json"))
        if report["problems"]:
            fail("fsck", "\n".join(report["problems"]))
        self.check_committed()
        if self.rounds % 5 == 0:
            self.check_sets()
        if self.rounds % 10 == 0:
            self.check_numbers()


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    scratch = tempfile.mkdtemp(prefix="tradewind-soak-")
    os.environ["TRADEWIND_HOME"] = os.path.join(scratch, "home")
    print(f"seed {seed}", flush=True)
    try:
        lake = Lake(scratch, seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lake.round()
            lake.check()
        lake.check_numbers()
        lake.check_sets()
        print(f"{lake.rounds} rounds: {lake.puts} puts finished, {lake.killed} killed")
        before = sum(os.path.getsize(os.path.join(d, f)) for d, _, n in os.walk(scratch) for f in n)
        lake.ask("gc", "--yes", "--keep-latest")
        lake.check()
        print(f"all is there; {before / 1e6:.0f} MB before the last gc")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
