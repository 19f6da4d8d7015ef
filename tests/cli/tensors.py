#!/usr/bin/python3
"""Random tensors averaged by aggregate and by numpy; prints "ok NAME" or "NAME: what differs".

    tests/cli/tensors.py PROGRAM

Runs in the current directory. Sums of doubles over the files in order are numpy's own here, rounded
to the type once; for float64 the exact mean is computed with fractions."""

import fractions
import json
import struct
import subprocess
import sys

import numpy as np

RNG = np.random.default_rng(20240607)
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
bad = 0


def tell(name, problem=""):
    global bad
    bad += bool(problem)
    print(f"{name}: {problem}" if problem else f"ok {name}")


def aggregate(out, inputs, *options):
    done = subprocess.run(
        [sys.argv[1], "aggregate", "--out", out, *options, *inputs], capture_output=True, text=True
    )
    return done.returncode, done.stderr


def bf16_round(x):
    """float64 -> bits of the nearest bfloat16: by comparing with both neighbours."""
    table = bf16_wide(np.arange(0x7F80, dtype=np.uint16))
    magnitude = np.abs(x)
    high = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    below, above = table[high - 1], table[high]
    down = magnitude - below < above - magnitude
    tie = magnitude - below == above - magnitude
    bits = np.where(down | (tie & ((high - 1) % 2 == 0)), high - 1, high).astype(np.uint16)
    bits[magnitude == 0] = 0
    return bits | (np.signbit(x).astype(np.uint16) << 15)


def bf16_wide(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def wide(kind, a):
    return bf16_wide(a) if kind == "BF16" else a.astype(np.float64)


def narrow(kind, x):
    return bf16_round(x) if kind == "BF16" else x.astype(TYPES[kind])


def random(kind, shape):
    x = RNG.standard_normal(shape) * 2.0 ** RNG.integers(-12, 6, shape)
    return narrow(kind, np.asarray(x))


def mean(kind, arrays, weights=None):
    total, weight_sum = 0.0, 0.0
    for a, w in zip(arrays, weights or [1.0] * len(arrays)):
        total = total + w * wide(kind, a)
        weight_sum += w
    return narrow(kind, total / weight_sum)


def rows_kept(kind, arrays, drop):
    return np.sort(np.stack([wide(kind, a) for a in arrays]), axis=0)[drop : len(arrays) - drop]


def exactly(arrays, weights):
    """Of float64, by fractions, rounded once."""
    flat = [a.ravel() for a in arrays]
    total = sum(fractions.Fraction(w) for w in weights)
    return np.array(
        [
            float(sum(fractions.Fraction(w) * fractions.Fraction(float(a[i])) for a, w in zip(flat, weights)) / total)
            for i in range(flat[0].size)
        ]
    ).reshape(arrays[0].shape)


def compare(name, kind, got, arrays, weights=None):
    if kind == "F64":
        want = exactly(arrays, weights or [1.0] * len(arrays))
        # Whole weights: their products may lose a unit each where the sum is small.
        apart = np.abs(got - want)
        bound = 1.5 * np.spacing(np.abs(want)) + (
            2.0**-53 * len(arrays) * np.max(np.abs(np.stack(arrays)), axis=0) if weights else 0
        )
        tell(name, "" if np.all(apart <= bound) else f"{np.max(apart / bound)} times the bound away")
    else:
        want = mean(kind, arrays, weights)
        tell(name, "" if got.tobytes() == want.tobytes() else "bits differ")


def write_raw(kind, arrays):
    names = [f"r{i}.{kind.lower()}" for i in range(len(arrays))]
    for name, a in zip(names, arrays):
        a.tofile(name)
    return names


def write_safetensors(name, tensors, metadata=None):
    """tensors: {name: (kind, array)}, in this order in the file."""
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for key, (kind, a) in tensors.items():
        raw = a.tobytes()
        header[key] = {
            "dtype": kind,
            "shape": list(a.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(name, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(name):
    with open(name, "rb") as f:
        raw = f.read()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__", None)
    types = {**TYPES, "I64": "<i8", "BOOL": "?"}
    return metadata, {
        key: np.frombuffer(
            raw[8 + length + t["data_offsets"][0] : 8 + length + t["data_offsets"][1]], types[t["dtype"]]
        ).reshape(t["shape"])
        for key, t in header.items()
    }


def raw_files():
    for kind in TYPES:
        for n, count in ((1, 1), (2, 7), (8, 1000), (13, 70001 if kind != "F64" else 500)):
            arrays = [random(kind, (count,)) for _ in range(n)]
            names = write_raw(kind, arrays)
            out = f"mean.{kind.lower()}"
            code, err = aggregate(out, names)
            got = np.fromfile(out, TYPES[kind])
            compare(f"raw {kind}, {n} files of {count}{err}", kind, got, arrays)
            weights = [float(w) for w in RNG.integers(1, 1000, n)]
            aggregate(out, names, "--weights", ",".join(map(str, weights)))
            compare(f"weighted {kind}, {n} files", kind, np.fromfile(out, TYPES[kind]), arrays, weights)


def trimmed_files():
    for kind in TYPES:
        for n, share, drop in ((3, 0.34, 1), (10, 0.1, 1), (20, 0.2, 4), (33, 0.4, 13)):
            arrays = [random(kind, (300,)) for _ in range(n)]
            out = f"mean.{kind.lower()}"
            code, err = aggregate(out, write_raw(kind, arrays), "--trim", str(share))
            kept = list(rows_kept(kind, arrays, drop))
            want, got = exactly(kept, [1.0] * len(kept)), np.fromfile(out, TYPES[kind])
            if kind == "F64":
                good = np.all(np.abs(got - want) <= 1.5 * np.spacing(np.abs(want)))
            else:
                good = got.tobytes() == narrow(kind, want).tobytes()
            tell(f"trimmed {kind}, {n} files without {drop}{err}", "" if good else "not the exact mean, rounded")


def npy_files():
    for dtype, kind in (("<f8", "F64"), ("<f4", "F32"), ("<f2", "F16")):
        for version in ((1, 0), (2, 0), (3, 0)):
            for order in "CF":
                arrays = [np.array(random(kind, (5, 3, 4)), order=order) for _ in range(4)]
                names = [f"n{i}.npy" for i in range(4)]
                for name, a in zip(names, arrays):
                    with open(name, "wb") as f:
                        np.lib.format.write_array(f, a, version=version)
                code, err = aggregate("mean.npy", names)
                got = np.load("mean.npy")
                what = f"npy {dtype} version {version[0]} order {order}{err}"
                if got.dtype != dtype or got.flags.f_contiguous != (order == "F"):
                    tell(what, "another type or order came out")
                compare(what, kind, np.ascontiguousarray(got), [np.ascontiguousarray(a) for a in arrays])


def safetensors_files():
    shapes = {f"layer.{i}.weight": (k, (3 + i, 5)) for i, k in enumerate(list(TYPES) * 12)}
    shapes.update({"scalar": ("F32", ()), "none": ("F16", (0, 3)), "µ \"quoted\"": ("BF16", (2,))})
    files, names = [], []
    for i in range(9):
        tensors = {key: (kind, random(kind, shape)) for key, (kind, shape) in shapes.items()}
        tensors["step"] = ("I64", np.array([7, -1], "<i8"))
        tensors["mask"] = ("BOOL", np.array([True, False, True]))
        keys = list(tensors)
        if i:
            RNG.shuffle(keys)
        files.append(tensors)
        names.append(f"s{i}.safetensors")
        write_safetensors(names[-1], {k: tensors[k] for k in keys}, {"round": str(i)})
    code, err = aggregate("mean.safetensors", names)
    metadata, got = read_safetensors("mean.safetensors")
    tell(f"safetensors: metadata of the first{err}", "" if metadata == {"round": "0"} else str(metadata))
    tell("safetensors: the same names", "" if set(got) == set(files[0]) else "others")
    tell("safetensors: integers are copied", "" if list(got["step"]) == [7, -1] else "changed")
    for key in shapes:
        kind = shapes[key][0]
        if key in ("scalar", "none") or key.startswith("µ") or key[6] in "0123":
            compare(f"safetensors {key}, {kind}", kind, got[key], [f[key][1] for f in files])


def main():
    raw_files()
    trimmed_files()
    npy_files()
    safetensors_files()
    return 1 if bad else 0


sys.exit(main())
