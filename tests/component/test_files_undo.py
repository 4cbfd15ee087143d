# SPDX-License-Identifier: Apache-2.0
"""bawn-files keeps what it changes, `bawn undo` takes it back; without a machine

The guest is fuse_client; a sandbox's folder is made by hand, with the record
that the command reads.
"""
import contextlib
import errno
import fcntl
import glob
import json
import os
import random
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time

import pytest

from fuse_client import BINARY, FATTR_MODE, FATTR_MTIME, FATTR_SIZE, ROOT, TOP, name_of

BAWN = os.path.join(os.path.dirname(BINARY), "..", "cli", "bawn")
EXCHANGE = 2


def tree(folder):
    """Everything that an undo must bring back, byte for byte."""
    found, names = {}, {}
    for path, folders, files in os.walk(folder):
        for name in folders + files + ["."]:
            full = os.path.normpath(os.path.join(path, name))
            st = os.lstat(full)
            what = {"mode": oct(st.st_mode), "uid": st.st_uid, "mtime": st.st_mtime_ns}
            if stat.S_ISLNK(st.st_mode):
                what["target"] = os.readlink(full)
            elif stat.S_ISREG(st.st_mode):
                with open(full, "rb") as file:
                    what["content"] = file.read()
            if not stat.S_ISLNK(st.st_mode):
                what["xattrs"] = {name: os.getxattr(full, name) for name in os.listxattr(full)
                                  if name.startswith("user.")}
            if not stat.S_ISDIR(st.st_mode):
                # Which other names the file has, not its number.
                what["names"] = names.setdefault(st.st_ino, set())
                what["names"].add(os.path.relpath(full, folder))
            found[os.path.relpath(full, folder)] = what
    return found


def record_fields():
    """Every field of a sandbox's record, with some value of its kind."""
    values = {"TEXT": "x", "OPTIONAL_TEXT": None, "BOOL": False, "OPTIONAL_BOOL": False}
    with open(os.path.join(TOP, "src/state/sandbox_record.c"), encoding="ascii") as file:
        return {name: values.get(kind, 1)
                for name, kind in re.findall(r"FIELD\((\w+), FIELD_(\w+)\)", file.read())}


class Box:
    """A sandbox as far as undo knows one."""

    def __init__(self, place, home=None):
        self.place = place
        self.home = home or os.path.join(place.outside, "home")
        self.folder = os.path.join(self.home, "state", "sandboxes", "box")
        self.state = os.path.join(self.folder, "files")
        os.makedirs(self.state)
        record = {**record_fields(), "name": "box", "agent": "shell", "mode": "direct",
                  "version": 2, "hide": [],
                  "shares": [{"host": place.path, "guest": place.path, "read_only": False,
                              "added": False}]}
        with open(os.path.join(self.folder, "sandbox.json"), "w", encoding="ascii") as file:
            json.dump(record, file)
        if os.geteuid() == 0:
            os.chown(self.state, place.uid, place.uid)
        place.before = None
        self.memory = None

    def own(self):
        """As when the user, not root, runs bawn."""
        self.as_user = True
        for path, folders, files in os.walk(self.home):
            for name in folders + files + ["."]:
                if os.geteuid() == 0:
                    os.lchown(os.path.join(path, name), self.place.uid, self.place.uid)

    def forget(self):
        if self.memory is not None:
            os.close(self.memory)
        self.memory = None

    def serve(self, **more):
        """A new machine; with again=True a new process of the same one."""
        if not more.pop("again", False):
            self.forget()
            self.memory = os.memfd_create("nodes")
        state = os.open(self.state, os.O_RDONLY | os.O_DIRECTORY)
        files = self.place.serve(undo=True, state=state, memory=self.memory, **more)
        os.close(state)
        return files

    def become(self):
        if self.place.uid and os.geteuid() == 0 and self.as_user:
            os.setgroups([])
            os.setresgid(self.place.uid, self.place.uid, self.place.uid)
            os.setresuid(self.place.uid, self.place.uid, self.place.uid)

    def bawn(self, *words, code=0):
        done = subprocess.run([BAWN, "undo", "box", *words], capture_output=True, text=True,
                              env={"BAWN_HOME": self.home, "PATH": os.environ["PATH"]},
                              preexec_fn=self.become, timeout=120, stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    as_user = False


@pytest.fixture
def box(place, request):
    if not os.path.exists(BAWN):
        pytest.skip("bawn is not built")
    box = Box(place)
    if "user" in request.node.callspec.params.values():
        box.own()
    os.chmod(place.outside, 0o755)
    yield box
    box.forget()


def close(files):
    assert files.close() == 0


def test_names_of_one_symbolic_link_are_one_again(place, box):
    """One that stays is found, or the first that is made gets the others."""
    place.folder("folder")
    for one, two, three in (("a", "b", "folder/c"), ("stays", "goes", "folder/too")):
        os.symlink("anywhere", place.host(one))
        os.link(place.host(one), place.host(two), follow_symlinks=False)
        os.link(place.host(one), place.host(three), follow_symlinks=False)
    place.own()
    before = tree(place.path)
    assert before["a"]["names"] == {"a", "b", "folder/c"}
    files = box.serve()
    folder = files.lookup("folder").node
    for name, node in (("a", ROOT), ("c", folder), ("b", ROOT), ("goes", ROOT), ("too", folder)):
        files.ok("UNLINK", node, name_of(name))
    files.rename("stays", "moved", to=folder)
    close(files)
    box.bawn("-y")
    assert tree(place.path) == before


def populate(place):
    place.put("changed", "before")
    place.put("removed", "was here", mode=0o640)
    place.put("renamed", "same all along")
    place.put("replaced", "old version")
    place.put("mode", "mode", mode=0o600)
    place.put("left", "untouched")
    place.put("twin a", "linked")
    os.link(place.host("twin a"), place.host("twin b"))
    place.folder("folder/inner")
    place.put("folder/inner/file", "deep")
    place.folder("empty", mode=0o750)
    os.symlink("changed", place.host("link"))
    place.put("sparse", "")
    os.truncate(place.host("sparse"), 5 << 20)
    os.setxattr(place.host("mode"), "user.colour", b"green")
    place.own()
    for path, folders, files in os.walk(place.path, topdown=False):
        for name in files + folders:
            os.utime(os.path.join(path, name), ns=(10 ** 18, 10 ** 18 + 7),
                     follow_symlinks=False)
    os.utime(place.path, ns=(10 ** 18, 10 ** 18 + 9))


def change_everything(files):
    files.create("gone again")
    files.ok("UNLINK", ROOT, name_of("gone again"))
    files.write(files.lookup("changed").node, b"AFTER and longer")
    files.ok("UNLINK", ROOT, name_of("removed"))
    files.rename("renamed", "another name")
    node = files.create("temporary").node
    files.write(node, b"new version")
    files.rename("temporary", "replaced")
    mode = files.lookup("mode").node
    files.setattr(mode, FATTR_MODE, mode=0o755)
    files.ok("SETXATTR", mode, struct.pack("<II", 3, 0) + name_of("user.colour") + b"red")
    files.write(files.lookup("twin a").node, b"LINKED by a")
    inner = files.walk("folder/inner")
    files.ok("UNLINK", inner, name_of("file"))
    files.ok("RMDIR", files.lookup("folder").node, name_of("inner"))
    files.rename("folder", "moved folder")
    files.ok("RMDIR", ROOT, name_of("empty"))
    files.ok("UNLINK", ROOT, name_of("link"))
    files.ok("SYMLINK", ROOT, name_of("link") + name_of("elsewhere"))
    files.mkdir("made")
    files.write(files.create("file", node=files.lookup("made").node).node, b"made")
    files.setattr(files.lookup("sparse").node, FATTR_SIZE, size=10)
    files.rename("left", "changed", flags=EXCHANGE)
    files.mkdir("short life")
    files.rename("another name", "inside", to=files.lookup("short life").node)
    files.rename("inside", "third name", node=files.lookup("short life").node)
    files.ok("RMDIR", ROOT, name_of("short life"))


def test_everything_is_brought_back(place, box):
    populate(place)
    before = tree(place.path)
    files = box.serve()
    change_everything(files)
    close(files)
    after = tree(place.path)
    assert after != before
    plan = box.bawn("--dry-run")
    assert tree(place.path) == after
    for line in ("restore", "remove", "rename"):
        assert f"\n{line} " in "\n" + plan
    assert "temporary" not in plan and "gone again" not in plan
    box.bawn("-y")
    assert tree(place.path) == before
    assert os.stat(place.host("twin a")).st_ino == os.stat(place.host("twin b")).st_ino
    assert os.stat(place.host("sparse")).st_blocks < 1024
    assert "nothing to undo" in box.bawn("-y")


def test_without_a_terminal_it_asks_for_a_flag(place, box):
    place.put("file", "old")
    files = box.serve()
    files.write(files.lookup("file").node, b"new")
    close(files)
    assert "-y" in box.bawn(code=1)
    assert place.get("file") == b"new"


def test_a_new_process_goes_on_where_the_old_one_died(place, box):
    populate(place)
    before = tree(place.path)
    files = box.serve()
    files.write(files.lookup("changed").node, b"first")
    files.process.kill()
    files.process.wait()
    files = box.serve(again=True)
    files.write(files.lookup("changed").node, b"second")
    files.ok("UNLINK", ROOT, name_of("changed"))
    files.ok("UNLINK", ROOT, name_of("removed"))
    close(files)
    assert len(os.listdir(os.path.join(box.state, "undo"))) == 1
    box.place.running.clear()
    box.bawn("-y")
    assert tree(place.path) == before


@contextlib.contextmanager
def launcher(box, answer):
    """Of a machine that runs: one request is answered by the test."""
    path = os.path.join(box.folder, "launch.sock")
    os.makedirs(os.path.join(box.folder, "machine"), exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener, \
            open(os.path.join(box.folder, "machine/alive"), "w", encoding="ascii") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()

        def serve():
            with listener.accept()[0] as one:
                good = answer(json.loads(one.makefile().readline()))
                one.sendall(json.dumps({"ok": good}).encode() + b"\n")
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(10)


def test_a_mark_divides_what_is_taken_back(place, box):
    populate(place)
    first = tree(place.path)
    ours, theirs = socket.socketpair()
    files = box.serve(control=theirs.fileno())
    theirs.close()
    lines = ours.makefile("rw")
    lines.readline()
    files.write(files.lookup("changed").node, b"one")
    files.write(files.create("made in one").node, b"1")

    def mark(label):
        lines.write(f"mark {label}\n")
        lines.flush()
        return lines.readline()
    assert mark("bad label").startswith("failed ")
    assert mark("../up").startswith("failed ")
    assert "not running" in box.bawn("--mark", "second", code=1)
    assert "letters" in box.bawn("--mark", "../up", code=2)
    assert "runs" in box.bawn("--mark", "run-mine", code=2)
    assert "--list" in box.bawn("--mark", "second", "--list", code=2)
    with launcher(box, lambda asked: mark(asked["label"]) == "marked second\n"):
        box.bawn("--mark", "second")
    second = tree(place.path)
    files.write(files.lookup("changed").node, b"two")
    files.ok("UNLINK", ROOT, name_of("made in one"))
    close(files)
    assert "second" in box.bawn("--list")
    assert [row["label"] for row in json.loads(box.bawn("--list", "--json"))][1] == "second"
    assert "no mark" in box.bawn("-y", "--to", "third", code=1)
    box.bawn("-y", "--to", "second")
    assert tree(place.path) == second
    box.bawn("-y")
    assert tree(place.path) == first
    assert "second" not in box.bawn("--list")
    lines.close()
    ours.close()


def test_what_the_host_changed_is_shown_and_left_alone(place, box):
    populate(place)
    files = box.serve()
    for name in ("changed", "mode", "replaced"):
        files.write(files.lookup(name).node, b"guest")
    files.write(files.create("made").node, b"guest")
    files.ok("UNLINK", ROOT, name_of("removed"))
    files.rename("renamed", "moved")
    folder = files.mkdir("made folder").node
    files.create("in it", node=folder)
    close(files)
    place.put("changed", "the host's words")
    place.put("made", "the host's too")
    place.put("made folder/host", "mine")
    place.put("new file", "and mine")
    os.rename(place.host("new file"), place.host("replaced"))
    place.put("removed", "again")
    place.put("renamed", "again")
    plan = box.bawn("--dry-run")
    said = box.bawn("-y", code=1)
    for name in ("changed", "made", "replaced", "removed", "renamed"):
        assert f"leave alone {place.host(name)}: " in plan, plan
        assert f" {place.host(name)}\n" not in plan and f" to {place.host(name)}" not in plan, plan
    os.unlink(place.host("renamed"))
    # once more: what was left alone still is
    assert "leave alone" in box.bawn("-y", code=1)
    for name in ("changed", "made", "made folder", "replaced", "removed"):
        assert f"leave alone {place.host(name)}: " in said, said
    assert place.get("changed") == b"the host's words"
    assert place.get("made") == b"the host's too"
    assert place.get("made folder/host") == b"mine"
    assert place.get("replaced") == b"and mine"
    assert place.get("removed") == b"again"
    assert place.get("mode") == b"mode"
    assert place.get("renamed") == b"same all along"
    # The same is still there to be forced.
    said = box.bawn("-f", code=1)
    assert "made folder" in said and place.get("made folder/host") == b"mine"
    assert place.get("changed") == b"before"
    assert place.get("replaced") == b"old version"
    assert place.get("removed") == b"was here"
    assert not os.path.exists(place.host("made"))


def test_what_the_host_changed_after_a_crash_is_left_alone_each_time(place, box):
    """A killed server says nothing of how it left a file; times are all there is then."""
    place.put("changed", "before")
    place.put("other", "before")
    files = box.serve()
    for name in ("changed", "other"):
        files.write(files.lookup(name).node, b"guest's")
    files.process.kill()
    files.process.wait()
    place.running.remove(files)
    place.put("changed", "the host's")
    # the crash was a while ago, the host's change a while after it
    now = time.time()
    for journal in glob.glob(f"{box.state}/undo/*/journal"):
        os.utime(journal, (now - 100, now - 100))
    os.utime(place.host("other"), (now - 101, now - 101))
    os.utime(place.host("changed"), (now - 50, now - 50))
    for _ in range(3):
        assert f"leave alone {place.host('changed')}: " in box.bawn("-y", code=1)
        assert place.get("changed") == b"the host's" and place.get("other") == b"before"
    box.bawn("-f")
    assert place.get("changed") == b"before"


def test_a_planted_link_is_not_followed(place, box):
    """P7: a component of a path becomes a link out of the workspace."""
    outside = os.path.join(place.outside, "canaries")
    place.folder("folder")
    place.put("folder/secret", "project's")
    place.put("folder/other", "project's")
    place.own()
    files = box.serve()
    folder = files.lookup("folder").node
    files.write(files.lookup("secret", folder).node, b"guest")
    files.ok("UNLINK", folder, name_of("other"))
    files.create("made", node=folder)
    close(files)
    with open(os.path.join(outside, "made"), "w", encoding="ascii") as file:
        file.write("untouched")
    os.rename(place.host("folder"), place.host("aside"))
    os.symlink(outside, place.host("folder"))
    box.bawn("-f", code=1)
    for name in ("secret", "other"):
        with open(os.path.join(outside, name), encoding="ascii") as file:
            assert file.read() == "untouched\n"
    assert os.path.exists(os.path.join(outside, "made"))


def test_failed_operations_leave_nothing_to_undo(place, box):
    place.folder("full")
    place.put("full/file", "x")
    place.put("file", "y")
    place.own()
    before = tree(place.path)
    files = box.serve()
    assert files.call("MKDIR", ROOT, struct.pack("<II", 0o755, 0) + name_of("full"))[0]
    assert files.call("RMDIR", ROOT, name_of("full"))[0] == errno.ENOTEMPTY
    assert files.call("RMDIR", ROOT, name_of("file"))[0] == errno.ENOTDIR
    assert files.call("UNLINK", ROOT, name_of("full"))[0] in (errno.EISDIR, errno.EPERM)
    with pytest.raises(OSError):
        files.rename("file", "full")
    with pytest.raises(OSError):
        files.rename("full", "file")
    with pytest.raises(OSError):
        files.rename("file", "full", flags=1)
    close(files)
    box.bawn("-y")
    assert tree(place.path) == before


def test_a_removed_file_that_is_still_written_comes_back_as_it_was(place, box):
    place.put("file", "original")
    place.put("twin", "both")
    os.link(place.host("twin"), place.host("other"))
    before = tree(place.path)
    files = box.serve()
    node = files.lookup("file").node
    files.ok("UNLINK", ROOT, name_of("file"))
    assert files.getattr(node).nlink == 0
    files.write(node, b"scratch space")
    files.ok("UNLINK", ROOT, name_of("twin"))
    files.write(files.lookup("other").node, b"changed by the other name")
    close(files)
    box.bawn("-y")
    after = tree(place.path)
    assert after == before


def test_both_names_of_an_open_file_that_is_written_come_back(place, box):
    place.put("one", "both")
    os.link(place.host("one"), place.host("two"))
    before = tree(place.path)
    files = box.serve()
    node = files.lookup("one").node
    files.ok("UNLINK", ROOT, name_of("one"))
    files.ok("UNLINK", ROOT, name_of("two"))
    files.write(node, b"written when it had no name")
    close(files)
    box.bawn("-y")
    assert tree(place.path) == before


class Model:
    """Random operations, the same ones for the same seed."""

    def __init__(self, place, files, seed, links=False):
        self.place, self.files, self.random = place, files, random.Random(seed)
        self.links = links
        self.names = [f"n{i}" for i in range(12)]

    def folders(self):
        found = [("", ROOT)]
        for path, node in found:
            if path.count("/") > 2:
                continue
            try:
                for name, (_, kind) in sorted(self.files.readdir(node).items()):
                    if kind == 4 and name not in (".", ".."):
                        found.append((path + name + "/", self.files.lookup(name, node).node))
            except PermissionError:
                pass
        return found

    def step(self):
        pick, files = self.random, self.files
        folder, other = pick.choice(self.folders())[1], pick.choice(self.folders())[1]
        name, second = pick.choice(self.names), pick.choice(self.names)
        data = pick.randbytes(pick.choice((0, 1, 100, 9000)))

        def node():
            return files.lookup(name, folder).node
        actions = [
            lambda: files.write(files.create(name, node=folder).node, data),
            lambda: files.write(node(), data, offset=pick.randrange(20000)),
            lambda: files.setattr(node(), FATTR_SIZE, size=pick.randrange(10000)),
            lambda: files.setattr(node(), FATTR_MODE, mode=pick.choice((0o600, 0o755, 0o700))),
            lambda: files.setattr(node(), FATTR_MTIME, mtime=(pick.randrange(10 ** 9), 5)),
            lambda: files.mkdir(name, node=folder),
            lambda: files.ok("UNLINK", folder, name_of(name)),
            lambda: files.ok("RMDIR", folder, name_of(name)),
            lambda: files.ok("SYMLINK", folder, name_of(name) + name_of(second)),
            lambda: files.rename(name, second, node=folder, to=other),
            lambda: files.rename(name, second, node=folder, to=other, flags=EXCHANGE),
            lambda: files.ok("SETXATTR", node(), struct.pack("<II", len(data[:50]), 0)
                             + name_of("user.x") + data[:50]),
        ]
        if self.links:
            actions += 4 * [lambda: files.ok("LINK", other, struct.pack("<Q", node())
                                             + name_of(second))]
            actions += 3 * [lambda: files.ok("UNLINK", folder, name_of(name))]
        try:
            pick.choice(actions)()
        except OSError:
            pass

    def run(self, count):
        for _ in range(count):
            self.step()


def random_tree(place, seed, links=False):
    pick = random.Random(seed)
    known = []
    for folder in ("", "n1/", "n1/n2/", "n3/"):
        os.makedirs(place.host(folder), exist_ok=True)
        for number in pick.sample(range(4, 12), 5):
            path = place.host(f"{folder}n{number}")
            if pick.random() < 0.2:
                os.symlink("anywhere", path)
            elif links and known and pick.random() < 0.5:
                os.link(pick.choice(known), path)
            else:
                with open(path, "wb") as file:
                    file.write(pick.randbytes(pick.randrange(12000)))
                known.append(path)
    place.own()


SEEDS = range(40 if os.environ.get("BAWN_TEST_SOAK") else 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_are_taken_back(place, box, seed):
    random_tree(place, seed)
    before = tree(place.path)
    files = box.serve()
    Model(place, files, seed).run(150)
    close(files)
    said = box.bawn("-y")
    assert tree(place.path) == before, said


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_of_files_with_many_names_are_taken_back(place, box, seed):
    random_tree(place, seed, links=True)
    before = tree(place.path)
    files = box.serve()
    Model(place, files, seed, links=True).run(150)
    close(files)
    said = box.bawn("-y")
    assert tree(place.path) == before, said


@pytest.mark.parametrize("seed", SEEDS)
def test_a_process_killed_at_any_moment_loses_nothing(place, box, seed):
    random_tree(place, seed, links=seed % 2)
    before = tree(place.path)
    files = box.serve()
    killer = threading.Timer(random.Random(seed).random() * 0.2, files.process.kill)
    killer.start()
    with pytest.raises((ConnectionError, BrokenPipeError)):
        Model(place, files, seed, links=seed % 2).run(100000)
    files.process.wait()
    box.place.running.clear()
    if seed % 2:
        files = box.serve(again=True)
        Model(place, files, seed + 1, links=seed % 2).run(50)
        close(files)
    said = box.bawn("-y")
    assert tree(place.path) == before, said


@pytest.fixture
def far_box(place, request):
    """What is saved lies on another file system: nothing can be moved there."""
    shm = "/dev/shm"
    if not os.path.isdir(shm) or os.stat(shm).st_dev == os.stat(place.path).st_dev:
        pytest.skip("no second file system")
    with tempfile.TemporaryDirectory(dir=shm, prefix="bawn-undo-") as home:
        os.chmod(home, 0o755)
        box = Box(place, home)
        if "user" in request.node.callspec.params.values():
            box.own()
        os.chmod(place.outside, 0o755)
        yield box
        box.forget()


def test_another_file_system_is_copied_to(place, far_box):
    populate(place)
    before = tree(place.path)
    files = far_box.serve()
    change_everything(files)
    close(files)
    far_box.bawn("-y")
    assert tree(place.path) == before


def test_names_of_one_file_are_one_again_from_there(place, far_box):
    """One name stays and is moved, or all go; nothing is linked to what the host put there."""
    for one, two in (("stays", "goes"), ("first", "second"), ("replaced", "old")):
        place.put(one, one)
        os.link(place.host(one), place.host(two))
    place.folder("folder")
    before = tree(place.path)
    files = far_box.serve()
    folder = files.lookup("folder").node
    files.ok("UNLINK", ROOT, name_of("goes"))
    files.write(files.lookup("stays").node, b"changed")
    files.rename("stays", "moved", to=folder)
    files.ok("UNLINK", ROOT, name_of("first"))
    files.write(files.lookup("second").node, b"changed, too")
    files.ok("UNLINK", ROOT, name_of("second"))
    files.ok("UNLINK", ROOT, name_of("old"))
    close(files)
    os.unlink(place.host("replaced"))
    place.put("replaced", "by the host")
    far_box.bawn("-y")
    after = tree(place.path)
    assert place.get("old") == b"replaced" and place.get("replaced") == b"by the host"
    for found in (before, after):
        for name in ("old", "replaced", "."):
            del found[name]
    assert after == before


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_random_changes_are_taken_back_from_there(place, far_box, seed):
    random_tree(place, seed, links=True)
    before = tree(place.path)
    files = far_box.serve()
    Model(place, files, seed, links=True).run(150)
    close(files)
    said = far_box.bawn("-y")
    assert tree(place.path) == before, said


def test_names_are_one_also_when_the_undo_was_cut_off_between_them(place, far_box):
    place.put("one", "content")
    os.symlink("anywhere", place.host("link"))
    for name in ("one", "link"):
        os.link(place.host(name), place.host("last " + name), follow_symlinks=False)
    place.put("large", "x" * (1 << 20))
    place.own()
    before = tree(place.path)
    files = far_box.serve()
    for name in ("one", "link", "large", "last one", "last link"):
        files.ok("UNLINK", ROOT, name_of(name))
    close(files)

    def limited():
        far_box.become()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
    # the last ones come first; then there is a file that it may not write
    done = subprocess.run([BAWN, "undo", "-y", "box"], env={"BAWN_HOME": far_box.home,
                          "PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL,
                          capture_output=True, preexec_fn=limited, check=False, timeout=60)
    assert done.returncode == -signal.SIGXFSZ, done
    assert place.get("last one") == b"content" and not os.path.exists(place.host("one"))
    far_box.bawn("-y")
    assert tree(place.path) == before


def kill_undo_and_repeat(box, delays):
    """Cut off again and again, each time a little later; what the last one says."""
    for delay in delays:
        undo = subprocess.Popen([BAWN, "undo", "-y", "box"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={"BAWN_HOME": box.home, "PATH": os.environ["PATH"]},
                                preexec_fn=box.become)
        time.sleep(delay)
        undo.send_signal(signal.SIGKILL)
        undo.wait()
    return box.bawn("-y")


def check_killed_undo(place, box, seed, delays):
    random_tree(place, seed, links=seed % 2)
    before = tree(place.path)
    files = box.serve()
    Model(place, files, seed, links=seed % 2).run(200)
    close(files)
    said = kill_undo_and_repeat(box, delays)
    assert tree(place.path) == before, said


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_an_undo_that_was_killed_is_completed_by_the_next(place, box, seed):
    check_killed_undo(place, box, seed, (0.004, 0.006, 0.008, 0.010))


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_so_is_one_that_brings_files_back_from_another_file_system(place, far_box, seed):
    check_killed_undo(place, far_box, seed, (0.004, 0.006, 0.008, 0.010, 0.012))


def test_a_journal_with_a_hole_is_not_undone_without_force(place, box):
    populate(place)
    files = box.serve()
    files.write(files.lookup("changed").node, b"guest")
    close(files)
    os.unlink(os.path.join(box.state, "undo", "000001", "complete"))
    assert "not everything was saved" in box.bawn("-y", code=1)
    assert place.get("changed") == b"gueste"
    box.bawn("-f")
    assert place.get("changed") == b"before"


def test_old_marks_are_forgotten(place, box):
    place.put("file", "x")
    close(box.serve())
    label = os.path.join(box.state, "undo", "000001", "label")
    with open(label, "w", encoding="ascii") as file:
        file.write("run-old 1000\n")
    files = box.serve()
    end = time.monotonic() + 5
    while "000001" in str(os.listdir(os.path.join(box.state, "undo"))):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert "run-old" not in box.bawn("--list")
    close(files)


def test_more_files_than_descriptors_are_taken_back(place, box):
    """Those that were closed to make room are not mistaken for the host's."""
    if place.uid:
        pytest.skip("once is enough")
    before = tree(place.path)
    files = box.serve()
    for number in range(3300):
        files.write(files.create(f"file{number}").node, b"x")
    close(files)
    assert "3300 removed" in box.bawn("-y")
    assert set(tree(place.path)) == set(before)
