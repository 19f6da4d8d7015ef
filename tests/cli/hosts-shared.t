#!/usr/bin/env python3
"""Two homes with the same hosts: each host works for one of them at a time, whoever waits writes
that once and pays nothing, and a home that vanished does not keep a host for ever."""

import os
import sys
import time

from broker_home import Home, check, done, scratch_directory, until
from ssh_hosts import Hosts, why_not

GANG = """name: gang
num_nodes: 2
outputs: {o: 0.001}
estimate: {seconds: 60}
run: echo "rank $SKYPILOT_NODE_RANK" | tee "$TRADEWIND_OUTPUT/o/rank"
"""


class Shared(Home):
    def __init__(self, scratch, name, hosts):
        super().__init__(scratch, name, idle_s=60)
        self.hosts = hosts
        hosts.use(self)

    def go(self, name):
        return os.path.join(self.ran, name + "-go")

    def release(self, name):
        with open(self.go(name), "w"):
            pass

    def begin(self, name):
        """A job on a host that waits for release."""
        return self.submit(f"while [ ! -e '{self.go(name)}' ]; do sleep 0.05; done; hostname",
                           "--on", "lab")

    def show(self, job):
        return self.json("job", "show", str(job))

    def is_running(self, job):
        return self.show(job)["state"] == "running"

    def is_finished(self, job):
        return until(lambda: self.show(job)["state"] == "finished")

    def transitions(self, job):
        return [(t["state"], t["reason"] or "") for t in self.show(job)["transitions"]]

    def rented(self, job):
        return [m for m in self.json("machines", "ls", "--all") if m["job"] == job]


def claim(hosts, k, text):
    with open(os.path.join(hosts.jobs, f"in-use.host{k}"), "w") as f:
        f.write(text)


def test_next_host(ann, bob):
    first = ann.begin("first")
    check(until(lambda: ann.is_running(first)), "a job of one home runs on the first host")
    second = bob.begin("second")
    check(until(lambda: bob.is_running(second)), "one of another home runs, too")
    where = [ann.show(first)["machine"], bob.show(second)["machine"]]
    check(where == ann.hosts.names, "on the next host", where)
    return first, second


def test_waits(ann, bob, second):
    """Both hosts are in use, one by each home."""
    third = ann.begin("third")
    ann.release("third")
    check(until(lambda: [s for s, _ in ann.transitions(third)][-2:] == ["launching", "queued"]),
          "a job that finds no host waits in the queue")
    check("in use by " in ann.transitions(third)[-1][1] and "@" in ann.transitions(third)[-1][1],
          "and says who has it", ann.transitions(third))
    time.sleep(3.5)  # it asks again after 1 s, and after 2 s more
    check(len(ann.transitions(third)) == 3 and not ann.rented(third),
          "asking again writes nothing and rents nothing", ann.transitions(third))
    bob.release("second")
    check(bob.is_finished(second), "the other home is done")
    check(ann.is_finished(third) and ann.log(third) == "host2\n", "now it runs there",
          ann.show(third))
    states = [s for s, _ in ann.transitions(third)]
    check(states == ["queued", "launching", "queued", "launching", "fetching", "running", "storing",
                     "finished"], "state by state", states)
    check(len(ann.rented(third)) == 1, "it had one host", ann.rented(third))


def test_gang_waits(ann, bob, first):
    """Two nodes, and one of two hosts is in use."""
    path = os.path.join(bob.scratch, "gang.yaml")
    with open(path, "w") as f:
        f.write(GANG)
    bob.good("run", path, "--yes", "--on", "lab", "--detach")
    stage = lambda: bob.json("run", "show", "1")["stages"][0]
    check(until(lambda: stage()["job"]), "a gang begins")
    job = stage()["job"]
    given_back = lambda: [m for m in bob.rented(job) + bob.rented(job + 1) if m["state"] == "gone"]
    check(until(given_back), "it finds one host, which it gives back")
    before = len(bob.rented(job) + bob.rented(job + 1))
    time.sleep(5)  # it asks again after 1 to 2 s, and after 2 to 4 s more
    after = len(bob.rented(job) + bob.rented(job + 1))
    check(before == after == 1, "waiting, it rents nothing", before, after)
    ann.release("first")
    check(ann.is_finished(first), "the other home is done")
    check(until(lambda: bob.json("run", "show", "1")["state"] == "finished"), "the gang finishes",
          bob.json("run", "show", "1"))


def test_stale(bob):
    now_ms = int(time.time() * 1000)
    for k in (1, 2):
        claim(bob.hosts, k, f"tw-0123456789abcdef job-7-1 {now_ms + 3000000} cat@gone\n")
    job = bob.begin("stale")
    bob.release("stale")
    check(until(lambda: "in use by cat@gone" in bob.transitions(job)[-1][1]),
          "a home that is not heard of has its hosts", bob.transitions(job))
    claim(bob.hosts, 1, f"tw-0123456789abcdef job-7-1 {now_ms - 1} cat@gone\n")
    check(bob.is_finished(job) and bob.log(job) == "host1\n", "for an hour, and not longer",
          bob.show(job))
    with open(os.path.join(bob.hosts.jobs, "in-use.host1")) as f:
        check(until(lambda: f.seek(0) or not f.read()), "whoever is done leaves no claim")
    claim(bob.hosts, 1, "not a claim")
    last = bob.begin("last")
    bob.release("last")
    check(bob.is_finished(last), "what is no claim is none")


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        hosts = Hosts(scratch, 2)
        ann, bob = Shared(scratch, "ann", hosts), Shared(scratch, "bob", hosts)
        try:
            first, second = test_next_host(ann, bob)
            test_waits(ann, bob, second)
            test_gang_waits(ann, bob, first)
            test_stale(bob)
        finally:
            ann.end_everything()
            bob.end_everything()
            hosts.stop(ann, bob)
    return done()


if __name__ == "__main__":
    sys.exit(main())
