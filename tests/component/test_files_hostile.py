# SPDX-License-Identifier: Apache-2.0
"""bawn-files against a guest that means harm: W1 to W7 of the known attacks

Each test ends with place.check(): the process is alive and in order, and
nothing outside the share has changed.
"""
import errno
import os
import random
import shutil
import stat
import struct
import subprocess
import threading
import time

import pytest

from fuse_client import (FATTR_MODE, FATTR_SIZE, FUSE, IN_HEADER, OPS, ROOT, NO_REPLY,
                         Entry, name_of, share)

READ = struct.Struct("<QQIIQII")
BAD_NAMES = [b"", b".", b"..", b"/", b"../canary", b"a/b", b"/etc/passwd", b"./x"]


def name_requests(name):
    """Every request that carries a name, with this one"""
    raw = name + b"\0"
    yield "LOOKUP", raw
    yield "SYMLINK", raw + b"target\0"
    yield "MKNOD", struct.pack("<IIII", stat.S_IFREG | 0o644, 0, 0, 0) + raw
    yield "MKDIR", struct.pack("<II", 0o755, 0) + raw
    yield "UNLINK", raw
    yield "RMDIR", raw
    yield "RENAME", struct.pack("<Q", ROOT) + raw + b"to\0"
    yield "RENAME", struct.pack("<Q", ROOT) + b"file\0" + raw
    yield "RENAME2", struct.pack("<QII", ROOT, 0, 0) + b"file\0" + raw
    yield "CREATE", struct.pack("<IIII", os.O_RDWR, 0o644, 0, 0) + raw


def test_names_that_are_no_components(place, files):
    place.put("file", "x")
    files.lookup("file")
    node = files.lookup("file").node
    for name in BAD_NAMES:
        for op, body in name_requests(name):
            assert files.call(op, ROOT, body)[0] == errno.EINVAL, (op, name)
        assert files.call("LINK", ROOT, struct.pack("<Q", node) + name + b"\0")[0] == errno.EINVAL
    for op, body in name_requests(b"n" * 256):
        assert files.call(op, ROOT, body)[0] == errno.ENAMETOOLONG, op
    for op, body in name_requests(b"n" * 100000):
        assert files.call(op, ROOT, body)[0] == errno.ENAMETOOLONG, op
    assert os.listdir(place.path) == ["file"]


def test_names_without_an_end_or_with_two(place, files):
    for op, body in name_requests(b"name"):
        assert files.call(op, ROOT, body[:-1])[0] == errno.EINVAL, op
        assert files.call(op, ROOT, body + b"more")[0] == errno.EINVAL, op
        assert files.call(op, ROOT, body + b"\0")[0] == errno.EINVAL, op
    assert os.listdir(place.path) == []


def test_a_write_that_claims_more_than_it_carries(place, files):
    node = files.create("file").node
    for claim in (0, 3, 5, 4096, 1 << 20, (1 << 20) + 1, 0xffffffff):
        error, _ = files.call("WRITE", node, struct.pack("<QQIIQII", 0, 0, claim, 0, 0, 0, 0)
                              + b"four")
        assert error == errno.EINVAL, claim
    for size, carried in ((4096, 4), (4, 4096), (0xffffffff, 0)):
        assert files.call("SETXATTR", node, struct.pack("<II", size, 0) + name_of("user.a")
                          + bytes(carried))[0] == errno.EINVAL
    files.send("BATCH_FORGET", 0, struct.pack("<II", 0xffffffff, 0) + bytes(16))
    assert files.getattr(node).size == 0


def test_every_truncation_of_every_request(place, files):
    files.create("file")
    for opcode in sorted(set(OPS.values()) - {OPS["DESTROY"], OPS["INIT"]}):
        for length in range(0, 120):
            body = bytes(length)
            unique = files.send(opcode, ROOT, body)
            if opcode not in NO_REPLY:
                files.receive(unique)
    assert files.lookup("file")


def test_unknown_opcodes(files):
    for opcode in (0, 7, 19, 31, 32, 33, 37, 39, 40, 41, 48, 49, 51, 52, 1000, 4096, 0xffffffff):
        assert files.call(opcode, ROOT, bytes(64))[0] == errno.ENOSYS


def test_node_ids_that_were_never_given(files):
    known = files.create("file").node
    candidates = [0, 2, 64, 65, 66, 1000, 1 << 20, 1 << 32, (1 << 32) | 64, known + 1,
                  known + (1 << 32), known - (1 << 32), known ^ (1 << 63), (1 << 64) - 1,
                  0x7fffffffffff, known & 0xffffffff]
    for node in candidates:
        for op, body in (("GETATTR", bytes(16)), ("READ", READ.pack(0, 0, 10, 0, 0, 0, 0)),
                         ("LOOKUP", b"x\0"), ("READDIR", READ.pack(0, 0, 4096, 0, 0, 0, 0)),
                         ("WRITE", struct.pack("<QQIIQII", 0, 0, 1, 0, 0, 0, 0) + b"x"),
                         ("SETATTR", bytes(88)), ("READLINK", b"")):
            assert files.call(op, node, body)[0] == errno.ESTALE, (op, node)
        files.send("FORGET", node, struct.pack("<Q", 1 << 60))
    assert files.getattr(known)


def test_a_reused_slot_is_another_generation(files):
    first = files.create("first").node
    files.ok("UNLINK", ROOT, name_of("first"))
    files.send("FORGET", first, struct.pack("<Q", 100))
    second = files.create("second").node
    assert second & 0xffffffff == first & 0xffffffff and second != first
    assert files.call("GETATTR", first, bytes(16))[0] == errno.ESTALE


def test_forgetting_more_than_was_given(files):
    node = files.mkdir("folder").node
    inner = files.create("inner", node).node
    for target in (ROOT, node, node):
        files.send("FORGET", target, struct.pack("<Q", (1 << 64) - 1))
    assert files.call("GETATTR", node, bytes(16))[0] == errno.ESTALE
    assert files.getattr(ROOT) and files.getattr(inner)


def test_offsets_and_sizes_at_the_edge(place, files):
    node = files.create("file").node
    for offset in ((1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        assert files.call("WRITE", node, struct.pack("<QQIIQII", 0, offset, 1, 0, 0, 0, 0)
                          + b"x")[0] == errno.EFBIG
        files.call("READ", node, READ.pack(0, offset, 4096, 0, 0, 0, 0))
        files.call("READDIR", ROOT, READ.pack(0, offset, 4096, 0, 0, 0, 0))
        files.call("LSEEK", node, struct.pack("<QQII", 0, offset, os.SEEK_DATA, 0))
        files.call("FALLOCATE", node, struct.pack("<QQQII", 0, offset, offset, 0, 0))
        files.call("COPY_FILE_RANGE", node, struct.pack("<QQQQQQQ", 0, offset, node, 0, offset,
                                                        offset, 0))
    for size in ((1 << 20) + 1, 0xffffffff):
        for op in ("READ", "READDIR", "READDIRPLUS"):
            assert files.call(op, node if op == "READ" else ROOT,
                              READ.pack(0, 0, size, 0, 0, 0, 0))[0] == errno.EINVAL
    for size in (0, 1, 23, 151):
        assert files.call("READDIRPLUS", ROOT, READ.pack(0, 0, size, 0, 0, 0, 0)) == (0, b"")


@pytest.mark.parametrize("kind", ["length", "short header", "type", "padding", "share", "early",
                                  "twice"])
def test_a_broken_envelope_ends_the_channel(place, kind):
    files = place.serve(start=kind != "early")
    head = IN_HEADER.pack(40, OPS["GETATTR"], 9, ROOT, 0, 0, 0, 0, 0)
    send = {
        "length": lambda: files.socket.sendall(struct.pack("<IBBH", 0xffffffff, FUSE, 0, 0)),
        "short header": lambda: files.send_record(FUSE, head[:39]),
        "type": lambda: files.send_record(9, head),
        "padding": lambda: files.socket.sendall(struct.pack("<IBBH", 40, FUSE, 0, 7) + head),
        "share": lambda: files.send_record(FUSE, head, 1),
        "early": lambda: files.send_record(FUSE, head),
        "twice": lambda: files.hello(),
    }[kind]
    with pytest.raises((ConnectionError, TimeoutError)):
        send()
        files.read_record()
    assert files.process.wait(timeout=5) == 1
    place.running.remove(files)
    place.check()


def test_the_length_inside_must_be_the_length_outside(place):
    files = place.serve()
    with pytest.raises(ConnectionError):
        files.call("GETATTR", ROOT, bytes(16), length=57)
    assert files.process.wait(timeout=5) == 1
    place.running.remove(files)


def test_replies_that_are_never_read(place, files):
    node = files.create("file").node
    files.write(node, bytes(1 << 20))
    files.socket.setblocking(False)
    request = struct.pack("<IBBH", 80, FUSE, 0, 0) + IN_HEADER.pack(
        80, OPS["READ"], 77, node, 0, 0, 0, 0, 0) + READ.pack(0, 0, 1 << 20, 0, 0, 0, 0)
    sent = 0
    end = time.monotonic() + 3
    while time.monotonic() < end and sent < 64 << 20:
        try:
            sent += files.socket.send(request * 1000)
        except BlockingIOError:
            time.sleep(0.05)
    with open(f"/proc/{files.process.pid}/status", encoding="ascii") as status:
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert memory < 40 << 10 and sent < 16 << 20
    files.process.kill()
    files.process.wait()
    place.running.remove(files)


def test_a_guest_that_goes_away_with_answers_unread(place):
    files = place.serve()
    node = files.create("file").node
    files.write(node, bytes(1 << 20))
    for _ in range(12):
        files.send("READ", node, READ.pack(0, 0, 1 << 20, 0, 0, 0, 0))
    time.sleep(0.3)
    place.check()


def test_many_requests_at_once_are_all_answered(files):
    node = files.create("file").node
    files.write(node, bytes(1 << 20))
    sent = []

    def send():
        for i in range(400):
            size = 1 << 20 if i % 4 == 0 else 100
            sent.append(files.send("READ", node, READ.pack(0, 0, size, 0, 0, 0, 0)))

    thread = threading.Thread(target=send)
    thread.start()
    thread.join(0.5)
    for i in range(400):
        while len(sent) <= i:
            time.sleep(0.001)
        assert files.receive(sent[i])[0] == 0
    thread.join()


def test_random_bytes_in_every_body(place, files):
    chance = random.Random(20261115)
    nodes = [ROOT, files.create("file").node, files.mkdir("folder").node,
             Entry(files.ok("SYMLINK", ROOT, name_of("link") + name_of("../canary"))).node]
    names = [b"file\0", b"folder\0", b"link\0", b"..\0", b"new\0", b"\0", b"a/b\0"]
    for _ in range(6000):
        op = chance.choice([*OPS.values()])
        if op in (OPS["DESTROY"], OPS["INIT"], OPS["SYNCFS"]):
            continue
        fixed = chance.choice([0, 8, 16, 24, 32, 40, 56, 88])
        body = bytearray(chance.randbytes(fixed))
        for at in range(0, fixed, 8):
            if chance.random() < 0.7:
                struct.pack_into("<Q", body, at, chance.choice(nodes + [0, 1, 2, 8, 4096]))
        for _ in range(chance.choice([0, 1, 2])):
            body += chance.choice(names)
        unique = files.send(op, chance.choice(nodes), bytes(body))
        if op not in NO_REPLY:
            files.receive(unique)
    for op in (OPS["FORGET"],):
        files.send(op, nodes[1], struct.pack("<Q", 1 << 40))
    assert files.readdir() is not None


def test_a_folder_swapped_for_a_link_outside(place, files):
    """W2, W3: a known folder becomes a link to the canaries, by the host's hand"""
    place.folder("folder")
    place.put("folder/secret", "inside")
    place.own()
    folder = files.lookup("folder").node
    node = files.lookup("secret", folder).node
    assert files.read(node) == b"inside"
    shutil.rmtree(place.host("folder"))
    os.symlink("../canaries", place.host("folder"))
    files.wait_notice(lambda notice: getattr(notice, "name", b"") == b"folder")
    # What was known is what it was, or gone; never what lies behind the link.
    for target, op, body in ((folder, "LOOKUP", b"secret\0"),
                             (folder, "CREATE", struct.pack("<IIII", 2, 0o644, 0, 0) + b"new\0"),
                             (folder, "UNLINK", b"other\0"),
                             (folder, "RENAME", struct.pack("<Q", ROOT) + b"secret\0got\0")):
        error, reply = files.call(op, target, body)
        assert error or Entry(reply).node == 0, op
    assert files.call("READ", node, READ.pack(0, 0, 99, 0, 0, 0, 0)) in (
        (0, b"inside"), (errno.ESTALE, b""))
    assert stat.S_ISLNK(files.lookup("folder").attr.mode)


def test_links_swapped_in_all_the_time(place, files):
    """W2: names change between folder, file and link to the canaries while in use"""
    stop = threading.Event()
    os.mkdir(place.host("a"))
    place.put("a/secret", "inside")
    os.symlink("../canaries", place.host("b"))
    os.symlink("../../canaries/secret", place.host("a/other"))
    place.own()
    top, folder_fd = os.open(place.path, os.O_PATH), os.open(place.host("a"), os.O_PATH)

    def swap():
        libc = __import__("ctypes").CDLL(None, use_errno=True)
        # By descriptor: our own path must not go through the link.
        while not stop.is_set():
            libc.renameat2(top, b"a", top, b"b", 2)
            libc.renameat2(folder_fd, b"secret", folder_fd, b"other", 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for folder_name in ("a", "b"):
                error, reply = files.call("LOOKUP", ROOT, name_of(folder_name))
                folder = Entry(reply).node if not error else 0
                if not folder:
                    continue
                for name in ("secret", "other"):
                    error, reply = files.call("LOOKUP", folder, name_of(name))
                    node = Entry(reply).node if not error else 0
                    if not node:
                        continue
                    error, data = files.call("READ", node, READ.pack(0, 0, 99, 0, 0, 0, 0))
                    assert b"untouched" not in data
                    files.call("WRITE", node, struct.pack("<QQIIQII", 0, 0, 6, 0, 0, 0, 0)
                               + b"inside")
                    for valid in (FATTR_MODE, FATTR_SIZE):
                        try:
                            files.setattr(node, valid, mode=0o644, size=6)
                        except OSError:
                            pass
                    files.call("SETXATTR", node, struct.pack("<II", 1, 0) + name_of("user.a")
                               + b"1")
                files.call("CREATE", folder, struct.pack("<IIII", os.O_CREAT | os.O_TRUNC, 0o644,
                                                         0, 0) + b"made\0")
                files.call("UNLINK", folder, b"made\0")
    finally:
        stop.set()
        thread.join()
        os.close(top)
        os.close(folder_fd)


def test_a_folder_moved_out_of_the_share(place, files):
    place.folder("folder/inner")
    place.put("folder/inner/file", "x")
    place.own()
    inner = files.walk("folder/inner")
    node = files.lookup("file", inner).node
    away = os.path.join(place.outside, "share-away")

    def told(notice):
        return getattr(notice, "name", b"") == b"folder"
    files.wait_notice(told)  # of its making
    files.notices.clear()
    os.rename(place.host("folder"), away)
    try:
        files.wait_notice(told)
        for op, target, body in (
                ("LOOKUP", inner, b"file\0"), ("MKDIR", inner, bytes(8) + b"new\0"),
                ("UNLINK", inner, b"file\0"), ("READ", node, READ.pack(0, 0, 9, 0, 0, 0, 0)),
                ("WRITE", node, struct.pack("<QQIIQII", 0, 0, 1, 0, 0, 0, 0) + b"y"),
                ("GETATTR", node, bytes(16)), ("READDIR", inner, READ.pack(0, 0, 999, 0, 0, 0, 0))):
            assert files.call(op, target, body)[0] == errno.ESTALE, op
        with open(os.path.join(away, "inner/file"), encoding="ascii") as file:
            assert file.read() == "x"
    finally:
        shutil.rmtree(away)


def test_a_read_only_share_is_read_only_on_the_host(place):
    place.put("file", "content")
    place.folder("folder")
    files = place.serve(read_only=True)
    node, folder = files.lookup("file").node, files.lookup("folder").node
    assert files.read(node) == b"content"
    requests = [(op, ROOT, body) for op, body in name_requests(b"name")
                if op not in ("LOOKUP",)]
    requests += [("WRITE", node, struct.pack("<QQIIQII", 0, 0, 1, 0, 0, 0, 0) + b"x"),
                 ("SETATTR", node, struct.pack("<II", FATTR_SIZE, 0) + bytes(80)),
                 ("SETATTR", node, struct.pack("<II", FATTR_MODE, 0) + bytes(80)),
                 ("SETATTR", folder, struct.pack("<II", 1 << 8, 0) + bytes(80)),
                 ("SETXATTR", node, struct.pack("<II", 1, 0) + name_of("user.a") + b"1"),
                 ("REMOVEXATTR", node, name_of("user.a")),
                 ("LINK", ROOT, struct.pack("<Q", node) + name_of("twin")),
                 ("UNLINK", ROOT, name_of("file")), ("RMDIR", ROOT, name_of("folder")),
                 ("RENAME", ROOT, struct.pack("<Q", folder) + name_of("file") + name_of("f")),
                 ("FALLOCATE", node, struct.pack("<QQQII", 0, 0, 9, 0, 0)),
                 ("COPY_FILE_RANGE", node, struct.pack("<QQQQQQQ", 0, 0, node, 0, 9, 1, 0))]
    for op, target, body in requests:
        assert files.call(op, target, body)[0] == errno.EROFS, op
    assert sorted(os.listdir(place.path)) == ["file", "folder"]
    assert place.get("file") == b"content"
    place.check()


def test_a_read_only_share_stays_so_seen_through_another(place):
    """W4: the guest's root unmounts the inner share and goes through the outer one"""
    place.folder("work/docs/deep")
    place.put("work/docs/deep/file", "kept")
    files = place.serve([share(place.host("work")), share(place.host("work/docs"),
                                                          read_only=True)])
    node = files.walk("docs/deep/file")
    with pytest.raises(OSError) as caught:
        files.write(node, b"gone")
    assert caught.value.errno == errno.EROFS
    docs, deep = files.walk("docs"), files.walk("docs/deep")
    for op, target, body in (("UNLINK", deep, b"file\0"), ("RMDIR", ROOT, b"docs\0"),
                             ("RENAME", ROOT, struct.pack("<Q", ROOT) + b"docs\0mine\0"),
                             ("RENAME", docs, struct.pack("<Q", ROOT) + b"deep\0mine\0"),
                             ("RENAME2", ROOT, struct.pack("<QII", docs, 0, 0) + b"docs\0d\0"),
                             ("LINK", ROOT, struct.pack("<Q", node) + b"twin\0"),
                             ("MKDIR", docs, bytes(8) + b"new\0")):
        assert files.call(op, target, body)[0] in (errno.EROFS, errno.EINVAL), op
    assert place.get("work/docs/deep/file") == b"kept"
    place.check()


def test_a_read_only_share_stays_so_when_what_it_lies_in_is_moved(place):
    """W4: not the inner share is moved, but the folder above it"""
    place.folder("work/above/docs/deep")
    place.put("work/above/docs/deep/file", "kept")
    files = place.serve([share(place.host("work")), share(place.host("work/above/docs"),
                                                          read_only=True)])
    error, _ = files.call("RENAME", ROOT, struct.pack("<Q", ROOT) + b"above\0away\0")
    where = "above" if error else "away"
    with pytest.raises(OSError) as caught:
        files.write(files.walk(f"{where}/docs/deep/file"), b"gone")
    assert caught.value.errno == errno.EROFS
    deep = files.walk(f"{where}/docs/deep")
    for op, target, body in (("UNLINK", deep, b"file\0"), ("MKDIR", deep, bytes(8) + b"new\0"),
                             ("RENAME", deep, struct.pack("<Q", ROOT) + b"file\0mine\0")):
        assert files.call(op, target, body)[0] == errno.EROFS, op
    assert place.get(f"work/{where}/docs/deep/file") == b"kept"
    place.check()


def test_a_share_behind_a_planted_link_is_not_opened(place):
    """W2: a folder above an inner share becomes a link out, and the server starts again"""
    place.folder("work/above/canaries")
    place.put("work/above/canaries/mine", "inside")
    shares = [share(place.host("work")), share(place.host("work/above/canaries"))]
    files = place.serve(shares)
    assert files.call("RENAME", ROOT, struct.pack("<Q", ROOT) + b"above\0away\0")[0] == 0
    assert files.call("SYMLINK", ROOT, b"above\0" + name_of(place.outside))[0] == 0
    assert files.close() == 0
    place.running.remove(files)
    other = place.serve(shares, start=False)
    other.hello(0)
    other.init(share=0)
    # it is left out, and the other one goes on
    assert other.call("INIT", 0, struct.pack("<IIIII", 7, 38, 0, 0, 0) + bytes(44), 1)[0] \
        == errno.ENODEV
    assert other.call("LOOKUP", ROOT, b"secret\0", 1)[0] == errno.ENODEV
    assert other.read(other.walk("away/canaries/mine")) == b"inside"
    place.check()


def test_one_share_that_is_gone_does_not_take_the_others_along(place):
    place.folder("work")
    place.put("work/file", "here")
    place.put("single", "gone soon")
    shares = [share(place.host("work")), share(place.host("single"))]
    os.unlink(place.host("single"))
    files = place.serve(shares, start=False)
    files.hello(0)
    files.init(share=0)
    assert files.read(files.lookup("file").node) == b"here"
    assert files.call("GETATTR", ROOT, bytes(16), 1)[0] == errno.ENODEV
    place.check()
    # without the workspace there is nothing to serve
    os.rename(place.host("work"), place.host("away"))
    other = place.serve(shares, start=False)
    said = other.process.communicate(timeout=20)[1].decode()
    place.running.remove(other)
    assert other.process.returncode not in (None, 0), said
    assert "No such file" in said and len(said.splitlines()) == 1


def test_hidden_paths_do_not_exist(place):
    for name in ("secrets/keys", "public", "nested/secrets/keys"):
        place.folder(name)
    for name in ("secrets/keys/id", ".env", "public/.env", "public/page", "nested/secrets/x.pem",
                 "nested/secrets/keys/id"):
        place.put(name, "hidden")
    files = place.serve(hide=["/secrets/keys", ".env", "nested/**/*.pem"])
    secrets, public = files.walk("secrets"), files.walk("public")
    assert set(files.readdir(secrets)) == {".", ".."}
    assert set(files.readdir(ROOT, plus=True)) == {".", "..", "secrets", "public", "nested"}
    assert set(files.readdir(public)) == {".", "..", "page"}
    inner = files.walk("nested/secrets")
    assert set(files.readdir(inner)) == {".", "..", "keys"}
    for folder, name in ((secrets, b"keys"), (ROOT, b".env"), (ROOT, b".ENV"), (public, b".env"),
                         (inner, b"x.pem")):
        error, reply = files.call("LOOKUP", folder, name + b"\0")
        assert error == errno.ENOENT or Entry(reply).node == 0
        for op, body in name_requests(name):
            if op in ("MKNOD", "MKDIR", "SYMLINK", "CREATE"):
                assert files.call(op, folder, body)[0] == errno.EACCES, (op, name)
            elif op != "LOOKUP":
                assert files.call(op, folder, body)[0] in (errno.ENOENT, errno.EACCES), (op, name)
        assert files.call("RENAME", public, struct.pack("<Q", folder) + b"page\0" + name + b"\0")[0] \
            == errno.EACCES
    # Moving the folder would show what it hides.
    for old, target in ((b"secrets", ROOT), (b"nested", ROOT)):
        assert files.call("RENAME", ROOT, struct.pack("<Q", target) + old + b"\0shown\0")[0] \
            == errno.EPERM
        assert files.call("RENAME2", ROOT, struct.pack("<QII", ROOT, 2, 0) + b"public\0" + old
                          + b"\0")[0] == errno.EPERM
    assert files.call("RENAME", files.walk("nested"), struct.pack("<Q", ROOT)
                      + b"secrets\0shown\0")[0] == errno.EPERM
    assert files.call("RMDIR", ROOT, b"secrets\0")[0] == errno.ENOTEMPTY
    files.rename("page", "page2", public, public)
    files.rename("public", "shown")
    place.check()


def row_of(path):
    """A file for the list of hidden ones, as statx() tells it: with when it was made."""
    st = os.stat(path)
    made = subprocess.run(["stat", "-c", "%.9W", path], check=True, capture_output=True,
                          text=True).stdout.strip().lstrip("-?")
    seconds, _, rest = made.partition(".")
    return [os.major(st.st_dev), os.minor(st.st_dev), st.st_ino,
            int(seconds or 0) * 10 ** 9 + int(rest or 0)]


def test_a_hidden_file_is_absent_under_every_name(place):
    place.folder("sub")
    place.put(".env", "hidden")
    place.put("sub/.env", "hidden")
    os.link(place.host(".env"), place.host("copy"))
    os.link(place.host(".env"), place.host("sub/copy"))
    place.put("other", "seen")
    os.link(place.host("other"), place.host("another"))
    rows = [row_of(place.host(name)) for name in (".env", "sub/.env")]
    # a number that was given again is another file
    rows.append([*row_of(place.host("other"))[:3], 1])
    files = place.serve(hide=[".env"], unseen=rows)
    sub = files.walk("sub")
    for plus in (False, True):
        assert set(files.readdir(ROOT, plus=plus)) == {".", "..", "sub", "other", "another"}
        assert set(files.readdir(sub, plus=plus)) == {".", ".."}
    for folder in (ROOT, sub):
        error, reply = files.call("LOOKUP", folder, b"copy\0")
        assert error == errno.ENOENT or Entry(reply).node == 0
        for op, body in name_requests(b"copy"):
            if op != "LOOKUP":
                assert files.call(op, folder, body)[0] in (errno.ENOENT, errno.EACCES), op
    assert files.call("RENAME", ROOT, struct.pack("<Q", sub) + b"other\0copy\0")[0] == errno.EACCES
    assert place.get("copy") == b"hidden" and place.get("sub/copy") == b"hidden"
    # one that gets another name later
    os.link(place.host("sub/.env"), place.host("later"))
    error, reply = files.call("LOOKUP", ROOT, b"later\0")
    assert error == errno.ENOENT or Entry(reply).node == 0
    assert files.read(files.lookup("another").node) == b"seen"
    place.check()


def test_own_folders_are_absent(place):
    place.folder("data/state/sandboxes")
    place.put("data/state/key", "secret")
    files = place.serve(absent=[place.host("data/state")])
    data = files.walk("data")
    assert set(files.readdir(data)) == {".", ".."}
    assert set(files.readdir(data, plus=True)) == {".", ".."}
    error, reply = files.call("LOOKUP", data, b"state\0")
    assert error == errno.ENOENT or Entry(reply).node == 0
    assert files.call("RENAME", data, struct.pack("<Q", ROOT) + b"state\0x\0")[0] == errno.ENOENT
    assert files.call("RMDIR", data, b"state\0")[0] == errno.ENOENT
    place.check()


def test_the_quota_of_bytes(place):
    files = place.serve(quota_bytes=4 << 20)
    node = files.create("file").node
    written = 0
    with pytest.raises(OSError) as caught:
        for _ in range(100):
            written += files.write(node, os.urandom(1 << 20), written)
    assert caught.value.errno == errno.EDQUOT and written <= 5 << 20
    assert files.call("CREATE", ROOT, struct.pack("<IIII", 2, 0o644, 0, 0) + b"more\0")[0] \
        == errno.EDQUOT
    # Sparse does not help, nor does allocation, nor an unlinked file.
    files.setattr(node, FATTR_SIZE, size=1 << 40)
    assert files.call("WRITE", node, struct.pack("<QQIIQII", 0, 1 << 39, 1, 0, 0, 0, 0) + b"x")[0] \
        == errno.EDQUOT
    assert files.call("FALLOCATE", node, struct.pack("<QQQII", 0, 0, 1 << 41, 0, 0))[0] \
        == errno.EDQUOT
    files.ok("UNLINK", ROOT, name_of("file"))
    assert files.call("WRITE", node, struct.pack("<QQIIQII", 0, 1 << 39, 1, 0, 0, 0, 0) + b"x")[0] \
        == errno.EDQUOT
    files.send("FORGET", node, struct.pack("<Q", 1))
    again = files.create("again").node
    assert files.write(again, bytes(4096)) == 4096
    free = struct.unpack_from("<QQQ", files.ok("STATFS"))[2]
    assert free * 4096 <= 4 << 20
    place.check()


def test_the_quota_counts_attributes(place):
    files = place.serve(quota_bytes=1 << 20)
    with pytest.raises(OSError) as caught:
        for number in range(2000):
            node = files.create(f"file{number}").node
            files.ok("SETXATTR", node, struct.pack("<II", 2048, 0) + b"user.a\0" + bytes(2048))
            if number % 2:
                files.ok("REMOVEXATTR", node, b"user.a\0")
    if caught.value.errno == errno.EOPNOTSUPP:
        pytest.skip("this file system has no attributes")
    assert caught.value.errno == errno.EDQUOT and 1000 < number < 1100
    place.check()


def test_the_quota_of_inodes(place):
    files = place.serve(quota_inodes=5)
    for i in range(5):
        files.mkdir(f"d{i}")
    for op, body in name_requests(b"more"):
        if op in ("MKNOD", "MKDIR", "SYMLINK", "CREATE"):
            assert files.call(op, ROOT, body)[0] == errno.EDQUOT, op
    for i in range(5):
        node = files.lookup(f"d{i}").node
        files.ok("RMDIR", ROOT, name_of(f"d{i}"))
        files.send("FORGET", node, struct.pack("<Q", 99))
    files.mkdir("again")
    place.check()


def test_a_very_deep_tree(place, files):
    node = ROOT
    for _ in range(1500):
        error, reply = files.call("MKDIR", node, struct.pack("<II", 0o755, 0) + b"d\0")
        if error:
            break
        node = Entry(reply).node
    files.call("GETATTR", node, bytes(16))
    files.call("CREATE", node, struct.pack("<IIII", 2, 0o644, 0, 0) + b"file\0")
    assert files.getattr(ROOT)


def test_hard_links_never_leave_the_share(place, files):
    node = files.create("file").node
    for name in BAD_NAMES:
        assert files.call("LINK", ROOT, struct.pack("<Q", node) + name + b"\0")[0] == errno.EINVAL
    folder = files.mkdir("folder").node
    assert files.call("LINK", ROOT, struct.pack("<Q", folder) + b"twin\0")[0] == errno.EPERM
    assert files.call("LINK", node, struct.pack("<Q", node) + b"twin\0")[0] == errno.ENOTDIR
