#!/usr/bin/env python3
"""What can happen to a broker and its agents besides kills of the broker: agents that are killed,
brokers that come back while jobs run, two at once, one that ends while jobs are submitted, a full
disk, a home that cannot be written."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from broker_home import (PROGRAM, SLOW, Home, check, done, process_ids, read_process,
                         scratch_directory, skip, until)

SUBMITS = 8 if SLOW else 40
# A job that runs until somebody makes this file.
WAIT = 'while [ ! -e "$GO" ]; do sleep 0.05; done; '


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Waiting:
    """Jobs that wait for a sign of ours before they end well."""

    def __init__(self, home, name):
        self.home, self.go = home, os.path.join(home.ran, name + "-go")

    def submit(self, name, *options):
        script = f"GO='{self.go}'; " + self.home.once(name) + "echo begun; " + WAIT + "echo ended"
        return self.home.submit(script, "--name", name, *options)

    def is_begun(self, job):
        return self.home.state(job) == "running" and self.home.log(job) == "begun\n"

    def release(self):
        with open(self.go, "w"):
            pass


def test_agent_killed(home):
    """One of two agents dies: its job is lost, with all it started; the other goes on."""
    waiting = Waiting(home, "agent")
    doomed, other = waiting.submit("doomed"), waiting.submit("other")
    check(until(lambda: all(map(waiting.is_begun, (doomed, other)))), "two jobs run")
    supervisors = home.supervisors(doomed)
    check(len(supervisors) == 1, "each has its agent", supervisors)
    told = os.path.join(home.path, "jobs", str(doomed), "state")
    check(until(lambda: open(told).read().count(" sample ") >= 2), "it tells of its work")
    kill(supervisors)
    check(until(lambda: home.state(doomed) == "lost"), "its agent killed, a job is lost")
    reason = home.json("job", "show", str(doomed))["reason"]
    check("agent" in reason and "killed" in reason, "and says why", reason)
    shown = home.json("job", "show", str(doomed))
    check(shown["runtime_s"] > 0 and shown["cost_usd"] > 0, "what it used it has to pay", shown)
    check(home.state(other) == "running", "the other goes on")
    waiting.release()
    check(until(lambda: home.state(other) == "finished"), "and finishes")
    check(home.log(other) == "begun\nended\n", "with its whole log", home.log(other))


def test_setting_changes(home):
    """A broker goes by the configuration as it is, not as it was at its start."""
    waiting = Waiting(home, "setting")
    home.good("config", "set", "limits.jobs_per_user", "1")
    jobs = [waiting.submit("one"), waiting.submit("two")]
    check(until(lambda: waiting.is_begun(jobs[0])) and home.state(jobs[1]) == "queued",
          "of two jobs one runs")
    home.good("config", "set", "limits.jobs_per_user", "2")
    check(until(lambda: waiting.is_begun(jobs[1])), "both do once a user may have two")
    waiting.release()
    check(until(lambda: all(home.state(job) == "finished" for job in jobs)), "and finish")
    home.good("config", "set", "limits.jobs_per_user", "4")


def test_followers_killed(home):
    """Whoever tells the broker of a job dies: another one does."""
    waiting = Waiting(home, "follower")
    job = waiting.submit("followed")
    check(until(lambda: waiting.is_begun(job)), "a job runs")
    kill(set(home.agents(job)) - set(home.supervisors(job)))
    waiting.release()
    check(until(lambda: home.state(job) == "finished"), "its follower killed, its end is heard")
    check(home.times_run("followed") == 1, "it ran once")


def test_broker_returns(home):
    """Killed while jobs run, which end meanwhile or later."""
    soon, later = Waiting(home, "soon"), Waiting(home, "later")
    first, second = soon.submit("first"), later.submit("second", "--output", "second")
    check(until(lambda: soon.is_begun(first) and later.is_begun(second)), "two jobs run")
    kill([home.broker_pid()])
    soon.release()
    log = os.path.join(home.path, "jobs", str(first), "log")
    check(until(lambda: open(log).read() == "begun\nended\n"), "one ends while no broker is there")
    until(lambda: not home.agents(first), 30)
    check(home.state(first) in ("storing", "finished"), "job show starts a broker that finds it")
    code = home.run("job", "wait", str(first), "--timeout", "60s").returncode
    check(code == 0, "it finishes", code)
    check(home.state(second) == "running", "and the one that still runs")
    later.release()
    code = home.run("job", "wait", str(second), "--timeout", "60s").returncode
    check(code == 0 and home.times_run("second") == 1, "which finishes, too, and ran once")


def test_all_killed(home):
    """Broker, agent and job: the next command, whichever it is, says so."""
    for command in (("job", "ls", "--all"), ("job", "show"), ("job", "compare"), ("run", "ls")):
        waiting = Waiting(home, "all" + command[-1])
        job = waiting.submit("all" + command[-1])
        check(until(lambda: waiting.is_begun(job)), "a job runs")
        # Its processes bear its mark.
        mark = f"TRADEWIND_JOB={job}".encode()
        own = [int(p) for p in process_ids() if mark in read_process(p, "environ").split(b"\0")
               and f"TRADEWIND_OUTPUT={home.path}/".encode() in read_process(p, "environ")]
        doomed = [home.broker_pid(), *home.agents(job), *own]
        kill(doomed)
        # A killed process keeps its locks until it is gone.
        until(lambda: not any(read_process(pid, "cmdline") for pid in doomed), 30)
        named = {"show": (str(job),), "compare": (str(job), "1")}.get(command[-1], ())
        begin = time.monotonic()
        home.good(*command, *named, "--json")
        took = time.monotonic() - begin
        with contextlib.closing(sqlite3.connect(os.path.join(home.path, "lake.db"))) as db:
            state = db.execute("SELECT state FROM job WHERE id = ?", (job,)).fetchone()[0]
        check(state == 9 and took < 10, f"{' '.join(command)}: the job is lost, within ten seconds",
              state, took)


def test_broker_returns_for_followers(home):
    """Whoever follows a log is told of its end, whatever became of the broker."""
    waiting = Waiting(home, "following")
    job = waiting.submit("following")
    check(until(lambda: waiting.is_begun(job)), "a job runs")
    follower = subprocess.Popen([PROGRAM, "job", "logs", "-f", str(job)], env=home.env,
                                stdout=subprocess.PIPE, text=True)
    first = follower.stdout.readline()
    kill([home.broker_pid()])
    waiting.release()
    try:
        code = follower.wait(60)
    except subprocess.TimeoutExpired:
        follower.kill()
        code = "it follows for ever"
    check((code, first + follower.stdout.read()) == (0, "begun\nended\n"),
          "who follows a job's log whose broker is killed comes to its end", code)


@contextlib.contextmanager
def unsteady_output(home, name):
    """A job that ended well, and whose output is never what it was a moment ago: a file of the
    kernel, which says that it is empty and is not. None where we may not."""
    waiting = Waiting(home, name)
    job = waiting.submit(name, "--output", name)
    check(until(lambda: waiting.is_begun(job)), f"{name}: a job runs")
    path = os.path.join(home.path, "jobs", str(job), "output", "x")
    with open(path, "w"):
        pass
    with open(os.path.join(os.path.dirname(path), "a"), "wb") as f:
        f.write(os.urandom(8 << 20))
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "--bind", "/proc/version", path], capture_output=True).returncode == 0
    waiting.release()
    try:
        yield job if mounted else None
    finally:
        if mounted:
            until(lambda: subprocess.run(["umount", path], capture_output=True).returncode == 0, 30)


def tries_told(home):
    with open(os.path.join(home.path, "broker.log")) as f:
        return f.read().count("its output is not stored yet")


def test_output_given_up(scratch):
    home = Home(scratch, "unsteady", idle_s=60)
    home.env["TRADEWIND_BROKER_STORE_WAIT_S"] = "0.05"
    with unsteady_output(home, "changing") as job:
        if not job:
            skip("an output that changes for ever is given up", "only root may mount")
            return
        check(until(lambda: home.state(job) == "unsaved"),
              "an output that changes for ever is given up", home.json("job", "show", str(job)))
        shown = home.json("job", "show", str(job))
        check("x changed while it was read" in shown["reason"] and not shown["saves_later"],
              "and the record says why", shown)
        # Ten tries: told at the first, the second, the fourth and the eighth.
        check(tries_told(home) == 4, "after ten tries", tries_told(home))
        check(home.run("ls", "@changing").returncode == 3, "no version of it is taken")
    home.good("job", "save", str(job))
    check(home.state(job) == "finished", "until job save stores it", home.state(job))
    check(home.run("job", "submit", "--wait", "--", "true").returncode == 0, "others go on")
    home.stop_broker()


def sessions(home):
    """Uploads that are not over."""
    return home.json("session", "status")


def test_kill_between_tries(scratch):
    home = Home(scratch, "between", idle_s=60)
    with unsteady_output(home, "killed") as job:
        if not job:
            skip("a job whose output is not stored yet can be killed", "only root may mount")
            return
        # Then it waits for two seconds, later for more.
        check(until(lambda: tries_told(home) >= 3), "an output is tried again and again")
        check(len(sessions(home)) == 1, "what was uploaded of it is kept", sessions(home))
        check(home.state(job) == "storing", "its job stays where it is", home.state(job))
        home.good("job", "kill", str(job), "--reason", "no use")
        check(until(lambda: home.state(job) == "killed"), "which can be killed", home.state(job))
        reason = home.json("job", "show", str(job))["reason"]
        check("no use" in reason and "while its output was stored" in reason, "and says so", reason)
        check(home.run("ls", "@killed").returncode == 3, "no version of it is taken")
        check(not sessions(home), "and no upload session is left", sessions(home))
        home.good("job", "kill", str(job))
        check(home.state(job) == "killed", "again is the same")
    home.stop_broker()


def test_two_at_once(home):
    home.stop_broker()
    brokers = [
        subprocess.Popen(
            [PROGRAM, "broker"], env={**home.env, "TRADEWIND_BROKER_IDLE_S": "60"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]
    check(until(lambda: any(b.poll() is not None for b in brokers)), "of two brokers one ends")
    losers = [b for b in brokers if b.poll() is not None]
    said = losers[0].stderr.read()
    check(len(losers) == 1 and losers[0].returncode == 6, "with the code for what passes",
          [b.poll() for b in brokers])
    check("another broker serves" in said, "and says why", said)
    check(home.run("job", "submit", "--wait", "--", "true").returncode == 0, "the other serves")
    home.stop_broker()
    check(until(lambda: all(b.poll() is not None for b in brokers)), "until it is told to end")


def test_idle_race(scratch):
    """A broker that ends as soon as it has nothing to do, and submits that come right then."""
    home = Home(scratch, "idle", idle_s=0)
    jobs = [home.submit(home.once(str(i)), "--name", str(i)) for i in range(SUBMITS)]
    check(until(lambda: all(j["state"] == "finished" for j in home.jobs().values())),
          f"{SUBMITS} submits to brokers that end at once: all jobs finish without another command",
          home.jobs())
    check(len(home.jobs()) == len(jobs) and all(home.times_run(str(i)) == 1 for i in range(SUBMITS)),
          "each once")
    left = home.leftovers()
    check(not left, "nothing is left", left)


def test_forgotten_wake(scratch):
    """Whoever submitted was killed before it could wake the broker."""
    home = Home(scratch, "unwoken")
    with home.nobody():
        home.submit(home.once("job"))
    broker = home.start_broker(idle_s=60)
    check(until(lambda: home.times_run("job") == 1), "what was queued before is seen at the start")
    # The command talks to the lake alone: the socket has another name meanwhile.
    hidden = os.path.join(home.path, "hidden.sock")
    os.rename(os.path.join(home.path, "broker.sock"), hidden)
    submit = subprocess.Popen(
        [PROGRAM, "job", "submit", "--", "sh", "-c", home.once("unwoken")],
        env=home.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    submit.stdout.readline()
    submit.kill()
    submit.wait()
    os.rename(hidden, os.path.join(home.path, "broker.sock"))
    check(until(lambda: home.times_run("unwoken") == 1), "and what nobody told of, after a while")
    home.stop_broker()
    broker.wait()


def test_long_log(home):
    """Of which a failure tells the end."""
    job = home.submit("seq 100; exit 3")
    home.run("job", "wait", str(job), "--timeout", "60s")
    reason = home.json("job", "show", str(job))["reason"]
    check(reason.split("\n")[1:] == [str(i) for i in range(81, 101)],
          "a failure tells the last twenty lines of the log", reason)


def test_links_out(home):
    """What leads out of the output is not stored, and said."""
    secret = os.path.join(home.scratch, "secret")
    with open(secret, "w") as f:
        f.write("not yours")
    inside = "cd $TRADEWIND_OUTPUT; echo mine >own; ln -s own near; "
    job = home.submit(inside + f"ln -s '{secret}' far; ln -s /proc/self/mounts m; mkdir d; "
                      "ln -s ../../log d/up", "--output", "linked")
    home.run("job", "wait", str(job), "--timeout", "60s")
    check(home.state(job) == "finished", "a job whose output has links to elsewhere finishes",
          home.json("job", "show", str(job)))
    listed = home.good("ls", "@linked:1")
    check("own" in listed and not any(name in listed for name in ("far", "up", "/m")),
          "without what they lead to", listed)
    with open(os.path.join(home.path, "jobs", str(job), "warnings")) as f:
        said = f.read()
    check(all(f"output: {name} is left out" in said for name in ("far", "m", "d/up")),
          "which its warnings say", said)
    check("near" not in said, "and a link within the output stays", said)
    job = home.submit(f"rmdir $TRADEWIND_OUTPUT; ln -s '{home.scratch}' $TRADEWIND_OUTPUT",
                      "--output", "replaced")
    home.run("job", "wait", str(job), "--timeout", "60s")
    shown = home.json("job", "show", str(job))
    check(shown["state"] == "failed" and shown["reason"].startswith("output: "),
          "a link in the place of the output directory is not followed", shown)


def test_unreadable_details(scratch):
    """Details that no broker wrote: of a job of its own, and of nodes that begin together."""
    home = Home(scratch, "unreadable", idle_s=60)
    with home.nobody():
        bad = [home.submit("true") for _ in range(3)]
        good = home.submit(home.once("good"))
    outside = '{"outputs":[".."]}'
    gang = '{"gang":"1.1.1","nodes":2,"rank":%d,"outputs":[".."]}'
    with contextlib.closing(sqlite3.connect(os.path.join(home.path, "lake.db"))) as db:
        for job, details in zip(bad, (outside, gang % 0, gang % 1)):
            db.execute("UPDATE job_text SET details = ? WHERE job = ?", (details, job))
        db.commit()
        home.run("job", "wait", str(good), "--timeout", "60s")
        check(home.times_run("good") == 1, "a job behind ones that cannot be read runs")
        rows = "SELECT reason FROM job WHERE id < ? AND finished IS NOT NULL"
        check(until(lambda: len(db.execute(rows, (good,)).fetchall()) == 3), "which end")
        reasons = [row[0] for row in db.execute(rows, (good,))]
    check(all("outputs" in r for r in reasons), "and say why", reasons)
    check(home.run("job", "ls", "--all").stdout.count("failed") == 3, "as failed",
          home.run("job", "ls", "--all").stdout)
    for command in (("job", "show"), ("job", "wait"), ("job", "kill")):
        said = home.run(*command, str(bad[0]))
        check("failed" in said.stdout + said.stderr and "shown in part" in said.stderr,
              f"{' '.join(command)} takes it", said)
    check(len(home.json("job", "ls", "--all")) == 4, "and job ls --json")
    home.stop_broker()


@contextlib.contextmanager
def small_disk(path, size):
    """A file system of its own; None where we may not."""
    os.makedirs(path, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", path]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield path
    finally:
        until(lambda: subprocess.run(["umount", path], capture_output=True).returncode == 0, 30)


def room(path):
    st = os.statvfs(path)
    return st.f_bavail * st.f_frsize


def fill(path):
    """What is left of the disk; the file that takes it."""
    name = os.path.join(path, "filler")
    with contextlib.suppress(OSError), open(name, "wb", buffering=0) as f:
        while True:
            f.write(b"x" * 4096)
    return name


def test_full_disk(scratch):
    names = ("a job that fills the disk with its log finishes", "the disk full, a job ends all the same")
    with small_disk(os.path.join(scratch, "small"), "24m") as disk:
        if not disk:
            for name in names:
                skip(name, "only root may mount")
            return
        home = Home(disk, "home", idle_s=60)
        home.ran = os.path.join(scratch, "small-ran")
        os.makedirs(home.ran)
        try:
            full_by_code(home, scratch)
            full_by_log(home, names[0])
            full_from_outside(home, disk, names[1])
        finally:
            home.end_everything()


def full_by_log(home, name):
    go = os.path.join(home.ran, "flood-go")
    job = home.submit("cd $TRADEWIND_OUTPUT; echo made >x; head -c 100000000 /dev/zero | tr '\\0' x; "
                      f"echo; while [ ! -e '{go}' ]; do sleep 0.05; done; echo last",
                      "--name", "flood", "--output", "made")
    log = os.path.join(home.path, "jobs", str(job), "log")
    check(until(lambda: os.path.exists(log) and not room(home.path)), "a job's log fills a disk")
    # What it printed last is read before this.
    os.truncate(log, 0)
    open(go, "w").close()
    check(until(lambda: home.state(job) in ("finished", "failed", "lost")), "it ends")
    shown = home.json("job", "show", str(job))
    check(shown["state"] == "finished" and shown["exit_code"] == 0, name, shown)
    check(home.good("cat", "/made/x@made") == "made\n", "with its output")
    with open(log, "rb") as f:
        last = f.read().rsplit(b"\n", 3)[1:]
    check(last == [b"[tradewind: 1 line left out: no space on the disk]", b"last", b""],
          "and its log says what is missing", last)
    os.unlink(log)


def full_by_code(home, scratch):
    """The copy of the code fits, and its first file twice; no later run could go on with its upload."""
    work = os.path.join(scratch, "work")
    os.makedirs(work)
    for name, size in (("a", 6 << 20), ("b", 9 << 20)):
        with open(os.path.join(work, name), "wb") as f:
            f.write(os.urandom(size))
    pipeline = os.path.join(scratch, "p.yaml")
    with open(pipeline, "w") as f:
        f.write("workdir: work\nestimate: {seconds: 1}\nrun: echo\n")
    got = home.run("run", pipeline, "--yes")
    check(got.returncode == 7 and "No space left" in got.stderr, "code that finds no room",
          got.returncode, got.stderr)
    check(not sessions(home), "leaves no upload session", sessions(home))


def full_from_outside(home, disk, name):
    """The lake takes nothing while the job ends; the broker waits until there is room."""
    waiting = Waiting(home, "full")
    job = waiting.submit("waits")
    check(until(lambda: waiting.is_begun(job)), "a job runs on a small disk")
    filler = fill(disk)
    waiting.release()
    broker = home.broker_pid()
    until(lambda: "ended" in open(os.path.join(home.path, "jobs", str(job), "state")).read(), 20)
    os.unlink(filler)
    check(until(lambda: home.state(job) == "finished"), name, home.state(job))
    check(home.broker_pid() == broker, "by the same broker")
    check(not home.fsck(), "the lake is sound", home.fsck())
    check(home.run("job", "submit", "--wait", "--", "true").returncode == 0, "and goes on")


def remount(disk, how):
    return subprocess.run(["mount", "-o", "remount," + how, disk], capture_output=True).returncode == 0


def test_read_only(scratch):
    with small_disk(os.path.join(scratch, "fixed"), "16m") as disk:
        if not disk:
            skip("a home that cannot be written is told as that", "only root may mount")
            return
        home = Home(disk, "home", idle_s=60)
        check(home.run("job", "submit", "--wait", "--", "true").returncode == 0, "a home")
        home.stop_broker()
        # A process that ends loses its name before its files, and only then may the disk be fixed.
        check(until(lambda: remount(disk, "ro"), 60), "nobody writes any more", home.processes())
        got = home.run("broker")
        check(got.returncode not in (0, 2) and disk in got.stderr and "ead-only" in got.stderr,
              "a home that cannot be written is told as that", got.returncode, got.stderr)
        got = home.run("job", "submit", "--", "true")
        check(got.returncode != 0 and "ead" in got.stderr, "by submit, too", got.stderr)
        check(remount(disk, "rw"), "the disk is writable again")
        check(home.run("job", "submit", "--wait", "--", "true").returncode == 0, "and comes back")
        home.end_everything()


def test_long_home(scratch):
    """The name of a socket may have 107 bytes; that of a home may have more."""
    home = Home(scratch, "long/" + "/".join(["x" * 90] * 3), idle_s=60)
    job = home.submit("echo here")
    code = home.run("job", "wait", str(job), "--timeout", "60s").returncode
    check(code == 0 and home.log(job) == "here\n", "a home whose name is longer than a socket's", code)
    home.stop_broker()
    check(until(lambda: not home.processes()), "its broker is told to end there, too")


def test_idle_clients(scratch):
    """More connections than the broker has room for, which say nothing, half a word or nonsense."""
    home = Home(scratch, "crowd", idle_s=60)
    home.good("job", "submit", "--wait", "--", "true")
    crowd = []
    for i in range(400):
        client = socket.socket(socket.AF_UNIX)
        client.connect(os.path.join(home.path, "broker.sock"))
        client.send((b"", b"wa", b"wait 1000000\n", b"GET / HTTP/1.1\r\n\r\n")[i % 4])
        crowd.append(client)
    began = time.monotonic()
    got = home.run("job", "submit", "--wait", "--", "true")
    took_s = time.monotonic() - began
    # A broker that could not be woken would look for new jobs after ten seconds.
    check(got.returncode == 0 and took_s < (60 if SLOW else 8),
          "400 idle or odd connections do not keep a job from running", got.stderr, took_s)
    for client in crowd:
        client.close()
    home.stop_broker()


def main():
    with scratch_directory() as scratch:
        home = Home(scratch, idle_s=60)
        try:
            for test in (test_agent_killed, test_setting_changes, test_followers_killed,
                         test_broker_returns, test_all_killed, test_broker_returns_for_followers,
                         test_links_out, test_long_log, test_two_at_once):
                test(home)
            home.stop_broker()
            left = home.leftovers()
            check(not left, "nothing is left", left)
            for test in (test_idle_race, test_forgotten_wake, test_unreadable_details,
                         test_output_given_up, test_kill_between_tries, test_full_disk, test_read_only, test_long_home,
                         test_idle_clients):
                test(scratch)
        finally:
            home.end_everything()
            for name in ("idle", "unwoken", "unreadable", "unsteady", "between", "crowd"):
                Home(scratch, name).end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
