#!/usr/bin/env bash
# The agent alone: limits that hold, trees that die whole, logs that stay bounded, and what is left
# when the agent itself is killed.
. "$(dirname "$0")/tap.sh"

agent=${TRADEWIND_BUILD:-$root/build}/tradewind-agent
[[ -x $agent ]] || agent=$(dirname "$TRADEWIND")/tradewind-agent
jobs=$scratch/jobs
mkdir "$jobs"
is_root=$([[ $(id -u) == 0 ]] && echo yes)
small= # a mount
clear_up() {
    local dir
    for dir in "$scratch"/*/[0-9]*/; do
        "$agent" stop "$dir" 0 "the test is over" 2>/dev/null
    done
    [[ -n $small ]] && umount -l "$small"
    rm -rf "$scratch"
}
trap clear_up EXIT
has_cgroup=
for dir in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    [[ -n $is_root && -w $dir/cgroup.procs && ! -e $dir/cgroup.type ]] && has_cgroup=yes
done

# job ID SCRIPT [LINE...]: its directory, with more lines of the job file
job() {
    local id=$1 script=${2//\\/\\\\}
    shift 2
    mkdir "$jobs/$id"
    printf '%s\n' 'tradewind-job 1' "id $id" 'command bash' 'command -c' \
        "command ${script//$'\n'/\\n}" "$@" >"$jobs/$id/job"
}

# go ID: runs it to its end; $ended is the last line of its state
go() {
    "$agent" run "$jobs/$1" >"$scratch/frames"
    code=$?
    ended=$(tail -n 1 "$jobs/$1/state")
}

# word NAME: of $ended
word() {
    sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<"$ended"
}

# within SECONDS COMMAND...: until it succeeds
within() {
    local left=$(($1 * 20))
    shift
    until "$@"; do
        ((left-- > 0)) || return 1
        sleep 0.05
    done
}

gone() {
    local pid
    for pid in "$@"; do
        [[ -d /proc/$pid ]] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && return 1
    done
    return 0
}

groups_left() {
    find /sys/fs/cgroup -maxdepth 6 -name "tradewind-*-$(printf %x "$(stat -c %i "$1")")" 2>/dev/null
}

no_groups() {
    [[ -z $(groups_left "$1") ]]
}

# the supervisor: the parent of the command
supervisor() {
    local pid
    pid=$(sed -n '1s/.* pid=\([0-9]*\) .*/\1/p' "$jobs/$1/state")
    awk '/^PPid:/ {print $2}' "/proc/$pid/status"
}

# --- the command line
"$agent" version >version
is "$(<version)" "tradewind-agent $(<"$root/VERSION")" "version"
for arguments in "" "run" "run a b" "follow $jobs x 0" "stop $jobs -1 x" "dance"; do
    # shellcheck disable=SC2086 # several words
    "$agent" $arguments >out 2>err
    is "$?" 2 "exit 2: tradewind-agent $arguments"
done
mkdir "$jobs/notes"
"$agent" remove "$jobs/notes" 2>err
is "$?" 2 "only directories of jobs are removed"
check "nothing was removed" test -d "$jobs/notes"

# --- a tree with a session of its own, a double fork and one that ignores SIGTERM
tree='
setsid sh -c "echo \$\$ >>pids; trap \"\" TERM; while :; do sleep 0.1; done" &
(setsid sh -c "setsid sleep 600 & echo \$! >>pids" &)
sh -c "echo \$\$ >>pids; sleep 600" &
echo $$ >>pids
while [ $(wc -l <pids) -lt 4 ]; do sleep 0.01; done
echo ready'
job 1 "$tree; sleep 600"
"$agent" run "$jobs/1" >frames1 &
check "a tree grows" within 30 grep -qs ready "$jobs/1/log"
"$agent" stop "$jobs/1" 0.3 "enough"
wait $!
mapfile -t pids <"$jobs/1/work/pids"
check "stopping kills all of it" gone "${pids[@]}"
contains "$(tail -n 1 "$jobs/1/state")" "cause=stopped text=stopped: enough" "and says so"
job 2 "$tree; exit 0"
go 2
mapfile -t pids <"$jobs/2/work/pids"
check "nothing outlives a command that ends" gone "${pids[@]}"
is "$(word code)" 0 "whose code is its own"

# --- the agent is killed
job 3 "$tree; sleep 600" "${has_cgroup:+cpus 1}"
sed -i '/^$/d' "$jobs/3/job"
"$agent" run "$jobs/3" >frames3 2>err &
follower=$!
check "another one grows" within 30 grep -qs ready "$jobs/3/log"
mapfile -t pids <"$jobs/3/work/pids"
kill -9 "$(supervisor 3)"
wait $follower
is "$?" 10 "its follower says the job is gone"
check "what was left is ended" within 10 gone "${pids[@]}"
check "its groups are removed" within 10 no_groups "$jobs/3"
"$agent" follow "$jobs/3" 0 0 >out 2>err
is "$?" 10 "who follows later hears the same"
contains "$(<err)" "killed before the job ended" "in words"
contains "$(<out)" "ready" "with the log there was"
"$agent" run "$jobs/3" >out 2>err
is "$?" 10 "it does not run twice"
check "it can be stopped" "$agent" stop "$jobs/3" 1 x
check "and removed" "$agent" remove "$jobs/3"
check "it is gone" test ! -e "$jobs/3"

# --- the same when nobody follows: whoever comes next clears up
job 4 "$tree; sleep 600"
"$agent" run "$jobs/4" >frames4 &
within 30 grep -qs ready "$jobs/4/log"
mapfile -t pids <"$jobs/4/work/pids"
kill -9 $!
wait $! 2>/dev/null
kill -9 "$(supervisor 4)"
check "processes of a killed agent are found without it" "$agent" remove "$jobs/4"
check "and ended" within 10 gone "${pids[@]}"

# --- a directory that is removed is there, or it is not
job 18 'cd "$TRADEWIND_OUTPUT"; seq 20000 | xargs touch'
go 18
"$agent" remove "$jobs/18" &
halves=0
while left=$(ls -U "$jobs/18/output" 2>/dev/null | wc -l) && [[ -d $jobs/18 ]]; do
    [[ $left == 20000 ]] || halves=$((halves + 1))
done
wait $!
is "$?" 0 "a large directory is removed"
is "$halves" 0 "nobody finds half of it, and takes it for a job that never began"
is "$(ls -A "$jobs" | grep -c '^\.18')" 0 "nothing of it stays"
mkdir "$jobs/.18.gone"
touch "$jobs/.18.gone/x"
"$agent" remove "$jobs/18"
check "nor of a removal that was killed" test ! -e "$jobs/.18.gone"

# --- somebody removes the directory by force
job 17 "$tree; sleep 600"
"$agent" run "$jobs/17" >frames17 2>err &
within 30 grep -qs ready "$jobs/17/log"
mapfile -t pids <"$jobs/17/work/pids"
rm -rf "${jobs:?}/17"
check "a job whose directory is gone ends" within 10 gone "${pids[@]}"
wait $!
is "$?" 10 "and its follower says so"

# --- the log
job 5 'head -c 300000000 /dev/zero | tr "\0" x | fold -w 99; echo; echo last' 'log_max 1000000'
go 5
size=$(stat -c %s "$jobs/5/log")
check "300 MB of log are kept in 1 MB ($size)" test "$size" -le 1000000 -a "$size" -gt 900000
is "$(tail -n 1 "$jobs/5/log")" last "the last line is there"
is "$(word code)" 0 "and the job was not stopped"
# 300000000 = 3030303 x 99 + 3: so many newlines by fold, one by echo, and the last line
total=$((300000000 + 3030303 + 1 + 5))
dropped=$(sed -n 's/.*tradewind: \([0-9]*\) bytes were dropped here.*/\1/p' "$jobs/5/log")
own=$(grep -a '^\[tradewind: ' "$jobs/5/log" | wc -c)
is "$((dropped + size - own - 1))" "$total" "what was dropped is counted to the byte"
check "no second file stays" test ! -e "$jobs/5/log.tail"
"$agent" follow "$jobs/5" 0 $((size - 5)) >out
contains "$(<out)" $'L 5\nlast' "and it is followed by offset"

# --- a disk that is full
# small_job ID SCRIPT [LINE...]: a job on a disk of 2 MB, whose directory is then $dir
small_job() {
    local jobs=$small
    job "$@"
    dir=$small/$1
}
# fill: takes what is left of that disk, but for its last pages
fill() {
    head -c 4m /dev/zero >"$small/filler" 2>/dev/null
}
# left_out FILE: how many lines the log says are missing
left_out() {
    sed -n 's/^\[tradewind: \([0-9]*\) lines\{0,1\} left out: no space on the disk]$/\1/p' "$1"
}
not_running() {
    ! pgrep -f "tradewind-agent run $1" >/dev/null
}
go_small() {
    jobs=$small go "$1"
}
if [[ -n $is_root ]] && mkdir "$scratch/small" &&
    mount -t tmpfs -o size=2m tmpfs "$scratch/small" 2>/dev/null; then
    small=$scratch/small
    # 30303 lines of 99 and one of 3: more than the disk takes
    small_job 1 "head -c 3000000 /dev/zero | tr '\0' x | fold -w 99; echo; echo >$scratch/flooded
        while [ ! -e $scratch/room ]; do sleep 0.05; done; seq 5"
    head -c 1m /dev/zero >"$small/filler"
    go_small 1 &
    check "a job whose log finds no room goes on" within 60 test -e "$scratch/flooded"
    rm "$small/filler"
    touch "$scratch/room"
    wait $!
    ended=$(tail -n 1 "$dir/state")
    is "$(word cause) $(word code)" "exit 0" "and ends as its command does"
    is "$(tail -n 6 "$dir/log" | tr '\n' ' ')" \
        "[tradewind: $(left_out "$dir/log") lines left out: no space on the disk] 1 2 3 4 5 " \
        "when there is room again the log goes on, and says how much is missing"
    # A line that is there in part counts as left out: it and the note stand behind the last whole one.
    whole=$(head -c "$(grep -abo '\[tradewind: ' "$dir/log" | cut -d: -f1)" "$dir/log" | grep -cxE 'x{99}')
    is "$((whole + $(left_out "$dir/log")))" 30304 "to the line"
    "$agent" remove "$dir"

    small_job 2 "seq 1000000; echo made >$scratch/made; exit 3"
    go_small 2
    is "$(word cause) $(word code) $(<"$scratch/made")" "exit 3 made" \
        "a job that ends on a full disk tells its end"
    # The line that is there in part is not the number of its line.
    is "$(left_out "$dir/log")" "$((1000000 - $(awk '$0 == NR' "$dir/log" | wc -l)))" \
        "and how many lines are missing"
    "$agent" remove "$dir"

    small_job 3 "seq 1000000" 'log_max 1000000'
    head -c 1300000 /dev/zero >"$small/filler"
    go_small 3
    is "$(word cause) $(word code)" "exit 0" "so does one whose log finds no room for its second half"
    check "which says what is missing" test "$(left_out "$dir/log")" -gt 0
    check "and leaves no second file" test ! -e "$dir/log.tail"
    "$agent" remove "$dir"
    rm "$small/filler"

    small_job 4 "cat work* >/dev/null; touch $scratch/read; while [ ! -e $scratch/end ]; do sleep 0.05; done" \
        'learn 1'
    mkdir "$dir/work"
    for i in {1..90}; do
        echo "$i" >"$dir/work/work$(printf '%0200d' "$i")"
    done
    go_small 4 &
    check "a job reads its code" within 60 test -e "$scratch/read"
    fill
    touch "$scratch/end"
    wait $!
    ended=$(tail -n 1 "$dir/state")
    is "$(word cause) $(word code)" "exit 0" "a list of used files that finds no room hides no end"
    rm "$small/filler"
    "$agent" remove "$dir"

    small_job 5 'echo here'
    fill
    go_small 5 &
    check "a job that finds the disk full waits" within 60 test -e "$dir/agent.reserve"
    rm "$small/filler"
    wait
    is "$(<"$dir/log")" here "and begins when there is room"

    small_job 6 'echo here'
    fill
    go_small 6 &
    check "another one waits" within 60 test -e "$dir/agent.reserve"
    rm -r "$dir"
    check "and ends when its directory is removed" within 10 not_running "$dir"
    wait
    rm "$small/filler"
else
    skip "a job whose log finds no room goes on" "needs root and a mount"
fi

# --- samples
fakes=$scratch/fakes
mkdir "$fakes"
printf '%s\n' '#!/bin/sh' 'echo "0, 40"; echo "1, 60"; sleep 600' >"$fakes/nvidia-smi"
chmod +x "$fakes/nvidia-smi"
job 6 'x=$(head -c 30000000 /dev/zero | tr "\0" x); sleep 2.5' "env PATH=$fakes:$PATH"
go 6
samples=$(grep -c ' sample ' "$jobs/6/state")
lasted_s=$(awk 'NR == 1 { began = $1 } END { print int(($1 - began) / 1000) + 1 }' "$jobs/6/state")
check "a sample a second ($samples in $lasted_s s)" test "$samples" -ge 1 -a "$samples" -le "$lasted_s"
contains "$(grep ' sample ' "$jobs/6/state" | tail -n 1)" "gpu=50" "with the GPUs' mean"
check "memory is seen ($(word peak_mb) MB)" test "$(word peak_mb | cut -d. -f1)" -ge 28

job 60 'exec sleep 600' "env PATH=$fakes:$PATH" 'time_limit_s 0.3' 'grace_s 60'
begun=$SECONDS
go 60
is "$(word cause)" time "beside whoever watches the GPUs, a job that is told to end"
check "is over when its own processes are" test $((SECONDS - begun)) -lt 45

# --- limits
if [[ -n $has_cgroup ]]; then
    job 7 'exec bash -c "while :; do :; done"' 'cpus 0.5' 'time_limit_s 2' 'grace_s 0'
    best=0
    for try in 1 2 3; do # a machine with other work may give less, never more
        rm -f "$jobs/7/state"
        go 7
        used=$(awk -v c="$(word cpu_s)" -v t="$(word runtime_s)" 'BEGIN {printf "%d", 1000 * c / t}')
        ((used > best)) && best=$used
        ((best > 450)) && break
    done
    echo "# 0.5 vCPU measured 0.$best"
    check "half a processor is not more than half" test "$best" -lt 550
    ((best > 450)) && check "and not less" true ||
        skip "and not less" "this machine is busy: it gave 0.$best of a processor"
    contains "$(head -n 1 "$jobs/7/state")" "limits=cpu: cgroup v" "the record says by what"
    job 8 'x=$(head -c 400000000 /dev/zero | tr "\0" x); echo survived' 'memory_mb 128'
    go 8
    is "$(word cause)" memory "a job over its memory is stopped"
    contains "$ended" "over its memory limit of 128 MB" "and says so"
    job 9 'sh -c "sh -c \"x=\\\$(head -c 400000000 /dev/zero | tr \\\"\\\\0\\\" x)\"; exit 0"; sleep 60' \
        'memory_mb 128'
    go 9
    is "$(word cause)" memory "so is one whose grandchild is"
    job 10 'nproc' 'cpus 4096' 'memory_mb 100000000'
    go 10
    contains "$(head -n 1 "$jobs/10/state")" "4096 asked, clamped to the $(nproc) of this machine" \
        "more than there is is clamped, and said"
    contains "$(head -n 1 "$jobs/10/state")" "100000000 MB asked, clamped" "memory, too"
    for id in 7 8 9 10; do
        check "no group of job $id stays" within 10 no_groups "$jobs/$id"
    done
else
    skip "limits by control groups" "they cannot be made here"
fi

if [[ -n $is_root ]] && command -v setpriv >/dev/null; then
    chmod 755 "$scratch"
    open=$scratch/open
    mkdir -m 777 "$open"
    cp "$agent" "$scratch/agent"
    run_as_nobody() {
        chown -R 65534:65534 "$jobs/$1"
        setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/agent" run "$jobs/$1" >frames
        ended=$(tail -n 1 "$jobs/$1/state")
    }
    jobs=$open
    job 11 'nproc' 'cpus 0.5' 'memory_mb 512'
    run_as_nobody 11
    is "$(<"$jobs/11/log")" 1 "without groups, whole processors by affinity"
    contains "$(head -n 1 "$jobs/11/state")" "cpu: affinity to 1 whole processor, because no group" \
        "the record says which, and why"
    # A kernel without groups has other reasons, but the places it shows are all root's.
    [[ -z $has_cgroup ]] || contains "$(head -n 1 "$jobs/11/state")" ": Permission denied" \
        "which is the kernel's own word"
    contains "$(head -n 1 "$jobs/11/state")" "memory: 512 MB watched every 100 ms, because" \
        "memory is watched"
    job 12 'x=$(head -c 400000000 /dev/zero | tr "\0" x); sleep 60; echo survived' 'memory_mb 128'
    run_as_nobody 12
    is "$(word cause)" memory "and a job over it is stopped"
    job 13 'mkdir -p a/b; touch a/b/c; chmod 0 a/b a'
    run_as_nobody 13
    setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/agent" remove "$jobs/13"
    check "what a job closed for itself can be removed" test ! -e "$jobs/13"
    jobs=$scratch/jobs
else
    skip "limits without control groups" "needs root and setpriv, to run as somebody else"
fi

# --- the lease
job 14 'true' 'lease_s 1' "power_off echo off >>$scratch/off"
job 15 "until [ -e '$scratch/go15' ]; do sleep 0.05; done" 'lease_s 1' "power_off echo off >>$scratch/off"
"$agent" run "$jobs/15" >frames15 &
go 14
sleep 1.5
check "no power-off while another job runs" test ! -e "$scratch/off"
"$agent" renew "$jobs" 600
touch "$scratch/go15"
wait $!
sleep 2
check "nor while the lease lasts" test ! -e "$scratch/off"
"$agent" renew "$jobs" 0.1
check "once it lapsed, the machine powers off" within 15 test -e "$scratch/off"
sleep 1
is "$(<"$scratch/off")" off "once"
job 16 'true' 'lease_s 0.1'
go 16
check "without a command to do it, nothing happens" test "$(word code)" = 0
done_testing
