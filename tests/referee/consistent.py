"""Answers of the program to related questions about one case: do they fit together?"""

from brute import Goal, objective_value
from run import (
    EXIT_INFEASIBLE,
    Mismatch,
    Query,
    ask,
    command_of,
    expect,
    expect_near,
    micro,
)

SWEEP = 8


def score(answer):
    return micro(answer.json["cost_usd"]), answer.json["time_s"]


class Questions:
    """Asks about one case, and remembers the last command for a report."""

    def __init__(self, case, directory):
        self.case = case
        self.directory = directory
        self.command = ["", ""]
        self.asked = 0

    def ask(self, goal, *extra, pareto=False):
        self.command = command_of(self.case, Query(goal, pareto=pareto), self.directory, extra)
        self.asked += 1
        return ask(self.command, self.directory)

    def best(self, goal, *extra):
        """(micro-dollars, seconds) of the best plan, None when there is none."""
        answer = self.ask(goal, *extra)
        if answer.code == EXIT_INFEASIBLE:
            return None
        expect("exit code", answer.code, 0)
        expect("status", answer.json["status"], "optimal")
        return score(answer)


def expect_score(field, got, want):
    if got is None or want is None:
        raise Mismatch(field, got, want)
    expect(f"{field}: cost", got[0], want[0])
    expect_near(f"{field}: time", got[1], want[1])


def check_budget(questions, cheapest):
    """The least cost is affordable to the micro-dollar, and breaks its own ties by time."""
    cost = cheapest[0]
    expect_score("budget = least cost", questions.best(Goal("cost", budget=cost)), cheapest)
    expect_score("least cost, then time", questions.best(Goal("time", budget=cost)), cheapest)
    if cost > 0:
        expect("budget below", questions.best(Goal("cost", budget=cost - 1)), None)


def check_deadline(questions, fastest):
    time_s = fastest[1]
    expect_score("deadline = least time", questions.best(Goal("time", None, time_s)), fastest)
    expect_score("least time, then cost", questions.best(Goal("cost", None, time_s)), fastest)
    # A deadline holds to the microsecond.
    sooner_s = time_s - max(2e-6, 1e-9 * time_s)
    expect("deadline below", questions.best(Goal("time", None, sooner_s)), None)


def check_clouds(questions, unlimited):
    """What stands beside a plan is what planning within each cloud finds.

    Not so for `ordered`, which takes another alternative when the cloud of the first is out."""
    case = questions.case
    if any("ordered" in d.get("resources", {}) for d in case.documents):
        return
    beside = {s["cloud"]: s for s in unlimited.json["single_cloud"]}
    for cloud in sorted({row["cloud"] for row in case.offers}):
        if not all(case.model(case.limits._replace(cloud=cloud)).choices):
            answer = questions.ask(Goal("cost"), "--cloud", cloud)
            expect(f"--cloud {cloud}: exit code", answer.code, EXIT_INFEASIBLE)
            expect(f"single_cloud {cloud}", beside.get(cloud), None)
            continue
        within = questions.best(Goal("cost"), "--cloud", cloud)
        if within is None:
            expect(f"single_cloud {cloud}", beside.get(cloud), None)
            continue
        entry = beside.get(cloud)
        stated = entry and (micro(entry["cost_usd"]), entry["time_s"])
        expect_score(f"single_cloud {cloud}", stated, within)
        if within < score(unlimited):
            raise Mismatch(f"--cloud {cloud}", within, f"at least {score(unlimited)}")


def check_forced(questions, unlimited):
    """A stage told to run where it runs changes nothing."""
    stages = unlimited.json["stages"]
    changes = [f"{s['name']}.location={s['cloud']}/{s['region']}" for s in stages]
    extra = [word for change in changes for word in ("--what-if", change)]
    answer = questions.ask(Goal("cost"), *extra)
    for change, other in zip(changes, answer.json["what_if"], strict=True):
        expect(f"{change}: status", other["status"], "optimal")
        expect(f"{change}: delta_usd", other["delta_usd"], 0)
        expect_near(f"{change}: delta_s", other["delta_s"], 0)


def check_frontier(questions, cheapest, fastest):
    """The frontier says what each deadline costs."""
    answer = questions.ask(Goal("cost"), pareto=True)
    points = [(micro(p["cost_usd"]), p["time_s"]) for p in answer.json["pareto"]]
    whole = answer.json["pareto_complete"] and not answer.json["pareto_thinned"]
    if whole:
        expect_score("frontier's first", points[0], cheapest)
        expect_score("frontier's last", points[-1], fastest)
    least = None
    for k in range(SWEEP):
        deadline_s = fastest[1] + (cheapest[1] - fastest[1]) * k / (SWEEP - 1)
        if k in (0, SWEEP - 1):
            deadline_s = (fastest if k == 0 else cheapest)[1]
        got = questions.best(Goal("cost", None, deadline_s))
        if got is None or least is not None and got[0] > least:
            raise Mismatch(f"cost by {deadline_s} s", got, f"at most {least}")
        least = got[0]
        if whole:
            in_time = [p for p in points if p[1] <= deadline_s]
            expect_score(f"frontier by {deadline_s} s", got, min(in_time, default=None))
    if whole:
        check_balances(questions, points)


def check_balances(questions, frontier):
    """The best product and the best weighted sum are those of a plan of the frontier."""
    for goal in (Goal("value"), Goal("weighted:0.25")):
        want = min(objective_value(goal, cost, time_s) for cost, time_s in frontier)
        got = questions.best(goal)
        if got is None:
            raise Mismatch(goal.objective, got, want)
        expect_near(goal.objective, objective_value(goal, *got), want)


def check(case, directory):
    """How many questions were asked; a Mismatch carries the last as its `command`."""
    questions = Questions(case, directory)
    try:
        unlimited = questions.ask(Goal("cost"))
        if unlimited.code == EXIT_INFEASIBLE:
            expect("time alone", questions.best(Goal("time")), None)
            return questions.asked
        cheapest, fastest = score(unlimited), questions.best(Goal("time"))
        check_budget(questions, cheapest)
        check_deadline(questions, fastest)
        check_clouds(questions, unlimited)
        check_forced(questions, unlimited)
        check_frontier(questions, cheapest, fastest)
    except Mismatch as error:
        error.command = questions.command
        raise
    return questions.asked
