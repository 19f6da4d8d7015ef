#!/bin/bash
# `clouds check` against the model of EC2, and what docs/clouds.md shows of it.
. "$(dirname "$0")/tap.sh"

# begin SETTINGS: the model with these
begin() {
    [ -p in ] || mkfifo in
    rm -f out
    python3 "$root/tests/servers/ec2" --settings "$1" <in >out &
    exec 9>in
    until [ -s out ]; do sleep .05; done
    . ./out
    export AWS_ENDPOINT_URL=$EC2_MODEL
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
done_testing
