#!/usr/bin/env python3
"""geo run on this machine, with directories as stores: what is refused before anything starts, one
worker held up, killed or failing, and everybody gone who could look after it."""

import json
import os
import shutil
import signal
import subprocess
import sys

from broker_home import Home, check, done, scratch_directory, until

HERE = os.path.dirname(os.path.abspath(__file__))
SDK = os.path.join(HERE, "..", "..", "sdk", "python", "tradewind")
PLACES = ("aws/ap-south-1", "aws/ap-south-1", "aws/eu-west-2")
# Sends its rank and the round, and expects the mean of that; saves before it sends, as workers have to.
# With LATE the second of three begins when the others are through: their mean is that of all.
WORKER = """
import array, os, sys, time
from tradewind import Worker
env = os.environ
state = env["TRADEWIND_CHECKPOINT"] + "/round"
first = int(open(state).read()) if os.path.exists(state) else 0
rank, ranks = int(env["TRADEWIND_RANK"]), int(env["TRADEWIND_RANKS"])
if os.path.exists(env["FAIL"]) and rank == 1:
    sys.exit(3)
worker = Worker(round=first)
late = "LATE" in env and rank == 1
while late and not worker.mean_store.get(f"round-{int(env['TRADEWIND_ROUNDS']) - 1:06d}/mean"):
    time.sleep(0.05)
for number in range(first, int(env["TRADEWIND_ROUNDS"])):
    with open(state + ".new", "w") as f:
        f.write(str(number))
    os.rename(state + ".new", state)
    worker.push({"x": array.array("f", [rank + number] * 100)})
    got = worker.pull(timeout=240)["x"][0]
    assert abs(got - (number + (ranks - 1) / 2)) < 1e-5, (number, got)
    print("round", number, "is", got, flush=True)
if late:
    root = env["TRADEWIND_STORE"].partition(":")[2]
    left = [d for d, _, files in os.walk(root) for f in files if d.endswith("/in")]
    assert not left, left
with open(env["TRADEWIND_OUTPUT"] + "/model", "w") as f:
    f.write(str(got))
"""


class Test:
    def __init__(self, scratch):
        self.scratch = scratch
        self.home = Home(scratch, idle_s=60)
        self.code = os.path.join(scratch, "code")
        self.fail = os.path.join(scratch, "fail")
        shutil.copytree(SDK, os.path.join(self.code, "tradewind"))
        with open(os.path.join(self.code, "worker.py"), "w") as f:
            f.write(WORKER)
        self.configure("jobs_per_user: 8")

    def configure(self, limits, hosts=""):
        os.makedirs(self.home.path, exist_ok=True)
        with open(os.path.join(self.home.path, "config.yaml"), "w") as f:
            f.write(f"limits: {{{limits}}}\n{hosts}")

    def spec(self, extra="", run="FAIL={fail} {python} worker.py", name="t.yaml"):
        path = os.path.join(self.scratch, name)
        workers = "".join(f"  - {{place: {p}}}\n" for p in PLACES)
        run = run.format(fail=self.fail, python=sys.executable)
        with open(path, "w") as f:
            f.write(f"name: t\nmodel: {{size: 1kB}}\nrounds: 3\npoll: 0.05\n"
                    f"train: {{run: '{run}', workdir: code, seconds: 0.1}}\n"
                    f"workers:\n{workers}{extra}")
        return path

    def start(self, rounds, *options):
        out = open(os.path.join(self.scratch, "out"), "w+")
        return subprocess.Popen(
            [os.environ["TRADEWIND"], "geo", "run", self.spec(), "--yes", "--json", "--topology",
             "central", "--rounds", str(rounds), *options],
            env=self.home.env, stdout=out, stderr=out), out.name

    def run_of(self):
        return self.home.json("run", "ls")[0]

    def refused(self, code, part, extra="", **options):
        spec = self.spec(extra, **options)
        got = self.home.run("geo", "run", spec, "--yes")
        check(got.returncode == code and part in got.stderr and not got.stdout,
              f"refused: {part}", got.returncode, got.stderr, got.stdout)
        check(not os.path.exists(os.path.join(self.home.path, "jobs")), "nothing is started")


def rounds_told(path):
    with open(path) as f:
        return sum('"round"' in line for line in f)


def processes(t):
    """Workers and aggregators of this home, by their directories."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            where = os.readlink(f"/proc/{pid}/cwd")
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if where.startswith(t.home.path + "/jobs/"):
            found.append((int(pid), words, int(where[len(t.home.path) + 6:].split("/")[0])))
    return found


def worker_process(t, rank):
    for pid, words, job in processes(t):
        if words[1:2] == ["worker.py"]:
            with open(f"/proc/{pid}/environ") as f:
                if f"TRADEWIND_RANK={rank}" in f.read().split("\0"):
                    return pid
    return 0


def test_refused(t):
    t.refused(2, "t.yaml:10: sites.mars: ", "sites: {mars: {on: local}}\n")
    t.refused(2, "is not a store: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,",
              "sites: {aws/eu-west-2: {store: 'ftp://x'}}\n")
    t.refused(2, "unknown field", "sites: {aws/eu-west-2: {colour: red}}\n")
    t.refused(2, "is not a compression: use none, int8 or topk:SHARE", "compression: zip\n")
    t.refused(2, "neither local, sim nor a cloud, and there are no host groups yet",
              "sites: {aws/eu-west-2: {function_on: lab}}\naggregator: {function: aws/eu-west-2}\n")
    t.configure("jobs_per_user: 8", "hosts: {lab: [{host: h1}, {host: h2}]}\n")
    t.refused(2, "group lab has 2 hosts, and workers have to know which",
              "sites: {aws/eu-west-2: {function_on: lab}}\n"
              "aggregator: {function: aws/eu-west-2, store: aws/eu-west-2}\ntopology: central\n")
    t.refused(2, "workers on other machines need a store at aws/eu-west-2",
              "sites: {aws/ap-south-1: {on: lab}}\n"
              "aggregator: {function: aws/eu-west-2, store: aws/eu-west-2}\ntopology: central\n")
    far = "aggregator: {function: aws/eu-west-2, store: aws/eu-west-2}\ntopology: central\n"
    t.refused(2, "the store at aws/eu-west-2: http://10.0.0.1:9000: others can read and change",
              "sites: {aws/eu-west-2: {store: 's3://b/x', endpoint: 'http://10.0.0.1:9000'}}\n" + far)
    t.refused(2, "the function at aws/eu-west-2: http://10.0.0.2:",
              "sites: {aws/eu-west-2: {address: 10.0.0.2}}\n" + far)
    t.configure("jobs_per_user: 3")
    t.refused(5, "tradewind config set limits.jobs_per_user 4",
              "aggregator: {function: aws/eu-west-2, store: aws/eu-west-2}\ntopology: central\n")
    t.configure("jobs_per_user: 8")


def test_topologies(t):
    """With int8: numbers that are alike are not rounded."""
    for topology, extra in (("regional", "compression: int8\n"), ("fanout", "")):
        spec = t.spec("aggregator: {function: aws/us-west-2, store: aws/us-west-2}\n" + extra)
        got = t.home.run("geo", "run", spec, "--yes", "--json", "--topology", topology)
        last = json.loads(got.stdout.splitlines()[-1]) if got.stdout else {}
        check(got.returncode == 0 and last["state"] == "finished" and last["rounds"] == 3,
              f"{topology}: three workers of two places", got.stderr, last)
        got = float(t.home.good("cat", "/t.model/model"))
        check(abs(got - 3) < 1e-5, f"{topology}: the mean of all of them", got)
    check(os.listdir(os.path.join(t.home.path, "geo")) == [], "their stores are gone")


def test_quorum(t):
    """One worker comes when all rounds are over: it finds every mean, and what it sent is deleted."""
    rounds, n = 3, len(PLACES)
    # Of each aggregator that somebody may be late for: a list more; of a region one write more, too.
    for topology, lists, writes in (("central", n + 1, n + 2), ("regional", n + 2 + 1, n + 2 + 2 + 2 + 1),
                                    ("fanout", n + 2 + 1, n + 2 + 2 + 1 + 2 + 1)):
        spec = t.spec("aggregator: {function: aws/us-west-2, store: aws/us-west-2}\nquorum: 0.5\n",
                      run="LATE=1 FAIL={fail} {python} worker.py")
        got = t.home.run("geo", "run", spec, "--yes", "--json", "--topology", topology)
        last = json.loads(got.stdout.splitlines()[-1]) if got.stdout else {}
        check(got.returncode == 0 and last["state"] == "finished" and last["rounds"] == rounds,
              f"{topology}, a quorum of half: a worker that is late", got.stderr, last)
        for name in ("counts", "forecast_counts"):
            seen = {k: last[name][k] for k in ("lists", "invocations")}
            wanted = {"lists": rounds * lists, "invocations": rounds * (n if lists == n + 1 else n + 2)}
            check(seen == wanted, f"{topology}: {name} as a late worker makes them", seen, wanted)
        seen = (last["counts"]["writes"], last["forecast_counts"]["writes"])
        # Invocations that run at once each write the claim, and the store refuses all but one: a write
        # more per refusal, at most one per invocation, which the paced forecast counts as well.
        refused = seen[0] - rounds * writes
        check(seen[0] == seen[1] and 0 <= refused < wanted["invocations"], f"{topology}: and writes", seen, rounds * writes)


def test_held_and_killed(t):
    """B10: nothing appears while one is missing. And one that dies goes on with its round."""
    process, out = t.start(400)
    check(until(lambda: rounds_told(out) >= 2), "rounds come")
    held = worker_process(t, 1)
    os.kill(held, signal.SIGSTOP)
    # It may have sent what it had for the round it is in; for none after that.
    with open(f"/proc/{held}/environ") as f:
        env = dict(v.split("=", 1) for v in f.read().split("\0") if "=" in v)
    with open(env["TRADEWIND_CHECKPOINT"] + "/round") as f:
        last = int(f.read())
    seen = []
    until(lambda: seen.append(rounds_told(out)) or len(seen) > 50, 60)
    check(max(seen) <= last + 1, "no round ends while one worker is held", last, seen)
    os.kill(held, signal.SIGKILL)
    check(until(lambda: rounds_told(out) > last + 3), "killed, it is started again, and they go on")
    process.send_signal(signal.SIGINT)
    check(process.wait(timeout=240) == 130, "Ctrl-C stops everything", process.returncode)
    check(t.run_of()["state"] == "stopped" and not processes(t), "nothing is left", processes(t))
    with open(out) as f:
        last = json.loads(f.read().splitlines()[-1])
    check(last["event"] == "run" and last["state"] == "stopped" and last["bill"]["total_usd"] > 0,
          "what it did until then is billed", last)


def test_failing(t):
    with open(t.fail, "w"):
        pass
    process, out = t.start(400)
    check(process.wait(timeout=240) == 1, "a worker that fails by itself fails the run")
    os.unlink(t.fail)
    check(until(lambda: not processes(t), 60), "and ends the others", processes(t))
    check("worker-0001 failed" in t.run_of()["reason"], "which it says", t.run_of())


def test_alone(t):
    """kill -9 of the command, and of the broker: the training ends by itself, and so do functions."""
    process, out = t.start(30)
    check(until(lambda: rounds_told(out) >= 2), "rounds come")
    process.kill()
    process.wait()
    os.kill(t.home.broker_pid(), signal.SIGKILL)
    run = t.run_of()["run"]
    t.home.run("run", "show", str(run), "--follow")
    check(t.run_of()["state"] == "finished", "alone it goes on to its end", t.run_of())
    check(until(lambda: not processes(t), 60), "and nothing stays", processes(t))


def main():
    aggregator = os.path.join(os.path.dirname(os.path.abspath(os.environ["TRADEWIND"])),
                              "tradewind-aggregator")
    if not os.path.exists(aggregator):
        print("1..0 # SKIP tradewind-aggregator is not built")
        return 0
    with scratch_directory() as scratch:
        t = Test(scratch)
        try:
            test_refused(t)
            test_topologies(t)
            test_quorum(t)
            test_held_and_killed(t)
            test_failing(t)
            test_alone(t)
        finally:
            t.home.run("broker", "--stop")
    return done()


sys.exit(main())
