"""Files and lines that the programs of this example share."""

import os

import numpy

PIXEL_MAX = 16.0  # the values of scikit-learn's digits


def save(directory, name, images, labels):
    numpy.savez(os.path.join(directory, name + ".npz"), images=images, labels=labels)


def load(directory, name):
    with numpy.load(os.path.join(directory, name + ".npz"), allow_pickle=False) as data:
        return data["images"] / PIXEL_MAX, data["labels"]


def metric(name, step, value):
    """A point of a series: Tradewind records it with the job."""
    print(f"[TRADEWIND_METRIC] {name} {step} {value:.6g}", flush=True)
