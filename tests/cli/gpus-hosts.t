#!/usr/bin/env python3
"""GPUs of hosts, which the configuration names: jobs and stages that ask for some get a host that
has them, and the numbers of theirs; others wait for it, or are refused."""

import os
import sys

from broker_home import Home, check, done, scratch_directory, until
from ssh_hosts import Hosts, why_not

SHOW = 'echo "$CUDA_VISIBLE_DEVICES/$HIP_VISIBLE_DEVICES on $(hostname)"; '
WAIT = 'while [ ! -e "{go}" ]; do sleep 0.05; done; '
STAGE = """name: train
resources: {accelerators: [H100, A100:2]}
estimate: {seconds: 60}
run: echo "$CUDA_VISIBLE_DEVICES $SKYPILOT_NUM_GPUS_PER_NODE on $(hostname)"
"""


class Test:
    def __init__(self, scratch):
        self.hosts = Hosts(scratch, 2)
        self.home = Home(scratch, idle_s=60)
        self.hosts.use(self.home)
        plain, gpu = self.hosts.names
        with open(os.path.join(self.home.path, "config.yaml"), "w") as f:
            f.write(
                f"hosts: {{lab: [{{host: {plain}, cpus: 4, memory: 16}}, "
                f"{{host: {gpu}, cpus: 2, memory: 8, accelerators: A100:4}}]}}\n"
            )
        self.gpu = gpu

    def log(self, job):
        return self.home.good("job", "logs", str(job)).strip()

    def show(self, job):
        return self.home.json("job", "show", str(job))

    def wait(self, job):
        return self.home.run("job", "wait", str(job), "--timeout", "120s").returncode

    def jobs(self):
        go = os.path.join(self.home.ran, "go")
        first = self.home.submit(SHOW + WAIT.format(go=go), "--on", "lab", "--gpus", "a100:2")
        running = until(lambda: self.show(first)["state"] == "running")
        check(running, "a job that asks for GPUs runs", self.show(first))
        check(self.show(first)["machine"] == self.gpu, "on the host that has them", self.show(first))
        second = self.home.submit(SHOW, "--on", "lab", "--gpus", "1")
        told = until(lambda: self.show(second)["reason"])
        check(told and "taken" in self.show(second)["reason"], "another waits for it, and says so",
              self.show(second))
        plain = self.home.submit("true", "--on", "lab")
        check(self.wait(plain) == 0, "a job that needs none has the other host meanwhile")
        with open(go, "w"):
            pass
        check(self.wait(first) == 0 and self.wait(second) == 0, "both end well")
        check(self.log(first).startswith("0,1/0,1 on "), "the first has two", self.log(first))
        check(self.log(second).startswith("0/0 on "), "the second one", self.log(second))

    def stages(self):
        path = os.path.join(self.home.scratch, "train.yaml")
        with open(path, "w") as f:
            f.write(STAGE)
        ran = self.home.run("run", path, "--on", "lab", "--yes")
        check(ran.returncode == 0 and "train | 0,1 2 on " in ran.stdout,
              "a stage gets its accelerators", ran.stdout, ran.stderr)
        with open(path, "w") as f:
            f.write(STAGE.replace("A100:2", "A100:8"))
        ran = self.home.run("run", path, "--on", "lab", "--yes")
        check(ran.returncode == 5 and "the hosts of lab" in ran.stderr,
              "more than a host has are refused", ran.stdout, ran.stderr)
        ran = self.home.run("run", path, "--on", "lab", "--yes", "--without-gpus", "--no-cache")
        check(ran.returncode == 0 and "without its accelerators" in ran.stdout,
              "unless the stage may run without", ran.stdout, ran.stderr)


def main():
    if reason := why_not():
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        t = Test(scratch)
        try:
            t.jobs()
            t.stages()
        finally:
            t.home.end_everything()
            t.hosts.stop(t.home)
    return done()


if __name__ == "__main__":
    sys.exit(main())
