#!/usr/bin/python3
"""Medium cases, too large to look at every combination, against a mixed-integer program.

    medium.py --seeds 1..20            compare; exit status 1 on any mismatch
    medium.py --seed 7 --keep DIR      the same for one case, its files left in DIR for a replay
    medium.py --small --seeds 1..20    is the mixed-integer program right where all can be tried?

The program's plan must score what the best plan of CBC scores, both counted by the referee's
model; and its answers to related questions must fit together."""

import argparse
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import brute
import consistent
import generate
import milp
import run
from brute import NOISE, Goal
from model import HIGH, Config, Limits
from run import EXIT_INFEASIBLE, Mismatch, Query, Tally

CLOUDS = ("aws", "azure", "gcp", "lambda", "nebius")
SHAPES = ("chain", "in-tree", "out-tree", "diamond", "dag", "sweep", "shared")
# What CBC's own tolerances may make of two plans that score alike.
SLACK, SLACK_RELATIVE = 2e-6, 1e-7
# One undecided question in so many is the most that still makes a comparison.
UNDECIDED_SHARE = 10


class MediumGenerator(generate.Generator):
    """Clouds whose regions are mostly alike, so that many plans score the same."""

    def __init__(self, seed, max_places):
        super().__init__(seed, max_stages=5, max_plans=0)
        self.n = self.rng.randint(5, 9)
        self.shape = SHAPES[seed % len(SHAPES)]
        self.max_places = max_places
        self.machines = self.rng.sample(generate.MACHINES, 4)
        self.torn = self.chance(0.6)  # no cloud sells all, and data is light enough to move
        self.common_estimate = None

    def size(self):
        return round(super().size() / 10, 2) if self.torn else super().size()

    def make_places(self):
        clouds = self.rng.sample(CLOUDS, self.rng.randint(3, 5))
        count = self.rng.randint(12, self.max_places)
        areas = ["us-east-", "us-west-", "eu-", "ap-"]
        every = [(c, f"{a}{k}") for k in range(1, 5) for c in clouds for a in areas]
        # At least one region of each cloud, or it would hardly be one of several.
        self.places = every[: len(clouds)]
        self.places += self.rng.sample(every[len(clouds) :], min(count, len(every)) - len(clouds))

    def rate(self):
        return self.rng.choice(["", "", "0", "0.1", "0.5"])

    def offer(self, cloud, region, zone, machine, price):
        row = super().offer(cloud, region, zone, machine, price)
        return {**row, "preemptions_per_hour": self.rate()}

    def make_offers(self):
        rows = []
        for cloud in sorted({c for c, _ in self.places}):
            sold = self.rng.sample(self.machines, self.rng.randint(1, 3))
            sheet = [self.offer(cloud, "", "", m, self.price()) for m in sold]
            for region in [r for c, r in self.places if c == cloud]:
                for row in sheet:
                    if self.chance(0.15):  # a region with a price of its own
                        row = {**row, "price_usd_per_hour": self.price()}
                    if len(sheet) == 1 or self.chance(0.9):
                        rows.append({**row, "region": region})
        return rows

    def resources(self):
        """Mostly free to go anywhere."""
        return super().resources() if self.chance(0.3) else {}

    def needs(self, i):
        if i == 0:
            return []
        if self.shape == "sweep":
            return [0] if i < self.n - 1 else list(range(1, i))
        if self.shape == "shared":
            return [] if self.chance(0.4) else [self.rng.randrange(i)]
        if self.shape == "dag":
            return sorted(self.rng.sample(range(i), min(i, self.rng.randint(1, 3))))
        return super().needs(i)

    def outputs(self, stage):
        outputs = super().outputs(stage)
        return outputs or [{"name": "out0", "size": self.size()}]

    def estimate(self):
        if self.shape != "sweep" or self.common_estimate is None or self.chance(0.2):
            self.common_estimate = self.own_estimate()
        return self.common_estimate

    def own_estimate(self):
        if not self.torn or self.chance(0.3):
            return super().estimate()
        known = self.rng.sample(self.machines, self.rng.randint(1, 3))
        return {"hours": {m[3] or m[0]: self.hours(m) for m in known}}

    def make_external(self):
        while len(self.external) < (2 if self.shape == "shared" else 0):
            self.external.clear()
            super().make_external()

    def make_limits(self):
        return Limits(self.rng.choice(["on-demand", "any", "any"]))

    def make_config(self):
        return Config()

    def shrink(self, case):
        return case


def make_case(seed, max_places=40, generator=MediumGenerator):
    """A case in which every stage has a choice: some seeds need another try."""
    for attempt in range(1000):
        case = generator(seed + 1000003 * len(SHAPES) * attempt, max_places).case()
        if all(case.model().choices):
            return case._replace(seed=seed)
    raise RuntimeError(f"seed {seed}: no case")


class Scored:
    """A plan by its choices, counted by the model."""

    def __init__(self, model, goal, ranks):
        leaf = brute.Leaf(0, 0, 0, ranks)
        plan = brute.plan_of(model, leaf)
        if plan is None:
            raise Mismatch("plan", ranks, "one that exists")
        time_high = brute.plan_of(model, leaf, HIGH).time
        leaf = brute.Leaf(plan.cost, plan.time, time_high, ranks)
        self.cost, self.time = plan.cost, plan.time
        self.value = brute.objective_value(goal, plan.cost, plan.time)
        self.feasible = brute.feasible(goal, leaf, NOISE)


def check_bound(answer, best):
    """A plan that exists refutes any bound above it."""
    if answer.json["bound"] > best * (1 + 1e-9) + 1e-9:
        raise Mismatch("bound", answer.json["bound"], f"at most {best}")


def compare(model, goal, answer, rival):
    """The program's answer against the best plan of the mixed-integer program, None = none."""
    if answer.code == EXIT_INFEASIBLE:
        if rival is not None:
            raise Mismatch("exit code", answer.code, f"0: {rival.cost, rival.time}")
        return None
    run.expect("exit code", answer.code, 0)
    ranks = run.ranks_of(model, answer.json["stages"])
    run.check_numbers(model, ranks, answer.json)
    mine = Scored(model, goal, ranks)
    run.expect("within budget and deadline", mine.feasible, True)
    if rival is None:
        raise Mismatch("mixed-integer program", "no plan", (mine.cost, mine.time))
    check_bound(answer, rival.value)
    if rival.value > mine.value + SLACK + SLACK_RELATIVE * mine.value:
        raise Mismatch("mixed-integer program", rival.value, f"at most {mine.value}")
    if answer.json["status"] == "optimal" and mine.value > rival.value * (1 + NOISE):
        raise Mismatch("objective", (mine.value, mine.cost), (rival.value, rival.cost))
    run.expect("status", answer.json["status"], "feasible" if answer.json["gap"] else "optimal")
    return mine


class Unproven(Exception):
    """CBC's answer decides nothing."""


class Contest:
    """One case: the same questions to the program and to CBC."""

    def __init__(self, case, directory, tally, limit_s):
        self.case, self.directory, self.tally = case, directory, tally
        self.limit_s = limit_s
        self.model = case.model()

    def rival(self, goal):
        """CBC's plan, None when there is none; raises Unproven when it does not know."""
        self.tally.contested += 1
        answer = milp.solve(self.model, goal, self.directory, self.limit_s)
        if answer.status == "infeasible":
            return None
        if answer.status == "stopped":
            raise Unproven("time limit")
        rival = Scored(self.model, goal, answer.ranks)
        if not rival.feasible:
            # Within CBC's tolerances it satisfies the limits: neither plan nor proof of none.
            raise Unproven("tolerance")
        return rival

    def judge(self, goal, answer):
        """The program's plan, None when there is none; raises Mismatch or Unproven."""
        return compare(self.model, goal, answer, self.rival(goal))

    def meet(self, goal):
        """The program's plan, None when there is none or when it is in doubt."""
        query = Query(goal)
        command = run.command_of(self.case, query, self.directory)
        self.tally.plans += 1
        try:
            answer = run.ask(command, self.directory)
            mine = self.judge(goal, answer)
            self.tally.cut += answer.json.get("gap", 0) > 0
            return mine
        except Unproven:
            self.tally.unproven += 1
        except Mismatch as error:
            self.tally.add(self.case.seed, query, command, error)
        except (KeyError, TypeError, subprocess.TimeoutExpired) as error:
            doubt = Mismatch(type(error).__name__, str(error), "an answer")
            self.tally.add(self.case.seed, query, command, doubt)
        return None

    def run(self):
        rng = random.Random(self.case.seed)
        cheapest, fastest = self.meet(Goal("cost")), self.meet(Goal("time"))
        if cheapest is None or fastest is None:
            return
        for weight in rng.sample(["0.02", "0.25", "0.5", "0.9"], 2):
            self.meet(Goal(f"weighted:{weight}"))
        for share in (0.0, rng.uniform(0.02, 0.2), rng.uniform(0.2, 0.9)):
            deadline_s = fastest.time + share * (cheapest.time - fastest.time)
            self.meet(Goal("cost", None, deadline_s))
        self.meet(Goal("cost", None, round(fastest.time * rng.uniform(1, 1.4), 1), True))
        budget = int(cheapest.cost + rng.uniform(0.1, 0.9) * (fastest.cost - cheapest.cost))
        self.meet(Goal("time", budget))
        self.meet(Goal("weighted:0.25", budget, fastest.time * rng.uniform(1, 1.5)))


def run_seed(seed, directory, tally, args):
    case = make_case(seed, args.max_places)
    generate.write_case(case, directory)
    tally.cases += 1
    if not args.alone:
        Contest(case, directory, tally, args.limit).run()
    try:
        tally.plans += consistent.check(case, directory)
    except Mismatch as error:
        tally.add(seed, None, error.command, error)


def run_small_seed(seed, directory, tally, args):
    """The mixed-integer program itself, where every combination can be looked at."""
    case = generate.make_case(seed)
    contest = Contest(case, directory, tally, args.limit)
    leaves = brute.enumerate_plans(contest.model)
    goals = run.goals_for(random.Random(seed), leaves) if leaves else []
    tally.cases += 1
    for goal in [g for g in goals if g.objective != "value"]:
        tally.plans += 1
        best = brute.best(goal, leaves, NOISE)
        try:
            rival = contest.rival(goal)
            run.expect("is there a plan", rival is not None, best is not None)
            if rival is None:
                continue
            value = brute.objective_value(goal, best.cost, best.time)
            if abs(rival.value - value) > SLACK + SLACK_RELATIVE * value:
                raise Mismatch("objective", rival.value, value)
        except Unproven:
            tally.unproven += 1
        except Mismatch as error:
            tally.add(seed, goal, ["", "(no command)"], error)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..20", help="A..B, both included")
    parser.add_argument("--seed", type=int, help="one seed alone")
    parser.add_argument("--keep", metavar="DIR", help="leave the case's files here")
    parser.add_argument("--max-places", type=int, default=40, help="places of a case, from 12")
    parser.add_argument("--limit", type=float, default=60, help="seconds CBC has for one question")
    parser.add_argument("--small", action="store_true", help="CBC against all combinations")
    parser.add_argument("--alone", action="store_true", help="without CBC: consistency only")
    return parser.parse_args()


def main():
    args = arguments()
    first, last = map(int, args.seeds.split("..")) if args.seed is None else (args.seed,) * 2
    tally = Tally(10)
    tally.contested = tally.unproven = tally.cut = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            (run_small_seed if args.small else run_seed)(seed, args.keep or scratch, tally, args)
    undecided = f"{tally.unproven} of {tally.contested} questions CBC did not decide"
    print(f"# {undecided}; {tally.cut} plans with a gap")
    return tally.report() or tally.unproven * UNDECIDED_SHARE > tally.contested


if __name__ == "__main__":
    sys.exit(main())
