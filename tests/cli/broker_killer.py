"""Kills brokers at their writes and starts of processes, and looks what becomes of it."""

import os
import random

from broker_home import check

KILLAT = os.path.join(os.environ["TRADEWIND_BUILD"], "tests", "tools", "killat")
KILLED = 99
# Of all moments, those that fall to this process: "2/4" is the second of every four.
SHARD, SHARDS = map(int, os.environ.get("TRADEWIND_SHARD", "1/1").split("/"))


def why_not():
    if not os.path.exists(KILLAT) or os.uname().machine != "x86_64":
        return "the killer knows x86-64 alone"
    return ""


def calls_of(got):
    """Of a broker that was not killed."""
    return int(got.stderr.split("killat:")[-1].split()[0])


class Killer:
    """home has a template (Home.keep); trouble finishes what is there and tells what is not as it
    should be, as text; clean ends what a failure left."""

    def __init__(self, home, trouble, clean=None):
        self.home, self.trouble = home, trouble
        self.clean = clean or home.end_everything

    def kill_at(self, call, half):
        before = [KILLAT, "--alone", *(["--half"] if half else []), str(call)]
        got = self.home.run("broker", before=before)
        if "Sanitizer" in got.stderr or "runtime error" in got.stderr:
            raise RuntimeError(got.stderr)
        return got

    def count_calls(self):
        """Of a broker that nobody kills."""
        self.home.restore()
        done_by = self.kill_at(10**9, False)
        check(done_by.returncode == 0, "a broker serves all, under a tracer", done_by.stderr)
        check(not (found := self.trouble()), "as it should", found)
        return calls_of(done_by)

    def everywhere(self, calls, kills):
        """At so many moments, evenly spread, or at "all" of this process's."""
        if kills == "all":
            moments = list(range(SHARD, calls + 1, SHARDS))
        else:
            n = min(int(kills), calls)
            shift = random.randrange(max(calls // n, 1))
            moments = [1 + i * calls // n + shift for i in range(n)]
        wanted, killed, troubles = len(moments), 0, []
        for call in moments:
            self.home.restore()
            half = call % 2 == 0
            got = self.kill_at(call, half)
            if got.returncode == KILLED:
                killed += 1
            elif kills != "all" and len(moments) < 2 * wanted:
                # Calls differ from run to run, by a tenth and more on hosts: this one did not come,
                # and another is taken that will.
                moments.append(random.randrange(1, max(calls_of(got) // 2, 2)))
            if found := self.trouble():
                troubles.append(f"killed at call {call}{' (half)' if half else ''}: {found}")
                self.clean()
        check(killed * 2 >= wanted, f"killed at {killed} of {calls} calls, {wanted} were wanted")
        check(not troubles, "and never to be noticed afterwards", *troubles[:5])

    def again_and_again(self, calls, rounds):
        """Brokers that are killed one after the other, each some way on."""
        troubles = []
        for round_number in range(rounds):
            seed = random.randrange(1 << 30)
            dice = random.Random(seed)
            self.home.restore()
            for _ in range(12):
                self.kill_at(dice.randrange(1, calls // 4), dice.random() < 0.5)
            if found := self.trouble():
                troubles.append(f"round {round_number}, seed {seed}: {found}")
                self.clean()
        check(not troubles, f"{rounds} x 12 brokers killed at random", *troubles[:5])
