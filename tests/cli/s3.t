#!/usr/bin/env bash
# S3 against a real server, with awscli and curl as foreign clients, and through a proxy that spoils
# requests: first the driver and rounds of training over it (unit tests to which this brings the
# servers), then commands.
. "$(dirname "$0")/tap.sh"

servers=$root/tests/servers
programs=${TRADEWIND_BUILD:-$root/build}/tests/unit/store
for need in aws curl; do
    command -v $need >/dev/null || skip_all "$need is not installed"
done
"$servers/s3" have 2>why || skip_all "$(cat why)"
[ -x "$programs/test_s3_server" ] || skip_all "$programs/test_s3_server is not built"

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
export S3_ENDPOINT S3_PORT PROXY_ENDPOINT STORE_ENDPOINT=$S3_ENDPOINT
export AWS_ACCESS_KEY_ID=$S3_KEY_ID AWS_SECRET_ACCESS_KEY=$S3_SECRET AWS_DEFAULT_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true AWS_REQUEST_CHECKSUM_CALCULATION=when_required
export AWS="aws --endpoint-url $S3_ENDPOINT"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_PROFILE AWS_SESSION_TOKEN

# ---- the driver; its lines are ours, numbered through ----
statuses=
for program in test_buckets test_s3_server test_s3_faults test_keyed ../fed/test_round; do
    "$programs/$program" >>raw
    statuses+=$?
done
awk '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } !/^1\.\./' raw | tee lines
tests=$(grep -cE '^(not )?ok ' lines)
failures=$(grep -c '^not ok ' lines)
is "$statuses" 00000 "the driver's checks end well"

# ---- commands ----
fault() {
    curl -s "$PROXY_ENDPOINT/_fault?$1"
}
uploads() {
    $AWS s3api list-multipart-uploads --bucket cli-lake | grep -c UploadId
}
store=s3://cli-lake/team/x
no_keys="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
refused="bucket cli-lake refuses the access keys: 403 SignatureDoesNotMatch"
HOME=$scratch AWS_ACCESS_KEY_ID='' AWS_SECRET_ACCESS_KEY='' \
    fails 4 "$no_keys" init --store $store --endpoint "$PROXY_ENDPOINT"
AWS_SECRET_ACCESS_KEY=wrongSecret \
    fails 4 "$refused" init --store $store --endpoint "$PROXY_ENDPOINT"
lacks "$err" wrongSecret "the secret is not shown"
fails 2 "a bucket's name has" init --store s3://Bad_Name --endpoint "$PROXY_ENDPOINT"
fails 2 "only host and port" init --store $store --endpoint "$PROXY_ENDPOINT/path"
far=http://0.0.0.0:${PROXY_ENDPOINT##*:} # another machine, as far as anybody can tell
fails 2 "$far/cli-lake" init --store $store --endpoint "$far"
contains "$err" "others can read and change on the way what goes over http://" "and says why"
check "nothing was written" test ! -e "$TRADEWIND_HOME/config.yaml"
TRADEWIND_HOME=$scratch/far run init --store s3://cli-lake/far --endpoint "$far" --insecure
is "$code" 0 "--insecure allows it $err"
contains "$(<"$scratch/far/config.yaml")" "insecure: true" "and is remembered"
run init --store $store --endpoint "$PROXY_ENDPOINT"
is "$code" 0 "init makes the bucket"

mkdir -p data/sub
echo a >data/a
echo b >data/sub/b
head -c 40000000 /dev/urandom >data/large
fault "kind=busy&count=4"
run put data /in/
is "$code" 0 "put through a short storm"
keys=$($AWS s3api list-objects-v2 --bucket cli-lake --query 'Contents[].Key' --output text)
is "$(tr '\t' '\n' <<<"$keys" | grep -c '^team/x/.*/large/')" 1 "a large object"
is "$(tr '\t' '\n' <<<"$keys" | grep -c '^team/x/.*/packs/')" 1 "and a pack for the small"
fault "kind=cut-out&count=2&method=GET"
run get /in/ out
is "$code" 0 "get through cut connections"
check "brings it all back" diff -r data out/in/data

# What was read once is in the cache, until that is removed
seen() {
    curl -s "$PROXY_ENDPOINT/_log" | grep -c '^GET'
}
fault "kind=none"
seen >/dev/null
run get /in/data/large again
check "a second get" cmp data/large again/in/data/large
is "$(seen)" 0 "asks the bucket for nothing"
run doctor
contains "$out" "38.1 MiB of at most 9.3 GiB in $TRADEWIND_HOME/cache" "doctor tells how much is there"
# What a job here made is there for the next one
run job submit --wait --output Made -- sh -c 'yes made | head -c 3000000 >"$TRADEWIND_OUTPUT/made"'
is "$code" 0 "a job makes something large"
seen >/dev/null
run get @Made made
is "$(find made -type f -size 3000000c | wc -l)" 1 "which is there"
is "$(seen)" 0 "and never had to come back from the bucket"
"$TRADEWIND" broker --stop >/dev/null
rm -rf "$TRADEWIND_HOME/cache"
"$TRADEWIND" config set limits.cache_gb 0 >/dev/null
run get /in/data/large again --force
run get /in/data/large thrice
check "without a cache" cmp data/large thrice/in/data/large
check "it comes from the bucket" test "$(seen)" -gt 0
check "and there is none" test ! -e "$TRADEWIND_HOME/cache"
fails 2 "limits.cache_gb" config set limits.cache_gb much
fault "kind=flip&method=GET"
fails 7 "is damaged" get /in/data/large damaged
check "and writes no file" test ! -e damaged/in/data/large
fault kind=none

# A file that arrives from elsewhere, by its URL alone
run session begin /up/x.txt --urls --json
session=$(json 'd["session"]' <<<"$out")
url=$(json 'd["files"][0]["url"]' <<<"$out")
header=$(json 'd["files"][0]["header"]' <<<"$out")
echo "sent by curl" >x.txt
answer=$(curl -s -o answer -w '%{http_code}' -H "$header" -T x.txt "$url")
is "$answer" 200 "curl sends to the URL of a session"
run session finish "$session"
is "$code" 0 "which finishes"
is "$("$TRADEWIND" cat /up/x.txt)" "sent by curl" "and the file is there"

# Wrong content is refused, and does not stand in the way of the right one
send() {
    "$TRADEWIND" session status "$session" --urls --json >targets
    curl -s -o answer -w '%{http_code}' -T "$1" \
        -H "$(json "d['files'][$2]['header']" <targets)" "$(json "d['files'][$2]['url']" <targets)"
}
waiting() {
    $AWS s3 ls --recursive s3://cli-lake/team/ | grep -c incoming/
}
printf 'right one\n' >right
printf 'wrong one\n' >wrong
printf 'longer than that\n' >long
before=$(waiting)
cat >two.json <<END
[{"path": "/up/r", "size_bytes": 10, "sha256": "$(sha256sum <right | cut -d' ' -f1)"},
 {"path": "/up/other"}]
END
session=$("$TRADEWIND" session begin --from two.json --json | json 'd["session"]')
is "$(send wrong 0)" 200 "wrong content arrives by URL"
is "$(send long 1)" 200 "beside other content"
fails 2 "/up/r (another SHA-256 than announced)" session finish "$session"
is "$(waiting)" "$before" "neither is kept where it was sent"
is "$(send long 0)" 200 "the same file takes other content"
fails 2 "/up/r (another length than announced)" session finish "$session"
is "$(send right 0)" 200 "and at last the right content"
run session finish "$session"
is "$code" 0 "which finishes"
is "$("$TRADEWIND" cat /up/r && "$TRADEWIND" cat /up/other)" "$(cat right long)" "with both files"
is "$(waiting)" "$before" "and nothing is left behind"

# Files read by their URLs alone
run url /in/data/large --json
is "$(json 'd["header"]' <<<"$out")" None "the URL of a large file needs no header"
curl -s "$(json 'd["url"]' <<<"$out")" >by-url
check "and reads it" cmp by-url data/large
run url /in/data/sub/b --expires 1m --json
url=$(json 'd["url"]' <<<"$out")
is "$(curl -s -H "$(json 'd["header"]' <<<"$out")" "$url")" b "a small file: its range of the pack"
is "$(curl -s -o answer -w '%{http_code}' "$url")" 403 "and nothing else of it"
is "$(curl -s -o answer -w '%{http_code}' -H 'Range: bytes=0-9' "$url")" 403 "nor another range"
fails 2 "must be from 1.0 s to 7 d" url /in/data/large --expires 8d
fails 2 "is not one file" url /in/data/
: >empty
"$TRADEWIND" put empty /in/ >/dev/null
fails 5 "/in/empty#1 is empty" url /in/empty

# Another home: its database does not know what is in the bucket
TRADEWIND_HOME=$scratch/other fails 2 "the store $store has content that lake.db in" \
    init --store $store --endpoint "$PROXY_ENDPOINT"
TRADEWIND_HOME=$scratch/other run init --store $store --endpoint "$PROXY_ENDPOINT" --new
is "$code" 0 "lakes may share a bucket"
TRADEWIND_HOME=$scratch/other run ls
is "$code$out" 0 "and do not see each other"
TRADEWIND_HOME=$scratch/third run init --store s3://cli-lake/team --endpoint "$PROXY_ENDPOINT"
is "$code" 0 "what lies deeper is nobody's business"

# Killed in the middle of an upload
head -c 40000000 /dev/urandom >big
fault "kind=slow&value=30&method=PUT"
curl -s "$PROXY_ENDPOINT/_log" >/dev/null
"$TRADEWIND" put big /k/ 2>killed &
put=$!
for ((i = 0; i < 100; i++)); do
    curl -s "$PROXY_ENDPOINT/_log" | grep -q "POST 200" && break
    sleep .05
done
kill -9 $put
wait $put 2>/dev/null
fault kind=none
is "$(uploads)" 1 "an upload is left behind"
session=$("$TRADEWIND" session status --json | json 'd[0]["session"]')
"$TRADEWIND" session abort "$session" >/dev/null
"$TRADEWIND" gc --yes --keep-latest >/dev/null
is "$(uploads)" 0 "gc clears it away"
run fsck
is "$code" 0 "and all is well"
contains "$out" "no problems" "says fsck"

# ---- a store that is away when a job ends ----

port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
forward() {
    python3 - "$port" "$S3_PORT" <<'PYTHON' &
import socket, sys, threading
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        s.close()
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    near, _ = server.accept()
    far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
PYTHON
    forwarder=$!
    until (exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep .05; done
}
job_is() { # STATE SECONDS
    local i
    for ((i = 0; i < 10 * $2; i++)); do
        [ "$("$TRADEWIND" job show 1 --json | json 'd["state"]')" = "$1" ] && return
        sleep .1
    done
    return 1
}
far_home=$TRADEWIND_HOME
export TRADEWIND_HOME=$scratch/away TRADEWIND_BROKER_IDLE_S=30 TRADEWIND_BROKER_STORE_WAIT_S=1
forward
run init --store s3://cli-lake/away --endpoint "http://127.0.0.1:$port"
is "$code" 0 "a lake behind a connection that can break"
"$TRADEWIND" put data/a /in/
run job submit --output kept -- sh -c "while [ ! -e '$scratch/go' ]; do sleep .05; done
    head -c 3000000 /dev/urandom >\$TRADEWIND_OUTPUT/x"
check "a job runs" job_is running 60
kill "$forwarder"
wait "$forwarder" 2>/dev/null
touch go
check "with the store away its output is unsaved" job_is unsaved 120
is "$("$TRADEWIND" job show 1 --json | json 'd["saves_later"]')" True "and is tried again"
made=$(sha256sum <"$TRADEWIND_HOME/jobs/1/output/x")
forward
check "with the store back it is stored" job_is finished 120
is "$("$TRADEWIND" cat /kept/x@kept | sha256sum)" "$made" "as it was made"
"$TRADEWIND" broker --stop >/dev/null
kill "$forwarder"
export TRADEWIND_HOME=$far_home

large=$(tr '\t' '\n' <<<"$keys" | grep /large/)
$AWS s3api delete-object --bucket cli-lake --key "$large"
run fsck
is "$code" 7 "an object that somebody deleted"
contains "$out" "/in/data/large#1" "is named by its file"
done_testing
