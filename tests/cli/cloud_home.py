"""What tests of work on clouds share: the model of EC2 whose instances are machines, a home with a
catalog of three regions, and commands that know nothing else of the world."""

import json
import os
import subprocess
import sys
import urllib.request

from broker_home import PROGRAM, SLOW, until

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = os.path.join(HERE, "..", "servers")
sys.path.insert(0, SERVERS)
import instances

MODEL = os.path.join(SERVERS, "ec2")
TIME_LIMIT_S = 600 if SLOW else 240
OFFERS = """\
cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,\
price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour
aws,us-east-1,,g4dn.xlarge,4,16,T4,1,25,0.526,0.3265,
aws,us-east-1,,m5.xlarge,4,16,,,10,0.192,0.0649,
aws,us-east-1,,t3.micro,2,1,,,5,0.0104,0.0031,
aws,us-west-2,,m5.xlarge,4,16,,,10,0.202,0.0749,
aws,us-west-2,,t3.micro,2,1,,,5,0.0114,0.0041,
aws,eu-west-1,,m5.xlarge,4,16,,,10,0.214,0.0849,
"""
STORAGE = ("cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,usd_per_1000_list\n"
           "aws,us-west-2,standard,0.023,0.0004,0.005,0.005\n")
TRANSFERS = ("src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms\n"
             ",,,,0.02,,1,60\n")
# Room in one region for one machine only: a gang that is planned there has to move.
ONE_IN_EAST = {"us-east-1a": 1, "us-east-1b": 0, "us-east-1c": 0}
NONE_IN_EAST = {"us-east-1a": 0, "us-east-1b": 0, "us-east-1c": 0}


def why_not():
    return instances.why_not()


class CloudHome:
    def __init__(self, scratch, name, config="", **settings):
        settings = dict({"hosts": True, "boot_s": 0.2, "delete_s": 0.2}, **settings)
        self.model = subprocess.Popen([sys.executable, MODEL, "--settings", json.dumps(settings)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.model.stdout.readline().strip().split("=", 1)[1]
        self.ssh_command = self.model.stdout.readline().strip().split("'")[1]
        self.scratch = scratch
        self.path = os.path.join(scratch, name)
        os.mkdir(self.path)
        with open(os.path.join(self.path, "config.yaml"), "w") as f:
            f.write("admit: 192.0.2.0/24\n" + config)
        self.env = {
            "PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], "HOME": scratch,
            "TRADEWIND_HOME": self.path, "TRADEWIND_SSH": self.ssh_command,
            "TRADEWIND_BROKER_IDLE_S": "3", "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "AKIDMODEL", "AWS_SECRET_ACCESS_KEY": "model/secret+key",
            "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "USER": "root"}
        for key in "TRADEWIND_AGENT", "TRADEWIND_AGGREGATOR", "ASAN_OPTIONS", "UBSAN_OPTIONS":
            if key in os.environ:
                self.env[key] = os.environ[key]
        catalog = os.path.join(self.path, "prices")
        os.mkdir(catalog)
        for name, text in ("offers", OFFERS), ("storage", STORAGE), ("transfers", TRANSFERS):
            with open(os.path.join(catalog, name + ".csv"), "w") as f:
                f.write(text)
        self.run("catalog", "import", catalog)

    def end(self):
        self.run("broker", "stop")
        self.model.stdin.close()
        self.model.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.end()

    def run(self, *words, **env):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, cwd=self.scratch, env=dict(self.env, **env))

    def json(self, *words):
        got = self.run(*words, "--json")
        return json.loads(got.stdout) if got.stdout.strip() else None

    def lines(self, *words):
        return [json.loads(line) for line in self.run(*words, "--json").stdout.splitlines()]

    def log(self, job):
        return self.run("job", "logs", str(job)).stdout

    def machines(self):
        return self.json("machines", "ls", "--all")

    def left(self):
        """What the model still has, but for what all machines of a region share, which costs nothing."""
        with urllib.request.urlopen(self.url + "/control") as answer:
            left = json.load(answer)["left"]
        return {kind: left[kind] for kind in left if kind not in ("key-pair", "security-group")}

    def is_empty(self):
        return until(lambda: not self.left())
