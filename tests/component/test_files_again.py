# SPDX-License-Identifier: Apache-2.0
"""A killed bawn-files: what it did is not done again, and not called a failure

The guest never reads an answer of the first process. The second one gets the
same memory and the same requests, as the relay sends them.
"""
import errno
import os
import struct
import time

import pytest

from fuse_client import ROOT, name_of

EXCHANGE, NOREPLACE = 2, 1
NOTE, NOTES = 192, 4096
STATE = 43  # of a note, PROTOCOL.md; 1: begun, 2: done


def write(data, offset, flags):
    return struct.pack("<QQIIQII", 0, offset, len(data), 0, 0, flags, 0) + data


def rename2(to, flags, old, new):
    return struct.pack("<QII", to, flags, 0) + name_of(old) + name_of(new)


MADE = {"MKDIR", "MKNOD", "CREATE", "SYMLINK", "LINK"}
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL


def cases(node):
    """By the number that is in their names: opcode, body, what takes it back on the host."""
    def undo_make(host, n):
        (os.rmdir if os.path.isdir(host(f"made{n}")) else os.unlink)(host(f"made{n}"))

    def undo_move(host, n):
        os.rename(host(f"made{n}"), host(f"file{n}"))

    def undo_exchange(host, n):
        os.rename(host(f"file{n}"), host("x"))
        os.rename(host(f"other{n}"), host(f"file{n}"))
        os.rename(host("x"), host(f"other{n}"))
    rows = [
        ("MKDIR", lambda n: struct.pack("<II", 0o755, 0) + name_of(f"made{n}"), undo_make),
        ("MKNOD", lambda n: struct.pack("<IIII", 0o100644, 0, 0, 0) + name_of(f"made{n}"),
         undo_make),
        ("CREATE", lambda n: struct.pack("<IIII", CREATE, 0o644, 0, 0) + name_of(f"made{n}"),
         undo_make),
        ("SYMLINK", lambda n: name_of(f"made{n}") + name_of("target"), undo_make),
        ("LINK", lambda n: struct.pack("<Q", node) + name_of(f"made{n}"), None),
        ("UNLINK", lambda n: name_of(f"file{n}"), None),
        ("RMDIR", lambda n: name_of(f"empty{n}"), lambda host, n: os.mkdir(host(f"empty{n}"))),
        ("RENAME", lambda n: struct.pack("<Q", ROOT) + name_of(f"file{n}") + name_of(f"made{n}"),
         undo_move),
        ("RENAME", lambda n: struct.pack("<Q", ROOT) + name_of(f"file{n}") + name_of(f"other{n}"),
         None),
        ("RENAME2", lambda n: rename2(ROOT, NOREPLACE, f"file{n}", f"made{n}"), undo_move),
        ("RENAME2", lambda n: rename2(ROOT, EXCHANGE, f"file{n}", f"other{n}"), undo_exchange),
    ]
    return [(opcode, body(n), undo) for n, (opcode, body, undo) in enumerate(rows)]


def tree(place):
    return {name: None if os.path.isdir(place.host(name)) or os.path.islink(place.host(name))
            else place.get(name) for name in os.listdir(place.path)}


def wait(fact):
    end = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.002)


class Killed:
    """A process that ends with its answers unread, and its successor."""

    def __init__(self, place):
        self.place, self.memory = place, os.memfd_create("nodes")
        for n in ["", *range(11)]:
            place.put(f"file{n}", "file")
            place.put(f"other{n}", "other")
            place.folder(f"empty{n}")
        self.files = place.serve(memory=self.memory)
        self.node = self.files.lookup("file").node
        self.files.unique = 1000  # far from what a successor's tests use

    def kill(self):
        self.files.process.kill()
        self.files.process.wait()
        self.place.running.remove(self.files)

    def only_begun(self):
        """As if it had been killed before it could write the answer down."""
        start = os.fstat(self.memory).st_size - NOTES * NOTE
        for at in range(start, start + NOTES * NOTE, NOTE):
            if os.pread(self.memory, 1, at + STATE) == b"\2":
                os.pwrite(self.memory, b"\1", at + STATE)

    def do(self, requests):
        """Sent and done; the guest did not get the answers."""
        sent = [(self.files.send(opcode, node, body), opcode, node, body)
                for opcode, node, body in requests]
        answers = [self.files.receive(unique)[0] for unique, *_ in sent]
        self.kill()
        self.sent = sent
        return answers

    def again(self, initialised=1):
        files = self.place.serve(memory=self.memory, initialised=initialised)
        answers = []
        for unique, opcode, node, body in self.sent:
            files.unique = unique - 2
            answers.append(files.call(opcode, node, body))
        files.unique = 100000
        return files, answers

    def again_in_vain(self):
        """A successor that is killed as well before anybody hears of it."""
        self.files, answers = self.again()
        self.kill()
        return answers


@pytest.fixture
def killed(place):
    one = Killed(place)
    yield one
    os.close(one.memory)


@pytest.mark.parametrize("successors", [1, 2, 3])
@pytest.mark.parametrize("begun", [False, True], ids=["answered", "begun"])
def test_what_was_done_is_not_done_again(killed, begun, successors):
    wanted = cases(killed.node)
    assert not any(killed.do([(opcode, ROOT, body) for opcode, body, _ in wanted]))
    after = tree(killed.place)
    if begun:
        killed.only_begun()
    for _ in range(successors - 1):
        assert not any(error for error, _ in killed.again_in_vain())
    files, answers = killed.again()
    assert [error for error, _ in answers] == [0] * len(wanted)
    assert tree(killed.place) == after
    for n, ((opcode, _, _), (_, reply)) in enumerate(zip(wanted, answers)):
        if opcode not in MADE:
            continue
        node, = struct.unpack_from("<Q", reply)
        assert files.lookup(f"made{n}").node == node and files.getattr(node).mode, opcode
        if opcode == "CREATE":
            assert len(reply) == 128 + 16
            files.write(node, b"goes on")
            assert killed.place.get(f"made{n}") == b"goes on"


def test_what_was_begun_and_not_done_is_done(killed):
    wanted = cases(killed.node)
    killed.do([(opcode, ROOT, body) for opcode, body, _ in wanted])
    after = tree(killed.place)
    killed.only_begun()
    for n, (_, _, undo) in enumerate(wanted):
        if undo:
            undo(killed.place.host, n)
    killed.place.own()
    assert tree(killed.place) != after
    assert [error for error, _ in killed.again()[1]] == [0] * len(wanted)
    assert tree(killed.place) == after


@pytest.mark.parametrize("begun", [False, True], ids=["answered", "begun"])
def test_what_failed_fails_again(killed, begun):
    wanted = [("MKDIR", struct.pack("<II", 0o755, 0) + name_of("file"), errno.EEXIST),
              ("UNLINK", name_of("nothing"), errno.ENOENT),
              ("RENAME", struct.pack("<Q", ROOT) + name_of("nothing") + name_of("other"),
               errno.ENOENT),
              ("RENAME2", rename2(ROOT, NOREPLACE, "file", "other"), errno.EEXIST)]
    codes = [code for *_, code in wanted]
    assert killed.do([(opcode, ROOT, body) for opcode, body, _ in wanted]) == codes
    if begun:
        killed.only_begun()
    assert [error for error, _ in killed.again()[1]] == codes


def test_what_was_appended_is_not_appended_over(killed):
    with open(killed.place.host("file"), "ab") as file:
        file.write(b"host\n")  # meanwhile: the guest's kernel thinks the end is at 4
    killed.do([("WRITE", killed.node, write(b"guest\n", 4, os.O_WRONLY | os.O_APPEND))])
    assert killed.place.get("file") == b"filehost\nguest\n"
    unique, opcode, node, _ = killed.sent[0]
    killed.sent = [(unique, opcode, node, write(b"guest\n", 4, os.O_WRONLY))]
    files, [(error, reply)] = killed.again()
    assert (error, struct.unpack("<II", reply)[0]) == (0, 6)
    assert killed.place.get("file") == b"filehost\nguest\n"
    files.write(killed.node, b"FILE", 0)
    assert killed.place.get("file") == b"FILEhost\nguest\n"


def test_a_name_that_came_and_went_does_not_take_the_other_along(killed):
    body = struct.pack("<Q", killed.node) + name_of("second")
    killed.files.ok("LINK", ROOT, body)
    assert killed.files.lookup("second").node == killed.node
    killed.files.rename("second", "third")
    assert killed.files.lookup("third").node == killed.node
    killed.do([("UNLINK", ROOT, name_of("third"))])
    files, _ = killed.again()
    assert files.read(killed.node) == b"file"  # who has it open goes on


def test_a_new_mount_counts_from_the_start_and_finds_no_old_answers(killed):
    killed.do([("MKDIR", ROOT, struct.pack("<II", 0o755, 0) + name_of("made"))])
    assert killed.again(initialised=0)[1][0][0] == errno.EEXIST


def test_a_thousand_at_once_survive_a_kill_at_any_moment(killed):
    """Requests without end, a kill, the same ones again: each is answered as if nothing was."""
    files = killed.files
    sent = []
    for i in range(1000):
        kind = i % 4
        name, last = f"n{i - kind}", f"m{i - kind}"
        if kind == 0:
            op, body = "MKDIR", struct.pack("<II", 0o755, 0) + name_of(name)
        elif kind == 1:
            op, body = "RENAME", struct.pack("<Q", ROOT) + name_of(name) + name_of(last)
        elif kind == 2:
            op, body = "SYMLINK", name_of(name) + name_of("x")
        else:
            op, body = "RMDIR", name_of(last)
        sent.append((files.send(op, ROOT, body), op, body))
    wait(lambda: os.path.lexists(killed.place.host("n400")))
    killed.kill()
    again = killed.place.serve(memory=killed.memory, initialised=1)
    again.unique = sent[0][0] - 2
    for _, op, body in sent:
        again.send(op, ROOT, body)
    assert [again.receive(unique)[0] for unique, _, _ in sent] == [0] * len(sent)
    left = {name for name in os.listdir(killed.place.path) if name[0] in "nm"}
    assert left == {f"n{i}" for i in range(0, 1000, 4)}
