# SPDX-License-Identifier: Apache-2.0
"""bawn-launch and a bawn-net that does what the test says (fake_net.c)

The test is the command line, the guest's end of the port, the user and the host.
"""
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

from fuse_client import TOP
from launcher import BINARY, Launch, alive, wait

FAKE = os.path.join(TOP, os.environ.get("BAWN_BUILD", "build"), "tests/component/fake_net")
LAYERS = os.path.join(os.path.dirname(BINARY), "../layers/bawn-layers")
ROOT = os.geteuid() == 0


def settings(**more):
    return {"policy": [{"scope": "global", "name": "config/policy", "text": "allow a.test\n"}],
            "preset": "balanced", "ask_ms": 0,
            "proxy": {"http": "http://192.0.2.1:3128", "https": None, "no_proxy": None},
            "published": [], "sockets": [], "hook": None, **more}


def port(host, guest=80, address="127.0.0.1"):
    return {"address": address, "host": host, "guest": guest}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Net(Launch):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.net_port.settimeout(10)
        self.lines = self.net_port.makefile("r", encoding="utf-8")

    def next(self, word):
        """The next line of the fake, which begins with word."""
        line = self.lines.readline()
        assert line.startswith(word + " "), line
        return json.loads(line[len(word) + 1:])

    def tell(self, line):
        text = line if isinstance(line, str) else json.dumps(line)
        self.net_port.sendall(text.encode() + b"\n")

    def begin(self):
        """It comes up: its start message, `ready`, `welcomed`."""
        message = self.next("start")
        self.tell({"op": "ready"})
        self.tell({"op": "welcomed"})
        wait(lambda: self.ask(op="status")["net"] == "serving")
        return message

    def take(self, error=None):
        """The next config, answered."""
        config = self.next("config")
        self.tell({"op": "configured", **({"error": error} if error else {})})
        return config

    def later(self, **request):
        """Asked in the background; result() waits for the answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(**request)))
        thread.start()

        def result():
            thread.join(20)
            return answers[0]
        return result

    def connect(self):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(10)
        one.connect(f"{self.folder}/launch.sock")
        return one

    def watch(self):
        one = self.connect()
        one.sendall(b'{"op": "watch-asks"}\n')
        file = one.makefile()
        return one, lambda: json.loads(file.readline())

    def end(self):
        self.lines.close()
        return super().end()

    def pid(self):
        return self.ask(op="status")["net_pid"]


@pytest.fixture
def place(tmp_path):
    if not os.path.exists(BINARY) or not os.path.exists(FAKE):
        pytest.skip(f"{BINARY} or {FAKE} is not built")
    tmp_path.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "sandboxes/box").mkdir(parents=True)
    shutil.copy(BINARY, tmp_path / "bin/bawn-launch")
    shutil.copy(FAKE, tmp_path / "bin/bawn-net")
    started = []

    def launch(net=None, **more):
        started.append(Net(tmp_path / "sandboxes/box", [], net=net or settings(),
                           binary=str(tmp_path / "bin/bawn-launch"), **more))
        return started[-1]
    launch.path = tmp_path
    launch.box = tmp_path / "sandboxes/box"
    yield launch
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_it_is_told_about_the_sandbox_and_the_host(place):
    marker = os.urandom(32)
    launch = place(marker=marker, uid=1879048192)
    message = launch.begin()
    assert message["sandbox"] == "box" and message["uid"] == 1879048192
    assert message["marker"] == marker.hex() and len(message["next_marker"]) == 64
    assert message["policy"] == settings()["policy"] and message["preset"] == "balanced"
    assert message["proxy"] == settings()["proxy"] and message["ask_ms"] == 0
    assert message["published"] == [] and message["sockets"] == []
    assert "hook" not in message
    assert "127.0.0.1" in message["addresses"]
    with open("/etc/resolv.conf", encoding="utf-8") as file:
        servers = [line.split()[1] for line in file if line.startswith("nameserver")]
    assert message["resolver"]["servers"] == (servers or ["127.0.0.1"])
    assert ["localhost", "127.0.0.1"] in message["resolver"]["hosts"]
    folder = place.box / "net"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(os.listdir(folder)) == ["log.jsonl", "names"]
    assert launch.end() == 0


def test_a_killed_one_comes_back_with_marker_names_and_listeners(place):
    number = free_port()
    launch = place(settings(published=[port(number, 3000)]), marker=os.urandom(32))
    message = launch.begin()
    assert message["published"] == [{"id": 1, "port": 3000}]
    assert launch.next("packet fd") == {"op": "listener", "id": 1}
    launch.tell("name 198.18.0.1 a.test")
    assert launch.lines.readline().startswith("named")
    for count in range(1, 3):
        os.kill(launch.pid(), signal.SIGKILL)
        # Whoever comes meanwhile waits in the listener, which is the launcher's.
        client = socket.create_connection(("127.0.0.1", number), 10)
        again = launch.begin()
        assert again["marker"] == message["next_marker"]
        message = again
        assert launch.next("packet fd") == {"op": "listener", "id": 1}
        launch.tell("accept")
        assert client.recv(5) == b"hello"
        client.close()
        assert launch.ask(op="status")["net_restarts"] == count
    assert (place.box / "net/names").read_text() == "198.18.0.1 a.test\n"
    assert launch.end() == 0


def test_one_that_died_before_it_welcomed_leaves_the_old_marker_good(place):
    marker = os.urandom(32)
    launch = place(marker=marker)
    launch.next("start")
    launch.tell({"op": "ready"})
    wait(lambda: launch.ask(op="status")["net"] == "serving")
    launch.tell("end 1")
    assert launch.next("start")["marker"] == marker.hex()
    assert launch.end() == 0


def test_one_that_cannot_start_is_told_to_the_user(place):
    launch = place()
    launch.next("start")
    launch.tell("say settings: config/policy:1: what is that")
    launch.tell("end 1")
    line = launch.channel.recv(2000).decode()
    assert line == ("failed the sandbox has no network: settings: config/policy:1: "
                    "what is that\n")
    status = launch.ask(op="status")
    assert status["net"] == "given-up" and "what is that" in status["net_error"]
    # Better settings bring it up.
    answer = launch.later(op="net", net=settings())
    launch.begin()
    assert answer() == {"ok": True}
    assert launch.end() == 0


def test_one_that_keeps_dying_is_given_up_and_nothing_is_let_through(place):
    launch = place()
    launch.begin()
    launch.channel.setblocking(False)
    for _ in range(9):
        launch.tell("end 1")
        launch.begin()
    launch.tell("end 1")
    wait(lambda: launch.ask(op="status")["net"] == "given-up")
    assert launch.pid() == 0
    assert launch.channel.recv(2000).startswith(b"failed the sandbox has no network")
    assert launch.end() == 0


def test_new_settings_reach_the_running_one(place):
    launch = place()
    launch.begin()
    pid = launch.pid()
    new = settings(policy=[{"scope": "sandbox", "name": "policy", "text": "deny b.test\n"}],
                   preset="deny-all", ask_ms=30000)
    del new["proxy"], new["hook"]
    answer = launch.later(op="net", net=new)
    config = launch.take()
    assert answer() == {"ok": True}
    assert config["policy"] == new["policy"] and config["ask_ms"] == 30000
    # A shell without these variables does not change them.
    assert config["proxy"] == settings()["proxy"]
    assert not {"sandbox", "marker", "next_marker", "uid"} & set(config)
    assert launch.pid() == pid
    # They are in force after a restart too.
    launch.tell("end 1")
    assert launch.begin()["policy"] == new["policy"]
    assert launch.end() == 0


def test_refused_settings_leave_the_old_ones_in_force(place):
    number = free_port()
    launch = place()
    launch.begin()
    answer = launch.later(op="net", net=settings(preset="x", published=[port(number)]))
    assert launch.take(error="policy: line 3\x1b[31m")["preset"] == "x"
    refusal = answer()
    assert not refusal["ok"] and refusal["error"] == "policy: line 3\\x1b[31m"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", number), 5)
    assert launch.ask(op="ports")["ports"] == []
    launch.tell("end 1")
    message = launch.begin()
    assert message["preset"] == "balanced" and message["published"] == []
    assert launch.end() == 0


def test_settings_that_kill_it_are_taken_back(place):
    launch = place()
    launch.begin()
    answer = launch.later(op="net", net=settings(preset="x"))
    launch.next("config")
    launch.tell("end 1")
    assert launch.next("start")["preset"] == "x"
    launch.tell("say no such preset")
    launch.tell("end 1")
    assert launch.begin()["preset"] == "balanced"
    assert "no such preset" in answer()["error"]
    assert launch.end() == 0


def test_settings_that_are_none_are_refused(place):
    launch = place()
    launch.begin()
    good = settings()
    source = {"scope": "a", "name": "b", "text": "c"}
    bad = [None, [], {}, {**good, "x": 1}, {**good, "policy": 1}, {**good, "policy": [1]},
           {**good, "policy": [{"scope": "a", "name": "b"}]}, {**good, "policy": [source] * 65},
           {**good, "ask_ms": -1}, {**good, "ask_ms": 600001}, {**good, "ask_ms": "1"},
           {**good, "proxy": None}, {**good, "proxy": {"http": None}},
           {**good, "proxy": {"http": 1, "https": None, "no_proxy": None}},
           {**good, "published": [port(0)]}, {**good, "published": [port(1, 70000)]},
           {**good, "published": [port(1), port(1, 81)]},
           {**good, "published": [port(1, address="localhost")]},
           {**good, "sockets": [{"host": "a", "guest": "/a"}]},
           {**good, "sockets": [{"host": "/a", "guest": "/" + "a" * 108}]},
           {**good, "hook": {"path": "x", "env": []}},
           {**good, "hook": {"path": "/x", "env": ["NO"]}}]
    for net in bad:
        answer = launch.ask(op="net", net=net)
        assert answer["ok"] is False and answer["error"], net
    assert launch.ask(op="net")["ok"] is False
    assert launch.ask(op="net", net=good, more=1)["ok"] is False
    assert launch.ask(op="ports", published=[1])["ok"] is False
    launch.tell({"op": "rotate"})
    assert launch.next("packet fd") == {"op": "log"}  # no config came before
    assert launch.end() == 0


def test_ports_come_and_go_while_it_runs(place):
    one, two = free_port(), free_port()
    launch = place(settings(published=[port(one, 80)]))
    launch.begin()
    assert launch.next("packet fd") == {"op": "listener", "id": 1}
    answer = launch.later(op="ports", published=[port(one, 80), port(two, 81)])
    assert launch.take()["published"] == [{"id": 1, "port": 80}, {"id": 2, "port": 81}]
    assert launch.next("packet fd") == {"op": "listener", "id": 2}
    assert answer()["ports"] == [{**port(one, 80), "error": None}, {**port(two, 81), "error": None}]
    client = socket.create_connection(("127.0.0.1", two), 10)
    launch.tell("accept")
    assert client.recv(5) == b"hello"
    client.close()
    # The same place with another port of the guest: another number.
    answer = launch.later(op="ports", published=[port(two, 82)])
    assert launch.take()["published"] == [{"id": 3, "port": 82}]
    assert launch.next("packet fd") == {"op": "listener", "id": 3}
    assert launch.next("packet") == {"op": "unlisten", "id": 1}
    assert launch.next("packet") == {"op": "unlisten", "id": 2}
    assert [p["guest"] for p in answer()["ports"]] == [82]
    with socket.create_connection(("127.0.0.1", two), 10):
        pass
    # Settings without a change of ports leave the listener alone.
    answer = launch.later(op="net", net=settings(published=[port(two, 82)]))
    assert launch.take()["published"] == [{"id": 3, "port": 82}]
    assert answer() == {"ok": True}
    answer = launch.later(op="ports", published=[])
    assert launch.take()["published"] == []
    assert launch.next("packet") == {"op": "unlisten", "id": 3}
    assert answer()["ports"] == []
    launch.tell("end 1")
    assert launch.begin()["published"] == []
    assert launch.end() == 0


def test_a_port_that_is_taken_is_a_clear_error(place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken, free = other.getsockname()[1], free_port()
        launch = place(settings(published=[port(taken), port(free, 81)]))
        # At the start the sandbox does without it, and says so.
        assert launch.begin()["published"] == [{"id": 2, "port": 81}]
        line = launch.channel.recv(2000).decode()
        assert line == (f"lacks not published: port {taken} of 127.0.0.1: Address already in "
                        "use (another program or sandbox listens there)\n")
        assert launch.next("packet fd") == {"op": "listener", "id": 2}
        ports = launch.ask(op="ports")["ports"]
        assert "in use" in ports[0]["error"] and ports[1]["error"] is None
        # Asked for while it runs it is an error, and nothing changes.
        with socket.create_server(("127.0.0.1", 0)) as second:
            wish = [port(free, 81), port(second.getsockname()[1])]
            refusal = launch.ask(op="ports", published=wish)
            assert refusal["code"] == 98 and str(wish[1]["host"]) in refusal["error"], refusal
        assert launch.ask(op="ports")["ports"] == ports
        refusal = launch.ask(op="ports", published=[port(free, address="192.0.2.77")])
        assert "no interface of this host" in refusal["error"]
    # The old one that failed does not hold up others; it is tried again.
    answer = launch.later(op="ports", published=[port(taken), port(free, 81)])
    config = launch.take()
    assert [p["port"] for p in config["published"]] == [80, 81]
    launch.next("packet fd")
    assert all(p["error"] is None for p in answer()["ports"])
    assert launch.end() == 0


def test_the_log_is_rotated_when_it_is_full_and_not_before(place):
    launch = place()
    launch.begin()
    log = place.box / "net/log.jsonl"
    for _ in range(3):
        launch.tell({"op": "rotate"})
        assert launch.next("packet fd") == {"op": "log"}
    assert os.listdir(log.parent) == ["names", "log.jsonl"] or len(os.listdir(log.parent)) == 2
    for count in range(1, 6):
        launch.tell(f"log {8 << 20}")
        assert launch.lines.readline().startswith("logged")
        launch.tell({"op": "rotate"})
        assert launch.next("packet fd") == {"op": "log"}
        kept = sorted(name for name in os.listdir(log.parent) if name.startswith("log"))
        assert kept == ["log.jsonl", *[f"log.jsonl.{i + 1}" for i in range(min(count, 3))]]
    launch.tell("log 7")
    launch.lines.readline()
    assert log.stat().st_size == 7 and stat.S_IMODE(log.stat().st_mode) == 0o600
    assert launch.end() == 0


def own_host(place):
    """How to run with an /etc and a network of the test's own."""
    own = place.path / "etc"
    (own / "stub").mkdir(parents=True)
    (own / "stub/resolv.conf").write_text("nameserver 192.0.2.53\n")
    (own / "resolv.conf").symlink_to("stub/resolv.conf")
    (own / "hosts").write_text("192.0.2.1 a.test\n")
    flags = ["-n", "-m"] if ROOT else ["-n", "-m", "--user", "--map-root-user"]
    script = f'mount --bind "{own}" /etc && ip link set lo up && exec "$0"'
    done = subprocess.run(["unshare", *flags, "sh", "-c", script, "true"], check=False,
                          capture_output=True)
    if done.returncode:
        pytest.skip(f"no namespaces here: {done.stderr}")
    return own, ["unshare", *flags, "sh", "-c", script]


def test_changes_of_the_hosts_network_are_passed_on(place):
    own, prefix = own_host(place)
    launch = place(prefix=prefix)
    message = launch.begin()
    assert message["resolver"] == {"servers": ["192.0.2.53"], "hosts": [["a.test", "192.0.2.1"]]}
    assert set(message["addresses"]) <= {"127.0.0.1", "::1"}
    # The file that the link leads to, replaced: what a resolver's daemon does.
    (own / "stub/new").write_text("nameserver 192.0.2.54\nnameserver 2001:db8::53\n")
    (own / "stub/new").rename(own / "stub/resolv.conf")
    assert launch.take()["resolver"]["servers"] == ["192.0.2.54", "2001:db8::53"]
    # Another link, to where nobody looked before; then its file, in place.
    (own / "vpn").mkdir()
    (own / "vpn/resolv.conf").write_text("nameserver 192.0.2.55\n")
    (own / "link").symlink_to("vpn/resolv.conf")
    (own / "link").rename(own / "resolv.conf")
    assert launch.take()["resolver"]["servers"] == ["192.0.2.55"]
    (own / "vpn/resolv.conf").write_text("nameserver 192.0.2.56\n")
    assert launch.take()["resolver"]["servers"] == ["192.0.2.56"]
    (own / "hosts").write_text("192.0.2.2 b.test\n")
    assert launch.take()["resolver"]["hosts"] == [["b.test", "192.0.2.2"]]
    (own / "hosts").unlink()
    assert launch.take()["resolver"]["hosts"] == []
    enter = ["nsenter", "-t", str(launch.process.pid), "-n"]
    enter += [] if ROOT else ["-U", "--preserve-credentials"]
    subprocess.run([*enter, "ip", "addr", "add", "192.0.2.99/32", "dev", "lo"], check=True)
    assert "192.0.2.99" in launch.take()["addresses"]
    # What is no change is not told.
    (own / "other").write_text("x")
    (own / "vpn/resolv.conf").write_text("nameserver 192.0.2.56\n")
    answer = launch.later(op="net", net=settings(preset="x"))
    config = launch.take()
    assert config["preset"] == "x" and config["resolver"]["servers"] == ["192.0.2.56"]
    assert answer() == {"ok": True}
    assert launch.end() == 0
    assert launch.log.count("the host's network has changed") == 6


def test_a_change_of_the_host_and_new_settings_do_not_get_mixed_up(place):
    own, prefix = own_host(place)
    number = free_port()
    launch = place(prefix=prefix)
    launch.begin()
    (own / "hosts").write_text("192.0.2.2 b.test\n")
    config = launch.next("config")
    client = launch.connect()
    net = settings(preset="x", published=[port(number)])
    client.sendall(json.dumps({"op": "net", "net": net}).encode() + b"\n")
    # Requests are read in the order in which they came.
    assert launch.ask(op="net", net=settings())["code"] == 16
    # The first one is answered; the new settings have not been seen by then.
    launch.tell({"op": "configured", "error": "of the first"})
    assert config["preset"] == "balanced"
    config = launch.take()
    assert config["preset"] == "x" and config["resolver"]["hosts"] == [["b.test", "192.0.2.2"]]
    assert launch.next("packet fd") == {"op": "listener", "id": 1}
    assert json.loads(client.makefile().readline()) == {"ok": True}
    assert launch.end() == 0


class Server:
    """A Unix socket that answers each connection in its own way."""

    def __init__(self, path, answer):
        self.path, self.answer, self.got = path, answer, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.speak, args=(one,), daemon=True).start()

    def speak(self, one):
        with one:
            try:
                asked = one.recv(4096)
                self.got.append(asked)
                one.sendall(b"pong" if asked == b"ping" else self.answer)
            except OSError:  # it has heard enough
                return


def ask_socket(launch, number, index=0):
    launch.tell({"op": "socket", "id": number, "index": index})
    line = launch.lines.readline()
    return line.startswith("packet fd"), json.loads(line[line.index("{"):])


def test_a_named_socket_is_connected_once_it_was_asked_what_it_is(place):
    path = place.path / "agent.sock"
    server = Server(path, b"HTTP/1.1 400 Bad Request\r\nServer: mine\r\n\r\n")
    launch = place(settings(sockets=[{"host": str(path), "guest": "/run/agent"}]))
    assert launch.begin()["sockets"] == ["/run/agent"]
    for number in range(7, 9):
        assert ask_socket(launch, number) == (True, {"op": "socket", "id": number})
        launch.tell("talk")
        assert launch.lines.readline() == "answer pong\n"
    assert server.got[0].startswith(b"GET /_ping HTTP/1.1\r\n") and server.got[1:] == [b"ping"] * 2
    # Another socket at that path is asked again.
    server.socket.close()
    path.unlink()
    server = Server(path, b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n\r\nOK")
    with_fd, answer = ask_socket(launch, 9)
    assert not with_fd and answer["code"] == 13 and "Docker" in answer["error"]
    # One that hangs up at the question is not Docker.
    path.unlink()
    Server(path, b"")
    assert ask_socket(launch, 10)[0]
    path.unlink()
    assert ask_socket(launch, 11)[1]["code"] == 2
    path.write_text("a file")
    assert ask_socket(launch, 12)[1]["code"] == 88
    # A link on the way was not there when it was named.
    path.unlink()
    Server(place.path / "other.sock", b"x")
    path.symlink_to(place.path / "other.sock")
    assert ask_socket(launch, 13)[1]["code"] == 40
    # No such index: there is no answer, and no harm.
    launch.tell({"op": "socket", "id": 14, "index": 1})
    launch.tell({"op": "socket", "id": 15, "index": "0"})
    launch.tell({"op": "rotate"})
    assert launch.next("packet fd") == {"op": "log"}
    assert launch.end() == 0


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nServer: Docker/20.10.24 (linux)\r\n\r\nOK",
    b"HTTP/1.1 200 OK\r\nLibpod-Api-Version: 4.3.1\r\nServer: Libpod/4.3.1\r\n\r\nOK",
    b"HTTP/1.1 403 Forbidden\r\nDocker-Experimental: false\r\n\r\n"])
def test_a_docker_socket_is_refused_by_what_answers_on_it(place, answer):
    path = place.path / "innocent.sock"
    server = Server(path, answer)
    launch = place(settings(sockets=[{"host": str(path), "guest": "/run/agent"}]))
    launch.begin()
    for number in range(3):
        with_fd, told = ask_socket(launch, number)
        assert not with_fd and "Docker" in told["error"] and told["code"] == 13
    assert len(server.got) == 3  # each was the question
    assert launch.end() == 0


def test_the_cache_of_layers_is_started_when_it_is_asked_for(place):
    def running():
        return subprocess.run(["pgrep", "-f", f"^{place.path}/bin/bawn-layers|^bawn-layers$",
                               "-P", str(launch.process.pid)],
                              capture_output=True, text=True, check=False).stdout.split()
    shutil.copy(LAYERS, place.path / "bin/bawn-layers")
    (place.path / "layers").mkdir(mode=0o700)
    launch = place(settings(layers=str(place.path / "layers")))
    launch.begin()
    assert not running()
    launch.tell({"op": "layers"})
    assert launch.next("packet fd") == {"op": "layers"}
    first, = running()
    # A folder that is not there is no reason to fail, nor are more than there may be.
    (place.path / "layers").rmdir()
    launch.tell({"op": "layers"})
    assert launch.next("packet") == {"op": "layers"}
    assert running() == [first]
    # It goes with the bawn-net that had its connection.
    launch.tell("end 1")
    launch.begin()
    wait(lambda: not running())
    assert launch.end() == 0


ASK = {"op": "ask", "name": "new.test", "address": None, "port": 443, "protocol": "tls"}


def test_a_question_is_listed_watched_and_answered(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    first, next_of_first = launch.watch()
    second, next_of_second = launch.watch()
    assert next_of_first() == next_of_second() == {"ok": True, "asks": []}
    launch.tell({**ASK, "id": 70})
    told = next_of_first()
    assert next_of_second() == told
    asked = told["ask"]
    assert 0 < asked.pop("ms_left") <= 30000
    assert asked == {"id": 1, "name": "new.test", "address": None, "port": 443,
                     "protocol": "tls"}
    assert [ask["id"] for ask in launch.ask(op="asks")["asks"]] == [1]
    assert launch.ask(op="ask-answer", id=2, verdict="once")["code"] == 2
    for bad in ({"id": 1}, {"id": 1, "verdict": "allow"}, {"id": "1", "verdict": "once"},
                {"id": 0, "verdict": "once"}, {"id": 1 << 32, "verdict": "once"}):
        assert launch.ask(op="ask-answer", **bad)["code"] == 22, bad
    assert launch.ask(op="ask-answer", id=1, verdict="once") == {"ok": True, "rule": None}
    assert launch.next("packet") == {"op": "answer", "id": 70, "verdict": "allow"}
    assert next_of_first() == next_of_second() == {"over": 1}
    assert launch.ask(op="ask-answer", id=1, verdict="once")["code"] == 2
    # Over by itself: the time, or the program has gone.
    launch.tell({**ASK, "id": 71})
    assert next_of_first()["ask"]["id"] == 2
    launch.tell({"op": "asked", "id": 71})
    assert next_of_first() == {"over": 2}
    first.close()
    # With bawn-net all are over.
    launch.tell({**ASK, "id": 72})
    launch.tell("end 1")
    assert next_of_second()["ask"]["id"] == 2 and next_of_second() == {"over": 2}
    assert next_of_second()["ask"]["id"] == 3 and next_of_second() == {"over": 3}
    second.close()
    launch.begin()
    assert launch.ask(op="asks")["asks"] == []
    assert launch.end() == 0


def test_an_answer_holds_for_every_connection_to_the_same_target(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    _, read = launch.watch()
    read()
    launch.tell({**ASK, "id": 1})
    launch.tell({**ASK, "id": 2})
    launch.tell({**ASK, "id": 3, "port": 80})
    launch.tell({**ASK, "id": 4, "name": "other.test"})
    for _ in range(4):
        read()
    assert launch.ask(op="ask-answer", id=2, verdict="deny") == {"ok": True, "rule": None}
    assert launch.next("packet") == {"op": "answer", "id": 1, "verdict": "deny"}
    assert launch.next("packet") == {"op": "answer", "id": 2, "verdict": "deny"}
    assert [ask["id"] for ask in launch.ask(op="asks")["asks"]] == [3, 4]
    assert launch.end() == 0


@pytest.mark.parametrize("ask,verdict,rule", [
    (ASK, "always", "allow new.test:443"),
    (ASK, "never", "deny new.test:443"),
    ({**ASK, "name": None, "address": "192.0.2.7", "port": 22}, "always", "allow 192.0.2.7:22"),
    ({**ASK, "name": None, "address": "2001:db8::1"}, "never", "deny [2001:db8::1]:443")])
def test_always_and_never_become_rules(place, ask, verdict, rule):
    (place.box / "policy").write_text("# mine\nallow x.test")
    own = {"scope": "sandbox", "name": "policy", "text": "# mine\nallow x.test"}
    launch = place(settings(policy=[own], ask_ms=30000))
    launch.begin()
    launch.tell({**ask, "id": 5})
    wait(lambda: launch.ask(op="asks")["asks"])
    answer = launch.later(op="ask-answer", id=1, verdict=verdict)
    word = "allow" if verdict == "always" else "deny"
    assert launch.next("packet") == {"op": "answer", "id": 5, "verdict": word}
    text = f"# mine\nallow x.test\n{rule}\n"
    assert launch.take()["policy"] == [{**own, "text": text}]
    assert answer() == {"ok": True, "rule": rule}
    assert (place.box / "policy").read_text() == text
    assert stat.S_IMODE((place.box / "policy").stat().st_mode) == 0o600
    # Once more: the rule is there already.
    launch.tell({**ask, "id": 6})
    wait(lambda: launch.ask(op="asks")["asks"])
    answer = launch.later(op="ask-answer", id=2, verdict=verdict)
    launch.next("packet")
    launch.take()
    assert answer() == {"ok": True, "rule": rule}
    assert (place.box / "policy").read_text() == text
    launch.tell("end 1")
    assert launch.begin()["policy"][0]["text"] == text
    assert launch.end() == 0


def test_a_rule_waits_while_somebody_edits_the_policy(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    launch.tell({**ASK, "id": 5})
    wait(lambda: launch.ask(op="asks")["asks"])
    lock = subprocess.Popen(["flock", str(place.box / "policy.lock"), "sh", "-c",
                             "echo held; read line"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    assert lock.stdout.readline() == b"held\n"
    answer = launch.later(op="ask-answer", id=1, verdict="always")
    # The connection does not wait.
    assert launch.next("packet")["verdict"] == "allow"
    # Whoever holds the lock gets new settings through meanwhile.
    mine = launch.later(op="net", net=settings(ask_ms=30000, preset="x"))
    assert launch.take()["preset"] == "x"
    assert mine() == {"ok": True}
    assert not (place.box / "policy").exists()
    lock.communicate(b"\n", timeout=10)
    config = launch.take()
    assert config["preset"] == "x" and config["policy"][1]["text"] == "allow new.test:443\n"
    assert answer()["rule"] == "allow new.test:443"
    assert (place.box / "policy").read_text() == "allow new.test:443\n"
    assert launch.end() == 0


def test_questions_that_are_none_never_get_to_a_policy(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    bad = [{"name": "a b"}, {"name": "A.test"}, {"name": "a.test\nallow **"}, {"name": "x" * 300},
           {"name": None}, {"name": "10.0.0.1"}, {"name": None, "address": "10.0.0.01"},
           {"name": "a.test", "address": "x"}, {"port": 0}, {"port": 65536}, {"port": "443"},
           {"protocol": "x y"}, {"protocol": ""}, {"protocol": None}, {"id": None}]
    for more in bad:
        launch.tell({**ASK, "id": 5, **more})
    for number in range(70):
        launch.tell({**ASK, "id": number, "name": f"n{number}.test"})
    for number in range(64, 70):
        assert launch.next("packet") == {"op": "answer", "id": number, "verdict": "deny"}
    asks = launch.ask(op="asks")["asks"]
    assert [ask["name"] for ask in asks] == [f"n{number}.test" for number in range(64)]
    assert launch.end() == 0


def hook_script(place, body):
    path = place.path / "hook"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return {"path": str(path), "env": ["PATH=/usr/bin:/bin", f"OUT={place.path}/out"]}


def test_the_hook_answers_first(place):
    hook = hook_script(place, 'cat > "$OUT.$$"; env > "$OUT.env"; echo " always  because"')
    launch = place(settings(ask_ms=30000, hook=hook))
    launch.begin()
    launch.tell({**ASK, "id": 5})
    assert launch.next("packet") == {"op": "answer", "id": 5, "verdict": "allow"}
    assert launch.take()["policy"][1]["text"] == "allow new.test:443\n"
    question = json.loads(next(path for path in place.path.glob("out.[0-9]*")).read_text())
    assert question.pop("ms_left") > 0
    assert question == {"sandbox": "box", "id": 1, "name": "new.test", "address": None,
                        "port": 443, "protocol": "tls"}
    names = {line.split("=")[0] for line in (place.path / "out.env").read_text().splitlines()}
    assert names <= {"PATH", "OUT", "PWD", "_", "SHLVL", "OLDPWD"}
    assert launch.end() == 0


@pytest.mark.parametrize("body", ["exit 0", "echo perhaps", "echo once; exit 1", "echo once.",
                                  "kill -9 $$", "head -c 100000 /dev/zero"])
def test_a_hook_without_a_word_leaves_the_question_open(place, body):
    hook = hook_script(place, f'touch "$OUT"; {body}')
    launch = place(settings(ask_ms=30000, hook=hook))
    launch.begin()
    launch.tell({**ASK, "id": 5})
    wait((place.path / "out").exists)
    # The next question comes after the answer to the first.
    launch.tell({**ASK, "id": 6, "name": "second.test"})
    wait(lambda: len(launch.ask(op="asks")["asks"]) == 2)
    assert launch.ask(op="ask-answer", id=1, verdict="deny")["ok"]
    assert launch.next("packet") == {"op": "answer", "id": 5, "verdict": "deny"}
    assert launch.end() == 0


def test_more_questions_than_hooks_at_once_wait_for_their_turn(place):
    hook = hook_script(place, 'read line; while [ ! -e "$OUT" ]; do sleep 0.05; done; echo once')
    launch = place(settings(ask_ms=30000, hook=hook))
    launch.begin()
    for number in range(6):
        launch.tell({**ASK, "id": number, "name": f"n{number}.test"})
    wait(lambda: len(launch.ask(op="asks")["asks"]) == 6)
    (place.path / "out").touch()
    answered = {launch.next("packet")["id"] for _ in range(6)}
    assert answered == set(range(6))
    assert launch.end() == 0


def test_a_hook_is_outside_of_the_launchers_confinement_and_ends_with_it(place):
    hook = hook_script(place, 'grep -E "Seccomp:|NoNewPrivs" /proc/self/status > "$OUT.1"\n'
                       'echo $$ > "$OUT.2"; ls /proc/self/fd > "$OUT.3"; mv "$OUT.2" "$OUT"\n'
                       'exec sleep 100')
    launch = place(settings(ask_ms=30000, hook=hook))
    launch.begin()
    launch.tell({**ASK, "id": 5})
    wait((place.path / "out").exists)
    assert [line.split()[1] for line in (place.path / "out.1").read_text().splitlines()] == \
        ["0", "0"]
    # Of the launcher's descriptors it has none.
    assert set((place.path / "out.3").read_text().split()) <= {"0", "1", "2", "3"}
    pid = int((place.path / "out").read_text())
    assert alive(pid)
    assert launch.end() == 0
    wait(lambda: not alive(pid), 2)


def test_one_that_does_not_read_what_it_is_told_is_replaced(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    launch.tell("deaf")
    pid = launch.pid()
    for number in range(100000):
        try:
            launch.tell({"op": "rotate"})
        except OSError:
            break
        if number % 50 == 0 and launch.pid() != pid:
            break
    launch.lines = launch.net_port.makefile("r", encoding="utf-8")
    wait(lambda: launch.pid() not in (0, pid))
    assert launch.ask(op="status")["net_restarts"] == 1


def test_many_clients_at_once(place):
    launch = place(settings(ask_ms=30000))
    launch.begin()
    watchers = [launch.watch() for _ in range(40)]
    for _, read in watchers:
        assert read() == {"ok": True, "asks": []}
    launch.tell({**ASK, "id": 5})
    for _, read in watchers:
        assert read()["ask"]["name"] == "new.test"
    idle = [launch.connect() for _ in range(24)]
    # One more waits until another goes.
    late = launch.connect()
    late.sendall(b'{"op": "asks"}\n')
    late.settimeout(0.3)
    with pytest.raises(TimeoutError):
        late.recv(1)
    idle.pop().close()
    late.settimeout(10)
    assert json.loads(late.makefile().readline())["asks"][0]["id"] == 1
    for one in idle + [one for one, _ in watchers]:
        one.close()
    assert launch.ask(op="status")["net"] == "serving"
    assert launch.end() == 0


def test_another_user_is_no_client(place):
    if not ROOT:
        pytest.skip("needs root")
    launch = place()
    launch.begin()
    code = ("import os, socket, sys\nos.setuid(61234)\none = socket.socket(socket.AF_UNIX)\n"
            "one.connect(sys.argv[1])\none.sendall(b'{\"op\": \"asks\"}\\n')\n"
            "sys.exit(len(one.recv(10)))")
    os.chmod(f"{launch.folder}/launch.sock", 0o666)
    done = subprocess.run(["/usr/bin/python3", "-c", code, f"{launch.folder}/launch.sock"],
                          check=False, stderr=subprocess.DEVNULL)
    assert done.returncode in (0, 1)  # end of file, or no way to the socket
    assert launch.end() == 0


def test_when_the_supervisor_is_gone_so_is_it(place):
    launch = place()
    launch.begin()
    pid = launch.pid()
    begin = time.monotonic()
    launch.channel.close()
    assert launch.process.wait(timeout=5) == 0
    assert not alive(pid) and time.monotonic() - begin < 1.5
