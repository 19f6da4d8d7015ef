#!/usr/bin/env bash
# How the lake's commands look: an empty lake, tables within 100 columns, JSON of one shape.
. "$(dirname "$0")/tap.sh"

# says WANTED ARGS...: prints exactly that
says() {
    local wanted=$1
    shift
    is "$("$TRADEWIND" "$@")" "$wanted" "$* says so"
}

# ---- an empty lake
says "" ls
says "There are no sets; tradewind set create makes one." set ls
says "There are no aliases; tradewind alias @SET:3 NAME makes one." alias
says "Nothing is pinned; tradewind pin REF pins something." pin
says "Nothing found." find
says "0 set versions, 0 edges" trace
says "Nothing to remove." gc
says "0 file versions read and verified, 0 B; no problems" fsck
for command in ls "set ls" alias pin find "session status"; do
    # shellcheck disable=SC2086
    says "[]" $command --json
done
says '{
  "nodes": [],
  "edges": []
}' trace --json

# ---- something of everything, with long names
long=$(printf 'n%.0s' {1..120})
mkdir -p "in/$long"
echo 1 >"in/$long/$long"
echo 2 >in/short
"$TRADEWIND" put in /in --set Some --tag "note=$long" >/dev/null
echo 3 >in/short
"$TRADEWIND" put in /in --set Some >/dev/null
"$TRADEWIND" set create "$long" @Some:1 @Some:2 >/dev/null
"$TRADEWIND" alias @Some:1 first >/dev/null
"$TRADEWIND" pin @Some:1
"$TRADEWIND" put in/short /alone --force >/dev/null
session=$("$TRADEWIND" session begin /later --json | json 'd["session"]')

# ---- tables; lines that end in a path or reference are as long as it is
for command in "set ls -a" "tag @Some:1" "find note" "find kind=set --sort note" "session status" \
    "session status $session" gc fsck "help find" "help session begin"; do
    # shellcheck disable=SC2086
    "$TRADEWIND" $command >lines
    check "$command fits 100 columns" test "$(LC_ALL=C.UTF-8 wc -L <lines)" -le 100
done
is "$("$TRADEWIND" ls -l /in/ | awk '{ print index($0, "/") }' | sort -u)" 72 \
    "directories stand below the paths of files"

# ---- JSON: sound, an item a line in arrays, a newline at the end
for command in "put in /in" "ls -r" "ls /in/" "log /in/short" "set ls" "set show @Some" \
    "set diff @Some:1 @Some:2" "set create Again @Some" "alias" "alias @Some:2 second" \
    "alias --remove @Some:second" "tag @Some" "tag @Some a=1" "untag @Some a" "find" "trace" "pin" \
    "gc" "fsck" "get @Some out" "chmod 640 /in/short" "chown :team /in/short" "session status" \
    "session status $session" "init" "rm /in/short#1"; do
    # shellcheck disable=SC2086
    "$TRADEWIND" $command --json >answer
    check "$command --json: ends its line" test -z "$(tail -c 1 answer)"
    is "$(python3 -c '
import json, sys
text = open("answer").read()
answer = json.loads(text)
items = answer
if isinstance(answer, dict):
    items = next((v for k, v in answer.items() if k in ("files", "nodes") and isinstance(v, list)), [])
lines = [line.strip().rstrip(",") for line in text.splitlines()]
print(all(json.dumps(item, ensure_ascii=False) in lines for item in items))')" True \
        "$command --json: one item a line"
done
done_testing
