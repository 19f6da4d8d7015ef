#!/usr/bin/env bash
# Price histories: import, what is kept of bad ones, statistics, replays. All expected values by hand.
. "$(dirname "$0")/tap.sh"

header=cloud,region,zone,instance_type,time,price_usd_per_hour
days() { # days PREFIX FIRST LAST PRICE
    for ((day = $2; day <= $3; day++)); do printf '%s,2020-01-%02d,%s\n' "$1" "$day" "$4"; done
}

run market ls --json
is "$code $out" "0 []" "there are no price histories"
contains "$("$TRADEWIND" market ls)" "tradewind market import FILE" "and the text says how to import some"
fails 3 "no price histories yet" market replay --model A3C

# Ten days of a V100 at $1, from the sixth $2; of eight K80 at $1.6, $0.2 each.
{
    echo $header
    days aws,us-east-1,us-east-1a,p3.2xlarge 1 5 1
    days aws,us-east-1,us-east-1a,p3.2xlarge 6 10 2
    days aws,us-east-1,us-east-1a,p2.8xlarge 1 10 1.6
} >prices.csv
run market import prices.csv --json
is "$code" 0 "a history is imported $err"
is "$(json '(d["rows_read"], d["rows_kept"], d["offers"], d["records"], d["changed"])' <<<"$out")" \
    "(20, 20, 2, 20, True)" "every row is kept"
sum=$(cksum <"$TRADEWIND_HOME/market/histories")
run market import prices.csv --json
is "$(json '(d["rows_kept"], d["dropped"][0]["count"], d["changed"])' <<<"$out")" "(0, 20, False)" \
    "the same file again is all duplicates"
is "$(cksum <"$TRADEWIND_HOME/market/histories")" "$sum" "and changes nothing"
gzip -k prices.csv
run market import prices.csv.gz
is "$code" 0 "gzip is unpacked"
is "$(cksum <"$TRADEWIND_HOME/market/histories")" "$sum" "and holds the same"

# What is wrong is told, with file and line; nothing changes.
printf '%s\n' $header "aws,r,z,t,2020-01-01,-1" >bad.csv
fails 2 'bad.csv:2: "-1" is not a price' market import bad.csv
: >empty.csv
fails 2 "empty.csv:1: the file is empty" market import empty.csv
fails 2 "empty.csv:1: the file is empty" market import prices.csv empty.csv
echo '{"SpotPriceHistory": [' >cut.json
fails 2 "cut.json:" market import cut.json
echo hello >hello.txt
fails 2 "hello.txt:1: no price history" market import hello.txt
fails 2 "nowhere: No such file" market import nowhere
fails 2 "must be csv, aws" market import --format xml prices.csv
mkdir nothing && cp hello.txt nothing
fails 2 "no price history in this directory" market import nothing
is "$(cksum <"$TRADEWIND_HOME/market/histories")" "$sum" "failed imports change nothing"

# What can be used is, and the rest counted.
printf '%s\n' $header \
    "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-02T00:00:00+01:00,1" \
    "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T00:00:00Z,2" \
    "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T00:00:00Z,2" \
    "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-03T00:00:00Z,0" \
    "aws,us-east-1,us-east-1b,p3.2xlarge,2020-13-03T00:00:00Z,1" >odd.csv
TRADEWIND_HOME=$scratch/odd run market import odd.csv --json
is "$(json 'sorted((x["count"], x["reason"]) for x in d["dropped"])' <<<"$out")" \
    "[(1, 'negative, zero or no price'), (1, 'no time that exists'), (1, 'the same record again')]" \
    "dropped rows have reasons"
is "$(json 'sorted((x["count"], x["reason"][:11]) for x in d["notes"])' <<<"$out")" \
    "[(1, 'against the'), (1, 'in another ')]" "odd rows are told"
is "$(json 'd["files"][0]["first_dropped"]["line"]' <<<"$out")" 5 "with the line of the first"

# Every way to be bad, once or twice each, in the JSON of AWS, which stands newest first.
python3 - >spoilt.json <<'PYTHON'
import json
def record(time, price, zone="us-east-1a", **more):
    return {"AvailabilityZone": zone, "InstanceType": "p3.2xlarge", "SpotPrice": price, "Timestamp": time} | more
print(json.dumps({"SpotPriceHistory": [
    record("2020-01-20T00:00:00.000Z", "1.00"),
    record("2020-01-15T00:00:00.000Z", "1.00"),                       # 5 days before the next: one gap
    record("2020-01-14T00:00:00.000Z", "9.00"),                       # three times its neighbours: a spike
    record("2020-01-13T00:00:00.000Z", "1.00"),
    record("2020-01-13T00:00:00.000Z", "1.00"),                       # the same again
    record("2020-01-13T00:00:00.000Z", "1.50"),                       # another price for that time
    record("2020-01-11T22:00:00-02:00", "2.00"),                      # 2020-01-12 in UTC
    record("2020-01-12T12:00:00.000Z", "1.00"),                       # later than the one above: out of order
    record("2020-01-11T00:00:00", "2.00"),                            # no zone
    record("2020-01-10T00:00:00.000Z", "-1"), record("2020-01-10T00:00:00.000Z", "0"),
    record("2020-01-10T00:00:00.000Z", "free"),                       # three that are no prices
    record("2020-02-30T00:00:00.000Z", "1"), record("yesterday", "1"), # two that are no times
    record("2020-01-10T00:00:00.000Z", "1", zone="nowhere"), {}, 7,   # three that are no records
    record("2020-01-10T00:00:00.000Z", "1", ProductDescription="Windows"),
]}, indent=1))
PYTHON
TRADEWIND_HOME=$scratch/spoilt run market import spoilt.json --json
is "$(json '(d["rows_read"], d["rows_kept"], d["rows_dropped"])' <<<"$out")" "(18, 7, 11)" "18 records, 7 of them good"
is "$(json 'sorted((x["reason"], x["count"]) for x in d["dropped"])' <<<"$out")" \
    "[('another price for an offer and time that have one', 1), ('malformed', 3), ('negative, zero or no price', 3), ('no time that exists', 2), ('not for Linux/UNIX', 1), ('the same record again', 1)]" \
    "all others are counted by what is wrong"
is "$(json 'sorted((x["reason"].split(" (")[0], x["count"]) for x in d["notes"])' <<<"$out")" \
    "[('against the order of the file', 1), ('in another time zone', 1), ('more than two days after the record before', 1), ('three times the price on both sides of it', 1), ('without a time zone', 1)]" \
    "odd ones, too"
# From the 11th to the 20th: 1.5 days at 2, 0.5 + 1 at 1, one at 9, five at 1: (3 + 1.5 + 9 + 5) / 9.
TRADEWIND_HOME=$scratch/spoilt run market stats --json
is "$(json '[(o["records"], o["min_usd_per_hour"], round(o["mean_usd_per_hour"], 6), o["max_usd_per_hour"]) for o in d["offers"]]' <<<"$out")" \
    "[(7, 1.0, 2.055556, 9.0)]" "and none of the bad ones is used"
TRADEWIND_HOME=$scratch/spoilt2 run market import spoilt.json
contains "$out" "3 negative, zero or no price" "people are told, too"
TRADEWIND_HOME=$scratch/none
for text in "" "$header" 'Date,NC6' instance_type,az_id,date,ondemand_usd_h,spot_usd_h "# nothing but a remark"; do
    printf '%s\n' "$text" >void.csv
    [[ -n $text ]] || : >void.csv
    run market import void.csv
    is "$code" 2 "a file without a record is refused: \"$text\" ${err#tradewind: }"
done
check "and leaves no history behind" [ ! -e "$scratch/none/market/histories" ]
echo '{"SpotPriceHistory": []}' >void.json
run market import void.json --json
is "$(json '(d["rows_read"], d["rows_kept"], d["files"][0]["format"])' <<<"$out")" "(0, 0, 'aws')" \
    "an empty answer of AWS is none, and is told"
# Azure's days: the 3rd is missing, and so are the 6th and 7th; the last price is taken back.
printf 'Date,NC6\n1/1/2020,$0.1\n1/2/2020,$0.1\n1/4/2020,$0.1\n1/5/2020,$0.1\n1/8/2020,$0.1\n1/9/2020,\n1/9/2020,\n' >us_east.csv
run market import us_east.csv --json
is "$(json '(d["rows_read"], d["rows_kept"], [(x["reason"].split(" (")[0], x["count"]) for x in d["notes"]], [(x["reason"], x["count"]) for x in d["dropped"]])' <<<"$out")" \
    "(7, 6, [('more than two days after the record before', 1), ('not for sale from then on', 2)], [('the same record again', 1)])" \
    "gaps of more than two days are told"
# An event before the one above it is not used, and not said to be sorted in.
printf '[2020-03-01T%s:00:00.000Z] %s in zone us-east-1b\n' 10 'Created instance i1 with 1 GPU(s) of type v100' \
    09 'Instance i1 not running' 12 'Instance i1 not running' >keep.out
run market import keep.out --json
is "$(json '(d["rows_read"], d["rows_kept"], d["lives"], d["notes"], d["files"][0]["first_dropped"])' <<<"$out")" \
    "(3, 2, 1, [], {'line': 2, 'why': 'earlier than the line above'})" "a log in disorder"
TRADEWIND_HOME=$scratch/home

# A damaged file is refused; --replace is the way out.
cp -r "$TRADEWIND_HOME" damaged
printf X | dd of=damaged/market/histories bs=1 seek=600 conv=notrunc status=none
TRADEWIND_HOME=$scratch/damaged fails 7 "damaged" market ls
TRADEWIND_HOME=$scratch/damaged fails 7 "--replace" market import prices.csv
TRADEWIND_HOME=$scratch/damaged run market import --replace prices.csv
is "$code" 0 "and imported anew with --replace"

run market ls --json
is "$(json '[(x["instance_type"], x["gpu"], x["gpus"], x["records"], x["begin"][:10]) for x in d]' <<<"$out")" \
    "[('p2.8xlarge', 'K80', 8.0, 10, '2020-01-01'), ('p3.2xlarge', 'V100', 1.0, 10, '2020-01-01')]" \
    "ls tells machines and their accelerators"

# Nine days are covered: five at $1, four at $2; one change.
run market stats --gpu V100 --json --svg prices.svg
is "$(json '[round(d["offers"][0][k], 6) for k in ("min_usd_per_hour", "mean_usd_per_hour", "max_usd_per_hour", "changes_per_day", "best_case_reduction")]' <<<"$out")" \
    "[1.0, 1.444444, 2.0, 0.111111, 3.06]" "statistics of an offer"
is "$(json '[(x["from"][:10], x["to"][:10], x["usd_per_gpu_hour"]) for x in d["gpus"][0]["cheapest"]]' <<<"$out")" \
    "[('2020-01-01', '2020-01-06', 1.0), ('2020-01-06', '2020-01-10', 2.0)]" "the cheapest over time"
check "a picture" grep -q "on demand" prices.svg
check "that is XML" python3 -c 'import xml.dom.minidom as x; x.parse("prices.svg")'
fails 3 "no history of H100" market stats --gpu H100

# A V100 does twice what a K80 does: eight K80 cost $0.2 each, 0.4 a V100's worth.
printf '%s\n' model,batch_size,K80,V100 toy,,1,2 >speeds.csv
run market replay --mode paper --throughputs speeds.csv --work "2 V100-days" --starts 2020-01-04 --json \
    --svg ladder.svg
is "$(json '[(x["name"], round(x["mean_cost_usd"], 9), x["mean_hours"]) for x in d["strategies"]]' <<<"$out")" \
    "[('1xV100', 48.0, 48.0), ('gpu-type', 48.0, 48.0), ('multi-gpu', 19.2, 96.0), ('multi-cloud', 19.2, 96.0), ('dynamic', 19.2, 96.0)]" \
    "a job of two days, begun on the fourth"
is "$(json '(d["mode"], d["model"], d["work"], d["starts"], d["covered_starts"], d["offline"], d["best_static"], d["regret"])' <<<"$out")" \
    "('paper', 'toy', '2 V100-days', 1, 0, None, None, None)" "and what was asked"
is "$(json '[round(x["reduction"], 9) for x in d["strategies"]]' <<<"$out")" "[1.0, 1.0, 2.5, 2.5, 2.5]" \
    "reductions"
check "a ladder is drawn" grep -q "2.50 times cheaper" ladder.svg
run market replay --throughputs speeds.csv --model toy --work "172800 iterations" --starts 2020-01-05 --json
is "$(json 'd["strategies"][0]["mean_cost_usd"]' <<<"$out")" 24.0 "iterations: a day of a V100, on the fifth"
run market replay --throughputs speeds.csv --work "2 V100-days" --starts 2020-01-05 --strategies 1xV100 --json
is "$(json '[x["mean_cost_usd"] for x in d["strategies"]]' <<<"$out")" "[72.0]" \
    "a day at \$1, a day at \$2; one strategy"
# Three days of 86400 * 0.7 iterations end with the third day: rounding is no reason to go on, to where the fourth is cheaper.
printf '%s\n' model,batch_size,V100 toy,,0.7 >odd.csv
{
    echo cloud,region,zone,instance_type,time,price_usd_per_hour
    for day in 1 2 3 4 5 6; do
        echo aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-0$day,2
        echo aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-0$day,$((day < 4 ? 3 : 1))
    done
} >cheaper.csv
TRADEWIND_HOME=$scratch/cheaper run market import cheaper.csv
TRADEWIND_HOME=$scratch/cheaper run market replay --throughputs odd.csv --work "3 V100-days" --starts 2020-01-01 --json
is "$(json '[(x["mean_cost_usd"], x["switches_max"]) for x in d["strategies"] if x["name"] == "dynamic"]' <<<"$out")" \
    "[(144.0, 0)]" "work that ends with a day does not move on the next"
fails 2 "is not an amount of work" market replay --model A3C --work "4 days"
fails 2 "costs more than" market replay --model A3C --work "1e9 V100-days"
fails 2 "give some of 1xV100" market replay --model A3C --strategies best
fails 3 "did you mean" market replay --model A3D
fails 5 "too few" market replay --model A3C --starts 2021-01-01
fails 5 "too few" market replay --model A3C --region aws:eu-west-9
fails 2 "begins in a region of aws" market replay --model A3C --region gcp:us-west1
fails 2 "must be paper or market" market replay --model A3C --mode guess

run market sweep --throughputs speeds.csv --model toy --days 2 --durations 1,2 --starts 2020-01-04 --json
is "$(json '([round(v, 6) for v in d["figure5"]["models"][0]["reduction"].values()], d["figure6"]["models"][0]["reduction"])' <<<"$out")" \
    "([1.0, 1.0, 2.5, 2.5, 2.5], [1.0, 1.0])" "a sweep has the same"

# Tables follow from prices: half the on-demand price, half the reduction.
run market tables --json
is "$(json '[x["reduction"]["V100"] for x in d["table3"] if x["cloud"] == "aws"]' <<<"$out")" "[3.06]" \
    "on demand 3.06, spot 1"
is "$(json 'round(d["table2"]["models"][0]["dataset_share"], 6)' <<<"$out")" 0.083812 \
    "149 GB at 0.09 beside 160 h at 1"
printf '%s\n' cloud,region,instance_type,gpu,gpus,usd_per_hour aws,us-east-1,p3.2xlarge,V100,1,1.53 >list.csv
run market tables --on-demand list.csv --json
is "$(json '[x["reduction"]["V100"] for x in d["table3"] if x["cloud"] == "aws"]' <<<"$out")" "[1.53]" \
    "the user's price counts"
tail -n 1 list.csv >>list.csv
fails 2 "list.csv:3: this machine stands above already" market tables --on-demand list.csv
run market import --format azure --region us_east <(printf 'Date,NC6\n1/2/2020,$0.05\n')
is "$code" 0 "a pipe with a region is as good as a file $err"

done_testing
