#!/usr/bin/env python3
"""limits.launches_per_s: five machines are launched at once, and the sixth has to wait for its turn, for
which nothing else waits."""

import sys

from broker_home import check, done, scratch_directory, until
from cloud_runs import cloud, stage, why_not


def states(home):
    return [s["state"] for s in home.show("1")["stages"]]


def test_turns(scratch):
    # The turn of the sixth comes 100 s after the first.
    with cloud(scratch, limits="launches_per_s: 0.01, jobs_per_user: 20") as home:
        home.start("wide", *(stage(f"s{i}", "true", needs="[]") for i in range(6)))
        good = until(lambda: states(home).count("finished") == 5)
        check(good, "five stages are launched at once, and finish", home.show("1"))
        model = home.model()
        check(model["launched"] == 5, "the sixth is not", model["launched"], model["calls"])
        check(states(home).count("running") == 1, "and waits for its turn", states(home))
        home.good("run", "stop", "1")
        check(home.over("1") == "stopped", "it can be stopped while it waits", home.show("1"))
        check(home.model()["launched"] == 5, "and never had a machine", home.instances())
        bills = home.nothing_bills()
        check(not bills, "nothing bills", bills)


def main():
    reason = why_not()
    if reason:
        print("1..0 # SKIP " + reason)
        return 0
    with scratch_directory() as scratch:
        test_turns(scratch)
    return done()


if __name__ == "__main__":
    sys.exit(main())
