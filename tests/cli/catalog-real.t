#!/usr/bin/env bash
# The files of a real SkyPilot catalog, where they are at hand.
. "$(dirname "$0")/tap.sh"

data=$root/../shared/data/skypilot-catalog
[[ -d $data ]] || skip_all "no ../shared/data/skypilot-catalog"

run catalog import "$data" --json
is "$code" 0 "all files are imported $err"
printf %s "$out" >report.json

# rows EXPRESSION: of the file f of cloud $1
rows() {
    python3 -c 'import json, sys
for f in json.load(open("report.json"))["files"]:
    if f["cloud"] == sys.argv[1]: print(eval(sys.argv[2]))' "$1" "$2"
}

# The table of its README.
while read -r cloud n; do
    is "$(rows "$cloud" 'f["rows_read"]')" "$n" "$cloud: $n rows"
    is "$(rows "$cloud" 'f["rows_kept"] + sum(x["count"] for x in f["dropped"])')" "$n" \
        "$cloud: each is kept or dropped for a reason"
done <<'END'
aws 53961
gcp 34753
azure 5969
lambda 408
oci 3038
runpod 12816
nebius 92
do 44
END
is "$(python3 -c 'import json; print(json.load(open("report.json"))["rows_read"])')" 111081 \
    "111,081 rows in all"

# Its quirks.
dropped='[x["count"] for x in f["dropped"] if x["reason"] == REASON][0]'
is "$(rows aws "${dropped/REASON/\"duplicate\"}")" 5 "aws: 5 duplicates"
is "$(rows gcp "${dropped/REASON/\"duplicate\"}")" 94 "gcp: 94 duplicates"
is "$(rows gcp "${dropped/REASON/\"no price in any market\"}")" 14 "gcp: 14 zero prices"
is "$(rows azure "${dropped/REASON/\"no price in any market\"}")" 66 "azure: 66 without a price"

# Prices of the table: offers with on-demand and spot price. gcp's are combined anew.
"$TRADEWIND" catalog info --json >info.json
while read -r cloud on_demand spot regions; do
    is "$(python3 -c 'import json, sys
for c in json.load(open("info.json"))["clouds"]:
    if c["cloud"] == sys.argv[1]: print(c["priced_on_demand"], c["priced_spot"], c["regions"])' "$cloud")" \
        "$on_demand $spot $regions" "$cloud: $on_demand on demand, $spot on spot, $regions regions"
done <<'END'
azure 5903 5658 9
lambda 408 0 17
oci 3038 2352 39
runpod 12816 11376 14
nebius 92 28 5
do 44 0 7
END
contains "$(cat info.json)" '"places": 157' "157 places"

# us-central1-a: a2-highgpu-1g $0.94... + A100 is what the two rows say together.
sum=$(zcat "$data/gcp-vms.csv.gz" | python3 -c 'import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["AvailabilityZone"] == "us-central1-a"]
host = [float(r["Price"]) for r in rows if r["InstanceType"] == "a2-highgpu-1g"][0]
gpu = [float(r["Price"]) for r in rows if not r["InstanceType"]
       and r["AcceleratorName"] == "A100" and float(r["AcceleratorCount"]) == 1][0]
print(round(host + gpu, 9))')
is "$("$TRADEWIND" catalog show a2-highgpu-1g --json | python3 -c 'import json, sys
print([o["price_usd_per_hour"] for o in json.load(sys.stdin) if o["zone"] == "us-central1-a"][0])')" \
    "$sum" "gcp: host and accelerator make \$$sum"

"$TRADEWIND" catalog export first >/dev/null
TRADEWIND_HOME=$scratch/second "$TRADEWIND" catalog import first >/dev/null
TRADEWIND_HOME=$scratch/second "$TRADEWIND" catalog export second-export >/dev/null
check "an export imports to the same catalog" diff -rq first second-export
done_testing
