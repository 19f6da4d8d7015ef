#!/bin/bash
# A pipeline on Google Cloud, from the plan to the bill: against the model of Compute Engine whose instances
# are machines, which let ssh in and run the boot script.
. "$(dirname "$0")/tap.sh"
. "$root/tests/cli/cloud_hosts.sh"

model gce '{"hosts": true}'
cat >user.json <<END
{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "refresh-me",
 "token_uri": "$url/token", "quota_project_id": "model-project"}
END
export GOOGLE_APPLICATION_CREDENTIALS=$scratch/user.json
export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$url/compute/v1
unset GOOGLE_CLOUD_PROJECT CLOUDSDK_CORE_PROJECT
cat >p.yaml <<'END'
name: greet
run: echo "hello from $(id -un)" > "$TRADEWIND_OUTPUT/said"
estimate: {hours: 0.02}
resources: {cpus: 8, instance_type: n2-standard-8, region: us-central1}
END
"$TRADEWIND" run p.yaml --on gcp --yes >said 2>&1
is $? 0 "the pipeline runs on a machine that is launched for it"
sed 's/^/# /' said
is "$("$TRADEWIND" job ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["state"])')" \
    finished "its job finished"
"$TRADEWIND" get @job-1 results 2>&1 | sed 's/^/# /'
is "$(find results -name said -exec cat {} +)" "hello from tradewind" "as the user of the image, and its output is here"
waits holds '"instance" not in d["left"] and "disk" not in d["left"]'
is "$(state 'sorted(d["left"]), d["launched"], d["twins"]')" "['firewall'] 1 0" \
    "launched once, and nothing but the firewall rule is left"
end_model
done_testing
