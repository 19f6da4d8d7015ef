#!/usr/bin/env bash
# Many processes on one lake at once, gc among them: numbers without gaps, nothing overwritten,
# nothing lost that a set holds, nobody sees half of anything.
# In memory where that is possible: hundreds of commits would each wait for the disk.
[ -w /dev/shm ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/tap.sh"

rounds=12
writers=200
if [ -n "$TRADEWIND_SLOW" ]; then
    rounds=4
    writers=60
fi

# put TEXT PATH OPTIONS...
put() {
    local text=$1
    shift
    printf '%s' "$text" | "$TRADEWIND" put - "$@" >/dev/null 2>>"$scratch/messages"
}

# trouble WHAT: tells of a process that failed
trouble() {
    echo "$1" >>"$scratch/trouble"
}

# calm NAME: no process failed since the last time, and fsck is clean
calm() {
    is "$(cat "$scratch/trouble" 2>/dev/null)" "" "$1: every command succeeds" ||
        sort -u "$scratch/messages" | head -n 20 | sed 's/^/# /'
    rm -f "$scratch/trouble" "$scratch/messages"
    run fsck --json
    is "$code $(json 'd["problems"]' <<<"$out" 2>&1)" "0 []" "$1: fsck is clean"
}

# consecutive REF COUNT NAME: its versions are 1 to COUNT
consecutive() {
    is "$("$TRADEWIND" log --json "$1" | json '[f["version"] for f in d] == list(range('"$2"', 0, -1))')" \
        True "$3" || "$TRADEWIND" log "$1" | head -n 5 | sed 's/^/# /'
}

# ---- two writers racing on one path
for ((i = 1; i <= rounds; i++)); do
    put "a$i" /two || trouble a &
    put "b$i" /two || trouble b &
    wait
done
consecutive /two $((2 * rounds)) "two writers racing: consecutive numbers"
"$TRADEWIND" log --json /two | json '"\n".join(f["sha256"] for f in d)' | sort >got
for ((i = 1; i <= rounds; i++)); do
    printf 'a%s' "$i" | sha256sum
    printf 'b%s' "$i" | sha256sum
done | cut -d ' ' -f 1 | sort >wanted
check "every one of them is there" cmp -s got wanted
for ((i = 1; i <= 2 * rounds; i++)); do
    "$TRADEWIND" cat "/two#$i" | sha256sum
done | cut -d ' ' -f 1 | sort >got
check "with its content" cmp -s got wanted
calm "two writers"

# ---- many writers in turn
for ((i = 1; i <= writers; i++)); do
    put "turn $i" /turn || trouble "writer $i"
done
consecutive /turn $writers "$writers writers in turn"
is "$("$TRADEWIND" cat "/turn#$((writers / 2))")" "turn $((writers / 2))" "one in the middle"
is "$("$TRADEWIND" log --json /turn | json 'all(a["create_time"] >= b["create_time"] for a, b in zip(d, d[1:]))')" \
    True "times never run backwards"
calm "writers in turn"

# ---- sixteen directories with files in common, at the same time
for ((p = 0; p < 16; p++)); do
    mkdir "dir$p"
    for ((i = 0; i < 20; i++)); do
        echo "own $p $i" >"dir$p/own$p-$i"
        echo "common $i" >"dir$p/common$i"
        echo "of $p" >"dir$p/contested$i"
    done
    "$TRADEWIND" put "dir$p/." /many/ --set Many >/dev/null 2>>messages || trouble "put dir$p" &
done
wait
calm "sixteen puts"
is "$("$TRADEWIND" ls -r --json /many/ | json 'len(d)')" $((16 * 20 + 40)) "all files are there"
is "$("$TRADEWIND" ls -r --json /many/ | json '{f["version"] for f in d if "common" in f["path"]}')" \
    "{1}" "equal content is one version"
is "$("$TRADEWIND" ls -r --json /many/ | json '{f["version"] for f in d if "contested" in f["path"]}')" \
    "{16}" "different content is sixteen"
is "$("$TRADEWIND" set show @Many --json | json 'd["version"]')" 16 "sixteen versions of the set"
for ((v = 1; v <= 16; v++)); do
    rm -rf got
    "$TRADEWIND" get "@Many:$v" got >/dev/null
    p=$(sed 's/of //' got/many/contested0)
    diff -r "dir$p" got/many >/dev/null || trouble "@Many:$v is not dir$p"
    echo "$p"
done | sort -n | tr '\n' ' ' >order
is "$(<order)" "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 " "each the directory of one put"
calm "what the sets hold"

# ---- set create at once
for p in 1 2 3 4; do
    for ((i = 0; i < rounds; i++)); do
        "$TRADEWIND" set create Made "/many/own$p-$i" @Many >/dev/null 2>>messages || trouble "set create"
    done &
done
wait
is "$("$TRADEWIND" set show @Made --json | json 'd["version"]')" $((4 * rounds)) \
    "set create from four processes: consecutive versions"
for ((v = 1; v <= 4 * rounds; v++)); do
    "$TRADEWIND" set show "@Made:$v" --json >/dev/null 2>>messages || trouble "no @Made:$v"
done
calm "sets"

# ---- writers, readers and gc at once
# What Kept holds is moved from pack to pack, as junk fills them and gc takes it out again.
mkdir kept
for ((i = 0; i < 60; i++)); do
    head -c 3000 /dev/urandom >"kept/$i"
done
head -c 1500000 /dev/urandom >kept/large
"$TRADEWIND" put kept / --set Kept >/dev/null

junk() {
    local i
    mkdir -p junk
    while [ ! -e stop ]; do
        for i in 1 2 3 4; do
            head -c 700000 /dev/urandom >"junk/$i"
        done
        "$TRADEWIND" put junk / >/dev/null 2>>messages || trouble "put junk"
    done
}
collect() {
    while [ ! -e stop ]; do
        "$TRADEWIND" gc --yes >>gc.log 2>>messages || trouble gc
    done
}
# Writes into a set while gc runs: from the commit on it must be there.
writer() {
    local i
    for ((i = 1; i <= rounds; i++)); do
        put "$1 $i" "/w/$1" --set "W$1" || trouble "put of writer $1"
        [ "$("$TRADEWIND" cat "/w/$1@W$1:$i" 2>>messages)" = "$1 $i" ] ||
            trouble "@W$1:$i lost at once"
    done
}
# The same content again and again, which gc takes whenever no set holds it.
repeat() {
    local i
    for ((i = 1; i <= rounds; i++)); do
        put "the same" "/r/$i" --set Repeated || trouble "put of the same"
        [ "$("$TRADEWIND" cat "/r/$i@Repeated:$i" 2>>messages)" = "the same" ] ||
            trouble "@Repeated:$i lost at once"
        "$TRADEWIND" rm "@Repeated:$i" >/dev/null 2>>messages || trouble rm
    done
}
reader() {
    while [ ! -e stop ]; do
        rm -rf read
        "$TRADEWIND" get @Kept read >/dev/null 2>>messages || trouble get
        diff -r kept read/kept >/dev/null || trouble "what was read differs"
        "$TRADEWIND" cat /kept/7@Kept 2>>messages | cmp -s - kept/7 || trouble cat
    done
}
checker() {
    while [ ! -e stop ]; do
        "$TRADEWIND" fsck >>fsck.log 2>>messages || trouble "fsck beside gc"
    done
}
junk &
collect &
reader &
checker &
writer 1 &
one=$!
writer 2 &
two=$!
repeat &
wait $one $two $!
touch stop
wait
check "gc rewrote packs" grep -q "Packs rewritten" gc.log
calm "writers, readers and gc"
for w in 1 2; do
    for ((i = 1; i <= rounds; i++)); do
        [ "$("$TRADEWIND" cat "/w/$w@W$w:$i" 2>&1)" = "$w $i" ] || trouble "@W$w:$i"
    done
done
calm "in the end every version of a set has its content"

done_testing
