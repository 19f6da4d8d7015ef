"""What a plan's numbers mean: eligibility, estimates, spot expectation, cost and time.

Written straight from the description of the model, with no regard for speed, so that it can be
held against the solver."""

from math import exp, inf
from typing import NamedTuple, Optional

from catalog import Offer, half_up, microusd

TEN_YEARS_S = 10 * 365 * 86400.0
NEVER_S = 1e100  # beyond any price; only the high figure of an eligible choice could get there
BILLED_MIN_S = 60.0
MONTH_H = 730.0
GUESS_S = 3600.0
# Speed over that of a V100 of the accelerators that cases have, by docs/estimates.md: their data sheets.
GUESS_SPEED = {"t4": 0.52, "v100": 1.0, "a100": 2.5}
ESTIMATE_UNIT_S = {"hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
SPREAD_GIVEN, SPREAD_GUESSED = 0.2, 0.5


class Config(NamedTuple):
    boot_s: float = 60.0
    local_gbit: float = 10.0
    uplink_gbit: float = 0.1
    preemptions: dict = {"aws": 0.02, "gcp": 0.06, "azure": 0.05}
    preemptions_other: float = 0.03

    def preemptions_per_hour(self, cloud):
        return self.preemptions.get(cloud, self.preemptions_other)


class Limits(NamedTuple):
    """What the command line says about eligibility."""

    market: str = "on-demand"
    cloud: Optional[str] = None
    region: Optional[str] = None
    max_hourly: Optional[str] = None


class Choice(NamedTuple):
    offer: Offer
    market: str

    @property
    def price_micro(self):
        return self.offer.price[self.market]

    @property
    def key(self):
        """The order in which ties are broken."""
        o = self.offer
        return tuple(t.encode() for t in (o.cloud, o.region, o.instance_type, self.market, o.zone))


def in_amount(spec, value):
    """`4` exactly, `4+` at least, `4-8` a range, also `16GB`; an unknown value fits nothing."""
    text = str(spec).upper().replace("GB", "")
    if value is None:
        return False
    if text.endswith("+"):
        return value >= float(text[:-1])
    low, dash, high = text.partition("-")
    return float(low) <= value <= float(high) if dash else value == float(low)


def accelerator_alternatives(spec):
    if isinstance(spec, dict):
        return [(name, float(count)) for name, count in spec.items()]
    pairs = []
    for text in spec if isinstance(spec, list) else [spec]:
        name, _, count = text.partition(":")
        pairs.append((name, float(count or 1)))
    return pairs


def has_accelerator(spec, offer):
    return any(
        name.lower() == offer.accelerator.lower() and count == offer.accelerator_count
        for name, count in accelerator_alternatives(spec)
    )


def markets(resources, limits):
    use_spot = resources.get("use_spot")
    if use_spot is not None:
        return ("spot",) if use_spot else ("on-demand",)
    return ("on-demand", "spot") if limits.market == "any" else (limits.market,)


def wanted_location(resources):
    """(cloud, region, zone), None = any."""
    parts = (resources.get("infra", "").split("/") + [None] * 3)[:3]
    names = ("cloud", "region", "zone")
    return tuple(resources.get(name) or part or None for name, part in zip(names, parts))


def offer_fits(resources, limits, offer):
    for wanted, actual in zip(wanted_location(resources), offer[:3]):
        if wanted is not None and wanted != actual:
            return False
    if limits.cloud not in (None, offer.cloud) or limits.region not in (None, offer.region):
        return False
    if resources.get("instance_type") not in (None, offer.instance_type):
        return False
    if "accelerators" in resources and not has_accelerator(resources["accelerators"], offer):
        return False
    if "cpus" in resources and not in_amount(resources["cpus"], offer.vcpus):
        return False
    return "memory" not in resources or in_amount(resources["memory"], offer.memory_gib)


def price_fits(resources, limits, price_micro):
    caps = (resources.get("max_hourly_cost"), limits.max_hourly)
    return all(cap is None or price_micro <= microusd(str(cap)) for cap in caps)


def lookup(table, offer):
    """The entry of a map by instance type, else by accelerator without regard to case."""
    if offer.instance_type in table:
        return table[offer.instance_type]
    if not offer.accelerator:
        return None
    lowered = {name.lower(): value for name, value in table.items()}
    return lowered.get(offer.accelerator.lower())


def work_seconds(stage, offer):
    estimate = stage.estimate
    work = stage.input_gb if estimate["work"] == "input" else float(estimate["work"])
    lowered = {name.lower(): rate for name, rate in estimate["rate"].items()}
    if offer.accelerator and offer.accelerator.lower() in lowered:
        rate, units = lowered[offer.accelerator.lower()], offer.accelerator_count
    elif "vcpu" in lowered and offer.vcpus:
        rate, units = lowered["vcpu"], offer.vcpus
    else:
        return None
    units *= stage.nodes
    if isinstance(rate, dict):
        share = rate["parallel"]
        return work / (rate["base"] / ((1.0 - share) + share / units))
    return work / (rate * units)


def guess_speed(stage, offer):
    """How much sooner a guessed stage ends there than on a V100; 1 for stages without accelerators."""
    listed = stage.resources.get("any_of") or stage.resources.get("ordered") or []
    asks = any("accelerators" in resources for resources in [stage.resources, *listed])
    return GUESS_SPEED[offer.accelerator.lower()] if asks and offer.accelerator else 1.0


def estimate_seconds(stage, offer):
    """Seconds that `run` takes on an offer, None when the estimate does not cover it."""
    if stage.estimate is None:
        return GUESS_S / guess_speed(stage, offer)
    if "work" in stage.estimate:
        return work_seconds(stage, offer)
    for name, unit_s in ESTIMATE_UNIT_S.items():
        if name in stage.estimate:
            figure = stage.estimate[name]
            if isinstance(figure, dict):
                figure = lookup(figure, offer)
            return None if figure is None else figure * unit_s
    raise ValueError(f"{stage.name}: no form of estimate that the referee knows")


def spread(stage):
    return SPREAD_GUESSED if stage.estimate is None else SPREAD_GIVEN


def spot_seconds(run_s, rate_per_hour, restart_s, checkpoint_s):
    """Expected run time under preemptions."""
    if rate_per_hour == 0:
        return run_s
    segments = []
    if checkpoint_s > 0:
        whole = int(run_s // checkpoint_s)
        segments = [checkpoint_s] * whole
        run_s -= whole * checkpoint_s
    segments.append(run_s)
    factor_h = 1.0 / rate_per_hour + restart_s / 3600.0
    total = 0.0
    for segment in segments:
        exponent = rate_per_hour * segment / 3600.0
        if exponent > 700:
            return inf
        total += factor_h * (exp(exponent) - 1.0) * 3600.0
    return total


class Step(NamedTuple):
    """One stage on one choice with its inputs at known places. Tuples are (nominal, low, high)."""

    input_s: float
    run_s: tuple
    compute: tuple
    transfers: tuple  # per input, micro-dollars, as if nobody else had paid


class StagePlan(NamedTuple):
    choice: Choice
    start_s: float
    finish_s: float
    boot_s: float
    setup_s: float
    input_s: float
    run_s: float
    compute: int
    transfer: int
    storage: int


class Plan(NamedTuple):
    cost: int
    time: float
    stages: tuple  # of StagePlan, file order


NOMINAL, LOW, HIGH = 0, 1, 2


class Model:
    def __init__(self, catalog, pipeline, config=Config(), limits=Limits()):
        self.catalog = catalog
        self.pipeline = pipeline
        self.config = config
        self.limits = limits
        self.choices = [self.stage_choices(s) for s in pipeline.stages]
        self.links = {}
        self.steps = {}

    def stage_choices(self, stage):
        """Eligible choices in the order of ties, each once."""
        resources = stage.resources
        base = {k: v for k, v in resources.items() if k not in ("any_of", "ordered")}
        alternatives = resources.get("any_of") or resources.get("ordered") or [{}]
        found = {}
        for alternative in alternatives:
            for choice in self.eligible(stage, {**base, **alternative}):
                found[choice.key] = choice
            if found and "ordered" in resources:
                break
        return [found[key] for key in sorted(found)]

    def eligible(self, stage, resources):
        for offer in self.catalog.offers:
            if not offer_fits(resources, self.limits, offer):
                continue
            if estimate_seconds(stage, offer) is None:
                continue
            for market in markets(resources, self.limits):
                price = offer.price.get(market)
                if price is not None and price_fits(resources, self.limits, price):
                    yield Choice(offer, market)

    def link(self, src, dst):
        if (src, dst) not in self.links:
            self.links[src, dst] = self.catalog.link(src, dst, self.config.uplink_gbit)
        return self.links[src, dst]

    @staticmethod
    def same_place(src, dst):
        """A dataset of a cloud whose region nobody said is wherever that cloud reads it."""
        return src == dst or (src[1] is None and src[0] == dst[0])

    def arrive(self, dataset, src, dst):
        """(seconds, micro-dollars) of bringing a dataset, None when there is no way."""
        if self.same_place(src, dst):
            return 8.0 * dataset.size_gb / self.config.local_gbit, 0
        link = self.link(src, dst)
        return link and (link.seconds(dataset.size_gb), link.micro(dataset.size_gb))

    def step(self, stage, choice, sources):
        """sources: the place of each input, in order. None = not possible."""
        key = (stage.index, choice.key, sources)
        if key not in self.steps:
            self.steps[key] = self.compute_step(stage, choice, sources)
        return self.steps[key]

    def compute_step(self, stage, choice, sources):
        offer = choice.offer
        moves = [self.arrive(d, s, offer.place) for d, s in zip(stage.inputs, sources)]
        if None in moves:
            return None
        input_s = max((seconds for seconds, _ in moves), default=0.0)
        timed = self.timed(stage, choice, input_s)
        return timed and Step(input_s, *timed, tuple(micro for _, micro in moves))

    def timed(self, stage, choice, input_s):
        """(run seconds, compute) once all inputs are there after input_s, None = not possible."""
        base_s, width = estimate_seconds(stage, choice.offer), spread(stage)
        runs, computes = [], []
        for factor in (1.0, 1.0 - width, 1.0 + width):
            run_s = self.expected_run(stage, choice, base_s * factor, input_s)
            billed_s = max(BILLED_MIN_S, stage.setup_s + input_s + run_s)
            runs.append(run_s)
            dollars = stage.nodes * (choice.price_micro / 1e6) * billed_s / 3600.0
            computes.append(half_up(dollars) if run_s < NEVER_S else inf)
        if runs[NOMINAL] > TEN_YEARS_S and choice.market == "spot":
            return None
        return tuple(runs), tuple(computes)

    def expected_run(self, stage, choice, run_s, input_s):
        if choice.market != "spot":
            return run_s
        rate = choice.offer.preemptions
        if rate is None:
            rate = self.config.preemptions_per_hour(choice.offer.cloud)
        restart_s = self.config.boot_s + stage.setup_s + input_s
        return spot_seconds(run_s, stage.nodes * rate, restart_s, stage.checkpoint_s)

    def storage(self, stage, place):
        price = self.catalog.storage_usd_per_gb_month(place)
        return sum(
            half_up(out.size_gb * price * (out.keep_s / 3600.0) / MONTH_H)
            for out in stage.outputs
            if out.keep_s > 0
        )

    def sources(self, stage, assigned):
        """Where each input lies once the stages before it have their choices (by index)."""
        return tuple(
            d.place if d.producer is None else assigned[d.producer].offer.place
            for d in stage.inputs
        )

    def evaluate(self, choices, level=NOMINAL):
        """The plan that gives each stage (file order) its choice; None when it does not exist."""
        stages = self.pipeline.stages
        done = [None] * len(stages)
        paid = set()
        for index in self.pipeline.order:
            stage, choice = stages[index], choices[index]
            step = self.step(stage, choice, self.sources(stage, choices))
            if step is None:
                return None
            transfer = 0
            for dataset, micro in zip(stage.inputs, step.transfers):
                if (dataset.name, choice.offer.place) not in paid:
                    paid.add((dataset.name, choice.offer.place))
                    transfer += micro
            start = max((done[n].finish_s for n in stage.needs), default=0.0)
            boot_s, run_s = self.config.boot_s, step.run_s[level]
            done[index] = StagePlan(
                choice,
                start,
                start + boot_s + stage.setup_s + step.input_s + run_s,
                boot_s,
                stage.setup_s,
                step.input_s,
                run_s,
                step.compute[level],
                transfer,
                self.storage(stage, choice.offer.place),
            )
        cost = sum(s.compute + s.transfer + s.storage for s in done)
        return Plan(cost, max(s.finish_s for s in done), tuple(done))
