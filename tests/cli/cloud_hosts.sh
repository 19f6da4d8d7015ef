# Pipelines on models of clouds whose instances are machines. A test sources this after tap.sh.
# shellcheck shell=bash disable=SC2154

export HOME=$scratch AWS_EC2_METADATA_DISABLED=true
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# model NAME SETTINGS: begins tests/servers/NAME, whose address is $url; ends the test where it cannot be
model() {
    mkfifo in
    python3 "$root/tests/servers/$1" --settings "$2" <in >out 2>why &
    server=$!
    exec 9>in
    until [ -s out ] || ! kill -0 $server 2>/dev/null; do sleep .05; done
    [ -s out ] || skip_all "$(tail -n 1 why)"
    . ./out
    url=$(sed -n 's/^[A-Z]*_MODEL=//p' out)
    export TRADEWIND_SSH=$SSH_COMMAND TRADEWIND_ADDRESS_URL=$url/ip
}

end_model() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1 # which has the model's input, too
    exec 9>&-
    wait $server
}

# state EXPRESSION: of d, what the model tells
state() {
    curl -s --noproxy '*' "$url/control" | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

# tell JSON: to the model
tell() {
    curl -s --noproxy '*' -d "$1" "$url/control/do" >/dev/null
}

# waits COMMAND...: until it succeeds, for a minute
waits() {
    for _ in $(seq 300); do
        "$@" && return
        sleep .2
    done
    return 1
}

# holds EXPRESSION: whether that is so of d
holds() {
    [ "$(state "bool($1)")" = True ]
}
