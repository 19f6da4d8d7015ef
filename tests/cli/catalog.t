#!/usr/bin/env bash
# catalog info, list, show, export and reset on a small catalog of our own layout
. "$(dirname "$0")/tap.sh"

mkdir small
cat >small/offers.csv <<'CSV'
# date: 2026-01-02
cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour
east,e1,e1-a,m.small,2,8,,,10,0.1,0.03,
east,e1,e1-b,m.small,2,8,,,10,0.1,0.02,0.05
east,e2,,m.big,16,64,,,,0.9,,
east,e1,,g.one,8,32,A100,1,,3.5,1.25,
west,w1,,x4,48,340,A100,4,,12,5,
west,w1,,x4s,48,340,H100-SXM,4,,,9,
west,w2,,tpu-v5e-8,,,tpu-v5e-8,1,,9.6,,
CSV
cat >small/transfers.csv <<'CSV'
src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms
*,*,internet,*,0.09,0,5,40
*,*,internet,*,0.05,10240,,
*,*,=,*,0.01,,,
CSV
cat >small/storage.csv <<'CSV'
cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,usd_per_1000_list
east,e1,standard,0.023,0.0004,0.005,0.005
CSV

# types ARGUMENTS...: the instance types that catalog list prints, one a word
types() {
    "$TRADEWIND" catalog list --json "$@" | json '" ".join(o["instance_type"] for o in d)'
}

# field EXPRESSION ARGUMENTS...: of the JSON document d that tradewind prints
field() {
    local expression=$1
    shift
    "$TRADEWIND" "$@" | json "$expression"
}

run catalog info
is "$code" 0 "info of the built-in catalog"
contains "$out" "Catalog: built-in, 20" "it says that it is the built-in one, and its date"
check "and that azure's prices are older" grep -qE '^azure .* 2024-08-19 +built-in$' <<<"$out"

"$TRADEWIND" catalog import small/offers.csv >/dev/null
is "$(field 'd["clouds"][-1]["cloud"], len(d["clouds"]) > 3' catalog info --json)" \
    "west True" "imported clouds stand beside the built-in ones"
"$TRADEWIND" catalog reset >/dev/null
"$TRADEWIND" catalog import small >/dev/null

is "$(types --cloud east)" "m.small m.small m.big g.one" "list: by the lower price"
is "$(types --cloud east --market on-demand)" "m.small m.small m.big g.one" "list: on demand"
is "$(types --cloud east --market spot)" "m.small m.small g.one" "list: only what is sold on spot"
is "$(types --cloud west --market spot)" "x4 x4s" "list: spot prices of another cloud"
is "$(types --cloud east --sort memory)" "m.small m.small g.one m.big" "list: by memory"
is "$(types --cloud east --sort cpus)" "m.small m.small g.one m.big" "list: by vCPUs"
is "$(types --cloud east --sort accelerators)" "m.small m.small m.big g.one" \
    "list: by accelerators, none first; equal ones by location"
is "$(types --cloud east --sort spot)" "m.small m.small g.one m.big" \
    "list: by spot price, what has none last"
is "$(types --cloud east --sort location)" "g.one m.small m.small m.big" "list: by location"
is "$(types --cloud east --sort place)" "g.one m.small m.small m.big" \
    "list: by location, in its older word"
is "$(types --cloud East --region e2)" "m.big" "list: clouds without regard to case"
is "$(types --cloud east --region e2)" "m.big" "list: one region"
is "$(types --cloud east --cpus 2)" "m.small m.small" "list: exactly 2 vCPUs"
is "$(types --cloud east --cpus 8+)" "m.big g.one" "list: at least 8 vCPUs"
is "$(types --cloud east --cpus 3-8)" "g.one" "list: 3 to 8 vCPUs"
is "$(types --cloud west --cpus 1+)" "x4 x4s" "list: unknown vCPUs are not 1 or more"
is "$(types --cloud east --memory 32+)" "m.big g.one" "list: at least 32 GiB"
is "$(types --cloud east --max-price 0.9 --market on-demand)" "m.small m.small m.big" \
    "list: at most 0.9, inclusively"
is "$(types --cloud east --max-price 0.02)" "m.small" "list: at most 0.02 in any market"
is "$(types --cloud west --accelerator a100)" "x4" "list: accelerators without regard to case"
is "$(types --cloud west --accelerator A100:1)" "" "list: an exact number of accelerators"
is "$(types --cloud west --accelerator H100)" "x4s" "list: H100-SXM is an H100"
is "$(types --cloud east --limit 2)" "m.small m.small" "list: a limit"
is "$(types --cloud east --limit 0)" "" "list: a limit of 0"
is "$(field 'd[0]' catalog list --json --cloud east --limit 1)" \
    "{'cloud': 'east', 'region': 'e1', 'zone': 'e1-b', 'instance_type': 'm.small', 'vcpus': 2.0, 'memory_gib': 8.0, 'accelerator': None, 'accelerator_count': None, 'network_gbps': 10.0, 'price_usd_per_hour': 0.1, 'spot_usd_per_hour': 0.02, 'preemptions_per_hour': 0.05}" \
    "list: every field of an offer"
is "$(field 'd[0]["vcpus"], d[0]["zone"], d[0]["spot_usd_per_hour"], d[0]["accelerator"]' \
    catalog list --json --cloud west --region w2)" "None None None tpu-v5e-8" \
    "list: null where unknown"

run catalog list --cloud east --limit 3
contains "$out" "1 more" "list: says that there is more"
is "$(head -n 2 <<<"$out")" "location      type     vcpus  GiB  accelerator  per hour     spot
east/e1/e1-b  m.small      2    8  -             \$0.1000  \$0.0200" "list: the table"
is "$("$TRADEWIND" catalog list | awk 'length > 100' | wc -l)" 0 "list: within 100 columns"
is "$("$TRADEWIND" catalog list | grep -c /)" 50 "list: 50 offers for people"
run catalog list --cloud east --cpus 3
is "$code $out" "0 No offer passes these filters." "list: nothing passes"
is "$("$TRADEWIND" catalog list --json --cloud east --cpus 3)" "[]" "list: nothing passes, as JSON"

fails 3 'did you mean "east"?' catalog list --cloud eats
fails 3 'did you mean "e1"?' catalog list --cloud east --region e11
fails 3 'no offer has the accelerator "Gaudi77"' catalog list --accelerator Gaudi77
fails 2 '--cpus "many" must be 4, 4+ or 4-8' catalog list --cpus many
fails 2 '--market "sport"' catalog list --market sport
fails 2 '--sort "prize": did you mean price?' catalog list --sort prize
fails 2 '--limit 1.5: must be a whole number' catalog list --limit 1.5
fails 2 '--limit -1: must be at least 0' catalog list --limit=-1
fails 2 '--max-price -1: must be at least 0' catalog list --max-price=-1
fails 2 '--accelerator ":8"' catalog list --accelerator :8

run catalog show m.small
is "$out" "east m.small: 2 vCPUs, 8 GiB, 10 Gbit/s

location      per hour     spot
east/e1/e1-b   \$0.1000  \$0.0200
east/e1/e1-a   \$0.1000  \$0.0300" "show: one type at all its locations"
is "$(field '[o["zone"] for o in d]' catalog show --json m.small)" "['e1-b', 'e1-a']" \
    "show: as JSON"
fails 3 'no offer has the instance type "m.smal"; did you mean "m.small"?' catalog show m.smal
fails 3 'no offer has the instance type "zzzzzzzzzzzz"; `tradewind catalog list` lists offers' catalog show zzzzzzzzzzzz
contains "$("$TRADEWIND" catalog show g.one)" ", 1 x " "show: accelerators"
fails 2 'TYPE' catalog show

is "$(field '[(c["cloud"], c["regions"], c["kinds"], c["offers"], c["priced_on_demand"], c["priced_spot"]) for c in d["clouds"] if c["cloud"] in ("east", "west")]' catalog info --json)" \
    "[('east', 2, 3, 4, 4, 3), ('west', 2, 3, 3, 2, 2)]" "info: counts"
is "$(field 'd["transfers"], d["storage"]' catalog info --json)" "3 1" "info: transfers, storage"
contains "$("$TRADEWIND" catalog info)" "Catalog: $TRADEWIND_HOME/catalog, imported 20" \
    "info: where it is"

run catalog export out/of/here
is "$code" 0 "export makes the directory"
contains "$(grep -v '^[a-df-v]' out/of/here/offers.csv)" \
    "east,e1,e1-b,m.small,2,8,,,10,0.1,0.02,0.05" "export: an offer"
is "$(cat out/of/here/storage.csv)" "$(cat small/storage.csv)" "export: storage"
is "$(wc -l <out/of/here/transfers.csv)" 4 "export: transfers"
TRADEWIND_HOME=$scratch/second "$TRADEWIND" catalog import out/of/here >/dev/null
TRADEWIND_HOME=$scratch/second "$TRADEWIND" catalog export again >/dev/null
check "export, import, export: the same files" diff -r out/of/here again
touch file
fails 7 "file/x" catalog export file/x
fails 7 "create directory" catalog export ''
TRADEWIND_HOME=$scratch/$'\xff' "$TRADEWIND" catalog import out/of/here >/dev/null
TRADEWIND_HOME=$scratch/$'\xff' run catalog info --json
contains "$code $out" "\"origin\": \"$scratch/?/catalog, imported 20" "a home that is no UTF-8"
is "$(stat -c %a "$scratch/"$'\xff')" 700 "and that an import has made is its owner's alone"

run catalog reset
contains "$out" "built-in" "reset: the built-in catalog is back"
fails 3 'no offer has the cloud "east"' catalog list --cloud east
done_testing
