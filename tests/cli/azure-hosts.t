#!/bin/bash
# A pipeline on Azure, and one whose spot machine is evicted: against the model of
# Resource Manager whose virtual machines are machines, which let ssh in, run the boot script and tell of
# their eviction.
. "$(dirname "$0")/tap.sh"
. "$root/tests/cli/cloud_hosts.sh"

model arm '{"hosts": true, "reclaim_s": 6}'
export AZURE_AUTHORITY_HOST=$url AZURE_RESOURCE_MANAGER_ENDPOINT=$url AZURE_CONFIG_DIR=$scratch/.azure
export AZURE_TENANT_ID=11111111-2222-3333-4444-555555555555 AZURE_CLIENT_SECRET=model/secret+key
export AZURE_CLIENT_ID=66666666-7777-8888-9999-000000000000
export AZURE_SUBSCRIPTION_ID=aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee
unset AZURE_FEDERATED_TOKEN_FILE IDENTITY_ENDPOINT AZURE_DEFAULTS_LOCATION AZURE_RESOURCE_MANAGER_AUDIENCE
unset ARM_ENDPOINT TRADEWIND_AZURE_IDENTITY

"$TRADEWIND" run "$root/examples/words.yaml" --on azure --cloud azure --region eastus --yes >said 2>&1
is $? 0 "the pipeline runs on a machine that is launched for it"
sed 's/^/# /' said
is "$("$TRADEWIND" job ls --all --json |
    python3 -c 'import json, sys; print([j["state"] for j in json.load(sys.stdin)])')" \
    "['finished', 'finished']" "its jobs finished"
"$TRADEWIND" get @words.top results >/dev/null 2>&1
is "$(find results -type f -exec cat {} + | tr -s ' ')" " 2 the" "its output is here"
is "$(state 'd["launched"], d["twins"]')" "1 0" "both stages ran on one machine"
waits holds '"instance" not in d["left"] and "disk" not in d["left"] and "public-address" not in d["left"]'
check "which is deleted with its disk and its address" holds '"instance" not in d["left"]'
# A step every tenth of a second; its machine is evicted between.
cat >steps.yaml <<'END'
name: steps
checkpoint: 1s
outputs: {o: 0.001}
estimate: {seconds: 60}
resources: {use_spot: true, instance_type: Standard_D4s_v5}
run: |
  i=$(cat "$TRADEWIND_CHECKPOINT/i" 2>/dev/null || echo 0)
  echo "$i" >>"$TRADEWIND_CHECKPOINT/begun"
  while [ $i -lt 80 ]; do
    i=$((i + 1))
    echo $i >"$TRADEWIND_CHECKPOINT/new"
    mv "$TRADEWIND_CHECKPOINT/new" "$TRADEWIND_CHECKPOINT/i"
    sleep 0.1
  done
  cp "$TRADEWIND_CHECKPOINT/begun" "$TRADEWIND_OUTPUT/o/"
END
"$TRADEWIND" run steps.yaml --on azure --cloud azure --region eastus --yes >said 2>&1 &
run=$!
saved() {
    [ -n "$(find "$TRADEWIND_HOME/jobs" -path '*/checkpoint/i')" ]
}
check "a job on a spot machine saves checkpoints" waits saved
tell '{"preempt": true}'
wait $run
is $? 0 "evicted, its pipeline finishes"
sed 's/^/# /' said
is "$(state 'd["launched"]')" 3 "on another machine"
"$TRADEWIND" get @steps.steps steps >/dev/null 2>&1
begun=$(find steps -name begun -exec cat {} + | tr '\n' ' ')
check "from its checkpoint" grep -qE '^0 [1-9][0-9]* $' <<<"$begun"
echo "# begun at $begun"

check "and nothing that costs money is left" \
    waits holds '"instance" not in d["left"] and "disk" not in d["left"] and "public-address" not in d["left"]'
end_model
done_testing
