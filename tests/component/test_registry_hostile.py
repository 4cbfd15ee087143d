# SPDX-License-Identifier: Apache-2.0
"""bawn-registry against registries that mean harm, or are broken.

Whatever they do: it ends soon, with one line that says why, nothing is called
good that is not, and no login goes where it does not belong.
"""
import http.server
import json
import os
import threading
import time

import pytest

from images import OCI, Image, digest, entry, fetch, make_tar, order

LOGIN = {"kind": "password", "user": "user", "secret": "hunter-secret"}


class Hostile(http.server.ThreadingHTTPServer):
    """Serves one image; `trick` sees each request first and may answer it."""

    daemon_threads = True

    def __init__(self, image=None, trick=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.image = image or Image([make_tar([entry("a", data=os.urandom(200_000))])],
                                    packing="")
        self.trick, self.seen, self.stop = trick, [], threading.Event()
        self.host = f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def layer(self):
        return self.image.layers[0]["digest"]

    def paths(self, word):
        return [path for path, _ in self.seen if word in path]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.seen.append((self.path, self.headers.get("Authorization")))
        try:
            if not (server.trick and server.trick(self)):
                self.serve()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def serve(self):
        image, name = self.server.image, self.path.rsplit("/", 1)[1]
        if "/manifests/" in self.path:
            self.send(image.manifest, image.media_type)
        elif name in image.blobs:
            self.send(image.blobs[name])
        else:
            self.send(b"{}", status=404)

    def send(self, data, kind="application/octet-stream", status=200, length=None,
             **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def endless(self, piece=b" " * 65536, pause=0.0):
        self.send_response(200)
        self.send_header("Content-Type", OCI + "manifest.v1+json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while not self.server.stop.wait(pause):
            self.wfile.write(piece)


@pytest.fixture
def hostile():
    servers = []

    def make(trick=None, image=None):
        servers.append(Hostile(image, trick))
        return servers[-1]
    yield make
    for server in servers:
        server.stop.set()
        server.shutdown()
        server.server_close()


def is_layer(handler):
    return handler.path.endswith(handler.server.layer)


def is_manifest(handler):
    return "/manifests/" in handler.path


def attempt(server, seconds=40, **more):
    begun = time.monotonic()
    starter = fetch(order(server.host, "x", http=True, **more), seconds=seconds)
    starter.seconds = time.monotonic() - begun
    return starter


def refused(starter, *words):
    assert starter.code == 1, (starter.code, starter.err)
    assert starter.err.count("\n") == 1 and len(starter.err) < 800, starter.err
    assert not any(ord(c) < 32 for c in starter.err.rstrip("\n")), starter.err
    assert starter.verdict is not None
    assert "hunter-secret" not in starter.err
    for word in words:
        assert word in starter.err, starter.err
    return starter


def test_it_is_a_good_registry_when_it_does_nothing(hostile):
    server = hostile()
    starter = attempt(server)
    assert starter.code == 0 and server.layer in starter.done


# ---- what it sends is not what it should be ----

def test_a_layer_of_another_digest_is_never_called_good(hostile):
    def trick(handler):
        if is_layer(handler):
            size = len(handler.server.image.blobs[handler.server.layer])
            handler.send(b"y" * size)
        return is_layer(handler)
    server = hostile(trick)
    starter = refused(attempt(server), "another digest")
    assert server.layer not in starter.done
    assert len(server.paths(server.layer)) == 2


def test_a_layer_that_is_wrong_once_is_fetched_again(hostile):
    left = [1]

    def trick(handler):
        if not is_layer(handler) or not left:
            return False
        left.pop()
        handler.send(b"y" * len(handler.server.image.blobs[handler.server.layer]))
        return True
    server = hostile(trick)
    starter = attempt(server)
    assert starter.code == 0
    assert starter.store[server.layer] == server.image.blobs[server.layer]


@pytest.mark.parametrize("what", ["config", "manifest"])
def test_a_document_of_another_digest_is_refused(hostile, what):
    image = Image([make_tar([entry("a")])])
    config = digest(image.config)

    def trick(handler):
        if what == "config" and handler.path.endswith(config):
            handler.send(image.config.replace(b"amd64", b"amd46"))
        elif what == "manifest" and is_manifest(handler):
            handler.send(image.manifest + b" ", image.media_type)
        else:
            return False
        return True
    server = hostile(trick, image)
    refused(attempt(server, tag="", digest=image.digest), "digest")


def test_a_manifest_must_have_the_digest_that_the_registry_says(hostile):
    def trick(handler):
        if is_manifest(handler):
            image = handler.server.image
            handler.send(image.manifest, image.media_type,
                         Docker_Content_Digest=digest(b"other"))
        return is_manifest(handler)
    refused(attempt(hostile(trick)), "another digest")


@pytest.mark.parametrize("extra", [1, 10_000_000])
def test_more_than_a_layer_should_have_is_cut_off(hostile, extra):
    def trick(handler):
        if is_layer(handler):
            data = handler.server.image.blobs[handler.server.layer]
            handler.send(data + b"z" * extra)
        return is_layer(handler)
    server = hostile(trick)
    starter = refused(attempt(server), "more came")
    assert len(starter.store[server.layer]) <= len(server.image.blobs[server.layer])


def test_less_than_a_layer_should_have_is_not_enough(hostile):
    def trick(handler):
        if is_layer(handler):
            handler.send(handler.server.image.blobs[handler.server.layer][:1000])
        return is_layer(handler)
    refused(attempt(hostile(trick)), "only 1000 of")


def test_endless_layers_end(hostile):
    def trick(handler):
        if is_layer(handler):
            handler.endless(b"q" * 65536)
        return is_layer(handler)
    starter = refused(attempt(hostile(trick)), "more came")
    assert starter.seconds < 15


@pytest.mark.parametrize("what", ["manifest", "config"])
def test_endless_documents_end(hostile, what):
    def trick(handler):
        image = handler.server.image
        if is_manifest(handler) if what == "manifest" else \
                handler.path.endswith(digest(image.config)):
            handler.endless()
            return True
        return False
    starter = refused(attempt(hostile(trick)), "larger than")
    assert starter.seconds < 15


@pytest.mark.parametrize("body, words", [
    (b"", "no JSON"), (b"not json", "no JSON"), (b"[" * 100_000, "no JSON"),
    (b'{"a":' * 100_000, "no JSON"), (b"{}", "neither"), (b"\xff\xfe{}", "no JSON"),
    (b'{"schemaVersion":1,"fsLayers":[]}', "2016"),
    (b'{"layers":[],"config":{"digest":"sha256:' + b"0" * 64 + b'","size":1e99}}', ""),
    (b" " * 5_000_000, "larger than"),
], ids=range(9))
def test_nonsense_for_a_manifest_is_refused(hostile, body, words):
    def trick(handler):
        if is_manifest(handler):
            handler.send(body, OCI + "manifest.v1+json")
        return is_manifest(handler)
    refused(attempt(hostile(trick)), words)


def test_too_many_layers_are_refused(hostile):
    tar = make_tar([entry("a")])
    image = Image([tar])
    manifest = json.loads(image.manifest)
    manifest["layers"] *= 20_000
    image.manifest = json.dumps(manifest).encode()
    refused(attempt(hostile(image=image)), "more than 256 layers")


def test_an_index_that_leads_to_itself_ends(hostile):
    def trick(handler):
        if is_manifest(handler):
            # its own digest cannot be known, so each one leads to another
            number = len(handler.server.seen)
            handler.send(index(number), OCI + "index.v1+json")
        return is_manifest(handler)

    def index(number):
        inner = index(number + 1) if number < 8 else b"x"
        return json.dumps({"manifests": [{
            "digest": digest(inner), "size": len(inner),
            "platform": {"os": "linux", "architecture": "amd64"}}]}).encode()
    server = hostile(trick)
    refused(attempt(server), "index leads to an index")
    assert len(server.paths("/manifests/")) == 3


# ---- where it sends us ----

@pytest.mark.parametrize("host", ["same", "other"])
def test_a_login_goes_along_to_the_same_place_only(hostile, host):
    image = Image([make_tar([entry("r", data=b"moved")])])
    there = hostile(image=image)

    def trick(handler):
        if handler.headers.get("Authorization") is None and "moved" not in handler.path:
            handler.send(b"", status=401, WWW_Authenticate='Basic realm="x"')
            return True
        if is_layer(handler) and "moved" not in handler.path:
            target = there.host if host == "other" else handler.server.host
            handler.send(b"", status=307,
                         Location=f"http://{target}/moved/{handler.server.layer}")
            return True
        return False
    server = hostile(trick, image)
    starter = attempt(server, login=LOGIN)
    assert starter.code == 0, starter.err
    target = there if host == "other" else server
    logins = [login for path, login in target.seen if "moved" in path]
    assert len(logins) == 1
    assert (logins[0] is not None) == (host == "same")


def test_a_login_stays_back_after_a_detour(hostile):
    image = Image([make_tar([entry("d", data=b"detour")])])

    def back(handler):
        handler.send(b"", status=302,
                     Location=f"http://{server.host}/back/{server.layer}")
        return True
    there = hostile(back, image)

    def trick(handler):
        if "back" in handler.path:
            return False
        if handler.headers.get("Authorization") is None:
            handler.send(b"", status=401, WWW_Authenticate='Basic realm="x"')
            return True
        if is_layer(handler):
            handler.send(b"", status=302, Location=f"http://{there.host}/away")
            return True
        return False
    server = hostile(trick, image)
    starter = attempt(server, login=LOGIN)
    assert starter.code == 0, starter.err
    assert [login for path, login in server.seen if "back" in path] == [None]
    assert [login for _, login in there.seen] == [None]


@pytest.mark.parametrize("location", [
    "http://192.0.2.1/x", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd",
    "ftp://127.0.0.1/x", "gopher://127.0.0.1:1/x", "http://u:p@127.0.0.1/x", "http://",
    "//", "http://[::1", "\x01", "x" * 9000])
def test_it_does_not_follow_everywhere(hostile, location):
    def trick(handler):
        if is_layer(handler):
            handler.send(b"", status=307, Location=location)
        return is_layer(handler)
    starter = refused(attempt(hostile(trick)))
    assert starter.seconds < 15


def test_it_does_not_go_in_circles(hostile):
    def trick(handler):
        if is_layer(handler):
            handler.send(b"", status=307, Location=handler.path)
        return is_layer(handler)
    server = hostile(trick)
    refused(attempt(server), "circles")
    assert len(server.paths(server.layer)) <= 10


@pytest.mark.parametrize("realm", [
    "http://192.0.2.1/token", "file:///etc/passwd", "ftp://127.0.0.1/", "",
    "http://u:p@127.0.0.1/"])
def test_a_login_is_not_sent_to_every_token_server(hostile, realm):
    def trick(handler):
        handler.send(b"", status=401, WWW_Authenticate=f'Bearer realm="{realm}"')
        return True
    server = hostile(trick)
    starter = refused(attempt(server, login=LOGIN))
    assert starter.seconds < 15
    assert all(login is None for _, login in server.seen)


@pytest.mark.parametrize("body", [
    b"", b"{}", b'{"token":"a\\r\\nX-Injected: 1"}', b'{"token":"' + b"a" * 20_000 + b'"}',
    b"[" * 1000])
def test_bad_tokens_are_refused(hostile, body):
    def trick(handler):
        if "token" in handler.path:
            handler.send(body)
        else:
            realm = f"http://{handler.server.host}/token"
            handler.send(b"", status=401, WWW_Authenticate=f'Bearer realm="{realm}"')
        return True
    refused(attempt(hostile(trick), login=LOGIN), "token")


def test_a_registry_that_refuses_its_own_tokens_is_left(hostile):
    def trick(handler):
        if "token" in handler.path:
            handler.send(b'{"token":"t"}')
        else:
            realm = f"http://{handler.server.host}/token"
            handler.send(b"", status=401, WWW_Authenticate=f'Bearer realm="{realm}"')
        return True
    server = hostile(trick)
    assert refused(attempt(server, login=LOGIN)).verdict == "denied"
    assert len(server.paths("token")) <= 5


# ---- when, and how much ----

@pytest.mark.parametrize("what", ["manifest", "layer", "token"])
def test_a_trickle_is_not_waited_for_for_ever(hostile, what):
    def trick(handler):
        if what == "token" and "token" not in handler.path:
            realm = f"http://{handler.server.host}/token"
            handler.send(b"", status=401, WWW_Authenticate=f'Bearer realm="{realm}"')
            return True
        if what == "layer" and not is_layer(handler):
            return False
        handler.endless(b" ", pause=0.05)
        return True
    starter = refused(attempt(hostile(trick), attempts=2, stall_ms=1000, small_ms=2000,
                              login=LOGIN))
    assert starter.seconds < 20


def test_silence_is_not_waited_for_for_ever(hostile):
    def trick(handler):
        handler.server.stop.wait(30)
        return True
    starter = refused(attempt(hostile(trick), attempts=2, stall_ms=1000, small_ms=1500))
    assert starter.seconds < 20


@pytest.mark.parametrize("status", [429, 500, 502, 503, 408])
def test_a_passing_trouble_passes(hostile, status):
    left = [1, 1]

    def trick(handler):
        if not left:
            return False
        left.pop()
        handler.send(b"busy", status=status, Retry_After="0")
        return True
    assert attempt(hostile(trick)).code == 0


def test_an_unknown_time_to_wait_does_not_stop_it(hostile):
    def trick(handler):
        handler.send(b"", status=503, Retry_After="9" * 40)
        return True
    starter = refused(attempt(hostile(trick)), "503")
    assert starter.seconds < 15


def test_a_connection_that_always_breaks_is_given_up(hostile):
    def trick(handler):
        handler.close_connection = True
        handler.wfile.close()
        return True
    starter = refused(attempt(hostile(trick)))
    assert starter.seconds < 15


def test_one_byte_a_connection_is_given_up(hostile):
    def trick(handler):
        if not is_layer(handler):
            return False
        given = handler.headers.get("Range", "bytes=0-")
        begin = int(given.split("=")[1].rstrip("-"))
        data = handler.server.image.blobs[handler.server.layer]
        handler.send(data[begin:begin + 1], status=206 if begin else 200,
                     length=len(data) - begin,
                     Content_Range=f"bytes {begin}-{len(data) - 1}/{len(data)}")
        handler.close_connection = True
        return True
    server = hostile(trick)
    starter = refused(attempt(server))
    assert starter.seconds < 20 and len(server.paths(server.layer)) <= 10


@pytest.mark.parametrize("content_range", [
    "bytes 7-9/10", "bytes 0-9/10", "", "bytes x", "bytes 99999999999999999999-1/2"])
def test_a_part_that_nobody_asked_for_is_of_no_use(hostile, content_range):
    def trick(handler):
        if not is_layer(handler):
            return False
        data = handler.server.image.blobs[handler.server.layer]
        headers = {"Content_Range": content_range} if content_range else {}
        handler.send(data[:500], status=206, **headers)
        return True
    starter = refused(attempt(hostile(trick)))
    assert starter.seconds < 15


def test_headers_without_end_end(hostile):
    def trick(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not handler.server.stop.is_set():
            handler.wfile.write(b"X-More: " + b"a" * 1000 + b"\r\n")
        return True
    starter = refused(attempt(hostile(trick)))
    assert starter.seconds < 20


def test_what_a_refusal_says_cannot_write_on_a_terminal(hostile):
    def trick(handler):
        handler.send(json.dumps({"errors": [{"message": "\x1b[2J\r\nbawn: all is well"}]})
                     .encode(), status=403)
        return True
    assert refused(attempt(hostile(trick)), "\\x1b").verdict == "denied"


def test_a_long_refusal_is_cut(hostile):
    def trick(handler):
        handler.send(b'{"errors":[{"message":"' + b"a" * 3_000_000 + b'"}]}', status=403)
        return True
    refused(attempt(hostile(trick)), "403")
