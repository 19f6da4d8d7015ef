"""Offers, transfer prices and storage prices, read from the CSV layout of a catalog directory."""

import csv
import os
from decimal import ROUND_HALF_UP, Decimal
from math import floor
from typing import NamedTuple, Optional

LOCAL = ("local", "local")
GUESSED_GBIT = 1.0

OFFER_COLUMNS = (
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour"
).split(",")
TRANSFER_COLUMNS = (
    "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms"
).split(",")
STORAGE_COLUMNS = (
    "cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,usd_per_1000_list"
).split(",")


def microusd(text):
    """Dollars as text -> whole micro-dollars."""
    return int((Decimal(text) * 1000000).to_integral_value(ROUND_HALF_UP))


def half_up(dollars):
    """Dollars -> micro-dollars: the one rounding rule of the model, as it is written."""
    return floor(dollars * 1e6 + 0.5)


class Offer(NamedTuple):
    cloud: str
    region: str
    zone: str
    instance_type: str
    vcpus: Optional[float]
    memory_gib: Optional[float]
    accelerator: str
    accelerator_count: float
    price: dict  # market -> micro-dollars per hour; a market not for sale is absent
    preemptions: Optional[float]

    @property
    def place(self):
        return (self.cloud, self.region)


def offer_from_row(row):
    price = {}
    for market, column in (("on-demand", "price_usd_per_hour"), ("spot", "spot_usd_per_hour")):
        if row[column] and microusd(row[column]) > 0:
            price[market] = microusd(row[column])
    number = lambda column: float(row[column]) if row[column] else None
    return Offer(
        row["cloud"],
        row["region"],
        row["zone"],
        row["instance_type"],
        number("vcpus"),
        number("memory_gib"),
        row["accelerator"],
        number("accelerator_count") or 0.0,
        price,
        number("preemptions_per_hour"),
    )


def region_rank(pattern, region, other=None):
    """How well a region column fits: a tuple that grows with specificity, None = not at all.

    region None is a place whose region is not known: only `*` fits it. `other` is the source's
    region when the column is a destination's, and `=` may stand for it."""
    if pattern == "*":
        return (0, 0)
    if pattern == "=":
        return (1, 0) if region is not None and region == other else None
    if region is None:
        return None
    if pattern.endswith("*"):
        prefix = pattern[:-1]
        return (2, len(prefix)) if region.startswith(prefix) else None
    return (3, 0) if pattern == region else None


def dst_cloud_rank(pattern, src_cloud, dst_cloud):
    if pattern == "*":
        return 0
    if pattern == "internet":
        return 1 if dst_cloud != src_cloud else None
    if pattern == "=":
        return 2 if dst_cloud == src_cloud else None
    return 3 if pattern == dst_cloud else None


class Link(NamedTuple):
    """Everything about one ordered pair of places."""

    tiers: tuple  # ((from_gb, dollars per GB), ...), ascending; the first from 0
    gbit: float
    rtt_s: float

    def seconds(self, gb):
        return 8.0 * gb / self.gbit + self.rtt_s

    def micro(self, gb):
        total = 0.0
        for i, (start, price) in enumerate(self.tiers):
            end = self.tiers[i + 1][0] if i + 1 < len(self.tiers) else float("inf")
            if gb > start:
                total += (min(gb, end) - start) * price
        return half_up(total)


def link_from_rows(rows, free):
    rows = sorted(rows, key=lambda r: float(r["tier_from_gb"] or 0))
    lowest = rows[0]
    tiers = tuple(
        (float(r["tier_from_gb"] or 0) if i else 0.0, 0 if free else float(r["usd_per_gb"]))
        for i, r in enumerate(rows)
    )
    return Link(
        tiers, float(lowest["gbit_per_s"] or GUESSED_GBIT), float(lowest["rtt_ms"] or 0) / 1e3
    )


class Catalog:
    def __init__(self, offers, transfers, storage):
        self.offers = [offer_from_row(r) for r in offers]
        self.storage = storage
        self.groups = {}
        for row in transfers:
            key = tuple(row[c] or "*" for c in TRANSFER_COLUMNS[:4])
            self.groups.setdefault(key, []).append(row)

    def link(self, src, dst, uplink_gbit):
        """The link src -> dst between two different places, None when there is no way.

        src may be (cloud, None): the cloud is known, its region is not."""
        best, best_rank = None, None
        for key, rows in self.groups.items():
            rank = self.rank(key, src, dst)
            if rank is not None and (best is None or rank > best_rank):
                best, best_rank = rows, rank
        if best is not None:
            return link_from_rows(best, free=src == LOCAL)
        return Link(((0.0, 0),), uplink_gbit, 0.0) if src == LOCAL else None

    @staticmethod
    def rank(key, src, dst):
        src_cloud, src_region, dst_cloud, dst_region = key
        if src == LOCAL and src_cloud != "local":
            return None  # only a row whose source is `local` speaks for the user's own machine
        ranks = (
            region_rank(src_region, src[1]),
            dst_cloud_rank(dst_cloud, src[0], dst[0]),
            region_rank(dst_region, dst[1], src[1]),
            0 if src_cloud == "*" else 1 if src_cloud == src[0] else None,
        )
        return None if None in ranks else ranks

    def storage_usd_per_gb_month(self, place):
        rows = [r for r in self.storage if (r["cloud"], r["region"]) == place]
        standard = [r for r in rows if r["class"] == "standard"]
        return min((float(r["usd_per_gb_month"]) for r in standard or rows), default=0.0)


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def load(directory):
    names = ("offers.csv", "transfers.csv", "storage.csv")
    return Catalog(*(read_rows(os.path.join(directory, n)) for n in names))
