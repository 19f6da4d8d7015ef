"""Random types, jobs and prices for the referees of policies."""


def types(rng, quotas):
    return [
        {
            "name": f"t{j}",
            "price_usd_per_hour": round(rng.uniform(0.2, 6), 3),
            "quota": rng.choice(quotas),
        }
        for j in range(rng.randint(1, 4))
    ]


def job(rng, name, types, deadlines):
    """Work for a part of the time to the deadline, which it has that often."""
    speed = rng.uniform(20, 400)
    throughput = {
        t["name"]: round(speed * rng.uniform(0.2, 2), 2) for t in types if rng.random() < 0.85
    }
    made = {"name": name, "throughput": throughput}
    if rng.random() < 0.4:
        made["gang"] = rng.choice([1, 2, 2, 3])
    slo = round(rng.choice([2, 5, 8, 8, 13]) * rng.uniform(0.9, 1), rng.choice([0, 2]))
    made["iterations"] = round(speed * slo * rng.uniform(0.05, 0.9), 1)
    if rng.random() < deadlines:
        made["slo_h"] = slo
    return made


def groups(rng, types):
    some = rng.sample(types, rng.randint(1, len(types)))
    units = {t["name"]: rng.choice([1, 2, 4]) for t in some}
    return [{"name": "g", "units": units, "quota": rng.randint(2, 12)}]


def intervals(rng, types, last_h, most):
    ends = sorted({round(rng.uniform(0.5, last_h), 1) for _ in range(rng.randint(1, most))})
    return [
        {"end_h": end, "prices": {t["name"]: round(rng.uniform(0.2, 6), 3) for t in types}}
        for end in ends
    ]


def budget(rng, jobs):
    return round(sum(rng.uniform(1, 25) for _ in jobs), 2)
