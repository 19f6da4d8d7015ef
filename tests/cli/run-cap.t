#!/usr/bin/env bash
# Spending caps: of a run, and of a project's month; while stages run, and before they begin.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

cat >cap.yaml <<YAML
name: cap
---
name: long
resources: {instance_type: p4d.24xlarge, infra: aws/us-east-1}
estimate: {seconds: 60}
outputs: {o: 0.001}
run: |
  trap 'touch $scratch/polite; exit 1' TERM
  for i in {1..600}; do sleep 0.1; done
---
name: after
needs: long
run: "true"
YAML
# What the plan says an hour costs; a second of it is above this cap.
price=$("$TRADEWIND" plan cap.yaml --json |
    json '[s["price_usd_per_hour"] for s in d["stages"]][0]')
check "the machine has a price: $price" awk "BEGIN {exit !($price > 1)}"
most=$(awk "BEGIN {printf \"%.6f\", $price / 3600}")

for bad in 0 -1 lots; do
    run run cap.yaml --yes --json --max-cost "$bad"
    is "$code" 2 "--max-cost $bad is refused"
done
run run cap.yaml --yes --max-cost "$most"
is "$code" 130 "a run that spends more than its cap is stopped"
check "its stage may end by itself" test -e polite
contains "$out" "long stopped: spending cap --max-cost: 0." "the stage says why"
contains "$out" "after stopped: spending cap --max-cost: 0." "and so does the one that never began"
is "$("$TRADEWIND" run show 1 --json | json 'd["cost_usd"] > d["max_usd"] > 0')" True \
    "the record has the cap and the cost"
is "$("$TRADEWIND" run show 1 --json | json 'd["reason"][:24]')" "spending cap --max-cost:" \
    "and the reason"
is "$("$TRADEWIND" run ls --json | json 'd[0]["cost_usd"] > 0')" True "run ls has the cost"

# ---- a month ----
"$TRADEWIND" config set limits.max_usd_per_month 1000 >/dev/null
run job submit --wait --output Made -- sh -c 'echo made >$TRADEWIND_OUTPUT/it'
is "$code" 0 "below the month's cap jobs run"
echo 1 >n
"$TRADEWIND" put n /n --set numbers >/dev/null
"$TRADEWIND" job submit --wait --input @numbers --output Counted -- \
    sh -c 'wc -l "$TRADEWIND_INPUT/n" >$TRADEWIND_OUTPUT/lines' >/dev/null
echo 2 >n
"$TRADEWIND" put n /n --set numbers >/dev/null
"$TRADEWIND" config set limits.max_usd_per_month "$most" >/dev/null
fails 5 "spending cap limits.max_usd_per_month: 0." run cap.yaml --yes --json
fails 5 "raise it: tradewind config set limits.max_usd_per_month USD" run cap.yaml --yes --json
before=$("$TRADEWIND" job ls --all --json | json 'len(d)')
for command in 'submit -- true' 'rerun 1'; do
    fails 5 "spending cap limits.max_usd_per_month: 0." job $command
done
fails 5 "spending cap limits.max_usd_per_month: 0." sweep s -- true '{1,2}'
fails 5 "spending cap limits.max_usd_per_month: 0." profile p --cpus 0.5 --mems 256 -- true '{1,2}'
fails 5 "spending cap limits.max_usd_per_month: 0." replay @Made --yes --json
fails 5 "spending cap limits.max_usd_per_month: 0." rerun --from @numbers --yes --json
is "$("$TRADEWIND" job ls --all --json | json 'len(d)')" "$before" "and no job is queued"
"$TRADEWIND" config set limits.max_usd_per_month 1000 >/dev/null
run rerun --from @numbers --yes
is "$code" 0 "what was refused for the money alone is run when there is some"
rm -f polite
"$TRADEWIND" run cap.yaml --yes >month.txt 2>&1 &
watcher=$!
for i in {1..300}; do
    grep -q 'long  *started' month.txt && break
    sleep 0.1
done
"$TRADEWIND" config set limits.max_usd_per_month "$most" >/dev/null
wait $watcher
is "$?" 130 "a cap that comes while a run is going stops it"
check "with the reason" grep -q 'long stopped: spending cap limits.max_usd_per_month: 0.' month.txt

# ---- simulated ----
"$TRADEWIND" config set limits.max_usd_per_month 1000 >/dev/null
"$TRADEWIND" run cap.yaml --yes --on sim --seed 1 --json >paper.json
paid=$(tail -n 1 paper.json | json 'd["cost_usd"]')
is "$("$TRADEWIND" run ls --json | json 'd[0]["on"], d[0]["cost_usd"] == '"$paid")" "sim True" \
    "run ls has the cost of a simulated run"
run=$("$TRADEWIND" run ls --json | json 'd[0]["run"]')
is "$("$TRADEWIND" run show "$run" --json | json 'd["cost_usd"] == '"$paid")" True "and run show"

done_testing
