#!/usr/bin/python3
"""Catalogs for the benchmark, in the program's own CSV layout.

    generate_catalog.py OUT                  one as large as the public catalogs together
    generate_catalog.py OUT --from DIR --times 10
                                             DIR's, each region ten times under new names"""

import argparse
import csv
import os
import random
from typing import NamedTuple

OFFERS = (
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour"
).split(",")
TRANSFERS = (
    "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms"
).split(",")
STORAGE = (
    "cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,usd_per_1000_list"
).split(",")


class Cloud(NamedTuple):
    """The size of one provider's public price list in 2026."""

    name: str
    regions: int
    zones: int  # over all regions; 0 = the provider has none
    cpu_types: int
    rows: int
    on_demand: int
    spot: int
    egress: float
    gpus: tuple


CLOUDS = (
    Cloud("aws", 22, 74, 1280, 53961, 53822, 53015, 0.09,
          ("K80", "V100", "T4", "L4", "A10G", "L40S", "A100", "A100-80GB", "H100", "H200")),
    Cloud("gcp", 44, 131, 420, 34753, 34657, 34658, 0.12,
          ("P100", "V100", "T4", "L4", "A100", "A100-80GB", "H100", "H200")),
    Cloud("azure", 9, 0, 800, 5969, 5903, 5658, 0.087,
          ("K80", "P100", "V100", "T4", "A10", "A100", "A100-80GB", "H100")),
    Cloud("oci", 39, 49, 60, 3038, 3038, 2352, 0.0085,
          ("P100", "V100", "A10", "A100", "H100")),
    Cloud("runpod", 14, 48, 260, 12816, 12816, 11376, 0.0,
          ("V100", "L4", "L40S", "A100", "A100-80GB", "H100", "H200")),
    Cloud("lambda", 17, 0, 16, 408, 408, 0, 0.0, ("V100", "A10", "A100", "H100")),
    Cloud("nebius", 5, 0, 20, 92, 92, 28, 0.0, ("L40S", "H100", "H200")),
    Cloud("do", 7, 0, 8, 44, 44, 0, 0.01, ("H100",)),
)
GPU_USD = {
    "K80": 0.5, "P100": 1.1, "T4": 0.35, "V100": 2.2, "L4": 0.6, "A10": 0.7, "A10G": 0.9,
    "L40S": 1.3, "A100": 2.9, "A100-80GB": 3.6, "H100": 6.5, "H200": 7.4,
}
# One geography after another, so that every provider has its share of each.
GEOGRAPHIES = ("us-east", "us-west", "eu-west", "eu-central", "ap-south", "ap-northeast", "sa-east")


def regions(cloud):
    return [f"{GEOGRAPHIES[i % 7]}-{i // 7 + 1}" for i in range(cloud.regions)]


def zones(cloud):
    """(region, zone) pairs, spread evenly."""
    names = regions(cloud)
    if not cloud.zones:
        return [(r, "") for r in names]
    spread = [(names[i % len(names)], "abcdefgh"[i // len(names)]) for i in range(cloud.zones)]
    return [(region, region + letter) for region, letter in spread]


def types(cloud):
    """(name, vcpus, memory, accelerator, count, list price)."""
    found = []
    for gpu in cloud.gpus:
        for count in (1, 2, 4, 8):
            price = GPU_USD[gpu] * count + 0.2
            found.append((f"{gpu.lower()}.x{count}", 8 * count, 60 * count, gpu, count, price))
    for i in range(cloud.cpu_types):
        vcpus = 2 ** (1 + i % 7)
        per_cpu = (2, 4, 8)[i // 7 % 3]
        name = f"f{i // 21}.{'cmr'[i // 7 % 3]}{vcpus}"
        found.append((name, vcpus, vcpus * per_cpu, "", "", vcpus * (0.03 + 0.006 * per_cpu)))
    return found


def offers_of(cloud, rng):
    """Every type in some zones: as many rows, and as many without a price, as the list has."""
    factor = {r: rng.uniform(0.95, 1.35) for r in regions(cloud)}
    every = [(z, t) for t in types(cloud) for z in zones(cloud)]
    gpu = [pair for pair in every if pair[1][3] and rng.random() < 0.7]
    cpu = [pair for pair in every if not pair[1][3]]
    rng.shuffle(gpu)
    chosen = gpu[: cloud.rows // 2]
    chosen += rng.sample(cpu, min(len(cpu), cloud.rows - len(chosen)))
    rng.shuffle(chosen)
    for i, ((region, zone), (name, vcpus, memory, gpu, count, usd)) in enumerate(chosen):
        usd *= factor[region]
        price = f"{usd:.4f}" if i < cloud.on_demand else ""
        spot = f"{usd * rng.uniform(0.25, 0.6):.4f}" if len(chosen) - i <= cloud.spot else ""
        yield [cloud.name, region, zone, name, vcpus, memory, gpu, count, "", price, spot, ""]


def transfers(rng):
    for cloud in CLOUDS:
        yield [cloud.name, "*", "internet", "*", cloud.egress, 0, 2, 80]
        yield [cloud.name, "*", "=", "*", cloud.egress / 4, 0, 5, 60]
    aws = regions(CLOUDS[0])
    for src in aws:
        for dst in aws:
            if src != dst:
                price, gbit = rng.choice([0.01, 0.02, 0.02, 0.09]), rng.choice([1.5, 3, 5])
                yield ["aws", src, "aws", dst, price, 0, gbit, rng.randint(10, 250)]


def storage(rng):
    for cloud in CLOUDS:
        for region in regions(cloud):
            price = round(0.023 * rng.uniform(0.8, 1.3), 4)
            yield [cloud.name, region, "standard", price, 0.0004, 0.005, 0.005]


def write(directory, name, columns, rows):
    with open(os.path.join(directory, name), "w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def generate(out):
    rng = random.Random(111081)
    write(out, "offers.csv", OFFERS, (row for c in CLOUDS for row in offers_of(c, rng)))
    write(out, "transfers.csv", TRANSFERS, transfers(rng))
    write(out, "storage.csv", STORAGE, storage(rng))


def read(directory, name, columns):
    with open(os.path.join(directory, name), newline="") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        yield from ([row[c] for c in columns] for row in rows)


def copies(row, column, times):
    for k in range(times):
        yield row[:column] + [row[column] + (f"-copy{k}" if k else "")] + row[column + 1 :]


def prefix(region):
    """A row for one region becomes a row for all its copies."""
    return region if region in ("", "=", "local") or region.endswith("*") else region + "*"


def multiply(source, out, times):
    rows = (c for row in read(source, "offers.csv", OFFERS) for c in copies(row, 1, times))
    write(out, "offers.csv", OFFERS, rows)
    rows = read(source, "transfers.csv", TRANSFERS)
    rows = ([r[0], prefix(r[1]), r[2], prefix(r[3]), *r[4:]] for r in rows)
    write(out, "transfers.csv", TRANSFERS, rows)
    rows = (c for row in read(source, "storage.csv", STORAGE) for c in copies(row, 1, times))
    write(out, "storage.csv", STORAGE, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--times", type=int, default=10)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if args.source:
        multiply(args.source, args.out, args.times)
    else:
        generate(args.out)


if __name__ == "__main__":
    main()
