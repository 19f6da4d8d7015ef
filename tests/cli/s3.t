#!/usr/bin/env bash
# The S3 driver against a real server, with awscli and curl as foreign clients, and through a proxy
# that spoils requests. The checks are test_s3_server's; this brings the servers.
. "$(dirname "$0")/tap.sh"

servers=$root/tests/servers
program=${TRADEWIND_BUILD:-$root/build}/tests/unit/store/test_s3_server
for need in aws curl; do
    command -v $need >/dev/null || skip_all "$need is not installed"
done
"$servers/s3" have 2>why || skip_all "$(cat why)"
[ -x "$program" ] || skip_all "$program is not built"

mkdir s3
trap '"$servers/s3" stop s3; [ -z "${proxy-}" ] || kill "$proxy"; rm -rf "$scratch"' EXIT
settings=$("$servers/s3" start s3) || {
    check "the S3 server starts" false
    done_testing
    exit
}
eval "$settings"
"$servers/faulty-proxy" "127.0.0.1:$S3_PORT" >proxy &
proxy=$!
until grep -qs PROXY_ENDPOINT proxy; do sleep .05; done
eval "$(cat proxy)"
export S3_ENDPOINT S3_PORT PROXY_ENDPOINT
export AWS_ACCESS_KEY_ID=$S3_KEY_ID AWS_SECRET_ACCESS_KEY=$S3_SECRET AWS_DEFAULT_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true AWS_REQUEST_CHECKSUM_CALCULATION=when_required
export AWS="aws --endpoint-url $S3_ENDPOINT"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_PROFILE AWS_SESSION_TOKEN

# Its lines are ours.
"$program"
