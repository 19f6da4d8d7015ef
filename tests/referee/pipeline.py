"""A pipeline as its YAML documents say it, resolved: needs, datasets, sizes, order of stages."""

from typing import NamedTuple, Optional

from catalog import LOCAL

HEADER_FIELDS = {"name", "objective", "budget", "deadline", "defaults", "execution"}
SCHEME_CLOUD = {"s3": "aws", "gs": "gcp", "az": "azure"}
UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration_s(value, bare_s=1):
    """`90s 10m 3h 2d`; a bare number counts bare_s seconds."""
    text = str(value)
    if text[-1] in UNIT_S:
        return float(text[:-1]) * UNIT_S[text[-1]]
    return float(text) * bare_s


class Dataset(NamedTuple):
    name: str  # its `from`: equal names are one dataset
    size_gb: float
    producer: Optional[int]  # the stage that makes it, else
    place: Optional[tuple]  # where it lies; (cloud, None) = region not known


class Output(NamedTuple):
    name: str
    size_gb: float
    keep_s: float


class Stage:
    def __init__(self, index, document):
        self.index = index
        self.document = document
        self.name = document.get("name", f"stage-{index + 1}")
        self.nodes = document.get("num_nodes", 1)
        self.needs = []
        self.inputs = []
        self.outputs = []
        self.resources = document.get("resources", {})
        self.estimate = document.get("estimate")
        self.setup_s = float((self.estimate or {}).get("setup", 0))
        self.checkpoint_s = duration_s(document.get("checkpoint", 0))

    @property
    def input_gb(self):
        return sum(d.size_gb for d in self.inputs)


def as_items(field, key):
    """`{NAME: gigabytes}` or a list of maps -> a list of maps."""
    if isinstance(field, dict):
        return [{key: name, "size": size} for name, size in field.items()]
    return field


class Pipeline:
    def __init__(self, documents):
        self.header = {}
        if len(documents) > 1 and set(documents[0]) <= HEADER_FIELDS:
            self.header, documents = documents[0], documents[1:]
        defaults = self.header.get("defaults", {})
        self.stages = [Stage(i, {**defaults, **d}) for i, d in enumerate(documents)]
        self.by_name = {s.name: s.index for s in self.stages}
        for stage in self.stages:
            self.resolve_needs(stage)
        self.order = self.topological()
        for index in self.order:
            self.resolve_inputs(self.stages[index])
            self.resolve_outputs(self.stages[index])

    def resolve_needs(self, stage):
        chain = self.header.get("execution") != "parallel"
        if "needs" in stage.document:
            needs = {self.by_name[n] for n in stage.document["needs"]}
        else:
            needs = {stage.index - 1} if chain and stage.index > 0 else set()
        for item in as_items(stage.document.get("inputs") or [], "from"):
            producer = self.producer(item["from"])
            if producer is not None:
                needs.add(producer)
        stage.needs = sorted(needs)

    def topological(self):
        """Needs before needers; among the stages that are ready, the first of the file."""
        order = []
        while len(order) < len(self.stages):
            order.append(
                min(
                    s.index
                    for s in self.stages
                    if s.index not in order and all(n in order for n in s.needs)
                )
            )
        return order

    def producer(self, source):
        stage, dot, _ = source.partition(".")
        return self.by_name.get(stage) if dot and "/" not in stage else None

    def resolve_inputs(self, stage):
        if "inputs" not in stage.document:
            for n in stage.needs:
                for out in self.stages[n].outputs:
                    name = f"{self.stages[n].name}.{out.name}"
                    stage.inputs.append(Dataset(name, out.size_gb, n, None))
            return
        for item in as_items(stage.document["inputs"], "from"):
            stage.inputs.append(self.dataset(item))

    def dataset(self, item):
        source = item["from"]
        producer = self.producer(source)
        if producer is not None:
            wanted = source.partition(".")[2]
            out = next(o for o in self.stages[producer].outputs if o.name == wanted)
            return Dataset(source, out.size_gb, producer, None)
        if "place" in item:
            place = LOCAL if item["place"] == "local" else tuple(item["place"].split("/"))
        elif "://" in source:
            place = (SCHEME_CLOUD[source.partition("://")[0]], None)
        else:
            place = LOCAL
        return Dataset(source, float(item["size"]), None, place)

    def resolve_outputs(self, stage):
        for item in as_items(stage.document.get("outputs") or [], "name"):
            size = item["size"]
            if isinstance(size, str) and size.endswith("x"):
                size = float(size[:-1]) * stage.input_gb
            keep_s = duration_s(item["keep"], UNIT_S["d"]) if "keep" in item else 0.0
            stage.outputs.append(Output(item["name"], float(size), keep_s))
