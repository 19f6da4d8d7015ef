#!/usr/bin/env python3
"""The aggregator as a function: what each cloud sends it, laid out after the clouds' own documentation,
what it answers, and that nothing makes it average a round twice or never."""
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import ssl
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from aggregator import *  # noqa: E402,F403

if not PROGRAM.exists():
    skip_all(f"{PROGRAM} is not built")


def environment(store, workers, **more):
    return {"TRADEWIND_STORE": f"dir:{store}", "TRADEWIND_WORKERS": str(workers), **more}


# ---- settings ----

def refused(part, **env):
    p = subprocess.run([PROGRAM], env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True)
    if not check(p.returncode == 2 and part in p.stderr, f"refused: {part}"):
        print(f"# {p.returncode} {p.stderr}")


def check_settings(scratch):
    store = f"dir:{scratch.path}/settings"
    good = {"TRADEWIND_STORE": store, "TRADEWIND_WORKERS": "4", "PORT": "0"}
    refused("TRADEWIND_WORKERS", **{**good, "TRADEWIND_WORKERS": "none"})
    refused("TRADEWIND_WORKERS", TRADEWIND_STORE=store, PORT="0")
    refused("TRADEWIND_STORE is not set", TRADEWIND_WORKERS="4", PORT="0")
    refused("is not the URL of a store", **{**good, "TRADEWIND_STORE": "ftp://x"})
    refused("TRADEWIND_QUORUM", **good, TRADEWIND_QUORUM="5")
    refused("TRADEWIND_KEEP_MEANS", **good, TRADEWIND_KEEP_MEANS="yes")
    refused("TRADEWIND_WEIGHTED", **good, TRADEWIND_WEIGHTED="yes")
    refused("TRADEWIND_UP_WORKER", **good, TRADEWIND_UP_STORE=store)
    refused("TRADEWIND_FANOUT", **good, TRADEWIND_FANOUT="s3://Bad_Bucket")
    refused("set PORT", TRADEWIND_STORE=store, TRADEWIND_WORKERS="4")
    refused("write a port", **{**good, "PORT": "99999"})
    p = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True)
    check(p.returncode == 0 and "TRADEWIND_STORE" in p.stdout, "--help")


# ---- Lambda ----

def check_lambda(scratch):
    store = scratch.path / "lambda"
    runtime = Runtime()
    env = environment(store, 3, AWS_LAMBDA_RUNTIME_API=runtime.address)
    scratch.start([PROGRAM], env)
    runtime.invoke("id-1", {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "bucket"})
    equal(runtime.answer()[:2], ("/2018-06-01/runtime/invocation/id-1/response", {"events": []}),
          "Lambda: the test of a new notification")
    a, b = push(store, 0, 0, "job=1/"), push(store, 0, 1, "job=1/")
    runtime.invoke("id-2", s3_event(*(k.replace("=", "%3D") for k in (a, b))))
    path, answer, _ = runtime.answer()
    equal((path, outcomes(answer)), ("/2018-06-01/runtime/invocation/id-2/response", ["waiting"] * 2),
          "two records, keys encoded")
    equal(answer["events"][1]["key"], b, "and decoded")
    runtime.invoke("id-3", s3_event(push(store, 0, 2, "job=1/")))
    path, answer, _ = runtime.answer()
    equal(outcomes(answer), ["averaged"], "the third is averaged")
    equal({k: answer["events"][0][k] for k in ("lists", "reads", "writes", "bytes", "read_bytes")},
          {"lists": 1, "reads": 3, "writes": 2, "bytes": 16, "read_bytes": 48},
          "with one list, three reads, and claim and mean written")
    check(is_mean(store, 0, 3, "job=1/") and objects(store) == ["job=1/round-000000/mean"],
          "B7, B8: the mean, and nothing else")
    runtime.invoke("id-4", s3_event(a, name="ObjectRemoved:Delete"))
    equal(runtime.answer()[1], {"events": []}, "deletions are no events")
    runtime.invoke("id-5", b"{not JSON")
    path, answer, headers = runtime.answer()
    check(path.endswith("/id-5/error") and "not JSON" in answer["errorMessage"] and
          headers.get("Lambda-Runtime-Function-Error-Type") == answer["errorType"] == "Tradewind.Refused",
          "what is no event is an error")
    runtime.invoke("id-6", s3_event(key_of(0, 7)))
    check("there are 3 workers" in runtime.answer()[1]["errorMessage"], "a worker too many is one")
    bridge = {"version": "0", "id": "17793124-05d4-b198-2fde-7ededc63b103", "detail-type": "Object Created",
              "source": "aws.s3", "account": "123456789012", "region": "us-west-2",
              "detail": {"version": "0", "bucket": {"name": "bucket"},
                         "object": {"key": push(store, 1, 0, "job=1/"), "size": 16}}}
    runtime.invoke("id-7", bridge)
    equal(outcomes(runtime.answer()[1]), ["waiting"], "EventBridge's form")
    bad = Runtime()
    p = scratch.start([PROGRAM], {"AWS_LAMBDA_RUNTIME_API": bad.address}, stderr=subprocess.DEVNULL)
    path, answer, _ = bad.answer()
    check(path == "/2018-06-01/runtime/init/error" and "TRADEWIND_WORKERS" in answer["errorMessage"] and
          p.wait(PATIENCE_S) == 2, "settings that are missing are told when it starts")


# ---- HTTP: Cloud Run with Eventarc, Event Grid, S3 notifications ----

GOOGLE = {"ce-id": "4242", "ce-specversion": "1.0", "ce-type": "google.cloud.storage.object.v1.finalized",
          "ce-source": "//storage.googleapis.com/projects/_/buckets/bucket",
          "ce-time": "2026-11-16T12:00:00.000Z"}


def google_data(key):
    return {"kind": "storage#object", "id": f"bucket/{key}/1763294400000000", "bucket": "bucket",
            "name": key, "generation": "1763294400000000", "metageneration": "1", "size": "16",
            "contentType": "application/octet-stream", "timeCreated": "2026-11-16T12:00:00.000Z"}


def grid_event(key, kind="Microsoft.Storage.BlobCreated"):
    return {"topic": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
            "subject": f"/blobServices/default/containers/bucket/blobs/{key}",
            "eventType": kind, "eventTime": "2026-11-16T12:00:00Z",
            "id": "831e1650-001e-001b-66ab-eeb76e069631", "dataVersion": "", "metadataVersion": "1",
            "data": {"api": "PutBlob", "eTag": "0x8D4BCC2E4835CD0", "contentLength": 16,
                     "blobType": "BlockBlob", "url": f"https://a.blob.core.windows.net/bucket/{key}"}}


def check_google(scratch):
    store = scratch.path / "google"
    _, port = scratch.server(**environment(store, 4))
    equal(post(port, "", method="GET")[0], 200, "HTTP: ready")
    status, answer, _ = post(port, google_data(push(store, 0, 0)), GOOGLE)
    equal((status, outcomes(answer)), (200, ["waiting"]), "a CloudEvent in headers")
    key = push(store, 0, 1)
    whole = {**{k[3:]: v for k, v in GOOGLE.items()}, "subject": f"objects/{key}", "data": google_data(key)}
    status, answer, _ = post(port, whole, {"Content-Type": "application/cloudevents+json"})
    equal((status, outcomes(answer)), (200, ["waiting"]), "a structured CloudEvent")
    message = {"message": {"attributes": {"eventType": "OBJECT_FINALIZE", "bucketId": "bucket",
                                          "objectId": push(store, 0, 2), "payloadFormat": "JSON_API_V1"},
                           "data": "e30=", "messageId": "1"}, "subscription": "projects/p/subscriptions/s"}
    equal(outcomes(post(port, message)[1]), ["waiting"], "Pub/Sub's form")
    status, answer, _ = post(port, [dict(whole, data=google_data(push(store, 0, 3)))],
                             {"Content-Type": "application/cloudevents-batch+json"})
    equal((status, outcomes(answer)), (200, ["averaged"]), "a batch")
    check(is_mean(store, 0, 4) and objects(store) == ["round-000000/mean"], "and there is the mean")
    deleted = {**GOOGLE, "ce-type": "google.cloud.storage.object.v1.deleted"}
    equal(post(port, google_data("x"), deleted)[:2], (200, {"events": []}), "deletions are no events")
    status, answer, _ = post(port, google_data(key_of(0, 9)), GOOGLE)
    check(status == 200 and answer["events"][0]["outcome"] == "failed",
          "what fails again is not delivered again: Google takes only a good answer for one")
    equal(post(port, s3_event(key_of(0, 9)))[0], 422, "a worker is told")
    equal(post(port, "[1")[0], 400, "no JSON")
    equal(post(port, {"hello": "world"})[0], 400, "no event")
    # Answered by its headers: a client that also sends it may meet a closed connection.
    equal(post(port, b"", {"Content-Length": "1100000"})[0], 413, "too large")
    equal(post(port, "x", method="PUT")[0], 405, "no POST")


def check_azure(scratch):
    store = scratch.path / "azure"
    _, port = scratch.server(**environment(store, 2))
    hello = dict(grid_event("x", "Microsoft.EventGrid.SubscriptionValidationEvent"),
                 data={"validationCode": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"})
    equal(post(port, [hello], {"aeg-event-type": "SubscriptionValidation"})[:2],
          (200, {"validationResponse": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}), "Event Grid: handshake")
    status, _, headers = post(port, "", {"WebHook-Request-Origin": "eventgrid.azure.net"}, method="OPTIONS")
    check(status == 200 and headers.get("WebHook-Allowed-Origin") == "eventgrid.azure.net",
          "the handshake of CloudEvents")
    equal(outcomes(post(port, [grid_event(push(store, 0, 0))])[1]), ["waiting"], "its own schema")
    key = push(store, 0, 1)
    event = {"specversion": "1.0", "type": "Microsoft.Storage.BlobCreated", "source": "/subscriptions/s",
             "id": "9aeb0fdf-c01e-0131-0922-9eb54906e209", "time": "2026-11-16T12:00:00Z",
             "subject": f"/blobServices/default/containers/bucket/blobs/{key}", "data": {"api": "PutBlob"}}
    equal(outcomes(post(port, event)[1]), ["averaged"], "CloudEvents")
    equal(post(port, [grid_event(key_of(0, 5))])[0], 400, "what is refused is not delivered again")
    handler = scratch.start([PROGRAM], {"FUNCTIONS_CUSTOMHANDLER_PORT": "0", **environment(store, 2)},
                            stdout=subprocess.PIPE, text=True)
    port = int(handler.stdout.readline().rsplit(":", 1)[1])
    data = {"Data": {"event": grid_event(push(store, 1, 0))},
            "Metadata": {"sys": {"MethodName": "aggregator", "UtcNow": "2026-11-16T12:00:00Z"}}}
    status, answer, _ = post(port, data, path="/aggregator")
    check(status == 200 and answer["Outputs"] == {} and answer["ReturnValue"] is None and
          outcomes(json.loads(answer["Logs"][0])) == ["waiting"], "a custom handler's event trigger")
    request = {"Data": {"req": {"Url": "https://x/api/aggregator", "Method": "POST", "Query": {},
                                "Headers": {"Content-Type": ["application/json"]}, "Params": {},
                                "Body": json.dumps(s3_event(push(store, 1, 1)))}},
               "Metadata": {"sys": {"MethodName": "aggregator"}}}
    status, answer, _ = post(port, request, path="/aggregator")
    check(outcomes(json.loads(answer["Logs"][0])) == ["averaged"] and is_mean(store, 1, 2),
          "and its HTTP trigger")


def check_token(scratch):
    store = scratch.path / "token"
    p, port = scratch.server(**environment(store, 1, TRADEWIND_EVENT_TOKEN="hush-hush", TRADEWIND_LOG="debug"))
    event = s3_event(push(store, 0, 0))
    equal(post(port, event)[0], 401, "a token that is missing")
    equal(post(port, event, {"Authorization": "Bearer hush-husk"})[0], 401, "is wrong")
    equal(post(port, event, {"Authorization": "Bearer hush-hush"})[0], 200, "is right")
    p.terminate()
    equal(p.wait(PATIENCE_S), 0, "told to end, it ends")
    check("hush" not in (scratch.path / "errors").read_text(), "and is not shown")


# ---- as it is packed ----

def check_package(scratch):
    """The zip for Lambda, unpacked, with nothing of this machine in its environment; the next
    aggregator is told over TLS, by the certificates that SSL_CERT_FILE names."""
    if SLOW or not shutil.which("zip") or not shutil.which("unzip") or not shutil.which("openssl"):
        return
    packed, there = scratch.path / "function.zip", scratch.path / "unpacked"
    made = subprocess.run([ROOT / "packaging/mkfunction", PROGRAM, packed], capture_output=True, text=True)
    check(made.returncode == 0, f"make function {made.stderr}")
    subprocess.run(["unzip", "-q", packed, "-d", there], check=True)
    certificate, key = scratch.path / "certificate.pem", scratch.path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    told = Runtime()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    told.server.socket = context.wrap_socket(told.server.socket, server_side=True)
    store = scratch.path / "packed"
    env = {"TRADEWIND_STORE": f"dir:{store}/region", "TRADEWIND_WORKERS": "1",
           "TRADEWIND_UP_STORE": f"dir:{store}/global", "TRADEWIND_UP_WORKER": "2",
           "TRADEWIND_UP_EVENT_URL": f"https://localhost:{told.server.server_port}/",
           "TRADEWIND_EVENT_TOKEN": "hush", "TMPDIR": str(scratch.path), "PATH": "/usr/bin:/bin"}
    for trusted in (False, True):
        # Of its own: the first, killed, may have asked its runtime for what the second is to get.
        runtime = Runtime()
        env["AWS_LAMBDA_RUNTIME_API"] = runtime.address
        if trusted:
            env["SSL_CERT_FILE"] = str(certificate)
        p = subprocess.Popen([there / "bootstrap"], env=env)
        scratch.processes.append(p)
        runtime.invoke("id", s3_event(push(store / "region", 0, 0)))
        path, answer, _ = runtime.answer()
        if not trusted:
            check("certificate" in answer.get("errorMessage", ""), "a certificate nobody vouches for")
        else:
            equal(path.rsplit("/", 1)[1], "response", "one that is known")
        p.kill()
        p.wait()
    _, event, headers = told.answer()
    up = "round-000000/in/worker-0002.w1.f32"
    check(event["Records"][0]["s3"]["object"]["key"] == up and headers.get("Authorization") == "Bearer hush" and
          objects(store) == [f"global/{up}"], "a region's mean goes up, and the next is told of it")


# ---- faults ----

def deliver(port, key):
    """As platforms do: until the answer is a good one."""
    seen = []
    for _ in range(1000):
        status, answer, _ = post(port, s3_event(key))
        seen += outcomes(answer)
        if status == 200:
            return seen
        if "failed" not in outcomes(answer):
            return seen + ["refused without a failure"]
        time.sleep(0.02)
    return seen + ["given up"]


def check_crowd(scratch):
    store = scratch.path / "crowd"
    servers = [scratch.server(**environment(store, 8))[1] for _ in range(2)]
    chance = random.Random(6)
    for round_ in range(2 if SLOW else 4):
        keys = [push(store, round_, w) for w in range(8)]
        events = keys * 2
        chance.shuffle(events)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            seen = sum(pool.map(lambda k: deliver(chance.choice(servers), k), events), [])
        check(seen.count("averaged") == 1 and not {"given up", "refused without a failure"} & set(seen),
              f"every event twice, out of order, eight at a time: averaged {seen.count('averaged')} time")
        check(is_mean(store, round_, 8) and objects(store) == [f"round-{round_:06d}/mean"],
              "the mean, and nothing else")
    keys = [push(store, 9, w) for w in range(7)]
    check(all(deliver(servers[0], k)[-1] == "waiting" for k in keys) and not is_mean(store, 9, 8),
          "B10: one is missing, and there is no mean")


def check_quorum(scratch):
    """Two of three are enough. Who is late finds the round over, and the mean; its input goes."""
    store = scratch.path / "quorum"
    _, port = scratch.server(**environment(store, 3, TRADEWIND_QUORUM="0.6"))
    for round_ in range(2):
        equal([deliver(port, push(store, round_, w)) for w in range(2)], [["waiting"], ["averaged"]],
              "quorum: two of three, and there is the mean")
        check(is_mean(store, round_, 2), "of these two")
    equal(deliver(port, push(store, 0, 2)), ["over"], "the third is late")
    equal(objects(store), ["round-000000/mean", "round-000001/mean"],
          "its input is deleted, and the mean it waits for is still there")
    region, top = scratch.path / "quorum-region", scratch.path / "quorum-global"
    _, port = scratch.server(**environment(top, 1, TRADEWIND_WEIGHTED="1", TRADEWIND_KEEP_MEANS="1"))
    _, port = scratch.server(**environment(
        region, 3, TRADEWIND_QUORUM="1", TRADEWIND_UP_STORE=f"dir:{top}", TRADEWIND_UP_WORKER="0",
        TRADEWIND_UP_EVENT_URL=f"http://127.0.0.1:{port}/"))
    for round_ in range(2):
        equal(deliver(port, push(store=region, round_=round_, worker=0)), ["averaged"], "a region: one of three")
    late = [deliver(port, push(region, round_, w)) for round_ in range(2) for w in (1, 2)]
    equal(late, [["over"]] * 4, "the others are late, and not averaged as another mean of the region")
    check(is_mean(top, 0, 1) and is_mean(top, 1, 1), "the means are those of the first")
    equal((objects(region), objects(top)), (["round-000000/done", "round-000001/done"],
                                            ["round-000000/mean", "round-000001/mean"]),
          "what was late is deleted, means are kept")


def check_memory(scratch):
    """B16: 64 gradients of 49 MB, which are one file under 64 names."""
    workers, size = (4, 4 << 20) if SLOW else (64, 49 * 10**6)
    store = scratch.path / "memory"
    first = store / push(store, 0, 0)
    first.write_bytes(struct.pack("<f", 0.1) * (size // 4))
    for w in range(1, workers):
        os.link(first, store / key_of(0, w))
    p, port = scratch.server(**environment(store, workers), TMPDIR=str(scratch.path))
    equal(deliver(port, key_of(0, 0)), ["averaged"], f"{workers} gradients of {size} bytes")
    peak = int(pathlib.Path(f"/proc/{p.pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    check(peak < 10**9, f"B16: are averaged in {peak / 1e6:.0f} MB, less than 1 GB")
    with open(store / "round-000000/mean", "rb") as f:
        check(f.read() == struct.pack("<f", 0.1) * (size // 4), "their mean is any of them")
    shutil.rmtree(store)


def check_killed(scratch):
    """The process dies at its nth call that changes files; the event is delivered again."""
    killat = BUILD / "tests/tools/killat"
    if not killat.exists() or SLOW:
        print(f"# killat: {'not with sanitizers' if SLOW else 'not built'}")
        return
    store = scratch.path / "killed"
    killed = right = rounds = 0
    while rounds < 200:
        n = 1 + rounds * 2
        runtime = Runtime()
        env = environment(store, 3, AWS_LAMBDA_RUNTIME_API=runtime.address, TRADEWIND_LEASE_S="0.001")
        keys = [push(store, rounds, w) for w in range(3)]
        runtime.invoke("first", s3_event(keys[2]))
        p = scratch.start([killat, n, PROGRAM], env, stderr=subprocess.DEVNULL)
        wait_for(lambda: p.poll() is not None or not runtime.said.empty(), "killed or done")
        dead = p.poll() is not None
        if dead:
            equal(p.returncode, 99, f"killed at call {n}") if p.returncode != 99 else None
            runtime = Runtime()
            env["AWS_LAMBDA_RUNTIME_API"] = runtime.address
            runtime.invoke("again", s3_event(keys[2]))
            p = scratch.start([PROGRAM], env)
            path = runtime.answer()[0]
            for _ in range(20):
                if path.endswith("/response"):
                    break
                runtime.invoke("again", s3_event(keys[2]))
                path = runtime.answer()[0]
        p.kill()
        p.wait()
        good = is_mean(store, rounds, 3) and objects(store) == [f"round-{rounds:06d}/mean"]
        right += good
        if not good:
            print(f"# call {n}: {objects(store)}")
        rounds += 1
        killed += dead
        if not dead:
            break
    check(killed > 5 and right == rounds, f"killed at {killed} calls, {right} of {rounds} rounds right")


with Scratch() as scratch:
    check_settings(scratch)
    check_lambda(scratch)
    check_google(scratch)
    check_azure(scratch)
    check_token(scratch)
    check_package(scratch)
    check_crowd(scratch)
    check_quorum(scratch)
    check_memory(scratch)
    check_killed(scratch)
done_testing()
