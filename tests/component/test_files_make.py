# SPDX-License-Identifier: Apache-2.0
"""bawn-files and files that the guest makes without waiting: SPARE and MAKE

The guest's side is raw: what a relay would never send is sent here. Each test
that serves ends with place.check(): the process is alive and in order, and
nothing outside the share has changed.
"""
import errno
import os
import struct
import time

import pytest

from fuse_client import (AHEAD, ATTR, FATTR_MODE, FUSE, INVAL_INODE, IN_HEADER, KEEPS_LISTINGS, MAKE,
                         MAKES_FILES, OPS, READS_ROOM, ROOM, ROOT, SPARE, Attr, name_of, share)
from test_files_guard import Guarded
from test_files_hostile import BAD_NAMES

SPARES, WORTH, INODES_LEAST = 64, 16, 1024
OPEN = os.O_RDWR | os.O_CREAT
MAKES = MAKES_FILES | READS_ROOM
NOTE, NOTES, STATE = 192, 4096, 43  # as in test_files_again.py
WATCHED_S = 60  # less than what is believed for long


@pytest.fixture
def maker(place):
    """A server for a relay that makes files, and a folder that the guest has made"""
    served = place.serve(features=MAKES)
    served.folder = served.mkdir("folder").node
    yield served
    place.check()


def requests(node):
    """Everything that has to do with this node: opcode, header's node, body"""
    io = struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0)
    yield from [("GETATTR", node, bytes(16)), ("SETATTR", node, bytes(88)),
                ("READ", node, io), ("WRITE", node, io + b"evil"), ("READLINK", node, b""),
                ("OPEN", node, bytes(8)), ("OPENDIR", node, bytes(8)),
                ("READDIR", node, io), ("READDIRPLUS", node, io), ("FSYNC", node, bytes(16)),
                ("GETXATTR", node, bytes(8) + b"user.a\0"), ("LISTXATTR", node, bytes(8)),
                ("FALLOCATE", node, struct.pack("<QQQII", 0, 0, 10, 0, 0)),
                ("LSEEK", node, bytes(24)), ("LOOKUP", node, b"x\0"),
                ("CREATE", node, struct.pack("<IIII", OPEN, 0o644, 0, 0) + b"x\0"),
                ("MKDIR", node, struct.pack("<II", 0o755, 0) + b"x\0"),
                ("UNLINK", node, b"x\0"), ("LINK", ROOT, struct.pack("<Q", node) + b"x\0")]


def is_nothing(files, node, share=0):
    return all(files.call(op, at, body, share)[0] == errno.ESTALE
               for op, at, body in requests(node))


def folder_times(files):
    """What came of a folder's attributes ahead: (share, node) -> the last of them"""
    found = {}
    for kind, index, payload in files.raw:
        opcode, _, node, _ = struct.unpack_from("<IIQQ", payload) if kind == AHEAD else [None] * 4
        if opcode == OPS["GETATTR"]:
            found[index, node] = Attr(payload[40:40 + ATTR.size])
    return found


def wait(fact):
    end = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.002)


# Who is given some

def test_a_relay_without_a_use_for_them_gets_none(place, files):
    files.mkdir("folder")
    assert not files.spares() and os.listdir(place.path) == ["folder"]


def test_they_follow_a_new_folder_that_is_known_to_be_empty(maker):
    spares = maker.spares()
    assert len(spares) == len(set(spares)) == SPARES and ROOT not in spares
    kinds = [struct.unpack_from("<IIQ", payload)[::2] if kind == AHEAD else kind
             for kind, _, payload in maker.raw]
    assert kinds[kinds.index(SPARE) - 1] == (OPS["MKDIR"], maker.folder)


def test_nothing_but_a_new_folder_brings_them(place):
    place.folder("old")
    files = place.serve(features=MAKES)
    old = files.lookup("old").node
    files.create("file", old)
    files.readdir(old, plus=True)
    assert not files.spares()
    assert files.call("MKDIR", ROOT, struct.pack("<II", 0o755, 0) + b"old\0")[0] == errno.EEXIST
    assert not files.spares()
    place.check()


def test_there_are_never_more_than_the_most_and_refills_are_worth_it(maker):
    spares = maker.spares()
    for n in range(10):
        maker.mkdir(f"more{n}")
    assert maker.spares() == spares
    for n in range(3 * WORTH):
        assert maker.make(f"f{n}", spares[n], maker.folder)[0] == 0
        given = maker.spares()
        assert len(given) == SPARES + (n + 1) // WORTH * WORTH == len(set(given))
    assert given[:SPARES] == spares


def test_those_that_failed_are_replaced_too(maker):
    spares = maker.spares()
    for n in range(WORTH):
        assert maker.make("..", spares[n], maker.folder)[0] == errno.EINVAL
    given = maker.spares()
    assert len(given) == SPARES + WORTH == len(set(given))


def test_each_share_has_its_own(place):
    shares = []
    for name in ("one", "two"):
        place.folder(name)
        shares.append(share(place.host(name)))
    files = place.serve(shares, features=MAKES)
    files.mkdir("folder")
    assert len(files.spares()) == SPARES and not files.spares(1)
    files.mkdir("folder", share=1)
    assert len(files.spares(1)) == SPARES and not set(files.spares()) & set(files.spares(1))
    place.check()


@pytest.mark.parametrize("own", [{"hide": ["*.key"]}, {"quota_inodes": INODES_LEAST - 1}],
                         ids=["hides names", "nearly full"])
def test_shares_where_names_may_be_refused_have_none(place, own):
    files = place.serve(features=MAKES, **own)
    folder = files.mkdir("folder").node
    assert not files.spares()
    assert files.make("file", folder + 1, folder)[0] == errno.ESTALE
    assert not files.spares() and os.listdir(place.host("folder")) == []
    place.check()


def test_a_share_with_inodes_left_has_some_until_they_are_few(place):
    """The relay hears of it long before the first one fails."""
    files = place.serve(features=MAKES, quota_inodes=INODES_LEAST + WORTH)
    folder = files.mkdir("folder").node
    spares = files.spares()
    assert len(spares) == SPARES
    for n in range(INODES_LEAST // 2):
        files.create(f"other{n}", folder)
    rooms = [struct.unpack("<I", payload)[0] for kind, _, payload in files.raw if kind == ROOM]
    assert rooms[-1] == 0
    for n, spare in enumerate(spares):
        assert files.make(f"f{n}", spare, folder)[0] == 0
    assert files.spares() == spares
    place.check()


@pytest.mark.parametrize("own", [{"read_only": True}, {"overlay": True}],
                         ids=["read-only", "overlay"])
def test_shares_that_are_not_written_to_have_none(place, own):
    place.folder("share/folder")
    place.folder("other")
    files = place.serve([share(place.host("share"), **own), share(place.host("other"))],
                        features=MAKES)
    folder = files.lookup("folder").node
    other = files.mkdir("folder", share=1).node
    spare = files.spares(1)[0]
    assert files.call("MKDIR", folder, struct.pack("<II", 0o755, 0) + b"x\0")[0] == errno.EROFS
    for node in (spare, folder, ROOT, folder + 1):
        assert files.make("file", node, folder)[0] in (errno.EROFS, errno.ESTALE)
    assert not files.spares() and os.listdir(place.host("share/folder")) == []
    assert files.make("file", spare, other, share=1)[0] == 0
    place.check()


# What they are good for

def test_a_made_file_has_the_node_that_the_kernel_was_told(place, maker):
    spare, folder = maker.spares()[0], maker.folder
    error, entry = maker.make("file", spare, folder, mode=0o640)
    assert (error, entry.node, entry.generation) == (0, spare, spare >> 32)
    st = os.stat(place.host("folder/file"))
    assert st.st_mode & 0o777 == 0o640
    assert st.st_uid == place.uid or os.geteuid() != 0
    for attr in (entry.attr, maker.getattr(spare), maker.lookup("file", folder).attr):
        assert attr.ino == st.st_ino and attr.size == 0
    assert maker.lookup("file", folder).node == spare
    assert maker.readdir(folder, plus=True)["file"].node == spare
    assert maker.write(spare, b"content") == 7
    assert maker.read(spare) == b"content" == place.get("folder/file")
    maker.setattr(spare, FATTR_MODE, mode=0o600)
    maker.rename("file", "moved", folder, ROOT)
    assert maker.lookup("moved").node == spare and place.get("moved") == b"content"
    maker.ok("UNLINK", ROOT, name_of("moved"))
    maker.send("FORGET", spare, struct.pack("<Q", 100))
    assert is_nothing(maker, spare)


def test_a_request_may_follow_before_the_answer(place, maker):
    spare = maker.spares()[0]
    made = maker.send_make("file", spare, maker.folder)
    io = struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0)
    written = maker.send("WRITE", spare, io + b"data")
    assert (maker.receive(made)[0], maker.receive(written)[0]) == (0, 0)
    assert place.get("folder/file") == b"data"


def test_its_folder_has_other_times_at_the_end_of_the_turn(place, maker):
    spares = maker.spares()
    second = maker.mkdir("second").node
    for name in ("folder", "second"):
        os.utime(place.host(name), (5, 5))
    maker.ok("STATFS", ROOT)
    maker.raw.clear()
    sent = [maker.send_make(f"f{n}", spares[n], (maker.folder, second)[n // 4 % 2])
            for n in range(WORTH - 1)]
    assert not any(maker.receive(unique)[0] for unique in sent)
    # Nothing else is asked: it comes by itself.
    maker.socket.settimeout(5)
    for folder, name in ((maker.folder, "folder"), (second, "second")):
        mtime = os.stat(place.host(name)).st_mtime_ns
        while (0, folder) not in folder_times(maker) or mtime != (
                folder_times(maker)[0, folder].mtime * 10**9
                + folder_times(maker)[0, folder].mtimensec):
            kind, index, payload = maker.read_record()
            assert kind != FUSE
            maker.raw.append((kind, index, payload))


def test_what_it_made_is_not_told_as_the_hosts_but_the_hosts_is(place, maker):
    spare = maker.spares()[0]
    assert maker.make("file", spare, maker.folder)[0] == 0
    place.put("folder/another", "x")
    maker.wait_notice(lambda notice: getattr(notice, "name", b"") == b"another")
    assert not [notice for notice in maker.notices
                if notice.node == spare or getattr(notice, "name", b"") == b"file"]
    os.chmod(place.host("folder/file"), 0o600)
    maker.wait_notice(lambda notice: notice.code == INVAL_INODE and notice.node == spare)


# Ids that are not good for it

def test_before_it_is_made_an_id_is_nothing(place, maker):
    spare, other = maker.spares()[:2]
    assert is_nothing(maker, spare)
    file = maker.create("file").node
    for op, body in (("RENAME", struct.pack("<Q", spare) + b"file\0x\0"),
                     ("RENAME2", struct.pack("<QII", spare, 0, 0) + b"file\0x\0")):
        assert maker.call(op, ROOT, body)[0] == errno.ESTALE
    assert maker.call("COPY_FILE_RANGE", file, struct.pack(
        "<QQQQQQQ", 0, 0, spare, 0, 0, 4, 0))[0] == errno.ESTALE
    for count in (1, (1 << 64) - 1):
        maker.send("FORGET", spare, struct.pack("<Q", count))
        maker.send("BATCH_FORGET", 0, struct.pack("<IIQQ", 1, 0, spare, count))
    # Nor can something be made in it, and it is good for its purpose still.
    assert maker.make("x", other, spare)[0] == errno.ESTALE
    error, entry = maker.make("file", spare, maker.folder)
    assert (error, entry.node) == (0, spare)
    assert sorted(os.listdir(place.path)) == ["file", "folder"]


def test_ids_that_were_never_given(place, maker):
    spares = maker.spares()
    last = max(spares, key=lambda node: node & 0xffffffff)
    for node in (2, 64, 65, last + 1, last + (1 << 32), last ^ (1 << 63), last & 0xffffffff,
                 1 << 32, (1 << 64) - 1, (last >> 32) << 32):
        assert maker.make("file", node, maker.folder)[0] == errno.ESTALE, node
        assert maker.make("file", node, maker.folder, flags=OPEN | os.O_TRUNC)[0] == errno.ESTALE
    assert os.listdir(place.host("folder")) == []
    assert maker.spares() == spares
    assert maker.make("file", spares[-1], maker.folder)[0] == 0


def test_ids_of_something_else(place, maker):
    spares = maker.spares()
    used, other = spares[0], maker.create("other").node
    maker.write(other, b"other")
    assert maker.make("used", used, maker.folder)[0] == 0
    maker.write(used, b"used")
    before = {node: vars(maker.getattr(node)) for node in (used, other)}
    for n, node in enumerate((used, other, maker.folder, ROOT)):
        for m, flags in enumerate((OPEN, OPEN | os.O_EXCL, OPEN | os.O_TRUNC)):
            assert maker.make(f"new{n}{m}", node, maker.folder, flags=flags)[0]
            assert maker.make("x", node, node, flags=flags)[0]
    assert {node: vars(maker.getattr(node)) for node in (used, other)} == before
    assert (place.get("other"), place.get("folder/used")) == (b"other", b"used")
    assert maker.lookup("other").node == other and maker.lookup("folder").node == maker.folder
    assert maker.lookup("used", maker.folder).node == used
    # What it has no node for can be looked up, as any other.
    for name in os.listdir(place.host("folder")):
        assert maker.lookup(name, maker.folder).node not in (other, maker.folder, ROOT)


def test_a_file_that_has_another_node_is_not_opened_as_this_one(place, maker):
    spare, folder = maker.spares()[0], maker.folder
    node = maker.create("file", folder).node
    maker.write(node, b"content")
    for flags in (OPEN, OPEN | os.O_TRUNC, OPEN | os.O_EXCL):
        assert maker.make("file", spare, folder, flags=flags)[0] in (errno.EEXIST, errno.ESTALE)
    assert place.get("folder/file") == b"content" and maker.getattr(node).size == 7
    assert is_nothing(maker, spare) and spare not in maker.spares()[SPARES:]


def test_ids_of_another_share(place):
    for name in ("one", "two"):
        place.folder(name)
    files = place.serve([share(place.host(name)) for name in ("one", "two")],
                        features=MAKES)
    folders = [files.mkdir("folder", share=index).node for index in range(2)]
    spares = [files.spares(index) for index in range(2)]
    assert files.make("file", spares[0][0], folders[1], share=1)[0] == errno.ESTALE
    assert files.make("file", folders[0], folders[1], share=1)[0] == errno.ESTALE
    assert files.make("file", spares[0][0], folders[1])[0] == errno.ESTALE
    assert is_nothing(files, spares[0][1]) and is_nothing(files, spares[0][1], 1)
    assert not os.listdir(place.host("one/folder")) + os.listdir(place.host("two/folder"))
    error, entry = files.make("file", spares[0][1], folders[0])
    assert (error, entry.node) == (0, spares[0][1])
    assert is_nothing(files, entry.node, 1)
    place.check()


# Names that are taken, or none

@pytest.mark.parametrize("flags", [OPEN | os.O_EXCL, OPEN, OPEN | os.O_TRUNC],
                         ids=["excl", "open", "trunc"])
def test_what_the_host_was_faster_with_is_the_hosts(place, maker, flags):
    """Also without O_EXCL: the guest's kernel was told that it is new and empty."""
    spares = maker.spares()
    place.put("folder/file", "host")
    before = os.stat(place.host("folder/file"))
    assert maker.make("file", spares[0], maker.folder, flags=flags)[0] == errno.EEXIST
    assert is_nothing(maker, spares[0])
    assert maker.make("other", spares[0], maker.folder)[0] == errno.ESTALE
    for n in range(1, 2 * SPARES):
        assert maker.make(f"f{n}", maker.spares()[n], maker.folder)[0] == 0
    given = maker.spares()
    assert len(given) == len(set(given)) and is_nothing(maker, spares[0])
    assert place.get("folder/file") == b"host"
    after = os.stat(place.host("folder/file"))
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    node = maker.lookup("file", maker.folder).node
    assert node not in given and maker.read(node) == b"host"


def test_what_is_no_file_is_not_opened(place, maker):
    spares = maker.spares()
    os.symlink("../../canary", place.host("folder/link"))
    os.symlink("nothing", place.host("folder/loose"))
    os.mkdir(place.host("folder/inner"))
    os.mkfifo(place.host("folder/fifo"))
    place.own()
    for name in ("link", "loose", "inner", "fifo"):
        for flags in (OPEN, OPEN | os.O_TRUNC, OPEN | os.O_EXCL):
            spare = spares.pop()
            assert maker.make(name, spare, maker.folder, flags=flags)[0] == errno.EEXIST
            assert is_nothing(maker, spare)
    assert sorted(os.listdir(place.host("folder"))) == ["fifo", "inner", "link", "loose"]


def test_names_are_refused_as_usual(place, maker):
    spares = maker.spares()
    for name in BAD_NAMES:
        assert maker.make(name, spares[-1], maker.folder)[0] == errno.EINVAL, name
        assert is_nothing(maker, spares.pop())
    for length in (256, 4000):
        assert maker.make("n" * length, spares.pop(), maker.folder)[0] == errno.ENAMETOOLONG
    assert maker.make("file", spares.pop(), maker.folder, more=b"x")[0] == errno.EINVAL
    assert maker.make("n" * 255, spares.pop(), maker.folder)[0] == 0
    assert os.listdir(place.host("folder")) == ["n" * 255]


def test_folders_that_are_none(place, maker):
    spares = maker.spares()
    file = maker.create("file").node
    assert maker.make("x", spares[0], file)[0] == errno.ENOTDIR
    assert maker.make("x", spares[1], file + (1 << 32))[0] == errno.ESTALE
    gone = maker.mkdir("gone").node
    maker.ok("RMDIR", ROOT, name_of("gone"))
    assert maker.make("x", spares[2], gone)[0]
    assert all(is_nothing(maker, spare) for spare in spares[:3])
    assert sorted(os.listdir(place.path)) == ["file", "folder"]


# Envelopes

def records(folder, spare):
    """Those that nobody who knows how would send: what is wrong -> payload"""
    create = struct.pack("<IIII", OPEN, 0o644, 0, 0) + b"x\0"

    def payload(opcode="CREATE", body=create, make=spare, start=0, length=None):
        message = IN_HEADER.pack(40 + len(body) if length is None else length,
                                 OPS.get(opcode, opcode), 9, folder, 0, 0, 0, 0, 0) + body
        return (message + struct.pack("<Q", make))[start:]
    return {
        "LOOKUP": payload("LOOKUP", b"x\0"),
        "GETATTR": payload("GETATTR", bytes(16)),
        "MKDIR": payload("MKDIR", struct.pack("<II", 0o755, 0) + b"x\0"),
        "MKNOD": payload("MKNOD", struct.pack("<IIII", 0o100644, 0, 0, 0) + b"x\0"),
        "WRITE": payload("WRITE", struct.pack("<QQIIQII", 0, 0, 1, 0, 0, 0, 0) + b"x"),
        "FORGET": payload("FORGET", bytes(8)),
        "INIT": payload("INIT", bytes(64)),
        "unknown opcode": payload(0xffff),
        "no message": payload(start=40 + len(create)),
        "no node": payload(start=40 + len(create) + 1),
        "nothing": b"",
        "part of a message": payload(start=40),
        "length": payload(length=41),
        "length with the node": payload(length=40 + len(create) + 8),
        "node 0": payload(make=0),
        # In order, but for when and to whom.
        "share": payload(),
        "early": payload(),
    }


@pytest.mark.parametrize("kind", [*records(0, 0), "spare"])
def test_a_broken_envelope_ends_the_channel(place, kind):
    files = place.serve(features=MAKES, start=kind != "early")
    folder = spare = ROOT
    if kind != "early":
        folder = files.mkdir("folder").node
        spare = files.spares()[0]
    if kind == "spare":
        files.send_record(SPARE, struct.pack("<Q", spare))
    else:
        files.send_record(MAKE, records(folder, spare)[kind], 1 if kind == "share" else 0)
    with pytest.raises((ConnectionError, TimeoutError)):
        files.receive(9)
    assert files.process.wait(timeout=5) == 1
    assert kind == "early" or os.listdir(place.host("folder")) == []
    place.running.remove(files)
    place.check()


def test_before_the_mount_nothing_is_made(place):
    files = place.serve(features=MAKES, start=False)
    files.hello()
    assert files.make("file", ROOT)[0] == errno.EIO
    assert files.make("file", 1 << 32 | 65)[0] == errno.EIO
    assert os.listdir(place.path) == []
    place.check()


# A successor

class Killed:
    """A process that ends with its answers unread, and its successor."""

    def __init__(self, place):
        self.place, self.memory = place, os.memfd_create("nodes")
        self.files = self.serve()
        self.folder = self.files.mkdir("folder").node
        self.spares = self.files.spares()
        self.files.unique = 1000

    def serve(self, **more):
        return self.place.serve(**{"memory": self.memory, "features": MAKES, **more})

    def kill(self):
        self.files.process.kill()
        self.files.process.wait()
        self.place.running.remove(self.files)

    def succeed(self, **more):
        self.files = self.serve(**{"initialised": 1, **more})
        self.files.unique = 100000
        return self.files

    def again(self, unique, *args, **more):
        """As the relay sends it: under the same number."""
        self.files.unique, later = unique - 2, self.files.unique
        result = self.files.make(*args, **more)
        self.files.unique = later
        return result

    def only_begun(self):
        """As if it had been killed before it could write the answer down."""
        start = os.fstat(self.memory).st_size - NOTES * NOTE
        for at in range(start, start + NOTES * NOTE, NOTE):
            if os.pread(self.memory, 1, at + STATE) == b"\2":
                os.pwrite(self.memory, b"\1", at + STATE)


@pytest.fixture
def killed(place):
    one = Killed(place)
    yield one
    os.close(one.memory)
    place.check()


@pytest.mark.parametrize("initialised", [0, 1], ids=["new mount", "same mount"])
def test_a_successor_offers_what_was_left(killed, initialised):
    for n in range(3):
        assert killed.files.make(f"f{n}", killed.spares[n], killed.folder)[0] == 0
    killed.kill()
    files = killed.succeed(initialised=initialised)
    assert not files.spares()
    files.mkdir("another")
    spares = files.spares()
    assert len(spares) == SPARES == len(set(spares))
    assert set(killed.spares[3:]) < set(spares) and not set(killed.spares[:3]) & set(spares)


def test_a_successor_of_a_relay_without_a_use_for_them_offers_none(killed):
    killed.kill()
    files = killed.succeed(features=0)
    files.mkdir("another")
    assert not files.spares()


@pytest.mark.parametrize("begun", [False, True], ids=["answered", "begun"])
@pytest.mark.parametrize("flags", [OPEN | os.O_EXCL, OPEN, OPEN | os.O_TRUNC],
                         ids=["excl", "open", "trunc"])
def test_what_was_made_is_the_same_node_again(killed, begun, flags):
    args = ("file", killed.spares[5], killed.folder)
    unique = killed.files.send_make(*args, flags=flags)
    assert killed.files.receive(unique)[0] == 0
    ino = os.stat(killed.place.host("folder/file")).st_ino
    killed.kill()
    if begun:
        killed.only_begun()
    files = killed.succeed()
    error, entry = killed.again(unique, *args, flags=flags)
    assert (error, entry.node, entry.attr.ino) == (0, killed.spares[5], ino)
    files.write(entry.node, b"goes on")
    assert killed.place.get("folder/file") == b"goes on"
    assert files.lookup("file", killed.folder).node == entry.node
    assert entry.node not in files.spares()


def test_what_was_not_made_is_made_as_the_same_node(killed):
    killed.kill()
    files = killed.succeed()
    for n in reversed(range(SPARES)):
        error, entry = killed.again(2000 + 2 * n, f"f{n}", killed.spares[n], killed.folder)
        assert (error, entry.node) == (0, killed.spares[n])
        files.write(entry.node, b"x")
    assert len(os.listdir(killed.place.host("folder"))) == SPARES
    # Told again meanwhile: who has sent one does not take it for another.
    assert len(set(files.spares()) - set(killed.spares)) >= SPARES - WORTH


def test_what_failed_fails_again(killed):
    killed.place.put("folder/file", "host")
    unique = killed.files.send_make("file", killed.spares[0], killed.folder)
    assert killed.files.receive(unique)[0] == errno.EEXIST
    killed.kill()
    files = killed.succeed()
    assert killed.again(unique, "file", killed.spares[0], killed.folder)[0] == errno.EEXIST
    assert is_nothing(files, killed.spares[0]) and killed.place.get("folder/file") == b"host"
    files.mkdir("another")
    assert killed.spares[0] not in files.spares()


def test_what_was_made_and_forgotten_was_made(killed):
    """The answer died with its server, and what followed was done."""
    unique = killed.files.send_make("file", killed.spares[0], killed.folder)
    assert killed.files.receive(unique)[0] == 0
    killed.files.ok("UNLINK", killed.folder, name_of("file"))
    killed.files.send("FORGET", killed.spares[0], struct.pack("<Q", 1))
    killed.files.ok("STATFS", ROOT)
    killed.kill()
    files = killed.succeed()
    assert killed.again(unique, "file", killed.spares[0], killed.folder)[0] == 0
    assert os.listdir(killed.place.host("folder")) == [] and files.alive()


@pytest.mark.parametrize("moment", [1, 20, 40, 60])
def test_all_of_them_survive_a_kill_at_any_moment(killed, moment):
    def send(files):
        files.unique = 1000
        for n, spare in enumerate(killed.spares):
            yield files.send_make(f"f{n}", spare, killed.folder)
            yield files.send("WRITE", spare, struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0)
                             + b"%4d" % n)
    sent = list(send(killed.files))
    wait(lambda: os.path.exists(killed.place.host(f"folder/f{moment}")))
    killed.kill()
    files = killed.succeed()
    assert list(send(files)) == sent
    answers = [files.receive(unique) for unique in sent]
    assert [error for error, _ in answers] == [0] * len(sent)
    assert [struct.unpack_from("<Q", reply)[0] for _, reply in answers[::2]] == killed.spares
    for n in range(SPARES):
        assert killed.place.get(f"folder/f{n}") == b"%4d" % n


# A name that the host had first

def test_what_the_guest_means_by_a_name_is_not_the_hosts_file(place, maker):
    """Until it has looked."""
    place.put("folder/lock", "host")
    place.put("folder/other", "host")
    assert maker.make("lock", maker.spares()[0], maker.folder)[0] == errno.EEXIST
    names = {"UNLINK": b"lock\0", "RENAME": struct.pack("<Q", ROOT) + b"lock\0gone\0",
             "RENAME2": struct.pack("<QII", ROOT, 0, 0) + b"lock\0gone\0"}
    for op, body in names.items():
        assert maker.call(op, maker.folder, body)[0] == errno.ENOENT
    assert place.get("folder/lock") == b"host" and os.listdir(place.host("")) == ["folder"]
    maker.ok("UNLINK", maker.folder, b"other\0")
    maker.lookup("lock", maker.folder)
    maker.ok("UNLINK", maker.folder, b"lock\0")
    assert os.listdir(place.host("folder")) == []


def test_many_names_that_the_host_had_first(place, maker):
    for n in range(4 * SPARES):
        place.put(f"folder/{n}", "host")
    for n in range(4 * SPARES):
        spares = maker.spares()
        assert maker.make(f"{n}", spares[n], maker.folder)[0] == errno.EEXIST
        assert maker.call("UNLINK", maker.folder, name_of(f"{n}"))[0] == errno.ENOENT
    assert len(os.listdir(place.host("folder"))) == 4 * SPARES


def test_a_list_of_what_is_there_is_a_look(place, maker):
    place.put("folder/lock", "host")
    assert maker.make("lock", maker.spares()[0], maker.folder)[0] == errno.EEXIST
    assert "lock" in maker.readdir(maker.folder, plus=True)
    maker.ok("UNLINK", maker.folder, b"lock\0")
    assert os.listdir(place.host("folder")) == []


def test_a_list_that_was_sent_ahead_is_one_when_it_is_used(place):
    files = place.serve(features=MAKES | KEEPS_LISTINGS)
    folder = files.mkdir("folder").node
    place.put("folder/lock", "host")
    assert files.make("lock", files.spares()[0], folder)[0] == errno.EEXIST
    assert files.call("UNLINK", folder, b"lock\0")[0] == errno.ENOENT
    files.send_record(AHEAD, struct.pack("<Q", folder))
    files.ok("UNLINK", folder, b"lock\0")
    assert os.listdir(place.host("folder")) == []
    place.check()


def test_what_the_guest_makes_later_is_its_own(place, maker):
    place.put("folder/lock", "host")
    assert maker.make("lock", maker.spares()[0], maker.folder)[0] == errno.EEXIST
    os.unlink(place.host("folder/lock"))
    maker.create("lock", maker.folder)
    maker.ok("UNLINK", maker.folder, b"lock\0")
    assert os.listdir(place.host("folder")) == []


# A folder that the host moves meanwhile

@pytest.mark.parametrize("moved", ["outer/inner", "outer"])
@pytest.mark.parametrize("guard", [False, True], ids=["plain", "guarded"])
def test_files_are_made_where_their_folder_is_now(place, guard, moved):
    """Their programs were told that they are there."""
    guarded = Guarded(place, features=MAKES) if guard else None
    files = guarded.files if guard else place.serve(features=MAKES)
    try:
        inner = files.mkdir("inner", files.mkdir("outer").node).node
        spares = files.spares()
        assert files.make("before", spares[0], inner)[0] == 0
        files.ok("STATFS", ROOT)
        os.rename(place.host(moved), place.host("moved"))
        files.write(spares[0], b"before")
        for n in range(1, 10):
            error, entry = files.make(f"f{n}", spares[n], inner)
            assert (error, entry.node) == (0, spares[n])
            files.write(spares[n], b"%d" % n)
        now = "moved/inner" if moved == "outer" else "moved"
        assert place.get(f"{now}/before") == b"before"
        assert [place.get(f"{now}/f{n}") for n in range(1, 10)] == [b"%d" % n for n in range(1, 10)]
        # What becomes of it is decided by where it is.
        if guard:
            os.rename(place.host(now), place.host(".git"))
            assert files.make("config", spares[10], inner)[0] == 0
            assert not guarded.on_host(".git/config")
    finally:
        if guard:
            os.close(guarded.fd)
    assert all(served.close() == 0 for served in place.running)


# Something does not fit, and nothing had shown it

def test_what_did_not_fit_is_no_room_for_a_while(place):
    files = place.serve(features=MAKES, quota_bytes=1 << 40)
    node = files.create("file").node

    def rooms():
        return [struct.unpack("<I", payload)[0] for kind, _, payload in files.raw if kind == ROOM]
    assert rooms() == [1]
    assert files.call("FALLOCATE", node,
                      struct.pack("<QQQII", 0, 0, 2 << 40, 0, 0))[0] == errno.EDQUOT
    files.ok("STATFS", ROOT)
    assert rooms() == [1, 0]
    files.mkdir("folder")
    assert not files.spares()

    def comes_back():
        files.write(node, b"x")
        return rooms() == [1, 0, 1]
    if place.uid == 0:  # once, as it takes seconds
        wait(comes_back)
    place.check()


@pytest.mark.parametrize("inner", ["", "inner"])
def test_shares_that_have_the_same_files_get_none(place, inner):
    place.folder("inner")
    second = place.host("inner") if inner else place.path
    files = place.serve([share(place.path), share(second, guest_path="/else")],
                        features=MAKES)
    files.mkdir("folder")
    files.mkdir("further", share=1)
    assert not files.spares() and not files.spares(share=1)


# The guard

def test_held_names_are_held_as_usual(place):
    guarded = Guarded(place, features=MAKES)
    files = guarded.files
    try:
        hooks = guarded.mkdirs(".git/hooks")
        git = guarded.node(".git")
        spares = files.spares()
        held, config, free = spares[:3]
        error, entry = files.make("pre-commit", held, hooks, mode=0o755)
        assert (error, entry.node) == (0, held) and entry.entry_valid < WATCHED_S
        files.write(held, b"#!/bin/sh\nevil\n")
        assert files.make("config", config, git)[0] == 0
        files.write(config, b"evil")
        error, entry = files.make("index", free, git)
        assert (error, entry.node) == (0, free) and entry.entry_valid >= WATCHED_S
        assert guarded.on_host(".git/index")
        assert not guarded.on_host(".git/hooks/pre-commit") and not guarded.on_host(".git/config")
        assert guarded.get(".git/hooks/pre-commit") == b"#!/bin/sh\nevil\n"
        assert guarded.node(".git/hooks/pre-commit") == held
        assert guarded.node(".git/config") == config and guarded.names(".git/hooks") == {
            "pre-commit"}
        # The host's own is not a way around it, however it is opened.
        os.makedirs(place.host("other/.git"))
        place.put("other/.git/config", "host")
        place.own()
        other = guarded.node("other/.git")
        for n, flags in enumerate((OPEN, OPEN | os.O_TRUNC, OPEN | os.O_EXCL), 3):
            assert files.make("config", spares[n], other, flags=flags)[0] == errno.EEXIST
            assert is_nothing(files, spares[n])
        assert place.get("other/.git/config") == b"host" == guarded.get("other/.git/config")
    finally:
        os.close(guarded.fd)
    assert all(served.close() == 0 for served in place.running)
