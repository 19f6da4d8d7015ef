#!/bin/bash
# machines ls and machines cleanup: what is rented, and giving back what nobody owns.
. "$(dirname "$0")/tap.sh"

# ---- nothing there ----
is "$("$TRADEWIND" machines ls)" "No machine is running." "a new home has no machines"
is "$("$TRADEWIND" machines ls --all)" "No machine was ever launched." "and never had any"
is "$("$TRADEWIND" machines ls --json | tr -d ' \n')" "[]" "an empty list"
is "$("$TRADEWIND" machines cleanup)" "No machine is orphaned." "nothing to clean up"
is "$("$TRADEWIND" machines sweep)" "No machine is orphaned." "the former name of cleanup still works"
is "$("$TRADEWIND" machines cleanup --yes --json | tr -d ' \n')" "[]" "nothing swept"
"$TRADEWIND" machines ls --everything >/dev/null 2>&1
is $? 2 "an unknown option is exit code 2"
contains "$("$TRADEWIND" help machines cleanup)" "--yes" "the help tells of --yes"
printf 'hosts: {lab: [{host: "", cpus: 1}]}\n' >"$TRADEWIND_HOME/config.yaml"
"$TRADEWIND" machines cleanup >/dev/null 2>&1
is $? 2 "a host without a name is exit code 2"
printf 'hosts: {lab: [{host: a.lab, cpus: 8, price: 1}]}\nplan: {boot_s: 0}\n' \
    >"$TRADEWIND_HOME/config.yaml"
is "$("$TRADEWIND" machines cleanup --yes)" "No machine is orphaned." "a pool that nobody uses"

# ---- simulated runs ----
mkdir catalog
cat >catalog/offers.csv <<'CSV'
cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour
aws,r1,,m1,4,16,,,,3.6,,
CSV
cat >p.yaml <<'YAML'
name: p
---
name: a
estimate: {seconds: 600}
run: a
---
name: b
needs: [a]
estimate: {seconds: 300}
run: b
YAML
simulate() {
    "$TRADEWIND" run p.yaml --catalog catalog --on sim --yes --noise 0 "$@"
}
one() {
    "$TRADEWIND" machines ls "$@" --json | python3 -c 'import json, sys
for m in json.load(sys.stdin):
    print(m["state"], m["run"], m["instance_type"], "%.6f" % m["cost_usd"])'
}

simulate >out || echo "# $(cat out)"
# 3.6 dollars an hour are a tenth of a cent a second; the second stage keeps the machine.
is "$(one --all)" "gone 1 m1 0.900000" "a simulated run rents one machine for 900 s and returns it"
is "$("$TRADEWIND" machines ls)" "No machine is running." "nothing of it is left"
is "$(ls "$TRADEWIND_HOME/sims")" "" "nor of its world"

# --troubles is the old name of --faults.
echo terminate-fails >troubles
simulate --troubles troubles >out 2>err
is $? 6 "a machine that is not given back is exit code 6"
contains "$(cat err)" "machines cleanup --yes" "and the way out is told"
contains "$(one)" "deleting 2 m1" "it is listed"
contains "$("$TRADEWIND" machines cleanup)" "Nothing was done: --yes terminates them." "a dry sweep"
contains "$(one)" "deleting 2 m1" "changes nothing"
contains "$("$TRADEWIND" machines cleanup --yes)" "run 2: being deleted; terminated" "a sweep"
is "$(one)" "" "gives it back"
is "$(ls "$TRADEWIND_HOME/sims")" "" "and its world goes"

# ---- kill -9 at every write ----
killat=${TRADEWIND_BUILD:-$root/build}/tests/tools/killat
if [ ! -x "$killat" ] || ! "$killat" 1000000 true 2>/dev/null; then
    skip "killed at every write" "killat does not work here"
    done_testing
    exit
fi
# A sample of them, and fewer with the sanitizers, which are many times slower.
step=7
[ -n "${TRADEWIND_SLOW:-}" ] && step=31
bad=0 kills=0 status=99
for ((n = 1; status == 99 && n < 20000; n += step)); do
    # Under a tracer the search for leaks cannot work, and would look like a kill.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 "$killat" "$n" "$TRADEWIND" run p.yaml --catalog catalog --on sim --yes --noise 0 \
        >out 2>err
    status=$?
    [ $status = 99 ] || break
    kills=$((kills + 1))
    "$TRADEWIND" machines cleanup --yes >out 2>&1 || { bad=$((bad + 1)); sed 's/^/# /' out; }
    [ -z "$(one)" ] || { bad=$((bad + 1)); echo "# killed at $n: $(one)"; }
done
is $status 0 "killed at $kills places, a simulated run then came to its end"
is $bad 0 "and each time a sweep left nothing that bills"

# What was refused is offered again after an hour, so that three places never run out.
sed '2s/.*/&\naws,r2,,m1,4,16,,,,3.6,,\naws,r3,,m1,4,16,,,,3.6,,/' catalog/offers.csv >more.csv
mv more.csv catalog/offers.csv
echo never-boots >faults
simulate --faults faults >out 2>err
is "$? $(grep -c '10 boots that failed, and no more are tried' out)" "1 1" "boots that fail come to an end"
contains "$(cat out)" "10 launched" "after so many machines"
contains "$(tail -n 3 out)" '$18.00' "of 30 minutes each"
echo 'throttle 5s -1x' >faults
is "$(simulate --faults faults 2>&1 >/dev/null; echo $?)" \
    'tradewind: --faults faults: line 1: "-1x": a count is 1x or more, with at most 9 digits
2' "a count below 1"
simulate --faults absent >out 2>err
is $? 2 "no such file"
done_testing
