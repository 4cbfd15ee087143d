# SPDX-License-Identifier: Apache-2.0
"""Logins through bawn-net: tokens stay outside, placeholders go in"""
import json
import os
import socket
import time

import pytest

import net_origin
import net_world
from test_net_https import HEAD, connect, read_head

HOSTS = {"servers": [], "hosts": [["good.example", "203.0.113.10"]]}
ACCESS = "sk-ant-oat01-" + "A1b2C3d4" * 8
REFRESH = "sk-ant-ort01-" + "R9z8Y7x6" * 8
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJlbWFpbCI6Im1lIn0." + "S1g2" * 40
OTHER = "sk-ant-oat01-" + "N3wN3wN3" * 8
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
LOGIN = {"name": "testy", "endpoints": ["good.example/oauth/token"], "tokens": []}


class Login:
    """A bawn-net, an origin that answers with `answer`, and bawn-keys' end."""

    def __init__(self, make, answer, tokens=(), text="allow GET,POST good.example/**"):
        self.answer, self.seen = answer, []
        self.folder = str(make.folder)
        origin = net_origin.Origin(make.world, "203.0.113.10:443", "tls", folder=self.folder)
        make.made.append(origin.stop)
        origin.http = lambda sock, seen: self.speak(sock)
        self.net = net_world.Net(make.world, make.folder, resolver=HOSTS,
                                 policy=[{"scope": "sandbox", "name": "rules", "text": text}],
                                 ca=net_origin.sandbox_authority(self.folder))
        self.net.trust = f"{self.folder}/cert.pem"
        self.net.secrets, self.net.logins = [], [{**LOGIN, "tokens": list(tokens)}]
        make.made.append(self.net.kill)
        self.net.start()
        self.stream = connect(self.net, self.folder)

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
            self.seen.append((head.decode(), body.decode()))
            kind, text, *more = self.answer
            status = more[0] if more else "200 OK"
            extra = "".join(f"{line}\r\n" for line in more[1:])
            sock.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{extra}"
                         f"Content-Length: {len(text)}\r\n\r\n{text}".encode())

    def ask(self, body, kind=JSON, path="/oauth/token", method="POST"):
        self.stream.send(f"{method} {path} HTTP/1.1\r\n{HEAD.decode()}Content-Type: {kind}\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        if (method, path) == ("POST", "/oauth/token") and any(
                one["field"] == "refresh_token" for one in self.net.logins[0]["tokens"]):
            self.net.keys.send(self.packet("renew")[0])

    def packet(self, op):
        """In bawn-keys' place: the next packet of that kind; a renewal is over before it."""
        while True:
            data, fds, _, _ = socket.recv_fds(self.net.keys, 65536, 1)
            packet = json.loads(data)
            if packet["op"] != "renewal":
                break
        assert packet["op"] == op and packet["service"] == "testy"
        return data, fds

    def kept(self, renewed=False):
        """In bawn-keys' place: takes the tokens, and tells the new list."""
        data, fds = self.packet("tokens")
        assert json.loads(data)["renewed"] == renewed
        self.expires = json.loads(data)["expires"]
        with os.fdopen(fds[0], "rb") as file:
            file.seek(0)
            tokens = json.loads(file.read())
        self.net.logins = [{**LOGIN, "tokens": tokens}]
        self.net.send_secrets([])
        assert self.net.taken() is None
        return {one["field"]: one for one in tokens}

    def response(self):
        head = self.stream.expect(b"\r\n\r\n")
        size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:"))
        return self.stream.read(size).decode()


def test_a_guest_gets_placeholders_and_renews_with_them(make):
    first = json.dumps({"token_type": "Bearer", "access_token": ACCESS, "expires_in": 28800,
                        "refresh_token": REFRESH, "id_token": JWT, "account": {"x": [1, None]}})
    login = Login(make, (JSON, first))
    login.ask('{"grant_type":"authorization_code","code":"c"}')
    kept = login.kept()
    assert abs(login.expires - time.time() - 28800) < 60
    assert {name: one["value"] for name, one in kept.items()} == {
        "access_token": ACCESS, "refresh_token": REFRESH, "id_token": JWT}
    text = login.response()
    got = json.loads(text)
    for token in (ACCESS, REFRESH, JWT, JWT.split(".")[2]):
        assert token not in text
    for field, token in (("access_token", ACCESS), ("refresh_token", REFRESH), ("id_token", JWT)):
        assert got[field] == kept[field]["placeholder"] and len(got[field]) == len(token)
    assert got["access_token"].startswith("sk-ant-oat01-")
    # what an agent reads from a token is still there
    assert got["id_token"].rsplit(".", 1)[0] == JWT.rsplit(".", 1)[0]
    assert {**got, "access_token": "", "refresh_token": "", "id_token": ""} == {
        **json.loads(first), "access_token": "", "refresh_token": "", "id_token": ""}

    # renewed: the same refresh token keeps its placeholder
    login.answer = (JSON, json.dumps({"access_token": OTHER, "refresh_token": REFRESH}))
    login.ask(json.dumps({"grant_type": "refresh_token", "client_id": got["refresh_token"],
                          "refresh_token": got["refresh_token"]}))
    again = login.kept(renewed=True)
    assert again["refresh_token"]["placeholder"] == got["refresh_token"]
    assert again["access_token"]["value"] == OTHER
    assert OTHER not in login.response()
    # in its field alone
    sent = json.loads(login.seen[1][1])
    assert sent["refresh_token"] == REFRESH and sent["client_id"] == got["refresh_token"]
    assert "accept-encoding: identity" in login.seen[1][0].lower()
    login.net.stop()


def test_forms_are_understood_too(make):
    holder = {"field": "refresh_token", "value": REFRESH,
              "placeholder": "sk-ant-ort01-" + "p" * (len(REFRESH) - 13)}
    login = Login(make, (FORM, "access_token=gho_" + "x" * 36 + "&scope=repo%2Cgist"), [holder])
    login.ask(f"grant_type=refresh_token&refresh_token={holder['placeholder']}", FORM)
    kept = login.kept(renewed=True)
    assert login.expires == 0
    assert login.response() == f"access_token={kept['access_token']['placeholder']}&scope=repo%2Cgist"
    assert login.seen[0][1] == f"grant_type=refresh_token&refresh_token={REFRESH}"
    # who waits for the user's consent is told so
    login.answer = (JSON, '{"error":"authorization_pending"}')
    login.ask("device_code=x", FORM)
    assert login.response() == '{"error":"authorization_pending"}'
    login.net.stop()


HOLDER = {"field": "refresh_token", "value": REFRESH,
          "placeholder": "sk-ant-ort01-" + "p" * (len(REFRESH) - 13)}


@pytest.mark.parametrize("path, method, kind", [
    ("/oauth/other", "POST", JSON), ("/oauth/token", "GET", JSON),
    ("/oauth/token/x", "POST", JSON), ("/oauth/token", "POST", "text/plain")])
def test_no_token_leaves_for_anything_else(make, path, method, kind):
    login = Login(make, (JSON, '{"a":1}'), [HOLDER])
    login.ask(json.dumps({"refresh_token": HOLDER["placeholder"]}), kind, path, method)
    assert login.response() == '{"a":1}'
    assert REFRESH not in login.seen[0][1] and HOLDER["placeholder"] in login.seen[0][1]
    login.net.stop()


ID = {"field": "id_token", "value": JWT, "placeholder": JWT[:-8] + "pppppppp"}


def test_a_login_makes_no_other_key(make):
    """Row: C8. An exchange (RFC 8693) gives a key that outlives the login."""
    login = Login(make, (JSON, '{"error":"invalid_token"}', "401 No"), [ID])
    login.ask("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
              f"&requested_token=a-key&subject_token={ID['placeholder']}"
              f"&actor_token={ID['placeholder']}", FORM)
    assert "invalid_token" in login.response()
    assert JWT not in login.seen[0][1] and login.seen[0][1].count(ID["placeholder"]) == 2
    login.net.stop()


@pytest.mark.parametrize("path", [
    "/oauth/token/", "/oauth//token", "/OAuth/Token", "/oauth/%74oken", "/oauth%2ftoken",
    "/x/../oauth/token", "/oauth/token?a=b"])
def test_an_answer_counts_however_its_path_is_spelled(make, path):
    """Row: C6. A server may understand what no rule allows."""
    login = Login(make, (JSON, json.dumps({"access_token": ACCESS})), text="allow good.example")
    login.ask('{"grant_type":"authorization_code"}', path=path)
    assert login.kept()["access_token"]["value"] == ACCESS
    assert ACCESS not in login.response()
    login.net.stop()


@pytest.mark.parametrize("path", ["/oauth/token/", "/OAuth/token", "/oauth%2ftoken"])
def test_no_token_leaves_for_another_spelling(make, path):
    login = Login(make, (JSON, '{"a":1}'), [ID], "allow good.example")
    login.ask(json.dumps({"token": ID["placeholder"]}), path=path)
    assert login.response() == '{"a":1}' and JWT not in login.seen[0][1]
    login.net.stop()


def test_a_token_that_comes_back_is_masked(make):
    login = Login(make, (JSON, f'{{"error":"bad {REFRESH}"}}', "400 Bad Request"), [HOLDER])
    login.ask(json.dumps({"refresh_token": HOLDER["placeholder"]}))
    text = login.response()
    assert REFRESH not in text and '{"error":"bad ' in text
    assert json.loads(login.seen[0][1])["refresh_token"] == REFRESH
    login.net.stop()


@pytest.mark.parametrize("answer", [
    (JSON, f'{{"access_token":"{ACCESS}","access_token":"{ACCESS}"}}'),
    (JSON, f'{{"access\\u005ftoken":"{ACCESS}"}}'),
    (JSON, f'{{"access_token":"{ACCESS}'),
    (JSON, f'[{{"access_token":"{ACCESS}"}}]'),
    (JSON, f'{{"access_token":"{ACCESS}+/="}}'),
    (JSON, '{"access_token":"short"}'),
    ("text/html", f'{{"access_token":"{ACCESS}"}}'),
    (JSON, f'{{"access_token":"{ACCESS}"}}', "200 OK", "Content-Encoding: gzip"),
    (JSON, f'{{"access_token":"{ACCESS}", "x": "' + "x" * 40000 + '"}')])
def test_an_answer_that_cannot_be_read_never_gets_in(make, answer):
    login = Login(make, answer)
    login.ask('{"grant_type":"authorization_code"}')
    line = login.net.wait_log({"path": "/oauth/token"})
    assert "login" in line["reason"]
    login.stream.pump(lambda: b"502" in login.stream.received, "the end")
    assert ACCESS.encode() not in login.stream.received
    login.net.stop()


def test_without_bawn_keys_no_token_gets_in(make):
    login = Login(make, (JSON, f'{{"access_token":"{ACCESS}"}}'))
    login.net.keys.close()
    login.ask('{"grant_type":"authorization_code"}')
    line = login.net.wait_log({"path": "/oauth/token", "verdict": "deny"})
    assert "could not be kept" in line["reason"]
    login.net.stop()
