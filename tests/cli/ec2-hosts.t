#!/usr/bin/env python3
"""Instances of the model of EC2 that are machines: what AWS's own client launches lets in by ssh, runs
its user data, has a metadata service, powers itself off, is preempted, and leaves nothing behind."""

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
os.environ.setdefault("TRADEWIND", "build/tradewind")
import instances
from broker_home import PROGRAM, check, done, until

try:
    import botocore.config
    import botocore.session
except ImportError:
    botocore = None


def other_python():
    """A Python on the PATH that has botocore: awscli may come with one of its own. None: there is none."""
    for directory in os.environ["PATH"].split(":"):
        program = os.path.join(directory, "python3")
        if os.access(program, os.X_OK) and subprocess.run(
                [program, "-c", "import botocore.session"], capture_output=True).returncode == 0:
            return program
    return None


AGENT = os.path.join(os.environ.get("TRADEWIND_BUILD") or os.path.dirname(PROGRAM),
                     "tradewind-agent")
BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src/cloud/boot.c")
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers", "ec2")
UBUNTU = "ami-" + "%017x" % 2
TOKEN = ("curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "
         "http://169.254.169.254/latest/api/token")
READ = ("curl -s -o /dev/null -w '%%{http_code} ' -H \"X-aws-ec2-metadata-token: $t\" "
        "http://169.254.169.254/latest/meta-data/%s; "
        "curl -s -H \"X-aws-ec2-metadata-token: $t\" http://169.254.169.254/latest/meta-data/%s")


class Model:
    def __init__(self, scratch, **settings):
        settings = dict({"hosts": True, "boot_s": 0.2, "delete_s": 0.2}, **settings)
        self.process = subprocess.Popen([sys.executable, MODEL, "--settings", json.dumps(settings)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip().split("=", 1)[1]
        self.ssh_command = self.process.stdout.readline().strip().split("'")[1]
        self.keeper = self.ssh_command.split()[2]
        session = botocore.session.Session()
        session.set_credentials("AKIDMODEL", "model/secret+key")
        self.ec2 = session.create_client(
            "ec2", region_name="us-east-1", endpoint_url=self.url,
            config=botocore.config.Config(retries={"max_attempts": 0}))
        self.scratch = scratch
        for name in "id", "other":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            self.path(name)], check=True, stdin=subprocess.DEVNULL)
        with open(self.path("id.pub"), "rb") as f:
            self.ec2.import_key_pair(KeyName="k", PublicKeyMaterial=f.read())

    def path(self, name):
        return os.path.join(self.scratch, name)

    def launch(self, spot=False, script="", **more):
        if spot:
            more["InstanceMarketOptions"] = {"MarketType": "spot"}
        more.setdefault("InstanceInitiatedShutdownBehavior", "terminate")
        if not script.startswith("#!"):
            script = "#!/bin/sh\n" + script
        got = self.ec2.run_instances(ImageId=UBUNTU, InstanceType="m5.xlarge", MinCount=1, MaxCount=1,
                                     KeyName="k", UserData=script, **more)
        return got["Instances"][0]["InstanceId"]

    def see(self, name):
        return self.ec2.describe_instances(InstanceIds=[name])["Reservations"][0]["Instances"][0]

    def state(self, name):
        return self.see(name)["State"]["Name"]

    def address(self, name):
        until(lambda: "PublicIpAddress" in self.see(name))
        return self.see(name)["PublicIpAddress"]

    def ssh(self, address, script, key="id", user="ubuntu", known="/dev/null"):
        return subprocess.run(
            [*self.ssh_command.split(), "-i", self.path(key), "-o", "IdentitiesOnly=yes",
             "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=5",
             "-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={known}",
             f"{user}@{address}", script], capture_output=True, text=True)

    def reach(self, name):
        """Its address, once it answers."""
        address = self.address(name)
        until(lambda: self.ssh(address, "true").returncode == 0)
        return address

    def do(self, **what):
        urllib.request.urlopen(self.url + "/control/do", json.dumps(what).encode()).read()

    def network(self):
        return os.readlink(f"/proc/{self.keeper}/ns/net")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def namespaces():
    """Network namespaces with a process in them."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
    return found


def processes(directory):
    """What has the directory of the instances in its command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().replace("\0", " ")
            if directory in words and int(pid) != os.getpid():
                found.append(words)
    return found


def test_login(m):
    name = m.launch(script="id -un >~ubuntu/who\n")
    check(m.state(name) in ("pending", "running"), "an instance is launched")
    address = m.reach(name)
    got = m.ssh(address, "id -un; hostname; echo $HOME")
    user, host, home = got.stdout.split()
    check((user, host) == ("ubuntu", name), "its key opens it for the user of the image", got)
    check(m.ssh(address, "true", key="other").returncode == 255, "no other key does")
    check(m.ssh(address, "true", user="root").returncode == 255, "nor for another user")
    second = m.launch()
    other = m.reach(second)
    homes = m.ssh(other, "echo $HOME; ls -A $HOME").stdout.split()
    check(homes and homes[0] != home and "who" not in homes, "each has a home of its own", homes)
    check(other != address, "and an address of its own")
    check(until(lambda: m.ssh(address, "cat ~/who").stdout == "ubuntu\n"), "user data ran as root")
    check(m.ssh(address, f"ssh-keyscan -t ed25519 {other} 2>/dev/null").stdout.startswith(other),
          "they reach each other")
    m.ssh(address, "setsid sleep 1000 </dev/null >/dev/null 2>&1 &")
    inside = m.ssh(address, "readlink /proc/self/ns/net").stdout.strip()
    m.ec2.terminate_instances(InstanceIds=[name, second])
    check(until(lambda: m.state(name) == "terminated"), "terminated")
    check(until(lambda: inside not in namespaces()), "with all that ran there")
    check(m.see(name)["StateReason"]["Code"] == "Client.UserInitiatedShutdown", "by its user")


def test_power_off(m):
    name = m.launch()
    address = m.reach(name)
    got = m.ssh(address, "systemctl poweroff")
    check(got.returncode != 0 and "authentication" in got.stderr, "to power off takes root", got)
    m.ssh(address, "sudo -n systemctl poweroff")
    check(until(lambda: m.state(name) == "terminated"), "power-off inside terminates it")
    check(m.see(name)["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown", "by itself")
    check(m.ssh(address, "true").returncode == 255, "it does not answer any more")
    timed = m.launch(script="systemd-run --on-active=1h --unit=x systemctl poweroff\n")
    kept = m.launch(script="systemd-run --on-active=1h --unit=x systemctl poweroff\n"
                           "systemctl stop x.timer && touch ~ubuntu/stopped\n")
    stops = m.launch(script="poweroff\n", InstanceInitiatedShutdownBehavior="stop")
    check(until(lambda: m.state(timed) == "terminated"), "so does a timer of its user data")
    address = m.reach(kept)
    check(until(lambda: m.ssh(address, "ls ~/stopped").returncode == 0)
          and m.state(kept) == "running", "not one that was stopped")
    check(until(lambda: m.state(stops) == "stopped"), "an instance may stop instead")
    m.ec2.terminate_instances(InstanceIds=[kept, stops])


def test_metadata(m):
    on_demand, spot = m.launch(), m.launch(spot=True)
    address = m.reach(spot)
    m.reach(on_demand)

    def read(name):
        return m.ssh(address, f"t=$({TOKEN}); " + READ % (name, name)).stdout.split(" ", 1)

    got = m.ssh(address, "curl -s -o /dev/null -w '%{http_code}' "
                         "http://169.254.169.254/latest/meta-data/instance-id").stdout
    check(got == "401", "metadata need a token", got)
    got = m.ssh(address, "curl -s -o /dev/null -w '%{http_code}' -X PUT "
                         "http://169.254.169.254/latest/api/token").stdout
    check(got == "400", "which has a time to live", got)
    check(read("instance-id") == ["200", spot], "the instance's own")
    check(read("spot/instance-action")[0] == "404", "no notice")
    m.do(preempt=True)
    check(until(lambda: read("spot/instance-action")[0] == "200"), "a preemption gives notice")
    check(json.loads(read("spot/instance-action")[1])["action"] == "terminate", "of a termination")
    check(m.state(spot) == "running", "before it ends the instance")
    check(until(lambda: m.state(spot) == "terminated"), "then it does")
    check(m.see(spot)["StateReason"]["Code"] == "Server.SpotInstanceTermination", "by the cloud")
    check(m.state(on_demand) == "running", "instances on demand stay")
    m.ec2.terminate_instances(InstanceIds=[on_demand])


def test_address(m):
    known = m.path("known")
    first = m.launch()
    address = m.reach(first)
    check(m.ssh(address, "true", known=known).returncode == 0, "its host key is known")
    m.do(unplug=[first])
    check(m.ssh(address, "true").returncode == 255, "unplugged, it does not answer")
    m.do(plug=[first])
    check(until(lambda: m.ssh(address, "true").returncode == 0), "plugged in, it does")
    m.ec2.terminate_instances(InstanceIds=[first])
    until(lambda: m.ssh(address, "true").returncode == 255)
    second = m.launch()
    check(m.reach(second) == address, "a reused address")
    got = m.ssh(address, "true", known=known)
    check("IDENTIFICATION HAS CHANGED" in got.stderr or "verification failed" in got.stderr,
          "has another host key", got)


def boot_script():
    """What the program makes instances run, as its source has it."""
    with open(BOOT) as f:
        lines = f.read().split("script[] =")[1].split(";\n\n")[0]
    return "".join(ast.literal_eval(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', lines)
                   ).replace("%s", "ubuntu")


WATCH = ("mkdir -p ~/.tradewind-jobs/home && cd ~/.tradewind-jobs/home && "
         f"{AGENT} watch . 600 'sudo systemctl poweroff' aws")
JOB = ("cd ~/.tradewind-jobs/home && mkdir 1 && printf '%s\n' 'tradewind-job 1' 'id 1' 'command sh' "
       "'command -c' 'command trap \"touch ../output/saved; exit 3\" TERM; while :; do sleep 0.1; done' "
       f">1/job && {AGENT} run 1 >/dev/null")


def test_boot_script(m):
    script = boot_script()
    m.do(settings={"hour_s": 4})
    alone = m.launch(script=script)
    m.do(settings={"hour_s": 30})
    watched = m.launch(script=script)
    address = m.reach(watched)
    check(m.ssh(address, WATCH).returncode == 0, "an agent watches over an instance")
    began_s = time.monotonic()
    check(until(lambda: m.state(alone) == "terminated"),
          "an instance to which no agent comes powers itself off")
    until(lambda: time.monotonic() > began_s + 37)
    check(m.state(watched) == "running", "not so where an agent watches")
    m.ssh(address, "kill -9 $(pgrep -f '[a]gent watch')")
    check(until(lambda: m.state(watched) == "terminated"), "until it is killed")
    lapses = m.launch(script=script)
    address = m.reach(lapses)
    m.ssh(address, WATCH.replace(" 600 ", " 1 "))
    check(until(lambda: m.state(lapses) == "terminated"), "or its lease lapses")
    m.do(settings={"hour_s": 3600, "reclaim_s": 20})
    spot = m.launch(spot=True, script=script)
    address = m.reach(spot)
    m.ssh(address, WATCH)
    job = subprocess.Popen([*m.ssh_command.split(), "-i", m.path("id"), "-o", "LogLevel=ERROR", "-o",
                            "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                            f"ubuntu@{address}", JOB])
    until(lambda: m.ssh(address, "ls ~/.tradewind-jobs/home/1/state").returncode == 0)
    m.do(preempt=[spot])
    check(until(lambda: job.poll() is not None), "a job is told of a preemption")
    state = m.ssh(address, "cd ~/.tradewind-jobs/home/1; ls output; cat state").stdout
    check(state.startswith("saved") and " notice " in state and "cause=preempted" in state
          and m.state(spot) == "running", "before its instance ends", state)
    check(until(lambda: m.state(spot) == "terminated"), "which then does")


def test_end(m):
    """Once by the end of its input, once by kill -9."""
    m.reach(m.launch())
    m.reach(m.launch(script="sleep 1000\n"))
    network = m.network()
    directory = os.path.dirname(m.ssh(m.reach(m.launch()), "dirname $HOME").stdout.strip())
    check(processes(directory) and os.path.isdir(directory), "machines run")
    for how in "stopped", "killed":
        if how == "stopped":
            m.stop()
        else:
            m = Model(tempfile.mkdtemp(dir=m.scratch))
            directory = os.path.dirname(m.ssh(m.reach(m.launch()), "dirname $HOME").stdout.strip())
            network = m.network()
            os.kill(m.process.pid, signal.SIGKILL)
            m.process.wait()
        check(until(lambda: not processes(directory) and network not in namespaces()),
              f"the model is {how}: no process is left", processes(directory))
        check(until(lambda: not os.path.exists(directory)), "nor any file")


def main():
    reason = instances.why_not()
    python = None if botocore or reason else other_python()
    if python:
        os.execv(python, [python, *sys.argv])
    reason = reason or (not botocore and "needs botocore, which awscli brings")
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    with tempfile.TemporaryDirectory(prefix="tradewind-ec2-") as scratch:
        m = Model(scratch, reclaim_s=4, hour_s=2, reuse_addresses=True)
        test_login(m)
        test_power_off(m)
        test_metadata(m)
        test_address(m)
        test_boot_script(m)
        test_end(m)
    return done()


sys.exit(main())
