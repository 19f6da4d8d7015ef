"""What tests of the broker share: a home in a scratch directory, jobs that are queued before any
broker runs, and a look at everything that jobs leave behind."""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import traceback

PROGRAM = os.path.abspath(os.environ["TRADEWIND"])
SLOW = bool(os.environ.get("TRADEWIND_SLOW"))
# For what must come; a loaded machine under a sanitizer takes its time.
PATIENCE_S = float(os.environ.get("TRADEWIND_PATIENCE_S", 240 if SLOW else 120))
FINAL = {"finished", "failed", "killed", "lost"}
# What stays of a job's directory.
KEPT = {"log", "state", "warnings", "agent.lock"}

results = []
printing = threading.Lock()


def check(good, name, *details):
    with printing:
        results.append(bool(good))
        if not good:
            for detail in details:
                print("# " + str(detail).replace("\n", "\n# "))
        print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


def skip(name, reason):
    with printing:
        results.append(True)
        print(f"ok {len(results)} - {name} # SKIP {reason}", flush=True)


def together(*tests):
    """At once, for they wait more than they compute."""

    def run(test):
        try:
            test()
        except Exception:  # pylint: disable=broad-except
            check(False, f"{test} ends", traceback.format_exc())

    threads = [threading.Thread(target=run, args=(test,)) for test in tests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def done():
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


def until(condition, seconds=PATIENCE_S):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def scratch_directory():
    # A killed process loses nothing that the kernel has, so memory will do for a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tradewind-broker-", dir=memory) as scratch:
        yield scratch


def process_ids():
    return [name for name in os.listdir("/proc") if name.isdigit()]


def read_process(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


class Home:
    def __init__(self, scratch, name="home", idle_s=0):
        self.scratch = scratch
        self.path = os.path.join(scratch, name)
        self.ran = os.path.join(scratch, name + "-ran")
        os.makedirs(self.ran, exist_ok=True)
        # The leak checker cannot work beside a tracer.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.env = {
            **os.environ,
            "TRADEWIND_HOME": self.path,
            "TRADEWIND_BROKER_IDLE_S": str(idle_s),
            "ASAN_OPTIONS": asan,
        }

    # ---- commands ----

    def run(self, *args, before=()):
        return subprocess.run(
            [*before, PROGRAM, *args],
            env=self.env, cwd=self.scratch, capture_output=True, text=True, errors="replace",
        )

    def good(self, *args):
        got = self.run(*args)
        if got.returncode != 0:
            raise RuntimeError(f"{' '.join(args)}: {got.returncode}: {got.stderr}")
        return got.stdout

    def json(self, *args):
        return json.loads(self.good(*args, "--json"))

    def submit(self, script, *options):
        """A shell script as a job; its number."""
        small = () if "--cpus" in options else ("--cpus", "0.5", "--memory", "256")
        command = ("--", "sh", "-c", script)
        return json.loads(self.good("job", "submit", "--json", *small, *options, *command))["id"]

    def once(self, name):
        """Shell: notes that it ran."""
        return f"echo ran >>'{self.ran}/{name}'; "

    def times_run(self, name):
        try:
            with open(os.path.join(self.ran, name)) as f:
                return len(f.readlines())
        except FileNotFoundError:
            return 0

    def jobs(self):
        return {job["id"]: job for job in self.json("job", "ls", "--all")}

    def state(self, job):
        return self.json("job", "show", str(job))["state"]

    def log(self, job):
        return self.good("job", "logs", str(job))

    # ---- brokers ----

    @contextlib.contextmanager
    def nobody(self):
        """While it lasts, whoever wants a broker finds one that does nothing: jobs stay queued."""
        os.makedirs(self.path, exist_ok=True)
        version = self.good("--version").split()[1]
        with open(os.path.join(self.path, "broker.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            door = socket.socket(socket.AF_UNIX)
            door.bind(os.path.join(self.path, "broker.sock"))
            door.listen(50)
            thread = threading.Thread(target=self._greet, args=(door, version), daemon=True)
            thread.start()
            try:
                yield
            finally:
                door.shutdown(socket.SHUT_RDWR)
                thread.join()
                door.close()
                os.unlink(os.path.join(self.path, "broker.sock"))

    @staticmethod
    def _greet(door, version):
        while True:
            try:
                guest, _ = door.accept()
            except OSError:
                return
            with guest:
                guest.sendall(f"tradewind {version} 1\n".encode())
                while guest.recv(100):
                    pass

    def start_broker(self, before=(), idle_s=None):
        """In the foreground of nobody; its process once it serves."""
        env = dict(self.env)
        if idle_s is not None:
            env["TRADEWIND_BROKER_IDLE_S"] = str(idle_s)
        with open(os.path.join(self.path, "broker.log"), "a") as log:
            broker = subprocess.Popen(
                [*before, PROGRAM, "broker"], env=env, stdout=subprocess.PIPE, stderr=log
            )
        broker.stdout.readline()
        return broker

    def finish_all(self):
        """Brokers that end when there is nothing to do, until every job and run is over."""

        def over():
            self.run("broker")
            # A command of a job may have started a broker, too, that is about to go on with a run.
            if any(run["state"] == "running" for run in self.json("run", "ls")):
                return False
            return all(job["state"] in FINAL for job in self.jobs().values())

        return until(over)

    def broker_pid(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(self.path, "broker.sock"))
            return int(s.recv(100).split()[-1])

    def stop_broker(self):
        self.run("broker", "--stop")

    # ---- copies ----

    def keep(self):
        shutil.copytree(self.path, self.path + "-template")

    def restore(self):
        for path in (self.path, self.ran):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.path + "-template", self.path)
        os.makedirs(self.ran)

    # ---- leftovers ----

    def processes(self):
        """Agents of this home, what their jobs started, and brokers: by their numbers."""
        jobs = os.path.join(self.path, "jobs").encode()
        home = b"TRADEWIND_HOME=" + self.path.encode()
        found = {}
        for pid in process_ids():
            words, settings = read_process(pid, "cmdline").split(b"\0"), read_process(pid, "environ")
            job = b"TRADEWIND_OUTPUT=" + jobs in settings
            agent = any(w.startswith(jobs) for w in words)
            broker = words[1:2] == [b"broker"] and home in settings.split(b"\0")
            if job or agent or broker:
                found[int(pid)] = b" ".join(words).decode(errors="replace")
        return found

    def agents(self, job):
        """Numbers of the processes that supervise or follow a job."""
        directory = os.path.join(self.path, "jobs", str(job)).encode()
        return [
            int(pid)
            for pid in process_ids()
            if read_process(pid, "cmdline").split(b"\0")[2:3] == [directory]
        ]

    def supervisors(self, job):
        """Of those, the one whose parent is not a broker: its command's own parent."""
        jobs = b"TRADEWIND_OUTPUT=" + os.path.join(self.path, "jobs", str(job), "output").encode()
        parents = {
            int(read_process(pid, "stat").rsplit(b")", 1)[-1].split()[1])
            for pid in process_ids()
            if jobs in read_process(pid, "environ").split(b"\0")
        }
        return [pid for pid in self.agents(job) if pid in parents]

    def groups(self):
        """Control groups named after directories of this home's jobs."""
        names = set()
        for path in glob.glob(os.path.join(self.path, "jobs", "*")):
            st = os.stat(path)
            names.add(f"{st.st_dev:x}-{st.st_ino:x}")
        return [
            path
            for path in glob.glob("/sys/fs/cgroup/**/tradewind*", recursive=True)
            if any(path.endswith(name) for name in names)
        ]

    def untidy(self):
        left = glob.glob(os.path.join(self.path, "untidy", "*"))
        for path in glob.glob(os.path.join(self.path, "jobs", "*", "*")):
            if os.path.basename(path) not in KEPT:
                left.append(path)
        return left

    def leftovers(self):
        """What should not be there once all is over, as text. The last breath of an agent comes after
        the news of its job's end."""
        until(lambda: not self.processes(), 30)
        until(lambda: not self.groups() and not self.untidy(), 10)
        left = [*self.processes().values(), *self.groups(), *self.untidy()]
        return f"left behind: {left}" if left else ""

    def end_everything(self):
        """At the end of a test, whatever became of it."""
        self.stop_broker()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def fsck(self):
        report = self.run("fsck", "--json")
        if report.returncode != 0 or json.loads(report.stdout)["problems"]:
            return f"fsck: {report.returncode} {report.stdout} {report.stderr}"
        return ""
