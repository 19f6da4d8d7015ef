#!/usr/bin/env bash
# doctor tells what works here, what is missing and the way out, and never a secret.
. "$(dirname "$0")/tap.sh"

export HOME=$scratch/nobody TRADEWIND_BROKER_IDLE_S=30
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
    GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_ID
mkdir "$HOME"
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

verdict() { json "[c['verdict'] for c in d['checks'] if c['check'] == '$1']" <<<"$out"; }
found() { json "[c['found'] for c in d['checks'] if c['check'] == '$1'][0]" <<<"$out"; }

run doctor
is "$code $err" "0 " "a machine that can run jobs is fine"
is "$(awk 'length > 100' <<<"$out")" "" "lines fit"
is "$(grep -cvE '^(ok|warning|missing) |^         ' <<<"$out")" 0 "a verdict a line"
run doctor --json
is "$code $(json 'd["ok"]' <<<"$out")" "0 True" "for programs"
for check in home lake store tradewind-agent broker configuration "driver local" "driver sim" clock; do
    is "$(verdict "$check")" "['ok']" "$check"
done
contains "$(found limits)" "cpu: " "the limits are those of a job that ran"
contains "$(found limits)" "memory: " "both of them"
is "$(verdict "credentials aws") $(verdict "credentials gcp") $(verdict "credentials azure")" \
    "['missing'] ['missing'] ['missing']" "credentials that are not there"
contains "$(found broker)" "not running" "it starts no broker"
is "$(find "$TRADEWIND_HOME" -name 'doctor-*')" "" "nothing of its job is left"

AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=hush/hush run doctor --json
is "$(verdict "credentials aws")" "['ok']" "credentials are found"
contains "$(found "credentials aws")" "environment" "and where"
lacks "$out$err" "hush" "but not told"
lacks "$out$err" "AKIDEXAMPLE" "nor their name"

"$TRADEWIND" job submit --wait -- true >/dev/null
run doctor --json
contains "$(found broker)" "running, version" "a broker that runs"

# ---- hosts ----
mkdir "$scratch/bin"
cat >"$scratch/bin/ssh" <<'EOT'
#!/bin/sh
case "$*" in
*BatchMode=yes*ConnectTimeout=*" -- good "*true*) exit 0 ;;
*" -- bad "*true*) echo 'ssh: no route to it' >&2; exit 255 ;;
*) echo 'OpenSSH_0' >&2 ;;
esac
EOT
chmod +x "$scratch/bin/ssh"
printf 'hosts:\n  lab: [{host: good}, {host: bad}]\n' >"$TRADEWIND_HOME/config.yaml"
PATH=$scratch/bin:$PATH run doctor --json
is "$code" 0 "a host that cannot be reached breaks nothing here"
is "$(verdict "host lab/good") $(verdict "host lab/bad")" "['ok'] ['warning']" "hosts are asked"
contains "$(found "host lab/bad")" "no route to it" "and what ssh says is told"
printf '#!/bin/sh\n[ "$1" = -X ] && exit 0\nexit 255\n' >"$scratch/client"
chmod +x "$scratch/client"
PATH=$scratch/bin:$PATH TRADEWIND_SSH="$scratch/client -X" run doctor --json
is "$(verdict "host lab/good") $(verdict "host lab/bad")" "['ok'] ['ok']" \
    "by the client that jobs get there with"
# Each waits until all of them have begun, which they never have one after the other.
cat >"$scratch/client" <<EOT
#!/bin/sh
mktemp $scratch/begun.XXXXXX >/dev/null
for i in \$(seq 200); do
    set -- $scratch/begun.*
    [ \$# -lt 10 ] || { touch $scratch/together; break; }
    sleep 0.1
done
exit 255
EOT
printf 'hosts:\n  lab: [%s]\n' "$(printf '{host: h%s}, ' {1..10})" >"$TRADEWIND_HOME/config.yaml"
TRADEWIND_SSH=$scratch/client run doctor --json
check "ten hosts that are slow to fail are tried at once" test -e "$scratch/together"
is "$(verdict "host lab/h1") $(verdict "host lab/h10")" "['warning'] ['warning']" "and told in their order"
rm "$TRADEWIND_HOME/config.yaml"

# ---- broken ----
TRADEWIND_AGENT=$scratch/none run doctor --json
is "$code $(verdict tradewind-agent)" "1 ['broken']" "without its agent no job runs"
printf '#!/bin/sh\necho tradewind-agent 0.0.1\n' >"$scratch/old"
chmod +x "$scratch/old"
TRADEWIND_AGENT=$scratch/old run doctor --json
is "$(verdict tradewind-agent)" "['warning']" "an agent of another version"
echo 'nonsense: [' >"$TRADEWIND_HOME/config.yaml"
run doctor --json
is "$code $(verdict configuration)" "1 ['broken']" "a configuration that cannot be read"
rm "$TRADEWIND_HOME/config.yaml"
"$TRADEWIND" broker --stop >/dev/null
echo garbage >"$TRADEWIND_HOME/lake.db"
rm -f "$TRADEWIND_HOME"/lake.db-*
run doctor --json
is "$code $(verdict lake)" "1 ['broken']" "a database that is none"
touch "$scratch/file"
TRADEWIND_HOME=$scratch/file/home run doctor --json
is "$code $(verdict home)" "1 ['broken']" "a home that cannot be"

done_testing
