"""Price lists for tests/servers/price-lists, and the offers that follow from them, computed by the
rules of docs/catalog.md alone.

usage: price_lists.py random SEED BEFORE.csv DIR   lists for DIR that are about the catalog BEFORE
       price_lists.py expect DIR BEFORE.csv CLOUD:REGION...   the offers afterwards, sorted
       price_lists.py show OFFERS.csv                         those of a catalog, likewise
"""

import csv
import io
import json
import os
import random
import re
import sys

AWS_COLUMNS = (
    "SKU,OfferTermCode,TermType,PriceDescription,Unit,PricePerUnit,Currency,Product Family,"
    "Location Type,Instance Type,vCPU,Memory,Tenancy,Operating System,CapacityStatus,GPU,"
    "MarketOption,Pre Installed S/W,Region Code"
).split(",")
KEY = ("cloud", "region", "zone", "instance_type")


def read_offers(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def number(text):
    """The text's number when it can be a price, else None."""
    try:
        n = float(text)
    except (TypeError, ValueError):
        return None
    return n if 1e-9 <= n <= 1e6 else None


def is_name(text):
    """Texts of at most 255 bytes without control characters name something."""
    return 0 < len(text.encode()) <= 255 and text.isprintable()


# ---- what the lists say ----


def azure_prices(home, region):
    on_demand, spot = {}, {}
    for item in json.load(open(os.path.join(home, "azure.json"))):
        if not isinstance(item, dict) or isinstance(item.get("retailPrice"), (str, type(None))):
            continue
        product, sku, meter = item["productName"], item["skuName"], item["meterName"]
        if (
            item["armRegionName"] != region
            or item["type"] != "Consumption"
            or item["unitOfMeasure"] != "1 Hour"
            or "Windows" in product
            or sku.endswith("Low Priority")
            or meter.endswith("Low Priority")
            or number(item["retailPrice"]) is None
            or not is_name(item["armSkuName"])
        ):
            continue
        into = spot if sku.endswith(" Spot") or meter.endswith(" Spot") else on_demand
        name = item["armSkuName"]
        into[name] = min(into.get(name, 1e9), item["retailPrice"])
    return on_demand, spot


def aws_prices(home, region):
    """On demand by type, spot by (type, zone's id), and (vCPUs, GiB) by type without GPUs."""
    on_demand, spot, shapes = {}, {}, {}
    with open(os.path.join(home, "aws", region + ".csv"), newline="") as f:
        rows = csv.reader(f)
        header = next(r for r in rows if r and r[0] == "SKU")
        for row in rows:
            r = dict(zip(header, row))
            wanted = {
                "TermType": "OnDemand",
                "Unit": "Hrs",
                "Currency": "USD",
                "Operating System": "Linux",
                "Tenancy": "Shared",
                "CapacityStatus": "Used",
                "Pre Installed S/W": "NA",
                "Region Code": region,
            }
            if len(row) < len(header) or any(r[k] != v for k, v in wanted.items()):
                continue
            if not r["Product Family"].startswith("Compute Instance"):
                continue
            price, name = number(r["PricePerUnit"]), r["Instance Type"]
            if not is_name(name) or price is None or price > on_demand.get(name, 1e9):
                continue
            on_demand[name] = price
            if not float(r["GPU"] or 0):
                gib = r["Memory"].replace(",", "").removesuffix(" GiB")
                shapes[name] = (float(r["vCPU"]), float(gib))
    with open(os.path.join(home, "spot.json")) as f:
        account = json.load(f)[region]
    ids = dict(account["zones"])
    newest = {}
    for p in account["prices"]:
        at = (p["InstanceType"], ids.get(p["AvailabilityZone"]))
        if at[1] and p["Timestamp"] > newest.get(at, ("",))[0]:
            newest[at] = (p["Timestamp"], number(p["SpotPrice"]))
    spot = {at: price for at, (_, price) in newest.items() if price is not None}
    return on_demand, spot, shapes


FAMILIES = {
    "n1": "N1 Predefined Instance",
    "n2": "N2 Instance",
    "e2": "E2 Instance",
    "c2": "Compute optimized",
    "a2": "A2 Instance",
    "g2": "G2 Instance",
}
GPUS = {"A100-80GB": "A100 80GB", "H100": "H100 80GB"}


def gcp_parts(home, region):
    """{(market, what, kind): USD per hour} of Google's list."""
    parts = {}
    for sku in json.load(open(os.path.join(home, "gcp.json"))):
        if not isinstance(sku, dict) or region not in sku["serviceRegions"]:
            continue
        category, text = sku["category"], sku["description"]
        market = {"OnDemand": "on-demand", "Preemptible": "spot"}.get(category["usageType"])
        if category["resourceFamily"] != "Compute" or not market or "Custom" in text:
            continue
        tier = sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][-1]["unitPrice"]
        price = number(int(tier["units"]) + tier["nanos"] / 1e9)
        text = text.removeprefix("Spot Preemptible ")
        core = re.fullmatch(r"(.*?)(?: Instance)? (Core|Ram) running in .*", text)
        gpu = re.fullmatch(
            r"Nvidia (?:Tesla )?(.*) GPU (?:running|attached to Spot Preemptible VMs running) in .*",
            text,
        )
        if core:
            what = next((k for k, v in FAMILIES.items() if v.removesuffix(" Instance") == core[1]), "")
            at = (market, what, core[2])
        elif gpu:
            at = (market, next((k for k, v in GPUS.items() if v == gpu[1]), gpu[1]), "GPU")
        else:
            continue
        if price is not None:
            parts[at] = min(parts.get(at, 1e9), price)
    return parts


def gcp_price(parts, market, offer):
    family = offer["instance_type"].split("-")[0]
    needs = [
        (family, "Core", float(offer["vcpus"] or 0)),
        (family, "Ram", float(offer["memory_gib"] or 0)),
        (offer["accelerator"], "GPU", float(offer["accelerator_count"] or 0)),
    ]
    if family not in FAMILIES:
        return None
    total = 0
    for what, kind, count in needs:
        if count:
            price = parts.get((market, what, kind))
            if price is None:
                return None
            total += price * count
    return round(total, 9)


# ---- what becomes of the offers ----


def show(n):
    return "" if n is None else f"{n:.10g}"


def update_gcp(before, home, region):
    parts = gcp_parts(home, region)
    out = []
    for o in before:
        if (o["cloud"], o["region"]) == ("gcp", region):
            o = dict(o)
            for market, column in (("on-demand", "price_usd_per_hour"), ("spot", "spot_usd_per_hour")):
                price = gcp_price(parts, market, o)
                if price is not None:
                    o[column] = show(price)
        out.append(o)
    return out


def update_by_type(before, cloud, region, on_demand, spot, shapes):
    """spot by type, or by (type, zone)."""
    there = [o for o in before if (o["cloud"], o["region"]) == (cloud, region)]
    out = [o for o in before if o not in there]
    by_zone = cloud == "aws"
    types = set(on_demand) if by_zone else set(on_demand) | set(spot)
    for name in types:
        known = [o for o in before if (o["cloud"], o["instance_type"]) == (cloud, name)]
        here = {o["zone"]: o for o in there if o["instance_type"] == name}
        zones = set(here) | {z for t, z in spot if t == name} if by_zone else set(here)
        if by_zone and any(t == name for t, _ in spot):
            zones.discard("")
        for zone in zones or {""}:
            old = here.get(zone) or here.get("")
            if not old and not known and name not in shapes:
                continue
            new = dict(old or (known[0] if known else dict.fromkeys(before[0], "")))
            if not old:
                new["preemptions_per_hour"] = ""
            if not old and not known:
                new["vcpus"], new["memory_gib"] = map(show, shapes[name])
            new.update(cloud=cloud, region=region, zone=zone, instance_type=name)
            new["price_usd_per_hour"] = show(on_demand.get(name))
            new["spot_usd_per_hour"] = show(spot.get((name, zone) if by_zone else name))
            if new["price_usd_per_hour"] or new["spot_usd_per_hour"]:
                out.append(new)
    return out


def expect(home, before, places):
    offers = read_offers(before)
    for place in places:
        cloud, region = place.split(":")
        if cloud == "gcp":
            offers = update_gcp(offers, home, region)
        elif cloud == "azure":
            offers = update_by_type(offers, cloud, region, *azure_prices(home, region), {})
        else:
            offers = update_by_type(offers, cloud, region, *aws_prices(home, region))
    return offers


def print_offers(offers):
    def value(column, text):
        if column in KEY + ("accelerator",):
            return text
        return show(float(text)) if text and float(text) else ""

    for line in sorted(",".join(value(k, v) for k, v in o.items()) for o in offers):
        print(line)


# ---- lists about a catalog ----

ODD_PRICES = [0, -1.5, 1e12, "NaN", None, "1.0"]
ODD_NAMES = ["", "a\x01b", "x" * 300, "na,me", 'quo"te', "Standard_Ünï", "m1.\nlarge", "$(id)"]


def random_azure(draw, offers):
    items = []

    def add(region, name, price, **more):
        item = {
            "currencyCode": "USD",
            "tierMinimumUnits": 0.0,
            "retailPrice": price,
            "armRegionName": region,
            "meterName": name,
            "productName": "Virtual Machines Series",
            "skuName": name,
            "serviceName": "Virtual Machines",
            "unitOfMeasure": "1 Hour",
            "type": "Consumption",
            "armSkuName": name,
        }
        item.update(more)
        items.append(item)

    names = sorted({o["instance_type"] for o in offers})
    for region in sorted({o["region"] for o in offers}):
        for name in draw.sample(names, len(names) * 3 // 4):
            price = round(draw.uniform(0.01, 40), 4)
            add(region, name, price)
            if draw.random() < 0.6:
                add(region, name, round(price * 0.3, 5), **{draw.choice(["skuName", "meterName"]): name + " Spot"})
            if draw.random() < 0.3:
                add(region, name, 0.001, productName="Virtual Machines Series Windows")
            if draw.random() < 0.3:
                add(region, name, 0.001, skuName=name + " Low Priority")
            if draw.random() < 0.2:
                add(region, name, price * 1.5)
            if draw.random() < 0.2:
                add(region, name, 0.001, type="Reservation", unitOfMeasure="1 Year")
            if draw.random() < 0.2:
                add(region, name, draw.choice(ODD_PRICES))
        for name in ODD_NAMES:
            add(region, name, 1.0)
        items += [None, 7, {"armRegionName": region}]
    draw.shuffle(items)
    return items


def random_aws(draw, offers, region):
    text = io.StringIO()
    out = csv.writer(text, quoting=csv.QUOTE_ALL)
    for line in range(5):
        out.writerow(["FormatVersion", f"v1.{line}, \"quoted\""])
    out.writerow(AWS_COLUMNS)
    known = {o["instance_type"]: o for o in offers}
    names = sorted(known)
    for name in draw.sample(names, len(names) * 3 // 4) + ["m99.large", "p99.48xlarge"] + ODD_NAMES:
        shape = known.get(name, {})
        row = {
            "SKU": "S",
            "TermType": "OnDemand",
            "PriceDescription": "a, \"b\"\nc",
            "Unit": "Hrs",
            "PricePerUnit": f"{draw.uniform(0.01, 60):.10f}",
            "Currency": "USD",
            "Product Family": draw.choice(["Compute Instance", "Compute Instance (bare metal)"]),
            "Instance Type": name,
            "vCPU": shape.get("vcpus") or "8",
            "Memory": f"{float(shape.get('memory_gib') or 1032):,g} GiB",
            "Tenancy": "Shared",
            "Operating System": "Linux",
            "CapacityStatus": "Used",
            "GPU": "8" if name.startswith("p99") else "",
            "MarketOption": "OnDemand",
            "Pre Installed S/W": "NA",
            "Region Code": region,
        }
        rows = [row]
        for column, other in (
            ("TermType", "Reserved"),
            ("Operating System", "Windows"),
            ("Tenancy", "Dedicated"),
            ("CapacityStatus", "AllocatedCapacityReservation"),
            ("Pre Installed S/W", "SQL Web"),
            ("Unit", "Quantity"),
            ("Product Family", "Storage"),
            ("Region Code", region + "-bos-1"),
            ("PricePerUnit", str(draw.choice(ODD_PRICES[:4]))),
        ):
            if draw.random() < 0.3:
                rows.append({**row, "PricePerUnit": "0.0001", column: other})
        draw.shuffle(rows)
        for r in rows:
            out.writerow([r.get(c, "") for c in AWS_COLUMNS])
    out.writerow(["too", "short"])
    return text.getvalue()


def random_spot(draw, offers, region):
    zones = [[f"{region}{c}", f"x{region[:3]}-az{n}"] for c, n in zip("abc", draw.sample(range(1, 7), 3))]
    prices = []
    for name in sorted({o["instance_type"] for o in offers}) + ["m99.large"]:
        for zone, _ in draw.sample(zones + [["other-1a", ""]], draw.randint(0, 3)):
            for hour in sorted(draw.sample(range(24), 3)):
                prices.append(
                    {
                        "AvailabilityZone": zone,
                        "InstanceType": name,
                        "ProductDescription": draw.choice(["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]),
                        "SpotPrice": f"{draw.uniform(0.001, 20):.6f}",
                        "Timestamp": f"2026-10-17T{hour:02}:00:00.000Z",
                    }
                )
    return {"zones": zones, "prices": prices}


def random_gcp(draw, offers):
    skus = []
    regions = sorted({o["region"] for o in offers})

    def add(text, usage, price, unit="h", family="Compute"):
        tier = {"currencyCode": "USD", "units": str(int(price)), "nanos": round(price % 1 * 1e9)}
        first = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 0}}
        tiers = [first] * draw.randint(0, 1) + [{"startUsageAmount": 1, "unitPrice": tier}]
        skus.append(
            {
                "description": text,
                "category": {"resourceFamily": family, "resourceGroup": "G", "usageType": usage},
                "serviceRegions": draw.sample(regions, len(regions) * 4 // 5),
                "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": tiers}}],
            }
        )

    for family in FAMILIES.values():
        for what, unit in (("Core", "h"), ("Ram", "GiBy.h")):
            name = f"{family} {what} running in Americas"
            price = round(draw.uniform(0.001, 0.1), 6)
            add(name, "OnDemand", price, unit)
            add("Spot Preemptible " + name, "Preemptible", round(price / 4, 6), unit)
            add("Commitment v1: " + name, "Commit1Yr", 0.0001, unit)
            add(f"Custom {name}", "OnDemand", 0.0001, unit)
    for gpu in ("Tesla T4", "Tesla V100", "L4", "Tesla A100", "Tesla A100 80GB", "H100 80GB"):
        price = round(draw.uniform(0.2, 9), 6)
        add(f"Nvidia {gpu} GPU running in Americas", "OnDemand", price)
        add(
            f"Nvidia {gpu} GPU attached to Spot Preemptible VMs running in Americas",
            "Preemptible",
            round(price / 3, 6),
        )
    add("Network Egress", "OnDemand", 0.01, "GiBy", "Network")
    draw.shuffle(skus)
    return skus + [None, {"serviceRegions": [], "category": {}, "description": ""}]


def write_random(seed, before, home):
    draw = random.Random(seed)
    offers = read_offers(before)
    of = {c: [o for o in offers if o["cloud"] == c] for c in ("aws", "azure", "gcp")}
    os.makedirs(os.path.join(home, "aws"), exist_ok=True)
    with open(os.path.join(home, "azure.json"), "w") as f:
        json.dump(random_azure(draw, of["azure"]), f)
    with open(os.path.join(home, "gcp.json"), "w") as f:
        json.dump(random_gcp(draw, of["gcp"]), f)
    spot = {}
    for region in sorted({o["region"] for o in of["aws"]}):
        with open(os.path.join(home, "aws", region + ".csv"), "w", newline="") as f:
            f.write(random_aws(draw, of["aws"], region))
        spot[region] = random_spot(draw, of["aws"], region)
    with open(os.path.join(home, "spot.json"), "w") as f:
        json.dump(spot, f)


if sys.argv[1] == "random":
    write_random(int(sys.argv[2]), sys.argv[3], sys.argv[4])
elif sys.argv[1] == "show":
    print_offers(read_offers(sys.argv[2]))
else:
    print_offers(expect(sys.argv[2], sys.argv[3], sys.argv[4:]))
