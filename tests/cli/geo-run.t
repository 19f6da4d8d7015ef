#!/usr/bin/env python3
"""geo run on four regions with their delays and rates: eight workers train a real model on real data,
in all three topologies, with what goes wrong meanwhile. The same model as in one process comes out,
and bytes, requests and the bill are what the formulas say."""

import collections
import json
import os
import signal
import subprocess
import sys
import time

from broker_home import SLOW, Home, check, done, scratch_directory, until
from geo_wan import HERE, N, REGIONS, WORKERS, World, make_shards, why_not

SDK = os.path.join(HERE, "..", "..", "sdk", "python")
WORKER = os.path.join(HERE, "geo_worker.py")
# More of both for make soak.
HIDDEN = int(os.environ.get("TRADEWIND_GEO_HIDDEN", "512"))
ROUNDS = int(os.environ.get("TRADEWIND_GEO_ROUNDS", "0"))
VALUES = 784 * HIDDEN + HIDDEN + HIDDEN * 10 + 10
# Of a poll that finds nothing, both ways with the headers of HTTP and TCP, no more than this.
POLL_BYTES = 2000
HOME_REGION = "oregon"
R = len(REGIONS)
AWAY = N - WORKERS[HOME_REGION]
# How often a gradient or a mean crosses from one region to another in a round.
CROSSINGS = {"central": 2 * AWAY, "regional": R - 1 + AWAY, "fanout": 2 * (R - 1)}
# Writes, lists and reads of a round by equation 5, with the claim of every aggregator, polls apart.
WRITES = {"central": N + 2, "regional": N + R + R + 2, "fanout": N + R + R + 1 + R}
LISTS = {"central": N, "regional": N + R, "fanout": N + R}
READS = {"central": 2 * N, "regional": 2 * N + R, "fanout": 2 * N + R}
FILL = """
import sys
from tradewind.store import open_store
for line in sys.stdin:
    bucket, *paths = line.split()
    open_store("s3://" + bucket, sys.argv[1], "us-east-1").put("", b"")
    store = open_store(f"s3://{bucket}/data", sys.argv[1], "us-east-1")
    for i, path in enumerate(paths):
        store.put(f"shard-{i}", open(path, "rb").read())
"""
FAR = """
import sys, numpy
for a, b in zip(sys.argv[1::2], sys.argv[2::2]):
    a, b = numpy.load(a), numpy.load(b)
    print(max(abs(a[k] - b[k]).max() for k in a.files))
"""
# Of the longest training here.
MOST = ROUNDS or 4


class Test:
    def __init__(self, scratch):
        self.scratch = scratch
        self.shards = make_shards(scratch)
        self.world = World(scratch)
        self.home = Home(scratch, idle_s=60)
        self.world.configure(self.home)
        self.spec = os.path.join(scratch, "four.yaml")
        run = f"'PYTHONPATH={SDK} GEO_HIDDEN={HIDDEN} OMP_NUM_THREADS=1 /usr/bin/python3 {WORKER}'"
        self.world.spec(self.spec, VALUES * 4, run)
        self._fill_buckets()
        said = self.python(WORKER, "single", scratch, str(MOST), *self.shards)
        self.losses = [float(line.split()[2]) for line in said.splitlines()]
        self.models = []  # name, what came out, what should have

    def python(self, *words, **options):
        env = {**os.environ, **self.world.keys(), "PYTHONPATH": SDK, "GEO_HIDDEN": str(HIDDEN)}
        return subprocess.run(["/usr/bin/python3", *words], check=True, capture_output=True,
                              text=True, env=env, **options).stdout

    def _fill_buckets(self):
        """Each region's shards into its own store."""
        lines, at = [], 0
        for region, count in WORKERS.items():
            lines.append(" ".join([f"geo-{region}", *self.shards[at:at + count]]))
            at += count
        self.python("-c", FILL, self.world.s3["S3_ENDPOINT"], input="\n".join(lines))

    def start(self, topology, rounds):
        return Going(self, topology, rounds)


class Going:
    """A training under way."""

    def __init__(self, test, topology, rounds):
        self.test, self.topology, self.rounds = test, topology, rounds
        self.events = os.path.join(test.scratch, f"{topology}.jsonl")
        self.before = test.world.counters()
        self.out = open(os.path.join(test.scratch, f"{topology}.out"), "w+")
        self.process = subprocess.Popen(
            [os.environ["TRADEWIND"], "geo", "run", test.spec, "--yes", "--json", "--topology",
             topology, "--rounds", str(rounds), "--events", self.events],
            env=test.home.env, stdout=self.out, stderr=self.out)

    def rounds_done(self):
        with open(self.out.name) as f:
            return sum('"round"' in line for line in f)

    def wait_for_round(self, number):
        good = until(lambda: self.rounds_done() >= number or self.process.poll() is not None)
        check(good and self.process.poll() is None, f"{self.topology}: round {number} comes")

    def finish(self):
        self.process.wait(timeout=600)
        with open(self.out.name) as f:
            lines = f.read().splitlines()
        if self.process.returncode or '"finished"' not in lines[-1]:
            print("# " + "\n# ".join(lines[-10:]))
            raise SystemExit(f"geo run ended with {self.process.returncode}")
        return Ended(self, json.loads(lines[-1]))


class Ended:
    """What came of one."""

    def __init__(self, going, report):
        self.test, self.topology, self.rounds = going.test, going.topology, going.rounds
        self.report = report
        with open(going.events) as f:
            self.events = [json.loads(line) for line in f]
        jobs = self.test.home.json("job", "ls", "--limit", "100")
        self.jobs = {j["name"]: j["id"] for j in reversed(jobs) if j["run"] == report["run"]}
        now = self.test.world.counters()
        self.crossed = {k: now[k] - v for k, v in going.before.items()}

    def losses(self):
        """The mean of the workers' losses is that of the union: their batches are of one size."""
        losses = collections.defaultdict(dict)
        for k in range(N):
            for line in self.test.home.log(self.jobs[f"worker-{k:04}"]).splitlines():
                if line.startswith("loss "):
                    _, number, loss = line.split()
                    losses[int(number)][k] = float(loss)
        return [sum(v.values()) / len(v) for _, v in sorted(losses.items())]

    def told_again(self):
        """Events that workers had to send more than once, or aggregators: these tell of no event
        unless it fails."""
        lines = [line for k in range(N)
                 for line in self.test.home.log(self.jobs[f"worker-{k:04}"]).splitlines()]
        failed = sum('"outcome":"failed"' in line for name, job in self.jobs.items()
                     if name.startswith("function")
                     for line in self.test.home.log(job).splitlines())
        told = sum(line.startswith("{") and json.loads(line)["kind"] == "event" for line in lines)
        return told - N * self.rounds + failed

    def token(self):
        """The prefix of this run's objects, by what its first worker was told."""
        shown = self.test.home.json("job", "show", str(self.jobs["worker-0000"]))
        return shown["env"]["TRADEWIND_STORE"].split("/")[4]

    def count(self, kind, which=lambda e: True):
        return sum(e.get("requests", 1) for e in self.events if e["kind"] == kind and which(e))


def check_model(run, name=None):
    """B11 and B13: whatever the topology."""
    t, name = run.test, name or run.topology
    wanted, got = t.losses[:run.rounds], run.losses()
    far = max(abs(a - b) for a, b in zip(got, wanted)) if len(got) == run.rounds else 9
    check(far < 1e-5 * wanted[0] * max(1, run.rounds / 4), f"{name}: the losses are those of training on the union", far, got,
          wanted)
    path = os.path.join(t.scratch, f"{name}.npz")
    with open(path, "wb") as f:
        f.write(subprocess.run([os.environ["TRADEWIND"], "cat", "/four.model/model.npz"],
                               env=t.home.env, check=True, capture_output=True).stdout)
    t.models.append((name, path, os.path.join(t.scratch, f"single-{run.rounds}.npz")))


def compare_models(t):
    said = t.python("-c", FAR, *(path for model in t.models for path in model[1:]))
    for (name, *_), far in zip(t.models, map(float, said.split())):
        check(far < 1e-5 * max(1, MOST / 4), f"{name}: the model is that of one process, to rounding", far)


def check_order(run):
    """B3 and B10."""
    step = {"train": 0, "put": 1, "poll": 2, "get": 3}
    wrong = []
    for k in range(N):
        places = [(e["round"], step[e["kind"]]) for e in run.events if e.get("worker") == k]
        if places != sorted(places) or sum(p[1] == 3 for p in places) != run.rounds:
            wrong.append((k, places))
    check(not wrong, f"{run.topology}: every worker trains, writes, waits and reads, round by round",
          wrong)
    early = [e for e in run.events if e["kind"] == "get" and "worker" in e and e["end"] < max(
        w["end"] for w in run.events if w["kind"] == "put" and w["round"] == e["round"]
        and "worker" in w)]
    check(not early, f"{run.topology}: nobody has a result before all have written", early[:3])


def check_requests(run):
    """B5, B6, B9 and equation 5. An invocation that finds another's claim has looked at it or tried to
    write its own, and one whose read broke off reads again: that depends on how they meet, and is
    counted apart."""
    what, n = run.topology, run.rounds
    averaged = {(e["from"], e["start"], e["end"]): e for e in run.events if e["kind"] == "aggregate"}
    size = max(e["bytes"] for e in run.events if e["kind"] == "put" and "worker" in e)

    def regular(kind, place):
        total = 0
        for e in run.events:
            if e["kind"] != kind:
                continue
            if "worker" in e:
                total += 1
            elif (e[place], e["start"], e["end"]) in averaged:
                broke_off = kind == "get" and e["bytes"] % size
                total += e["bytes"] // size if broke_off else e.get("requests", 1)
        return total

    got = (regular("put", "from"), regular("get", "to"))
    wanted = (n * WRITES[what], n * READS[what])
    check(got == wanted, f"{what}: writes and reads by equation 5", got, wanted)
    invoked, wanted = run.count("invoke"), n * LISTS[what]
    again = run.told_again()
    check(run.count("list") == invoked and invoked >= wanted and (again or invoked == wanted),
          f"{what}: an invocation for each upload, and a list", run.count("list"), invoked, wanted)
    if again:
        print(f"# {again} events had to be sent again: {invoked} invocations instead of {wanted}")
    check(len(averaged) == n * (1 if what == "central" else R + 1), f"{what}: each mean is made once",
          len(averaged))
    server = run.test.world.requests(run.token())
    told = {"put": run.count("put"), "get": run.count("get"), "poll": run.count("poll"),
            "list": run.count("list")}
    check({k: server[k] for k in told} == told, f"{what}: the server saw the same requests",
          dict(server), told)


def check_bytes(run):
    """Bytes across regions by the network's own counters; no shard is among them (B2)."""
    what, total = run.topology, sum(run.crossed.values())
    sent = {e["bytes"] for e in run.events if e["kind"] == "put" and "worker" in e}
    formula = run.rounds * CROSSINGS[what] * max(sent)
    polls = run.count("poll", lambda e: e["from"] != e["to"]) * POLL_BYTES
    check(len(sent) == 1 and formula <= total <= 1.02 * formula + polls,
          f"{what}: bytes between regions are those of the formula within 2 %", total / formula, sent)
    print(f"# {what}: {total / formula:.4f} of the formula, polls included")
    check(run.report["counts"]["wan_bytes"] == formula, f"{what}: and so the report has them",
          run.report["counts"], formula)
    aside = {k: v for k, v in run.crossed.items() if HOME_REGION not in k and v}
    check(not aside, f"{what}: nothing goes between the other regions", aside)


def check_bill(run):
    bill, forecast = run.report["bill"], run.report["forecast"]
    far = abs(forecast["total_usd"] / bill["total_usd"] - 1)
    check(far < 0.01, f"{run.topology}: the model, given the times, is within 1 % of the bill", far,
          bill, forecast)
    # A minute of each machine is most of so short a training: the other parts by themselves.
    check(abs(forecast["transfer_usd"] / bill["transfer_usd"] - 1) < 1e-6,
          f"{run.topology}: what moves is billed by the formula", bill, forecast)
    print("#", run.topology, *(f"{k[:-4]} {forecast[k]:.7f} of {bill[k]:.7f}" for k in bill))
    phases = run.report["phases"]
    check(abs(sum(phases.values()) - run.report["round_s"]) < 1e-6,
          f"{run.topology}: the phases add up to the round", phases)


def check_clean(run):
    check_order(run)
    check_model(run)
    check_requests(run)
    check_bytes(run)
    check_bill(run)


def process_of(rank):
    """The worker's own process, wherever it runs."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
            with open(f"/proc/{pid}/environ") as f:
                env = f.read().split("\0")
        except OSError:
            continue
        if words[:2] == ["/usr/bin/python3", WORKER] and f"TRADEWIND_RANK={rank}" in env:
            return int(pid), dict(v.split("=", 1) for v in env if "=" in v)
    return 0, {}


def send_event_again(test, env, number):
    """The event of an input that was averaged long ago."""
    bucket, _, prefix = env["TRADEWIND_STORE"][5:].partition("/")
    key = f"{prefix}/round-{number:06}/in/worker-{int(env['TRADEWIND_WORKER']):04}.w32.safetensors"
    body = {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
                         "s3": {"bucket": {"name": bucket}, "object": {"key": key}}}]}
    script = ("import sys, urllib.request as u\nr = u.Request(sys.argv[1], sys.stdin.buffer.read(), "
              "{'Content-Type': 'application/json', 'Authorization': 'Bearer ' + sys.argv[2]})\n"
              "print(u.urlopen(r, timeout=60).status)\n")
    space = test.world.spaces[HOME_REGION]
    return subprocess.run(
        ["ip", "netns", "exec", space, "/usr/bin/python3", "-c", script, env["TRADEWIND_EVENT_URL"],
         env["TRADEWIND_EVENT_TOKEN"]], input=json.dumps(body), text=True,
        capture_output=True).stdout.strip()


def test_trouble(t, rounds):
    """A worker killed, an event that comes twice, a store that fails for five seconds."""
    going = t.start("central", rounds)
    going.wait_for_round(1)
    pid, env = process_of(5)
    check(pid, "a worker is found")
    os.kill(pid, signal.SIGKILL)
    check(send_event_again(t, env, 0) == "200", "an event comes twice, and is taken")
    going.wait_for_round(2)
    with open(t.world.closed, "w"):
        pass
    time.sleep(5)
    os.unlink(t.world.closed)
    run = going.finish()
    check(run.report["rounds"] == rounds, "all rounds are trained", run.report["rounds"])
    log = t.home.log(run.jobs["worker-0005"])
    check("ended by signal 9" in log, "the killed worker was started again", log[-500:])
    check_model(run, "trouble")


def test_all(t, told):
    check_clean(t.start("regional", ROUNDS or 2).finish())
    told("regional")
    if SLOW:
        return
    check_clean(t.start("fanout", ROUNDS or 2).finish())
    told("fanout")
    check_clean(t.start("central", ROUNDS or 3).finish())
    told("central")
    test_trouble(t, MOST)
    told("trouble")


def main():
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    began = time.monotonic()

    def told(what):
        print(f"# {what}: {time.monotonic() - began:.1f} s", flush=True)

    with scratch_directory() as scratch:
        t = Test(scratch)
        try:
            told("set up")
            test_all(t, told)
            compare_models(t)
            until(lambda: not t.home.json("machines", "ls") and not t.world.hosts.processes())
            left = [*t.home.json("machines", "ls"), *t.world.hosts.processes()]
            check(not left, "nothing is left on the hosts", left)
        finally:
            t.home.run("broker", "--stop")
            t.world.stop(t.home)
    return done()


sys.exit(main())
