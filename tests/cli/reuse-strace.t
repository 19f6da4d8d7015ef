#!/usr/bin/env python3
"""Files of the code that programs were seen to use, against those that strace sees them open: none
may be missing."""

import os
import re
import shutil
import subprocess
import sys

from broker_home import Home, check, done, scratch_directory, skip

OPENED = re.compile(r" = \d+<(/.*?)>(?:\(deleted\))?$")
EXECUTED = re.compile(r'execve\("([^"]*)".* = 0$')
PACKAGE = {
    "main.py": "import pkg.one, unused_as_text\nfrom pkg.deep import two\nfrom space.part import three\n"
               "import importlib.resources as r, pickle, runpy\n"
               "print(r.files('pkg').joinpath('data.txt').read_text())\nrunpy.run_path('script.py')\n"
               "print(pickle.load(open('state.pkl', 'rb')))\n",
    "unused_as_text.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/one.py": "from . import helper\n",
    "pkg/helper.py": "y = 2\n",
    "pkg/never.py": "raise SystemExit(1)\n",
    "pkg/data.txt": "text",
    "pkg/deep/__init__.py": "",
    "pkg/deep/two.py": "from ..helper import y\n",
    "space/part/three.py": "",
    "script.py": "print('script')\n",
    "state.pkl": "I7\n.",
    "README.md": "read me",
}
# name, program that it needs, files, command
CASES = [
    ("python", "python3", PACKAGE, "python3 main.py && python3 main.py"),
    ("bytecode", "python3", PACKAGE, "python3 -B main.py; python3 -m compileall -q pkg; python3 main.py"),
    ("unittest", "python3", {"test_a.py": "import unittest, lib\n", "lib.py": "", "other.txt": "x"},
     "python3 -m unittest -q test_a"),
    ("shell", "bash", {"main.sh": ". ./lib/a.sh\nread x <data\ncat lib/* | wc -l\n[ -e never ]\n"
                                  "bash lib/b.sh\n", "lib/a.sh": "A=1\n", "lib/b.sh": "exec ./tool\n",
                       "tool": "#!/bin/sh\necho tool\n", "data": "1\n", "never": "x"},
     "chmod +x tool; bash main.sh"),
    ("gcc", "gcc", {"a.c": '#include "inc/a.h"\nint main(void) { return A - 1; }\n',
                    "inc/a.h": '#include "b.h"\n#define A 1\n', "inc/b.h": "", "inc/c.h": "", "c.c": "x"},
     'gcc -Iinc -o "$TRADEWIND_OUTPUT/o/a" a.c && "$TRADEWIND_OUTPUT/o/a"'),
    ("perl", "perl", {"main.pl": "use lib 'lib'; use M; require './r.pl'; open F, '<', 'd'; <F>;\n",
                      "lib/M.pm": "package M; 1;\n", "lib/N.pm": "package N; 1;\n", "r.pl": "1;\n",
                      "d": "x\n"}, "perl main.pl"),
    ("node", "node", {"main.js": "const a = require('./lib/a'); require('fs').readFileSync('d');\n",
                      "lib/a.js": "exports.x = require('./b.json');\n", "lib/b.json": "{}",
                      "lib/c.js": "x", "d": "x"}, "node main.js"),
    ("R", "Rscript", {"main.R": "source('lib.R'); readLines('d')\n", "lib.R": "x <- 1\n", "d": "x\n",
                      ".Rprofile": "y <- 1\n", "e": "x\n"}, "Rscript main.R"),
    ("git", "git", {"a": "x\n", "d/b": "y\n", ".hidden": "x\n"}, "git grep --no-index -l x"),
    ("files", "tar", {"a": "1", "d/b": "2", "d/c": "3", "e": "4"},
     'tar -cf "$TRADEWIND_OUTPUT/o/t" d; cp -a a "$TRADEWIND_OUTPUT/o/a"; find . -name e; ls -lR >/dev/null'),
    ("rsync", "rsync", {"d/a": "1", "d/b": "2", "c": "3"}, 'rsync -a d "$TRADEWIND_OUTPUT/o/"'),
    ("sklearn", "python3", {"train.py": """import model
from joblib import Parallel, delayed
from sklearn.linear_model import Perceptron
Perceptron(max_iter=2, tol=None).fit([[0], [1]], [0, 1])
print(sum(Parallel(n_jobs=2)(delayed(model.read)(n) for n in ("x", "y"))))
""", "model.py": "def read(n):\n    return len(open(n + '.txt').read())\n", "x.txt": "1", "y.txt": "2",
                            "z.txt": "3"}, "python3 train.py"),
]
# What is opened there, made sure of by hand.
NEEDED = {"python": "pkg/data.txt", "shell": "tool", "gcc": "inc/b.h", "perl": "lib/M.pm",
          "node": "lib/b.json", "sklearn": "y.txt", "git": ".hidden", "files": "d/c"}
UNUSED = {"python": "pkg/never.py", "shell": "never", "gcc": "inc/c.h", "perl": "lib/N.pm",
          "node": "lib/c.js", "sklearn": "z.txt", "files": "e", "rsync": "c", "unittest": "other.txt"}


def cannot(name, program):
    if not shutil.which(program):
        return f"{program} is not installed"
    if name == "sklearn" and subprocess.run(["python3", "-c", "import sklearn"],
                                            capture_output=True).returncode:
        return "sklearn is not installed"
    return ""


def opened(trace, work, files):
    """Of files, those that were opened."""
    found = set()
    for line in trace.splitlines():
        if got := OPENED.search(line):
            found.add(os.path.relpath(got[1], work))
        elif got := EXECUTED.search(line):
            found.add(os.path.relpath(os.path.join(work, got[1]), work))
    return found & set(files)


def test(home, scratch, name, files, command):
    for path, text in files.items():
        path = os.path.join(scratch, name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
    path = os.path.join(scratch, name + ".yaml")
    with open(path, "w") as f:
        f.write(f"name: {name}\nworkdir: {name}\nestimate: {{seconds: 1}}\noutputs: {{o: 0.001}}\nrun: |\n"
                f'  pwd >"$TRADEWIND_OUTPUT/o/pwd"\n'
                f'  strace -f -y -qq -s 4096 -e trace=open,openat,openat2,execve,execveat '
                f"-o \"$TRADEWIND_OUTPUT/o/trace\" sh -c '{command}'\n")
    got = home.run("run", path, "--yes")
    if not check_run(got, name):
        return
    cat = lambda what: home.run("cat", f"/{name}.{name}/o/{what}").stdout
    wanted = opened(cat("trace"), cat("pwd").strip(), files)
    why = home.json("run", path, "--why", name)["why"]
    used = set(why.get("used", []))
    check(why["reused"] and wanted <= used, f"{name}: {len(wanted)} files opened, none is missing",
          wanted - used, why["code"])
    check(used <= wanted, f"{name}: and no other one is told", used - wanted)
    check(NEEDED.get(name) in wanted | {None} and UNUSED.get(name) not in used,
          f"{name}: what it must have used, and what not", wanted, used)


def check_run(got, name):
    check(got.returncode == 0, f"{name} runs", got.stdout[-2000:], got.stderr)
    return got.returncode == 0


def main():
    if subprocess.run(["strace", "-f", "true"], capture_output=True).returncode:
        print("1..0 # SKIP strace cannot be used here")
        return 0
    with scratch_directory() as scratch:
        home = Home(scratch, idle_s=60)
        try:
            for name, program, files, command in CASES:
                if reason := cannot(name, program):
                    skip(name, reason)
                else:
                    test(home, scratch, name, files, command)
        finally:
            home.end_everything()
    return done()


if __name__ == "__main__":
    sys.exit(main())
