# SPDX-License-Identifier: Apache-2.0
"""bawn-files alone: what the host changes is told, what the guest changes is not"""
import os
import struct
import time

from fuse_client import DROP, FATTR_MODE, INVAL_ENTRY, INVAL_INODE, ROOT, name_of


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
