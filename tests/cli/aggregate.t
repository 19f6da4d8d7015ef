#!/usr/bin/env bash
# aggregate: the mean of files of tensors, beside numpy; what is refused; nothing half written
. "$(dirname "$0")/tap.sh"

# The Debian package python3-numpy belongs to this Python.
python=/usr/bin/python3
tensors=$root/tests/cli/tensors.py

# numbers TYPE VALUE...: little-endian, as struct.pack has it
numbers() {
    python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<%d%s" % (len(sys.argv) - 2, sys.argv[1]), *map(float, sys.argv[2:])))' "$@"
}

# nothing_left NAME: neither the output nor anything beside it
nothing_left() {
    is "$(find . -name 'mean*')" "" "$1: nothing is left"
}

# ---- by hand ----

numbers f 1 2 -4 >a.f32
numbers f 3 4 4 >b.f32
numbers f 5 9 0.75 >c.f32
run aggregate --out mean.f32 a.f32 b.f32 c.f32
is "$out" "mean.f32: the mean of 3 files; 1 tensor, 3 numbers, 12 B" "three files"
is "$(od -An -tf4 -v mean.f32 | xargs)" "3 5 0.25" "their mean"
run aggregate a.f32 b.f32 --weights 1,3 --out mean.f32
is "$(od -An -tf4 -v mean.f32 | xargs)" "2.5 3.5 2" "weights: a quarter and three quarters"
is "$out" "mean.f32: the weighted mean of 2 files; 1 tensor, 3 numbers, 12 B" "are told"
run aggregate a.f32 b.f32 c.f32 --trim 0.34 --out mean.f32
is "$(od -An -tf4 -v mean.f32 | xargs)" "3 4 0.75" "trimmed: the middle"
contains "$out" "without the 1 smallest and 1 largest" "is told"
run aggregate a.f32 --out mean.f32
check "the mean of one file is that file" cmp a.f32 mean.f32
run aggregate mean.f32 b.f32 --out mean.f32
is "$(od -An -tf4 -v mean.f32 | xargs)" "2 3 0" "the output may be an input"
numbers e 1 2 >a.f16
numbers e 2 4 >b.f16
run aggregate --out mean.f16 a.f16 b.f16
is "$(od -An -tx2 -v mean.f16 | xargs)" "3e00 4200" "f16: 1.5 and 3"
printf '\x80\x3f\x00\x40' >a.bf16 # 1 and 2
printf '\x00\x40\x80\x40' >b.bf16 # 2 and 4
run aggregate --out mean.bf16 a.bf16 b.bf16
is "$(od -An -tx2 -v mean.bf16 | xargs)" "3fc0 4040" "bf16: 1.5 and 3"
numbers d 0.1 >a.f64
numbers d 0.3 >b.f64
run aggregate --json --out mean.f64 a.f64 b.f64
is "$(od -An -tf8 -v mean.f64 | xargs)" "0.2" "f64: 0.1 and 0.3"
is "$(json "sorted(d.items())" <<<"$out")" "[('dropped_each_end', 0), ('files', 2), \
('numbers', 1), ('numbers_not_finite', 0), ('out', 'mean.f64'), ('size_bytes', 8), ('tensors', 1), \
('tensors_copied', 0), ('trimmed', False), ('weighted', False)]" "--json"
: >a0.f32
run aggregate --out mean0.f32 a0.f32 a0.f32
check "files without numbers have an empty mean" test "$code" = 0 -a -f mean0.f32 -a ! -s mean0.f32
rm mean*

# ---- more files than a process may open ----

many=$(printf 'a.f32 %.0s' {1..40})
err=$( (ulimit -n 32 && "$TRADEWIND" aggregate --out mean.f32 $many) 2>&1)
is "$?" 7 "more inputs than files may be open"
contains "$err" "this process may open 32 files: allow more (ulimit -Hn)" "are refused with a way out"
nothing_left "too many files"

# ---- what is refused: exit 2, the file named, nothing written ----

fails 2 "--out names the file" aggregate a.f32
fails 2 "--out mean.npy" aggregate --out mean.npy a.f32
fails 2 "a.f32 and a.f16 are of different formats" aggregate --out mean.f32 a.f32 a.f16
cp a.f32 a.bin
fails 2 "a.bin: its name ends in none of" aggregate --out mean.f32 a.bin
fails 3 "there is no file no.f32" aggregate --out mean.f32 a.f32 no.f32
mkdir dir.f32
mkfifo pipe.f32
fails 2 "dir.f32 is not a regular file" aggregate --out mean.f32 a.f32 dir.f32
fails 2 "pipe.f32 is not a regular file" aggregate --out mean.f32 pipe.f32
fails 2 "dir.f32: not a regular file" aggregate --out dir.f32 a.f32
head -c 8 a.f32 >two.f32
head -c 7 a.f32 >cut.f32
fails 2 "two.f32: its shape is [2], in a.f32 it is [3]" aggregate --out mean.f32 a.f32 two.f32
fails 2 "cut.f32: 7 bytes are not a whole number of F32" aggregate --out mean.f32 a.f32 cut.f32
fails 2 "--weights: 1 for 2 files" aggregate --out mean.f32 --weights 3 a.f32 b.f32
fails 2 "--weights: 3 for 2 files" aggregate --out mean.f32 --weights 1,2,3 a.f32 b.f32
fails 2 "numbers from 0 up" aggregate --out mean.f32 --weights 1,-2 a.f32 b.f32
fails 2 "numbers from 0 up" aggregate --out mean.f32 --weights 1, a.f32 b.f32
fails 2 "numbers from 0 up" aggregate --out mean.f32 --weights 1,nan a.f32 b.f32
fails 2 "add up to 0" aggregate --out mean.f32 --weights 0,0 a.f32 b.f32
fails 2 "below 0.5" aggregate --out mean.f32 --trim 0.5 a.f32 b.f32
fails 2 "a trimmed mean has no weights" aggregate --out mean.f32 --trim 0.1 --weights 1,2 a.f32 b.f32
fails 7 "no/mean.f32: No such file" aggregate --out no/mean.f32 a.f32
numbers f 1 nan 2 >nan.f32
fails 2 "nan.f32: the number at index 1 is NaN" aggregate --finite --out mean.f32 a.f32 nan.f32
nothing_left "refused"
run aggregate --out mean.f32 a.f32 nan.f32
contains "$out" "1 of the numbers is NaN or infinite; --finite refuses that" "without --finite it is told"
rm mean*

# ---- beside numpy: all formats and types, random tensors ----

if "$python" -c 'import numpy' 2>/dev/null; then
    "$python" "$tensors" "$TRADEWIND" >tensors.out 2>&1
    code=$?
    while read -r line; do
        case $line in
        "ok "*) check "numpy: ${line#ok }" true ;;
        *) check "numpy: $line" false ;;
        esac
    done <tensors.out
    is "$code" 0 "the comparison ends well"
    rm -f mean*
else
    skip "beside numpy" "there is no python3-numpy"
fi

# ---- a disk that is full, a limit, Ctrl-C: nothing is left ----

head -c 4000000 /dev/urandom >big.f32
head -c 4000000 /dev/urandom >big2.f32
code=0
(ulimit -f 1000; "$TRADEWIND" aggregate --out mean.f32 big.f32 big2.f32) 2>err || code=$?
is "$code" 7 "a file beyond the limit: exit 7"
contains "$(<err)" "write mean.f32: File too large" "said so"
nothing_left "beyond the limit"
cp a.f32 mean.f32
code=0
(ulimit -f 1000; "$TRADEWIND" aggregate --out mean.f32 big.f32 big2.f32) 2>err || code=$?
check "and the old one stays as it was" cmp a.f32 mean.f32
rm mean.f32
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=1m none small 2>/dev/null; then
    fails 7 "write small/mean.f32: No space left" aggregate --out small/mean.f32 big.f32 big2.f32
    is "$(ls small)" "" "a full disk: nothing is left"
    umount small
else
    skip "a full disk" "no file system can be mounted here"
    skip "a full disk: nothing is left" "no file system can be mounted here"
fi

# The same many files again and again, so that there is time for a signal.
many=()
for i in $(seq 400); do many+=(big.f32); done
for signal in INT TERM; do
    "$TRADEWIND" aggregate --trim 0.2 --out mean.f32 "${many[@]}" 2>err &
    pid=$!
    for _ in $(seq 500); do
        [ -n "$(find . -name 'mean.f32.*')" ] && break
        sleep 0.01
    done
    kill -s "$signal" "$pid"
    wait "$pid"
    is "$? $(<err)" "6 tradewind: interrupted" "SIG$signal: exit 6"
    nothing_left "SIG$signal"
done

# ---- large ones, which processes look at where they lie ----

# a, 3a and their mean 2a, which are all exact; in safetensors behind a header of odd length
python3 - <<'END'
import array, json, struct
n = 1_000_003
for times, name in ((1, "one"), (3, "three"), (2, "wanted")):
    data = array.array("f", (times * (i % 4099 - 2000) * 0.125 for i in range(n))).tobytes()
    header = json.dumps({"t": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]}}).encode()
    header += b" " * ((1 - len(header)) % 4)
    open(f"{name}.f32", "wb").write(data)
    open(f"{name}.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + data)
END
for type in f32 safetensors; do
    run aggregate --out "mean.$type" {one,three,one,three,one,three,one,three,one,three}".$type"
    is "$code" 0 "40 MB of $type"
    check "their mean" cmp "wanted.$type" "mean.$type"
done
head -c 4000000 /dev/zero >zero.f32
printf '\0\0\200\177' | dd of=zero.f32 bs=4 seek=999999 conv=notrunc status=none
run aggregate --finite --out mean.f32 {zero,zero,zero,zero,zero,zero,zero,zero,zero,zero}.f32
is "$code" 2 "40 MB with an infinite number"
contains "$err" "zero.f32: the number at index 999999 is NaN or infinite" "which is found"
rm -f mean*

# Enough to be under way when one of them is cut.
many=()
for i in $(seq 1000); do many+=(big.f64); done
cp big.f32 big.f64
cp big.f32 cut.f64
"$TRADEWIND" aggregate --out mean.f64 "${many[@]}" cut.f64 2>err &
pid=$!
for _ in $(seq 500); do
    [ -n "$(find . -name 'mean.f64.*')" ] && break
    sleep 0.01
done
: >cut.f64
wait "$pid"
is "$? $(<err)" "6 tradewind: cut.f64 was cut while it was read; try again" "a file that is cut meanwhile"
nothing_left "a file that is cut"

# Little room: nothing is mapped then.
if [ -z "${TRADEWIND_SLOW:-}" ]; then
    code=0
    (ulimit -v 40000; "$TRADEWIND" aggregate --out mean.f64 "${many[@]:0:12}" >/dev/null) || code=$?
    is "$code" 0 "40 MB of room for 48 MB of files"
    rm -f mean.f64
else
    skip "40 MB of room for 48 MB of files" "sanitizers need more for themselves"
fi

# Nobody goes on when it is killed.
"$TRADEWIND" aggregate --out mean.f64 "${many[@]}" 2>err &
pid=$!
for _ in $(seq 500); do
    [ -n "$(find . -name 'mean.f64.*')" ] && break
    sleep 0.01
done
children=
for _ in $(seq 500); do
    children=$(<"/proc/$pid/task/$pid/children")
    [ -n "$children" ] && break
    sleep 0.01
done
kill -9 "$pid"
wait "$pid" 2>/dev/null
check "processes are at work" test -n "$children"
for _ in $(seq 500); do
    left=
    for child in $children; do # one that nobody has asked for yet is a zombie
        grep -q '^State:.[^Z]' "/proc/$child/status" 2>/dev/null && left+=" $child"
    done
    [ -z "$left" ] && break
    sleep 0.01
done
is "$left" "" "and end with the one that started them"
rm -f mean*

# ---- the same bits on one core and on all ----

run aggregate --out mean.f32 big.f32 big2.f32 big.f32
mv mean.f32 all.f32
if command -v taskset >/dev/null; then
    taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" \
        "$TRADEWIND" aggregate --out mean.f32 big.f32 big2.f32 big.f32 >/dev/null
    check "one core gives the same bits" cmp all.f32 mean.f32
else
    skip "one core gives the same bits" "there is no taskset"
fi

done_testing
