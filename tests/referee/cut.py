#!/usr/bin/python3
"""Large cases with the search cut short: is what the plan says of itself still true?

    cut.py --seeds 1..20

A chain's true optimum comes from dynamic programming over places, a second method of its own. For
other shapes the plans stand in that the program found for any objective and limit: a bound above
what one of them scores is a lie."""

import argparse
import sys
import tempfile
from typing import NamedTuple

sys.dont_write_bytecode = True

import brute
import generate
import run
from brute import Goal
from model import NOMINAL, Config, Limits, Plan
from run import Mismatch, Query, Tally

OBJECTIVES = ("cost", "time", "value", "weighted:0.5")
LIMITS_S = ("0.000001", "0.001", "0.02")
LONG_LIMIT_S = "3"
TOLERANCE = 1e-9


class LargeGenerator(generate.Generator):
    """Many places; a chain reads only the stage before it, so that it can be solved by hand."""

    def __init__(self, seed):
        super().__init__(seed, max_stages=5, max_plans=0)
        self.shape = "chain" if seed % 2 else self.rng.choice(["dag", "diamond", "out-tree"])
        self.n = self.rng.randint(10, 20) if self.shape == "chain" else self.rng.randint(7, 11)
        self.uniform_prices = False

    def make_places(self):
        copies = self.rng.choice(["a", "ab", "abcd"])
        regions = [(c, r) for c in sorted(generate.REGIONS) for r in generate.REGIONS[c]]
        every = [(c, r + k) for c, r in regions for k in copies]
        self.places = self.rng.sample(every, self.rng.randint(8, len(every)))

    def add_inputs(self, document, i, names, needs):
        if self.shape != "chain":
            super().add_inputs(document, i, names, needs)
        elif i == 0:
            document["inputs"] = [dict(e) for e in self.external]

    def make_limits(self):
        return Limits("any")

    def make_config(self):
        return Config()

    def shrink(self, case):
        return case


def make_case(seed):
    """A case in which every stage has a choice: some seeds need another try."""
    for attempt in range(1000):
        case = LargeGenerator(seed + 1000000 * attempt).case()
        if all(case.model().choices):
            return case
    raise RuntimeError(f"seed {seed}: no case")


def chain_optimum(model, objective):
    """Least dollars or seconds of a chain, by the best way to end each stage at each place."""
    stages = model.pipeline.stages
    best = {None: 0}  # the place of the stage before -> least so far
    for stage in stages:
        reached = {}
        for before, so_far in best.items():
            for choice in model.choices[stage.index]:
                place = choice.offer.place
                sources = tuple(before if d.place is None else d.place for d in stage.inputs)
                step = model.step(stage, choice, sources)
                if step is None:
                    continue
                if objective == "cost":
                    spent = step.compute[NOMINAL] + sum(step.transfers)
                    spent += model.storage(stage, place)
                else:
                    boot_s = model.config.boot_s
                    spent = boot_s + stage.setup_s + step.input_s + step.run_s[NOMINAL]
                reached[place] = min(reached.get(place, float("inf")), so_far + spent)
        best = reached
    least = min(best.values(), default=None)
    return least / 1e6 if least is not None and objective == "cost" else least


def check_honest(model, goal, answer):
    """The answer's own figures; returns its bound and its plan."""
    if answer.code != 0:
        raise Mismatch("exit code", (answer.code, answer.stderr[-200:]), 0)
    ranks = run.ranks_of(model, answer.json["stages"])
    plan = run.check_numbers(model, ranks, answer.json)
    value = brute.objective_value(goal, plan.cost, plan.time)
    bound, gap = answer.json["bound"], answer.json["gap"]
    if bound > value * (1 + TOLERANCE):
        raise Mismatch("bound above the plan", bound, value)
    run.expect_near("gap", gap, (value - bound) / value if value > 0 else 0)
    run.expect("status", answer.json["status"], "feasible" if gap else "optimal")
    return bound, plan


class Claim(NamedTuple):
    """What one run said: a plan, and that none scores better than the bound."""

    goal: Goal
    command: list
    bound: float
    plan: Plan


def claims_of(case, model, directory, tally):
    """Asks for every objective under every limit. No claims: there is no plan at all."""
    claims = []
    for objective in OBJECTIVES:
        for limit in (*LIMITS_S, LONG_LIMIT_S):
            goal = Goal(objective)
            command = run.command_of(case, Query(goal), directory, ["--solve-limit", limit])
            tally.plans += 1
            try:
                answer = run.ask(command, directory)
                if answer.code == run.EXIT_INFEASIBLE and not claims:
                    return []
                claims.append(Claim(goal, command, *check_honest(model, goal, answer)))
                tally.cut += answer.json["gap"] > 0
            except Mismatch as error:
                tally.add(case.seed, Query(goal), command, error)
    return claims


def check_claims(case, model, claims):
    """Every bound against every plan, and both against a chain's optimum."""
    for claim in claims:
        for other in claims:
            score = brute.objective_value(claim.goal, other.plan.cost, other.plan.time)
            if claim.bound > score * (1 + TOLERANCE):
                raise Mismatch(f"{claim.goal.objective}: bound", claim.bound, f"at most {score}")
    if not is_chain(case):
        return
    for goal in (Goal("cost"), Goal("time")):
        optimum = chain_optimum(model, goal.objective)
        if not claims:
            run.expect("chain's optimum", None, optimum)
            continue
        bound = max(c.bound for c in claims if c.goal == goal)
        score = min(brute.objective_value(goal, c.plan.cost, c.plan.time) for c in claims)
        if bound > optimum * (1 + TOLERANCE) or score < optimum * (1 - TOLERANCE):
            raise Mismatch("chain's optimum", (bound, score), optimum)


def is_chain(case):
    """Odd seeds are chains."""
    return case.seed % 2 == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..10", help="A..B, both included")
    parser.add_argument("--keep", metavar="DIR", help="leave the last case's files here")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(".."))
    tally = Tally(10)
    tally.proved = tally.cut = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            case = make_case(seed)
            generate.write_case(case, args.keep or scratch)
            model = case.model()
            tally.cases += 1
            claims = claims_of(case, model, args.keep or scratch, tally)
            try:
                check_claims(case, model, claims)
                tally.proved += is_chain(case)
            except Mismatch as error:
                tally.add(seed, None, ["", "plan"], error)
    print(f"# {tally.cut} plans cut short; {tally.proved} cases held against a chain's optimum")
    if not tally.cut:
        print("# no search was cut short: nothing was tried")
    return tally.report() or not tally.cut


if __name__ == "__main__":
    sys.exit(main())
