# SPDX-License-Identifier: Apache-2.0
"""bawn-files alone: what builds and editors rely on, one operation after the other"""
import errno
import os
import select
import socket
import stat
import struct
import time

import pytest

from fuse_client import (FATTR_ATIME, FATTR_GID, FATTR_MODE, FATTR_MTIME, FATTR_SIZE,
                         FATTR_UID, ROOT, Entry, name_of, share)
from net_peer import CALL_HEAD


def refused(code, call, *args, **more):
    with pytest.raises(OSError) as caught:
        call(*args, **more)
    assert caught.value.errno == code, caught.value


def test_a_file_is_made_written_and_read_back(place, files):
    node = files.create("file", mode=0o640).node
    assert files.write(node, b"hello world") == 11
    assert files.read(node) == b"hello world"
    assert files.read(node, 6, 3) == b"wor"
    assert files.getattr(node).size == 11
    assert place.get("file") == b"hello world"
    assert stat.S_IMODE(os.stat(place.host("file")).st_mode) == 0o640
    assert os.stat(place.host("file")).st_uid == place.uid


def test_a_mebibyte_passes_in_one_message(place, files):
    node = files.create("big").node
    data = os.urandom(1 << 20)
    assert files.write(node, data) == 1 << 20
    assert files.read(node, 0, 1 << 20) == data


def test_offsets_beyond_four_gibibytes(place, files):
    node = files.create("huge").node
    files.write(node, b"end", offset=5 << 30)
    assert files.getattr(node).size == (5 << 30) + 3
    assert files.read(node, 5 << 30, 10) == b"end"


def test_open_and_flush_are_left_to_the_kernel(files):
    node = files.create("file").node
    assert files.call("OPEN", node, bytes(8))[0] == errno.ENOSYS
    assert files.call("OPENDIR", ROOT, bytes(8))[0] == errno.ENOSYS
    assert files.call("FLUSH", node, bytes(24))[0] == errno.ENOSYS
    assert files.call("RELEASE", node, bytes(24))[0] == 0


def test_create_of_an_existing_file(place, files):
    place.put("old", "content")
    assert files.call("CREATE", ROOT, struct.pack("<IIII", os.O_EXCL | os.O_CREAT, 0o600, 0, 0)
                      + name_of("old"))[0] == errno.EEXIST
    entry = files.create("old")
    assert files.read(entry.node) == b"content"
    entry = files.create("old", flags=os.O_CREAT | os.O_TRUNC | os.O_RDWR)
    assert entry.attr.size == 0
    assert place.get("old") == b""


def test_create_does_not_follow_a_link(place, files):
    os.symlink("../canary", place.host("link"))
    refused(errno.ESTALE, files.create, "link", flags=os.O_CREAT | os.O_TRUNC | os.O_RDWR)


def test_append_goes_to_the_end_that_the_host_sees(place, files):
    place.put("log", "host\n")
    node = files.lookup("log").node
    with open(place.host("log"), "a", encoding="ascii") as file:
        file.write("host again\n")
    files.write(node, b"guest\n", offset=5, flags=os.O_APPEND)
    assert place.get("log") == b"host\nhost again\nguest\n"


def test_a_file_written_with_a_read_only_mode_stays_writable(files):
    node = files.create("pack", mode=0o444).node
    files.write(node, b"a")
    time.sleep(0.8)
    assert files.write(node, b"b", offset=1) == 1


def test_a_written_file_can_soon_be_run_on_the_host(place, files):
    node = files.create("script", mode=0o755).node
    with open("/bin/true", "rb") as file:
        data = file.read()
    for at in range(0, len(data), 65536):
        files.write(node, data[at:at + 65536], at)
    end = time.monotonic() + 5
    while True:
        try:
            pid = os.posix_spawn(place.host("script"), ["script"], {})
            break
        except OSError as error:
            assert error.errno == errno.ETXTBSY and time.monotonic() < end
            time.sleep(0.05)
    assert os.waitpid(pid, 0)[1] == 0
    assert files.write(node, b"\x7f") == 1


def test_an_unlinked_file_lives_until_it_is_forgotten(place, files):
    node = files.create("temporary").node
    files.write(node, b"still here")
    files.ok("UNLINK", ROOT, name_of("temporary"))
    assert not os.path.exists(place.host("temporary"))
    assert files.read(node) == b"still here"
    files.write(node, b"S")
    assert files.getattr(node).nlink == 0
    files.setattr(node, FATTR_SIZE, size=3)
    assert files.read(node) == b"Sti"
    files.send("FORGET", node, struct.pack("<Q", 1))
    refused(errno.ESTALE, files.read, node)


def test_a_file_replaced_by_rename_lives_on_too(place, files):
    old = files.create("target").node
    files.write(old, b"old")
    new = files.create("source").node
    files.write(new, b"new")
    files.rename("source", "target")
    assert files.read(old) == b"old"
    assert files.read(new) == b"new"
    assert place.get("target") == b"new"
    assert files.lookup("target").node == new


def test_rename_noreplace_and_exchange(place, files):
    place.put("a", "A")
    place.put("b", "B")
    a, b = files.lookup("a").node, files.lookup("b").node
    refused(errno.EEXIST, files.rename, "a", "b", flags=1)
    files.rename("a", "b", flags=2)
    assert place.get("a") == b"B" and place.get("b") == b"A"
    assert files.lookup("a").node == b and files.lookup("b").node == a
    refused(errno.EINVAL, files.rename, "a", "c", flags=4)
    files.rename("a", "c", flags=1)
    assert files.read(b) == b"B"


def test_a_folder_is_moved_with_what_is_in_it(place, files):
    place.folder("one/two")
    place.put("one/two/file", "text")
    node = files.walk("one/two/file")
    sub = files.mkdir("elsewhere").node
    files.rename("one", "moved", to=sub)
    assert files.read(node) == b"text"
    assert files.walk("elsewhere/moved/two/file") == node
    refused(errno.EINVAL, files.rename, "elsewhere", "loop", to=files.walk("elsewhere/moved"))


def test_hard_links_are_one_node(place, files):
    node = files.create("first").node
    entry = Entry(files.ok("LINK", ROOT, struct.pack("<Q", node) + name_of("second")))
    assert entry.node == node and entry.attr.nlink == 2
    # Another name may be changed where nobody watches.
    assert entry.attr_valid == 1
    files.ok("UNLINK", ROOT, name_of("second"))
    files.write(node, b"x")
    assert place.get("first") == b"x"
    files.ok("UNLINK", ROOT, name_of("first"))
    assert files.read(node) == b"x"


def test_a_link_is_read_and_never_followed(place, files):
    entry = Entry(files.ok("SYMLINK", ROOT, name_of("link") + name_of("../canary")))
    assert stat.S_ISLNK(entry.attr.mode)
    assert files.ok("READLINK", entry.node) == b"../canary"
    assert os.readlink(place.host("link")) == "../canary"
    assert files.call("READ", entry.node, struct.pack("<QQIIQII", 0, 0, 10, 0, 0, 0, 0))[0]
    assert files.call("LOOKUP", entry.node, name_of("x"))[0] == errno.ENOTDIR
    files.setattr(entry.node, FATTR_MTIME, mtime=(1000, 5))
    assert os.lstat(place.host("link")).st_mtime_ns == 1000 * 10**9 + 5
    refused(errno.EOPNOTSUPP, files.setattr, entry.node, FATTR_MODE, mode=0o777)
    # A hard link to the link is that link.
    twin = Entry(files.ok("LINK", ROOT, struct.pack("<Q", entry.node) + name_of("twin")))
    assert twin.node == entry.node and os.path.islink(place.host("twin"))


def test_folders(place, files):
    node = files.mkdir("folder", mode=0o1770).node
    assert stat.S_IMODE(os.stat(place.host("folder")).st_mode) == 0o1770
    files.create("inner", node)
    assert files.call("RMDIR", ROOT, name_of("folder"))[0] == errno.ENOTEMPTY
    assert files.call("UNLINK", ROOT, name_of("folder"))[0] in (errno.EISDIR, errno.EPERM)
    files.ok("UNLINK", node, name_of("inner"))
    files.ok("RMDIR", ROOT, name_of("folder"))
    assert not os.path.exists(place.host("folder"))
    assert files.call("RMDIR", ROOT, name_of("folder"))[0] == errno.ENOENT


def test_a_folder_that_was_first_asked_for_its_end_has_names_still(place, files):
    """As a successor is asked, when its predecessor died before the end of a listing."""
    place.folder("folder")
    for name in ("one", "two"):
        place.put(f"folder/{name}", name)
    node = files.lookup("folder").node
    last = struct.pack("<QQIIQII", 0, (1 << 63) - 1, 4096, 0, 0, 0, 0)
    for op in ("READDIR", "READDIRPLUS"):
        assert files.ok(op, node, last) == b""
        assert set(files.readdir(node, plus=op == "READDIRPLUS")) == {".", "..", "one", "two"}


def test_a_large_folder_is_listed_once_each(place, files):
    wanted = {f"file-{i:05}" for i in range(3000)}
    for name in wanted:
        place.put(name)
    assert set(files.readdir()) == wanted | {".", ".."}
    found = files.readdir(plus=True)
    assert set(found) == wanted | {".", ".."}
    assert found["file-00001"].node == files.lookup("file-00001").node
    assert found["."].node == 0
    assert set(files.readdir(plus=True, size=1 << 20)) == wanted | {".", ".."}


def test_names_of_any_bytes(place, files):
    for name in (b"\xff\xfe\x80", b"x" * 255, "ä ö\n".encode(), b"-rf", b"..."):
        node = files.create(name).node
        assert files.lookup(name).node == node
        assert name in os.listdir(os.fsencode(place.path))


def test_modes_times_and_sizes(place, files):
    node = files.create("file").node
    files.setattr(node, FATTR_MODE, mode=0)
    assert os.stat(place.host("file")).st_mode & 0o7777 == 0
    files.setattr(node, FATTR_MODE, mode=0o6755)
    assert os.stat(place.host("file")).st_mode & 0o7777 == 0o755
    attr = files.setattr(node, FATTR_ATIME | FATTR_MTIME, atime=(5, 123456789), mtime=(7, 1))
    assert (attr.atime, attr.atimensec, attr.mtime, attr.mtimensec) == (5, 123456789, 7, 1)
    assert os.stat(place.host("file")).st_mtime_ns == 7 * 10**9 + 1
    refused(errno.EINVAL, files.setattr, node, FATTR_MTIME, mtime=(1, (1 << 30) - 1))
    assert files.setattr(node, FATTR_SIZE, size=12345).size == 12345
    refused(errno.EFBIG, files.setattr, node, FATTR_SIZE, size=1 << 63)


def test_owners_are_mapped(place, files):
    node = files.create("file").node
    attr = files.getattr(node)
    assert (attr.uid, attr.gid) == (1000, 1000)
    for uid in (0, 1000):
        files.setattr(node, FATTR_UID | FATTR_GID, uid=uid, gid=uid)
    refused(errno.EPERM, files.setattr, node, FATTR_UID, uid=1001)
    refused(errno.EPERM, files.setattr, node, FATTR_GID, gid=5)
    assert os.stat(place.host("file")).st_uid == place.uid
    if os.geteuid() == 0:
        place.put("foreign", "x", mode=0o600)
        os.chown(place.host("foreign"), 4321, 4321)
        entry = files.lookup("foreign")
        assert (entry.attr.uid, entry.attr.gid) == (65534, 65534)
        refused(errno.EACCES, files.read, entry.node)
        refused(errno.EPERM, files.setattr, entry.node, FATTR_MODE, mode=0o777)


def test_user_attributes_only(place, files):
    node = files.create("file").node

    def put(name, value, flags=0):
        return files.call("SETXATTR", node, struct.pack("<II", len(value), flags)
                          + name_of(name) + value)[0]

    def get(name, size=1000):
        return files.call("GETXATTR", node, struct.pack("<II", size, 0) + name_of(name))

    assert put("user.colour", b"blue") == 0
    assert get("user.colour") == (0, b"blue")
    assert get("user.colour", 0) == (0, struct.pack("<II", 4, 0))
    assert get("user.colour", 2)[0] == errno.ERANGE
    assert put("user.colour", b"", os.XATTR_CREATE) == errno.EEXIST
    for name in ("security.capability", "trusted.x", "system.posix_acl_access", "user.", "x"):
        assert put(name, b"\1") == errno.EOPNOTSUPP, name
        assert get(name)[0] == errno.EOPNOTSUPP, name
    if place.uid == 0:
        os.setxattr(place.host("file"), "trusted.hidden", b"1")
    assert files.ok("LISTXATTR", node, struct.pack("<II", 1000, 0)) == b"user.colour\0"
    assert files.ok("LISTXATTR", node, struct.pack("<II", 0, 0)) == struct.pack("<II", 12, 0)
    assert os.getxattr(place.host("file"), "user.colour") == b"blue"
    files.ok("REMOVEXATTR", node, name_of("user.colour"))
    assert get("user.colour")[0] == errno.ENODATA


def test_holes_allocation_and_copies(place, files):
    node = files.create("sparse").node
    files.setattr(node, FATTR_SIZE, size=1 << 20)
    files.write(node, b"data", offset=512 << 10)

    def seek(offset, whence):
        error, body = files.call("LSEEK", node, struct.pack("<QQII", 0, offset, whence, 0))
        return error, struct.unpack("<Q", body)[0] if not error else None

    assert seek(0, os.SEEK_DATA) == (0, 512 << 10)
    assert seek(0, os.SEEK_HOLE) == (0, 0)
    assert seek(0, os.SEEK_SET)[0] == errno.EINVAL
    assert seek(2 << 20, os.SEEK_DATA)[0] == errno.ENXIO

    def allocate(mode, offset, length):
        return files.call("FALLOCATE", node, struct.pack("<QQQII", 0, offset, length, mode, 0))[0]

    assert allocate(0, 0, 2 << 20) == 0
    assert files.getattr(node).size == 2 << 20
    assert allocate(3, 512 << 10, 4096) == 0
    assert files.read(node, 512 << 10, 4) == bytes(4)
    assert allocate(8, 0, 4096) == errno.EOPNOTSUPP
    other = files.create("copy").node
    files.write(node, b"copy me")
    for target in (other, node):
        reply = files.ok("COPY_FILE_RANGE", node, struct.pack("<QQQQQQQ", 0, 0, target, 0, 8192,
                                                              7, 0))
        assert struct.unpack_from("<I", reply)[0] == 7
        assert files.read(target, 8192, 7) == b"copy me"


def test_syncs_and_statfs(files):
    node = files.create("file").node
    files.write(node, b"x")
    for op, target, body in (("FSYNC", node, bytes(16)), ("FSYNCDIR", ROOT, bytes(16)),
                             ("FSYNC", node, struct.pack("<QII", 0, 1, 0)),
                             ("SYNCFS", ROOT, bytes(8))):
        files.ok(op, target, body)
    assert struct.unpack_from("<Q", files.ok("STATFS"))[0] > 0


def test_nodes_are_special_only_where_allowed(place, files):
    def make(name, mode, rdev=0):
        return files.call("MKNOD", ROOT, struct.pack("<IIII", mode, rdev, 0, 0)
                          + name_of(name))[0]

    assert make("regular", stat.S_IFREG | 0o4711) == 0
    assert os.stat(place.host("regular")).st_mode == stat.S_IFREG | 0o711
    assert make("socket", stat.S_IFSOCK | 0o600) == 0
    for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO):
        assert make("special", kind | 0o666, os.makedev(1, 3)) == errno.EPERM
    assert not os.path.exists(place.host("special"))


def test_special_files_of_the_host_are_seen_but_not_opened(place, files):
    os.mkfifo(place.host("fifo"), 0o666)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place.host("listening"))
    for name in ("fifo", "listening"):
        node = files.lookup(name).node
        assert files.call("READ", node, struct.pack("<QQIIQII", 0, 0, 9, 0, 0, 0, 0))[0] \
            == errno.EINVAL
        refused(errno.EINVAL, files.write, node, b"x")
    listener.close()


def test_set_id_bits_of_the_host_are_not_shown(place, files):
    place.put("tool", "x")
    os.chmod(place.host("tool"), 0o6755)
    assert files.lookup("tool").attr.mode == stat.S_IFREG | 0o755


def test_a_single_file_can_be_shared(place):
    place.put("one", "alone")
    place.put("two", "not shared")
    files = place.serve([share(place.host("one"))])
    assert files.read(ROOT) == b"alone"
    files.write(ROOT, b"A")
    assert place.get("one") == b"Alone"
    assert files.call("LOOKUP", ROOT, name_of("two"))[0] == errno.ENOTDIR
    assert files.call("LOOKUP", ROOT, name_of("..")) == (errno.EINVAL, b"")
    place.check()


def test_two_shares_have_nothing_in_common(place):
    place.folder("a")
    place.folder("b")
    place.put("a/file", "in a")
    files = place.serve([share(place.host("a")), share(place.host("b"))])
    node = files.lookup("file", share=0).node
    assert files.call("GETATTR", node, bytes(16), 1)[0] == errno.ESTALE
    assert files.call("LINK", ROOT, struct.pack("<Q", node) + name_of("stolen"), 1)[0] \
        == errno.ESTALE
    assert files.call("RENAME", ROOT, struct.pack("<Q", node) + name_of("a") + name_of("b"), 1)[0]
    place.check()


def test_a_successor_goes_on_with_the_same_nodes(place):
    memory = os.memfd_create("nodes")
    place.folder("deep/er")
    first = place.serve(memory=memory)
    node = first.create("file", first.walk("deep/er")).node
    first.write(node, b"before")
    stale = first.create("stale").node
    forgotten = first.create("forgotten").node
    first.send("FORGET", forgotten, struct.pack("<Q", 1))
    assert first.read(node) == b"before"
    first.process.kill()
    first.process.wait()
    place.running.remove(first)
    os.unlink(place.host("stale"))
    place.put("stale", "another")
    marker = os.urandom(32).hex()
    second = place.serve(memory=memory, marker=marker, start=False)
    # The middle of something, part of the marker, then the marker.
    second.socket.sendall(b"rubbish" * 99 + bytes.fromhex(marker)[:9] + bytes.fromhex(marker))
    second.hello(initialised=1)
    assert second.read(node) == b"before"
    second.write(node, b"after!")
    assert place.get("deep/er/file") == b"after!"
    refused(errno.ESTALE, second.read, stale)
    refused(errno.ESTALE, second.read, forgotten)
    assert second.walk("deep/er/file") == node
    os.close(memory)
    place.check()


def test_a_relay_that_calls_is_told_the_marker(place):
    marker = os.urandom(32)
    files = place.serve(marker=marker.hex(), start=False)
    for _ in range(3):
        word = b"\x80" + os.urandom(31)
        files.socket.sendall(b"\xff" * 8 + CALL_HEAD + word[:7])
        files.socket.sendall(word[7:] + CALL_HEAD + word)
        # once, whatever is asked twice
        assert files.socket.recv(4096) == word + marker
    files.socket.sendall(marker)
    files.hello()
    files.init()
    files.create("file")
    place.check()


def test_who_calls_without_end_gets_no_more_than_answers(place):
    marker = os.urandom(32)
    files = place.serve(marker=marker.hex(), start=False)
    calls = [CALL_HEAD + b"\x80" + os.urandom(31) for _ in range(1000)]
    files.socket.sendall(b"".join(calls) * 200)
    files.socket.sendall(marker)
    while files.buffer[-32:] != marker or select.select([files.socket], [], [], 1)[0]:
        files.buffer += files.socket.recv(1 << 20)
    assert len(files.buffer) % 64 == 0 and len(files.buffer) <= 64 * len(calls) * 200
    files.buffer = b""
    files.hello()
    place.check()


def test_a_planned_end_delivers_the_answers(place):
    files = place.serve()
    node = files.create("file").node
    files.write(node, bytes(1 << 20))
    sent = [files.send("READ", node, struct.pack("<QQIIQII", 0, 0, 200000, 0, 0, 0, 0))
            for _ in range(4)]
    time.sleep(0.3)
    files.process.terminate()
    for unique in sent:
        assert files.receive(unique) == (0, bytes(200000))
    assert files.process.wait(timeout=5) == 0
    place.check()


def test_more_files_than_descriptors(place, files):
    for i in range(80):
        place.folder(f"d{i}")
        for j in range(60):
            place.put(f"d{i}/f{j}", f"{i} {j}")
    nodes = {}
    for i in range(80):
        folder = files.lookup(f"d{i}").node
        for name, entry in files.readdir(folder, plus=True).items():
            if entry.node:
                nodes[i, name] = entry.node
    for (i, name), node in nodes.items():
        assert files.read(node) == f"{i} {name[1:]}".encode()
    assert len(os.listdir(f"/proc/{files.process.pid}/fd")) <= 4096
    with open(f"/proc/{files.process.pid}/status", encoding="ascii") as status:
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert memory < 64 << 10


def test_locked_down(place, files):
    """Each thread: no capability, no new privilege, seccomp on, the right user"""
    tasks = os.listdir(f"/proc/{files.process.pid}/task")
    assert len(tasks) == 3  # who serves, who waits for the disk, the scout
    for task in tasks:
        top = f"/proc/{files.process.pid}/task/{task}"
        with open(f"{top}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        assert all(int(status[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"))
        assert status["Uid"].split()[0] == str(place.uid)
        assert not any(os.readlink(f"{top}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}")
                       for name in ("net", "ipc"))


def test_many_syncs_at_once_are_all_answered(files):
    """More than wait for the thread; the rest is done on the way"""
    node = files.create("file").node
    files.write(node, b"x")
    calls = [files.send("FSYNC", node, struct.pack("<QII", 0, i % 2, 0)) for i in range(200)]
    assert [files.receive(call)[0] for call in calls] == [0] * 200
    assert files.call("FSYNC", node + (1 << 32), struct.pack("<QII", 0, 0, 0))[0] == errno.ESTALE


def test_the_plain_kernel_version_is_refused(place):
    files = place.serve(start=False)
    files.hello()
    assert files.call("LOOKUP", ROOT, name_of("x"))[0] == errno.EIO
    assert files.call("INIT", 0, struct.pack("<IIII", 7, 20, 0, 0))[0] == errno.EPROTO
    assert files.call("INIT", 0, struct.pack("<IIII", 8, 0, 0, 0))[0] == 0
    assert files.call("LOOKUP", ROOT, name_of("x"))[0] == errno.EIO
    files.init()
    assert files.call("LOOKUP", ROOT, name_of("x"))[0] == 0
    place.check()


def test_welcome_names_the_shares_and_the_next_server(place):
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    for name in "abc":
        place.folder(name)
    place.put("b/file", "text")
    shares = [share(place.host("a"), read_only=True), share(place.host("b"), overlay=True),
              share("/no/such/place", gone=True), share(place.host("c"))]
    marker = os.urandom(32)
    files = place.serve(shares, next_marker=marker.hex(), control=theirs.fileno(), start=False)
    theirs.close()
    files.hello(initialised=1 << 2)
    assert struct.unpack_from("<II", files.welcome) == (3, 4)
    assert files.welcome[8:40] == marker
    rest, found = files.welcome[40:], []
    while rest:
        path, rest = rest[8:].split(b"\0", 1)[0], rest
        found.append(struct.unpack_from("<II", rest) + (path.decode(),))
        rest = rest[8 + len(path) + 1:]
    assert found == [(1, stat.S_IFDIR, place.host("a")), (2, stat.S_IFDIR, place.host("b")),
                     (4, 0, "/no/such/place"), (0, stat.S_IFDIR, place.host("c"))]
    for index in (0, 1, 3):
        files.init(share=index)
    lines = b""
    while lines.count(b"\n") < 5:
        lines += ours.recv(100)
    assert lines == b"ready\nwelcomed\ninitialised 0\ninitialised 1\ninitialised 3\n"
    # An overlay is never written to, and what is gone answers.
    node = files.lookup("file", share=1).node
    refused(errno.EROFS, files.write, node, b"x", share=1)
    assert files.call("GETATTR", ROOT, bytes(16), 2)[0] == errno.ENODEV
    assert files.call("INIT", 0, struct.pack("<IIIII", 7, 38, 0, 0, 0) + bytes(44), 2)[0] \
        == errno.ENODEV
    # Only an undo journal can set a mark.
    ours.sendall(b"mark one\nmark " + b"x" * 201 + b"\nrubbish\n")
    answers = b""
    while answers.count(b"\n") < 2:
        answers += ours.recv(1000)
    assert [line.split(b" ")[0] for line in answers.splitlines()] == [b"failed", b"failed"]
    # It does not outlive its launcher.
    ours.close()
    assert files.process.wait(timeout=10) == 0
    place.check()
