#!/usr/bin/env bash
# run --on GROUP: which groups there are, what their hosts give a stage, and what is refused.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=5
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

printf 'name: p\nnum_nodes: 3\nestimate: {seconds: 60}\nrun: "true"\n' >p.yaml
mkdir -p home
fails 2 "--on lab: neither local, sim nor a cloud, and there are no host groups yet: name some under hosts:" \
    run p.yaml --yes --json --on lab
fails 2 "no host groups yet" run p.yaml --yes --json --on ssh
cat >home/config.yaml <<'YAML'
hosts:
  lab:
    - {host: a.invalid, cpus: 2, memory: 4, price: 0.5}
    - {host: b.invalid, cpus: 4, memory: 8, price: 1.25}
  farm: [{host: c.invalid}]
YAML
fails 2 "--on moon: neither local, sim, a cloud nor a host group; there are lab, farm" \
    run p.yaml --yes --json --on moon
fails 5 "p.yaml:1: stage p: 3 nodes need 3 hosts; group lab has 2" \
    run p.yaml --yes --json --on lab
is "$("$TRADEWIND" run ls --json)" "[]" "nothing was started"
is "$("$TRADEWIND" run p.yaml --on lab </dev/null 2>/dev/null | grep Running)" \
    "Running on the 2 hosts of lab, at \$0.5 to \$1.25 per hour." "what the hosts cost is said"
is "$("$TRADEWIND" run p.yaml --on ssh </dev/null 2>/dev/null | grep Running)" \
    "Running on the 3 hosts of the configuration, at \$0 to \$1.25 per hour." "all there are"
is "$("$TRADEWIND" run p.yaml --on farm </dev/null 2>/dev/null | grep Running)" \
    "Running on the 1 host of farm, at no cost: the configuration has no price for it." \
    "or that they cost nothing"
for variable in HOME=x AZURE_CLIENT_ID=x; do
    contains "$(env HOME=$scratch $variable "$TRADEWIND" run p.yaml </dev/null 2>/dev/null)" \
        "Running locally (--on local): real work on" "this machine is the default, $variable"
done

done_testing
