#!/usr/bin/env bash
# geo plan: placements of a training's function and store; the sums behind them are in
# tests/unit/geo.
. "$(dirname "$0")/tap.sh"

cat >four.yaml <<'YAML'
name: four
model: {size: 17MB}
rounds: 100
train: {seconds: 9}
workers:
  - {place: aws/ap-south-1}
  - {place: aws/eu-west-2}
  - {place: aws/us-west-2, count: 2}
YAML

run geo plan four.yaml --json
is "$code:$err" "0:" "a training plans"
is "$(json "d['workers'], d['considered'], len(d['placements'])" <<<"$out")" "4 432 432" \
    "12 functions, 12 stores, 3 topologies"
is "$(json "sorted(d['best'])" <<<"$out")" \
    "['cost', 'cost_usd_per_round', 'counts', 'function', 'phases', 'store', 'time_s_per_round', 'topology']" \
    "what a placement has"
is "$(json "all(abs(sum(p['phases'].values()) - p['time_s_per_round']) < 1e-9 and abs(sum(p['cost'].values()) - p['cost_usd_per_round']) < 1e-12 for p in d['placements'])" <<<"$out")" \
    True "phases add up to the time, parts to the cost, in every placement"
is "$(json "d['best']['cost_usd_per_round'] == min(p['cost_usd_per_round'] for p in d['placements']) and d['fastest']['time_s_per_round'] == min(p['time_s_per_round'] for p in d['placements'])" <<<"$out")" \
    True "best and fastest are what they are called"
is "$(json "[p for p in d['placements'] for f in d['frontier'] if p['cost_usd_per_round'] < f['cost_usd_per_round'] and p['time_s_per_round'] < f['time_s_per_round']]" <<<"$out")" \
    "[]" "nothing is better than the frontier"
# 100 rounds; transfer is 17e6 / 2^30 GB x (0.086 + 0.02 up, 0.02 + 0.02 down) x 100.
is "$(json "d['best']['function'], d['best']['store'], d['best']['topology'], d['total']['cost']['transfer']" <<<"$out")" \
    "aws/us-west-2 aws/us-west-2 central 0.231154" "its transfer, to the micro-dollar"
is "$(json "[o['setting'] + ' ' + o['value'] for o in d['options']]" <<<"$out")" \
    "['compression int8', 'compression topk:0.01', 'connections 8', 'quorum 0.75']" "what is offered"

run geo plan four.yaml --objective time --json
is "$(json "d['best']['time_s_per_round'] == min(p['time_s_per_round'] for p in d['placements'])" <<<"$out")" \
    True "--objective time"
run geo plan four.yaml --topology fanout --function gcp --store aws/eu-west-2 --json
is "$(json "len(d['placements']), {p['topology'] for p in d['placements']}, {p['store'] for p in d['placements']}" <<<"$out")" \
    "4 {'fanout'} {'aws/eu-west-2'}" "what is pinned stays"
run geo plan four.yaml --compression int8 --connections 4 --quorum 0.5 --size 40MB --rounds 2 --train-s 3 --json
is "$(json "d['options'], d['best']['phases']['train_s'], d['total']['rounds']" <<<"$out")" \
    "[] 3.0 2.0" "options go before the file, and what is chosen is not offered"
run geo plan four.yaml --json
offered=$(json "[(o['best']['cost_usd_per_round'], o['best']['time_s_per_round']) for o in d['options'] if o['setting'] == 'quorum']" <<<"$out")
run geo plan four.yaml --quorum 0.75 --json
is "[($(json "d['best']['cost_usd_per_round'], d['best']['time_s_per_round']" <<<"$out" | sed 's/ /, /'))]" "$offered" \
    "a quorum of three quarters is what was offered as that"
# Three of four are averaged, and four read the result; whoever is late uploads and bills.
counts="d['best']['topology'], c['reads'] - c['failed_polls'], c['writes'], c['lists'], c['invocations']"
is "$(json "[($counts) for c in [d['best']['counts']]][0]" <<<"$out")" "('central', 7.0, 5.0, 4.0, 4.0)" \
    "a quorum of three of four: 3 + 4 reads, n + 1 writes, n lists, n invocations"
sed 's/rounds: 100/quorum: 0.75/' four.yaml >quorum.yaml
run geo plan quorum.yaml --json
is "[($(json "d['best']['cost_usd_per_round'], d['best']['time_s_per_round']" <<<"$out" | sed 's/ /, /'))]" "$offered" \
    "so it is in the file"
run geo plan --workers aws:us-west-2,gcp:europe-west2 --size 17MB --train-s 9
is "$code:$err" "0:" "no file at all"
contains "$out" "training: 2 workers, each sends 17 MB per round; 432 placements" "the headline"
contains "$out" "cheapest" "the cheapest is marked"
check "within 100 columns" test "$(LC_ALL=C.UTF-8 awk 'length > 100' <<<"$out" | wc -l)" = 0
run geo plan four.yaml --pareto
contains "$out" "cheapest" "--pareto"
run geo plan four.yaml --all
check "--all lists every placement" test "$(grep -cE '^(central|regional|fanout) ' <<<"$out")" = 432

run geo plan --paper --json
is "$(json "len(d['cells']), len({(c['training'], c['workers'], c['aggregator'], c['city']) for c in d['cells']})" <<<"$out")" \
    "96 96" "the paper's 48 cells of two trainings"
is "$(json "[s['agrees'] for s in d['statements'] if 'least cost' in s['paper']]" <<<"$out")" \
    "[True]" "its cheapest cell is ours: AWS, Lambda + S3, Oregon"
is "$(json "[s['agrees'] for s in d['statements'] if 'faster than regional' in s['paper']]" <<<"$out")" \
    "[True]" "one aggregator is faster than two levels"

is "$(json "[s['agrees'] for s in d['statements'] if 'with two workers in each city' in s['paper']]" <<<"$out")" \
    "[True]" "with two workers a city, central in London costs half as much again as regional"
cat >paper.py <<'PYTHON'
import csv, json, math, sys
d = json.load(sys.stdin)
towns = "Mumbai London Oregon Sydney".split()
regions = {"aws": "ap-south-1 eu-west-2 us-west-2 ap-southeast-2", "azure": "centralindia uksouth westus2 australiaeast",
           "gcp": "asia-south1 europe-west2 us-west1 australia-southeast1"}
place = {(c, t): (c, r) for c, names in regions.items() for t, r in zip(towns, names.split())}
# B15: of each training the cell of least cost and that of least time.
for figure, what in (("cost_usd_per_round", "least cost"), ("time_s_per_round", "least time")):
    least = []
    for training in ("NISER", "sentiment analysis"):
        cells = [c for c in d["cells"] if c["training"] == training]
        cell = min(cells, key=lambda c: c[figure])
        least.append(f"{cell['workers']}, {cell['aggregator']} in {cell['city']}")
        print(len(cells), end=" ")
    print(*[s["here"] == "; ".join(least) for s in d["statements"] if what in s["paper"]])
# B14: 4 x 4 cities of 3 x 2 combinations; docs/geo.md, "Time of a round", over the table of links.
with open(sys.argv[1]) as f:
    links = {tuple(r[:4]): (float(r[5]), float(r[6])) for r in csv.reader(f) if len(r) > 6 and r[0] in regions}
def mbps(link, size=17e6):
    link_mbps, rtt = (math.inf, 1) if link not in links else links[link]
    rtt /= 1000
    rate = min(3 * 2**20 / rtt, 85e6, link_mbps * 125000)
    window, sent, flights = 14600, 0, 0
    while window < rate * rtt and sent < size:
        sent, window, flights = sent + window, 2 * window, flights + 1
    return size * 8e-6 / (2 * rtt + rtt + 0.1 + flights * rtt + (size - min(sent, size)) / rate)
seen, far = set(), 0
for b in d["bandwidths"]:
    store = {"S3": "aws", "GCS": "gcp"}[b["store"]]
    link = (*place[b["workers"], b["from"]], *place[store, b["to"]])
    seen.add(link)
    far = max(far, abs(b["mbps"] / mbps(link) - 1))
print(len(d["bandwidths"]), len(seen), far < 1e-9)
PYTHON
is "$(python3 paper.py "$root/data/geo-links.csv" <<<"$out" | paste -sd' ')" \
    "48 48 True 48 48 True 96 96 True" "B14, B15: bandwidths by hand, and the least cells of each training"
# One of them by the pocket calculator: London to S3 in Oregon, 130.4 ms, 24.1237 MB/s; 17 MB take
# 3 x 0.1304 + 0.1 + (8 x 0.1304 - 3.723 / 24.1237) + 17 / 24.1237 = 2.0848 s.
is "$(json "[round(b['mbps'], 1) for b in d['bandwidths'] if (b['workers'], b['from'], b['store'], b['to']) == ('aws', 'London', 'S3', 'Oregon')]" <<<"$out")" \
    "[65.2]" "136 Mbit in 2.0848 s"
run geo plan --paper
contains "$out" "Mbit/s of an upload of 17MB" "--paper prints them"
check "the paper's tables are within 100 columns" test "$(grep -v ─ <<<"$out" | awk 'length > 100' | wc -l)" = 0

# Mistakes: file, line, way out; nothing printed.
fails 2 "none.yaml" geo plan none.yaml
fails 2 "there are no workers" geo plan
fails 2 "--workers: workers: \"aws\" names no region" geo plan --workers aws --size 1MB --train-s 1
fails 2 "--quorum: quorum: \"2\" is out of range" geo plan four.yaml --quorum 2
fails 2 "--objective \"money\": must be cost or time" geo plan four.yaml --objective money
fails 2 "--paper plans the paper's own" geo plan four.yaml --paper
sed 's/eu-west-2/eu-west-9/' four.yaml >bad.yaml
fails 2 "bad.yaml:7: location: nothing is known about aws/eu-west-9: did you mean aws/eu-west-" geo plan bad.yaml
sed 's/eu-west-2/eu-west-2, instance_type: m99.large/' four.yaml >bad.yaml
fails 2 "bad.yaml:7: instance_type: aws has no machine m99.large" geo plan bad.yaml
sed 's/rounds: 100/roundz: 100/' four.yaml >bad.yaml
fails 2 "bad.yaml:3: unknown field \"roundz\": did you mean rounds?" geo plan bad.yaml
sed 's/rounds: 100/rounds: 1000000000/; s/17MB/9GB/' four.yaml >bad.yaml
fails 2 "the training costs more than" geo plan bad.yaml

# Nothing fits: exit 5 and words.
fails 5 "no tariff of a function is known at aws/eu-north-1" geo plan four.yaml --function aws/eu-north-1
fails 5 "no tariff of a store is known at oci" geo plan four.yaml --store oci
sed 's/eu-west-2/eu-central-1/' four.yaml >other.yaml
fails 5 "use topology: central" geo plan other.yaml --topology regional
run geo plan other.yaml --json
is "$(json "{p['topology'] for p in d['placements']}" <<<"$out")" "{'central'}" \
    "a worker where no function is known takes part in central ones"

done_testing
