"""Writes event files of TensorBoard as its own writer frames them, without any library.

    tfevents.py FILE TAG STEP VALUE [TAG STEP VALUE ...]

TAG with a leading '+' is written as a tensor (TensorBoard 2), '%' as a tensor of doubles with
content, others as simple_value."""

import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def bytes_field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(step, summary=None, version=None):
    out = varint(1 << 3 | 1) + struct.pack("<d", 1.7e9) + varint(2 << 3) + varint(step)
    if version:
        out += bytes_field(3, version.encode())
    return out + (bytes_field(5, summary) if summary else b"")


def value(tag, number):
    if tag[0] == "+":
        tensor = varint(1 << 3) + varint(1) + bytes_field(2, b"") + bytes_field(5, struct.pack("<f", number))
        return bytes_field(1, bytes_field(1, tag[1:].encode()) + bytes_field(8, tensor))
    if tag[0] == "%":
        tensor = varint(1 << 3) + varint(2) + bytes_field(4, struct.pack("<d", number))
        return bytes_field(1, bytes_field(1, tag[1:].encode()) + bytes_field(8, tensor))
    return bytes_field(1, bytes_field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", number))


def main():
    with open(sys.argv[1], "wb") as f:
        f.write(record(event(0, version="brain.Event:2")))
        for i in range(2, len(sys.argv), 3):
            tag, step, number = sys.argv[i : i + 3]
            f.write(record(event(int(step), value(tag, float(number)))))


if __name__ == "__main__":
    main()
