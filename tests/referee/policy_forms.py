"""The programs behind policies, written down anew for GLPK: plain ones in hours or shares, with every
gang cut at once and no elastic form."""

import math
import os
import subprocess
import sys
import tempfile

RELATIVE = 2e-6


class Program:
    """A linear program, for glpsol."""

    def __init__(self):
        self.cost, self.rows = {}, []

    def row(self, cells, sense, right):
        self.rows.append((dict(cells), sense, right))

    def solve(self, scratch=None):
        """The optimum, or None when there is none. Files go to scratch, or to a directory of their
        own."""
        if scratch is None:
            with tempfile.TemporaryDirectory() as own:
                return self.solve(own)
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


def near(a, b):
    return abs(a - b) <= RELATIVE * max(1e-3, abs(a), abs(b))
