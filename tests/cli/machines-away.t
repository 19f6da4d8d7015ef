#!/bin/bash
# A host that went away: what its job costs, who says so, and how it is given back.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=30 TRADEWIND_SSH=$scratch/ssh
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
printf '#!/bin/sh\necho "ssh: connect to host $*: No route to host" >&2\nexit 255\n' >ssh
chmod +x ssh
# A dollar a second.
settings() {
    printf 'hosts: {lab: [{host: a.lab, price: 3600}, {host: b.lab, cpus: 1, price: 1}]}\n'
    printf 'limits: {host_lost_s: 1, max_usd_per_month: %s}\n' "$1"
}
mkdir -p "$TRADEWIND_HOME"
settings 1000000 >"$TRADEWIND_HOME/config.yaml"

# change DATABASE SQL
change() {
    python3 - "$TRADEWIND_HOME/$1.db" "$2" <<'PY'
import contextlib, sqlite3, sys
with contextlib.closing(sqlite3.connect(sys.argv[1])) as db, db:
    for row in db.execute(sys.argv[2]):
        print(*row)
PY
}
# Everybody who tells what job 1 costs, in micro-dollars.
told() {
    {
        "$TRADEWIND" job show 1 --json
        "$TRADEWIND" job ls --json
        "$TRADEWIND" job compare 1 2 --json
        "$TRADEWIND" machines ls --all --json
    } | python3 -c 'import json, sys
text, at = sys.stdin.read(), 0
while text[at:].strip():
    found, at = json.JSONDecoder().raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
    for x in found if isinstance(found, list) else [found]:
        if 1 in (x.get("job"), x.get("id")):
            print(round(x["cost_usd"] * 1e6), end=" ")'
}
# machine_is HOST STATE: within a while, the only machine is so
machine_is() {
    local i found
    for ((i = 0; i < 600; i++)); do
        found=$("$TRADEWIND" machines ls --json | json '[(m["id"], m["state"]) for m in d]')
        [ "$found" = "[('$1', '$2')]" ] && return
        sleep 0.1
    done
    echo "# $found" >&3
    return 1
}

# Two cpus, so that no other host fits.
run job submit --on lab --cpus 2 -- true
run job wait 1 --timeout 120s
is "$("$TRADEWIND" job show 1 --json | json 'd["state"]')" failed "a job whose host never answers fails"
check "its host is let go, and not forgotten" machine_is a.lab deleting
"$TRADEWIND" job submit --wait -- true >/dev/null
"$TRADEWIND" broker --stop >/dev/null

# Over three minutes ago, after a second, and with a lease of three.
change lake 'UPDATE job SET finished = finished - 180000, cost_microusd = 1000000 WHERE id = 1'
change machines "UPDATE machine SET since = launched + 1000, expires = launched + 3000"
launched=$(change machines "SELECT launched FROM machine")
until (($(date +%s%3N) > launched + 4500)); do
    sleep 0.1
done
is "$(told)" "3000000 3000000 3000000 3000000 " "it costs its lease, whoever tells"
is "$("$TRADEWIND" job ls --sort cost --json | json 'd[0]["id"]')" 1 "and is the dearest"
contains "$("$TRADEWIND" job ls)" '$3.00' "also in the table"
contains "$("$TRADEWIND" job compare 1 2)" '$3.00' "and in the comparison"
# Whoever was killed before it wrote anything down.
change machines "UPDATE machine SET state = 3"
is "$(told | cut -d ' ' -f 1-3)" "3000000 3000000 3000000" "it is its job's end that counts"

# ---- the month ----
settings 3.5 >"$TRADEWIND_HOME/config.yaml"
run job submit -- true
is "$code" 0 "work that the month has room for goes on"
run job wait 3
check "the broker of it lets go what nobody had" machine_is a.lab deleting
"$TRADEWIND" broker --stop >/dev/null
settings 2 >"$TRADEWIND_HOME/config.yaml"
fails 5 "hosts of jobs that are over (job 1) are not released: tradewind machines cleanup" \
    job submit -- true
contains "$err" "raise it: tradewind config set limits.max_usd_per_month USD" "or it is raised"
run doctor --json
is "$(json '[(c["verdict"], c["fix"]) for c in d["checks"] if c["check"] == "machines"]' <<<"$out")" \
    "[('warning', '\`tradewind machines cleanup --yes\`')]" "doctor tells of it"

# ---- the sweep ----
run machines cleanup
contains "$out" "pool a.lab in lab, job 1: being deleted" "a sweep finds it"
is "$code" 0 "and only tells"
run machines cleanup --yes
is "$code" 6 "as long as it does not answer it is kept"
contains "$out" "not terminated yet: a.lab" "for that reason"
contains "$err" "retry in a minute, or add --forget HOST" "and the way out is told"
check "nothing else gets it" machine_is a.lab deleting
fails 2 "--forget c.lab: no such host is in use" machines cleanup --yes --forget c.lab
run machines cleanup --forget a.lab
contains "$out" "Nothing was done" "without --yes nothing is forgotten"
run machines cleanup --yes --json --forget a.lab
is "$code $(json '[(m["state"], m["error"], m["forgotten"]) for m in d]' <<<"$out")" \
    "0 [('gone', None, True)]" "a host that never comes back can be forgotten"
is "$("$TRADEWIND" machines ls)" "No machine is running." "it is given back"
is "$(told)" "3000000 3000000 3000000 3000000 " "for the same price"
is "$(change lake 'SELECT cost_microusd FROM job WHERE id = 1')" 3000000 "which its record has now"
is "$(change machines 'SELECT billed FROM machine')" 1 "once and for all"
is "$("$TRADEWIND" doctor --json |
    json '[c["verdict"] for c in d["checks"] if c["check"] == "machines"]')" "['ok']" "all is well"

# ---- a job under way ----
settings 1000000 >"$TRADEWIND_HOME/config.yaml"
sed -i 's/host_lost_s: 1/host_lost_s: 100000/' "$TRADEWIND_HOME/config.yaml"
run job submit --on lab --cpus 2 -- true
check "a job has a host" machine_is a.lab running
"$TRADEWIND" broker --stop >/dev/null
change machines "UPDATE machine SET expires = launched + 1 WHERE state < 5"
is "$("$TRADEWIND" machines cleanup --yes)" "No machine is orphaned." \
    "a job that is under way keeps its host, whatever the lease says"
fails 2 "--forget a.lab: job 4 needs it" machines cleanup --yes --forget a.lab
check "it stays" machine_is a.lab running
done_testing
