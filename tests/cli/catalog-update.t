#!/usr/bin/env bash
# catalog update against a local web server that fails in every way
. "$(dirname "$0")/tap.sh"

command -v python3 >/dev/null || skip_all "no python3"
[[ $(ldconfig -p 2>/dev/null; ls /usr/lib/*/libcurl.so.4 2>/dev/null) == *libcurl.so.4* ]] ||
    skip_all "no libcurl"
cat >server.py <<'PYTHON'
import gzip, http.server, sys

header = b"InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region\n"
body = gzip.compress(header + b"fresh,,,2,8,0.5,0.1,r1\n" * 1)
tried = {}

class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, content=b"", length=None, extra=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        path = self.path.split("?")[0]
        tried[path] = tried.get(path, 0) + 1
        if path == "/tried":
            return self.answer(200, repr(sorted(tried.items())).encode())
        if path.endswith("/aws/vms.csv.gz") or path == "/azure-vms.csv.gz":
            return self.answer(200, body)
        if path == "/flaky/gcp-vms.csv":
            if tried[path] == 1:
                return self.answer(503)
            if tried[path] == 2:  # cut in the middle
                return self.answer(200, header[:20], len(header) + 1000)
            return self.answer(200, header + b"steady,,,2,8,0.5,0.1,r1\n")
        if path == "/moved/oci-vms.csv":
            return self.answer(302, extra=[("Location", "/azure-vms.csv.gz")])
        if path == "/away/oci-vms.csv":  # another machine than 127.0.0.1, as far as anybody can tell
            return self.answer(302, extra=[("Location", f"http://0.0.0.0:{server.server_address[1]}/azure-vms.csv.gz")])
        if path == "/loop":
            return self.answer(302, extra=[("Location", "/loop")])
        if path == "/to-file":
            return self.answer(302, extra=[("Location", "file:///etc/passwd")])
        if path == "/page/do-vms.csv":
            return self.answer(200, b"<html>sign in first</html>")
        if path == "/cut/do-vms.csv.gz":
            return self.answer(200, body[:40])
        if path == "/bad/offers.csv":
            return self.answer(200, b"cloud,region\n")
        if path == "/busy/do-vms.csv":
            return self.answer(429)
        if path == "/secret/do-vms.csv":
            return self.answer(403)
        self.answer(404)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
python3 server.py >port &
server=$!
trap 'kill $server; rm -rf "$scratch"' EXIT
for ((i = 0; i < 100; i++)); do
    [[ -s port ]] && break
    sleep 0.05
done
url=http://127.0.0.1:$(<port)
mkdir tmp
export TMPDIR=$scratch/tmp
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY

# update_from URL...
update_from() {
    mkdir -p "$TRADEWIND_HOME"
    printf 'catalog:\n  update:\n' >"$TRADEWIND_HOME/config.yaml"
    printf '    - %s\n' "$@" >>"$TRADEWIND_HOME/config.yaml"
}

fails 2 'has no URLs under catalog.update' catalog update

update_from "$url/catalogs/v8/aws/vms.csv.gz?raw=true" "$url/azure-vms.csv.gz"
run catalog update --json
is "$code" 0 "two files are downloaded and imported $err"
contains "$out" "\"file\": \"$url/catalogs/v8/aws/vms.csv.gz?raw=true\"" "the report names the URL"
is "$("$TRADEWIND" catalog list --json | grep -c '"fresh"')" 2 "and they are in use"
is "$("$TRADEWIND" catalog show fresh --json | grep -c '"cloud": "a[wz]')" 2 "for aws and azure"

update_from "$url/flaky/gcp-vms.csv"
run catalog update
is "$code" 0 "a 503 and a cut transfer are tried again $err"
contains "$(python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$url/tried")" \
    "('/flaky/gcp-vms.csv', 3)" "at the third try it came through"
update_from "$url/moved/oci-vms.csv"
run catalog update
is "$code" 0 "a redirect is followed $err"
update_from "file://$scratch/do-vms.csv"
printf '%s\n' InstanceType,Price,Region,vCPUs,MemoryGiB file,1,r,1,1 >do-vms.csv
run catalog update
is "$code" 0 "a file URL $err"

# In the clear to another machine only when that is allowed; 0.0.0.0 stands for one.
away=http://0.0.0.0:$(<port)
for where in "$away/azure-vms.csv.gz" "$url/away/oci-vms.csv"; do
    update_from "$where"
    fails 2 "$away/azure-vms.csv.gz: others can read and change on the way what goes over http://: write https://" \
        catalog update
    run catalog update --insecure
    is "$code" 0 "--insecure allows $where $err"
    TRADEWIND_INSECURE=1 run catalog update
    is "$code" 0 "so does the environment"
    echo "insecure: true" >>"$TRADEWIND_HOME/config.yaml"
    run catalog update
    is "$code" 0 "and the configuration"
done

before=$(catalog_digest)
good=$url/azure-vms.csv.gz
update_from "$good" "$url/not-there/aws-vms.csv"
fails 3 "$url/not-there/aws-vms.csv: the server answers 404" catalog update
update_from "$good" "$url/page/do-vms.csv"
fails 2 "$url/page/do-vms.csv: its header is not that of" catalog update
update_from "$good" "$url/cut/do-vms.csv.gz"
fails 2 "damaged gzip data" catalog update
update_from "$good" "$url/bad/offers.csv"
fails 2 "$url/bad/offers.csv:1: there is no column" catalog update
update_from "$good" "$url/secret/do-vms.csv"
fails 4 "the server answers 403" catalog update
update_from "$good" "$url/loop"
fails 7 "$url/loop" catalog update
update_from "$good" "$url/to-file"
fails 2 "$url/to-file" catalog update
update_from "$good" "$url/busy/do-vms.csv"
fails 6 "the server answers 429" catalog update
update_from "$good" "http://127.0.0.1:1/do-vms.csv"
fails 6 "127.0.0.1" catalog update
update_from "$good" "file://$scratch/not-there.csv"
fails 3 "not-there.csv" catalog update
is "$(catalog_digest)" "$before" "and nothing has changed"
is "$(ls -A "$TMPDIR")" "" "no temporary files are left"
TMPDIR=$scratch/not-there fails 7 "not-there/tradewind-update-" catalog update
done_testing
