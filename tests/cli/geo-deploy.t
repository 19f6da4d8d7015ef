#!/usr/bin/env python3
"""`geo deploy` and `geo destroy` against the models of clouds: what is deployed runs, and averages what
workers put into the bucket; a second deploy changes nothing; nothing is left after a destroy. AWS's own
command line looks at the model, too. What docs/geo-function.md shows is what the command prints."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from aggregator import *  # noqa: E402,F403

sys.path.insert(0, str(ROOT / "sdk/python"))
import tradewind  # noqa: E402
from array import array  # noqa: E402

TRADEWIND = pathlib.Path(os.environ.get("TRADEWIND", BUILD / "tradewind"))
OWNER = re.compile("tw-[0-9a-f]{16}")
if not PROGRAM.exists():
    skip_all(f"{PROGRAM} is not built")


class Model:
    """A model of a cloud as a process: its URL, and its state."""

    def __init__(self, scratch, server, settings):
        self.process = scratch.start([sys.executable, ROOT / "tests/servers" / server, "--settings",
                                      json.dumps(settings)], {}, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split("=", 1)[1].strip()

    def state(self):
        return json.load(urllib.request.urlopen(self.url + "/control", timeout=PATIENCE_S))

    def do(self, what):
        urllib.request.urlopen(urllib.request.Request(self.url + "/control/do", json.dumps(what).encode()),
                               timeout=PATIENCE_S).read()

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


class Home:
    """A home and the environment of its commands."""

    def __init__(self, scratch, name, **env):
        self.env = {"PATH": os.environ["PATH"], "HOME": str(scratch.path), "LC_ALL": "C.UTF-8",
                    "TRADEWIND_HOME": str(scratch.path / name), "TRADEWIND_TODAY": "2026-11-18",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), **env}
        self.directory = scratch.path

    def run(self, *words):
        """(exit code, output and errors together)"""
        p = subprocess.run([TRADEWIND, *words], env=self.env, cwd=self.directory, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.returncode, p.stdout


def documented(page, kind):
    """[command, output] of the blocks of a kind."""
    found = []
    for block in re.findall(r"^```console %s\n(.*?)^```$" % kind, (ROOT / page).read_text(), re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def check_documents(home, cloud, scratch):
    """The page's examples with the page's file."""
    page = (ROOT / "docs/geo-function.md").read_text()
    if cloud != "aws":
        return
    (scratch.path / "shirts.yaml").write_text(re.search("^```yaml\n(name: shirts\n.*?)^```", page, re.S | re.M)[1])
    found = documented("docs/geo-function.md", "on " + cloud)
    check(found, f"docs/geo-function.md has an example on {cloud}")
    for command, wanted in found:
        got = OWNER.sub("tw-0123456789abcdef", home.run(*command.split()[1:])[1])
        if not check(got.rstrip() == wanted.rstrip(), f"docs/geo-function.md: {command}"):
            print("\n".join("# " + line for line in got.splitlines()))


def lines(text, done):
    return sorted(re.findall(r"^%s +(\S+) " % done, text, re.M))


# ---- AWS ----

def aws_training(path, url, name="shirts", count=3):
    path.write_text(f"""name: {name}
model: {{size: 32kB}}
rounds: 2
train: {{seconds: 0.5}}
workers:
  - {{location: aws/us-west-2, count: {count}}}
topology: central
sites:
  aws/us-west-2: {{store: 's3://gradients/run', endpoint: '{url}', region: us-west-2}}
""")


def train(url, prefix, workers, rounds):
    """Workers with the library; their means of each round, or None."""
    means = {}

    def work(w):
        k = tradewind.Worker(f"s3://gradients/{prefix}", w, workers, endpoint=url, region="us-west-2",
                             patience_s=PATIENCE_S)
        for r in range(rounds):
            k.push({"g": array("f", [w + 1.0 + r] * 4)})
            means[w, r] = list(k.pull()["g"])
    os.environ.update(AWS_ACCESS_KEY_ID="AKIDMODEL", AWS_SECRET_ACCESS_KEY="model/secret+key")
    threads = [threading.Thread(target=work, args=(w,), daemon=True) for w in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    return means


AWS_KINDS = ["function", "log-group", "notification", "permission", "policy", "role"]


def check_aws(scratch):
    package = scratch.path / "tradewind-aggregator.zip"
    made = subprocess.run([ROOT / "packaging/mkfunction", PROGRAM, package], capture_output=True, text=True)
    if not check(made.returncode == 0, f"packed {made.stderr}"):
        return
    model = Model(scratch, "lambda", {"others": True, "run": not SLOW, "slow_s": 0.5})
    home = Home(scratch, "home-aws", AWS_ENDPOINT_URL=model.url, AWS_ACCESS_KEY_ID="AKIDMODEL",
                AWS_SECRET_ACCESS_KEY="model/secret+key", TRADEWIND_FUNCTION_ZIP=str(package))
    aws_training(scratch.path / "shirts.yaml", model.url)
    code, dry = home.run("geo", "deploy", "shirts.yaml", "--dry-run")
    check(code == 0 and len(re.findall("^(?:POST|PUT) http", dry, re.M)) == 7, "a dry run shows seven calls")
    check("secret+key" not in dry and "UEsDB" not in dry, "without the key and the program")
    equal(model.state()["left"], {}, "and changes nothing")
    code, text = home.run("geo", "deploy", "shirts.yaml")
    equal((code, lines(text, "created")), (0, AWS_KINDS), "deployed")
    if code:
        print("# " + text)
    code, text = home.run("geo", "deploy", "shirts.yaml")
    equal((code, lines(text, "unchanged")), (0, AWS_KINDS), "again: nothing changes")
    if not SLOW:
        means = train(model.url, "run/shirts/all", 3, 2)
        equal(means, {(w, r): [2.0 + r] * 4 for w in range(3) for r in range(2)},
              "three workers get the means of two rounds from the function as it is deployed")
        invoked = wait_for(lambda: len(model.state()["invoked"]) >= 6 and model.state()["invoked"],
                           "six invocations")
        equal([i[1] for i in invoked], ["response"] * 6, "its role permits what it does, and nothing failed")
    aws_training(scratch.path / "shirts.yaml", model.url, count=4)
    code, text = home.run("geo", "deploy", "shirts.yaml")
    equal((code, lines(text, "updated")), (0, ["function"]), "a fourth worker: the function is updated")
    functions = [t for t in model.state()["things"] if t["kind"] == "function"]
    equal(functions[0]["configuration"]["Environment"]["Variables"]["TRADEWIND_WORKERS"], "4", "to four")
    check_aws_client(model, functions[0]["name"])
    answer = json.loads(home.run("geo", "deploy", "shirts.yaml", "--json")[1])
    equal((answer["deployment"], answer["functions"][0]["memory_mb"], len(answer["resources"])),
          ("shirts", 1024, 6), "as JSON")
    check_aws_errors(home, model, scratch)
    text = (scratch.path / "shirts.yaml").read_text()
    (scratch.path / "shirts.yaml").write_text(text.replace("gradients/run", "gradients-london/run"))
    code, text = home.run("geo", "deploy", "shirts.yaml")
    equal((code, lines(text, "deleted"), [n.split("/")[0] for n in model.state()["left"]["notification"]]),
          (0, ["notification"], ["gradients-london"]), "another bucket: the notification moves")
    code, text = home.run("geo", "destroy", "shirts.yaml")
    equal((code, lines(text, "deleted")), (0, AWS_KINDS), "destroyed")
    state = model.state()
    check(not state["left"] and "<Id>theirs</Id>" in state["notifications"]["gradients"] and
          "a&amp;b/" in state["notifications"]["gradients"],
          "nothing is left but the notification of someone else")
    code, text = home.run("geo", "destroy", "shirts.yaml")
    check(code == 0 and "Nothing to do" in text, "again: nothing to do")
    check_documents(home, "aws", scratch)
    model.end()


def check_aws_client(model, name):
    """AWS's own command line finds what it expects."""
    if not shutil.which("aws"):
        print("# no aws command")
        return

    def aws(*words):
        region = "us-east-1" if words[0] == "iam" else "us-west-2"
        p = subprocess.run(["aws", "--region", region, "--endpoint-url", model.url, *words],
                           capture_output=True, text=True,
                           env={**os.environ, "AWS_ACCESS_KEY_ID": "AKIDMODEL",
                                "AWS_SECRET_ACCESS_KEY": "model/secret+key", "AWS_PAGER": ""})
        return json.loads(p.stdout) if p.returncode == 0 and p.stdout.strip() else p.stderr

    got = aws("lambda", "get-function", "--function-name", name)
    equal((got["Configuration"]["State"], got["Configuration"]["Runtime"], got["Tags"]["broker-training"]),
          ("Active", "provided.al2023", "shirts"), "aws lambda get-function")
    policy = json.loads(aws("lambda", "get-policy", "--function-name", name)["Policy"])
    equal(policy["Statement"][0]["Principal"]["Service"], "s3.amazonaws.com", "aws lambda get-policy")
    role = aws("iam", "get-role", "--role-name", name)["Role"]
    equal((role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"], role["Path"][:11]),
          ("lambda.amazonaws.com", "/tradewind/"), "aws iam get-role")
    document = aws("iam", "get-role-policy", "--role-name", name, "--policy-name", "aggregator")
    check("s3:PutObject" in json.dumps(document["PolicyDocument"]), "aws iam get-role-policy")
    notes = aws("s3api", "get-bucket-notification-configuration", "--bucket", "gradients")
    equal(notes["LambdaFunctionConfigurations"][0]["Filter"]["Key"]["FilterRules"],
          [{"Name": "prefix", "Value": "run/shirts/all/"}, {"Name": "suffix", "Value": ".safetensors"}],
          "aws s3api get-bucket-notification-configuration")
    logs = aws("logs", "describe-log-groups", "--log-group-name-prefix", "/aws/lambda/" + name)
    equal(logs["logGroups"][0]["retentionInDays"], 14, "aws logs describe-log-groups")
    check("EntityAlreadyExists" in aws("iam", "create-role", "--role-name", name,
                                       "--assume-role-policy-document", "{}"), "aws iam create-role")


def check_aws_errors(home, model, scratch):
    model.do({"settings": {"denied": ["GetFunction"]}})
    code, text = home.run("geo", "deploy", "shirts.yaml")
    check(code != 0 and "allow the action lambda:GetFunction" in text and "aws/us-west-2" in text,
          "a missing permission is named")
    model.do({"settings": {"denied": []}})
    aws_training(scratch.path / "other.yaml", model.url, name="other")
    text = (scratch.path / "other.yaml").read_text().replace("gradients/run", "nowhere/run")
    (scratch.path / "other.yaml").write_text(text)
    code, text = home.run("geo", "deploy", "other.yaml")
    check(code != 0 and "there is no bucket nowhere; create it" in text, "a bucket that is not there")
    code, text = home.run("geo", "destroy", "other.yaml")
    check(code == 0 and len(lines(text, "deleted")) == 5, "what was made before the failure goes")
    code, text = home.run("geo", "deploy", "shirts.yaml", "--function", "aws/us-west-2", "--store",
                          "aws/eu-west-2")
    check(code != 0 and "of their own region alone" in text, "function and store apart")
    code, text = home.run("geo", "deploy", "shirts.yaml", "--zip", "shirts.yaml")
    check(code != 0 and "is no zip" in text, "no zip")


# ---- Google, Azure ----

IMAGE = "registry.example/aggregator:1"


def check_platform(scratch, cloud, server, env, location, store, kinds, updated, denied):
    model = Model(scratch, server, {"others": True, "slow_s": 0.5})
    home = Home(scratch, "home-" + cloud, **{k: v.replace("URL", model.url) for k, v in env.items()})
    (scratch.path / "credentials").write_text(json.dumps(
        {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "refresh-me",
         "token_uri": model.url + "/token"}))

    def training(count):
        (scratch.path / "shirts.yaml").write_text(f"""name: shirts
model: {{size: 32kB}}
train: {{seconds: 0.5}}
workers:
  - {{location: {location}, count: {count}}}
topology: central
sites:
  {location}: {{store: '{store}'}}
""")
    training(3)
    deploy = ["geo", "deploy", "shirts.yaml"]
    code, text = home.run(*deploy)
    check(code != 0 and "give --image" in text, f"{cloud}: an image is needed")
    home.env["TRADEWIND_FUNCTION_IMAGE"] = IMAGE
    code, dry = home.run(*deploy, "--dry-run")
    calls = [line for line in dry.splitlines() if re.match("(POST|PUT|PATCH) http", line)]
    secret = scratch.path / f"home-{cloud}" / "deploy.key"
    check(code == 0 and len(calls) == len(kinds) and not model.state()["left"],
          f"a dry run shows {len(kinds)} calls and changes nothing")
    equal(oct(secret.stat().st_mode & 0o777) if secret.exists() else None,
          "0o600" if cloud == "azure" else None, "the secret of the home is for its owner, where one is needed")
    code, text = home.run(*deploy)
    if not check((code, lines(text, "created")) == (0, sorted(kinds)), "deployed"):
        print("# " + text)
    tokens = [v for t in model.state()["things"] if t["kind"] == "app"
              for v in re.findall("[0-9a-f]{64}", json.dumps(t["body"]))]
    check(len(set(tokens)) == (cloud == "azure") and not any(t in dry + text for t in tokens),
          "the token of events reaches the cloud and no output")
    code, text = home.run(*deploy)
    equal((code, lines(text, "unchanged")), (0, sorted(kinds)), "again: nothing changes")
    training(4)
    code, text = home.run(*deploy)
    equal((code, lines(text, "updated")), (0, [updated]), "a fourth worker: an update")
    model.do({"settings": {"denied": [denied[0]]}})
    code, text = home.run("geo", "destroy", "shirts.yaml")
    check(code != 0 and denied[1] in text, f"a missing permission is named: {denied[1]}")
    model.do({"settings": {"denied": []}})
    code, text = home.run("machines", "cleanup", "--yes")
    # The model has no machines to be looked at, which is told besides.
    check("terminated" in text and not model.state()["left"], "machines cleanup deletes what the destroy left")
    code, text = home.run("geo", "destroy", "shirts.yaml")
    check(code == 0 and "Nothing to do" in text, "and a second destroy finds nothing")
    check_documents(home, cloud, scratch)
    equal(model.state()["left"], {}, "nothing is left")
    model.end()


def check_google(scratch):
    api = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
    check_platform(
        scratch, "gcp", "cloudrun",
        {"GOOGLE_APPLICATION_CREDENTIALS": str(scratch.path / "credentials"), "GOOGLE_CLOUD_PROJECT": "model-project",
         api + "RUN": "URL/", api + "IAM": "URL/", api + "EVENTARC": "URL/", api + "STORAGE": "URL/storage/v1/",
         api + "CLOUDRESOURCEMANAGER": "URL/"},
        "gcp/us-west1", "gs://gradients/run",
        ["service-account", "store-role", "event-receiver", "service", "invoker", "trigger"], "service",
        ("serviceAccounts/X", "allow model."))


def check_azure(scratch):
    check_platform(
        scratch, "azure", "containerapps",
        {"AZURE_TENANT_ID": "11111111-2222-3333-4444-555555555555",
         "AZURE_CLIENT_ID": "66666666-7777-8888-9999-000000000000", "AZURE_CLIENT_SECRET": "model/secret+key",
         "AZURE_SUBSCRIPTION_ID": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "AZURE_AUTHORITY_HOST": "URL",
         "AZURE_RESOURCE_MANAGER_ENDPOINT": "URL"},
        "azure/westus2", "az://gradients/rounds/run",
        ["resource-group", "environment", "app", "role", "event-subscription"], "app",
        ("DELETE group", "allow Model/group/delete"))


# ---- machines cleanup ----

def check_cleanup(scratch):
    model = Model(scratch, "lambda", {"slow_s": 0})
    package = scratch.path / "tradewind-aggregator.zip"
    home = Home(scratch, "home-cleanup", AWS_ENDPOINT_URL=model.url, AWS_ACCESS_KEY_ID="AKIDMODEL",
                AWS_SECRET_ACCESS_KEY="model/secret+key", TRADEWIND_FUNCTION_ZIP=str(package))
    aws_training(scratch.path / "shirts.yaml", model.url)
    home.run("geo", "deploy", "shirts.yaml")
    code, text = home.run("machines", "cleanup", "--yes")
    check(code == 0 and len(model.state()["left"]) == 5, "cleanup leaves what is deployed")
    model.do({"settings": {"denied": ["DeleteRole"]}})
    code, text = home.run("geo", "destroy", "shirts.yaml")
    check(code != 0 and "allow the action iam:DeleteRole" in text and
          list(model.state()["left"]) == ["role"], "one resource cannot be deleted: all others are")
    model.do({"settings": {"denied": []}})
    code, text = home.run("machines", "cleanup")
    check(code == 0 and "role" in text and list(model.state()["left"]) == ["role"],
          "cleanup shows what a destroy began")
    code, text = home.run("machines", "cleanup", "--yes")
    check(code == 0 and not model.state()["left"], "and with --yes deletes it")
    if code:
        print("# " + text)
    model.end()


def check_image():
    """The image has the packages of every library that the program needs."""
    if not shutil.which("dpkg"):
        return
    have = (ROOT / "packaging/function.dockerfile").read_text()
    listed = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
    missing = []
    for path in re.findall(r"=> (/\S+)", listed):
        found = subprocess.run(["dpkg", "-S", os.path.realpath(path)], capture_output=True, text=True).stdout
        package = found.split(":")[0]
        if package and package not in have and package not in ("libc6", "libgcc-s1") and \
                not re.match("lib(asan|ubsan|stdc)", package):
            missing.append(package)
    known = {"libgnutls30", "libp11-kit0", "libidn2-0", "libunistring2", "libtasn1-6", "libnettle8",
             "libhogweed6", "libgmp10", "libffi8"}  # what libmicrohttpd12 depends on
    equal(sorted(set(missing) - known), [], "packaging/function.dockerfile has the program's libraries")


with Scratch() as scratch:
    check_image()
    if not shutil.which("zip"):
        skip_all("zip is not installed")
    check_aws(scratch)
    check_cleanup(scratch)
    check_google(scratch)
    check_azure(scratch)
done_testing()
