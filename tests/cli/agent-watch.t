#!/usr/bin/env python3
"""The watch over a machine: it powers off once its lease has lapsed and no job runs, never before, and
tells jobs that the cloud takes the machine away, as the metadata services of three clouds say it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
import instances
from broker_home import check, done, until

AGENT = os.path.join(os.environ.get("TRADEWIND_BUILD") or os.path.dirname(os.environ["TRADEWIND"]),
                     "tradewind-agent")
LONG = 600


class Machine:
    """A directory of jobs, and a command that says when it was run instead of powering off."""

    def __init__(self, scratch):
        self.root = tempfile.mkdtemp(dir=scratch)
        self.off = os.path.join(self.root, "off")
        self.power_off = f"echo off >>{self.off}"
        self.followers = []

    def agent(self, *words):
        return subprocess.run([AGENT, *map(str, words)], capture_output=True, text=True, timeout=60)

    def watch(self, seconds, notices="none", power_off=None):
        command = self.power_off if power_off is None else power_off
        self.watched_s = time.monotonic()
        got = self.agent("watch", self.root, seconds, command, notices)
        assert got.returncode == 0, got.stderr

    def renew(self, seconds):
        self.agent("renew", self.root, seconds)

    def watchers(self):
        """Processes that hold the lock of the watch."""
        path = os.path.join(self.root, "lease.lock")
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                if path in held:
                    found.append(int(pid))
        return found

    def path(self, number, name):
        return os.path.join(self.root, str(number), name)

    def start(self, number, script, *lines):
        os.mkdir(os.path.join(self.root, str(number)))
        script = script.replace("\\", "\\\\").replace("\n", "\\n")
        with open(self.path(number, "job"), "w") as f:
            f.write("\n".join(["tradewind-job 1", f"id {number}", "command bash", "command -c",
                               f"command {script}", *lines]) + "\n")
        process = subprocess.Popen([AGENT, "run", os.path.join(self.root, str(number))],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.followers.append(process)
        return process

    def state(self, number):
        try:
            with open(self.path(number, "state")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def go(self, number):
        with open(self.path(number, "go"), "w"):
            pass

    def is_off(self):
        return os.path.exists(self.off)

    def clear(self):
        for pid in self.watchers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for number in filter(str.isdigit, os.listdir(self.root)):
            self.agent("stop", os.path.join(self.root, number), 0, "the test is over")
        for process in self.followers:
            process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


WAIT = "until [ -e ../go ]; do sleep 0.05; done"


@contextlib.contextmanager
def machine(scratch):
    m = Machine(scratch)
    try:
        yield m
    finally:
        m.clear()


def test_lease(m):
    m.watch(4)
    check(len(m.watchers()) == 1, "one process watches")
    check(until(m.is_off), "a machine without a broker powers off, though no job ever came")
    check(time.monotonic() - m.watched_s >= 4, "when its lease has lapsed")
    check(until(lambda: not m.watchers()), "then no process watches any more")
    with open(m.off) as f:
        check(f.read() == "off\n", "it did so once")


def test_renewal(m):
    m.watch(6)
    m.renew(LONG)
    until(lambda: time.monotonic() - m.watched_s > 7)
    check(not m.is_off(), "a machine whose lease is renewed stays on")
    m.watch(LONG)
    check(len(m.watchers()) == 1, "a second watch leaves the first alone")
    m.watch(0.2)
    check(until(m.is_off), "the second renews the lease")


def test_jobs(m):
    m.start(1, WAIT)
    until(lambda: "started" in m.state(1))
    m.watch(1)
    time.sleep(2.5)
    check(not m.is_off(), "no power-off while a job runs, whatever the lease")
    m.start(2, WAIT)
    until(lambda: "started" in m.state(2))
    m.go(1)
    until(lambda: "ended" in m.state(1))
    time.sleep(2)
    check(not m.is_off(), "nor while the next one does")
    ended_s = time.monotonic()
    m.go(2)
    check(until(m.is_off), "after the last it powers off")
    check(time.monotonic() - ended_s >= 1, "when what it left could be collected for a lease")


def test_killed(m):
    m.watch(LONG)
    m.start(1, WAIT, "lease_s 0.5", f"power_off {m.power_off}")
    until(lambda: "started" in m.state(1))
    os.kill(m.watchers()[0], signal.SIGKILL)
    until(lambda: not m.watchers())
    m.renew(0.2)
    time.sleep(1.5)
    check(not m.is_off(), "the watch is killed: a job that runs is not disturbed")
    m.go(1)
    check(until(m.is_off), "its own agent keeps the promise")
    os.remove(m.off)
    until(lambda: not m.watchers())
    m.watch(LONG)
    os.kill(m.watchers()[0], signal.SIGKILL)
    until(lambda: not m.watchers())
    m.watch(LONG)
    check(len(m.watchers()) == 1, "without a job, the broker's next renewal starts another")
    m.watch(0.1)
    check(until(m.is_off), "which powers off")


def test_words(m):
    for words in ([m.root, "x", "true", "none"], [m.root, "-1", "true", "none"],
                  [m.root, "1", "true", "ibm"], [m.root, "1", "true", "aws@example.org"],
                  [m.root, "1", "true", "aws@127.0.0.1:0"], ["/no/such", "1", "true", "none"]):
        got = m.agent("watch", *words)
        check(got.returncode not in (0, -6, -11) and got.stderr.startswith("tradewind-agent: "),
              "watch " + " ".join(words[1:]) + " is refused", got)
    check(not m.watchers(), "and nothing watches")


SAVE = ('trap \'echo saved >"$TRADEWIND_CHECKPOINT/c"; exit 3\' TERM; '
        "echo began; while :; do sleep 0.05; done")


def service(cloud, **about):
    """A metadata service, and where it is asked."""
    found = instances.Metadata({"boot": "vm-7", "public": "", "private": "",
                                "metadata": {"cloud": cloud, **about}})
    return found, f"{cloud}@127.0.0.1:{found.start('127.0.0.1', 0)}"


def saved(m, number):
    with contextlib.suppress(FileNotFoundError), open(m.path(number, "checkpoint/c")) as f:
        return f.read() == "saved\n"
    return False


def test_notice(m, cloud):
    metadata, where = service(cloud)
    m.watch(LONG, where)
    m.start(1, SAVE)
    until(lambda: os.path.exists(m.path(1, "log")) and os.path.getsize(m.path(1, "log")))
    time.sleep(4)
    check("notice" not in m.state(1) and not os.path.exists(os.path.join(m.root, "notice")),
          f"{cloud}: no notice")
    if cloud == "aws":
        metadata.tokens.clear()
    at = time.time() + 60
    metadata.hear({"notice": {"action": "terminate", "at": at}})
    check(until(lambda: " ended " in m.state(1)), f"{cloud}: a notice ends the job")
    lines = [line.split(" ", 2) for line in m.state(1).splitlines()]
    told = {kind: rest for _, kind, rest in lines}
    check("notice" in told, f"{cloud}: its state says so", m.state(1))
    until_s = int(told["notice"].split("until=")[1].split()[0]) / 1000
    # Google says only that it will be: half a minute is left then.
    good = abs(until_s - at) < 2 if cloud != "gcp" else 10 < until_s - time.time() <= 30
    check(good, f"{cloud}: and until when", until_s, at, time.time())
    check("cause=preempted" in told["ended"] and "code=3" in told["ended"],
          f"{cloud}: it was preempted", told["ended"])
    check(saved(m, 1), f"{cloud}: it saved its checkpoint")
    m.start(2, "touch ../ran")
    check(until(lambda: "cause=preempted" in m.state(2)) and not os.path.exists(m.path(2, "ran")),
          f"{cloud}: no further job begins", m.state(2))
    metadata.notice = None
    check(until(lambda: not os.path.exists(os.path.join(m.root, "notice"))),
          f"{cloud}: a notice may be withdrawn")
    m.renew(0.1)
    check(until(m.is_off), f"{cloud}: the lease lapses as ever")


def test_shutdown(m):
    """What systemd does when an instance goes down: Google's notice comes at the same moment."""

    def end_agent():
        followers = [p.pid for p in m.followers]
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
                if words[1:3] == ["run", os.path.join(m.root, "1")] and pid not in followers:
                    os.kill(pid, signal.SIGTERM)

    m.watch(LONG)
    m.start(1, SAVE)
    until(lambda: os.path.exists(m.path(1, "log")) and os.path.getsize(m.path(1, "log")))
    end_agent()
    check(until(lambda: " ended " in m.state(1)) and "cause=preempted" in m.state(1)
          and " notice " in m.state(1) and saved(m, 1), "an instance that shuts down", m.state(1))
    m.watch(0.1)
    until(m.is_off)


def test_neighbour(m):
    metadata, where = service("azure", resources=["vm-8"])
    metadata.hear({"notice": {"action": "terminate", "at": time.time() + 60}})
    m.watch(LONG, where)
    time.sleep(2)
    check(not os.path.exists(os.path.join(m.root, "notice")), "azure: the notice of another machine")


def test_hostile(m):
    """Services that say nothing, never stop, or speak no HTTP: the watch goes on."""
    heads = [b"", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100000, b"SSH-2.0-x\r\n",
             b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{"]
    server = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        kept = []
        while True:
            connection = server.accept()[0]
            kept.append(connection)  # and never closed
            with contextlib.suppress(OSError):
                connection.sendall(heads[len(asked) % len(heads)])
            asked.append(1)

    threading.Thread(target=serve, daemon=True).start()
    m.watch(LONG, f"gcp@127.0.0.1:{server.getsockname()[1]}")
    check(until(lambda: len(asked) > len(heads)), "a hostile service is asked again and again")
    check(len(m.watchers()) == 1 and not os.path.exists(os.path.join(m.root, "notice")),
          "the watch lives")
    m.renew(0.1)
    check(until(m.is_off), "and the lease lapses")


def main():
    with tempfile.TemporaryDirectory(prefix="tradewind-watch-") as scratch:
        for test in test_lease, test_renewal, test_jobs, test_killed, test_words:
            with machine(scratch) as m:
                test(m)
        for cloud in "aws", "gcp", "azure":
            with machine(scratch) as m:
                test_notice(m, cloud)
        for test in test_shutdown, test_neighbour, test_hostile:
            with machine(scratch) as m:
                test(m)
    return done()


sys.exit(main())
