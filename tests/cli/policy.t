#!/bin/bash
# tradewind policy solve: what it reads, prints and refuses. The figures of answers are worked out in
# tests/unit/policy/test_policy.c and compared with GLPK by policy-referee.t.
. "$(dirname "$0")/tap.sh"

# One machine at $3, an hour's work each: the first by the first hour, the second by the second.
two() { # MORE...: further members of the file
    cat >two.json <<END
{"types": [{"name": "V100", "price_usd_per_hour": 3, "quota": 1}],
 "jobs": [
  {"name": "a", "throughput": {"V100": 10}, "iterations": 10, "slo_h": 1},
  {"name": "b", "throughput": {"V100": 10}, "iterations": 10, "slo_h": 2}]${1:+, $1}}
END
}

two
run policy solve two.json --policy min-cost-slo --json
is "$code:$err" "0:" "an answer"
is "$(json 'd["status"], d["objective"], d["unit"], abs(d["bound"] - 6) < 1e-6' <<<"$out")" \
    "optimal 6.0 \$ True" "six dollars, proved"
is "$(json '[(h["from_h"], h["to_h"], h["jobs"]) for h in d["hours"]]' <<<"$out")" \
    "[(0.0, 1.0, {'a': {'V100': 1.0}}), (1.0, 2.0, {'b': {'V100': 1.0}})]" "one after the other"
is "$(json 'd["shares"], d["shortfall"], sorted(d["shadow_prices"])' <<<"$out")" \
    "None {} ['V100']" "windows have hours, not shares"
check "elapsed_ms is a time" [ "$(json '0 < d["elapsed_ms"] < 600000' <<<"$out")" = True ]

run policy solve two.json --policy min-cost-slo
is "$code:$err" "0:" "tables"
contains "$out" 'min-cost-slo: $6.00, proved optimal' "people read the objective first"
contains "$out" "1 h to 2 h  b       1  V100" "then who runs where"
check "lines fit 100 columns" [ "$(wc -L <<<"$out")" -le 100 ]

run policy solve - --policy min-makespan --json <two.json
is "$code:$(json 'd["objective"], d["shares"]' <<<"$out")" \
    "0:2.0 {'a': {'V100': 0.5}, 'b': {'V100': 0.5}}" "makespan of standard input"

# At rates that stay the same both do not fit; 1.5 times the time is enough.
run policy solve two.json --policy min-cost-slo --form rate --json
is "$code:$err" "5:" "infeasible exits 5"
is "$(json 'd["status"], d["objective"], sum(d["shortfall"].values()), d["stretch"]' <<<"$out")" \
    "infeasible None 0.5 1.5" "half of one job is missing, and 1.5 times as late is enough"
is "$(json 'd["budget_needed_usd"]' <<<"$out")" None "no budget is enough"
run policy solve two.json --policy min-cost-slo --form rate
is "$code" 5 "and for people"
contains "$err" "1 of 2 jobs falls short" "which says how many"
contains "$err" "lacks 50 % of its iterations; deadlines 1.5 times as late would be enough" "and the way out"
contains "$out" "50.00 %" "a table has all of them"

two '"budget_usd": 4.5'
run policy solve two.json --policy min-cost-slo --json
is "$code:$(json 'd["budget_needed_usd"], d["stretch"], sum(d["shortfall"].values())' <<<"$out")" \
    "5:6.0 None 0.5" "the smallest sufficient budget"

# An hour and a half of work for each: with deadlines 1.5 times as late it costs $9, and $7 are too
# little however late it is. By the deadlines they are enough for 2 h of the 3.
sed -i 's/"iterations": 10/"iterations": 15/g; s/4.5/7/' two.json
run policy solve two.json --policy min-cost-slo --json
is "$code:$(json 'd["stretch"], d["budget_needed_usd"], round(sum(d["shortfall"].values()), 6)' <<<"$out")" \
    "5:1.5 9.0 0.666667" "both are needed: later deadlines and more money"
contains "$(json 'd["reason"]' <<<"$out")" 'deadlines 1.5 times as late with a budget of $9.00 would be enough' \
    "and it says so"

# ---- what rounding leaves ----

# Shares and sums of them stay within limits to the last digit.
beyond='[k for w in d["hours"] for k, u in w["jobs"].items() if sum(u.values()) > w["to_h"] - w["from_h"]]'
run policy solve "$root/examples/policy.json" --policy min-cost-slo --json
is "$(json "$beyond" <<<"$out")" "[]" "nobody has more hours than there are"
is "$(json 'd["bound"] <= d["objective"] <= 110' <<<"$out")" True "no objective below its bound"

# A job that needs a billionth of its window.
cat >little.json <<END
{"types": [{"name": "V", "price_usd_per_hour": 3, "quota": 2}], "jobs": [
 {"name": "a", "throughput": {"V": 33.33333}, "iterations": 100, "slo_h": 200},
 {"name": "b", "arrival_h": 3, "throughput": {"V": 1}, "iterations": 5, "slo_h": 200}]}
END
run policy simulate little.json --policy min-cost-slo --json
is "$code:$(json 'd["jobs_done"], d["slo_violations"]' <<<"$out")" "0:2 0" "little left to do is done"

# ---- bad input: the place, the way out, exit 2 ----

refuses() { # PART TEXT
    printf '%s' "$2" >bad.json
    fails 2 "$1" policy solve bad.json --policy max-throughput
}
type='{"name": "t", "price_usd_per_hour": 1, "quota": 1}'
job='{"name": "a", "throughput": {"t": 1}}'
refuses 'bad.json: line 2: ' $'{"types": [],\n"jobs": [}'
refuses 'bad.json: expected an object {types, jobs, ...}' '[]'
refuses 'bad.json: no jobs: add at least one' "{\"types\": [$type]}"
refuses 'bad.json: types: expected an array' '{"types": {}}'
refuses 'bad.json: types[0].name: expected a string of 1 to 200 bytes' '{"types": [{"quota": 1}]}'
refuses 'bad.json: types[0].quota: missing; expected a number' \
    '{"types": [{"name": "t", "price_usd_per_hour": 1}]}'
refuses 'bad.json: types[0].quota: -1 is not a number from 0' \
    '{"types": [{"name": "t", "price_usd_per_hour": 1, "quota": -1}]}'
refuses 'bad.json: types[0].price_usd_per_hour: 1e+300 is not a number' \
    '{"types": [{"name": "t", "price_usd_per_hour": 1e300, "quota": 1}]}'
refuses 'bad.json: types[1].name: "t" is already the name of types[0]' "{\"types\": [$type, $type]}"
refuses 'bad.json: jobs[1].name: "a" is already the name of jobs[0]' \
    "{\"types\": [$type], \"jobs\": [$job, $job]}"
refuses 'bad.json: jobs[0].throughput: types has no "u"' \
    "{\"types\": [$type], \"jobs\": [{\"name\": \"a\", \"throughput\": {\"u\": 1}}]}"
refuses 'bad.json: jobs[0].throughput.t: expected a number' \
    "{\"types\": [$type], \"jobs\": [{\"name\": \"a\", \"throughput\": {\"t\": \"x\"}}]}"
refuses 'bad.json: jobs[0].gang: 1.5 is not a whole number' \
    "{\"types\": [$type], \"jobs\": [{\"name\": \"a\", \"gang\": 1.5, \"throughput\": {\"t\": 1}}]}"
refuses 'bad.json: jobs[0].iterations: 0 is not a number from' \
    "{\"types\": [$type], \"jobs\": [{\"name\": \"a\", \"iterations\": 0, \"throughput\": {}}]}"
refuses 'bad.json: jobs[0].thruput: unknown field; did you mean "throughput"?' \
    "{\"types\": [$type], \"jobs\": [{\"name\": \"a\", \"thruput\": {}}]}"
refuses 'bad.json: price_intervals[1].end_h: 1 is not after 2' \
    "{\"types\": [$type], \"jobs\": [$job], \"price_intervals\": [{\"end_h\": 2, \"prices\": {}}, {\"end_h\": 1, \"prices\": {}}]}"
refuses 'bad.json: line 1: ' '{"types": NaN}'
refuses 'bad.json: line 1: ' '{"types": [], "types": []}'
fails 2 "no.json: No such file or directory" policy solve no.json --policy max-throughput
fails 2 "--policy: is missing" policy solve two.json
fails 2 'did you mean max-throughput?' policy solve two.json --policy max-thruput
fails 2 "must be windows or rate" policy solve two.json --policy min-cost-slo --form hours
fails 2 "only min-cost-slo has forms" policy solve two.json --policy min-cost --form rate
fails 2 "--columns 0: must be from 1 to" policy solve two.json --policy min-cost-slo --columns 0
truncate -s 65M large.json
fails 2 "large.json: larger than the limit of 67108864 bytes" policy solve large.json --policy max-throughput

# A job that no type can take is named; jobs without work in their way are not hindered.
cat >nowhere.json <<END
{"types": [$type], "jobs": [{"name": "wide", "gang": 2, "throughput": {"t": 1}, "iterations": 1},
 {"name": "zero", "throughput": {"t": 0}, "iterations": 1}, {"name": "fits", "throughput": {"t": 2}, "iterations": 1}]}
END
run policy solve nowhere.json --policy min-makespan --json
is "$code:$(json 'd["shortfall"], d["stretch"], d["budget_needed_usd"]' <<<"$out")" \
    "5:{'wide': 1.0, 'zero': 1.0} None None" "jobs that cannot run"
contains "$(json 'd["reason"]' <<<"$out")" '2 of 3 jobs cannot run, for example "wide"' "and why"
# Beside it, two hours of work for one hour of the only machine: half is not done, and that is told, too.
sed 's/"t": 0}, "iterations": 1}/"t": 1}, "iterations": 2, "slo_h": 1}/; s/{"t": 2}, "iterations": 1/{"t": 2}, "iterations": 0.5/' nowhere.json >beside.json
for policy in min-cost-slo throughput-per-dollar; do
    [[ $policy = min-cost-slo ]] || sed -i 's/"gang": 2,/"gang": 2, "slo_h": 1,/' beside.json
    run policy solve beside.json --policy $policy --json
    is "$code:$(json 'd["shortfall"], d["stretch"], d["budget_needed_usd"]' <<<"$out")" \
        "5:{'wide': 1.0, 'zero': 0.5} None None" "$policy: shortfalls beside a job that cannot run"
    contains "$(json 'd["reason"]' <<<"$out")" "make the gang smaller; 1 other falls short, too" "and it says so"
done
run policy solve nowhere.json --policy max-throughput --json
is "$code:$(json 'd["objective"]' <<<"$out")" "0:2.0" "the others run all the same"
is "$(json 'd["without_share"]' <<<"$out")" "{'wide': 'nowhere', 'zero': 'nowhere'}" "who gets nothing"
sed -i 's/"t": 0/"t": 1/' nowhere.json
run policy solve nowhere.json --policy max-throughput
contains "$out" "wide gets nothing: no type with a throughput for the job has room for its gang of 2." "people are told, too"
contains "$out" "zero gets nothing: other jobs make better use of the instances." "and why"

done_testing
