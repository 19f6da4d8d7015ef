#!/usr/bin/env python3
"""A worker of a geo-distributed training: train.c in Python, with the same options. Needs only Python;
PYTHONPATH has the package tradewind (sdk/python)."""
import argparse
import array
import gzip
import json
import math
import os
import time

from tradewind import Worker

PIXELS, CLASSES = 28 * 28, 10
WEIGHTS = PIXELS * CLASSES


def read_idx(path, dims):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[2:4] != bytes([8, dims]):
        raise SystemExit(f"train: {path} is no idx file of bytes")
    return int.from_bytes(data[4:8], "big"), data[4 + 4 * dims:]


def read_shard(images, labels):
    count, pixels = read_idx(images, 3)
    n, kinds = read_idx(labels, 1)
    if n != count:
        raise SystemExit(f"train: {images} has {count} images, {labels} {n} labels")
    return count, pixels, kinds


def image(shard, at):
    """The pixels that are not black, with their indices; and the label."""
    _, pixels, labels = shard
    row = pixels[at * PIXELS:(at + 1) * PIXELS]
    return [(i, p / 255.0) for i, p in enumerate(row) if p], labels[at]


def scores_of(m, pixels):
    return [m[WEIGHTS + c] + sum(m[c * PIXELS + i] * p for i, p in pixels) for c in range(CLASSES)]


def gradients(m, shards, round_, batch):
    g, loss, n = [0.0] * (WEIGHTS + CLASSES), 0.0, len(shards) * batch
    for shard in shards:
        for i in range(batch):
            pixels, label = image(shard, (round_ * batch + i) % shard[0])
            scores = scores_of(m, pixels)
            most = max(scores)
            total = sum(math.exp(s - most) for s in scores)
            loss += math.log(total) + most - scores[label]
            for c in range(CLASSES):
                error = math.exp(scores[c] - most) / total - (c == label)
                g[WEIGHTS + c] += error
                for k, p in pixels:
                    g[c * PIXELS + k] += error * p
    return [x / n for x in g], loss / n


def accuracy(m, shards):
    right = all_ = 0
    for shard in shards:
        for at in range(shard[0]):
            pixels, label = image(shard, at)
            scores = scores_of(m, pixels)
            right += scores.index(max(scores)) == label
            all_ += 1
    return right / all_


def save(path, data):
    with open(path + ".new", "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".new", path)


def exchange(worker, m, g, o):
    """Hands over the gradients, or the model after a step of its own; the model to go on with."""
    mine = [w - o.rate * x for w, x in zip(m, g)] if o.mode == "model" else g
    worker.push({"weight": array.array("f", mine[:WEIGHTS]), "bias": array.array("f", mine[WEIGHTS:])},
                samples=o.batch)
    mean = worker.pull(timeout=600)
    numbers = list(mean["weight"]) + list(mean["bias"])
    return numbers if o.mode == "model" else [w - o.rate * x for w, x in zip(m, numbers)]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--images", action="append", required=True)
    p.add_argument("--labels", action="append", required=True)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--rate", type=float, default=0.05)
    p.add_argument("--mode", choices=["gradient", "model"], default="gradient")
    p.add_argument("--state")
    p.add_argument("--out")
    p.add_argument("--sleep", type=float, default=0)
    p.add_argument("--alone", action="store_true")
    o = p.parse_args()
    shards = [read_shard(*pair) for pair in zip(o.images, o.labels)]
    m, round_ = [0.0] * (WEIGHTS + CLASSES), 0
    if o.state and os.path.exists(o.state):
        with open(o.state, encoding="utf-8") as f:
            round_, m = json.load(f)
    worker = None if o.alone else Worker(round=round_)
    while round_ < o.rounds:
        g, loss = gradients(m, shards, round_, o.batch)
        print(f"round {round_} loss {loss:.9f}", flush=True)
        time.sleep(o.sleep)
        if o.state:
            save(o.state, json.dumps([round_, m]).encode())
        m = exchange(worker, m, g, o) if worker else [w - o.rate * x for w, x in zip(m, g)]
        round_ += 1
    if worker:
        print("writes {writes} reads {reads} polls {polls}".format(**worker.counts))
    print(f"accuracy {accuracy(m, shards):.4f}")
    if o.out:
        save(o.out, array.array("f", m).tobytes())


if __name__ == "__main__":
    main()
