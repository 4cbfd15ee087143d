# SPDX-License-Identifier: Apache-2.0
"""The host renews logins: bawn-net with a token endpoint, and bawn-keys' end the test's"""
import json
import os
import socket
import threading
import time
import urllib.parse

import pytest

import net_h2
import net_origin
import net_world
from test_net_https import HEAD, connect, read_head

HOSTS = {"servers": [], "hosts": [["good.example", "203.0.113.10"],
                                  ["bad.example", "203.0.113.11"]]}
JSON = "application/json"
ENDPOINT = "good.example/oauth/token"
RULES = "allow GET,POST good.example/**\nallow POST bad.example/**"
WAIT_SECONDS = 15


def token(kind, letter, size=64):
    return f"sk-ant-{kind}01-" + letter * size


OLD, NEW, NEWER = token("oat", "a"), token("oat", "b"), token("oat", "c", 70)
REFRESH, NEXT = token("ort", "r"), token("ort", "s")
SHOWN = {"access_token": token("oat", "P"), "refresh_token": token("ort", "Q")}


class Origin:
    """The service and its token endpoint: answers by path, and remembers."""

    def __init__(self, make, address="203.0.113.10", **options):
        self.asked, self.seen = [], []
        self.answer = (200, {"access_token": NEW, "refresh_token": NEXT, "expires_in": 3600})
        self.api = 200
        self.hold = threading.Event()
        self.hold.set()
        # a certificate of its own for each
        folder = make.folder / address if options else make.folder
        folder.mkdir(exist_ok=True)
        origin = net_origin.Origin(make.world, f"{address}:443", "tls", folder=str(folder),
                                   **options)
        origin.http = lambda sock, seen: self.speak(sock)
        make.made.append(origin.stop)

    def speak(self, sock):
        while True:
            try:
                head, body = read_head(sock)
            except OSError:
                return
            fields = head.decode().lower().split("\r\n")
            size = [int(one[15:]) for one in fields if one.startswith("content-length:")]
            while size and len(body) < size[0]:
                body += sock.recv(65536)
            status, text = self.api, "{}"
            if "/oauth/token" in head.decode().split("\r\n", maxsplit=1)[0]:
                self.asked.append((head.decode(), body.decode()))
                assert self.hold.wait(WAIT_SECONDS)
                status, text = self.answer
                text = text if isinstance(text, str) else json.dumps(text)
            else:
                self.seen.append(next(one[22:] for one in head.decode().split("\r\n")
                                      if one.lower().startswith("authorization: bearer ")))
            sock.sendall(f"HTTP/1.1 {status} X\r\nContent-Type: {JSON}\r\n"
                         f"Content-Length: {len(text)}\r\n\r\n{text}".encode())


class Fake:
    """bawn-keys' end: lends, keeps and remembers, in a thread of its own."""

    def __init__(self, net, login):
        self.net, self.login = net, login
        self.packets, self.kept = [], []
        self.lends = threading.Event()
        self.lends.set()
        threading.Thread(target=self.work, daemon=True).start()

    @staticmethod
    def list_of(login):
        value = {one["field"]: one["value"] for one in login["tokens"]}
        return [{"name": "testy", "placeholder": SHOWN["access_token"], "why": None,
                 "value": value["access_token"], "hosts": ["good.example"],
                 "headers": [{"name": "authorization", "format": "Bearer %s"}], "query": [],
                 "methods": [], "paths": ["/api/**"], "plain_http": False}]

    def tell(self):
        self.net.logins = [self.login]
        self.net.send_secrets(self.list_of(self.login))

    def work(self):
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(self.net.keys, 65536, 1)
            except TimeoutError:
                continue
            except OSError:
                return
            if not data:
                return
            packet = json.loads(data)
            if packet["op"] == "renew":
                assert self.lends.wait(WAIT_SECONDS)
                self.net.keys.send(data)
            elif packet["op"] == "tokens":
                with os.fdopen(fds[0], "rb") as file:
                    file.seek(0)
                    tokens = {one["field"]: one for one in json.loads(file.read())}
                self.kept.append((packet, tokens))
                old = {one["field"]: one for one in self.login["tokens"]}
                self.login = {**self.login, "expires": packet["expires"],
                              "tokens": list({**old, **tokens}.values())}
                self.tell()
            elif packet["op"] == "renewal" and packet["refused"]:
                self.login = {**self.login, "refused": True}
                self.tell()
            self.packets.append(packet)


class Renew:
    def __init__(self, make, ends_in, rules=RULES, endpoint=ENDPOINT, **login):
        self.make, self.folder = make, str(make.folder)
        self.origin = Origin(make)
        self.net = net_world.Net(make.world, make.folder, resolver=HOSTS,
                                 policy=[{"scope": "sandbox", "name": "rules", "text": rules}],
                                 ca=net_origin.sandbox_authority(self.folder))
        self.net.trust = f"{self.folder}/cert.pem"
        values = {"access_token": OLD, "refresh_token": REFRESH}
        login = {"name": "testy", "endpoints": [endpoint], "expires": int(time.time()) + ends_in,
                 "refused": False, "tokens": [
                     {"field": field, "value": value, "placeholder": SHOWN[field]}
                     for field, value in values.items()],
                 "renew": {"endpoint": endpoint, "type": "json",
                           "fields": {"client_id": "me"}}, **login}
        self.net.secrets, self.net.logins = Fake.list_of(login), [login]
        make.made.append(self.net.kill)
        self.net.start()
        self.keys = Fake(self.net, login)

    def stream(self):
        return connect(self.net, self.folder)

    @staticmethod
    def send(stream, path="/api/x", body=None):
        kind = f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n" if body else ""
        stream.send(f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\n{HEAD.decode()}"
                    f"Authorization: Bearer {SHOWN['access_token']}\r\n{kind}\r\n"
                    f"{body or ''}".encode())

    @staticmethod
    def receive(stream):
        head = stream.expect(b"\r\n\r\n").decode()
        size = next(int(line.split(":")[1]) for line in head.lower().split("\r\n")
                    if line.startswith("content-length:"))
        return int(head.split(" ")[1]), stream.read(size).decode()

    def get(self, stream=None):
        stream = stream or self.stream()
        self.send(stream)
        return self.receive(stream)[0]

    def line(self, text, **wanted):
        """A line of the log about the login."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            self.net.port.poll()
            for line in self.net.log():
                if text in line.get("reason", "") and all(
                        line.get(key) == value for key, value in wanted.items()):
                    return line
            assert time.monotonic() < deadline, (self.net.log(), self.net.stderr())
            net_world.select_wait(0.01)

    def until(self, condition):
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, (self.keys.packets, self.net.stderr())
            self.net.port.poll()
            net_world.select_wait(0.01)


def test_a_token_that_has_ended_is_renewed_before_it_goes_along(make):
    one = Renew(make, -10)
    stream = one.stream()
    assert one.get(stream) == 200 and one.origin.seen == [NEW]
    head, body = one.origin.asked[0]
    assert head.startswith("POST /oauth/token HTTP/1.1\r\nHost: good.example\r\n")
    assert json.loads(body) == {"grant_type": "refresh_token", "client_id": "me",
                                "refresh_token": REFRESH}
    packet, tokens = one.keys.kept[0]
    assert packet["renewed"] and abs(packet["expires"] - time.time() - 3600) < 60
    # the guest goes on with what it has
    assert {name: (it["value"], it["placeholder"]) for name, it in tokens.items()} == {
        "access_token": (NEW, SHOWN["access_token"]),
        "refresh_token": (NEXT, SHOWN["refresh_token"])}
    assert one.line("renewed by the host", verdict="allow", status=200)["path"] == "/oauth/token"
    assert one.get(stream) == 200 and one.origin.seen == [NEW, NEW]
    assert len(one.origin.asked) == 1 and one.keys.packets[0] == {"op": "renew",
                                                                  "service": "testy"}
    assert NEW not in one.net.stderr() and REFRESH not in one.net.stderr()
    one.net.stop()


@pytest.mark.parametrize("kind", ["json", "form"])
def test_the_scope_that_was_granted_is_asked_for_again(make, kind):
    one = Renew(make, -10, scope="user:a b", renew={
        "endpoint": ENDPOINT, "type": kind, "fields": {"client_id": "me"}, "scope": True})
    one.origin.answer = (200, {"access_token": NEW, "scope": "user:a", "expires_in": 60})
    assert one.get() == 200 and one.origin.seen == [NEW]
    text = one.origin.asked[0][1]
    sent = json.loads(text) if kind == "json" else dict(urllib.parse.parse_qsl(text))
    assert sent == {"grant_type": "refresh_token", "client_id": "me", "scope": "user:a b",
                    "refresh_token": REFRESH}
    assert one.keys.kept[0][0]["scope"] == "user:a"
    one.net.stop()


def test_many_requests_wait_for_one_renewal(make):
    one = Renew(make, -10)
    one.origin.hold.clear()
    streams = [one.stream() for _ in range(8)]
    for stream in streams:
        one.send(stream)
    one.until(lambda: one.origin.asked)
    # one that ends while it waits
    streams.pop().close()
    assert one.origin.seen == []
    one.origin.hold.set()
    assert [one.receive(stream)[0] for stream in streams] == [200] * 7
    assert one.origin.seen == [NEW] * 7 and len(one.origin.asked) == 1
    one.net.stop()


def test_one_that_ends_soon_is_renewed_beside(make):
    one = Renew(make, 120)
    one.origin.hold.clear()
    stream = one.stream()
    assert one.get(stream) == 200 and one.origin.seen == [OLD]
    one.until(lambda: one.origin.asked)
    one.origin.hold.set()
    one.line("renewed by the host")
    assert one.get(stream) == 200 and one.origin.seen[-1] == NEW
    one.net.stop()


@pytest.mark.parametrize("ends_in", [3600, 0])
def test_one_that_lasts_or_says_nothing_is_left_alone(make, ends_in):
    one = Renew(make, ends_in, **({} if ends_in else {"expires": 0}))
    assert one.get() == 200 and one.origin.seen == [OLD]
    assert one.origin.asked == [] and one.keys.packets == []
    one.net.stop()


def test_a_server_that_refuses_the_token_makes_it_renewed(make):
    one = Renew(make, 3600)
    one.origin.api = 401
    stream = one.stream()
    assert one.get(stream) == 401
    one.line("renewed by the host")
    one.origin.api = 200
    assert one.get(stream) == 200 and one.origin.seen == [OLD, NEW]
    # who says so always does not use up tokens
    one.origin.api = 401
    assert one.get(stream) == 401 and one.get(stream) == 401
    assert len(one.origin.asked) == 1
    one.net.stop()


@pytest.mark.parametrize("answer", [(400, {"error": "invalid_grant"}),
                                    (401, {"error": {"code": "refresh_token_expired"}})])
def test_a_refused_renewal_is_told_and_not_tried_again(make, answer):
    one = Renew(make, -10)
    one.origin.answer = answer
    stream = one.stream()
    assert one.get(stream) == 200 and one.origin.seen == [OLD]
    one.line("has to be made again", verdict="allow", status=answer[0])
    one.until(lambda: one.keys.login["refused"])
    assert "login testy" in one.net.stderr()
    assert one.get(stream) == 200 and len(one.origin.asked) == 1
    one.net.stop()


@pytest.mark.parametrize("answer", [
    (503, "busy"), (200, "{}"), (200, '{"access_token":"short"}'), (200, "x" * 40000),
    (200, f'{{"access_token":"{NEW}","access_token":"{NEW}"}}'), (302, "{}")])
def test_an_endpoint_in_trouble_costs_one_try(make, answer):
    one = Renew(make, -10)
    one.origin.answer = answer
    stream = one.stream()
    assert one.get(stream) == 200 and one.get(stream) == 200
    assert one.origin.seen == [OLD, OLD] and len(one.origin.asked) == 1
    told = {"op": "renewal", "service": "testy", "refused": False}
    one.until(lambda: told in one.keys.packets)
    assert one.keys.kept == []
    assert NEW not in one.net.stderr()
    one.net.stop()


def test_no_token_goes_to_who_proves_no_name(make):
    one = Renew(make, -10, endpoint="bad.example/oauth/token")
    other = Origin(make, "203.0.113.11", tls={"names": ["other.example"]})
    assert one.get() == 200 and one.origin.seen == [OLD]
    assert other.asked == [] and one.keys.kept == []
    one.line("login testy", name="bad.example")
    one.net.stop()


def test_the_rules_hold_for_the_host_too(make):
    one = Renew(make, -10, rules="allow GET good.example/api/**")
    assert one.get() == 200 and one.origin.seen == [OLD]
    assert one.origin.asked == []
    one.line("no rule allows its token endpoint", verdict="deny", path="/oauth/token")
    one.net.stop()


def test_a_guests_own_renewal_waits_for_the_hosts(make):
    one = Renew(make, -10)
    one.origin.hold.clear()
    first, second = one.stream(), one.stream()
    one.send(first)
    one.until(lambda: one.origin.asked)
    one.send(second, "/oauth/token", json.dumps(
        {"grant_type": "refresh_token", "refresh_token": SHOWN["refresh_token"]}))
    one.origin.answer = (200, {"access_token": NEW, "refresh_token": NEXT, "expires_in": 3600})
    one.origin.hold.set()
    assert one.receive(first)[0] == 200 and one.origin.seen == [NEW]
    one.until(lambda: len(one.origin.asked) == 2)
    # with the token that the first one got, for what the guest still has
    assert json.loads(one.origin.asked[1][1])["refresh_token"] == NEXT
    status, text = one.receive(second)
    assert status == 200 and NEW not in text and NEXT not in text
    one.net.stop()


def test_the_host_waits_for_a_guests_own_renewal(make):
    one = Renew(make, -10)
    one.origin.hold.clear()
    first, second = one.stream(), one.stream()
    one.send(first, "/oauth/token", json.dumps(
        {"grant_type": "refresh_token", "refresh_token": SHOWN["refresh_token"]}))
    one.until(lambda: one.origin.asked)
    one.send(second)
    one.origin.hold.set()
    status, text = one.receive(first)
    assert status == 200
    # another request of the guest's may still have the old one
    assert json.loads(text)["refresh_token"] == SHOWN["refresh_token"]
    assert one.receive(second)[0] == 200 and one.origin.seen == [NEW]
    assert len(one.origin.asked) == 1 and one.keys.kept[0][0]["renewed"]
    one.net.stop()


def test_a_guest_that_goes_away_holds_nobody_up(make):
    one = Renew(make, -10)
    first, second = one.stream(), one.stream()
    # never whole
    first.send(b"POST /oauth/token HTTP/1.1\r\n" + HEAD + b"Content-Length: 99\r\n\r\n{")
    one.until(lambda: one.keys.packets)
    one.send(second)
    first.close()
    assert one.receive(second)[0] == 200
    one.net.stop()


def test_without_bawn_keys_requests_go_on(make):
    one = Renew(make, -10)
    one.net.keys.shutdown(socket.SHUT_RDWR)
    assert one.get() == 200 and one.origin.seen == [OLD] and one.origin.asked == []
    one.net.stop()


def test_a_token_of_another_length_is_fine(make):
    one = Renew(make, -10)
    one.origin.answer = (200, {"access_token": NEWER, "expires_in": "60"})
    stream = one.stream()
    assert one.get(stream) == 200 and one.origin.seen == [NEWER]
    assert one.keys.login["tokens"][1]["value"] == REFRESH
    one.net.stop()


def test_streams_of_one_connection_wait_too(make):
    """HTTP/2: one is taken back meanwhile, one renews by itself."""
    one = Renew(make, -10)
    one.origin.hold.clear()
    client = net_origin.TlsClient(one.net.connect("good.example:443"), "good.example",
                                  authority=f"{one.folder}/ca.crt", alpn=["h2"])
    client.handshake()
    h2 = net_h2.Client(net_origin.SecureStream(client))

    def ask(method="GET", path="/api/x", body=""):
        return h2.ask([(":method", method), (":scheme", "https"), (":authority", "good.example"),
                       (":path", path), ("content-type", JSON),
                       ("content-length", str(len(body))),
                       ("authorization", f"Bearer {SHOWN['access_token']}")], body)
    streams = [ask() for _ in range(4)]
    one.until(lambda: one.origin.asked)
    streams.append(ask("POST", "/oauth/token", json.dumps(
        {"grant_type": "refresh_token", "refresh_token": SHOWN["refresh_token"]})))
    h2.conn.reset_stream(streams.pop(0))
    h2.stream.send(h2.conn.data_to_send())
    one.origin.hold.set()
    assert [h2.answer(number)[0] for number in streams] == [200] * 4
    assert one.origin.seen == [NEW] * 3 and len(one.origin.asked) == 2
    assert json.loads(one.origin.asked[1][1])["refresh_token"] == NEXT
    one.net.stop()
