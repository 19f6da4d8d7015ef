#!/bin/bash
# tradewind policy simulate: small traces worked out by hand, what it prints and what it refuses.
# policy-rounds-referee.t replays random ones.
. "$(dirname "$0")/tap.sh"

# trace JOBS [MORE]: one V100 at $3 unless MORE says otherwise; JOBS and MORE are members of objects
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 1}'
trace() {
    cat >trace.json <<END
{"types": [$types], "jobs": [$1]${2:+, $2}}
END
}
simulate() { # POLICY OPTIONS...
    run policy simulate trace.json --policy "$@" --json
}
job() { # NAME ITERATIONS MORE: ten iterations an hour
    printf '{"name": "%s", "throughput": {"V100": 10}, "iterations": %s%s}' "$1" "$2" "${3:+, $3}"
}
lives='[(j["name"], j["start_h"], j["finish_h"], j["cost_usd"]) for j in d["jobs"]]'

# One job of 2.5 hours that comes at 0.3 h begins with the round of 1 h: $7.50, of which the last half
# hour is half a round. Nothing could be cheaper; from its arrival it could have been done in 2.5 h.
trace "$(job a 25 '"arrival_h": 0.3, "slo_h": 4')"
simulate max-throughput
is "$code:$err:$(json "$lives" <<<"$out")" "0::[('a', 1.0, 3.5, 7.5)]" "one job"
is "$(json 'd["cost_usd"], d["rounds"], d["solves"], d["slo_violations"], d["jobs_done"]' <<<"$out")" \
    "7.5 3 1 0 1" "its totals"
is "$(json 'round(d["makespan_h"], 9), round(d["mean_completion_h"], 9)' <<<"$out")" "3.2 3.2" \
    "from arrival to end"
is "$(json 'round(d["utilisation"]["V100"], 9)' <<<"$out")" 0.78125 "2.5 of 3.2 hours in use"
is "$(json 'round(d["bound"]["cost_usd"], 4), round(d["bound"]["makespan_h"], 4)' <<<"$out")" \
    "7.5 2.5" "the bounds"
is "$(json 'd["bound"]["cost_gap"], round(d["bound"]["makespan_gap"], 3)' <<<"$out")" "0.0 0.28" \
    "and how far it is from them"
is "$(json 'd["jobs"][0]["slo_met"], d["jobs"][0]["deadline_h"], d["jobs"][0]["waited_h"]' <<<"$out")" \
    "True 4.3 0.7" "a deadline that is kept"

# The least time for two equal jobs gives both half of the machine: they take turns. a has the hours
# 0, 2, 4, b has 1, 3, 5.
trace "$(job a 30),$(job b 30)"
simulate min-makespan --restart 0
is "$code:$(json "$lives" <<<"$out")" "0:[('a', 0.0, 5.0, 9.0), ('b', 1.0, 6.0, 9.0)]" \
    "two jobs with the same share take turns"
# With restarts of 6 minutes both keep the machine for two hours (twenty restarts) at least. a has 0 to
# 2; then b, which got nothing yet, 2 to 4; then both have had 2 of 2.5 hours, and who runs goes on: b
# is done at 5, and a restarts, works an hour and is done at 6.1: $9.30.
simulate min-makespan --restart 360
is "$code:$(json "$lives" <<<"$out")" "0:[('a', 0.0, 6.1, 9.3), ('b', 2.0, 5.0, 9.0)]" \
    "restarts are paid, and make turns longer"
is "$(json '[(j["restarts"], j["switches"], round(j["lost_h"], 3)) for j in d["jobs"]]' <<<"$out")" \
    "[(1, 0, 0.1), (0, 0, 0.0)]" "they are counted"

# A step in mid-round: half an hour at $3, half an hour at $5, pro rata.
trace "$(job a 10)" '"price_intervals": [{"end_h": 0.5, "prices": {"V100": 3}}, {"end_h": 9, "prices": {"V100": 5}}]'
simulate max-throughput
is "$(json "$lives" <<<"$out")" "[('a', 0.0, 1.0, 4.0)]" "a price that steps in the middle of a round"

# $1/3 for an hour in rounds of 20 minutes: three times 111,111 micro-dollars.
types='{"name": "V100", "price_usd_per_hour": 0.333333333, "quota": 1}' trace "$(job a 10)"
simulate max-throughput --round 20
is "$(json 'd["cost_usd"], d["jobs"][0]["cost_usd"]' <<<"$out")" "0.333333 0.333333" \
    "micro-dollars, rounded where they are written"

# Two types: until hour 2 A is cheaper per iteration, then B. Moving loses 0.1 h of the hour 2 to 3.
types='{"name": "A", "price_usd_per_hour": 1, "quota": 1}, {"name": "B", "price_usd_per_hour": 3, "quota": 1}'
trace '{"name": "m", "throughput": {"A": 10, "B": 20}, "iterations": 38}' \
    '"price_intervals": [{"end_h": 2, "prices": {"A": 1, "B": 3}}, {"end_h": 99, "prices": {"A": 4, "B": 3}}]'
simulate min-cost --restart 360
is "$(json "$lives" <<<"$out")" "[('m', 0.0, 3.0, 5.0)]" "moves to the cheaper type, and loses the restart"
is "$(json 'd["jobs"][0]["hours"], d["switches"], d["solves"]' <<<"$out")" \
    "{'A': 2.0, 'B': 1.0} 1 2" "2 h x \$1 and 1 h x \$3; solved at the beginning and at the step"
# The same prices as a file.
printf 'at_h,type,price_usd_per_hour\n2,A,4\n' >prices.csv
trace '{"name": "m", "throughput": {"A": 10, "B": 20}, "iterations": 38}'
simulate min-cost --restart 360 --prices prices.csv
is "$(json "$lives" <<<"$out")" "[('m', 0.0, 3.0, 5.0)]" "the same by --prices"
is "$(json 'd["prices"]' <<<"$out")" "{'rows': 1, 'out_of_order': 0, 'repeated': 0}" "nothing odd about it"

# Rows in disorder are sorted in, second prices for a time are not used, and both are told.
printf 'at_h,type,price_usd_per_hour\n2,A,4\n9,A,4\n0,B,3\n2,A,1\n' >odd.csv
simulate min-cost --restart 360 --prices odd.csv
is "$(json "$lives" <<<"$out")" "[('m', 0.0, 3.0, 5.0)]" "a file in disorder says the same"
is "$(json 'd["prices"]' <<<"$out")" "{'rows': 4, 'out_of_order': 2, 'repeated': 1}" "and is counted"
run policy simulate trace.json --policy min-cost --restart 360 --prices odd.csv
contains "$out" "odd.csv: 2 of 4 prices out of order, line 4 first; sorted by time" "people read how many"
contains "$out" "odd.csv: 1 of 4 prices for a time that has a price, line 5 first; not used" "of both"

# The same trace as lines: types, a job, a step of prices. What is odd about steps is told as of a file.
cat >lines.json <<'END'
{"types": [{"name": "A", "price_usd_per_hour": 1, "quota": 1}, {"name": "B", "price_usd_per_hour": 3, "quota": 1}]}
{"at_h": 9, "prices": {"A": 1, "B": 1}}
{"at_h": 0, "name": "m", "gang": 1, "throughput": {"A": 10, "B": 20}, "iterations": 38, "slo_h": 48}

{"at_h": 2, "prices": {"A": 4}}
END
run policy simulate lines.json --policy min-cost --restart 360 --json
is "$code:$err:$(json "$lives" <<<"$out")" "0::[('m', 0.0, 3.0, 5.0)]" "the same as lines"
is "$(json 'd["prices"], d["jobs"][0]["deadline_h"]' <<<"$out")" \
    "{'rows': 3, 'out_of_order': 1, 'repeated': 0} 48.0" "with their order"
# One hour each from 0.5 h and 1.25 h on: the rounds of 1 h and of 2 h.
printf '%s\n' '{"types": [{"name": "V", "price_usd_per_hour": 3, "quota": 1}]}' \
    '{"at_h": 0.5, "name": "a", "throughput": {"V": 10}, "iterations": 10}' \
    '{"at_h": 1.25, "name": "b", "throughput": {"V": 10}, "iterations": 10}' >lines.json
run policy simulate - --policy min-cost --json <lines.json
is "$code:$(json "$lives" <<<"$out")" "0:[('a', 1.0, 2.0, 3.0), ('b', 2.0, 3.0, 3.0)]" "jobs come at their at_h"
refuses_line() { # PART LINE
    printf '%s\n%s\n' '{"types": [{"name": "V", "price_usd_per_hour": 3, "quota": 1}]}' "$2" >bad.json
    fails 2 "bad.json: $1" policy simulate bad.json --policy min-cost
}
refuses_line 'line 2: gang: 1.5 is not a whole number' \
    '{"at_h": 0, "name": "a", "gang": 1.5, "throughput": {"V": 1}, "iterations": 1}'
refuses_line 'line 2: arrival_h: unknown field' '{"arrival_h": 0, "name": "a", "throughput": {"V": 1}, "iterations": 1}'
refuses_line 'line 2: throughput: types has no "W"' '{"at_h": 0, "name": "a", "throughput": {"W": 1}, "iterations": 1}'
refuses_line 'line 2: prices.V: -1 is not a number' '{"at_h": 0, "prices": {"V": -1}}'
refuses_line 'line 2: at_h: missing' '{"prices": {"V": 1}}'
refuses_line 'line 2: only the first line may have types' '{"types": []}'
refuses_line 'line 4: ' $'\n{"at_h": 0'
refuses_line 'line 3: name: "a" is already the name of line 2' \
    $'{"name": "a", "throughput": {"V": 1}, "iterations": 1}\n{"name": "a", "throughput": {"V": 1}, "iterations": 1}'
printf '{"at_h": 0, "name": "a"}\n{"at_h": 1, "name": "b"}\n' >bad.json
fails 2 "bad.json: line 1: the first line must have the types" policy simulate bad.json --policy min-cost
cat trace.json trace.json >bad.json
fails 2 "bad.json: line 2: end of file expected" policy simulate bad.json --policy min-cost

# Imported histories: V100 are cheapest at $3 in zone a up to 2 h, then at $1 in zone b; the p3.8xlarge costs $16.
cat >history.csv <<'END'
cloud,region,zone,instance_type,time,price_usd_per_hour
aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T00:00:00Z,3
aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T00:00:00Z,5
aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T02:00:00Z,1
aws,us-east-1,us-east-1a,p3.8xlarge,2020-01-01T00:00:00Z,16
aws,us-east-1,us-east-1a,p3.8xlarge,2020-01-01T12:00:00Z,16
aws,us-west-2,us-west-2a,p3.2xlarge,2020-01-01T00:00:00Z,0.5
aws,us-west-2,us-west-2a,p3.2xlarge,2020-01-01T12:00:00Z,0.5
END
run market import history.csv
is "$code" 0 "histories are imported $err"
printf '%s\n' '{"types": [{"name": "V100", "price_usd_per_hour": 9, "quota": 1}, {"name": "p3.8xlarge", "price_usd_per_hour": 9, "quota": 1}]}' \
    '{"at_h": 0, "name": "a", "throughput": {"V100": 10}, "iterations": 40}' \
    '{"at_h": 0, "name": "b", "throughput": {"p3.8xlarge": 10}, "iterations": 10}' >lines.json
run policy simulate lines.json --policy min-cost --start 2020-01-01 --region aws:us-east-1 --json
is "$code:$err:$(json "$lives" <<<"$out")" "0::[('a', 0.0, 4.0, 8.0), ('b', 0.0, 1.0, 16.0)]" \
    "2 h at \$3, 2 h at \$1; the machine by its name"
run policy simulate lines.json --policy min-cost --start 2020-01-01 --json
is "$(json "$lives" <<<"$out")" "[('a', 0.0, 4.0, 2.0), ('b', 0.0, 1.0, 16.0)]" "or the cheapest of all regions"
run policy simulate lines.json --policy min-cost --start 2020-01-01T10:00:00Z --json
is "$code:$out" "5:" "not beyond what is known"
contains "$err" "up to 2020-01-01T12:00:00Z, hour 2.00, and the jobs take 4.00 h" "and that is told"
fails 5 'type "V100" has no price in the histories at 2019-01-01' \
    policy simulate lines.json --policy min-cost --start 2019-01-01
fails 2 "leave out one of them" policy simulate lines.json --policy min-cost --start 2020-01-01 --prices prices.csv
fails 2 "add a start, as in --start" policy simulate lines.json --policy min-cost --region aws
fails 3 'type "A": no history of such an instance type or GPU' policy simulate trace.json --policy min-cost --start 2020-01-01

# Gangs: of three machines two gangs of 2 run one after the other, the single one beside them.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 3}'
trace "$(job a 10 '"gang": 2'),$(job b 10 '"gang": 2'),$(job c 10)"
simulate max-throughput
is "$(json 'sorted(j["finish_h"] for j in d["jobs"]), d["cost_usd"]' <<<"$out")" \
    "[1.0, 1.0, 2.0] 15.0" "gangs run whole"
# A gang that no quota holds never starts; the others do not mind.
trace "$(job wide 10 '"gang": 4'),$(job a 10)"
simulate min-cost-slo
is "$code:$(json "$lives" <<<"$out")" "5:[('wide', None, None, 0.0), ('a', 0.0, 1.0, 3.0)]" \
    "a gang larger than the quota"
run policy simulate trace.json --policy min-cost-slo
is "$code" 5 "exit status 5"
contains "$err" '1 of 2 jobs were not done, "wide" for one: no type on which it has a throughput has room for 4, its gang, by its own quota and those of its groups' "and why"
contains "$out" "1 of 2 jobs done" "what was done is told all the same"

# A quota of a group: two types, of which one instance in all may be used.
types='{"name": "A", "price_usd_per_hour": 1, "quota": 1}, {"name": "B", "price_usd_per_hour": 1, "quota": 1}'
trace '{"name": "x", "throughput": {"A": 10}, "iterations": 10}, {"name": "y", "throughput": {"B": 10}, "iterations": 10}' \
    '"group_quotas": [{"name": "g", "units": {"A": 4, "B": 4}, "quota": 7}]'
simulate min-cost
is "$(json "$lives" <<<"$out")" "[('x', 0.0, 1.0, 1.0), ('y', 1.0, 2.0, 1.0)]" "group quotas hold in every round"

# A machine is taken from 0.5 h to 2.2 h: half an hour is done and paid; the job restarts at 3 h, loses
# 0.1 h and works half an hour.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 1}'
trace "$(job a 10)" '"preemptions": [{"at_h": 0.5, "until_h": 2.2, "type": "V100", "instances": 1}]'
simulate max-throughput --restart 360
is "$(json "$lives" <<<"$out")" "[('a', 0.0, 3.6, 3.3)]" "a preemption"
is "$(json 'd["preemptions"], d["restarts"], d["switches"]' <<<"$out")" "1 1 0" "is counted"
# Two machines, one is taken: the lot decides who goes, and another seed may decide otherwise.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 2}'
trace "$(job a 10),$(job b 10)" '"preemptions": [{"at_h": 0.5, "type": "V100", "instances": 1}]'
out_by() {
    simulate max-throughput --seed "$1"
    json '[j["name"] for j in d["jobs"] if j["preemptions"]]' <<<"$out"
}
is "$(for seed in 1 2 3 4 5 6 7 8; do out_by $seed; done | sort -u | tr '\n' ' ')" "['a'] ['b'] " \
    "who is put out depends on the seed"
is "$(out_by 3)" "$(out_by 3)" "and on nothing else"

# Deadlines: two jobs of 2 h, one machine, both due after 3 h. One must fall short, which is known at
# once: together they have 3 of 4 hours.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 1}'
trace "$(job a 20 '"slo_h": 3'),$(job b 20 '"slo_h": 3')"
simulate min-cost-slo
is "$code:$(json 'd["slo_violations"], [j["short_known_h"] for j in d["jobs"] if j["short_known_h"] is not None]' <<<"$out")" \
    "0:1 [0.0]" "a deadline that cannot be kept is known when the jobs come"
is "$(json 'round(sum(j["shortfall"] or 0 for j in d["jobs"]), 6)' <<<"$out")" 0.5 "and by how much"
is "$(json 'sorted(j["finish_h"] for j in d["jobs"])' <<<"$out")" "[2.0, 4.0]" "and it goes on"
is "$(json '[(j["slo_met"], j["late_h"]) for j in d["jobs"] if not j["slo_met"]]' <<<"$out")" "[(False, 1.0)]" \
    "how late it was"
run policy simulate trace.json --policy min-cost-slo
contains "$out" "1 of 2 deadlines met" "deadlines in the summary"
contains "$out" "foreseen at 0.00 h: 50.0 % of the iterations would miss the deadline" "when it was known"
contains "$out" "1.00 h late" "and how late it was"
check "lines fit 100 columns" [ "$(wc -L <<<"$out")" -le 100 ]

# A budget: 2 h at $3 on the fast type, or 4 h at $1; $5 allow some of the fast one: f + s hours with
# 10 f + 5 s = 20, 3 f + s = 5: f = 1, s = 2. With $3 nothing does, and the cheapest is taken.
types='{"name": "fast", "price_usd_per_hour": 3, "quota": 1}, {"name": "slow", "price_usd_per_hour": 1, "quota": 1}'
trace '{"name": "m", "throughput": {"fast": 10, "slow": 5}, "iterations": 20}' '"budget_usd": 5'
simulate min-makespan --restart 0
is "$(json "$lives, d['jobs'][0]['hours']" <<<"$out")" "[('m', 0.0, 3.0, 5.0)] {'fast': 1.0, 'slow': 2.0}" \
    "the least time within a budget"
trace '{"name": "m", "throughput": {"fast": 10, "slow": 5}, "iterations": 20}' '"budget_usd": 3'
simulate min-makespan --restart 0
is "$(json "$lives, d['budget_short_known_h']" <<<"$out")" "[('m', 0.0, 4.0, 4.0)] 0.0" \
    "a budget that does not do is overdrawn as little as can be"

# The trace, the picture, standard input.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 1}'
trace "$(job a 10),$(job b 10)"
simulate max-throughput --restart 0 --trace events.jsonl --svg picture.svg
is "$code:$err" "0:" "with a trace and a picture"
is "$(python3 -c 'import json; print([json.loads(l)["event"] for l in open("events.jsonl")])')" \
    "['solve', 'round', 'solve', 'round']" "the trace has every solve and every round"
check "the picture is XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("picture.svg")'
contains "$(<picture.svg)" "V100" "and names the types"
run policy simulate - --policy max-throughput --json <trace.json
is "$code:$(json 'd["jobs_done"]' <<<"$out")" "0:2" "standard input"

# Ctrl-C: nothing is written.
types='{"name": "V100", "price_usd_per_hour": 3, "quota": 1}'
trace "$(job a 9000000),$(job b 9000000)"
"$TRADEWIND" policy simulate trace.json --policy min-makespan --restart 0 --trace stopped.jsonl >stopped.out 2>stopped.err &
pid=$!
for _ in $(seq 600); do
    compgen -G 'stopped.jsonl*' >/dev/null || compgen -G '.stopped.jsonl*' >/dev/null && break
    sleep 0.05
done
sleep 0.3
kill -INT $pid
wait $pid
is "$?" 6 "Ctrl-C ends it"
contains "$(<stopped.err)" "interrupted with" "and says so"
is "$(compgen -G '*stopped.jsonl*'):$(<stopped.out)" ":" "and leaves nothing behind"

# ---- bad input: the place, the way out, exit 2 ----

refuses() { # PART JOBS MORE
    trace "$2" "$3"
    fails 2 "$1" policy simulate trace.json --policy min-cost-slo
}
refuses 'trace.json: jobs[0].iterations: job "a" needs them, or it never ends' '{"name": "a", "throughput": {}}'
refuses 'trace.json: jobs[0].arrival_h: -1 is not a number from 0' "$(job a 1 '"arrival_h": -1')"
refuses 'trace.json: jobs[0].arrival_h: 1e+07 hours; the limit is 1e+06' "$(job a 1 '"arrival_h": 1e7')"
refuses 'trace.json: jobs[0].slo_h: 1e+07 hours' "$(job a 1 '"slo_h": 1e7')"
refuses 'trace.json: jobs[0].arrives: unknown field' "$(job a 1 '"arrives": 1')"
refuses 'trace.json: preemptions: expected an array' "$(job a 1)" '"preemptions": {}'
refuses 'trace.json: preemptions[0].type: expected the name of a type; there is no "K80"' \
    "$(job a 1)" '"preemptions": [{"at_h": 1, "type": "K80", "instances": 1}]'
refuses 'trace.json: preemptions[0].until_h: 1 is not after 2' \
    "$(job a 1)" '"preemptions": [{"at_h": 2, "until_h": 1, "type": "V100", "instances": 1}]'
refuses 'trace.json: preemptions[1].at_h: earlier than the preemption before' "$(job a 1)" \
    '"preemptions": [{"at_h": 2, "type": "V100", "instances": 1}, {"at_h": 1, "type": "V100", "instances": 1}]'
refuses 'trace.json: preemptions[0].instances: missing' "$(job a 1)" '"preemptions": [{"at_h": 2, "type": "V100"}]'
refuses 'trace.json: no jobs: add at least one' ''
refuses 'trace.json: job "a" on type "V100" takes the bill above $1000000000' "$(job a 1e14 '"gang": 1')" \
    '"price_intervals": [{"end_h": 1e6, "prices": {"V100": 1e12}}]'
trace "$(job a 1)"
fails 2 "a restart of 3600 s takes a whole round of 3600 s" policy simulate trace.json --policy min-cost --restart 1h
fails 2 "--round 8 d 0 h: must be from 1.0 s to 7 d" policy simulate trace.json --policy min-cost --round 8d
fails 2 "--round 0.0 s: must be from 1.0 s to" policy simulate trace.json --policy min-cost --round 0
fails 2 "--seed 1.5: must be a whole number" policy simulate trace.json --policy min-cost --seed 1.5
fails 2 "--columns 0: must be from 1 to" policy simulate trace.json --policy min-cost --columns 0
fails 2 "--policy: is missing" policy simulate trace.json
fails 2 "no.json: No such file or directory" policy simulate no.json --policy min-cost
prices() { # PART CSV
    printf '%b' "$2" >bad.csv
    fails 2 "$1" policy simulate trace.json --policy min-cost --prices bad.csv
}
prices 'bad.csv: missing column type' 'at_h,price_usd_per_hour\n1,2\n'
prices 'bad.csv:2: type "K80": the trace has no such type' 'at_h,type,price_usd_per_hour\n1,K80,2\n'
prices 'bad.csv:3: at_h "-1": expected a number from 0' 'at_h,type,price_usd_per_hour\n1,V100,2\n-1,V100,2\n'
prices 'bad.csv:2: price_usd_per_hour "x": expected a number from 0' 'at_h,type,price_usd_per_hour\n1,V100,x\n'
prices 'bad.csv: no prices' 'at_h,type,price_usd_per_hour\n'
[[ -n ${TRADEWIND_SLOW:-} ]] || # sanitizers take long over a million rounds
    fails 2 "no end after 1000000 rounds" policy simulate - --policy max-throughput --round 1s --restart 0 \
    <<<'{"types": [{"name": "V100", "price_usd_per_hour": 0, "quota": 1}], "jobs": [{"name": "a", "throughput": {"V100": 1}, "iterations": 1000000}]}'

done_testing
