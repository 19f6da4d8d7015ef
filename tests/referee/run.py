#!/usr/bin/python3
"""Holds `tradewind plan` against the referee on random cases.

    run.py --seeds 1..300            compare; exit status 1 on any mismatch
    run.py --seed 17 --keep DIR      the same for one case, its files left in DIR for a replay

The program is $TRADEWIND (default build/tradewind)."""

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from typing import NamedTuple

sys.dont_write_bytecode = True

import brute
import generate
from brute import NOISE, Goal
from model import HIGH, LOW

PROGRAM = os.environ.get("TRADEWIND", "build/tradewind")
TIMEOUT_S = 120
EXIT_USAGE, EXIT_INFEASIBLE = 2, 5


class Query(NamedTuple):
    goal: Goal
    solver: str = "exact"
    pareto: bool = False
    in_header: bool = False  # the goal stands in the pipeline file, not on the command line


class Answer(NamedTuple):
    code: int
    json: dict
    stderr: str


class Mismatch(Exception):
    def __init__(self, field, got, want):
        super().__init__(f"{field}: got {got!r}, want {want!r}")
        self.field = field


def expect(field, got, want):
    if got != want:
        raise Mismatch(field, got, want)


def expect_near(field, got, want):
    """Seconds and objectives: to a millionth, or to nine digits of large ones."""
    if not isinstance(got, (int, float)) or abs(got - want) > 1e-6 + 1e-9 * abs(want):
        raise Mismatch(field, got, want)


def usd(micro):
    return f"{micro // 1000000}.{micro % 1000000:06d}"


def micro(dollars):
    return round(dollars * 1e6)


def flags_of(case, query):
    limits, goal = case.limits, query.goal
    flags = ["--json", "--market", limits.market, "--solver", query.solver]
    if limits.cloud:
        flags += ["--cloud", limits.cloud]
    if limits.region:
        flags += ["--region", limits.region]
    if limits.max_hourly:
        flags += ["--max-hourly", limits.max_hourly]
    if query.pareto:
        flags += ["--pareto"]
    if goal.p95:
        flags += ["--risk", "p95"]
    if not query.in_header:
        flags += ["--objective", goal.objective]
        if goal.budget is not None:
            flags += ["--budget", usd(goal.budget)]
        if goal.deadline_s is not None:
            flags += ["--deadline", repr(goal.deadline_s)]
    return flags


def pipeline_file(case, query, directory):
    """The case's own file, or a second one whose header carries the goal."""
    if not query.in_header:
        return "pipeline.yaml"
    goal = query.goal
    header = {"name": "with-goal", "objective": goal.objective}
    documents = list(case.documents)
    if len(documents) > 1:  # a case of several documents starts with its header
        header.update(documents.pop(0))
    if goal.budget is not None:
        header["budget"] = float(usd(goal.budget))
    if goal.deadline_s is not None:
        header["deadline"] = goal.deadline_s
    with open(os.path.join(directory, "pipeline-goal.yaml"), "w") as f:
        f.write(generate.yaml_text([header, *documents]))
    return "pipeline-goal.yaml"


def command_of(case, query, directory, extra=()):
    name = pipeline_file(case, query, directory)
    program = [os.path.abspath(PROGRAM), "plan", name, "--catalog", "catalog"]
    return [*program, *flags_of(case, query), *extra]


def ask(command, directory):
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "TRADEWIND_HOME": os.path.abspath(os.path.join(directory, "home"))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    try:
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
    except json.JSONDecodeError as e:
        raise Mismatch("json", done.stdout[:200], str(e))
    return Answer(done.returncode, answer, done.stderr)


def stage_key(stage):
    names = ("cloud", "region", "instance_type", "market", "zone")
    return tuple((stage[n] or "").encode() for n in names)


def ranks_of(model, stages):
    """The program's stages as the referee's leaf of choices."""
    by_name = {s["name"]: s for s in stages}
    expect("stage names", [s["name"] for s in stages], [s.name for s in model.pipeline.stages])
    ranks = []
    for stage, choices in zip(model.pipeline.stages, model.choices):
        key = stage_key(by_name[stage.name])
        keys = [c.key for c in choices]
        if key not in keys:
            raise Mismatch(f"{stage.name}: choice", key, "an eligible one")
        ranks.append(keys.index(key))
    return tuple(ranks)


def check_numbers(model, ranks, answer):
    """Every figure of a plan, given its choices."""
    plan = brute.plan_of(model, brute.Leaf(0, 0, 0, ranks))
    if plan is None:
        raise Mismatch("plan", ranks, "one that exists")
    for stage, want, got in zip(model.pipeline.stages, plan.stages, answer["stages"]):
        for field in ("start_s", "finish_s", "boot_s", "setup_s", "input_s", "run_s"):
            value = getattr(want, field)
            expect_near(f"{stage.name}: {field}", got[field], value)
        for field in ("compute", "transfer", "storage"):
            expect(f"{stage.name}: {field}_usd", micro(got[field + "_usd"]), getattr(want, field))
        expect(f"{stage.name}: nodes", got["nodes"], stage.nodes)
        expect(f"{stage.name}: price", micro(got["price_usd_per_hour"]), want.choice.price_micro)
    expect("cost_usd", micro(answer["cost_usd"]), plan.cost)
    expect_near("time_s", answer["time_s"], plan.time)
    return plan


def check_range(model, ranks, answer):
    for name, level in (("low", LOW), ("high", HIGH)):
        plan = brute.plan_of(model, brute.Leaf(0, 0, 0, ranks), level)
        if plan.time < 1e12:
            expect(f"cost_{name}_usd", micro(answer[f"cost_{name}_usd"]), plan.cost)
            expect_near(f"time_{name}_s", answer[f"time_{name}_s"], plan.time)


def accepted(case, goal, leaves):
    """The leaves a right solver may return: one, unless doubles blur which numbers are equal."""
    slacks = (0.0,) if case.exact_numbers else (0.0, NOISE, -NOISE)
    return [brute.best(goal, leaves, slack) for slack in slacks]


def check_reason(goal, cheapest, fastest, reason):
    """A constraint that cannot be met is named; of two that only clash, both."""
    broken = []
    if goal.budget is not None and cheapest.cost > goal.budget:
        broken.append("budget")
    fastest_s = fastest.time_high if goal.p95 else fastest.time
    if goal.deadline_s is not None and fastest_s > goal.deadline_s:
        broken.append("deadline")
    if broken and not any(name in reason for name in broken):
        raise Mismatch("reason", reason, f"names {broken}")
    if not broken and not ("budget" in reason and "deadline" in reason):
        raise Mismatch("reason", reason, "names budget and deadline")


def check_infeasible(case, goal, leaves, answer):
    expect("exit code", answer.code, EXIT_INFEASIBLE)
    expect("status", answer.json.get("status"), "infeasible")
    if not answer.json.get("reason"):
        raise Mismatch("reason", answer.json.get("reason"), "a text")
    if not leaves:
        return
    cheapest, fastest = (accepted(case, Goal(o), leaves) for o in ("cost", "time"))
    for name, wanted in (("cheapest", cheapest), ("fastest", fastest)):
        cost = micro(answer.json[name]["cost_usd"])
        leaf = next((l for l in wanted if l.cost == cost), wanted[0])
        expect(f"{name}: cost_usd", cost, leaf.cost)
        expect_near(f"{name}: time_s", answer.json[name]["time_s"], leaf.time)
    check_reason(goal, cheapest[0], fastest[0], answer.json["reason"])


def check_optimal(model, goal, wanted, answer):
    expect("exit code", answer.code, 0)
    plan = answer.json
    ranks = ranks_of(model, plan["stages"])
    best = wanted[0] or wanted[-1]
    if ranks not in [leaf.ranks for leaf in wanted if leaf]:
        got = brute.plan_of(model, brute.Leaf(0, 0, 0, ranks))
        raise Mismatch(
            "choices",
            (ranks, got and (got.cost, got.time)),
            (best.ranks, (best.cost, best.time)),
        )
    expect("status", plan["status"], "optimal")
    expect("gap", plan["gap"], 0)
    done = check_numbers(model, ranks, plan)
    value = brute.objective_value(goal, done.cost, done.time)
    expect_near("bound", plan["bound"], value)
    check_range(model, ranks, plan)


def check_greedy(model, goal, leaves, answer):
    """Greedy need not be good: its figures must be true, and its bound no lie."""
    if answer.code == EXIT_INFEASIBLE and (goal.budget is not None or goal.deadline_s is not None):
        return
    if answer.code == EXIT_INFEASIBLE and not can_all_move(model, leaves):
        return
    expect("exit code", answer.code, 0)
    ranks = ranks_of(model, answer.json["stages"])
    plan = check_numbers(model, ranks, answer.json)
    best = brute.best(goal, leaves)
    if best is None:
        # Only the noise of doubles may stand between the plan and a deadline that it just meets.
        expect("plan just on time", abs(plan.time - goal.deadline_s) < 1e-6, True)
        return
    value = brute.objective_value(goal, plan.cost, plan.time)
    optimum = brute.objective_value(goal, best.cost, best.time)
    if value < optimum * (1 - 1e-9):
        raise Mismatch("greedy beats the best", value, optimum)
    if answer.json["bound"] is not None and answer.json["bound"] > optimum * (1 + 1e-9) + 1e-9:
        raise Mismatch("greedy's bound", answer.json["bound"], f"at most {optimum}")
    if answer.json["status"] == "optimal" and value > optimum * (1 + 1e-9):
        raise Mismatch("greedy says optimal", value, optimum)


def can_all_move(model, leaves):
    plans = 1
    for choices in model.choices:
        plans *= len(choices)
    return len(leaves) == plans


def check_pareto(case, model, leaves, answer):
    expect("exit code", answer.code, 0)
    got = [(micro(p["cost_usd"]), p["time_s"]) for p in answer.json["pareto"]]
    expect("pareto: rising cost", got, sorted(got))
    fronts = [brute.pareto(leaves)]
    if not case.exact_numbers:
        fronts.append(brute.pareto(leaves, NOISE))
    want = min(fronts, key=lambda f: abs(len(f) - len(got)))
    expect("pareto: points", [c for c, _ in got], [l.cost for l in want])
    for point, leaf in zip(answer.json["pareto"], want):
        expect_near("pareto: time_s", point["time_s"], leaf.time)
        if case.exact_numbers:
            expect("pareto: choices", ranks_of(model, point["stages"]), leaf.ranks)


def check_single_clouds(case, model, goal, answer):
    """Beside an unconstrained plan: the best plan within each cloud."""
    want = {}
    for cloud in sorted({c.offer.cloud for stage in model.choices for c in stage}):
        if case.limits.cloud in (None, cloud):
            leaves = single_cloud_leaves(model, cloud)
            leaf = brute.best(goal, leaves)
            if leaf:
                want[cloud] = leaf
    got = {s["cloud"]: s for s in answer.json["single_cloud"]}
    expect("single_cloud: clouds", sorted(got), sorted(want))
    for cloud, leaf in want.items():
        expect(f"single_cloud {cloud}: cost", micro(got[cloud]["cost_usd"]), leaf.cost)
        expect_near(f"single_cloud {cloud}: time", got[cloud]["time_s"], leaf.time)


def single_cloud_leaves(model, cloud):
    """Leaves of the model with every stage on one cloud (ranks count within what is left)."""
    kept = model.choices
    model.choices = [[c for c in stage if c.offer.cloud == cloud] for stage in kept]
    try:
        return brute.enumerate_plans(model)
    finally:
        model.choices = kept


def goals_for(rng, leaves):
    """Unconstrained goals of every objective, then constraints met with room, exactly, or not."""
    weight = rng.choice(["0", "0.25", "0.5", "0.9", "1"])
    objectives = ["cost", "time", "value", f"weighted:{weight}"]
    goals = [Goal(o) for o in objectives]
    if not leaves:
        return goals[:1]
    cheapest, fastest = brute.best(goals[0], leaves), brute.best(goals[1], leaves)
    front = brute.pareto(leaves)
    for _ in range(4):
        point = rng.choice(front)
        middle = ((cheapest.cost + fastest.cost) // 2, round((cheapest.time + fastest.time) / 2, 1))
        budget = rng.choice([None, cheapest.cost, cheapest.cost - 1, point.cost, middle[0]])
        deadline = rng.choice([None, fastest.time, fastest.time - 1, point.time, middle[1]])
        if budget is not None and budget < 0 or deadline is not None and deadline <= 0:
            continue
        goals.append(Goal(rng.choice(objectives), budget, deadline, rng.random() < 0.2))
    return goals


def queries_for(rng, leaves):
    goals = goals_for(rng, leaves)
    queries = [Query(g, in_header=not g.p95 and rng.random() < 0.1) for g in goals]
    queries += [Query(g, solver="exhaustive") for g in rng.sample(goals, min(2, len(goals)))]
    queries.append(Query(rng.choice(goals), solver="greedy"))
    queries.append(Query(Goal("cost"), pareto=True))
    return queries


def check(case, model, leaves, query, answer):
    if answer.code not in (0, EXIT_USAGE, EXIT_INFEASIBLE):
        raise Mismatch("exit code", (answer.code, answer.stderr[-300:]), "0, 2 or 5")
    if not all(model.choices):
        if answer.code not in (EXIT_USAGE, EXIT_INFEASIBLE):
            raise Mismatch("exit code", answer.code, "2 or 5: a stage has no eligible offer")
        return
    if answer.code == EXIT_USAGE:
        raise Mismatch("exit code", (answer.code, answer.stderr[-300:]), "0 or 5")
    wanted = accepted(case, query.goal, leaves)
    if not any(wanted) or (answer.code == EXIT_INFEASIBLE and not all(wanted)):
        check_infeasible(case, query.goal, leaves, answer)
    elif query.solver == "greedy":
        check_greedy(model, query.goal, leaves, answer)
    else:
        check_optimal(model, query.goal, wanted, answer)
        if query.pareto:
            check_pareto(case, model, leaves, answer)
        if query.goal == Goal("cost"):
            check_single_clouds(case, model, query.goal, answer)


class Tally:
    def __init__(self, verbose):
        self.cases = self.plans = 0
        self.fields = Counter()
        self.seeds = []
        self.verbose = verbose

    def add(self, seed, query, command, error):
        self.fields[error.field.split(": ")[-1]] += 1
        if seed not in self.seeds:
            self.seeds.append(seed)
        if sum(self.fields.values()) <= self.verbose:
            print(f"# seed {seed}: {query}\n#   {error}\n#   {shlex.join(command[1:])}")

    def report(self):
        """Prints the sum; returns the exit status."""
        print(f"# {self.cases} cases, {self.plans} plans, {sum(self.fields.values())} mismatches")
        for field, count in self.fields.most_common():
            print(f"#   {count} x {field}")
        if self.seeds:
            print(f"# seeds: {' '.join(map(str, self.seeds[:40]))}")
        return 1 if self.seeds else 0


def run_seed(seed, directory, tally, max_plans):
    case = generate.make_case(seed, max_plans=max_plans)
    generate.write_case(case, directory)
    model = case.model()
    leaves = brute.enumerate_plans(model)
    tally.cases += 1
    for query in queries_for(random.Random(seed), leaves):
        command = command_of(case, query, directory)
        tally.plans += 1
        try:
            check(case, model, leaves, query, ask(command, directory))
        except Mismatch as error:
            tally.add(seed, query, command, error)
        except (KeyError, TypeError, subprocess.TimeoutExpired) as error:
            tally.add(seed, query, command, Mismatch(type(error).__name__, str(error), "an answer"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..100", help="A..B, both included")
    parser.add_argument("--seed", type=int, help="one seed alone")
    parser.add_argument("--keep", metavar="DIR", help="leave the case's files here")
    parser.add_argument("--max-plans", type=int, default=3000, help="combinations in one case")
    parser.add_argument("--verbose", type=int, default=10, help="mismatches to print in full")
    return parser.parse_args()


def main():
    args = arguments()
    first, last = map(int, args.seeds.split("..")) if args.seed is None else (args.seed,) * 2
    tally = Tally(args.verbose)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            run_seed(seed, args.keep or scratch, tally, args.max_plans)
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
