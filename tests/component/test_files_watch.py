# SPDX-License-Identifier: Apache-2.0
"""bawn-files alone: what the host changes is told, what the guest changes is not"""
import errno
import os
import socket
import struct
import time

import pytest
from fuse_client import (AHEAD, DROP, FATTR_MODE, FUSE, INVAL_ENTRY, INVAL_INODE, ROOT,
                         TICKET, name_of, share)


def entry(parent, name):
    return lambda notice: (notice.code == INVAL_ENTRY and notice.node == parent
                           and notice.name == name)


def inode(node, data=None):
    return lambda notice: (notice.code == INVAL_INODE and notice.node == node
                           and (data is None or (notice.off >= 0) == data))


def test_absence_and_presence_are_believed_until_told(place, files):
    reply = files.ok("LOOKUP", ROOT, name_of("later"))
    assert struct.unpack_from("<QQQ", reply) == (0, 0, 600)
    place.put("later", "now")
    files.wait_notice(entry(ROOT, b"later"))
    assert files.lookup("later").entry_valid == 600
    files.notices.clear()
    os.unlink(place.host("later"))
    files.wait_notice(entry(ROOT, b"later"))


def test_a_change_of_content_or_mode_is_told(place, files):
    place.folder("folder")
    place.put("folder/file", "one")
    folder = files.walk("folder")
    found = files.lookup("file", folder)
    assert found.attr_valid == 600
    with open(place.host("folder/file"), "a", encoding="ascii") as file:
        file.write("two")
    files.wait_notice(inode(found.node, data=True))
    files.notices.clear()
    os.chmod(place.host("folder/file"), 0o600)
    files.wait_notice(inode(found.node, data=False))


def test_a_replaced_file_is_told_as_a_name(place, files):
    place.put("file", "old")
    old = files.lookup("file").node
    place.put("file.new", "new")
    os.rename(place.host("file.new"), place.host("file"))
    files.wait_notice(entry(ROOT, b"file"))
    new = files.lookup("file").node
    assert new != old and files.read(new) == b"new"


def test_a_name_with_another_share_behind_it_is_asked_for_again_and_not_told(place):
    """The guest's kernel would take what is mounted there away."""
    place.folder("a/vendor")
    place.folder("a/vendors")
    files = place.serve(shares=[share(place.path, guest_path="/w"),
                                share(place.host("a/vendor"), guest_path="/w/a/vendor")])
    assert files.lookup("a").entry_valid == 1
    folder = files.walk("a")
    assert files.lookup("vendor", folder).entry_valid == 1
    assert files.lookup("vendors", folder).entry_valid == 600
    for name in ("vendor", "vendors"):
        os.rmdir(place.host(f"a/{name}"))
        os.mkdir(place.host(f"a/{name}"))
    files.wait_notice(entry(folder, b"vendors"))
    os.rename(place.host("a"), place.host("b"))
    files.wait_notice(entry(ROOT, b"b"))
    assert not [one for one in files.notices if entry(folder, b"vendor")(one)
                or entry(ROOT, b"a")(one)]
    place.check()


def test_own_changes_are_not_told(place, files):
    node = files.create("file").node
    files.write(node, b"x")
    files.setattr(node, FATTR_MODE, mode=0o600)
    files.mkdir("folder")
    files.rename("file", "moved")
    files.ok("SYMLINK", ROOT, name_of("link") + name_of("x"))
    other = files.ok("MKNOD", ROOT, struct.pack("<IIII", 0o100644, 0, 0, 0) + name_of("other"))
    files.ok("LINK", ROOT, other[:8] + name_of("twin"))
    files.ok("UNLINK", ROOT, name_of("twin"))
    files.ok("RMDIR", ROOT, name_of("folder"))
    # Long enough for the writable descriptor to be given back.
    time.sleep(0.8)
    files.getattr(ROOT)
    assert not [vars(notice) for notice in files.notices]
    place.put("foreign")
    files.wait_notice(entry(ROOT, b"foreign"))


def test_a_flood_of_changes_loses_nothing(place, files):
    """More events than the kernel queues: then everything is dropped"""
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        limit = int(file.read())
    if limit > 20000:
        limit = 20000
    files.ok("LOOKUP", ROOT, name_of("x"))
    os.kill(files.process.pid, 19)
    try:
        for i in range(limit // 2 + 100):
            path = place.host(f"f{i % 50}-{i}")
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            os.unlink(path)
    finally:
        os.kill(files.process.pid, 18)
    files.socket.settimeout(10)
    while True:
        kind, _, _ = files.read_record()
        if kind == DROP:
            break
    assert files.getattr(ROOT)


def test_the_launcher_can_have_everything_asked_for_anew(place):
    """`bawn review` has taken away what the guest had in a name's place"""
    place.put("file", "one")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        files = place.serve(control=theirs.fileno())
        node = files.lookup("file").node
        for _ in range(2):
            files.notices.clear()
            ours.sendall(b"forget\n")
            files.socket.settimeout(10)
            while files.read_record()[0] != DROP:
                pass
            files.wait_notice(inode(node))
            files.wait_notice(entry(ROOT, b"file"))


def test_before_the_greeting_nothing_is_said(place):
    place.put("file", "one")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        files = place.serve(start=False, control=theirs.fileno())
        assert b"ready" in ours.recv(64)
        ours.sendall(b"forget\nmark \n")
        assert b"failed" in ours.recv(512)  # it has read both
        files.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            files.socket.recv(1)


NOTIFIER = 77


def ticket(files, share=0):
    """The next ticket: operation, number, paths."""
    while True:
        for i, (kind, index, payload) in enumerate(files.raw):
            if kind == TICKET:
                del files.raw[i]
                assert index == share
                what, number = struct.unpack_from("<II", payload)
                return what, number, payload[8:].split(b"\0")[:-1]
        kind, index, payload = files.read_record()
        if kind != FUSE:
            files.raw.append((kind, index, payload))


def test_a_notifier_is_answered_once_and_changes_nothing(place):
    place.put("gone")
    place.put("kept", "x")
    files = place.serve(notifier=NOTIFIER)
    kept = files.lookup("kept").node
    os.unlink(place.host("gone"))
    assert ticket(files) == (0o100005, 1, [b"gone"])
    # Nobody else's request is compared with it.
    assert files.call("UNLINK", ROOT, name_of("gone"))[0] == errno.ENOENT
    files.pid = NOTIFIER
    # Without a ticket: not even what would be allowed otherwise.
    assert files.call("UNLINK", ROOT, name_of("kept"))[0] == errno.EIO
    assert files.call("MKDIR", ROOT, struct.pack("<II", 0o755, 0) + name_of("new"))[0] == errno.EIO
    assert files.call("WRITE", kept, struct.pack("<QQIIQII", 0, 0, 1, 0, 0, 0, 0) + b"y")[0] \
        == errno.EIO
    for op, body in (("LINK", struct.pack("<Q", kept) + name_of("b")),
                     ("RENAME", struct.pack("<Q", ROOT) + name_of("kept") + name_of("b")),
                     ("RMDIR", name_of("gone")),
                     ("CREATE", struct.pack("<IIII", 0o2, 0o644, 0, 0) + name_of("gone")),
                     ("SETXATTR", struct.pack("<II", 0, 0) + name_of("user.x"))):
        node = kept if op == "SETXATTR" else ROOT
        assert files.call(op, node, body)[0] == errno.EIO, op
    ghost = files.lookup("gone")
    assert ghost.entry_valid == 0 and files.call("GETATTR", ghost.node, bytes(16))[0] \
        == errno.ESTALE
    files.ok("UNLINK", ROOT, name_of("gone"))
    assert files.call("UNLINK", ROOT, name_of("gone"))[0] == errno.EIO
    files.send_record(TICKET, struct.pack("<I", 1))
    files.wait_notice(entry(ROOT, b"gone"))
    place.put("made", "y")
    assert ticket(files) == (0o100004, 2, [b"made"])
    files.ok("MKNOD", ROOT, struct.pack("<IIII", 0o100600, 0, 0, 0) + name_of("made"))
    assert place.get("made") == b"y" and place.get("kept") == b"x"
    assert sorted(os.listdir(place.path)) == ["kept", "made"]
    place.check()


def test_a_notifier_that_never_answers_leaves_the_truth(place):
    place.put("gone")
    files = place.serve(notifier=NOTIFIER)
    files.lookup("gone")
    os.unlink(place.host("gone"))
    ticket(files)
    begin = time.monotonic()
    files.wait_notice(entry(ROOT, b"gone"))
    assert time.monotonic() - begin < 1
    # Numbers that were never sent, and done twice.
    for number in (0, 1, 1, 5, 0xffffffff):
        files.send_record(TICKET, struct.pack("<I", number))
    assert files.getattr(ROOT)
    place.check()


def test_small_files_the_end_and_absent_names_come_unasked(place):
    for i in range(6):
        place.folder(f"d{i}")
        for name in ("a", "b"):
            place.put(f"d{i}/{name}", f"{name}{i}")
        place.put(f"d{i}/large", "x" * 70000)
    os.link(place.host("d0/a"), place.host("d0/twin"))
    place.put("d5/.probe")
    files = place.serve()
    entries = files.readdir(plus=True, size=1 << 16)
    folder = {name: entry.node for name, entry in entries.items() if entry.node}
    ends = [payload for kind, _, payload in files.raw if kind == AHEAD]
    # One listing, one end; nothing was asked for in vain yet.
    # And what its kernel asks for before it comes there again.
    assert [struct.unpack_from("<I", payload)[0] for payload in ends] == [28, 3]
    files.raw.clear()
    for i in range(4):
        files.ok("LOOKUP", folder[f"d{i}"], name_of(".probe"))
    files.readdir(plus=True, size=1 << 16)
    files.getattr(ROOT)
    told = {struct.unpack_from("<Q", payload, 8)[0]: payload[24:]
            for kind, _, payload in files.raw
            if kind == AHEAD and struct.unpack_from("<I", payload)[0] == 1}
    assert told == {folder[f"d{i}"]: b".probe\0" for i in range(5)}
    files.raw.clear()
    inner = files.readdir(folder["d0"], plus=True, size=1 << 16)
    files.readdir(folder["d1"], plus=True, size=1 << 16)
    files.read(inner["b"].node)
    files.getattr(ROOT)
    sent = {struct.unpack_from("<Q", payload, 8)[0]: payload[24:]
            for kind, _, payload in files.raw
            if kind == AHEAD and struct.unpack_from("<I", payload)[0] == 15}
    # Not the large one, and not one that has a name we may not watch.
    assert sent == {inner["b"].node: b"b0"}
    place.check()


def overlay(place):
    return place.serve(shares=[share(place.path, overlay=True)])


def test_below_an_overlay_a_name_stays_its_node(place):
    place.put("file", "old")
    place.folder("folder")
    place.put("folder/below", "old")
    files = overlay(place)
    file, folder = files.lookup("file").node, files.walk("folder")
    below = files.lookup("below", folder).node
    place.put("file.new", "new")
    os.rename(place.host("file.new"), place.host("file"))
    files.wait_notice(inode(file, data=True))
    files.wait_notice(entry(ROOT, b"file"))
    assert files.read(file) == b"new"  # who has it open goes on with the new one
    assert files.lookup("file").node == file

    os.unlink(place.host("file"))
    files.notices.clear()
    files.wait_notice(entry(ROOT, b"file"))
    assert struct.unpack_from("<Q", files.ok("LOOKUP", ROOT, name_of("file"))) == (0,)
    place.put("file", "once more")
    assert files.lookup("file").node == file and files.read(file) == b"once more"

    os.rename(place.host("folder"), place.host("away"))
    files.wait_notice(entry(ROOT, b"away"))
    place.folder("folder")
    place.put("folder/below", "another")
    assert files.walk("folder") == folder and files.lookup("below", folder).node == below
    assert files.read(below) == b"another"


def test_below_an_overlay_one_known_file_takes_the_name_of_another(place):
    place.put("a", "1")
    place.put("b", "2")
    place.put("c", "3")
    os.link(place.host("c"), place.host("d"))
    files = overlay(place)
    a, b, c, d = (files.lookup(name).node for name in "abcd")
    assert c == d
    os.rename(place.host("b"), place.host("a"))
    assert files.lookup("a").node == a and files.read(a) == b"2"
    assert files.call("READ", b, struct.pack("<QQIIQII", 0, 0, 9, 0, 0, 0, 0))[0] == errno.ESTALE
    os.rename(place.host("c"), place.host("a"))  # two names: a node cannot be both
    found = files.lookup("a").node
    assert files.read(found) == b"3" and files.lookup("d").node == found
    place.put("a.new", "4")
    os.unlink(place.host("a"))
    os.mkdir(place.host("a"))
    assert files.lookup("a").node not in (a, b, c)  # of another type: another node
