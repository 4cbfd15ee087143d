# SPDX-License-Identifier: Apache-2.0
"""The guest's side of the gate, in a real machine whose network port this test holds

The machine is a cold sandbox's, without its supervisor: nothing but what the test
answers can answer a program in the guest.
"""
import errno
import os
import struct
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from net_peer import CLOSE, Cut, Peer, answer  # noqa: E402
from plain_machine import Blueprint, PlainMachine  # noqa: E402

from bawn import ROOT, wait  # noqa: E402

ECHO, REFUSED = 7, 9  # ports, and what the host does with them
PREPARE, PREPARED = 10, 11  # messages of the control port
CONTAINER = """
ip link add br7 type bridge; ip addr add 172.30.0.1/24 dev br7; ip link set br7 up
ip netns add box; ip link add in7 type veth peer name out7
ip link set out7 master br7 up; ip link set in7 netns box
ip -n box addr add 172.30.0.2/24 dev in7; ip -n box link set in7 up; ip -n box link set lo up
ip -n box route add default via 172.30.0.1
"""
TALK = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 15)
s.sendall(sys.argv[3].encode()); s.shutdown(socket.SHUT_WR)
got = b""
while piece := s.recv(65536):
    got += piece
print(got.decode())
"""
ASK = """
import socket, struct, sys
name, server, kind = sys.argv[1:]
q = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"".join(
    bytes([len(w)]) + w.encode() for w in name.split(".")) + bytes([0, 0, 1, 0, 1])
if kind == "tcp":
    s = socket.create_connection((server, 53), 15)
    s.sendall(struct.pack(">H", len(q)) + q)
    got = s.recv(4096)[2:]
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(15)
    s.sendto(q, (server, 53)); got = s.recv(4096)
print(".".join(map(str, got[-4:])), got[:2] == q[:2])
"""
SERVER = ("import socket; l = socket.create_server(('{}', {})); c = l.accept()[0]; "
          "c.sendall(c.recv(99).upper()); c.close()")
REJECTED = """
import errno, socket, time
def tried(what, family, kind, protocol, address):
    s = socket.socket(family, kind, protocol); s.settimeout(5)
    begin = time.monotonic()
    try:
        if kind == socket.SOCK_STREAM:
            s.connect(address)
        else:
            s.sendto(bytes(32), address)
        result = "went"
    except OSError as error:
        result = errno.errorcode.get(error.errno, str(error))
    print(what, result, time.monotonic() - begin < 1)
I, S6, D, R = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM, socket.SOCK_RAW
tried("quic", I, D, 0, ("198.18.0.7", 443))
tried("mdns", I, D, 0, ("224.0.0.251", 5353))
tried("icmp", I, R, socket.IPPROTO_ICMP, ("198.18.0.7", 0))
tried("sctp", I, R, 132, ("198.18.0.7", 0))
tried("tcp6", S6, socket.SOCK_STREAM, 0, ("2001:db8::1", 443))
tried("udp6", S6, D, 0, ("2001:db8::1", 443))
tried("own", I, socket.SOCK_STREAM, 0, ("198.19.255.1", 999))
l = socket.socket(S6); l.bind(("::1", 8899)); l.listen()
tried("loopback6", S6, socket.SOCK_STREAM, 0, ("::1", 8899))
"""


class Place:
    """What the plain machine needs to know."""

    def __init__(self, bawn):
        self.own, self.HOME = bawn, bawn.home  # pylint: disable=C0103

    def bawn(self, *args, check=True):
        result = self.own.raw(*args, timeout=180)
        assert result.code == 0 or not check, result

    def qemu_pid(self, name):
        return self.own.qemu_pid(name)

    @staticmethod
    def newest(pattern):
        import glob  # pylint: disable=C0415
        return max(glob.glob(pattern), key=os.path.getmtime)

    def template_disk(self):
        for folder in (f"{self.HOME}/data", self.own.env["BAWN_SYSTEM_DIR"]):
            path = f"{folder}/templates/base/disk.ext4"
            if os.path.isfile(path):
                return path
        raise AssertionError("no base template")

    @staticmethod
    def quiet(argv):
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Host:
    """bawn-net's part, in a thread: echoes (in slots), refuses, answers every name."""

    def __init__(self, sock, slots):
        self.peer = Peer(sock)
        self.peer.use_slots(slots)
        self.peer.answer = self.on_question
        self.opened, self.names = [], []
        self.restarts = self.greetings = 0
        self.jobs = []
        self.stopped = False
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def on_question(self, asked, _transport):
        self.names.append(asked[12:-5].decode(errors="replace"))
        return answer(asked, "198.18.0.7")

    def run(self):
        try:
            self.greet()
            while not self.stopped:
                self.round()
        except Exception as error:  # pylint: disable=W0718
            self.problem = repr(error)

    def greet(self):
        self.peer.greet(60)
        self.greetings += 1

    def round(self):
        try:
            self.peer.pump(0.05)
        except Cut:  # a real server ends, and the next one sends the marker
            self.restarts += 1
            self.again()
        while self.jobs:
            self.jobs.pop(0)()
        while self.peer.opens:
            stream = self.peer.opens.pop(0)
            self.opened.append(stream.what)
            stream.in_slots = True
            if isinstance(stream.what, tuple) and stream.what[1] == REFUSED:
                self.peer.send(CLOSE, stream.number, struct.pack("<I", errno.ECONNREFUSED))
                del self.peer.streams[stream.number]
        for stream in list(self.peer.streams.values()):
            if stream.number % 2:  # what we opened ourselves is the test's
                self.echo(stream)

    @staticmethod
    def echo(stream):
        if stream.data and stream.window:
            left = stream.send(stream.data)
            stream.data = bytes(left)
        if stream.eof and not stream.data:
            stream.end()
            stream.peer.streams.pop(stream.number)

    def again(self, marker=None):
        self.peer.begin_again(marker)
        while True:
            try:
                self.greet()
                return
            except Cut:  # the relay was killed once more, right behind its HELLO
                self.restarts += 1
                self.peer.begin_again()

    def do(self, job):
        """In the thread; waits until it is done."""
        done = []
        self.jobs.append(lambda: done.append([job()]))
        return wait(lambda: done or self.problem, 60)[0][0]


class Guest:
    def __init__(self, machine):
        self.machine = machine
        self.host = Host(machine.ports["gate"], machine.slots)
        wait(lambda: self.host.greetings, 60, "HELLO")

    def sh(self, script, user="root"):
        out, status = self.machine.run(["/bin/bash", "-c", script], user)
        assert not self.host.problem, self.host.problem
        return out.decode(errors="replace"), status

    def python(self, script, *words, user="root", prefix=()):
        out, status = self.machine.run([*prefix, "/usr/bin/python3", "-c", script, *words], user)
        assert not self.host.problem, self.host.problem
        return out.decode(errors="replace").strip(), status


@pytest.fixture(scope="module")
def guest(session):
    if not ROOT:
        pytest.skip("the guest is the same for every user; root's run tries it")
    machine = PlainMachine(Blueprint(Place(session)))
    guest = Guest(machine)
    yield guest
    guest.host.stopped = True
    machine.close()


def talk(guest, address, port, text, **more):
    return guest.python(TALK, address, str(port), text, **more)


@pytest.mark.seconds(300)
def test_every_user_reaches_the_host_and_nothing_else(guest):
    assert guest.host.peer.features == 1, "the relay has found no slots"
    for user in ("agent", "root", "4711"):
        out, status = talk(guest, "198.18.0.7", ECHO, f"I am {user}", user=user)
        assert (out, status) == (f"I am {user}", 0)
        assert guest.host.opened.pop() == ("198.18.0.7", ECHO, 0)
    out, status = talk(guest, "10.1.2.3", REFUSED, "x", user="agent")
    assert status and "ConnectionResetError" in out
    assert guest.host.opened.pop() == ("10.1.2.3", REFUSED, 0)
    out, _ = guest.sh("cat /etc/resolv.conf; ip -br addr; ls /sys/class/net", user="agent")
    assert out.startswith("nameserver 198.19.255.1\n") and "eth" not in out


def test_a_container_behind_a_bridge_comes_through_the_same_gate(guest):
    guest.sh(f"set -e; {CONTAINER}")
    inside = ("ip", "netns", "exec", "box")
    out, status = talk(guest, "1.2.3.4", ECHO, "from a box", prefix=inside)
    assert (out, status) == ("from a box", 0)
    assert guest.host.opened.pop() == ("1.2.3.4", ECHO, 1)
    for server, kind in (("198.19.255.1", "udp"), ("8.8.8.8", "udp"), ("8.8.8.8", "tcp")):
        out, _ = guest.python(ASK, "box.example", server, kind, prefix=inside)
        assert out == "198.18.0.7 True"
    out, _ = guest.python(
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.settimeout(5); s.connect(('1.2.3.4', 443)); s.send(b'x'); b = time.monotonic()\n"
        "try: s.recv(1)\nexcept OSError as e: print(e.errno, time.monotonic() - b < 1)",
        prefix=inside)
    assert out == f"{errno.EHOSTUNREACH} True"
    # Containers and the guest still talk to each other without the host.
    guest.sh(f"setsid python3 -c \"{SERVER.format('172.30.0.1', 81)}\" >/dev/null 2>&1 </dev/null &")

    def direct():
        return talk(guest, "172.30.0.1", 81, "direct", prefix=inside)[0] == "DIRECT"
    wait(direct, 20)
    assert not guest.host.opened


def test_names_are_answered_by_the_host_alone(guest):
    out, status = guest.sh("getent ahostsv4 www.example.com", user="agent")
    assert status == 0 and out.startswith("198.18.0.7 ")
    for server in ("198.19.255.1", "1.1.1.1"):
        for kind in ("udp", "tcp"):
            out, _ = guest.python(ASK, "any.example", server, kind, user="agent")
            assert out == "198.18.0.7 True"
    assert any("www" in name and "example" in name for name in guest.host.names)
    assert talk(guest, "www.example.com", ECHO, "by name", user="agent") == ("by name", 0)
    assert guest.host.opened.pop() == ("198.18.0.7", ECHO, 0)


def test_everything_else_fails_at_once(guest):
    out, _ = guest.python(REJECTED)
    assert dict(line.split(" ", 1) for line in out.split("\n")) == {
        "quic": "EPERM True", "mdns": "EPERM True", "icmp": "EPERM True", "sctp": "EPERM True",
        "tcp6": "ENETUNREACH True", "udp6": "ENETUNREACH True", "own": "ECONNREFUSED True",
        "loopback6": "went True"}


@pytest.mark.seconds(300)
def test_root_may_flush_the_rules_or_kill_the_relay_and_gains_nothing(guest):
    for _ in range(2):
        before = guest.host.restarts
        guest.sh("nft flush ruleset")
        out, status = guest.python(TALK.replace("15)", "3)"), "198.18.0.7", str(ECHO), "x")
        assert status and not guest.host.opened, out
        guest.sh("kill -9 $(pgrep bawn-net-relay)")
        wait(lambda: guest.host.restarts > before, 30)
        out, status = talk(guest, "198.18.0.7", ECHO, "back again")
        assert (out, status) == ("back again", 0)
        assert guest.host.opened.pop() == ("198.18.0.7", ECHO, 0)
    for _ in range(8):
        guest.sh("kill -9 $(pgrep bawn-net-relay)")
    out, status = talk(guest, "198.18.0.7", ECHO, "after many")
    assert (out, status) == ("after many", 0)
    guest.host.opened.clear()


def test_localhost_of_the_host_gives_way_to_the_guests_own(guest):
    guest.host.do(lambda: guest.host.peer.forwards([5432]))
    for address in ("127.0.0.1", "localhost", "::1"):
        def reached(where=address):
            return talk(guest, where, 5432, "select")[0] == "select"
        wait(reached, 20, address)
        assert guest.host.opened.pop() == ("127.0.0.1", 5432, 0)
    own = ("import socket, threading\nl = socket.create_server(('127.0.0.1', 5432))\n"
           "def serve():\n c = l.accept()[0]; c.recv(9); c.sendall(b'mine'); c.close()\n"
           "threading.Thread(target=serve).start()\n"
           "s = socket.create_connection(('127.0.0.1', 5432), 10); s.sendall(b'x')\n"
           "print(s.recv(99).decode())")
    assert guest.python(own, user="agent") == ("mine", 0)
    assert not [what for what in guest.host.opened if what[1] == 5432]
    assert talk(guest, "127.0.0.1", 5432, "and back")[0] == "and back"
    guest.host.do(lambda: guest.host.peer.forwards([]))

    def refused():
        return "ConnectionRefusedError" in talk(guest, "127.0.0.1", 5432, "x")[0]
    wait(refused, 20)
    guest.host.opened.clear()


def test_the_host_reaches_a_server_of_the_guest(guest):
    guest.sh(f"setsid python3 -c \"{SERVER.format('127.0.0.1', 8080)}\" >/dev/null 2>&1 "
             "</dev/null &")

    def once():
        got = []

        def begin():
            stream = guest.host.peer.connect(8080)
            stream.send(b"hello")
            got.append(stream)
        guest.host.do(begin)
        wait(lambda: got[0].closed is not None or got[0].eof, 20)
        return got[0].data == b"HELLO"
    wait(once, 30, "a server in the guest")


def test_a_socket_of_the_host_appears_in_the_guest(guest):
    guest.host.do(lambda: guest.host.peer.sockets(["/run/user/agent.sock"]))
    script = ("import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(9); "
              "s.connect('/run/user/agent.sock'); s.sendall(b'keys'); print(s.recv(9).decode())")

    def connected():
        return guest.python(script, user="agent") == ("keys", 0)
    wait(connected, 20)
    assert guest.host.opened.pop() == 0  # its number


def test_a_snapshot_in_between_resets_connections_and_goes_on(guest):
    """PREPARE on the control port, then both markers, as after every restore."""
    # No frame begins with the highest bit set.
    machine, marker = guest.machine, bytes([os.urandom(1)[0] | 0x80]) + os.urandom(31)
    held = ("import socket; s = socket.create_connection(('198.18.0.7', 7)); "
            "s.sendall(b'x'); s.recv(1); open('/tmp/held', 'w').write('held')\n"
            "try: s.recv(1)\nexcept ConnectionResetError: open('/tmp/held', 'w').write('reset')")
    guest.sh(f"setsid python3 -c \"{held}\" >/dev/null 2>&1 </dev/null &")
    wait(lambda: guest.sh("cat /tmp/held")[0] == "held", 20)
    machine.message(PREPARE, marker)
    machine.expect(PREPARED)
    machine.socket.sendall(marker)
    machine.buffer = b""
    deadline = time.monotonic() + 20
    while marker not in machine.buffer:
        assert time.monotonic() < deadline
        machine.buffer += machine.socket.recv(1 << 16)
    machine.buffer = machine.buffer.split(marker, 1)[1]
    machine.message(2, struct.pack("<Q", time.time_ns()) + os.urandom(80) + b"again\0" +
                    struct.pack("<I", 0) + b"\0\0")
    machine.expect(3)
    greetings = guest.host.greetings
    guest.host.do(lambda: guest.host.again(marker))
    assert guest.host.greetings == greetings + 1
    wait(lambda: guest.sh("cat /tmp/held")[0] == "reset", 20)
    out, status = talk(guest, "198.18.0.7", ECHO, "awake", user="agent")
    assert (out, status) == ("awake", 0)
