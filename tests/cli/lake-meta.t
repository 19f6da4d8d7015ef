#!/usr/bin/env bash
# Metadata: tag, untag and find, lines 22 to 25 of the specification.
. "$(dirname "$0")/tap.sh"

# refs: of the JSON array on stdin
refs() {
    json '" ".join(f["ref"] for f in d)'
}

# finds WANTED NAME ARGUMENTS...: the references that find gives
finds() {
    local wanted=$1 name=$2
    shift 2
    run find "$@" --json
    is "$code:$(refs <<<"$out" 2>&1)$err" "0:$wanted" "$name: find $*"
}

put() {
    printf '%s' "$1" | "$TRADEWIND" put - "$2" >/dev/null
}

me=$(id -un)
put 12345 /data/train.json
put 1234567 /data/train.json
put x "/data/odd name#1.txt"
"$TRADEWIND" set create BERT /data/train.json#1 >/dev/null
"$TRADEWIND" set create BERT /data/train.json#2 >/dev/null
"$TRADEWIND" set create Other /data/train.json >/dev/null

# ---- 22: set, change, remove on files, file versions and sets
run tag /data/train.json stage=raw golden
is "$code:$out$err" "0:" "tag says nothing"
run tag /data/train.json#1 stage=old rows=100
run tag '/data/train.json#*' about='all of it'
run tag @BERT:1 model=BERT precision=0.4
run tag @BERT model=BERT precision=0.91 loss=-1.5 trained=2026-11-15T10:30Z
run tag @Other model=GPT precision=0.7 loss=0
finds "/data/train.json#2" "the latest version" stage=raw
finds "/data/train.json#1" "another version" stage=old
finds "/data/train.json#*" "the file as a whole" 'about="all of it"'
finds "@BERT:2" "a set version" loss=-1.5
run tag /data/train.json stage=clean
finds "/data/train.json#2" "changed" stage=clean
finds "" "the old value is gone" stage=raw
run untag /data/train.json golden
is "$code:$out$err" "0:" "untag says nothing"
finds "" "removed" golden
fails 3 'has no key "golden"' untag /data/train.json golden
fails 2 'an operand is missing' untag /data/train.json
fails 3 '/data/trian.json' tag /data/trian.json k=v
fails 2 'is not a key' tag /data/train.json '5=v'
fails 2 'size is set by the lake itself' tag /data/train.json size=5
fails 2 'not UTF-8' tag /data/train.json k=$'\xff'
run tag /data/ batch=7
finds "/data/train.json#2 /data/odd name%231.txt#1" "a directory: each file" batch=7

# ---- 23: built-ins are there without asking
run find 'stage=clean' --json
is "$(json 'sorted(d[0]["meta"])' <<<"$out")" \
    "['batch', 'create_time', 'creator', 'kind', 'path', 'size', 'stage', 'version']" "built-ins"
is "$(json '[d[0]["ref"], d[0]["kind"], d[0]["meta"]["size"], d[0]["meta"]["version"],
    d[0]["meta"]["path"], d[0]["meta"]["kind"]]' <<<"$out")" \
    "['/data/train.json#2', 'file', 7, 2, '/data/train.json', 'file']" "and true"
is "$(json 'd[0]["meta"]["creator"]' <<<"$out")" "$me" "creator"
check "create_time in milliseconds, UTC" json \
    '__import__("re").fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d[0]["meta"]["create_time"]) or 1/0' \
    <<<"$out" >/dev/null
run find kind=set --json
is "$(json '[(f["ref"], f["meta"]["name"], f["meta"]["size"]) for f in d]' <<<"$out")" \
    "[('@BERT:1', 'BERT', 5), ('@BERT:2', 'BERT', 7), ('@Other:1', 'Other', 7)]" "of sets"
run tag @BERT --json
is "$(json '[d[0]["meta"][k] for k in ("precision", "loss", "trained", "model")]' <<<"$out")" \
    "[0.91, -1.5, '2026-11-15T10:30Z', 'BERT']" "values by kind"
run tag @Other flag count=12345678901234567 huge=1e300 sum=0.30000000000000004 --json
is "$(json '[d[0]["meta"][k] for k in ("flag", "count", "huge", "loss", "sum")]' <<<"$out")" \
    "[True, 12345678901234567, 1e+300, 0, 0.30000000000000004]" "tags are true, numbers exact"

# ---- 24: questions
python3 - "$TRADEWIND_HOME/lake.db" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE made SET creator = 'john', create_time = ? WHERE id IN "
           "(SELECT made FROM set_version)", (1794782160000,))  # 2026-11-15T22:36:00Z
db.commit()
PYTHON
finds "@BERT:2" "the question of the specification" \
    'kind=set creator=john create_time>=2026-11-15 model=BERT precision>0.5'
finds "" "from the next day on" 'kind=set create_time>2026-11-15'
finds "@BERT:1 @BERT:2 @Other:1" "that day" 'create_time=2026-11-15'
finds "@BERT:1 @BERT:2 @Other:1" "to its end" 'kind=set create_time<=2026-11-15'
finds "" "before it" 'create_time<2026-11-15'
finds "@BERT:1 @BERT:2 @Other:1" "that minute" 'create_time=2026-11-15T22:36'
finds "@BERT:2 @Other:1" "a range" 'precision=0.7..0.91'
finds "@BERT:1" "a range that ends below" 'precision=0..0.5'
finds "@Other:1" "zero" 'loss=0.0'
finds "@BERT:2" "negative" 'loss<0'
finds "@BERT:1 @BERT:2" "a regular expression" 'model~^B.*T$'
finds "/data/train.json#1" "of a path" 'path~^/data/.*json$ version=1'
finds "@Other:1" "existence" 'kind=set flag'
finds "@BERT:1 @BERT:2" "absence" 'kind=set !flag'
finds "@Other:1" "another value" 'model!=BERT'
finds "/data/train.json#2 @BERT:2 @Other:1" "sizes with units" 'size>=0.007KB'
finds "@BERT:2" "AND in any case" 'model=BERT and precision>0.5 AND loss'
finds "@BERT:2" "operands are joined" model=BERT 'precision > 0.5'
finds "@BERT:2" "the greatest" --max precision
finds "@BERT:1" "the least" --min precision 'model=BERT'
finds "@BERT:2 @Other:1" "several of the greatest" --max precision --limit 2
finds "@BERT:1 @Other:1 @BERT:2" "sorted" kind=set --sort precision
finds "@BERT:2 @Other:1 @BERT:1" "in reverse" kind=set --sort precision --reverse
finds "@BERT:2 @Other:1 @BERT:1" "what lacks the key comes last" kind=set --sort loss
finds "@BERT:1 @BERT:2" "limited" kind=set --limit 2
finds "/data/train.json#1 @BERT:1 @BERT:2" "by kind and age" 'size<100 !batch' --limit 3
finds "" "text is no number" 'model>0'
finds "" "nor a number text" 'precision="0.7"'
run find
contains "$out" "@BERT:2" "without an expression: everything"
lacks "$out" "#*" "whole files are not asked for"
run find 'model=BERT precision>0.5'
contains "$out" "precision" "people see the keys they asked about"
check "in columns" grep -qE '^@BERT:2 +BERT +0\.91' <<<"$out"
lacks "$out" "loss" "and no others"

finds "@BERT:2" "as many conditions as may be" \
    "$(for i in {1..28}; do printf 'precision>0.%d ' "$i"; done) model=BERT loss trained kind=set" \
    --sort precision
fails 2 'more than 32 conditions' find "$(printf 'k%.0s ' {1..33})"
fails 2 'column 6, at "folder": kind is file, path, set or job' find kind=folder
fails 2 'column 17, at "big": size is a number' find 'model=BERT size>big'
fails 2 'the quote has no end' find 'model="BERT'
fails 2 'only one of --max, --min and --sort' find --max a --min b
fails 2 '--reverse needs --sort' find --reverse
fails 2 '--limit 0: must be at least 1' find --limit 0
fails 2 'has no greatest or least' find --max creator
fails 2 'is not a key' find --sort 'a;b'
fails 2 'repeats too much' find 'model~((a{99}){99}){99}'
fails 2 'longer than 256 bytes' find "model~$(printf '%0300d' 0)"

# ---- lines from standard input
printf '%s\n' '/data/train.json lot=1 note="two words"' '@BERT:1 lot=2' |
    "$TRADEWIND" tag - --json >out.json
is "$(json 'd["tagged"]' <out.json)" 2 "two lines"
finds "/data/train.json#2 @BERT:1" "both are tagged" lot
finds "/data/train.json#2" "quoted values" 'note="two words"'
printf '%s\n' '/data/train.json lot=9' '/nowhere lot=9' >lines
code=0
err=$("$TRADEWIND" tag - <lines 2>&1 >/dev/null) || code=$?
contains "$code:$err" "3:tradewind: line 2: " "a bad line is named"
finds "" "and nothing is done" lot=9
printf '/data/train.json a\0b=1\n' >lines
code=0
err=$("$TRADEWIND" tag - <lines 2>&1 >/dev/null) || code=$?
contains "$code:$err" "2:tradewind: line 1 holds a zero byte" "no text"
code=0
err=$("$TRADEWIND" tag - k=v </dev/null 2>&1 >/dev/null) || code=$?
contains "$code:$err" "2:" "pairs do not go with lines"

# ---- a reference reads back
run find 'path~odd' --json
ref=$(refs <<<"$out")
run tag "$ref" again=yes
finds "$ref" "references are as typed" again=yes
run tag "$ref"
contains "$out" "again  " "what is known, for people"

# ---- put --tag
printf new >f
"$TRADEWIND" put f /new/ --set N --tag kind.of=test --tag n=3 >/dev/null
finds "/new/f#1 @N:1" "put --tag: on each version and the set" 'kind.of=test n=3'

# ---- removed things
"$TRADEWIND" rm /data/train.json#1 >/dev/null
finds "" "removed versions are not found" stage=old

# ---- values stay data
run tag @BERT "evil='; DROP TABLE meta; --" "pct=100%_"
finds "@BERT:2" "SQL is text" "evil=\"'; DROP TABLE meta; --\""
finds "" "nothing escapes an expression" "evil=\"x' OR '1'='1\""
finds "@BERT:2" "no wildcards" 'pct=100%_'
run fsck
is "$code" 0 "all is well"

done_testing
