# SPDX-License-Identifier: Apache-2.0
"""A change on one side is an event on the other, and nothing read is old"""
import functools
import os
import shutil
import threading
import time

import pytest

from bawn import wait
from inotify import Inotify
from test_files_restart import files_pid

PROBE = os.environ.get("BAWN_TEST_LIB", "/nonexistent") + "/watch_probe"
SECONDS = 1.0


class Lines:
    """What a program in the guest prints, with the time of each line."""

    def __init__(self, process):
        self.process, self.lines = process, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            line = line.decode() if isinstance(line, bytes) else line
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def wait(self, *wanted, since=None, limit=None):
        """Until all were printed; with a limit, that long after `since` at most."""
        wait(lambda: set(wanted) <= {line for _, line in self.lines}, 20,
             f"{wanted} among {[line for _, line in self.lines]}")
        if limit:
            last = max(at for at, line in self.lines if line in wanted)
            assert last - since < limit, f"{last - since:.2f} s"

    def take(self):
        found, self.lines = [line for _, line in self.lines], []
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def put(path, text, how="w"):
    with open(path, how, encoding="ascii") as file:
        file.write(text)


@pytest.fixture(scope="module")
def watched(session, tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    shutil.copy(PROBE, folder / "probe")
    for name in ("in", "bulk", "quiet"):
        (folder / name).mkdir()
    put(folder / "in/file", "one\n")
    put(folder / "in/saved", "old\n")
    put(folder / "in/log", "first\n")
    name = "t-watch"
    session("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
            str(folder), timeout=120)
    yield name, str(folder)
    session.raw("rm", "-f", name)


@pytest.fixture
def lines(session, watched):
    started = []

    def start(*argv):
        started.append(Lines(session.popen("exec", watched[0], *argv)))
        return started[-1]
    yield start
    for each in started:
        each.close()


def heard(seen, change, *wanted):
    seen.take()
    begin = time.monotonic()
    change()
    seen.wait(*wanted, since=begin, limit=SECONDS)


def test_a_change_on_the_host_is_an_event_in_the_guest(session, watched, lines):
    name, folder = watched
    top = f"{folder}/in"
    assert session.sh(name, f"cat {top}/saved {top}/file") == "old\none"
    seen = lines(f"{folder}/probe", top, f"{top}/saved")
    seen.wait("ready")

    within = functools.partial(heard, seen)
    within(lambda: put(f"{top}/file", "two\n", "a"), "1 MODIFY file", "1 CLOSE file")
    assert session.sh(name, f"cat {top}/file") == "one\ntwo"
    within(lambda: put(f"{top}/new", "x"), "1 CREATE new", "1 CLOSE new")
    within(lambda: os.mkdir(f"{top}/folder"), "1 CREATE folder")
    within(lambda: os.rename(f"{top}/new", f"{top}/newer"), "1 MOVED_FROM new",
           "1 MOVED_TO newer")
    within(lambda: os.chmod(f"{top}/newer", 0o600), "1 ATTRIB newer")

    def save():
        put(f"{top}/.saved.tmp", "fresh\n")
        os.rename(f"{top}/.saved.tmp", f"{top}/saved")
    within(save, "1 MOVED_TO saved", "2 DELETE_SELF -")
    assert session.sh(name, f"cat {top}/saved") == "fresh"
    within(lambda: os.unlink(f"{top}/newer"), "1 DELETE newer")
    within(lambda: os.rmdir(f"{top}/folder"), "1 DELETE folder")


@pytest.fixture
def over(session, tmp_path):
    """A sandbox in overlay mode, and a probe of one of its folders."""
    shutil.copy(PROBE, tmp_path / "probe")
    (tmp_path / "in").mkdir()
    put(tmp_path / "in/file", "one\n")
    put(tmp_path / "in/saved", "old\n")
    name = "t-watch-over"
    session("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1",
            "--workspace-mode", "overlay", "shell", str(tmp_path), timeout=120)
    seen = Lines(session.popen("exec", name, f"{tmp_path}/probe", f"{tmp_path}/in",
                               f"{tmp_path}/in/file"))
    yield name, f"{tmp_path}/in", seen
    seen.close()
    session.raw("rm", "-f", name)


def test_in_overlay_mode_an_edit_on_the_host_is_an_event_and_no_copy(session, over):
    name, top, seen = over
    seen.wait("ready")

    within = functools.partial(heard, seen)

    def save():
        put(f"{top}/.saved.tmp", "fresh\n")
        os.rename(f"{top}/.saved.tmp", f"{top}/saved")

    within(lambda: put(f"{top}/file", "two\n", "a"), "1 ATTRIB file", "2 ATTRIB -")
    assert session.sh(name, f"cat {top}/file") == "one\ntwo"
    within(lambda: put(f"{top}/new", "x"), "1 ATTRIB new")
    within(save, "1 ATTRIB saved")
    assert session.sh(name, f"cat {top}/new {top}/saved") == "xfresh"
    # and once more: nothing was copied that would hide it
    within(lambda: put(f"{top}/file", "three\n", "a"), "1 ATTRIB file", "2 ATTRIB -")
    os.unlink(f"{top}/new")
    assert session.sh(name, f"cat {top}/file; ls {top}") == "one\ntwo\nthree\nfile\nsaved"
    assert session("diff", name).out == ""


def test_what_the_host_has_just_built_can_be_executed(session, watched):
    """Text file busy is for those who write it themselves."""
    name, folder = watched
    path = f"{folder}/in/built"
    session.sh(name, f"ls {folder}/in")
    for turn in range(20):
        # As a linker does: the last thing is to make it executable.
        if turn % 2 and turn > 10:
            os.unlink(path)
        put(path, f"#!/bin/sh\necho {turn}\n")
        os.chmod(path, 0o755)
        done = session.raw("exec", name, path)
        # A removed file is held back until its event was raised, HOLD_MS at most.
        until = time.monotonic() + 1
        while (done.code, done.out) == (0, f"{turn - 1}\n") and time.monotonic() < until:
            done = session.raw("exec", name, path)
        assert (done.code, done.out) == (0, f"{turn}\n"), done


def test_tail_shows_what_the_host_appends(watched, lines):
    _, folder = watched
    tail = lines("tail", "-n", "1", "-f", f"{folder}/in/log")
    tail.wait("first")
    begin = time.monotonic()
    put(f"{folder}/in/log", "second\n", "a")
    tail.wait("second", since=begin, limit=2.5)  # tail itself looks once a second


def test_a_change_in_the_guest_is_an_event_on_the_host_and_told_once(session, watched, lines):
    name, folder = watched
    top = f"{folder}/quiet"
    outside = Inotify(top)
    seen = lines(f"{folder}/probe", top)
    seen.wait("ready")
    session.sh(name, f"cd {top}; echo 1 > a; mv a b; mkdir d; rmdir d; rm b; : > end")
    outside.wait(("CREATE", "a"), ("MODIFY", "a"), ("MOVED_FROM", "a"), ("MOVED_TO", "b"),
                 ("DELETE", "b"), ("CREATE", "d"), ("DELETE", "d"), ("CREATE", "end"))
    outside.close()
    seen.wait("1 CLOSE end")
    time.sleep(1)
    assert seen.take() == ["ready", "1 CREATE a", "1 MODIFY a", "1 CLOSE a", "1 MOVED_FROM a",
                           "1 MOVED_TO b", "1 CREATE d", "1 DELETE d", "1 DELETE b",
                           "1 CREATE end", "1 CLOSE end"]


def test_bulk_changes_end_with_the_truth(session, watched):
    """As a checkout: files replaced, removed and made, read in between"""
    name, folder = watched
    top = f"{folder}/bulk"
    for turn in range(3):
        for i in range(300):
            if turn and i % 7 == turn:
                os.unlink(f"{top}/f{i}")
            else:
                put(f"{top}/f{i}.tmp", f"{turn} {i}\n")
                os.rename(f"{top}/f{i}.tmp", f"{top}/f{i}")
            if i == 150:
                # Reads some, and has the rest sent ahead of use.
                session.sh(name, f"ls -l {top} > /dev/null; cat {top}/f1*")
        time.sleep(1)
        expected = "".join(open(f"{top}/{entry}", encoding="ascii").read()
                           for entry in sorted(os.listdir(top)))
        assert session.sh(name, f"cd {top}; cat $(ls | LC_ALL=C sort)") == expected.rstrip("\n")


def test_more_changes_than_can_be_told_end_with_the_truth(session, watched):
    name, folder = watched
    top = f"{folder}/bulk"
    assert session.sh(name, f"cat {top}/f0; test ! -e {top}/late") == "2 0"
    # At once from the server's point of view: more than inotify queues.
    server = files_pid(session, name)
    os.kill(server, 19)
    try:
        for i in range(17000):
            os.close(os.open(f"{top}/flood", os.O_CREAT | os.O_WRONLY))
            os.unlink(f"{top}/flood")
        put(f"{top}/f0", "changed\n")
        put(f"{top}/late", "late\n")
    finally:
        os.kill(server, 18)
    wait(lambda: session.sh(name, f"cat {top}/f0 {top}/late 2>&1; true") == "changed\nlate", 10,
         "the truth after an overflow")


def test_what_a_command_wrote_is_there_when_it_returns(session, watched):
    """The guest's writes are answered before the host has them: its end is not."""
    name, folder = watched
    for turn in range(8):
        script = (f"mkdir {folder}/done{turn}; cd {folder}/done{turn}; "
                  "for i in 1 2 3 4 5 6 7 8 9; do echo $i > $i; done; "
                  "touch -d @1500000000 9; cat 1 2 3 4 5 6 7 8 9 > all; echo end >> all")
        session("exec", name, "sh", "-c", script)
        with open(f"{folder}/done{turn}/all", encoding="ascii") as file:
            assert file.read() == "".join(f"{i}\n" for i in range(1, 10)) + "end\n"
        assert os.stat(f"{folder}/done{turn}/9").st_mtime == 1500000000
        shutil.rmtree(f"{folder}/done{turn}")
