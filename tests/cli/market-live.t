#!/usr/bin/env bash
# Replays to the second: what is paid for, what is left out, what could have been. All expected values by hand.
. "$(dirname "$0")/tap.sh"

header=cloud,region,zone,instance_type,time,price_usd_per_hour
value() { json "$1" <<<"$out"; }
replay() { run market replay --mode market --model ResNet-50 --preemptions 0 --json "$@"; }
row() { echo "next(s for s in d['strategies'] if s['name'] == '$1')"; }

# A V100 in zone a at $1, from the noon of the 2nd on $3; in zone b always $2. Twenty days; Azure from the 3rd on.
{
    echo $header
    echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T00:00:00Z,1
    echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-02T12:00:00Z,3
    echo aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T00:00:00Z,2
    echo aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-20T00:00:00Z,2
} >prices.csv
run market import prices.csv
is "$code" 0 "a history is imported $err"

# Two days of work from the 2nd: zone a for half a day at $1, then 36 h at $3: $12 + $108; or, moving, 36 h at $2.
replay --work "2 V100-days" --starts 2020-01-02 --restart 0
is "$code" 0 "one start is replayed $err"
is "$(value "round($(row 1xV100)['mean_cost_usd'], 2)")" 120.0 "who stays pays what it costs by then"
is "$(value "(d['starts'], d['covered_starts'], $(row dynamic)['switches_max'])")" "(1, 1, 1)" "dynamic moves once"
# Writing 0.098 GB takes 0.98 s; AWS takes $0.01 a GB within a region: 12 + 72 + 0.00098 + 0.98 / 3600 * 2.
is "$(value "round($(row dynamic)['mean_cost_usd'], 6)")" 84.001524 "by noon, and pays for the move"
is "$(value "round(d['offline']['mean_cost_usd'], 6)")" 84.001524 "nothing could have been cheaper"
is "$(value "round(d['best_static']['mean_cost_usd'], 2)")" 96.0 "the best single machine is the other one"
is "$(value "(d['regret'], d['regret_usd'])")" "(0.0, 0.0)" "no regret"

# An hour of start-up: 13 h by noon of which 12 are needed ... 1 + 11 h at $1, then 1 h 0.98 s + 37 h at $2.
replay --work "2 V100-days" --starts 2020-01-02 --restart 1h
is "$(value "round($(row dynamic)['mean_cost_usd'], 6)")" 88.001524 "start-ups are paid"
# With 2 h of work left at noon, saving $2 does not pay for an hour at $2; greedy moves all the same.
replay --work "13 V100-hours" --starts 2020-01-02 --restart 1h
is "$(value "(round($(row dynamic)['mean_cost_usd'], 2), $(row dynamic)['switches_max'])")" "(18.0, 0)" \
    "margin counts what is left to save"
replay --work "12.5 V100-hours" --starts 2020-01-02 --restart 1h --policy greedy
is "$(value "$(row dynamic)['switches_max']")" 1 "greedy does not"

# A deadline: three days for one of work at $1, which was the price before; noon doubles it, and more.
replay --work "1 V100-days" --starts 2020-01-02 --restart 0 --policy threshold --worth 1.5 --deadline 3d
is "$(value "($(row dynamic)['late'], $(row dynamic)['mean_hours'] > 60)")" "(0, True)" "threshold waits, and ends in time"
replay --work "4 V100-days" --starts 2020-01-02 --deadline 2d
is "$code" 5 "a deadline that nobody can keep"
contains "$err" "no strategy could keep the deadline" "is told"

# The same seed, the same bill; another one, others.
for seed in 1 1 2; do
    run market replay --mode market --model ResNet-50 --preemptions 0.2 --work "2 V100-days" --seed $seed --json
    bills+=("$(json 'd["strategies"]' <<<"$out")")
done
is "${bills[0]}" "${bills[1]}" "the same seed gives the same bill"
check "another seed gives another" [ "${bills[0]}" != "${bills[2]}" ]
printf 'cloud,region,zone,instance_type,per_hour\naws,,us-east-1a,,0\n,,,,3\n' >rates.csv
run market replay --mode market --model ResNet-50 --preemptions rates.csv --starts 2020-01-01 --work "6 V100-hours" --json
is "$(value "$(row 1xV100)['preemptions_mean']")" 0.0 "rates of a file: zone a is safe"

# What is not covered is named, or refused when it was asked for.
{
    echo $header
    for day in 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20; do
        echo azure,us_east,,NC6s v3,2020-01-${day}T00:00:00Z,0.5
    done
} >azure.csv
run market import azure.csv
is "$code" 0 "a second cloud $err"
replay --work "1 V100-days" --starts 2020-01-01..2020-01-19
is "$(value "(d['starts'], d['covered_starts'], d['left_out_days'][0]['day'], d['left_out_days'][-1]['day'])")" \
    "(19, 16, '2020-01-01', '2020-01-19')" "starts before one history or cut by its end are left out"
is "$(value "round($(row multi-cloud)['reduction'], 2) > 3.9")" True "the second cloud is used"
fails 5 "none of 1 starts is covered" market replay --mode market --model ResNet-50 --starts 2020-01-02 --clouds aws,azure
# At home elsewhere: a day at Azure's \$0.5; its region by any of its names.
replay --work "1 V100-days" --starts 2020-01-05 --restart 0 --region azure:eastus --clouds azure,aws
is "$(value "(d['cloud'], d['region'], d['clouds'], $(row 1xV100)['mean_cost_usd'])")" \
    "('azure', 'us_east', ['azure', 'aws'], 12.0)" "a job at home in a region of Azure"
fails 5 "no history of a V100 in azure:us_west" market replay --mode market --model ResNet-50 --starts 2020-01-05 \
    --region azure/westus
fails 2 "write a cloud and its region" market replay --mode market --model ResNet-50 --region 'azure:*'
run market replay --mode market --model ResNet-50 --preemptions 0 --work "1 V100-days" --svg l.svg --trace t.svg
is "$code" 0 "for people $err"
contains "$out" "Left out: " "days are named"
check "pictures are drawn" grep -q "best-static" l.svg
check "and how the bill grows" grep -q "regret" t.svg
check "by starts, too" grep -q "by the day of its start" t.svg
check "from nothing on, not from below" bash -c "! grep -q -e '-\\$' t.svg"
contains "$out" "in hindsight, which is known to 0.1 %." "how well the optimum is known is told"
run market replay --mode market --model ResNet-50 --preemptions 0 --work "1 V100-days" --gap 0
contains "$out" "above the best schedule in hindsight." "and that it is exact when asked for"
fails 2 "--svg needs --mode paper" market sweep --mode market --svg x.svg
run market sweep --mode market --preemptions 0 --model ResNet-50 --durations 0.5,1 --json
is "$(value "[(c['v100_days'], c['covered_starts'] > 0, c['regret'] > -1e-6) for c in d['cells']]")" \
    "[(0.5, True, True), (1.0, True, True)]" "a sweep"
is "$(value "(d['cloud'], d['region'], d['clouds'], d['starts'] >= 1, sorted(d['cells'][0]['mean_hours']) == sorted(d['cells'][0]['mean_cost_usd']))")" \
    "('aws', 'us-east-1', ['aws', 'azure'], True, True)" "with all that it went by"

# Mistakes.
fails 2 "needs --mode market" market replay --model A3C --seed 3
fails 2 "must be paper or market" market replay --model A3C --mode moon
fails 2 "must be greedy, margin or threshold" market replay --mode market --model A3C --policy lazy
fails 2 "give it a deadline" market replay --mode market --model A3C --policy threshold
fails 2 "between 0 and 3600" market replay --mode market --model A3C --preemptions -1
printf 'cloud,per_hour\naws,x\n' >bad.csv
fails 2 "bad.csv:2: per_hour is not a number" market replay --mode market --model A3C --preemptions bad.csv
fails 2 "must be share, whole or alone" market replay --mode market --model A3C --gpu-use half
fails 5 "no history of GPU machines of mars" market replay --mode market --model A3C --clouds mars

done_testing
