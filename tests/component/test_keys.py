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
RENEW = {"endpoint": "good.test/token", "type": "form", "fields": {"client_id": "me"}}
SERVICES = {"services": [{
    "name": "testy", "hosts": ["good.test"],
    "headers": [{"name": "x-key", "format": "%s"}], "variables": ["TESTY_KEY"],
    "placeholder": {"prefix": "tk-", "length": 40}}, {
    "name": "logy", "hosts": ["good.test"], "agents": ["robot"],
    "headers": [{"name": "authorization", "format": "Bearer %s"}], "variables": ["LOGY"],
    "placeholder": {"prefix": "tk-", "length": 40},
    "token_endpoints": ["good.test/token"], "renew": RENEW}]}


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
    def __init__(self, folder, runner=False, agent="", scope="0a1b", services=None):
        self.folder = str(folder)
        os.makedirs(f"{self.folder}/secrets", mode=0o700, exist_ok=True)
        with open(f"{self.folder}/services.json", "w", encoding="ascii") as file:
            json.dump(services or SERVICES, file)
        self.errors = open(f"{self.folder}/errors", "ab")
        self.control, control = pair()
        self.runner, theirs = pair()
        message = memfd(json.dumps({
            "store": f"{self.folder}/secrets", "scope": scope,
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

    def ask(self, op, **more):
        """As bawn-net, about a login."""
        self.net.send(json.dumps({"op": op, "service": "logy", **more}).encode())

    def may_renew(self):
        assert json.loads(self.net.recv(65536)) == {"op": "renew", "service": "logy"}

    def hears_nothing(self):
        self.net.settimeout(0.5)
        with pytest.raises(TimeoutError):
            self.net.recv(65536)
        self.net.settimeout(WAIT_SECONDS)

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


def ready(start, tmp_path, secrets, holders=None, **options):
    os.makedirs(tmp_path / "secrets", mode=0o700)
    Keys.store(type("", (), {"folder": str(tmp_path)}), "0a1b", secrets, holders or HOLDER)
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


def send_tokens(keys, tokens, service="logy", **more):
    fd = memfd(json.dumps(tokens))
    socket.send_fds(keys.net, [json.dumps({"op": "tokens", "service": service,
                                           **more}).encode()], [fd])
    os.close(fd)


def test_tokens_of_a_login_are_kept_and_bound(start, tmp_path):
    keys = ready(start, tmp_path, [], agent="robot")
    keys.use_net()
    assert keys.listed() == {}
    assert keys.logins == [{"name": "logy", "endpoints": ["good.test/token"], "tokens": [],
                            "expires": 0, "refused": False, "renew": RENEW}]
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


def test_tokens_outlive_the_bawn_net_that_sent_them(start, tmp_path):
    """Row: C7. It dies with tokens on their way, and the next one is there at once."""
    keys = ready(start, tmp_path, [], agent="robot")
    keys.use_net()
    assert keys.listed() == {}
    keys.process.send_signal(signal.SIGSTOP)
    dead = keys.net
    for _ in range(3):
        keys.ask("renewal", refused=False)
    send_tokens(keys, [token("access_token", "a"), token("refresh_token", "r")])
    keys.use_net()
    dead.close()
    keys.process.send_signal(signal.SIGCONT)
    assert keys.listed()["logy"]["value"] == "a" * 40
    assert stored(keys, "0a1b")["logy"]["tokens"]["refresh_token"]["value"] == "r" * 40


def test_what_a_login_was_granted_is_told_for_its_renewal(start, tmp_path):
    keys = ready(start, tmp_path, [], agent="robot")
    keys.use_net()
    keys.listed()
    for more, told in (({"scope": "user:a b"}, "user:a b"), ({"renewed": True}, "user:a b"),
                       ({"renewed": True, "scope": "user:a"}, "user:a"), ({}, None),
                       ({"scope": "x\\\""}, None)):
        send_tokens(keys, [token("access_token", "a")], **more)
        keys.listed()
        assert keys.logins[0].get("scope") == told, more
        assert stored(keys, "0a1b")["logy"].get("scope") == told


def test_a_key_lies_nowhere_but_in_memory(start, tmp_path):
    """Row: C6. Neither in what others may read of the process, nor in what it says."""
    value = "true-value-0123456789"
    keys = ready(start, tmp_path, [{"name": "testy", "value": value}])
    keys.use_net()
    assert keys.listed()["testy"]["value"] == value
    for name in ("cmdline", "environ", "maps", "comm"):
        with open(f"/proc/{keys.process.pid}/{name}", "rb") as file:
            assert value.encode() not in file.read(), name
    with open(f"/proc/{keys.process.pid}/limits", encoding="ascii") as file:
        core = next(line.split() for line in file if line.startswith("Max core file size"))
    assert core[4:6] == ["0", "0"]
    # not even the same user reads the memory of what is not dumpable
    assert os.stat(f"/proc/{keys.process.pid}/mem").st_uid == 0
    keys.process.send_signal(signal.SIGABRT)
    keys.process.wait()
    assert value not in keys.stderr() and not list(tmp_path.glob("core*"))


BUILT_IN = os.path.join(os.path.dirname(__file__), "../../data/services.json")


@pytest.mark.parametrize("name", ["anthropic", "claude-code", "openai", "google", "github",
                                  "copilot", "openrouter"])
def test_built_in_services_name_where_keys_are_made(start, tmp_path, name):
    """Row: C8."""
    with open(BUILT_IN, encoding="ascii") as file:
        services = json.load(file)
    one = next(one for one in services["services"] if one["name"] == name)
    keys = ready(start, tmp_path, [{"name": name, "value": "v" * 40}], {name: "p" * 40},
                 services=services)
    keys.use_net()
    assert one["except"] and keys.listed()[name]["except"] == one["except"]


@pytest.mark.parametrize("tokens, service", [
    ([], "logy"), ([{"field": "access_token"}], "logy"), ([token("other", "a")], "logy"),
    ([{**token("access_token", "a"), "value": "a" * 9000}], "logy"),
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


def with_login(start, tmp_path, scope="0a1b", owner="0a1b"):
    """Serves a sandbox; the login of `owner` is there, "global": that of all."""
    os.makedirs(tmp_path / "secrets", mode=0o700, exist_ok=True)
    path = tmp_path / f"secrets/{owner}.json"
    if not path.exists():
        tokens = {one.pop("field"): one for one in (token("access_token", "a"),
                                                    token("refresh_token", "r"))}
        path.write_text(json.dumps({"version": 1, "secrets": [], "placeholders": {}, "logins": {
            "logy": {"set": 1, "expires": 77, "tokens": tokens}}}), encoding="ascii")
        path.chmod(0o600)
    if scope != owner:
        mine = tmp_path / f"secrets/{scope}.json"
        mine.write_text(json.dumps({"version": 1, "secrets": [],
                                    "placeholders": {"logy": "tk-" + "L" * 37}}))
        mine.chmod(0o600)
    keys = start(scope=scope)
    keys.packet("ready")
    keys.use_net()
    keys.first = keys.listed()
    return keys


def stored(keys, scope):
    with open(f"{keys.folder}/secrets/{scope}.json", encoding="ascii") as file:
        return json.load(file).get("logins", {})


def values(keys):
    return {one["field"]: one["value"][0] for one in keys.logins[0]["tokens"]}


def test_a_login_is_lent_ends_and_is_refused(start, tmp_path):
    keys = with_login(start, tmp_path)
    assert keys.logins[0]["expires"] == 77 and not keys.logins[0]["refused"]
    keys.ask("renew")
    keys.may_renew()
    send_tokens(keys, [token("access_token", "b")], expires=99, renewed=True)
    keys.listed()
    assert values(keys) == {"access_token": "b", "refresh_token": "r"}
    assert keys.logins[0]["expires"] == 99
    keys.ask("renew")
    keys.may_renew()
    keys.ask("renewal", refused=False)
    keys.ask("renewal", refused=True)
    keys.listed()
    assert keys.logins[0]["refused"] and stored(keys, "0a1b")["logy"]["refused"] > 1
    assert "has to be made again" in keys.stderr()
    # made again
    send_tokens(keys, [token("access_token", "c"), token("refresh_token", "s")])
    keys.listed()
    assert not keys.logins[0]["refused"] and keys.logins[0]["expires"] == 0


def test_one_sandbox_at_a_time_renews_a_login_of_all(start, tmp_path):
    one = with_login(start, tmp_path, "0a1b", "global")
    two = with_login(start, tmp_path, "0c2d", "global")
    # told as any secret is: by a variable, with a placeholder of its own
    assert one.first["logy"]["placeholder"] == "tk-" + "L" * 37
    one.ask("renew")
    one.may_renew()
    two.ask("renew")
    two.hears_nothing()
    send_tokens(one, [token("access_token", "b"), token("refresh_token", "s")],
                expires=99, renewed=True)
    one.listed()
    # the other one has it at once, and then its turn
    assert two.listed()["logy"]["value"] == "b" * 40
    assert values(two) == {"access_token": "b", "refresh_token": "s"}
    two.may_renew()
    assert stored(one, "global")["logy"]["expires"] == 99 and stored(one, "0a1b") == {}


@pytest.mark.parametrize("end", ["bawn-net", "bawn-keys", "word"])
def test_who_dies_or_gives_up_lets_the_next_one(start, tmp_path, end):
    one = with_login(start, tmp_path, "0a1b", "global")
    two = with_login(start, tmp_path, "0c2d", "global")
    one.ask("renew")
    one.may_renew()
    two.ask("renew")
    if end == "bawn-net":
        one.net.close()
    elif end == "bawn-keys":
        one.process.kill()
    else:
        one.ask("renewal", refused=False)
    two.may_renew()


def test_a_guest_logs_nobody_else_in(start, tmp_path):
    keys = with_login(start, tmp_path, "0a1b", "global")
    send_tokens(keys, [token("access_token", "e"), token("refresh_token", "e")])
    assert keys.listed()["logy"]["value"] == "e" * 40
    assert stored(keys, "global")["logy"]["tokens"]["access_token"]["value"] == "a" * 40
    assert stored(keys, "0a1b")["logy"]["tokens"]["access_token"]["value"] == "e" * 40


@pytest.mark.parametrize("until, theirs", [(1 << 40, True), (9, False)])
def test_a_login_that_is_waited_for_by_all_is_theirs(start, tmp_path, until, theirs):
    os.makedirs(tmp_path / "secrets", mode=0o700)
    path = tmp_path / "secrets/0a1b.json"
    path.write_text(json.dumps({"version": 1, "secrets": [], "placeholders": {
        "logy": "tk-" + "L" * 37}, "logins": {"logy": {"set": 1, "tokens": {}, "all": until}}}))
    path.chmod(0o600)
    keys = start()
    keys.packet("ready")
    keys.use_net()
    keys.listed()
    send_tokens(keys, [token("access_token", "a"), token("refresh_token", "r")], expires=99)
    one = keys.listed()["logy"]
    assert one["value"] == "a" * 40
    # nobody stood by any more: it is this sandbox's alone
    assert os.path.exists(f"{keys.folder}/secrets/global.json") == theirs
    assert ("logy" in stored(keys, "0a1b")) != theirs
    assert (one["placeholder"] == "tk-" + "L" * 37) == theirs
