#!/usr/bin/env python3
"""Jobs on machines of clouds, from the price to the bill, against the model of EC2 with machines that
really run: the cheapest offer is shown and asked for, refusals move a job, and a gang as a whole, and
nothing is left."""

import os
import sys

os.environ.setdefault("TRADEWIND", "build/tradewind")
from broker_home import check, done, scratch_directory
from cloud_home import NONE_IN_EAST, ONE_IN_EAST, CloudHome, why_not

GANG = """
if [ "$RANK" = 0 ]; then exec python3 -c "
import os, socket
s = socket.create_server(('', int(os.environ['MASTER_PORT'])))
for i in range(int(os.environ['WORLD_SIZE']) - 1):
    c, a = s.accept()
    c.sendall(b'hello')
    print('served', a[0])
print(*os.environ['SKYPILOT_NODE_IPS'].split())
"
fi
exec python3 -c "
import os, socket, time
for i in range(600):
    try:
        c = socket.create_connection((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))
        break
    except OSError:
        time.sleep(.1)
print(c.recv(10).decode(), os.environ['RANK'])
"
"""
PIPELINE = """\
name: pair
num_nodes: 2
resources: {cpus: 4+}
estimate: {minutes: 5}
run: echo $SKYPILOT_NODE_IPS | wc -w
"""


def location_of(machine):
    return machine["region"]


def questions(home):
    asked = home.run("job", "submit", "--on", "aws", "--cpus", "2", "--memory", "4GB",
                     "--time-limit", "2h", "--", "true")
    # By hand: the cheapest machine with 2 CPUs and 4 GB costs 0.192 USD/h, two hours 0.384 USD.
    check("aws/us-east-1 m5.xlarge, on-demand" in asked.stdout and "$0.192 per hour" in asked.stdout
          and "at most $0.384" in asked.stdout, "the offer and its price are shown", asked.stdout)
    check(asked.returncode == 2 and "--yes submits it" in asked.stderr and
          home.json("job", "ls") == [] and not home.left(),
          "without an answer nothing is submitted", asked.stderr)
    spot = home.run("job", "submit", "--on", "cloud", "--spot", "--cpus", "2", "--memory", "4GB",
                    "--", "true")
    check("m5.xlarge, spot" in spot.stdout and "$0.0649 per hour" in spot.stdout,
          "--spot asks for a spot instance", spot.stdout)
    gpu = home.run("job", "submit", "--on", "aws", "--gpus", "1", "--nodes", "2", "--", "true")
    check("g4dn.xlarge" in gpu.stdout and "$1.052 per hour" in gpu.stdout,
          "GPUs of any type, and the price of all nodes", gpu.stdout)


def refusals_of_requests(home):
    for words, said in (
            (["--spot"], "--spot is for machines of clouds: add --on cloud"),
            (["--region", "x"], "--region is for machines of clouds"),
            (["--on", "aws", "--region", "nowhere"], "nowhere"),
            (["--on", "aws", "--max-hourly", "0.01", "--cpus", "4"],
             "no offer fits on aws: no offer with cpus 4+"),
            (["--on", "nimbus"], "--on nimbus")):
        got = home.run("job", "submit", *words, "--", "true")
        check(got.returncode != 0 and said in got.stderr, " ".join(words) + " is refused", got.stderr)
    got = home.run("job", "submit", "--on", "aws", "--", "true", AWS_ACCESS_KEY_ID="",
                   AWS_SECRET_ACCESS_KEY="")
    check(got.returncode != 0 and "tradewind clouds check" in got.stderr,
          "without credentials it says what tells more", got.stderr)


def one_job(home):
    got = home.run("job", "submit", "--on", "aws", "--cpus", "2", "--memory", "4GB", "--wait",
                   "--yes", "--output", "told", "--", "sh", "-c",
                   "hostname > $TRADEWIND_OUTPUT/name; nproc")
    check(got.returncode == 0 and "job 1 finished" in got.stdout, "a job runs on a machine of a cloud",
          got.stdout, got.stderr)
    job = home.json("job", "show", "1")
    check(job["offer"]["instance_type"] == "m5.xlarge" and job["offer"]["region"] == "us-east-1" and
          job["offer"]["market"] == "on-demand" and job["cpus"] == 4 and job["memory_mb"] == 16384,
          "it has the whole machine", job)
    check(0 < job["cost_usd"] < 0.05 and job["output"] == "@told:1" and "refusals" not in job,
          "its output is here, and its cost", job)
    check(home.is_empty(), "the machine is gone", home.left())
    got = home.run("job", "rerun", "1")
    check(got.returncode == 2 and "$0.192 per hour" in got.stdout, "job rerun asks, too", got.stderr)
    got = home.run("job", "rerun", "1", "--yes", "--wait")
    job = home.json("job", "show", "2")
    check(got.returncode == 0 and job["rerun_of"] == 1 and job["offer"]["region"] == "us-east-1",
          "and launches another machine", got.stdout, got.stderr)


def sweep(home):
    got = home.run("sweep", "rates", "--on", "aws", "--", "sh", "-c", "echo rate {0.1,0.2}")
    check(got.returncode == 2 and "Each trial launches aws/us-east-1 t3.micro" in got.stdout,
          "a sweep shows the price of a trial and asks", got.stdout, got.stderr)
    got = home.run("sweep", "rates", "--on", "aws", "--yes", "--", "sh", "-c", "echo rate {0.1,0.2}")
    check(got.returncode == 0 and sorted(home.log(3) + home.log(4)) == sorted("rate 0.1\nrate 0.2\n"),
          "its trials run on machines of a cloud", got.stdout, got.stderr)
    got = home.run("sweep", "rates", "--on", "aws", "--yes", "--", "sh", "-c", "echo rate {0.1,0.2}")
    check(got.returncode == 0 and len(home.json("job", "ls")) == 4,
          "the same command again runs none of them again", got.stdout)


def refused_job(home):
    got = home.run("job", "submit", "--on", "aws", "--cpus", "4", "--memory", "8GB", "--wait", "--yes",
                   "--", "echo", "there")
    job = home.json("job", "show", "1")
    tried = job.get("refusals", [])
    check(got.returncode == 0 and [(t["location"], t["instance_type"], t["market"], t["code"])
                                   for t in tried] ==
          [("aws/us-east-1", "m5.xlarge", "on-demand", "capacity")],
          "a refused job runs elsewhere, and says what was tried", got.stderr, tried)
    check(job["offer"]["region"] == "us-west-2" and job["offer"]["price_usd_per_hour"] == 0.202,
          "and where it ran", job["offer"])
    text = home.run("job", "show", "1").stdout
    check("refused" in text and "capacity" in text and "InsufficientInstanceCapacity" in text,
          "as a table, too", text)
    check({location_of(m) for m in home.machines() if m["cost_usd"] > 0} == {"us-west-2"},
          "the next cheapest machine was launched", home.machines())


def gang(home):
    got = home.run("job", "submit", "--on", "aws", "--nodes", "3", "--cpus", "4", "--memory", "8GB",
                   "--wait", "--yes", "--", "bash", "-c", GANG)
    log = home.log(1).split("\n")
    check(got.returncode == 0 and [home.log(2), home.log(3)] == ["hello 1\n", "hello 2\n"],
          "the nodes of a gang reach each other", got.stdout, got.stderr, log)
    addresses = log[2].split()
    check(len(set(addresses)) == 3 and all(a.startswith("172.31.") for a in addresses),
          "by their private addresses", log)
    ran = [m for m in home.machines() if m["job"] and location_of(m) == "us-west-2"]
    check(len(ran) == 3, "a refusal of one moved all of them", home.machines())
    check(home.is_empty(), "nothing is left in either region", home.left())


def limited(home):
    words = ("job", "submit", "--on", "aws", "--cpus", "4", "--memory", "8GB", "--yes", "--wait",
             "--nodes")
    # Three machines cost 0.576 USD/h, two 0.384.
    got = home.run(*words, "3", "--", "true")
    check(got.returncode != 0 and "limits.max_usd_per_hour: 3 machines" in got.stdout and
          not home.machines(),
          "a gang that costs more per hour than the limit never starts", got.stdout,
          home.machines())
    got = home.run(*words, "2", "--", "true")
    check(got.returncode == 0, "a smaller one does", got.stdout, got.stderr)
    check(home.is_empty(), "and nothing of both is left", home.left())


def pipeline(home):
    with open(os.path.join(home.scratch, "pair.yaml"), "w") as f:
        f.write(PIPELINE)
    got = home.run("run", "pair.yaml", "--on", "aws", "--yes")
    run = home.json("run", "show", "1")
    stage = run["stages"][0]
    check(got.returncode == 0 and stage["offer"]["region"] == "us-west-2" and
          stage["nodes"] == 2 and {r["location"] for r in run["refusals"]} == {"aws/us-east-1"},
          "a stage of several nodes moves as a whole, and its plan with it", got.stdout, got.stderr,
          run)
    text = home.run("run", "show", "1").stdout
    check("Refused by clouds" in text and "on machines of clouds" in text,
          "run show has what was tried", text)
    check(home.is_empty(), "its machines are gone", home.left())


def main():
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    with scratch_directory() as scratch:
        with CloudHome(scratch, "free") as home:
            questions(home)
            refusals_of_requests(home)
            one_job(home)
            sweep(home)
        with CloudHome(scratch, "full", capacity=NONE_IN_EAST) as home:
            refused_job(home)
        with CloudHome(scratch, "tight", capacity=ONE_IN_EAST) as home:
            gang(home)
        with CloudHome(scratch, "limited", config="limits: {max_usd_per_hour: 0.5}\n") as home:
            limited(home)
        with CloudHome(scratch, "pairs", capacity=ONE_IN_EAST) as home:
            pipeline(home)
    return done()


sys.exit(main())
