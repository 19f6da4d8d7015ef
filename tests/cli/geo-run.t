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
        self._fill_buckets()
        said = self.python(WORKER, "single", scratch, str(MOST), *self.shards)
        self.losses = [float(line.split()[2]) for line in said.splitlines()]
        self.models = []  # name, what came out, what should have
        self.compressed = {}  # the first losses of each compression

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

    def start(self, topology, rounds, name=None, more="", hidden=HIDDEN):
        """more: of the training's file."""
        name = name or topology
        spec = os.path.join(self.scratch, f"{name}.yaml")
        run = f"'PYTHONPATH={SDK} GEO_HIDDEN={hidden} OMP_NUM_THREADS=1 /usr/bin/python3 {WORKER}'"
        self.world.spec(spec, size_of(hidden), run, more)
        return Going(self, name, spec, topology, rounds)


def size_of(hidden):
    return 4 * (784 * hidden + hidden + hidden * 10 + 10)


class Going:
    """A training under way."""

    def __init__(self, test, name, spec, topology, rounds):
        self.test, self.name, self.topology, self.rounds = test, name, topology, rounds
        self.events = os.path.join(test.scratch, f"{name}.jsonl")
        self.before = test.world.counters()
        self.out = open(os.path.join(test.scratch, f"{name}.out"), "w+")
        self.process = subprocess.Popen(
            [os.environ["TRADEWIND"], "geo", "run", spec, "--yes", "--json", "--topology",
             topology, "--rounds", str(rounds), "--events", self.events],
            env=test.home.env, stdout=self.out, stderr=self.out)

    def rounds_done(self):
        with open(self.out.name) as f:
            return sum('"round"' in line for line in f)

    def wait_for_round(self, number):
        good = until(lambda: self.rounds_done() >= number or self.process.poll() is not None)
        check(good and self.process.poll() is None, f"{self.name}: round {number} comes")

    def finish(self):
        self.process.wait(timeout=600)
        with open(self.out.name) as f:
            lines = f.read().splitlines()
        if self.process.returncode or '"finished"' not in lines[-1]:
            print("# " + "\n# ".join(lines[-10:]))
            self.tell_failed()
            raise SystemExit(f"geo run ended with {self.process.returncode}")
        return Ended(self, json.loads(lines[-1]))

    def tell_failed(self):
        """What jobs that failed said last."""
        for j in self.test.home.json("job", "ls", "--limit", "100"):
            if j["state"] == "failed":
                last = self.test.home.log(j["id"]).splitlines()[-10:]
                print(f"# job {j['id']}, {j['name']}: " + "\n#   ".join(last))


class Ended:
    """What came of one."""

    def __init__(self, going, report):
        self.test, self.topology, self.rounds = going.test, going.topology, going.rounds
        self.name, self.report = going.name, report
        with open(going.events) as f:
            self.events = [json.loads(line) for line in f]
        jobs = self.test.home.json("job", "ls", "--limit", "100")
        self.jobs = {j["name"]: j["id"] for j in reversed(jobs) if j["run"] == report["run"]}
        now = self.test.world.counters()
        added = {k: (now[k][0] - v[0], now[k][1] - v[1]) for k, v in going.before.items()}
        self.crossed = {k: v[0] for k, v in added.items() if k[0] != k[1]}
        self.marked = {k: v[1] for k, v in added.items()}

    def losses(self):
        """The mean of the workers' losses is that of the union: their batches are of one size."""
        losses = collections.defaultdict(dict)
        for k in range(N):
            for line in self.test.home.log(self.jobs[f"worker-{k:04}"]).splitlines():
                if line.startswith("loss "):
                    _, number, loss = line.split()
                    losses[int(number)][k] = float(loss)
        return [sum(v.values()) / len(v) for _, v in sorted(losses.items())]

    def invocations(self):
        """As the functions told of them, with their outcomes; and which function."""
        lines = [line.partition(" ") for name, job in self.jobs.items()
                 if name.startswith("function") for line in self.test.home.log(job).splitlines()]
        told = [{"function": int(number), **json.loads(text)} for number, _, text in lines
                if text.startswith("{") and number.isdigit()]
        return [v for v in told if v.get("kind") == "invoke"]

    def events_again(self):
        """How many events came more than once: a busy machine does not answer all in time."""
        invoked = self.invocations()
        return len(invoked) - len({(v["function"], v["round"], v["worker"]) for v in invoked})

    def token(self):
        """The prefix of this run's objects, by what its first worker was told."""
        shown = self.test.home.json("job", "show", str(self.jobs["worker-0000"]))
        return shown["env"]["TRADEWIND_STORE"].split("/")[4]

    def count(self, kind, which=lambda e: True):
        return sum(e.get("requests", 1) for e in self.events if e["kind"] == kind and which(e))


def check_model(run):
    """B11 and B13: whatever the topology."""
    t, name = run.test, run.name
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
    check(not wrong, f"{run.name}: every worker trains, writes, waits and reads, round by round",
          wrong)
    early = [e for e in run.events if e["kind"] == "get" and "worker" in e and e["end"] < max(
        w["end"] for w in run.events if w["kind"] == "put" and w["round"] == e["round"]
        and "worker" in w)]
    check(not early, f"{run.name}: nobody has a result before all have written", early[:3])


def check_requests(run, parts=1):
    """B5, B6, B9 and equation 5, for all requests of the run: what workers and the invocations that
    averaged asked for, l polls, and what invocations asked for that met another's claim. Workers send
    and read in so many parts: k + 2 requests, and k (A7)."""
    what, n = run.name, run.rounds
    made = {"writes": WRITES[run.topology] + (N * (parts + 1) if parts > 1 else 0),
            "reads": READS[run.topology] + N * (parts - 1), "lists": LISTS[run.topology]}
    invoked = run.invocations()
    outcomes = collections.Counter(v["outcome"] for v in invoked)
    averaged = [v for v in invoked if v["outcome"] == "averaged"]
    # One that sees a claim looks whose it is; one that is too late with its own has tried to write it.
    met = [v for v in invoked if v["outcome"] == "claimed"]
    odd = [v for v in met if (v["reads"], v["writes"]) not in ((1, 0), (1, 1))]
    odd += [v for v in invoked if v["outcome"] in ("waiting", "over") and v["reads"] + v["writes"]]
    check(not odd and not set(outcomes) - {"averaged", "claimed", "waiting", "over", "failed"},
          f"{what}: who does not average asks for a list, and whose the claim is", odd, outcomes)
    check(len(averaged) == n * (1 if run.topology == "central" else R + 1), f"{what}: each mean is made once",
          len(averaged))
    again, wanted = run.events_again(), n * made["lists"]
    if again:
        print(f"# {again} events came again: {dict(outcomes)}")
    check(len(invoked) - again == wanted, f"{what}: an invocation for each upload", len(invoked), again,
          wanted)
    # A read that broke off is read on by another request: the inputs of a mean are not more than that.
    broke_off = sum(v["reads"] - v["inputs"] for v in averaged)
    failed = [v for v in invoked if v["outcome"] == "failed"]
    extra = {k: sum(v[k] for v in met + failed) for k in ("reads", "writes")}
    got = {k: run.report["counts"][k] for k in ("writes", "reads", "lists", "invocations")}
    equation = {"writes": n * made["writes"] + extra["writes"],
                "reads": n * made["reads"] + run.count("poll") + extra["reads"] + broke_off,
                "lists": wanted + again, "invocations": wanted + again}
    check(got == equation, f"{what}: all requests are those of equation 5", got, equation)
    print(f"# {what}: {len(met)} invocations met a claim, {broke_off} reads broke off, "
          f"l = {run.count('poll')}")
    check(run.report["counts"]["failed_polls"] == run.count("poll"), f"{what}: l is counted")
    server = run.test.world.requests(run.token())
    told = {"put": run.count("put"), "list": run.count("list"),
            "get": run.count("get") + run.count("poll")}
    # A claim may be gone when somebody looks whose it is, which the server tells like a poll.
    seen = {"put": server["put"] + server["post"], "list": server["list"], "get": server["get"] + server["poll"]}
    check(seen == told, f"{what}: the server saw the same requests", seen, told)


def check_bytes(run, formula=None):
    """What programs sent across regions, by the network's own counters: the formula's bytes, HTTP's
    headers and polls. What TCP repeats and its headers are not in it: on a busy machine the first are
    many."""
    what, total = run.name, sum(run.crossed.values())
    sent = {e["bytes"] for e in run.events if e["kind"] == "put" and "worker" in e}
    check(formula or len(sent) == 1, f"{what}: gradients are of one size", sent)
    formula = formula or run.rounds * CROSSINGS[run.topology] * max(sent)
    polls = run.count("poll", lambda e: e["from"] != e["to"]) * POLL_BYTES
    check(formula <= total <= 1.02 * formula + polls,
          f"{what}: bytes between regions are those of the formula within 2 %", total / formula)
    print(f"# {what}: {total / formula:.5f} of the formula, polls included")
    check(run.report["counts"]["wan_bytes"] == formula, f"{what}: and so the report has them",
          run.report["counts"], formula)
    aside = {k: v for k, v in run.crossed.items() if HOME_REGION not in k and v}
    check(not aside, f"{what}: nothing goes between the other regions", aside)


def check_data(run):
    """B2: every image has a marker, and the network looks into each packet."""
    home = {r: run.marked[r, r] for r in REGIONS}
    away = {k: v for k, v in run.marked.items() if k[0] != k[1] and v}
    check(all(home.values()) and not away,
          f"{run.name}: every region's data was read there, and no packet of it went elsewhere",
          home, away)


def check_bill(run):
    """Against the bill event by event. A minute of each machine is most of so short a training: each
    part by itself, too, but for what is less than half a micro-dollar: so short a storing turns on
    the moment of each delete, which no phase tells."""
    bill, forecast = run.report["bill"], run.report["forecast"]
    far = {k: abs(forecast[k] - bill[k]) / max(bill[k], 5e-5) for k in bill}
    if run.events_again():
        # Nobody foresees those: what they cost stands in the bill alone.
        far.pop("faas_usd")
        far.pop("requests_usd")
    check(max(far.values()) < 0.01, f"{run.name}: each part of the model, given the times, is "
          "within 1 % of the bill", far, bill, forecast)
    print("#", run.name, *(f"{k[:-4]} {forecast[k]:.9f} of {bill[k]:.9f}," for k in bill))
    phases = run.report["phases"]
    check(abs(sum(phases.values()) - run.report["round_s"]) < 1e-6,
          f"{run.name}: the phases add up to the round", phases)


def check_clean(run):
    check_order(run)
    check_model(run)
    check_requests(run)
    check_bytes(run)
    check_data(run)
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


def test_trouble(t, topology, rounds):
    """A worker killed, an event that comes twice, a store that fails for five seconds."""
    going = t.start(topology, rounds, f"trouble-{topology}")
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
    check_model(run)


def check_losses(run, compression):
    """Compressed, it is not the model of one process (geo-train.t tells how near it comes), but it learns.
    The mean of numbers with their places is the same in all topologies; that of bytes is rounded again
    in each region."""
    got, alone = run.losses(), run.test.losses[run.rounds - 1]
    check(len(got) == run.rounds and got[-1] < max(got) / 2, f"{run.name}: the loss comes down", got)
    print(f"# {run.name}: loss {got[-1]:.4f}, in one process {alone:.4f}")
    if compression == "int8":
        return
    first = run.test.compressed.setdefault(compression, got)
    far = max(abs(x - y) for x, y in zip(first, got))
    check(far < 1e-4 * max(got), f"{run.name}: the losses are those of the other topologies", first, got)


def test_compressed(t, topology, compression, share):
    """A byte instead of four for each number, both ways; or the largest few with their places, of which
    the means of a region and of all have as many as their inputs together, or less. Scales and places
    are written in the files' headers, whose lengths differ by some bytes."""
    going = t.start(topology, ROUNDS, f"{compression.partition(':')[0]}-{topology}",
                    f"compression: {compression}\n")
    run = going.finish()
    m = share * size_of(HIDDEN)
    sent = [e["bytes"] for e in run.events if e["kind"] == "put" and "worker" in e]
    check(1 <= min(sent) / m and max(sent) / m < 1.01, f"{run.name}: a gradient has its share",
          min(sent), max(sent), m)
    check_order(run)
    check_losses(run, compression)
    check_requests(run)
    crossed = sum(e["bytes"] for e in run.events
                  if e["kind"] in ("put", "get") and e["from"] != e["to"])
    formula = run.rounds * CROSSINGS[topology] * m
    if compression == "int8":
        check(formula <= crossed < 1.01 * formula, f"{run.name}: means are as large", crossed, formula)
    else:
        check(formula < crossed < N * formula, f"{run.name}: means have more numbers", crossed, formula)
    check_bytes(run, crossed)
    check_data(run)
    check_bill(run)


def test_connections(t, topology):
    """Gradients of 13 MB go over two connections at once, both ways."""
    hidden, parts = 4096, 2
    run = t.start(topology, 4, f"connections-{topology}", f"connections: {parts}\n", hidden).finish()
    check(size_of(hidden) >= parts * 5 * 2**20, "parts are large enough")
    check_order(run)
    check_requests(run, parts)
    check_bytes(run)
    check_data(run)
    check_bill(run)


def test_long(t, told):
    """For make soak."""
    for topology in ("regional", "fanout"):
        test_trouble(t, topology, MOST)
        told(f"trouble, {topology}")
    for topology in CROSSINGS:
        test_compressed(t, topology, "int8", 1 / 4)
        test_compressed(t, topology, "topk:0.05", 2 * 0.05)
        told(f"compressed, {topology}")
        test_connections(t, topology)
        told(f"connections, {topology}")


def test_all(t, told):
    check_clean(t.start("regional", ROUNDS or 2).finish())
    told("regional")
    if SLOW:
        return
    check_clean(t.start("fanout", ROUNDS or 2).finish())
    told("fanout")
    check_clean(t.start("central", ROUNDS or 3).finish())
    told("central")
    test_trouble(t, "central", MOST)
    told("trouble")
    if ROUNDS:
        test_long(t, told)


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
