# SPDX-License-Identifier: Apache-2.0
"""bawn-keys alone: the launcher's, bawn-net's and the runner's ends are the test's"""
import json
import os
import signal
import socket
import subprocess

import pytest

BUILD = os.environ.get("BAWN_BUILD", os.path.join(os.path.dirname(__file__), "../../build"))
BINARY = os.path.join(BUILD, "src/keys/bawn-keys")
WAIT_SECONDS = 15
SERVICES = {"services": [{
    "name": "testy", "hosts": ["good.test"],
    "headers": [{"name": "x-key", "format": "%s"}], "variables": ["TESTY_KEY"],
    "placeholder": {"prefix": "tk-", "length": 40}}, {
    "name": "logy", "hosts": ["good.test"], "agents": ["robot"],
    "headers": [{"name": "authorization", "format": "Bearer %s"}], "variables": ["LOGY"],
    "placeholder": {"prefix": "tk-", "length": 40},
    "token_endpoints": ["good.test/token"]}]}


def memfd(text):
    fd = os.memfd_create("message")
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def pair():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.settimeout(WAIT_SECONDS)
    return ends


class Keys:
    def __init__(self, folder, runner=False, agent=""):
        self.folder = str(folder)
        os.makedirs(f"{self.folder}/secrets", mode=0o700, exist_ok=True)
        with open(f"{self.folder}/services.json", "w", encoding="ascii") as file:
            json.dump(SERVICES, file)
        self.errors = open(f"{self.folder}/errors", "ab")
        self.control, control = pair()
        self.runner, theirs = pair()
        message = memfd(json.dumps({
            "store": f"{self.folder}/secrets", "scope": "0a1b",
            "services": f"{self.folder}/services.json",
            "services_d": f"{self.folder}/services.d", "agent": agent}))
        fds = [message, control.fileno()] + ([theirs.fileno()] if runner else [])
        moves = " ".join(f"{4 + i}<&{fd}" for i, fd in enumerate(fds))
        closes = " ".join(f"{fd}<&-" for fd in fds if fd > 6)
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$0" 3<&- {moves} {closes}', BINARY], pass_fds=fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors, env={})
        for one in (control, theirs):
            one.close()
        os.close(message)
        self.net = None

    def store(self, scope, secrets, placeholders=None, mode=0o600):
        path = f"{self.folder}/secrets/{scope}.json"
        text = json.dumps({"version": 1, "placeholders": placeholders or {},
                           "secrets": [{"set": 1, **one} for one in secrets]})
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)

    def packet(self, op):
        packet = json.loads(self.control.recv(65536))
        assert packet["op"] == op, packet
        return packet

    def send(self, op, *fds):
        socket.send_fds(self.control, [json.dumps({"op": op}).encode()], list(fds))

    def use_net(self):
        self.net, theirs = pair()
        self.send("net", theirs.fileno())
        theirs.close()

    def listed(self, error=None):
        """The next list that bawn-net gets, which it takes or refuses."""
        data, fds, _, _ = socket.recv_fds(self.net, 65536, 1)
        assert json.loads(data) == {"op": "secrets"}
        with os.fdopen(fds[0], "rb") as file:
            file.seek(0)
            with pytest.raises(OSError):
                os.write(file.fileno(), b"x")
            whole = json.loads(file.read())
        self.logins, found = whole["logins"], whole["secrets"]
        self.net.send(json.dumps({"op": "taken", **({"error": error} if error else {})}).encode())
        return {one["name"]: one for one in found}

    def reload(self):
        self.send("reload")

    def stderr(self):
        with open(f"{self.folder}/errors", encoding="utf-8") as file:
            return file.read()


@pytest.fixture
def start(tmp_path):
    made = []

    def make(**options):
        made.append(Keys(tmp_path, **options))
        return made[-1]
    yield make
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        one.errors.close()


HOLDER = {"testy": "tk-0123456789012345678901234567890123456"}


def ready(start, tmp_path, secrets, **options):
    os.makedirs(tmp_path / "secrets", mode=0o700)
    Keys.store(type("", (), {"folder": str(tmp_path)}), "0a1b", secrets, HOLDER)
    keys = start(**options)
    keys.packet("ready")
    return keys


def test_a_list_comes_with_each_bawn_net_and_each_change(start, tmp_path):
    keys = ready(start, tmp_path, [{"name": "testy", "value": "tk-own"}])
    keys.use_net()
    one = keys.listed()["testy"]
    assert one["value"] == "tk-own" and one["placeholder"] == HOLDER["testy"]
    assert one["hosts"] == ["good.test"] and one["why"] is None
    keys.use_net()
    assert keys.listed()["testy"]["value"] == "tk-own"
    keys.store("0a1b", [], HOLDER)
    keys.store("global", [{"name": "testy", "value": "tk-all"}])
    keys.reload()
    assert keys.listed()["testy"]["value"] == "tk-all"
    assert keys.packet("settled") == {"op": "settled"}
    keys.store("global", [])
    keys.reload()
    assert keys.listed() == {}
    keys.packet("settled")


def test_keys_of_a_session_win(start, tmp_path):
    keys = ready(start, tmp_path, [{"name": "testy", "value": "tk-own"}])
    keys.use_net()
    keys.listed()
    fd = memfd(json.dumps([{"name": "testy", "value": "tk-session"}]))
    keys.send("session", fd)
    os.close(fd)
    keys.reload()
    assert keys.listed()["testy"]["value"] == "tk-session"
    keys.packet("settled")


def test_what_cannot_be_read_is_not_there(start, tmp_path):
    keys = ready(start, tmp_path, [{"name": "testy", "value": "tk-own"}])
    keys.use_net()
    keys.listed()
    keys.store("0a1b", [{"name": "testy", "value": "tk-own"}], HOLDER, mode=0o640)
    keys.reload()
    assert keys.listed() == {}
    assert "chmod 600" in keys.packet("settled")["error"]
    keys.store("0a1b", [{"name": "testy", "value": "tk-own"}], HOLDER)
    keys.reload()
    assert keys.listed(error="no")["testy"]["value"] == "tk-own"
    assert keys.packet("settled")["error"] == "no"
    assert "tk-own" not in keys.stderr()


def test_a_command_is_asked_for_and_waited_for(start, tmp_path):
    keys = ready(start, tmp_path, [{"name": "testy", "command": "x", "cache_s": 1}], runner=True)
    question = json.loads(keys.runner.recv(65536))
    assert question == {"id": 1, "scope": "0a1b", "name": "testy"}
    keys.use_net()
    keys.net.settimeout(0.2)
    with pytest.raises(TimeoutError):
        keys.net.recv(65536)
    keys.net.settimeout(WAIT_SECONDS)
    keys.runner.send(b'{"id": 1, "value": "tk-told\\n"}')
    assert keys.listed()["testy"]["value"] == "tk-told"
    # kept for its time, then asked for again; what fails leaves the old one
    assert json.loads(keys.runner.recv(65536))["id"] == 2
    keys.listed()
    keys.runner.send(b'{"id": 2, "error": "it failed"}')
    assert keys.listed()["testy"]["value"] == "tk-told"


def test_without_a_runner_a_command_has_no_value(start, tmp_path):
    keys = ready(start, tmp_path, [{"name": "testy", "command": "x"}])
    keys.use_net()
    one = keys.listed()["testy"]
    assert one["value"] is None and "nobody can run" in one["why"]


def test_it_ends_with_its_launcher(start, tmp_path):
    keys = ready(start, tmp_path, [])
    keys.send("nonsense")
    keys.control.close()
    assert keys.process.wait(WAIT_SECONDS) == 1


def test_it_may_not_do_more_than_it_needs(start, tmp_path):
    """The filter is on, and nothing but the store can be opened."""
    keys = ready(start, tmp_path, [])
    with open(f"/proc/{keys.process.pid}/status", encoding="ascii") as file:
        facts = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    assert facts["Seccomp"].strip() == "2" and facts["NoNewPrivs"].strip() == "1"
    assert int(facts["CapEff"], 16) == 0
    keys.process.send_signal(signal.SIGKILL)


def token(field, letter):
    return {"field": field, "value": letter * 40, "placeholder": letter * 4 + "p" * 36}


def send_tokens(keys, tokens, service="logy"):
    fd = memfd(json.dumps(tokens))
    socket.send_fds(keys.net, [json.dumps({"op": "tokens", "service": service}).encode()], [fd])
    os.close(fd)


def test_tokens_of_a_login_are_kept_and_bound(start, tmp_path):
    keys = ready(start, tmp_path, [], agent="robot")
    keys.use_net()
    assert keys.listed() == {}
    assert keys.logins == [{"name": "logy", "endpoints": ["good.test/token"], "tokens": []}]
    send_tokens(keys, [token("access_token", "a"), token("refresh_token", "r")])
    one = keys.listed()["logy"]
    assert one["value"] == "a" * 40 and one["placeholder"] == "aaaa" + "p" * 36
    assert {t["field"]: t["value"] for t in keys.logins[0]["tokens"]} == {
        "access_token": "a" * 40, "refresh_token": "r" * 40}
    # one that is not renewed stays
    send_tokens(keys, [token("access_token", "b")])
    assert keys.listed()["logy"]["value"] == "b" * 40
    assert len(keys.logins[0]["tokens"]) == 2
    path = f"{keys.folder}/secrets/0a1b.json"
    assert os.stat(path).st_mode & 0o777 == 0o600
    keys.process.kill()
    keys.process.wait()
    # it is there again after a crash, also for who is no such agent
    again = start()
    again.packet("ready")
    again.use_net()
    assert again.listed()["logy"]["value"] == "b" * 40
    assert "a" * 40 not in again.stderr()


@pytest.mark.parametrize("tokens, service", [
    ([], "logy"), ([{"field": "access_token"}], "logy"), ([token("other", "a")], "logy"),
    ([{**token("access_token", "a"), "value": "a" * 41}], "logy"),
    ([{**token("access_token", "a"), "value": "a b" * 20}], "logy"),
    ([token("access_token", "a")], "testy"), ([token("access_token", "a")], "none"),
    ({"access_token": "a"}, "logy")])
def test_what_are_no_tokens_is_not_kept(start, tmp_path, tokens, service):
    keys = ready(start, tmp_path, [], agent="robot")
    keys.use_net()
    keys.listed()
    send_tokens(keys, tokens, service)
    assert keys.listed() == {} and keys.logins[0]["tokens"] == []
    assert "are lost" in keys.stderr()
