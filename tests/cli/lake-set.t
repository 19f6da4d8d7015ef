#!/usr/bin/env bash
# Sets: create, ls, show, diff, aliases (lake.md 7, 17 to 20).
. "$(dirname "$0")/tap.sh"

# put TEXT PATH: makes a version of one path
put() {
    printf '%s' "$1" | "$TRADEWIND" put - "$2" >/dev/null
}

# files REF: what a set holds, "path#version" each
files() {
    "$TRADEWIND" set show "$1" --json |
        json '" ".join("%s#%d" % (f["path"], f["version"]) for f in d["files"])'
}

# parents REF: what it was made from
parents() {
    "$TRADEWIND" set show "$1" --json | json '" ".join(d["parents"])'
}

is "$("$TRADEWIND" set ls --json)" "[]" "no sets"
contains "$("$TRADEWIND" set ls)" "set create" "and how to make one"
put one /data/train.json
put two!! /data/train.json
put test /data/test.json
put new /new/file
put v /validation/v1

# ---- 17: a list of (file, version); versions of sets
run set create A /data/train.json#1 /validation/
is "$code:$out" "0:@A:1: 2 files, 4 B" "create says what came of it"
is "$(files @A)" "/data/train.json#1 /validation/v1#1" "a list of (file, version)"
is "$("$TRADEWIND" set show @A:1 --json | json 'sorted(d)')" \
    "['create_time', 'creator', 'files', 'files_count', 'group', 'mode', 'owner', 'parents', 'set', 'size_bytes', 'version']" \
    "the fields of set show"
is "$("$TRADEWIND" set show @A --json | json 'd["set"], d["version"], d["files_count"], d["size_bytes"], d["files"][0], d["parents"]')" \
    "A 1 2 4 {'path': '/data/train.json', 'version': 1, 'size_bytes': 3} []" "and their values"
put three /data/train.json
is "$(files @A)" "/data/train.json#1 /validation/v1#1" "later versions of files do not change it"

# ---- 20: updating, merging, subsetting
run set create A @A /new/file --json
is "$(json 'd["set"], d["version"], d["files_count"], d["parents"], d["conflicts"], d["size_bytes"]' <<<"$out")" \
    "A 2 3 ['@A:1'] [] 7" "updating makes A's next version, from its previous one"
is "$(files @A:1)" "/data/train.json#1 /validation/v1#1" "the previous one stays"
is "$(files @A)" "/data/train.json#1 /new/file#1 /validation/v1#1" "@A is the latest"
run set create B /data/
is "$(files @B)" "/data/test.json#1 /data/train.json#3" "a directory: latest versions"
is "$(parents @B)" "" "files are no parents"
run set create M @A:1 @B
is "$(files @M)" "/data/test.json#1 /data/train.json#3 /validation/v1#1" "merging"
is "$(parents @M)" "@A:1 @B:1" "parents in the order of the request"

# ---- 19: conflicts
contains "$out" "/data/train.json: #3 of @B wins over #1 of @A:1" "the later one wins, and it is said"
run set create M @B @A:1
contains "$out" "/data/train.json: #1 of @A:1 wins over #3 of @B" "the other way round"
is "$(files @M)" "/data/test.json#1 /data/train.json#1 /validation/v1#1" "whichever comes later"
is "$(parents @M)" "@B:1 @A:1" "its previous version is no parent: it is not among the sources"
run set create M @B @A:1 --json
is "$(json 'd["conflicts"], d["conflicts_count"]' <<<"$out")" \
    "[{'path': '/data/train.json', 'kept': 1, 'kept_of': '@A:1', 'dropped': 3, 'dropped_of': '@B'}] 1" \
    "conflicts in JSON"
run set create M /data/train.json#1 /data/train.json#2 /data/train.json#3
is "$(grep -c 'wins over' <<<"$out")" 2 "each version that went is told"
run set create M @A:1 @A:2
lacks "$out" "wins" "the same version twice is no conflict"

# ---- 18: parts of sets
run set create V /validation/@A:2
is "$(files @V):$(parents @V)" "/validation/v1#1:@A:2" "subsetting"
run set create F /data/train.json@A:1 /data/train.json@B
is "$(files @F):$(parents @F)" "/data/train.json#3:@A:1 @B:1" "single files of sets bring edges, too"
is "$(files /data/@M)" "/data/train.json#1" "/dir/@S shows a part"
is "$(files /@A)" "$(files @A)" "/@S is the whole set"
is "$("$TRADEWIND" cat /data/train.json@A:1)" one "/p@S:1 is the version the set holds"
run rm /data/train.json#1
is "$code" 0 "rm of a version that a set holds"
is "$("$TRADEWIND" cat /data/train.json@A:1)" one "which stays usable through the set"
run set create A @A /data/test.json
is "$(files @A)" "/data/test.json#1 /data/train.json#1 /new/file#1 /validation/v1#1" "and in its updates"

# ---- refusals change nothing
before=$("$TRADEWIND" set ls --all --json)
fails 3 "/dat/ta" set create A @A /dat/ta
fails 3 "@Z" set create A @A @Z
fails 3 "no version 9" set create A @A:9
fails 2 "is not a name for a set" set create a/b /data/
fails 2 "REF" set create A
fails 3 "job" set create A job:1
is "$("$TRADEWIND" set ls --all --json)" "$before" "nothing came of these"

# ---- show, ls
run set show @A:2
is "$(head -n 1 <<<"$out")" "@A:2: 3 files, 7 B" "show for people"
contains "$out" "from @A:1" "what it came from"
check "each file with version and size" grep -qE '^ +#1 +3 B +/new/file$' <<<"$out"
fails 2 "is not a set" set show /data/
run set ls
lacks "$out" "rw-rw-rw-" "ls without permissions"
check "ls: the latest of each" grep -qE '^@A:3 +4 +11 B +20[0-9-]+T' <<<"$out"
lacks "$out" "@A:2" "not the others"
is "$("$TRADEWIND" set ls A --all --json | json '[s["version"] for s in d]')" "[1, 2, 3]" "all versions"
is "$("$TRADEWIND" set ls --json | json '[(s["set"], s["version"], s["files_count"]) for s in d]')" \
    "[('A', 3, 4), ('B', 1, 2), ('F', 1, 1), ('M', 5, 3), ('V', 1, 1)]" "ls in JSON"

# ---- permissions are shown
run set ls -l V
check "a new set is the whole project's" grep -qE "rw-rw-rw- +$(id -un) +-\$" <<<"$out"
run set show @V
check "show says so too" grep -qx "rw-rw-rw-, owner $(id -un)" <<<"$out"
is "$("$TRADEWIND" set ls V --json | json 'd[0]["owner"], d[0]["group"], d[0]["mode"]')" \
    "$(id -un) None 666" "and in JSON"
"$TRADEWIND" chmod 640 @V && "$TRADEWIND" chown zoe:vision @V
run set ls -l V
check "changed" grep -qE "rw-r----- +zoe +vision\$" <<<"$out"
check "all within 100 columns" test "$(wc -L <<<"$out")" -le 100
run set show @V
check "in show" grep -qx "rw-r-----, owner zoe, group vision" <<<"$out"
for command in "set ls V" "set show @V"; do
    # shellcheck disable=SC2086
    is "$("$TRADEWIND" $command --json | json '(lambda s: (s["owner"], s["group"], s["mode"]))(d[0] if isinstance(d, list) else d)')" \
        "('zoe', 'vision', '640')" "in JSON of $command"
done
fails 3 "@Q" set ls Q

# ---- diff
run set diff @A:1 @A:3
is "$out" "+ /data/test.json #1
+ /new/file #1" "diff: added"
run set diff @A:3 @A:1
is "$out" "- /data/test.json #1
- /new/file #1" "removed"
run set diff @B @M:2
is "$out" "~ /data/train.json #3 -> #1
+ /validation/v1 #1" "changed"
is "$("$TRADEWIND" set diff @B @M:2 --json | json 'd')" \
    "[{'path': '/data/train.json', 'change': 'changed', 'before': 3, 'after': 1}, {'path': '/validation/v1', 'change': 'added', 'before': None, 'after': 1}]" \
    "in JSON"
is "$("$TRADEWIND" set diff /data/@A:1 /data/@A:3)" "+ /data/test.json #1" "of a directory"
is "$("$TRADEWIND" set diff @A @A --json)" "[]" "nothing"
contains "$("$TRADEWIND" set diff @A @A)" "same files" "in words"
fails 2 "is not a set" set diff @A /data/

# ---- 7: aliases
run alias
contains "$out" "no aliases" "none yet"
run alias @A:1 prod
is "$out" "@A:prod stands for @A:1" "alias"
is "$(files @A:prod)" "$(files @A:1)" "@A:prod"
is "$("$TRADEWIND" cat /data/train.json@A:prod)" one "/p@A:prod"
run alias @A:2 prod --json
is "$(json 'd' <<<"$out")" "{'set': 'A', 'alias': 'prod', 'version': 2}" "it moves"
is "$(files @A:prod)" "$(files @A:2)" "and means another version"
run alias @A old.one
is "$("$TRADEWIND" alias --json | json '[(a["alias"], a["version"]) for a in d]')" \
    "[('old.one', 3), ('prod', 2)]" "they are listed"
run alias --remove @A:old.one
is "$code" 0 "one is removed"
fails 3 "old.one" alias --remove @A:old.one
fails 3 "old.one" set show @A:old.one
fails 2 "number" alias @A:1 7
fails 2 "alias takes" alias @A:1
fails 2 "is not a set version" alias /data/ x
is "$("$TRADEWIND" alias | tail -n 1 | xargs)" "@A:prod @A:2" "the other stays"

# ---- updates of one set at a time lose nothing
run set create many /new/file
for i in 1 2 3 4 5 6; do
    put "$i" "/many/$i"
done
for i in 1 2 3 4 5 6; do
    "$TRADEWIND" set create many @many "/many/$i" >/dev/null &
done
wait
is "$(files @many)" "/many/1#1 /many/2#1 /many/3#1 /many/4#1 /many/5#1 /many/6#1 /new/file#1" \
    "six updates at once: all are in"
is "$("$TRADEWIND" set ls many --all --json | json '[s["version"] for s in d]')" \
    "[1, 2, 3, 4, 5, 6, 7]" "in seven versions without gaps"

# ---- names that could do harm
put x $'/odd/a"b\\c'
run set create odd /odd/
is "$("$TRADEWIND" set show @odd --json | json 'd["files"][0]["path"]')" '/odd/a"b\c' "JSON is escaped"
# ---- a file and one below it, which were there one after the other
echo one >one
"$TRADEWIND" put one /was/file --set Before >/dev/null && "$TRADEWIND" rm /was/file >/dev/null &&
    "$TRADEWIND" put one /was/file/now --set After >/dev/null
fails 2 "cannot hold both /was/file and /was/file/now" set create Both @Before @After

done_testing
