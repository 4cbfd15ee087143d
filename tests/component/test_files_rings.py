# SPDX-License-Identifier: Apache-2.0
"""The rings beside the files port: the same talk, sleepers, full ones, and liars"""
import os
import struct

import pytest

import files_rings
from fuse_client import FUSE, IN_HEADER, OPS, RINGS, WAKE


@pytest.fixture
def rings():
    return files_rings.Rings()


def serve(place, rings, **more):
    return place.serve(rings=rings, bulk=True, **more)


def drain(files):
    """Who is served just as it goes to sleep is woken for nothing; nothing else comes there."""
    files.socket.setblocking(False)
    try:
        while data := files.socket.recv(4096):
            assert data == struct.pack("<IBBH", 0, WAKE, 0, 0) * (len(data) // 8), data
    except BlockingIOError:
        return
    finally:
        files.socket.settimeout(20)
    pytest.fail("the server has ended")


def ask_awake(files, rings):
    unique = files.send("STATFS")
    while not (data := rings.take()):
        pass
    files.buffer += data
    assert files.receive(unique)[0] == 0


def test_all_of_the_talk_passes_there(place, rings):
    files = serve(place, rings)
    for i in range(300):
        entry = files.create(f"file{i}")
        assert files.ok("GETATTR", entry.node, struct.pack("<IIQ", 0, 0, 0))
    assert len(os.listdir(place.host(""))) == 300
    assert rings.written > 300 * 2 * 48 and rings.taken > 300 * 2 * 24
    drain(files)
    place.check()


def test_who_sleeps_is_woken_and_nobody_else(place, rings):
    files = serve(place, rings)
    rings.put(files_rings.SLEEPS, files_rings.AWAKE)
    ask_awake(files, rings)  # with this, all before it has been said
    drain(files)
    for _ in range(20):
        ask_awake(files, rings)
    files.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        files.socket.recv(1)
    files.socket.settimeout(20)
    for _ in range(20):
        rings.put(files_rings.SLEEPS, files_rings.FOR_BYTES)
        unique = files.send("STATFS")
        assert files.socket.recv(4096) == struct.pack("<IBBH", 0, WAKE, 0, 0)
        rings.put(files_rings.SLEEPS, files_rings.AWAKE)
        assert files.receive(unique)[0] == 0
    place.check()


def test_nothing_is_lost_when_nobody_reads(place, rings):
    files = place.serve(rings=rings)
    names = [f"{i:03}" + "x" * 200 for i in range(64)]
    for name in names:
        files.create(name)
    before = rings.taken
    asked = [files.send("LOOKUP", body=name.encode() + b"\0")
             for _ in range(40) for name in names]
    # More answers than the ring holds wait in the server, and it says so.
    assert len(asked) * 144 > files_rings.TO_GUEST_BYTES
    for unique in asked:
        assert files.receive(unique)[0] == 0
    assert (rings.taken - before) & 0xffffffff > files_rings.TO_GUEST_BYTES
    place.check()


def test_a_full_ring_to_the_host_is_read_on(place, rings):
    files = serve(place, rings)
    node = files.create("file").node
    body = struct.pack("<QQIIQII", 0, 0, 3000, 0, 0, 0, 0) + b"d" * 3000
    asked = [files.send("WRITE", node, body) for _ in range(200)]
    for unique in asked:
        assert files.receive(unique)[0] == 0
    assert os.path.getsize(place.host("file")) == 3000
    place.check()


def test_a_successor_begins_where_the_last_one_was(place, rings):
    memory = os.memfd_create("nodes")
    marker = os.urandom(32).hex()
    files = serve(place, rings, memory=memory, next_marker=marker)
    node = files.create("file").node
    # what it has not read yet is not the next one's
    files.process.kill()
    files.process.wait()
    place.running.remove(files)
    rings.put_bytes(b"never read")
    again = serve(place, rings, memory=memory, marker=marker, initialised=1, start=False)
    again.socket.sendall(bytes.fromhex(marker))
    again.hello(1)
    assert again.ok("GETATTR", node, struct.pack("<IIQ", 0, 0, 0))
    place.check()


GOOD = IN_HEADER.pack(40, OPS["STATFS"], 4, 1, 0, 0, 0, 0, 0)
RECORD = struct.pack("<IBBH", len(GOOD), FUSE, 0, 0) + GOOD


def far_ahead(files, rings):
    rings.put(files_rings.WRITTEN, rings.written + files_rings.TO_HOST_BYTES + 1)
    rings.ring()


def behind(files, rings):
    rings.put(files_rings.WRITTEN, rings.written - 1)
    rings.ring()


def no_record(files, rings):
    rings.write(b"\xff" * 64)


def on_the_port_as_well(files, rings):
    files.socket.sendall(RECORD)


def another_relay(files, rings):
    files.socket.sendall(b"\xff" * 8)


def once_more(files, rings):
    files.send_record(RINGS, struct.pack("<I", 0))


def a_wake_up_of_the_guest(files, rings):
    files.send_record(WAKE, b"")


@pytest.mark.parametrize("lie", [far_ahead, behind, no_record, on_the_port_as_well,
                                 another_relay, once_more, a_wake_up_of_the_guest])
def test_who_lies_is_left(place, rings, lie):
    files = serve(place, rings)
    lie(files, rings)
    assert files.process.wait(timeout=10) == 1
    assert b"the guest sent" in files.process.stderr.read()
    place.running.remove(files)
    place.check()


def test_a_ring_that_nobody_offered_is_none(place):
    files = place.serve(bulk=True)
    files.send_record(RINGS, struct.pack("<I", 0))
    assert files.process.wait(timeout=10) == 1
    place.running.remove(files)
    place.check()


def test_what_is_said_to_be_read_leads_nowhere(place, rings):
    """Positions of the guest's choice: its own answers are lost, no more."""
    files = serve(place, rings)
    for value in (0, 1, 0xffffffff, 1 << 31, rings.taken + (256 << 10), rings.taken - 1):
        rings.put(files_rings.READ, value)
        for _ in range(50):
            rings.write(RECORD)
    while rings.room() < files_rings.TO_HOST_BYTES:
        assert files.process.poll() is None
    rings.put(files_rings.READ, rings.taken)
    place.check()
