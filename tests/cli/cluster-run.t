#!/usr/bin/env python3
"""Training clusters on hosts behind a real sshd: a parameter server and three workers that train a
real model, the same one as a process alone; the variables of TensorFlow and torch; a worker that is
killed; and a server whose link is narrow: what passes it, and how many workers are worth having."""

import array
import csv
import fcntl
import json
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

from broker_home import PROGRAM, SLOW, Home, check, done, read_process, scratch_directory, until
from ssh_hosts import Hosts, why_not

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PRICE = 3.6
# For tests/soak: what takes minutes, too.
LONG = bool(os.environ.get("TRADEWIND_LONG"))
# The link of the server, each way, and the hidden units, as NARROW has them.
LINK_MBPS = 4
HIDDEN = 128
NARROW = "examples/cluster/narrow.yaml"
WEIGHTS = HIDDEN * 64 + HIDDEN + 10 * HIDDEN + 10
SPEC = """name: d
workdir: code
inputs: {data/seed: 0.001}
batch: 16
server: {type: servers}
workers: {type: lab, max: 3}
types:
  servers: {price: 1, network_mbps: %g}
  lab: {price: 1}
envs: {FLAGS: --help}
run: |
  %s vars.py && exec ./train --seed "$(cat "$TRADEWIND_INPUT/d/data/seed")" --batch 16 $FLAGS
"""
# As a program of TensorFlow or torch reads them.
VARS = """import json, os
names = ("MASTER_ADDR MASTER_PORT RANK WORLD_SIZE LOCAL_RANK NODE_RANK SKYPILOT_NODE_IPS "
         "SKYPILOT_NODE_RANK SKYPILOT_NUM_NODES TRADEWIND_ROLE ROLE TRADEWIND_ELASTIC").split()
print("VARS", json.dumps({**{n: os.environ[n] for n in names},
                          "TF_CONFIG": json.loads(os.environ["TF_CONFIG"])}), flush=True)
"""


class Cluster:
    def __init__(self, scratch):
        self.scratch = scratch
        self.hosts = Hosts(scratch, 4)
        self.home = Home(scratch, idle_s=60)
        self.hosts.use(self.home)
        one = "{{host: {}, cpus: 2, memory: 2, price: {}}}".format
        names = [one(name, PRICE) for name in self.hosts.names]
        with open(os.path.join(self.home.path, "config.yaml"), "w") as f:
            f.write(f"hosts: {{servers: [{names[0]}], lab: [{', '.join(names[1:])}]}}\n"
                    f"limits: {{host_lost_s: {20 if LONG else 300}}}\n")
        self.make_code()

    def make_code(self):
        code = os.path.join(self.scratch, "code")
        flags = ["CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"] if SLOW else []
        subprocess.run(["make", "-s", "-C", f"{ROOT}/examples/cluster", f"OUT={code}", "WERROR=1",
                        *flags], check=True, env={**os.environ, "MAKEFLAGS": ""})
        os.symlink(os.path.abspath(f"{ROOT}/examples"), os.path.join(self.scratch, "examples"))
        for name in ("bin", "data"):
            os.makedirs(os.path.join(self.scratch, name))
        os.symlink(PROGRAM, os.path.join(self.scratch, "bin", "tradewind"))
        for name, text in (("code/vars.py", VARS), ("data/seed", "7\n"),
                           ("d.yaml", SPEC % (2 * LINK_MBPS, "/usr/bin/python3"))):
            with open(os.path.join(self.scratch, name), "w") as f:
                f.write(text)

    def words(self, verb, flags, *more):
        return ("cluster", verb, "d.yaml", "--yes", "--env", f"FLAGS={flags}", *more)

    def on_hosts(self, verb, flags, *more):
        return self.words(verb, flags, "--on", "lab", "--server-on", "servers", *more)

    def narrow(self, verb, *more):
        return ("cluster", verb, NARROW, "--yes", "--on", "lab", "--server-on", "servers", *more)

    def documented(self):
        """Runs what docs/cluster.md shows on hosts: what it prints, and what is printed here. Figures
        may differ; where the home is does."""
        with open(f"{ROOT}/docs/cluster.md") as f:
            blocks = re.findall(r"^```console on hosts\n(.*?)^```$", f.read(), re.M | re.S)
        env = {**self.home.env, "PATH": f"{self.scratch}/bin:{os.environ['PATH']}"}
        there, here = "".join(blocks), ""
        for line in there.splitlines():
            if line.startswith("$ "):
                got = subprocess.run(["bash", "-c", line[2:]], env=env, cwd=self.scratch, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                here += f"{line}\n{got.stdout}"
        here = here.replace(self.home.path, "/home/ann/.tradewind")
        return [re.sub(r"\d[\d.]*", "N", text) for text in (there, here)]

    def alone(self, flags):
        """The weights that a process alone comes to."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("TRADEWIND_")}
        subprocess.run(["code/train", "--seed", "7", "--batch", "16", "--model", "alone",
                        *flags.split()], cwd=self.scratch, env=env, check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(self.scratch, "alone"), "rb") as f:
            return array.array("f", f.read())

    def model(self):
        self.home.good("get", "/d.train/model/weights.f32", "got", "--force")
        for directory, _, files in os.walk(os.path.join(self.scratch, "got")):
            for name in files:
                with open(os.path.join(directory, name), "rb") as f:
                    return array.array("f", f.read())
        return array.array("f")

    def state(self, job):
        """The lines of its state file as (kind, milliseconds, words)."""
        with open(os.path.join(self.home.path, "jobs", str(job), "state")) as f:
            lines = [line.split(" ") for line in f]
        return [(w[1], int(w[0]), dict(x.split("=", 1) for x in w[2:] if "=" in x)) for w in lines]

    def log(self, job):
        try:
            with open(os.path.join(self.home.path, "jobs", str(job), "log")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def limit(self):
        with open(os.path.join(self.hosts.directory, "prefix")) as f:
            prefix = f.read().strip()
        for space, device in ((prefix + "1", "eth0"), (prefix, "h1")):
            subprocess.run(["tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf",
                            "rate", f"{LINK_MBPS}mbit", "burst", "16kb", "latency", "400ms"],
                           check=True)

    def nothing_left(self):
        until(lambda: not self.home.json("machines", "ls") and not self.hosts.processes(), 60)
        return [*self.home.json("machines", "ls"), *self.hosts.processes(),
                *self.hosts.left_there(self.home)]


def farthest(a, b):
    return max(map(lambda x, y: abs(x - y), a, b)) if len(a) == len(b) and a else math.inf


def kill_worker(pids, rank):
    """The training itself, not its shell."""
    for pid in pids:
        if (read_process(pid, "cmdline").startswith(b"./train") and
                f"RANK={rank}".encode() in read_process(pid, "environ").split(b"\0")):
            os.kill(int(pid), signal.SIGKILL)
            return True
    return False


def check_variables(c, out):
    seen = {}
    for line in out.splitlines():
        if " VARS " in line:
            prefix, text = line.split(" VARS ", 1)
            seen[prefix] = json.loads(text)
    check(sorted(seen) == ["[0 server]", "[1 worker]", "[2 worker]", "[3 worker]"],
          "every line of every node stands behind its rank", out)
    nodes = [seen[prefix] for prefix in sorted(seen)]
    ips = nodes[0]["SKYPILOT_NODE_IPS"].split("\n")
    check(ips[0] == "10.77.0.11" and sorted(ips[1:]) == [f"10.77.0.1{k}" for k in (2, 3, 4)],
          "the server is on its own group's host, each worker on one of theirs", ips)
    check(all(n["MASTER_ADDR"] == ips[0] and n["MASTER_PORT"] == nodes[0]["MASTER_PORT"] and
              n["WORLD_SIZE"] == "4" and n["LOCAL_RANK"] == "0" and
              n["RANK"] == n["NODE_RANK"] == n["SKYPILOT_NODE_RANK"] == str(rank) and
              n["SKYPILOT_NUM_NODES"] == "4" for rank, n in enumerate(nodes)),
          "torch finds its master, its rank and the size of the world", nodes)
    check([n["ROLE"] for n in nodes] == ["server", "worker", "worker", "worker"],
          "each knows its role", nodes)
    port = int(nodes[0]["MASTER_PORT"])
    cluster = {"ps": [f"{ips[0]}:{port}"], "worker": [f"{ip}:{port}" for ip in ips[1:]]}
    tasks = [{"type": "ps", "index": 0}, *({"type": "worker", "index": i} for i in range(3))]
    check([n["TF_CONFIG"] for n in nodes] == [{"cluster": cluster, "task": t} for t in tasks],
          "TF_CONFIG is what TensorFlow's parameter server strategy reads", nodes)


def test_run(c):
    flags = "--steps 30 --hidden 32"
    got = c.home.run(*c.on_hosts("run", flags, "--workers", "3"))
    check(got.returncode == 0, "a server and three workers on hosts", got.stdout, got.stderr)
    check_variables(c, got.stdout)
    off = farthest(c.model(), c.alone(flags))
    check(off < 1e-5, "the model is that of one process with all the data, to rounding", off)
    trace = c.home.good("trace", "@d.train")
    check("from @code-code:1 by job 1" in trace and "d.train.input:1" in trace,
          "and known by what it was made from", trace)
    rented = lambda: sum(round(m["cost_usd"] * 1e6) for m in c.home.json("machines", "ls", "--all"))
    cost = lambda: round(c.home.json("run", "show", "1")["cost_usd"] * 1e6)
    # Once they are given back.
    check(until(lambda: not c.home.json("machines", "ls")) and until(lambda: cost() == rented()) and
          cost() >= 4 * PRICE / 3600 * 1e6 / 10, "it costs what its hosts cost", cost(), rented())
    used = c.home.json("job", "show", "2")["usage"]
    check(used["received_mb"] * 1e6 >= 30 * (32 * 64 + 32 + 320 + 10) * 4,
          "what went through a worker's network is told: at least the weights of all steps", used)


def test_measure(c):
    c.limit()
    there, here = c.documented()
    check(there and there == here, "one worker is measured, as the document shows", there, here)
    ran = c.home.json("run", "ls")
    runs, job = len(ran), c.home.json("run", "show", str(ran[0]["run"]))["stages"][0]["job"]
    limits = [c.home.json("job", "show", str(job + rank))["time_limit_s"] for rank in (0, 1)]
    check(limits == [183, 183], "for a bounded time, whoever is there to stop it", limits)
    one = c.home.json(*c.narrow("measure"))
    # Every iteration moves the weights one way and their gradients the other; what TCP, IP and the
    # messages add is a tenth at most.
    per = one["mbps"] / one["per_s"] * 1e6 / 8 / (2 * WEIGHTS * 4)
    check(0.8 < per < 1.3, "its Mbit/s are those of its iterations", one, per)
    again = c.home.good(*c.narrow("measure"))
    check("Measured before" in again and len(c.home.json("run", "ls")) == runs and
          one["run"] is None, "and not twice", again, one)
    answer = c.home.json("cluster", "recommend", NARROW, "--algorithm", "scala-opt")
    knee = min(3, math.floor(0.95 * 2 * LINK_MBPS / one["mbps"]))
    check(answer["workers"] == knee, "scala-opt stops at the knee of the measured curve",
          answer["workers"], knee, one)
    return one


def test_narrow(c, one):
    """With three workers the link is what there is of it, and no byte is missing."""
    steps = 36
    got = c.home.run(*c.narrow("run", "--env", f"STEPS={steps}", "--workers", "3", "--json"))
    check(got.returncode == 0, "three workers behind a narrow link", got.stdout, got.stderr)
    server = json.loads(got.stdout.splitlines()[-1])["stages"][0]["job"]
    lines = c.state(server)
    end = lines[-1][2]
    for way in ("received", "sent"):
        # What each worker was at when the last step was done is on its way, too.
        share = int(end[way]) / (WEIGHTS * 4)
        check(0.99 * steps < share < 1.25 * (steps + 3), f"every byte of {steps} steps was {way}",
              share)
    samples = [(at / 1000, int(w["sent"])) for kind, at, w in lines if kind == "sample"]
    mbps = [(b[1] - a[1]) * 8e-6 / (b[0] - a[0]) for a, b in zip(samples, samples[2:])]
    check(mbps and max(mbps) < 1.25 * LINK_MBPS, "but no more than the link takes at a time", mbps)
    with open(os.path.join(c.home.path, "measured.csv")) as f:
        rows = [row for row in csv.DictReader(f) if row["workers"] == "3"]
    check(len(rows) == 1, "what it did is written down for the next recommendation", rows)
    print(f"# one worker {one['mbps']:.2f} Mbit/s; of three {float(rows[0]['mbps']):.2f} each; "
          f"{2 * LINK_MBPS} in all")


def test_killed_elastic(c):
    flags = "--steps 24 --hidden 32 --report 1"
    got = c.home.run(*c.on_hosts("run", flags + " --pace 100", "--workers", "3", "--elastic",
                                 "--detach", "--json"))
    run = str(json.loads(got.stdout)["run"])
    first = lambda: c.home.json("run", "show", run)["stages"][0]["job"] or 0
    check(until(first), "an elastic cluster", got.stdout, got.stderr)
    job = first()
    check(until(lambda: "iterations 3 " in c.log(job + 3)), "whose workers work")
    check(until(lambda: kill_worker([p.split()[0] for p in c.hosts.processes()], 3)),
          "one of which is killed")
    got = c.home.run("run", "show", run, "--follow")
    check(got.returncode == 0 and "continued without 1 of its workers; rank 3: ended by signal 9"
          in got.stdout, "goes on without it", got.stdout, got.stderr)
    check("worker 2 is lost, 2 left" in c.log(job), "and says so", c.log(job))
    off = farthest(c.model(), c.alone(flags))
    check(off < 1e-5, "and comes to the same model", off)


def test_curve(c, one):
    """Long: one, two and three workers move what each wants, until the link is full."""
    for n in (1, 2, 3):
        got = c.home.run(*c.narrow("run", "--env", f"STEPS={100 * n}", "--workers", str(n),
                                   "--no-cache"))
        check(got.returncode == 0, f"{n} workers for longer", got.stdout, got.stderr)
        with open(os.path.join(c.home.path, "measured.csv")) as f:
            each = [float(r["mbps"]) for r in csv.DictReader(f) if r["workers"] == str(n)][-1]
        wanted = min(n * one["mbps"], 2 * LINK_MBPS)
        check(0.75 * wanted < n * each < 1.1 * wanted, "move what the model of throughput says",
              n * each, wanted)


def test_lost_host(c):
    """Long: a whole host goes, without a word, and the others go on."""
    flags = "--steps 60 --hidden 32 --report 1"
    got = c.home.run(*c.on_hosts("run", flags + " --pace 100 --timeout 5", "--workers", "3",
                                 "--elastic", "--detach", "--json"))
    run = str(json.loads(got.stdout)["run"])
    first = lambda: c.home.json("run", "show", run)["stages"][0]["job"] or 0
    check(until(first), "an elastic cluster", got.stdout, got.stderr)
    job = first()
    check(until(lambda: "iterations 3 " in c.log(job + 3)), "whose workers work")
    machine = c.home.json("job", "show", str(job + 3))["machine"]
    c.hosts.cut_off(c.hosts.names.index(machine) + 1)
    check(until(lambda: c.home.json("run", "show", run)["state"] != "running", 600),
          "one of whose hosts falls dead")
    shown = c.home.json("run", "show", run)
    check(shown["state"] == "finished" and "rank 3" in shown["stages"][0]["reason"],
          "goes on without it", shown)
    off = farthest(c.model(), c.alone(flags))
    check(off < 1e-5, "and comes to the same model", off)


def shows_nodes(c, run):
    """Of a run on a terminal: whether CPU, memory and network of each node stand below its logs."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    watcher = subprocess.Popen([PROGRAM, "run", "show", run, "--follow"], stdin=end, stdout=end,
                               stderr=end, cwd=c.scratch, env={**c.home.env, "TERM": "xterm"})
    os.close(end)
    node = r"%d %s +[\d.]+ CPU +\d+ MB +[\d.]+ Mbit/s in +[\d.]+ out"
    seen = []

    def is_there():
        seen.append(os.read(terminal, 65536).decode(errors="replace"))
        return all(re.search(node % who, "".join(seen))
                   for who in ((0, "server"), (1, "worker"), (2, "worker")))
    good = until(is_there)
    watcher.kill()
    watcher.wait()
    os.close(terminal)
    return good or "".join(seen)[-2000:]


def test_killed(c):
    port = subprocess.run(["python3", "-c", "import socket; s = socket.socket(); "
                           "s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"],
                          capture_output=True, text=True).stdout.strip()
    got = c.home.run(*c.words("run", "--steps 100000 --hidden 32 --report 1 --pace 100",
                              "--workers", "2", "--detach", "--json", "--env",
                              f"MASTER_PORT={port}"))
    run = str(json.loads(got.stdout)["run"])
    first = lambda: c.home.json("run", "show", run)["stages"][0]["job"] or 0
    check(until(first), "a cluster on this machine", got.stdout, got.stderr)
    job = first()
    check(until(lambda: "iterations 3 " in c.log(job + 2)), "whose workers work", c.log(job))
    variables = json.loads(c.log(job + 1).split("VARS ", 1)[1].splitlines()[0])
    check(variables["TF_CONFIG"]["cluster"] == {
        "ps": [f"127.0.0.1:{port}"],
        "worker": [f"127.0.0.1:{int(port) + 1}", f"127.0.0.1:{int(port) + 2}"]},
          "on one machine each has a port of its own", variables)
    shown = shows_nodes(c, run)
    check(shown is True, "what the machine of each node does is shown while they work", shown)
    check(until(lambda: kill_worker(c.home.processes(), 2)), "one of which is killed")
    got = c.home.run("run", "show", run, "--follow")
    states = [c.home.state(job + rank) for rank in range(3)]
    check(got.returncode == 1 and "failed" in states and "finished" not in states,
          "ends all of it", got.stdout, states)


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        c = Cluster(scratch)
        try:
            test_run(c)
            test_killed_elastic(c)
            test_killed(c)
            one = test_measure(c)
            test_narrow(c, one)
            if LONG:
                test_curve(c, one)
            left = c.nothing_left()
            check(not left, "nothing is left on the hosts", left)
            if LONG:
                test_lost_host(c)
        finally:
            c.home.end_everything()
            c.hosts.stop(c.home)
    return done()


if __name__ == "__main__":
    sys.exit(main())
