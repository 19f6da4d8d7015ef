#!/usr/bin/env python3
"""Hosts that another home uses. The client that gets there runs everything here: what counts is what it
is asked, and when."""

import os
import sys
import time

from broker_home import Home, check, done, scratch_directory, until

CLIENT = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
printf '%s\\n' "$3" >>'{0}/asked'
while [ -e '{0}/hangs' ]; do sleep 0.02; done
case $3 in *" claim "*) [ ! -e '{0}/slow' ] || sleep 1.2 ;; esac
HOME='{0}/far' exec sh -c "$3"
"""


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

    def is_taken(self):
        until_ms = int(time.time() * 1000) + 600_000
        with open(self.claim, "w") as f:
            f.write(f"other token {until_ms} bob@elsewhere\n")

    def asked(self, what):
        with open(self.path("asked")) as f:
            return sum(what in line for line in f)


def test_taken_up(home, far):
    """A broker takes up a job that a dead one was about to bring to a host, and finds every host taken;
    when one is free, the job goes there once."""
    with home.nobody():
        job = home.submit(home.once("job"), "--on", "lab")
    open(far.path("hangs"), "w").close()
    broker = home.start_broker()
    check(until(lambda: os.path.exists(far.path("asked"))), "a broker looks for a host")
    broker.kill()
    broker.wait()
    os.remove(far.path("hangs"))
    check(home.state(job) == "launching", "and dies over it", home.state(job))
    far.is_taken()
    broker = home.start_broker()
    check(until(lambda: home.state(job) == "queued"), "the next one finds them taken")
    # It looks for new jobs. Were it to take this one for one of them, that would still be asking for a
    # host when a second later the first is tried again, and both would get the same.
    os.remove(far.claim)
    open(far.path("slow"), "w").close()
    home.submit("true")
    check(until(lambda: home.state(job) == "finished"), "then one is free", home.state(job))
    states = [t["state"] for t in home.json("job", "show", str(job))["transitions"]]
    check(states == ["queued", "launching", "queued", "launching", "fetching", "running", "storing",
                     "finished"], "its steps are those of one job", states)
    check(far.asked(f"tar -C .{job}.") == 1, "it was sent once", far.asked(f"tar -C .{job}."))
    check(home.times_run("job") == 1, "and ran once", home.times_run("job"))
    home.stop_broker()
    broker.wait()


def main():
    with scratch_directory() as scratch:
        home = Home(scratch)
        try:
            test_taken_up(home, Far(home))
        finally:
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
