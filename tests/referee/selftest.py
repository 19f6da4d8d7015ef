#!/usr/bin/python3
"""The referee against figures worked out by hand. Prints TAP."""

import sys

sys.dont_write_bytecode = True

import brute
from brute import Goal
from catalog import OFFER_COLUMNS, STORAGE_COLUMNS, TRANSFER_COLUMNS, Catalog
from model import HIGH, LOW, Limits, Model, spot_seconds
from pipeline import Pipeline

count = failures = 0


def check(name, got, want, tolerance=0.0):
    global count, failures
    count += 1
    near = isinstance(want, float) and got is not None and abs(got - want) <= tolerance
    good = got == want or near
    failures += not good
    print(f"{'' if good else 'not '}ok {count} - {name}")
    if not good:
        print(f"# got {got!r}, want {want!r}")


def rows(columns, lines):
    return [dict(zip(columns, line.split(","))) for line in lines]


def catalog(offers, transfers=(), storage=()):
    return Catalog(
        rows(OFFER_COLUMNS, offers),
        rows(TRANSFER_COLUMNS, transfers),
        rows(STORAGE_COLUMNS, storage),
    )


def solve(documents, offers, transfers=(), storage=(), goal=Goal(), limits=Limits()):
    model = Model(catalog(offers, transfers, storage), Pipeline(documents), limits=limits)
    leaf = brute.best(goal, brute.enumerate_plans(model))
    return leaf and brute.plan_of(model, leaf)


A = "aws,us-east-1,,m1,4,16,,,,1.00,0.40,0.5"
G = "gcp,us-east1,,n1,4,16,,,,0.50,,"
EGRESS = "aws,*,internet,*,0.09,0,4,250"


def compute_lines():
    plan = solve([{"estimate": {"hours": 2, "setup": 90}}], [A])
    check("compute: setup + run are billed, boot is not", plan.cost, 2025000)
    check("time: boot + setup + run", plan.time, 60 + 90 + 7200.0)
    plan = solve([{"estimate": {"seconds": 10}, "num_nodes": 3}], [A])
    check("compute: 60 s at least, every node", plan.cost, 50000)
    check("time: the minimum is billed, not waited", plan.time, 70.0)
    # 0.000036 x 150 / 3600 dollars = 1.5 micro-dollars exactly.
    cheap = "aws,r,,m,1,1,,,,0.000036,,"
    check("rounding: half goes up", solve([{"estimate": {"seconds": 150}}], [cheap]).cost, 2)
    guess = Model(catalog([A]), Pipeline([{}]))
    check("no estimate: an hour", guess.evaluate([guess.choices[0][0]]).cost, 1000000)
    check("a guess is low by half", guess.evaluate([guess.choices[0][0]], LOW).cost, 500000)
    check("and high by half", guess.evaluate([guess.choices[0][0]], HIGH).time, 5460.0)


def estimate_lines():
    gpu = "aws,r,,g1,8,32,T4,2,,1.00,,"
    seconds = lambda estimate, nodes=1: solve(
        [{"estimate": estimate, "num_nodes": nodes}], [gpu]
    ).stages[0].run_s
    check("map: instance type beats accelerator", seconds({"minutes": {"T4": 9, "g1": 3}}), 180.0)
    check("map: accelerator in any case", seconds({"hours": {"t4": 1}}), 3600.0)
    check("map: not covered", solve([{"estimate": {"hours": {"A100": 1}}}], [gpu]), None)
    work = {"work": 120, "rate": {"T4": 0.5}}
    check("work: all accelerators of all nodes", seconds(work, 3), 40.0)
    check("work: else vCPUs", seconds({"work": 120, "rate": {"vcpu": 0.5}}), 30.0)
    amdahl = {"work": 120, "rate": {"T4": {"base": 2, "parallel": 0.5}}}
    check("work: Amdahl over two units", seconds(amdahl), 45.0)
    stage = {"inputs": {"./x": 100}, "estimate": {"work": "input", "rate": {"T4": 0.25}}}
    check("work: input", solve([stage], [gpu]).stages[0].run_s, 200.0)


def spot_lines():
    # (1/0.5 + 0.1)(e - 1) hours for two hours at 0.5 an hour, restart 6 minutes.
    check("spot: one segment", spot_seconds(7200, 0.5, 360, 0), 12990.210623, 1e-6)
    # Four segments of half an hour: 4 x 2.1 x (e^0.25 - 1) hours.
    check("spot: checkpoints", spot_seconds(7200, 0.5, 360, 1800), 8588.9286, 1e-4)
    # 1.5 h by segments of 1 h: 2.1 x ((e^0.5 - 1) + (e^0.25 - 1)) hours.
    check("spot: a shorter last segment", spot_seconds(5400, 0.5, 360, 3600), 7051.5650, 1e-4)
    check("spot: no preemptions", spot_seconds(7200, 0, 360, 0), 7200)
    plan = solve([{"estimate": {"hours": 2}, "num_nodes": 2}], [A], limits=Limits(market="spot"))
    # L = 2 x 0.5, R = 60 s: (1 + 1/60)(e^2 - 1) h = 6.495540 h, 2 nodes at 0.40.
    check("spot: L counts all nodes", plan.cost, 5196432)
    wild = "aws,r,,m,1,1,,,,,1.00,50"
    check(
        "spot: ten years", solve([{"estimate": {"hours": 9}}], [wild], limits=Limits("spot")), None
    )


def transfer_lines():
    far = {"inputs": [{"from": "s3://b/x", "size": 10, "place": "aws/us-east-1"}]}
    plan = solve([{**far, "estimate": {"hours": 1}}], [G], [EGRESS])
    check("transfer: price", plan.stages[0].transfer, 900000)
    check("transfer: 8 x GB / Gbit/s + rtt", plan.stages[0].input_s, 20.25)
    check("input time is billed", plan.stages[0].compute, 502813)  # 0.5 x 3620.25 / 3600 = .5028125
    check("no row: no plan", solve([far], [G]), None)
    empty = {"inputs": [{"from": "s3://b/x", "size": 0, "place": "aws/us-east-1"}]}
    check("no row: not even of 0 GB", solve([empty], [G]), None)
    near = solve([far], [A], [EGRESS]).stages[0]
    check("one place: nothing to pay", near.transfer, 0)
    check("one place: local rate, no rtt", near.input_s, 8.0)
    tiers = ["aws,*,*,*,0.10,2,1,0", "aws,*,*,*,0.01,6,9,9"]
    tiered = solve([far], [G], tiers).stages[0]
    check("tiers: lowest extends to 0, marginal", tiered.transfer, 640000)
    check("tiers: speed of the lowest", tiered.input_s, 80.0)
    loose = {"inputs": {"s3://b/x": 10}}
    check("no region: its cloud reads it in place", solve([loose], [A]).stages[0].transfer, 0)
    exact = "aws,us-east-1,gcp,us-east1,0.50,0,1,0"
    plan = solve([loose], [G], [exact, EGRESS])
    check("no region: others pay the * row", plan.stages[0].transfer, 900000)
    check("no region: an exact row is no * row", solve([loose], [G], [exact]), None)
    local = {"inputs": {"./x": 10}}
    check("local: uplink", solve([local], [G], [EGRESS]).stages[0].input_s, 800.0)
    row = "local,local,*,*,9.99,0,2,500"
    check("local: a row gives speed and rtt", solve([local], [G], [row]).stages[0].input_s, 40.5)
    check("local: free", solve([local], [G], [row]).stages[0].transfer, 0)


def specificity_lines():
    """Each row beats all before it, for aws/us-east-1 -> gcp/us-east-1."""
    order = [
        "*,*,*,*",
        "aws,*,*,*",
        "*,*,*,=",
        "*,*,*,us-*",
        "*,*,*,us-east-*",
        "*,*,*,us-east-1",
        "*,*,internet,*",
        "*,*,gcp,*",
        "*,*,gcp,us-east-1",
        "*,us-*,*,*",
        "*,us-east-*,*,*",
        "*,us-east-1,*,*",
        "aws,us-east-1,gcp,us-east-1",
    ]
    lines = [f"{row},{0.01 * (i + 1):.2f},0,1,0" for i, row in enumerate(order)]
    gcp = "gcp,us-east-1,,n1,4,16,,,,0.50,,"
    far = {"inputs": [{"from": "s3://b/x", "size": 1, "place": "aws/us-east-1"}]}
    for i, row in enumerate(order):
        plan = solve([far], [gcp], list(reversed(lines[: i + 1])))
        check(f"specificity: {row}", plan.stages[0].transfer, 10000 * (i + 1))
    west = "aws,us-west-2,,m1,4,16,,,,1.00,,"
    plan = solve([far], [west], ["aws,*,=,*,0.02,0,1,0", "aws,*,internet,*,0.09,0,1,0"])
    check("specificity: = within the cloud, internet does not", plan.stages[0].transfer, 20000)


def sharing_lines():
    producer = {"name": "a", "outputs": {"o": 10}, "resources": {"cloud": "aws"}}
    readers = [
        {"name": n, "needs": ["a"], "estimate": {"hours": 1}, "resources": {"cloud": "gcp"}}
        for n in ("b", "c")
    ]
    plan = solve([producer, *readers], [A, G], [EGRESS])
    check("shared: the first reader pays", plan.stages[1].transfer, 900000)
    check("shared: the second does not", plan.stages[2].transfer, 0)
    check("shared: but waits", plan.stages[2].input_s, 20.25)
    check("start after what is needed", plan.stages[2].start_s, 3660.0)
    check("plan time is the latest finish", plan.time, 3660 + 3680.25)
    kept = {"outputs": [{"name": "o", "size": 100, "keep": 73}], "estimate": {"hours": 1}}
    shelf = ["aws,us-east-1,cold,0.001,,,", "aws,us-east-1,standard,0.02,,,"]
    check("keep: days, standard class", solve([kept], [A], (), shelf).stages[0].storage, 4800000)
    shelf = ["aws,us-east-1,cold,0.005,,,", "aws,us-east-1,warm,0.02,,,"]
    check("keep: else the cheapest", solve([kept], [A], (), shelf).stages[0].storage, 1200000)
    grown = [{"inputs": {"./x": 3}, "outputs": {"o": "9x"}}, {}]
    check("output of 9x", Pipeline(grown).stages[1].inputs[0].size_gb, 27.0)


def choice_lines():
    slow = "gcp,r,,slow,2,8,,,,1.00,,"
    fast = "gcp,r,,fast,8,32,,,,5.00,,"
    stage = [{"estimate": {"hours": {"slow": 4, "fast": 1}}}]
    pick = lambda goal, *offers: solve(stage, offers or (slow, fast), goal=goal)
    name = lambda plan: plan and plan.stages[0].choice.offer.instance_type
    check("objective cost", name(pick(Goal("cost"))), "slow")
    check("objective time", name(pick(Goal("time"))), "fast")
    check("objective value: 5 x 1.0167 < 4 x 4.0167", name(pick(Goal("value"))), "fast")
    check("weighted: .9 x 4 + .1 x 4.02 < .9 x 5 + .1", name(pick(Goal("weighted:0.1"))), "slow")
    check("deadline is inclusive", name(pick(Goal("cost", None, 3660.0))), "fast")
    check("budget is inclusive", name(pick(Goal("time", 4000000))), "slow")
    check("neither leaves nothing", pick(Goal("cost", 4999999, 3660.0)), None)
    check("p95 holds the deadline against +20 %", pick(Goal("cost", None, 4379.0, True)), None)
    check("p95: 1.2 h and boot", name(pick(Goal("cost", None, 4380.0, True))), "fast")
    tie = [{"estimate": {"hours": 1}}]
    zones = ["gcp,r,b,m,2,8,,,,1,1,0", "gcp,r,a,m,2,8,,,,1,1,0", "gcp,q,c,n,2,8,,,,1,1,0"]
    plan = solve(tie, zones, limits=Limits("any"))
    check("ties: region before type", plan.stages[0].choice.offer.region, "q")
    check("ties: on-demand before spot", plan.stages[0].choice.market, "on-demand")
    plan = solve(tie, zones[:2], limits=Limits("any"))
    check("ties: then zone", plan.stages[0].choice.offer.zone, "a")
    front = brute.pareto([brute.Leaf(c, t, t, (c,)) for c, t in ((5, 2), (5, 1), (3, 4), (6, 1))])
    check("pareto", [(l.cost, l.time) for l in front], [(3, 4), (5, 1)])


def eligibility_lines():
    offers = [
        "aws,r,z1,m4,4,16,,,,1.00,,",
        "aws,r,z2,m8,8,32,,,,2.00,0.50,",
        "gcp,s,,g1,8,30,T4,1,,3.00,,",
        "gcp,s,,g2,8,30,T4,2,,,1.50,",
    ]
    names = lambda resources, **limits: [
        c.offer.instance_type + ("*" if c.market == "spot" else "")
        for c in Model(
            catalog(offers), Pipeline([{"resources": resources}]), limits=Limits(**limits)
        ).choices[0]
    ]
    for resources, limits, want in (
        ({}, {}, ["m4", "m8", "g1"]),
        ({}, {"market": "any"}, ["m4", "m8", "m8*", "g1", "g2*"]),
        ({"use_spot": True}, {}, ["m8*", "g2*"]),
        ({"use_spot": False}, {"market": "spot"}, ["m4", "m8", "g1"]),
        ({"infra": "aws/r/z2"}, {}, ["m8"]),
        ({"accelerators": "t4"}, {"market": "any"}, ["g1"]),
        ({"accelerators": ["T4:2", "A100"]}, {"market": "any"}, ["g2*"]),
        ({"cpus": "4"}, {}, ["m4"]),
        ({"cpus": "5+", "memory": "16-31"}, {}, ["g1"]),
        ({"memory": "32GB"}, {}, ["m8"]),
        ({"max_hourly_cost": 2}, {}, ["m4", "m8"]),
        ({}, {"max_hourly": "1.99"}, ["m4"]),
        ({}, {"cloud": "gcp"}, ["g1"]),
        ({"any_of": [{"cloud": "gcp"}, {"cpus": 4}]}, {}, ["m4", "g1"]),
        ({"ordered": [{"cpus": 99}, {"cloud": "gcp"}, {"cpus": 4}]}, {}, ["g1"]),
    ):
        check(f"eligible: {resources} {limits}", names(resources, **limits), want)


for part in (
    compute_lines,
    estimate_lines,
    spot_lines,
    transfer_lines,
    specificity_lines,
    sharing_lines,
    choice_lines,
    eligibility_lines,
):
    part()
print(f"1..{count}")
sys.exit(failures > 0)
