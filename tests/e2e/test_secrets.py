# SPDX-License-Identifier: Apache-2.0
"""Keys that a guest uses and never has: from the command line to the server"""
import glob
import json
import os
import secrets
import subprocess

import pytest

from bawn import ROOT, Bawn, children_of, command_of, status_of, wait
from net_host import Host, read_head
from nowhere import check_nowhere
from test_https import make_certificate
from test_network import rules

GOOD = "203.0.113.10"
KEY = "tk-true-" + secrets.token_hex(12)
SERVICE = {"services": [{
    "name": "testy", "agents": ["shell"], "hosts": ["good.test"],
    "headers": [{"name": "x-key", "format": "%s"},
                {"name": "authorization", "format": "Bearer %s"}],
    "variables": ["TESTY_KEY"], "placeholder": {"prefix": "tk-", "length": 40}}, {
    "name": "logy", "hosts": ["login.test"],
    "headers": [{"name": "authorization", "format": "Bearer %s"}], "variables": ["LOGY"],
    "placeholder": {"prefix": "lt-", "length": 40}, "token_endpoints": ["login.test/token"],
    "renew": {"endpoint": "login.test/token", "type": "json", "fields": {}}}]}
LOGIN = "203.0.113.11"
TOKEN, RENEWS, AGAIN = ("lt-" + secrets.token_hex(24) for _ in range(3))


def echo(seen):
    """Sends back the head that it got, and keeps it."""
    def speak(connection):
        while True:
            head = read_head(connection)
            if not head:
                return
            seen.append(head)
            body = head.encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                               % (len(body), body))
    return speak


def login_site(seen):
    """A token endpoint; everything else is sent back."""
    plain = echo(seen)

    class Once:
        """Gives the head that was read to who reads it again."""

        def __init__(self, connection, head):
            self.connection, self.head = connection, head.encode()

        def recv(self, _):
            head, self.head = self.head, b""
            return head

        def sendall(self, data):
            self.connection.sendall(data)

    def speak(connection):
        while True:
            head = read_head(connection)
            if not head:
                return
            if not head.startswith("POST /token"):
                plain(Once(connection, head))
                continue
            # what the guest gets is over at once; the host gets another
            by_host = "User-Agent: bawn" in head
            body = json.dumps({"access_token": AGAIN if by_host else TOKEN,
                               "refresh_token": RENEWS, "expires_in": 9000 if by_host else 1,
                               "token_type": "bearer"}).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    return speak


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nethost")
    one = Host(folder)
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", f"127.0.0.1 localhost\n{GOOD} good.test other.test\n"
              f"{LOGIN} login.test\n")
    one.seen = []
    one.serve(GOOD, 443, echo(one.seen), make_certificate(folder, "good.test"))
    one.serve(GOOD, 80, echo(one.seen))
    one.serve(LOGIN, 443, login_site(one.seen), make_certificate(folder, "login.test"))
    trusted = ""
    for name in ("good.test", "login.test"):
        with open(f"{folder}/{name}.crt", encoding="ascii") as file:
            trusted += file.read()
    one.write("authorities", trusted)
    yield one
    one.close()


@pytest.fixture(scope="module")
def net(session, host):
    session.rm(session.create())
    bawn = Bawn(session.home, session.workspace)
    bawn.prefix = host.prefix
    os.makedirs(f"{session.home}/config/services.d", exist_ok=True)
    with open(f"{session.home}/config/services.d/testy.json", "w", encoding="ascii") as file:
        json.dump(SERVICE, file)
    yield bawn
    os.unlink(f"{session.home}/config/services.d/testy.json")
    for name in ("testy",):
        bawn.raw("secret", "rm", name)


def make(session, net):
    if not ROOT and os.stat(f"{os.environ['BAWN_TEST_SYSTEM']}/templates").st_uid == 0:
        pytest.skip("the template is root's, whom a user namespace does not know")
    name = "t-" + secrets.token_hex(4)
    options = ("-t", "base", "-m", "1G", "shell", ".")
    session("create", "--name", name + "x", *options, timeout=300)
    session.rm(name + "x")
    net("create", "--name", name, *options, timeout=300)
    rules(net, name, "allow good.test\n")
    return name


@pytest.fixture(scope="module")
def base(session, net):
    name = make(session, net)
    yield name
    net.rm(name)


CURL = "curl -sS --max-time 60 "
# Nobody looks inside then, and the server's certificate is its own.
UNBOUND = "-k https://good.test/a"


def ask(net, name, *options, url="https://good.test/a"):
    return net("exec", *options, name, "sh", "-c",
               f'{CURL} -H "X-Key: $TESTY_KEY" {url}', timeout=120).out


def test_secrets_are_kept_by_their_owner_alone(net):
    """Row: C6. The command line never takes or shows a value."""
    refused = net.raw("secret", "set", "testy", KEY)
    assert refused.code == 2 and "no argument" in refused.err and KEY not in refused.err
    net("secret", "set", "testy", "-", input=KEY + "\n")
    shown = net("secret", "ls").out + net("secret", "ls", "--json").out
    assert "testy" in shown and KEY not in shown
    for path in glob.glob(f"{net.home}/state/secrets/*"):
        assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(f"{net.home}/state/secrets").st_mode & 0o777 == 0o700
    net("secret", "rm", "testy")
    assert net.raw("secret", "rm", "testy").code == 1
    for path in glob.glob(f"{net.home}/state/secrets/*.json"):
        with open(path, encoding="utf-8") as file:
            assert KEY not in file.read()


@pytest.mark.seconds(600)
def test_a_key_is_used_and_never_seen(net, base, host):
    """Rows: C3, C4, C6, C7."""
    net("secret", "set", "testy", "-", input=KEY)
    shown = net("exec", base, "sh", "-c", "echo $TESTY_KEY").out.strip()
    assert shown.startswith("tk-") and len(shown) == 40 and shown != KEY
    answer = ask(net, base)
    assert any(f"x-key: {KEY}\r\n" in head.lower() for head in host.seen), answer
    assert KEY not in answer and "x-key: " + "*" * len(KEY) in answer.lower()
    # the placeholder alone goes over plain HTTP, or to others
    host.seen.clear()
    ask(net, base, url="http://good.test/plain")
    assert host.seen and not any(KEY in head for head in host.seen)
    assert net("inspect", base).json["secrets"] == ["testy"]
    check_nowhere(net, base, KEY)
    # taken back at once
    net("secret", "rm", "testy")
    host.seen.clear()
    ask(net, base, url=UNBOUND)
    assert host.seen and not any(KEY in head for head in host.seen)


@pytest.mark.seconds(600)
def test_bawn_keys_is_confined(net, base):
    net("secret", "set", "testy", "-", input=KEY)
    pid = next(pid for pid in children_of(net.supervisor_pid(base))
               if command_of(pid) == "bawn-keys")
    facts = status_of(pid)
    assert facts["NoNewPrivs"].strip() == "1" and facts["Seccomp"].strip() == "2"
    assert int(facts["CapEff"], 16) == 0 and int(facts["CapPrm"], 16) == 0
    with open(f"/proc/{pid}/net/dev", encoding="utf-8") as file:
        assert [line for line in file if ":" in line and "lo:" not in line] == []
    os.kill(pid, 9)
    wait(lambda: any(command_of(one) == "bawn-keys" and one != pid
                     for one in children_of(net.supervisor_pid(base))), 20, "another bawn-keys")
    assert "*" * len(KEY) in ask(net, base)
    net("secret", "rm", "testy")


@pytest.mark.seconds(600)
def test_a_key_of_the_environment_is_bound_for_the_session(net, base, host):
    mine = net.with_env(TESTY_KEY=KEY)
    done = mine("exec", base, "sh", "-c", "echo $TESTY_KEY")
    assert "the key of testy" in done.err and "placeholder" in done.err
    assert KEY not in done.out + done.err and done.out.startswith("tk-")
    host.seen.clear()
    again = mine("exec", base, "sh", "-c", f'{CURL} -H "X-Key: $TESTY_KEY" https://good.test/e')
    assert "bound" not in again.err and "*" * len(KEY) in again.out
    assert any(KEY in head for head in host.seen)
    # as it is, and with a warning
    given = net("exec", "-e", "TESTY_KEY=as-it-is", base, "sh", "-c", "echo $TESTY_KEY")
    assert given.out == "as-it-is\n" and "bawn secret set testy" in given.err
    # it lies in no file
    for path in glob.glob(f"{net.home}/state/**/*.json", recursive=True):
        with open(path, encoding="utf-8", errors="replace") as file:
            assert KEY not in file.read(), path


@pytest.mark.seconds(900)
def test_commands_tell_secrets_and_sandboxes_keep_theirs(session, net, base, host):
    """Row: C7. A sandbox's own secret is not another's, nor a namesake's."""
    other = make(session, net)
    try:
        net("secret", "set", "testy", "--sandbox", other, "--command", f"printf {KEY}; echo >&2 no")
        # It runs, and had no such secret: at once.
        rules(net, other, "allow good.test\n")
        host.seen.clear()
        assert "*" * len(KEY) in ask(net, other)
        assert any(KEY in head for head in host.seen)
        host.seen.clear()
        # the session of the test before has ended with its machine
        net("stop", "--power-off", base)
        net("exec", base, "true", timeout=120)
        rules(net, base, "allow good.test\n")
        ask(net, base, url=UNBOUND)
        assert host.seen and not any(KEY in head for head in host.seen)
        files = set(glob.glob(f"{net.home}/state/secrets/*.json"))
        net("rm", "-f", other)
        assert len(files - set(glob.glob(f"{net.home}/state/secrets/*.json"))) == 1
    finally:
        net.rm(other)


@pytest.mark.seconds(300)
def test_a_key_for_plain_http_and_a_small_guest(net, host):
    """By hand only; as an unprivileged user too."""
    name = net.create("--allow", "good.test")
    try:
        get = ("exec", name, "sh", "-c",
               'wget -q -O - --header "X-Key: $OWN_KEY" http://good.test/p')
        net("secret", "set", "own", "-", "--sandbox", name, "--host", "good.test",
            "--header", "X-Key", "--env-var", "OWN_KEY", "--plain-http", input=KEY)
        host.seen.clear()
        assert "*" * len(KEY) in net(*get).out
        assert any(f"x-key: {KEY}\r\n" in head.lower() for head in host.seen)
        pid = next(pid for pid in children_of(net.supervisor_pid(name))
                   if command_of(pid) == "bawn-keys")
        assert status_of(pid)["Seccomp"].strip() == "2"
        net("secret", "rm", "own", "--sandbox", name)
        host.seen.clear()
        assert KEY not in net(*get).out
        assert host.seen and not any(KEY in head for head in host.seen)
    finally:
        net.rm(name)


@pytest.mark.seconds(400)
def test_a_login_inside_gets_placeholders(net, base, host):
    """Rows: C3, C6. From the token endpoint to the next request."""
    rules(net, base, "allow good.test\nallow login.test\n")
    waits = net.popen("secret", "login", "logy", "--sandbox", base, "--port", "14550",
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "log in to logy" in waits.stderr.readline()
        # the browser comes back to the agent's own port
        net("exec", "-d", base, "python3", "-c", "import socket\n"
            "one = socket.create_server(('127.0.0.1', 14550))\n"
            "while True:\n    end = one.accept()[0]\n    end.sendall(b'back')\n    end.close()")
        curl = [*net.prefix("/"), "curl", "-s", "--http0.9", "--max-time", "20",
                "http://127.0.0.1:14550/"]
        wait(lambda: subprocess.run(curl, capture_output=True, check=False).stdout == b"back",
             60, "the callback port")
        got = json.loads(net("exec", base, "sh", "-c",
                             f"{CURL} -d grant_type=code https://login.test/token",
                             timeout=120).out)
        assert waits.wait(60) == 0 and waits.stdout.read() == "logy\n"
    finally:
        waits.kill()
        waits.communicate()
    check_nowhere(net, base, TOKEN, RENEWS)
    assert got["access_token"].startswith("lt-") and len(got["access_token"]) == len(TOKEN)
    assert TOKEN not in str(got) and RENEWS not in str(got)
    # the port is closed with the login
    assert subprocess.run(curl, capture_output=True, check=False).stdout == b""
    out = net("exec", base, "sh", "-c", f"{CURL} -H 'Authorization: Bearer "
              f"{got['access_token']}' https://login.test/api", timeout=120).out
    # renewed by the host, for what the guest has
    assert f"Bearer {AGAIN}" in host.seen[-1] and AGAIN not in out and TOKEN not in out
    check_nowhere(net, base, TOKEN, RENEWS, AGAIN)
    # nor in what is kept of its memory
    net("checkpoint", base, "logged-in", timeout=120)
    check_nowhere(net, base, TOKEN, RENEWS, AGAIN)
    net("checkpoint", "rm", base, "logged-in")
    assert "login logy: renewed by the host" in net("policy", "log", base, "--json").out
    shown = net("secret", "ls", "--sandbox", base).out
    assert "in 2 h, renews itself" in shown and AGAIN not in shown
    # as when the service no longer knows it
    with open(glob.glob(f"{net.home}/state/secrets/{net.inspect(base)['id']}.json")[0],
              "r+", encoding="ascii") as file:
        store = json.load(file)
        store["logins"]["logy"]["refused"] = 1
        file.seek(0)
        json.dump(store, file)
        file.truncate()
    assert "log in again" in net("secret", "ls", "--sandbox", base).out
    failed = net.raw("run", "--name", base, "shell", ".", "--", "-c", "exit 3", timeout=120)
    assert failed.code == 3 and f"secret login logy --sandbox {base}" in failed.err, failed
    net("secret", "rm", "logy", "--sandbox", base)
    assert net.raw("secret", "rm", "logy", "--sandbox", base).code == 1


@pytest.mark.seconds(400)
def test_a_login_for_all_is_told_as_a_secret(net, base, host):
    """Row: C7. Made while somebody stands by, and by nobody else."""
    rules(net, base, "allow login.test\n")
    login = f"{CURL} -d grant_type=code https://login.test/token >/dev/null"
    waits = net.popen("secret", "login", "logy", "--sandbox", base, "--all",
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "log in to logy" in waits.stderr.readline()
        net("exec", base, "sh", "-c", login, timeout=120)
        assert waits.wait(60) == 0
    finally:
        waits.kill()
        waits.communicate()
    out = net("exec", base, "sh", "-c", f"{CURL} -H \"Authorization: Bearer $LOGY\" "
              "https://login.test/api; echo $LOGY", timeout=120).out
    assert f"Bearer {AGAIN}" in host.seen[-1] and AGAIN not in out and "lt-" in out
    rows = json.loads(net("secret", "ls", "--json").out)
    assert [(one["sandbox"], one["renews"]) for one in rows if one["name"] == "logy"] == [
        (None, True)]
    # from now on it is the sandbox's own again
    net("exec", base, "sh", "-c", login, timeout=120)
    rows = json.loads(net("secret", "ls", "--json").out)
    assert [one["sandbox"] for one in rows if one["name"] == "logy"] == [None, base]
    net("secret", "rm", "logy", "--sandbox", base)
    net("secret", "rm", "logy")
