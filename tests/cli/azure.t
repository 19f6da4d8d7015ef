#!/usr/bin/env bash
# Azure's Blob service against azurite, with the official client for Node as a foreign one, and through a proxy that spoils
# requests: first the driver and rounds of training over it (unit tests to which this brings the
# servers), then commands.
. "$(dirname "$0")/tap.sh"

servers=$root/tests/servers
programs=${TRADEWIND_BUILD:-$root/build}/tests/unit/store
command -v curl >/dev/null || skip_all "curl is not installed"
"$servers/azure" have 2>why || skip_all "$(cat why)"
[ -x "$programs/test_buckets" ] || skip_all "$programs/test_buckets is not built"

mkdir azure
trap '"$servers/azure" stop azure; [ -z "${proxy-}" ] || kill "$proxy"; rm -rf "$scratch"' EXIT
settings=$("$servers/azure" start azure) || {
    check "azurite starts" false
    done_testing
    exit
}
eval "$settings"
"$servers/faulty-proxy" "127.0.0.1:$AZURE_PORT" >proxy &
proxy=$!
until grep -qs PROXY_ENDPOINT proxy; do sleep .05; done
eval "$(cat proxy)"
export PROXY_ENDPOINT STORE_ENDPOINT=$AZURE_ENDPOINT STORE_BASE=az://$AZURE_ACCOUNT/
export AZURE_STORAGE_ACCOUNT=$AZURE_ACCOUNT AZURE_STORAGE_KEY=$AZURE_KEY
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
unset AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_SAS_TOKEN AZURE_CLIENT_SECRET

# ---- the driver; its lines are ours, numbered through ----
statuses=
for program in test_buckets test_buckets_faults test_keyed ../fed/test_round; do
    "$programs/$program" >>raw
    statuses+=$?
done
awk '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } !/^1\.\./' raw | tee lines
tests=$(grep -cE '^(not )?ok ' lines)
failures=$(grep -c '^not ok ' lines)
is "$statuses" 0000 "the driver's checks end well"

# ---- commands ----
store=az://$AZURE_ACCOUNT/cli-lake/team/x
AZURE_STORAGE_KEY=$(printf 'another key' | base64) fails 4 \
    "az://$AZURE_ACCOUNT/cli-lake refuses the account's key" \
    init --store "$store" --endpoint "$AZURE_ENDPOINT"
lacks "$err" "$(printf 'another key' | base64)" "the key is not shown"
fails 2 "a container's name has" init --store "az://$AZURE_ACCOUNT/Bad_Name" --endpoint "$AZURE_ENDPOINT"
fails 2 "a storage account's name has" init --store az://A/lake --endpoint "$AZURE_ENDPOINT"
check "nothing was written" test ! -e "$TRADEWIND_HOME/config.yaml"
run init --store "$store" --endpoint "$PROXY_ENDPOINT"
is "$code" 0 "init makes the container $err"

fault() {
    curl -s "$PROXY_ENDPOINT/_fault?$1"
}
mkdir -p data/sub
echo a >data/a
echo b >data/sub/b
head -c 40000000 /dev/urandom >data/large
fault "kind=busy&count=4"
run put data /in/
is "$code" 0 "put through a short storm $err"
fault "kind=cut-out&count=2&method=GET"
run get /in/ out
is "$code" 0 "get through cut connections $err"
check "brings it all back" diff -r data out/in/data
fault kind=none
run fsck
is "$code" 0 "and all is well $out"
run doctor
contains "$out" "$store stores, returns and deletes content" "doctor has tried the store"
contains "$out" "credentials azure" "and looked for credentials"
lacks "$out" "$AZURE_KEY" "which it does not show"

# Files by their URLs alone
run url /in/data/large --json
curl -s "$(json 'd["url"]' <<<"$out")" >by-url
check "the URL of a large file reads it" cmp by-url data/large
fails 5 "Azure signs no URLs for parts of a blob" url /in/data/sub/b
run session begin /up/x.txt --urls --json
session=$(json 'd["session"]' <<<"$out")
url=$(json 'd["files"][0]["url"]' <<<"$out")
header=$(json 'd["files"][0]["header"]' <<<"$out")
echo "sent by curl" >x.txt
is "$(curl -s -o answer -w '%{http_code}' -H "$header" -T x.txt "$url")" 201 \
    "curl sends to the URL of a session"
run session finish "$session"
is "$code" 0 "which finishes $err"
is "$("$TRADEWIND" cat /up/x.txt)" "sent by curl" "and the file is there"

# The official client for Node sees the same bytes, and its own are inputs
modules=$root/tests/npm/node_modules
if [ -d "$modules/@azure/storage-blob" ]; then
    cat >client.js <<'JS'
const {BlobServiceClient, StorageSharedKeyCredential} = require('@azure/storage-blob');
const assert = require('assert');
const fs = require('fs');
(async () => {
    const account = process.env.AZURE_STORAGE_ACCOUNT;
    const service = new BlobServiceClient(`${process.env.STORE_ENDPOINT}/${account}`,
        new StorageSharedKeyCredential(account, process.env.AZURE_STORAGE_KEY));
    const ours = service.getContainerClient('cli-lake');
    let same = 0;
    for await (const blob of ours.listBlobsFlat({prefix: 'team/x/'}))
        if (/\/large\//.test(blob.name) && blob.properties.contentLength === 40000000)
            same += (await ours.getBlobClient(blob.name).downloadToBuffer())
                .equals(fs.readFileSync('data/large'));
    assert.strictEqual(same, 1);
    const theirs = service.getContainerClient('theirs');
    await theirs.create();
    for (const name of ['a', 'sub/b', 'large'])
        await theirs.getBlockBlobClient('set/' + name).uploadFile('data/' + name);
    await theirs.getBlockBlobClient('setting').uploadFile('data/a');
    console.log('all is well');
})().catch(e => { console.log(e); process.exit(1); });
JS
    is "$(NODE_PATH=$modules node client.js 2>&1 | tail -n 40)" "all is well" \
        "Azure's client for Node reads our large blob"
    cat >in.yaml <<'YAML'
name: in
inputs: {"az://twtest/theirs/set/": 0.1}
outputs: {o: 0.001}
estimate: {seconds: 30}
run: cd "$TRADEWIND_INPUT"/sources/az && find . -type f | sort >"$TRADEWIND_OUTPUT/o/list"
YAML
    AZURE_STORAGE_SERVICE_ENDPOINT=$AZURE_ENDPOINT/$AZURE_ACCOUNT \
        check "its objects are inputs of a run" "$TRADEWIND" run in.yaml --yes >run.txt 2>&1
    is "$("$TRADEWIND" cat /in.in/o/list)" "./twtest/theirs/set/a
./twtest/theirs/set/large
./twtest/theirs/set/sub/b" "all that lies below"
    "$TRADEWIND" broker --stop >/dev/null
else
    for name in "Azure's client for Node" "its objects are inputs of a run" "all that lies below"; do
        skip "$name" "the client is not installed"
    done
fi
done_testing
