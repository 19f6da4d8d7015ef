#!/usr/bin/env bash
# cluster recommend: the rules by hand, mistakes, and clusters that cannot be.
. "$(dirname "$0")/tap.sh"

# The paper's tables 1 and 2 in Singapore; rates of one worker are made up.
cat >paper.yaml <<'YAML'
name: paper
server: {type: m4.large}
workers: {types: [m4.xlarge, t2.xlarge, c4.xlarge, p2.xlarge], max: 6}
place: aws/ap-southeast-1
types:
  m4.large: {network_mbps: 450}
  m4.xlarge: {mbps: 100, per_s: 2}
  t2.xlarge: {price: 0.2336, mbps: 110, per_s: 3}
  c4.xlarge: {mbps: 90, per_s: 1.5}
  p2.xlarge: {price: 1.718, mbps: 200, per_s: 10}
YAML
pick="d['algorithm'], d['server_type'], d['workers'], d['worker_type'], d['usd_per_hour'], d['limited_by']"

run cluster recommend paper.yaml --algorithm cost-opt --json
is "$code:$err:$(json "$pick" <<<"$out")" "0::cost-opt m4.large 6 c4.xlarge 1.511 max_workers" \
    "cost-opt with a maximum: the cheapest type; its price is the catalog's, 0.231"
run cluster recommend paper.yaml --algorithm time-opt --json
is "$(json "$pick" <<<"$out")" "time-opt m4.large 6 p2.xlarge 10.433 max_workers" "time-opt: the dearest"
run cluster recommend paper.yaml --algorithm scala-opt --json
is "$(json "$pick" <<<"$out")" "scala-opt m4.large 2 p2.xlarge 3.561 network" \
    "scala-opt: 0.95 x 450 / 200 = 2.1"
is "$(json "sorted((c['type'], c['workers'], c['limited_by']) for c in d['considered'])" <<<"$out")" \
    "[('c4.xlarge', 4, 'network'), ('m4.xlarge', 4, 'network'), ('p2.xlarge', 2, 'network'), ('t2.xlarge', 3, 'network')]" \
    "and what it considered: 427.5 / 90, / 100, / 200, / 110"
run cluster recommend paper.yaml --algorithm scala-opt-m --type t2.xlarge --json
is "$(json "$pick" <<<"$out")" "scala-opt-m m4.large 3 t2.xlarge 0.8258 network" "scala-opt-m: of that type"
run cluster recommend paper.yaml --algorithm cost-opt --budget 1 --json
is "$(json "$pick" <<<"$out")" "cost-opt m4.large 3 c4.xlarge 0.818 budget" "(1 - 0.125) / 0.231 = 3.8"
run cluster recommend paper.yaml --algorithm scala-opt --share 0.8 --json
is "$(json "$pick" <<<"$out")" "scala-opt m4.large 1 p2.xlarge 1.843 network" "0.8 x 450 / 200 = 1.8"

# model-opt: the cost of 3,600 iterations is USD per hour / iterations per second. Three t2 and the
# server: 0.8258 / 9 = 0.09176; four fill the network: 1.0594 / (3 x 427.5 / 110) = 0.09086; m4, c4
# and p2 come to 1.125 / 8, 1.049 / 6 and 3.561 / 20.
run cluster recommend paper.yaml --work 3600 --json
is "$(json "d['worker_type'], d['workers'], round(d['predicted']['cost_usd'], 9), round(d['predicted']['time_s'], 9)" <<<"$out")" \
    "t2.xlarge 4 0.090864717 308.771929825" "model-opt, least cost"
run cluster recommend paper.yaml --work 3600 --objective time --json
is "$(json "d['worker_type'], d['workers'], d['predicted']['throughput']" <<<"$out")" \
    "p2.xlarge 3 21.375" "least time: 10 x 427.5 / 200 per second, with three"
is "$(json "len(d['frontier']) > 1, sorted(d['frontier'], key=lambda f: -f['predicted']['time_s']) == d['frontier']" <<<"$out")" \
    "True True" "the frontier, from the cheapest to the fastest"
is "$(json "[a['algorithm'] for a in d['algorithms']]" <<<"$out")" \
    "['model-opt', 'cost-opt', 'time-opt', 'scala-opt']" "the rules beside each other"
run cluster recommend paper.yaml --json
is "$(json "d['predicted']['time_s'], d['predicted']['cost_usd']" <<<"$out")" "None None" \
    "without work there is neither time nor cost"

run cluster recommend paper.yaml --work 3600
contains "$out" "paper: 4 x t2.xlarge beside m4.large at aws/ap-southeast-1, \$1.06 per hour" "for people"
check "within 100 columns" test "$(awk 'length > 100' <<<"$out" | wc -l)" = 0

# What was measured counts where the file says nothing, for this command and batch size alone.
mkdir -p "$TRADEWIND_HOME"
cat >"$TRADEWIND_HOME/measured.csv" <<'CSV'
command,batch,type,mbps,per_s
./train,128,c4.xlarge,300,1
./train,128,c4.xlarge,150,1
./train,64,c4.xlarge,400,1
CSV
cat >measured.yaml <<'YAML'
run: ./train
batch: 128
server: {type: m4.large}
workers: {types: [c4.xlarge], max: 6}
place: aws/ap-southeast-1
types: {m4.large: {network_mbps: 450}}
YAML
run cluster recommend measured.yaml --algorithm scala-opt --json
is "$(json "d['workers']" <<<"$out")" 2 "measured: 427.5 / 150"
echo './train,128,c4.xlarge,no,1' >>"$TRADEWIND_HOME/measured.csv"
fails 2 "measured.csv:5: batch, mbps, per_s and workers are numbers above 0" cluster recommend measured.yaml
rm "$TRADEWIND_HOME/measured.csv"
fails 2 "no type of worker has known rates: \`tradewind cluster measure\` finds them" cluster recommend measured.yaml

# The whole catalog, by rates per vCPU and accelerator.
cat >all.yaml <<'YAML'
name: all
budget: 20
work: 100000
types: {vcpu: {mbps: 5, per_s: 0.2}, V100: {mbps: 300, per_s: 14}, T4: {mbps: 90, per_s: 4}}
YAML
run cluster recommend all.yaml --json
is "$code" 0 "any server and worker at any place"
is "$(json "d['usd_per_hour'] <= 20 and len(d['considered']) > 1000 and len({c['location'] for c in d['considered']}) > 50" <<<"$out")" \
    True "within the budget, among all of them"

# The widest server that is not named has to leave money for a worker: many have 100 Gbit/s.
printf '%s\n' 'workers: {types: [c4.xlarge]}' 'place: aws/ap-southeast-1' 'budget: 2' \
    'types: {c4.xlarge: {mbps: 90, per_s: 1}}' >any.yaml
run cluster recommend any.yaml --algorithm scala-opt --json
is "$code:$(json "d['workers'] >= 1 and d['usd_per_hour'] <= 2" <<<"$out")" 0:True "any server, within the budget"

# Mistakes.
fails 2 "none.yaml" cluster recommend none.yaml
fails 2 "scala-opt-m is for a type of your choice" cluster recommend paper.yaml --algorithm scala-opt-m
fails 2 "--algorithm \"best\": must be model-opt, cost-opt, time-opt, scala-opt or scala-opt-m" cluster recommend paper.yaml --algorithm best
fails 2 "--objective \"money\": must be cost or time" cluster recommend paper.yaml --objective money
fails 2 "--budget \"x\": must be a number" cluster recommend paper.yaml --budget x
fails 2 "cost-opt looks at one location" cluster recommend all.yaml --algorithm cost-opt
sed 's/c4.xlarge,/c4.xlrage,/' paper.yaml >bad.yaml
fails 2 "bad.yaml:3: workers: c4.xlrage is in no catalog: did you mean c4.xlarge?" cluster recommend bad.yaml
sed 's/  c4.xlarge:/  c4.xlrage:/' paper.yaml >bad.yaml
fails 2 "bad.yaml:9: types: c4.xlrage is in no catalog: did you mean c4.xlarge?" cluster recommend bad.yaml
sed 's/southeast-1/southeast-9/' paper.yaml >bad.yaml
fails 2 "bad.yaml:4: location: the catalog has no offer at aws/ap-southeast-9" cluster recommend bad.yaml
fails 2 "location: the catalog has no offer at aws/mars-1" cluster recommend paper.yaml --location aws/mars-1
is "${err%%location:*}" "tradewind: " "an option is no line of the file"
sed 's/, max: 6//' paper.yaml >bad.yaml
fails 2 "the size of the cluster has no limit" cluster recommend bad.yaml

sed 's/price: 0.2336/price: 0.0000001/' paper.yaml >bad.yaml
run cluster recommend bad.yaml --algorithm cost-opt --budget 1 --json
is "$code:$(json "$pick" <<<"$out")" "0:cost-opt m4.large 6 t2.xlarge 0.125006 max_workers" \
    "a price below a micro-dollar counts as one"

# No such cluster: exit 5 and words.
fails 5 "a budget of \$0.20 per hour does not pay a server and one worker" cluster recommend paper.yaml --budget 0.2
printf '%s\n' 'server: {types: [wide, narrow]}' 'workers: {types: [dear, fair]}' 'budget: 0.3' \
    'types: {wide: {price: 3, network_mbps: 900}, narrow: {price: 0.3, network_mbps: 90},' \
    '  dear: {price: 2, mbps: 9, per_s: 1}, fair: {price: 0.2, mbps: 9, per_s: 1}}' >pair.yaml
fails 5 "does not pay a server and one worker (narrow at \$0.30, fair at \$0.20)" cluster recommend pair.yaml
sed 's/, network_mbps: [0-9]*//' pair.yaml | sed 's/, network_mbps: 90}/}/' >bad.yaml
fails 2 "the network of no server is known: write types: {wide: {network_mbps: 450}}" cluster recommend bad.yaml
fails 5 "one p2.xlarge alone sends 200 Mbit/s, more than 0.3 of the 450 of m4.large" \
    cluster recommend paper.yaml --algorithm scala-opt-m --type p2.xlarge --share 0.3
fails 5 "none of the types for workers is sold at aws/eu-west-2" \
    cluster recommend measured.yaml --place aws/eu-west-2 --type p4de.24xlarge

# ---- running and measuring: what is refused before anything begins ----
cat >"$TRADEWIND_HOME/config.yaml" <<'YAML'
hosts:
  lab: [{host: nowhere.invalid}, {host: else.invalid}]
  big: [{host: third.invalid}]
YAML
cat >runs.yaml <<'YAML'
name: runs
run: exit 3
YAML
fails 2 "paper.yaml: names no command to run: add run:" cluster run paper.yaml --workers 1
fails 2 "runs.yaml: the number of workers is not known: give --workers N" cluster run runs.yaml
fails 2 "workers: c4.xlrage is in no catalog: did you mean c4.xlarge?" \
    cluster run runs.yaml --workers 1 --type c4.xlrage --yes
fails 2 "server: no-such is in no catalog" cluster run runs.yaml --workers 1 --server no-such --yes
fails 2 "location: the catalog has no offer at aws/mars-1" \
    cluster run runs.yaml --workers 1 --place aws/mars-1 --yes
fails 2 "--workers 0: must be from 1 to 10000" cluster run runs.yaml --workers 0
fails 2 "--workers 1.5: must be a whole number" cluster run runs.yaml --workers 1.5
fails 2 "--on moon: neither local, sim, a cloud nor a host group; there are lab, big" \
    cluster run runs.yaml --workers 1 --on moon
fails 2 "--on sim: a cluster runs for real" cluster run runs.yaml --workers 1 --on sim
fails 2 "--server-on big: names a host group, beside the workers' (--on GROUP)" \
    cluster run runs.yaml --workers 1 --server-on big
fails 5 "3 nodes need 3 hosts; group lab has 2" cluster run runs.yaml --workers 2 --on lab --yes
fails 5 "nodes do not fit this machine at once" cluster run runs.yaml --workers 9000 --yes
fails 2 "--env TRADEWIND_RANK: tradewind sets it itself" \
    cluster run runs.yaml --workers 1 --yes --json --env TRADEWIND_RANK=1
fails 2 "no terminal to confirm" cluster run runs.yaml --workers 1 --json </dev/null
fails 2 "a worker is measured on a machine of its own" cluster measure runs.yaml
fails 2 "a worker is measured on a machine of its own" cluster measure runs.yaml --on local --type x
fails 2 "--seconds 1.0 s: must be from 3.0 s to 1 h 00 m" cluster measure runs.yaml --on lab --seconds 1
is "$("$TRADEWIND" run ls --json)" "[]" "nothing was started"

"$TRADEWIND" cluster run runs.yaml --workers 1 --yes --cpus 0.5 --memory 256 >ran.txt 2>&1
is "$?" 1 "a cluster whose nodes fail has failed"
check "and says which: one of them ends the other" grep -q "rank [01] failed: exit code 3" ran.txt
"$TRADEWIND" broker --stop >/dev/null 2>&1

done_testing
