"""What the models of clouds for tests share: the clock, lists that lag behind, room and quotas, faults drawn
from a seed, control by the test, and HTTP. A model (tests/servers/ec2, tests/servers/gce) has a subclass of
Model and one of Handler, and ends with serve().

usage of a model: tests/servers/NAME [--clock FILE] [--settings JSON] [--tls FILE]
Prints NAME_MODEL=URL once it listens, on a free port of 127.0.0.1, and ends with its standard input.

--clock: eight bytes, little-endian milliseconds since 1970, which are the time; else the real one.
--tls: certificate and key, for https at localhost.
POST /control begins anew with the settings of its body; GET /control tells the state as JSON;
POST /control/do {"ACTION": ...} changes it: {"preempt": true} or {"preempt": [IDS]} reclaims spot
instances, {"detach": true} leaves disks and the like of instances that end, {"settings": {...}} changes
settings, {"unplug": [IDS]} and {"plug": [IDS]} cut machines off and put them back, {"tick": 0} changes
nothing. GET /ip answers as a service that tells our address.

Settings:
  seed, faults     every call meets a fault with this probability, drawn from the seed
  only             names of faults that may be met; all when absent
  of               actions that may meet them; all when absent
  lag_s            new things are hidden from lists for up to so long, and may flicker until then
  skew_s           by which this cloud's clock is ahead
  capacity         {ZONE: 0}: instances that a zone can hold; absent = any number
  vcpus            quota of the region
  denied           actions that are not permitted
  page             items of a page at most
  delay_s          how long every answer takes, on the real clock (0)
  hosts            instances are machines (instances.py), with the clock of this one; SSH_COMMAND='...'
                   is printed after NAME_MODEL, and stands in the state: how ssh reaches them
  boot_s, delete_s how long instances boot and go (30 and 20; 1 and 1 of hosts)
  answers_s        after boot_s: until the host lets ssh in and runs its script (0)
  reclaim_s        between the notice of a preemption and the end (120; without hosts none is given)
  hour_s           how long an hour of timers on the host takes (3600)
  reuse_addresses  a new host gets the address of one that has ended
"""
import email.utils
import json
import mmap
import random
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import instances

HIDDEN_S = 30
# Before a call is carried out, and after it.
BEFORE = ["internal-before", "unavailable-before", "html-before", "reset-before", "hang-before",
          "throttle", "throttle-date"]
AFTER = ["internal-after", "html-after", "reset-after", "hang-after", "truncated", "error-in-200",
         "twice", "page-again"]
OF_ALL = ["auth", "permission"]


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class Model:
    """Things are dictionaries with at least id, kind ("instance", ...), tags, made and visible;
    instances also have zone, spot, and ended: None until they are told to end."""

    launch = ""       # the action that launches
    of_launches = []  # faults of this action alone
    hosts = None      # instances that are machines

    def __init__(self, clock, settings):
        self.clock = clock
        self.lock = threading.Lock()  # of all calls
        self.reset(settings)

    def reset(self, settings):
        self.stop_hosts()
        self.settings = settings
        if settings.get("hosts"):
            self.hosts = instances.Instances(self.host_ended, settings.get("reuse_addresses", False))
        self.random = random.Random(settings.get("seed", 0))
        self.things = {}  # id -> thing
        self.count = 0
        self.calls = {}
        self.came = 0  # when the call at hand came, on the real clock
        self.times = []  # when each call came, with its action
        self.met = {}
        self.twins = 0
        self.launched = 0
        self.detach = False
        self.begin()

    def begin(self):
        """A subclass's own part of reset."""

    def settle(self):
        """What happens by itself until now."""

    def now(self):
        real = struct.unpack("<q", self.clock[:8])[0] / 1000 if self.clock else time.time()
        return real + self.settings.get("skew_s", 0)

    # ---- things ----

    def add(self, kind, name, tags, /, **more):
        lag = self.settings.get("lag_s", 0)
        thing = dict(kind=kind, id=name, tags=dict(tags), made=self.now(),
                     visible=self.now() + self.random.uniform(0, lag), **more)
        self.things[name] = thing
        return thing

    def of(self, kind):
        return [t for t in self.things.values() if t["kind"] == kind]

    def shown(self, kind):
        """What a list shows: not what is too new, and of what is new not always everything."""
        out = []
        for t in self.of(kind):
            age = self.now() - t["made"]
            flickers = self.settings.get("lag_s", 0) and age < HIDDEN_S
            if t["visible"] <= self.now() and not (flickers and self.random.random() < 0.3):
                out.append(t)
        return out

    def has_room(self, zone):
        here = [t for t in self.of("instance") if t["ended"] is None and t["zone"] == zone]
        most = self.settings.get("capacity", {}).get(zone)
        return most is None or len(here) < most

    def note_twins(self):
        seen = {}
        for t in self.of("instance"):
            if t["ended"] is None:
                key = (t["tags"].get("broker-owner"), t["tags"].get("broker-attempt"))
                seen[key] = seen.get(key, 0) + 1
        self.twins += sum(n - 1 for key, n in seen.items() if key[1] and n > 1)

    # ---- instances that are machines ----

    def stop_hosts(self):
        if self.hosts:
            self.hosts.stop()
        self.hosts = None

    def duration(self, name, without_hosts):
        return self.settings.get(name, 1 if self.hosts else without_hosts)

    def boot(self, t, name, boot_s, login, keys, script, **metadata):
        """Makes an instance a machine of that name."""
        t["host"] = name
        t["public"], t["private"] = self.hosts.boot(
            name, login, keys, script, hour_s=self.settings.get("hour_s", 3600),
            boot_s=self.duration("boot_s", boot_s) + self.settings.get("answers_s", 0), metadata=metadata)

    def end_host(self, t):
        if t["ended"] is None and t.get("host") and self.hosts:
            self.hosts.end(t["host"])

    def host_ended(self, name, why):
        """Called by threads of the hosts."""
        with self.lock:
            t = next((t for t in self.of("instance") if t.get("host") == name), None)
            if t and why == "reclaimed":
                self.reclaimed(t)
            elif t:
                self.powered_off(t)

    def powered_off(self, t):
        raise NotImplementedError

    def reclaimed(self, t):
        """The cloud has taken a spot instance back."""
        raise NotImplementedError

    def preempt(self, t):
        if not t.get("host"):
            self.reclaimed(t)
        elif t["ended"] is None:
            self.hosts.reclaim(t["host"], self.settings.get("reclaim_s", 120))

    # ---- faults ----

    def draw(self, action):
        self.calls[action] = self.calls.get(action, 0) + 1
        if "delay_s" in self.settings:
            self.times.append((self.came, action))
        if self.random.random() >= self.settings.get("faults", 0):
            return None
        if action not in self.settings.get("of", [action]):
            return None
        launches = action == self.launch
        names = BEFORE + AFTER + (self.of_launches if launches else [])
        if self.random.random() < 0.02:
            names = OF_ALL
        if launches and self.random.random() < 0.5:
            names = self.of_launches
        name = self.random.choice(self.settings.get("only", names))
        if name in self.of_launches and not launches:
            name = None
        if name:
            self.met[name] = self.met.get(name, 0) + 1
        return name

    # ---- control ----

    def bills(self, t):
        """Whether this is left over where nothing should be."""
        return t["kind"] != "instance" or t["ended"] is None

    def state_json(self):
        self.settle()
        left = {}
        for t in self.things.values():
            if self.bills(t):
                left.setdefault(t["kind"], []).append(t["id"])
        out = {"left": left, "twins": self.twins, "launched": self.launched, "calls": self.calls,
               "times": self.times, "faults": self.met, "now": self.now(),
               "things": list(self.things.values())}
        if self.hosts:
            out["ssh_command"] = self.hosts.command
        return out

    def do(self, what):
        if what.get("preempt"):
            for t in self.of("instance"):
                named = what["preempt"] is True or {t["id"], t.get("host")} & set(what["preempt"])
                if t["spot"] and named:
                    self.preempt(t)
        for verb in "plug", "unplug":
            for name in what.get(verb, []):
                self.hosts.link(name, verb == "plug")
        if "detach" in what:
            self.detach = what["detach"]
        if "settings" in what:
            self.settings.update(what["settings"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    kind = "application/json"

    def log_message(self, *unused):
        pass

    def answer(self, status, text, kind=None, **more):
        body = text.encode()
        head = ["HTTP/1.1 %d Status" % status, "Content-Type: " + (kind or self.kind),
                "Date: " + email.utils.formatdate(self.model.now(), usegmt=True),
                "Content-Length: %d" % len(body)]
        head += ["%s: %s" % (k.replace("_", "-"), v) for k, v in more.items()]
        self.wfile.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    def answer_json(self, value, status=200, **more):
        self.answer(status, json.dumps(value), "application/json", **more)

    def call(self, method, body):
        """Answers a call of the cloud's API, with the lock held."""
        raise NotImplementedError

    def error(self, what, **more):
        """Answers with the cloud's own error "throttle", "internal" or "unavailable"."""
        raise NotImplementedError

    def spoil(self, fault):
        """The answer to a call that met one of BEFORE or AFTER, whose text does not matter."""
        how = fault.rsplit("-", 1)[0]
        if fault == "throttle":
            self.error("throttle", Retry_After="7")
        elif fault == "throttle-date":
            self.error("throttle",
                       Retry_After=email.utils.formatdate(self.model.now() + 11, usegmt=True))
        elif how in ("internal", "unavailable"):
            self.error(how)
        elif how == "html":
            self.answer(502, "<html><body><h1>502 Bad Gateway<br></h1></body></html>", "text/html")
        elif how == "hang":
            self.answer(200, "", X_Model_Hang="60")
        else:
            self.close_connection = True

    def handle_method(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        what = self.command + " " + self.path
        came = time.time()
        if not self.path.startswith("/control"):
            time.sleep(self.model.settings.get("delay_s", 0))
        with self.model.lock:
            self.model.came = came
            if what == "GET /ip":
                self.answer(200, "203.0.113.7\n", "text/plain")
            elif what == "GET /control":
                self.answer_json(self.model.state_json())
            elif what == "POST /control":
                self.model.reset(json.loads(body))
                self.answer_json({})
            elif what == "POST /control/do":
                self.model.do(json.loads(body))
                self.answer_json({})
            else:
                self.call(self.command, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_method


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # clients with many threads come all at once


def serve(name, model_class, handler_class):
    arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    settings = json.loads(arguments.get("--settings", "{}"))
    reason = instances.why_not() if settings.get("hosts") else ""
    if reason:
        sys.exit("tests/servers: " + reason)
    clock = None
    if "--clock" in arguments:
        with open(arguments["--clock"], "rb") as f:
            clock = mmap.mmap(f.fileno(), 8, access=mmap.ACCESS_READ)
    handler_class.model = model = model_class(clock, settings)
    server = Server(("127.0.0.1", 0), handler_class)
    url = "http://127.0.0.1:%d"
    if "--tls" in arguments:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments["--tls"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = "https://localhost:%d"
    handler_class.url = url % server.server_port
    command = "SSH_COMMAND='%s'\n" % model.hosts.command if model.hosts else ""
    sys.stdout.write("%s_MODEL=%s\n%s" % (name, handler_class.url, command))
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    with model.lock:
        model.stop_hosts()
