# SPDX-License-Identifier: Apache-2.0
"""bawn-net and bawn-layers: a layer comes from its registry once

The test is the launcher, the guests, and the registries.
"""
import hashlib
import os
import signal
import socket
import subprocess
import threading

import pytest

import net_h2
import net_origin
import net_world
from net_fixtures import rules

BUILD = net_world.BUILD
BINARY = os.path.join(BUILD, "src/layers/bawn-layers")
WAIT_SECONDS = 10
LAYER = os.urandom(3 << 20)
KEY = "Authorization: Basic Z29vZA=="
POLICY = "allow GET,HEAD good.example\nallow GET,HEAD a.good.example\nallow localhost:5000"
HOSTS = {"servers": [],
         "hosts": [["good.example", "203.0.113.10"], ["a.good.example", "203.0.113.20"]]}


def hex_of(data):
    return hashlib.sha256(data).hexdigest()


def path_of(data, name="lib/small"):
    return f"/v2/{name}/blobs/sha256:{hex_of(data)}"


class Registry:
    """Gives `parts` (path: bytes) to who has the key; `odd` answers in its own way."""

    def __init__(self, make, at, kind="tls", private=False, odd=None):
        self.parts, self.private, self.odd = {}, private, odd
        self.requests, self.body_bytes = [], 0
        self.origin = make.origin(at, kind)
        self.origin.http = self.serve

    def serve(self, sock, _):
        file = sock.makefile("rb")
        while True:
            head = []
            while (line := file.readline().strip()):
                head.append(line.decode())
            if not head:
                return
            self.answer(sock, *head[0].split()[:2], head[1:])

    def answer(self, sock, method, path, fields):
        self.requests.append((method, path))
        body = self.parts.get(path)
        if self.odd and self.odd(sock, method, path):
            return
        if self.private and not any(KEY.lower() == field.lower() for field in fields):
            status, body = "401 Unauthorized", b"no"
        elif body is None:
            status, body = "404 Not Found", b"nothing"
        else:
            status = "200 OK"
        sock.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        if method != "HEAD":
            self.body_bytes += len(body)
            sock.sendall(body)


class Box:
    """A sandbox's gate, and a client in it."""

    def __init__(self, make, name, store, authority):
        self.store, self.helper, self.off = store, None, False
        folder = make.folder / name
        folder.mkdir()
        folder.chmod(0o755)
        self.net = net_world.Net(make.world, folder, policy=rules(POLICY), resolver=HOSTS,
                                 ca=net_origin.sandbox_authority(str(make.folder)))
        self.net.trust = authority
        make.made.append(self.net.kill)
        make.made.append(self.end)
        self.make = make
        self.net.start()

    def start_helper(self, *argv):
        """As the launcher does, when it is asked."""
        self.net.packet("layers")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = os.open(self.store, os.O_RDONLY | os.O_DIRECTORY)
        fds = [theirs.fileno(), folder]
        # they die with the thread that started them
        self.helper = subprocess.Popen(
            ["/bin/bash", "-c", 'exec 13<&$0 14<&$1; p=$2; shift 2; exec "$p" "$@" 3<&13 4<&14 '
             "13<&- 14<&-", str(fds[0]), str(folder), BINARY, *argv],
            pass_fds=fds, stdin=subprocess.DEVNULL, env={})
        theirs.close()
        os.close(folder)
        self.net.send({"op": "layers"}, [ours.fileno()])
        ours.close()

    def connect(self, target, alpn=()):
        host, _, port = target.rpartition(":")
        if host == "localhost":
            return self.net.port.open("127.0.0.1", int(port))
        client = net_origin.TlsClient(self.net.connect(target), host,
                                      authority=f"{self.make.folder}/ca.crt", alpn=alpn)
        client.handshake()
        return net_origin.SecureStream(client)

    def ask(self, target, path, *fields, method="GET"):
        """Sent, and nothing read yet."""
        stream = self.connect(target)
        host = target if target.startswith("localhost") else target.rpartition(":")[0]
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "", ""]
        stream.send("\r\n".join(lines).encode())
        if not self.helper and not self.off and "/blobs/" in path:
            self.start_helper()
        return stream

    @staticmethod
    def read(stream):
        head = stream.expect(b"\r\n\r\n").decode()
        length = next(line.split(":")[1] for line in head.lower().split("\r\n")
                      if line.startswith("content-length"))
        return int(head.split()[1]), head, read_all(stream, int(length))

    def get(self, target, path, *fields):
        stream = self.ask(target, path, *fields)
        status, head, body = self.read(stream)
        stream.close()
        return status, head, body

    def end(self):
        if self.helper:
            self.helper.kill()
            self.helper.wait()


def read_all(stream, length):
    """In pieces: no more than a window comes by itself."""
    data = b""
    while len(data) < length:
        data += stream.read(min(1 << 18, length - len(data)))
    return data


@pytest.fixture(name="boxes")
def boxes_of(make):
    if not os.path.exists(BINARY):
        pytest.skip(f"{BINARY} is not built")
    store = make.folder / "layers"
    store.mkdir(mode=0o700)
    net_origin.certificate(str(make.folder))

    def box(name):
        return Box(make, name, store, f"{make.folder}/cert.pem")
    box.store = store
    box.make = make
    return box


def kept(boxes, count=None):
    """What is in the cache, once there are that many."""
    def names():
        return sorted(name for name in os.listdir(boxes.store) if not name.startswith("partial"))
    if count is not None:
        wait(lambda: len(names()) == count and not partial(boxes))
    return names()


def partial(boxes):
    return [name for name in os.listdir(boxes.store) if name.startswith("partial")]


def wait(fact):
    for _ in range(WAIT_SECONDS * 100):
        if fact():
            return
        threading.Event().wait(0.01)
    assert fact()


def test_the_second_pull_moves_no_byte_of_a_layer(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    registry.parts[path_of(LAYER)] = LAYER
    one, two = boxes("one"), boxes("two")
    assert one.get("good.example:443", path_of(LAYER))[2] == LAYER
    assert registry.body_bytes == len(LAYER)
    name, = kept(boxes, 1)
    assert name.startswith(hex_of(LAYER)) and (boxes.store / name).read_bytes() == LAYER
    assert (boxes.store / name).stat().st_mode & 0o777 == 0o600
    for box in (two, one, two):
        status, head, body = box.get("good.example:443", path_of(LAYER))
        assert status == 200 and body == LAYER and f"sha256:{hex_of(LAYER)}" in head
    assert registry.body_bytes == len(LAYER)
    assert [method for method, _ in registry.requests] == ["GET", "HEAD", "HEAD", "HEAD"]
    line = two.net.wait_log({"path": path_of(LAYER), "verdict": "allow"})
    assert line["bytes_in"] == len(LAYER) and "cache" in line["reason"]
    # Two requests on one connection, and a plain one after a layer.
    stream = two.ask("good.example:443", path_of(LAYER))
    assert two.read(stream)[2] == LAYER
    stream.send(b"GET /v2/ HTTP/1.1\r\nHost: good.example\r\n\r\n")
    assert two.read(stream)[0] == 404
    for box in (one, two):
        box.net.stop()
        assert box.helper.wait(WAIT_SECONDS) == 0


def test_a_registry_on_the_hosts_loopback(boxes):
    registry = Registry(boxes.make, "127.0.0.1:5000", "http")
    registry.parts[path_of(LAYER)] = LAYER
    registry.parts["/v2/"] = b"{}"
    one, two = boxes("one"), boxes("two")
    stream = one.ask("localhost:5000", "/v2/")
    assert one.read(stream)[2] == b"{}"
    stream.close()
    assert one.get("localhost:5000", path_of(LAYER))[2] == LAYER
    kept(boxes, 1)
    assert two.get("localhost:5000", path_of(LAYER))[2] == LAYER
    assert registry.body_bytes == len(LAYER) + 2
    # The connection that was made for bytes carries the requests.
    assert len(registry.origin.connections) == 3
    # Whoever else listens on the host is not looked at.
    for path in ("/other", "/v2/users"):
        assert two.get("localhost:5000", path)[0] == 404
    assert not {"/other", "/v2/users"} & {line.get("path") for line in two.net.log()}


def test_who_knows_a_digest_has_no_right_to_it(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443", private=True)
    registry.parts[path_of(LAYER)] = LAYER
    one, two = boxes("one"), boxes("two")
    assert one.get("good.example:443", path_of(LAYER), KEY)[2] == LAYER
    kept(boxes, 1)
    # Without the key, and with the name of a repository that has no such layer.
    status, _, body = two.get("good.example:443", path_of(LAYER))
    assert status == 401 and not body
    assert two.get("good.example:443", path_of(LAYER, "mine"), KEY)[0] == 404
    # The right client still gets it.
    assert two.get("good.example:443", path_of(LAYER), KEY)[2] == LAYER
    assert registry.body_bytes == len(LAYER)


def test_a_registry_that_says_yes_opens_nothing_of_another(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443", private=True)
    registry.parts[path_of(LAYER)] = LAYER
    boxes("one").get("good.example:443", path_of(LAYER), KEY)
    kept(boxes, 1)

    # Its owner is the guest's friend: it says that it has every digest.
    def yes(sock, method, path):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" +
                     (b"mine" if method == "GET" else b""))
        return True
    Registry(boxes.make, "203.0.113.20:443", odd=yes)
    two = boxes("two")
    assert two.get("a.good.example:443", path_of(LAYER))[2] == b"mine"
    assert len(kept(boxes)) == 1


def test_only_what_its_digest_says_is_kept(boxes):
    sent = {"n": 0}

    def poison(sock, method, path):
        turn, sent["n"] = sent["n"], sent["n"] + 1
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LAYER)
        sock.sendall([
            whole + b"x" * len(LAYER),                                         # other bytes
            whole + LAYER[:-1],                                                # cut
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + LAYER[:9],       # a shorter one
            b"HTTP/1.1 206 Partial Content\r\nContent-Length: 9\r\n"
            b"Content-Range: bytes 0-8/9\r\n\r\n" + LAYER[:9],
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n" + LAYER[:9],
        ][turn])
        if turn == 1:
            sock.shutdown(socket.SHUT_RDWR)
        return True
    registry = Registry(boxes.make, "203.0.113.10:443", odd=poison)
    box = boxes("one")
    for turn in range(5):
        stream = box.ask("good.example:443", path_of(LAYER))
        stream.expect(b"\r\n\r\n")
        if turn == 1:
            stream.wait_closed()
        stream.close()
        box.net.wait_log({"path": path_of(LAYER)})
    registry.origin.wait(lambda _: len(registry.requests) == 5)
    assert kept(boxes, 0) == []
    # And the right one still enters.
    registry.odd, registry.parts = None, {path_of(LAYER): LAYER}
    assert box.get("good.example:443", path_of(LAYER))[2] == LAYER
    kept(boxes, 1)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def test_it_is_confined(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    registry.parts[path_of(LAYER)] = LAYER
    box = boxes("one")
    box.get("good.example:443", path_of(LAYER))
    status = status_of(box.helper.pid)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    kept(boxes, 1)


def test_streams_of_http2_are_served_beside_each_other(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    layers = [os.urandom(300_000) for _ in range(5)]
    registry.parts.update({path_of(data): data for data in layers})
    box = boxes("one")
    for count in (1, 2):
        client = net_h2.Client(box.connect("good.example:443", alpn=("h2",)))
        numbers = [client.ask([(":method", "GET"), (":scheme", "https"),
                               (":authority", "good.example"), (":path", path_of(data))])
                   for data in layers]
        if not box.helper:
            box.start_helper()
        for number, data in zip(numbers, layers):
            status, head, body = client.answer(number)
            assert status == 200 and body == data, (count, status, head)
        kept(boxes, 5)
    assert registry.body_bytes == sum(map(len, layers))
    assert [method for method, _ in registry.requests].count("HEAD") == 5


def test_a_part_is_neither_kept_nor_served(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    registry.parts[path_of(LAYER)] = LAYER
    box = boxes("one")
    box.get("good.example:443", path_of(LAYER))
    kept(boxes, 1)
    box.get("good.example:443", path_of(LAYER), "Range: bytes=5-")
    assert registry.requests[-1][0] == "GET"


def test_two_at_once_and_a_kill_in_the_middle(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    go = threading.Event()

    def slow(sock, method, path):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LAYER) +
                     LAYER[:1 << 20])
        go.wait(WAIT_SECONDS)
        sock.sendall(LAYER[1 << 20:])
        return True
    registry.odd = slow
    one, two, three = boxes("one"), boxes("two"), boxes("three")
    streams = [box.ask("good.example:443", path_of(LAYER)) for box in (one, two, three)]
    for stream in streams:
        stream.expect(b"\r\n\r\n")
        stream.pump(lambda s=stream: len(s.received) >= 1 << 19, "the first part")
    wait(lambda: len(partial(boxes)) == 3)
    three.helper.send_signal(signal.SIGKILL)
    three.helper.wait()
    go.set()
    # The client does not see that the cache has gone.
    for stream in streams:
        assert read_all(stream, len(LAYER)) == LAYER
    wait(lambda: len(kept(boxes)) == 1 and len(partial(boxes)) == 1)
    # The next one that starts takes the leftover away.
    three.helper = None
    registry.odd, registry.parts = None, {path_of(LAYER): LAYER}
    assert three.get("good.example:443", path_of(LAYER))[2] == LAYER
    assert registry.requests[-1][0] == "HEAD"
    kept(boxes, 1)


def test_a_redirect_is_tied_to_its_digest(boxes):
    store = Registry(boxes.make, "203.0.113.20:443")
    at = f"/data/{hex_of(LAYER)}?sig=1"
    store.parts[at] = LAYER

    def away(sock, method, path):
        sock.sendall(f"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://a.good.example{at}\r\n"
                     "Content-Length: 0\r\n\r\n".encode())
        return True
    registry = Registry(boxes.make, "203.0.113.10:443", odd=away)
    one, two = boxes("one"), boxes("two")
    assert one.get("good.example:443", path_of(LAYER))[0] == 307
    assert one.get("a.good.example:443", at)[2] == LAYER
    kept(boxes, 1)
    # The redirect says that this client may have it.
    assert two.get("good.example:443", path_of(LAYER))[2] == LAYER
    assert store.body_bytes == len(LAYER)

    # The page of a login does not, nor does another registry.
    for place in (f"https://a.good.example/login?to={path_of(LAYER)}",
                  f"https://a.good.example{path_of(LAYER)}"):
        def elsewhere(sock, method, path, place=place):
            sock.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\n"
                         "Content-Length: 0\r\n\r\n".encode())
            return True
        registry.odd = elsewhere
        status, head, body = two.get("good.example:443", path_of(LAYER))
        assert status == 302 and place in head and not body


def test_the_longest_unused_goes_when_there_is_no_room(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    layers = [os.urandom(1 << 20) for _ in range(4)]
    box = boxes("one")
    for index, data in enumerate(layers):
        registry.parts[path_of(data)] = data
        stream = box.ask("good.example:443", path_of(data)) if box.helper else None
        if not stream:
            box.off = True
            stream = box.ask("good.example:443", path_of(data))
            box.start_helper(str(3 << 20))
        assert box.read(stream)[2] == data
        stream.close()
        wait(lambda: any(name.startswith(hex_of(data)) for name in kept(boxes)))
        if index == 2:
            assert box.get("good.example:443", path_of(layers[0]))[2] == layers[0]
    assert {name[:64] for name in kept(boxes, 3)} == {
        hex_of(layers[0]), hex_of(layers[2]), hex_of(layers[3])}


def test_without_a_cache_everything_passes(boxes):
    registry = Registry(boxes.make, "203.0.113.10:443")
    registry.parts[path_of(LAYER)] = LAYER
    box = boxes("one")
    box.off = True
    stream = box.ask("good.example:443", path_of(LAYER))
    box.net.packet("layers")
    box.net.send({"op": "layers"})
    assert box.read(stream)[2] == LAYER
    assert box.get("good.example:443", path_of(LAYER))[2] == LAYER
    assert registry.body_bytes == 2 * len(LAYER) and not kept(boxes)
