"""Tradewind's client package: the worker's side of training across places.

    from tradewind import Worker

    worker = Worker()                      # told by the environment: TRADEWIND_STORE, ...
    while worker.round < rounds:
        ... one mini-batch; save the model and worker.round ...
        worker.push(gradients, samples=len(batch))
        mean = worker.pull()
        ... apply the mean ...

Needs Python 3.9 and nothing else; tensors may be numpy's or PyTorch's where these are installed.
"""
from .worker import Refused, Timeout, Worker
from .store import StoreError

__all__ = ["Worker", "Refused", "StoreError", "Timeout"]
