#!/usr/bin/env python3
"""put, session finish, gc and set create, killed at every write they make.

Afterwards the lake is sound, what was committed reads back, all of the command is to be seen or
nothing of it, versions have no gaps, and the same command, run again, ends as if nothing had
happened. TRADEWIND_KILLS bounds the kills per command;
the soak sets it higher and lets the random ones run on larger data."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ["TRADEWIND"]
KILLAT = os.path.join(os.environ["TRADEWIND_BUILD"], "tests", "tools", "killat")
SLOW = bool(os.environ.get("TRADEWIND_SLOW"))
# One write of so many, beginning anywhere; each of them in tests/soak, by several processes. A smaller sample under the
# sanitizers, which are many times slower.
STEP = int(os.environ.get("TRADEWIND_STEP", "27" if SLOW else "3"))
FIRST = int(os.environ.get("TRADEWIND_FIRST", random.randint(1, STEP)))
RANDOM_KILLS = int(os.environ.get("TRADEWIND_KILLS", "2" if SLOW else "12"))
KILLED = 99

results = []


def check(good, name):
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


class Lake:
    """A lake in a directory that is copied back to its beginning before each kill."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.home = os.path.join(scratch, "home")
        self.template = os.path.join(scratch, "template")
        # The leak checker cannot work beside a tracer.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.env = {**os.environ, "TRADEWIND_HOME": self.home, "ASAN_OPTIONS": asan}

    def run(self, *args, kill=None, half=False):
        command = [PROGRAM, *args]
        if kill:
            command = [KILLAT, *(["--half"] if half else []), str(kill), *command]
        return subprocess.run(
            command, env=self.env, cwd=self.scratch, capture_output=True, text=True
        )

    def good(self, *args):
        done = self.run(*args)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(args)}: {done.returncode}: {done.stderr}")
        return done.stdout

    def json(self, *args):
        return json.loads(self.good(*args, "--json"))

    def write(self, name, content):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)

    def keep(self):
        shutil.rmtree(self.template, ignore_errors=True)
        shutil.copytree(self.home, self.template)

    def restore(self):
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.template, self.home)

    def state(self, logs):
        """All that commands show of files, sets, tags and provenance, without times; logs: paths
        whose versions are looked at one by one."""
        shown = [self.json(*c) for c in (["ls", "-r"], ["set", "ls", "--all"], ["find"], ["trace"])]
        return without_times([*shown, *(self.json("log", path) for path in logs)])

    def abort_all(self):
        for session in self.json("session", "status"):
            self.good("session", "abort", str(session["session"]))

    def trouble(self, kept):
        """What is wrong now, as text; kept: what must read back."""
        report = self.run("fsck", "--json")
        if report.returncode != 0 or json.loads(report.stdout)["problems"]:
            return f"fsck: {report.returncode} {report.stdout} {report.stderr}"
        for ref, content in kept.items():
            if self.good("cat", ref) != content:
                return f"{ref} does not read back"
        return ""


def without_times(shown):
    if isinstance(shown, list):
        return [without_times(item) for item in shown]
    if isinstance(shown, dict):
        return {k: without_times(v) for k, v in shown.items() if k != "create_time"}
    return shown


def has_gaps(state):
    versions = {}
    for found in state[2]:
        if found["kind"] == "file":
            versions.setdefault(found["meta"]["path"], []).append(found["meta"]["version"])
    return any(sorted(n) != list(range(1, len(n) + 1)) for n in versions.values())


class Killed:
    """A command that is killed again and again. states: what the lake shows before it, after it,
    and after it was run a second time; nothing else may ever be seen."""

    def __init__(self, lake, command, logs):
        self.lake, self.command, self.logs = lake, command, logs
        lake.restore()
        self.states = [lake.state(logs)]
        for _ in range(2):
            lake.good(*command)
            self.states.append(lake.state(logs))

    def is_testable(self):
        before, after, _ = self.states
        return before != after and not any(has_gaps(s) for s in self.states)

    def trouble_now(self, allowed, kept=None):
        """The index of the state in [0], among those allowed, and what is wrong in [1]."""
        trouble = self.lake.trouble(kept or {})
        state = self.lake.state(self.logs)
        for i in allowed:
            if state == self.states[i]:
                return i, trouble
        return allowed[0], trouble or f"neither as before nor as after it: {state}"

    def trouble(self, abort, end):
        """After a kill: what is wrong then, after an abort, and after the command was run again."""
        seen, trouble = self.trouble_now([0, 1])
        if abort and not trouble:
            self.lake.abort_all()
            _, trouble = self.trouble_now([seen])
        if trouble:
            return trouble
        again = self.lake.run(*self.command)
        if again.returncode:
            return f"again: {again.stderr}"
        return end() or self.trouble_now([seen + 1], KEPT)[1]


def kill_everywhere(lake, name, command, end, logs, abort_every=0):
    """Kills command at its writes, every STEPth in turn. end(): trouble after it was run once more.
    abort_every: one of so many times the sessions it leaves are aborted first."""
    killed = Killed(lake, command, logs)
    check(killed.is_testable(), f"{name}: its effect is to be seen")
    kill, kills, troubles = FIRST, 0, []
    while True:
        lake.restore()
        half = kill % 2 == 0
        done = lake.run(*command, kill=kill, half=half)
        if done.returncode != KILLED:
            if done.returncode != 0:
                troubles.append(f"without a kill: {done.returncode} {done.stderr}")
            break
        abort = abort_every and kills % abort_every == 0
        kills += 1
        if trouble := killed.trouble(abort, end):
            troubles.append(f"killed at write {kill}{' (half)' if half else ''}: {trouble}")
        kill += STEP
    for trouble in troubles[:5]:
        print(f"# {trouble}")
    # A run that makes hardly any writes would mean that they are not seen.
    check(kills * STEP >= 8 - STEP and not troubles, f"{name}: killed at {kills} writes")


def expect(condition, text):
    return "" if condition else text


def prepare(lake):
    lake.write("in/one", b"first\n")
    lake.write("in/two", b"second\n")
    lake.good("put", "in", "/data/", "--set", "S")
    lake.write("in/one", b"first, changed\n")
    lake.write("in/large", random.Random(1).randbytes(3 << 20))
    lake.write("in/sub/three", b"third\n")


KEPT = {"/data/in/one#1": "first\n", "/data/in/two@S:1": "second\n"}


def test_put(lake):
    def end():
        files = {f["path"]: f["version"] for f in lake.json("ls", "-r")}
        wanted = {
            "/data/in/large": 1, "/data/in/one": 2, "/data/in/sub/three": 1, "/data/in/two": 1,
        }
        tagged = {f["ref"] for f in lake.json("find", "run=7 kind=file")}
        return expect(files == wanted, f"files {files}") or expect(
            tagged == {"/data/in/large#1", "/data/in/one#2", "/data/in/sub/three#1"},
            f"tagged {tagged}",
        )

    lake.keep()
    command = ["put", "in", "/data/", "--tag", "run=7", "--set", "S"]
    kill_everywhere(lake, "put", command, end, ["/data/in/one"], abort_every=5)


def test_finish(lake):
    lake.restore()
    session = lake.json("session", "begin", "/up/a", "/up/b")["session"]
    lake.good("session", "put", str(session), "in/one", "/up/a")
    lake.good("session", "put", str(session), "in/large", "/up/b")
    lake.keep()

    def end():
        files = {f["path"]: f["version"] for f in lake.json("ls", "-r", "/up/")}
        return expect(files == {"/up/a": 1, "/up/b": 1}, f"files {files}")

    kill_everywhere(lake, "session finish", ["session", "finish", str(session)], end, [])


def test_set_create(lake):
    lake.good("put", "in", "/data/")
    lake.keep()

    def end():
        numbers = [s["version"] for s in lake.json("set", "ls", "T", "--all")]
        shown = lake.json("set", "show", "@T")
        return expect(sorted(numbers) in ([1], [1, 2]), f"versions {numbers}") or expect(
            len(shown["files"]) == 4 and shown["parents"] == ["@S:1"], f"set {shown}"
        )

    kill_everywhere(lake, "set create", ["set", "create", "T", "@S", "/data/"], end, [])


def test_gc(lake):
    lake.restore()
    for i in range(40):
        lake.write(f"many/{i}", random.Random(i).randbytes(40_000))
    lake.good("put", "many", "/data/")
    lake.good("rm", "-r", "/data/many/")
    lake.good("pin", "/data/in/large")
    lake.keep()

    def end():
        gone = lake.run("cat", "/data/in/sub/three").returncode
        pinned = lake.run("get", "/data/in/large", "back", "--force").returncode
        rest = lake.json("gc")
        return (
            expect(gone == 3, f"content in no set: exit {gone}")
            or expect(pinned == 0, "the pinned file is gone")
            or expect(rest["objects"] == 0 and rest["leftovers"] == 0, f"left: {rest}")
        )

    logs = ["/data/in/one", "/data/in/sub/three", "/data/many/3"]
    kill_everywhere(lake, "gc", ["gc", "--yes"], end, logs)


def test_random(lake):
    """Several kills, one after the other, before a put is let through."""
    for i in range(300):
        lake.write(f"mass/{i % 7}/{i}", random.Random(i).randbytes(1 + i * 37 % 20_000))
    lake.write("mass/large", random.Random(5).randbytes(20 << 20))
    lake.restore()
    seed = random.randrange(1 << 30)
    dice, troubles = random.Random(seed), []
    for i in range(RANDOM_KILLS):
        lake.run("put", "mass", "/mass/", kill=dice.randrange(1, 60), half=dice.random() < 0.5)
        if trouble := lake.trouble(KEPT):
            troubles.append(f"seed {seed}, kill {i}: {trouble}")
            break
    lake.good("put", "mass", "/mass/")
    lake.good("get", "/mass/", "out", "--force")
    same = subprocess.run(["diff", "-r", "mass", "out/mass/mass"], cwd=lake.scratch).returncode
    versions = {f["version"] for f in lake.json("ls", "-r", "/mass/")}
    for trouble in troubles:
        print(f"# {trouble}")
    check(not troubles and same == 0, f"put killed {RANDOM_KILLS} times at random, then let through")
    check(versions == {1}, "which took one version number")


def main():
    if not os.path.exists(KILLAT) or os.uname().machine != "x86_64":
        print("1..0 # SKIP the killer knows x86-64 alone")
        return 0
    # A killed process loses nothing that the kernel has, so memory will do for a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tradewind-crash-", dir=memory) as scratch:
        lake = Lake(scratch)
        prepare(lake)
        for test in (test_put, test_finish, test_set_create, test_gc, test_random):
            test(lake)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
