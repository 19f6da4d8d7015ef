#!/usr/bin/env bash
# A lake on a disk that is full or read-only, outputs that fail, sources that change, Ctrl-C:
# nothing committed is lost, and each command says what is wrong and what to do.

# Small disks are mounted in a namespace of the test's own, which takes them along when it ends.
if [ -z "$TRADEWIND_TEST_NAMESPACE" ]; then
    export TRADEWIND_TEST_NAMESPACE=none
    as_root=$([ "$(id -u)" -eq 0 ] || echo -r)
    # shellcheck disable=SC2016,SC2086 # $1 is the inner shell's; no word when already root
    if unshare $as_root -m sh -c 'mount -t tmpfs -o size=1m tmpfs "$1"' sh "${TMPDIR:-/tmp}" 2>/dev/null; then
        TRADEWIND_TEST_NAMESPACE=own exec unshare $as_root -m "$0"
    fi
fi
. "$(dirname "$0")/tap.sh"

# How often things are tried, and how many files there are.
many=400
[ -n "$TRADEWIND_SLOW" ] && many=150

# put TEXT PATH
put() {
    printf '%s' "$1" | "$TRADEWIND" put - "$2" >/dev/null
}

# clean NAME: fsck finds nothing wrong
clean() {
    run fsck --json
    is "$code $(json 'd["problems"]' <<<"$out" 2>&1)" "0 []" "$1: fsck is clean"
}

# works NAME ARGUMENTS...: the command succeeds
works() {
    local name=$1
    shift
    run "$@"
    is "$code $err" "0 " "$name"
}

# numbers REF: of its versions, newest first
numbers() {
    "$TRADEWIND" log --json "$1" | json '" ".join(str(f["version"]) for f in d)'
}

# stored: bytes below the store
stored() {
    du -sb "$TRADEWIND_HOME/objects" | cut -f 1
}

# random BYTES: incompressible, the same in every run
random() {
    openssl enc -aes-128-ctr -pass "pass:$1" -pbkdf2 -iter 1 -nosalt </dev/zero 2>/dev/null |
        head -c "$1"
}

# ---- a disk of its own

# disk KIB: an empty one, holding the home of a new lake
disk() {
    TRADEWIND_HOME=$scratch/disk/home
    mkdir -p "$scratch/disk"
    mount -t tmpfs -o "size=$1k" tmpfs "$scratch/disk"
}

# fill KIB: leaves that much room
fill() {
    cat /dev/zero >"$scratch/disk/fill" 2>/dev/null
    truncate -s "-${1}K" "$scratch/disk/fill"
}

remove_disk() {
    umount "$scratch/disk"
    TRADEWIND_HOME=$scratch/home
}

# full NAME ARGUMENTS...: the command fails for want of room, and says where
full() {
    local name=$1
    shift
    run "$@"
    is "$code" 7 "$name: exit 7"
    contains "$err" "tradewind: " "$name: in words"
    contains "$err" "$scratch/disk/home/" "$name: names what could not be written"
    check "$name: says that the disk is full" \
        grep -qE 'No space left on device|the disk is full' "$scratch/.stderr" ||
        sed 's/^/# /' "$scratch/.stderr"
}

full_store() {
    local i
    disk 8448
    for i in 1 2 3 4 5 6; do
        random $((900000 + i)) >"small$i"
    done
    works "a large file" put large1 /d/ --set S
    for i in 1 2 3 4 5 6; do
        "$TRADEWIND" put "small$i" /d/ >/dev/null 2>&1 || break
    done
    is "$i" 6 "the store fills up"
    full "a small file that finds no room" put small6 /d/
    local before
    before=$(stored)
    full "a large file that finds no room" put large2 /d/
    check "what it wrote is given back" test "$(stored)" -le $((before + 100000))
    full "two files, one of which would fit" put small6 large2 /d/
    is "$("$TRADEWIND" ls -r --json | json '[f["path"] for f in d]')" \
        "['/d/large1', '/d/small1', '/d/small2', '/d/small3', '/d/small4', '/d/small5']" \
        "what was committed before is there"
    clean "on the full disk"
    check "a small file reads back" cmp -s <("$TRADEWIND" cat /d/small5) small5
    check "a large file reads back" cmp -s <("$TRADEWIND" cat /d/large1) large1
    mount -o remount,size=32m "$scratch/disk"
    run put large2 /d/
    is "$code" 0 "with more room the same put works"
    run put small6 large2 /d/
    is "$code" 0 "and the other"
    is "$(numbers /d/small6) $(numbers /d/large2)" "1 1" "failed puts took no number"
    "$TRADEWIND" get /d/ back >/dev/null
    for i in large1 large2 small1 small6; do
        check "$i is what it was" cmp -s "$i" "back/d/$i"
    done
    clean "with more room"
    remove_disk
}

# The same content under many names: the store hardly grows, the database does.
full_database() {
    local i
    disk 6144
    mkdir same
    for ((i = 0; i < 4 * many; i++)); do
        echo same >"same/a-file-with-quite-a-long-name-that-takes-room-in-the-database-$i"
    done
    put first /first
    "$TRADEWIND" set create Kept /first >/dev/null
    fill 256
    full "a put whose rows find no room" put same /
    is "$("$TRADEWIND" ls -r)" "/first" "all of it or nothing"
    clean "database without room"
    rm "$scratch/disk/fill"
    run put same /
    is "$code" 0 "with more room the same put works"
    is "$("$TRADEWIND" ls -r --json | json 'len(d)')" $((4 * many + 1)) "with all files"
    is "$("$TRADEWIND" ls -r --json | json '{f["version"] for f in d}')" "{1}" "each version 1"
    fill 64
    full "set create" set create All /
    is "$("$TRADEWIND" set ls --json | json '[s["set"] for s in d]')" "['Kept']" "no set was made"
    works "gc --yes" gc --yes --keep-latest
    is "$("$TRADEWIND" cat /first)" first "content is there after gc"
    clean "after these"
    rm "$scratch/disk/fill"
    works "set create with room" set create All /
    is "$("$TRADEWIND" set ls --json | json '[(s["set"], s["version"]) for s in d]')" \
        "[('All', 1), ('Kept', 1)]" "its first version"
    works "gc with room" gc --yes
    clean "in the end"
    remove_disk
}

# Not one byte left.
full_to_the_brim() {
    disk 4096
    put one /one
    "$TRADEWIND" set create S /one >/dev/null
    put junk /junk
    fill 0
    full "put on the last byte" put "$scratch/small1" /two
    full "set create on the last byte" set create S /one
    full "tag on the last byte" tag /one a=1
    works "gc on the last byte" gc --yes
    is "$("$TRADEWIND" cat /one 2>&1)" one "reading needs no room"
    is "$("$TRADEWIND" ls -r 2>&1)" "/junk
/one" "nor listing"
    clean "on the last byte"
    rm "$scratch/disk/fill"
    check "put with room" put two /two
    clean "afterwards"
    remove_disk
}

read_only_disk() {
    local before command
    disk 16384
    put one /one
    put two /one
    "$TRADEWIND" put large1 /d/ --set S --tag a=1 >/dev/null
    "$TRADEWIND" set create T @S /one >/dev/null
    "$TRADEWIND" alias @S:1 prod >/dev/null
    mount -o remount,ro "$scratch/disk"
    before=$(find "$scratch/disk" -type f -exec cksum {} + | sort)
    is "$("$TRADEWIND" cat /one)" two "cat"
    is "$("$TRADEWIND" ls -r)" "/d/large1
/one" "ls"
    is "$(numbers /one)" "2 1" "log"
    is "$("$TRADEWIND" find a=1 --json | json '[f["ref"] for f in d]')" \
        "['/d/large1#1', '@S:1']" "find"
    is "$("$TRADEWIND" set show @T --json | json 'd["parents"]')" "['@S:1']" "set show"
    is "$("$TRADEWIND" set ls --json | json 'len(d)')" 2 "set ls"
    is "$("$TRADEWIND" set diff @S @T --json >/dev/null; echo $?)" 0 "set diff"
    is "$("$TRADEWIND" trace @T --json | json 'len(d["nodes"])')" 2 "trace"
    is "$("$TRADEWIND" pin --json 2>&1)" "[]" "pin lists"
    is "$("$TRADEWIND" session status >/dev/null 2>&1; echo $?)" 0 "session status"
    works "get, elsewhere" get @T fetched
    check "is right" cmp -s fetched/d/large1 large1
    works "gc without --yes" gc
    clean "read-only"
    for command in "put small1 /d/" "put large1 /e/" "put small1 large2 /d/" "set create S /one" \
        "alias @S:1 dev" "tag /one b=2" "untag /d/large1 a" "rm /one" "chmod 600 /one" \
        "chown ann /one" "pin /one" "gc --yes" "session begin /x" "get @T $scratch/disk/out"; do
        # shellcheck disable=SC2086 # words
        run $command
        check "says so: $command" \
            grep -qi 'read-only' "$scratch/.stderr" ||
            sed 's/^/# /' "$scratch/.stderr"
        check "exit code 4 or 7: $command" test "$code" = 4 -o "$code" = 7
    done
    is "$(find "$scratch/disk" -type f -exec cksum {} + | sort)" "$before" "nothing changed"
    mount -o remount,rw "$scratch/disk"
    check "writable again" put three /one
    is "$(numbers /one)" "3 2 1" "numbers go on"
    clean "afterwards"
    remove_disk
}

random 900001 >small1
random 2500000 >large1
random 3500000 >large2
if [ "$TRADEWIND_TEST_NAMESPACE" = own ]; then
    full_store
    full_database
    full_to_the_brim
    read_only_disk
else
    skip "full and read-only disks" "mounting needs a namespace, which this user may not have"
fi

# ---- outputs that fail

put content /out/one
"$TRADEWIND" set create Out /out/ >/dev/null
for command in "ls -r" "cat /out/one" "find size>0" "set show @Out" "trace @Out" "fsck" "log /out/one"; do
    # shellcheck disable=SC2086 # words
    "$TRADEWIND" $command >/dev/full 2>message
    is $? 7 "full output: exit 7: $command"
    contains "$(<message)" "write output: No space left on device" "in words: $command"
    # shellcheck disable=SC2086
    "$TRADEWIND" $command >&- 2>message
    is $? 7 "closed output: exit 7: $command"
    contains "$(<message)" "write output: Bad file descriptor" "in words: $command"
done
random 5000000 >piped
"$TRADEWIND" put piped /out/ >/dev/null
is "$("$TRADEWIND" cat /out/piped 2>message | head -c 1 | wc -c)$(<message)" 1 \
    "a reader that has seen enough is no trouble"
echo more >more
"$TRADEWIND" put more /out/ >/dev/full 2>message
is "$?" 7 "put whose answer cannot be written says so"
is "$("$TRADEWIND" cat /out/more 2>&1)" more "and has put it"
"$TRADEWIND" put more /out/ 2>/dev/full >/dev/null
is $? 0 "a full standard error is no trouble"

# ---- sources

mkdir sources
echo readable >sources/readable
echo secret >sources/secret
chmod 000 sources/secret
if [ "$(id -u)" -ne 0 ]; then
    fails 4 "sources/secret" put sources /
elif drop=$(command -v setpriv) && chmod 755 "$scratch" &&
    nobody() { TRADEWIND_HOME=$scratch/nobody "$drop" --reuid=65534 --clear-groups "$@"; } &&
    install -d -o 65534 nobody && nobody test -r sources/readable && nobody test -x "$TRADEWIND"; then
    nobody "$TRADEWIND" put sources / >/dev/null 2>message
    is $? 4 "a source that may not be read"
    contains "$(<message)" "sources/secret" "is named"
    is "$(nobody "$TRADEWIND" ls -r)" "" "and nothing is put"
else
    skip "a source that may not be read" "no other user to be"
fi
chmod 600 sources/secret
fails 3 "nowhere" put sources nowhere /
is "$("$TRADEWIND" ls -r --json / | json '[f["path"] for f in d if "sources" in f["path"]]')" "[]" \
    "one that is missing: nothing is put"
ln -s /nonexistent sources/dangling
run put sources /links/
contains "$code $err" "sources/dangling" "a dangling link is named"
rm sources/dangling

# A file that grows all the time: either a version of what it was at one moment, or words.
cp large1 sources/growing
(while echo grows; do :; done >>sources/growing 2>/dev/null) &
writer=$!
run put sources/growing /grow/
kill $writer
wait $writer 2>/dev/null
check "a file that grows while read: stored or told" \
    grep -qE "^(0 .*|6 .*sources/growing.*changed while it was read.*)$" <<<"$code $err" ||
    printf '%s\n' "$code" "$err" | sed 's/^/# /'
if [ "$code" = 0 ]; then
    "$TRADEWIND" cat /grow/growing >grown
    check "what was stored is how it began" cmp -s -n "$(stat -c %s grown)" grown sources/growing
fi
rm sources/growing
clean "after a growing file"

# Files that come and go while a directory is put: each is there as a whole, or named.
mkdir busy
(while :; do
    for i in 1 2 3 4 5 6 7 8; do
        echo content >"busy/.new$i" && mv "busy/.new$i" "busy/$i"
    done
    rm -f busy/[1-8]
done) 2>/dev/null &
writer=$!
for ((i = 0; i < 20; i++)); do
    "$TRADEWIND" put busy /come/ >/dev/null 2>message || cat message >>messages
done
kill $writer
wait $writer 2>/dev/null
lacks "$(cat messages 2>/dev/null | grep -v busy/)" "tradewind" "a file that vanished is named"
rm -rf empty && mkdir empty
"$TRADEWIND" get /come/ came >/dev/null 2>&1
is "$(cat came/come/busy/[0-9] 2>/dev/null | sort -u)" "$([ -d came ] && echo content)" \
    "no file is stored in part"
clean "after files that came and went"

# ---- Ctrl-C

# Sparse, so that making it costs nothing; each file differs, so that none is stored twice. A put
# that was faster than the signal is tried with more, under other names.
mkdir large
code=0
for ((mib = 200; mib <= 6400 && code == 0; mib *= 2)); do
    for i in 1 2 3 4 5 6; do
        truncate -s ${mib}M "large/$i"
        echo "$i $mib" >>"large/$i"
    done
    begun=$(stored)
    "$TRADEWIND" put large /int$mib/ >/dev/null 2>message &
    process=$!
    while kill -0 $process 2>/dev/null; do
        [ "$(stored)" -gt $((begun + mib * 1500000)) ] && break
        sleep 0.01
    done
    kill -INT $process 2>/dev/null
    wait $process
    code=$?
done
mib=$((mib / 2))
is $code 6 "Ctrl-C ends a put with exit code 6"
contains "$(<message)" "run the same put again, or \`tradewind session abort" "and says how to go on"
session=$(sed -n 's/.*session \([0-9]*\):.*/\1/p' message)
contains "$("$TRADEWIND" session status "$session" 2>&1)" "put $scratch/large /int$mib/" \
    "session status shows the put"
fails 3 "" ls /int$mib/
before=$(stored)
check "some of it is stored" test "$before" -gt $((mib * 1000000))
"$TRADEWIND" put large /int$mib/ >/dev/null 2>message
is $? 0 "the same put again"
contains "$(<message)" "resumed session $session" "goes on"
after=$(stored)
check "storing only the rest" test "$after" -lt $((begun + 8 * mib * 1050000)) ||
    echo "# $before before, $after after"
is "$("$TRADEWIND" ls --json /int$mib/large/ | json '[f["version"] for f in d]')" \
    "[1, 1, 1, 1, 1, 1]" "each file has one version"
fails 3 "there is no session $session" session status "$session"
"$TRADEWIND" put large /int$mib/ >/dev/null
is "$(stored)" "$after" "nothing more is stored by a third"
rm -rf large

done_testing
