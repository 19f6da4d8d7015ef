#!/usr/bin/env bash
# Jobs in containers: by podman, with an image made here; the command line of docker; and the refusal
# where there is neither.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_HOME=$scratch/home TRADEWIND_BROKER_IDLE_S=30
export CONTAINERS_CONF=$scratch/containers.conf CONTAINERS_STORAGE_CONF=$scratch/storage.conf
clear_up() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    ! command -v podman >/dev/null || podman rm --force --all --time 0 >/dev/null 2>&1
    rm -rf "$scratch"
}
trap clear_up EXIT

job_state() { "$TRADEWIND" job show "$1" --json | json "d['$2']"; }
wait_for() { # a command that comes true
    for _ in $(seq 300); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

# ---- neither is there ----
mkdir bin
for program in bash sh env cat sleep git rm mkdir; do ln -s "$(command -v $program)" bin/; done
printf 'name: p\nresources: {image_id: "docker:x"}\nrun: "true"\n' >none.yaml
printf 'name: p\nrun: "true"\n' >plain.yaml
refused() { # exit code, what the error says, arguments: with the programs in bin alone
    local path=$PATH wanted=$1 part=$2
    shift 2
    PATH=$scratch/bin
    run "$@"
    PATH=$path
    check "refused: tradewind $*" failed_as "$wanted" "$part" || printf '# %s\n' "$code" "$out" "$err"
}
refused 5 "image x: it needs podman or docker, and neither is installed on this machine" \
    job submit --image x -- true
refused 5 "none.yaml:1: stage p: image x: it needs podman or docker, and neither is installed" \
    run none.yaml --yes
refused 5 "stage p: image y: it needs podman or docker" run plain.yaml --image docker:y --yes
printf '#!/bin/sh\necho "Cannot connect to the Docker daemon" >&2\nexit 1\n' >bin/docker
chmod +x bin/docker
refused 5 "image x: podman is not installed on this machine, and docker fails: Cannot connect" \
    job submit --image x -- true
refused 2 "--image --privileged: is not the name of a container image" \
    job submit --image=--privileged -- true
for name in ../x /x x/../y './x' 'x;id' 'x y' 'x$(id)' x/ ''; do
    refused 2 "--image docker:$name: is not the name of a container image" \
        job submit --image="docker:$name" -- true
done
# On another machine the agent finds out, before the command starts.
agent=${TRADEWIND_BUILD:-$root/build}/tradewind-agent
[[ -x $agent ]] || agent=$(dirname "$TRADEWIND")/tradewind-agent
mkdir -p there/1
printf 'tradewind-job 1\nid 1\ncommand true\nimage x\n' >there/1/job
PATH=$scratch/bin "$agent" run "$scratch/there/1" >/dev/null
contains "$(cat there/1/state)" "cause=no-start text=it could not be started: an image needs podman or \
docker: podman is not installed on this machine, and the docker daemon does not answer: Cannot connect" \
    "the agent refuses it"
rm bin/docker there/1/state
PATH=$scratch/bin "$agent" run "$scratch/there/1" >/dev/null
contains "$(cat there/1/state)" "it could not be started: an image needs podman or docker, and neither \
is installed on this machine" "likewise without docker"
is "$("$TRADEWIND" job ls --json)" "[]" "and none of them becomes a job"

# ---- docker: a program that writes down its arguments and variables ----
cat >bin/docker <<'SH'
#!/bin/bash
case $1 in
info) echo "[name=seccomp]" ;;
run) printf '%s\n' "$@" >"$DOCKER_SEEN.run"; env >"$DOCKER_SEEN.env"; exit 3 ;;
rm) printf '%s\n' "$@" >"$DOCKER_SEEN.rm" ;;
esac
SH
chmod +x bin/docker
export DOCKER_SEEN=$scratch/seen
path=$PATH
PATH=$scratch/bin
run job submit --image docker:alpine:3 --env PASSWORD=hunter2 --cpus 1 --memory 512 --wait -- echo hi
PATH=$path
is "$code" 3 "the exit code of the engine is the job's"
directory=$TRADEWIND_HOME/jobs/1
seen=$(<seen.run)
# What is asked of docker, in any order.
is "$(grep -xE -A1 -e '--(network|user|cpus|memory|memory-swap|workdir)' seen.run |
    grep -v '^--$' | paste -sd' ')" \
    "--network host --user 0:0 --workdir $directory/work --cpus 1 --memory 512m --memory-swap 512m" \
    "user, network and limits"
for part in work input output checkpoint; do
    contains "$seen" "type=bind,\"source=$directory/$part\",\"target=$directory/$part\"" "$part is mounted"
done
contains "$seen" "alpine:3
init" "the image, and its first process"
lacks "$seen$(<seen.env)" hunter2 "no variable of the job is in the arguments or variables of docker"
is "$(sed -n 2p seen.rm)" "--force" "the container is removed"
is "$(sed -n 3p seen.rm)" "$(sed -n 3p seen.run)" "by its name"
is "$(job_state 1 image)" alpine:3 "the job says its image"
"$TRADEWIND" broker --stop >/dev/null 2>&1

# ---- podman ----
cat >containers.conf <<'CONF'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
CONF
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/graph"\nrunroot = "%s/run"\n' "$scratch" "$scratch" \
    >storage.conf
busybox=$(command -v busybox)
mkdir -p image/bin image/tmp
cp "$busybox" image/bin/ 2>/dev/null
for program in sh cat echo sleep id env ls kill; do ln -s busybox image/bin/$program; done
printf '#!/bin/sh\nexec /bin/sh "$@"\n' >image/bin/bash
chmod +x image/bin/bash
# The agent is in the container, too. With sanitizers it is no static program: its libraries come along.
for library in $(ldd "$agent" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*'); do
    install -D "$library" "image$library"
done
works() {
    [ "$(id -u)" = 0 ] && tar c -C image . | podman import --change 'ENV OF_IMAGE=yes' - tw-test &&
        podman run --rm --network host tw-test /bin/true
} >podman.txt 2>&1
ln -s busybox image/bin/true
if ! works; then
    skip "containers by podman" "podman cannot run one here: $(tail -n 1 podman.txt)"
    done_testing
fi

mkdir code data
echo 'cat lib.txt' >code/go.sh
echo lib >code/lib.txt
echo unused >code/unused.txt
echo 7 >data/n
cat >c.yaml <<'YAML'
name: c
workdir: code
inputs: [{from: data, size: 1KB}]
file_mounts: {/data: ./data, ~/own: ./data/n}
outputs: {o: 0.001}
envs: {LINES: "one\ntwo"}
secrets: {TOKEN: null}
estimate: {seconds: 30}
resources: {image_id: "docker:tw-test"}
run: |
  sh go.sh
  cat "$TRADEWIND_INPUT/c/data/n" /data/n ~/own >"$TRADEWIND_OUTPUT/o/all"
  echo "$LINES $OF_IMAGE $TOKEN" >"$TRADEWIND_OUTPUT/o/env"
  ls / >"$TRADEWIND_OUTPUT/o/root"
  echo 8 >/data/n
YAML
"$TRADEWIND" run c.yaml --secret TOKEN=hunter2 --yes >c.txt 2>&1
check "a stage runs in its image" test $? = 0 || sed 's/^/# /' c.txt
is "$("$TRADEWIND" cat /c.c/o/all)" "7
7
7" "with its input and mounts"
is "$("$TRADEWIND" cat /c.c/o/env)" "one
two yes hunter2" "with variables of the image, the stage and its secrets"
lacks "$("$TRADEWIND" cat /c.c/o/root)" "usr" "it sees the files of the image, not of the machine"
is "$(cat data/n)" 7 "and does not change the source of a mount"
stage_state() { "$TRADEWIND" run show "$1" --json | json 'd["stages"][0]["state"]'; }
again() { "$TRADEWIND" run c.yaml --secret TOKEN=hunter2 --yes "$@" >c.txt 2>&1; }
again
is "$(stage_state 2)" reused "the same image: reused"
echo more >>code/unused.txt
again
is "$(stage_state 3)" reused "code that was not used in the container: what is opened there is seen"
podman tag tw-test tw-other
again --image tw-other
is "$(stage_state 4)" finished "another name of an image: runs"
contains "$(cat c.txt)" "image: tw-test -> tw-other" "and says so"
echo more >>code/lib.txt
again
is "$(stage_state 5)" finished "code that was used in the container: runs"
is "$(podman ps --all --quiet)" "" "no container is left"

"$TRADEWIND" job submit --image tw-test --wait -- sh -c 'echo x >"$TRADEWIND_OUTPUT/f"; exit 5' >j.txt
is "$?" 5 "the exit code of a job in a container"
is "$("$TRADEWIND" job submit --image tw-test --wait -- no-such-program 2>/dev/null >/dev/null; echo $?)" \
    127 "a program that the image lacks"

# SIGTERM reaches all processes; the container goes.
submit() { "$TRADEWIND" job submit --image tw-test --json -- "$@" | json 'd["id"]'; }
has_log() { "$TRADEWIND" job logs "$1" 2>/dev/null | grep -q "$2"; }
job=$(submit sh -c 'sh -c "trap \"echo inner; exit\" TERM; echo ready; sleep 100 & wait" & trap "echo outer" TERM; wait; wait')
check "it starts" wait_for has_log "$job" ready
"$TRADEWIND" job kill "$job" >/dev/null
check "it ends" wait_for eval '[ "$(job_state "$job" state)" = killed ]'
is "$("$TRADEWIND" job logs "$job" | grep -c 'inner\|outer')" 2 "SIGTERM reaches every process of it"
is "$(podman ps --all --quiet)" "" "a kill leaves no container"

# Limits: the kernel kills a container for its memory, and the job says so.
job=$("$TRADEWIND" job submit --image tw-test --memory 256 --json -- \
    sh -c 'x=0123456789abcdef; while :; do x=$x$x; done' | json 'd["id"]')
check "too much memory ends it" wait_for eval '[ "$(job_state "$job" state)" = failed ]'
contains "$("$TRADEWIND" job show "$job")" "over its memory limit of 256 MB" "and it says so"

# The agent is killed with its broker: what it left is ended.
job=$(submit sh -c 'echo ready; sleep 1000')
check "another starts" wait_for has_log "$job" ready
for agent in $(pgrep -f "tradewind-agent run $TRADEWIND_HOME/jobs/$job\$"); do kill -9 "$agent"; done
check "a killed agent loses its job" wait_for eval '[ "$(job_state "$job" state)" = lost ]'
is "$(podman ps --all --quiet)" "" "and leaves no container"
done_testing
