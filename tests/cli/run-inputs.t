#!/usr/bin/env bash
# Inputs that lie elsewhere (https, S3) and code in a repository: fetched once, kept with where they
# came from, fetched again when they changed; what cannot be had is refused before anything begins.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_PROFILE AWS_SESSION_TOKEN
servers=$root/tests/servers
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; [ -z "${web-}" ] || kill "$web"
[ ! -d s3 ] || "$servers/s3" stop s3; rm -rf "$scratch"' EXIT

cat >web.py <<'PY'
import hashlib, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        path = self.path.split("?")[0]
        if path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:%d/data.txt" % self.server.server_port)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        try:
            content = open("served" + path, "rb").read()
        except OSError:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        size = 10**17 if path == "/huge" else len(content)
        self.send_header("Content-Length", str(size))
        if path != "/plain.txt":
            self.send_header("ETag", '"%s"' % hashlib.md5(content).hexdigest())
        self.end_headers()
        if body:
            with open("gets", "a") as f:
                f.write(self.path + "\n")
            self.wfile.write(content)
    def do_GET(self):
        self.answer(True)
    def do_HEAD(self):
        self.answer(False)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
mkdir served
echo one >served/data.txt
echo plain >served/plain.txt
echo x >served/huge
touch gets
python3 web.py >port &
web=$!
until [ -s port ]; do sleep 0.05; done
at=127.0.0.1:$(<port)

pipeline() { # name, input, how it is read
    printf 'name: %s\ninputs: [{from: "%s", size: 1KB, place: local}]\noutputs: {o: 0.001}
estimate: {seconds: 30}\nrun: |\n  %s >"$TRADEWIND_OUTPUT/o/copy"\n' "$@" >"$1.yaml"
}
gets() { grep -c "$1" gets; }

# ---- the web ----
pipeline web "http://$at/data.txt" 'cat "$TRADEWIND_INPUT"/sources/http/*/data.txt'
check "an input on the web" "$TRADEWIND" run web.yaml --yes >web.txt 2>&1
is "$("$TRADEWIND" cat /web.web/o/copy)" one "its stage reads it"
is "$("$TRADEWIND" find "source='http://$at/data.txt'" --json | json '[f["ref"] for f in d]')" \
    "['/sources/http/${at/:/%3A}/data.txt#1']" "the lake knows where it came from"
check "again" "$TRADEWIND" run web.yaml --yes >/dev/null 2>&1
is "$(gets /data.txt)" 1 "what did not change is not fetched again"
is "$("$TRADEWIND" run show 2 --json | json 'd["stages"][0]["state"]')" reused "nor worked on"
echo two >served/data.txt
check "changed" "$TRADEWIND" run web.yaml --yes >/dev/null 2>&1
is "$(gets /data.txt) $("$TRADEWIND" cat /web.web/o/copy)" "2 two" "what changed is"
pipeline moved "http://$at/moved?key=verysecret" 'cat "$TRADEWIND_INPUT"/sources/http/*/moved-*'
check "one that moved, with a query" "$TRADEWIND" run moved.yaml --yes >/dev/null 2>&1
is "$("$TRADEWIND" cat /moved.moved/o/copy)" two "is followed"
is "$("$TRADEWIND" find 'source~verysecret' --json 2>/dev/null | json 'len(d)')" 0 \
    "and no record has its query"
pipeline plain "http://$at/plain.txt" 'cat "$TRADEWIND_INPUT"/sources/http/*/plain.txt'
check "a server that tells no etag" "$TRADEWIND" run plain.yaml --yes >/dev/null 2>&1
check "is asked again" "$TRADEWIND" run plain.yaml --yes >/dev/null 2>&1
is "$(gets /plain.txt)" 2 "each time"

# In the clear to another machine, which 0.0.0.0 stands for.
away=0.0.0.0:${at#*:}
pipeline away "http://$away/data.txt" 'cat "$TRADEWIND_INPUT"/sources/http/*/data.txt'
had=$("$TRADEWIND" run ls --json | json 'len(d)')
fails 2 "away.yaml:2: stage away: http://$away/data.txt: others can read and change on the way" \
    run away.yaml --yes --json
is "$("$TRADEWIND" run ls --json | json 'len(d)')" "$had" "and nothing was started"
check "--insecure fetches it" "$TRADEWIND" run away.yaml --yes --insecure >/dev/null 2>&1
is "$("$TRADEWIND" cat /away.away/o/copy)" two "and its stage reads it"

runs=$("$TRADEWIND" run ls --json | json 'len(d)')
pipeline gone "http://$at/gone" true
fails 3 "stage gone: fetch http://$at/gone: the server has nothing there (404)" \
    run gone.yaml --yes --json
pipeline huge "http://$at/huge" true
fails 5 "stage huge: fetch http://$at/huge: it has 100000000.0 GB, and the disk of" \
    run huge.yaml --yes --json
pipeline other "r2://bucket/x" true
sed -i 's/place: local/place: gcp\/us-central1/' other.yaml
fails 2 "other.yaml:2: stage other: r2://bucket/x cannot be fetched, only s3://, gs://, az://, https:// and" \
    run other.yaml --yes --json
is "$("$TRADEWIND" run ls --json | json 'len(d)')" "$runs" "none of them began"

# ---- a repository ----
if command -v git >/dev/null; then
    git init -q tools.git
    git -C tools.git config user.email a@example.org
    git -C tools.git config user.name a
    echo 'echo first' >tools.git/say.sh
    git -C tools.git add say.sh
    git -C tools.git commit -qm 1
    git -C tools.git tag v1
    first=$(git -C tools.git rev-parse HEAD)
    echo 'echo second' >tools.git/say.sh
    git -C tools.git commit -qam 2
    printf 'name: repo\nworkdir: {url: "file://%s/tools.git", ref: v1}\noutputs: {o: 0.001}
run: bash say.sh >"$TRADEWIND_OUTPUT/o/said"\n' "$scratch" >repo.yaml
    check "code in a repository" "$TRADEWIND" run repo.yaml --yes >repo.txt 2>&1
    is "$("$TRADEWIND" cat /repo.repo/o/said)" first "at a ref"
    job=$("$TRADEWIND" run ls --json | json 'd[0]["run"]')
    job=$("$TRADEWIND" run show "$job" --json | json 'd["stages"][0]["job"]')
    is "$("$TRADEWIND" job show "$job" --json | json 'd["commit"]')" "$first" \
        "the job has the commit"
    sed 's/ref: v1/ref: nowhere/' repo.yaml >lost.yaml
    fails 2 "stage repo: workdir: file://$scratch/tools.git cannot be fetched: git: " \
        run lost.yaml --yes --json
    sed 's|file://[^"]*|http://example.org/tools.git|' repo.yaml >clear.yaml
    fails 2 'stage repo: workdir: http://example.org/tools.git: others can read and change' \
        run clear.yaml --yes --json
    sed 's/ref: v1/ref: --upload-pack=x/' repo.yaml >evil.yaml
    fails 2 'is not a ref of git' run evil.yaml --yes --json
else
    skip "code in a repository" "git is not installed"
fi

# ---- a bucket ----
if command -v aws >/dev/null && "$servers/s3" have 2>/dev/null && mkdir s3 &&
    settings=$("$servers/s3" start s3); then
    eval "$settings"
    export AWS_ACCESS_KEY_ID=$S3_KEY_ID AWS_SECRET_ACCESS_KEY=$S3_SECRET
    export AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL=$S3_ENDPOINT
    export AWS_EC2_METADATA_DISABLED=true AWS_REQUEST_CHECKSUM_CALCULATION=when_required
    mkdir -p up/raw/deep
    echo a >up/raw/a
    echo b >up/raw/deep/b@2
    echo not this >up/rawhide
    : >up/raw/empty
    aws s3 mb s3://in-bucket >/dev/null
    aws s3 cp --recursive up s3://in-bucket/ >/dev/null
    pipeline s3in s3://in-bucket/raw/ 'cd "$TRADEWIND_INPUT"/sources/s3 \&\& find . -type f | sort'
    sed -i 's/\\&/\&/g' s3in.yaml
    check "an input in a bucket" "$TRADEWIND" run s3in.yaml --yes >s3.txt 2>&1
    is "$("$TRADEWIND" cat /s3in.s3in/o/copy)" "./in-bucket/raw/a
./in-bucket/raw/deep/b@2
./in-bucket/raw/empty" "all that lies below, and nothing beside it"
    is "$("$TRADEWIND" cat /sources/s3/in-bucket/raw/deep/b%402)" b "as it was"
    echo changed >up/raw/a
    if bwrap --dev-bind / / true 2>/dev/null; then
        printf 'name: s3mount\nfile_mounts: {/tw-mount-%s: "s3://in-bucket/raw/"}
outputs: {o: 0.001}\nestimate: {seconds: 30}
run: cd /tw-mount-%s; find . -type f | sort >"$TRADEWIND_OUTPUT/o/copy"\n' $$ $$ >s3mount.yaml
        check "a bucket as a mount" "$TRADEWIND" run s3mount.yaml --yes >s3.txt 2>&1
        is "$("$TRADEWIND" cat /s3mount.s3mount/o/copy)" "./a
./deep/b@2
./empty" "its objects are below the path"
    else
        skip "a bucket as a mount" "bubblewrap cannot make mounts here"
    fi
    aws s3 cp up/raw/a s3://in-bucket/raw/a >/dev/null
    aws s3 rm s3://in-bucket/raw/deep/b@2 >/dev/null
    check "changed there" "$TRADEWIND" run s3in.yaml --yes >/dev/null 2>&1
    is "$("$TRADEWIND" cat /s3in.s3in/o/copy)" "./in-bucket/raw/a
./in-bucket/raw/empty" "what is gone there is not read any more"
    is "$("$TRADEWIND" log /sources/s3/in-bucket/raw/a --json | json 'len(d)') \
$("$TRADEWIND" log /sources/s3/in-bucket/raw/empty --json | json 'len(d)')" "2 1" \
        "what changed has a second version, the rest has not"
    pipeline none s3://in-bucket/nothing true
    fails 3 "stage none: fetch s3://in-bucket/nothing: nothing is there" run none.yaml --yes --json
else
    skip "an input in a bucket" "needs aws and an S3 server"
fi

# ---- names that look like references ----
mkdir -p 'n@me'
echo odd >'n@me/v#1:2%23'
pipeline odd './n@me/v#1:2%23' 'cat "$TRADEWIND_INPUT/odd/n@me/v#1:2%23"'
check "a path with @ and # in it" "$TRADEWIND" run odd.yaml --yes >odd.txt 2>&1
is "$("$TRADEWIND" cat /odd.odd/o/copy)" odd "its stage reads it"
pipeline tree './n@me' 'cat "$TRADEWIND_INPUT"/tree/n@me/*'
check "and a directory" "$TRADEWIND" run tree.yaml --yes >tree.txt 2>&1
is "$("$TRADEWIND" cat /tree.tree/o/copy)" odd "too"

done_testing
