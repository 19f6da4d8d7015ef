#!/usr/bin/python3
"""Random policy problems, solved by tradewind and by GLPK from formulas written down here anew.

    tests/referee/policy.py [--first SEED] [--count N]

Every allocation that tradewind prints is held against quotas, gangs, deadlines and budget; what it
says would do when something cannot be done, and what it says one more machine is worth, against
GLPK's answers with that. Prints TAP, one line a policy."""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import policy_random
from policy_forms import Hours, Problem, Shares, near

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TRADEWIND", os.path.join(ROOT, "build", "tradewind"))
POLICIES = [
    ("max-throughput", None),
    ("throughput-per-dollar", None),
    ("min-cost", None),
    ("min-cost-slo", "windows"),
    ("min-cost-slo", "rate"),
    ("min-makespan", None),
]


# ---- problems ----


def generate(rng):
    types = policy_random.types(rng, [0, 1, 1, 2, 2, 3, 5])
    jobs = [policy_random.job(rng, f"j{m}", types, 0.85) for m in range(rng.randint(1, 6))]
    problem = {"types": types, "jobs": jobs}
    if rng.random() < 0.3:
        problem["group_quotas"] = policy_random.groups(rng, types)
    if rng.random() < 0.4:
        problem["price_intervals"] = policy_random.intervals(rng, types, 14, 3)
    if rng.random() < 0.5:
        problem["budget_usd"] = policy_random.budget(rng, jobs)
    return problem


def generate_poor(rng):
    """Jobs that run anywhere, more work than there is time for as a rule, and a budget that may or
    may not do."""
    problem = generate(rng)
    problem.pop("group_quotas", None)
    for t in problem["types"]:
        t["quota"] = max(2, t["quota"])
    for job in problem["jobs"]:
        job["gang"] = min(2, job.get("gang", 1))
        for t in problem["types"]:
            job["throughput"].setdefault(t["name"], 50)
        job["iterations"] = round(job["iterations"] * rng.uniform(1, 4), 1)
    floor = least_dollars(Problem(problem), Hours, {j["name"]: math.inf for j in problem["jobs"]})
    problem["budget_usd"] = round(floor * rng.uniform(0.6, 2), 2)
    return problem


def generate_round(rng):
    """Numbers so round that many limits meet in an answer."""
    types = [
        {"name": f"t{j}", "price_usd_per_hour": rng.randint(1, 3), "quota": rng.randint(1, 4)}
        for j in range(rng.randint(1, 3))
    ]
    jobs = []
    for m in range(rng.randint(2, 6)):
        speed = rng.choice([10, 20])
        slo = rng.choice([2, 4, 4, 8])
        jobs.append(
            {
                "name": f"j{m}",
                "throughput": {t["name"]: speed * rng.choice([1, 1, 2]) for t in types},
                "gang": rng.choice([1, 1, 1, 2, 3]),
                "iterations": speed * slo * rng.choice([0.25, 0.5, 1]),
                "slo_h": slo,
            }
        )
    problem = {"types": types, "jobs": jobs}
    if rng.random() < 0.2:
        problem["price_intervals"] = [
            {"end_h": 2, "prices": {t["name"]: rng.randint(1, 3) for t in types}}
        ]
    if rng.random() < 0.2:
        problem["budget_usd"] = 10 * rng.randint(2, 12)
    return problem


# ---- what GLPK says ----


def least_shortfall(p, form, deadline, budget, scratch):
    f = form(p, deadline)
    f.finish(short=True)
    if budget < math.inf:
        f.lp.row(f.dollars, "<=", budget)
    return f.lp.solve(scratch)


def least_stretch(p, form, deadline, scratch):
    f = form(p, deadline, scaled="scale")
    f.finish()
    f.lp.cost = {"scale": 1}
    return f.lp.solve(scratch)


def least_dollars(p, form, deadline, scratch=None):
    f = form(p, deadline)
    f.finish()
    f.lp.cost = f.dollars
    return f.lp.solve(scratch)


def want_cost(p, form, deadline, scratch):
    usd = least_dollars(p, form, deadline, scratch)
    if usd is None:
        return {
            "short": least_shortfall(p, form, deadline, p.budget, scratch),
            "stretch": least_stretch(p, form, deadline, scratch),
            "later": lambda times: least_dollars(
                p, form, {m: times * d for m, d in deadline.items()}, scratch
            ),
        }
    if usd > p.budget * (1 + 1e-9):
        short = least_shortfall(p, form, deadline, p.budget, scratch)
        return {"short": short, "budget": usd}
    return {"objective": usd}


def want_gain(p, kind, scratch):
    keeps = kind == "throughput-per-dollar"
    deadline = p.slo if keeps else {m: math.inf for m in p.jobs}
    f = Shares(p, deadline)
    f.finish()
    for m in p.jobs:
        for j in p.types:
            if p.speed(m, j) > 0:
                f.lp.cost[(m, j)] = -p.speed(m, j) / (p.price_at(j, 0) if keeps else 1)
    best = f.lp.solve(scratch)
    if best is not None:
        return {"objective": -best}
    f = Shares(p, deadline)
    f.finish(short=True)
    short, g = f.lp.solve(scratch), Shares(p, deadline, scaled="scale")
    g.finish()
    g.lp.cost = {"scale": 1}
    return {"short": short, "stretch": g.lp.solve(scratch)}


def want_makespan(p, scratch):
    """Interval by interval: in the first in which the work can end, the earliest end."""
    never = {m: math.inf for m in p.jobs}
    floor = want_cost(p, Hours, never, scratch)
    if "objective" not in floor:
        return floor
    ends = [end for end, _ in p.steps] if p.budget < math.inf else []
    for i, begin in enumerate([0] + ends):
        q = Problem(p.raw)
        q.steps = [(end, prices) for end, prices in p.steps if end <= begin]
        q.price = {j: p.price_at(j, begin) for j in p.types}
        # one hour that the scale makes as long as needed
        f = Hours(q, {m: begin + 1 for m in p.jobs}, scaled="scale", last_only=True)
        f.finish()
        if p.budget < math.inf:
            f.lp.row(f.dollars, "<=", p.budget)
        if i < len(ends):
            f.lp.row({"scale": 1}, "<=", ends[i] - begin)
        f.lp.cost = {"scale": 1}
        found = f.lp.solve(scratch)
        if found is not None:
            return {"objective": begin + found}
    raise AssertionError("the work ends in no interval")


def want(p, kind, form, scratch):
    if kind == "min-cost":
        return want_cost(p, Hours, {m: math.inf for m in p.jobs}, scratch)
    if kind == "min-cost-slo":
        return want_cost(p, Hours if form == "windows" else Shares, p.slo, scratch)
    if kind == "min-makespan":
        return want_makespan(p, scratch)
    return want_gain(p, kind, scratch)


# ---- what tradewind prints ----


def is_due(p, kind, m):
    return kind != "throughput-per-dollar" or p.slo[m] < math.inf


def any_speed(p, m):
    return any(p.speed(m, j) > 0 for j in p.types)


def wrong_allocation(p, answer, kind):
    """What the printed allocation breaks, or None."""
    slack = 1 + 1e-5
    budget = p.budget if kind.startswith("min") else math.inf
    spent, done = 0, {m: 0 for m in p.jobs}
    if answer["shares"] is not None and answer["hours"] is None:
        windows = [(None, answer["shares"])]
    else:
        windows = [((w["from_h"], w["to_h"]), w["jobs"]) for w in answer["hours"]]
    for span, uses in windows:
        length = 1 if span is None else (span[1] or math.inf) - span[0]
        for m, types in uses.items():
            if sum(types.values()) > length * slack + 1e-9:
                return f"{m} has more hours than there are"
            if span and kind == "min-cost-slo" and (span[1] or math.inf) > p.slo[m] * slack:
                return f"{m} works after its deadline"
            for j, amount in types.items():
                if p.speed(m, j) <= 0:
                    return f"{m} cannot use {j}"
                hours = amount * p.slo[m] if span is None else amount
                if hours < math.inf:
                    done[m] += p.speed(m, j) * hours / p.work[m]
                    begin = span[0] if span else 0
                    price = p.price_at(j, begin) if span else p.mean_price(j, p.slo[m])
                    spent += p.gang[m] * price * hours
        for units, most in p.limits():
            used = sum(u * uses.get(m, {}).get(j, 0) for (m, j), u in units.items())
            if length < math.inf and used > most * length * slack + 1e-6:
                return f"a limit of {most} is broken"
    if kind == "max-throughput":
        return None
    for m in p.jobs:
        if is_due(p, kind, m) and done[m] + answer["shortfall"].get(m, 0) < 1 - 1e-5:
            return f"{m} is not finished"
    if kind != "throughput-per-dollar" and answer["status"] == "optimal":
        if spent > budget * slack:
            return "the budget is broken"
        if kind != "min-makespan" and not near(spent, answer["objective"]):
            return f"the allocation costs {spent}"
    if kind.startswith("min") and spent > budget * slack:
        return "what falls short breaks the budget as well"
    return None


def wrong_way_out(p, form, answer, wanted, scratch):
    """What is wrong with the stretch, and the budget beside it, that are said to do."""
    times, usd, least = answer["stretch"], answer["budget_needed_usd"], wanted["stretch"]
    if times is None or times < least * (1 - 2e-6):
        return f"stretch {times}, GLPK has {least} without regard to the budget"
    if p.budget == math.inf or "later" not in wanted:
        return None if near(times, least) and usd is None else f"stretch {times}, GLPK: {least}"
    later = wanted["later"]
    moves = form == "rate" and p.steps  # later may be dearer
    if usd is None:
        cost = later(times * (1 + 1e-6))
        if cost is None or cost > p.budget * (1 + 1e-6):
            return f"stretch {times} costs {cost} of {p.budget}"
        cost = None if near(times, least) or moves else later(times * (1 - 1e-5))
        return f"stretch {times} is not the least" if cost and cost <= p.budget else None
    enough = [later(least * 2**k * 1.00001) for k in range(12)]
    if any(cost <= p.budget for cost in enough):
        return f"budget {usd} is not needed, {p.budget} does: {enough}"
    ends = [cost for cost in (enough[0], later(least * (1 + 1e-9))) if cost]
    if not min(ends) * (1 - 1e-6) <= usd <= max(ends) * (1 + 1e-5):
        return f"budget {usd}, GLPK has {ends}"
    return None if near(times, least) else f"stretch {times}, GLPK has {least}"


def compare(p, kind, form, answer, code, scratch):
    """What is wrong with the answer, or None."""
    wanted = want(p, kind, form, scratch)
    if "objective" in wanted:
        if code != 0 or answer["status"] != "optimal":
            return f"not optimal; GLPK has {wanted['objective']}"
        if not near(answer["objective"], wanted["objective"]):
            return f"objective {answer['objective']}, GLPK has {wanted['objective']}"
        if abs(answer["objective"] - answer["bound"]) > 1e-6 * abs(answer["objective"]) + 1e-9:
            return "bound and objective differ"
        if answer["shortfall"]:
            return "optimal and something falls short"
    else:
        if code != 5 or answer["status"] != "infeasible":
            return f"not infeasible; GLPK falls short by {wanted['short']}"
        short = sum(answer["shortfall"].values())
        nowhere = [m for m in p.jobs if is_due(p, kind, m) and not any_speed(p, m)]
        if not nowhere and not near(short, wanted["short"]):
            return f"falls short by {short}, GLPK by {wanted['short']}"
        if nowhere:
            told = [answer[name] for name in ("stretch", "budget_needed_usd")]
            return None if told == [None, None] else f"{told} do not help who runs nowhere"
        if "stretch" in wanted:
            wrong = wrong_way_out(p, form, answer, wanted, scratch)
            if wrong:
                return wrong
        elif answer["stretch"] is not None or not near(
            answer["budget_needed_usd"], wanted["budget"]
        ):
            return f"budget {answer['budget_needed_usd']}, GLPK has {wanted['budget']}"
    return wrong_allocation(p, answer, kind)


def ask(raw, kind, form, path):
    """Exit status, answer (None: it failed) and error of tradewind."""
    with open(path, "w") as file:
        json.dump(raw, file)
    command = [PROGRAM, "policy", "solve", path, "--policy", kind, "--json"]
    done = subprocess.run(
        command + (["--form", form] if form else []), capture_output=True, text=True
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def wrong_slopes(raw, kind, form, answer, scratch):
    """What one more machine is said to be worth, against the first thousandth of it; a makespan is
    no straight line even there, hence two steps."""
    if answer["status"] != "optimal":
        return None
    sign = 1 if kind.startswith("min") else -1
    before = want(Problem(raw), kind, form, scratch)["objective"]
    for i, t in enumerate(raw["types"]):
        more, part = json.loads(json.dumps(raw)), []
        for step in (1e-3, 2e-3):
            more["types"][i]["quota"] = t["quota"] + step
            after = want(Problem(more), kind, form, scratch)["objective"]
            part.append(sign * (before - after) / step)
        slope, told = 2 * part[0] - part[1], answer["shadow_prices"][t["name"]]
        if abs(slope - told) > 1e-4 * max(1, abs(slope)):
            return f"one more {t['name']} is worth {told}, and {slope} by GLPK"
    return None


def try_problem(kind, form, raw, slopes, scratch):
    """Whether it was infeasible, and what is wrong or None."""
    if form == "rate":
        for job in raw["jobs"]:
            job.setdefault("slo_h", 9)
    code, answer, error = ask(raw, kind, form, os.path.join(scratch, "problem.json"))
    if not answer:
        return False, error
    wrong = compare(Problem(raw), kind, form, answer, code, scratch)
    if not wrong and slopes:
        wrong = wrong_slopes(raw, kind, form, answer, scratch)
    return code == 5, wrong


def try_policy(kind, form, make, slopes, seeds, scratch):
    """How many problems failed, and how many were infeasible."""
    failed = infeasible = 0
    for seed in seeds:
        cannot, wrong = try_problem(kind, form, make(random.Random(seed)), slopes, scratch)
        infeasible += cannot
        if wrong:
            failed += 1
            print(f"# seed {seed}: {wrong}")
    return failed, infeasible


def rounds():
    """Policy, form, problems, whether slopes are looked at, part of the count, what is told."""
    for kind, form in POLICIES:
        yield kind, form, generate, False, 1, "problems as GLPK has them"
    for form in ("windows", "rate"):
        yield "min-cost-slo", form, generate_poor, False, 0.5, "with little time and money"
    for kind, form in POLICIES:
        yield kind, form, generate_round, True, 0.15, "with what one more machine is worth"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    bad = 0
    print(f"1..{len(list(rounds()))}")
    with tempfile.TemporaryDirectory() as scratch:
        for i, (kind, form, make, slopes, part, what) in enumerate(rounds()):
            n = math.ceil(args.count * part)
            seeds = range(args.first, args.first + n)
            failed, infeasible = try_policy(kind, form, make, slopes, seeds, scratch)
            bad += failed
            print(
                f"{'not ' if failed else ''}ok {i + 1} - {kind}{' ' + form if form else ''}: "
                f"{n} {what}, {infeasible} of them infeasible",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
