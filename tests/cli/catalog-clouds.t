#!/usr/bin/env bash
# catalog update --from: the price lists of AWS, Azure and Google from a local server, whole and with
# faults; what comes into use is what a Python program computes from the same lists
. "$(dirname "$0")/tap.sh"

command -v python3 >/dev/null || skip_all "no python3"
[[ $(ldconfig -p 2>/dev/null; ls /usr/lib/*/libcurl.so.4 2>/dev/null) == *libcurl.so.4* ]] ||
    skip_all "no libcurl"
lists=$root/tests/cli/price_lists.py
mkdir -p site/aws tmp
python3 "$root/tests/servers/price-lists" site >port &
server=$!
trap 'kill $server; rm -rf "$scratch"' EXIT
until [[ -s port ]]; do sleep 0.05; done
url=http://127.0.0.1:$(<port)
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY AWS_PROFILE AWS_SESSION_TOKEN AWS_REGION \
    AWS_DEFAULT_REGION AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_CREDENTIALS_FULL_URI
export TMPDIR=$scratch/tmp HOME=$scratch/user AWS_EC2_METADATA_DISABLED=true
export AWS_ENDPOINT_URL_PRICING=$url AWS_ENDPOINT_URL_EC2=$url AZURE_RETAIL_PRICES_ENDPOINT=$url/ \
    CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING=$url
secret=wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY
echo "AKIDEXAMPLE $secret" >site/keys
echo AIzaGoodKey >site/key
with_keys() {
    export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=$secret GOOGLE_API_KEY=AIzaGoodKey
}
without_keys() {
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY GOOGLE_API_KEY
}
# faults LINE...: of the server from now on; without lines none
faults() {
    printf '%s\n' "$@" | grep . >site/faults
    : >site/log
}
# offers EXPRESSION: of the offers of the catalog in use, as a list o in Python
offers() {
    "$TRADEWIND" catalog export now >/dev/null
    python3 -c "
import csv, sys
o = list(csv.DictReader(open('now/offers.csv')))
print($1)"
}
# price CLOUD REGION ZONE TYPE: "on demand/spot"
price() {
    offers "[f\"{x['price_usd_per_hour']}/{x['spot_usd_per_hour']}\" for x in o if
        (x['cloud'], x['region'], x['zone'], x['instance_type']) == ('$1', '$2', '$3', '$4')][0]"
}

# ---- by hand ----

cat >site/azure.json <<'JSON'
[{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 3.673, "armRegionName": "eastus",
  "meterName": "NC24ads A100 v4", "productName": "NCads A100 v4 Series Linux",
  "skuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Consumption",
  "armSkuName": "Standard_NC24ads_A100_v4"},
 {"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.9, "armRegionName": "eastus",
  "meterName": "NC24ads A100 v4 Spot", "productName": "NCads A100 v4 Series Linux",
  "skuName": "NC24ads_A100_v4 Spot", "unitOfMeasure": "1 Hour", "type": "Consumption",
  "armSkuName": "Standard_NC24ads_A100_v4"},
 {"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.3, "armRegionName": "eastus",
  "meterName": "NC24ads A100 v4", "productName": "NCads A100 v4 Series Windows",
  "skuName": "NC24ads A100 v4", "unitOfMeasure": "1 Hour", "type": "Consumption",
  "armSkuName": "Standard_NC24ads_A100_v4"}]
JSON
cat >site/aws/us-east-1.csv <<'CSV'
"FormatVersion","v1.0"
"Disclaimer","For information only, and ""as is"""
"Publication Date","2026-11-01T00:00:00Z"
"Version","20261101000000"
"OfferCode","AmazonEC2"
"SKU","TermType","PriceDescription","Unit","PricePerUnit","Currency","Product Family","Instance Type","vCPU","Memory","Tenancy","Operating System","CapacityStatus","GPU","Pre Installed S/W","Region Code"
"A","OnDemand","$0.6 per On Demand
Linux, g4dn","Hrs","0.6000000000","USD","Compute Instance","g4dn.xlarge","4","16 GiB","Shared","Linux","Used","1","NA","us-east-1"
"B","Reserved","","Hrs","0.2","USD","Compute Instance","g4dn.xlarge","4","16 GiB","Shared","Linux","Used","1","NA","us-east-1"
"C","OnDemand","","Hrs","0.9","USD","Compute Instance","m99.2xlarge","8","1,032 GiB","Shared","Linux","Used","","NA","us-east-1"
"D","OnDemand","","Hrs","77","USD","Compute Instance","p99.48xlarge","192","2048 GiB","Shared","Linux","Used","8","NA","us-east-1"
CSV
cat >site/spot.json <<'JSON'
{"us-east-1": {"zones": [["us-east-1a", "use1-az6"], ["us-east-1b", "use1-az1"]], "prices": [
 {"AvailabilityZone": "us-east-1a", "InstanceType": "g4dn.xlarge", "ProductDescription": "Linux/UNIX",
  "SpotPrice": "0.200100", "Timestamp": "2026-10-18T10:00:00.000Z"},
 {"AvailabilityZone": "us-east-1a", "InstanceType": "g4dn.xlarge", "ProductDescription": "Linux/UNIX",
  "SpotPrice": "0.190000", "Timestamp": "2026-10-17T10:00:00.000Z"},
 {"AvailabilityZone": "us-east-1b", "InstanceType": "g4dn.xlarge", "ProductDescription": "Linux/UNIX",
  "SpotPrice": "0.310000", "Timestamp": "2026-10-18T11:00:00.000Z"}]}}
JSON
# Google's: a core for 0.031611, a GiB for 0.004237, a T4 for 0.35 an hour.
python3 - >site/gcp.json <<'PYTHON'
import json
def sku(text, usage, nanos, unit="h"):
    price = {"currencyCode": "USD", "units": "0", "nanos": nanos}
    return {"description": text, "serviceRegions": ["us-central1", "us-east9"],
            "category": {"resourceFamily": "Compute", "resourceGroup": "CPU", "usageType": usage},
            "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": [
                {"startUsageAmount": 0, "unitPrice": price}]}}]}
print(json.dumps([
    sku("N1 Predefined Instance Core running in Americas", "OnDemand", 31611000),
    sku("N1 Predefined Instance Ram running in Americas", "OnDemand", 4237000, "GiBy.h"),
    sku("Custom N1 Predefined Instance Core running in Americas", "OnDemand", 1),
    sku("Commitment v1: N1 Predefined Instance Core running in Americas", "Commit1Yr", 1),
    sku("Spot Preemptible N1 Predefined Instance Core running in Americas", "Preemptible", 7000000),
    sku("Spot Preemptible N1 Predefined Instance Ram running in Americas", "Preemptible", 1000000,
        "GiBy.h"),
    sku("Nvidia Tesla T4 GPU running in Americas", "OnDemand", 350000000),
    sku("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas", "Preemptible",
        110000000)]))
PYTHON

before=$(catalog_digest)
faults
run catalog update --from azure --region eastus --dry-run
is "$code" 0 "a dry run of Azure's list $err"
contains "$out" "azure/eastus  Standard_NC24ads_A100_v4  spot" "it shows the change"
contains "$out" "GET $url/api/retail/prices (2)" "and the calls"
contains "$(<"$root/docs/catalog.md")" "${out//$url/http://127.0.0.1:33467}" "as docs/catalog.md has it"
is "$(catalog_digest)" "$before" "and changes nothing"
is "$(grep -c api-version site/log)" 1 "the first page is asked for by its filter"
contains "$(<site/log)" "armRegionName%20eq%20%27eastus%27%20and%20priceType%20eq%20%27Consumption%27" \
    "of region, service and type"

run catalog update --from azure --region eastus --json
is "$code" 0 "Azure's list $err"
is "$(json '[d["clouds"][0][k] for k in ("items", "added", "changed", "unchanged")]' <<<"$out")" \
    "[3, 0, 1, 0]" "counts"
is "$(json 'd["clouds"][0]["date"]' <<<"$out")" 2024-08-19 \
    "the date of the cloud stays that of its oldest prices"
is "$(price azure eastus "" Standard_NC24ads_A100_v4)" 3.673/0.9 "the prices are those of the list"
is "$(offers 'sorted({x["instance_type"] for x in o if x["cloud"] == "azure" and x["region"] == "eastus"})')" \
    "['Standard_NC24ads_A100_v4']" "what the list does not have is gone from the region"
is "$(offers 'len([x for x in o if x["cloud"] == "azure" and x["region"] == "westus2"]) > 40')" True \
    "other regions stay"

without_keys
run catalog update --from aws --region us-east-1
is "$code" 0 "AWS's list without credentials $err"
contains "$out" "aws: spot prices stay as they were: there are no AWS credentials to ask with" "says so"
is "$(price aws us-east-1 "" g4dn.xlarge)" 0.6/0.3265 "the spot price stays"
is "$(price aws us-east-1 "" m99.2xlarge)" 0.9/ "a new type has the list's shape"
is "$(offers '[x["vcpus"] + " " + x["memory_gib"] for x in o if x["instance_type"] == "m99.2xlarge"]')" \
    "['8 1032']" "vCPUs and memory"
is "$(offers 'any(x["instance_type"] == "p99.48xlarge" for x in o)')" False \
    "accelerators without a name are left out"
contains "$out" "not used: other products (1), instance types that the catalog does not describe" "and counted"

with_keys
run catalog update --from aws --region us-east-1
is "$code" 0 "AWS's list with credentials $err"
is "$(price aws us-east-1 use1-az6 g4dn.xlarge)" 0.6/0.2001 "spot prices by zone, the newest"
is "$(price aws us-east-1 use1-az1 g4dn.xlarge)" 0.6/0.31 "zones by their id"
is "$(offers '[x["zone"] for x in o if x["instance_type"] == "g4dn.xlarge" and x["region"] == "us-east-1"]')" \
    "['use1-az1', 'use1-az6']" "in place of the offer without a zone"
contains "$(grep DescribeSpot site/log)" "ProductDescription.1=Linux%2FUNIX" "only Linux is asked for"

faults
run catalog update --from gcp --region us-central1
is "$code" 0 "Google's list $err"
# 8 x 0.031611 + 30 x 0.004237; 8 x 0.007 + 30 x 0.001; with a T4 0.35 and 0.11 more
is "$(price gcp us-central1 "" n1-standard-8)" 0.379998/0.086 "cores and memory are added up"
is "$(price gcp us-central1 "" n1-standard-8+T4:1)" 0.729998/0.196 "and accelerators"
fails 3 "the catalog in use has no instance types of gcp in region us-east9" \
    catalog update --from gcp --region us-east9

# ---- asked wrongly ----

fails 2 "no price list of that cloud is known; write aws, azure or gcp" catalog update --from lambda
fails 2 "--region EastUS: not a name of a region" catalog update --from azure --region EastUS
fails 2 "not a name of a region" catalog update --from aws --region x.example.org
fails 2 "write CLOUD:REGION, with a cloud of --from" catalog update --from aws --from azure --region eastus
fails 2 "write CLOUD:REGION" catalog update --from aws --region azure:eastus
fails 2 "stands twice" catalog update --from aws --from aws
fails 2 "--region is for price lists of clouds" catalog update --region eastus
fails 2 "--dry-run is for price lists of clouds" catalog update --dry-run
fails 3 "the price list of azure has no price of region nowhere" catalog update --from azure --region nowhere
fails 3 "AWS has no region nowhere-1" catalog update --from aws --region nowhere-1
GOOGLE_API_KEY='' fails 4 "set GOOGLE_API_KEY" catalog update --from gcp --region us-central1
GOOGLE_API_KEY=AIzaBad fails 4 "API key not valid" catalog update --from gcp --region us-central1
lacks "$err" AIzaBad "the key is not in the message"

# ---- faults ----

before=$(catalog_digest)
# again KIND PATH COMMAND...: fails twice, then goes well
again() {
    faults "$2 2 $1"
    run catalog update --from "${@:3}" --json
    check "$2 fails twice with $1: $err" test "$code" = 0
    check "$2 is asked a third time" test "$(grep -c "$2" site/log)" -ge 3
}
again 500 /api/retail/prices azure --region eastus
again 502-html /skus gcp --region us-central1
again cut index.csv aws --region us-east-1
is "$(json '[d["clouds"][0][k] for k in ("items", "items_dropped")]' <<<"$out")" "[6, 2]" \
    "a file that was begun again is counted once"
again reset region_index aws --region us-east-1
faults "/skus 1 xml-cut" "DescribeSpot 1 xml-cut"
run catalog update --from aws --from gcp --region aws:us-east-1 --region gcp:us-central1
is "$code" 0 "answers whose end is missing are asked for again $err"
faults "index.csv 1 429" "/skus 1 429-date"
run catalog update --from aws --from gcp --region aws:us-east-1 --region gcp:us-central1
is "$code" 0 "too many requests $err"
is "$(catalog_digest)" "$before" "the same prices come of all of it"
# waited PATH: seconds from the first request to the second
waited() {
    awk -v path="$1" 'index($3, path) && n++ < 2 { s = $1 - s } END { print (s >= 1) }' site/log
}
is "$(waited index.csv)$(waited /skus)" 11 "Retry-After is waited for, in seconds and as a date"
faults "DescribeSpot 1 throttled" "DescribeAvail 1 skewed"
run catalog update --from aws --region us-east-1
is "$code" 0 "throttled, and with another clock $err"
faults "DescribeSpot 9 denied"
run catalog update --from aws --region us-east-1
is "$code" 0 "spot prices that the account may not see $err"
contains "$out" "DescribeSpotPriceHistory in us-east-1: UnauthorizedOperation" "are named"
is "$(catalog_digest)" "$before" "and stay"
AWS_SECRET_ACCESS_KEY=other run catalog update --from aws --region us-east-1
contains "$out" "SignatureDoesNotMatch" "a wrong key is said to be refused"

# fault KIND PATH CODE PART CLOUD:REGION: the update fails and nothing changes
fault() {
    faults "$2 99 $1"
    fails "$3" "$4" catalog update --from "${5%%:*}" --region "${5#*:}"
}
fault 429-long /api/retail/prices 6 "the service asks to wait" azure:eastus
fault 403 /api/retail/prices 4 "the server answers 403" azure:eastus
fault 404 index.csv 3 "the server answers 404" aws:us-east-1
fault 200-html /skus 7 "the answer is no JSON" gcp:us-central1
fault 200-html index.csv 7 "there is no header" aws:us-east-1
fault no-items /api/retail/prices 7 'there is no list "Items"' azure:eastus
fault page-again /api/retail/prices 7 "leads back to an earlier page" azure:eastus
fault page-again /skus 7 "leads back to an earlier page" gcp:us-central1
echo 1 >site/page
fault page-again DescribeSpot 7 "leads back to an earlier page" aws:us-east-1
fault empty-pages DescribeSpot 7 "leads back to an earlier page" aws:us-east-1
fault xml-cut DescribeSpot 7 "not XML" aws:us-east-1
echo 2 >site/page
# Two clouds, of which one fails.
faults "/skus 99 403"
fails 4 "price list of gcp" catalog update --from azure --from gcp --region azure:eastus --region gcp:us-central1
is "$(catalog_digest)" "$before" "nothing has changed"

# No secret is in what is printed, logged or written.
faults
TRADEWIND_LOG=debug run catalog update --from aws --from gcp --region aws:us-east-1 --region gcp:us-central1 \
    --dry-run --json
is "$code" 0 "with all of the log"
lacks "$out$err" AIzaGoodKey "no API key is shown"
lacks "$out$err" "$secret" "no secret key"
is "$(grep -rl -e AIzaGoodKey -e "$secret" "$TRADEWIND_HOME" | wc -l)" 0 "none is in the home"

# The configuration names addresses, too.
unset AZURE_RETAIL_PRICES_ENDPOINT
printf 'catalog: {endpoints: {azure: "%s"}}\n' "$url" >"$TRADEWIND_HOME/config.yaml"
run catalog update --from azure --region eastus
is "$code" 0 "an address of the configuration $err"
printf 'catalog: {endpoints: {azure: ftp://x}}\n' >"$TRADEWIND_HOME/config.yaml"
fails 2 "is not an https:// or http:// address" catalog update --from azure --region eastus
printf 'catalog: {endpoints: {azure: http://0.0.0.0:1}}\n' >"$TRADEWIND_HOME/config.yaml"
fails 2 "others can read and change on the way" catalog update --from azure --region eastus
printf 'clouds: {azure: {regions: [eastus]}}\n' >"$TRADEWIND_HOME/config.yaml"
AZURE_RETAIL_PRICES_ENDPOINT=$url run catalog update --from azure --json
is "$(json 'd["clouds"][0]["regions"]' <<<"$out")" "['eastus']" \
    "without --region those that the configuration plans with"
rm "$TRADEWIND_HOME/config.yaml"
export AZURE_RETAIL_PRICES_ENDPOINT=$url

# ---- the recorded page ----

recorded=$root/../shared/data/cloud-replay/azure/authored/retail_prices_page.http200.json
if [[ -f $recorded ]]; then
    "$TRADEWIND" catalog reset >/dev/null
    python3 -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["Items"], sys.stdout)' \
        "$recorded" >site/azure.json
    run catalog update --from azure --region eastus
    is "$(price azure eastus "" Standard_NC24ads_A100_v4)" 3.673/0.9 "the recorded page $err"
else
    skip "the recorded page" "no recordings beside the checkout"
fi

# ---- any lists ----

# same_as_referee WHAT PLACES COMMAND...
same_as_referee() {
    local what=$1 places=$2
    "$TRADEWIND" catalog export was >/dev/null
    run "${@:3}"
    is "$code" 0 "$what $err"
    "$TRADEWIND" catalog export now >/dev/null
    # shellcheck disable=SC2086
    is "$(diff <(python3 "$lists" expect site was/offers.csv $places) \
        <(python3 "$lists" show now/offers.csv) | head -n 20)" "" "$what: the offers are the referee's"
}
"$TRADEWIND" catalog reset >/dev/null
"$TRADEWIND" catalog export was >/dev/null
python3 "$lists" random 1 was/offers.csv site
echo 100 >site/page
places="aws:us-east-1 aws:eu-west-1 azure:eastus azure:westus2 gcp:us-central1 gcp:europe-west4"
# shellcheck disable=SC2046
same_as_referee "random lists" "$places" catalog update --from gcp --from azure --from aws \
    $(printf ' --region %s' $places)
python3 "$lists" random 2 now/offers.csv site
all=$(cut -d, -f1,2 now/offers.csv | grep -E '^(aws|azure|gcp),' | sort -u | tr ',' ':')
same_as_referee "random lists of all regions on top" "$all" catalog update --from aws --from azure --from gcp
is "$("$TRADEWIND" catalog info --json | json '{c["date"] for c in d["clouds"] if c["cloud"] in ("aws", "azure", "gcp")}')" \
    "{'2026-11-18'}" "each cloud has today's date"

# A file of any size takes the memory of a row: 100 MB of rows in less than 100 MB, the catalog
# among them; sanitizers need more for themselves.
"$TRADEWIND" catalog reset >/dev/null
rm site/aws/*
cat >site/aws/us-west-2.csv.gen <<'PYTHON'
columns = ["SKU", "TermType", "PriceDescription", "Unit", "PricePerUnit", "Currency", "Product Family",
    "Instance Type", "vCPU", "Memory", "Tenancy", "Operating System", "CapacityStatus", "GPU",
    "Pre Installed S/W", "Region Code"]
def row(name, price, term):
    return ",".join('"%s"' % x for x in ["X", term, "d" * 300, "Hrs", price, "USD", "Compute Instance",
        name, "8", "32 GiB", "Shared", "Linux", "Used", "", "NA", "us-west-2"]) + "\n"
out("about\n" * 5 + ",".join(columns) + "\n" + row("m7i.2xlarge", "0.4", "OnDemand"))
block = "".join(row("m%d.large" % i, "9", "Reserved") for i in range(500))
for i in range(500):
    out(block)
out(row("m7i.4xlarge", "0.8", "OnDemand"))
PYTHON
without_keys
is "$(python3 -c '
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < int(sys.argv[1]))' \
    "$((${TRADEWIND_SLOW:+4} + 1))00000" "$TRADEWIND" catalog update --from aws --region us-west-2)" "0 True" \
    "a large file is never in memory"
is "$(price aws us-west-2 "" m7i.4xlarge | cut -d/ -f1)" 0.8 "and is read to its end"

# Killed while it reads, the old catalog stays whole.
before=$(catalog_digest)
sed -i 's/range(500):/range(500000):/' site/aws/us-west-2.csv.gen
: >site/log
"$TRADEWIND" catalog update --from aws --region us-west-2 >/dev/null 2>&1 &
update=$!
until grep -q us-west-2/index.csv site/log; do sleep 0.05; done
kill -KILL $update
wait $update 2>/dev/null
is "$(catalog_digest)" "$before" "a killed update leaves the old catalog"
is "$(ls -A "$TMPDIR")" "" "no temporary files are left"
done_testing
