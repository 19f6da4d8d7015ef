"""Every combination of choices, looked at one by one: the plan a solver must return.

Nothing is pruned. Stages are assigned in topological order, so that a step is computed once for
all combinations that share its beginning."""

from typing import NamedTuple, Optional

from model import HIGH, NOMINAL

# Two times or objectives this close (relative) may be equal numbers added in another order.
NOISE = 1e-12


class Goal(NamedTuple):
    objective: str = "cost"
    budget: Optional[int] = None  # micro-dollars
    deadline_s: Optional[float] = None
    p95: bool = False

    @property
    def weight(self):
        return float(self.objective.partition(":")[2])


class Leaf(NamedTuple):
    cost: int
    time: float
    time_high: float
    ranks: tuple  # per stage in file order, the choice's place in the order of ties


def sort_key(goal, leaf):
    """The objective, then what breaks its ties, before the stage by stage order."""
    dollars, hours = leaf.cost / 1e6, leaf.time / 3600.0
    if goal.objective == "cost":
        return (leaf.cost, leaf.time)
    if goal.objective == "time":
        return (leaf.time, leaf.cost)
    if goal.objective == "value":
        return (dollars * hours, leaf.cost, leaf.time)
    return (goal.weight * hours + (1.0 - goal.weight) * dollars, leaf.cost, leaf.time)


def objective_value(goal, cost, time_s):
    """In the objective's unit: dollars, seconds, dollar-hours, or the weighted sum."""
    key = sort_key(goal, Leaf(cost, time_s, time_s, ()))
    return key[0] / 1e6 if goal.objective == "cost" else key[0]


def enumerate_plans(model):
    """Every plan that exists, as leaves."""
    pipeline = model.pipeline
    stages = [pipeline.stages[i] for i in pipeline.order]
    n = len(stages)
    assigned, ranks, finish, finish_high = [None] * n, [0] * n, [0.0] * n, [0.0] * n
    paid = {}
    leaves = []
    boot_s = model.config.boot_s

    def visit(depth, cost):
        if depth == n:
            leaves.append(Leaf(cost, max(finish), max(finish_high), tuple(ranks)))
            return
        stage = stages[depth]
        i = stage.index
        sources = model.sources(stage, assigned)
        start = max((finish[k] for k in stage.needs), default=0.0)
        start_high = max((finish_high[k] for k in stage.needs), default=0.0)
        for rank, choice in enumerate(model.choices[i]):
            step = model.step(stage, choice, sources)
            if step is None:
                continue
            place = choice.offer.place
            mine = [
                (d.name, place, micro)
                for d, micro in zip(stage.inputs, step.transfers)
                if not paid.get((d.name, place))
            ]
            for name, where, _ in mine:
                paid[name, where] = True
            assigned[i], ranks[i] = choice, rank
            finish[i] = start + boot_s + stage.setup_s + step.input_s + step.run_s[NOMINAL]
            finish_high[i] = start_high + boot_s + stage.setup_s + step.input_s + step.run_s[HIGH]
            spent = step.compute[NOMINAL] + sum(m for _, _, m in mine) + model.storage(stage, place)
            visit(depth + 1, cost + spent)
            for name, where, _ in mine:
                paid[name, where] = False

    visit(0, 0)
    return leaves


def feasible(goal, leaf, slack=0.0):
    if goal.budget is not None and leaf.cost > goal.budget:
        return False
    time = leaf.time_high if goal.p95 else leaf.time
    return goal.deadline_s is None or time <= goal.deadline_s * (1.0 + slack)


def best(goal, leaves, slack=0.0):
    """The best feasible leaf, ties broken to the last; None when there is none.

    slack 0 compares numbers as they are; slack NOISE takes numbers that close as equal."""
    candidates = [(sort_key(goal, l), l) for l in leaves if feasible(goal, l, slack)]
    for level in range(len(candidates[0][0]) if candidates else 0):
        bar = min(key[level] for key, _ in candidates) * (1.0 + max(slack, 0.0))
        candidates = [c for c in candidates if c[0][level] <= bar]
    return min((leaf for _, leaf in candidates), key=lambda l: l.ranks, default=None)


def pareto(leaves, slack=0.0):
    """The non-dominated (cost, time) leaves by rising cost, one per point, ties broken."""
    front = []
    for leaf in sorted(leaves, key=lambda l: (l.cost, l.time, l.ranks)):
        if not front or leaf.time < front[-1].time * (1.0 - slack):
            front.append(leaf)
    return front


def plan_of(model, leaf, level=NOMINAL):
    return model.evaluate([c[r] for c, r in zip(model.choices, leaf.ranks)], level)
