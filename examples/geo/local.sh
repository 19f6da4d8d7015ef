#!/usr/bin/env bash
# A geo-distributed training on this machine: the aggregator as HTTP server, a directory as store, four
# workers with a shard of images each, and one process that trains on all shards alone.
# usage: local.sh [ROUNDS]
set -eu
here=$(dirname "$(realpath "$0")")
rounds=${1-4}
data=/usr/share/datasets/fashion-mnist # Debian's dataset-fashion-mnist
[ ! -d "$here/../../sdk/python" ] || export PYTHONPATH=$here/../../sdk/python PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
aggregator=
trap '[ -z "$aggregator" ] || kill $aggregator; rm -rf "$work"' EXIT

python3 "$here/shards.py" $data/train-images-idx3-ubyte.gz $data/train-labels-idx1-ubyte.gz "$work" 4 25
export TRADEWIND_STORE=dir:$work/store TRADEWIND_WORKERS=4
: >"$work/address"
PORT=0 TRADEWIND_LISTEN=127.0.0.1 tradewind-aggregator >"$work/address" &
aggregator=$!
until grep -q listening "$work/address"; do sleep .1; done
TRADEWIND_EVENT_URL=http://$(sed 's/listening on //' "$work/address")/
export TRADEWIND_EVENT_URL

workers=
for k in 0 1 2 3; do
    TRADEWIND_WORKER=$k python3 "$here/train.py" --images "$work/shard-$k-images" \
        --labels "$work/shard-$k-labels" --batch 5 --rounds "$rounds" --out "$work/model-$k.f32" \
        >"$work/worker-$k" &
    workers+=" $!"
done
for worker in $workers; do wait "$worker"; done
all=()
for k in 0 1 2 3; do all+=(--images "$work/shard-$k-images" --labels "$work/shard-$k-labels"); done
python3 "$here/train.py" --alone "${all[@]}" --batch 5 --rounds "$rounds" >"$work/alone"

echo "round  loss of four workers  of one process with all images"
for ((r = 0; r < rounds; r++)); do
    awk -v r="$r" '$1 == "round" && $2 == r { if (FILENAME ~ /alone/) alone = $4; else sum += $4 }
        END { printf "%5d  %20.6f  %30.6f\n", r, sum / 4, alone }' "$work"/worker-? "$work/alone"
done
cmp "$work/model-0.f32" "$work/model-3.f32" && echo "all workers have the same model"
echo "left in the store: $(cd "$work/store" && find . -type f ! -path './.*' -printf '%P\n')"
