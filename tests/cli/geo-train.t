#!/usr/bin/env python3
"""Workers in C and in Python train one model through a store and the aggregator, and find what one
process finds alone: over a directory, and over a real S3 server that fails for a while, with workers and
aggregator killed and started again."""
import array
import collections
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from aggregator import *  # noqa: E402,F403

DATA = "/usr/share/datasets/fashion-mnist"
SERVERS = ROOT / "tests/servers"
N, BATCH = 4, 8

if not PROGRAM.exists():
    skip_all(f"{PROGRAM} is not built")
if not os.path.exists(f"{DATA}/train-images-idx3-ubyte.gz"):
    skip_all("dataset-fashion-mnist is not installed")


def prepare(scratch):
    """The example in C, and a shard for each worker."""
    sdk = scratch.path / "sdk"
    sdk.mkdir()
    (sdk / "tradewind_worker.h").symlink_to(ROOT / "sdk/c/tradewind_worker.h")
    (sdk / "libtradewind-worker.a").symlink_to(PROGRAM.with_name("libtradewind-worker.a"))
    flags = "-O1 -fsanitize=address,undefined" if SLOW else "-O2"
    subprocess.run(["make", "-s", "-C", ROOT / "examples/geo", f"OUT={scratch.path}",
                    f"TRADEWIND_SDK={sdk}", f"CFLAGS={flags} -Werror"], check=True)
    subprocess.run([sys.executable, ROOT / "examples/geo/shards.py",
                    f"{DATA}/train-images-idx3-ubyte.gz", f"{DATA}/train-labels-idx1-ubyte.gz",
                    scratch.path / "shards", str(N), "40"], check=True)


def shard(scratch, k):
    base = scratch.path / f"shards/shard-{k}"
    return ["--images", f"{base}-images", "--labels", f"{base}-labels"]


def model_of(path):
    a = array.array("f")
    a.frombytes(path.read_bytes())
    return a


def distance(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) > 0 else float("inf")


def losses(text):
    """Of each round, the last that was told: one that was killed tells it twice."""
    return {int(r): float(v) for r, v in re.findall(r"^round (\d+) loss (\S+)$", text, re.M)}


def alone(scratch, rounds, name):
    out = scratch.path / f"alone-{name}.f32"
    text = subprocess.run([scratch.path / "train", "--alone", *sum((shard(scratch, k) for k in range(N)), []),
                           "--rounds", str(rounds), "--batch", str(BATCH), "--out", out],
                          check=True, capture_output=True, text=True).stdout
    return model_of(out), losses(text)


class Training:
    """Workers 0 and 2 are C programs, 1 and 3 Python's."""

    def __init__(self, scratch, name, env, rounds, *more):
        self.scratch, self.name, self.env, self.rounds, self.more = scratch, name, env, rounds, more
        self.processes = [self.start(k) for k in range(N)]

    def path(self, k, end):
        return self.scratch.path / f"{self.name}-{k}.{end}"

    def start(self, k):
        program = ([self.scratch.path / "train"] if k % 2 == 0 else
                   [sys.executable, ROOT / "examples/geo/train.py"])
        env = {**self.env, "TRADEWIND_WORKER": str(k), "TRADEWIND_WORKERS": str(N),
               "PYTHONPATH": str(ROOT / "sdk/python"), "PYTHONDONTWRITEBYTECODE": "1",
               "TRADEWIND_POLL_S": "0.05", "TRADEWIND_CHECKPOINT": str(self.path(k, "kept"))}
        self.path(k, "kept").mkdir(exist_ok=True)
        return self.scratch.start(
            [*program, *shard(self.scratch, k), "--rounds", self.rounds, "--batch", BATCH,
             "--out", self.path(k, "f32"), "--state", self.path(k, "state"), *self.more], env,
            stdout=open(self.path(k, "out"), "a"), stderr=open(self.path(k, "err"), "a"))

    def round(self, k):
        return max(losses(self.path(k, "out").read_text()), default=-1)

    def kill(self, k):
        self.processes[k].send_signal(signal.SIGKILL)
        self.processes[k].wait()
        self.processes[k] = self.start(k)

    def finish(self):
        codes = []
        for k, p in enumerate(self.processes):
            try:
                codes.append(p.wait(PATIENCE_S))
            except subprocess.TimeoutExpired:
                codes.append("late")
            if codes[-1] != 0:
                print("# " + self.path(k, "err").read_text()[-1000:].replace("\n", "\n# "))
        return codes

    def check(self, wanted, wanted_losses):
        equal(self.finish(), [0] * N, f"{self.name}: all workers end well")
        models = [model_of(self.path(k, "f32")) if self.path(k, "f32").exists() else [] for k in range(N)]
        check(all(m == models[0] for m in models) and len(models[0]) == 7850,
              "all have the same model, bit by bit")
        far = distance(models[0], wanted)
        check(far < 1e-6, f"B11: it is what one process finds alone: {far:.1e} apart")
        told = [losses(self.path(k, "out").read_text()) for k in range(N)]
        far = max((abs(sum(t.get(r, 9) for t in told) / N - v) for r, v in wanted_losses.items()))
        check(far < 1e-6, f"and so is the loss of each of {len(wanted_losses)} rounds: {far:.1e} apart")


def tally(scratch, log, name):
    """Invocations, and what they asked for; what workers did."""
    functions, workers = collections.Counter(), collections.Counter()
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "invoke":
            functions["invocations"] += 1
            functions[event["outcome"]] += 1
            for field in ("lists", "reads", "writes"):
                functions[field] += event[field]
            if event["outcome"] == "averaged":
                functions["averaged_reads"] += event["reads"]
        else:
            workers[event["kind"]] += 1
    return functions, workers


def check_directory(scratch):
    rounds = 3
    store, log = scratch.path / "store", scratch.path / "log"
    env = {"TRADEWIND_STORE": f"dir:{store}", "TRADEWIND_EVENT_LOG": str(log)}
    _, port = scratch.server(**env, TRADEWIND_WORKERS=str(N))
    wanted, wanted_losses = alone(scratch, rounds, "directory")
    Training(scratch, "directory", {**env, "TRADEWIND_EVENT_URL": f"http://127.0.0.1:{port}/"},
             rounds).check(wanted, wanted_losses)
    f, w = tally(scratch, log, "directory")
    equal((f["invocations"], f["averaged"], f["lists"], f["averaged_reads"]),
          (N * rounds, rounds, N * rounds, N * rounds), "B5, B6: n invocations and lists, one average a round")
    # Who finds another's claim reads it; who claims at the same moment writes in vain.
    # Who claims when all is over finds the inputs gone.
    late, lost = f["claimed"] + f["over"], f["writes"] - 2 * rounds
    extra = f["reads"] - f["averaged_reads"]
    check(f["claimed"] <= extra <= f["claimed"] + N * f["over"] and 0 <= lost <= late,
          f"and claim and mean are written: {f['writes']} writes, {f['claimed']} came while another averaged")
    equal((w["put"], w["get"]), (N * rounds, N * rounds), "B9: n writes and n + l reads of workers")
    counts = sum((re.findall(r"^writes (\d+) reads (\d+) polls (\d+)$",
                             (scratch.path / f"directory-{k}.out").read_text(), re.M) for k in range(N)), [])
    equal([sum(int(c[i]) for c in counts) for i in range(3)], [w["put"], w["get"], w["poll"]],
          "as they counted themselves")
    equal(objects(store), [f"round-{rounds - 1:06d}/mean"], "B8: the last mean is left")


def check_modes(scratch):
    """B4: one step of each worker, shared as gradients or as models."""
    found = []
    for mode in ("gradient", "model"):
        store = scratch.path / f"mode-{mode}"
        _, port = scratch.server(TRADEWIND_STORE=f"dir:{store}", TRADEWIND_WORKERS=str(N))
        t = Training(scratch, mode, {"TRADEWIND_STORE": f"dir:{store}",
                                     "TRADEWIND_EVENT_URL": f"http://127.0.0.1:{port}/"}, 1, "--mode", mode)
        t.finish()
        found.append(model_of(t.path(0, "f32")))
    far = distance(*found)
    check(far < 1e-6, f"B4: gradients and models give the same weights: {far:.1e} apart")


def check_compressed(scratch):
    """int8 is near what one process finds; topk with its error feedback comes down as well. A worker that
    is killed goes on with what it had left out: bit by bit the model of the run without trouble."""
    rounds = 8
    _, alone_losses = alone(scratch, rounds, "compressed")
    for compression, share, near in (("int8", 0.3, 0.01), ("topk:0.05", 0.15, 0.4)):
        models = []
        for name in ("calm", "killed") if compression != "int8" else ("killed",):
            name = compression.partition(":")[0] + "-" + name
            store, log = scratch.path / name, scratch.path / f"{name}.log"
            _, port = scratch.server(TRADEWIND_STORE=f"dir:{store}", TRADEWIND_WORKERS=str(N),
                                     TRADEWIND_EVENT_LOG=str(log))
            t = Training(scratch, name, {
                "TRADEWIND_STORE": f"dir:{store}", "TRADEWIND_EVENT_URL": f"http://127.0.0.1:{port}/",
                "TRADEWIND_COMPRESSION": compression, "TRADEWIND_EVENT_LOG": str(log)}, rounds,
                *(("--sleep", "0.03") if name.endswith("killed") else ()))
            for k in (0, 1) if name.endswith("killed") else ():
                wait_for(lambda: t.round(k) >= 3, "round 3")
                t.kill(k)
            equal(t.finish(), [0] * N, f"{name}: all workers end well")
            models.append([t.path(k, "f32").read_bytes() for k in range(N)])
            f, _ = tally(scratch, log, name)
            equal((f["averaged"], f["averaged_reads"]), (rounds, N * rounds),
                  f"{name}: each input is read by one request")
        check(all(m == models[0][0] for m in sum(models, [])),
              f"{compression}: one model, workers killed or not")
        sent = [json.loads(line)["bytes"] for line in log.read_text().splitlines() if '"put"' in line]
        check(max(sent) < share * 4 * 7850, f"{compression}: sends less: {max(sent)} bytes of {4 * 7850}")
        told = [losses(t.path(k, "out").read_text()) for k in range(N)]
        loss = sum(v[rounds - 1] for v in told) / N
        wanted = alone_losses[rounds - 1]
        check(abs(loss - wanted) < near and loss < alone_losses[0] - 0.2,
              f"{compression}: the loss comes down to {loss:.4f}, alone to {wanted:.4f}")


class Forgetful:
    """Passes events on to an aggregator, and answers the first of each as one that died meanwhile."""

    def __init__(self, port):
        seen = self.seen = collections.Counter()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                key = json.loads(body)["Records"][0]["s3"]["object"]["key"]
                status, _, _ = post(port, body)
                seen[key] += 1
                self.send_response(503 if seen[key] == 1 else status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def check_not_taken(scratch):
    """An event is told until it is taken, also when the mean is there: who died may have left something
    that is to be deleted."""
    rounds, store = 2, scratch.path / "forgetful"
    _, port = scratch.server(TRADEWIND_STORE=f"dir:{store}", TRADEWIND_WORKERS=str(N))
    between = Forgetful(port)
    t = Training(scratch, "forgetful", {"TRADEWIND_STORE": f"dir:{store}",
                                        "TRADEWIND_EVENT_URL": between.url}, rounds)
    equal(t.finish(), [0] * N, "forgetful: all workers end well")
    equal(sorted(between.seen.values()), [2] * N * rounds, "each event comes until it is taken")
    equal(objects(store), [f"round-{rounds - 1:06d}/mean"], "and the last mean is left")


def check_s3(scratch):
    rounds = 6
    s3 = scratch.path / "s3"
    text = subprocess.run([SERVERS / "s3", "start", s3], capture_output=True, text=True).stdout
    try:
        settings = dict(line.split("=", 1) for line in text.split())
        if not check("S3_PORT" in settings, "the S3 server starts"):
            return
        proxy = scratch.start([SERVERS / "faulty-proxy", f"127.0.0.1:{settings['S3_PORT']}"], {},
                              stdout=subprocess.PIPE, text=True)
        endpoint = proxy.stdout.readline().strip().split("=", 1)[1]
        check_parts(endpoint, settings)
        train_over_s3(scratch, rounds, endpoint, settings)
        if shutil.which("aws"):
            train_by_events(scratch, 2, endpoint, settings)
    finally:
        subprocess.run([SERVERS / "s3", "stop", s3])


def check_parts(endpoint, settings):
    """Uploads and downloads of Python's workers in parts: k + 2 requests, and k."""
    program = """
import sys
from tradewind.store import PART_LEAST, open_store
open_store("s3://parts", sys.argv[1], "us-east-1").put("", b"")
store = open_store("s3://parts/a b", sys.argv[1], "us-east-1")
data = bytes(range(256)) * (3 * PART_LEAST // 256) + b"more"
print(store.send("k", data, 8), store.send("k", data, 2), store.send("k", data))
for about in (len(data), 2 * len(data), len(data) - PART_LEAST, 0):
    got, requests = store.fetch("k", 8, about)
    print(requests if got == data else "wrong", end=" ")
print(store.fetch("none", 8, len(data)))
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "sdk/python"),
           "AWS_ACCESS_KEY_ID": settings["S3_KEY_ID"], "AWS_SECRET_ACCESS_KEY": settings["S3_SECRET"]}
    p = subprocess.run([sys.executable, "-c", program, endpoint], env=env, capture_output=True, text=True)
    equal(p.stdout.split("\n")[:2], ["5 4 1", "3 6 2 1 (None, 1)"], f"parts of 5 MiB at once {p.stderr[-300:]}")


def check_left(endpoint, keys, wanted):
    """An aggregator that was killed while it cleaned up does so when its event is delivered again, as
    workers do until it is taken."""
    text = subprocess.run(["aws", "--endpoint-url", endpoint, "s3", "ls", "--recursive", "s3://rounds/job/"],
                          env=keys, capture_output=True, text=True).stdout
    equal(text.split()[3::4], wanted, "the last mean is left")


def train_over_s3(scratch, rounds, endpoint, settings):
    def spoil(query):
        urllib.request.urlopen(f"{endpoint}/_fault?{query}").read()

    log = scratch.path / "s3-log"
    env = {"TRADEWIND_STORE": "s3://rounds/job/a", "TRADEWIND_STORE_ENDPOINT": endpoint,
           "AWS_ACCESS_KEY_ID": settings["S3_KEY_ID"], "AWS_SECRET_ACCESS_KEY": settings["S3_SECRET"],
           "AWS_DEFAULT_REGION": "us-east-1", "TRADEWIND_EVENT_LOG": str(log)}
    keys = {**os.environ, **{k: v for k, v in env.items() if k.startswith("AWS_")}}
    program = PROGRAM.with_name("tradewind")
    made = subprocess.run([program, "init", "--store", "s3://rounds/lake", "--endpoint", endpoint],
                          env={**keys, "TRADEWIND_HOME": str(scratch.path / "home")},
                          capture_output=True, text=True)
    check(made.returncode == 0, f"a bucket {made.stderr}")
    server, port = scratch.server(**env, TRADEWIND_WORKERS=str(N), TRADEWIND_LEASE_S="2")
    wanted, wanted_losses = alone(scratch, rounds, "s3")
    t = Training(scratch, "s3", {**env, "TRADEWIND_EVENT_URL": f"http://127.0.0.1:{port}/"}, rounds,
                 "--sleep", "0.2")
    wait_for(lambda: t.round(0) >= 1, "the second round")
    spoil("kind=busy")
    time.sleep(5)
    spoil("kind=none")
    check(True, "the store fails for 5 s")
    wait_for(lambda: t.round(0) >= 3, "the fourth round")
    t.kill(0)
    t.kill(1)
    server.kill()
    server.wait()
    scratch.server(**env, TRADEWIND_WORKERS=str(N), TRADEWIND_LEASE_S="2", PORT=str(port))
    check(True, "a worker of each kind and the aggregator are killed, and start again")
    t.check(wanted, wanted_losses)
    f, _ = tally(scratch, log, "s3")
    check(f["averaged"] <= rounds, f"no round is averaged twice: {f['averaged']} of {rounds}")
    if shutil.which("aws"):
        check_left(endpoint, keys, [f"job/a/round-{rounds - 1:06d}/mean"])


def train_by_events(scratch, rounds, endpoint, settings):
    """The store itself tells the aggregator of inputs, and of nothing else; a proxy counts requests."""
    log = scratch.path / "events-log"
    env = {"TRADEWIND_STORE": "s3://events/job", "TRADEWIND_STORE_ENDPOINT": endpoint,
           "AWS_ACCESS_KEY_ID": settings["S3_KEY_ID"], "AWS_SECRET_ACCESS_KEY": settings["S3_SECRET"],
           "AWS_DEFAULT_REGION": "us-east-1", "TRADEWIND_EVENT_LOG": str(log)}

    def aws(*command):
        p = subprocess.run(["aws", "--endpoint-url", settings["S3_ENDPOINT"], *command],
                           env={**os.environ, **env}, capture_output=True, text=True)
        return p.stdout if check(p.returncode == 0, f"aws {command[0]} {command[1]} {p.stderr}") else "{}"

    _, port = scratch.server(**env, TRADEWIND_WORKERS=str(N))
    aws("s3", "mb", "s3://events")
    topic = json.loads(aws("sns", "create-topic", "--name", "inputs", "--attributes",
                           json.dumps({"push-endpoint": f"http://127.0.0.1:{port}/"}))).get("TopicArn")
    aws("s3api", "put-bucket-notification-configuration", "--bucket", "events",
        "--notification-configuration", json.dumps({"TopicConfigurations": [{
            "Id": "inputs", "TopicArn": topic, "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": ".safetensors"}]}}}]}))
    wanted, wanted_losses = alone(scratch, rounds, "events")
    urllib.request.urlopen(f"{endpoint}/_log").read()
    Training(scratch, "events", env, rounds).check(wanted, wanted_losses)
    seen = collections.Counter(urllib.request.urlopen(f"{endpoint}/_log").read().decode().splitlines())
    f, w = tally(scratch, log, "events")
    equal((f["invocations"], f["averaged"]), (N * rounds, rounds),
          "B5: the store calls the aggregator n times a round")
    equal(seen["PUT 200"], (N + 2) * rounds, "n + 1 writes a round, and the claim")
    gets = sum(n for line, n in seen.items() if line.startswith("GET"))
    # (5): n lists, 2 n + l reads; and what events that collide look at
    wanted_gets = 3 * N * rounds + w["poll"] + f["reads"] - f["averaged_reads"]
    equal(gets, wanted_gets, f"n lists and 2n + l reads, l = {w['poll']}; {f['claimed']} events collided")


with Scratch() as scratch:
    prepare(scratch)
    check_directory(scratch)
    check_modes(scratch)
    check_compressed(scratch)
    check_not_taken(scratch)
    if subprocess.run([SERVERS / "s3", "have"], capture_output=True).returncode == 0:
        check_s3(scratch)
    else:
        print("# no S3 server is installed")
done_testing()
