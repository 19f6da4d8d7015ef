#!/usr/bin/python3
"""Large cases against annealing: no search from outside may find a better plan than the program's.

    anneal.py --seeds 1..20            compare; exit status 1 on any mismatch
    anneal.py --seed 7 --keep DIR      the same for one case, its files left in DIR for a replay

Plans are counted by the referee's model. Annealing starts from the program's own plan, from the
cheapest choice of every stage and from the fastest; every single change of the program's plan is
looked at, too. A plan that refutes the bound is a mismatch even where the program proves nothing."""

import argparse
import math
import random
import sys
import tempfile

sys.dont_write_bytecode = True

import brute
import generate
import medium
import run
from brute import NOISE, Goal
from model import NOMINAL
from run import Mismatch, Tally

SHAPES = ("dag", "dag", "shared", "sweep", "diamond")
HOT, COLD = 0.05, 1e-5


class LargeGenerator(medium.MediumGenerator):
    def __init__(self, seed, max_places):
        super().__init__(seed, max_places)
        self.n = self.rng.randint(10, 24)
        self.shape = SHAPES[seed % len(SHAPES)]


class Walk:
    """Plans near one another, by their ranks, with the best one that keeps the limits."""

    def __init__(self, model, goal, rng):
        self.model, self.goal, self.rng = model, goal, rng
        self.best = None  # (objective, ranks)
        self.by_place = [self.places_of(c) for c in model.choices]

    @staticmethod
    def places_of(choices):
        found = {}
        for rank, choice in enumerate(choices):
            found.setdefault(choice.offer.place, []).append(rank)
        return found

    def energy(self, ranks):
        """The objective, with a penalty beyond a limit; None where there is no such plan."""
        plan = brute.plan_of(self.model, brute.Leaf(0, 0, 0, ranks), NOMINAL)
        if plan is None:
            return None
        value = brute.objective_value(self.goal, plan.cost, plan.time)
        over = 0.0
        if self.goal.budget is not None:
            over = max(over, plan.cost / max(self.goal.budget, 1) - 1)
        if self.goal.deadline_s is not None:
            over = max(over, plan.time / self.goal.deadline_s - 1)
        if over <= 0 and (self.best is None or value < self.best[0]):
            self.best = (value, ranks)
        return value * (1 + 20 * over) + (value if over > 0 else 0)

    def change(self, ranks):
        new, rng = list(ranks), self.rng
        stage = rng.randrange(len(new))
        if rng.random() < 0.5:
            new[stage] = rng.randrange(len(self.model.choices[stage]))
            return tuple(new)
        place = self.model.choices[stage][new[stage]].offer.place
        for other in range(len(new)):
            if place in self.by_place[other] and rng.random() < (1 if other == stage else 0.3):
                new[other] = rng.choice(self.by_place[other][place])
        return tuple(new)

    def anneal(self, ranks, steps):
        energy = self.energy(ranks)
        if energy is None:
            return
        for i in range(steps):
            new = self.change(ranks)
            there = self.energy(new)
            if there is None:
                continue
            heat = (HOT * (1 - i / steps) ** 2 + COLD) * max(energy, 1e-12)
            if there < energy or self.rng.random() < math.exp(min(0, (energy - there) / heat)):
                ranks, energy = new, there

    def look_around(self, ranks):
        """Every change of one stage."""
        for stage, choices in enumerate(self.model.choices):
            for rank in range(len(choices)):
                self.energy(ranks[:stage] + (rank,) + ranks[stage + 1 :])


def plain_starts(model):
    """The cheapest choice of every stage by its price, and the fastest by its bare estimate."""
    for key in (
        lambda stage, choice: choice.price_micro,
        lambda stage, choice: model.timed(stage, choice, 0.0)[0][NOMINAL]
        if model.timed(stage, choice, 0.0)
        else math.inf,
    ):
        yield tuple(
            min(range(len(choices)), key=lambda r, s=stage, c=choices: key(s, c[r]))
            for stage, choices in zip(model.pipeline.stages, model.choices)
        )


class Contest(medium.Contest):
    """The rivals are annealing and single changes."""

    def __init__(self, case, directory, tally, steps):
        super().__init__(case, directory, tally, 0)
        self.steps = steps

    def judge(self, goal, answer):
        if answer.code == 5:
            walk = Walk(self.model, goal, random.Random(self.case.seed))
            for start in plain_starts(self.model):
                walk.anneal(start, self.steps)
            run.expect("plans found from outside", bool(walk.best), False)
            return None
        run.expect("exit code", answer.code, 0)
        ranks = run.ranks_of(self.model, answer.json["stages"])
        run.check_numbers(self.model, ranks, answer.json)
        mine = medium.Scored(self.model, goal, ranks)
        run.expect("within budget and deadline", mine.feasible, True)
        walk = Walk(self.model, goal, random.Random(self.case.seed))
        walk.look_around(ranks)
        for start in (ranks, *plain_starts(self.model)):
            walk.anneal(start, self.steps)
        if walk.best and answer.json["status"] == "optimal":
            if mine.value > walk.best[0] * (1 + NOISE):
                raise Mismatch("objective", (mine.value, ranks), walk.best)
        if walk.best:
            medium.check_bound(answer, walk.best[0])
        return mine

    def run(self):
        rng = random.Random(self.case.seed)
        cheapest, fastest = self.meet(Goal("cost")), self.meet(Goal("time"))
        if cheapest is None or fastest is None:
            return
        self.meet(Goal("value"))
        self.meet(Goal("cost", None, fastest.time * rng.uniform(1.02, 2)))
        self.meet(Goal("time", int(cheapest.cost * rng.uniform(1.05, 2)) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..20", help="A..B, both included")
    parser.add_argument("--seed", type=int, help="one seed alone")
    parser.add_argument("--keep", metavar="DIR", help="leave the case's files here")
    parser.add_argument("--max-places", type=int, default=40, help="places of a case, from 12")
    parser.add_argument("--steps", type=int, default=4000, help="of each annealing")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split("..")) if args.seed is None else (args.seed,) * 2
    tally = Tally(10)
    tally.cut = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            case = medium.make_case(seed, args.max_places, LargeGenerator)
            generate.write_case(case, args.keep or scratch)
            tally.cases += 1
            Contest(case, args.keep or scratch, tally, args.steps).run()
    print(f"# {tally.cut} plans with a gap")
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
