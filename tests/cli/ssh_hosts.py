"""Hosts behind a real sshd (tests/servers/ssh-hosts), for tests of a broker that uses them."""

import contextlib
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile

SERVER = os.path.join(os.path.dirname(__file__), "..", "servers", "ssh-hosts")


def why_not():
    """Why there can be no such hosts here, "" when there can."""
    got = subprocess.run([SERVER, "have"], capture_output=True, text=True)
    return "" if got.returncode == 0 else got.stdout.strip() or "no hosts can be made here"


def stays_there(name):
    """What the directory of a home keeps between its jobs."""
    return name in ("lease", "cache") or name.endswith(".over")


class Hosts:
    def __init__(self, scratch, count):
        self.directory = os.path.join(scratch, "servers")
        # A short name: names of sockets are bounded, and with a long one connections would be shared
        # with whoever else has hosts of these addresses.
        self.runtime = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
        said = self._server("start", str(count))
        with open(os.path.join(self.directory, "jobs")) as f:
            self.jobs = f.read().strip()
        self.command = said.split("'")[1]
        self.names = [f"root@10.77.0.1{k}" for k in range(1, count + 1)]
        self._spaces = [self._space(k) for k in range(1, count + 1)]

    def _server(self, verb, *words):
        return subprocess.run(
            [SERVER, verb, self.directory, *words], check=True, capture_output=True, text=True
        ).stdout

    def _space(self, k):
        """The process space of a host, by its first process."""
        with open(os.path.join(self.directory, f"host{k}.pid")) as f:
            outer = f.read().strip()
        with open(f"/proc/{outer}/task/{outer}/children") as f:
            return os.readlink(f"/proc/{f.read().split()[0]}/ns/pid")

    def use(self, home, price=3.6, lost_s=300):
        """A home with these hosts, in a group named lab. A gone host is noticed sooner than users
        should have to wait."""
        home.env["TRADEWIND_SSH"] = f"{self.command} -o ServerAliveInterval=1 -o ConnectTimeout=3"
        home.env["XDG_RUNTIME_DIR"] = self.runtime
        os.makedirs(home.path, exist_ok=True)
        hosts = ", ".join(f"{{host: {n}, cpus: 2, memory: 8, price: {price}}}" for n in self.names)
        with open(os.path.join(home.path, "config.yaml"), "w") as f:
            f.write(f"hosts: {{lab: [{hosts}]}}\nlimits: {{host_lost_s: {lost_s}}}\n")

    def cut_off(self, k):
        """Host k falls dead: no answer, no goodbye."""
        self._server("end", str(k))

    def _link(self, k, to):
        with open(os.path.join(self.directory, "prefix")) as f:
            prefix = f.read().strip()
        subprocess.run(["ip", "-n", prefix, "link", "set", f"h{k}", to], check=True)

    def put_back(self, k):
        """It answers again, and nothing was lost there."""
        self._link(k, "up")

    def forget_key(self):
        """No host lets us in."""
        shutil.copy(f"{self.directory}/authorized", f"{self.directory}/kept")
        with open(f"{self.directory}/other.pub") as other:
            self._authorize(other.read())

    def know_key(self):
        with open(f"{self.directory}/kept") as kept:
            self._authorize(kept.read())

    def change_key(self, k):
        """Host k answers with another key than the one we know."""
        self._rewrite_known(k, "other.pub")

    def restore_key(self, k):
        self._rewrite_known(k, "host.pub")

    def _rewrite_known(self, k, key):
        with open(f"{self.directory}/{key}") as f:
            words = f.read().split()[:2]
        with open(f"{self.directory}/known") as f:
            lines = f.read().splitlines()
        lines[k - 1] = " ".join([lines[k - 1].split()[0], *words])
        with open(f"{self.directory}/known", "w") as f:
            f.write("\n".join(lines) + "\n")

    def _authorize(self, text):
        with open(f"{self.directory}/authorized", "w") as f:
            f.write(text)

    def hang_up(self):
        """Connections that are kept open for the next call end."""
        for name in self.names:
            subprocess.run(
                [*self.command.split(), "-o", f"ControlPath={self.runtime}/tradewind/%C", "-O",
                 "exit", name],
                capture_output=True,
            )

    def processes(self):
        """What runs on the hosts besides sshd."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/pid") not in self._spaces:
                    continue
                with open(f"/proc/{pid}/comm") as f:
                    name = f.read().strip()
                with open(f"/proc/{pid}/cmdline") as f:
                    words = f.read().replace("\0", " ")
                if name != "sshd" and words:
                    found.append(f"{pid} {words}")
        return found

    def end_processes(self):
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.split()[0]), signal.SIGKILL)

    def root_of(self, home):
        """The directory of a home's jobs on its hosts, which share one file system with us."""
        with contextlib.closing(sqlite3.connect(os.path.join(home.path, "machines.db"))) as db:
            owner = db.execute("SELECT name FROM owner").fetchone()[0]
        return os.path.join(self.jobs, owner)

    def left_there(self, home):
        """Directories of jobs that are still on the hosts."""
        root = self.root_of(home)
        names = os.listdir(root) if os.path.isdir(root) else []
        return [n for n in names if not n.startswith("agent-") and not stays_there(n)]

    def files_there(self, home):
        """All that lies in those, to tell whose it is."""
        root = self.root_of(home)
        return [
            os.path.relpath(os.path.join(at, name), root)
            for left in self.left_there(home)
            for at, directories, files in os.walk(os.path.join(root, left))
            for name in [*directories, *files]
        ]

    def forget_claims(self):
        """What a killed broker claimed and the next one did not need lapses by itself, but not before
        the next home is tried. So do the marks of rentings that are over, whose names a copy of the
        home gives again."""
        for pattern in ("in-use.*", "*/.*.over"):
            for path in glob.glob(os.path.join(self.jobs, pattern)):
                os.remove(path)

    def stop(self, *homes):
        self.hang_up()
        self._server("stop")
        shutil.rmtree(self.runtime, ignore_errors=True)
        for home in homes:
            with contextlib.suppress(sqlite3.Error, TypeError):
                shutil.rmtree(self.root_of(home), ignore_errors=True)
