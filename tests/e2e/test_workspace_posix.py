# SPDX-License-Identifier: Apache-2.0
"""The shared folder behaves as a folder, and both sides see one"""
import json
import os
import shutil
import signal
import socket
import stat
import subprocess

import pytest

from bawn import ROOT, SOAK, wait
from relay_kills import kills

PROBE = os.environ.get("BAWN_TEST_LIB", "/nonexistent") + "/posix_probe"
ENTRIES = 100000 if SOAK else 5000


@pytest.fixture(scope="module")
def shared(session, tmp_path_factory):
    """A sandbox and the folder that it shares."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copy(PROBE, folder / "probe")
    (folder / "many").mkdir()
    for i in range(ENTRIES):
        (folder / "many" / f"entry-{i}").touch()
    name = "t-posix"
    session("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
            str(folder), timeout=120)
    yield name, str(folder)
    session.raw("rm", "-f", name)


@pytest.mark.parametrize("user", ["agent", "root"])
def test_what_programs_rely_on_works(session, shared, user):
    name, folder = shared
    inside = f"{folder}/as-{user}"
    session("exec", "-u", user, name, "mkdir", inside)
    result = session.raw("exec", "-u", user, name, f"{folder}/probe", inside, timeout=120)
    assert result.code == 0, result
    assert result.out.count("ok ") == len(result.out.splitlines()) > 15
    # What it left is the host user's, and without any dangerous bit.
    owner = os.stat(folder)
    for path, folders, files in os.walk(inside):
        for entry in folders + files:
            st = os.lstat(f"{path}/{entry}")
            assert (st.st_uid, st.st_gid) == (owner.st_uid, owner.st_gid), f"{path}/{entry}"
            assert not st.st_mode & (stat.S_ISUID | stat.S_ISGID), f"{path}/{entry}"
    with open(f"{inside}/shared_maps_are_files/map", "rb") as file:
        data = file.read()
    assert data[:10] == b"fromlate89" and data[4096:4100] == b"both"
    assert data[8192:8196] == b"map!"
    assert os.stat(f"{inside}/times_have_nanoseconds/times").st_mtime_ns == 1500000000987654321


def test_both_sides_see_each_others_changes(session, shared):
    name, folder = shared
    listed = session.sh(name, f"ls {folder}/many | wc -l; ls -l {folder}/many | wc -l",
                        timeout=300 if SOAK else 60)
    assert listed.split() == [str(ENTRIES), str(ENTRIES + 1)]
    assert session.sh(name, f"stat -c '%U %G %a' {folder}/probe").startswith("agent agent")
    with open(f"{folder}/edited", "w", encoding="ascii") as file:
        file.write("first\n")
    assert session.sh(name, f"cat {folder}/edited") == "first"
    waiting = session.popen("exec", name, "sh", "-c",
                            f"until grep -q second {folder}/edited; do sleep 0.1; done; "
                            f"until ! test -e {folder}/removed; do sleep 0.1; done; "
                            f"echo seen > {folder}/answer")
    with open(f"{folder}/removed", "w", encoding="ascii"):
        pass
    with open(f"{folder}/edited", "a", encoding="ascii") as file:
        file.write("second\n")
    os.rename(f"{folder}/removed", f"{folder}/renamed")
    assert waiting.wait(timeout=10) == 0, waiting.stderr.read()
    waiting.stdout.close()
    waiting.stderr.close()
    with open(f"{folder}/answer", encoding="ascii") as file:
        assert file.read() == "seen\n"


def relay_of(session, name):
    return session.sh(name, "for p in /proc/[0-9]*; do read c < $p/comm && "
                            "test \"$c\" = bawn-relay && echo ${p#/proc/}; done; true")


def test_small_files_are_there_at_once_and_the_relay_sleeps_again(session, shared):
    """It looks for the next request while they follow each other, and no longer."""
    name, folder = shared
    session.sh(name, f"mkdir {folder}/small && cd {folder}/small && for i in $(seq 300); do "
                     "echo $i > f$i && touch -d @1600000000 f$i || exit 1; done")
    for i in range(1, 301):
        with open(f"{folder}/small/f{i}", encoding="ascii") as file:
            assert file.read() == f"{i}\n"
        assert os.stat(f"{folder}/small/f{i}").st_mtime == 1600000000
    session.sh(name, f"n=0; until test $n -ge 50; do read s < /proc/{relay_of(session, name)}/stat; "
                     "case \"$s\" in *') S '*) n=$((n + 1));; *) n=0;; esac; done", timeout=60)


def test_a_killed_relay_comes_back(session, shared):
    name, folder = shared
    before = relay_of(session, name)
    assert before.isdigit()
    out = session.sh(name, f"exec 3>{folder}/held; echo one >&3; sync; kill -9 {before}; "
                           "echo two >&3 || echo refused; exec 3>&- || true", timeout=30)
    assert "refused" in out
    wait(lambda: session.raw("exec", name, "cat", f"{folder}/edited").code == 0, 20,
         "the folder is back")
    assert relay_of(session, name) not in ("", before)
    assert session.sh(name, f"cat {folder}/held") == "one"


@pytest.mark.seconds(300)
def test_a_relay_that_is_killed_again_and_again_under_load_comes_back(session, tmp_path):
    """At any moment: also with a marker in its hands that it has not echoed yet."""
    name = "t-kills"
    session("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
            str(tmp_path), timeout=120)
    load = f"{tmp_path}/load-$i"
    script = kills("bawn-relay",
                   f"head -c $((i * 9000)) /dev/urandom > {load} && sync {load}")
    out = session("exec", "-u", "root", name, "sh", "-c", script, timeout=120).out
    assert out == "killed\n"
    wait(lambda: session.raw("exec", name, "touch", f"{tmp_path}/after").code == 0, 60,
         "the folder is back")
    wait((tmp_path / "after").exists, 20, "it is the host's")
    session("rm", "-f", name)


def files_pid(session, name):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{session.folder(name)}/launch.sock")
        client.sendall(b'{"op":"status"}\n')
        return json.loads(client.makefile().readline())["files_pid"]


def test_a_killed_server_comes_back_under_load(session, shared):
    name, folder = shared
    script = (f"mkdir {folder}/load && cd {folder}/load && for i in $(seq 60); do "
              "{ echo $i; dd if=/dev/zero bs=64k count=8 2>/dev/null; } > f$i || exit 1; "
              "echo $i >> log || exit 1; done; sync; echo done > log.end")
    loading = session.popen("exec", name, "sh", "-c", script)
    killed = 0
    while loading.poll() is None and killed < 4:
        os.kill(files_pid(session, name), signal.SIGKILL)
        killed += 1
        wait(lambda: os.path.exists(f"{folder}/load/f{killed * 10}"), 60, "it goes on")
    assert loading.wait(timeout=60) == 0, loading.stderr.read()
    loading.stdout.close()
    loading.stderr.close()
    assert killed >= 2
    with open(f"{folder}/load/log", encoding="ascii") as file:
        assert file.read().split() == [str(i) for i in range(1, 61)]
    for i in range(1, 61):
        with open(f"{folder}/load/f{i}", "rb") as file:
            assert file.read() == f"{i}\n".encode() + bytes(8 << 16)


def test_what_was_written_is_there_after_a_stop(session, shared):
    name, folder = shared
    session.sh(name, f"dd if=/dev/urandom of={folder}/large bs=64k count=64 2>/dev/null; "
                     f"md5sum < {folder}/large > {folder}/sum")
    session("stop", "--power-off", name, timeout=60)
    with open(f"{folder}/sum", encoding="ascii") as file:
        said = file.read().split()[0]
    found = subprocess.run(["md5sum", f"{folder}/large"], capture_output=True, text=True,
                           check=True).stdout.split()[0]
    assert found == said
    assert session.sh(name, f"md5sum < {folder}/large").split()[0] == said
    if ROOT:
        assert os.stat(f"{folder}/large").st_uid == os.stat(folder).st_uid
