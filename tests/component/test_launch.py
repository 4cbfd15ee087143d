# SPDX-License-Identifier: Apache-2.0
"""bawn-launch alone: bawn-files dies, its list changes, its supervisor goes

The test is the supervisor, the command line and the guest's relay.
"""
import fcntl
import os
import signal
import socket
import stat
import time

import pytest

from fuse_client import ROOT, share
from launcher import BINARY, Launch, alive, wait


@pytest.fixture
def place(tmp_path):
    if not os.path.exists(BINARY):
        pytest.skip(f"{BINARY} is not built")
    for name in ("one", "two", "sandboxes", "sandboxes/box"):
        (tmp_path / name).mkdir()
    started = []

    def launch(*names, **more):
        shares = [share(tmp_path / name) for name in names]
        started.append(Launch(tmp_path / "sandboxes/box", shares, **more))
        return started[-1]
    tmp_path.chmod(0o755)
    launch.path = tmp_path
    yield launch
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_a_killed_server_is_replaced_and_the_guests_nodes_live_on(place):
    launch = place("one", marker=os.urandom(32))
    guest = launch.guest
    guest.greet()
    node = guest.create("file").node
    guest.write(node, b"before")
    for number in range(1, 3):
        pid = launch.files_pid()
        os.kill(pid, signal.SIGKILL)
        # What the old one did not answer is asked again by the relay; here
        # only what it never saw.
        guest.greet()
        assert guest.read(node) == b"before"
        status = launch.ask(op="status")
        assert status["restarts"] == number and status["files_pid"] not in (0, pid)
    guest.write(node, b"after!")
    assert (place.path / "one/file").read_text() == "after!"
    state = launch.folder + "/files"
    assert sorted(os.listdir(state)) == ["shadow", "undo"]
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    assert launch.end() == 0


def test_a_server_that_died_before_it_welcomed_leaves_the_old_marker_good(place):
    marker = os.urandom(32)
    launch = place("one", marker=marker)
    guest = launch.guest
    guest.greet()
    os.kill(launch.files_pid(), signal.SIGKILL)
    wait(lambda: launch.ask(op="status")["restarts"] == 1 and launch.files_pid())
    time.sleep(0.2)
    os.kill(launch.files_pid(), signal.SIGKILL)
    wait(lambda: launch.ask(op="status")["restarts"] == 2 and launch.files_pid())
    # Twice the same marker: the relay answers the last one.
    wait(lambda: guest.socket.recv(64, socket.MSG_PEEK).count(guest.marker) == 2)
    guest.socket.recv(32)
    guest.greet()
    assert guest.getattr(1).size
    assert launch.end() == 0


def test_a_share_is_added_and_taken_away_while_it_runs(place):
    launch = place("one")
    guest = launch.guest
    guest.greet()
    node = guest.create("kept").node
    both = [share(place.path / "one"), share(place.path / "two")]
    answer = launch.change(both)
    assert guest.greet() == 2
    assert answer() == {"ok": True}
    guest.create("new", share=1)
    assert (place.path / "two/new").exists()
    both[1]["gone"] = True
    answer = launch.change(both)
    guest.greet()
    assert answer() == {"ok": True}
    assert guest.getattr(node).nlink == 1
    assert guest.call("GETATTR", 1, bytes(16), 1)[0] != 0
    # A list that cannot be served is refused, and the old one is served on.
    answer = launch.change([share(place.path / "missing"), *both[1:]])
    guest.greet()
    refusal = answer()
    assert not refusal["ok"] and f"{place.path}/missing" in refusal["error"], refusal
    assert guest.getattr(node).nlink == 1
    assert launch.ask(op="shares", files={"shares": []})["ok"] is False
    assert launch.end() == 0


@pytest.mark.skipif(not os.environ.get("BAWN_TEST_SOAK"), reason="takes 10 s")
def replace(path, text):
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def test_a_single_file_that_is_replaced_is_followed(place):
    single = place.path / "two/single"
    single.write_text("first")
    launch = place("one", "two/single", marker=os.urandom(32))
    guest = launch.guest
    guest.greet()
    pid = launch.files_pid()
    assert guest.read(ROOT, share=1) == b"first"
    # other names of that folder, and what is written to the file itself, change nothing
    replace(place.path / "two/other", "x")
    single.write_text("same")
    assert guest.read(ROOT, share=1) == b"same" and launch.files_pid() == pid

    replace(single, "second")
    wait(lambda: launch.files_pid() not in (0, pid))
    guest.greet()
    assert guest.read(ROOT, share=1) == b"second"
    guest.write(ROOT, b"inside", share=1)
    assert single.read_text() == "inside"

    # gone it stays what it was, and a link is not followed
    pid = launch.files_pid()
    single.unlink()
    single.symlink_to("/etc/passwd")
    assert guest.read(ROOT, share=1) == b"inside"
    # a machine that stands for a snapshot is let alone until it goes on
    launch.channel.send(b"freeze " + b"0" * 64 + b"\n")
    assert launch.channel.recv(100) == b"frozen\n"
    replace(single, "third")
    with pytest.raises(AssertionError):
        wait(lambda: launch.files_pid() != pid, 2)
    launch.channel.send(b"thaw\n")
    wait(lambda: launch.files_pid() not in (0, pid))
    guest.greet()
    assert guest.read(ROOT, share=1) == b"third"
    assert launch.ask(op="status")["restarts"] == 0
    assert launch.end() == 0


def test_a_guest_that_does_not_mount_is_an_error_in_time(place):
    launch = place("one")
    launch.guest.greet()
    begin = time.monotonic()
    refusal = launch.change([share(place.path / "one"), share(place.path / "two")])()
    assert not refusal["ok"] and 9 < time.monotonic() - begin < 15, refusal
    assert launch.end() == 0


def test_a_first_share_can_come_later(place):
    launch = place()
    assert launch.ask(op="status")["files_pid"] == 0
    assert launch.ask(op="mark", label="x")["ok"] is False
    answer = launch.change([share(place.path / "one")])
    launch.guest.greet()
    assert answer() == {"ok": True}
    assert launch.end() == 0


def test_a_missing_folder_is_told_by_its_name(place):
    launch = place("missing", "one")
    line = launch.channel.recv(2000).decode()
    assert line.startswith("failed ") and line.endswith("\n"), line
    assert f"{place.path}/missing: No such file" in line
    assert launch.files_pid() == 0
    assert launch.end() == 0


def test_a_server_that_keeps_dying_is_given_up(place):
    launch = place("one")
    launch.guest.greet()
    launch.channel.setblocking(False)
    deaths = 0
    while deaths < 12:
        wait(lambda: launch.files_pid() or deaths > 9)
        pid = launch.files_pid()
        if not pid:
            break
        os.kill(pid, signal.SIGKILL)
        deaths += 1
        wait(lambda: launch.files_pid() != pid)
    assert deaths == 10
    assert launch.channel.recv(2000).startswith(b"failed the shared folders")
    assert launch.end() == 0


def test_marks_reach_the_journal(place):
    launch = place("one", undo=True)
    launch.guest.greet()
    assert launch.ask(op="mark", label="first")["ok"] is True
    for label in ("", "two\nlines", "x" * 201, 5, None):
        assert launch.ask(op="mark", label=label)["ok"] is False, label
    assert launch.ask(op="dance")["ok"] is False
    assert launch.ask()["ok"] is False
    assert launch.end() == 0


def test_when_the_supervisor_is_gone_so_is_everything(place):
    launch = place("one", remove_at_end=True)
    launch.guest.greet()
    pid = launch.files_pid()
    begin = time.monotonic()
    launch.channel.close()
    assert launch.process.wait(timeout=5) == 0
    assert not alive(pid) and time.monotonic() - begin < 1.5
    assert os.listdir(place.path / "sandboxes") in ([".lock"], [])
    assert (place.path / "one").exists()


def test_a_killed_launcher_takes_its_server_along(place):
    launch = place("one")
    launch.guest.greet()
    pid = launch.files_pid()
    launch.process.kill()
    launch.process.wait()
    wait(lambda: not alive(pid), 1)
    # A successor finds the lock free and its socket's name taken.
    again = place("one")
    assert again.files_pid() > 0
    assert again.end() == 0


def test_the_command_that_made_it_removes_it_itself(place):
    with open(place.path / "sandboxes/box/owner", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        launch = place("one", remove_at_end=True)
        launch.guest.greet()
        assert launch.end() == 0
        assert (place.path / "sandboxes/box").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_run_by_root_the_server_is_the_owner_of_the_first_share(place):
    os.chown(place.path / "two", 61234, 61235)
    launch = place("two", "one")
    launch.guest.greet()
    for pid, uid in ((launch.files_pid(), "61234"), (launch.process.pid, "0")):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            facts = dict(line.split(":", 1) for line in file)
        assert set(facts["Uid"].split()) == {uid}
        assert facts["NoNewPrivs"].strip() == "1" and int(facts["Seccomp"]) == 2
        assert (int(facts["CapEff"], 16) == 0) == (uid != "0")
        # CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE and CAP_SYS_MODULE
        assert int(facts["CapBnd"], 16) & (1 << 21 | 1 << 12 | 1 << 19 | 1 << 16) == 0
    assert os.stat(launch.folder + "/files").st_uid == 61234
    assert os.stat(launch.folder + "/files/undo").st_uid == 61234
    assert launch.end() == 0
