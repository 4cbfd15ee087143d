# SPDX-License-Identifier: Apache-2.0
"""The net relay between this machine's kernel and a host that the test plays"""
import errno
import hashlib
import os
import random
import signal
import socket
import struct
import threading
import time

import pytest

from net_machine import NetMachine, NoRules
from net_peer import (CLOSE, CONNECT, CUT, Cut, DATA, DNS_ANSWER, EOF, FIRST_WINDOW, FRAME, FREE,
                      HELLO, MESSAGE, OPENED, Peer, SLOT, SLOT_BYTES, SLOT_COUNT, WELCOME, WINDOW,
                      answer, question)

REFUSE_SECONDS = 5


@pytest.fixture
def silent(tmp_path):
    """A relay that nobody has greeted yet."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    try:
        machine = NetMachine(tmp_path / "log")
    except NoRules:
        pytest.skip((tmp_path / "log").read_text().strip())
    yield machine
    code = machine.close()
    print((tmp_path / "log").read_text())
    assert code == 0


@pytest.fixture
def machine(silent):
    silent.peer.greet()
    return silent


def reset_of(sock):
    """The errno that ends the connection; 0 for an orderly end."""
    try:
        while sock.recv(65536):
            pass
        return 0
    except OSError as error:
        return error.errno


def receive(sock, count):
    data = bytearray()
    while len(data) < count:
        piece = sock.recv(count - len(data))
        assert piece
        data += piece
    return bytes(data)


# where connections go

def test_a_connection_is_told_with_its_address_and_both_directions_end_alone(machine):
    for address, port in (("198.18.0.7", 443), ("1.2.3.4", 80), ("10.0.0.1", 1),
                          ("255.1.2.3", 65535)):
        sock, stream = machine.connection(address, port)
        assert stream.what == (address, port, 0)
        sock.sendall(b"question")
        sock.shutdown(socket.SHUT_WR)
        assert stream.read(99) == b"question"
        machine.peer.wait(lambda: stream.eof)  # pylint: disable=W0640
        stream.send_all(b"answer")
        machine.peer.drain(0.05)
        assert sock.recv(99) == b"answer"
        stream.end()
        machine.peer.drain(0.05)
        assert sock.recv(99) == b""


def test_the_host_may_end_its_direction_first(machine):
    sock, stream = machine.connection()
    stream.send_all(b"all that there is")
    stream.end()
    machine.peer.drain(0.05)
    assert sock.recv(99) == b"all that there is"
    assert sock.recv(99) == b""
    sock.sendall(b"late")
    assert stream.read(4) == b"late"
    sock.close()
    machine.peer.wait(lambda: stream.eof)
    machine.peer.drain(0.05)
    assert stream.closed is None  # nothing is left to be closed


def test_containers_come_through_the_same_gate(machine):
    sock, stream = machine.connection("198.18.0.7", 80, container=True)
    assert stream.what == ("198.18.0.7", 80, 1)
    sock.sendall(b"x")
    assert stream.read(1) == b"x"
    # What stays between containers and the guest is not the gate's.
    with machine.guest.socket() as listener:
        listener.bind(("172.30.0.1", 8080))
        listener.listen()
        sock = machine.program("172.30.0.1", 8080, container=True)
        listener.accept()[0].close()
        assert sock.recv(1) == b""
    assert not machine.peer.opens


def test_who_connects_to_the_relay_itself_gets_nowhere(machine):
    for address, port in (("127.0.0.1", 61053), ("198.19.255.1", 61053), ("172.30.0.1", 61053),
                          ("127.0.0.1", 61054)):
        with pytest.raises(ConnectionResetError):
            machine.program(address, port, container=address.startswith("172.")).recv(1)
    machine.peer.drain(0.1)
    assert not machine.peer.opens and not machine.peer.messages


def test_everything_else_is_rejected_at_once(machine):
    begin = time.monotonic()
    for space in (machine.guest, machine.container):
        with space.socket(kind=socket.SOCK_DGRAM) as sock:
            sock.connect(("1.2.3.4", 4433))
            try:
                sock.send(b"QUIC")
                assert reset_of(sock) == errno.EHOSTUNREACH  # of a container
            except OSError as error:
                assert error.errno in (errno.EPERM, errno.EHOSTUNREACH, errno.EACCES)
    with machine.guest.socket(kind=socket.SOCK_RAW, protocol=socket.IPPROTO_ICMP) as sock:
        with pytest.raises(PermissionError):
            sock.sendto(b"\x08\x00\xf7\xff\0\0\0\0", ("1.2.3.4", 0))
    with machine.guest.socket(kind=socket.SOCK_RAW, protocol=132) as sock:  # SCTP
        with pytest.raises(PermissionError):
            sock.sendto(bytes(32), ("1.2.3.4", 0))
    for address in ("224.0.0.251", "255.255.255.255"):  # mDNS, broadcast
        with machine.guest.socket(kind=socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            with pytest.raises(PermissionError):
                sock.sendto(b"who", (address, 5353))
    with machine.guest.socket(socket.AF_INET6) as sock:
        with pytest.raises(OSError) as caught:
            sock.connect(("2001:db8::1", 443))
        assert caught.value.errno == errno.ENETUNREACH
    with machine.guest.socket() as sock:
        with pytest.raises(ConnectionRefusedError):
            sock.connect(("198.19.255.1", 9999))  # the guest's own, nobody listens
    assert time.monotonic() - begin < 2
    machine.peer.drain(0.1)
    assert not machine.peer.messages


# names

def ask(machine, name, server, container=False, number=0x1234):
    with (machine.container if container else machine.guest).socket(
            kind=socket.SOCK_DGRAM) as sock:
        sock.connect((server, 53))
        asked = question(name, number)
        sock.send(asked)
        machine.peer.drain(0.05)
        return asked, sock.recv(4096)


def test_names_are_asked_of_the_host_whatever_server_was_meant(machine):
    machine.peer.answer = lambda asked, transport: answer(asked) + bytes([transport])
    for server, container in (("198.19.255.1", False), ("198.19.255.1", True), ("8.8.8.8", False),
                              ("9.9.9.9", True)):
        asked, got = ask(machine, "example.com", server, container)
        assert got == answer(asked) + b"\0"


def test_answers_find_who_asked(machine):
    socks = []
    for i in range(40):
        sock = machine.guest.socket(kind=socket.SOCK_DGRAM)
        sock.connect(("198.19.255.1", 53))
        sock.send(question(f"name-{i}.test", i))
        socks.append(sock)
    machine.peer.wait(lambda: len(machine.peer.messages) == 40)
    for kind, body in reversed(machine.peer.messages):
        asked = body[7:]
        reply = answer(asked)
        assert kind == 7
        machine.peer.message(DNS_ANSWER, body[:4] + struct.pack("<H", len(reply)) + reply)
        machine.peer.message(DNS_ANSWER, body[:4] + struct.pack("<H", 5) + b"twice")
    machine.peer.message(DNS_ANSWER, struct.pack("<IH", 0, 4) + b"none")
    machine.peer.message(DNS_ANSWER, struct.pack("<IH", 999999, 4) + b"none")
    machine.peer.drain(0.1)
    for i, sock in enumerate(socks):
        assert sock.recv(4096) == answer(question(f"name-{i}.test", i))
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(4096)
        sock.close()


def test_names_over_tcp(machine):
    machine.peer.answer = lambda asked, transport: answer(asked) + bytes([transport])
    for server, container in (("198.19.255.1", False), ("1.1.1.1", False), ("1.1.1.1", True)):
        sock = machine.program(server, 53, container)
        questions = [question(f"n{i}.example", i) for i in range(5)]
        framed = b"".join(struct.pack(">H", len(q)) + q for q in questions)
        # In pieces, and several at once.
        sock.sendall(framed[:1])
        machine.peer.drain(0.05)
        sock.sendall(framed[1:20])
        machine.peer.drain(0.05)
        sock.sendall(framed[20:])
        expected = b"".join(struct.pack(">H", len(q) + 17) + answer(q) + b"\1" for q in questions)
        machine.peer.drain(0.1)
        got = b""
        while len(got) < len(expected):
            got += sock.recv(4096)
        assert got == expected
    assert not machine.peer.opens  # it is no connection to the world
    for length in (0, 11, 4097, 65535):
        sock = machine.program("1.1.1.1", 53)
        sock.sendall(struct.pack(">H", length) + b"xxx")
        machine.peer.drain(0.05)
        assert reset_of(sock) in (0, errno.ECONNRESET)


def test_what_is_no_question_is_dropped(machine):
    machine.peer.answer = lambda asked, transport: answer(asked)
    with machine.guest.socket(kind=socket.SOCK_DGRAM) as sock:
        sock.connect(("198.19.255.1", 53))
        sock.send(b"")
        sock.send(b"short")
        sock.send(bytes(4097))
        asked = question("after.test")
        sock.send(asked)
        machine.peer.drain(0.1)
        assert sock.recv(4096) == answer(asked)


# ends

@pytest.mark.parametrize("code", [errno.ECONNREFUSED, errno.EACCES, errno.ETIMEDOUT, 0, 4294967295])
def test_a_closed_stream_resets_the_connection(machine, code):
    sock, stream = machine.connection()
    stream.close(code)
    machine.peer.drain(0.05)
    assert reset_of(sock) == errno.ECONNRESET


def test_what_came_before_a_close_arrives(machine):
    sock, stream = machine.connection()
    stream.send_all(b"403")
    stream.close(errno.EACCES)
    machine.peer.drain(0.05)
    assert sock.recv(3) == b"403"
    assert reset_of(sock) == errno.ECONNRESET
    # But it waits for nobody: not for a program that does not read.
    sock, stream = machine.connection()
    for _ in range(1000):
        if not stream.window:
            break
        stream.send(bytes(32768))
        machine.peer.drain(0.01)
    assert not stream.window
    before = len(os.listdir(f"/proc/{machine.pid}/fd"))
    stream.close(errno.ECONNRESET)
    machine.peer.wait(lambda: len(os.listdir(f"/proc/{machine.pid}/fd")) < before)
    assert reset_of(sock) == errno.ECONNRESET


def test_a_program_that_is_gone_is_told(machine):
    sock, stream = machine.connection()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    machine.peer.wait(lambda: stream.closed is not None)
    assert stream.closed == errno.ECONNRESET
    # One that closed both ways sees no more; what is sent to it ends the stream.
    sock, stream = machine.connection()
    sock.close()
    machine.peer.wait(lambda: stream.eof)
    stream.send_all(b"x")
    machine.peer.drain(0.05)
    stream.send(b"y")
    machine.peer.wait(lambda: stream.closed is not None)
    assert stream.closed in (errno.EPIPE, errno.ECONNRESET)


# bulk

@pytest.mark.parametrize("in_slots", [False, True], ids=["frames", "slots"])
def test_megabytes_arrive_both_ways(machine, in_slots):
    data = os.urandom(24 << 20)
    sock, stream = machine.connection()
    assert machine.peer.features == 1
    stream.in_slots = in_slots
    got = []

    def program():
        received, hashed = 0, hashlib.sha256()
        while received < len(data):
            piece = sock.recv(1 << 20)
            assert piece
            received += len(piece)
            hashed.update(piece)
        got.append(hashed.digest())
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)

    worker = threading.Thread(target=program)
    worker.start()
    stream.send_all(data, 60)
    hashed, received = hashlib.sha256(), 0
    while not stream.eof or stream.data:
        machine.peer.wait(lambda: stream.data or stream.eof, 60)
        hashed.update(stream.data)
        received += len(stream.data)
        stream.data = b""
    worker.join()
    assert received == len(data)
    assert got == [hashlib.sha256(data).digest()] == [hashed.digest()]


def test_slots_come_back_though_their_program_does_not_read(machine):
    """What it does not take waits in the relay; the slot is free for others."""
    sock, stream = machine.connection()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.in_slots = True
    data = os.urandom(FIRST_WINDOW)
    assert not len(stream.send(data))
    machine.peer.wait(lambda: machine.peer.free == (1 << SLOT_COUNT) - 1)
    other, second = machine.connection()
    second.in_slots = True
    second.send(data[:SLOT_BYTES])
    assert receive(other, SLOT_BYTES) == data[:SLOT_BYTES]
    assert receive(sock, len(data)) == data


def test_a_slow_program_stops_its_own_stream_only(machine):
    slow, slow_stream = machine.connection()
    data = os.urandom(12 << 20)
    left = slow_stream.send(data)
    for _ in range(1000):  # the kernel's buffers are large
        machine.peer.drain(0.02)
        if not slow_stream.window:
            break
        left = slow_stream.send(left)
    assert not slow_stream.window and len(left)
    fast, fast_stream = machine.connection()
    for _ in range(64):
        piece = os.urandom(100000)
        fast_stream.send_all(piece)
        machine.peer.drain(0)
        got = b""
        while len(got) < len(piece):
            got += fast.recv(1 << 20)
        assert got == piece
    # It goes on where it stopped.
    received = hashlib.sha256()
    count = 0
    while count < len(data):
        slow.setblocking(False)
        try:
            piece = slow.recv(1 << 20)
            received.update(piece)
            count += len(piece)
        except BlockingIOError:
            machine.peer.pump(0.05)
        left = slow_stream.send(left)
    assert received.digest() == hashlib.sha256(data).digest()


def test_a_host_that_grants_nothing_stops_the_program(machine):
    sock, stream = machine.connection()
    stream.grant = False
    sock.setblocking(False)
    data, sent = os.urandom(8 << 20), 0
    for _ in range(200):
        try:
            sent += sock.send(data[sent:sent + 65536])
        except BlockingIOError:
            machine.peer.drain(0.05)
            if stream.received == FIRST_WINDOW:
                break
    machine.peer.drain(0.2)
    assert stream.received == FIRST_WINDOW
    other, other_stream = machine.connection()
    other.sendall(b"goes on")
    assert other_stream.read(7) == b"goes on"
    stream.grant = True
    machine.peer.send(WINDOW, stream.number, struct.pack("<I", stream.ungranted))
    stream.ungranted = 0
    sock.setblocking(True)
    worker = threading.Thread(target=lambda: (sock.sendall(data[sent:]), sock.close()))
    worker.start()
    machine.peer.wait(lambda: stream.eof, 60)
    worker.join()
    assert stream.data == data


def test_two_thousand_connections(machine):
    """To many addresses at once, each with bytes of its own both ways."""
    import resource  # pylint: disable=C0415
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 4096), limits[1]))
    socks = {}
    for i in range(2000):
        address, port = f"198.18.{i % 50}.{i % 200 + 1}", 1000 + i % 7
        sock = machine.program(address, port, container=i % 4 == 0)
        sock.sendall(f"{i} {address} {port}".encode())
        socks[str(i)] = sock
        machine.peer.pump(0)
    machine.peer.wait(lambda: len(machine.peer.opens) == 2000, 60)
    machine.peer.wait(lambda: all(stream.data for stream in machine.peer.opens), 60)
    for stream in machine.peer.opens:
        number, address, port = stream.data.decode().split()
        assert stream.what == (address, int(port), int(number) % 4 == 0)
        stream.send_all(number.encode() * 100)
        stream.end()
    machine.peer.drain(0.1)
    for number, sock in socks.items():
        got = b""
        while piece := sock.recv(4096):
            got += piece
            machine.peer.pump(0)
        assert got == number.encode() * 100
        sock.close()
    machine.peer.wait(lambda: all(stream.eof for stream in machine.peer.opens), 60)
    # Each is gone, as an idle relay has as many descriptors as before.
    machine.peer.drain(0.1)
    assert len(os.listdir(f"/proc/{machine.pid}/fd")) < 20


def test_memory_is_bounded(machine):
    """Programs that read nothing, of which each may wait for 256 KiB."""
    streams = []
    for _ in range(700):
        sock, stream = machine.connection()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        streams.append(stream)
    chunk = bytes(32768)
    for _ in range(400):
        busy = [s for s in streams if s.closed is None and s.window]
        if not busy:
            break
        for stream in busy:
            stream.send(chunk)
        machine.peer.drain(0.01)
    machine.peer.drain(0.2)
    reset = [s for s in streams if s.closed is not None]
    assert reset and all(s.closed == errno.ENOBUFS for s in reset)
    with open(f"/proc/{machine.pid}/status", encoding="ascii") as file:
        memory = int(file.read().split("VmRSS:")[1].split()[0])
    assert memory < 90 * 1024, memory
    # And it still serves.
    sock, stream = machine.connection()
    stream.send_all(b"x")
    machine.peer.drain(0.05)
    assert sock.recv(1) == b"x"


# epochs

def test_a_new_server_begins_with_the_marker(machine):
    first = machine.next_marker = machine.peer.next
    for _ in range(3):
        sock, stream = machine.connection()
        # The old server dies in the middle of a frame.
        stream.send_all(b"whole")
        machine.peer.raw_send(FRAME.pack(DATA, stream.number, 1000) + b"half")
        machine.peer.drain(0.05)
        assert sock.recv(99) in (b"whole", b"wholehalf")
        machine.peer.begin_again()
        machine.peer.greet()
        machine.peer.drain(0.05)
        assert reset_of(sock) == errno.ECONNRESET
        sock, stream = machine.connection()
        assert stream.number == 1
        sock.sendall(b"again")
        assert stream.read(5) == b"again"
    assert first != machine.peer.next


def test_a_server_that_died_before_its_welcome_is_followed_by_the_same_marker(machine):
    marker = machine.peer.next
    machine.peer.begin_again(marker)
    machine.peer.expect(HELLO)
    machine.peer.begin_again(marker)
    machine.peer.greet()
    second = machine.peer.next
    machine.peer.drain(0.05)
    machine.peer.begin_again(marker)  # the one before the last is good as well
    machine.peer.greet()
    assert machine.peer.next != second
    machine.connection()


def test_a_marker_in_pieces_is_found_and_held_back(machine):
    sock, stream = machine.connection()
    machine.peer.raw_send(FRAME.pack(DATA, stream.number, 1000) + b"x" * 100)
    marker = machine.peer.next
    machine.peer.raw_send(marker[:20])
    machine.peer.drain(0.1)
    assert sock.recv(999) == b"x" * 100
    machine.peer.begin_again(marker[20:])
    machine.peer.marker = marker
    machine.peer.greet()
    assert reset_of(sock) == errno.ECONNRESET  # and not a byte of the marker came


def test_what_looks_like_a_marker_is_data(machine):
    sock, stream = machine.connection()
    marker = machine.peer.next
    stream.send_all(marker[:20])
    machine.peer.drain(0.1)
    stream.send_all(b"then else")
    machine.peer.drain(0.1)
    got = b""
    while len(got) < 29:
        got += sock.recv(99)
    assert got == marker[:20] + b"then else"


def test_the_marker_of_a_snapshot_is_good_as_well(machine):
    marker = os.urandom(32)
    machine.prepare(marker)
    sock, _ = machine.connection()
    machine.peer.begin_again(marker)
    machine.peer.greet()
    assert reset_of(sock) == errno.ECONNRESET
    machine.connection()


def test_a_killed_relay_comes_back_and_the_server_begins_anew(machine):
    for _ in range(3):
        sock, stream = machine.connection()
        sock.sendall(b"x" * 1000)
        assert stream.read(1000) == b"x" * 1000
        os.kill(machine.pid, signal.SIGKILL)
        machine.pid = machine.next_pid()
        # Who comes meanwhile waits, and is served.
        waiting = machine.program("198.18.0.9", 80)
        waiting.sendall(b"patient")
        with pytest.raises(Cut):
            machine.peer.wait(lambda: False, 10)
        machine.peer.begin_again()
        machine.peer.greet()
        assert reset_of(sock) in (errno.ECONNRESET, 0)
        stream = machine.peer.accept()
        assert stream.what == ("198.18.0.9", 80, 0)
        assert stream.read(7) == b"patient"
        machine.peer.answer = lambda asked, transport: answer(asked)
        asked, got = ask(machine, "back.test", "8.8.8.8")
        assert got == answer(asked)


@pytest.mark.parametrize("taken", (32, 20))
def test_a_marker_that_died_with_its_relay_is_asked_for(machine, taken):
    """Killed between the read and the echo: nobody says the marker again by itself."""
    machine.connection()
    marker = machine.peer.next
    with machine.without_relay():
        machine.peer.begin_again()
        assert machine.port.recv(taken) == marker[:taken]
    machine.peer.greet()
    sock, stream = machine.connection()
    sock.sendall(b"heard")
    assert stream.read(5) == b"heard"


def test_a_welcome_that_died_with_its_relay_is_not_missed(machine):
    """The next server begins with a marker that no relay knows."""
    machine.connection()
    machine.peer.begin_again()
    machine.peer.expect(HELLO)
    with machine.without_relay():
        machine.peer.message(WELCOME, struct.pack("<I", 1) + machine.peer.next)
        assert machine.peer.next in machine.port.recv(4096)
    with pytest.raises(Cut):
        machine.peer.wait(lambda: False, 10)
    machine.peer.begin_again()
    machine.peer.greet()
    machine.connection()


def test_a_marker_that_nobody_announced_is_asked_for(machine):
    sock, _ = machine.connection()
    machine.peer.begin_again(os.urandom(32))
    machine.peer.greet()
    assert reset_of(sock) == errno.ECONNRESET
    machine.connection()


def serve(peer, fact, seconds=30):
    """As one server after the other would, until it is so."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        try:
            peer.pump(0.001)
            if any(kind == HELLO for kind, _ in peer.messages):
                peer.greet()
        except Cut:
            peer.begin_again()


def test_a_relay_that_is_killed_again_and_again_comes_back(machine):
    dice = random.Random(4712)
    for _ in range(60):
        os.kill(machine.pid, signal.SIGKILL)
        machine.pid = machine.next_pid()
        end = time.monotonic() + dice.random() ** 4 / 20
        serve(machine.peer, lambda end=end: time.monotonic() > end)
    waiting = machine.program("198.18.0.9", 80)
    waiting.sendall(b"patient")
    serve(machine.peer, lambda: machine.peer.opens)
    assert machine.peer.accept().read(7) == b"patient"


def test_a_frame_that_was_under_way_does_not_survive_the_relay(machine):
    """However little of a frame was sent: what follows is more than its rest."""
    assert len(CUT) > 2 * FRAME.size + 32768
    sock, stream = machine.connection()
    stream.grant = False
    machine.peer.socket.setblocking(True)
    sock.setblocking(False)
    for _ in range(100):  # nobody reads the port: a frame is cut somewhere
        try:
            sock.send(bytes(65536))
        except BlockingIOError:
            break
    os.kill(machine.pid, signal.SIGKILL)
    machine.pid = machine.next_pid()
    machine.peer.socket.setblocking(False)
    with pytest.raises(Cut):
        machine.peer.wait(lambda: False, 10)
    assert stream.received <= FIRST_WINDOW
    machine.peer.begin_again()
    machine.peer.greet()
    machine.connection()


def test_a_relay_that_was_killed_before_any_welcome(silent):
    silent.peer.drain(0.1)
    os.kill(silent.pid, signal.SIGKILL)
    silent.pid = silent.next_pid()
    assert len(silent.peer.messages) == 1
    silent.peer.greet()
    # The second HELLO is one too many for a real server, which then ends.
    assert silent.peer.expect(HELLO)
    silent.peer.drain(0.1)
    silent.peer.begin_again()
    silent.peer.greet()
    silent.connection()


def test_without_a_server_connections_and_questions_fail_in_time(silent):
    begin = time.monotonic()
    sock = silent.program("198.18.0.7", 443)
    with silent.guest.socket(kind=socket.SOCK_DGRAM) as names:
        names.connect(("198.19.255.1", 53))
        asked = question("nobody.test")
        names.send(asked)
        assert reset_of(sock) == errno.ECONNRESET
        assert REFUSE_SECONDS - 1 < time.monotonic() - begin < REFUSE_SECONDS + 4
        assert names.recv(512) == asked[:2] + b"\x81\x02" + asked[4:]
    assert all(message[0] == HELLO for message in silent.peer.messages)
    # And when it comes at last all is well.
    waiting = silent.program("198.18.0.7", 443)
    silent.peer.greet()
    stream = silent.peer.accept()
    waiting.sendall(b"at last")
    assert stream.read(7) == b"at last"


# inwards

def test_the_host_reaches_ports_of_the_guest(machine):
    with machine.guest.socket() as listener:
        listener.bind(("127.0.0.1", 8080))
        listener.listen()
        stream = machine.peer.connect(8080)
        stream.send_all(b"early")  # before OPENED
        server, _ = listener.accept()
        machine.peer.wait(lambda: stream.opened)
        assert server.recv(5) == b"early"
        server.sendall(b"hello")
        assert stream.read(5) == b"hello"
        stream.end()
        machine.peer.drain(0.05)
        assert server.recv(1) == b""
        server.close()
        machine.peer.wait(lambda: stream.eof)
    with machine.guest.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(("::1", 8081))
        listener.listen()
        stream = machine.peer.connect(8081)
        machine.peer.wait(lambda: stream.opened)
        listener.accept()[0].close()
    stream = machine.peer.connect(8082)
    machine.peer.wait(lambda: stream.closed is not None)
    assert stream.closed == errno.ECONNREFUSED and not stream.opened


def test_localhost_ports_of_the_host_unless_the_guest_has_its_own(machine):
    machine.peer.forwards([5432, 6379])
    machine.peer.drain(0.1)
    sock, stream = machine.connection("127.0.0.1", 5432)
    assert stream.what == ("127.0.0.1", 5432, 0)
    sock.sendall(b"select 1")
    assert stream.read(8) == b"select 1"
    stream.send_all(b"1")
    machine.peer.drain(0.05)
    assert sock.recv(1) == b"1"
    with machine.guest.socket(socket.AF_INET6) as sock6:
        sock6.connect(("::1", 6379))
        assert machine.peer.accept().what == ("127.0.0.1", 6379, 0)
    # A server of the guest wins as soon as it listens; the port is free for it.
    for address in ("127.0.0.1", "0.0.0.0"):
        with machine.guest.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, 5432))
            listener.listen()
            client = machine.program("127.0.0.1", 5432)
            server, _ = listener.accept()
            server.sendall(b"mine")
            assert client.recv(4) == b"mine"
            server.close()
        sock, stream = machine.connection("127.0.0.1", 5432)
    # The open connection to the host goes on all the time.
    sock.sendall(b"still")
    assert stream.read(5) == b"still"
    # What the host publishes is never led back to the host.
    inward = machine.peer.connect(6379)
    machine.peer.wait(lambda: inward.closed is not None)
    assert inward.closed == errno.ECONNREFUSED
    machine.peer.forwards([6379])
    machine.peer.drain(0.1)
    with pytest.raises(ConnectionRefusedError):
        machine.program("127.0.0.1", 5432)
    machine.peer.forwards([])
    machine.peer.drain(0.1)
    with pytest.raises(ConnectionRefusedError):
        machine.program("127.0.0.1", 6379)
    assert "bawn_forward" not in machine.guest.run("nft list ruleset")


def test_shared_unix_sockets(machine, tmp_path):
    long = tmp_path / ("d" * 90) / "deep" / "agent.sock"
    plain = tmp_path / "plain.sock"
    plain.write_text("in the way")
    paths = [str(tmp_path / "a.sock"), str(long), str(plain)]
    machine.peer.sockets(paths)

    def connected(path):
        sock = socket.socket(socket.AF_UNIX)
        machine.sockets.append(sock)
        sock.settimeout(10)
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        machine.peer.wait(lambda: sock.connect_ex(
            f"/proc/self/fd/{folder}/{os.path.basename(path)}") == 0)
        os.close(folder)
        return sock, machine.peer.accept()

    machine.peer.wait(lambda: os.path.exists(paths[1]) and os.path.exists(paths[0]))
    for index in (1, 0):
        assert os.stat(paths[index]).st_mode & 0o777 == 0o777
        sock, stream = connected(paths[index])
        assert stream.what == index
        sock.sendall(b"list")
        assert stream.read(4) == b"list"
        stream.send_all(b"keys")
        stream.end()
        machine.peer.drain(0.05)
        assert sock.recv(99) == b"keys"
        assert sock.recv(99) == b""
    assert plain.read_text() == "in the way"
    # A new list: what stays is not touched, what goes is gone.
    before = os.stat(paths[0]).st_ino
    machine.peer.sockets([paths[0]])
    machine.peer.wait(lambda: not os.path.exists(paths[1]))
    assert os.stat(paths[0]).st_ino == before
    # A killed relay makes it again.
    os.kill(machine.pid, signal.SIGKILL)
    machine.pid = machine.next_pid()
    with pytest.raises(Cut):
        machine.peer.wait(lambda: False, 10)
    machine.peer.begin_again()
    machine.peer.greet()
    machine.peer.sockets([paths[0]])
    connected(paths[0])


# a host that means harm, or is broken

def broken_inputs():
    def message(kind, body=b""):
        payload = struct.pack("<H", kind) + body
        return FRAME.pack(MESSAGE, 0, len(payload)) + payload
    return {
        "garbage": os.urandom(64) + b"\xff" * 64,
        "zeros": bytes(64),
        "unknown message": message(77),
        "short message": message(DNS_ANSWER, b"x"),
        "message of the guest": message(3, struct.pack("<IB16sHB", 1, 4, bytes(16), 80, 0)),
        "second welcome": message(WELCOME, struct.pack("<I", 1) + bytes(32)),
        "hello": message(HELLO, struct.pack("<II", 1, 0)),
        "long message": FRAME.pack(MESSAGE, 0, 8193) + bytes(8193),
        "connect with an odd stream": message(CONNECT, struct.pack("<IH", 3, 80)),
        "connect to port 0": message(CONNECT, struct.pack("<IH", 2, 0)),
        "too many forwards": message(9, struct.pack("<I", 257) + bytes(514)),
        "too many sockets": message(10, struct.pack("<I", 17) + bytes(17)),
        "beyond the window": b"".join([FRAME.pack(DATA, 1, 32768) + bytes(32768)] * 300),
        "data after eof": FRAME.pack(EOF, 1, 0) + FRAME.pack(DATA, 1, 1) + b"x",
        "empty window": FRAME.pack(WINDOW, 1, 4) + bytes(4),
        "window over the maximum": FRAME.pack(WINDOW, 1, 4) + b"\xff" * 4,
        "a slot that is none": FRAME.pack(SLOT, 1, 8) + struct.pack("<II", 64, 1),
        "an empty slot": FRAME.pack(SLOT, 1, 8) + struct.pack("<II", 0, 0),
        "more than a slot holds": FRAME.pack(SLOT, 1, 8) + struct.pack("<II", 0, 65537),
        "slots beyond the window": (FRAME.pack(SLOT, 1, 8) + struct.pack("<II", 0, 65536)) * 200,
        "slots given back": FRAME.pack(FREE, 0, 8) + struct.pack("<Q", 1),
        "reserved bytes": b"\2\0\1\0" + struct.pack("<II", 1, 1) + b"x",
    }


@pytest.mark.parametrize("what", broken_inputs())
def test_a_host_that_breaks_the_protocol_has_to_begin_anew(machine, what):
    sock, stream = machine.connection()
    assert stream.number == 1
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    machine.peer.raw_send(broken_inputs()[what])
    with pytest.raises(Cut):
        machine.peer.wait(lambda: False, 10)
    machine.peer.begin_again()
    machine.peer.greet()
    assert reset_of(sock) == errno.ECONNRESET
    sock, stream = machine.connection()
    sock.sendall(b"well")
    assert stream.read(4) == b"well"


def test_frames_of_no_stream_and_late_messages_are_nothing(machine):
    peer = machine.peer
    for number in (1, 2, 77, 4294967295):
        peer.send(DATA, number, b"lost")
        peer.send(EOF, number, b"")
        peer.send(WINDOW, number, struct.pack("<I", 5))
        peer.send(CLOSE, number, struct.pack("<I", 5))
        peer.message(OPENED, struct.pack("<I", number))
    machine.connection()


def test_random_bytes_never_end_the_relay(machine):
    dice = random.Random(4711)
    samples = list(broken_inputs().values())
    for _ in range(60):
        sock, stream = machine.connection()
        noise = bytearray(b"".join(dice.sample(samples, 2))[:2000])
        for _ in range(dice.randrange(8)):
            noise[dice.randrange(len(noise))] = dice.randrange(256)
        machine.peer.raw_send(bytes(noise))
        try:
            machine.peer.drain(0.01)
        except (Cut, KeyError, AssertionError):
            pass
        machine.peer.begin_again()
        machine.peer.greet()
        assert reset_of(sock) in (0, errno.ECONNRESET)  # 0: there was an EOF in it
        assert stream
    machine.connection()


def test_a_host_that_does_not_read_gets_no_more_than_fits(machine):
    """Programs come and go; the queue of what the host is told stays bounded."""
    peer = machine.peer
    socks = []
    for i in range(20000):
        sock = machine.guest.socket()
        sock.setblocking(False)
        sock.connect_ex((f"198.18.1.{i % 250 + 1}", 80))
        socks.append(sock)
        if len(socks) > 500:
            socks.pop(0).close()
    for sock in socks:
        sock.close()
    with open(f"/proc/{machine.pid}/status", encoding="ascii") as file:
        memory = int(file.read().split("VmRSS:")[1].split()[0])
    assert memory < 64 * 1024, memory
    peer.drain(0.5)
    peer.streams, peer.opens = {}, []
    sock = machine.program("198.18.0.7", 443)
    sock.sendall(b"here")
    peer.wait(lambda: [s for s in peer.opens if s.what[1] == 443 and s.data == b"here"])


__all__ = ["Peer"]
