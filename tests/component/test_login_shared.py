# SPDX-License-Identifier: Apache-2.0
"""Two sandboxes with one login: bawn-net and bawn-keys of each, one token endpoint"""
import json
import os
import time

import pytest

import net_origin
import net_world
from test_keys import Keys
from test_net_https import connect
from test_net_renew import HOSTS, NEW, NEXT, OLD, REFRESH, RULES, SHOWN, Origin, Renew

SERVICES = {"services": [{
    "name": "testy", "hosts": ["good.example"], "variables": ["TESTY"], "paths": ["/api/**"],
    "headers": [{"name": "authorization", "format": "Bearer %s"}],
    "placeholder": {"prefix": "tk-", "length": 40},
    "token_endpoints": ["good.example/oauth/token"],
    "renew": {"endpoint": "good.example/oauth/token", "type": "json",
              "fields": {"client_id": "me"}}}]}


class RealNet(net_world.Net):
    """Its secrets come from a bawn-keys, whose end of the pair lasts, as with the launcher."""

    def __init__(self, keys, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.real, self.secrets = keys, []

    def send_secrets(self, secrets):
        self.real.send("net", self.keys.fileno())

    def taken(self):
        return None


class Sandbox:
    def __init__(self, make, store, scope):
        self.make, self.scope, self.store = make, scope, store
        folder = make.folder / scope
        folder.mkdir()
        path = store / f"secrets/{scope}.json"
        path.write_text(json.dumps({"version": 1, "secrets": [], "placeholders": {
            "testy": "tk-" + "L" * 37}}))
        path.chmod(0o600)
        self.start_keys()
        self.net = RealNet(self.keys, make.world, folder, resolver=HOSTS, policy=[
            {"scope": "sandbox", "name": "rules", "text": RULES}],
            ca=net_origin.sandbox_authority(str(make.folder)))
        self.net.trust = f"{make.folder}/cert.pem"
        make.made.append(self.net.kill)
        self.net.start()

    def start_keys(self):
        self.keys = Keys(self.store, scope=self.scope, services=SERVICES)

        def end(one=self.keys):
            one.process.kill()
            one.process.wait()
            one.errors.close()
        self.make.made.append(end)
        self.keys.packet("ready")

    def restart_keys(self):
        """As the launcher does: with the same end of the pair."""
        self.keys.process.kill()
        self.keys.process.wait()
        self.start_keys()
        self.keys.send("net", self.net.keys.fileno())

    def stream(self):
        return connect(self.net, str(self.make.folder))


class Rotating(Origin):
    """Each refresh token is good for one time; who comes with an old one is refused."""

    def __init__(self, make):
        self.good, self.given = REFRESH, {REFRESH: (NEW, NEXT)}
        self.rotated = 0
        super().__init__(make)

    @property
    def answer(self):
        sent = json.loads(self.asked[-1][1])["refresh_token"]
        if sent != self.good:
            return 400, {"error": "invalid_grant"}
        access, self.good = self.given[sent]
        self.rotated += 1
        return 200, {"access_token": access, "refresh_token": self.good, "expires_in": 3600}

    @answer.setter
    def answer(self, value):
        pass


@pytest.fixture
def two(make):
    store = make.folder / "store"
    os.makedirs(store / "secrets", mode=0o700)
    path = store / "secrets/global.json"
    values = {"access_token": OLD, "refresh_token": REFRESH}
    path.write_text(json.dumps({"version": 1, "secrets": [], "placeholders": {}, "logins": {
        "testy": {"set": 1, "expires": int(time.time()) - 10, "tokens": {
            field: {"value": value, "placeholder": SHOWN[field]}
            for field, value in values.items()}}}}))
    path.chmod(0o600)
    origin = Rotating(make)
    return origin, Sandbox(make, store, "0a1b"), Sandbox(make, store, "0c2d"), path


def wait(condition, *sandboxes):
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, [one.net.stderr() for one in sandboxes]
        for one in sandboxes:
            one.net.port.poll()
        net_world.select_wait(0.01)


def login(path):
    return json.loads(path.read_text())["logins"]["testy"]


def test_two_sandboxes_renew_once_and_both_have_it(two):
    origin, one, other, path = two
    origin.hold.clear()
    streams = [one.stream(), other.stream()]
    for stream in streams:
        Renew.send(stream)
    wait(lambda: origin.asked, one, other)
    origin.hold.set()
    assert [Renew.receive(stream)[0] for stream in streams] == [200, 200]
    assert origin.seen == [NEW, NEW] and len(origin.asked) == 1 == origin.rotated
    assert login(path)["tokens"]["refresh_token"]["value"] == NEXT
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_guests_own_renewal_counts_in_the_other_sandbox(two):
    origin, one, other, path = two
    origin.hold.clear()
    guest, stream = one.stream(), other.stream()
    Renew.send(guest, "/oauth/token", json.dumps(
        {"grant_type": "refresh_token", "refresh_token": SHOWN["refresh_token"]}))
    wait(lambda: origin.asked, one, other)
    Renew.send(stream)
    origin.hold.set()
    status, text = Renew.receive(guest)
    assert status == 200 and NEW not in text and NEXT not in text
    assert Renew.receive(stream)[0] == 200 and origin.seen == [NEW]
    assert origin.rotated == 1 == len(origin.asked)
    assert login(path)["tokens"]["access_token"]["value"] == NEW


def test_bawn_keys_killed_in_the_middle_loses_no_token(two):
    origin, one, other, path = two
    origin.hold.clear()
    stream = one.stream()
    Renew.send(stream)
    wait(lambda: origin.asked, one)
    one.restart_keys()
    origin.hold.set()
    assert Renew.receive(stream)[0] == 200 and origin.seen == [NEW]
    assert login(path)["tokens"]["refresh_token"]["value"] == NEXT
    # and the other one has it
    again = other.stream()
    Renew.send(again)
    assert Renew.receive(again)[0] == 200 and origin.seen == [NEW, NEW]
    assert origin.rotated == 1


def test_bawn_net_killed_in_the_middle_lets_the_other_one(two):
    origin, one, other, path = two
    origin.hold.clear()
    stream = one.stream()
    Renew.send(stream)
    wait(lambda: origin.asked, one)
    one.net.process.kill()
    one.net.wait()
    second = other.stream()
    Renew.send(second)
    # the endpoint has answered nobody yet: the same token is good for the other
    wait(lambda: len(origin.asked) == 2, other)
    origin.hold.set()
    assert Renew.receive(second)[0] == 200
    # one of the two was rotated for a dead one: whichever it was, it is told
    wait(lambda: (login(path)["tokens"]["access_token"]["value"] == NEW) !=
         ("refused" in login(path)), other)


def test_a_refused_renewal_is_everybodys(two):
    origin, one, other, path = two
    origin.good = "another"
    stream, second = one.stream(), other.stream()
    Renew.send(stream)
    assert Renew.receive(stream)[0] == 200 and origin.seen == [OLD]
    wait(lambda: login(path).get("refused"), one, other)
    Renew.send(second)
    assert Renew.receive(second)[0] == 200 and origin.seen == [OLD, OLD]
    assert len(origin.asked) == 1
