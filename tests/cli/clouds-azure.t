#!/bin/bash
# `clouds check azure` against the model of Resource Manager, and what docs/clouds.md shows of it.
. "$(dirname "$0")/tap.sh"

# begin SETTINGS: the model with these
begin() {
    [ -p in ] || mkfifo in
    rm -f out
    python3 "$root/tests/servers/arm" --settings "$1" <in >out &
    exec 9>in
    until [ -s out ]; do sleep .05; done
    . ./out
    export AZURE_AUTHORITY_HOST=$ARM_MODEL AZURE_RESOURCE_MANAGER_ENDPOINT=$ARM_MODEL
}
end() {
    exec 9>&-
    wait
}
check_azure() { "$TRADEWIND" clouds check azure "$@"; }
export HOME=$scratch AZURE_CONFIG_DIR=$scratch/.azure
unset AZURE_TENANT_ID AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_SUBSCRIPTION_ID AZURE_FEDERATED_TOKEN_FILE
unset IDENTITY_ENDPOINT AZURE_DEFAULTS_LOCATION AZURE_RESOURCE_MANAGER_AUDIENCE ARM_ENDPOINT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

begin '{}'
export AZURE_TENANT_ID=11111111-2222-3333-4444-555555555555 AZURE_CLIENT_SECRET=model/secret+key
export AZURE_CLIENT_ID=66666666-7777-8888-9999-000000000000
got=$(check_azure)
is $? 1 "no subscription"
contains "$got" "AZURE_SUBSCRIPTION_ID" "says which variable to set"
# As az leaves it, with its byte order mark.
mkdir .azure
printf '\xef\xbb\xbf%s' '{"subscriptions": [
  {"id": "bbbbbbbb-0000-0000-0000-000000000000", "isDefault": false, "tenantId": "x"},
  {"id": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "isDefault": true, "tenantId": "x"}]}' >.azure/azureProfile.json
got=$(check_azure 2>&1)
is $? 0 "nothing is missing, with the default subscription of az"
shown=$(sed -n '/^```console on model of azure$/,/^```$/p' "$root/docs/clouds.md" | sed '1,2d;$d')
is "$got" "$shown" "what docs/clouds.md shows"
got=$(AZURE_SUBSCRIPTION_ID=cccccccc-0000-0000-0000-000000000000 check_azure)
is $? 1 "another subscription"
contains "$got" SubscriptionNotFound "is not there"
fails 2 "a region is needed, such as eastus" clouds check azure --region 'east us'
got=$(check_azure --region westeurope --json)
contains "$got" '"ok": true' "as JSON"
contains "$got" 'in westeurope' "of another region"
lacks "$got" 'model/secret' "without a secret"
contains "$(AZURE_DEFAULTS_LOCATION=westus check_azure)" "westus is one of 3" "the region of az"
got=$(AZURE_CLIENT_SECRET=not/the+secret check_azure)
contains "$got" AADSTS7000215 "a wrong secret"
lacks "$got" 'not/the+secret' "which is not shown"
end

begin '{"denied": ["Microsoft.Compute/virtualMachines/write"], "unregistered": ["Microsoft.Network"]}'
got=$(check_azure --json)
is $? 1 "a permission is missing"
contains "$got" "allow Microsoft.Compute/virtualMachines/write; docs/clouds.md has the whole role" "named"
contains "$got" "az provider register --namespace Microsoft.Network" "and how to register a provider"
end

begin '{"skew_s": 1200}'
contains "$(check_azure 2>/dev/null | tr -s ' \n' ' ')" "azure clock: it differs from that of Azure by" \
    "a wrong clock"
end

# The role of docs/clouds.md has every action that the driver needs, by the list in its source, and those that
# the check asks for itself.
role=$(sed -n '/^### An application for Tradewind$/,/^### /p' "$root/docs/clouds.md" |
    sed -n '/^```json$/,/^```$/p' | sed '1d;$d')
python3 - "$role" >actions <<'END'
import json, sys
print("\n".join(json.loads(sys.argv[1])["Actions"]))
END
is $? 0 "the role is JSON"
grep -ohE '"Microsoft\.[A-Za-z.]+(/[A-Za-z]+)+"' "$root"/src/cloud/azure/check.c | tr -d '"' |
    grep -E '/(read|write|delete|action)$' | sort -u >needed
check "which names some thirty" test "$(wc -l <needed)" -ge 30
is "$(grep -vxF -f actions needed)" "" "it has every action"
is "$(sort -c actions 2>&1)" "" "sorted"
done_testing
