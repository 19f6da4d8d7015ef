"""Objects under keys in an S3 bucket (s3://BUCKET/PREFIX) or a directory (dir:/PATH)."""
import concurrent.futures
import configparser
import copy
import datetime
import fcntl
import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import pathlib
import random
import re
import secrets
import socket
import time
import urllib.parse

_TIMEOUT_S = 60
# Stores take no smaller parts of an upload, but for the last.
PART_LEAST = 5 << 20


class StoreError(Exception):
    """The store refuses, or still fails when the time for retries is over."""


class Passing(Exception):
    """An error that may pass."""


def check_exposed(url):
    """ValueError for http:// to another machine, where others can read and change what is sent."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or os.environ.get("TRADEWIND_INSECURE") == "1":
        return
    try:
        if parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback:
            return
    except ValueError:
        pass
    raise ValueError(f"http://{parts.hostname}: others can read and change on the way what goes over http://: "
                     "write https://, or allow it with TRADEWIND_INSECURE=1")


def open_store(url, endpoint=None, region=None):
    if url.startswith("s3://"):
        return S3(url, endpoint, region)
    if url.startswith("dir:/"):
        return Directory(url[4:])
    raise ValueError(f"{url!r} is not the URL of a store; give s3://BUCKET/PREFIX or dir:/PATH")


def retry(limit_s, work):
    """work() until it does not raise Passing; StoreError when limit_s have passed since the first error: a
    request that took as long itself is retried once."""
    until, wait = None, 0.1
    while True:
        try:
            return work()
        except Passing as e:
            until = until or time.monotonic() + limit_s
            if time.monotonic() + wait > until:
                raise StoreError(f"{e}; gave up after {limit_s:g} s") from e
        time.sleep(wait * random.uniform(0.5, 1))
        wait = min(wait * 2, 3)


class _Store:
    def get(self, key):
        """The content, or None."""
        return self.fetch(key)[0]

    def put(self, key, data):
        self.send(key, data)


class Directory(_Store):
    """Files below a directory. A new one is written aside, locked, synced and renamed."""

    bucket = ""

    def __init__(self, path):
        self.root = pathlib.Path(path)
        self.prefix = ""

    def fetch(self, key, connections=1, about=0):
        """The content, or None; and how many requests that took."""
        try:
            return (self.root / key).read_bytes(), 1
        except (FileNotFoundError, NotADirectoryError):
            return None, 1

    def send(self, key, data, connections=1):
        """How many requests it took."""
        target, aside = self.root / key, self.root / ".tmp"
        while True:
            aside.mkdir(parents=True, exist_ok=True)
            draft = aside / secrets.token_hex(8)
            with open(draft, "xb") as f:
                fcntl.flock(f, fcntl.LOCK_EX)
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
                try:
                    # Others remove drafts without a lock, and directories that are empty.
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(draft, target)
                    return 1
                except FileNotFoundError:
                    continue


def parts_of(size, connections):
    """How many parts something is sent or read in, a connection each."""
    return max(1, min(connections, size // PART_LEAST))


class _Keys:
    """Access keys where AWS's tools find them."""

    def __init__(self):
        self.id = None
        self.expires = None

    def get(self):
        if self.id and (self.expires is None or time.time() < self.expires - 300):
            return self.id, self.secret, self.token
        self.expires = None
        if not (self._environment() or self._file() or self._instance()):
            raise StoreError("no access keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        return self.id, self.secret, self.token

    def _take(self, key_id, secret, token):
        self.id, self.secret, self.token = key_id, secret, token
        return bool(key_id and secret)

    def _environment(self):
        env = os.environ
        return self._take(env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY"),
                          env.get("AWS_SESSION_TOKEN"))

    def _file(self):
        path = os.environ.get("AWS_SHARED_CREDENTIALS_FILE",
                              os.path.expanduser("~/.aws/credentials"))
        parser = configparser.ConfigParser(interpolation=None)
        profile = os.environ.get("AWS_PROFILE", "default")
        if not parser.read(path) or profile not in parser:
            return False
        part = parser[profile]
        return self._take(part.get("aws_access_key_id"), part.get("aws_secret_access_key"),
                          part.get("aws_session_token"))

    def _instance(self):
        """The role of the machine, from its metadata service (version 2)."""
        if os.environ.get("AWS_EC2_METADATA_DISABLED") == "true":
            return False
        path = "/latest/meta-data/iam/security-credentials/"
        try:
            token = self._ask("PUT", "/latest/api/token",
                              {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
            headers = {"X-aws-ec2-metadata-token": token}
            role = self._ask("GET", path, headers).split("\n")[0]
            found = json.loads(self._ask("GET", path + role, headers))
            then = datetime.datetime.strptime(found["Expiration"], "%Y-%m-%dT%H:%M:%SZ")
            self.expires = then.replace(tzinfo=datetime.timezone.utc).timestamp()
            return self._take(found["AccessKeyId"], found["SecretAccessKey"], found["Token"])
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False

    @staticmethod
    def _ask(method, path, headers):
        connection = http.client.HTTPConnection("169.254.169.254", timeout=2)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            text = answer.read(1 << 16).decode()
            if answer.status != 200:
                raise OSError(f"metadata service: {answer.status}")
            return text
        finally:
            connection.close()


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class S3(_Store):
    """A bucket, with requests signed by version 4. One connection, which is kept."""

    def __init__(self, url, endpoint, region):
        self.bucket, _, prefix = url[5:].partition("/")
        self.prefix = prefix.rstrip("/")
        self.region = (region or os.environ.get("AWS_REGION") or
                       os.environ.get("AWS_DEFAULT_REGION") or "us-east-1")
        self.keys = _Keys()
        self.connection, self.others = None, []
        if endpoint:
            parts = urllib.parse.urlsplit(endpoint)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
                raise ValueError(f"endpoint {endpoint!r}: write https://HOST or http://HOST:PORT")
            check_exposed(endpoint)
            self.secure, self.host, self.path = parts.scheme == "https", parts.netloc, "/" + self.bucket
        else:
            self.secure, self.host, self.path = True, f"s3.{self.region}.amazonaws.com", ""
            # The certificate does not cover names with more dots.
            if "." in self.bucket:
                self.path = "/" + self.bucket
            else:
                self.host = f"{self.bucket}.{self.host}"

    def fetch(self, key, connections=1, about=0):
        """The content, or None; and how many requests that took. In so many ranges, if it has about so many
        bytes: the first says whether it is there."""
        n = parts_of(about, connections)
        first = self._range(key, 0, about // n if n > 1 else None)
        if first is None or n == 1:
            return first, 1
        edges = [about * i // n for i in range(1, n)] + [None]
        rest = self._each(lambda s, i: s._range(key, edges[i], edges[i + 1]), n - 1)
        if None in rest:
            raise Passing(f"s3://{self.bucket}/{key} is gone while it is read")
        return b"".join([first, *rest]), n

    def send(self, key, data, connections=1):
        """How many requests it took."""
        n = parts_of(len(data), connections)
        if n == 1:
            self._good("write", "PUT", key, data)
            return 1
        begun = self._good("write", "POST", key, b"", "uploads=")[0]
        found = re.search(rb"<UploadId>([^<]+)</UploadId>", begun)
        if not found:
            raise StoreError(f"write s3://{self.bucket}/{key}: the server gives the upload no id")
        upload = "uploadId=" + urllib.parse.quote(found[1].decode(), safe="-_.~")
        edges = [len(data) * i // n for i in range(n + 1)]

        def send_part(s, i):
            part = data[edges[i]:edges[i + 1]]
            return s._good("write", "PUT", key, part, f"partNumber={i + 1}&{upload}")[1]["ETag"]
        try:
            tags = self._each(send_part, n)
            told = "".join(f"<Part><PartNumber>{i + 1}</PartNumber><ETag>{tag}</ETag></Part>"
                           for i, tag in enumerate(tags))
            body = f"<CompleteMultipartUpload>{told}</CompleteMultipartUpload>".encode()
            answer = self._good("write", "POST", key, body, upload)[0]
            if b"<Error>" in answer:
                raise Passing(self._said("write", key, 200, answer))
        except (StoreError, Passing):
            # Parts of what was given up would bill for ever.
            self._send("DELETE", key, b"", upload)
            raise
        return n + 2

    def _range(self, key, begin, end):
        """Bytes from begin up to end (None = all that follow), or None where there is no such object."""
        whole = not begin and end is None
        last = "" if end is None else end - 1
        headers = {} if whole else {"Range": f"bytes={begin}-{last}"}
        status, body, _ = self._send("GET", key, b"", headers=headers)
        if status == 404 and b"NoSuchBucket" not in body:
            return None
        if status == 416:  # it is shorter
            return b""
        if status not in (200, 206) or (status == 200 and begin):
            raise StoreError(self._said("read", key, status, body))
        return body

    def _each(self, work, n):
        """work(store, i) for all i at once, over a connection each, which are kept."""
        while len(self.others) < n - 1:
            self.others.append(copy.copy(self))
            self.others[-1].connection = None
        stores = [self, *self.others]
        with concurrent.futures.ThreadPoolExecutor(n) as pool:
            return list(pool.map(lambda i: work(stores[i], i), range(n)))

    def _good(self, what, method, key, data, query=""):
        status, body, headers = self._send(method, key, data, query)
        if status != 200:
            raise StoreError(self._said(what, key, status, body))
        return body, headers

    def _said(self, what, key, status, body):
        return f"{what} s3://{self.bucket}/{key}: the server answers {status} {body[:200]!r}"

    def _sign(self, method, path, payload, query=""):
        key_id, secret, token = self.keys.get()
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        headers = {"host": self.host, "x-amz-content-sha256": payload, "x-amz-date": stamp}
        if token:
            headers["x-amz-security-token"] = token
        names = ";".join(sorted(headers))
        lines = "".join(f"{n}:{headers[n]}\n" for n in sorted(headers))
        canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"
        scope = f"{day}/{self.region}/s3/aws4_request"
        text = (f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n"
                f"{hashlib.sha256(canonical.encode()).hexdigest()}")
        signing = _hmac(_hmac(_hmac(_hmac(("AWS4" + secret).encode(), day), self.region), "s3"),
                        "aws4_request")
        signature = hmac.new(signing, text.encode(), hashlib.sha256).hexdigest()
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, "
                                    f"SignedHeaders={names}, Signature={signature}")
        return headers

    def _send(self, method, key, data, query="", headers=None):
        """Status, body and headers of the answer. query: names in order, encoded."""
        path = self.path + "/" + urllib.parse.quote(f"{self.prefix}/{key}" if self.prefix else key,
                                                    safe="/-_.~")
        signed = self._sign(method, path, hashlib.sha256(data).hexdigest(), query)
        kept = self.connection is not None
        if not kept:
            kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
            self.connection = kind(self.host, timeout=_TIMEOUT_S)
        try:
            self.connection.request(method, path + (f"?{query}" if query else ""), body=data or None,
                                    headers={**signed, **(headers or {})})
            answer = self.connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException, socket.timeout) as e:
            self.close()
            # A connection that was kept may have been closed meanwhile: that says nothing.
            if kept:
                return self._send(method, key, data, query, headers)
            raise Passing(f"s3://{self.bucket}/{key}: {e!r}") from e
        if answer.getheader("Connection", "").lower() == "close":
            self.close()
        if answer.status in (429, 500, 502, 503, 504) or b"<Code>SlowDown" in body[:500]:
            raise Passing(self._said("reach", key, answer.status, body))
        return answer.status, body, answer.headers

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
