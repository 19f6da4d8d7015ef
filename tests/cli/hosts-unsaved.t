#!/usr/bin/env python3
"""Outputs of jobs on hosts that cannot be stored or brought back: they stay, here or there, until they
can. The client that gets to the host runs everything here, with another home directory."""

import contextlib
import os
import subprocess
import sys

from broker_home import Home, check, done, scratch_directory, skip, until

CLIENT = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ ! -e '{0}/away' ] || {{ echo 'ssh: connect to host far: No route to host' >&2; exit 255; }}
HOME='{0}/far' exec sh -c "$3"
"""
BAD_NAME = 'echo kept >"$TRADEWIND_OUTPUT/$(printf "a\\tb")"'


class Far(Home):
    def __init__(self, scratch, name):
        super().__init__(scratch, name, idle_s=60)
        self.away = os.path.join(scratch, "away")
        client = os.path.join(scratch, "client")
        with open(client, "w") as f:
            f.write(CLIENT.format(scratch))
        os.chmod(client, 0o755)
        os.makedirs(self.path, exist_ok=True)
        os.makedirs(os.path.join(scratch, "far"), exist_ok=True)
        self.env["TRADEWIND_SSH"] = client
        self.env["TRADEWIND_BROKER_STORE_WAIT_S"] = "0.3"
        with open(os.path.join(self.path, "config.yaml"), "w") as f:
            f.write("hosts: {lab: [{host: far, cpus: 2, memory: 8, price: 3.6}]}\n"
                    "limits: {host_lost_s: 2}\n")

    def show(self, job):
        return self.json("job", "show", str(job))

    def becomes(self, job, state, seconds=120):
        return until(lambda: self.state(job) == state, seconds)

    def there(self, job):
        """Directories of the job on the host."""
        far = os.path.join(self.scratch, "far")
        return [os.path.join(at, d) for at, dirs, _ in os.walk(far) for d in dirs if d == str(job)]

    def hosts_used(self):
        return [m for m in self.json("machines", "ls") if m["state"] not in ("gone", "deleted")]


def test_bad_name(home):
    job = home.submit(BAD_NAME, "--on", "lab", "--output", "named")
    check(home.becomes(job, "unsaved"), "an output with a bad name is unsaved", home.show(job))
    here = os.path.join(home.path, "jobs", str(job), "output", "a\tb")
    check(open(here).read() == "kept\n", "it was brought here")
    check(until(lambda: not home.there(job)), "and its host is free", home.there(job))
    home.stop_broker()
    check(os.path.exists(here), "it stays")
    home.good("job", "save", str(job), "--rename")
    check(home.good("cat", "/named/a_b@named") == "kept\n", "until job save stores it")
    check(home.state(job) == "finished", "and its job is finished")
    check(home.show(job)["cost_basis"] == "host price" or home.show(job)["cost_usd"] is not None,
          "with its cost", home.show(job))


def test_away(home):
    """The host does not answer once the job has ended."""
    go = os.path.join(home.ran, "go")
    job = home.submit(f"while [ ! -e '{go}' ]; do sleep 0.05; done; echo far >$TRADEWIND_OUTPUT/x; "
                      f"touch '{home.away}'", "--on", "lab", "--output", "far")
    check(home.becomes(job, "running"), "a job runs on the host")
    open(go, "w").close()
    gone = until(lambda: home.state(job) in ("unsaved", "lost"))
    state = home.show(job)
    if state["state"] == "lost":
        # The end was not heard: what is not known to have ended well is lost.
        skip("an output on a host that does not answer", "the host went away too early")
        os.unlink(home.away)
        return
    check(gone and state["saves_later"], "its output is unsaved, and tried again", state)
    check("No route to host" in state["reason"] or "does not answer" in state["reason"],
          "since its host does not answer", state["reason"])
    got = home.run("job", "save", str(job))
    check(got.returncode == 6 and "still on its host" in got.stderr, "job save says so", got.stderr)
    home.good("job", "kill", str(job))
    home.stop_broker()
    check(home.state(job) == "unsaved", "kill and another broker change nothing", home.show(job))
    check(home.there(job), "the output is on the host", home.there(job))
    check(home.run("job", "save", str(job)).returncode == 6, "job save tries again")
    os.unlink(home.away)
    check(home.becomes(job, "finished"), "when it answers the output is stored", home.show(job))
    check(home.good("cat", "/far/x@far") == "far\n", "as it was made")
    check(until(lambda: not home.there(job)), "and the host is free", home.there(job))


@contextlib.contextmanager
def small_disk(path, size):
    os.makedirs(path)
    good = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
        capture_output=True).returncode == 0
    try:
        yield good
    finally:
        if good:
            until(lambda: subprocess.run(["umount", path], capture_output=True).returncode == 0, 30)


def test_full(scratch):
    """There is no room here for what the host has."""
    disk = os.path.join(scratch, "small")
    with small_disk(disk, "24m") as good:
        if not good:
            skip("an output that finds no room here", "only root may mount a small disk")
            return
        home = Far(scratch, "small/home")
        try:
            fill(home, disk)
        finally:
            home.end_everything()


def fill(home, disk):
    job = home.submit("head -c 8000000 /dev/urandom >$TRADEWIND_OUTPUT/x; "
                      "sha256sum <$TRADEWIND_OUTPUT/x; "
                      f"head -c 10000000 /dev/zero >'{disk}/fill'", "--on", "lab", "--output", "big")
    check(home.becomes(job, "unsaved"), "an output that finds no room here is unsaved",
          home.show(job))
    check("No space left" in home.show(job)["reason"], "and says so", home.show(job)["reason"])
    os.unlink(os.path.join(disk, "fill"))
    check(home.becomes(job, "finished"), "with room it is stored", home.show(job))
    made = subprocess.run(["sha256sum"], input=subprocess.run(
        [os.environ["TRADEWIND"], "cat", "/big/x@big"], env=home.env, capture_output=True).stdout,
        capture_output=True).stdout.decode()
    check(made == home.log(job), "as it was made", made, home.log(job))


def test_full_while_running(scratch):
    """The copies of what a job prints find no room here for longer than a host may be silent."""
    disk = os.path.join(scratch, "tiny")
    with small_disk(disk, "24m") as good:
        if not good:
            skip("a job on a host outlives a full disk here", "only root may mount a small disk")
            return
        home = Far(scratch, "tiny/home")
        try:
            print_much(home, disk)
        finally:
            home.end_everything()


def print_much(home, disk):
    go, filler = os.path.join(home.scratch, "print-go"), os.path.join(disk, "filler")
    line = "x" * 4000
    job = home.submit(f"i=0; while [ ! -e '{go}' ]; do i=$((i+1)); echo $i {line}; sleep 0.05; done; "
                      "echo $i lines", "--on", "lab")
    check(until(lambda: home.state(job) == "running" and home.log(job)), "a job prints on its host")
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as f:
        while True:
            f.write(b"x" * 4096)
    # limits.host_lost_s is 2.
    check(not until(lambda: home.state(job) != "running", 5),
          "it runs on while the copy of its log finds no room", home.show(job))
    os.unlink(filler)
    open(go, "w").close()
    check(home.becomes(job, "finished"), "and finishes when there is some", home.show(job))
    lines = home.log(job).splitlines()
    check(lines[:-1] == [f"{i} {line}" for i in range(1, len(lines))]
          and lines[-1] == f"{len(lines) - 1} lines", "with its whole log", lines[-1])


def main():
    with scratch_directory() as scratch:
        home = Far(scratch, "home")
        try:
            test_bad_name(home)
            test_away(home)
            home.stop_broker()
            test_full(scratch)
            test_full_while_running(scratch)
        finally:
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
