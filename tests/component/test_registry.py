# SPDX-License-Identifier: Apache-2.0
"""bawn-registry alone, against Debian's docker-registry: every kind of image,
logins, tokens, certificates, going on after a break, pushing.

Started by root, the first cases run twice: as root, and as an unprivileged uid.
"""
import base64
import gzip
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from images import (OCI, REGISTRY, Image, RealRegistry, Starter, digest, entry, fetch,
                    locked_registry, make_tar, need, order, zstd)

UID = 1879000001
USERS = [None, UID] if os.geteuid() == 0 else [None]
missing = need("docker-registry", "zstd", "openssl")
if missing:
    pytest.skip(f"not installed: {missing}", allow_module_level=True)


def layer(name, data=b"content"):
    return make_tar([entry(name, data=data)])


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    server = RealRegistry(tmp_path_factory.mktemp("registry"))
    yield server
    server.close()


def good(starter, image):
    """All of it came, and nothing else."""
    assert starter.code == 0, starter.err
    wanted = {**image.blobs, image.digest: image.manifest}
    assert starter.store == wanted
    assert sorted(starter.done) == sorted(wanted)
    assert starter.image["manifest"]["digest"] == image.digest
    assert starter.image["diff_ids"] == [digest(tar) for tar in image.tars]
    assert starter.err == "" and starter.verdict is None


@pytest.mark.parametrize("uid", USERS)
@pytest.mark.parametrize("packing", ["", "+gzip", "+zstd"])
@pytest.mark.parametrize("docker", [False, True])
def test_every_kind_of_image_comes(registry, uid, packing, docker):
    image = Image([layer("a"), layer("b", os.urandom(300000))], packing,
                  {"Env": ["A=b"], "Cmd": ["x"], "User": "u"}, docker)
    name = f"kinds/{'docker' if docker else 'oci'}{packing.replace('+', '-')}"
    registry.put(image, name)
    starter = fetch(order(registry.host, name), uid)
    good(starter, image)
    assert starter.image["run"] == {"Entrypoint": [], "Cmd": ["x"], "Env": ["A=b"],
                                    "WorkingDir": "", "User": "u"}


def put_index(registry, name, images, tag="latest"):
    entries = []
    for image, platform in images:
        registry.put(image, name, image.digest.replace(":", "-")[:60])
        entries.append({"mediaType": image.media_type, "digest": image.digest,
                        "size": len(image.manifest), "platform": platform})
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                        "manifests": entries}).encode()
    registry.call("PUT", f"http://{registry.host}/v2/{name}/manifests/{tag}", index,
                  OCI + "index.v1+json").close()
    return digest(index)


def test_the_platform_is_chosen(registry):
    images = {arch: Image([layer(arch)], platform=("linux", arch))
              for arch in ("amd64", "arm64")}
    put_index(registry, "multi", [
        (image, {"os": "linux", "architecture": arch}) for arch, image in images.items()])
    good(fetch(order(registry.host, "multi")), images["amd64"])
    good(fetch(order(registry.host, "multi", platform={
        "os": "linux", "architecture": "arm64", "variant": "v8"})), images["arm64"])
    starter = fetch(order(registry.host, "multi", platform={
        "os": "linux", "architecture": "riscv64"}))
    assert starter.code == 1 and "no image for linux/riscv64" in starter.err
    assert "linux/amd64, linux/arm64" in starter.err


def test_a_digest_is_what_it_says(registry):
    image = registry.put(Image([layer("pinned")]), "pinned")
    good(fetch(order(registry.host, "pinned", tag="", digest=image.digest)), image)
    starter = fetch(order(registry.host, "pinned", tag="", digest=digest(b"other")))
    assert starter.code == 1 and starter.verdict == "missing"


def test_what_is_not_there_is_missing(registry):
    starter = fetch(order(registry.host, "no/such"))
    assert starter.code == 1 and starter.verdict == "missing"
    assert starter.err.count("\n") == 1 and "404" in starter.err


def test_a_host_that_is_not_there_is_unreachable(registry):
    starter = fetch(order("localhost:1", "x"))
    assert starter.code == 1 and starter.verdict == "unreachable"
    starter = fetch(order("no-such-host.invalid", "x"))
    assert starter.code == 1 and starter.verdict == "unreachable"
    assert starter.err.count("\n") == 1


def test_what_is_there_already_does_not_come_again(registry):
    image = registry.put(Image([layer("one"), layer("two", b"x" * 100000)]), "twice")
    have = image.layers[0]["digest"]
    starter = fetch(order(registry.host, "twice"), prepare=lambda s: s.store.update(
        {have: b"kept"}))
    assert starter.code == 0 and have not in starter.done
    assert starter.store[have] == b"kept"


def test_nothing_comes_when_the_starter_has_enough(registry):
    registry.put(Image([layer("enough")]), "enough")
    starter = fetch(order(registry.host, "enough"),
                    prepare=lambda s: setattr(s, "go", False))
    assert starter.code == 0 and starter.store == {} and starter.done == []


def test_the_same_layer_twice_comes_once(registry):
    image = registry.put(Image([layer("same"), layer("same"), layer("same")]), "same")
    good(fetch(order(registry.host, "same")), image)


def test_a_beginning_is_gone_on_with(registry, counted):
    data = os.urandom(2_000_000)
    image = registry.put(Image([layer("long", data)], packing=""), "resume")
    name = image.layers[0]["digest"]
    whole = image.blobs[name]

    def begin(part):
        def prepare(starter):
            starter.files[name] = os.memfd_create("blob")
            os.write(starter.files[name], part)
        return prepare

    proxy = counted(registry)
    good(fetch(order(proxy.host, "resume"), prepare=begin(whole[:1_500_000])), image)
    assert proxy.sent[name] == len(whole) - 1_500_000
    # complete already: not a byte
    good(fetch(order(proxy.host, "resume"), prepare=begin(whole)), image)
    assert proxy.sent[name] == len(whole) - 1_500_000
    # wrong, or too long: all of it again
    for part in (b"wrong" * 1000, whole + b"more"):
        proxy.sent.clear()
        good(fetch(order(proxy.host, "resume"), prepare=begin(part)), image)
        assert proxy.sent[name] >= len(whole)


def test_progress_is_told_for_each_layer(registry):
    image = registry.put(Image([layer("p", os.urandom(30_000_000))], packing=""),
                         "progress")
    starter = fetch(order(registry.host, "progress"))
    good(starter, image)
    seen = [part for parts in starter.progress for part in parts]
    assert all(number == 0 for number, _ in seen)
    assert seen == sorted(seen)


def test_a_mirror_is_asked_first_and_the_registry_after_it(registry):
    image = registry.put(Image([layer("mirrored")]), "prefix/library/m")
    given = order("origin.invalid", "library/m")
    given["places"].insert(0, {"host": registry.host, "http": True,
                               "repository": "prefix/library/m"})
    good(fetch(given), image)
    given["places"][0]["repository"] = "prefix/none"
    given["places"][1] = {"host": registry.host, "repository": "prefix/library/m"}
    starter = fetch(given)
    assert starter.code == 0 and starter.image["manifest"]["digest"] == image.digest
    assert "trying the next place" in starter.err


def test_proxies_of_the_environment_are_not_used_for_this_machine(registry, monkeypatch):
    image = registry.put(Image([layer("direct")]), "direct")
    monkeypatch.setenv("http_proxy", "http://localhost:1")
    monkeypatch.setenv("no_proxy", "localhost")
    good(fetch(order(registry.host, "direct")), image)


# ---- logins ----

@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A registry behind a user and a password."""
    server = locked_registry(tmp_path_factory.mktemp("locked"))
    yield server
    server.close()


LOGIN = {"kind": "password", "user": "user", "secret": "pass word"}


def put_locked(server, image, name):
    """Through skopeo's way in: with the login."""
    auth = "Basic " + base64.b64encode(b"user:pass word").decode()
    original = server.call

    def call(method, url, data, kind=None):
        request = urllib.request.Request(url, data=data, method=method)
        request.add_header("Authorization", auth)
        if kind:
            request.add_header("Content-Type", kind)
        return urllib.request.urlopen(request, timeout=20)
    server.call = call
    try:
        return server.put(image, name)
    finally:
        server.call = original


def test_a_password_opens_the_door(locked):
    image = put_locked(locked, Image([layer("secret")]), "private")
    good(fetch(order(locked.host, "private", login=LOGIN)), image)
    starter = fetch(order(locked.host, "private"))
    assert starter.code == 1 and starter.verdict == "denied"
    assert "wants a login" in starter.err
    starter = fetch(order(locked.host, "private", login={**LOGIN, "secret": "wrong"}))
    assert starter.code == 1 and starter.verdict == "denied"
    assert "wrong" not in starter.err


class TokenServer(http.server.ThreadingHTTPServer):
    """Gives tokens to whoever has the right login, and keeps a record."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), TokenHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/token"
        self.asked, self.answers = [], 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class TokenHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, query, login):
        self.server.asked.append((query, login, self.command))
        good = login == "Basic " + base64.b64encode(b"user:pass word").decode() or \
            query.get("refresh_token") == ["identity"]
        body = json.dumps({"token": f"token-{len(self.server.asked)}"} if good else
                          {"errors": [{"message": "who are you"}]}).encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query),
                    self.headers.get("Authorization"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(urllib.parse.parse_qs(body.decode()), None)


class Front(http.server.ThreadingHTTPServer):
    """Stands before a real registry: counts, wants tokens, breaks off."""

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), FrontHandler)
        self.behind, self.host = behind, f"127.0.0.1:{self.server_port}"
        self.tokens, self.sent, self.seen = None, {}, []
        self.break_after, self.expire = None, 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class FrontHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def wants_token(self):
        server = self.server
        if not server.tokens:
            return False
        given = self.headers.get("Authorization", "")
        if given.startswith("Bearer token-") and not server.expire:
            return False
        server.expire = max(0, server.expire - 1)
        self.send_response(401)
        self.send_header("WWW-Authenticate", f'Bearer realm="{server.tokens.url}",'
                         f'service="the registry",scope="repository:x:pull"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def do_GET(self):
        self.server.seen.append((self.command, self.path,
                                 self.headers.get("Authorization")))
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self.wants_token():
            return
        url = f"http://{self.server.behind.host}{self.path}"
        request = urllib.request.Request(url, data=body if self.command in
                                         ("PUT", "POST") else None, method=self.command)
        for key in ("Accept", "Range", "Content-Type"):
            for value in self.headers.get_all(key) or []:
                request.headers[key] = ", ".join(self.headers.get_all(key))
                del value
        try:
            answer = urllib.request.urlopen(request, timeout=20)
        except urllib.error.HTTPError as error:
            answer = error
        self.pass_on(answer)

    do_HEAD = do_POST = do_PUT = do_GET

    def pass_on(self, answer):
        data = answer.read() if self.command != "HEAD" else b""
        self.send_response(answer.status)
        for key in ("Content-Type", "Docker-Content-Digest", "Content-Range", "Location"):
            if answer.headers[key]:
                self.send_header(key, answer.headers[key].replace(
                    f"http://{self.server.behind.host}", ""))
        self.send_header("Content-Length", answer.headers["Content-Length"] or "0")
        self.end_headers()
        name = self.path.rsplit("/", 1)[1]
        limit = self.server.break_after
        if limit and "/blobs/sha256" in self.path and len(data) > limit:
            data = data[:limit]
            self.close_connection = True
        self.server.sent[name] = self.server.sent.get(name, 0) + len(data)
        self.wfile.write(data)


@pytest.fixture
def counted():
    fronts = []

    def make(behind, **more):
        fronts.append(Front(behind))
        for key, value in more.items():
            setattr(fronts[-1], key, value)
        return fronts[-1]
    yield make
    for front in fronts:
        front.shutdown()
        front.server_close()


@pytest.mark.parametrize("login", [LOGIN, {"kind": "identity", "secret": "identity"}])
def test_a_token_is_fetched_and_used(registry, counted, login):
    image = registry.put(Image([layer("t1"), layer("t2")]), "tokens")
    tokens = TokenServer()
    front = counted(registry, tokens=tokens)
    good(fetch(order(front.host, "tokens", login=login)), image)
    assert len(tokens.asked) == 1
    query, _, method = tokens.asked[0]
    assert query["scope"] == ["repository:tokens:pull"]
    assert query["service"] == ["the registry"]
    assert method == ("GET" if login is LOGIN else "POST")
    # the password goes to the token server alone
    assert all(seen is None or seen.startswith("Bearer ") for _, _, seen in front.seen)


def test_a_token_that_expires_is_replaced(registry, counted):
    image = registry.put(Image([layer(f"e{i}") for i in range(5)]), "expires")
    tokens = TokenServer()
    front = counted(registry, tokens=tokens, expire=3)
    good(fetch(order(front.host, "expires", login=LOGIN)), image)
    assert 2 <= len(tokens.asked) <= 4


def test_a_wrong_login_at_the_token_server_is_denied(registry, counted):
    registry.put(Image([layer("t")]), "tokens")
    tokens = TokenServer()
    front = counted(registry, tokens=tokens)
    starter = fetch(order(front.host, "tokens", login={**LOGIN, "secret": "bad-one"}))
    assert starter.code == 1 and starter.verdict == "denied"
    assert "who are you" in starter.err and "bad-one" not in starter.err
    assert len(tokens.asked) == 1


def test_a_ready_token_is_shown_as_it_is(registry, counted):
    image = registry.put(Image([layer("ready")]), "ready")
    tokens = TokenServer()
    front = counted(registry, tokens=tokens)
    good(fetch(order(front.host, "ready", login={"kind": "token",
                                                 "secret": "token-x"})), image)
    assert tokens.asked == []


def test_a_connection_that_breaks_again_and_again_gets_there(registry, counted):
    data = os.urandom(1_000_000)
    image = registry.put(Image([layer("fragile", data)], packing=""), "fragile")
    front = counted(registry, break_after=100_000)
    starter = fetch(order(front.host, "fragile"))
    good(starter, image)
    name = image.layers[0]["digest"]
    assert front.sent[name] == len(image.blobs[name])


# ---- certificates ----

@pytest.fixture(scope="module")
def encrypted():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bawn-tls-"))
    folder.chmod(0o755)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem",
                    "-out", folder / "ca.pem"], check=True, capture_output=True)
    server = EncryptedRegistry(folder, extra=f", tls: {{certificate: {folder}/ca.pem, "
                               f"key: {folder}/key.pem}}")
    server.ca = folder / "ca.pem"
    yield server
    server.close()
    shutil.rmtree(folder)


class EncryptedRegistry(RealRegistry):
    def answers(self):
        try:
            urllib.request.urlopen(f"https://{self.host}/v2/", timeout=5,
                                   context=ssl._create_unverified_context())
        except OSError:
            return False
        return True


@pytest.mark.parametrize("uid", USERS)
def test_a_certificate_is_checked(encrypted, uid):
    starter = fetch(order(encrypted.host, "x"), uid)
    assert starter.code == 1 and starter.verdict == "failed"
    assert "certificate" in starter.err
    starter = fetch(order(encrypted.host, "x", ca=str(encrypted.ca)), uid)
    assert starter.code == 1 and starter.verdict == "missing", starter.err


# ---- pushing ----

def push(registry, image, name, tag="v1", **more):
    given = order(registry.host, name, tag, **more)
    config = image.add(image.config, OCI + "config.v1+json")
    given["image"] = {
        "manifest": {"mediaType": image.media_type, "digest": image.digest,
                     "size": len(image.manifest)},
        "config": config, "layers": image.layers,
        "diff_ids": [digest(tar) for tar in image.tars], "os": "linux",
        "architecture": "amd64", "variant": "", "run": {}}
    starter = Starter([REGISTRY, "push"], json.dumps(given).encode())
    for name_, data in {**image.blobs, image.digest: image.manifest}.items():
        starter.files[name_] = os.memfd_create("blob")
        os.write(starter.files[name_], data)
        os.lseek(starter.files[name_], 0, os.SEEK_SET)
    return starter.run()


def test_what_was_pushed_can_be_fetched(registry):
    image = Image([layer("up", os.urandom(400000)), layer("up2")], config={"Cmd": ["y"]})
    starter = push(registry, image, "pushed/one")
    assert starter.code == 0, starter.err
    assert sorted(starter.done) == sorted(image.blobs)
    good(fetch(order(registry.host, "pushed/one", "v1")), image)


def test_only_what_is_missing_is_sent(registry, counted):
    image = Image([layer("known", os.urandom(50000)), layer("unknown")])
    registry.put(Image([image.tars[0]]), "pushed/two")
    front = counted(registry)
    assert push(front, image, "pushed/two").code == 0
    sent = [path for method, path, _ in front.seen if method == "PUT"]
    assert not any(image.layers[0]["digest"].split(":")[1] in path for path in sent)
    good(fetch(order(registry.host, "pushed/two", "v1")), image)


def test_a_push_needs_the_right_login(locked):
    image = Image([layer("mine")])
    assert push(locked, image, "mine", login=LOGIN).code == 0
    starter = push(locked, image, "mine")
    assert starter.code == 1 and starter.verdict == "denied"


def test_a_push_asks_for_the_right_to_push(registry, counted):
    tokens = TokenServer()
    front = counted(registry, tokens=tokens)
    assert push(front, Image([layer("scope")]), "scoped", login=LOGIN).code == 0
    assert tokens.asked[0][0]["scope"] == ["repository:scoped:pull,push"]


# ---- skopeo made it ----

@pytest.mark.skipif(bool(need("skopeo")), reason="not installed: skopeo")
def test_an_image_that_skopeo_copied_comes(registry, tmp_path):
    image = Image([layer("skopeo"), layer("more", b"x" * 5000)])
    image.layout(tmp_path / "layout")
    for fmt in ("oci", "v2s2"):
        subprocess.run(["skopeo", "--insecure-policy", "copy", "--format", fmt,
                        "--dest-tls-verify=false", f"oci:{tmp_path}/layout:latest",
                        f"docker://{registry.host}/skopeo/{fmt}:1"], check=True,
                       capture_output=True)
        starter = fetch(order(registry.host, f"skopeo/{fmt}", "1"))
        assert starter.code == 0, starter.err
        assert starter.image["diff_ids"] == [digest(tar) for tar in image.tars]


def test_what_it_may_do_is_little(registry):
    """The profile holds while it works: no rights, no way to gain any."""
    registry.put(Image([layer("held")]), "held")
    starter = Starter([REGISTRY, "fetch"], json.dumps(order(registry.host,
                                                            "held")).encode())
    starter.ours.settimeout(20)
    packet = json.loads(starter.ours.recv(65536))  # it waits for the answer now
    status = dict(line.split(":\t", 1) for line in
                  pathlib.Path(f"/proc/{starter.process.pid}/status").read_text()
                  .splitlines() if ":\t" in line)
    starter.on_packet(packet)
    starter.run()
    assert starter.code == 0
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
    if os.geteuid() == 0:
        assert status["Uid"].split()[0] == "65534"


def test_layers_of_odd_packing_are_taken_as_they_are(registry):
    """What a registry keeps is not unpacked here: members, frames and all."""
    tar = layer("odd", b"z" * 200000)
    members = gzip.compress(tar[:100]) + gzip.compress(tar[100:])
    frames = zstd(tar[:100]) + zstd(tar[100:])
    for name, data, kind in (("members", members, "+gzip"), ("frames", frames, "+zstd")):
        image = Image([tar], kind)
        old = image.layers[0]["digest"]
        del image.blobs[old]
        new = image.add(data, OCI + "layer.v1.tar" + kind)
        image.manifest = image.manifest.replace(json.dumps(image.layers[0]).encode(),
                                                json.dumps(new).encode())
        image.digest = digest(image.manifest)
        image.layers = [new]
        registry.put(image, name)
        good(fetch(order(registry.host, name)), image)
