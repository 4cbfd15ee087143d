# SPDX-License-Identifier: Apache-2.0
"""A guest's traffic through the gate, to servers of a host that the test made"""
import json
import os
import secrets
import signal
import socket
import struct
import threading

import pytest

from bawn import START_SECONDS, Bawn, alive, folder_of, wait
from net_host import Host, hello, http
from relay_kills import kills

PROBE = os.path.join(os.environ["BAWN_TEST_LIB"], "net_probe")
GOOD, OTHER = "203.0.113.10", "203.0.113.11"
HOSTS = f"""127.0.0.1 localhost
{GOOD} good.test
{OTHER} bad.test new.test
2001:db8:1::10 six.test
10.1.2.3 private.test
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nethost")
    one = Host(folder)
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", HOSTS)
    one.serve(GOOD, 80, http("good"))
    one.serve(GOOD, 8080, http("eighty"))
    one.serve(GOOD, 2222, hello("first"))
    one.serve(OTHER, 80, http("other"))
    one.serve("2001:db8:1::10", 80, http("six"))
    one.serve("127.0.0.1", 5432, http("host's"))
    one.serve("127.0.0.1", 5433, http("host's other"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def net(session, host):
    """The shared home, with commands that run in that host's network."""
    # A host without a way out cannot fetch a kernel: what is needed is made now.
    session.rm(session.create())
    bawn = Bawn(session.home, session.workspace)
    bawn.prefix = host.prefix
    return bawn


@pytest.fixture(scope="module")
def box(net):
    name = net.create()
    yield name
    net.rm(name)


@pytest.fixture
def own(net):
    """A sandbox that the case may harm."""
    name = net.create()
    yield name
    net.rm(name)


def settings(text, **more):
    return {"policy": [{"scope": "sandbox", "name": "policy", "text": text}],
            "preset": "deny-all", "ask_ms": 0, "published": [], "sockets": [], **more}


def rules(net, name, text, **more):
    answer = net.launcher(name, op="net", net=settings(text, **more))
    assert answer == {"ok": True}, answer


def get(net, name, url, **kwargs):
    """What wget in the guest says: its output, or its complaint."""
    done = net.raw("exec", name, "wget", "-q", "-O", "-", url, **kwargs)
    return done.out if done.code == 0 else done.err


def log(net, name):
    with open(f"{net.folder(name)}/net/log.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def logged(net, box, **facts):
    """The first line of the log that has these facts."""
    def look():
        return next((line for line in log(net, box)
                     if all(line.get(key) == value for key, value in facts.items())), None)
    return wait(look, 10, f"a log line with {facts}")


def net_pid(net, name):
    return net.launcher(name, op="status")["net_pid"]


def test_what_a_rule_allows_gets_through_and_nothing_else(net, box):
    rules(net, box, "allow good.test\nallow six.test\n")
    assert get(net, box, "http://good.test/a") == "good good.test /a\n"
    assert get(net, box, "http://six.test/b") == "six six.test /b\n"
    assert "403 Forbidden" in get(net, box, "http://bad.test/")
    # No rule has the port; no rule has the address, though a name leads there.
    assert "eighty" not in get(net, box, "http://good.test:8080/")
    assert "403 Forbidden" in get(net, box, f"http://{GOOD}/")
    line = logged(net, box, name="good.test", verdict="allow")
    assert line["address"] == GOOD and line["rule"] == "allow good.test"
    assert line["protocol"] == "http" and line["path"] == "/a" and line["status"] == 200
    assert logged(net, box, name="bad.test")["verdict"] == "deny"
    assert logged(net, box, name="good.test", port=8080)["verdict"] == "deny"
    assert logged(net, box, address=GOOD, name=None)["verdict"] == "deny"


def test_the_refusal_names_the_host_and_the_command(net, box):
    rules(net, box, "")
    text = net.sh(box, 'printf "GET / HTTP/1.1\\r\\nHost: bad.test\\r\\nConnection: close\\r\\n\\r\\n" '
                  "| nc bad.test 80")
    assert text.startswith("HTTP/1.1 403 ") and "bad.test" in text
    assert f"bawn policy allow {box}" in text


def test_a_server_that_speaks_first_is_heard(net, box):
    rules(net, box, "allow good.test:2222\n")
    assert net.sh(box, "echo once more | nc good.test 2222") == "first\nonce more"


def test_names_have_addresses_of_their_own_and_ask_nobody(net, box):
    rules(net, box, "allow good.test\ndeny never.test:1-65535\n")
    first = net.sh(box, "nslookup good.test | tail -n +4 | grep Address")
    assert first.startswith("Address: 198.18.")
    assert net.sh(box, "nslookup good.test | tail -n +4 | grep Address") == first
    assert "198.19." in net.sh(box, "nslookup secret-in-a-name.test | tail -n +4")
    assert "NXDOMAIN" in net.raw("exec", box, "nslookup", "never.test").out
    with open(f"{net.folder(box)}/net/names", encoding="utf-8") as file:
        names = dict(reversed(line.split()) for line in file)
    assert names["good.test"] == first.split()[1] and "secret-in-a-name.test" in names


def test_a_private_address_behind_a_name_is_refused(net, box):
    rules(net, box, "allow private.test\nallow **\n")
    assert "403" in get(net, box, "http://private.test/")
    line = logged(net, box, name="private.test")
    assert line["verdict"] == "deny" and line["address"] in ("10.1.2.3", None)


@pytest.mark.parametrize("name", ["localhost", "host.docker.internal"])
def test_a_port_of_the_host_in_both_spellings(net, box, name):
    rules(net, box, "allow localhost:5432\n")
    # The guest hears of the port a moment later.
    wait(lambda: get(net, box, f"http://{name}:5432/x") == f"host's {name}:5432 /x\n", 5)
    refusal = get(net, box, f"http://{name}:5433/x")
    assert "host's other" not in refusal and refusal


def test_a_server_of_the_guest_has_its_port_before_the_hosts(net, own):
    rules(net, own, "allow localhost:5432\n")
    wait(lambda: get(net, own, "http://localhost:5432/x").startswith("host's"), 5)
    net.sh(own, "mkdir -p /srv/w; echo mine > /srv/w/x; httpd -p 5432 -h /srv/w")
    assert get(net, own, "http://localhost:5432/x") == "mine\n"
    assert get(net, own, "http://host.docker.internal:5432/x").startswith("host's")


def held_open(net, name):
    """A program that has a connection and says `code` when it ended."""
    process = net.popen("exec", name, "sh", "-c", "mkfifo /tmp/f; sleep 1000 > /tmp/f & "
                        "nc good.test 2222 < /tmp/f; echo code $?; kill $!")
    assert process.stdout.readline() == b"first\n"
    return process


def test_a_revoked_rule_closes_its_connections(net, own):
    rules(net, own, "allow good.test:2222\n")
    process = held_open(net, own)
    rules(net, own, "allow good.test\n")
    out, _ = process.communicate(timeout=20)
    assert b"code" in out
    assert "first" not in net.raw("exec", own, "sh", "-c", "echo | nc good.test 2222").out


def test_a_killed_bawn_net_lets_nothing_through_and_comes_back(net, own):
    rules(net, own, "allow good.test\nallow good.test:2222\n")
    address = net.sh(own, "nslookup good.test | tail -n +4 | grep Address")
    process = held_open(net, own)
    for count in range(1, 4):
        pid = net_pid(net, own)
        os.kill(pid, signal.SIGKILL)
        # Asked while it is away: it waits for the next one, with the same rules.
        assert get(net, own, "http://good.test/a") == "good good.test /a\n"
        assert "403" in get(net, own, "http://bad.test/")
        status = net.launcher(own, op="status")
        assert status["net_restarts"] == count and status["net_pid"] != pid
        assert not alive(pid)
    # What was open is over: the guest is told, not left hanging.
    out, _ = process.communicate(timeout=20)
    assert b"code" in out
    assert net.sh(own, "nslookup good.test | tail -n +4 | grep Address") == address


@pytest.mark.seconds(300)
def test_a_relay_that_is_killed_again_and_again_under_load_comes_back(net, own):
    """At any moment: also with a marker in its hands that it has not echoed yet."""
    rules(net, own, "allow good.test\n")
    script = kills("bawn-net-relay", "wget -q -T 3 -O /dev/null http://good.test/")
    done = net("exec", "-u", "root", own, "sh", "-c", script, timeout=180)
    assert done.out == "killed\n"
    wait(lambda: get(net, own, "http://good.test/back") == "good good.test /back\n", 60,
         "the network is back")


def test_while_bawn_net_is_stopped_nothing_gets_out(net, own, host):
    rules(net, own, "allow good.test:2222\n")
    server = host.servers[2]
    before = len(server.peers)
    pid = net_pid(net, own)
    os.kill(pid, signal.SIGSTOP)
    try:
        done = net.raw("exec", own, "timeout", "2", "nc", "good.test", "2222")
        assert done.code != 0 and "first" not in done.out
        assert len(server.peers) == before
    finally:
        os.kill(pid, signal.SIGCONT)
    assert wait(lambda: "first" in net.raw("exec", own, "sh", "-c",
                                           "echo x | nc good.test 2222").out)


def free_port():
    return 20000 + secrets.randbelow(20000)


def page(connection):
    connection.sendall(b"GET /x HTTP/1.0\r\nHost: x\r\n\r\n")
    data = b""
    while True:
        piece = connection.recv(4096)
        if not piece:
            return data
        data += piece


def test_a_published_port_leads_into_the_guest(net, own, host):
    rules(net, own, "")
    port, other = free_port(), free_port()
    ports = [{"address": "127.0.0.1", "host": port, "guest": 8000}]
    net.sh(own, "mkdir -p /srv/w; echo inside > /srv/w/x; httpd -p 127.0.0.1:8000 -h /srv/w")
    answer = net.launcher(own, op="ports", published=ports)
    assert answer["ports"] == [{**ports[0], "error": None}], answer
    assert page(host.connect("127.0.0.1", port)).endswith(b"\ninside\n")
    # Nobody listens behind this one: closed, and the host is not kept waiting.
    more = [*ports, {"address": "127.0.0.1", "host": other, "guest": 8001}]
    assert net.launcher(own, op="ports", published=more)["ok"]
    try:
        assert page(host.connect("127.0.0.1", other)) == b""
    except ConnectionError:
        pass
    # The listener outlives a bawn-net.
    os.kill(net_pid(net, own), signal.SIGKILL)
    assert page(host.connect("127.0.0.1", port)).endswith(b"\ninside\n")
    taken = host.listen("127.0.0.1", 0)
    number = taken.getsockname()[1]
    refusal = net.launcher(own, op="ports", published=[
        {"address": "127.0.0.1", "host": number, "guest": 8000}])
    assert "already in use" in refusal["error"] and str(number) in refusal["error"]
    assert net.launcher(own, op="ports", published=[])["ports"] == []
    with pytest.raises(ConnectionRefusedError):
        host.connect("127.0.0.1", port)


def test_a_named_unix_socket_and_no_docker_socket(net, own, tmp_path):
    def serve(path, answer):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(8)

        def run():
            while True:
                try:
                    one, _ = listener.accept()
                except OSError:
                    return
                with one:
                    one.recv(4096)
                    one.sendall(answer)
        threading.Thread(target=run, daemon=True).start()
        return listener
    tmp_path.chmod(0o755)
    plain = serve(tmp_path / "plain", b"from the host\n")
    docker = serve(tmp_path / "docker", b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n\r\nOK")
    rules(net, own, "", sockets=[
        {"host": str(tmp_path / "plain"), "guest": "/run/plain.sock"},
        {"host": str(tmp_path / "docker"), "guest": "/run/docker.sock"}])
    wait(lambda: net.raw("exec", own, "test", "-S", "/run/docker.sock").code == 0)
    net("cp", PROBE, f"{own}:/tmp/net_probe")
    client = ("exec", own, "/tmp/net_probe", "unix")
    assert net(*client, "/run/plain.sock", "hi").out == "from the host\n"
    refused = net.raw(*client, "/run/docker.sock", "hi")
    assert "Api-Version" not in refused.out and "No such file" not in refused.out, refused
    for listener in (plain, docker):
        listener.close()


class Watch:
    """A client that watches questions."""

    def __init__(self, net, name):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        with folder_of(net.folder(name)) as folder:
            self.socket.connect(f"/proc/self/fd/{folder}/launch.sock")
        self.socket.sendall(b'{"op": "watch-asks"}\n')
        self.file = self.socket.makefile()
        assert self.next()["ok"]

    def next(self):
        return json.loads(self.file.readline())


def test_a_held_connection_goes_on_when_somebody_says_so(net, own):
    rules(net, own, "allow good.test\n", ask_ms=60000)
    watch = Watch(net, own)
    process = net.popen("exec", own, "wget", "-q", "-O", "-", "http://new.test/a")
    ask = watch.next()["ask"]
    assert ask["name"] == "new.test" and ask["port"] == 80 and 0 < ask["ms_left"] <= 60000
    assert net.launcher(own, op="asks")["asks"][0]["id"] == ask["id"]
    # Others do not wait for it.
    assert get(net, own, "http://good.test/a") == "good good.test /a\n"
    assert net.launcher(own, op="ask-answer", id=ask["id"], verdict="once")["ok"]
    assert process.communicate(timeout=30)[0] == b"other new.test /a\n"
    assert watch.next() == {"over": ask["id"]}
    # Once was once.
    process = net.popen("exec", own, "wget", "-q", "-O", "-", "http://new.test/b")
    ask = watch.next()["ask"]
    answer = net.launcher(own, op="ask-answer", id=ask["id"], verdict="always")
    assert answer == {"ok": True, "rule": "allow new.test:80"}
    assert process.communicate(timeout=30)[0] == b"other new.test /b\n"
    with open(f"{net.folder(own)}/policy", encoding="utf-8") as file:
        assert file.read() == "allow new.test:80\n"
    assert get(net, own, "http://new.test/c") == "other new.test /c\n"
    assert watch.next() == {"over": ask["id"]}
    # And never.
    process = net.popen("exec", own, "wget", "-q", "-O", "-", "http://bad.test/")
    ask = watch.next()["ask"]
    assert net.launcher(own, op="ask-answer", id=ask["id"], verdict="never")["ok"]
    assert process.wait(30) != 0
    assert "other" not in get(net, own, "http://bad.test/")
    assert net.launcher(own, op="asks")["asks"] == []


def test_a_question_without_an_answer_is_a_refusal(net, own):
    rules(net, own, "", ask_ms=1000)
    done = net.raw("exec", own, "wget", "-q", "-O", "-", "http://new.test/a")
    assert done.code != 0 and "other" not in done.out
    assert logged(net, own, name="new.test", verdict="deny")


class Dns:
    """A name server with one answer for every A question."""

    def __init__(self, host, address):
        self.address, self.asked = address, []
        self.socket = host.bind_udp("127.0.0.1", 53)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                data, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1:at + 1 + data[at]].decode())
                at += data[at] + 1
            question = data[12:at + 5]
            kind = struct.unpack(">H", data[at + 1:at + 3])[0]
            self.asked.append((".".join(labels), kind))
            answers = kind == 1
            self.socket.sendto(
                data[:2] + struct.pack(">HHHHH", 0x8180, 1, answers, 0, 0) + question
                + (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4)
                   + socket.inet_aton(self.address)) * answers, peer)


def test_the_hosts_resolver_is_asked_after_the_decision_and_followed(net, own, host):
    dns = Dns(host, OTHER)
    rules(net, own, "allow by-dns.test\n")
    assert get(net, own, "http://by-dns.test/a") == "other by-dns.test /a\n"
    assert "403" in get(net, own, "http://not-allowed.test/")
    assert {name for name, _ in dns.asked} == {"by-dns.test"}
    # The hosts file is the first word, and a change of it counts at once.
    host.write("hosts", HOSTS + f"{GOOD} by-dns.test\n")
    try:
        wait(lambda: get(net, own, "http://by-dns.test/b") == "good by-dns.test /b\n", 10)
    finally:
        host.write("hosts", HOSTS)
    dns.socket.close()


@pytest.mark.seconds(300)
def test_settings_of_files_hold_from_the_start_on(session, lone, host):
    """Global rules, the sandbox's own, and a name that was known before."""
    session.rm(session.create())
    lone.prefix = host.prefix
    os.makedirs(f"{lone.home}/config", exist_ok=True)
    with open(f"{lone.home}/config/policy", "w", encoding="ascii") as file:
        file.write("allow good.test\nallow new.test\n")
    name = lone.create()
    assert get(lone, name, "http://good.test/a") == "good good.test /a\n"
    address = lone.sh(name, "nslookup new.test | tail -n +4 | grep Address")
    with open(f"{lone.folder(name)}/policy", "w", encoding="ascii") as file:
        file.write("deny good.test:80\n")
    lone("stop", "--power-off", name)
    assert "403" in get(lone, name, "http://good.test/b", timeout=START_SECONDS)
    assert get(lone, name, "http://new.test/c") == "other new.test /c\n"
    assert lone.sh(name, "nslookup new.test | tail -n +4 | grep Address") == address
    # A rule that is none is told with its place, and nothing starts.
    lone("stop", "--power-off", name)
    with open(f"{lone.folder(name)}/policy", "w", encoding="ascii") as file:
        file.write("# mine\nallow what is this\n")
    refusal = lone.raw("exec", name, "true", timeout=START_SECONDS)
    assert refusal.code == 125 and "policy:2" in refusal.err.replace(" line ", ":")
    lone.rm(name)


def test_two_sandboxes_never_reach_each_other(net, box, own, host):
    rules(net, box, "allow good.test\n")
    rules(net, own, "default allow\n")
    port, guests = free_port(), 8000
    net.sh(box, f"mkdir -p /srv/v; echo mine > /srv/v/x; httpd -p 0.0.0.0:{guests} -h /srv/v")
    address = net.sh(box, "nslookup only-there.test | tail -n +4 | grep Address").split()[1]
    own_address = net.sh(box, "ip -4 addr show bawn0").split("inet ")[1].split("/")[0]
    ports = [{"address": "127.0.0.1", "host": port, "guest": guests}]
    assert net.launcher(box, op="ports", published=ports)["ok"]
    try:
        assert page(host.connect("127.0.0.1", port)).endswith(b"\nmine\n")
        # By its address, by a name's address that it alone was told, by the host.
        for url in (f"http://{own_address}:{guests}/x", f"http://{address}:{guests}/x",
                    f"http://127.0.0.1:{port}/x", f"http://host.docker.internal:{port}/x",
                    f"http://gateway.docker.internal:{port}/x"):
            assert "mine" not in get(net, own, url), url
    finally:
        net.launcher(box, op="ports", published=[])
