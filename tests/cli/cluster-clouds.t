#!/usr/bin/env python3
"""A training cluster on machines of a cloud, against the model of EC2 with machines that really run: a
server and workers of different types in one region, shown with their price, moved together when one of
them is refused, and gone after it. The training is that of examples/cluster."""

import os
import shutil
import sys

os.environ.setdefault("TRADEWIND", "build/tradewind")
from broker_home import check, done, scratch_directory
from cloud_home import HERE, ONE_IN_EAST, CloudHome, why_not

EXAMPLE = os.path.join(HERE, "..", "..", "examples", "cluster")


def run(home, *words):
    return home.run("cluster", "run", "cluster/digits.yaml", "--on", "aws", *words)


def questions(home):
    asked = run(home, "--workers", "2")
    check(asked.returncode == 2 and "--server TYPE" in asked.stderr and "--type TYPE" in asked.stderr,
          "types that the request does not name are asked for", asked.stderr)
    asked = run(home, "--workers", "2", "--type", "m5.xlarge", "--server", "t3.micro")
    # By hand: 0.0104 + 2 x 0.192 USD/h in us-east-1, which is the cheapest region for both.
    check(asked.returncode == 2 and "$0.3944 per hour" in asked.stdout and
          "server: aws/us-east-1 t3.micro" in asked.stdout and
          "each worker: aws/us-east-1 m5.xlarge" in asked.stdout,
          "the machines and the price of all are shown", asked.stdout, asked.stderr)
    asked = run(home, "--workers", "2", "--type", "m5.xlarge", "--server", "g4dn.xlarge",
                "--location", "aws/us-west-2")
    check(asked.returncode != 0 and "is sold at aws/us-west-2" in asked.stderr,
          "types that a region does not have together are refused", asked.stderr)
    check(home.json("job", "ls") == [] and not home.left(), "nothing was started", home.left())


def train(home):
    got = run(home, "--workers", "2", "--type", "m5.xlarge", "--server", "t3.micro", "--yes")
    show = home.json("run", "show", "1")
    check(got.returncode == 0 and show["state"] == "finished", "the example trains on a cloud",
          got.stdout[-2000:], got.stderr, home.run("job", "ls").stdout)
    stage = show["stages"][0]
    check(stage["nodes"] == 3 and stage["servers"] == 1 and stage["attempts"] == 1 and
          stage["offer"]["region"] == "us-west-2", "in the region that has all machines", stage)
    check({r["location"] for r in show["refusals"]} == {"aws/us-east-1"},
          "the other region had refused one", show["refusals"])
    ran = {(m["job"], m["instance_type"], m["region"]) for m in home.machines()
           if m["region"] == "us-west-2"}
    check(ran == {(1, "t3.micro", "us-west-2"), (2, "m5.xlarge", "us-west-2"),
                  (3, "m5.xlarge", "us-west-2")},
          "a refusal moved the server and both workers", home.machines())
    check(stage["output"] and 0 < show["cost_usd"] < 0.1, "the model is here, and the bill", show)
    check(home.is_empty(), "nothing is left", home.left())


def main():
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        shutil.copytree(EXAMPLE, os.path.join(scratch, "cluster"))
        with CloudHome(scratch, "home", capacity=ONE_IN_EAST) as home:
            questions(home)
            train(home)
    return done()


sys.exit(main())
