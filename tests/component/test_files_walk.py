# SPDX-License-Identifier: Apache-2.0
"""Listings that bawn-files sends ahead of a walk, and whether there is room"""
import os
import signal
import struct
import tempfile
import time

import pytest

from fuse_client import (AHEAD, ENTRY, FATTR_MODE, KEEPS_LISTINGS, OPS, READS_ROOM, ROOM, ROOT,
                         Entry, share)

WHOLE = 1
ATTR_BYTES = 88


@pytest.fixture
def walker(place):
    for outer in range(3):
        for inner in range(5):
            os.makedirs(place.host(f"p{outer}/f{inner}"))
            for name in ("a", "b"):
                with open(place.host(f"p{outer}/f{inner}/{name}"), "wb") as file:
                    file.write(b"x")
    place.own()
    served = place.serve(features=KEEPS_LISTINGS)
    yield served
    place.check()


def settle(files):
    """What was under way is here: answers bring nothing with them any more."""
    quiet = 0
    while quiet < 2:
        before = len(files.raw)
        files.ok("STATFS", ROOT)
        quiet = quiet + 1 if len(files.raw) == before else 0


def parse(body):
    """name -> Entry of a READDIRPLUS"""
    found = {}
    while body:
        entry = Entry(body)
        body = body[ENTRY.size + ATTR_BYTES:]
        _, _, length, _ = struct.unpack_from("<QQII", body)
        found[os.fsdecode(body[24:24 + length])] = entry
        body = body[(24 + length + 7) & ~7:]
    return found


def sent_ahead(files, name):
    """Answers to such a request that came and nobody asked for: node -> (flags, body)"""
    settle(files)
    found = {}
    for kind, _, payload in files.raw:
        if kind == AHEAD:
            opcode, flags, node, offset = struct.unpack_from("<IIQQ", payload)
            if opcode == OPS[name]:
                assert offset == 0 and node not in found
                found[node] = flags, payload[24:]
    return found


def listings(files):
    """Those that came since the last time: folder -> (flags, entries)"""
    found = sent_ahead(files, "READDIRPLUS")
    files.raw.clear()
    return {node: (flags, parse(body)) for node, (flags, body) in found.items()}


def contents(files):
    """Files: node -> bytes"""
    found = sent_ahead(files, "READ")
    assert all(flags == 0 for flags, _ in found.values())
    return {node: body for node, (_, body) in found.items()}


def forget(files, entries):
    ones = [struct.pack("<QQ", entry.node, 1) for entry in entries if entry.node]
    files.send("BATCH_FORGET", 0, struct.pack("<II", len(ones), 0) + b"".join(ones))


def test_a_walk_gets_the_next_folders_before_it_asks(walker):
    top = walker.readdir(plus=True)
    assert not listings(walker)  # one listing is no walk
    first = sorted(name for name in top if name.startswith("p"))
    names = [name for name in top if name in first]  # as the host has them
    inner = walker.readdir(top[names[0]].node, plus=True)
    came = listings(walker)
    for name in inner:
        if name not in (".", ".."):
            flags, entries = came[inner[name].node]
            assert flags == WHOLE and set(entries) == {".", "..", "a", "b"}
            assert entries["a"].attr.size == 1 and entries["a"].node
    for name in names[1:]:
        assert set(came[top[name].node][1]) == {".", "..", *(f"f{i}" for i in range(5))}
    # Depth first: those in the next folder too.
    assert len(came) == 5 + 2 + 2 * 5


def test_what_was_used_brings_more(place, walker):
    for outer in range(3, 60):
        os.makedirs(place.host(f"p{outer}/f0"))
    place.own()
    top = walker.readdir(plus=True, size=32768)
    first = next(name for name in top if name.startswith("p"))
    walker.readdir(top[first].node, plus=True)
    came = listings(walker)
    assert len(came) == 32
    walker.send_record(AHEAD, struct.pack("<3Q", *list(came)[:3]))
    assert len(listings(walker)) == 6


@pytest.mark.parametrize("back", [False, True])
def test_a_walk_through_many_folders_asks_for_one_in_sixty_four(place, walker, back):
    """As in node_modules: more than are remembered at a time."""
    count = 300
    for number in range(count):
        os.makedirs(place.host(f"many/{number}"))
        with open(place.host(f"many/{number}/x"), "wb"):
            pass
    place.own()
    top = walker.lookup("many")
    order = [entry.node for name, entry in walker.readdir(top.node, plus=True,
                                                          size=1 << 17).items()
             if name.isdigit()]
    assert len(order) == count
    if back:
        order.reverse()
    held, asked = set(), 0
    for node in order:
        if node in held:
            walker.send_record(AHEAD, struct.pack("<Q", node))
        else:
            walker.readdir(node, plus=True)
            asked += 1
        came = listings(walker)
        assert not held & set(came)  # none is sent twice
        held |= set(came)
    assert held <= set(order)
    assert asked <= 2 + count // 64, asked


def test_the_rest_of_a_folder_alone_is_nothing_new(place, walker):
    """The relay tells the beginning itself; what follows counts once."""
    os.mkdir(place.host("many"))
    for number in range(60):
        with open(place.host(f"many/{number}"), "wb") as file:
            file.write(b"x")
    place.own()
    top = walker.lookup("many")
    pages = [page(walker, top.node, 0)]
    while pages[-1]:
        pages.append(page(walker, top.node, pages[-1][-1][0]))
    assert len(pages) > 3
    files = [node for names in pages for _, name, node in names if name.isdigit()]
    assert walker.read(files[0]) == b"x"
    assert set(contents(walker)) >= set(files[1:])
    walker.raw.clear()
    for before in pages[:-1]:
        page(walker, top.node, before[-1][0])
    assert walker.read(files[-1]) == b"x"
    assert not contents(walker)


def page(files, node, offset):
    """(offset, name, node) of one READDIRPLUS."""
    body = files.ok("READDIRPLUS", node, struct.pack("<QQIIQII", 0, offset, 4096, 0, 0, 0, 0))
    found = []
    while body:
        entry = Entry(body)
        body = body[ENTRY.size + ATTR_BYTES:]
        _, after, length, _ = struct.unpack_from("<QQII", body)
        found.append((after, os.fsdecode(body[24:24 + length]), entry.node))
        body = body[(24 + length + 7) & ~7:]
    return found


def test_who_reads_on_the_way_gets_the_next_files(walker):
    top = walker.readdir(plus=True)
    walker.readdir(top[next(name for name in top if name.startswith("p"))].node, plus=True)
    assert not contents(walker)  # who only looks gets none
    folders = [entries for _, entries in listings(walker).values() if "a" in entries]
    assert len(folders) == 15
    assert walker.read(folders[0]["b"].node) == b"x"
    came = contents(walker)
    assert came[folders[0]["a"].node] == b"x"
    assert all(came[entries[name].node] == b"x" for entries in folders[1:] for name in "ab")


def test_files_follow_as_long_as_some_are_used(place, walker):
    size, count = 60000, 30
    for number in range(count):
        os.makedirs(place.host(f"many/{number:02}"))
        with open(place.host(f"many/{number:02}/x"), "wb") as file:
            file.write(bytes(size))
    place.own()
    top = walker.lookup("many").node
    inner = walker.readdir(top, plus=True, size=32768)
    first = walker.readdir(next(entry.node for name, entry in inner.items() if name == "00"),
                           plus=True)
    walker.read(first["x"].node, size=size)
    came = contents(walker)
    walker.raw.clear()
    assert 0 < len(came) < 12  # 512 KiB or a little more
    walker.send_record(AHEAD, struct.pack("<Q", list(came)[0]))
    more = contents(walker)
    assert 0 < len(more) < 12 and not set(more) & set(came)


def test_who_asks_does_not_wait_for_what_nobody_has_asked_for(place):
    for number in range(200):
        os.makedirs(place.host(f"many/{number}"))
        for name in range(10):
            with open(place.host(f"many/{number}/{name}"), "wb"):
                pass
    place.own()
    files = place.serve(features=KEEPS_LISTINGS)
    top = files.lookup("many").node
    inner = files.readdir(top, plus=True, size=1 << 17)
    nodes = [entry.node for name, entry in inner.items() if name not in (".", "..")]
    files.readdir(nodes[0], plus=True)
    files.raw.clear()
    settle(files)
    files.raw.clear()
    files.process.send_signal(signal.SIGSTOP)  # so that it reads both at once
    files.send_record(AHEAD, struct.pack("<64Q", *nodes[:64]))
    unique = files.send("GETATTR", nodes[0], bytes(16))
    files.process.send_signal(signal.SIGCONT)
    assert files.receive(unique)[0] == 0
    assert not files.raw
    assert len(listings(files)) >= 32
    place.check()


def age(path):
    os.utime(path, (0, os.stat(path).st_mtime))


def was_read(path):
    return os.stat(path).st_atime != 0


def test_a_scout_has_the_disk_read_before_a_walk_comes_there(place):
    """Only what it leaves behind can be seen: folders that nobody was told of were read."""
    for outer in range(3):
        for number in range(40):
            os.makedirs(place.host(f"many/{outer}/{number:02}"))
    elsewhere = tempfile.mkdtemp(prefix="bawn-files-elsewhere-")
    os.symlink(elsewhere, place.host("many/1/link"))
    place.own()
    age(place.host("many"))
    os.listdir(place.host("many"))
    if not was_read(place.host("many")):
        pytest.skip("this file system does not note when a folder was read")
    files = place.serve(features=KEEPS_LISTINGS)
    top = files.lookup("many").node
    inner = files.readdir(top, plus=True, size=1 << 17)
    folders = [place.host(f"many/{outer}/{number:02}") for outer in range(3)
               for number in range(40)]
    for path in [*folders, elsewhere]:
        age(path)
    files.readdir(next(entry.node for name, entry in inner.items() if name not in (".", "..")),
                  plus=True)
    told = len(listings(files))
    assert told <= 32
    # It gives up where nothing has to be waited for, but not at once.
    deadline = time.monotonic() + 20
    while sum(map(was_read, folders)) <= told + 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sum(map(was_read, folders)) > told + 8
    assert not was_read(elsewhere)
    os.rmdir(elsewhere)
    place.check()


def test_a_walk_from_the_end_gets_what_lies_before(walker):
    top = walker.readdir(plus=True)
    names = [name for name in top if name.startswith("p")]
    inner = walker.readdir(top[names[-1]].node, plus=True)
    inner_names = [name for name in inner if name.startswith("f")]
    came = listings(walker)
    order = [inner[name].node for name in reversed(inner_names)]
    assert list(came)[:5] == order
    assert list(came)[5] == top[names[-2]].node
    assert len(came) == 5 + 2 + 2 * 5


def test_what_was_used_is_sent_again_to_the_next_walk_only(walker):
    top = walker.readdir(plus=True)
    names = [name for name in top if name.startswith("p")]
    walker.readdir(top[names[0]].node, plus=True)
    used = [node for node in listings(walker) if node != top[names[1]].node]
    walker.send_record(AHEAD, struct.pack(f"<{len(used)}Q", *used))
    walker.readdir(top[names[1]].node, plus=True)
    assert not listings(walker)  # who comes there has all of it
    walker.readdir(top[names[0]].node, plus=True)
    assert len(listings(walker)) == len(used) + 1


def test_names_that_are_asked_for_bring_their_folder(walker):
    part = walker.lookup("p1")
    folder = walker.lookup("f2", part.node)
    walker.lookup("a", folder.node)
    assert not listings(walker)
    walker.lookup("b", folder.node)
    came = listings(walker)
    assert set(came[folder.node][1]) == {".", "..", "a", "b"}
    assert set(came[part.node][1]) == {".", "..", *(f"f{i}" for i in range(5))}
    assert len(came) == 6  # and those beside it


def test_names_that_are_asked_for_on_two_errands_bring_nothing(walker):
    part = walker.lookup("p1")
    folder = walker.lookup("f2", part.node)
    walker.lookup("a", folder.node)
    for _ in range(100):
        walker.getattr(folder.node)
    walker.lookup("b", folder.node)
    assert not listings(walker)
    walker.lookup("a", folder.node)  # and now it is a walk
    assert folder.node in listings(walker)


def test_what_a_walk_has_earned_is_gone_after_a_pause(place, walker):
    for number in range(100):
        os.makedirs(place.host(f"many/{number}/inner"))
    place.own()
    top = walker.readdir(plus=True)
    walker.readdir(top[next(name for name in top if name.startswith("p"))].node, plus=True)
    came = listings(walker)
    assert came
    while came:  # all of the walk is used
        walker.send_record(AHEAD, struct.pack(f"<{len(came)}Q", *came))
        came = listings(walker)
    time.sleep(1.2)  # the pause itself; more of it does no harm
    for number in range(100):
        os.makedirs(place.host(f"fresh/{number}/inner"))
    place.own()
    walker.readdir(walker.lookup("fresh").node, plus=True, size=1 << 17)
    assert 0 < len(listings(walker)) <= 32


def test_entries_that_are_given_back_are_forgotten(walker):
    top = walker.readdir(plus=True)
    first = next(name for name in top if name.startswith("p"))
    walker.readdir(top[first].node, plus=True)
    came = listings(walker)
    _, entries = came[next(node for node, (_, found) in came.items() if "a" in found)]
    assert walker.getattr(entries["a"].node).size == 1
    forget(walker, entries.values())
    error, _ = walker.call("GETATTR", entries["a"].node, bytes(16))
    assert error  # it was counted once


def test_files_with_two_names_are_not_sent_ahead(place, walker):
    os.link(place.host("p0/f0/a"), place.host("p0/elsewhere"))
    top = walker.readdir(plus=True)
    inner = walker.readdir(top["p0"].node, plus=True)
    came = listings(walker)
    assert inner["f0"].node not in came and inner["f1"].node in came
    # Nothing was counted that was not sent.
    found = walker.readdir(inner["f0"].node, plus=True)
    forget(walker, [found["a"]])
    assert walker.call("GETATTR", found["b"].node, bytes(16))[0] == 0


def test_only_a_relay_that_keeps_them_gets_any(place):
    os.makedirs(place.host("a/b"))
    place.own()
    files = place.serve()
    top = files.readdir(plus=True)
    files.readdir(top["a"].node, plus=True)
    assert not listings(files)
    # It has none, so it cannot have used one.
    files.send_record(AHEAD, struct.pack("<Q", top["a"].node))
    assert "status 1" in files.end()


@pytest.mark.parametrize("payload", [b"", b"1234567", b"1" * 9])
def test_a_record_of_use_that_is_none_ends_it(place, payload):
    files = place.serve(features=KEEPS_LISTINGS)
    files.send_record(AHEAD, payload)
    assert "status 1" in files.end()


def test_made_up_uses_do_no_harm(walker):
    walker.send_record(AHEAD, struct.pack("<3Q", 0, 1 << 63, 12345) * 1000)
    assert walker.lookup("p0").node


def rooms(files):
    settle(files)
    found = [(index, struct.unpack("<I", payload)[0]) for kind, index, payload in files.raw
             if kind == ROOM]
    files.raw.clear()
    return found


def test_room_is_told_where_there_is_some(place):
    os.mkdir(place.host("small"))
    os.mkdir(place.host("fixed"))
    os.mkdir(place.host("large"))
    place.own()
    files = place.serve(shares=[
        share(place.host("large")), share(place.host("small"), quota_bytes=10 << 20),
        share(place.host("fixed"), read_only=True)], features=READS_ROOM)
    free = os.statvfs(place.host("large"))
    if free.f_bavail * free.f_frsize < 300 << 20:
        pytest.skip("the disk is nearly full")
    assert rooms(files) == [(0, 1)]


def test_room_ends_before_the_quota_does(place):
    free = os.statvfs(place.host(""))
    if free.f_bavail * free.f_frsize < 600 << 20:
        pytest.skip("the disk is nearly full")
    files = place.serve(quota_bytes=300 << 20, features=READS_ROOM)
    assert rooms(files) == [(0, 1)]
    node = files.create("f").node
    data, told = bytes(1 << 20), []
    for i in range(80):
        files.write(node, data, offset=i << 20)
        told += rooms(files)
        if told:
            break
    assert told == [(0, 0)] and 44 <= i < 80
    files.setattr(node, FATTR_MODE, mode=0o600)
