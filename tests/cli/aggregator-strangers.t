#!/usr/bin/env python3
"""The aggregator and those who have no token: nothing of their bodies is read, they hold little memory
however many they are, and others are served meanwhile. What cannot succeed is refused for good."""
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from aggregator import *  # noqa: E402,F403

if not PROGRAM.exists():
    skip_all(f"{PROGRAM} is not built")
TOKEN = "open-sesame"
GOOD = {"Authorization": f"Bearer {TOKEN}"}
STRANGERS = 2000
MEMORY_MB = 16
# With sanitizers, what they keep of freed memory counts as well.
BOUND_MB = MEMORY_MB * (8 if SLOW else 1)


def environment(store, **more):
    return {"TRADEWIND_STORE": f"dir:{store}", "TRADEWIND_WORKERS": "2", "TRADEWIND_EVENT_TOKEN": TOKEN, **more}


def memory_mb(p):
    """Peak."""
    return int(pathlib.Path(f"/proc/{p.pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def head(length, token=None):
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"POST / HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: {length}\r\n\r\n".encode()


def dial(port, data=b""):
    s = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    s.sendall(data)
    return s


def status_of(s):
    with s:
        return int(s.recv(1000).split(b" ")[1])


def check_listens(scratch):
    env = {**environment(scratch.path / "listens"), "PORT": "0"}
    p = scratch.start([PROGRAM], env, stdout=subprocess.PIPE, text=True)
    said = p.stdout.readline().strip()
    check(said.startswith("listening on 127.0.0.1:"), f"it serves this machine alone unless told to: {said}")
    port = int(said.rsplit(":", 1)[1])
    equal(post(port, "", method="GET")[0], 200, "there it answers")
    with socket.socket() as s:
        # Another address of this machine, as all of 127.0.0.0/8 are.
        check(s.connect_ex(("127.0.0.2", port)) != 0, "and nowhere else")
    p = scratch.start([PROGRAM], {**env, "TRADEWIND_LISTEN": "0.0.0.0", "TRADEWIND_EVENT_TOKEN": ""},
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(p.stdout.readline().rsplit(":", 1)[1])
    with socket.socket() as s:
        equal(s.connect_ex(("127.0.0.2", port)), 0, "TRADEWIND_LISTEN=0.0.0.0: everywhere")
    p.terminate()
    check("set TRADEWIND_EVENT_TOKEN" in p.stderr.read(), "without a token that is a warning")


def check_before_body(scratch):
    store = scratch.path / "body"
    _, port = scratch.server(**environment(store))
    for length, token, status in ((1000000, None, 401), (10**12, "wrong", 401), (10**12, TOKEN, 413)):
        equal(status_of(dial(port, head(length, token))), status,
              f"{status} for {length} bytes that never come, token {token}")
    event = json.dumps(s3_event(push(store, 0, 0))).encode()
    s = dial(port, head(len(event), TOKEN) + event)
    equal(status_of(s), 200, "with the token the body is read")
    equal([post(port, s3_event("x"), {"Authorization": "Bearer no"})[0] for _ in range(50)], [401] * 50,
          "a refusal reaches those who sent their body already")
    # The token goes with every request of a connection, not with its first alone.
    s = dial(port, head(len(event), TOKEN) + event)
    s.recv(1000)
    s.sendall(head(len(event)))
    equal(status_of(s), 401, "each request needs it")


def check_crowd(scratch):
    store = scratch.path / "crowd"
    p, port = scratch.server(**environment(store))
    equal(post(port, s3_event(push(store, 0, 0)), GOOD)[0], 200, "an event")
    before_mb = memory_mb(p)
    crowd = []
    for i in range(STRANGERS):
        kind = i % 4
        s = dial(port)
        s.setblocking(False)
        try:
            if kind == 0:
                s.send(b"POST / HTTP/1.1\r\nX-Half: " + b"a" * 15000)  # a header that goes on
            elif kind == 1:
                s.send(head(1 << 20) + b"{" * 60000)
            elif kind == 2:
                s.send(head(1 << 20, "wrong") + b"[" * 60000)
        except OSError:
            pass  # turned away already
        crowd.append(s)
    began = time.monotonic()
    status, answer, _ = post(port, s3_event(push(store, 0, 1)), GOOD)
    took_s = time.monotonic() - began
    check(status == 200 and outcomes(answer) == ["averaged"] and took_s < (60 if SLOW else 5),
          f"beside {STRANGERS} strangers an event is served, in {took_s:.2f} s")
    grown_mb = memory_mb(p) - before_mb
    check(grown_mb < BOUND_MB, f"they take {grown_mb:.1f} MB, less than {BOUND_MB}")
    threads = int(pathlib.Path(f"/proc/{p.pid}/status").read_text().split("Threads:")[1].split()[0])
    check(threads < 150, f"and {threads} threads")
    # A byte now and then does not keep a stranger's place.
    slow = dial(port)
    for s in crowd:
        s.close()
    slow.settimeout(0.2)
    gone, until = False, time.monotonic() + PATIENCE_S
    while not gone and time.monotonic() < until:
        try:
            slow.sendall(b"G")
            gone = slow.recv(1) == b""
        except TimeoutError:
            pass
        except OSError:
            gone = True
    check(gone, "one that sends a byte now and then is turned away, too")
    equal(post(port, "", method="GET")[0], 200, "and it goes on")


def check_no_room(scratch):
    """A mean that does not fit the directory for temporary files: the same event would fail again."""
    small = scratch.path / "small"
    small.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True).returncode == 0
    if not mounted:
        print("# no room for the mean: only root may mount a small disk")
        return
    try:
        store = scratch.path / "full"
        _, port = scratch.server(**environment(store), TMPDIR=str(small))
        for w in range(2):
            key = push(store, 0, w)
            (store / key).write_bytes(bytes(4 * 50000))
            status, answer, _ = post(port, s3_event(key), GOOD)
        check(status == 422 and "No space left" in json.dumps(answer) and "TMPDIR" in json.dumps(answer),
              f"no room for the mean is refused for good: {status} {answer}")
    finally:
        subprocess.run(["umount", "-l", small])


_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard != resource.RLIM_INFINITY and hard < STRANGERS + 100:
    STRANGERS = hard - 100
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
with Scratch() as scratch:
    check_listens(scratch)
    check_before_body(scratch)
    check_crowd(scratch)
    check_no_room(scratch)
done_testing()
