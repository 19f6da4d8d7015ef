#!/usr/bin/env bash
# `tradewind mcp`: the protocol by hand, and with the official client of npm where it is installed.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
npm=$root/tests/npm
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

printf 'name: p\n---\nname: one\nestimate: 1h\nresources: {cpus: 2}\nrun: echo one\n' >p.yaml
check "a job to look at" "$TRADEWIND" job submit --wait -- printf 'a\001b\377\nsecond\n'

# Sends lines, prints what each answer has at a path such as result.tools.0.name.
cat >ask.py <<'PY'
import json, subprocess, sys
program, path, *lines = sys.argv[1:]
options = ["--allow-write"] if lines and lines[0] == "write" else []
done = subprocess.run([program, "mcp", *options], input="\n".join(lines[len(options):]) + "\n",
                      capture_output=True, text=True, timeout=120)
if done.returncode or done.stderr:
    print("status", done.returncode, done.stderr)
for line in done.stdout.splitlines():
    value = json.loads(line)
    assert value["jsonrpc"] == "2.0"
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value.get(key) if value else None
    print(json.dumps(value))
PY
ask() { python3 ask.py "$TRADEWIND" "$@"; }
call() { printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}' "$1" "$2"; }
initialize() {
    printf '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"%s"}}' "$1"
}

is "$(ask result.protocolVersion "$(initialize 2024-11-05)" "$(initialize 1999-01-01)")" \
    '"2024-11-05"
"2025-11-25"' "the version is the assistant's where it is known, else the newest"
is "$(ask id "$(initialize 2025-06-18)" '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":7,"method":"ping"}')" '"a"
7' "answers carry the id of the request, notifications get none"
is "$(ask error.code 'no json' '[]' '{"id":{},"method":"ping"}' '{"id":1}' \
    '{"id":2,"method":"resources/list"}' "$(call no_such '{}')" \
    '{"id":3,"method":"tools/call","params":{}}' '{"id":4,"method":"ping","id":5}')" \
    '-32700
-32600
-32600
-32600
-32601
-32602
-32602
-32700' "mistakes have the codes of JSON-RPC"
python3 -c 'print("{\"id\":1,\"method\":\"ping\",\"x\":\"" + "y" * (17 << 20) + "\"}")
print("{\"id\":2,\"method\":\"ping\"}")' >long.txt
is "$("$TRADEWIND" mcp <long.txt | python3 -c 'import json, sys
for line in sys.stdin:
    m = json.loads(line); print(m["id"], m.get("error", {}).get("code"))')" 'None -32600
2 None' "a message that is too long is refused, and the next one is answered"

"$TRADEWIND" plan p.yaml --json >plan.json
is "$(ask result.structuredContent.cost_usd "$(call plan_solve '{"file":"p.yaml"}')")" \
    "$(python3 -c 'import json; print(json.load(open("plan.json"))["cost_usd"])')" \
    "plan_solve answers as plan --json"
is "$(ask result.structuredContent.text "$(call job_log '{"id":1}')" "$(call job_log '{"id":1,"lines":1}')")" \
    '"a?b?\nsecond\n"
"second\n"' "job_log has the last lines, made harmless"
is "$(ask result.content.0.text "$(call job_log '{"id":99}')" "$(call job_log '{"lines":1}')" \
    "$(call plan_solve '{"fil":"p.yaml"}')" "$(call job_log '[]')")" \
    '"there is no job 99; the last one is job 1"
"id: is missing"
"unknown field \"fil\"; did you mean \"file\"?"
"must be an object"' "failed calls say why, as everywhere"
is "$(ask result.isError "$(call job_log '{"id":99}')" "$(call job_list '{}')")" 'true
false' "and are results that the assistant reads"
is "$(ask error.message "$(call job_submit '{"command":["true"]}')" "$(call url_get '{"ref":"/x"}')" \
    "$(call job_kill '{"ids":[1]}')")" '"there is no such tool; tools/list lists them"
"there is no such tool; tools/list lists them"
"there is no such tool; tools/list lists them"' "by default nothing changes anything or hands out access"

# 1 vCPU at 2/3 + 2/3 x (1 - 0.5) / 7.5 of 0.031611, 1 GB at 2/3 + 2/3 x 512 / 7680 of 0.004237.
is "$(ask result.structuredContent.most_usd write "$(call job_submit '{"command":["true"],"time_limit_s":7200}')")" \
    "$(python3 -c 'v = 0.031611 * (2/3 + 2/3 * 0.5/7.5); g = 0.004237 * (2/3 + 2/3 * 512/7680)
print(round(2 * round(v + g, 6), 6))')" "what costs money answers with its cost first"
is "$("$TRADEWIND" job ls --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" 1 \
    "and starts nothing"
is "$(ask result.isError write "$(call job_submit '{"command":["true"],"confirm":"0123456789abcdef"}')" \
    "$(call job_submit '{"command":["true"],"confirm":5}')" "$(call run_start '{"file":"p.yaml","dry_run":false}')" \
    "$(call job_submit '{"command":["true"],"cpus":0.3}')")" 'true
true
true
true' "a made-up token, a dry run and bad arguments are refused"
is "$("$TRADEWIND" job ls --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" 1 \
    "which start nothing either"
is "$(ask result.structuredContent.plan.pipeline write "$(call run_start '{"file":"p.yaml"}')")" '"p"' \
    "a pipeline shows its plan first"

if [ -d "$npm/node_modules/@modelcontextprotocol" ]; then
    is "$(node "$npm/mcp_client.mjs" "$TRADEWIND" "$scratch" 2>&1)" 'server tradewind
read only true
plan optimal 1
log "a?b?\nsecond\n"
more tools true
cost 0.025492
waited finished
log "from the assistant\n"
cancelled
killed true' "the official client reads, starts, waits and cancels"
else
    skip 1 "the npm packages of tests/npm are not installed"
fi
done_testing
