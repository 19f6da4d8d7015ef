#!/usr/bin/env python3
"""Jobs on host groups: real hosts behind sshd, that are full, refuse us, hang, fall dead and come
back; brokers that are killed meanwhile. Whatever happens, nothing stays rented or running there."""

import contextlib
import math
import os
import signal
import sqlite3
import sys
import threading
import time

from broker_home import Home, check, done, scratch_directory, until
from ssh_hosts import Hosts, why_not

PRICE = 3.6
LOST_S = 6
WAIT = 'while [ ! -e "$GO" ]; do sleep 0.05; done; '
COUNT = (
    'i=$(cat "$TRADEWIND_CHECKPOINT/i" 2>/dev/null || echo 0); '
    'while [ $i -lt 1000 ] && [ ! -e "$GO" ]; do i=$((i + 1)); echo step $i; '
    'echo $i >"$TRADEWIND_CHECKPOINT/new"; mv "$TRADEWIND_CHECKPOINT/new" "$TRADEWIND_CHECKPOINT/i"; '
    "sleep 0.1; done; "
)


class Test:
    def __init__(self, scratch):
        self.hosts = Hosts(scratch, 2)
        self.home = Home(scratch, idle_s=60)
        self.hosts.use(self.home, PRICE, LOST_S)

    def show(self, job):
        return self.home.json("job", "show", str(job))

    def wait(self, job):
        return self.home.run("job", "wait", str(job), "--timeout", "120s").returncode

    def go(self, name):
        return os.path.join(self.home.ran, name + "-go")

    def release(self, name):
        with open(self.go(name), "w"):
            pass

    def submit(self, script, *options, on="lab"):
        return self.home.submit(script, "--on", on, *options)

    def states(self, job):
        return [t["state"] for t in self.show(job)["transitions"]]

    def bills(self, job):
        """In micro-dollars: what its record says, and its hosts by the times of the record of
        machines: every second begun."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.home.path, "machines.db"))) as db:
            rows = db.execute("SELECT launched, ended, price FROM machine WHERE job = ?",
                              (job,)).fetchall()
        wanted = sum(round(price * math.ceil((ended - launched) / 1000) / 3600 * 1e6)
                     for launched, ended, price in rows)
        listed = sum(round(m["cost_usd"] * 1e6)
                     for m in self.home.json("machines", "ls", "--all") if m["job"] == job)
        shown = self.show(job)
        told = {round(shown["cost_usd"] * 1e6), listed}
        return (told.pop() if len(told) == 1 else told), wanted

    def nothing_left(self):
        """Neither rented, nor running there, nor in a directory there."""
        until(lambda: not self.home.json("machines", "ls") and not self.hosts.processes())
        return [*self.home.json("machines", "ls"), *self.hosts.processes(),
                *self.hosts.left_there(self.home)]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def test_whole(t):
    """Input, code and output travel; the record says where it ran and what that cost."""
    write(os.path.join(t.home.scratch, "in", "words"), "three small words\n")
    write(os.path.join(t.home.scratch, "code", "count.sh"), 'wc -w <"$1"\n')
    t.home.good("put", "in", "/data/", "--set", "words")
    job = t.submit(
        'hostname; sh count.sh "$TRADEWIND_INPUT/data/in/words" >"$TRADEWIND_OUTPUT/count"; '
        "echo '[TRADEWIND_METRIC] loss 1 0.5'; sleep 1",
        "--input", "@words", "--code", "code", "--output", "made",
    )
    check(t.wait(job) == 0, "a job on a host finishes", t.show(job))
    shown = t.show(job)
    check(shown["machine"] == t.hosts.names[0], "the record names the host", shown["machine"])
    check(t.home.log(job).startswith("host1\n"), "it ran there", t.home.log(job))
    check(t.home.good("cat", "/made/count").split() == ["3"], "its output is in the lake")
    check(len(t.home.json("job", "metrics", str(job))) == 1, "and what its log told")
    check(t.states(job) == ["queued", "launching", "fetching", "running", "storing", "finished"],
          "state by state", t.states(job))
    left = t.nothing_left()
    check(not left, "nothing is left there", left)
    billed, wanted = t.bills(job)
    check(until(lambda: t.bills(job)[0] == wanted) and wanted >= round(PRICE / 3600 * 1e6),
          "it costs the host's price from renting to giving back", billed, wanted)
    names = os.listdir(os.path.join(t.home.path, "jobs", str(job)))
    check(sorted(names) == ["log", "state"], "nor here", names)


def test_full(t):
    """More jobs than hosts: each host has one at a time."""
    mark = os.path.join(t.home.ran, "busy-$(hostname)")
    script = f"mkdir {mark} || exit 9; sleep 0.5; rmdir {mark}"
    jobs = [t.submit(script, on=on) for on in ("lab", "ssh", "lab", "ssh", "lab")]
    check(all(t.wait(job) == 0 for job in jobs), "five jobs share two hosts, one each at a time",
          [t.show(job)["reason"] for job in jobs])
    used = {t.show(job)["machine"] for job in jobs}
    check(used == set(t.hosts.names), "both are used", used)
    left = t.nothing_left()
    check(not left, "and given back", left)


def test_killed(t):
    job = t.submit("echo begun; trap 'echo asked; exit 0' TERM; while :; do sleep 0.1; done")
    check(until(lambda: t.home.log(job) == "begun\n"), "a job runs there")
    t.home.good("job", "kill", str(job), "--reason", "wrong input")
    t.wait(job)
    shown = t.show(job)
    check(shown["state"] == "killed" and "wrong input" in shown["reason"],
          "it is killed, and the record says why", shown["state"], shown["reason"])
    check("asked" in t.home.log(job), "with its grace", t.home.log(job))
    left = t.nothing_left()
    check(not left, "nothing is left there", left)


def test_broker_killed(t):
    job = t.submit(f"GO={t.go('killed')}; i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; "
                   "done; " + WAIT + "echo end", "--output", "none")
    check(until(lambda: "line 20\n" in t.home.log(job)), "a job runs there")
    before = t.home.json("machines", "ls")[0]["expires_at"]
    time.sleep(1.1)  # times are told in seconds
    os.kill(t.home.broker_pid(), signal.SIGKILL)
    t.submit("true", on="local")  # starts another one
    check(until(lambda: t.home.json("machines", "ls")[0]["expires_at"] > before),
          "the next one renews its lease")
    t.release("killed")
    check(t.wait(job) == 0, "its broker killed, another one finds it", t.show(job)["reason"])
    check(t.home.log(job) == "".join(f"line {i}\n" for i in range(1, 21)) + "end\n",
          "every line is there, once", t.home.log(job))
    rented = [m for m in t.home.json("machines", "ls", "--all") if m["job"] == job]
    check(len(rented) == 1, "on the host it had", rented)
    left = t.nothing_left()
    check(not left, "nothing is left there", left)


def test_refused(t):
    t.hosts.hang_up()
    t.hosts.forget_key()
    job = t.submit("true")
    t.wait(job)
    shown = t.show(job)
    t.hosts.know_key()
    check(shown["state"] == "failed" and "refused our key" in shown["reason"],
          "a host that refuses our key fails the job, in plain words", shown["reason"])
    left = t.nothing_left()
    check(not left, "the host is given back once it lets us in again", left)


def test_changed_key(t):
    """A host whose key changed gets nothing; the job goes to the next one, and without one it fails
    and says what to do."""
    t.hosts.hang_up()
    t.hosts.change_key(1)
    job = t.submit("hostname")
    check(t.wait(job) == 0 and t.home.log(job) == "host2\n",
          "a job does not go to a host whose key changed, but to the next", t.show(job))
    shown = t.show(job)
    said = " ".join(x["reason"] or "" for x in shown["transitions"])
    for part in ("root@10.77.0.11", "key has changed", "ssh-keygen ", "nothing was sent"):
        check(part in said, f"its history says {part}", said)
    check(shown["machine"] == t.hosts.names[1] and
          len([m for m in t.home.json("machines", "ls", "--all") if m["job"] == job]) == 1,
          "it pays for the other one alone")
    held = t.submit(f"GO={t.go('key')}; echo begun; {WAIT}")
    check(until(lambda: t.home.log(held) == "begun\n"), "the good host has a job")
    job = t.submit("hostname")
    check(until(lambda: any("key has changed" in (x["reason"] or "") for x in t.show(job)["transitions"])),
          "the next job says why it does not take the other", t.show(job))
    check(t.show(job)["state"] == "queued", "and waits for the good one", t.show(job)["state"])
    t.release("key")
    check(t.wait(held) == 0 and t.wait(job) == 0 and t.home.log(job) == "host2\n",
          "where it runs", t.show(job))
    check(not t.nothing_left(), "and leaves nothing")
    t.hosts.hang_up()
    t.hosts.change_key(2)
    job = t.submit("true")
    t.wait(job)
    shown = t.show(job)
    check(shown["state"] == "failed" and "key has changed" in shown["reason"]
          and "ssh-keygen " in shown["reason"], "without a good host a job fails", shown["reason"])
    t.hosts.restore_key(1)
    t.hosts.restore_key(2)
    left = t.nothing_left()
    check(not left, "nothing is left", left)


def test_dead_from_the_start(t):
    """A host that cannot be reached: others run here meanwhile, and then it runs on another one."""
    t.hosts.hang_up()
    t.hosts.cut_off(1)
    job = t.submit("hostname")
    check(until(lambda: t.show(job)["state"] == "fetching"), "a job waits for a host that hangs")
    here = t.home.submit("true")
    check(t.wait(here) == 0 and t.show(job)["state"] == "fetching", "jobs here go on meanwhile")
    check(t.wait(job) == 0 and t.home.log(job) == "host2\n", "it goes to another host",
          t.show(job))
    moves = [x["reason"] for x in t.show(job)["transitions"] if x["reason"]]
    check(any("10.77.0.11" in m and "10.77.0.12" in m for m in moves), "which is said", moves)
    check(t.show(job)["machine"] == t.hosts.names[1], "and recorded")
    t.hosts.put_back(1)
    left = t.nothing_left()
    check(not left, "the dead host is given back when it answers", left)


def test_dies_while_it_runs(t):
    """With a checkpoint, which another job goes on from, on another host."""
    go = f"GO={t.go('count')}; "
    job = t.submit(go + COUNT, "--checkpoint", "1s")
    saved = os.path.join(t.home.path, "jobs", str(job), "checkpoint", "i")
    check(until(lambda: os.path.exists(saved)), "a checkpoint is saved while the job runs")
    where = t.hosts.names.index(t.show(job)["machine"]) + 1
    t.hosts.cut_off(where)
    t.wait(job)
    shown = t.show(job)
    check(shown["state"] == "lost" and "has not answered for" in shown["reason"],
          "its host falls dead: it is lost, in plain words", shown["state"], shown["reason"])
    check(shown["cost_usd"] > 0, "and had its price", shown["cost_usd"])
    with open(saved) as f:
        begin = int(f.read())
    check(begin > 0, "its checkpoint stays", begin)
    rented = t.home.json("machines", "ls")
    check([m["job"] for m in rented] == [job], "the dead host is not forgotten", rented)
    t.release("count")
    again = t.submit(COUNT.replace("$GO", "/"), "--continue", str(job))
    check(t.wait(again) == 0 and t.home.log(again) == "", "another job finds the checkpoint",
          t.show(again)["reason"], t.home.log(again)[:200])
    check(t.show(again)["machine"] != shown["machine"], "on another host")
    t.hosts.put_back(where)
    left = t.nothing_left()
    check(not left, "when it answers again, what runs there is ended", left)
    check(not os.path.exists(saved), "a checkpoint that was continued to the end goes")


def test_checkpoint_of_a_failure(t):
    """What was written right before the end is saved, too; of a job that finishes nothing is."""
    failed = t.submit('echo last >"$TRADEWIND_CHECKPOINT/x"; exit 3', "--checkpoint", "1h")
    fine = t.submit('echo last >"$TRADEWIND_CHECKPOINT/x"', "--checkpoint", "1h")
    here = t.home.submit('echo last >"$TRADEWIND_CHECKPOINT/x"; exit 3', "--checkpoint", "1h")
    codes = [t.wait(job) for job in (failed, fine, here)]
    check(codes == [3, 0, 3], "two fail, one finishes", codes)
    kept = [job for job in (failed, fine, here)
            if os.path.exists(os.path.join(t.home.path, "jobs", str(job), "checkpoint", "x"))]
    check(kept == [failed, here], "the checkpoints of those that failed stay", kept)
    again = t.home.submit('cat "$TRADEWIND_CHECKPOINT/x"', "--continue", str(failed))
    check(t.wait(again) == 0 and t.home.log(again) == "last\n", "a job here goes on from one there")
    left = t.nothing_left()
    check(not left, "nothing is left there", left)


def test_swept(t):
    """A sweep leaves what a job needs."""
    job = t.submit(f"GO={t.go('swept')}; echo begun; {WAIT}")
    check(until(lambda: t.home.log(job) == "begun\n"), "a job runs there")
    said = t.home.good("machines", "cleanup", "--yes")
    check("No machine is orphaned" in said, "a sweep finds nothing to do", said)
    check(len(t.home.json("machines", "ls")) == 1, "its host stays")
    t.release("swept")
    check(t.wait(job) == 0, "it finishes")


def test_swept_all_along(t):
    """Sweeps one after the other, whatever the broker does with its hosts: they find nothing, and
    nobody notices them."""
    said, over = [], threading.Event()

    def sweep():
        while not over.is_set():
            got = t.home.run("machines", "cleanup", "--yes")
            said.append((got.returncode, got.stdout, got.stderr))

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        jobs = [t.submit(t.home.once(f"along-{i}") + 'echo made >"$TRADEWIND_OUTPUT/file"',
                         "--output", f"along-{i}") for i in range(4)]
        good = [t.wait(job) == 0 for job in jobs]
        left = t.nothing_left()
    finally:
        over.set()
        sweeper.join()
    check(all(good), "jobs beside sweeps finish", [t.show(job)["reason"] for job in jobs])
    check([t.home.times_run(f"along-{i}") for i in range(4)] == [1] * 4, "each ran once")
    check(not left, "and their hosts are given back", left)
    # Either may give back what the other has begun to.
    odd = [s for s in said if "being deleted" not in s[1] and s[:2] != (0, "No machine is orphaned.\n")]
    check(not odd, "the sweeps took nothing away", *odd[:3])
    gone = [m for m in t.home.json("machines", "ls", "--all") if m["job"] in jobs]
    reasons = {m["reason"] for m in gone}
    check(all(m["state"] == "gone" for m in gone) and
          not any("lost" in r or "came to be" in r for r in reasons), "the records say so", gone)


def test_swept_dead(t):
    """A job that lost its host goes on there. Without a broker a sweep ends it before the host goes
    back, and keeps the host as long as it cannot."""
    job = t.submit("echo begun; while :; do sleep 0.1; done")
    check(until(lambda: t.home.log(job) == "begun\n"), "a job runs there")
    where = t.hosts.names.index(t.show(job)["machine"]) + 1
    t.hosts.cut_off(where)
    t.wait(job)
    check(t.show(job)["state"] == "lost", "its host falls dead", t.show(job)["state"])
    t.home.stop_broker()
    got = t.home.run("machines", "cleanup", "--yes")
    check(got.returncode == 6 and "not terminated yet" in got.stdout and "--forget" in got.stderr,
          "a sweep does not reach it", got)
    rented = t.home.json("machines", "ls")
    check([m["job"] for m in rented] == [job] and t.hosts.processes(), "and forgets nothing", rented)
    t.hosts.put_back(where)
    check(until(lambda: t.home.run("machines", "cleanup", "--yes").returncode == 0),
          "when it answers again a sweep gives it back")
    left = t.nothing_left()
    check(not left, "and has ended what ran there", left)
    with open(os.path.join(t.hosts.jobs, f"in-use.host{where}")) as f:
        claim = f.read()
    check(claim == "", "nobody claims it any more", claim)
    billed, wanted = t.bills(job)
    check(billed == wanted, "the job's record has the price", billed, wanted)


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        t = Test(scratch)
        try:
            for test in (test_whole, test_full, test_killed, test_broker_killed, test_swept,
                         test_swept_all_along,
                         test_checkpoint_of_a_failure, test_refused, test_changed_key, test_dead_from_the_start,
                         test_dies_while_it_runs, test_swept_dead):
                test(t)
        finally:
            for k in (1, 2):
                with contextlib.suppress(Exception):
                    t.hosts.put_back(k)
            t.home.end_everything()
            t.hosts.stop(t.home)
    return done()


if __name__ == "__main__":
    sys.exit(main())
