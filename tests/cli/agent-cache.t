#!/usr/bin/env bash
# The agent's cache: jobs put together from what was there before, never changed by them, bounded,
# and gone without harm.
. "$(dirname "$0")/tap.sh"

agent=${TRADEWIND_BUILD:-$root/build}/tradewind-agent
[[ -x $agent ]] || agent=$(dirname "$TRADEWIND")/tradewind-agent
is_root=$([[ $(id -u) == 0 ]] && echo yes)
small= # a mount
clear_up() {
    [[ -n $small ]] && umount -l "$small"
    rm -rf "$scratch"
}
trap clear_up EXIT
jobs=$scratch/jobs
mkdir "$jobs" files

# content NAME BYTES: a file of its own kind
content() {
    head -c "$2" < <(yes "$1") >"files/$1"
}

sha() {
    sha256sum "$1" | cut -d' ' -f1
}

# line NAME PATH [MODE]: of the list for the agent
line() {
    printf '%s %s %s 1700000000 %s\n' "$(sha "files/$1")" "$(stat -c %s "files/$1")" "${3:-640}" "$2"
}

# settled DIR NAME...: a directory that came whole; copies of its files are kept
settled() {
    local dir=$jobs/$1 name
    shift
    mkdir -p "$dir/input"
    for name in "$@"; do
        cp "files/$name" "$dir/input/$name"
        line "$name" "input/$name"
    done | "$agent" settle "$dir"
}

# placed DIR NAME...: what the cache says about these
placed() {
    local dir=$jobs/$1 name
    shift
    rm -rf "$dir"
    mkdir "$dir"
    for name in "$@"; do
        line "$name" "input/$name"
    done | "$agent" stage "$dir"
}

kept() {
    [[ -e $jobs/cache/$(sha "files/$1" | cut -c1-2)/$(sha "files/$1") ]]
}
forgotten() {
    ! kept "$1"
}
cached() {
    echo "$jobs/cache/$(sha "files/$1" | cut -c1-2)/$(sha "files/$1")"
}

content a 200000
content b 100000
content c 65536
is "$(placed .1.new a b)" 00 "nothing is there at first"
check "and nothing was made" test ! -e "$jobs/cache"
settled 1 a b
check "what came is kept" kept a
check "all of it" kept b
is "$(placed .2.new a c b)" 101 "the next job finds it"
check "with the right content" cmp files/a "$jobs/.2.new/input/a"
is "$(stat -c '%a %Y' "$jobs/.2.new/input/a")" "640 1700000000" "mode and time are those of the sender"
check "what is missing is not there" test ! -e "$jobs/.2.new/input/c"

# --- nobody can change what others get
echo poison >>"$jobs/1/input/a"
echo poison | dd of="$jobs/.2.new/input/b" conv=notrunc status=none
chmod 777 "$jobs/.2.new/input/a" && : >"$jobs/.2.new/input/a"
is "$(placed .3.new a b)" 11 "jobs that write into their input do not reach the cache"
check "the first" cmp files/a "$jobs/.3.new/input/a"
check "nor the second" cmp files/b "$jobs/.3.new/input/b"
printf x | dd of="$(cached a)" bs=1 seek=1000 conv=notrunc status=none 2>/dev/null ||
    { chmod 600 "$(cached a)" && printf x | dd of="$(cached a)" bs=1 seek=1000 conv=notrunc status=none; }
is "$(placed .3.new a b)" 01 "a file that somebody wrote to is noticed"
check "and removed" forgotten a
touch "$(cached b)"
is "$(placed .3.new b)" 1 "one that was only touched is read, and is good"
truncate -s 99999 "$(cached b)"
is "$(placed .3.new b)" 0 "one that was cut is not"

# --- lists from outside
mkdir "$jobs/odd"
for path in ../x /etc/x a/../../x a//b ./a .. ""; do
    line a "$path" | "$agent" stage "$jobs/odd" >out 2>err
    is "$?" 2 "exit 2 for a path that is '$path'"
done
printf 'abc 1 600 0 x\n' | "$agent" stage "$jobs/odd" >out 2>err
is "$?" 2 "exit 2 for a digest that is none"
printf '%s' "$(line a x)" | "$agent" stage "$jobs/odd" >out 2>err
is "$?" 2 "exit 2 for a list that was cut"
(line a x | tr '\n' ' ' && head -c 10000 /dev/zero | tr '\0' x && echo) | "$agent" stage "$jobs/odd" >out 2>err
is "$?" 2 "exit 2 for a line that is too long"
(yes "$(line a x)" | head -n 65537) | "$agent" stage "$jobs/odd" >out 2>err
is "$?" 2 "exit 2 for more files than may be asked for"
is "$(ls -A "$jobs/odd")" "" "nothing was made of any of these"
mkdir -p "$jobs/5/input"
cp files/a "$jobs/5/input/a"
(line a input/a && line b input/b) | "$agent" settle "$jobs/5" 2>err
is "$?" 7 "a directory that did not arrive whole is refused"
contains "$(<err)" "input/b did not arrive" "by the name of what is missing"
cp files/b "$jobs/5/input/c"
truncate -s 65536 "$jobs/5/input/c"
line c input/c | "$agent" settle "$jobs/5"
check "what is not what its name says is not kept" forgotten c

# --- the name of a job
mkdir "$jobs/.8.a.new" "$jobs/.8.b.new"
echo first >"$jobs/.8.a.new/job"
echo second >"$jobs/.8.b.new/job"
check "what came whole gets its name" "$agent" name "$jobs/.8.a.new" "$jobs/8"
check "where the name is given already, that is good" "$agent" name "$jobs/.8.b.new" "$jobs/8"
is "$(<"$jobs/8/job")" first "what has it keeps it"
check "and the other goes" test ! -e "$jobs/.8.b.new"
"$agent" name "$jobs/.8.c.new" "$jobs/9" 2>err
is "$?" 7 "what did not come cannot get it"
contains "$(<err)" ".8.c.new" "and is named"
rm -r "$jobs/8"

# --- output of a job
mkdir -p "$jobs/6/output/deep" "$jobs/7/output"
printf '%s\n' 'tradewind-job 1' 'id 6' 'command sh' 'command -c' \
    "command cat $scratch/files/b >\$TRADEWIND_OUTPUT/deep/b; cp $scratch/files/c \$TRADEWIND_OUTPUT/c; \
ln -s $scratch/files/a \$TRADEWIND_OUTPUT/link; echo x >\$TRADEWIND_OUTPUT/little" >"$jobs/6/job"
rm -rf "$jobs/cache"
"$agent" run "$jobs/6" >out
check "a job's directory is removed" "$agent" retire "$jobs/6"
check "all of it" test ! -e "$jobs/6"
check "what it made stays for the next" kept b
check "from the size on that is worth it" kept c
check "links lead nowhere" forgotten a
is "$(find "$jobs/cache" -type f -size +0 | wc -l)" 2 "and small files are not kept"
is "$(placed .8.new b c)" 11 "so that it need not come again"
cp files/a "$jobs/7/output"
"$agent" remove "$jobs/7"
check "remove alone keeps nothing" forgotten a
check "a directory that is gone can be retired" "$agent" retire "$jobs/7"

# --- bounds: the least recently used go first
echo 300000 >"$jobs/cache/limit" # b and c are 165536
placed .8.new b >out             # c is now the older one
settled 9 a                      # 200000 more
check "the least recently used gives way" forgotten c
check "the other one stays" kept b
check "and the new one is there" kept a
content d 300001
settled 10 d
check "what is larger than the bound is not kept" forgotten d
check "and nothing gives way to it" kept a
settled 11 a b c
check "files of one job do not drive each other out" kept a
check "none of them" kept b
echo 0 >"$jobs/cache/limit"
settled 12 c
check "nothing is kept with a limit of 0" forgotten c
rm "$jobs/cache/limit"

# --- while another job is put together nothing is removed
echo 300000 >"$jobs/cache/limit"
exec 9<"$jobs/cache/lock"
flock -s 9
settled 13 c
check "while another uses it nothing gives way" kept a
check "and what finds no room is not kept" forgotten c
exec 9<&-
settled 13 c
check "afterwards it does" kept c
rm -rf "$jobs/cache"
is "$(placed .14.new a b c)" 000 "it can be removed at any time"

# --- a disk that is full
if [[ -n $is_root ]] && mkdir "$scratch/small" &&
    mount -t tmpfs -o size=4m tmpfs "$scratch/small" 2>/dev/null; then
    small=$scratch/small
    jobs=$small
    content e 700000
    content f 600000
    settled 1 e
    check "a quarter of the disk may be used" kept e
    settled 2 f
    check "not more" test "$(du -sb --apparent-size "$small/cache" | cut -f1)" -lt 1000000
    rm -rf "$small/1" "$small/2"
    head -c 4000000 /dev/zero >"$small/filling" 2>/dev/null
    kept e && name=e || name=f
    mkdir "$small/3"
    (line $name x) | "$agent" stage "$small/3" >out 2>err
    is "$?" 7 "a full disk is said"
    contains "$(<err)" "No space left" "in words"
else
    skip "a disk that is full" "needs root and a mount"
fi
done_testing
