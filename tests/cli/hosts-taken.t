#!/usr/bin/env python3
"""Hosts that another home uses. The client that gets there runs everything here: what counts is what it
is asked, and when."""

import contextlib
import glob
import os
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from broker_home import FINAL, Home, check, done, scratch_directory, until

CLIENT = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
printf '%s\\n' "$3" >>'{0}/asked'
while [ -e '{0}/hangs' ]; do sleep 0.02; done
case $3 in
*" claim "*) [ ! -e '{0}/claims-slowly' ] || sleep 1.2 ;;
*" remove "*) [ ! -e '{0}/removes-slowly' ] || sleep 0.7 ;;
esac
HOME='{0}/far' exec sh -c "$3"
"""


@contextlib.contextmanager
def locked(path):
    """Nobody writes to this database."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


class Far:
    """Two hosts, which are this machine with another home directory."""

    def __init__(self, home):
        self.scratch = home.scratch
        jobs = self.path("far/.tradewind-jobs")
        os.makedirs(jobs)
        self.claim = os.path.join(jobs, f"in-use.{os.uname().nodename}")
        client = self.path("client")
        with open(client, "w") as f:
            f.write(CLIENT.format(self.scratch))
        os.chmod(client, 0o755)
        home.env["TRADEWIND_SSH"] = client
        os.makedirs(home.path)
        with open(os.path.join(home.path, "config.yaml"), "w") as f:
            f.write("hosts: {lab: [{host: one}, {host: two}]}\n")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def does(self, what):
        open(self.path(what), "w").close()

    def is_taken(self):
        until_ms = int(time.time() * 1000) + 600_000
        with open(self.claim, "w") as f:
            f.write(f"other token {until_ms} bob@elsewhere\n")

    def directories(self):
        """Of jobs, over there."""
        return glob.glob(self.path("far/.tradewind-jobs/*/[0-9]*"))

    def asked(self, what):
        with open(self.path("asked")) as f:
            return sum(what in line for line in f)


def test_taken_up(home, far):
    """A broker takes up a job that a dead one was about to bring to a host, and finds every host taken;
    when one is free, the job goes there once."""
    with home.nobody():
        job = home.submit(home.once("job"), "--on", "lab")
    far.does("hangs")
    broker = home.start_broker()
    check(until(lambda: os.path.exists(far.path("asked"))), "a broker looks for a host")
    broker.kill()
    broker.wait()
    check(home.state(job) == "launching", "and dies over it", home.state(job))
    # What it asked for outlives it: taken before that goes on, or both would be at the host at once.
    far.is_taken()
    os.remove(far.path("hangs"))
    broker = home.start_broker()
    check(until(lambda: home.state(job) == "queued"), "the next one finds them taken")
    # It looks for new jobs. Were it to take this one for one of them, that would still be asking for a
    # host when a second later the first is tried again, and both would get the same.
    os.remove(far.claim)
    far.does("claims-slowly")
    home.submit("true")
    check(until(lambda: home.state(job) == "finished"), "then one is free", home.state(job))
    states = [t["state"] for t in home.json("job", "show", str(job))["transitions"]]
    check(states == ["queued", "launching", "queued", "launching", "fetching", "running", "storing",
                     "finished"], "its steps are those of one job", states)
    check(far.asked(f"tar -C .{job}.") == 1, "it was sent once", far.asked(f"tar -C .{job}."))
    check(home.times_run("job") == 1, "and ran once", home.times_run("job"))
    home.stop_broker()
    broker.wait()


def test_left_rented(home, far, how, script):
    """A broker dies when a job that waited has a host, which only the record of machines knows. The next
    one gives the host back and rents one for the job, which are not to meet: were that the same host,
    or one that shares its files, it would be cleared while the job runs there or, when that takes longer
    to come, before it is there, and never again."""
    with home.nobody():
        job = home.submit(home.once("waits") + script, "--on", "lab")
    far.is_taken()
    broker = home.start_broker()
    check(until(lambda: len(home.json("job", "show", str(job))["transitions"]) == 3),
          "a job waits for a host")
    with locked(os.path.join(home.path, "lake.db")):
        os.remove(far.claim)
        check(until(lambda: [m for m in home.json("machines", "ls") if m["job"] == job]), "and has one")
        broker.kill()
        broker.wait()
    check(home.state(job) == "queued", "which the broker that dies then did not write down")
    far.does(how)
    with ThreadPoolExecutor() as threads:
        with locked(os.path.join(home.path, "machines.db")):
            starting = threads.submit(home.start_broker)
            time.sleep(0.6)
        broker = starting.result()
    check(until(lambda: home.state(job) in FINAL), "the next one runs it")
    check(home.state(job) == "finished", "to its end", home.json("job", "show", str(job)))
    check(home.times_run("waits") == 1, "once", home.times_run("waits"))
    check(until(lambda: not home.json("machines", "ls"), 30), "no host stays rented")
    home.stop_broker()
    broker.wait()
    check(not far.directories(), "and nothing of it lies there", far.directories())


def main():
    for test, *arguments in (
        (test_taken_up,),
        (test_left_rented, "removes-slowly", "sleep 2.5"),
        (test_left_rented, "claims-slowly", ""),
    ):
        with scratch_directory() as scratch:
            home = Home(scratch)
            try:
                test(home, Far(home), *arguments)
            finally:
                home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
