"""Gradients in fewer bytes: safetensors whose metadata tell how their tensors stand for others of F32
(src/fed/packing.h has the format). What is left out of one push is added to the next."""
import array
import json
import math
import struct

from . import safetensors

try:
    import numpy
except ImportError:
    numpy = None

KEY = "tradewind.packing"
CHUNK = 8192
_STEPS = 127


def parse(text):
    """(kind, share) of "none", "int8" or "topk:0.01"; kind is None for "none"."""
    if text in ("none", "int8"):
        return (None if text == "none" else text), 0.0
    try:
        kind, share = text.split(":")
        if kind == "topk" and 0 < float(share) <= 1:
            return kind, float(share)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a compression; give none, int8 or topk:SHARE with a SHARE above 0 and "
                     "at most 1")


def _down(x):
    """The nearest number of single precision that is not above x."""
    single = struct.pack("f", x)
    (bits,), (nearest,) = struct.unpack("I", single), struct.unpack("f", single)
    return nearest if nearest <= x else struct.unpack("f", struct.pack("I", bits - 1))[0]


# ---- with Python alone; numbers are array.array("f") ----

def _int8(x):
    largest = max(map(abs, x), default=0.0)
    if not math.isfinite(largest) or any(v != v for v in x):
        raise ValueError("a number is NaN or infinite, which int8 cannot tell")
    scale = _down(largest / _STEPS)
    steps = array.array("b", [round(v / scale) for v in x] if scale else bytes(len(x)))
    return steps, scale


def _from_int8(steps, scale):
    return array.array("f", [v * scale for v in steps])


def _topk(x, share):
    """Indices of the share that is largest, rising; of none that is 0."""
    magnitude = [abs(v) if v == v else math.inf for v in x]
    largest = sorted(range(len(x)), key=lambda i: -magnitude[i])[:math.ceil(share * len(x))]
    return sorted(i for i in largest if x[i])


def _counts(index, n):
    counts = [0] * -(-n // CHUNK)
    for i in index:
        counts[i // CHUNK] += 1
    return counts


def _pairs(x, index):
    bits = array.array("I", x.tobytes())
    return array.array("I", [v for i in index for v in (i, bits[i])])


def _from_pairs(pairs, n):
    bits = array.array("I", bytes(4 * n))
    for i in range(0, len(pairs), 2):
        bits[pairs[i]] = pairs[i + 1]
    return array.array("f", bits.tobytes())


def _add(a, b):
    return array.array("f", [v + w for v, w in zip(a, b)])


def _left(a, b):
    """What of a is not in b; what is not finite was told, and would never end."""
    left = array.array("f", [v - w for v, w in zip(a, b)])
    return array.array("f", [v if math.isfinite(v) else 0.0 for v in left])


# ---- the same with numpy, where it is installed ----

if numpy:
    def _int8(x):
        x = numpy.frombuffer(x, "f4").astype("f8")
        largest = float(abs(x).max()) if len(x) else 0.0
        if not math.isfinite(largest):
            raise ValueError("a number is NaN or infinite, which int8 cannot tell")
        scale = _down(largest / _STEPS)
        return (numpy.rint(x / scale) if scale else x).astype("i1"), scale

    def _from_int8(steps, scale):
        steps = numpy.frombuffer(steps, "i1").astype("f4")
        return array.array("f", (steps * numpy.float32(scale)).tobytes())

    def _topk(x, share):
        magnitude = abs(numpy.nan_to_num(numpy.frombuffer(x, "f4"), nan=numpy.inf))
        k = math.ceil(share * len(magnitude))
        if not k:
            return numpy.zeros(0, "i8")
        least = numpy.partition(magnitude, -k)[-k]
        above = numpy.flatnonzero(magnitude > least)
        ties = numpy.flatnonzero((magnitude == least) & (magnitude > 0))[:k - len(above)]
        return numpy.sort(numpy.concatenate([above, ties]))

    def _counts(index, n):
        return numpy.bincount(index // CHUNK, minlength=-(-n // CHUNK)).tolist() if n else []

    def _pairs(x, index):
        return numpy.stack([index.astype("u4"), numpy.frombuffer(x, "u4")[index]], axis=1)

    def _from_pairs(pairs, n):
        bits, pairs = numpy.zeros(n, "u4"), numpy.frombuffer(pairs, "u4").reshape(-1, 2)
        bits[pairs[:, 0]] = pairs[:, 1]
        return array.array("f", bits.tobytes())

    def _add(a, b):
        return array.array("f", (numpy.frombuffer(a, "f4") + numpy.frombuffer(b, "f4")).tobytes())

    def _left(a, b):
        with numpy.errstate(invalid="ignore"):
            left = numpy.frombuffer(a, "f4") - numpy.frombuffer(b, "f4")
        return array.array("f", numpy.where(numpy.isfinite(left), left, numpy.float32(0)).tobytes())


# ---- files ----

def pack(tensors, kind, share, rest):
    """The file of a dictionary of tensors, and what is left out of it; rest: what was left out before."""
    entries, told, left = {}, {}, {}
    for name in sorted(tensors):
        shape, x = safetensors.floats_of(tensors[name])
        if name in rest and len(rest[name]) == len(x):
            x = _add(x, rest[name])
        if kind == "int8":
            try:
                steps, scale = _int8(x)
            except ValueError as e:
                raise ValueError(f"tensor {name!r}: {e}") from None
            entries[name] = "I8", shape, steps.tobytes()
            told[name] = {"scale": scale}
            sent = _from_int8(array.array("b", steps.tobytes()), scale)
        else:
            index = _topk(x, share)
            if 2 * len(index) >= len(x):
                entries[name], sent = ("F32", shape, x.tobytes()), x
            else:
                pairs = _pairs(x, index).tobytes()
                entries[name] = "U32", (len(index), 2), pairs
                told[name] = {"shape": list(shape), "counts": _counts(index, len(x))}
                sent = _from_pairs(array.array("I", pairs), len(x))
        left[name] = _left(x, sent)
    return safetensors.write(entries, {KEY: json.dumps({"kind": kind, "tensors": told})}), left


def unpack(text, name, dtype, shape, data):
    """What a tensor stands for, by the text of KEY: its dtype, shape and bytes."""
    said = json.loads(text)
    entry = said["tensors"].get(name)
    if entry is None:
        return dtype, shape, data
    if said["kind"] == "int8" and dtype == "I8":
        return "F32", shape, _from_int8(array.array("b", data), entry["scale"]).tobytes()
    if said["kind"] != "topk" or dtype != "U32":
        raise ValueError(f"{name}: packing and dtype disagree")
    shape, pairs = tuple(entry["shape"]), array.array("I", data)
    count = math.prod(shape)
    if any(i >= count for i in pairs[::2]):
        raise ValueError(f"{name}: an index is out of its place")
    return "F32", shape, _from_pairs(pairs, count).tobytes()
