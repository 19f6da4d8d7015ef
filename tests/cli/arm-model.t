#!/bin/bash
# The model of Azure's Resource Manager answers Microsoft's own clients as Azure does: what the tests of our
# driver rest on.
. "$(dirname "$0")/tap.sh"
for need in node openssl python3; do
    command -v $need >/dev/null || skip_all "$need is not installed"
done
[ -d "$root/tests/npm/node_modules/@azure/arm-compute" ] ||
    skip_all "the npm package @azure/arm-compute is not installed"

# These clients send tokens by https alone.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost 2>/dev/null
cat certificate.pem key.pem >both.pem
mkfifo in
# The machine fills the quota, so that a second one is refused.
python3 "$root/tests/servers/arm" --tls both.pem --settings '{"vcpus": 6, "boot_s": 1, "poll_s": 0}' <in >out &
exec 9>in
until [ -s out ]; do sleep .05; done
. ./out
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
NODE_EXTRA_CA_CERTS=$scratch/certificate.pem node "$root/tests/npm/arm_client.mjs" "$ARM_MODEL" >got 2>errors
is $? 0 "the client ends well"
sed 's/^/# /' errors
got() { sed -n "s/^$1	//p" got; }

is "$(got 'wrong secret')" " AuthenticationRequiredError" "a wrong secret gets no token"
is "$(got stranger)" "401 InvalidAuthenticationToken" "a token that was not given is refused"
is "$(got 'no group')" "404 ResourceGroupNotFound" "a machine without its group"
is "$(got group)" "201 200" "a group is created once"
is "$(got 'no network')" "400 InvalidResourceReference" "a machine without its network"
is "$(got network)" 201 "a network"
is "$(got 'eviction without spot')" "400 EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines" \
    "what Azure refuses of machines that are not spot ones"
is "$(got 'no such zone')" "409 SkuNotAvailable" "a zone without the size"
is "$(got machine)" "one Succeeded Spot one 1 Delete" "a machine, by its operation"
is "$(got again)" true "the same PUT, the same machine"
is "$(got changed)" "409 PropertyChangeNotAllowed" "another one is refused"
is "$(got quota)" "409 OperationNotAllowed" "past the quota"
is "$(got view)" "ProvisioningState/succeeded PowerState/running" "its instance view"
is "$(got expanded)" 2 "the same within the machine"
is "$(got disk)" "Attached me" "its disk, with its tags"
is "$(got 'disk in use')" "400 OperationNotAllowed" "which cannot be deleted"
is "$(got size)" "virtualMachines 1,2 vCPUs" "a size with its zones"
is "$(got usage)" "4 of 6" "quotas"
is "$(got deleted)" "404 ResourceNotFound" "deleted"
is "$(got disks)" 0 "with its disk"
exec 9>&-
wait
done_testing
