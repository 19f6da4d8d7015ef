"""The published evaluation of spot strategies, written down a second time and without haste, to
hold `tradewind market replay --mode paper` and `market sweep` to: everything comes from the files,
day by day, in dictionaries.

    market_paper.py DATA THROUGHPUTS [MODEL[:BATCH] DAYS]...   costs of every simulation, as JSON
    market_paper.py DATA THROUGHPUTS --time                    seconds that figures 5 and 6 take

DATA has aws/cost/REGION/*.json, azure/cost/REGION.csv and the two instance_mapping.csv."""

import collections
import csv
import datetime
import glob
import json
import os
import sys
import time

AWS_TYPES = ["p2.xlarge", "p2.8xlarge", "p2.16xlarge", "p3.2xlarge", "p3.8xlarge", "p3.16xlarge"]
AZURE_KINDS = [(gpu, n) for gpu in ("V100", "P100", "K80") for n in (1, 2, 4)]
STRATEGIES = ["1xV100", "gpu-type", "multi-gpu", "multi-cloud", "dynamic"]
DURATIONS = [0.125, 0.25, 0.5, 1, 2, 4, 8]
DAY = datetime.timedelta(days=1)

Offer = collections.namedtuple("Offer", "cloud type place gpu gpus low last")


def mapping(path):
    with open(path, newline="") as rows:
        return {row["Instance"]: (row["GPU type"], int(row["# GPUs"])) for row in csv.DictReader(rows)}


def aws_offers(data, region):
    kinds = mapping(f"{data}/aws/instance_mapping.csv")
    records = collections.defaultdict(set)
    for path in glob.glob(f"{data}/aws/cost/{region}/*.json"):
        with open(path) as file:
            for r in json.load(file)["SpotPriceHistory"]:
                key = r["InstanceType"], r["AvailabilityZone"]
                records[key].add((r["Timestamp"], float(r["SpotPrice"])))
    offers = []
    for kind in AWS_TYPES:
        for name, zone in sorted(key for key in records if key[0] == kind):
            low, last = {}, {}
            for stamp, price in sorted(records[name, zone]):
                day = datetime.date.fromisoformat(stamp[:10])
                low[day] = min(price, low.get(day, price))
                last[day] = price
            offers.append(Offer("aws", name, zone, *kinds[name], low, last))
    return offers


def azure_offers(data):
    sizes = {kind: size for size, kind in mapping(f"{data}/azure/instance_mapping.csv").items()}
    regions = {}
    for path in sorted(glob.glob(f"{data}/azure/cost/*.csv")):
        with open(path, newline="") as file:
            regions[os.path.basename(path)[:-4]] = list(csv.DictReader(file))
    offers = []
    for kind in AZURE_KINDS:
        for region, rows in regions.items():
            prices = {}
            for row in rows:
                month, day, year = map(int, row["Date"].split("/"))
                if row[sizes[kind]]:
                    prices[datetime.date(year, month, day)] = float(row[sizes[kind]].lstrip("$"))
            if prices:
                offers.append(Offer("azure", sizes[kind], region, *kind, prices, prices))
    return offers


class Market:
    def __init__(self, data, region="us-east-1"):
        aws = aws_offers(data, region)
        single = [o for o in aws if o.type == "p3.2xlarge"]
        everywhere = aws + azure_offers(data)
        self.offers = {
            "1xV100": single,
            "gpu-type": [o for o in aws if o.gpus == 1],
            "multi-gpu": aws,
            "multi-cloud": everywhere,
            "dynamic": everywhere,
        }
        days = sorted(set().union(*(o.low for o in single)))
        self.starts, self.horizon = days[-35:][:-5], days[-1]

    def choose(self, strategy, speed, day):
        best, best_value = None, 0
        for o in self.offers[strategy]:
            if day not in o.low:
                continue
            per_gpu = o.low[day] if o.cloud == "azure" else o.low[day] / o.gpus
            value = speed[o.gpu.lower()] / per_gpu
            if value > best_value:
                best, best_value = o, value
        return best

    def simulate(self, strategy, speed, days, start):
        """(dollars, hours, switches) of so many V100-days of work."""
        left = days * 86400 * speed["v100"]
        offer = self.choose(strategy, speed, start)
        day, price, dollars, hours, switches = start, offer.low[start], 0, 0, 0
        while True:
            rate = speed[offer.gpu.lower()]
            part = left / (86400 * rate)
            if part <= 1 or day == self.horizon:
                return dollars + 24 * part * price / offer.gpus, hours + 24 * part, switches
            dollars += 24 * price / offer.gpus
            hours += 24
            left -= 86400 * rate
            day += DAY
            if strategy == "dynamic":
                before, offer = offer, self.choose(strategy, speed, day)
                switches += offer is not before
                price = offer.low[day]
            else:
                price = offer.last.get(day, price)

    def costs(self, speed, days, strategies=STRATEGIES):
        return {s: [self.simulate(s, speed, days, d) for d in self.starts] for s in strategies}


def throughputs(path):
    table = {}
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        for row in rows:
            name = row["model"] + (":" + row["batch_size"] if row["batch_size"] else "")
            speeds = {k.lower(): float(v) for k, v in row.items() if k not in ("model", "batch_size")}
            table[name] = speeds
    return table


# What the paper's figures show: one batch size each of seven models.
FIGURE_MODELS = ["A3C", "CycleGAN", "LM:80", "Recommendation:8192", "ResNet-18:256", "ResNet-50:128",
                 "Transformer:256"]


def main():
    market, table = Market(sys.argv[1]), throughputs(sys.argv[2])
    if sys.argv[3:] == ["--time"]:
        begin = time.process_time()
        for name in FIGURE_MODELS[:6]:
            market.costs(table[name], 4)
            for days in DURATIONS:
                market.costs(table[name], days, ["multi-cloud", "dynamic"])
        print(time.process_time() - begin)
        return
    answers = []
    for name, days in zip(sys.argv[3::2], sys.argv[4::2]):
        answers.append({"model": name, "days": float(days), "costs": market.costs(table[name], float(days))})
    json.dump({"starts": [str(d) for d in market.starts], "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
