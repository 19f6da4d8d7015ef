#!/usr/bin/env bash
# Damaged, cut and missing packs, blobs and databases: the files are named, the rest is delivered,
# and nothing wrong is ever given out.
# In memory where that is possible: hundreds of commits would each wait for the disk.
[ -w /dev/shm ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/tap.sh"

# A lake to damage copies of: small files in one pack, two large ones in blobs of their own.
mkdir data
for i in 1 2 3 4 5 6 7 8 9; do
    for ((n = 0; n < 300; n++)); do
        echo "line $n of file $i"
    done >"data/small$i"
done
for i in 1 2; do
    openssl enc -aes-128-ctr -pass "pass:$i" -pbkdf2 -iter 1 -nosalt </dev/zero 2>/dev/null |
        head -c 9000000 >"data/large$i"
done
"$TRADEWIND" put data / --set Data >/dev/null
mv home whole

# restore: the lake as it was
restore() {
    rm -rf home out
    cp -a whole home
}

# holding FILE: the file of the store that holds this file's content
holding() {
    local piece
    piece=$(tail -n 1 "data/$1" | head -c 40)
    case $1 in
    small*) grep -rlF "$piece" home/objects ;;
    *) find home/objects -type f -size +8M -exec cmp -s {} "data/$1" \; -print ;;
    esac
}

# flip FILE OFFSET: changes one byte
flip() {
    python3 - "$1" "$2" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 0x40]))
PYTHON
}

# damaged NAMES WHAT: exactly these files are named by fsck, refused by cat and get, and all others
# are delivered
damaged() {
    local names=$1 f wrong='' said cat_wrong=
    what=$2
    run fsck --json
    is "$code" 7 "$what: fsck exits with 7"
    is "$(json '" ".join(sorted(p.split(":")[0] for p in d["problems"]))' <<<"$out")" \
        "$(printf '/data/%s#1\n' $names | sort | xargs)" "$what: fsck names the files and no other"
    run get @Data out
    is "$code" 7 "$what: get exits with 7" || printf '%s\n' "$err" | sed 's/^/# /'
    said=$err
    for f in $names; do
        [ ! -e "out/data/$f" ] || wrong+=" $f written"
        run cat "/data/$f"
        failed_as 7 "/data/$f#1: " || cat_wrong+=" $f: $code $err"
    done
    contains "$said" "/data/${names%% *}" "$what: get names it"
    [ "$(wc -w <<<"$names")" -lt 2 ] ||
        contains "$said" "$(wc -w <<<"$names") files were not written" "$what: get counts them"
    is "$cat_wrong" "" "$what: cat names it, gives nothing, exits with 7"
    for f in small{1..9} large{1,2}; do
        [[ " $names " == *" $f "* ]] && continue
        cmp -s "data/$f" "out/data/$f" || wrong+=" $f"
    done
    is "$wrong" "" "$what: all others are written, and only they"
    is "$(find out -name '.*' -type f)" "" "$what: nothing half written is left"
}

# mended: the files at hand put again with --force make everything whole, old versions too
mended() {
    run put data / --force
    is "$code" 0 "$what: put --force"
    run fsck --json
    is "$code $(json 'd["problems"]' <<<"$out")" "0 []" "$what: mends it"
    rm -rf out
    "$TRADEWIND" get @Data:1 out >/dev/null
    check "$what: version 1 reads back" diff -r data out/data
}

restore
pack=$(holding small5)
check "small files share a pack" test -f "$pack"
at=$(grep -obaF 'line 150 of file 5' "$pack" | cut -d : -f 1)
flip "$pack" "$at"
damaged small5 "a byte of a pack"
"$TRADEWIND" gc --yes >/dev/null
run fsck
contains "$out" "/data/small5#1" "gc changes nothing about it"
mended

restore
truncate -s 4000000 "$(holding large1)"
damaged large1 "a blob cut short"
mended

restore
blob=$(holding large2)
flip "$blob" 8500000
damaged large2 "a byte of a blob"
mended

restore
rm "$(holding large1)"
damaged large1 "a blob that is missing"
mended

restore
pack=$(holding small1)
at=$(grep -obaF 'line 150 of file 9' "$pack" | cut -d : -f 1)
truncate -s "$at" "$pack"
run fsck --json
contains "$out" "/data/small9#1" "a pack cut short: fsck names the last file"
run put data/small1 /again
is "$code" 0 "and put goes on"
is "$("$TRADEWIND" cat /again)" "$(<data/small1)" "with what can be read"
what="a pack cut short"
mended

restore
rm "$(holding small1)"
damaged "small1 small2 small3 small4 small5 small6 small7 small8 small9" "a pack that is missing"
mended

restore
rm -rf home/objects
damaged "$(ls data | xargs)" "a store that is missing"
mended

# ---- the database

# database WHAT: every command says that it is damaged, and what to do
database() {
    local command
    for command in "ls -r" "cat /data/small1" "put data/small1 /new" "fsck" "gc --yes" "set ls"; do
        # shellcheck disable=SC2086 # words
        run $command
        check "$1: exit 7 or 2, in words: $command" \
            grep -qE "^(7 tradewind: .*lake\.db: .*damaged.*backup|2 tradewind: .*lake\.db)" <<<"$code $err" ||
            printf '%s\n' "$code" "$err" | sed 's/^/# /'
    done
}

restore
head -c 100000 /dev/urandom >home/lake.db
database "a database that is noise"

restore
printf 'x' | dd of=home/lake.db bs=1 seek=0 conv=notrunc status=none
database "a database whose first byte changed"

# Damage within: no command crashes, and what is told is right or an error.
size=$(stat -c %s whole/lake.db)
crashed=
for ((at = 4096; at < size; at += 8192)); do
    cp whole/lake.db home/lake.db
    dd if=/dev/urandom of=home/lake.db bs=4096 seek=$((at / 4096)) count=1 conv=notrunc status=none
    for command in "ls -r" "cat /data/small1" "fsck"; do
        # shellcheck disable=SC2086
        run $command
        case $code in
        0 | 3 | 7) ;;
        *) crashed+=" $command at $at: $code $err" ;;
        esac
        [ "$command $code" != "cat /data/small1 0" ] || [ "$out" = "$(<data/small1)" ] ||
            crashed+=" $command at $at: wrong content"
    done
done
is "$crashed" "" "a page of noise anywhere in the database: no crash, no wrong content"

restore
truncate -s $((size / 2)) home/lake.db
run fsck
is "$code" 7 "a database cut in half: exit 7"
contains "$err$out" "damaged" "in words"

# ---- a database that was lost: no new lake begins silently beside the content

for loss in "rm home/lake.db" "truncate -s 0 home/lake.db"; do
    restore
    $loss
    for command in "cat /data/small1" "ls -r" "put data/small1 /new" "gc --yes" "init"; do
        # shellcheck disable=SC2086 # words
        fails 2 "the store dir:$TRADEWIND_HOME/objects has content that lake.db in" $command
    done
    contains "$err" "restore lake.db from a backup" "which says what to do"
    cp whole/lake.db home/
    is "$("$TRADEWIND" cat /data/small1)" "$(<data/small1)" "$loss: restored, all is there"
done
restore
rm home/lake.db
run init --new
is "$code" 0 "a new lake begins when that is what is wanted"
"$TRADEWIND" put data/small1 /new >/dev/null
"$TRADEWIND" gc --yes >/dev/null
check "and takes nothing of the old one" test -n "$(holding large1)"
rm -rf home
run init --store "dir:$scratch/shared"
is "$code" 0 "an empty store is no other lake's"

done_testing
