"""The worker's side of training across places."""
import atexit
import http.client
import json
import os
import random
import time
import urllib.parse

from . import packing, safetensors
from .store import Passing, StoreError, check_exposed, open_store, retry

_EVENT_TIMEOUT_S = 60
# Events that no aggregator took, of rounds that are over; more than aggregators can have died of at once.
_UNTOLD_MAX = 8


class Timeout(Exception):
    """The mean did not come in time."""


class Refused(Exception):
    """The aggregator refuses what was pushed; the text says why."""


def _number(value, name, default, kind):
    text = os.environ.get(name)
    if value is not None:
        return value
    if text:
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"{name}={text!r}: write a number") from None
    if default is None:
        raise ValueError(f"{name} is not set")
    return default


class Worker:
    """One worker of a training. What is not given here comes from the environment:

    store, endpoint, region   TRADEWIND_STORE, TRADEWIND_STORE_ENDPOINT, TRADEWIND_STORE_REGION
    mean_store, ...           TRADEWIND_MEAN_STORE, ...: where the mean is, if not there
    worker, workers           TRADEWIND_WORKER (from 0), TRADEWIND_WORKERS
    event_url, event_token    TRADEWIND_EVENT_URL, TRADEWIND_EVENT_TOKEN: who is told of each push,
                              for stores that send no events themselves
    poll_s                    TRADEWIND_POLL_S, 0.1: between two looks for the mean
    patience_s                TRADEWIND_PATIENCE_S, 60: how long requests that fail are retried
    event_log                 TRADEWIND_EVENT_LOG: a file for a line of JSON on each thing done
    compression               TRADEWIND_COMPRESSION, "none": "int8" sends a byte for each number,
                              "topk:0.01" the largest hundredth of each tensor. What a push leaves out
                              is added to the next. For gradients; of a model topk would leave little
    connections               TRADEWIND_CONNECTIONS, 1: of one upload or download of more than 5 MiB each
    checkpoint                TRADEWIND_CHECKPOINT: a directory that keeps what pushes left out, for a
                              worker that is started again
    round                     the round to begin with: what was saved by one that was killed
    """

    def __init__(self, store=None, worker=None, workers=None, *, endpoint=None, region=None,
                 mean_store=None, mean_endpoint=None, mean_region=None, event_url=None,
                 event_token=None, poll_s=None, patience_s=None, event_log=None, compression=None,
                 connections=None, checkpoint=None, round=0):
        env = os.environ.get
        url = store or env("TRADEWIND_STORE")
        if not url:
            raise ValueError("TRADEWIND_STORE is not set: write s3://BUCKET/PREFIX or dir:/PATH")
        self.store = open_store(url, endpoint or env("TRADEWIND_STORE_ENDPOINT"),
                                region or env("TRADEWIND_STORE_REGION"))
        mean = mean_store or env("TRADEWIND_MEAN_STORE")
        self.mean_store = open_store(mean, mean_endpoint or env("TRADEWIND_MEAN_ENDPOINT"),
                                     mean_region or env("TRADEWIND_MEAN_REGION")) if mean else self.store
        self.worker = _number(worker, "TRADEWIND_WORKER", None, int)
        self.workers = _number(workers, "TRADEWIND_WORKERS", None, int)
        if not 0 <= self.worker < self.workers <= 10000:
            raise ValueError(f"worker {self.worker} of {self.workers}: they count from 0")
        self.event_url = event_url or env("TRADEWIND_EVENT_URL")
        if self.event_url:
            check_exposed(self.event_url)
        self.event_token = event_token or env("TRADEWIND_EVENT_TOKEN")
        self.poll_s = _number(poll_s, "TRADEWIND_POLL_S", 0.1, float)
        self.patience_s = _number(patience_s, "TRADEWIND_PATIENCE_S", 60.0, float)
        self.event_log = event_log or env("TRADEWIND_EVENT_LOG")
        self.packing, self.share = packing.parse(compression or env("TRADEWIND_COMPRESSION") or "none")
        self.connections = _number(connections, "TRADEWIND_CONNECTIONS", 1, int)
        self._about = 0  # bytes of a mean
        self.checkpoint = checkpoint or env("TRADEWIND_CHECKPOINT")
        self._rest = None  # what was left out before this round
        self.round = self._first = round
        self.counts = {"writes": 0, "reads": 0, "polls": 0, "sent_bytes": 0, "got_bytes": 0}
        self._kind = "array"
        self._untold = []  # keys whose events no aggregator took yet, the last one first
        self._next_tell = 0.0
        self._is_closed_at_exit = False
        self._mean = None  # found before it was asked for

    # ---- the two calls ----

    def push(self, gradients, samples=0):
        """Writes what this worker has to say in this round: a dictionary of tensors. samples: how many
        it comes from, for weighted rounds. One that was killed after it had pushed, and goes on with
        the same round, finds the mean there; then nothing is written, but its event told again:
        it may have been taken, or not."""
        self._kind = safetensors.kind_of(next(iter(gradients.values()), ()))
        data, left = self._pack(gradients)
        told = f".w{samples}" if samples else ""
        key = f"round-{self.round:06d}/in/worker-{self.worker:04d}{told}.safetensors"
        if not (self.round == self._first and self.round > 0 and self._look()):
            start = time.time()
            requests = retry(self.patience_s, lambda: self._put(key, data))
            self.counts["sent_bytes"] += len(data)
            self._about = self._about or len(data)
            self._log("put", start, len(data), requests)
        self._keep(left)
        self._untold = [key, *self._untold][:_UNTOLD_MAX]
        self._next_tell = 0.0
        self._tell()

    def pull(self, timeout=None):
        """Waits for the mean of this round, as a dictionary of tensors like those that were pushed, and
        goes on to the next. Timeout after so many seconds; None = waits for ever."""
        until = None if timeout is None else time.monotonic() + timeout
        while self._mean is None:
            self._tell()
            if self._look():
                break
            if until is not None and time.monotonic() >= until:
                raise Timeout(f"round {self.round}: no mean after {timeout:g} s")
            time.sleep(self.poll_s)
        mean, self._mean = self._mean, None
        self.round += 1
        if self.event_url and self._untold and not self._is_closed_at_exit:
            self._is_closed_at_exit = True
            atexit.register(self.close)
        return safetensors.loads(mean, self._kind)

    def close(self):
        """Tells of what no aggregator took yet of the rounds that are over, for patience_s and the lease of an
        aggregator that died: else what that had to delete would stay. Called when the program ends,
        too."""
        until = time.monotonic() + self.patience_s + _EVENT_TIMEOUT_S
        self._untold = [key for key in self._untold if not self._is_of_this_round(key)]
        while self.event_url and self._untold and time.monotonic() < until:
            self._tell()
            if self._untold:
                time.sleep(0.1)
        self._untold = []

    # ---- compression ----

    def _pack(self, gradients):
        """The file to be sent, and what it leaves out."""
        if not self.packing:
            return safetensors.dumps(gradients), None
        if self._rest is None:
            self._rest = self._load()
        return packing.pack(gradients, self.packing, self.share, self._rest)

    def _path(self, number):
        return os.path.join(self.checkpoint, f"tradewind-rest-{number:06d}.safetensors")

    def _load(self):
        """What was left out before one was killed: the push before this round wrote it."""
        try:
            with open(self._path(self.round), "rb") as f:
                return safetensors.loads(f.read())
        except (OSError, TypeError, ValueError):
            return {}

    def _keep(self, left):
        """The push is done. The file is for who is killed later and begins with the next round; that of
        this round stays for who begins with it once more."""
        self._rest = left
        if left is None or not self.checkpoint:
            return
        path = self._path(self.round + 1)
        with open(path + ".new", "wb") as f:
            f.write(safetensors.dumps(left))
        os.replace(path + ".new", path)
        if self.round > 0 and os.path.exists(self._path(self.round - 1)):
            os.unlink(self._path(self.round - 1))

    # ---- the store ----

    def _put(self, key, data):
        self.counts["writes"] += 1
        requests = self.store.send(key, data, self.connections)
        self.counts["writes"] += requests - 1
        return requests

    def _look(self):
        """Whether the mean is there; kept until it is asked for."""
        start = time.time()
        key = f"round-{self.round:06d}/mean"
        self._mean, requests = retry(self.patience_s, lambda: self.mean_store.fetch(
            key, self.connections, self._about))
        if self._mean is None:
            self.counts["polls"] += 1
            self._log("poll", start, 0)
            return False
        self.counts["reads"] += requests
        self.counts["got_bytes"] += len(self._mean)
        self._about = len(self._mean)
        self._log("get", start, len(self._mean), requests)
        return True

    # ---- events, where the store sends none ----

    def _tell(self):
        """Tells of the last push, and of those before, if that is still to be done. What fails is tried
        again while the mean is waited for, and in later rounds: the aggregator may be busy with it, or
        dead, and one that died with the mean written has to delete what it had read."""
        if not self.event_url or not self._untold or time.monotonic() < self._next_tell:
            return
        left, answers = [], True
        for key in self._untold:
            taken = self._is_taken(key) if answers else None
            answers = taken is not None  # each would wait as long for one that does not
            if not taken:
                left.append(key)
        self._untold = left
        self._next_tell = time.monotonic() + random.uniform(0.3, 0.6)

    def _is_of_this_round(self, key):
        return key.startswith(f"round-{self.round:06d}/")

    def _is_taken(self, key):
        """None = no answer."""
        start = time.time()
        try:
            status, text = self._post(key)
        except (OSError, http.client.HTTPException):
            status, text = None, ""
        self._log("event", start, 0)
        if status is None:
            return None
        if status not in (400, 401, 403, 422):
            return 200 <= status < 300
        if self._is_of_this_round(key):
            raise Refused(f"round {self.round}: the aggregator answers {status}: {text[:300]}")
        return True  # of a round that is over: nothing would change

    def _post(self, key):
        store, url = self.store, urllib.parse.urlsplit(self.event_url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        full = f"{store.prefix}/{key}" if store.prefix else key
        body = json.dumps({"Records": [{
            "eventVersion": "2.1", "eventSource": "tradewind", "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": store.bucket}, "object": {"key": full}}}]})
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.event_token:
            headers["Authorization"] = f"Bearer {self.event_token}"
        connection = kind(url.netloc, timeout=_EVENT_TIMEOUT_S)
        try:
            connection.request("POST", url.path or "/", body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(1 << 16).decode(errors="replace")
        finally:
            connection.close()

    def _log(self, kind, start, size, requests=1):
        if not self.event_log:
            return
        line = json.dumps({"kind": kind, "who": f"worker-{self.worker:04d}", "round": self.round,
                           "bytes": size, "requests": requests, "start": start, "end": time.time()})
        with open(self.event_log, "a", encoding="utf-8") as f:
            f.write(line + "\n")


__all__ = ["Worker", "Timeout", "Refused", "StoreError", "Passing"]
