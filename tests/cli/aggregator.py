"""What tests of the aggregator share: TAP, the program in each of its ways, inputs and means."""
import http.client
import http.server
import json
import os
import pathlib
import queue
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRADEWIND_BUILD", ROOT / "build"))
# Beside the program that is tested, which may be one with sanitizers.
PROGRAM = pathlib.Path(os.environ.get("TRADEWIND", BUILD / "tradewind")).with_name("tradewind-aggregator")
SLOW = bool(os.environ.get("TRADEWIND_SLOW"))
# Generous: machines that run tests are busy.
PATIENCE_S = 120

tests = failures = 0


def check(good, name):
    global tests, failures
    tests += 1
    failures += not good
    print(f"{'' if good else 'not '}ok {tests} - {name}", flush=True)
    return good


def equal(got, wanted, name):
    if not check(got == wanted, name):
        print(f"# got {got!r}, wanted {wanted!r}", flush=True)


def done_testing():
    print(f"1..{tests}")
    sys.exit(failures > 0)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def wait_for(condition, what):
    """Until condition() is true, which it returns; the test fails when that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    check(False, f"{what}: gave up waiting")
    done_testing()


class Scratch:
    """A directory of its own, in memory where that is possible, and what was started in it."""

    def __init__(self):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="tradewind-test-", dir=memory))
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
                p.wait()
        shutil.rmtree(self.path, ignore_errors=True)

    def start(self, command, env, **more):
        inherited = {k: v for k, v in os.environ.items()
                     if not k.startswith("TRADEWIND_") and k not in ("PORT", "AWS_LAMBDA_RUNTIME_API")}
        p = subprocess.Popen([str(c) for c in command], env={**inherited, **env}, **more)
        self.processes.append(p)
        return p

    def server(self, **env):
        """The aggregator as HTTP server; its port."""
        p = self.start([PROGRAM], {"PORT": "0", "TRADEWIND_LISTEN": "127.0.0.1", **env},
                       stdout=subprocess.PIPE, stderr=open(self.path / "errors", "a"), text=True)
        line = p.stdout.readline()
        if not line.startswith("listening on "):
            check(False, "the aggregator listens")
            done_testing()
        return p, int(line.rsplit(":", 1)[1])


# ---- inputs and means: plain floats in a directory ----

def number(round_, worker, k):
    return struct.unpack("<f", struct.pack("<f", (round_ + 1) * 0.25 + worker * 1.7 - k * 0.3))[0]


def key_of(round_, worker, prefix=""):
    return f"{prefix}round-{round_:06d}/in/worker-{worker:04d}.f32"


def push(store, round_, worker, prefix=""):
    key = key_of(round_, worker, prefix)
    path = store / key
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = store / f".aside-{round_}-{worker}"
    aside.write_bytes(struct.pack("<4f", *(number(round_, worker, k) for k in range(4))))
    aside.rename(path)
    return key


def is_mean(store, round_, workers, prefix=""):
    try:
        got = struct.unpack("<4f", (store / f"{prefix}round-{round_:06d}/mean").read_bytes())
    except (FileNotFoundError, struct.error):
        return False
    for k in range(4):
        mean = sum(number(round_, w, k) for w in range(workers)) / workers
        if abs(got[k] - mean) > 2 * workers * abs(mean) * 2**-23:
            return False
    return True


def objects(store):
    return sorted(str(p.relative_to(store)) for p in store.rglob("*")
                  if p.is_file() and not any(s.startswith(".") for s in p.relative_to(store).parts))


# ---- messages ----

def s3_event(*keys, bucket="bucket", name="ObjectCreated:Put"):
    """As Amazon documents it (event version 2.1)."""
    return {"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-west-2",
        "eventTime": "2026-11-16T12:00:00.000Z", "eventName": name,
        "userIdentity": {"principalId": "AIDAEXAMPLE"},
        "requestParameters": {"sourceIPAddress": "192.0.2.7"},
        "responseElements": {"x-amz-request-id": "C3D13FE58DE4C810"},
        "s3": {"s3SchemaVersion": "1.0", "configurationId": "rounds",
               "bucket": {"name": bucket, "ownerIdentity": {"principalId": "A3NL1KOZZKEXAMPLE"},
                          "arn": f"arn:aws:s3:::{bucket}"},
               "object": {"key": key, "size": 16, "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                          "sequencer": "0055AED6DCD90281E5"}}} for key in keys]}


def post(port, body, headers=None, path="/", method="POST"):
    """(status, answer, headers)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request(method, path, body=data,
                       headers={"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None, dict(answer.getheaders())


def outcomes(answer):
    return [event["outcome"] for event in answer["events"]]


class Runtime:
    """Lambda's runtime API: gives out invocations and keeps what is said about them."""

    def __init__(self):
        self.queue, self.said = queue.Queue(), queue.Queue()
        runtime = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", headers=()):
                self.send_response_only(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path != "/2018-06-01/runtime/invocation/next":
                    return self.answer(404)
                request_id, body = runtime.queue.get()
                if request_id is None:
                    self.close_connection = True
                    return None
                return self.answer(200, body, [
                    ("Lambda-Runtime-Aws-Request-Id", request_id),
                    ("Lambda-Runtime-Deadline-Ms", str(int(time.time() * 1000) + 60000)),
                    ("Lambda-Runtime-Invoked-Function-Arn",
                     "arn:aws:lambda:us-west-2:123456789012:function:aggregator"),
                    ("Lambda-Runtime-Trace-Id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0")])

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                runtime.said.put((self.path, json.loads(body), dict(self.headers)))
                self.answer(202, b'{"status":"OK"}')

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # functions are killed in these tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def invoke(self, request_id, body):
        self.queue.put((request_id, json.dumps(body).encode() if not isinstance(body, bytes) else body))

    def answer(self):
        return self.said.get(timeout=PATIENCE_S)
