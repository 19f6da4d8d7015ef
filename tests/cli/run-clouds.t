#!/usr/bin/env python3
"""Runs on a cloud: from the plan to the bill on instances of the model of EC2 that are machines."""

import functools
import os
import sys

from broker_home import check, done, scratch_directory, together, until
from cloud_runs import ON_DEMAND, cloud, stage, why_not

COUNT = stage(
    "count",
    'tr " " "\\n" <"$TRADEWIND_INPUT/words/words/fox.txt" | sort | uniq -c | sort -rn '
    '>"$TRADEWIND_OUTPUT/table/words.txt"\nhostname >"$TRADEWIND_OUTPUT/table/host"',
    inputs="[{from: words/fox.txt, location: local}]", outputs="{table: 0.001}")
TOP = stage(
    "top",
    'read -r n word <"$TRADEWIND_INPUT/words.count/table/words.txt"\n'
    'echo "$word $n" >"$TRADEWIND_OUTPUT/word/top.txt"\necho "the most frequent is $word"',
    needs="count", inputs="[count.table]", outputs="{word: 0.001}")


def write_words(scratch):
    os.makedirs(os.path.join(scratch, "words"))
    with open(os.path.join(scratch, "words", "fox.txt"), "w") as f:
        f.write("the quick brown fox jumps over the lazy dog and the cat\n")


def test_from_plan_to_bill(scratch):
    write_words(scratch)
    with cloud(scratch) as home:
        got = home.run("run", home.write("words", COUNT, TOP), "--on", "aws", "--yes")
        check(got.returncode == 0, "two stages run on instances", got.stdout, got.stderr)
        run = home.show("1")
        check(run["state"] == "finished", "and finish", run)
        check(home.good("cat", "/words.top/word/top.txt") == "the 3\n", "the output is right")
        host = home.good("cat", "/words.count/table/host").strip()
        check(host in [t["id"] for t in home.instances()], "made on an instance", host)
        check(home.model()["launched"] in (1, 2), "one launch for each at most", home.instances())
        bills = home.nothing_bills()
        check(not bills, "nothing bills any more", bills)
        shown = home.show("1")
        by_model = home.cost_by_model(ON_DEMAND)
        of_run = round(shown["cost_usd"] * 1e6)
        check(abs(home.cost_of_records() - by_model) <= 2,
              "the machines cost what EC2's times make", home.cost_of_records(), by_model,
              home.records(), home.instances())
        check(abs(of_run - by_model) <= 2 * len(home.instances()), "and so does the run", of_run, by_model)
        check(of_run == sum(round(s["cost_usd"] * 1e6) for s in shown["stages"]),
              "whose stages add up", shown["stages"])
        trace = home.good("trace", "/words.top/word/top.txt")
        check(all(name in trace for name in ("@words.count:1", "job 1", "@words.count.input:1")),
              "its provenance leads to the input", trace)
        left = home.clean_up()
        check(not left, "and cleanup leaves nothing at all, twice", left)
        check(home.twins() == 0, "no launch had a twin")


# ---- refusals ----

ZONES = "".join(f"aws,us-east-1,us-east-1{z},m5.xlarge,4,16,,,10,{p},,\n" for z, p in
                (("a", 0.36), ("b", 0.54), ("c", 0.72)))
V100 = "".join(f"aws,us-east-1,us-east-1{z},p3.2xlarge,8,61,V100,1,10,{p},,\n" for z, p in
               (("c", 3.6), ("a", 7.2)))
ONE = stage("one", 'hostname >"$TRADEWIND_OUTPUT/o/host"', outputs="{o: 0.001}")
TWO = stage("two", 'cat "$TRADEWIND_INPUT/p.one/o/host"; hostname >"$TRADEWIND_OUTPUT/o/host"', needs="one",
            inputs="[one.o]", outputs="{o: 0.001}")
QUOTA, CAPACITY, UNSUPPORTED = 3, 4, 5  # of cloud.h
ZONE, REGION = 0, 1


def zones_of(home):
    return [t["zone"] for t in home.instances()]


def test_capacity_of_a_region(scratch):
    with cloud(scratch, "region", capacity={"us-east-1" + z: 0 for z in "abc"}) as home:
        run = home.start("p", ONE, TWO)
        check(home.over(run) == "finished", "no capacity in a region: the run goes elsewhere", home.show(run))
        check({z[:-1] for z in zones_of(home)} == {"us-west-2"}, "to the other region", zones_of(home))
        stages = home.show(run)["stages"]
        check([s["location"] for s in stages] == ["aws/us-west-2"] * 2,
              "the stage that waited moved with it", stages)
        refusals = home.refusals()
        check([r[:6] for r in refusals] == [("us-east-1", "", "m5.xlarge", 0, CAPACITY, REGION)],
              "one refusal is on record, with its scope", refusals)
        check("InsufficientInstanceCapacity" in refusals[0][6], "and its code", refusals)
        reasons = home.reasons(home.stage_job(run))
        told = [r for r in reasons if "refused" in r]
        check(told and all(word in told[0] for word in
                           ("aws/us-east-1 m5.xlarge, on-demand", "InsufficientInstanceCapacity",
                            "now aws/us-west-2 m5.xlarge, on-demand, $0.72/h"))
              and "\n" not in told[0], "one line says what came next", reasons)
        left = home.nothing_bills() or home.clean_up()
        check(not left, "and nothing is left", left)


def test_capacity_of_a_zone(scratch):
    with cloud(scratch, "zone", offers=ZONES, capacity={"us-east-1a": 0}) as home:
        run = home.start("p", ONE)
        check(home.over(run) == "finished", "no capacity in a zone", home.show(run))
        check(zones_of(home) == ["us-east-1b"], "leads to the next one", zones_of(home))
        check([r[:6] for r in home.refusals()] == [("us-east-1", "us-east-1a", "m5.xlarge", 0, CAPACITY, ZONE)],
              "by a refusal of that zone", home.refusals())


def test_quota(scratch):
    with cloud(scratch, "quota", vcpus={"us-east-1": 0}) as home:
        run = home.start("p", ONE)
        check(home.over(run) == "finished", "no quota in a region", home.show(run))
        check([z[:-1] for z in zones_of(home)] == ["us-west-2"], "leads to the other region", zones_of(home))
        check([r[4:6] for r in home.refusals()] == [(QUOTA, REGION)], "by a refusal of it", home.refusals())


def test_no_offer_left(scratch):
    with cloud(scratch, "none", vcpus=0) as home:
        got = home.run("run", home.write("none", ONE, TWO), "--on", "aws", "--yes")
        run = home.show("1")
        check(got.returncode == 1 and run["state"] == "failed", "no quota anywhere ends the run", run)
        why = run["stages"][0]["reason"]
        check("VcpuLimitExceeded" in why and "us-west-2" in why and "no other offer" in why,
              "with the code, the place and that nothing is left", why)
        check(len(home.refusals()) == 2 and home.model()["calls"]["RunInstances"] == 2,
              "after one call in each region", home.refusals(), home.model()["calls"])
        check(run["cost_usd"] == 0 and not home.nothing_bills(), "for nothing", run)
        left = home.clean_up()
        check(not left, "which leaves nothing", left)


def test_unsupported(scratch):
    with cloud(scratch, "unsupported", offers=V100) as home:
        run = home.start("p", stage("one", "true", resources="{accelerators: V100}"))
        check(home.over(run) == "finished", "a zone without the type", home.show(run))
        check(zones_of(home) == ["us-east-1a"], "leads to one with it", zones_of(home))
        check([r[1:6] for r in home.refusals()] == [("us-east-1c", "p3.2xlarge", 0, UNSUPPORTED, ZONE)],
              "by a refusal of that zone", home.refusals())


def test_denied(scratch):
    with cloud(scratch, "denied", denied=["RunInstances"]) as home:
        got = home.run("run", home.write("denied", ONE), "--on", "aws", "--yes")
        why = home.show("1")["stages"][0]["reason"]
        check(got.returncode == 1 and "ec2:RunInstances" in why, "a missing permission is named", why)
        check(home.model()["calls"]["RunInstances"] == 1 and not home.refusals(),
              "no other offer is tried", home.model()["calls"])
        left = home.clean_up()
        check(not left, "and nothing is left", left)


def test_credentials(scratch):
    with cloud(scratch, "wrong") as home:
        home.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
        got = home.run("run", home.write("wrong", ONE), "--on", "aws", "--yes")
        why = got.stdout + got.stderr
        check(got.returncode == 1 and "SignatureDoesNotMatch" in why and "credentials" in why,
              "wrong credentials are refused, and the message says so", got.returncode, why)
        check(not home.instances(), "before anything is launched")
        for name in "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY":
            del home.env[name]
        home.env["HOME"] = scratch
        got = home.run("run", home.write("wrong", ONE), "--on", "aws", "--yes")
        check(got.returncode == 4 and "tradewind clouds check" in got.stderr,
              "without any, the message says how to find out what is missing", got.returncode, got.stderr)


def test_throttled(scratch):
    with cloud(scratch, "throttled", faults=1, only=["throttle"], of=["RunInstances"]) as home:
        run = home.start("p", ONE)
        met = until(lambda: home.model()["faults"].get("throttle", 0) >= 2)
        calls, began = home.model()["calls"]["RunInstances"], home.model()["now"]
        until(lambda: home.model()["calls"]["RunInstances"] > calls)
        check(met and home.model()["now"] - began > 5, "a throttled call comes again as late as AWS asks")
        home.set(faults=0)
        check(home.over(run) == "finished", "and is carried out in the end", home.show(run))
        check(home.model()["launched"] == 1 and not home.refusals(), "once", home.refusals())


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        tests = [test_from_plan_to_bill, test_capacity_of_a_region, test_capacity_of_a_zone, test_quota,
                 test_no_offer_left, test_unsupported, test_denied, test_credentials, test_throttled]
        together(*[functools.partial(t, scratch) for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:]])
    return done()


sys.exit(main())
