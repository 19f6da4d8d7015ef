"""Four regions on an emulated wide-area network (tests/servers/wan), with hosts behind sshd, a function
host and a store in each: one S3 server behind doors. For tests of geo run."""

import collections
import gzip
import os
import re
import subprocess

from ssh_hosts import Hosts

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = os.path.join(HERE, "..", "servers")
DATA = "/usr/share/datasets/fashion-mnist"
# Round trips are a fifth of what they are between AWS's regions, so that a test takes seconds.
REGIONS = {"mumbai": "aws/ap-south-1", "london": "aws/eu-west-2", "oregon": "aws/us-west-2",
           "sydney": "aws/ap-southeast-2"}
RTT_MS = {("mumbai", "london"): 23, ("mumbai", "oregon"): 43, ("mumbai", "sydney"): 30,
          ("london", "oregon"): 27, ("london", "sydney"): 53, ("oregon", "sydney"): 28}
MBPS = 200
# Regions differ in size: a mean of means would be wrong.
WORKERS = {"mumbai": 3, "london": 2, "oregon": 2, "sydney": 1}
N = sum(WORKERS.values())
SHARD_ROWS = 2000
# In the corner of every image, so that no packet of a shard is without it.
MARKER = "stays-at-home"
STORE_PORT = 8000


def why_not():
    aggregator = os.path.join(os.path.dirname(os.path.abspath(os.environ["TRADEWIND"])),
                              "tradewind-aggregator")
    if not os.path.exists(aggregator) or not os.path.isdir(os.path.join(HERE, "../../sdk/python")):
        return "neither aggregator nor worker is built here"
    for server in ("ssh-hosts", "wan", "s3"):
        got = subprocess.run([os.path.join(SERVERS, server), "have"], capture_output=True, text=True)
        if got.returncode:
            return (got.stdout + got.stderr).strip() or f"no {server} here"
    if not os.path.exists(f"{DATA}/train-images-idx3-ubyte.gz"):
        return "dataset-fashion-mnist is not installed"
    got = subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True)
    return "python3-numpy is not installed" if got.returncode else ""


def make_shards(directory):
    """Rows of 784 pixels and a label; of all workers one after the other. Their paths."""
    n = N * SHARD_ROWS
    with gzip.open(f"{DATA}/train-images-idx3-ubyte.gz") as f:
        images = f.read(16 + 784 * n)[16:]
    with gzip.open(f"{DATA}/train-labels-idx1-ubyte.gz") as f:
        labels = f.read(8 + n)[8:]
    paths = []
    for k in range(N):
        rows = range(k * SHARD_ROWS, (k + 1) * SHARD_ROWS)
        paths.append(os.path.join(directory, f"shard{k}"))
        with open(paths[-1], "wb") as f:
            f.write(b"".join(MARKER.encode() + images[784 * i + len(MARKER):784 * (i + 1)] +
                             labels[i:i + 1] for i in rows))
    return paths


class World:
    def __init__(self, scratch):
        self.scratch = scratch
        self.closed = os.path.join(scratch, "closed")
        self.door = None
        s3 = subprocess.Popen([os.path.join(SERVERS, "s3"), "start", f"{scratch}/s3"],
                              stdout=subprocess.PIPE, text=True)
        self.hosts = Hosts(scratch, N + len(REGIONS))
        self._start_wan()
        said, _ = s3.communicate()
        assert s3.returncode == 0, "the S3 server does not start"
        self.s3 = dict(line.split("=", 1) for line in said.split())
        self._open_doors()

    # ---- the network ----

    def _start_wan(self):
        with open(f"{self.scratch}/servers/prefix") as f:
            prefix = f.read().strip()
        spaces = iter(range(1, N + len(REGIONS) + 1))
        lines, self.groups = [], {}
        for region, count in WORKERS.items():
            numbers = [next(spaces) for _ in range(count + 1)]
            self.groups[region] = [self.hosts.names[k - 1] for k in numbers]
            own = " ".join(f"{prefix}{k}" for k in numbers)
            lines.append(f"region {region} {own} {prefix}-{region}")
        lines += [f"link {a} {b} {MBPS} {rtt}" for (a, b), rtt in RTT_MS.items()]
        lines.append(f"marker {MARKER}")
        subprocess.run([f"{SERVERS}/wan", "start", f"{self.scratch}/wan"], input="\n".join(lines),
                       text=True, check=True)
        self.addresses = collections.defaultdict(list)
        self.spaces = {}
        with open(f"{self.scratch}/wan/hosts") as f:
            for region, space, address in map(str.split, f):
                self.addresses[region].append(address)
                self.spaces[region] = space  # the last one is the store's

    def counters(self):
        """From each region to each: what programs sent, and packets with the marker."""
        said = subprocess.run([f"{SERVERS}/wan", "counters", f"{self.scratch}/wan"], check=True,
                              text=True, capture_output=True).stdout
        return {(f[0], f[1]): (int(f[6]), int(f[7])) for f in map(str.split, said.splitlines())}

    # ---- the stores ----

    def _open_doors(self):
        doors = [f"{self.spaces[r]}={self.store_address(r)}:{STORE_PORT}" for r in REGIONS]
        self.door = subprocess.Popen(
            [f"{SERVERS}/door", f"127.0.0.1:{self.s3['S3_PORT']}", *doors], text=True,
            stdout=subprocess.PIPE, env={**os.environ, "DOOR_CLOSED": self.closed})
        assert self.door.stdout.readline() == "ready\n"

    def store_address(self, region):
        return self.addresses[region][-1]

    def function_address(self, region):
        return self.addresses[region][-2]

    def keys(self):
        return {"AWS_ACCESS_KEY_ID": self.s3["S3_KEY_ID"],
                "AWS_SECRET_ACCESS_KEY": self.s3["S3_SECRET"], "AWS_DEFAULT_REGION": "us-east-1"}

    def _log(self):
        path = f"{self.scratch}/s3/log/client.rgw.log"
        with open(path, errors="replace") as f:
            return f.read()

    def requests(self, token):
        """What the server says it answered below a prefix: puts, gets, polls, lists, deletes."""
        seen = collections.Counter()
        for method, target, status in re.findall(r'"(\w+) (\S+) HTTP/1\.1" (\d+)', self._log()):
            if token not in target:
                continue
            if "list-type" in target or "prefix=" in target:
                seen["list"] += 1
            elif method == "GET" and status == "404":
                seen["poll"] += 1
            else:
                seen[method.lower()] += 1
        return seen

    # ---- the program's side ----

    def configure(self, home):
        home.env["TRADEWIND_SSH"] = f"{self.hosts.command} -o ServerAliveInterval=5 -o ConnectTimeout=20"
        home.env["XDG_RUNTIME_DIR"] = self.hosts.runtime
        home.env.update(self.keys())
        os.makedirs(home.path, exist_ok=True)
        groups = []
        for region, names in self.groups.items():
            hosts = [f"{{host: {n}, cpus: 2, memory: 8, price: 0.1}}" for n in names]
            groups.append(f"  {region}: [{', '.join(hosts[:-1])}]\n  {region}-f: [{hosts[-1]}]\n")
        with open(os.path.join(home.path, "config.yaml"), "w") as f:
            f.write(f"insecure: true\nhosts:\n{''.join(groups)}limits: {{jobs_per_user: {N + len(REGIONS)}}}\n")

    def spec(self, path, size, run, more=""):
        """Trainings of this world, with function and store in Oregon."""
        sites = [
            f"  {place}: {{on: {r}, function_on: {r}-f, address: {self.function_address(r)}, "
            f"store: 's3://geo-{r}/run', endpoint: 'http://{self.store_address(r)}:{STORE_PORT}', "
            f"region: us-east-1}}\n" for r, place in REGIONS.items()]
        workers = [f"  - {{place: {place}, count: {WORKERS[r]}, data: 's3://geo-{r}/data'}}\n"
                   for r, place in REGIONS.items()]
        with open(path, "w") as f:
            f.write(f"name: four\nmodel: {{size: {size}B}}\n"
                    f"train: {{run: {run}, seconds: 0.1}}\npoll: 0.5\n"
                    f"workers:\n{''.join(workers)}"
                    "aggregator: {function: aws/us-west-2, store: aws/us-west-2}\n"
                    f"sites:\n{''.join(sites)}{more}")

    def stop(self, *homes):
        if self.door:
            self.door.kill()
            self.door.wait()
        subprocess.run([f"{SERVERS}/wan", "stop", f"{self.scratch}/wan"])
        self.hosts.stop(*homes)
        subprocess.run([f"{SERVERS}/s3", "stop", f"{self.scratch}/s3"])
