#!/usr/bin/python3
"""Random traces, simulated by tradewind and again here by the rules of docs/policies.md.

    tests/referee/policy_rounds.py [--first SEED] [--count N] [--solves N]

Shares may differ between two solvers where several are best, so this takes those that tradewind
prints, and replays everything else: when shares are to be solved, who runs where in which round,
what is lost, who is put out, when jobs end, the bill. Of the shares it asks GLPK, with what it holds
itself to be the state of things, whether they are best (of so many solves a trace; without glpsol
of none). Prints TAP, one line a policy."""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

import policy_random
from policy import PROGRAM, want_makespan
from policy_forms import Hours, Problem, Shares, near

POLICIES = ["max-throughput", "throughput-per-dollar", "min-cost", "min-cost-slo", "min-makespan"]
KEEPS_DEADLINES = {"throughput-per-dollar", "min-cost-slo"}
HOUR_MS = 3600000.0
MASK = (1 << 64) - 1
LEASE = 20
MOVES, WAITS = 0.01, 0.001
ROUNDING = 2e-7  # of a job's work: less is not called missing


class Wrong(Exception):
    pass


def must(good, what):
    if not good:
        raise Wrong(what)


# ---- traces ----


def generate(rng):
    types = policy_random.types(rng, [1, 1, 2, 2, 3, 5])
    jobs = [policy_random.job(rng, f"j{m}", types, 0.75) for m in range(rng.randint(1, 8))]
    for job in jobs:
        if rng.random() < 0.7:
            job["arrival_h"] = round(rng.uniform(0, 12), rng.choice([0, 2]))
    trace = {"types": types, "jobs": jobs}
    if rng.random() < 0.3:
        trace["group_quotas"] = policy_random.groups(rng, types)
    if rng.random() < 0.5:
        trace["price_intervals"] = policy_random.intervals(rng, types, 20, 4)
    if rng.random() < 0.4:
        starts = sorted(round(rng.uniform(0, 15), 2) for _ in range(rng.randint(1, 4)))
        trace["preemptions"] = [
            {
                "at_h": at,
                "type": rng.choice(types)["name"],
                "instances": rng.randint(1, 3),
                **({"until_h": round(at + rng.uniform(0.1, 6), 2)} if rng.random() < 0.8 else {}),
            }
            for at in starts
        ]
    if rng.random() < 0.4:
        trace["budget_usd"] = policy_random.budget(rng, jobs)
    return trace


# ---- the rules ----


def to_ms(hours):
    return math.floor(hours * HOUR_MS + 0.5)


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Job:
    def __init__(self, number, raw):
        self.number, self.raw, self.name = number, raw, raw["name"]
        self.gang = raw.get("gang", 1)
        self.arrival = to_ms(raw.get("arrival_h", 0))
        self.deadline = self.arrival + to_ms(raw["slo_h"]) if "slo_h" in raw else math.inf
        self.left = float(raw["iterations"])
        self.on = self.before = self.start = self.finish = None
        self.run = self.lost = self.cost = 0
        self.switches = self.restarts = self.preemptions = 0
        self.due = math.inf  # the deadline, or what stands in its place once it has passed
        self.overdue = False
        self.lease = 0
        self.hours = {}
        self.known = None


class Replay:
    def __init__(self, raw, kind, round_ms, restart_ms, seed, events, judge):
        self.raw, self.kind, self.round, self.restart = raw, kind, round_ms, restart_ms
        self.seed, self.events, self.judge = seed, list(events), judge
        self.jobs = [Job(i, job) for i, job in enumerate(raw["jobs"])]
        self.by_name = {job.name: job for job in self.jobs}
        for m in self.jobs:
            m.due = m.deadline if kind in KEEPS_DEADLINES else math.inf
        self.quota = {t["name"]: t["quota"] for t in raw["types"]}
        self.types = list(self.quota)
        self.groups = raw.get("group_quotas", [])
        self.steps = [(to_ms(i["end_h"]), i["prices"]) for i in raw.get("price_intervals", [])]
        self.base = {t["name"]: t["price_usd_per_hour"] for t in raw["types"]}
        self.taken = {j: 0 for j in self.types}
        self.edges = []
        for i, x in enumerate(raw.get("preemptions", [])):
            self.edges.append((to_ms(x["at_h"]), 1, i, x["type"], x["instances"]))
            if "until_h" in x:
                self.edges.append((to_ms(x["until_h"]), 0, i, x["type"], -x["instances"]))
        self.edges.sort()
        self.solved_interval = 0
        self.claims = {}
        self.why = set()
        self.cost = self.bills = self.rounds = self.solves = 0

    def interval(self, at):
        return sum(end <= at for end, _ in self.steps)

    def price(self, j, interval):
        return self.steps[interval][1][j] if interval < len(self.steps) else self.base[j]

    def capacity(self, j):
        return max(0, self.quota[j] - self.taken[j])

    def here(self, at):
        found = [m for m in self.jobs if m.arrival <= at and m.finish is None]
        return sorted(found, key=lambda m: (m.arrival, m.number))

    def next_event(self, kind):
        must(self.events and self.events[0]["event"] == kind, f"a {kind} is missing")
        return self.events.pop(0)

    # -- a round's beginning --

    def look(self, at, seen):
        for m in self.jobs:
            if seen < m.arrival <= at:
                self.why.add("arrival")
        while self.edges and self.edges[0][0] <= at:
            _, _, _, j, n = self.edges.pop(0)
            self.taken[j] += n
            self.why.add("quota")
        for m in self.here(at):
            if m.due <= at:
                m.overdue = True
                fastest = max([1e-15, *map(float, m.raw["throughput"].values())])
                m.due = at + max(math.floor(2 * m.left / fastest * HOUR_MS + 0.5), self.round)
                self.why.add("deadline")
        prices_count = self.kind != "max-throughput" and (
            self.kind != "min-makespan" or "budget_usd" in self.raw
        )
        if prices_count and self.interval(at) != self.solved_interval:
            self.why.add("price")

    def usable(self, m, j):
        if m.raw["throughput"].get(j, 0) <= 0 or m.gang > math.floor(self.capacity(j)):
            return False
        return all(m.gang * g["units"].get(j, 0) <= g["quota"] for g in self.groups)

    def solve(self, at):
        self.solved_interval = self.interval(at)
        jobs = [m for m in self.here(at) if any(self.usable(m, j) for j in self.types)]
        old, self.claims = self.claims, {}
        if not jobs:
            self.why = set()
            return
        event = self.next_event("solve")
        must(event["at_ms"] == at, f"solved at {event['at_ms']}, not at {at}")
        must(set(event["why"]) == self.why, f"at {at} why {event['why']}, not {self.why}")
        self.why = set()
        self.solves += 1
        for name, part in event["shortfall"].items():
            if self.by_name[name].known is None and not self.by_name[name].overdue:
                self.by_name[name].known = (at, part)
        for name, j, share in event["shares"]:
            owed = received = 0.0
            if (name, j) in old and old[name, j]["share"] is not None:
                credit = old[name, j]["owed"] - old[name, j]["received"]
                owed = min(max(credit, 0.0), float(self.round))
                received = min(max(-credit, 0.0), float(self.round))
            self.claims[name, j] = {"share": share, "owed": owed, "received": received}
        for name, j in event["fills"]:
            must((name, j) not in self.claims, f"{name} has two claims on {j}")
            m = self.by_name[name]
            price = self.price(j, self.solved_interval)
            self.claims[name, j] = {
                "share": None,
                "received": 0.0,
                "usd": m.gang * price / m.raw["throughput"][j],
            }
        for name, j in self.claims:
            m = self.by_name[name]
            must(m in jobs and self.usable(m, j), f"{name} claims {j}")
        self.judge(self, event, at, jobs)

    def key(self, name, j, claim, at):
        m = self.by_name[name]
        lease = m.on == j and m.lease > at
        if claim["share"] is None:
            return (
                not lease,
                1,
                m.due,
                m.arrival,
                -m.gang,
                m.number,
                claim["usd"],
                self.types.index(j),
            )
        ratio = claim["owed"] / claim["received"] if claim["received"] > 0 else math.inf
        return (
            not lease,
            0,
            m.due if ratio >= 1 else math.inf,
            -ratio,
            -claim["owed"],
            m.on != j,
            -m.gang,
            m.arrival,
            m.number,
            -claim["share"],
            self.types.index(j),
        )

    def place(self, at):
        for claim in self.claims.values():
            if claim["share"] is not None:
                claim["owed"] += claim["share"] * float(self.round)
        used = {j: 0 for j in self.types}
        drawn = [0 for _ in self.groups]
        placed = {}
        for (name, j), _ in sorted(self.claims.items(), key=lambda c: self.key(*c[0], c[1], at)):
            gang = self.by_name[name].gang
            if name in placed or used[j] + gang > self.capacity(j):
                continue
            more = [drawn[i] + gang * g["units"].get(j, 0) for i, g in enumerate(self.groups)]
            if any(x > g["quota"] for x, g in zip(more, self.groups)):
                continue
            used[j] += gang
            drawn = more
            placed[name] = j
        return placed

    # -- a round --

    def pass_round(self, at, placed):
        end = at + self.round
        runs = {}
        for name, j in placed.items():
            m = self.by_name[name]
            lost = 0
            if m.before is None:
                m.start = at
            elif m.on != j:
                m.restarts += 1
                m.switches += m.before != j
                lost = self.restart
            if m.on != j:
                m.lease = at + LEASE * self.restart
            m.before = j
            need = math.floor(m.left / float(m.raw["throughput"][j]) * HOUR_MS + 0.5)
            done = need <= end - at - lost
            runs[name] = {
                "job": name,
                "type": j,
                "to_ms": at + lost + need if done else end,
                "lost_ms": lost,
                "done": done,
                "preempted": False,
            }
        while self.edges and self.edges[0][0] < end:
            self.edge(runs, *self.edges.pop(0))
        for run in runs.values():
            self.account(run, at)
        for m in self.here(at):
            if m.name not in runs:
                m.on = None
        event = self.next_event("round")
        must((event["from_ms"], event["to_ms"]) == (at, end), f"a round other than at {at}")
        must(event["runs"] == list(runs.values()), f"at {at}: {event['runs']}, not {runs}")
        self.rounds += 1

    def edge(self, runs, when, _, number, j, instances):
        self.taken[j] += instances
        self.why.add("quota")
        while instances > 0:
            there = [r for r in runs.values() if r["type"] == j and r["to_ms"] > when]
            if sum(self.by_name[r["job"]].gang for r in there) <= self.capacity(j):
                break
            first = mixed((self.seed + 0x9E3779B97F4A7C15 * (1 + number)) & MASK)
            run = min(there, key=lambda r: mixed(first ^ self.by_name[r["job"]].number))
            run.update(to_ms=when, done=False, preempted=True)
            self.by_name[run["job"]].preemptions += 1

    def account(self, run, at):
        m, j = self.by_name[run["job"]], run["type"]
        spent = run["to_ms"] - at
        run["lost_ms"] = min(run["lost_ms"], spent)
        cost, begin = 0, at
        while begin < run["to_ms"]:
            interval = self.interval(begin)
            ends = [run["to_ms"]] + [e for e, _ in self.steps[interval : interval + 1]]
            usd = m.gang * self.price(j, interval) * (min(ends) - begin) / HOUR_MS
            cost += math.floor(usd * 1e6 + 0.5)
            self.bills += 1
            begin = min(ends)
        run["cost_microusd"] = cost
        m.left -= float(m.raw["throughput"][j]) * ((spent - run["lost_ms"]) / HOUR_MS)
        m.left = max(m.left, 1e-15)
        m.cost += cost
        self.cost += cost
        m.run += spent
        m.lost += run["lost_ms"]
        m.hours[j] = m.hours.get(j, 0) + spent
        m.on = None if run["done"] or run["preempted"] else j
        self.claims[m.name, j]["received"] += float(spent)
        if run["done"]:
            m.finish = run["to_ms"]
            self.why.add("departure")

    def play(self):
        at, seen, idle = 0, -1, True
        while True:
            if idle:
                later = [m.arrival for m in self.jobs if m.arrival > seen]
                if self.here(seen) and self.edges:
                    later.append(self.edges[0][0])
                if not later:
                    break
                at = max(at, -(-min(later) // self.round) * self.round)
            self.look(at, seen)
            seen = at
            if self.why and self.here(at):
                self.solve(at)
            placed = self.place(at)
            if placed:
                self.pass_round(at, placed)
                at += self.round
            idle = not placed or not self.here(seen)
        must(not self.events, "there are more events")


# ---- what must hold of any schedule ----


def check_invariants(replay, events):
    raw = replay.raw
    done = {m.name: 0.0 for m in replay.jobs}
    for event in events:
        if event["event"] != "round":
            continue
        names = [r["job"] for r in event["runs"]]
        must(len(set(names)) == len(names), "a job is in two places")
        for j in replay.types:
            used = sum(replay.by_name[r["job"]].gang for r in event["runs"] if r["type"] == j)
            must(used <= replay.quota[j], f"more than the quota of {j}")
        for r in event["runs"]:
            worked = r["to_ms"] - event["from_ms"] - r["lost_ms"]
            done[r["job"]] += replay.by_name[r["job"]].raw["throughput"][r["type"]] * worked
    for m in replay.jobs:
        if m.finish is not None:
            fastest = max(m.raw["throughput"].values())
            must(
                abs(done[m.name] / HOUR_MS - m.raw["iterations"]) <= fastest * 0.51 / HOUR_MS + 1e-6,
                f"{m.name}: {done[m.name] / HOUR_MS} of {m.raw['iterations']} iterations",
            )
        else:
            must(
                all(
                    m.gang > replay.quota[j]
                    or not m.raw["throughput"].get(j)
                    or any(m.gang * g["units"].get(j, 0) > g["quota"] for g in replay.groups)
                    or any("until_h" not in x for x in raw.get("preemptions", []) if x["type"] == j)
                    for j in replay.types
                ),
                f"{m.name} was not done and could have been",
            )


def check_report(replay, report):
    """The report says what the replay has."""
    for m, shown in zip(replay.jobs, report["jobs"]):
        got = [
            shown["name"],
            round(shown["cost_usd"] * 1e6),
            shown["switches"],
            shown["restarts"],
            shown["preemptions"],
        ]
        must(
            got == [m.name, m.cost, m.switches, m.restarts, m.preemptions],
            f"{m.name} is reported as {got}",
        )
        known = None if m.known is None else m.known[0]
        times = {"start_h": m.start, "finish_h": m.finish, "run_h": m.run, "short_known_h": known}
        for field, ms in times.items():
            hours = None if ms is None else ms / HOUR_MS
            must(
                hours == shown[field] or abs(hours - shown[field]) < 1e-9 * (1 + hours),
                f"{m.name}: {field} {shown[field]}, not {hours}",
            )
        must(
            {j: to_ms(h) for j, h in shown["hours"].items()} == m.hours,
            f"{m.name}: hours {shown['hours']}",
        )
        met = None if m.deadline == math.inf else m.finish is not None and m.finish <= m.deadline
        must(shown["slo_met"] is met, f"{m.name}: slo_met {shown['slo_met']}")
    must(round(report["cost_usd"] * 1e6) == replay.cost, "the bill is not the sum of its jobs")
    must(replay.cost == sum(m.cost for m in replay.jobs), "the bill does not add up")
    must((report["rounds"], report["solves"]) == (replay.rounds, replay.solves), "counts differ")
    done = [m for m in replay.jobs if m.finish is not None]
    if done:
        bound = report["bound"]
        rounding = 1e-6 * (10 + replay.bills)  # half a micro-dollar each time one is written
        must(bound["cost_usd"] <= report["cost_usd"] + rounding, "cheaper than the bound")
        must(bound["makespan_h"] <= report["makespan_h"] + 1e-6, "sooner than the bound")


# ---- are the shares best? ----


class Judge:
    def __init__(self, rng, most, scratch):
        self.rng, self.left, self.scratch, self.judged = rng, most, scratch, 0

    def __call__(self, replay, event, at, jobs):
        if self.left <= 0 or event["merged"] or self.rng.random() < 0.4:
            return
        self.left -= 1
        self.judged += 1
        p = self.problem(replay, at, jobs, event["early"])
        shares = {(name, j): share for name, j, share in event["shares"]}
        fills = {(name, j) for name, j in event["fills"]}
        if not event["early"] and replay.kind in KEEPS_DEADLINES:
            self.too_tight(self.problem(replay, at, jobs, True), replay.kind)
        timeless = replay.kind == "min-cost-slo" and min(p.slo.values()) == math.inf
        if replay.kind == "min-cost" or timeless or self.is_broke(replay, p):
            self.cheapest(p, shares, fills)
        elif replay.kind == "min-cost-slo":
            self.windows(p, event, shares, fills, {m.name: m.on for m in jobs})
        elif replay.kind == "min-makespan":
            self.makespan(p, event, shares)
        else:
            self.gain(p, replay.kind, event, shares)

    @staticmethod
    def problem(replay, at, jobs, early):
        """The question as `policy solve` would have it."""

        def hours(m):
            ms = m.due - at
            return (max(ms - replay.round, ms / 2) if early else ms) / HOUR_MS

        raw = {
            "types": [
                {
                    "name": j,
                    "price_usd_per_hour": replay.price(j, replay.interval(at)),
                    "quota": replay.capacity(j),
                }
                for j in replay.types
            ],
            "jobs": [
                {
                    "name": m.name,
                    "gang": m.gang,
                    "throughput": m.raw["throughput"],
                    "iterations": m.left,
                    **({"slo_h": hours(m)} if m.due < math.inf else {}),
                }
                for m in jobs
            ],
            "group_quotas": replay.groups,
        }
        if "budget_usd" in replay.raw and replay.kind == "min-makespan":
            raw["budget_usd"] = max(0, replay.raw["budget_usd"] - 1e-6 * replay.cost)
        return Problem(raw)

    @staticmethod
    def fewest(p, m):
        return min(
            (p.gang[m] * p.work[m] * p.price[j] / p.speed(m, j), p.types.index(j))
            for j in p.types
            if p.speed(m, j) > 0
        )

    def is_broke(self, replay, p):
        floor = sum(self.fewest(p, m)[0] for m in p.jobs)
        return replay.kind == "min-makespan" and floor > p.budget * (1 + 1e-9)

    def cheapest(self, p, shares, fills):
        want = {(m, p.types[self.fewest(p, m)[1]]) for m in p.jobs}
        must(not shares and fills == want, f"fills {fills}, not {want}")

    @staticmethod
    def within_limits(p, shares):
        for m in p.jobs:
            must(sum(shares.get((m, j), 0) for j in p.types) < 1 + 1e-6, f"{m}: above 1")
        for units, most in p.limits():
            used = sum(u * shares.get(name, 0) for name, u in units.items())
            must(used < most + 1e-5, f"a limit of {most} is broken")

    def gain(self, p, kind, event, shares):
        keeps = kind == "throughput-per-dollar"
        deadline = p.slo if keeps else {m: math.inf for m in p.jobs}
        worth = {
            (m, j): p.speed(m, j) / (p.price[j] if keeps else 1)
            for m in p.jobs
            for j in p.types
            if p.speed(m, j) > 0
        }
        self.within_limits(p, shares)
        form = Shares(p, deadline)
        if event["shortfall"]:
            # nobody could have kept all
            form.finish(short=True)
            must(form.lp.solve(self.scratch) > 1e-7, "said to fall short, and need not")
            form.lp.cost = {("short", m): event["shortfall_price"] for m in form.done}
        else:
            form.finish(short=True)
            form.lp.cost = {}
            for m in form.done:
                form.lp.row({("short", m): 1}, "<=", ROUNDING)
        form.lp.cost.update({name: -v for name, v in worth.items()})
        best = form.lp.solve(self.scratch)
        must(best is not None, "said to be feasible, and is not")
        got = -sum(worth[name] * share for name, share in shares.items())
        got += event["shortfall_price"] * sum(event["shortfall"].values())
        must(abs(got - best) < 1e-5 * max(1e-3, abs(best)), f"{got}, and GLPK has {best}")
        for m in p.jobs:
            if deadline[m] < math.inf:
                rate = sum(p.speed(m, j) * shares.get((m, j), 0) for j in p.types)
                done = rate * deadline[m] / p.work[m]
                must(done + event["shortfall"].get(m, 0) > 1 - 1e-5, f"{m} is not finished")

    def too_tight(self, p, kind):
        """Deadlines with a round to spare cannot be kept, or they would have been."""
        form = (Hours if kind == "min-cost-slo" else Shares)(p, p.slo)
        form.finish(short=True)
        must(form.lp.solve(self.scratch) > 1e-8, "deadlines could be kept with a round to spare")

    def windows(self, p, event, shares, fills, on):
        windows = len({d for d in p.slo.values()})

        def cost(name, usd):
            window, m, j = name
            later = windows - 1 if window == "endless" else window
            return usd * (1 + WAITS * later / windows + (MOVES if on[m] not in (None, j) else 0))

        def best(claimed):
            form = Hours(p, p.slo)
            form.finish(short=True)
            short = {("short", m): 1 for m in form.done}
            if not event["shortfall"]:
                for name in short:
                    form.lp.row({name: 1}, "<=", ROUNDING)
            elif not claimed:
                must(form.lp.solve(self.scratch) > 1e-7, "said to fall short, and need not")
            price = event["shortfall_price"]
            form.lp.cost = {name: cost(name, usd) for name, usd in form.dollars.items()}
            form.lp.cost.update({name: price for name in short})
            if claimed:
                # the same with what is claimed now, and later nothing but what is claimed
                ends = sorted(d for d in p.slo.values() if d < math.inf)
                for name in form.dollars:
                    window, m, j = name
                    share = shares.get((m, j), 0)
                    if window == 0:
                        form.lp.row({name: 1}, ">=", share * ends[0] - 2e-6 * ends[0])
                        form.lp.row({name: 1}, "<=", share * ends[0] + 2e-6 * ends[0])
                    elif share == 0 and (m, j) not in fills:
                        form.lp.row({name: 1}, "<=", 0)
            return form.lp.solve(self.scratch)

        self.within_limits(p, shares)
        free, bound = best(False), best(True)
        must(free is not None, "said to be feasible, and is not")
        must(bound is not None, f"no plan has the shares {shares}")
        must(bound <= free + 1e-4 * max(1e-3, abs(free)), f"{bound}, and GLPK has {free}")
        got = event["objective"] + event["shortfall_price"] * sum(event["shortfall"].values())
        must(abs(got - free) < 1e-5 * max(1e-3, abs(free)), f"{got}, and GLPK has {free}")

    def makespan(self, p, event, shares):
        self.within_limits(p, shares)
        best = want_makespan(p, self.scratch)["objective"]
        must(near(event["objective"], best), f"{event['objective']} h, and GLPK has {best} h")
        spent = 0
        for m in p.jobs:
            rate = sum(p.speed(m, j) * shares.get((m, j), 0) for j in p.types)
            must(rate * best > p.work[m] * (1 - 1e-5), f"{m} is not finished")
            spent += sum(p.gang[m] * p.price[j] * shares.get((m, j), 0) for j in p.types) * best
        must(spent <= p.budget * (1 + 1e-5), "the budget is broken")


# ---- the bound ----


def hindsight(replay, report, scratch):
    """The fewest dollars, by GLPK, for the work that was done, with everything known."""
    done = [m for m in replay.jobs if m.finish is not None]
    if not done:
        return
    raw = {
        **replay.raw,
        "jobs": [
            {"name": m.name, "gang": m.gang, "throughput": m.raw["throughput"],
             "iterations": m.raw["iterations"]}
            for m in done
        ],
    }
    p = Problem(raw)
    release = {m.name: m.arrival / HOUR_MS for m in done}
    deadline = {m.name: m.deadline / HOUR_MS if m.finish <= m.deadline else math.inf for m in done}
    at = sorted(
        {0, *release.values(), *(d for d in deadline.values() if d < math.inf)}
        | {end for end, _ in p.steps}
    )
    form = Hours.__new__(Hours)
    form.p, form.lp, form.dollars = p, Hours(p, {m: 1 for m in p.jobs}).lp.__class__(), {}
    form.done = {m: {} for m in p.jobs}
    for k, (a, b) in enumerate(zip(at, at[1:])):
        present = {m: deadline[m] if release[m] <= a else -1 for m in p.jobs}
        form.window(k, a, b, present, form.done, None)
    for m in p.jobs:
        for j in p.types:
            if deadline[m] == math.inf and p.speed(m, j) > 0:
                form.done[m][("endless", m, j)] = p.speed(m, j)
                form.dollars[("endless", m, j)] = p.gang[m] * p.price_at(j, at[-1])
    form.finish()
    form.lp.cost = form.dollars
    best = form.lp.solve(scratch)
    got = report["bound"]["cost_usd"]
    if best is not None:  # half milliseconds may be missing
        must(abs(got - best) < 1e-4 * max(0.01, best), f"bound ${got}, and GLPK has ${best}")


# ---- tradewind ----


def simulate(raw, kind, options, scratch):
    path, trace = os.path.join(scratch, "trace.json"), os.path.join(scratch, "events.jsonl")
    with open(path, "w") as file:
        json.dump(raw, file)
    command = [PROGRAM, "policy", "simulate", path, "--policy", kind, "--json", "--trace", trace]
    done = subprocess.run(command + options, capture_output=True, text=True)
    must(done.returncode in (0, 5) and done.stdout, f"exit {done.returncode}: {done.stderr}")
    with open(trace) as file:
        events = [json.loads(line) for line in file]
    return json.loads(done.stdout), events, done.returncode


def try_trace(seed, kind, solves, scratch):
    """How many sets of shares GLPK judged; Wrong when something is."""
    rng = random.Random(seed)
    raw = generate(rng)
    round_min, restart_s = rng.choice([(60, 300), (30, 0), (45, 600), (120, 60), (7, 30)])
    options = ["--round", str(round_min), "--restart", str(restart_s), "--seed", str(seed)]
    if rng.random() < 0.2:
        options += ["--columns", "20"]
    report, events, code = simulate(raw, kind, options, scratch)
    judge = Judge(rng, solves, scratch)
    replay = Replay(raw, kind, round_min * 60000, restart_s * 1000, seed, events, judge)
    replay.play()
    check_invariants(replay, events)
    check_report(replay, report)
    must(code == (5 if any(m.finish is None for m in replay.jobs) else 0), f"exit {code}")
    if solves:
        hindsight(replay, report, scratch)
    return judge.judged


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--solves", type=int, default=2)
    parser.add_argument("--policies", default=",".join(POLICIES))
    args = parser.parse_args()
    solves = args.solves if shutil.which("glpsol") else 0
    bad = 0
    kinds = args.policies.split(",")
    print(f"1..{len(kinds)}")
    with tempfile.TemporaryDirectory() as scratch:
        for i, kind in enumerate(kinds):
            failed = judged = 0
            for seed in range(args.first, args.first + args.count):
                try:
                    judged += try_trace(seed, kind, solves, scratch)
                except Wrong as wrong:
                    failed += 1
                    print(f"# seed {seed}: {str(wrong)[:600]}")
            bad += failed
            print(
                f"{'not ' if failed else ''}ok {i + 1} - {kind}: {args.count} traces replayed to "
                f"the millisecond and micro-dollar, {judged} sets of shares as good as GLPK's",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
