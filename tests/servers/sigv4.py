"""Signatures of requests to AWS, checked by "Signature Version 4 signing process" of AWS's documentation,
for the models of its services. It shares no code with what it tests."""
import calendar
import hashlib
import hmac
import time
import urllib.parse


class Refused(Exception):
    def __init__(self, code, message, status):
        super().__init__(code)
        self.code, self.message, self.status = code, message, status


def hmac_of(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def canonical_query(query):
    """Sorted, and a name without a value has an empty one."""
    pairs = [p if "=" in p else p + "=" for p in query.split("&") if p]
    return "&".join(sorted(pairs))


def check(headers, method, path, query, body, now, keys):
    """headers: by names in lower case; keys: secrets by key id. The key id, region and service that the
    request is signed for; Refused where it is not."""
    auth = headers.get("authorization", "")
    if not auth.startswith("AWS4-HMAC-SHA256 "):
        raise Refused("MissingAuthenticationToken", "Request is missing Authentication Token", 403)
    fields = dict(p.strip().split("=", 1) for p in auth[17:].split(","))
    key, day, region, service, end = fields["Credential"].split("/")
    if key not in keys:
        raise Refused("AuthFailure", "AWS was not able to validate the provided access credentials", 401)
    date = headers.get("x-amz-date", "")
    names = fields["SignedHeaders"].split(";")
    if "host" not in names or any(h.startswith("x-amz-") and h not in names for h in headers):
        raise Refused("SignatureDoesNotMatch", "a header is not signed", 403)
    digest = hashlib.sha256(body).hexdigest()
    if service == "s3":
        told = headers.get("x-amz-content-sha256", "")
        if told not in (digest, "UNSIGNED-PAYLOAD") and not told.startswith("STREAMING-"):
            raise Refused("XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does "
                          "not match what was computed.", 400)
        digest = told
    canonical = "\n".join([
        # S3 takes the path as it is sent; other services encode it once more.
        method, path if service == "s3" else urllib.parse.quote(path, safe="/-_.~"),
        canonical_query(query),
        "".join("%s:%s\n" % (n, " ".join(headers[n].split())) for n in names),
        ";".join(names), digest])
    scope = "/".join([day, region, service, end])
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    derived = ("AWS4" + keys[key]).encode()
    for part in (day, region, service, end):
        derived = hmac_of(derived, part)
    if not hmac.compare_digest(hmac_of(derived, text).hex(), fields["Signature"]):
        raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match the "
                      "signature you provided.", 403)
    signed = calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ"))
    if abs(signed - now) > 300 or date[:8] != day:
        raise Refused("RequestExpired", "Request has expired.", 400)
    return key, region, service
