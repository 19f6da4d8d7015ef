#!/bin/bash
# The model of Compute Engine answers Google's own client as Compute Engine does: what the tests of our
# driver rest on.
. "$(dirname "$0")/tap.sh"
command -v node >/dev/null || skip_all "node is not installed"
[ -d "$root/tests/npm/node_modules/@google-cloud/compute" ] ||
    skip_all "the npm package @google-cloud/compute is not installed"

mkfifo in
# The instance fills the quota, so that a second one is refused.
python3 "$root/tests/servers/gce" --settings '{"vcpus": 8}' <in >out &
exec 9>in
until [ -s out ]; do sleep .05; done
. ./out
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
node "$root/tests/npm/gce_client.mjs" "$GCE_MODEL" >got 2>errors
is $? 0 "the client ends well"
sed 's/^/# /' errors
got() { sed -n "s/^$1	//p" got; }

contains "$(got stranger)" "invalid authentication credentials" "a token that was not given is refused"
contains "$(got 'live migration')" "do not support live migration" "what the API refuses of GPUs"
is "$(got operation)" "insert PENDING" "an operation begins"
is "$(got 'same request')" true "the same request id, the same operation"
contains "$(got 'same name')" "already exists" "another request for a name that is taken"
contains "$(got 'no uuid')" "Invalid value for field 'requestId'" "an id that is no UUID"
is "$(got instance)" "one PROVISIONING SPOT one n1-standard-8 1" "the instance as the client reads it"
is "$(got found)" "zones/us-central1-a:one 4" "found by its labels, other zones without results"
is "$(got disk)" "one 50 1" "it has a disk"
contains "$(got 'disk in use')" "already being used" "which cannot be deleted"
is "$(got firewall)" "192.0.2.2/32 22 rule" "a firewall rule, changed"
is "$(got deleting)" "delete STOPPING" "deleted: it stops"
contains "$(got nothing)" "was not found" "no such instance"
is "$(got 'operation that fails')" "QUOTA_EXCEEDED 403" "an operation that ends with an error"
exec 9>&-
wait
done_testing
