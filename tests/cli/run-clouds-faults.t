#!/usr/bin/env python3
"""Runs on a cloud that takes instances away, lets them never answer, gives other ones than asked for,
or fails at random; brokers that are gone for good; and caps, at real launches in the model of EC2.
TRADEWIND_SEEDS: random faults of how many seeds."""

import functools
import os
import sys
import time

from broker_home import SLOW, check, done, scratch_directory, together, until
from cloud_runs import EAST, OFFERS, SPOT, WEST, cloud, stage, why_not

# A step every tenth of a second; each machine that has a hand in it is noted.
STEPS = stage(
    "steps",
    'i=$(cat "$TRADEWIND_CHECKPOINT/i" 2>/dev/null || echo 0)\n'
    'echo "$i $(hostname)" >>"$TRADEWIND_CHECKPOINT/begun"\n'
    'while [ $i -lt 60 ]; do\n'
    '  i=$((i + 1)); echo $i >"$TRADEWIND_CHECKPOINT/new"; mv "$TRADEWIND_CHECKPOINT/new" "$TRADEWIND_CHECKPOINT/i"\n'
    '  sleep 0.1\ndone\ncp "$TRADEWIND_CHECKPOINT/begun" "$TRADEWIND_OUTPUT/o/"',
    checkpoint="1s", outputs="{o: 0.001}")
ONE = stage("one", 'hostname >"$TRADEWIND_OUTPUT/o/host"', outputs="{o: 0.001}")
LONG = stage("long", "sleep 600", outputs="{o: 0.001}")
SPOT_OPTIONS = ("--market", "spot")


def begun(home, run):
    """Where the steps began each time, and on which machines."""
    lines = home.good("cat", "/steps.steps/o/begun").splitlines()
    return [int(line.split()[0]) for line in lines], [line.split()[1] for line in lines]


def wait_for_step(home, run, state="running"):
    return until(lambda: (home.show(run)["stages"][0]["job"] or 0) and
                 home.state(home.stage_job(run)) == state)


def tidy(home, name):
    left = home.nothing_bills() or home.clean_up()
    check(not left, f"{name}: nothing is left", left)
    check(home.twins() == 0, f"{name}: no launch had a twin")


# ---- spot ----

def test_notice(scratch):
    with cloud(scratch, "notice", offers=SPOT) as home:
        run = home.start("steps", STEPS, options=SPOT_OPTIONS)
        check(wait_for_step(home, run), "a spot instance runs a stage", home.show(run))
        first = home.alive()[0]
        check(first["spot"], "and is one", first)
        time.sleep(2)
        home.do(preempt=[first["id"]])
        check(home.over(run) == "finished", "after a notice the run finishes", home.show(run))
        from_steps, machines = begun(home, run)
        check(len(from_steps) == 2 and from_steps[0] == 0 and from_steps[1] > 5,
              "from its last checkpoint", from_steps)
        check(len(set(machines)) == 2, "on another machine", machines)
        tidy(home, "notice")


def test_reclaimed_without_notice(scratch):
    with cloud(scratch, "reclaimed", offers=SPOT, reclaim_s=0) as home:
        run = home.start("steps", STEPS, options=SPOT_OPTIONS)
        wait_for_step(home, run)
        job = home.stage_job(run)
        saved = os.path.join(home.path, "jobs", str(job), "checkpoint", "i")
        check(until(lambda: os.path.exists(saved)), "its checkpoint is fetched while it runs")
        began = time.monotonic()
        home.do(preempt=True)
        check(until(lambda: home.state(job) == "lost"), "an instance reclaimed without notice is lost",
              home.state(job))
        took_s = time.monotonic() - began
        check(took_s < (120 if SLOW else 45), "which is known soon", took_s)
        check(home.over(run) == "finished", "and the run finishes on another", home.show(run))
        from_steps, machines = begun(home, run)
        check(from_steps[-1] > 0 and len(set(machines)) == 2, "from its checkpoint", from_steps, machines)
        tidy(home, "reclaimed")


def test_reclaimed_while_booting(scratch):
    with cloud(scratch, "booting", offers=SPOT, reclaim_s=0, answers_s=30) as home:
        run = home.start("one", ONE, options=SPOT_OPTIONS)
        check(until(home.alive), "an instance boots")
        time.sleep(1)
        home.set(answers_s=0)
        home.do(preempt=True)
        check(home.over(run) == "finished", "one that is reclaimed while it boots is replaced",
              home.show(run), home.reasons(home.stage_job(run)))
        tidy(home, "booting")


def test_on_demand_for_spot(scratch):
    with cloud(scratch, "market", offers=SPOT, faults=1, only=["on-demand-for-spot"],
               of=["RunInstances"]) as home:
        run = home.start("one", ONE, options=SPOT_OPTIONS)
        check(until(lambda: home.model()["launched"] >= 1), "on-demand is given for spot")
        until(lambda: any(t["ended"] for t in home.instances()))
        home.set(faults=0)
        check(home.over(run) == "finished", "the run finishes", home.show(run))
        host = home.good("cat", "/one.one/o/host").strip()
        by_id = {t["id"]: t for t in home.instances()}
        check(by_id[host]["spot"], "on a spot instance", by_id[host])
        check(all(t["ended"] for t in by_id.values() if not t["spot"]), "the others were ended", by_id)
        tidy(home, "market")


# ---- machines that do not answer ----

def test_never_answers(scratch):
    with cloud(scratch, "silent", limits="boot_s: 8", answers_s=10000) as home:
        run = home.start("one", ONE)
        check(until(home.alive), "an instance that will never answer is launched")
        home.set(answers_s=0)
        check(home.over(run) == "finished", "the next offer is taken", home.show(run))
        ends = [(t["zone"][:-1], t["why"]) for t in home.instances()]
        check(ends[0] == ("us-east-1", "Client.UserInitiatedShutdown") and ends[1][0] == "us-west-2",
              "and it is terminated", ends)
        told = [r for r in home.reasons(home.stage_job(run)) if "does not answer after" in r]
        check(told and "limits.boot_s" in told[0], "the record says so", told)
        tidy(home, "silent")


def test_reused_address(scratch):
    """The machine of a stage dies; its address comes to another home's machine, which no job must
    take for the old one."""
    with cloud(scratch, "address", reuse_addresses=True, limits="host_lost_s: 5") as home:
        run = home.start("steps", STEPS)
        wait_for_step(home, run)
        first = home.alive()[0]
        # Behind everyone's back, and another one at once in its place.
        home.do(unplug=[first["id"]])
        home.do(end=[first["id"]])
        check(home.over(run) == "finished", "the run finishes", home.show(run))
        addresses = [t["public"] for t in home.instances()]
        check(len(addresses) == 2 and addresses[0] == addresses[1], "on a machine at the same address", addresses)
        _, machines = begun(home, run)
        check(machines[-1] == home.instances()[-1]["id"], "which is another", machines)
        tidy(home, "address")


# ---- brokers that are gone for good ----

def kill_broker(home):
    os.kill(home.broker_pid(), 9)


def off_by_itself(home):
    return until(lambda: all(t["why"] == "Client.InstanceInitiatedShutdown" for t in home.instances()), 60)


def test_broker_gone(scratch):
    """Before a job came, and while one runs: the instance finishes it, then waits its lease."""
    with cloud(scratch, "gone", limits="lease_s: 10") as home:
        run = home.start("steps", STEPS)
        wait_for_step(home, run)
        kill_broker(home)
        check(off_by_itself(home), "a machine whose broker died powers itself off", home.instances())
        t = home.instances()[0]
        check(10 <= t["ended"] - t["made"] < 40, "after its job and its lease", t["ended"] - t["made"])
        left = home.clean_up()
        check(not left, "gone: nothing is left", left)
        cost, by_model = home.cost_of_records(), home.cost_by_model({("us-east-1", False): EAST})
        check(cost == by_model, "and it costs what it was there", cost, by_model, home.records())


def test_broker_gone_before_a_job(scratch):
    """A machine that waits for a job when its broker dies."""
    with cloud(scratch, "idle", limits="lease_s: 10") as home:
        run = home.start("one", ONE, options=("--keep-warm", "10m"))
        check(home.over(run) == "finished" and home.alive(), "a machine is kept for the next job", home.show(run))
        began = home.model()["now"]
        kill_broker(home)
        check(off_by_itself(home), "without its broker it powers itself off", home.instances())
        took_s = home.instances()[0]["ended"] - began
        check(took_s < 25, "within its lease", took_s)
        left = home.clean_up()
        check(not left, "idle: nothing is left", left)


# ---- caps ----

def test_hour(scratch):
    with cloud(scratch, "hour", limits=f"max_usd_per_hour: {EAST * 1.5}") as home:
        two = [stage(f"s{i}", "sleep 3", outputs="{}") for i in (1, 2)]
        run = home.start("two", *two)
        check(home.over(run) == "finished", "with money for one machine at a time both run", home.show(run))
        times = sorted((t["made"], t["ended"]) for t in home.instances())
        check(all(a[1] <= b[0] for a, b in zip(times, times[1:])), "one after the other", times)
        tidy(home, "hour")


def test_hour_never(scratch):
    with cloud(scratch, "never", limits=f"max_usd_per_hour: {EAST / 2}") as home:
        run = home.start("one", ONE)
        check(home.over(run) == "failed", "a machine that never fits the hour", home.show(run))
        why = home.show(run)["stages"][0]["reason"]
        check("limits.max_usd_per_hour" in why and not home.instances(), "is not launched, and it says so", why)


def most_at_once(home):
    """Dollars per hour of all machines together, at its peak."""
    price = {"us-east-1": EAST, "us-west-2": WEST}
    moves = []
    for t in home.instances():
        moves += [(t["made"], price[t["zone"][:-1]]), (t["ended"], -price[t["zone"][:-1]])]
    most = now = 0
    for _, usd in sorted(moves):
        now += usd
        most = max(most, now)
    return most


def test_many_at_once(scratch):
    with cloud(scratch, "many", limits=f"max_usd_per_hour: {EAST * 2.5}") as home:
        run = home.start("many", *[stage(f"s{i}", "sleep 1", outputs="{}") for i in range(5)])
        check(home.over(run) == "finished", "five stages that are ready at once", home.show(run))
        check(most_at_once(home) < EAST * 2.6, "never cost more per hour than they may", most_at_once(home))
        tidy(home, "many")


def test_max_cost(scratch):
    with cloud(scratch, "cost", plan="boot_s: 1", offers=OFFERS.replace(str(EAST), "360").replace(str(WEST), "720")) as home:
        # Ten cents a second, planned for a fraction of one.
        run = home.start("long", stage("long", "sleep 600", estimate="{seconds: 1}", outputs="{}"),
                         options=("--max-cost", "2"))
        check(home.over(run) == "stopped", "a run that costs more than it may is stopped", home.show(run))
        tidy(home, "cost")
        cost = home.cost_of_records() / 1e6
        check(cost < 4, "not much above its cap", cost)


def test_month(scratch):
    with cloud(scratch, "month", limits="max_usd_per_month: 1.95", plan="boot_s: 1",
               offers=OFFERS.replace(str(EAST), "360").replace(str(WEST), "720")) as home:
        run = home.start("long", stage("long", "sleep 600", estimate="{seconds: 1}", outputs="{}"))
        check(home.over(run) == "stopped", "a month's cap stops a run", home.show(run))
        tidy(home, "month")
        # A cloud dates the end of a machine to the second: the bill may be a little below the cap.
        home.run("config", "set", "limits.max_usd_per_month", "1")
        got = home.run("run", home.write("one", ONE), "--on", "aws", "--yes")
        check(got.returncode != 0 and "max_usd_per_month" in got.stderr and home.model()["launched"] == 1,
              "and no other begins", got.returncode, got.stdout, got.stderr)


# ---- random faults ----

def random_faults(scratch, seed):
    with cloud(scratch, f"seed{seed}", offers=SPOT if seed % 2 else OFFERS, seed=seed, faults=0.1, lag_s=1,
               only=["internal-before", "unavailable-before", "html-before", "reset-before", "internal-after",
                     "html-after", "reset-after", "truncated", "error-in-200", "twice", "capacity", "quota",
                     "unsupported", "left-disk", "on-demand-for-spot", "dies-at-once"]) as home:
        run = home.start("p", ONE)
        state = home.over(run)
        shown = home.show(run)
        met = home.model()["faults"]
        check(state == "finished" or shown["stages"][0]["reason"], f"seed {seed}: the run ends, with a reason",
              met, shown)
        home.set(faults=0)
        left = home.nothing_bills() or home.clean_up()
        check(not left, f"seed {seed}: nothing is left", met, left)
        check(home.twins() == 0, f"seed {seed}: nothing has a twin", met)


TESTS = [test_notice, test_reclaimed_without_notice, test_reclaimed_while_booting, test_on_demand_for_spot,
         test_never_answers, test_reused_address, test_broker_gone,
         test_broker_gone_before_a_job, test_hour, test_hour_never,
         test_many_at_once, test_max_cost, test_month]


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    first = int(os.environ.get("TRADEWIND_SEED", "1"))
    seeds = int(os.environ.get("TRADEWIND_SEEDS", "3"))
    with scratch_directory() as scratch:
        wanted = [t for t in TESTS if not sys.argv[1:] or t.__name__ in sys.argv[1:]]
        wanted = [functools.partial(t, scratch) for t in wanted]
        if not sys.argv[1:] or "seeds" in sys.argv[1:]:
            wanted += [functools.partial(random_faults, scratch, first + i) for i in range(seeds)]
        # A few at a time: each has a broker, a model of EC2 and its instances.
        for i in range(0, len(wanted), 8):
            together(*wanted[i:i + 8])
    return done()


sys.exit(main())
