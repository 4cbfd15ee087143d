# SPDX-License-Identifier: Apache-2.0
"""bawn-net alone: its life, its port, published ports, sockets, asks, the log

What can be said as policy, client and origin is a file in gate/; here is what
needs more: several connections at once, time, the launcher's packets, users.
"""
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

import pytest

import net_origin
import net_port
import net_world
from net_fixtures import rules
from net_peer import CALL_HEAD

GET = b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"

# -- the process

def test_nothing_is_open_but_what_it_needs(make):
    """Row: E16. No listening socket, no path, no other user's rights."""
    net = make.net("allow good.example")
    proc = f"/proc/{net.process.pid}"
    listening = make.world.call(
        lambda: subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True,
                               check=True).stdout)
    assert "bawn-net" not in listening and str(net.process.pid) not in listening
    with open(f"{proc}/status", encoding="ascii") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines()
                      if ":\t" in line)
    assert status["Uid"].split() == [str(net_world.SANDBOX_UID)] * 4
    assert status["Gid"].split() == [str(net_world.SANDBOX_UID)] * 4
    assert status["Groups"].split() == []
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    # Not dumpable: its files belong to root.
    assert os.stat(f"{proc}/mem").st_uid == 0
    kinds = sorted(os.readlink(f"{proc}/fd/{fd}").split(":")[0]
                   for fd in os.listdir(f"{proc}/fd"))
    assert all(not kind.startswith("/") or kind in
               ("/dev/null", f"{make.folder}/names", f"{make.folder}/log.jsonl",
                f"{make.folder}/errors", "/etc/ssl/certs/ca-certificates.crt")
               for kind in kinds), kinds
    net.stop()


def test_root_without_a_uid_is_refused(make):
    with pytest.raises(AssertionError, match="without a uid"):
        make.net(uid=0)


def test_a_wrong_start_message_is_an_error(make):
    with pytest.raises(AssertionError, match="settings"):
        make.net(published=[{"id": 1, "port": 70000}])


def test_damaged_names_are_an_error(make):
    with open(make.folder / "names", "w", encoding="ascii") as file:
        file.write("198.18.0.1 a.example\n198.18.0.9 b.example\n")
    with pytest.raises(AssertionError, match="line 2"):
        make.net()


def test_the_launchers_end_ends_it(make):
    net = make.net()
    net.control.close()
    assert net.process.wait(10) == 1
    assert "launcher" in net.stderr()


def test_the_end_of_the_port_ends_it(make):
    net = make.net()
    net.guest_end.close()
    net.host_end.close()
    assert net.process.wait(10) == 0


# -- the port

def test_nothing_is_done_before_hello(make):
    """Row: E7. OPEN, DNS and data before HELLO break the protocol."""
    origin = make.origin("203.0.113.10:80")
    net = make.net("default allow", hello=False)
    net.port.open("203.0.113.10", 80).send(GET)
    assert net.process.wait(10) == 1
    assert "makes no sense" in net.stderr()
    assert not origin.received()


@pytest.mark.parametrize("what", [
    b"\xff" * 40960,
    b"\1\0\0\0\0\0\0\0\1\0\0\0\1",
    struct.pack("<B3xII", 2, 1, 0),
    struct.pack("<B3xII", 1, 0, 9000) + b"\0" * 9000,
    struct.pack("<B3xIIH", 1, 0, 2, 77),
    struct.pack("<B3xIIHI32s", 1, 0, 38, 2, 1, b""),
    struct.pack("<B3xIIHI", 1, 0, 6, 6, 3),
    struct.pack("<B3xIIHIB16sHB", 1, 0, 26, 3, 2, 4, b"", 80, 0),
    struct.pack("<B3xIIHIB16sHB", 1, 0, 26, 3, 1, 5, b"", 80, 0),
    struct.pack("<B3xIIHIB16sHB", 1, 0, 26, 3, 1, 4, b"\1\2\3\4\5", 80, 0),
    struct.pack("<B3xIIHII", 1, 0, 10, 1, 2, 0),
    struct.pack("<B3xIIII", 6, 1, 8, 0, 1),
    struct.pack("<B3xIIQ", 7, 0, 8, 1),
], ids=["cut", "short message", "empty data", "long message", "unknown message",
        "ours to say", "odd stream is opened", "even stream", "family", "trailing address",
        "version", "a slot", "a slot that is free"])
def test_what_breaks_the_protocol_ends_it(make, what):
    net = make.net("default allow")
    net.port.raw(what)
    assert net.process.wait(10) == 1, net.stderr()
    assert "protocol" in net.stderr() or "sense" in net.stderr()


def test_data_beyond_the_window_ends_it(make):
    net = make.net("", ask_ms=30000)
    stream = net.connect("good.example:22")
    net.packet("ask")  # held: nothing is taken
    for _ in range(net_port.WINDOW_BYTES // 32768 + 1):
        net.port.frame(net_port.DATA, stream.number, b"x" * 32768)
    with pytest.raises(net_port.Gone):
        net.port.pump(lambda: net.process.poll() is not None, 10)
        raise net_port.Gone
    assert net.process.wait(10) == 1
    assert "window" in net.stderr()


def test_a_second_hello_of_a_fresh_relay_is_welcome(make):
    """A relay that was killed before it was welcomed begins again."""
    net = make.net()
    net.port.welcome = None
    net.port.hello()
    assert net.port.welcome


def test_a_second_hello_among_connections_is_not(make):
    make.origin("203.0.113.10:22", "mute")
    net = make.net("allow good.example:22")
    net.connect("good.example:22").wait_opened()
    net.port.message(net_port.HELLO, struct.pack("<II", 1, 0))
    assert net.process.wait(10) == 1


def test_restart_goes_on_with_names_and_drops_connections(make):
    """Row: E7. kill -9, a successor with the marker; names are kept."""
    origin = make.origin("203.0.113.10:22", "echo")
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    stream.send(b"one")
    stream.expect(b"one")
    before = net.address_of("good.example")
    net.process.kill()
    net.wait()
    # The guest has sent half a frame to nobody; nothing of it survives.
    net.port.raw(b"\2\0\0\0\1\0\0\0\0\4\0\0half")
    net.restart()
    assert net.address_of("good.example") == before
    assert net.address_of("new.example") != before
    stream = net.port.open(before, 22)
    stream.send(b"two")
    stream.expect(b"two")
    assert b"half" not in origin.received()
    net.stop()


def test_while_there_is_no_server_nothing_passes(make):
    """Row: E7. What a guest says meanwhile is dropped up to the echo."""
    origin = make.origin("203.0.113.10:22", "mute")
    net = make.net("allow good.example:22")
    address = net.address_of("good.example")
    net.process.kill()
    net.wait()
    net.port.next_stream = 901
    net.port.open(address, 22).send(b"while you were away")
    net.restart()
    stream = net.port.open(address, 22)
    stream.wait_opened()
    stream.send(b"now")
    origin.wait(lambda one: b"now" in one.received())
    assert b"away" not in origin.received()


def test_a_relay_that_calls_is_told_the_marker(make):
    net = make.net("allow good.example:22")
    make.origin("203.0.113.10:22", "mute")
    for _ in range(2):
        net.process.kill()
        net.wait()
        # a word may end as the marker begins
        net.restart(b"\x80" + os.urandom(30) + net.port.welcome[:1])
        net.connect("good.example:22").wait_opened()


def test_who_calls_without_end_gets_no_more_than_answers(make):
    net = make.net("")
    net.process.kill()
    net.wait()
    # All of these are there when the server reads for the first time, or soon after.
    net.port.ended = False
    net.port.sock.setblocking(False)
    calls = b"".join(CALL_HEAD + b"\x80" + os.urandom(31) for _ in range(1000))
    net.port.unsent += calls * 20
    net.restart(b"\x80" + os.urandom(31))
    assert net.process.poll() is None
    assert net.address_of("any.example")


def test_forwards_and_sockets_are_told(make):
    net = make.net("allow localhost:5432\nallow localhost:80\ndeny localhost:81",
                   sockets=["/run/a.sock", "/run/b.sock"])
    net.port.pump(lambda: net.port.sockets is not None, 10)
    assert net.port.forwards == [80, 5432]
    assert net.port.sockets == ["/run/a.sock", "/run/b.sock"]
    net.configure(policy=rules("allow localhost:9"), sockets=[])
    net.port.pump(lambda: net.port.sockets == [], 10)
    assert net.port.forwards == [9]


# -- tunnels

def test_bytes_of_any_amount_pass_both_ways(make):
    make.origin("203.0.113.10:22", "echo")
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    data = os.urandom(1 << 20) * 8
    got = bytearray()
    for at in range(0, len(data), 1 << 17):
        stream.send(data[at:at + (1 << 17)])
        net.port.poll()
        got += stream.take(len(stream.received))
    stream.finish()
    while len(got) < len(data):
        net.port.pump(lambda: stream.received or stream.over, 10)
        got += stream.take(len(stream.received))
    assert bytes(got) == data
    stream.read_all()
    line = net.wait_log({"verdict": "allow", "port": 22})
    assert line["bytes_out"] == line["bytes_in"] == len(data)
    net.stop()


@pytest.mark.parametrize("give_back", [True, False], ids=["given back", "kept"])
def test_large_answers_lie_in_slots_while_there_are_some(make, give_back):
    data = os.urandom(1 << 20) * 8
    listener = make.listen("203.0.113.10", 22)
    net = make.net("allow good.example:22", slots=True)
    net.port.give_back = give_back
    stream = net.connect("good.example:22")
    server, _ = listener.accept()
    sender = threading.Thread(target=lambda: (server.sendall(data), server.close()))
    sender.start()
    got = bytearray()
    while len(got) < len(data):
        net.port.pump(lambda: stream.received or stream.over, 10)
        assert not stream.over or stream.received
        got += stream.take(len(stream.received))
    sender.join()
    assert bytes(got) == data
    if give_back:
        assert net.port.slot_frames >= len(data) // net_port.SLOT_BYTES // 2
    else:
        assert net.port.slot_frames == net_port.SLOT_COUNT
    net.stop()


def test_a_guest_that_reads_no_slots_gets_frames(make):
    listener = make.listen("203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    server, _ = listener.accept()
    server.sendall(bytes(1 << 17))
    stream.read(1 << 17)
    server.close()
    assert not net.port.slot_frames
    net.port.frame(net_port.FREE, 0, struct.pack("<Q", 1))
    assert net.process.wait(10) == 1
    assert "FREE" in net.stderr()


def test_a_client_that_does_not_read_holds_up_itself_only(make):
    make.origin("203.0.113.10:22", "echo")
    big = make.origin("203.0.113.10:23", "raw", replies=["x" * 3000000])
    net = make.net("allow good.example:22-23")
    stalled = net.connect("good.example:23")
    stalled.reads = False
    stalled.send(b"go")
    net.port.pump(lambda: len(stalled.received) >= net_port.WINDOW_BYTES, 10)
    stream = net.connect("good.example:22")
    stream.send(b"quick")
    stream.expect(b"quick")
    net.port.poll()
    assert len(stalled.received) == net_port.WINDOW_BYTES
    stalled.reads = True
    total = 0
    while total < 3000000:
        net.port.pump(lambda: stalled.received, 10)
        total += len(stalled.take(len(stalled.received)))
    assert total == 3000000 and big.received() == b"go"


def test_a_server_that_does_not_read_holds_up_its_client(make):
    listener = make.listen("203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    peer, _ = listener.accept()
    with pytest.raises(TimeoutError):
        while True:
            stream.send(b"x" * 65536, seconds=0.5)

    def read():
        while peer.recv(65536):
            pass
    reader = threading.Thread(target=read)
    reader.start()
    stream.send(b"y" * 1000)  # there is a window again
    peer.shutdown(socket.SHUT_RD)
    reader.join()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    stream.wait_closed()


def test_half_closed_connections_work(make):
    listener = make.listen("203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    peer, _ = listener.accept()
    peer.settimeout(10)
    stream.send(b"question")
    stream.finish()
    data = b""
    while (part := peer.recv(100)):
        data += part
    assert data == b"question"
    peer.sendall(b"answer")
    peer.close()
    assert stream.read_all() == b"answer"
    net.wait_log({"bytes_in": 6, "bytes_out": 8})


def test_a_reset_goes_through(make):
    listener = make.listen("203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    peer, _ = listener.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    assert stream.wait_closed() != 0
    stream = net.connect("good.example:22")
    peer, _ = listener.accept()
    peer.settimeout(10)
    stream.wait_opened()
    stream.close()
    with pytest.raises(ConnectionResetError):
        peer.recv(1)


# -- limits

def test_a_guest_that_opens_everything_is_refused_and_recovers(make):
    """Row: E17. More streams than may be open: the rest is refused."""
    make.origin("203.0.113.10:22", "echo")
    net = make.net("allow good.example:22")
    address = net.address_of("good.example")
    # Nobody answers there: they stay in the making.
    streams = [net.port.open(address, 80) for _ in range(16384)]
    refused = net.port.open(address, 22)
    assert refused.wait_closed() == 11
    for stream in streams[:100]:
        stream.close()
    stream = net.port.open(address, 22)
    stream.send(b"again")
    stream.expect(b"again")
    net.stop()


def test_half_open_connections_are_bounded(make):
    """Row: E17. A name server that never answers costs 1,024 connections."""
    silent = make.world.call(lambda: udp("203.0.113.53"))
    net = make.net("allow **.example:22\nallow good.example:22",
                   resolver={"servers": ["203.0.113.53"],
                             "hosts": [["good.example", "203.0.113.10"]]})
    make.origin("203.0.113.10:22", "echo")
    address = net.address_of("slow.example")
    streams = [net.port.open(address, 22) for _ in range(1030)]
    net.port.pump(lambda: sum(s.code is not None for s in streams) >= 6, 10)
    assert {s.code for s in streams} == {None, 11}
    net.wait_log({"reason": "too many connections are being made", "verdict": "deny"})
    for stream in streams:
        if stream.code is None:
            stream.close()
    stream = net.connect("good.example:22")
    stream.send(b"again")
    stream.expect(b"again")
    silent.close()


def udp(address):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, 15, 1)
    sock.bind((address, 53))
    return sock


def test_memory_is_bounded_and_the_heaviest_go(make):
    """Row: E17. 64 MiB in buffers: whoever has most of it is reset."""
    make.origin("203.0.113.10:23", "echo")
    net = make.net("allow good.example:23", ask_ms=60000)
    working = net.connect("good.example:23")
    working.wait_opened()
    # Held, each with all that it may send.
    streams = [net.connect("good.example:22") for _ in range(200)]
    for stream in streams:
        if stream.code is None:
            stream.send(b"x" * net_port.WINDOW_BYTES)
        net.port.poll()
    net.port.pump(lambda: sum(s.code == 105 for s in streams) > 100, 10, "shedding")
    with open(f"/proc/{net.process.pid}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak < 100 * 1024
    net.wait_log({"reason": "too much in buffers", "verdict": "deny"})
    assert any(s.code is None for s in streams)
    working.send(b"unharmed")
    working.expect(b"unharmed")
    net.stop()


def test_names_run_out_and_those_with_rules_do_not(make):
    """Row: E17. The pool of unmatched names is full: SERVFAIL, and a line."""
    import dns.message
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example")
    template = bytes.fromhex("000101000001000000000000") + b"\x08%08x" + \
        b"\x07example\0\0\1\0\1"
    count = 32767 + 5
    last = None
    for at in range(0, count, 1000):
        asked = [net.port.ask(template % n) for n in range(at, min(count, at + 1000))]
        for number in asked:
            last = net.port.answer(number)
    assert dns.message.from_wire(last).rcode() == 2
    net.wait_log({"protocol": "dns", "reason": "too many names", "verdict": "deny"})
    stream = net.connect("good.example:80")
    stream.send(GET)
    stream.expect(b"hi")
    with open(make.folder / "names", encoding="ascii") as file:
        assert len(file.readlines()) == 32768
    # A successor reads all of it back.
    net.process.kill()
    net.wait()
    net.restart()
    assert net.address_of("00000005.example") == "198.19.0.6"


def test_what_is_never_whole_is_closed_in_time(make):
    """Row: E17 E13. Thirty seconds for a ClientHello or a head; no connection."""
    origin = make.origin("203.0.113.10:443", "mute")
    net = make.net("allow good.example")
    start = time.monotonic()
    streams = []
    for first in (b"", b"G", GET[:20], b"\x16\x03\x01", net_origin.hello("good.example")[:40]):
        streams.append(net.connect("good.example:443"))
        streams[-1].send(first)
    net.port.pump(lambda: any(stream.over for stream in streams), 40, "the first end")
    assert time.monotonic() - start > 29
    net.port.pump(lambda: all(stream.over for stream in streams), 5, "every end")
    assert not origin.connections


def test_a_trickled_hello_is_read_when_it_is_whole(make):
    """Row: E13. One byte at a time is slow, but fair."""
    origin = make.origin("203.0.113.10:443", "raw")
    net = make.net("allow good.example")
    for name, passes in (("good.example", True), ("evil.example", False)):
        stream = net.connect("good.example:443")
        for byte in net_origin.hello(name):
            stream.send(bytes([byte]))
            net.port.poll()
        if passes:
            origin.wait(lambda one: len(one.received()) > 50)
        else:
            stream.wait_closed()
    assert b"evil" not in origin.received()


# -- published ports

def publish(make, net, address="127.0.0.1", number=7, port=0):
    listener = make.world.listen(address, port)
    net.send({"op": "listener", "id": number}, [listener.fileno()])
    where = listener.getsockname()
    listener.close()
    return where


def client_as(make, uid, where):
    """Connects as that user of the host; what it read, or the error."""
    script = ("import socket,sys\n"
              f"s=socket.create_connection({where[:2]!r}, 10)\n"
              "s.sendall(b'hello')\n"
              "sys.stdout.buffer.write(s.recv(100))\n")
    return make.world.spawn(
        ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
         "/usr/bin/python3", "-c", script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def serve_one(net, port=8080):
    """The guest's side of one published connection."""
    net.port.pump(lambda: net.port.inbound, 10, "CONNECT")
    stream, number = net.port.inbound.pop(0)
    assert number == port
    net.port.opened(stream)
    stream.expect(b"hello")
    stream.send(b"from the guest")
    stream.finish()
    return stream


def test_a_published_port_reaches_the_guest(make):
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net)
    client = make.world.connect(*where)
    client.sendall(b"hello")
    serve_one(net)
    assert client.recv(100) == b"from the guest"
    client.close()
    line = net.wait_log({"protocol": "published", "verdict": "allow"})
    assert (line["bytes_in"], line["bytes_out"], line["port"]) == (5, 14, 8080)
    net.stop()


def test_a_published_port_of_another_user_is_refused(make):
    """Row: E22. Loopback belongs to everybody, the port to its user."""
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net)
    client = client_as(make, 61235, where)
    out, _ = client.communicate(timeout=10)
    assert client.returncode and not out
    net.wait_log({"protocol": "published", "reason": "a connection of another user",
                  "verdict": "deny"})
    net.port.poll()
    assert not net.port.inbound


def test_the_owner_and_root_may_use_it(make):
    """Row: E22. The user who made the listening socket, and root."""
    net = make.net(published=[{"id": 7, "port": 8080}])

    def listen_as_user():
        os.setegid(61236)
        os.seteuid(61236)
        try:
            sock = socket.socket()
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            return sock
        finally:
            os.seteuid(0)
            os.setegid(0)

    listener = make.world.call(listen_as_user)
    assert os.fstat(listener.fileno()).st_uid == 61236
    net.send({"op": "listener", "id": 7}, [listener.fileno()])
    where = listener.getsockname()
    listener.close()
    for uid, good in ((61236, True), (0, True), (61237, False)):
        client = client_as(make, uid, where)
        if good:
            serve_one(net)
        out, _ = client.communicate(timeout=10)
        assert (out == b"from the guest") == good, uid


def test_a_port_published_to_the_network_is_for_everybody(make):
    """Row: E22. Whoever binds another address means it."""
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net, "0.0.0.0")
    client = client_as(make, 61235, ("127.0.0.1", where[1]))
    serve_one(net)
    out, _ = client.communicate(timeout=10)
    assert out == b"from the guest"


def test_ipv6_loopback_is_as_private(make):
    """Row: E22."""
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net, "::1")
    client = client_as(make, 61235, where)
    out, _ = client.communicate(timeout=10)
    assert not out
    client = client_as(make, 0, where)
    serve_one(net)
    out, _ = client.communicate(timeout=10)
    assert out == b"from the guest"


def test_unpublished_ports_close_their_connections(make):
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net)
    client = make.world.connect(*where)
    client.sendall(b"hello")
    net.port.pump(lambda: net.port.inbound, 10)
    stream, _ = net.port.inbound.pop()
    net.port.opened(stream)
    stream.expect(b"hello")
    net.send({"op": "unlisten", "id": 7})
    net.configure(published=[])
    stream.wait_closed()
    client.settimeout(10)
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        make.world.connect(*where)


def test_a_guest_that_refuses_is_a_reset(make):
    net = make.net(published=[{"id": 7, "port": 8080}])
    where = publish(make, net)
    client = make.world.connect(*where)
    net.port.pump(lambda: net.port.inbound, 10)
    stream, _ = net.port.inbound.pop()
    stream.close(111)
    client.settimeout(10)
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    net.wait_log({"protocol": "published", "reason": "the server refuses connections"})


# -- shared sockets

def test_a_shared_socket_is_connected_by_the_launcher(make):
    net = make.net(sockets=["/run/agent.sock"])
    stream = net.port.open_socket(0)
    packet = net.packet("socket")
    assert packet["index"] == 0
    ours, theirs = socket.socketpair()
    net.send({"op": "socket", "id": packet["id"]}, [theirs.fileno()])
    theirs.close()
    stream.wait_opened()
    stream.send(b"to the host")
    ours.settimeout(10)
    assert ours.recv(100) == b"to the host"
    ours.sendall(b"to the guest")
    stream.expect(b"to the guest")
    ours.close()
    stream.read_all()
    stream.finish()
    line = net.wait_log({"protocol": "socket", "verdict": "allow"})
    assert line["name"] == "/run/agent.sock"
    net.stop()


def test_a_socket_that_cannot_be_reached_or_is_not_shared(make):
    net = make.net(sockets=["/run/agent.sock"])
    stream = net.port.open_socket(0)
    packet = net.packet("socket")
    net.send({"op": "socket", "id": packet["id"], "error": "no such file"})
    assert stream.wait_closed() == 111
    assert net.port.open_socket(1).wait_closed() == 111
    net.wait_log({"reason": "no such socket is shared", "verdict": "deny"})


def test_a_socket_that_is_no_longer_shared_is_closed(make):
    net = make.net(sockets=["/run/agent.sock"])
    stream = net.port.open_socket(0)
    packet = net.packet("socket")
    ours, theirs = socket.socketpair()
    net.send({"op": "socket", "id": packet["id"]}, [theirs.fileno()])
    theirs.close()
    stream.wait_opened()
    net.configure(sockets=[])
    stream.wait_closed()
    ours.settimeout(10)
    assert ours.recv(1) == b""
    # An answer that nobody waits for any more.
    ours, theirs = socket.socketpair()
    net.send({"op": "socket", "id": packet["id"]}, [theirs.fileno()])
    theirs.close()
    ours.settimeout(10)
    assert ours.recv(1) == b""


# -- asks

def test_one_question_for_many_connections(make):
    make.origin("203.0.113.10:22", "echo")
    net = make.net("", ask_ms=30000)
    streams = [net.connect("good.example:22") for _ in range(5)]
    packet = net.packet("ask")
    assert (packet["name"], packet["port"], packet["protocol"]) == \
        ("good.example", 22, "tcp")
    net.send({"op": "answer", "id": packet["id"], "verdict": "allow"})
    for stream in streams:
        stream.send(b"yes")
        stream.expect(b"yes")
    assert not [p for p in net.packets if p["op"] == "ask"]


def test_no_answer_is_no(make):
    origin = make.origin("203.0.113.10:22", "mute")
    net = make.net("", ask_ms=300)
    stream = net.connect("good.example:22")
    packet = net.packet("ask")
    assert stream.wait_closed() == 111
    assert net.packet("asked")["id"] == packet["id"]
    net.wait_log({"reason": "nobody answered", "verdict": "deny"})
    # An answer that comes late changes nothing.
    net.send({"op": "answer", "id": packet["id"], "verdict": "allow"})
    assert not origin.connections
    net.stop()


def test_a_client_that_goes_ends_its_question(make):
    net = make.net("", ask_ms=30000)
    first, second = (net.connect("good.example:22") for _ in range(2))
    packet = net.packet("ask")
    first.close()
    second.close()
    assert net.packet("asked")["id"] == packet["id"]
    net.stop()


def test_a_rule_answers_a_question(make):
    make.origin("203.0.113.10:22", "echo")
    net = make.net("", ask_ms=30000)
    allowed = net.connect("good.example:22")
    net.packet("ask")
    denied = net.connect("evil.example:22")
    net.packet("ask")
    assert net.rules("allow good.example:22\ndeny evil.example") is None
    allowed.send(b"yes")
    allowed.expect(b"yes")
    denied.wait_closed()


def test_questions_are_bounded(make):
    """Row: E17. 64 questions, and the rest is denied at once."""
    net = make.net("", ask_ms=30000)
    streams = [net.connect(f"n{i}.example:22") for i in range(70)]
    net.port.pump(lambda: sum(s.code is not None for s in streams) == 6, 10)
    net.stop()


def test_private_addresses_are_no_question(make):
    net = make.net("", ask_ms=30000)
    assert net.port.open("10.1.2.3", 22).wait_closed() == 111
    assert net.port.open("127.0.0.1", 22).wait_closed() == 111
    assert net.port.open("169.254.169.254", 22).wait_closed() == 111


# -- the log

def test_the_log_goes_on_in_another_file(make):
    net = make.net("")
    with open(make.folder / "log.jsonl", "a", encoding="ascii") as file:
        file.write("{}\n" * (8 << 20 >> 1))
    net.process.kill()
    net.wait()
    net.restart()
    net.connect("a.example:22").wait_closed()
    net.packet("rotate")
    other = os.open(make.folder / "other", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    net.send({"op": "log"}, [other])
    net.configure()
    net.connect("b.example:22").wait_closed()
    net.stop()
    with open(make.folder / "other", encoding="ascii") as file:
        lines = [json.loads(line) for line in file]
    assert [line["name"] for line in lines] == ["b.example"]
    os.close(other)


def test_lines_have_no_values_of_headers_and_no_query(make):
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example")
    stream = net.connect("good.example:80")
    stream.send(b"GET /p?token=secret1 HTTP/1.1\r\nHost: good.example\r\n"
                b"Authorization: secret2\r\nCookie: secret3\r\n\r\n")
    stream.expect(b"hi")
    net.wait_log({"path": "/p", "status": 200})
    net.stop()
    with open(make.folder / "log.jsonl", encoding="ascii") as file:
        assert "secret" not in file.read()
    assert stat.S_IMODE(os.stat(make.folder / "log.jsonl").st_mode) == 0o600


def test_a_stopped_process_ends_in_order(make):
    net = make.net("allow good.example:22")
    make.origin("203.0.113.10:22", "mute")
    net.connect("good.example:22").wait_opened()
    net.process.send_signal(signal.SIGTERM)
    assert net.wait() == 0
