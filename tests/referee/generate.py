"""Small random cases from a seed: a pipeline, a catalog, a configuration and what is asked."""

import csv
import json
import os
import random
from typing import NamedTuple

from catalog import OFFER_COLUMNS, STORAGE_COLUMNS, TRANSFER_COLUMNS, Catalog
from model import Config, Limits, Model
from pipeline import Pipeline

REGIONS = {
    "aws": ["us-east-1", "us-west-2", "eu-west-1"],
    "gcp": ["us-east1", "us-west1", "europe-west4"],
    "azure": ["eastus", "westus2", "northeurope"],
    "lambda": ["us-east-1", "us-west-2", "europe-central-1"],
}
SCHEMES = {"aws": "s3", "gcp": "gs", "azure": "az"}
# name, vCPUs, memory, accelerator, count
MACHINES = [
    ("small", 4, 16, "", ""),
    ("large", 8, 32, "", ""),
    ("huge", 16, 64, "", ""),
    ("t4half", 4, 15, "T4", 0.5),
    ("t4", 8, 30, "T4", 1),
    ("t4x2", 16, 60, "T4", 2),
    ("v100", 8, 61, "V100", 1),
    ("a100", 12, 85, "A100", 1),
]
SHAPES = ("chain", "in-tree", "out-tree", "diamond", "dag", "parallel")


class Case(NamedTuple):
    seed: int
    documents: list
    offers: list
    transfers: list
    storage: list
    config: Config
    limits: Limits
    exact_numbers: bool  # all times are sums that doubles hold exactly, in any order

    def model(self, limits=None):
        return Model(
            Catalog(self.offers, self.transfers, self.storage),
            Pipeline(self.documents),
            self.config,
            limits or self.limits,
        )


class Generator:
    def __init__(self, seed, max_stages, max_plans):
        self.seed = seed
        self.rng = random.Random(seed)
        self.max_plans = max_plans
        self.n = self.rng.randint(1, max_stages)
        self.shape = self.rng.choice(SHAPES)
        self.round_numbers = self.rng.random() < 0.5
        self.uniform_prices = self.rng.random() < 0.3
        self.places = []
        self.external = []

    def chance(self, p):
        return self.rng.random() < p

    # Sizes and speeds of `round_numbers` make every duration a multiple of 1/8 s.
    def size(self):
        if self.chance(0.12):
            return 0
        if self.round_numbers:
            return self.rng.choice([10, 20, 40, 100, 400, 2000])
        return round(self.rng.choice([1, 10, 100, 1000]) * self.rng.uniform(0.2, 3), 1)

    def price(self):
        if self.uniform_prices:
            return self.rng.choice(["0.5", "1", "1", "2"])
        return f"{self.rng.uniform(0.05, 6):.4f}"

    def hours(self, machine):
        speed = {"": 1, "T4": 2, "V100": 4, "A100": 8}[machine[3]]
        if self.round_numbers:
            return self.rng.choice([8, 16, 32, 4, 0.5]) / speed
        return round(self.rng.uniform(0.01, 20) / speed, 3)

    def make_places(self):
        clouds = self.rng.sample(sorted(REGIONS), self.rng.randint(2, 3))
        every = [(c, r) for c in clouds for r in REGIONS[c]]
        self.places = self.rng.sample(every, min(len(every), self.rng.randint(2, 4)))

    def make_offers(self):
        rows = []
        for cloud, region in self.places:
            for machine in self.rng.sample(MACHINES, self.rng.randint(1, 4)):
                zones = [""] if self.chance(0.7) else [region + "a", region + "b"]
                price = self.price()
                for zone in zones:
                    rows.append(self.offer(cloud, region, zone, machine, price))
        return rows

    def offer(self, cloud, region, zone, machine, price):
        name, vcpus, memory, accelerator, count = machine
        spot = self.rng.choice(["", price, f"{float(price) * 0.35:.4f}"])
        values = [cloud, region, zone, name, vcpus, memory, accelerator, count, ""]
        on_demand = self.rng.choice(["", "0"]) if spot and self.chance(0.1) else price
        rate = self.rng.choice(["", "", "0", "0.1", "1.5", "60"])
        return dict(zip(OFFER_COLUMNS, map(str, values + [on_demand, spot, rate])))

    def gbit(self):
        if self.chance(0.1):
            return ""
        round_speeds, odd_speeds = ["0.5", "1", "2", "4", "8"], ["0.7", "1", "3.3", "5"]
        return self.rng.choice(round_speeds if self.round_numbers else odd_speeds)

    def transfer_rows(self, src_cloud, src_region, dst_cloud, dst_region):
        round_rtts, odd_rtts = ["", "0", "125", "250"], ["", "0", "31", "87.5"]
        rtt = self.rng.choice(round_rtts if self.round_numbers else odd_rtts)
        price = self.rng.choice([0, 0.01, 0.02, 0.05, 0.087, 0.09, 0.12])
        rows, start = [], self.rng.choice(["", 0, 0, 5])
        for _ in range(3 if self.chance(0.25) else 1):
            ends = [src_cloud, src_region, dst_cloud, dst_region]
            values = ends + [f"{price:.3f}", start, self.gbit(), rtt]
            rows.append(dict(zip(TRANSFER_COLUMNS, map(str, values))))
            start = (start or 0) + self.rng.choice([10, 50, 500])
            price *= 0.5
        return rows

    def make_transfers(self):
        patterns = set()
        clouds = sorted({c for c, _ in self.places} | {"aws"})
        for cloud in clouds:
            if self.chance(0.85):
                patterns.add((cloud, "*", "internet", "*"))
            if self.chance(0.85):
                patterns.add((cloud, "*", self.rng.choice(["=", cloud]), "*"))
        if self.chance(0.4):
            patterns.add(("*", "*", "*", "*"))
        for _ in range(self.rng.randint(0, 6)):
            src, dst = self.rng.choice(self.places), self.rng.choice(self.places)
            patterns.add(
                (
                    self.rng.choice([src[0], src[0], "*", ""]),
                    self.rng.choice([src[1], src[1][:3] + "*", src[1][:5] + "*", "*"]),
                    self.rng.choice([dst[0], "=", "internet", "*", ""]),
                    self.rng.choice([dst[1], dst[1][:4] + "*", "=", "*", ""]),
                )
            )
        if self.chance(0.3):
            to = self.rng.choice(["*", "internet", clouds[0]])
            patterns.add(("local", self.rng.choice(["local", "*"]), to, "*"))
        rows = []
        seen = set()
        for pattern in sorted(patterns):
            meaning = tuple(part or "*" for part in pattern)
            if meaning not in seen:
                seen.add(meaning)
                rows += self.transfer_rows(*pattern)
        self.rng.shuffle(rows)
        return rows

    def make_storage(self):
        rows = []
        for cloud, region in self.places:
            if self.chance(0.8):
                for name in self.rng.sample(["standard", "cold", "warm"], self.rng.randint(1, 3)):
                    price = self.rng.choice(["0.004", "0.01", "0.02", "0.023", "0.026"])
                    values = [cloud, region, name, price, "", "", ""]
                    rows.append(dict(zip(STORAGE_COLUMNS, values)))
        return rows

    def make_external(self):
        """Datasets that are there before the pipeline runs; several stages may read one."""
        for i in range(self.rng.randint(0, 3)):
            kind = self.rng.choice(["place", "place", "local", "no region"])
            cloud, region = self.rng.choice(self.places)
            scheme = SCHEMES.get(cloud)
            if kind == "local":
                item = {"from": f"./data/set{i}", "place": "local"}
            elif kind == "no region" and scheme:
                item = {"from": f"{scheme}://bucket/set{i}"}
            else:
                item = {"from": f"https://example.org/set{i}", "place": f"{cloud}/{region}"}
            self.external.append({**item, "size": self.size()})

    def needs(self, i):
        """What stage i needs, by shape; None = say nothing (the chain)."""
        if i == 0:
            return []
        if self.shape == "chain":
            return None
        if self.shape == "parallel":
            return []
        if self.shape == "out-tree":
            return [self.rng.randrange(i)]
        if self.shape == "in-tree":
            # Each stage is read by one later stage: the last takes all that nobody took.
            some = [k for k in range(i) if k not in self.taken]
            if i < self.n - 1:
                some = self.rng.sample(some, self.rng.randint(0, min(2, len(some))))
            self.taken.update(some)
            return some
        if self.shape == "diamond":
            return [0] if i < self.n - 1 else list(range(1, i)) or [0]
        return sorted(self.rng.sample(range(i), self.rng.randint(0, i)))

    def estimate(self):
        kind = self.rng.choice(["map", "map", "plain", "plain", "work", "guess"])
        if kind == "guess":
            return None
        if kind == "plain":
            unit, scale = self.rng.choice([("hours", 1), ("minutes", 60), ("seconds", 3600)])
            estimate = {unit: round(self.hours(MACHINES[0]) * scale, 3)}
        elif kind == "map":
            estimate = {"hours": {m[3] or m[0]: self.hours(m) for m in MACHINES}}
            for name in self.rng.sample(sorted(estimate["hours"]), self.rng.randint(0, 2)):
                del estimate["hours"][name]
            if self.chance(0.3):
                estimate["hours"]["t4x2"] = self.hours(MACHINES[5])
        else:
            rate = {"vcpu": 0.0625, "T4": 0.5, "a100": {"base": 4, "parallel": 0.5}}
            if self.chance(0.4):
                rate["vcpu"] = {"base": 0.125, "parallel": 0.75}
            if self.chance(0.3):
                del rate[self.rng.choice(["T4", "a100"])]
            work = "input" if self.chance(0.3) else self.rng.choice([1024, 4096, 8192])
            estimate = {"work": work, "rate": rate}
        if self.chance(0.4):
            estimate["setup"] = self.rng.choice([30, 60, 300])
        return estimate

    def resources(self):
        cloud, region = self.rng.choice(self.places)
        accelerators = ["T4", {"A100": 1}, ["t4:0.5", "V100"], {"T4": 2, "V100": 1}]
        simple = {
            "none": {},
            "cloud": {"cloud": cloud},
            "infra": {"infra": f"{cloud}/{region}"},
            "cpus": {"cpus": self.rng.choice(["8+", "4-8", 8, "4+"])},
            "memory": {"memory": self.rng.choice(["30+", "16-64", "32GB"])},
            "gpu": {"accelerators": self.rng.choice(accelerators)},
            "spot": {"use_spot": self.chance(0.6)},
            "price": {"max_hourly_cost": self.rng.choice([0.5, 1, 2, 3.5])},
            "any": {"any_of": [{"cloud": cloud}, {"cpus": "8+", "use_spot": True}]},
            "ordered": {
                "ordered": [
                    {"accelerators": "V100", "region": region},
                    {"cloud": cloud},
                    {"cpus": "4+"},
                ]
            },
        }
        names = ["none"] * 12 + sorted(simple)
        return simple[self.rng.choice(names)]

    def stage(self, i, names):
        document = {"name": names[i], "run": "true"}
        needs = self.needs(i)
        if needs is not None and (needs or self.shape != "parallel"):
            document["needs"] = [names[k] for k in needs]
        outputs = self.outputs(names[i])
        if outputs:
            document["outputs"] = outputs
            if all("keep" not in o for o in outputs) and self.chance(0.5):
                document["outputs"] = {o["name"]: o["size"] for o in outputs}
        self.add_inputs(document, i, names, needs)
        estimate = self.estimate()
        if estimate:
            document["estimate"] = estimate
        resources = self.resources()
        if resources:
            document["resources"] = resources
        if self.chance(0.25):
            document["num_nodes"] = self.rng.choice([2, 3])
        if self.chance(0.4):
            document["checkpoint"] = self.rng.choice(["10m", "1h", 1800])
        self.made.append(outputs)
        return document

    def outputs(self, stage):
        outputs = []
        for k in range(self.rng.choice([0, 1, 1, 1, 2])):
            size = self.size() if self.chance(0.8) else self.rng.choice(["2x", "0.5x"])
            name = f"out{k}" if self.chance(0.9) else f"s3://bucket/{stage}/{k}"
            outputs.append({"name": name, "size": size})
            if self.chance(0.3):
                outputs[-1]["keep"] = self.rng.choice([1, 30, "12h", "7d"])
        return outputs

    def add_inputs(self, document, i, names, needs):
        """Absent: all outputs of what it needs. Else some of them, and datasets from outside."""
        if not self.external and self.chance(0.7):
            return
        if i > 0 and self.chance(0.4):
            return
        before = needs if needs is not None else [i - 1]
        made = lambda k: [f"{names[k]}.{o['name']}" for o in self.made[k] if "://" not in o["name"]]
        inputs = [{"from": name} for k in before for name in made(k) if self.chance(0.8)]
        inputs += [dict(e) for e in self.external if self.chance(0.6)]
        others = [k for k in range(i) if k not in before and self.shape in ("dag", "chain")]
        if others and self.chance(0.3):
            # Reading an output is needing its stage, said or not.
            inputs += [{"from": name} for name in made(self.rng.choice(others))[:1]]
        document["inputs"] = inputs

    def make_documents(self):
        self.taken, self.made = set(), []
        names = [f"s{i}" for i in range(self.n)]
        documents = [self.stage(i, names) for i in range(self.n)]
        header = {"name": f"case-{self.seed}"}
        if self.shape == "parallel":
            header["execution"] = "parallel"
        if self.chance(0.15):
            header["defaults"] = {"checkpoint": "30m", "num_nodes": 2}
        if len(documents) > 1 or self.chance(0.5) or len(header) > 1:
            documents.insert(0, header)
        if self.n > 1 and self.shape != "chain" and self.chance(0.3):
            self.shuffle_stages(documents)
        return documents

    def shuffle_stages(self, documents):
        """A file need not name stages before those that need them."""
        stages = documents[1:]
        if all("needs" in s for s in stages):
            self.rng.shuffle(stages)
            documents[1:] = stages

    def make_config(self):
        if self.chance(0.7):
            return Config()
        return Config(
            boot_s=self.rng.choice([0.0, 30.0, 240.0]),
            local_gbit=self.rng.choice([1.0, 8.0, 40.0]),
            uplink_gbit=self.rng.choice([0.25, 1.0]),
            preemptions={"aws": 0.5, "gcp": 0.06, "azure": 0.05},
        )

    def make_limits(self):
        market = self.rng.choice(["on-demand", "on-demand", "spot", "any", "any", "any"])
        kind = self.rng.choice(["none"] * 12 + ["cloud", "region", "max"])
        cloud, region = self.rng.choice(self.places)
        if kind == "cloud":
            return Limits(market, cloud=cloud)
        if kind == "region":
            return Limits(market, region=region)
        return Limits(market, max_hourly=self.rng.choice(["1", "3"]) if kind == "max" else None)

    def case(self):
        self.make_places()
        self.make_external()
        case = Case(
            self.seed,
            self.make_documents(),
            self.make_offers(),
            self.make_transfers(),
            self.make_storage(),
            self.make_config(),
            self.make_limits(),
            False,
        )
        return self.shrink(case)

    def shrink(self, case):
        """Drops offers until every combination can be looked at."""
        while True:
            choices = case.model().choices
            plans = 1
            for c in choices:
                plans *= len(c)
            if plans <= self.max_plans:
                break
            del case.offers[self.rng.randrange(len(case.offers))]
        spot = any(c.market == "spot" for stage in choices for c in stage)
        return case._replace(exact_numbers=self.round_numbers and not spot)


def make_case(seed, max_stages=5, max_plans=3000):
    return Generator(seed, max_stages, max_plans).case()


def write_csv(path, columns, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def yaml_text(documents):
    """JSON values are YAML: one line a field keeps the file readable."""
    return "---\n".join(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in d.items()) for d in documents
    )


def write_case(case, directory):
    """directory/pipeline.yaml, catalog/*.csv and home/config.yaml."""
    os.makedirs(os.path.join(directory, "catalog"), exist_ok=True)
    os.makedirs(os.path.join(directory, "home"), exist_ok=True)
    with open(os.path.join(directory, "pipeline.yaml"), "w") as f:
        f.write(yaml_text(case.documents))
    for name, columns, rows in (
        ("offers", OFFER_COLUMNS, case.offers),
        ("transfers", TRANSFER_COLUMNS, case.transfers),
        ("storage", STORAGE_COLUMNS, case.storage),
    ):
        write_csv(os.path.join(directory, "catalog", name + ".csv"), columns, rows)
    config = {
        "boot_s": case.config.boot_s,
        "local_gbit": case.config.local_gbit,
        "uplink_gbit": case.config.uplink_gbit,
        "preemptions_per_hour": case.config.preemptions,
    }
    with open(os.path.join(directory, "home", "config.yaml"), "w") as f:
        f.write(f"plan: {json.dumps(config)}\n")
