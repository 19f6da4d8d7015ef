"""A home whose cloud is the model of EC2, with instances that are machines (tests/servers/ec2), and
what both sides say of them afterwards."""

import contextlib
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from broker_home import FINAL, Home, until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
import instances

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers", "ec2")
KEY, SECRET = "AKIDMODEL", "model/secret+key"
# Of one machine per hour, by region and market; the types are the same in both regions.
HEAD = ("# date: 2026-11-01\ncloud,region,zone,instance_type,vcpus,memory_gib,accelerator,"
        "accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n")
EAST, WEST = 0.36, 0.72
OFFERS = f"aws,us-east-1,,m5.xlarge,4,16,,,10,{EAST},,\naws,us-west-2,,m5.xlarge,4,16,,,10,{WEST},,\n"
SPOT = ("aws,us-east-1,,m5.xlarge,4,16,,,10,3.6,0.36,0.01\n"
        "aws,us-west-2,,m5.xlarge,4,16,,,10,7.2,0.72,0.01\n")
# What instances of a test may be asked to keep up with: a second of EC2's is one of ours.
SETTINGS = {"hosts": True, "boot_s": 0.3, "delete_s": 0.3, "reclaim_s": 8}


def why_not():
    return instances.why_not()


def stage(name, script, **more):
    """Of a pipeline file; the members of more are YAML."""
    lines = [f"name: {name}", *(f"{k}: {v}" for k, v in more.items()), "run: |"]
    if "estimate" not in more:
        lines.insert(1, "estimate: {seconds: 30}")
    return "\n".join(lines + ["  " + line for line in script.split("\n")]) + "\n"


class CloudHome(Home):
    def __init__(self, scratch, name="home", offers=OFFERS, limits="", plan="", idle_s=60,
                 **settings):
        super().__init__(scratch, name, idle_s)
        self.serve(**settings)
        self.runtime = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
        for variable in list(self.env):
            if variable.startswith(("AWS_", "GOOGLE_", "AZURE_", "ARM_")):
                del self.env[variable]
        self.env.update(
            XDG_RUNTIME_DIR=self.runtime, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true", AWS_ENDPOINT_URL=self.url,
            TRADEWIND_SSH=f"{self.ssh} -o ServerAliveInterval=1 -o ConnectTimeout=2",
        )
        os.makedirs(self.path, exist_ok=True)
        self.configure(limits, plan)
        prices = os.path.join(scratch, name + "-offers.csv")
        with open(prices, "w") as f:
            f.write(HEAD + offers)
        self.good("catalog", "import", prices)

    # ---- the model ----

    def serve(self, **settings):
        self.server = subprocess.Popen(
            ["/usr/bin/python3", SERVER, "--settings", json.dumps({**SETTINGS, **settings})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.server.stdout.readline().strip().split("=", 1)[1]
        self.ssh = self.server.stdout.readline().strip().split("'")[1]

    def configure(self, limits, plan=""):
        with open(os.path.join(self.path, "config.yaml"), "w") as f:
            f.write("admit: 192.0.2.0/24\nlimits: {" + limits + "}\nplan: {" + plan + "}\n")

    def model(self):
        with urllib.request.urlopen(self.url + "/control") as answer:
            return json.load(answer)

    def instances(self):
        return [t for t in self.model()["things"] if t["kind"] == "instance"]

    def alive(self):
        return [t for t in self.instances() if t["ended"] is None]

    def do(self, **what):
        urllib.request.urlopen(self.url + "/control/do", json.dumps(what).encode()).read()

    def set(self, **settings):
        self.do(settings=settings)

    # ---- runs ----

    def write(self, name, *stages):
        path = f"{self.path}-{name}.yaml"
        with open(path, "w") as f:
            f.write(f"name: {name}\n---\n" + "---\n".join(stages) if len(stages) > 1 else stages[0])
        return path

    def start(self, name, *stages, options=()):
        """Detached; the number of the run."""
        got = self.run("run", self.write(name, *stages), "--on", "aws", "--yes", "--detach", *options)
        found = [line.split()[1] for line in got.stdout.splitlines() if line.startswith("run ")]
        if got.returncode != 0 or not found:
            raise RuntimeError(f"run {name}: {got.returncode}: {got.stdout} {got.stderr}")
        return found[0].strip(":,")

    def show(self, run):
        return self.json("run", "show", run)

    def over(self, run):
        """Its state once it is over."""
        until(lambda: self.show(run)["state"] != "running")
        return self.show(run)["state"]

    def stage_job(self, run, at=0):
        return self.show(run)["stages"][at]["job"]

    def reasons(self, job):
        """What its record says it went through."""
        return [t["reason"] for t in self.json("job", "show", str(job))["transitions"] if t["reason"]]

    def refusals(self):
        """Location, zone, type, spot, failure and scope (of cloud.h), and text of each."""
        path = os.path.join(self.path, "machines.db")
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as db:
            return db.execute("SELECT region, zone, instance_type, spot, failure, scope, text, at, took_s"
                              " FROM refusal ORDER BY at").fetchall()

    # ---- money ----

    def records(self):
        return self.json("machines", "ls", "--all")

    def cost_of_records(self):
        return sum(round(m["cost_usd"] * 1e6) for m in self.records())

    def cost_by_model(self, prices):
        """Of every instance from its launch to its end, as EC2 tells both: in whole seconds. prices:
        dollars per hour by region and spot."""
        return sum(round(prices[t["zone"][:-1], t["spot"]] * 1e6 / 3600
                         * (math.floor(t["ended"]) - math.floor(t["made"])))
                   for t in self.instances())

    # ---- the end ----

    def nothing_bills(self):
        """What still bills, by the model and by the records, once there was time to end it."""
        def bills():
            return [t["id"] for t in self.alive()] + self.json("machines", "ls")

        until(lambda: not bills(), 60)
        return bills()

    def clean_up(self):
        """What `machines cleanup` leaves in the cloud and fails to do, "" = all is well."""
        self.stop_broker()
        for turn in "first", "second":
            got = self.run("machines", "cleanup", "--yes")
            if got.returncode != 0:
                return f"the {turn} cleanup: {got.returncode} {got.stdout} {got.stderr}"
        return "" if not self.model()["left"] else f"left: {self.model()['left']}"

    def twins(self):
        return self.model()["twins"]

    def end(self):
        self.end_everything()
        self.server.stdin.close()
        self.server.wait()
        shutil.rmtree(self.runtime, ignore_errors=True)


@contextlib.contextmanager
def cloud(scratch, name="home", **more):
    home = CloudHome(scratch, name, **more)
    try:
        yield home
    finally:
        home.end()


# ---- whatever befell a run ----

ON_DEMAND = {("us-east-1", False): EAST, ("us-west-2", False): WEST}


def wake(home):
    """As the next command does."""
    home.run("run", "ls")


def trouble(home, run, good="finished"):
    """What is not as it should be once it is over, as text."""
    def over():
        wake(home)
        return home.show(run)["state"] != "running"

    if not until(over):
        return f"not over: {home.show(run)}"
    shown = home.show(run)
    if shown["state"] != good:
        return f"{shown['state']}, not {good}: {shown}"
    for _ in range(200):
        if not home.json("machines", "ls"):
            break
        wake(home)
        time.sleep(0.1)
    if left := home.clean_up():
        return left
    if alive := home.alive():
        return f"alive: {alive}"
    if home.twins():
        return f"{home.twins()} twins"
    cost, by_model = home.cost_of_records(), home.cost_by_model(ON_DEMAND)
    if cost != by_model:
        return f"costs {cost}, and {by_model} by the cloud: {home.records()} {home.instances()}"
    of_run = round(home.show(run)["cost_usd"] * 1e6)
    if of_run != cost:
        return f"the run costs {of_run}, its machines {cost}: {home.show(run)} {home.records()}"
    return home.fsck()


def in_state(home, run, state):
    def reached():
        job = home.show(run)["stages"][0]["job"]
        return job and (home.state(job) == state or home.state(job) in FINAL)
    return until(reached)


MOMENTS = {
    "launching": lambda home, run: until(lambda: home.model()["calls"].get("RunInstances")),
    "booting": lambda home, run: until(home.alive),
    "fetching": lambda home, run: in_state(home, run, "fetching"),
    "running": lambda home, run: in_state(home, run, "running"),
    "storing": lambda home, run: in_state(home, run, "storing"),
    "terminating": lambda home, run: until(lambda: home.model()["calls"].get("TerminateInstances")),
}
