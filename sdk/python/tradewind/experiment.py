"""What a job tells Tradewind about itself: metrics, tags and its parameters.

    from tradewind import experiment

    rate = float(experiment.param("LR", 0.1))
    for step in range(100):
        experiment.metric("loss", step, loss)
        experiment.metrics(step, loss=loss, accuracy=accuracy)
    experiment.tag("model", "BERT")
    experiment.tag("rows", 12, set="Data")

Metrics and tags are lines of the job's log, so they work wherever the job runs; outside of a job they are
just printed."""

import os
import sys


def _tell(line):
    if "\n" in line or "\r" in line:
        raise ValueError("metrics and tags are single lines: %r" % line)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _word(name):
    if not name or any(c.isspace() for c in name):
        raise ValueError("a name has no blanks: %r" % (name,))
    return name


def metric(name, step, value):
    """One point of a series. value may be NaN or infinite."""
    _tell("[TRADEWIND_METRIC] %s %r %r" % (_word(name), float(step), float(value)))


def metrics(step, **values):
    """Points of several series at one step."""
    for name, value in values.items():
        metric(name, step, value)


def tag(key, value, set=None):
    """A tag of the job and its output; of a set that the job reads or makes, if one is named."""
    where = "%s " % _word(set) if set else ""
    _tell("[TRADEWIND_TAG] %s%s:%s" % (where, _word(key), value))


def param(name, default=None):
    """A parameter of the job: a variable that its stage, or --env, sets."""
    return os.environ.get(name, default)
