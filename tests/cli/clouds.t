#!/bin/bash
# `clouds check` against the models of EC2 and Compute Engine, and what docs/clouds.md shows of it.
. "$(dirname "$0")/tap.sh"

# begin SETTINGS [SERVER]: the model with these
begin() {
    [ -p in ] || mkfifo in
    rm -f out
    python3 "$root/tests/servers/${2:-ec2}" --settings "$1" <in >out &
    exec 9>in
    until [ -s out ]; do sleep .05; done
    . ./out
    [ "${2-}" ] || export AWS_ENDPOINT_URL=$EC2_MODEL
}
end() {
    exec 9>&-
    wait
}
export HOME=$scratch AWS_EC2_METADATA_DISABLED=true AWS_REGION=us-east-1
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_DEFAULT_REGION

got=$("$TRADEWIND" clouds check)
is $? 1 "no credentials"
contains "$got" "AWS_ACCESS_KEY_ID" "says which to set"

export AWS_ACCESS_KEY_ID=AKIDMODEL AWS_SECRET_ACCESS_KEY=model/secret+key
begin '{}'
got=$("$TRADEWIND" clouds check 2>&1)
is $? 0 "nothing is missing"
shown=$(sed -n '/^```console on model$/,/^```$/p' "$root/docs/clouds.md" | sed '1,2d;$d')
is "$got" "$shown" "what docs/clouds.md shows"
got=$("$TRADEWIND" clouds check --region eu-west-1 --json)
contains "$got" '"ok": true' "as JSON"
contains "$got" 'in eu-west-1' "of another region"
lacks "$got" 'model/secret' "without a secret"
contains "$(AWS_SECRET_ACCESS_KEY=wrong "$TRADEWIND" clouds check)" SignatureDoesNotMatch \
    "a wrong secret"
end

begin '{"denied": ["RunInstances", "DescribeImages"]}'
got=$("$TRADEWIND" clouds check --json)
is $? 1 "permissions are missing"
contains "$got" "allow ec2:RunInstances, ec2:DescribeImages" \
    "named by their actions"
end

begin '{"skew_s": 1200}'
contains "$("$TRADEWIND" clouds check 2>/dev/null | tr -s ' \n' ' ')" \
    "aws clock: it differs from that of AWS by" "a wrong clock"
end
policy=$(sed -n '/^```json$/,/^```$/p' "$root/docs/clouds.md" | sed 's/^```json$//')
check "the policies of docs/clouds.md are JSON" python3 -c '
import json, sys
for text in sys.argv[1].split("```")[:-1]:
    json.loads(text)' "$policy
"
# Every action that the driver calls, by the names in its source, is in a policy.
verbs='Describe|Run|Create|Delete|Import|Terminate|Authorize|Revoke|Release|Cancel|List|Get|Put|Update|Add|Remove'
grep -ohE "\"($verbs)[A-Z][A-Za-z]+\"" "$root"/src/cloud/aws/*.c | grep -v Conflict | tr -d '"' | sort -u >calls
missing=$(while read -r action; do
    [ "$action" = GetCallerIdentity ] || grep -q ":$action\"" <<<"$policy" || echo "$action"
done <calls)
is "$missing" "" "the policy has every action"
# Every permission that the calls of Google and Azure name is in the text.
page=$(tr -s ' \n' ' ' <"$root/docs/clouds.md")
grep -ohE '"(iam|storage|resourcemanager|run|eventarc)\.[a-zA-Z.]+"' "$root"/src/cloud/deploy/google.c |
    tr -d '"' | sort -u >calls
missing=$(while read -r name; do
    [[ $page == *"${name%.*}."* && $page == *".${name##*.}"* ]] || echo "$name"
done <calls)
is "$missing" "" "the permissions of functions on Google Cloud"
grep -ohE '"Microsoft[A-Za-z./]+/(read|write|delete)"' "$root"/src/cloud/deploy/azure.c | tr -d '"' |
    sort -u >calls
missing=$(while read -r name; do
    [[ $page == *"${name%/*}/"* ]] || echo "$name"
done <calls)
is "$missing" "" "the permissions of functions on Azure"

# ---- Google Cloud ----
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION AWS_ENDPOINT_URL GOOGLE_CLOUD_PROJECT
unset GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CORE_PROJECT CLOUDSDK_CONFIG CLOUDSDK_COMPUTE_REGION
got=$(NO_GCE_CHECK=true "$TRADEWIND" clouds check gcp)
is $? 1 "no credentials"
contains "$got" "gcloud auth application-default login" "says how to get some"

begin_gcp() {
    begin "$1" gce
    export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$GCE_MODEL/compute/v1
    export CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER=$GCE_MODEL
    cat >user.json <<END
{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "refresh-me",
 "token_uri": "$GCE_MODEL/token", "quota_project_id": "model-project"}
END
}
export GOOGLE_APPLICATION_CREDENTIALS=$scratch/user.json
begin_gcp '{}'
got=$("$TRADEWIND" clouds check gcp 2>&1)
is $? 0 "nothing is missing"
shown=$(sed -n '/^```console on gcp model$/,/^```$/p' "$root/docs/clouds.md" | sed '1,2d;$d')
is "$got" "$shown" "what docs/clouds.md shows"
got=$(CLOUDSDK_COMPUTE_ZONE=europe-west4-a "$TRADEWIND" clouds check gcp --json)
contains "$got" '"ok": true' "as JSON"
contains "$got" 'europe-west4 is up, with 2 zones' "of the region of gcloud's zone"
lacks "$got" refresh-me "without a secret"
contains "$(GOOGLE_CLOUD_PROJECT=other "$TRADEWIND" clouds check gcp)" "notFound" "another project"
contains "$("$TRADEWIND" clouds check mars 2>&1)" "gcp" "no such cloud"
end
begin_gcp '{"denied": ["compute.instances.create", "compute.disks.list"], "no_network": true}'
got=$("$TRADEWIND" clouds check gcp --json)
is $? 1 "permissions and the network are missing"
contains "$got" "allow compute.disks.list, compute.instances.create" "permissions by their names"
contains "$got" "gcloud compute networks create default" "and how to make a network"
end
begin_gcp '{"disabled": true}'
contains "$("$TRADEWIND" clouds check gcp | tr -s ' \n' ' ')" \
    "gcloud services enable compute.googleapis.com" "an API that is not enabled"
end
sed -n '/^includedPermissions:$/,/^```$/s/^- //p' "$root/docs/clouds.md" | sort >role
grep -oE '"compute\.[A-Za-z.]+"' "$root/src/cloud/gcp/check.c" | tr -d '"' | sort >asked
is "$(diff role asked)" "" "the role of docs/clouds.md has what the check asks for"
check "and has lines" [ -s role ]
done_testing
