# SPDX-License-Identifier: Apache-2.0
"""Server and relay around a real kernel: host changes raise events, nothing read is old"""
import errno
import os
import subprocess
import sys
import time

import pytest

from relay_fixtures import USER

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "e2e"))
from inotify import Inotify  # noqa: E402


@pytest.fixture
def mount(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    machine.inside = machine.path("")[:-1]
    return machine


@pytest.fixture
def events(mount):
    watcher = Inotify(mount.inside)
    yield watcher
    watcher.close()


def put(path, text, how="w"):
    with open(path, how, encoding="ascii") as file:
        file.write(text)


def test_every_kind_of_change_raises_its_event(mount, events):
    host, inside = mount.host, mount.inside
    put(f"{host}/f", "one")
    events.wait(("CREATE", "f"), ("MODIFY", "f"), ("CLOSE_WRITE", "f"))
    events.quiet()
    put(f"{host}/f", "two", "a")
    found = events.wait(("MODIFY", "f"), ("CLOSE_WRITE", "f"))
    assert {kind for kind, _ in found} == {"MODIFY", "CLOSE_WRITE"}
    with open(f"{inside}/f", encoding="ascii") as file:
        assert file.read() == "onetwo"
    os.chmod(f"{host}/f", 0o600)
    events.wait(("ATTRIB", "f"))
    os.mkdir(f"{host}/d")
    os.symlink("f", f"{host}/l")
    os.mkfifo(f"{host}/p")
    events.wait(("CREATE", "d"), ("CREATE", "l"), ("CREATE", "p"))
    assert os.readlink(f"{inside}/l") == "f" and os.path.isdir(f"{inside}/d")
    os.rename(f"{host}/f", f"{host}/g")
    events.wait(("MOVED_FROM", "f"), ("MOVED_TO", "g"))
    assert list(events.cookies.values()) == [["f", "g"]]
    assert not os.path.exists(f"{inside}/f") and os.path.getsize(f"{inside}/g") == 6
    os.unlink(f"{host}/g")
    os.unlink(f"{host}/l")
    os.rmdir(f"{host}/d")
    events.wait(("DELETE", "g"), ("DELETE", "l"), ("DELETE", "d"))
    assert sorted(os.listdir(inside)) == ["p"]


def test_what_may_be_executed_is_never_open_for_writing(mount, events):
    script = "#!/bin/sh\nexit 7\n"
    put(f"{mount.host}/run", script)
    os.chmod(f"{mount.host}/run", 0o755)
    events.wait(("CREATE", "run"), ("ATTRIB", "run"))
    events.quiet()
    for turn in range(40):
        put(f"{mount.host}/run", script, "r+")
        assert subprocess.run([f"{mount.inside}/run"], check=False).returncode == 7, turn
    assert set(events.wait(("MODIFY", "run")) + events.quiet()) == {("MODIFY", "run")}


def test_names_that_the_guest_never_saw_are_announced_too(mount, events):
    for name in ("a", "b"):
        put(f"{mount.host}/{name}", "x")
    events.wait(("CLOSE_WRITE", "b"))
    # Made by one who forgets: the kernel inside has no entry for it any more.
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("2")
    events.quiet()
    os.rename(f"{mount.host}/a", f"{mount.host}/c")
    os.unlink(f"{mount.host}/b")
    events.wait(("MOVED_FROM", "a"), ("MOVED_TO", "c"), ("DELETE", "b"))
    assert os.listdir(mount.inside) == ["c"]


def test_a_file_replaced_by_rename_tells_who_watches_it(mount, events):
    host, inside = mount.host, mount.inside
    put(f"{host}/f", "old")
    events.wait(("CLOSE_WRITE", "f"))
    with open(f"{inside}/f", encoding="ascii") as file:
        assert file.read() == "old"
    itself = Inotify(f"{inside}/f")
    events.quiet()
    put(f"{host}/.f.tmp", "new!")
    os.rename(f"{host}/.f.tmp", f"{host}/f")
    events.wait(("MOVED_TO", "f"))
    itself.wait(("DELETE_SELF", ""))
    itself.close()
    with open(f"{inside}/f", encoding="ascii") as file:
        assert file.read() == "new!"
    os.unlink(f"{host}/f")
    events.wait(("DELETE", "f"))
    assert not os.path.exists(f"{inside}/f")


def test_the_guests_own_changes_are_told_once(mount, events):
    outside = Inotify(mount.host)
    put(f"{mount.inside}/own", "x")
    outside.wait(("CREATE", "own"), ("MODIFY", "own"))
    os.rename(f"{mount.inside}/own", f"{mount.inside}/own2")
    outside.wait(("MOVED_FROM", "own"), ("MOVED_TO", "own2"))
    os.unlink(f"{mount.inside}/own2")
    outside.wait(("DELETE", "own2"))
    outside.close()
    found = events.quiet(0.8)
    assert found == [("CREATE", "own"), ("MODIFY", "own"), ("CLOSE_WRITE", "own"),
                     ("MOVED_FROM", "own"), ("MOVED_TO", "own2"), ("DELETE", "own2")]


def test_tail_follows_and_bulk_changes_end_true(mount, events):
    put(f"{mount.host}/log", "first\n")
    events.wait(("CLOSE_WRITE", "log"))
    with subprocess.Popen(["tail", "-n", "1", "-f", f"{mount.inside}/log"],
                          stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout.readline() == "first\n"
        begin = time.monotonic()
        put(f"{mount.host}/log", "second\n", "a")
        assert tail.stdout.readline() == "second\n"
        assert time.monotonic() - begin < 1.5  # it looks once a second
        tail.terminate()
    for turn in range(3):
        for i in range(300):
            put(f"{mount.host}/bulk{i}.new", f"{turn} {i}")
            os.rename(f"{mount.host}/bulk{i}.new", f"{mount.host}/bulk{i}")
        if turn == 1:
            for i in range(0, 300, 7):
                os.unlink(f"{mount.host}/bulk{i}")
        events.quiet(0.5)
        expected = {name: open(f"{mount.host}/{name}", encoding="ascii").read()
                    for name in os.listdir(mount.host)}
        seen = {name: open(f"{mount.inside}/{name}", encoding="ascii").read()
                for name in os.listdir(mount.inside)}
        assert seen == expected


def test_a_read_only_share_raises_events_and_stays_as_it_is(boot):  # noqa: F811
    machine = boot(read_only=True)
    assert machine.wait_ready() == ""
    watcher = Inotify(machine.path(""))
    put(f"{machine.host}/f", "one")
    watcher.wait(("CREATE", "f"), ("MODIFY", "f"), ("CLOSE_WRITE", "f"))
    with pytest.raises(OSError):
        put(machine.path("g"), "x")
    os.unlink(f"{machine.host}/f")
    watcher.wait(("DELETE", "f"))
    watcher.close()


def test_what_was_sent_ahead_is_never_old(mount):
    """All files of a folder come with the first one: change them at that moment"""
    names = [f"f{i}" for i in range(40)]
    for turn in range(5):
        top = f"{mount.host}/t{turn}"
        os.mkdir(top)
        for name in names:
            put(f"{top}/{name}", "old" * 50)
            os.chown(f"{top}/{name}", USER, USER)
        os.chown(top, USER, USER)
        inside = f"{mount.inside}/t{turn}"
        assert sorted(os.listdir(inside)) == sorted(names)
        with open(f"{inside}/f0", encoding="ascii") as file:
            file.read()
        # From within: what was written is what is read, at once.
        for name in names[1:20]:
            put(f"{inside}/{name}", f"new {name}")
            with open(f"{inside}/{name}", encoding="ascii") as file:
                assert file.read() == f"new {name}"
        # From outside: after a moment.
        for name in names[20:]:
            put(f"{top}/{name}", f"host {name}")
        time.sleep(0.3)
        for name in names[20:]:
            with open(f"{inside}/{name}", encoding="ascii") as file:
                assert file.read() == f"host {name}"
        for name in names[1:20]:
            with open(f"{top}/{name}", encoding="ascii") as file:
                assert file.read() == f"new {name}"
        os.unlink(f"{inside}/f1")
        put(f"{top}/later", "x")
        time.sleep(0.1)
        assert sorted(os.listdir(inside)) == sorted({*names, "later"} - {"f1"})


def test_only_user_attributes_are_asked_for(mount):
    put(f"{mount.inside}/f", "x")
    os.setxattr(f"{mount.inside}/f", "user.a", b"1")
    assert os.getxattr(f"{mount.inside}/f", "user.a") == b"1"
    for name in ("security.capability", "trusted.x", "user"):
        with pytest.raises(OSError) as caught:
            os.getxattr(f"{mount.inside}/f", name)
        assert caught.value.errno == errno.EOPNOTSUPP


def test_names_that_were_told_as_absent_appear(mount):
    for i in range(9):
        os.mkdir(f"{mount.host}/d{i}")
        os.chown(f"{mount.host}/d{i}", USER, USER)
    time.sleep(0.1)
    for i in range(5):
        assert not os.path.exists(f"{mount.inside}/d{i}/.probe")
    assert len(list(os.scandir(mount.inside))) == 9
    put(f"{mount.inside}/d6/.probe", "x")
    put(f"{mount.host}/d7/.probe", "x")
    os.rename(f"{mount.inside}/d6/.probe", f"{mount.inside}/d8/.probe")
    time.sleep(0.1)
    assert [i for i in range(9) if os.path.exists(f"{mount.inside}/d{i}/.probe")] == [7, 8]


@pytest.fixture
def over(boot, request):  # noqa: F811
    machine = boot(overlay=True)
    assert machine.wait_ready() == ""
    machine.inside = machine.path("")[:-1]
    machine.upper = machine.root + "/var/lib/bawn/overlay/0/upper"
    return machine


def told(watcher, host, name):
    """Events come in the order of the changes: those before this one are there, too."""
    put(f"{host}/{name}", "")
    return watcher.wait(("ATTRIB", name), seconds=10)


def test_over_an_overlay_files_that_change_raise_an_event_and_are_not_copied(over):
    host, inside = over.host, over.inside
    for name in ("f", "saved", "mine"):
        put(f"{host}/{name}", "old")
    os.mkdir(f"{host}/d")
    put(f"{host}/d/deep", "old")
    put(f"{inside}/mine", "the guest's")
    watcher, deep = Inotify(inside), Inotify(f"{inside}/d")
    told(watcher, host, "start")
    alone = Inotify(f"{inside}/f")  # who watches the file itself
    put(f"{host}/f", "edited", "a")
    watcher.wait(("ATTRIB", "f"), seconds=10)
    alone.wait(("ATTRIB", ""), seconds=10)
    with open(f"{inside}/f", encoding="ascii") as file:
        assert file.read() == "oldedited"
    put(f"{host}/d/deep", "new")
    deep.wait(("ATTRIB", "deep"), seconds=10)
    # as editors save, and what is new
    put(f"{host}/.saved~", "saved anew")
    os.rename(f"{host}/.saved~", f"{host}/saved")
    watcher.wait(("ATTRIB", "saved"), seconds=10)
    assert os.path.getsize(f"{inside}/saved") == 10
    put(f"{host}/made", "x")
    told(watcher, host, "middle")
    os.chmod(f"{host}/made", 0o600)
    watcher.wait(("ATTRIB", "made"), seconds=10)
    # of what the guest has its own version of it hears nothing
    put(f"{host}/mine", "the host's")
    assert "mine" not in {name for _, name in told(watcher, host, "end")}
    assert os.listdir(over.upper) == ["mine"]
    for each in (watcher, deep, alone):
        each.close()


def test_a_folder_that_the_host_makes_again_was_removed(mount, events):
    os.mkdir(f"{mount.host}/folder")
    events.wait(("CREATE", "folder"))
    for _ in range(20):
        os.rmdir(f"{mount.host}/folder")
        os.mkdir(f"{mount.host}/folder")
        os.chown(f"{mount.host}/folder", USER, USER)
        events.wait(("DELETE", "folder"), ("ATTRIB", "folder"))
        put(f"{mount.inside}/folder/file", "x")
        os.unlink(f"{mount.inside}/folder/file")
        settle(f"{mount.host}/folder")


def make_again(path):
    """Until the kernel knows that the host has removed the old one."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            return os.mkdir(path)
        except FileExistsError:
            pass
    raise AssertionError(path)


def test_a_folder_that_the_guest_makes_again_is_no_removed_one(mount):
    """The ticket of the removal comes when the next folder of that name is there."""
    folder = f"{mount.inside}/folder"
    os.mkdir(folder)
    for turn in range(100):
        os.rmdir(f"{mount.host}/folder")
        make_again(folder)
        for name in "abc":
            put(f"{folder}/{name}", f"{turn}")
            time.sleep(0.001)
        assert sorted(os.listdir(f"{mount.host}/folder")) == ["a", "b", "c"]
        for name in "abc":
            os.unlink(f"{folder}/{name}")
        settle(f"{mount.host}/folder")


def settle(folder):
    end = time.monotonic() + 10
    while os.listdir(folder) and time.monotonic() < end:
        time.sleep(0.001)
