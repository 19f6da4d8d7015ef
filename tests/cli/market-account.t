#!/usr/bin/env bash
# market import --from aws: an account's spot price history from a local server, whole, again, and
# with faults
. "$(dirname "$0")/tap.sh"

command -v python3 >/dev/null || skip_all "no python3"
[[ $(ldconfig -p 2>/dev/null; ls /usr/lib/*/libcurl.so.4 2>/dev/null) == *libcurl.so.4* ]] ||
    skip_all "no libcurl"
mkdir -p site/aws
python3 "$root/tests/servers/price-lists" site >port &
server=$!
trap 'kill $server; rm -rf "$scratch"' EXIT
until [[ -s port ]]; do sleep 0.05; done
url=http://127.0.0.1:$(<port)
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY AWS_PROFILE AWS_SESSION_TOKEN AWS_REGION \
    AWS_DEFAULT_REGION AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_CREDENTIALS_FULL_URI
export HOME=$scratch/user AWS_EC2_METADATA_DISABLED=true AWS_ENDPOINT_URL_EC2=$url
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY
echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY" >site/keys

date +%s >began
# prices NAME=LIST...: the history of regions. A list has lines "ZONE TYPE USD DAYS-AGO [PRODUCT]".
prices() {
    python3 - "$@" >site/spot.json <<'PYTHON'
import datetime, json, sys
now = datetime.datetime.utcfromtimestamp(int(open("began").read()))
regions = {}
for argument in sys.argv[1:]:
    name, lines = argument.split("=", 1)
    regions[name] = {"zones": [], "prices": []}
    for line in lines.strip().splitlines():
        zone, kind, usd, ago, *product = line.split(None, 4)
        at = now - datetime.timedelta(days=float(ago))
        regions[name]["prices"].append({
            "AvailabilityZone": zone, "InstanceType": kind, "SpotPrice": usd,
            "ProductDescription": product[0] if product else "Linux/UNIX",
            "Timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z")})
print(json.dumps(regions))
PYTHON
}
faults() {
    printf '%s\n' "$@" | grep . >site/faults
    : >site/log
}
# asked: days before now from which each call asked, rounded, pages counted once
asked() {
    python3 - <<'PYTHON'
import datetime, urllib.parse
now = datetime.datetime.utcnow()
for line in open("site/log"):
    form = dict(urllib.parse.parse_qsl(line.split(" ", 3)[3].strip()))
    if "NextToken" not in form:
        start = datetime.datetime.strptime(form["StartTime"], "%Y-%m-%dT%H:%M:%SZ")
        print(round((now - start).total_seconds() / 86400, 1), end=" ")
PYTHON
}
counts='[d["rows_read"], d["rows_kept"], d["changed"], d["offers"], d["records"]]'

# Five records in 30 days and the one in force at their beginning, which is older; not that before
# it, nor that of another region.
east='us-east-1a p3.2xlarge 0.9 100
us-east-1a p3.2xlarge 1.0 40
us-east-1a p3.2xlarge 1.1 20
us-east-1a p3.2xlarge 1.2 10
us-east-1b p3.2xlarge 1.3 5 Linux/UNIX (Amazon VPC)
us-east-1b g4dn.xlarge 0.2 2
us-east-1b g4dn.xlarge 0.3 1'
west='us-west-2a p3.2xlarge 2.0 3'
prices us-east-1="$east" us-west-2="$west"
faults
run market import --from aws --region us-east-1
contains "$(<"$root/docs/market.md")" "$out" "as docs/market.md has it $err"
rm -r "$TRADEWIND_HOME/market"
faults
run market import --from aws --region us-east-1 --json
is "$code" 0 "the history of an account $err"
is "$(json "$counts" <<<"$out")" "[6, 6, True, 3, 6]" "all records of 30 days, in pages of two"
is "$(asked)" "30.0 " "are asked for"
is "$(json 'd["files"][0]["file"], d["files"][0]["format"]' <<<"$out")" "aws us-east-1 aws" \
    "the report names the region"
is "$(grep -c NextToken site/log)" 2 "three pages"
contains "$(<site/log)" "ProductDescription.1=Linux%2FUNIX" "only Linux is asked for"

# The overlap of an hour (0.04 days) brings what is in force: three records that are known.
faults
run market import --from aws --region us-east-1 --json
is "$code" 0 "asked again $err"
is "$(json "$counts" <<<"$out")" "[3, 0, False, 3, 6]" "nothing is new"
is "$(asked)" "0.0 " "only the last hour is asked for"
prices us-east-1="$east
us-east-1a p3.2xlarge 1.4 0" us-west-2="$west"
faults
run market import --from aws --region us-east-1 --json
is "$(json "$counts" <<<"$out")" "[4, 1, True, 3, 7]" "a new record joins $err"
# More days than before: all of them.
faults
run market import --from aws --region us-east-1 --days 60 --json
is "$(asked)" "60.0 " "a longer time is asked for as a whole"
is "$(json "$counts" <<<"$out")" "[8, 1, True, 3, 8]" "and brings what is older"
faults
run market import --from aws --region us-east-1 --days 10 --type g4dn.xlarge --json
is "$(asked)" "0.0 " "a type of a region that was asked for whole is known"
run market stats
is "$code" 0 "the history is in use $err"
contains "$out" "p3.2xlarge" "with its types"

# One type alone does not stand for all.
rm -r "$TRADEWIND_HOME/market"
faults
run market import --from aws --region us-east-1 --type g4dn.xlarge --type p3.2xlarge --days 7
is "$code" 0 "two types $err"
contains "$(<site/log)" "InstanceType.1=g4dn.xlarge&InstanceType.2=p3.2xlarge" "are asked for"
faults
run market import --from aws --region us-east-1 --days 7
is "$(asked)" "7.0 " "all types are another question"
faults
run market import --from aws --region us-east-1 --days 7 --replace --json
is "$(asked)" "7.0 " "--replace asks anew"
rm "$TRADEWIND_HOME/market/histories"
faults
run market import --from aws --region us-east-1 --days 7
is "$(asked)" "7.0 " "so does an import after the histories were removed"
printf '{' >"$TRADEWIND_HOME/market/asked.json"
faults
run market import --from aws --region us-east-1 --days 7
is "$code $(asked)" "0 7.0 " "and one that cannot tell what was asked $err"

# Which regions.
fails 2 "of which region? name one with --region" market import --from aws
faults
AWS_REGION=us-west-2 run market import --from aws
is "$code" 0 "the account's region $err"
contains "$out" "aws" "is imported"
printf 'clouds: {aws: {regions: [us-west-2, us-east-1]}}\n' >"$TRADEWIND_HOME/config.yaml"
run market import --from aws --json
is "$(json '[f["file"] for f in d["files"]]' <<<"$out")" "['aws us-west-2', 'aws us-east-1']" \
    "the configured regions"
printf 'catalog: {endpoints: {aws_ec2: "%s"}}\n' "$url" >"$TRADEWIND_HOME/config.yaml"
AWS_ENDPOINT_URL_EC2='' run market import --from aws --region us-west-2
is "$code" 0 "the configured address $err"
rm "$TRADEWIND_HOME/config.yaml"

fails 2 "region ../x: not a name of a region" market import --from aws --region ../x
fails 2 "name files or directories to import, or a cloud with --from" market import
fails 2 "--from asks a cloud: it takes no files" market import --from aws x.json
fails 2 "--format is for files" market import --from aws --format csv
fails 2 "--type is for the history of an account: add --from aws" market import --type t x.json
fails 2 "--days" market import --from aws --region us-east-1 --days 91
fails 2 "--from" market import --from azure

# Faults: another try, or an error that leaves the histories as they were.
for kind in 500 502-html cut reset throttled skewed 429; do
    faults "DescribeSpot 1 $kind"
    run market import --from aws --region us-east-1 --days 7 --replace --json
    is "$code" 0 "$kind is tried again $err"
    is "$(json '[d["rows_read"], d["rows_kept"], d["offers"], d["records"]]' <<<"$out")" "[5, 5, 3, 5]" \
        "and brings the three of that time and two in force"
done
run market import --from aws --region us-east-1 --json
before=$(cksum <"$TRADEWIND_HOME/market/histories")
# fault KIND CODE PART
fault() {
    faults "DescribeSpot 99 $1"
    fails "$2" "$3" market import --from aws --region us-east-1 --days 90
}
fault denied 4 "DescribeSpotPriceHistory in us-east-1: UnauthorizedOperation: UnauthorizedOperation it is"
fault page-again 7 "leads back to an earlier page"
fault empty-pages 7 "leads back to an earlier page"
fault xml-cut 7 "not XML"
fault 200-html 7 "no spot price history"
fault 429-long 6 "the service asks to wait 1 d 0 h"
AWS_SECRET_ACCESS_KEY=other fails 4 "SignatureDoesNotMatch" market import --from aws --region us-east-1
lacks "$err" other "the key is not in the message"
AWS_ACCESS_KEY_ID='' AWS_SECRET_ACCESS_KEY='' fails 4 "AWS_ACCESS_KEY_ID" market import --from aws \
    --region us-east-1
is "$(cksum <"$TRADEWIND_HOME/market/histories")" "$before" "the histories are as they were"

# Records that are none, and more of them than a page has.
prices us-east-1='us-east-1a p3.2xlarge 0 3
us-east-1a p3.2xlarge -1 4
us-east-1a p3.2xlarge NaN 5
us-east-1a p3.2xlarge 1e99 6
nowhere p3.2xlarge 1.0 3
us-east-1a a<b&c 1.0 3
us-east-1a p3.2xlarge 1.0 3.5 Windows
us-east-1a p3.2xlarge 1.5 2'
faults
run market import --from aws --region us-east-1 --replace --json
is "$code" 0 "odd records $err"
is "$(json '[d["rows_read"], d["rows_kept"]]' <<<"$out")" "[8, 2]" "are counted"
is "$(json 'sorted((c["reason"], c["count"]) for c in d["dropped"])' <<<"$out")" \
    "[('malformed', 1), ('negative, zero or no price', 4), ('not for Linux/UNIX', 1)]" "by reason"

recorded=$root/../shared/data/cloud-replay/ec2/emulated/describe_spot_price_history.http200.xml
if [[ -f $recorded ]]; then
    # Five zones at $0.00001 since 2006.
    cp "$recorded" site/recorded.xml
    faults "DescribeSpot 1 recorded"
    run market import --from aws --region us-east-1 --replace --json
    is "$(json "$counts" <<<"$out")" "[5, 5, True, 5, 5]" "the recorded answer $err"
else
    skip "the recorded answer" "no recordings beside the checkout"
fi
done_testing
