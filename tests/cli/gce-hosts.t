#!/bin/bash
# A pipeline on Google Cloud, from the plan to the bill: against the model of Compute Engine whose instances
# are machines, which let ssh in and run the boot script.
. "$(dirname "$0")/tap.sh"

mkfifo in
python3 "$root/tests/servers/gce" --settings '{"hosts": true}' <in >out 2>why &
server=$!
exec 9>in
until [ -s out ] || ! kill -0 $server 2>/dev/null; do sleep .05; done
[ -s out ] || skip_all "$(tail -n 1 why)"
. ./out
state() { curl -s --noproxy '*' "$GCE_MODEL/control" | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }
cat >user.json <<END
{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "refresh-me",
 "token_uri": "$GCE_MODEL/token", "quota_project_id": "model-project"}
END
export HOME=$scratch GOOGLE_APPLICATION_CREDENTIALS=$scratch/user.json AWS_EC2_METADATA_DISABLED=true
export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$GCE_MODEL/compute/v1 TRADEWIND_ADDRESS_URL=$GCE_MODEL/ip
export TRADEWIND_SSH=$SSH_COMMAND
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY GOOGLE_CLOUD_PROJECT CLOUDSDK_CORE_PROJECT
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
for _ in $(seq 300); do
    [ "$(state '"instance" in d["left"] or "disk" in d["left"]')" = False ] && break
    sleep .2
done
is "$(state 'sorted(d["left"]), d["launched"], d["twins"]')" "['firewall'] 1 0" \
    "launched once, and nothing but the firewall rule is left"
exec 9>&-
wait $server
done_testing
