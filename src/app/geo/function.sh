#!/usr/bin/env bash
# Runs the aggregators of one location: function.sh {NUMBER NAME=VALUE... --}...
# The variables are those of the aggregator, and its lines begin with its number. It is started again
# unless its settings are wrong (exit code 2), as the platform of a cloud function does.
serve() {
    local number=$1 code
    shift
    while :; do
        env "$@" ./tradewind-aggregator 2>&1
        code=$?
        [ "$code" = 2 ] && exit
        sleep 0.2
    done | sed -u "s/^/$number /"
}

words=()
for word in "$@"; do
    if [ "$word" = -- ]; then
        serve "${words[@]}" &
        words=()
    else
        words+=("$word")
    fi
done
wait -n
exit 1
