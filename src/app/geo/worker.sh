#!/usr/bin/env bash
# Runs a worker of a geo-distributed training: worker.sh COMMAND HOST/PORT...
# Functions (HOST/PORT) listen first: an event that is sent before is lost. Five minutes are longer
# than any host takes. A worker that was killed is started again and continues its round; a worker
# that fails by itself is not.
command=$1
shift
for address in "$@"; do
    for ((i = 0; i < 1500; i++)); do
        (exec 3<>"/dev/tcp/$address") 2>/dev/null && break
        sleep 0.2
    done
done
for try in 1 2 3; do
    bash -c "$command"
    code=$?
    [ "$code" -gt 128 ] || exit "$code"
    echo "worker: attempt $try ended by signal $((code - 128)); starting it again"
    sleep 0.2
done
exit "$code"
