"""Files of tensors (https://huggingface.co/docs/safetensors): 8 bytes length, a JSON header, data."""
import array
import json
import struct
import sys

_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "U32": 4, "I8": 1}
_NUMPY = {"float64": "F64", "float32": "F32", "float16": "F16"}
_HEADER_MAX = 8 << 20


def _of_torch(tensor):
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return "BF16", tuple(tensor.shape), tensor.view(torch.int16).numpy().tobytes()
    return _of_numpy(tensor.numpy())


def _of_numpy(value):
    import numpy

    value = numpy.ascontiguousarray(value)
    dtype = _NUMPY.get(value.dtype.name)
    if not dtype:
        raise TypeError(f"{value.dtype}: numbers must be float64, float32 or float16")
    return dtype, value.shape, value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()


def _of_list(value):
    if not isinstance(value, array.array):
        value = array.array("f", value)
    dtype = {"f": "F32", "d": "F64"}.get(value.typecode)
    if not dtype:
        raise TypeError(f"array of '{value.typecode}': numbers must be 'f' or 'd'")
    if sys.byteorder == "big":
        value = value[:]
        value.byteswap()
    return dtype, (len(value),), value.tobytes()


def _bytes_of(value):
    if type(value).__module__.split(".")[0] == "torch":
        return _of_torch(value)
    if hasattr(value, "__array__") and not isinstance(value, array.array):
        return _of_numpy(value)
    return _of_list(value)


def floats_of(value):
    """Shape and numbers of a tensor, the latter as array.array("f")."""
    dtype, shape, data = _bytes_of(value)
    numbers = _to_array(dtype, data)
    return shape, numbers if numbers.typecode == "f" else array.array("f", numbers)


def dumps(tensors):
    """The file of a dictionary of tensors: arrays of numpy, tensors of PyTorch, array.array or lists."""
    return write({name: _bytes_of(tensors[name]) for name in sorted(tensors)})


def write(entries, metadata=None):
    """The file of a dictionary of (dtype, shape, bytes), in its order."""
    header, parts, at = {"__metadata__": metadata} if metadata else {}, [], 0
    for name, (dtype, shape, data) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def _to_torch(dtype, shape, data):
    import torch

    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16,
             "BF16": torch.bfloat16}
    if not data:
        return torch.empty(shape, dtype=kinds[dtype])
    return torch.frombuffer(bytearray(data), dtype=kinds[dtype]).reshape(shape)


def _to_numpy(dtype, shape, data):
    import numpy

    if dtype == "BF16":
        wide = numpy.frombuffer(data, "<u2").astype("<u4") << 16
        return wide.view("<f4").reshape(shape)
    return numpy.frombuffer(data, {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype]).reshape(shape)


def _to_array(dtype, data):
    if dtype == "F16":
        return array.array("f", struct.unpack(f"<{len(data) // 2}e", data))
    if dtype == "BF16":
        wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        dtype, data = "F32", wide
    value = array.array("d" if dtype == "F64" else "f")
    value.frombytes(data)
    if sys.byteorder == "big":
        value.byteswap()
    return value


def _convert(kind, dtype, shape, data):
    if kind == "torch":
        return _to_torch(dtype, shape, data)
    return _to_numpy(dtype, shape, data) if kind == "numpy" else _to_array(dtype, data)


def kind_of(value):
    """What tensors like this one are made of: "torch", "numpy" or "array"."""
    if type(value).__module__.split(".")[0] == "torch":
        return "torch"
    return "numpy" if hasattr(value, "__array__") and not isinstance(value, array.array) else "array"


def loads(data, kind="array"):
    """The tensors of a file as a dictionary; of a packed one (packing.py) what they stand for. ValueError
    for what is no such file."""
    if len(data) < 8:
        raise ValueError("too short for a safetensors file")
    (n,) = struct.unpack("<Q", data[:8])
    if n > _HEADER_MAX or n > len(data) - 8:
        raise ValueError("the header does not fit the file")
    try:
        header = json.loads(data[8:8 + n])
        body, out = data[8 + n:], {}
        how = header.get("__metadata__", {}).get(packing.KEY)
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            shape, count = tuple(entry["shape"]), 1
            for dim in shape:
                count *= dim
            if not 0 <= begin <= end <= len(body) or end - begin != count * _SIZES[entry["dtype"]]:
                raise ValueError(f"{name}: shape and place disagree")
            part = entry["dtype"], shape, body[begin:end]
            out[name] = _convert(kind, *(packing.unpack(how, name, *part) if how else part))
        return out
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"damaged header: {e}") from e


# It makes use of what is above.
from . import packing  # noqa: E402
