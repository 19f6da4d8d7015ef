#!/usr/bin/env bash
# Jobs that take rights to directories away from their own user, as caches of packages do: they end,
# can be killed and removed, and leave nothing behind.
. "$(dirname "$0")/tap.sh"

as=()
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || skip_all "root may read everything, and there is no setpriv"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
    install -m 755 "$TRADEWIND" "$(dirname "$TRADEWIND")/tradewind-agent" .
    TRADEWIND=$scratch/tradewind
    chmod 711 .
    install -d -o 65534 -g 65534 of-user
    TRADEWIND_HOME=$scratch/of-user/home
    cd of-user || exit 1
fi
export TRADEWIND_BROKER_IDLE_S=30
user() { "${as[@]}" env HOME=/nonexistent TRADEWIND_HOME="$TRADEWIND_HOME" "$TRADEWIND" "$@"; }
trap 'user broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
state() { user job show "$1" --json | json 'd["state"]'; }
becomes() { # STATE JOB
    local i
    for i in $(seq 600); do
        [ "$(state "$2" 2>/dev/null)" = "$1" ] && return 0
        sleep 0.1
    done
    return 1
}
small=(--cpus 0.5 --memory 256)
jobs=$TRADEWIND_HOME/jobs

# shellcheck disable=SC2016 # the variables are the job's
check "a job leaves a directory without write permission" user job submit --wait "${small[@]}" -- \
    sh -c 'mkdir -p m/n; echo x >m/n/f; chmod -R a-w m; echo y >"$TRADEWIND_OUTPUT/y"'
is "$(find "$jobs/1" -name work)" "" "it goes with what else the job needed"
# shellcheck disable=SC2016
user job submit --wait "${small[@]}" -- sh -c 'cd "$TRADEWIND_OUTPUT"; touch "$(printf "a\nb")"; mkdir -p d/e;
    touch d/e/f; chmod 0 d/e d' >/dev/null
is "$(state 2)" unsaved "an unsaved output with directories without read permission"
check "job rm removes it" user job rm 2
is "$(find "$jobs" -name '2*')" "" "all of it"
check "a job that closes its own directory ends" timeout 60 "${as[@]}" env HOME=/nonexistent \
    TRADEWIND_HOME="$TRADEWIND_HOME" "$TRADEWIND" job submit --wait "${small[@]}" -- sh -c 'chmod 0 ..'
is "$(state 3)" finished "as its exit code says"
user job submit "${small[@]}" -- sh -c 'chmod 0 ..; exec sleep 1000' >/dev/null
becomes running 4
check "a running one" test "$(state 4)" = running
user job kill 4 >/dev/null
check "can be killed" becomes killed 4
user job rm 4 >/dev/null
is "$(find "$jobs" -name '4*')" "" "and removed"
done_testing
