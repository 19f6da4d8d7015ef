# TAP for command-line tests in bash. A test sources it first and ends with done_testing:
#     . "$(dirname "$0")/tap.sh"
# It then stands in a scratch directory of its own, with an empty TRADEWIND_HOME.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export TRADEWIND=${TRADEWIND:-$root/build/tradewind}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tradewind-test-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TRADEWIND_HOME=$scratch/home
unset TRADEWIND_LOG NO_COLOR COLUMNS
export TRADEWIND_TODAY=2026-11-18 # prices do not grow old
cd "$scratch" || exit 1
tests=0
failures=0
# Results go where the test's own output went first, so that `check ... >/dev/null` hides only what
# the command prints.
exec 3>&1

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# check NAME COMMAND...: passes when the command succeeds
check() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name" >&3
        return 0
    fi
    failures=$((failures + 1))
    echo "not ok $tests - $name" >&3
    return 1
}

# skip NAME REASON
skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2" >&3
}

# is GOT WANTED NAME
is() {
    check "$3" test "$1" = "$2" && return
    printf '%s\n' "got:" "$1" "wanted:" "$2" | head -n 60 | sed 's/^/# /'
}

# contains TEXT PART NAME
contains() {
    check "$3" includes "$1" "$2" && return
    printf '%s\n' "no \"$2\" in:" "$1" | head -n 60 | sed 's/^/# /'
}

# lacks TEXT PART NAME
lacks() {
    check "$3" excludes "$1" "$2" && return
    printf '%s\n' "\"$2\" stands in:" "$1" | head -n 60 | sed 's/^/# /'
}

includes() {
    [[ $1 == *"$2"* ]]
}

excludes() {
    [[ $1 != *"$2"* ]]
}

# run ARGUMENTS...: runs tradewind; $out, $err and $code hold what came of it
run() {
    code=0
    out=$("$TRADEWIND" "$@" 2>"$scratch/.stderr") || code=$?
    err=$(<"$scratch/.stderr")
}

# fails CODE PART ARGUMENTS...: exits with CODE, PART in the message, nothing on stdout
fails() {
    local wanted=$1 part=$2
    shift 2
    run "$@"
    check "exit $wanted, \"$part\": tradewind $*" \
        failed_as "$wanted" "$part" && return
    printf '%s\n' "exit code $code" "stdout:" "$out" "stderr:" "$err" | head -n 60 | sed 's/^/# /'
}

failed_as() {
    [[ $code == "$1" && $err == "tradewind: "*"$2"* && -z $out ]]
}

# json EXPRESSION: of the JSON document d on stdin, in Python
json() {
    python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

# catalog_digest: of everything the catalog in use holds
catalog_digest() {
    "$TRADEWIND" catalog export "$scratch/digest" >/dev/null && cat "$scratch"/digest/* | cksum
}

done_testing() {
    echo "1..$tests"
    exit $((failures > 0))
}
