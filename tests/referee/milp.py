"""One planning question as a mixed-integer program, solved by CBC.

A method that shares nothing with the planner's search, for cases with too many combinations to
look at. Within it:

    at[s, P]        1 when stage s runs at place P
    use[s, c, w]    1 when stage s takes choice c and its inputs may take until wait w
    pair[r, s, P, Q] at[r, P] and at[s, Q], for a stage s that reads what r makes
    move[d, P, Q]   dataset d, which several stages read, is brought from P to Q and paid for

Money is in dollars and time in hours, so that numbers of one size meet."""

import os
import shutil
import subprocess
from typing import NamedTuple, Optional

from brute import NOISE
from model import HIGH, NOMINAL

PROGRAM = "cbc"
MICRO = 1e-6
HOUR_S = 3600.0
# CBC accepts a solution that breaks a row by this much; tighter is beyond what doubles allow here.
TOLERANCE = "1e-9"
# A deadline met to the last bit: rows of doubles must not lose the plan that meets it.
ROOM = 1e-9


def available():
    return shutil.which(PROGRAM) is not None


class LinearProgram:
    """Columns are at least 0; a binary one is 0 or 1."""

    def __init__(self):
        self.columns = []  # [(row, coefficient), ...] of each
        self.prices = []
        self.binary = []
        self.rows = []  # (sense, right-hand side)

    def column(self, price=0.0, binary=False):
        self.columns.append([])
        self.prices.append(price)
        self.binary.append(binary)
        return len(self.columns) - 1

    def row(self, terms, sense, right):
        """terms: (column, coefficient) pairs; sense: E, L or G."""
        for column, coefficient in terms:
            self.columns[column].append((len(self.rows), coefficient))
        self.rows.append((sense, right))

    def write_mps(self, path):
        with open(path, "w") as f:
            f.write("NAME case FREE\nROWS\n N cost\n")
            for r, (sense, _) in enumerate(self.rows):
                f.write(f" {sense} r{r}\n")
            f.write("COLUMNS\n")
            for c, entries in enumerate(self.columns):
                f.write(f" c{c} cost {self.prices[c]!r}\n")
                for r, coefficient in entries:
                    f.write(f" c{c} r{r} {coefficient!r}\n")
            f.write("RHS\n")
            for r, (_, right) in enumerate(self.rows):
                if right:
                    f.write(f" rhs r{r} {right!r}\n")
            f.write("BOUNDS\n")
            for c in range(len(self.columns)):
                if self.binary[c]:
                    f.write(f" BV bound c{c}\n")
            f.write("ENDATA\n")

    def solve(self, directory, limit_s):
        """(status, value per column): optimal, infeasible or stopped."""
        problem, solution = (os.path.join(directory, n) for n in ("case.mps", "case.sol"))
        self.write_mps(problem)
        if os.path.exists(solution):
            os.remove(solution)
        options = ["-timeMode", "elapsed", "-sec", str(limit_s), "-ratio", "0", "-allow", "0"]
        options += ["-increment", TOLERANCE, "-integerT", TOLERANCE]
        options += ["-primalT", TOLERANCE, "-dualT", TOLERANCE]
        command = [PROGRAM, problem, *options, "-solve", "-solution", solution]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if not os.path.exists(solution):
            raise RuntimeError(f"{PROGRAM} left no solution: {done.stdout[-500:]}")
        return self.read_solution(solution)

    def read_solution(self, path):
        values = [0.0] * len(self.columns)
        with open(path) as f:
            status = f.readline()
            for line in f:
                fields = line.replace("**", "").split()
                values[int(fields[1][1:])] = float(fields[2])
        if status.startswith("Optimal"):
            return "optimal", values
        return ("infeasible" if "nfeasible" in status else "stopped"), values


class Use(NamedTuple):
    """A stage on a choice, begun when its inputs have arrived after wait_s at the latest."""

    choice: int  # its place among the stage's choices
    wait_s: float
    cost: int
    time: tuple  # seconds from start to finish: nominal, low, high


class Answer(NamedTuple):
    status: str
    ranks: Optional[tuple]  # per stage in file order, as brute.Leaf has them


class Formulation:
    def __init__(self, model, goal):
        self.model = model
        self.goal = goal
        self.stages = model.pipeline.stages
        self.due = HIGH if goal.p95 else NOMINAL
        self.timed = [NOMINAL] if goal.objective != "cost" else []
        if goal.deadline_s is not None:
            self.timed.append(self.due)
        self.lp = LinearProgram()
        self.places = [sorted({c.offer.place for c in choices}) for choices in model.choices]
        self.money = []  # (column, dollars): the cost of the plan
        self.at, self.uses, self.pairs = {}, {}, {}
        for stage in self.stages:
            self.add_stage(stage)
        for stage in self.stages:
            for r in sorted({d.producer for d in stage.inputs} - {None}):
                self.add_pairs(r, stage)
        self.add_transfers()
        self.add_goal()

    def readers(self):
        """Dataset by name -> (dataset, the stages that read it)."""
        found = {}
        for stage in self.stages:
            for dataset in stage.inputs:
                found.setdefault(dataset.name, (dataset, {}))[1][stage.index] = stage
        return found

    def arrival(self, stage, producer, src, dst):
        """Seconds until all that a stage reads from one producer is there, None = no way."""
        moves = [self.model.arrive(d, src, dst) for d in stage.inputs if d.producer == producer]
        return None if None in moves else max(seconds for seconds, _ in moves)

    def waits(self, stage, place):
        """Every input_s that can occur, [] when the stage cannot run there."""
        fixed = [self.model.arrive(d, d.place, place) for d in stage.inputs if d.producer is None]
        if None in fixed:
            return []
        least, waits = max((seconds for seconds, _ in fixed), default=0.0), set()
        for r in {d.producer for d in stage.inputs} - {None}:
            times = [self.arrival(stage, r, src, place) for src in self.places[r]]
            times = {t for t in times if t is not None}
            if not times:
                return []
            least = max(least, min(times))
            waits |= times
        return sorted({least} | {w for w in waits if w > least})

    def stage_uses(self, stage, place, wait_s):
        """What a stage may take at a place, without what costs and takes no less than another."""
        kept = []
        for rank, choice in enumerate(self.model.choices[stage.index]):
            timed = choice.offer.place == place and self.model.timed(stage, choice, wait_s)
            if not timed:
                continue
            runs, computes = timed
            fixed_s = self.model.config.boot_s + stage.setup_s + wait_s
            cost = computes[NOMINAL] + self.model.storage(stage, place)
            kept.append(Use(rank, wait_s, cost, tuple(fixed_s + r for r in runs)))
        kept = [u for u in kept if self.in_time(u)]
        kept.sort(key=lambda u: (u.cost, u.time[NOMINAL], u.time[HIGH]))
        front = []
        for use in kept:
            if not any(self.no_slower(other, use) for other in front):
                front.append(use)
        return front

    def in_time(self, use):
        deadline_s = self.goal.deadline_s
        return deadline_s is None or use.time[self.due] <= deadline_s * (1.0 + NOISE)

    def no_slower(self, a, b):
        """In the times that count for the goal."""
        return all(a.time[level] <= b.time[level] for level in self.timed)

    def add_stage(self, stage):
        everywhere = []
        for place in self.places[stage.index]:
            here = self.lp.column(binary=True)
            self.at[stage.index, place] = here
            everywhere.append((here, 1.0))
            mine = []
            for wait_s in self.waits(stage, place):
                for use in self.stage_uses(stage, place, wait_s):
                    column = self.lp.column(binary=True)
                    mine.append((column, use))
                    self.money.append((column, use.cost * MICRO))
            self.uses[stage.index, place] = mine
            self.lp.row([(here, -1.0)] + [(c, 1.0) for c, _ in mine], "E", 0.0)
        self.lp.row(everywhere, "E", 1.0)

    def add_pairs(self, r, stage):
        s = stage.index
        leaving = {src: [(self.at[r, src], -1.0)] for src in self.places[r]}
        for dst in self.places[s]:
            coming, late = [(self.at[s, dst], -1.0)], []
            for src in self.places[r]:
                seconds = self.arrival(stage, r, src, dst)
                if seconds is None:
                    continue
                pair = self.pairs[r, s, src, dst] = self.lp.column()
                coming.append((pair, 1.0))
                leaving[src].append((pair, 1.0))
                late.append((seconds, pair))
            self.lp.row(coming, "E", 0.0)
            self.add_wait(self.uses[s, dst], late)
        for terms in leaving.values():
            self.lp.row(terms, "E", 0.0)

    def add_wait(self, uses, late):
        """Whoever reads from far takes a use that waits as long, or longer."""
        for wait_s in sorted({0.0} | {u.wait_s for _, u in uses}):
            slow = [(pair, 1.0) for seconds, pair in late if seconds > wait_s]
            if slow:
                patient = [(c, -1.0) for c, u in uses if u.wait_s > wait_s]
                self.lp.row(slow + patient, "L", 0.0)

    def add_transfers(self):
        for dataset, readers in self.readers().values():
            for (src, dst), columns in sorted(self.journeys(dataset, readers).items()):
                micro = self.model.arrive(dataset, src, dst)[1]
                if micro == 0:
                    continue
                if len(columns) == 1:
                    self.money.append((columns[0], micro * MICRO))
                    continue
                move = self.lp.column()
                self.money.append((move, micro * MICRO))
                for column in columns:
                    self.lp.row([(move, 1.0), (column, -1.0)], "G", 0.0)

    def journeys(self, dataset, readers):
        """(from, to) -> the column of each reader that is 1 when it needs that."""
        found = {}
        for s in readers:
            for dst in self.places[s]:
                if dataset.producer is None:
                    if self.uses[s, dst]:
                        found.setdefault((dataset.place, dst), []).append(self.at[s, dst])
                    continue
                for src in self.places[dataset.producer]:
                    pair = self.pairs.get((dataset.producer, s, src, dst))
                    if pair is not None:
                        found.setdefault((src, dst), []).append(pair)
        return found

    def add_finish(self, level):
        """The column of the plan's time in hours, for one end of the estimates."""
        finish = [self.lp.column() for _ in self.stages]
        end = self.lp.column()
        for stage in self.stages:
            own = [
                (column, use.time[level] / HOUR_S)
                for place in self.places[stage.index]
                for column, use in self.uses[stage.index, place]
            ]
            for before in [finish[n] for n in stage.needs] or [None]:
                terms = own + [(finish[stage.index], -1.0)]
                if before is not None:
                    terms.append((before, 1.0))
                self.lp.row(terms, "L", 0.0)
            self.lp.row([(end, 1.0), (finish[stage.index], -1.0)], "G", 0.0)
        return end

    def add_goal(self):
        goal = self.goal
        per_hour = {"cost": 0.0, "time": 1.0}.get(goal.objective)
        if per_hour is None:
            per_hour = goal.weight
        for column, dollars in self.money:
            self.lp.prices[column] += (1.0 - per_hour) * dollars
        if per_hour > 0:
            end = self.add_finish(NOMINAL)
            self.lp.prices[end] = per_hour
        if goal.deadline_s is not None:
            late = self.add_finish(self.due)
            self.lp.row([(late, 1.0)], "L", goal.deadline_s / HOUR_S * (1.0 + ROOM))
        if goal.budget is not None:
            self.lp.row(self.money_terms(), "L", (goal.budget + 0.5) * MICRO)

    def money_terms(self):
        """A row names a column once."""
        sums = {}
        for column, dollars in self.money:
            sums[column] = sums.get(column, 0.0) + dollars
        return sorted(sums.items())

    def ranks(self, values):
        return tuple(
            max(
                (values[column], use.choice)
                for place in self.places[stage.index]
                for column, use in self.uses[stage.index, place]
            )[1]
            for stage in self.stages
        )


def solve(model, goal, directory, limit_s):
    """The best plan for a goal (any objective but `value`, which is no sum)."""
    form = Formulation(model, goal)
    status, values = form.lp.solve(directory, limit_s)
    return Answer(status, form.ranks(values) if status == "optimal" else None)
