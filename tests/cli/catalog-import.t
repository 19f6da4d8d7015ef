#!/usr/bin/env bash
# catalog import: what is replaced and what stays, formats, reports, and errors that change nothing
. "$(dirname "$0")/tap.sh"

offers=cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour
transfers=src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms
vms=InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone

# report EXPRESSION: of the JSON in $out, d
report() {
    json "$1" <<<"$out"
}

# counts CLOUD: its offers in the catalog in use
counts() {
    "$TRADEWIND" catalog info --json | json "*[c['offers'] for c in d['clouds'] if c['cloud'] == '$1']"
}

printf '%s\n' "$offers" a,r,,t1,1,1,,,,1,, a,r,,t2,1,1,,,,2,, b,r,,t3,1,1,,,,3,, >ab.csv
printf '%s\n' "$offers" a,r,,t9,1,1,,,,9,, >a.csv
gcp=$(counts gcp)
run catalog import ab.csv
is "$code" 0 "a file by any name"
is "$(counts a) $(counts b)" "2 1" "two clouds are imported"
is "$(counts gcp)" "$gcp" "built-in clouds stay"
"$TRADEWIND" catalog import a.csv >/dev/null
is "$(counts a) $(counts b)" "1 1" "a cloud's offers are replaced, other imported clouds stay"

mkdir twice
cp ab.csv twice/offers.csv
gzip -k twice/offers.csv
run catalog import twice --json
is "$code:$err" 0: "a file beside its gzip"
is "$(report '[(f["rows_kept"], x["reason"], x["count"]) for f in d["files"] for x in f["dropped"]]')" \
    "[(0, 'duplicate', 3)]" "is read once more, and every row of it is a duplicate"
"$TRADEWIND" catalog import a.csv >/dev/null

printf '%s\n' "$transfers" 'a,*,*,*,0.5,0,,' >t.csv
rows=$("$TRADEWIND" catalog info --json | grep '"transfers"')
"$TRADEWIND" catalog import t.csv >/dev/null
lacks "$("$TRADEWIND" catalog info --json)" "$rows" "transfers are replaced ..."
contains "$("$TRADEWIND" catalog info --json)" '"transfers": 1,' "... as a whole table"
is "$(counts a) $(counts b) $(counts gcp)" "1 1 $gcp" "while offers stay"

mkdir -p sky/aws sky/more/deep
printf '%s\n' "$vms" 'm5.large,,,2,8,,0.096,0.03,us-east-1,use1-az1' \
    'm5.large,,,2,8,,0.096,0.03,us-east-1,use1-az1' 'x,,,2,8,,,,us-east-1,use1-az1' \
    'y,,,2,8,,cheap,,us-east-1,use1-az1' 'z,,,2,8,,1,2,us-east-1,use1-az1' >sky/aws/vms.csv
printf '%s\n' "$vms" 'big,H100-NVLINK,8,2,8,"{a, b}",9,,r1,' | gzip >sky/newcloud-vms.csv.gz
printf '%s\n' "$vms" 'a,,,1,1,,1,,r,' >sky/more/deep/vms.csv
echo 'name,colour' >sky/other.csv
echo 'no table' >sky/README.md
run catalog import sky --json
is "$code" 0 "a directory of SkyPilot files, $err"
is "$(report '[(f["cloud"], f["format"], f["table"], f["rows_read"], f["rows_kept"], f["rows_dropped"], f["offers"], f["spot_above_on_demand"]) for f in d["files"]]')" \
    "[('aws', 'skypilot', 'offers', 5, 2, 3, 2, 1), ('newcloud', 'skypilot', 'offers', 1, 1, 0, 1, 0)]" \
    "the cloud is told by aws/vms.csv and newcloud-vms.csv.gz"
is "$(report '[(x["reason"], x["count"]) for x in d["files"][0]["dropped"]]')" \
    "[('no price in any market', 1), ('duplicate', 1), ('malformed', 1)]" "each reason with a count"
is "$(report 'd["not_recognised"]')" "['sky/other.csv']" "what is no table is named"
is "$(report 'd["rows_read"], d["rows_kept"], d["rows_dropped"], d["offers"]')" "6 3 3 3" \
    "totals"
is "$(counts aws) $(counts newcloud)" "2 1" "and they are in use"

run catalog import sky
contains "$out" "vms.csv              aws          5     2        3       2" "the report for people"
contains "$out" "vms.csv: 1 row, no price in any market" "with reasons"
contains "$out" "Kept as listed:" "with what is odd"
contains "$out" "other.csv" "with what was left alone"
is "$(awk 'length > 100' <<<"$out")" "" "within 100 columns"

cp sky/aws/vms.csv prices.csv
fails 2 "prices.csv: the name does not tell the cloud; say --cloud NAME" catalog import prices.csv
run catalog import prices.csv --cloud other
is "$code $(counts other)" "0 2" "--cloud names the cloud"
cp prices.csv azure.csv
run catalog import azure.csv
is "$code $(counts azure)" "0 2" "so does a file called by a cloud we know"

before=$(catalog_digest)
printf '%s\n' "$offers" a,r,,t1,1,1,,,,1,, a,r,,t2,1,x,,,,2,, >bad.csv
fails 2 'bad.csv:3: memory_gib "x" is not a number' catalog import sky bad.csv
printf '%s\n' "${offers/memory_gib/memory_gb}" >bad.csv
fails 2 'bad.csv:1: unknown column "memory_gb"; did you mean "memory_gib"?' catalog import bad.csv
printf '%s\n' "${offers/,zone/}" >bad.csv
fails 2 'bad.csv:1: there is no column "zone"' catalog import bad.csv
printf '%s\n' clowd,regoin >offers.csv
fails 2 'offers.csv:1: unknown column "clowd"; did you mean "cloud"?' catalog import offers.csv
rm offers.csv
printf '%s\n' "$offers" a,r,,t1,1,1,,,,-1,, >bad.csv
fails 2 'bad.csv:2: price_usd_per_hour "-1" is negative' catalog import bad.csv
printf '%s\n' "$offers" a,r,,t1,1,1,,,,,, a,r,,t2,1,1,,,,0,0, >bad.csv
fails 2 'bad.csv: no offer has a price (2 rows read)' catalog import bad.csv
printf '%s\n' "$offers" >bad.csv
fails 2 'bad.csv: no offer has a price (0 rows read)' catalog import bad.csv
printf '%s\n' InstanceType,vCPUs,MemoryGiB,Region x,1,1,r >aws-vms.csv
fails 2 'aws-vms.csv:1: there is no column "Price"' catalog import aws-vms.csv
printf '%s\n' "$transfers" 'a,*,b,*,1,0,,' 'a,,b,,2,0,,' >bad.csv
fails 2 'bad.csv:3: a second price from a/* to b/* at tier_from_gb 0' catalog import bad.csv
fails 2 'other.csv: its header is not that of' catalog import sky/other.csv
mkdir empty
fails 2 'empty: no offers.csv' catalog import empty
fails 2 'nothing-there: No such file' catalog import nothing-there
fails 2 'sky/aws/vms.csv: its header is not that of' catalog import sky/aws/vms.csv --format tradewind
fails 2 'a.csv:1: there is no column "InstanceType"' catalog import --format skypilot a.csv \
    --cloud a
fails 2 '--format "csv"' catalog import sky --format csv
fails 2 '--cloud is for SkyPilot' catalog import sky --format tradewind --cloud a
fails 2 'not a name of a cloud' catalog import prices.csv --cloud ''
fails 2 'DIR|FILE...' catalog import
head -c 100 sky/newcloud-vms.csv.gz >cut-vms.csv.gz
fails 2 'cut-vms.csv.gz: damaged gzip data' catalog import cut-vms.csv.gz
is "$(catalog_digest)" "$before" "and nothing has changed"

# The same limits for what plan reads directly.
mkdir dir
echo 'run: true' >one.yaml
fails 2 'dir: there is no offers.csv' plan --catalog dir one.yaml
fails 2 'nothing-there: No such file' plan --catalog nothing-there one.yaml
fails 2 'one.yaml: not a directory; it should be one that holds offers.csv' \
    plan --catalog one.yaml one.yaml
printf '%s\n' "$offers" a,r,,t1,1,x,,,,1,, >dir/offers.csv
fails 2 'dir/offers.csv:2: memory_gib "x" is not a number' plan --catalog dir one.yaml

# Damage on disk.
current=$TRADEWIND_HOME/catalog/current
printf damage | dd of="$current/snapshot" bs=1 seek=5000 conv=notrunc status=none
run catalog info
is "$code" 0 "a damaged snapshot is built again"
contains "$err" "snapshot: damaged (the checksum does not match): built again from its CSVs" \
    "with a warning"
run catalog info
is "$err" "" "once"
is "$(catalog_digest)" "$before" "with the same content"
printf '\377\377' | dd of="$current/snapshot" bs=1 seek=8 conv=notrunc status=none
run catalog info
contains "$err" "this program reads" "so is one of another format"
printf damage >"$current/snapshot"
printf damage >"$current/offers.csv"
fails 7 '`tradewind catalog reset`' catalog info
run catalog import a.csv
is "$code $(counts a)" "0 1" "importing again is a way out"
contains "$err" "come from the built-in catalog" "which says what became of the rest"
printf damage >"$current/snapshot"
printf damage >"$current/offers.csv"
run catalog reset
is "$code" 0 "so is reset"
run catalog info
contains "$out" "built-in" "to the built-in catalog"
done_testing
