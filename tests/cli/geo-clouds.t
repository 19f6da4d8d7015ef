#!/usr/bin/env python3
"""A geo-distributed training on machines of a cloud, against the model of EC2 with machines that really
run: each worker in the region of its site, on the type that the file names, shown with its price, gone
after it. The function runs here; machines of all regions reach it, and a store, through a cable that the
test lays into their network."""

import os
import re
import shutil
import subprocess
import sys

os.environ.setdefault("TRADEWIND", "build/tradewind")
from broker_home import PROGRAM, check, done, scratch_directory
from cloud_home import HERE, CloudHome, why_not

SDK = os.path.join(HERE, "..", "..", "sdk", "python", "tradewind")
ROUNDS = 3
# Sends its rank and the round, and expects the mean of that; saves before it sends, as workers have to.
WORKER = """
import array, os
from tradewind import Worker
env = os.environ
state = env["TRADEWIND_CHECKPOINT"] + "/round"
first = int(open(state).read()) if os.path.exists(state) else 0
rank, ranks = int(env["TRADEWIND_RANK"]), int(env["TRADEWIND_RANKS"])
worker = Worker(round=first)
for number in range(first, int(env["TRADEWIND_ROUNDS"])):
    with open(state, "w") as f:
        f.write(str(number))
    worker.push({"x": array.array("f", [rank + number] * 100)})
    got = worker.pull(timeout=240)["x"][0]
    assert abs(got - (number + (ranks - 1) / 2)) < 1e-5, (number, got)
    print("round", number, "is", got, "at", env["TRADEWIND_LOCATION"], flush=True)
with open(env["TRADEWIND_OUTPUT"] + "/model", "w") as f:
    f.write(str(got))
"""
SPEC = """\
name: far
model: {size: 1kB}
rounds: %d
train: {workdir: code, run: python3 worker.py, seconds: 0.1}
workers:
  - {location: aws/us-east-1, instance_type: m5.xlarge}
  - {location: aws/us-west-2, instance_type: t3.micro}
  - {location: aws/eu-west-1, instance_type: m5.xlarge}
aggregator: {function: aws/us-west-2, store: aws/us-west-2}
topology: central
%s"""
SITES = """sites:
  aws/us-west-2: {address: %s, store: 'dir:%s'}
"""


class Cable:
    """This machine's end of a cable into the network of the model's machines."""

    def __init__(self, home):
        self.keeper = home.ssh_command.split()[2]
        shown = self.inside("ip", "-4", "-o", "addr", "show", "bridge")
        net = re.search(r"inet (\d+\.\d+)\.", shown).group(1)
        self.address = net + ".250.1"
        self.name = "twc%d" % (os.getpid() % 100000)
        for words in (["link", "add", self.name, "type", "veth", "peer", "name", "here", "netns",
                       self.keeper],
                      ["addr", "add", self.address + "/16", "dev", self.name],
                      ["link", "set", self.name, "up"]):
            subprocess.run(["ip", *words], check=True)
        self.inside("ip", "link", "set", "here", "master", "bridge", "up")

    def inside(self, *words):
        return subprocess.run(["nsenter", "--target", self.keeper, "--net", *words], check=True,
                              capture_output=True, text=True).stdout

    def cut(self):
        subprocess.run(["ip", "link", "del", self.name], capture_output=True)


def write_spec(home, sites):
    with open(os.path.join(home.scratch, "far.yaml"), "w") as f:
        f.write(SPEC % (ROUNDS, sites))


def run(home, *words):
    return home.run("geo", "run", "far.yaml", "--on", "aws", "--insecure", *words)


def questions(home, cable, store):
    write_spec(home, "sites:\n  aws/us-west-2: {store: 'dir:%s'}\n" % store)
    asked = run(home)
    check(asked.returncode == 2 and "address: ADDRESS" in asked.stderr,
          "a function that workers cannot reach is refused", asked.stderr)
    write_spec(home, SITES % (cable.address, store))
    asked = run(home)
    lines = [" ".join(line.split()) for line in asked.stdout.splitlines()]
    check(asked.returncode == 2 and
          "worker-0000 aws/us-east-1 on aws m5.xlarge, $0.192 per hour" in lines and
          "worker-0001 aws/us-west-2 on aws t3.micro, $0.0114 per hour" in lines and
          "worker-0002 aws/eu-west-1 on aws m5.xlarge, $0.214 per hour" in lines and
          "function-aws-us-west-2 aws/us-west-2 on local" in lines,
          "each worker has a machine in its region, with its price", asked.stdout, asked.stderr)
    check(home.json("job", "ls") == [] and not home.left(), "nothing was started", home.left())


def train(home):
    got = run(home, "--yes")
    show = home.json("run", "show", "1")
    check(got.returncode == 0 and show["state"] == "finished", "the training runs to its end",
          got.stdout, got.stderr, show)
    for job, place in (2, "aws/us-east-1"), (3, "aws/us-west-2"), (4, "aws/eu-west-1"):
        check(f"round {ROUNDS - 1} is {float(ROUNDS)} at {place}" in home.log(job),
              f"the worker of {place} got the mean of all", home.log(job))
    ran = sorted((m["job"], m["region"], m["instance_type"]) for m in home.machines())
    check(ran == [(2, "us-east-1", "m5.xlarge"), (3, "us-west-2", "t3.micro"),
                  (4, "eu-west-1", "m5.xlarge")],
          "each in its region", ran)
    check("total" in got.stdout and 0 < show["cost_usd"] < 0.1, "with its bill", got.stdout)
    check(home.is_empty(), "nothing is left", home.left())


def main():
    reason = why_not()
    if not reason and not os.path.exists(os.path.join(os.path.dirname(PROGRAM),
                                                      "tradewind-aggregator")):
        reason = "the aggregator is not built here"
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        os.chmod(scratch, 0o755)
        store = os.path.join(scratch, "store")
        os.mkdir(store)
        shutil.copytree(SDK, os.path.join(scratch, "code", "tradewind"))
        with open(os.path.join(scratch, "code", "worker.py"), "w") as f:
            f.write(WORKER)
        with CloudHome(scratch, "home") as home:
            cable = Cable(home)
            try:
                questions(home, cable, store)
                train(home)
            finally:
                cable.cut()
    return done()


sys.exit(main())
