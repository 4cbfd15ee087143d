# SPDX-License-Identifier: Apache-2.0
"""New files that the relay answers for, between this machine's kernel and bawn-files"""
import contextlib
import errno
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from relay_fixtures import USER, writes_of

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "e2e"))
from inotify import Inotify  # noqa: E402

MANY = 300


@contextlib.contextmanager
def nobody_serves(machine):
    """Whoever waits for the server waits until the end of it."""
    os.kill(machine.files.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(machine.files.pid, signal.SIGCONT)


def fresh_folder(machine, name="d"):
    """The server has said that its names are known, and given nodes."""
    os.mkdir(machine.path(name))
    os.statvfs(machine.path(name))
    return machine.path(name)


def make(path, content, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o644):
    """In another process, which may be held up."""
    code = ("import os, sys\n"
            "fd = os.open(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))\n"
            "os.write(fd, sys.argv[4].encode())\n"
            "print('written', flush=True)\n"
            "sys.stdin.readline()\n"
            "try:\n"
            "    os.fsync(fd)\n"
            "except OSError as caught:\n"
            "    print(caught.errno, flush=True)\n"
            "else:\n"
            "    print(0, flush=True)\n")
    return subprocess.Popen([sys.executable, "-c", code, path, str(flags), str(mode), content],
                            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def told(process):
    """What fsync said."""
    out, _ = process.communicate("\n", timeout=20)
    return int(out)


def until(is_so, seconds=20):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def waits_in(pid, function):
    """Of the kernel."""
    with open(f"/proc/{pid}/stack", encoding="ascii") as file:
        return function in file.read()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_a_file_in_a_new_folder_is_there_before_anybody_made_it(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    with nobody_serves(machine):
        process = make(f"{folder}/f", "content", mode=0o640)
        assert process.stdout.readline() == "written\n"
        assert os.listdir(f"{machine.host}/d") == []
    assert told(process) == 0
    assert read(f"{machine.host}/d/f") == b"content"
    ours, theirs = os.stat(f"{machine.host}/d/f"), os.stat(f"{folder}/f")
    assert stat.S_IMODE(ours.st_mode) == stat.S_IMODE(theirs.st_mode) == 0o640
    assert ours.st_ino == theirs.st_ino and theirs.st_uid == 1000


def test_what_is_told_of_a_new_file_is_what_the_host_says(boot):
    """Its number above all: no program may see another one first."""
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(MANY):
        descriptor = os.open(f"{folder}/{i}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 | i % 64)
        first = os.fstat(descriptor)
        os.write(descriptor, b"x" * i)
        second = os.fstat(descriptor)
        os.close(descriptor)
        last, host = os.stat(f"{folder}/{i}"), os.stat(f"{machine.host}/d/{i}")
        assert first.st_ino == second.st_ino == last.st_ino == host.st_ino
        assert first.st_mode == last.st_mode == host.st_mode
        assert first.st_mtime_ns <= last.st_mtime_ns and first.st_size == 0
        assert second.st_size == last.st_size == i
    os.sync()
    for i in range(MANY):
        assert os.stat(f"{folder}/{i}").st_mtime_ns == os.stat(f"{machine.host}/d/{i}").st_mtime_ns


def test_an_empty_file_has_one_time_inside_and_outside(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(20):
        os.close(os.open(f"{folder}/{i}", os.O_WRONLY | os.O_CREAT, 0o644))
        inside, outside = os.stat(f"{folder}/{i}"), os.stat(f"{machine.host}/d/{i}")
        assert inside.st_mtime_ns == outside.st_mtime_ns


def test_what_the_host_adds_to_a_new_file_is_read(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(30):
        with open(f"{folder}/{i}", "w+b", buffering=0) as file:
            file.write(b"first\n")
            os.fsync(file.fileno())
            with open(f"{machine.host}/d/{i}", "ab") as theirs:
                theirs.write(b"of the host\n")
            until(lambda i=i: read(f"{folder}/{i}") == b"first\nof the host\n")
            file.seek(0)
            assert file.read() == b"first\nof the host\n"


def test_who_reads_what_he_wrote_asks_once(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    with open(f"{folder}/f", "w+b", buffering=0) as file:
        file.write(b"x" * 4096)
        os.pread(file.fileno(), 10, 0)
        before = writes_of(machine.relay.pid)
        for _ in range(1000):
            os.pread(file.fileno(), 10, 0)
        assert writes_of(machine.relay.pid) - before < 100


def in_turns(descriptor, first, last):
    """Adds a line, and reads all of them, as the linker does. Whether that was there."""
    return all([os.pwrite(descriptor, b"%7d\n" % i, 8 * i) == 8 and
                os.pread(descriptor, 4096, 0).split() == [b"%d" % j for j in range(i + 1)]
                for i in range(first, last)])


def is_read_alone(machine, name):
    """Is the server not needed? Once in a second it is, so that one try may fail."""
    path, seen = machine.path(name), []
    until(lambda: time.time() % 1 < 0.1)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    assert in_turns(descriptor, 0, 2)
    thread = threading.Thread(target=lambda: seen.append(in_turns(descriptor, 2, 50)))
    with nobody_serves(machine):
        thread.start()
        thread.join(0.8)
        alone = not thread.is_alive()
    thread.join()
    assert seen == [True] and os.lseek(descriptor, 0, os.SEEK_END) == 8 * 50
    ours, theirs = os.fstat(descriptor), os.stat(f"{machine.host}/{name}")
    assert ours.st_size == theirs.st_size == 8 * 50
    assert ours.st_mtime_ns == theirs.st_mtime_ns
    os.close(descriptor)
    assert read(f"{machine.host}/{name}") == read(path)
    return alone


def test_who_reads_and_writes_in_turn_waits_for_nobody(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    fresh_folder(machine)
    assert any(is_read_alone(machine, f"d/{i}") for i in range(5))


def test_what_the_host_adds_between_a_write_and_a_read_is_seen(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(5):
        descriptor = os.open(f"{folder}/{i}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        assert in_turns(descriptor, 0, 20)
        os.fsync(descriptor)
        with open(f"{machine.host}/d/{i}", "ab") as theirs:
            theirs.write(b"of the host\n")

        def is_seen(descriptor=descriptor):
            os.pwrite(descriptor, b"%7d\n" % 0, 0)
            return os.pread(descriptor, 4096, 8 * 20) == b"of the host\n"

        until(is_seen)
        assert os.fstat(descriptor).st_size == 8 * 20 + 12
        os.close(descriptor)


def test_times_of_a_folder_that_is_being_filled_are_what_was_set(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    for i in range(50):
        folder = fresh_folder(machine, f"d{i}")
        os.close(os.open(f"{folder}/f", os.O_WRONLY | os.O_CREAT))
        os.utime(folder, (7, 7))
        assert os.stat(folder).st_mtime == 7


def test_names_that_are_too_long_are_refused(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for length in (256, 300, 1024):
        with pytest.raises(OSError) as caught:
            os.open(f"{folder}/{'n' * length}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        assert caught.value.errno == errno.ENAMETOOLONG
    os.close(os.open(f"{folder}/{'n' * 255}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    assert os.listdir(folder) == os.listdir(f"{machine.host}/d") == ["n" * 255]


def test_a_name_is_made_once_only(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(MANY):
        path = f"{folder}/{i % 7}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        with pytest.raises(FileExistsError):
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.unlink(path)
    assert os.listdir(folder) == os.listdir(f"{machine.host}/d") == []


def test_a_file_that_is_moved_and_linked_at_once(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(50):
        with open(f"{folder}/{i}.tmp", "w", encoding="ascii") as file:
            file.write(str(i))
        os.rename(f"{folder}/{i}.tmp", f"{folder}/{i}")
        os.link(f"{folder}/{i}", f"{folder}/{i}.too")
    for i in range(50):
        assert read(f"{machine.host}/d/{i}") == read(f"{folder}/{i}.too") == str(i).encode()
        assert os.stat(f"{folder}/{i}").st_nlink == 2
    assert len(os.listdir(f"{machine.host}/d")) == len(os.listdir(folder)) == 100


@pytest.mark.parametrize("flags", [os.O_EXCL, 0, os.O_TRUNC])
def test_a_name_that_the_host_took_first_is_the_hosts(boot, flags):
    """By an instant: the guest was told that it has it."""
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    with nobody_serves(machine):
        process = make(f"{folder}/f", "guest", os.O_WRONLY | os.O_CREAT | flags)
        assert process.stdout.readline() == "written\n"
        with open(f"{machine.host}/d/f", "wb") as file:
            os.fchown(file.fileno(), USER, USER)
            file.write(b"of the host")
    assert told(process) == errno.EEXIST
    assert read(f"{machine.host}/d/f") == read(f"{folder}/f") == b"of the host"
    with pytest.raises(FileExistsError):
        os.open(f"{folder}/f", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert os.listdir(folder) == ["f"]
    # The folder is the host's as well: from now on the server is asked.
    with open(f"{folder}/g", "wb") as file:
        file.write(b"further")
    assert read(f"{folder}/g") == b"further"


def test_a_lock_of_the_hosts_stays_when_the_guest_gives_its_own_up(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    with nobody_serves(machine):
        os.close(os.open(f"{folder}/lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        with open(f"{machine.host}/d/lock", "wb") as file:
            file.write(b"of the host")
        remover = subprocess.Popen([sys.executable, "-c", f"import os; os.unlink('{folder}/lock')"],
                                   stderr=subprocess.PIPE, text=True)
        # Not before: a name that it looks up again is the host's, by all that it knows.
        until(lambda: waits_in(remover.pid, "fuse_unlink"))
    assert "FileNotFoundError" in remover.communicate(timeout=20)[1]
    assert read(f"{machine.host}/d/lock") == b"of the host"


def test_where_the_host_has_been_the_server_is_asked(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    watcher = Inotify(folder)
    with open(f"{machine.host}/d/theirs", "wb") as file:
        file.write(b"x")
    # Who is told of it finds no cache that says otherwise.
    watcher.wait(("CREATE", "theirs"), seconds=20)
    watcher.close()
    with nobody_serves(machine):
        process = make(f"{folder}/f", "content")
        assert not select.select([process.stdout], [], [], 0.5)[0]
        assert os.listdir(f"{machine.host}/d") == ["theirs"]
    assert process.stdout.readline() == "written\n"
    assert told(process) == 0


def test_a_server_that_is_killed_has_its_successor_make_them(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    os.kill(machine.files.pid, signal.SIGSTOP)
    makers = [make(f"{folder}/{i}", f"content {i}") for i in range(5)]
    for process in makers:
        assert process.stdout.readline() == "written\n"
    machine.kill_files()
    machine.start_files()
    assert machine.wait_ready() == ""
    assert [told(process) for process in makers] == [0] * 5
    for i in range(5):
        assert read(f"{machine.host}/d/{i}") == read(f"{folder}/{i}") == f"content {i}".encode()
        assert os.stat(f"{folder}/{i}").st_ino == os.stat(f"{machine.host}/d/{i}").st_ino
    # Its numbers of nodes are good for others.
    other = fresh_folder(machine, "e")
    for i in range(MANY):
        with open(f"{other}/{i}", "w", encoding="ascii") as file:
            file.write(str(i))
    for i in range(MANY):
        assert read(f"{machine.host}/e/{i}") == read(f"{other}/{i}") == str(i).encode()


LOAD = """
import os, sys
count = 0
while not os.path.exists("stop"):
    folder = f"t{count}"
    os.mkdir(folder)
    for i in range(20):
        with open(f"{folder}/{i}", "wb") as file:
            file.write(f"{count} {i}".encode())
        os.utime(f"{folder}/{i}", (1, count))
    count += 1
print(count)
"""


def test_no_new_file_is_lost_when_servers_are_killed(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    with subprocess.Popen([sys.executable, "-c", LOAD], cwd=machine.path(""), text=True,
                          stdout=subprocess.PIPE) as load:
        for _ in range(8):
            time.sleep(0.2)
            machine.kill_files()
            machine.start_files()
            assert machine.wait_ready() == ""
        with open(machine.path("stop"), "wb"):
            pass
        count = int(load.communicate(timeout=60)[0])
    descriptor = os.open(machine.path(""), os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    assert count > 8
    for number in range(count):
        folder = f"{machine.host}/t{number}"
        assert len(os.listdir(folder)) == 20
        for i in range(20):
            assert read(f"{folder}/{i}") == f"{number} {i}".encode()
            assert os.stat(f"{folder}/{i}").st_mtime == number


def test_a_folder_that_fills_up_tells_its_times(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    for i in range(50):
        os.close(os.open(f"{folder}/{i}", os.O_WRONLY | os.O_CREAT))
        os.stat(folder)
    until(lambda: os.stat(folder).st_mtime_ns == os.stat(f"{machine.host}/d").st_mtime_ns)
    assert os.stat(folder).st_ino == os.stat(f"{machine.host}/d").st_ino


def test_a_folder_that_nobody_may_write_to_any_more(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    folder = fresh_folder(machine)
    os.chmod(machine.path(""), 0o755)
    os.close(os.open(f"{folder}/a", os.O_WRONLY | os.O_CREAT))
    os.chmod(folder, 0o555)
    with pytest.raises(PermissionError):  # root inside is nobody outside
        os.open(f"{folder}/b", os.O_WRONLY | os.O_CREAT)
    os.mkdir(machine.path("e"), 0o555)
    with pytest.raises(PermissionError):
        os.open(machine.path("e/b"), os.O_WRONLY | os.O_CREAT)
    code = f"import os; os.setgid(1000); os.setuid(1000); os.close(os.open({folder!r} + '/b', os.O_CREAT))"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    assert "PermissionError" in done.stderr
    assert os.listdir(f"{machine.host}/d") == ["a"]
