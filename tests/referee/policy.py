#!/usr/bin/python3
"""Random policy problems, solved by tradewind and by GLPK from formulas written down here anew.

    tests/referee/policy.py [--first SEED] [--count N]

GLPK gets plain programs in hours or shares, with every gang cut at once and no elastic form; and
every allocation that tradewind prints is held against quotas, gangs, deadlines and budget. Prints
TAP, one line a policy."""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TRADEWIND", os.path.join(ROOT, "build", "tradewind"))
RELATIVE = 2e-6
POLICIES = [
    ("max-throughput", None),
    ("throughput-per-dollar", None),
    ("min-cost", None),
    ("min-cost-slo", "windows"),
    ("min-cost-slo", "rate"),
    ("min-makespan", None),
]


class Program:
    """A linear program, for glpsol."""

    def __init__(self):
        self.cost, self.rows = {}, []

    def row(self, cells, sense, right):
        self.rows.append((dict(cells), sense, right))

    def solve(self, scratch):
        """The optimum, or None when there is none."""
        names = {}
        for cells in [self.cost] + [row[0] for row in self.rows]:
            for name in cells:
                names.setdefault(name, f"v{len(names)}")
        if not names:
            return 0.0 if all(self.holds(0, s, r) for _, s, r in self.rows) else None

        def text(cells):
            return " ".join(f"{v:+.17g} {names[n]}" for n, v in cells.items()) or "0 v0"

        lines = ["Minimize", " o: " + text(self.cost), "Subject To"]
        for i, (cells, sense, right) in enumerate(self.rows):
            if cells:
                lines.append(f" r{i}: {text(cells)} {sense} {right:.17g}")
            elif not self.holds(0, sense, right):
                return None
        if lines[-1] == "Subject To":
            lines.append(" r: v0 >= 0")
        model, out = os.path.join(scratch, "m.lp"), os.path.join(scratch, "m.out")
        with open(model, "w") as file:
            file.write("\n".join(lines + ["End", ""]))
        done = subprocess.run(
            ["glpsol", "--lp", model, "--write", out, "--nopresol"], capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"glpsol: {done.stdout}")
        with open(out) as file:
            for line in file:
                word = line.split()
                if word[:2] == ["s", "bas"]:
                    return float(word[6]) if word[4:6] == ["f", "f"] else None
        sys.exit("glpsol wrote no status")

    @staticmethod
    def holds(left, sense, right):
        return left <= right if sense == "<=" else left >= right


# ---- problems ----


def generate(rng):
    types = [
        {
            "name": f"t{j}",
            "price_usd_per_hour": round(rng.uniform(0.2, 6), 3),
            "quota": rng.choice([0, 1, 1, 2, 2, 3, 5]),
        }
        for j in range(rng.randint(1, 4))
    ]
    jobs = []
    for m in range(rng.randint(1, 6)):
        speed = rng.uniform(20, 400)
        throughput = {
            t["name"]: round(speed * rng.uniform(0.2, 2), 2) for t in types if rng.random() < 0.85
        }
        job = {"name": f"j{m}", "throughput": throughput}
        if rng.random() < 0.4:
            job["gang"] = rng.choice([1, 2, 2, 3])
        slo = round(rng.choice([2, 5, 8, 8, 13]) * rng.uniform(0.9, 1), rng.choice([0, 2]))
        job["iterations"] = round(speed * slo * rng.uniform(0.05, 0.9), 1)
        if rng.random() < 0.85:
            job["slo_h"] = slo
        jobs.append(job)
    problem = {"types": types, "jobs": jobs}
    if rng.random() < 0.3:
        some = rng.sample(types, rng.randint(1, len(types)))
        units = {t["name"]: rng.choice([1, 2, 4]) for t in some}
        problem["group_quotas"] = [{"name": "g", "units": units, "quota": rng.randint(2, 12)}]
    if rng.random() < 0.4:
        ends = sorted({round(rng.uniform(0.5, 14), 1) for _ in range(rng.randint(1, 3))})
        problem["price_intervals"] = [
            {"end_h": end, "prices": {t["name"]: round(rng.uniform(0.2, 6), 3) for t in types}}
            for end in ends
        ]
    if rng.random() < 0.5:
        problem["budget_usd"] = round(sum(rng.uniform(1, 25) for _ in jobs), 2)
    return problem


class Problem:
    def __init__(self, raw):
        self.raw = raw
        self.types = [t["name"] for t in raw["types"]]
        self.quota = {t["name"]: t["quota"] for t in raw["types"]}
        self.price = {t["name"]: t["price_usd_per_hour"] for t in raw["types"]}
        self.jobs = {j["name"]: j for j in raw["jobs"]}
        self.gang = {n: j.get("gang", 1) for n, j in self.jobs.items()}
        self.slo = {n: j.get("slo_h", math.inf) for n, j in self.jobs.items()}
        self.work = {n: j["iterations"] for n, j in self.jobs.items()}
        self.groups = raw.get("group_quotas", [])
        self.budget = raw.get("budget_usd", math.inf)
        self.steps = [(i["end_h"], i["prices"]) for i in raw.get("price_intervals", [])]

    def speed(self, m, j):
        """0 where quotas do not hold the gang."""
        fits = self.gang[m] <= self.quota[j] and all(
            self.gang[m] * g["units"].get(j, 0) <= g["quota"] for g in self.groups
        )
        return self.jobs[m]["throughput"].get(j, 0) if fits else 0

    def price_at(self, j, hour):
        for end, prices in self.steps:
            if hour < end:
                return prices[j]
        return self.price[j]

    def mean_price(self, j, to):
        cuts = [0] + [end for end, _ in self.steps if end < to] + [to]
        return sum(self.price_at(j, a) * (b - a) for a, b in zip(cuts, cuts[1:])) / to

    def limits(self):
        """Every limit that holds at any time: (coefficient of job and type, most)."""
        for j in self.types:
            yield {(m, j): self.gang[m] for m in self.jobs}, self.quota[j]
            for k in sorted({g for g in self.gang.values() if g > 1}):
                yield {(m, j): 1 for m in self.jobs if self.gang[m] >= k}, self.quota[j] // k
        for g in self.groups:
            yield {
                (m, j): self.gang[m] * g["units"].get(j, 0) for m in self.jobs for j in self.types
            }, g["quota"]


# ---- the forms ----


def edges(p, deadline):
    """Windows of a schedule, and whether an endless one follows."""
    finite = [d for d in deadline.values() if d < math.inf]
    endless = len(finite) < len(deadline)
    steps = [end for end, _ in p.steps if endless or end < max(finite)]
    at = sorted({0, *finite, *steps})
    return list(zip(at, at[1:])), at[-1] if endless else None


class Hours:
    """Hours of every job on every type in every window."""

    def __init__(self, p, deadline, scaled=None, last_only=False):
        self.p, self.lp, self.dollars = p, Program(), {}
        windows, endless = edges(p, deadline)
        done = {m: {} for m in p.jobs}
        for k, (a, b) in enumerate(windows):
            grows = scaled and (not last_only or k == len(windows) - 1)
            self.window(k, a, b, deadline, done, scaled if grows else None)
        if endless is not None:
            for m in p.jobs:
                for j in p.types:
                    if deadline[m] == math.inf and p.speed(m, j) > 0:
                        name = ("endless", m, j)
                        done[m][name] = p.speed(m, j)
                        self.dollars[name] = p.gang[m] * p.price_at(j, endless)
        self.done = done

    def window(self, k, a, b, deadline, done, scale):
        p = self.p
        active = [m for m in p.jobs if deadline[m] >= b]
        for m in active:
            cells = {}
            for j in p.types:
                if p.speed(m, j) > 0:
                    name = (k, m, j)
                    cells[name] = 1
                    done[m][name] = p.speed(m, j)
                    self.dollars[name] = p.gang[m] * p.price_at(j, a)
            self.limit(cells, 1, b - a, scale)
        for units, most in p.limits():
            cells = {
                (k, m, j): u
                for (m, j), u in units.items()
                if m in active and p.speed(m, j) > 0 and u
            }
            self.limit(cells, most, b - a, scale)

    def limit(self, cells, most, length, scale):
        if scale:
            self.lp.row({**cells, scale: -most * length}, "<=", 0)
        else:
            self.lp.row(cells, "<=", most * length)

    def finish(self, short=False):
        for m, cells in self.done.items():
            cells = {n: v / self.p.work[m] for n, v in cells.items()}
            if short:
                cells[("short", m)] = 1
                self.lp.cost[("short", m)] = 1
            self.lp.row(cells, ">=", 1)


class Shares(Hours):
    """One share of the time to its deadline for every job and type."""

    def __init__(self, p, deadline, scaled=None):
        self.p, self.lp, self.dollars = p, Program(), {}
        self.done = {m: {} for m in p.jobs}
        for m in p.jobs:
            cells = {}
            for j in p.types:
                if p.speed(m, j) > 0:
                    cells[(m, j)] = 1
                    if deadline[m] < math.inf:
                        self.done[m][(m, j)] = p.speed(m, j) * deadline[m]
                        price = p.mean_price(j, deadline[m])
                        self.dollars[(m, j)] = p.gang[m] * price * deadline[m]
            self.limit(cells, 1, 1, scaled)
        for units, most in p.limits():
            cells = {n: u for n, u in units.items() if p.speed(*n) > 0 and u}
            self.limit(cells, most, 1, scaled)
        self.done = {m: cells for m, cells in self.done.items() if deadline[m] < math.inf}


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


def want_cost(p, form, deadline, scratch):
    f = form(p, deadline)
    f.finish()
    f.lp.cost = f.dollars
    usd = f.lp.solve(scratch)
    if usd is None:
        return {
            "short": least_shortfall(p, form, deadline, math.inf, scratch),
            "stretch": least_stretch(p, form, deadline, scratch),
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


def near(a, b):
    return abs(a - b) <= RELATIVE * max(1e-3, abs(a), abs(b))


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
    return None


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
        for ours, theirs in (("stretch", "stretch"), ("budget_needed_usd", "budget")):
            a, b = answer[ours], None if nowhere else wanted.get(theirs)
            if (a is None) != (b is None) or (a is not None and not near(a, b)):
                return f"{ours} {a}, GLPK has {b}"
        if nowhere:
            return None
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


def try_policy(kind, form, seeds, scratch):
    """How many problems failed, and how many were infeasible."""
    failed = infeasible = 0
    for seed in seeds:
        raw = generate(random.Random(seed))
        if form == "rate":
            for job in raw["jobs"]:
                job.setdefault("slo_h", 9)
        code, answer, error = ask(raw, kind, form, os.path.join(scratch, "problem.json"))
        infeasible += code == 5
        wrong = compare(Problem(raw), kind, form, answer, code, scratch) if answer else error
        if wrong:
            failed += 1
            print(f"# seed {seed}: {wrong}")
    return failed, infeasible


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    bad = 0
    print(f"1..{len(POLICIES)}")
    with tempfile.TemporaryDirectory() as scratch:
        for i, (kind, form) in enumerate(POLICIES):
            seeds = range(args.first, args.first + args.count)
            failed, infeasible = try_policy(kind, form, seeds, scratch)
            bad += failed
            print(
                f"{'not ' if failed else ''}ok {i + 1} - {kind}{' ' + form if form else ''}: "
                f"{args.count} problems as GLPK has them, {infeasible} of them infeasible",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
