#!/usr/bin/env python3
"""Code from a repository that wants git to execute something: as a directory, as an archive, as an
address, and on its way to a host behind sshd. On that host the use of code is learned as well."""

import json
import os
import subprocess
import sys

from broker_home import Home, check, done, scratch_directory, skip
from ssh_hosts import Hosts, why_not

HOOKS = ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "post-merge",
         "reference-transaction", "pre-auto-gc"]


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def git(directory, *words):
    return subprocess.run(["git", "-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                          capture_output=True, text=True)


class Trap:
    def __init__(self, scratch):
        self.ran = os.path.join(scratch, "ran")
        self.directory = os.path.join(scratch, "hostile")
        self.set(self.directory)
        self.set(os.path.join(self.directory, "within"))

    def set(self, directory):
        """A repository in which everything that git can be made to execute says so in a file."""
        trap = os.path.join(directory, "trap.sh")
        script = f'#!/bin/sh\necho "$0 $*" >>{self.ran}\ncat 2>/dev/null\n'
        config = f"""[core]
    repositoryformatversion = 0
    fsmonitor = {trap}
    hooksPath = .git/hooks
    pager = {trap}
    sshCommand = {trap}
    editor = {trap}
    attributesFile = {directory}/attributes
[filter "evil"]
    clean = {trap}
    smudge = {trap}
    process = {trap}
    required = true
[diff]
    external = {trap}
[diff "evil"]
    textconv = {trap}
    command = {trap}
[uploadpack]
    packObjectsHook = {trap}
[alias]
    status = !{trap}
    init = !{trap}
"""
        write(os.path.join(directory, "main.sh"), "echo good\n")
        git(directory, "init", "-q", ".")
        git(directory, "add", "main.sh")
        git(directory, "commit", "-qm", "one")
        write(trap, script, 0o755)
        write(os.path.join(directory, "more"), config)
        write(os.path.join(directory, ".git", "config"), config + "[include]\n    path = ../more\n")
        for name in (".gitattributes", "attributes"):
            write(os.path.join(directory, name), "* filter=evil diff=evil\n")
        for name in HOOKS:
            write(os.path.join(directory, ".git", "hooks", name), script, 0o755)
        write(os.path.join(directory, "main.sh"), "echo changed\n")

    def has_sprung(self):
        return os.path.exists(self.ran)

    def check(self, name, got):
        said = open(self.ran).read() if self.has_sprung() else ""
        check(got.returncode == 0 and not said, f"{name}: nothing of it is executed", said, got.stdout,
              got.stderr)
        if said:
            os.remove(self.ran)


def pipeline(scratch, name, workdir, script="sh main.sh"):
    path = os.path.join(scratch, name + ".yaml")
    write(path, f"name: {name}\nworkdir: {workdir}\nestimate: {{seconds: 1}}\n"
                f'outputs: {{o: 0.001}}\nrun: {script} >"$TRADEWIND_OUTPUT/o/x"\n')
    return path


def test_here(t, home, scratch):
    git(t.directory, "diff")
    git(t.directory, "commit", "-qam", "two")
    check(t.has_sprung(), "git itself would execute something")
    os.remove(t.ran)
    write(os.path.join(t.directory, "main.sh"), "echo again\n")
    path = pipeline(scratch, "tree", "hostile")
    t.check("a directory", home.run("run", path, "--yes"))
    check(home.run("cat", "/tree.tree/o/x").stdout == "again\n", "and its code runs")
    t.check("run --why", home.run("run", path, "--why", "tree"))
    t.check("plan", home.run("plan", path))
    t.check("job submit", home.run("job", "submit", "--code", t.directory, "--wait", "--", "sh", "main.sh"))
    job = home.json("job", "ls")[0]
    check(len(job["commit"] or "") == 40 and job["dirty"], "its commit is known, and that it changed", job)


def test_archives(t, home, scratch):
    tar, zipped = os.path.join(scratch, "code.tar.gz"), os.path.join(scratch, "code.zip")
    subprocess.run(["tar", "-czf", tar, "-C", t.directory, "."], check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-c", zipped,
                    *(os.path.join(t.directory, n) for n in os.listdir(t.directory))], check=True)
    for path in (tar, zipped):
        got = home.run("job", "submit", "--code", path, "--wait", "--", "sh", "main.sh")
        t.check(os.path.basename(path), got)
        job = str(home.json("job", "ls")[0]["id"])
        check(home.run("job", "logs", job).stdout == "again\n", "and its code runs")


def test_address(t, home, scratch):
    path = pipeline(scratch, "clone", f"{{url: 'file://{t.directory}', ref: HEAD}}")
    t.check("an address", home.run("run", path, "--yes"))
    check(home.run("cat", "/clone.clone/o/x").returncode == 0, "its committed code runs")


def states(home, path, *options):
    got = home.run("run", path, "--yes", "--json", *options)
    return [s["state"] for s in json.loads(got.stdout.splitlines()[-1])["stages"]]


def test_host(t, home, scratch):
    path = pipeline(scratch, "there", "hostile")
    t.check("a directory for a host", home.run("run", path, "--yes", "--on", "lab"))
    check(home.run("cat", "/there.there/o/x").stdout == "again\n", "its code runs there")
    check(states(home, path, "--on", "lab") == ["reused"], "unchanged, it is reused")
    write(os.path.join(t.directory, "more"), "no file that it used\n")
    check(states(home, path, "--on", "lab") == ["reused"], "what it did not use there changed: reused")
    check(states(home, path) == ["reused"], "here, too")
    write(os.path.join(t.directory, "main.sh"), "echo third\n")
    why = home.json("run", path, "--why", "there")["why"]
    check(why["changes"] == ["main.sh changed"] and not why["reused"], "what it used changed", why)
    check(states(home, path, "--on", "lab") == ["finished"], "it runs")
    check(not t.has_sprung(), "and nothing of the repository's was executed")


def main():
    with scratch_directory() as scratch:
        home = Home(scratch, idle_s=60)
        t = Trap(scratch)
        hosts = None
        try:
            if reason := why_not():
                skip("on the way to a host", reason)
            else:
                hosts = Hosts(scratch, 1)
                hosts.use(home)
            test_here(t, home, scratch)
            test_archives(t, home, scratch)
            test_address(t, home, scratch)
            if hosts:
                test_host(t, home, scratch)
        finally:
            home.end_everything()
            if hosts:
                hosts.stop(home)
    return done()


if __name__ == "__main__":
    sys.exit(main())
