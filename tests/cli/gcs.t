#!/usr/bin/env bash
# Google's Cloud Storage against a server of our own that keeps to its API (tests/servers/gcs), with the
# official client for Node as a foreign one that checks the server, too, and through a proxy that spoils
# requests: first the driver and rounds of training over it (unit tests to which this brings the servers),
# then commands with the key of a service account.
. "$(dirname "$0")/tap.sh"

servers=$root/tests/servers
build=${TRADEWIND_BUILD:-$root/build}
programs=$build/tests/unit/store
for need in curl openssl python3; do
    command -v $need >/dev/null || skip_all "$need is not installed"
done
[ -x "$programs/test_buckets" ] || skip_all "$programs/test_buckets is not built"
library=$build/tests/tools/crc32c.so
[ -e "$library" ] || skip_all "$library is not built"

trap 'for pid in ${server-} ${proxy-}; do kill "$pid"; done; rm -rf "$scratch"' EXIT
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem 2>/dev/null
openssl pkey -in private.pem -pubout -out public.pem
"$servers/gcs" "$library" public.pem >settings &
server=$!
until grep -qs GCS_PORT settings; do sleep .05; done
eval "$(cat settings)"
"$servers/faulty-proxy" "127.0.0.1:$GCS_PORT" >proxy &
proxy=$!
until grep -qs PROXY_ENDPOINT proxy; do sleep .05; done
eval "$(cat proxy)"
export GCS_ENDPOINT PROXY_ENDPOINT STORE_ENDPOINT=$GCS_ENDPOINT STORE_BASE=gs:// GOOGLE_CLOUD_PROJECT=test
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY STORAGE_EMULATOR_HOST

# ---- the driver, as a user of gcloud; its lines are ours, numbered through ----
cat >user.json <<END
{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "refresh-me",
 "token_uri": "$GCS_ENDPOINT/token"}
END
statuses=
for program in test_buckets test_buckets_faults test_keyed ../fed/test_round; do
    GOOGLE_APPLICATION_CREDENTIALS=$scratch/user.json "$programs/$program" >>raw
    statuses+=$?
done
awk '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } !/^1\.\./' raw | tee lines
tests=$(grep -cE '^(not )?ok ' lines)
failures=$(grep -c '^not ok ' lines)
is "$statuses" 0000 "the driver's checks end well"

# ---- commands, as a service account ----
account() { # PRIVATE.pem
    python3 - "$1" "$GCS_ENDPOINT/token" <<'PYTHON'
import json, sys
print(json.dumps({"type": "service_account", "client_email": "lake@test.iam.gserviceaccount.com",
                  "private_key_id": "k1", "private_key": open(sys.argv[1]).read(),
                  "project_id": "test", "token_uri": sys.argv[2]}))
PYTHON
}
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out other.pem 2>/dev/null
account private.pem >account.json
account other.pem >stranger.json
export GOOGLE_APPLICATION_CREDENTIALS=$scratch/account.json
store=gs://cli-lake/team/x
control() {
    curl -s "$GCS_ENDPOINT/_$1"
}
fault() {
    curl -s "$PROXY_ENDPOINT/_fault?$1"
}
GOOGLE_APPLICATION_CREDENTIALS=$scratch/stranger.json fails 4 \
    "lake@test.iam.gserviceaccount.com" init --store $store --endpoint "$GCS_ENDPOINT"
contains "$err" "invalid_grant: Invalid JWT Signature." "and says why"
lacks "$err" "PRIVATE KEY" "the key is not shown"
GOOGLE_APPLICATION_CREDENTIALS=$scratch/none fails 2 "there is no file $scratch/none" \
    init --store $store --endpoint "$GCS_ENDPOINT"
fails 2 "a bucket's name has" init --store gs://Bad_Name --endpoint "$GCS_ENDPOINT"
check "nothing was written" test ! -e "$TRADEWIND_HOME/config.yaml"
run init --store $store --endpoint "$PROXY_ENDPOINT"
is "$code" 0 "init makes the bucket $err"

mkdir -p data/sub
echo a >data/a
echo b >data/sub/b
head -c 40000000 /dev/urandom >data/large
fault "kind=busy&count=4"
run put data /in/
is "$code" 0 "put through a short storm $err"
control expire >/dev/null
fault "kind=cut-out&count=2&method=GET"
run get /in/ out
is "$code" 0 "get through cut connections, with a new token $err"
check "brings it all back" diff -r data out/in/data
fault kind=none

# Pieces of a part that the server keeps, and sessions that it forgets
head -c 40000000 /dev/urandom >halves
control swallow >/dev/null
run put halves /in/
is "$code" 0 "a part of which the server kept half $err"
head -c 40000000 /dev/urandom >forgotten
fault "kind=slow&value=2&method=PUT&count=1"
"$TRADEWIND" put forgotten /in/ 2>why &
put=$!
for ((i = 0; i < 600; i++)); do
    curl -s "$PROXY_ENDPOINT/_log" | grep -q "POST 200" && break
    sleep .05
done
control forget >/dev/null
wait $put
is $? 0 "an upload that the server forgets begins again $(<why)"
fault kind=none
run get /in/halves /in/forgotten back
check "and all bytes are there" cmp halves back/in/halves
check "in both" cmp forgotten back/in/forgotten
run fsck
is "$code" 0 "and all is well $out"
fails 5 "has no URLs for other programs" url /in/data/large
run doctor
contains "$out" "$store stores, returns and deletes content" "doctor has tried the store"
contains "$out" "GOOGLE_APPLICATION_CREDENTIALS (lake@test.iam.gserviceaccount.com)" \
    "and says whose credentials it found"

# Objects of others are inputs of a run
token=$(curl -s -d 'grant_type=refresh_token&refresh_token=refresh-me' "$GCS_ENDPOINT/token" | json 'd["access_token"]')
for name in set/a set/sub/b setting; do
    curl -s -o answer -H "Authorization: Bearer $token" --data-binary "$name" \
        "$GCS_ENDPOINT/upload/storage/v1/b/cli-lake/o?uploadType=media&name=others/$name"
done
cat >in.yaml <<'YAML'
name: in
inputs: {"gs://cli-lake/others/set": 0.1}
outputs: {o: 0.001}
estimate: {seconds: 30}
run: cd "$TRADEWIND_INPUT"/sources/gs && find . -type f | sort >"$TRADEWIND_OUTPUT/o/list"
YAML
STORAGE_EMULATOR_HOST=$GCS_ENDPOINT check "objects of others are inputs" \
    "$TRADEWIND" run in.yaml --yes >run.txt 2>&1
is "$("$TRADEWIND" cat /in.in/o/list)" "./cli-lake/others/set/a
./cli-lake/others/set/sub/b" "all that lies below, and nothing beside it"
"$TRADEWIND" broker --stop >/dev/null

# The official client reads ours and writes its own, which checks the server as well
modules=$root/tests/npm/node_modules
if command -v node >/dev/null && [ -d "$modules/@google-cloud/storage" ]; then
    cat >client.js <<'JS'
const {Storage} = require('@google-cloud/storage');
const {OAuth2Client} = require('google-auth-library');
const assert = require('assert');
const fs = require('fs');
(async () => {
    const authClient = new OAuth2Client();
    authClient.setCredentials({access_token: process.env.TOKEN});
    const storage = new Storage({apiEndpoint: process.env.GCS_ENDPOINT, projectId: 'test', authClient,
        useAuthWithCustomEndpoint: true, retryOptions: {maxRetries: 1}});
    const bucket = storage.bucket('cli-lake');
    const [files] = await bucket.getFiles({prefix: 'team/x/'});
    const large = files.filter(f => /\/large\//.test(f.name) && Number(f.metadata.size) === 40000000);
    let same = 0;
    for (const f of large)
        same += (await f.download())[0].equals(fs.readFileSync('data/large'));
    assert.strictEqual(same, 1);
    await storage.createBucket('theirs');
    const theirs = storage.bucket('theirs');
    await theirs.upload('data/a', {destination: 'set/a', resumable: false});
    /* The client's streams forget the token at other addresses than Google's. */
    const [uri] = await theirs.file('set/sub/large').createResumableUpload();
    await theirs.upload('data/large', {destination: 'set/sub/large', uri, resumable: true});
    assert.ok((await theirs.file('set/sub/large').download())[0].equals(
        fs.readFileSync('data/large')));
    await assert.rejects(theirs.upload('data/a', {destination: 'set/a', resumable: false,
        preconditionOpts: {ifGenerationMatch: 0}}), e => e.code === 412);
    const [page, next] = await theirs.getFiles({prefix: 'set/', maxResults: 1, autoPaginate: false});
    assert.strictEqual(page[0].name, 'set/a');
    assert.ok(next.pageToken);
    await theirs.combine(['set/a', 'set/a'], 'twice');
    assert.strictEqual((await theirs.file('twice').download())[0].toString(), 'a\na\n');
    await theirs.file('twice').copy(theirs.file('copy'));
    await theirs.file('copy').delete();
    await assert.rejects(theirs.file('copy').getMetadata(), e => e.code === 404);
    console.log('all is well');
})().catch(e => { console.log(e); process.exit(1); });
JS
    is "$(TOKEN=$token NODE_PATH=$modules node client.js 2>&1 | tail -n 40)" "all is well" \
        "Google's client for Node reads our large object, and the server is as it expects"
else
    skip "Google's client for Node" "it is not installed"
fi
done_testing
