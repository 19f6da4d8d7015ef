"""Instances that are machines, for models of clouds: each is a network namespace with an address, a
hostname, processes and an sshd of its own, boots in a settable time, runs its user data, answers at
the metadata address of its cloud, and ends when its programs power it off. Files are shared with this
machine, but for /run and for the home of the login user, which is root by another name: who uses it
must call sudo to power off, as where it is none.

Nothing here has a name outside of its processes: the namespaces vanish with them, and they end with
the process that has the Instances, whatever its end. All instances are reached from one namespace:
Instances.command is how ssh is run there.

usage: instances.py have    why there can be no such instances here, with exit code 1
Other arguments are of this file's own processes: "keep" has all instances, "init" is the first process
of one, "stand-in" stands for a program of systemd or for sudo there."""

import ctypes
import email.utils
import http.server
import json
import os
import re
import select
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS = ["ssh", "ssh-keygen", "ip", "unshare", "nsenter", "mount", "sshd"]
STAND_INS = ["nvidia-smi", "sudo", "systemctl", "systemd-run", "shutdown", "poweroff", "halt", "reboot"]
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
METADATA = "169.254.169.254"
HERE = os.path.abspath(__file__)
TOKEN_S_MAX = 21600


def which(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":" + SYSTEM_PATH)


def why_not():
    """Why there can be no instances here, "" when there can."""
    for program in PROGRAMS:
        if not which(program):
            return program + " is not installed"
    if os.geteuid() != 0:
        return "instances of a model need root"
    made = subprocess.run(["unshare", "--net", "--uts", "--mount", "--fork", "--pid", "--mount-proc",
                           "--kill-child", "ip", "link", "add", "x", "type", "veth"],
                          capture_output=True)
    return "" if made.returncode == 0 else "namespaces cannot be made here"


# ---- in the model ----


class Instances:
    """ended(name, why) is called from threads of ours: "off" when its programs powered it off,
    "reclaimed" when reclaim did."""

    def __init__(self, ended, reuse_addresses=False):
        self._ended = ended
        self._reuse = reuse_addresses
        self._lock = threading.Lock()
        self._numbers = {}  # name -> of its address
        self._last = 0
        self._timers = {}
        self.directory = tempfile.mkdtemp(prefix="tw-vm-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self._keeper = subprocess.Popen(
            ["unshare", "--net", sys.executable, HERE, "keep", self.directory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        # unshare becomes the keeper: one process, whose namespace is that of the network.
        self._net = json.loads(self._keeper.stdout.readline())["net"]
        self.command = "nsenter --target %d --net ssh -F none" % self._keeper.pid
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _tell(self, **what):
        with self._lock:
            try:
                self._keeper.stdin.write(json.dumps(what).encode() + b"\n")
                self._keeper.stdin.flush()
            except (BrokenPipeError, ValueError):
                pass

    def _listen(self):
        for line in self._keeper.stdout:
            name = json.loads(line)["over"]
            with self._lock:
                self._numbers.pop(name, None)
                timer = self._timers.pop(name, None)
            if timer:
                timer.cancel()
            self._ended(name, "off")

    def boot(self, name, login, keys, user_data=b"", boot_s=0, hour_s=3600, metadata=None):
        """The addresses of a new instance, public and private. It lets login in with one of the
        public keys boot_s from now on, and then runs user_data. hour_s is how long an hour of its
        timers takes. metadata: {"cloud": "aws" | "gcp" | "azure"} and what its service knows."""
        with self._lock:
            taken = set(self._numbers.values())
            first = 1 if self._reuse else self._last + 1
            number = next(n for n in range(first, 65000) if n not in taken)
            self._last = max(self._last, number)
            self._numbers[name] = number
        public, private = ("%s.%d.%d" % (net, (number + 10) >> 8, (number + 10) & 255)
                           for net in (self._net, "172.31"))
        self._tell(boot=name, login=login, keys=list(keys), user_data=user_data.decode(),
                   at=time.time() + boot_s, hour_s=hour_s, metadata=metadata or {}, number=number,
                   public=public, private=private, gateway=self._net + ".0.1")
        return public, private

    def end(self, name):
        """It loses its power, and its address is free."""
        self._tell(end=name)
        with self._lock:
            self._numbers.pop(name, None)

    def notice(self, name, action="terminate", after_s=120):
        """Its metadata tell that it will be taken away."""
        self._tell(notice=name, action=action, at=time.time() + after_s)

    def reclaim(self, name, after_s):
        """Notice, and the end after that, unless it ends by itself before."""

        def take():
            self._ended(name, "reclaimed")
            self.end(name)

        self.notice(name, after_s=after_s)
        timer = threading.Timer(after_s, take)
        timer.daemon = True
        with self._lock:
            self._timers[name] = timer
        timer.start()

    def link(self, name, up):
        """Whether its network cable is in."""
        self._tell(link=name, up=up)

    def stop(self):
        """Ends all. The directory is gone, too, then."""
        for timer in list(self._timers.values()):
            timer.cancel()
        self._ended = lambda name, why: None
        with self._lock:
            self._keeper.stdin.close()
        self._keeper.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


# ---- the keeper: all instances are its children, and it is their switch ----


def ip_batch(lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True,
                   stderr=subprocess.DEVNULL)


def mac(number):
    """The same for an address that is used again: no table of neighbours goes wrong."""
    return "02:54:57:00:%02x:%02x" % (number >> 8, number & 255)


class Keeper:
    def __init__(self, directory):
        self.directory = directory
        self.of = {}  # name -> (process, what was told)
        self.outputs = {}  # descriptor -> name
        # Models side by side have networks of their own: OpenSSH shares connections by address.
        pid = os.getpid()
        self.net = "10.%d" % (pid % 200 + 32)
        ip_batch(["link set lo up", "link add bridge type bridge", "link set bridge up",
                  "addr add %s.0.1/16 dev bridge" % self.net])
        bin_directory = os.path.join(directory, "bin")
        os.mkdir(bin_directory)
        for name in STAND_INS:
            path = os.path.join(bin_directory, name)
            with open(path, "w") as f:
                f.write('#!/bin/sh\nexec %s %s stand-in %s "$@"\n' % (sys.executable, HERE, name))
            os.chmod(path, 0o755)

    def tell(self, **what):
        os.write(1, json.dumps(what).encode() + b"\n")

    def boot(self, told):
        name = told["boot"]
        directory = os.path.join(self.directory, name)
        os.makedirs(os.path.join(directory, "home"), mode=0o755)
        libc = ctypes.CDLL(None)
        process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "--fork", "--pid", "--mount-proc",
             "--kill-child", sys.executable, HERE, "init", self.directory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            stderr=open(os.path.join(directory, "init.log"), "w"),
            preexec_fn=lambda: libc.prctl(1, signal.SIGKILL))  # PR_SET_PDEATHSIG
        self.of[name] = (process, told)
        self.outputs[process.stdout.fileno()] = name
        self.say(name, **told)

    def say(self, name, **what):
        if name in self.of:
            try:
                os.write(self.of[name][0].stdin.fileno(), json.dumps(what).encode() + b"\n")
            except BrokenPipeError:
                pass

    def plug_in(self, name):
        """The instance has made its namespace and waits."""
        process, told = self.of[name]
        cable = "h%d" % told["number"]
        try:
            ip_batch(["link add %s type veth peer name eth0 address %s netns %d"
                      % (cable, mac(told["number"]), process.pid),
                      "link set %s master bridge up" % cable])
        except subprocess.CalledProcessError:
            pass  # it has ended meanwhile
        self.say(name, go=True)

    def end(self, name):
        if name not in self.of:
            return
        process, told = self.of.pop(name)
        del self.outputs[process.stdout.fileno()]
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()
        # The other end goes with its namespace some time: now, for the address is free from here on.
        subprocess.run(["ip", "link", "del", "h%d" % told["number"]], stderr=subprocess.DEVNULL)
        self.tell(over=name)

    def obey(self, what):
        if "boot" in what:
            self.boot(what)
        elif "end" in what:
            self.end(what["end"])
        elif "notice" in what:
            self.say(what["notice"], notice={"action": what["action"], "at": what["at"]})
        elif "link" in what and what["link"] in self.of:
            cable = "h%d" % self.of[what["link"]][1]["number"]
            subprocess.run(["ip", "link", "set", cable, "up" if what["up"] else "down"])

    def run(self):
        self.tell(net=self.net)
        commands = Lines(0)
        while True:
            ready, _, _ = select.select([0, *self.outputs], [], [])
            for fd in ready:
                if fd == 0:
                    for line in commands.more():
                        self.obey(json.loads(line))
                    if commands.over:
                        return
                elif fd in self.outputs:
                    name = self.outputs[fd]
                    if os.read(fd, 100):
                        self.plug_in(name)
                    else:
                        self.end(name)

    def clear(self):
        for process, _ in self.of.values():
            process.kill()
        for process, _ in self.of.values():
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Lines:
    """Lines of a descriptor, without waiting for whole ones."""

    def __init__(self, fd):
        self.fd, self.rest, self.over = fd, b"", False

    def more(self):
        got = os.read(self.fd, 65536)
        self.over = not got
        *lines, self.rest = (self.rest + got).split(b"\n")
        return lines


def keep(directory):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    keeper = Keeper(directory)
    try:
        keeper.run()
    except BrokenPipeError:
        pass
    finally:
        keeper.clear()


# ---- the first process of an instance ----


def set_up_files(directory, told):
    """As root of a mount namespace: the account, the stand-ins over what is installed, and /run."""
    here = os.path.join(directory, told["boot"])
    home = os.path.join(here, "home")
    with open("/etc/passwd") as f:
        others = [line for line in f if not line.startswith(told["login"] + ":")]
    with open(os.path.join(here, "passwd"), "w") as f:
        f.write("%s:*:0:0::%s:/bin/sh\n%s" % (told["login"], home, "".join(others)))
    with open(os.path.join(here, "authorized"), "w") as f:
        f.writelines(key.strip() + "\n" for key in told["keys"])
    lines = ["mount -t tmpfs none /run", "mkdir -p /run/sshd /run/units",
             "mount --bind %s/passwd /etc/passwd" % here, "hostname %s" % told["boot"][:60]]
    # Nothing of user data stays on this machine.
    if os.path.isdir("/var/lib/cloud"):
        lines.append("mount -t tmpfs none /var/lib/cloud")
    for name in STAND_INS:
        for at in ("/usr/bin/", "/usr/sbin/"):
            if os.path.exists(at + name):
                lines.append("mount --bind %s/bin/%s %s" % (directory, name, at + name))
    subprocess.run(["sh", "-ec", "\n".join(lines)], check=True)
    with open("/run/hour", "w") as f:
        f.write(str(told["hour_s"]))
    with open("/run/instance", "w") as f:
        f.write(told["boot"])
    return here


def set_up_network(told):
    ip_batch(["link set lo up", "addr add %s/32 dev lo" % METADATA,
              "addr add %s/16 dev eth0" % told["public"],
              "addr add %s/16 dev eth0" % told["private"], "link set eth0 up",
              "route add default via %s" % told["gateway"]])


def environment(directory, told):
    """Of what runs as root there."""
    return {"PATH": os.path.join(directory, "bin") + ":" + SYSTEM_PATH, "HOME": "/root",
            "LANG": "C.UTF-8", "INSTANCE_ROOT": "1"}


def sshd_settings(directory, here, told):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", here + "/host",
                    "-C", told["boot"]], check=True)
    path = os.path.join(here, "sshd_config")
    with open(path, "w") as f:
        f.write("HostKey %s/host\nAuthorizedKeysFile %s/authorized\nPasswordAuthentication no\n"
                "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                "AllowUsers %s\nStrictModes no\nUsePAM no\nPidFile none\nPrintMotd no\n"
                "MaxStartups 100\nSetEnv PATH=%s/bin:%s\n"
                % (here, here, told["login"], directory, SYSTEM_PATH))
    return path


def spawn(words, log, env):
    """A child that init reaps as all others."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    os.posix_spawn(words[0], words, env, setsid=True,
                   file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out, 1),
                                 (os.POSIX_SPAWN_DUP2, out, 2)],
                   setsigmask=[], setsigdef=[signal.SIGPIPE])
    os.close(out)
    os.close(null)


def run_user_data(here, told, env):
    path = os.path.join(here, "user-data")
    with open(path, "w") as f:
        f.write(told["user_data"])
    os.chmod(path, 0o700)
    if told["user_data"].startswith("#!"):
        spawn([path], path + ".log", env)


def reap(*unused):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def init(directory):
    signal.signal(signal.SIGPWR, lambda *unused: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands = Lines(0)
    waiting = []

    def next_told(seconds=None):
        while not waiting and select.select([0], [], [], seconds)[0]:
            waiting.extend(commands.more())
            if commands.over:
                os._exit(0)
        return json.loads(waiting.pop(0)) if waiting else None

    told = next_told()
    here = set_up_files(directory, told)
    os.write(1, b"ready\n")
    service = Metadata(told)
    ready = False
    while not ready:
        what = next_told()
        service.hear(what)
        ready = "go" in what
    set_up_network(told)
    service.start()
    config = sshd_settings(directory, here, told)
    env = environment(directory, told)
    os.chdir("/")
    signal.signal(signal.SIGCHLD, reap)
    booted = False
    while True:
        left_s = told["at"] - time.time()
        if not booted and left_s <= 0:
            booted = True
            spawn([which("sshd"), "-D", "-f", config, "-E", here + "/sshd.log"],
                  here + "/sshd.out", env)
            run_user_data(here, told, env)
            continue
        service.hear(next_told(None if booted else left_s) or {})


# ---- the metadata service, by the documentation of each cloud ----


class MetadataServer(http.server.ThreadingHTTPServer):
    def server_bind(self):
        """Without the host's name: nothing answers that question there, for ten seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


class Metadata:
    """What the service of one instance knows, and its server."""

    def __init__(self, told):
        self.told = told
        self.about = told["metadata"]
        self.notice = None
        self.incarnation = 1
        self.tokens = {}  # of AWS: until when each is good

    def hear(self, what):
        if "notice" in what:
            self.notice = what["notice"]
            self.incarnation += 1

    def start(self, address=METADATA, port=80):
        """The port, which is a free one for 0."""
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused):
                pass

            def do_GET(self):
                self.reply(*service.get(self.path, self.headers))

            def do_PUT(self):
                self.reply(*service.put(self.path, self.headers))

            def reply(self, status, text="", headers=()):
                body = text.encode()
                self.send_response(status)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = MetadataServer((address, port), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port

    def put(self, path, headers):
        if self.about.get("cloud") != "aws" or path != "/latest/api/token":
            return 404,
        seconds = headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if "X-Forwarded-For" in headers:
            return 403,
        if not seconds.isdigit() or not 1 <= int(seconds) <= TOKEN_S_MAX:
            return 400,
        token = os.urandom(30).hex()
        self.tokens[token] = time.monotonic() + int(seconds)
        return 200, token, {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": seconds}

    def get(self, path, headers):
        by_cloud = {"aws": self.get_aws, "gcp": self.get_gcp, "azure": self.get_azure}
        get = by_cloud.get(self.about.get("cloud"))
        return get(path, headers) if get else (404,)

    def get_aws(self, path, headers):
        token = headers.get("X-aws-ec2-metadata-token", "")
        # HttpTokens=required: version 1 is refused.
        if self.tokens.get(token, 0) < time.monotonic():
            return 401,
        known = {"instance-id": self.told["boot"], "public-ipv4": self.told["public"],
                 "local-ipv4": self.told["private"],
                 "instance-type": self.about.get("type", ""),
                 "placement/availability-zone": self.about.get("zone", "")}
        if self.notice:
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.notice["at"]))
            known["spot/instance-action"] = json.dumps({"action": self.notice["action"], "time": at})
            known["spot/termination-time"] = at
        name = path.removeprefix("/latest/meta-data/")
        return (200, known[name]) if name != path and name in known else (404, "not found")

    def get_gcp(self, path, headers):
        if headers.get("Metadata-Flavor") != "Google":
            return 403, "missing Metadata-Flavor", {"Metadata-Flavor": "Google"}
        known = {"id": str(self.about.get("id", "")), "name": self.told["boot"],
                 "zone": self.about.get("zone", ""),
                 "preempted": "TRUE" if self.notice else "FALSE",
                 "maintenance-event":
                     "TERMINATE_ON_HOST_MAINTENANCE" if self.notice else "NONE"}
        name = path.removeprefix("/computeMetadata/v1/instance/").partition("?")[0]
        if name == path or name not in known:
            return 404, "not found", {"Metadata-Flavor": "Google"}
        return 200, known[name], {"Metadata-Flavor": "Google"}

    def get_azure(self, path, headers):
        at, _, query = path.partition("?")
        if headers.get("Metadata", "").lower() != "true" or "api-version=" not in query:
            return 400, '{"error": "Bad request"}'
        if at == "/metadata/instance/compute/name" and "format=text" in query:
            return 200, self.told["boot"]
        if at == "/metadata/instance":
            return 200, json.dumps({"compute": {"name": self.told["boot"],
                                                "vmId": self.about.get("id", "")}})
        if at != "/metadata/scheduledevents":
            return 404, '{"error": "Not found"}'
        events = []
        if self.notice:
            events.append({"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventType": "Preempt",
                           "EventStatus": "Scheduled", "ResourceType": "VirtualMachine",
                           "Resources": self.about.get("resources", [self.told["boot"]]),
                           "NotBefore": email.utils.formatdate(self.notice["at"], usegmt=True),
                           "Description": "", "EventSource": "Platform", "DurationInSeconds": -1})
        return 200, json.dumps({"DocumentIncarnation": self.incarnation, "Events": events})


# ---- stand-ins, within an instance ----


def seconds_of(text):
    """Of systemd's notation: 90, 1h, 1h 30min."""
    units = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    if not parts or any(unit not in units for _, unit in parts):
        sys.exit("Failed to parse time: " + text)
    with open("/run/hour") as f:
        return sum(float(n) * units[unit] for n, unit in parts) / 3600 * float(f.read())


def power_off():
    os.kill(1, signal.SIGPWR)
    time.sleep(60)


def start_timer(unit, seconds, words, again_s=None):
    """The process of a timer becomes the command, unless it comes again."""
    if os.fork():
        return
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    with open("/run/units/" + unit, "w") as f:
        f.write(str(os.getpid()))
    time.sleep(seconds)
    while again_s:
        subprocess.run(words)
        time.sleep(again_s)
    os.execvp(words[0], words)


def stop_timer(unit):
    path = "/run/units/" + unit.removesuffix(".timer").removesuffix(".service")
    try:
        with open(path) as f:
            os.kill(int(f.read()), signal.SIGKILL)
        os.remove(path)
    except (FileNotFoundError, ProcessLookupError):
        sys.exit("Failed to stop %s: Unit %s not loaded." % (unit, unit))


def do_sudo(words):
    while words and words[0].startswith("-"):
        words.pop(0)
    os.environ["INSTANCE_ROOT"] = "1"
    if words:
        os.execvp(words[0], words)


def do_systemd_run(words):
    unit, seconds, again_s = "run-%d" % os.getpid(), 0, None
    while words and words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        if name in ("--on-active", "--on-unit-active", "--unit", "-u") and not value:
            value = words.pop(0)
        if name == "--on-active":
            seconds = seconds_of(value)
        elif name == "--on-unit-active":
            again_s = seconds_of(value)
        elif name in ("--unit", "-u"):
            unit = value.removesuffix(".timer").removesuffix(".service")
    start_timer(unit, seconds, words, again_s)


def do_systemctl(words):
    verb, *units = [w for w in words if not w.startswith("-")] or [""]
    if verb in ("poweroff", "halt"):
        power_off()
    elif verb == "stop":
        for unit in units:
            stop_timer(unit)
    else:
        sys.exit("systemctl %s: this instance has no systemd" % verb)


def do_shutdown(words):
    if "-c" in words:
        stop_timer("shutdown")
        return
    when = [w for w in words if not w.startswith("-")] or ["+1"]
    if when[0] in ("now", "+0"):
        power_off()
    else:
        start_timer("shutdown", seconds_of(when[0].lstrip("+") + "min"), ["poweroff"])


def stand_in(name, words):
    if name == "nvidia-smi":  # the GPU is there
        return
    if name != "sudo" and os.environ.get("INSTANCE_ROOT") != "1":
        sys.exit("%s: Interactive authentication required." % name)
    by_name = {"sudo": do_sudo, "systemd-run": do_systemd_run, "systemctl": do_systemctl,
               "shutdown": do_shutdown}
    if name in by_name:
        by_name[name](words)
    elif name == "reboot":
        sys.exit("reboot: this instance does not reboot")
    else:
        power_off()


def main():
    verb, *words = sys.argv[1:] or [""]
    if verb == "have":
        reason = why_not()
        print(reason, end="\n" if reason else "")
        sys.exit(1 if reason else 0)
    elif verb == "keep":
        keep(words[0])
    elif verb == "init":
        init(words[0])
    elif verb == "stand-in":
        stand_in(words[0], words[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
