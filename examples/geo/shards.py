#!/usr/bin/env python3
"""Cuts idx files of images and labels into shards, one for each worker.

usage: shards.py IMAGES LABELS OUT N COUNT    writes OUT/shard-K-images and OUT/shard-K-labels, COUNT images each
"""
import gzip
import pathlib
import sys


def read(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    images, labels, out = read(sys.argv[1]), read(sys.argv[2]), pathlib.Path(sys.argv[3])
    n, count = int(sys.argv[4]), int(sys.argv[5])
    if n * count > int.from_bytes(images[4:8], "big"):
        sys.exit(f"shards.py: there are fewer than {n * count} images")
    out.mkdir(parents=True, exist_ok=True)
    each = 28 * 28
    for k in range(n):
        size = count.to_bytes(4, "big")
        (out / f"shard-{k}-images").write_bytes(
            images[:4] + size + images[8:16] + images[16 + k * count * each:16 + (k + 1) * count * each])
        (out / f"shard-{k}-labels").write_bytes(
            labels[:4] + size + labels[8 + k * count:8 + (k + 1) * count])


main()
