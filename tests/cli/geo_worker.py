#!/usr/bin/python3
"""A worker of a training across places, and the same training in one process.

usage: geo_worker.py                             as `tradewind geo run` starts it
       geo_worker.py single DIR ROUNDS SHARD...  on the union of the shards' batches: DIR/single-N.npz
                                                 is the model after N rounds

A network of 784-512-10 (GEO_HIDDEN instead of 512) on Fashion-MNIST, one mini-batch of BATCH images a round, in the order of the
shard. Images and labels of a shard are rows of 785 bytes."""
import io
import os
import sys

import numpy as np

BATCH = 32
RATE = 0.5
HIDDEN = int(os.environ.get("GEO_HIDDEN", "512"))


def first_model():
    random = np.random.default_rng(7)
    return {"w1": random.normal(0, 0.05, (784, HIDDEN)).astype(np.float32),
            "b1": np.zeros(HIDDEN, np.float32),
            "w2": random.normal(0, 0.05, (HIDDEN, 10)).astype(np.float32),
            "b2": np.zeros(10, np.float32)}


def read_shard(data):
    rows = np.frombuffer(data, np.uint8).reshape(-1, 785)
    return rows[:, :784].astype(np.float64) / 255, rows[:, 784]


def batch_of(shard, number):
    at = number * BATCH % (len(shard[0]) - BATCH + 1)
    return shard[0][at:at + BATCH], shard[1][at:at + BATCH]


def gradients(model, x, y):
    """Of the mean cross entropy, which is the second answer; in double precision."""
    m = {k: v.astype(np.float64) for k, v in model.items()}
    hidden = np.maximum(x @ m["w1"] + m["b1"], 0)
    out = hidden @ m["w2"] + m["b2"]
    out -= out.max(axis=1, keepdims=True)
    p = np.exp(out)
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(y)), y]).mean()
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    back = (p @ m["w2"].T) * (hidden > 0)
    grads = {"w1": x.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ p, "b2": p.sum(axis=0)}
    return {k: v.astype(np.float32) for k, v in grads.items()}, loss


def single(directory, rounds, paths):
    model, shards = first_model(), []
    for path in paths:
        with open(path, "rb") as f:
            shards.append(read_shard(f.read()))
    for number in range(rounds):
        batches = [batch_of(s, number) for s in shards]
        grads, loss = gradients(model, np.concatenate([b[0] for b in batches]),
                                np.concatenate([b[1] for b in batches]))
        for name in model:
            model[name] -= np.float32(RATE) * grads[name]
        print(f"loss {number} {loss:.9f}")
        np.savez(os.path.join(directory, f"single-{number + 1}.npz"), **model)


def restore(path):
    try:
        with np.load(path) as saved:
            return int(saved["round"]), {k: saved[k] for k in first_model()}
    except OSError:
        return 0, first_model()


def save(path, number, model):
    """Whole or not at all: the next start begins with it."""
    with open(path + ".new", "wb") as f:
        np.savez(f, round=number, **model)
    os.rename(path + ".new", path)


def train():
    from tradewind import Worker
    from tradewind.store import open_store

    env = os.environ
    data = open_store(env["TRADEWIND_DATA"], env["TRADEWIND_DATA_ENDPOINT"], None)
    shard = read_shard(data.get(f"shard-{env['TRADEWIND_SHARD']}"))
    state = os.path.join(env["TRADEWIND_CHECKPOINT"], "state.npz")
    first, model = restore(state)
    worker = Worker(round=first)
    for number in range(first, int(env["TRADEWIND_ROUNDS"])):
        grads, loss = gradients(model, *batch_of(shard, number))
        save(state, number, model)
        worker.push(grads, samples=BATCH)
        for name, mean in worker.pull(timeout=300).items():
            model[name] -= np.float32(RATE) * np.asarray(mean, np.float32).reshape(model[name].shape)
        print(f"loss {number} {loss:.9f}", flush=True)
    held = io.BytesIO()
    np.savez(held, **model)
    with open(os.path.join(env["TRADEWIND_OUTPUT"], "model.npz"), "wb") as f:
        f.write(held.getvalue())


if __name__ == "__main__":
    if sys.argv[1:2] == ["single"]:
        single(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        train()
