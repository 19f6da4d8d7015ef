"""The package by itself: files of tensors, stores, and a worker with an aggregator made up here."""
import array
import http.server
import json
import os
import pathlib
import struct
import tempfile
import threading
import time
import unittest
from unittest import mock

from tradewind import Refused, StoreError, Timeout, Worker, packing, safetensors
from tradewind.store import Passing, S3, open_store, retry

try:
    import numpy
except ImportError:
    numpy = None


class Safetensors(unittest.TestCase):
    def test_layout(self):
        # byte by byte, as the format has it
        data = safetensors.dumps({"b": [1.0, -2.0]})
        (n,) = struct.unpack("<Q", data[:8])
        self.assertEqual(json.loads(data[8:8 + n]),
                         {"b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})
        self.assertEqual(n % 8, 0)
        self.assertEqual(data[8 + n:], bytes.fromhex("0000803f000000c0"))

    def test_round_trip(self):
        tensors = {"w": array.array("f", [0.5, 1.5, -3.0]), "d": array.array("d", [1e300]),
                   "none": array.array("f")}
        self.assertEqual(safetensors.loads(safetensors.dumps(tensors)), tensors)

    def test_small_numbers(self):
        def file_of(dtype, hexes):
            data = bytes.fromhex(hexes)
            header = json.dumps({"x": {"dtype": dtype, "shape": [len(data) // 2],
                                       "data_offsets": [0, len(data)]}}).encode()
            return struct.pack("<Q", len(header)) + header + data
        # 1.0 and -2.0 in IEEE half precision, and in the upper half of single precision
        self.assertEqual(list(safetensors.loads(file_of("F16", "003c00c0"))["x"]), [1.0, -2.0])
        self.assertEqual(list(safetensors.loads(file_of("BF16", "803f00c0"))["x"]), [1.0, -2.0])

    def test_damaged(self):
        good = safetensors.dumps({"w": [1.0, 2.0]})
        for bad in (b"", good[:5], good[:20], good[:-1], struct.pack("<Q", 1 << 60) + good[8:],
                    good.replace(b"F32", b"X32"), good.replace(b"[2]", b"[3]")):
            with self.assertRaises(ValueError):
                safetensors.loads(bad)
        with self.assertRaises(TypeError):
            safetensors.dumps({"w": array.array("i", [1])})

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy(self):
        tensors = {"m": numpy.arange(6, dtype="f4").reshape(2, 3), "h": numpy.array([0.5], dtype="f2"),
                   "t": numpy.arange(6, dtype="f8").reshape(2, 3).T}
        back = safetensors.loads(safetensors.dumps(tensors), "numpy")
        for name, value in tensors.items():
            self.assertEqual(back[name].dtype, value.dtype)
            self.assertTrue((back[name] == value).all() and back[name].shape == value.shape)
        with self.assertRaises(TypeError):
            safetensors.dumps({"i": numpy.array([1])})


class Exposed(unittest.TestCase):
    def test_exposed(self):
        """http:// to another machine, for stores and events, only where that is allowed."""
        for url in ("http://example.org", "http://10.0.0.1:9000", "http://127.0.0.1@example.org",
                    "http://169.254.169.254"):
            with self.assertRaisesRegex(ValueError, "TRADEWIND_INSECURE=1"):
                open_store("s3://bucket/x", url)
            with tempfile.TemporaryDirectory() as d, self.assertRaisesRegex(ValueError, "http://"):
                Worker("dir:" + d, 0, 1, event_url=url)
            with mock.patch.dict(os.environ, {"TRADEWIND_INSECURE": "1"}):
                open_store("s3://bucket/x", url)
        for url in ("https://example.org", "http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"):
            open_store("s3://bucket/x", url)


class Packing(unittest.TestCase):
    def body(self, data):
        (n,) = struct.unpack("<Q", data[:8])
        return json.loads(data[8:8 + n]), data[8 + n:]

    def test_int8(self):
        # The largest is 127, so that a step is 1; halves go to the even one.
        data, left = packing.pack({"w": [127.0, -64.0, 0.5, 1.5]}, "int8", 0, {})
        header, body = self.body(data)
        self.assertEqual(header["w"], {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]})
        self.assertEqual(json.loads(header["__metadata__"]["tradewind.packing"]),
                         {"kind": "int8", "tensors": {"w": {"scale": 1.0}}})
        self.assertEqual(body, bytes.fromhex("7fc00002"))
        self.assertEqual(list(safetensors.loads(data)["w"]), [127.0, -64.0, 0.0, 2.0])
        self.assertEqual(list(left["w"]), [0.0, 0.0, 0.5, -0.5])
        # 0.5 of before and 0.5 now are a step.
        data, left = packing.pack({"w": [127.0, 0.0, 0.5, 0.0]}, "int8", 0, left)
        self.assertEqual(list(safetensors.loads(data)["w"]), [127.0, 0.0, 1.0, 0.0])
        self.assertEqual(list(left["w"]), [0.0, 0.0, 0.0, -0.5])

    def test_topk(self):
        data, left = packing.pack({"w": [1.0, -5.0, 0.0, 3.0, 0.25]}, "topk", 0.3, {})
        header, body = self.body(data)
        self.assertEqual(header["w"]["shape"], [2, 2])
        self.assertEqual(json.loads(header["__metadata__"]["tradewind.packing"]),
                         {"kind": "topk", "tensors": {"w": {"shape": [5], "counts": [2]}}})
        self.assertEqual(body, bytes.fromhex("01000000" "0000a0c0" "03000000" "00004040"))
        self.assertEqual(list(safetensors.loads(data)["w"]), [0.0, -5.0, 0.0, 3.0, 0.0])
        self.assertEqual(list(left["w"]), [1.0, 0.0, 0.0, 0.0, 0.25])

    def test_feedback(self):
        """Whatever is left out comes later: what was sent and what is left are all there was."""
        sent, left = [0.0] * 6, {}
        for _ in range(12):
            data, left = packing.pack({"w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, "topk", 0.2, left)
            sent = [a + b for a, b in zip(sent, safetensors.loads(data)["w"])]
        self.assertEqual([a + b for a, b in zip(sent, left["w"])], [12.0, 24.0, 36.0, 48.0, 60.0, 72.0])
        self.assertTrue(all(sent))

    def test_many(self):
        """Over several chunks, with numpy and without."""
        numbers = array.array("f", [((i * 7919) % 20011 - 10005) / 64 for i in range(20011)])
        for kind, share in (("int8", 0), ("topk", 0.01)):
            data, left = packing.pack({"w": numbers}, kind, share, {})
            back = safetensors.loads(data)["w"]
            self.assertEqual([a - b for a, b in zip(numbers, back)], list(left["w"]))
            if kind == "topk":
                self.assertEqual(sum(map(bool, back)), 201)
                self.assertEqual(min(abs(v) for v in back if v), 9905 / 64)

    def test_refused(self):
        for text in ("zip", "topk", "topk:0", "topk:2", "topk:x", ""):
            with self.assertRaisesRegex(ValueError, "is not a compression"):
                packing.parse(text)
        self.assertEqual(packing.parse("topk:0.25"), ("topk", 0.25))
        with self.assertRaisesRegex(ValueError, "tensor 'w': .* NaN or infinite"):
            packing.pack({"w": [1.0, float("nan")]}, "int8", 0, {})
        good = packing.pack({"w": [9.0, 0.0, 0.0, 0.0]}, "topk", 0.25, {})[0]
        with self.assertRaises(ValueError):
            safetensors.loads(good[:-8] + b"\x04" + good[-7:])


class Stores(unittest.TestCase):
    def test_directory(self):
        with tempfile.TemporaryDirectory() as d:
            store = open_store(f"dir:{d}/s")
            self.assertIsNone(store.get("a/b"))
            store.put("a/b", b"one")
            store.put("a/b", b"two")
            self.assertEqual(store.get("a/b"), b"two")
            self.assertEqual([p.name for p in pathlib.Path(d).rglob("*") if p.is_file()], ["b"])

    def test_bad_urls(self):
        for url in ("ftp://x", "dir:relative", "nothing"):
            with self.assertRaises(ValueError):
                open_store(url)
        with self.assertRaises(ValueError):
            open_store("s3://bucket", "localhost:9000")

    def test_signature(self):
        # The keys of Amazon's examples; the signature was computed apart, with openssl dgst.
        env = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
               "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SESSION_TOKEN": ""}
        with mock.patch.dict(os.environ, env), mock.patch("tradewind.store.datetime") as clock:
            clock.datetime.now.return_value.strftime = lambda f: {"%Y%m%d": "20130524"}.get(f, "20130524T000000Z")
            s = S3("s3://examplebucket", None, "us-east-1")
            s.host = "examplebucket.s3.amazonaws.com"
            headers = s._sign("GET", "/test.txt", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        self.assertEqual(
            headers["Authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
            "Signature=df548e2ce037944d03f3e68682813b093763996d597cf890ca3d9037fd231eb4")
        self.assertNotIn("wJalr", str(headers))

    def test_retries(self):
        tries = []

        def fails():
            tries.append(1)
            raise Passing("busy")
        with self.assertRaises(StoreError):
            retry(0.3, fails)
        self.assertGreater(len(tries), 1)

        def hangs():
            tries.append(1)
            time.sleep(0.4)
            raise Passing("no answer")
        tries = []
        with self.assertRaises(StoreError):
            retry(0.3, hangs)
        self.assertEqual(len(tries), 2, "one that was waited for as long is tried once more")
        with mock.patch.dict(os.environ, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}):
            with self.assertRaises(Passing):
                S3("s3://bucket", "http://127.0.0.1:1", None).get("x")


class Aggregator(http.server.ThreadingHTTPServer):
    """Answers events with what the test says, and keeps them."""

    def __init__(self, *statuses, then=None):
        """then() is called before the last of the statuses is sent."""
        events = self.events = []
        answers = list(statuses)

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                events.append((json.loads(body), self.headers.get("Authorization")))
                if then and len(answers) == 1:
                    then()
                self.send_response(answers.pop(0) if answers else 200)
                self.send_header("Content-Length", "3")
                self.end_headers()
                self.wfile.write(b"why")
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def rounds(self):
        return [int(event["Records"][0]["s3"]["object"]["key"].split("/")[0][6:])
                for event, _ in self.events]


class Workers(unittest.TestCase):
    def setUp(self):
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        self.root = pathlib.Path(d.name)
        self.log = self.root / "log"

    def worker(self, **more):
        return Worker(f"dir:{self.root}/store", 3, 8, poll_s=0.01, event_log=str(self.log), **more)

    def mean(self, round_, tensors):
        path = self.root / f"store/round-{round_:06d}/mean"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(safetensors.dumps(tensors))

    def files(self):
        return sorted(str(p.relative_to(self.root / "store")) for p in (self.root / "store").rglob("*")
                      if p.is_file())

    def test_round(self):
        w = self.worker()
        w.push({"g": [1.0, 2.0]}, samples=128)
        self.assertEqual(self.files(), ["round-000000/in/worker-0003.w128.safetensors"])
        with self.assertRaises(Timeout):
            w.pull(timeout=0.05)
        self.mean(0, {"g": [3.0, 4.0]})
        self.assertEqual(list(w.pull()["g"]), [3.0, 4.0])
        self.assertEqual(w.round, 1)
        self.assertEqual((w.counts["writes"], w.counts["reads"]), (1, 1))
        self.assertGreaterEqual(w.counts["polls"], 1)
        kinds = [json.loads(line)["kind"] for line in self.log.read_text().splitlines()]
        self.assertEqual(kinds, ["put"] + ["poll"] * w.counts["polls"] + ["get"])

    def test_resumed(self):
        self.mean(5, {"g": [7.0]})
        w = self.worker(round=5)
        w.push({"g": [1.0]})
        self.assertEqual(self.files(), ["round-000005/mean"])
        self.assertEqual(list(w.pull()["g"]), [7.0])
        w.push({"g": [1.0]})
        self.assertIn("round-000006/in/worker-0003.safetensors", self.files())

    def test_compressed(self):
        def sent(number):
            path = self.root / f"store/round-{number:06d}/in/worker-0003.safetensors"
            return list(safetensors.loads(path.read_bytes())["g"])
        options = {"compression": "topk:0.3", "checkpoint": str(self.root)}
        w = self.worker(**options)
        w.push({"g": [4.0, 3.0, 1.0]})
        self.mean(0, {"g": [1.0, 1.0, 1.0]})
        w.pull()
        self.assertEqual(sent(0), [4.0, 0.0, 0.0])
        w.push({"g": [4.0, 3.0, 1.0]})
        self.assertEqual(sent(1), [0.0, 6.0, 0.0])
        # Killed, and in round 1 once more: the same is sent.
        (self.root / "store/round-000001/in/worker-0003.safetensors").unlink()
        w = self.worker(round=1, **options)
        w.push({"g": [4.0, 3.0, 1.0]})
        self.assertEqual(sent(1), [0.0, 6.0, 0.0])
        # Killed when the mean was there: nothing is sent, and what was left out is known.
        self.mean(1, {"g": [1.0, 1.0, 1.0]})
        w = self.worker(round=1, **options)
        w.push({"g": [4.0, 3.0, 1.0]})
        w.pull()
        w.push({"g": [4.0, 3.0, 1.0]})
        self.assertEqual(sent(2), [8.0, 0.0, 0.0])

    def test_events(self):
        a = Aggregator(503, 200, then=lambda: self.mean(0, {"g": [2.0]}))
        self.addCleanup(a.server_close)
        w = self.worker(event_url=a.url, event_token="hush")
        w.push({"g": [1.0]})
        self.assertEqual(list(w.pull(timeout=60)["g"]), [2.0])
        self.assertEqual(len(a.events), 2, "one that was not taken is sent again")
        event, token = a.events[0]
        self.assertEqual(event["Records"][0]["s3"]["object"]["key"], "round-000000/in/worker-0003.safetensors")
        self.assertEqual(token, "Bearer hush")
        self.assertNotIn("hush", self.log.read_text())

    def test_not_taken(self):
        # The aggregator dies with the mean written: its event is told until an aggregator takes it.
        a = Aggregator(503, 503, 503)
        self.addCleanup(a.server_close)
        self.mean(0, {"g": [2.0]})
        self.mean(1, {"g": [2.0]})
        w = self.worker(event_url=a.url)
        w.push({"g": [1.0]})
        w.pull()
        w.push({"g": [1.0]})
        w.pull()
        self.assertEqual(a.rounds(), [0, 1, 0])
        w.close()
        self.assertEqual(a.rounds(), [0, 1, 0, 1, 0])
        # Killed, and started again when the mean was there.
        w = self.worker(event_url=a.url, round=1)
        w.push({"g": [1.0]})
        self.assertEqual(a.rounds(), [0, 1, 0, 1, 0, 1])

    def test_nobody_answers(self):
        # Each event would wait as long: after the first the others are left for the next time.
        self.mean(0, {"g": [2.0]})
        w = self.worker(event_url="http://127.0.0.1:9/", patience_s=0)
        with mock.patch.object(w, "_post", side_effect=TimeoutError) as post:
            w.push({"g": [1.0]})
            w.pull()
            before = post.call_count
            w.push({"g": [1.0]})
            self.assertEqual(post.call_count - before, 1)
            self.assertEqual(len(w._untold), 2)
        w._untold = []

    def test_refused(self):
        a = Aggregator(422)
        self.addCleanup(a.server_close)
        with self.assertRaisesRegex(Refused, "422: why"):
            self.worker(event_url=a.url).push({"g": [1.0]})

    def test_settings(self):
        with mock.patch.dict(os.environ, {}, clear=True):
            with self.assertRaisesRegex(ValueError, "TRADEWIND_STORE is not set"):
                Worker()
            with self.assertRaisesRegex(ValueError, "TRADEWIND_WORKER is not set"):
                Worker("dir:/x")
            with self.assertRaisesRegex(ValueError, "they count from 0"):
                Worker("dir:/x", 4, 4)

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy(self):
        w = self.worker()
        w.push({"g": numpy.ones((2, 2), dtype="f4")})
        self.mean(0, {"g": numpy.zeros((2, 2), dtype="f4")})
        self.assertEqual(w.pull()["g"].shape, (2, 2))


if __name__ == "__main__":
    unittest.main()
