#!/usr/bin/env python3
"""The wide-area network that tests of geo run: delays, rates and counters are as they were set.
Delays and rates are checked from below: a busy machine makes anything slow, nothing fast."""

import ctypes
import os
import shutil
import socket
import subprocess
import tempfile
import time

WAN = os.path.join(os.path.dirname(__file__), "..", "servers", "wan")
REGIONS = ("mumbai", "london", "oregon", "sydney")
RTT_MS = {("mumbai", "london"): 30, ("mumbai", "oregon"): 60, ("mumbai", "sydney"): 40,
          ("london", "oregon"): 36, ("london", "sydney"): 70, ("oregon", "sydney"): 44}
MBPS = 40
PORT = 4000
MARKER = "stays-at-home"
libc = ctypes.CDLL(None, use_errno=True)
tests = 0
failures = 0


def check(good, name, *what):
    global tests, failures
    tests += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}", flush=True)
    if not good:
        print("#", *what, flush=True)


def enter(path):
    with open(path) as space:
        assert libc.setns(space.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())


def socket_in(host, kind):
    """A socket of a host: it stays in the namespace it was made in."""
    with open("/proc/self/ns/net") as here:
        enter(f"/run/netns/{host[0]}")
        s = socket.socket(socket.AF_INET, kind)
        enter(f"/proc/self/fd/{here.fileno()}")
    s.settimeout(60)
    return s


def bound(host, kind, port=PORT):
    s = socket_in(host, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host[1], port))
    return s


def round_trip_s(a, b):
    """The least of three."""
    with bound(a, socket.SOCK_DGRAM) as here, bound(b, socket.SOCK_DGRAM) as there:
        times = []
        for _ in range(3):
            began = time.monotonic()
            here.sendto(b"ping", (b[1], PORT))
            there.sendto(there.recvfrom(100)[0], (a[1], PORT))
            here.recvfrom(100)
            times.append(time.monotonic() - began)
        return min(times)


def send_s(a, b, n):
    """How long n bytes take over TCP, from the first byte sent to the last one received."""
    with bound(b, socket.SOCK_STREAM) as door, socket_in(a, socket.SOCK_STREAM) as out:
        door.listen(1)
        out.connect((b[1], PORT))
        inside, _ = door.accept()
        inside.settimeout(60)
        began, left, sent, data = time.monotonic(), n, 0, bytes(1 << 16)
        out.setblocking(False)
        while left:
            try:
                while sent < n:
                    sent += out.send(data[:n - sent])
            except BlockingIOError:
                pass
            left -= len(inside.recv(1 << 20))
        inside.close()
        return time.monotonic() - began


def datagrams(a, b, n, size, text=b""):
    """Sends and receives them one by one, so that none is lost."""
    with bound(a, socket.SOCK_DGRAM) as here, bound(b, socket.SOCK_DGRAM) as there:
        for _ in range(n):
            here.sendto(bytes(size - len(text)) + text, (b[1], PORT))
            there.recvfrom(size + 1)


class Net:
    def __init__(self, directory):
        self.directory = directory
        spaces = {r: [f"tww{os.getpid()}{r[0]}{k}" for k in (1, 2)] for r in REGIONS}
        layout = [f"region {r} {' '.join(s)}" for r, s in spaces.items()]
        layout += [f"link {a} {b} {MBPS} {rtt}" for (a, b), rtt in RTT_MS.items()]
        layout.append(f"marker {MARKER}")
        subprocess.run([WAN, "start", directory], input="\n".join(layout), text=True, check=True)
        with open(f"{directory}/hosts") as f:
            lines = [line.split() for line in f]
        self.hosts = {r: [(s, a) for region, s, a in lines if region == r] for r in REGIONS}

    def counters(self):
        said = subprocess.run([WAN, "counters", self.directory], check=True, text=True,
                              capture_output=True).stdout
        return {(f[0], f[1]): tuple(map(int, f[2:])) for f in map(str.split, said.splitlines())}

    def added(self, before):
        return {k: tuple(x - y for x, y in zip(v, before[k])) for k, v in self.counters().items()
                if v != before[k]}

    def stop(self):
        subprocess.run([WAN, "stop", self.directory], check=True)


def test_delays(net):
    wrong = []
    for (a, b), rtt_ms in RTT_MS.items():
        for x, y in ((a, b), (b, a)):
            took = round_trip_s(net.hosts[x][0], net.hosts[y][1])
            if took < rtt_ms / 1000:
                wrong.append((x, y, took))
            print(f"# {x} {y}: {1000 * took:.1f} ms of {rtt_ms}")
    check(not wrong, "a round trip takes at least what was set, for all ordered pairs", wrong)
    print(f"# within a region: {1000 * round_trip_s(*net.hosts['london']):.1f} ms")


def test_rate(net):
    n = 1000000
    took = send_s(net.hosts["london"][0], net.hosts["oregon"][0], n)
    least = n * 8 / (MBPS * 1e6)
    print(f"# 1 MB at {MBPS} Mbit/s: {took:.2f} s, at least {least:.2f}")
    check(took >= least, "a way carries no more than its rate", took)


def test_counters(net):
    a, b = net.hosts["mumbai"][0], net.hosts["sydney"][0]
    before = net.counters()
    datagrams(a, b, 40, 1000)
    # 20 bytes of IP and 8 of UDP on top of each.
    wanted = {("mumbai", "sydney"): (40, 41120, 40000, 0, 40000, 0)}
    got = net.added(before)
    check(got == wanted, "packets, bytes and payload are counted, for the one pair alone", got)
    before = net.counters()
    datagrams(*net.hosts["oregon"], 10, 500, MARKER.encode())
    got = net.added(before)
    check(got == {("oregon", "oregon"): (10, 5280, 5000, 0, 5000, 10)},
          "within a region too, and packets with the marker", got)
    before = net.counters()
    send_s(a, b, 300000)
    packets, n_bytes, payload, dropped, fresh, _ = net.added(before)[("mumbai", "sydney")]
    check(payload >= 300000 and n_bytes > payload and not dropped, "of TCP at least what was sent",
          packets, n_bytes, payload, dropped)
    check(fresh == 300000, "without what TCP repeats: exactly", fresh)


def test_full(net):
    """A queue has an end: what does not fit is dropped, and counted."""
    a, b = net.hosts["london"][0], net.hosts["sydney"][1]
    before = net.counters()
    got, deadline = (0,) * 6, time.monotonic() + 60
    with bound(a, socket.SOCK_DGRAM) as here:
        # On a busy machine the kernel may drop before the queue does, so that one try is not enough.
        while not got[3] and time.monotonic() < deadline:
            for _ in range(200):
                here.sendto(bytes(60000), (b[1], PORT))
            time.sleep(0.05)
            got = net.added(before).get(("london", "sydney"), (0,) * 6)
    check(got[3] > 0, "a full queue drops", got)


def main():
    why = subprocess.run([WAN, "have"], capture_output=True, text=True)
    if os.environ.get("TRADEWIND_SLOW"):
        print("1..0 # SKIP nothing of the program is in it: once is enough")
        return 0
    if why.returncode:
        print(f"1..0 # SKIP {why.stdout.strip()}")
        return 0
    directory = tempfile.mkdtemp(prefix="tw-wan-", dir="/tmp")
    net = Net(directory)
    try:
        for test in (test_delays, test_counters, test_rate, test_full):
            test(net)
    finally:
        net.stop()
        shutil.rmtree(directory)
    left = [s for s in os.listdir("/run/netns") if s.startswith(f"tww{os.getpid()}")]
    check(not left, "nothing is left of it", left)
    print(f"1..{tests}")
    return failures > 0


raise SystemExit(main())
