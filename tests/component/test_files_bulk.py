# SPDX-License-Identifier: Apache-2.0
"""The memory beside the files port: large answers, data of writes, and liars"""
import os
import struct
import time

import pytest

from fuse_client import (BULK, BULK_BYTES, FUSE, IN_HEADER, OPS, OUT_HEADER, WRITE)

READ_IN = struct.Struct("<QQIIQII")


@pytest.fixture
def bulk(place):
    served = place.serve(bulk=True)
    yield served
    place.check()


def put(place, name, data):
    with open(place.host(name), "wb") as file:
        file.write(data)
    place.own()


def write_head(files, node, length, size=None, opcode="WRITE", offset=0, total=None):
    """A WRITE without its data"""
    files.unique += 2
    size = length if size is None else size
    head = IN_HEADER.pack(80 + length if total is None else total, OPS[opcode], files.unique,
                          node, 0, 0, 0, 0, 0)
    return head + READ_IN.pack(0, offset, size, 0, 0, 0, 0)


def write_there(files, node, data, start=0, offset=0):
    files.from_guest[start:start + len(data)] = data
    files.send_record(WRITE, struct.pack("<II", start, len(data)) +
                      write_head(files, node, len(data), offset=offset))
    return files.unique


def test_large_answers_lie_in_memory_and_small_ones_do_not(place, bulk):
    data = os.urandom(1 << 20)
    put(place, "big", data)
    put(place, "small", b"few")
    big, small = bulk.lookup("big").node, bulk.lookup("small").node
    assert not bulk.pieces
    assert bulk.read(big, size=1 << 20) == data
    assert bulk.pieces and sum(length for _, length in bulk.pieces) > 1 << 20
    before = len(bulk.pieces)
    assert bulk.read(small) == b"few"
    assert len(bulk.pieces) == before


def test_a_short_read_and_a_failed_one_say_what_they_are(place, bulk):
    put(place, "file", b"x" * 10000)
    node = bulk.lookup("file").node
    assert bulk.read(node, size=1 << 20) == b"x" * 10000
    assert bulk.read(node, offset=9000, size=1 << 20) == b"x" * 1000
    assert bulk.read(node, offset=20000, size=1 << 20) == b""
    with pytest.raises(OSError):
        bulk.read(0x1234567, size=1 << 20)


def test_many_answers_at_once_keep_their_order(place, bulk):
    """A large folder, and reads of several sizes, before the first answer is taken."""
    contents = {f"{i:03}": os.urandom(i * 997 % 200000) for i in range(60)}
    for name, data in contents.items():
        put(place, name, data)
    nodes = {name: bulk.lookup(name).node for name in contents}
    asked = [(name, bulk.send("READ", nodes[name], READ_IN.pack(0, 0, 1 << 20, 0, 0, 0, 0)))
             for name in contents]
    listed = bulk.readdir(plus=True, size=1 << 17)
    assert set(contents) <= set(listed)
    for name, unique in asked:
        assert bulk.receive(unique) == (0, contents[name])


def test_a_guest_that_gives_nothing_back_is_served_through_the_port(place):
    data = os.urandom(1 << 20)
    put(place, "big", data)
    files = place.serve(bulk=True)
    files.gives_back = False
    node = files.lookup("big").node
    for _ in range(3 * BULK_BYTES // len(data)):
        assert files.read(node, size=len(data)) == data
    assert sum(length for _, length in files.pieces) <= BULK_BYTES
    files.send_record(BULK, struct.pack("<I", len(files.pieces)))
    before = len(files.pieces)
    assert files.read(node, size=len(data)) == data
    assert len(files.pieces) > before, "what was given back is used"
    place.check()


def test_a_guest_that_has_no_memory_gets_all_through_the_port(place, files):
    data = os.urandom(1 << 20)
    put(place, "big", data)
    assert files.read(files.lookup("big").node, size=len(data)) == data


def test_data_of_a_write_is_taken_from_memory(place, bulk):
    node = bulk.create("file").node
    first, second = os.urandom(1 << 20), os.urandom(300000)
    uniques = [write_there(bulk, node, first),
               write_there(bulk, node, second, start=2 << 20, offset=len(first)),
               write_there(bulk, node, b"end", start=BULK_BYTES - 3,
                           offset=len(first) + len(second))]
    assert [bulk.receive(unique)[0] for unique in uniques] == [0, 0, 0]
    assert place.get("file") == first + second + b"end"


def test_a_claim_that_is_not_the_piece_is_refused(place, bulk):
    node = bulk.create("file").node
    bulk.send_record(WRITE, struct.pack("<II", 0, 8192) + write_head(bulk, node, 8192, size=4096))
    assert bulk.receive(bulk.unique)[0] == 22
    bulk.send_record(WRITE, struct.pack("<II", 0, 8192) + write_head(bulk, 0x1234567, 8192))
    assert bulk.receive(bulk.unique)[0] == 116
    assert os.path.getsize(place.host("file")) == 0


def lies(files, node):
    """Records that break the protocol, each by itself"""
    piece = struct.pack("<II", 0, 8192)
    good = write_head(files, node, 8192)
    return {
        "outside": (WRITE, struct.pack("<II", BULK_BYTES - 8191, 8192) + good),
        "far outside": (WRITE, struct.pack("<II", 0xffffffff, 8192) + good),
        "too long": (WRITE, struct.pack("<II", 1, 0xffffffff) + good),
        "longer than a write": (WRITE, struct.pack("<II", 0, (1 << 20) + 1) +
                                write_head(files, node, (1 << 20) + 1)),
        "empty": (WRITE, struct.pack("<II", 0, 0) + write_head(files, node, 0)),
        "no message": (WRITE, piece),
        "half a piece": (WRITE, piece[:5]),
        "half a message": (WRITE, piece + good[:-1]),
        "data behind it": (WRITE, piece + good + b"x"),
        "another length": (WRITE, piece + write_head(files, node, 8192, total=8192)),
        "no write": (WRITE, piece + write_head(files, node, 8192, opcode="READ")),
        "no share": (WRITE, piece + good, 7),
        "read before it was written": (BULK, struct.pack("<I", 1)),
        "read by nobody": (BULK, struct.pack("<I", 0)),
        "read by billions": (BULK, struct.pack("<I", 0xffffffff)),
        "half a count": (BULK, b"\1\0"),
        "a piece of the guest's": (BULK, piece),
    }


@pytest.mark.parametrize("which", list(lies(type("", (), {"unique": 0})(), 1)))
def test_a_lie_about_memory_ends_the_channel(place, which):
    files = place.serve(bulk=True)
    node = files.create("file").node
    files.send_record(*lies(files, node)[which])
    with pytest.raises(ConnectionError):
        files.getattr(node)
    assert files.process.wait(20) == 1
    assert os.path.getsize(place.host("file")) == 0


def test_a_write_from_memory_that_there_is_none_of(place):
    files = place.serve()
    node = files.create("file").node
    files.send_record(WRITE, struct.pack("<II", 0, 8192) + write_head(files, node, 8192))
    assert "the guest sent" in files.end()


def test_memory_that_changes_meanwhile_changes_data_and_nothing_else(place, bulk):
    """Heads come through the port: what lies in memory is never looked at twice."""
    node = bulk.create("file").node
    unique = write_there(bulk, node, b"a" * (1 << 20))
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and not bulk.replies:
        bulk.from_guest[0:1 << 20] = os.urandom(4096) * 256
        bulk.socket.setblocking(False)
        try:
            kind, _, payload = bulk.read_record()
            if kind == FUSE:
                _, error, found = OUT_HEADER.unpack_from(payload)
                bulk.replies[found] = (-error, payload[16:])
        except BlockingIOError:
            pass
        finally:
            bulk.socket.settimeout(20)
    assert bulk.receive(unique)[0] == 0
    assert os.path.getsize(place.host("file")) == 1 << 20


def test_bawn_files_cannot_write_what_it_reads(bulk):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with open(f"/proc/{bulk.process.pid}/maps", encoding="ascii") as file:
        rights = {line.split("memfd:")[1].split()[0]: line.split()[1]
                  for line in file if "_guest" in line}
    assert rights == {"from_guest": "r--s", "to_guest": "rw-s"}
