#!/bin/bash
# The model of EC2 answers AWS's own client as EC2 does: what the tests of our driver rest on.
. "$(dirname "$0")/tap.sh"
command -v aws >/dev/null || skip_all "needs awscli"

mkfifo in
python3 "$root/tests/servers/ec2" <in >out &
exec 9>in
until [ -s out ]; do sleep .05; done
. ./out
export AWS_ACCESS_KEY_ID=AKIDMODEL AWS_SECRET_ACCESS_KEY=model/secret+key AWS_REGION=us-east-1
export AWS_DEFAULT_REGION=us-east-1 AWS_PAGER= AWS_EC2_METADATA_DISABLED=true AWS_MAX_ATTEMPTS=1
HOME=$scratch
ec2() { aws --endpoint-url "$EC2_MODEL" --output text ec2 "$@" 2>&1; }

is "$(aws --endpoint-url "$EC2_MODEL" sts get-caller-identity --query Account --output text)" \
    123456789012 "who calls"
contains "$(AWS_SECRET_ACCESS_KEY=other ec2 describe-instances)" SignatureDoesNotMatch \
    "a wrong signature is refused"

image=$(ec2 describe-images --owners 099720109477 --query 'Images[1].ImageId' \
    --filters 'Name=name,Values=ubuntu/images/*')
contains "$image" ami- "images by owner and name"
is "$(ec2 describe-instance-type-offerings --location-type availability-zone \
    --filters Name=instance-type,Values=p3.2xlarge --query 'InstanceTypeOfferings[].Location')" \
    "us-east-1a	us-east-1b" "zones that offer a type"
tags='Tags=[{Key=broker-owner,Value=me},{Key=broker-attempt,Value=one}]'
group=$(ec2 create-security-group --group-name g --description d --query GroupId \
    --tag-specifications "ResourceType=security-group,$tags")
ec2 authorize-security-group-ingress --group-id "$group" --protocol tcp --port 22 \
    --cidr 192.0.2.1/32 >/dev/null 2>&1 || true
echo 'ssh-ed25519 AAAA me' >key.pub
ec2 import-key-pair --key-name k --public-key-material fileb://key.pub >/dev/null
contains "$(ec2 import-key-pair --key-name k --public-key-material fileb://key.pub)" \
    InvalidKeyPair.Duplicate "a key pair of that name is there"

run() {
    ec2 run-instances --image-id "$image" --key-name k --client-token "$1" --instance-type "$2" \
        --placement AvailabilityZone=us-east-1a \
        --network-interfaces "DeviceIndex=0,Groups=$group" \
        --tag-specifications "ResourceType=instance,$tags" "ResourceType=volume,$tags" \
        --query 'Instances[].InstanceId'
}
one=$(run one m5.xlarge)
contains "$one" i- "an instance"
is "$(run one m5.xlarge)" "$one" "the same token, the same instance"
contains "$(run one t3.micro)" IdempotentParameterMismatch "and nothing else"
is "$(ec2 describe-instances --filters Name=tag:broker-owner,Values=me \
    --query 'Reservations[].Instances[].InstanceId')" "$one" "found by its tag"
contains "$(ec2 delete-security-group --group-id "$group")" DependencyViolation \
    "its group cannot be deleted"
is "$(ec2 describe-volumes --query 'Volumes[].State')" in-use "it has a disk"
is "$(ec2 terminate-instances --instance-ids "$one" \
    --query 'TerminatingInstances[].CurrentState.Name')" shutting-down "terminated"
contains "$(run one m5.xlarge)" IdempotentInstanceTerminated "its token is used up"
contains "$(ec2 terminate-instances --instance-ids i-0)" InvalidInstanceID.NotFound "no such instance"
is "$(aws --endpoint-url "$EC2_MODEL" --output text service-quotas list-service-quotas \
    --service-code ec2 --query 'Quotas[].Value' | xargs)" "32.0 8.0 0.0 1.0" \
    "quotas, on two pages"
exec 9>&-
wait
done_testing
