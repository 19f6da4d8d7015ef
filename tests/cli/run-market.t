#!/usr/bin/env bash
# Simulated runs that follow imported prices: by hand, and beside `market replay` of the same work, start, policy and
# seed, whose bill they must have to the micro-dollar and whose end to the millisecond.
. "$(dirname "$0")/tap.sh"

header=cloud,region,zone,instance_type,time,price_usd_per_hour

# A V100 in zone a at $1, from the noon of the 2nd on $3; in zone b always $2; of K80 an eighth of $0.8, later $4.8.
{
    echo $header
    echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T00:00:00Z,1
    echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-02T12:00:00Z,3
    echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-04T07:30:00Z,0.9
    echo aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T00:00:00Z,2
    echo aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-25T00:00:00Z,2
    echo azure,eastus,,NC6,2020-01-01T00:00:00Z,0.2
    echo azure,us_east,,NC6,2020-01-03T00:00:00Z,0.35
    echo azure,East US,,NC6,2020-01-25T00:00:00Z,0.35
} >prices.csv
run market import prices.csv
is "$code" 0 "a history is imported $err"
run market ls --json
is "$(json 'sorted({(x["cloud"], x["region"]) for x in d})' <<<"$out")" \
    "[('aws', 'us-east-1'), ('azure', 'us_east')]" "a region of Azure has one name, however it is spelled"

# Two days of V100 from the 2nd: 12 h at $1; writing 0.098 GB takes 0.98 s and moving it costs 0.098 * $0.01; 36 h at $2
# and 0.98 s of start: 12 + 72 + 0.00098 + 0.98 / 3600 * 2 = 84.001524.
cat >train.yaml <<'YAML'
name: train
run: python train.py
resources: {accelerators: V100}
estimate: {hours: {V100: 48, K80: 400}}
YAML
run run train.yaml --on sim --yes --json --start 2020-01-02 --restart 0 --preemptions 0 --checkpoint-gb 0.098
is "$code" 0 "a run follows prices $err"
bill=$(tail -n 1 <<<"$out")
is "$(json '(d["cost_usd"], d["time_s"], d["switches"], d["preemptions"], d["machines"], d["state"])' <<<"$bill")" \
    "(84.001524, 172800.98, 1, 0, 2, 'finished')" "and costs what it does by hand"
contains "$out" "moves to p3.2xlarge in aws/us-east-1b at \$2.0000/h; 75.0 % is left" "the move is told"
run run show 1
contains "$out" "follows prices of aws, azure from 2020-01-02T00:00:00Z on: margin" "run show tells whom it followed"
contains "$out" "12 h 00 m  \$12.00  moved from \$3.0000/h to \$2.0000/h" "and why it moved, at which prices"
contains "$out" "Its simulated machines cost \$84.00" "and the sum"
run run show 1 --json
is "$(json '[(m["zone"], m["from"], m["to"], m["cost_usd"], m["data_usd"]) for m in d["machines"]]' <<<"$out")" \
    "[('us-east-1a', '2020-01-02T00:00:00.000Z', '2020-01-02T12:00:00.000Z', 12.0, 0.0), ('us-east-1b', '2020-01-02T12:00:00.000Z', '2020-01-04T00:00:00.980Z', 72.000544, 0.00098)]" \
    "every machine is on record"
run machines ls --json
is "$(json 'len(d)' <<<"$out")" 0 "and none is left"

# Beside replays. One line a case: model, iterations, start, deadline ("" = none), options.
cat >beside.py <<'PYTHON'
import json, os, subprocess, sys

def tradewind(*args):
    done = subprocess.run([os.environ["TRADEWIND"], *args], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"not equal: {args}: {done.stderr}")
    return done.stdout

for line in sys.stdin:
    model, n, start, deadline, *options = [x.strip() for x in line.split("|")]
    options = " ".join(options).split()
    with open("j.yaml", "w") as out:
        out.write(f'name: j\nrun: x\nestimate: {{iterations: {n}, model: "{model}"}}\n')
        out.write(f"deadline: {deadline}\n" if deadline else "")
    d = json.loads(tradewind("market", "replay", "--mode", "market", "--model", model, "--work", n + " iterations",
                             "--starts", start, "--gap", "50", "--json", *options,
                             *(["--deadline", deadline] if deadline else [])))
    r = next(x for x in d["strategies"] if x["name"] == "dynamic")
    b = json.loads(tradewind("run", "j.yaml", "--on", "sim", "--yes", "--json", "--start", start,
                             *options).splitlines()[-1])
    want = round(r["costs_usd"][0] * 1e6), round(r["mean_hours"] * 3.6e6), r["switches_max"], round(r["preemptions_mean"])
    got = round(b["cost_usd"] * 1e6), round(b["time_s"] * 1e3), b["switches"], b["preemptions"]
    print("equal" if got == want else f"not equal: run {got}, replay {want}:", line.strip())
PYTHON
beside() { # beside NAME: cases from stdin; cost in micro-dollars, time in milliseconds, switches, preemptions
    python3 beside.py >beside.out 2>&1
    is "$(grep -v '^equal' beside.out)" "" "$1: $(grep -c ^equal beside.out) runs have the bill of their replay"
}

rates=(0 0.03 0.3)
seeds=(1 2)
starts=(2020-01-01 2020-01-02)
[[ -z $TRADEWIND_SLOW ]] || seeds=(1) rates=(0.1) starts=(2020-01-02)
for start in "${starts[@]}"; do
    for seed in "${seeds[@]}"; do
        for rate in "${rates[@]}"; do
            echo "ResNet-50|700000|$start||--policy greedy --preemptions $rate --seed $seed"
            echo "A3C|300000|$start||--policy margin --preemptions $rate --seed $seed --checkpoint 20m"
        done
        echo "A3C|200000|$start|8d|--policy threshold --preemptions 0.1 --seed $seed --restart 10m"
    done
done >cases
echo "A3C|300000|2020-01-02||--gpu-use whole --preemptions 0.05 --clouds aws" >>cases
beside "a market by hand" <cases

data=$root/../shared/data/spot-2020
if [[ -d $data ]]; then
    TRADEWIND_HOME=$scratch/real
    run market import "$data"
    is "$code" 0 "the histories of 2020 $err"
    cat >cases <<'CASES'
ResNet-18 (batch size 256)|1000000|2020-02-27||--policy greedy --clouds aws,gcp --preemptions 0 --restart 90s
A3C|1000000|2020-02-25||--policy margin --preemptions 0.05 --seed 584
CycleGAN|1000000|2020-03-10||--policy greedy --preemptions measured
ResNet-50|2500000|2020-02-25||--policy margin --preemptions 0.5 --seed 805
A3C|1000000|2020-03-01|3d|--policy threshold --gpu-use alone --preemptions 0.05 --seed 961
ResNet-50|333333|2020-03-15|8d|--policy threshold --preemptions 0.5 --seed 431 --checkpoint 1h
A3C|1000000|2020-03-10||--policy greedy --clouds aws --preemptions 0.1 --seed 3
A3C|500000|2020-03-12||--policy margin --preemptions 0.02 --gpu-use whole --seed 4
CASES
    [[ -z $TRADEWIND_SLOW ]] || sed -i 3,\$d cases
    beside "the histories of 2020" <cases
    TRADEWIND_HOME=$scratch/home
else
    skip "runs beside replays on the histories of 2020" "no ../shared/data/spot-2020"
fi

# Several stages: what cannot follow prices runs as planned, and that is said.
cat >two.yaml <<'YAML'
name: prepare
run: x
estimate: {minutes: 30}
---
name: train
run: x
estimate: {work: 172800, rate: {V100: 1, K80: 0.1}}
YAML
run run two.yaml --on sim --yes --start 2020-01-01 --preemptions 0
is "$code" 0 "a pipeline of two stages $err"
run run show "$("$TRADEWIND" run ls --json --limit 1 | json 'd[0]["run"]')"
contains "$out" "prepare: runs as planned and follows no prices, since its estimate does not tell GPUs apart" "one as planned"
contains "$out" "train: follows prices" "one by prices"

# A cap stops it; with the same options it goes on, with others it does not.
run run train.yaml --on sim --yes --start 2020-01-02 --preemptions 0 --max-cost 20
is "$code" 130 "a cap stops a run"
contains "$out" "the spending limit of \$20.00 is reached: \$20.00 so far" "before more is spent"
run run train.yaml --on sim --yes --resume --start 2020-01-03 --preemptions 0
is "$code" 2 "not with another start"
contains "$err" "had another --start or --policy" "and that is told"
run run train.yaml --on sim --yes --start 2020-01-02 --preemptions 0 --resume
is "$code" 0 "and it goes on $err"

# Mistakes, of which none leaves a run behind.
before=$("$TRADEWIND" run ls --json --limit 1)
fails 2 "--start needs --on sim" run train.yaml --yes --start 2020-01-02
fails 2 "say from when on" run train.yaml --on sim --yes --policy greedy
fails 2 "is not a time" run train.yaml --on sim --yes --start yesterday
fails 2 "must be greedy, margin or threshold" run train.yaml --on sim --yes --start 2020-01-02 --policy lazy
fails 2 "give it a deadline" run train.yaml --on sim --yes --start 2020-01-02 --policy threshold
fails 5 "is covered by the histories" run train.yaml --on sim --yes --start 2021-01-02
fails 2 "leave out one of them" run train.yaml --on sim --yes --start 2020-01-02 --troubles /dev/null
fails 2 "say in which region" run train.yaml --on sim --yes --start 2020-01-02 --cloud azure
printf 'name: t\nrun: x\n' >plain.yaml
fails 2 "no stage can follow prices" run plain.yaml --on sim --yes --start 2020-01-02
printf 'name: t\nrun: x\nestimate: {hours: {K80: 3}}\n' >k80.yaml
fails 5 "says nothing of a V100" run k80.yaml --on sim --yes --start 2020-01-02
printf 'name: t\nrun: x\nresources: {accelerators: P100}\nestimate: {hours: {P100: 3, V100: 2}}\n' >p100.yaml
fails 5 "no imported history is of a machine that its resources allow" run p100.yaml --on sim --yes --start 2020-01-02
is "$("$TRADEWIND" run ls --json --limit 1)" "$before" "nothing was recorded"

done_testing
