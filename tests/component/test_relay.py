# SPDX-License-Identifier: Apache-2.0
"""The files relay between this machine's kernel and the real bawn-files"""
import contextlib
import errno
import hashlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from relay_fixtures import USER, writes_of
from relay_machine import MARKER, TAKEN, share


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_both_sides_see_the_same(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    data = os.urandom(5 << 20)
    with open(machine.path("big"), "wb") as file:
        file.write(data)
        # what was answered inside the guest is on its way until then
        os.fsync(file.fileno())
    assert digest(f"{machine.host}/big") == hashlib.sha256(data).hexdigest()
    assert os.stat(machine.path("big")).st_uid == 1000
    assert os.stat(f"{machine.host}/big").st_uid == USER
    shutil.copytree("/etc/alternatives", machine.path("tree"), symlinks=True)
    assert sorted(os.listdir(f"{machine.host}/tree")) == sorted(os.listdir("/etc/alternatives"))
    with open(f"{machine.host}/big", "r+b") as file:
        file.write(b"edited")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with open(machine.path("big"), "rb") as file:
            if file.read(6) == b"edited":
                return
    pytest.fail("an edit on the host was not seen")


@pytest.mark.parametrize("bulk", [True, False], ids=["memory", "port alone"])
def test_more_than_the_memory_holds_passes_both_ways(boot, bulk):
    """Writes that find no room there wait for it; nothing is lost or out of order."""
    machine = boot(bulk=bulk)
    machine.wait_ready()
    data = os.urandom(40 << 20)
    with open(machine.path("big"), "wb", buffering=0) as file:
        file.write(data)
        for at in range(0, len(data), 5 << 20):
            file.seek(at)
            file.write(data[at:at + 70000])
        os.fsync(file.fileno())
    assert digest(f"{machine.host}/big") == hashlib.sha256(data).hexdigest()
    with open(f"{machine.host}/other", "wb") as file:
        file.write(data[::-1])
    # The guest may have been told of the name before it was told of the content.
    deadline = time.monotonic() + 10
    while os.stat(machine.path("other")).st_size < len(data):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert digest(machine.path("other")) == hashlib.sha256(data[::-1]).hexdigest()


def ask_for_nothing(descriptor):
    """A request that the relay answers by itself."""
    with pytest.raises(OSError) as caught:
        os.getxattr(descriptor, "trusted.nothing")
    assert caught.value.errno == errno.EOPNOTSUPP


@pytest.mark.parametrize("meanwhile", [lambda descriptor: None, ask_for_nothing],
                         ids=["nothing follows", "only the relay is asked"])
def test_a_small_write_leaves_by_itself(boot, meanwhile):
    machine = boot()
    machine.wait_ready()
    with open(machine.path("log"), "wb", buffering=0) as file:
        for line in (b"one\n", b"two\n"):
            file.write(line)
            deadline = time.monotonic() + 20
            while not open(f"{machine.host}/log", "rb").read().endswith(line):
                meanwhile(file.fileno())
                assert time.monotonic() < deadline, "it waits for another request"


def test_what_the_relay_answers_itself_sends_no_change_off(boot):
    """Each costs a write for its answer; the port is written to once for many changes."""
    machine = boot()
    machine.wait_ready()
    count = 2000
    with open(machine.path("log"), "wb", buffering=0) as file:
        file.write(b"first\n")
        ask_for_nothing(file.fileno())
        before = writes_of(machine.relay.pid)
        for _ in range(count):
            file.write(b"line\n")
            ask_for_nothing(file.fileno())
        used = writes_of(machine.relay.pid) - before
    assert used < 2.5 * count


def make_files(folder, count):
    os.mkdir(folder)
    for i in range(count):
        with open(f"{folder}/{i}", "wb") as file:
            file.write(b"x")


def test_names_that_will_go_are_removed_without_waiting(boot):
    """A write for each answer, one more for the folder's; the port is written to once for many."""
    machine = boot()
    assert machine.wait_ready() == ""
    count = 2000
    make_files(machine.path("d"), count)
    names = [entry.path for entry in os.scandir(machine.path("d"))]
    assert len(names) == count
    before = writes_of(machine.relay.pid)
    for name in names:
        os.unlink(name)
    used = writes_of(machine.relay.pid) - before
    os.rmdir(machine.path("d"))  # behind them
    assert os.listdir(machine.host) == []
    assert used < 2.5 * count


@pytest.fixture
def keep():
    """A function after which a file cannot be removed, by anybody."""
    kept = []

    def keep(path):
        if subprocess.run(["chattr", "+i", path], stderr=subprocess.DEVNULL, check=False).returncode:
            pytest.skip("this file system has no immutable files")
        kept.append(path)

    yield keep
    for path in kept:
        subprocess.run(["chattr", "-i", path], check=True)


def test_a_name_that_could_not_go_comes_back_with_an_error(boot, keep):
    machine = boot()
    assert machine.wait_ready() == ""
    make_files(machine.path("d"), 20)
    assert sorted(os.listdir(f"{machine.host}/d")) == sorted(str(i) for i in range(20))
    keep(f"{machine.host}/d/7")
    folder = os.open(machine.path("d"), os.O_RDONLY)
    for i in range(20):
        os.unlink(machine.path(f"d/{i}"))
    with pytest.raises(OSError) as caught:
        os.fsync(folder)
    assert caught.value.errno == errno.EPERM
    os.fsync(folder)  # it was told
    os.close(folder)
    assert os.listdir(machine.path("d")) == os.listdir(f"{machine.host}/d") == ["7"]
    with open(machine.path("d/7"), "rb") as file:
        assert file.read() == b"x"
    with pytest.raises(OSError) as caught:
        os.unlink(machine.path("d/7"))
    assert caught.value.errno == errno.EPERM


def test_what_somebody_else_removed_first_is_gone(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    make_files(machine.path("d"), 20)
    names = sorted(os.listdir(machine.path("d")))
    os.kill(machine.files.pid, signal.SIGSTOP)
    try:
        for name in names[10:]:
            os.unlink(f"{machine.host}/d/{name}")
    finally:
        os.kill(machine.files.pid, signal.SIGCONT)
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(machine.path(f"d/{name}"))
    folder = os.open(machine.path("d"), os.O_RDONLY)
    os.fsync(folder)  # no error
    os.close(folder)
    os.rmdir(machine.path("d"))
    assert os.listdir(machine.host) == []


def test_the_relay_sleeps_when_nobody_asks(boot):
    """While it is asked again and again it need not."""
    machine = boot()
    machine.wait_ready()
    for i in range(500):
        assert not os.path.exists(machine.path(f"missing{i}"))
    deadline = time.monotonic() + 20
    asleep = 0
    while asleep < 100:
        with open(f"/proc/{machine.relay.pid}/stat", encoding="ascii") as file:
            state = file.read().rsplit(") ", 1)[1][0]
        asleep = asleep + 1 if state == "S" else 0
        assert time.monotonic() < deadline, f"it is in state {state}"


def fill(path, count, size=4096):
    """Files until an error; the names that were closed without one."""
    done = []
    for i in range(count):
        try:
            with open(f"{path}{i}", "wb", buffering=0) as file:
                for _ in range(4):
                    file.write(bytes([i % 251]) * size)
        except OSError as error:
            return done, error.errno
        done.append(i)
    return done, 0


def test_where_room_is_short_each_write_tells_its_own_error(boot):
    machine = boot(quota_bytes=1 << 20)
    assert machine.wait_ready() == ""
    done, error = fill(machine.path("f"), 200)
    assert error == errno.EDQUOT and done
    for i in done:
        with open(f"{machine.host}/f{i}", "rb") as file:
            assert file.read() == bytes([i % 251]) * 16384
    descriptor = os.open(machine.path("f0"), os.O_WRONLY | os.O_APPEND)
    try:
        with pytest.raises(OSError) as caught:
            for _ in range(64):
                os.write(descriptor, bytes(65536))
        assert caught.value.errno == errno.EDQUOT
        os.fsync(descriptor)  # it was told
    finally:
        os.close(descriptor)


def test_a_new_file_has_the_times_and_mode_that_it_was_given(boot):
    """As tar does it: none of these changes is waited for."""
    machine = boot()
    assert machine.wait_ready() == ""
    os.mkdir(machine.path("d"))
    for i in range(50):
        descriptor = os.open(machine.path(f"d/{i}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(descriptor, b"x" * 100)
        os.utime(descriptor, ns=(10**18 + i, 2 * 10**18 + i))
        os.fchmod(descriptor, 0o640)
        os.write(descriptor, b"y" * i)
        os.utime(descriptor, ns=(10**18 + i, 3 * 10**18 + i))
        os.close(descriptor)
    for i in range(50):
        inside = os.stat(machine.path(f"d/{i}"))
        host = os.stat(f"{machine.host}/d/{i}")
        assert host.st_mtime_ns == 3 * 10**18 + i and host.st_size == 100 + i
        assert host.st_mode & 0o777 == 0o640
        for field in ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode", "st_nlink"):
            assert getattr(inside, field) == getattr(host, field), field


def test_a_file_whose_name_is_gone_stays_nameless_when_its_times_are_set(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    descriptor = os.open(machine.path("f"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(descriptor, b"data")
    os.unlink(machine.path("f"))
    os.utime(descriptor, ns=(1, 2))
    assert os.fstat(descriptor).st_nlink == 0
    os.close(descriptor)
    assert os.listdir(machine.host) == []


def test_times_that_were_set_last_hold_after_the_host_has_written(boot):
    """What the host does between two changes of the guest is not covered up."""
    machine = boot()
    assert machine.wait_ready() == ""
    descriptor = os.open(machine.path("f"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(descriptor, b"12345")
    os.fsync(descriptor)
    with open(f"{machine.host}/f", "ab") as file:
        file.write(b"6789")
    deadline = time.monotonic() + 30
    while os.fstat(descriptor).st_size != 9:
        assert time.monotonic() < deadline
    os.utime(descriptor, ns=(1, 2))
    assert os.fstat(descriptor).st_size == 9
    os.close(descriptor)
    assert os.stat(f"{machine.host}/f").st_mtime_ns == 2


# In a process of its own: who starts a server must hold no file that it serves.
LOAD = """
import os, sys, threading

failures, stop = [], threading.Event()

def work(folder):
    os.mkdir(folder)
    count = 0
    while not stop.is_set():
        name, data = f"{folder}/{count}", f"{count}\\n".encode() * 3000
        count += 1
        try:
            with open(name, "wb") as file:
                file.write(data)
            with open(name, "rb") as file:
                if file.read() != data:
                    failures.append(f"{name}: content")
        except OSError as error:
            failures.append(f"{name}: {error}")

threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(3)]
for thread in threads:
    thread.start()
with open("held", "ab", buffering=0) as held:
    for line in sys.stdin:
        for i in range(20):
            held.write(f"{line.strip()} {i}\\n".encode())
        print("written", flush=True)
    os.fsync(held.fileno())
stop.set()
for thread in threads:
    thread.join()
print("\\n".join(failures))
"""


def test_a_killed_server_is_replaced_under_load(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    with subprocess.Popen([sys.executable, "-c", LOAD], cwd=machine.path(""), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        for i in range(6):
            time.sleep(0.3)
            print(i, file=load.stdin, flush=True)
            assert load.stdout.readline() == "written\n"
            machine.kill_files()
            machine.start_files()
            assert machine.wait_ready() == ""
        failures = load.communicate(timeout=60)[0].split("\n")
    # What was done and not answered may be refused the second time.
    assert [text for text in failures if text and "File exists" not in text] == []
    with open(f"{machine.host}/held", "rb") as file:
        lines = file.read().decode().splitlines()
    assert lines == [f"{i} {j}" for i in range(6) for j in range(20)]
    for number in range(3):
        names = os.listdir(f"{machine.host}/w{number}")
        assert len(names) > 3
        for name in names:
            with open(f"{machine.host}/w{number}/{name}", "rb") as file:
                assert file.read() in (b"", f"{name}\n".encode() * 3000), name


@pytest.mark.parametrize("mode", ["direct", "overlay"])
def test_what_changed_while_nobody_served_is_seen(boot, mode):
    """DROP: names are asked for again, also those that were not there"""
    machine = boot(overlay=mode == "overlay")
    assert machine.wait_ready() == ""
    for name in ("goes", "stays"):
        with open(f"{machine.host}/{name}", "w", encoding="ascii") as file:
            file.write("old")
    for name in ("goes", "stays", "comes"):
        assert os.path.exists(machine.path(name)) == (name != "comes")
    machine.kill_files()
    os.unlink(f"{machine.host}/goes")
    os.unlink(f"{machine.host}/stays")
    for name in ("comes", "stays"):
        with open(f"{machine.host}/{name}", "w", encoding="ascii") as file:
            file.write("newer")
    machine.start_files()
    assert machine.wait_ready() == ""
    deadline = time.monotonic() + 10

    def seen():
        if os.path.exists(machine.path("goes")):
            return None
        try:
            texts = []
            for name in ("comes", "stays"):
                with open(machine.path(name), encoding="ascii") as file:
                    texts.append(file.read())
            return texts
        except OSError:
            return None
    while seen() != ["newer", "newer"]:
        assert time.monotonic() < deadline, seen()
        time.sleep(0.01)


def grow(top, outer, inner):
    for i in range(outer):
        for j in range(inner):
            os.makedirs(f"{top}/p{i}/f{j}")
            for name in ("a", "b", "c"):
                with open(f"{top}/p{i}/f{j}/{name}", "w", encoding="ascii") as file:
                    file.write("old")
    subprocess.run(["chown", "-R", f"{USER}:{USER}", top], check=True)


def size_of(path):
    """-1: the host has moved it since its folder was listed."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return -1


def seen(top):
    return {os.path.relpath(f"{path}/{name}", top): size_of(f"{path}/{name}")
            for path, _, names in os.walk(top) for name in names}


def test_a_walk_sees_what_is_there_now(boot):
    """Listings come ahead; whoever changes something meanwhile is not hidden by them."""
    machine = boot()
    grow(machine.host, 6, 8)
    assert machine.wait_ready() == ""
    inside = machine.path("")
    assert len(seen(inside)) == 6 * 8 * 3
    for turn in range(6):
        # Halfway through a walk much more is known than was asked for.
        part = f"p{turn}"
        walk = os.walk(inside)
        for _ in range(9):
            next(walk)
        for j in range(8):
            with open(f"{inside}/{part}/f{j}/a", "a", encoding="ascii") as file:
                file.write("more")
            os.unlink(f"{inside}/{part}/f{j}/b")
            with open(f"{inside}/{part}/f{j}/new", "w", encoding="ascii") as file:
                file.write("n")
            assert os.stat(f"{inside}/{part}/f{j}/a").st_size == 7
            assert sorted(os.listdir(f"{inside}/{part}/f{j}")) == ["a", "c", "new"]
        for j in range(8):
            with open(f"{machine.host}/{part}/f{j}/c", "a", encoding="ascii") as file:
                file.write("host")
            os.rename(f"{machine.host}/{part}/f{j}/new", f"{machine.host}/{part}/f{j}/moved")
        deadline = time.monotonic() + 30
        while seen(inside) != seen(machine.host):
            assert time.monotonic() < deadline
        for _ in walk:
            pass
    assert seen(inside) == seen(machine.host)


def peek(path):
    """One name; the kernel keeps no listing that was not read to its end."""
    with os.scandir(path) as names:
        return next((entry.name for entry in names), None)


def is_told_alone(machine, path):
    """Does a folder that was seen not need the server to be seen again?"""
    first, again = peek(path), []
    os.kill(machine.files.pid, signal.SIGSTOP)
    asking = threading.Thread(target=lambda: again.append(peek(path)))
    asking.start()
    asking.join(1)
    alone = not asking.is_alive()
    os.kill(machine.files.pid, signal.SIGCONT)
    asking.join()
    assert again == [first]
    return alone


def test_who_comes_again_is_not_a_matter_of_the_server(boot):
    """rm lists each folder twice: its names are kept inside."""
    machine = boot()
    grow(machine.host, 3, 4)
    assert machine.wait_ready() == ""
    inside = machine.path("")
    for folder in ("", "p0", "p1", "p2"):
        os.listdir(f"{inside}/{folder}")  # their names are believed for long
    # Events of what was just made there may end it for some.
    assert any(is_told_alone(machine, f"{inside}/p{i}/f{j}") for i in range(3) for j in range(4))
    # What the kernel has forgotten it must get with the names, not one by one.
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("2")
    assert seen(inside) == seen(machine.host)
    for name in os.listdir(f"{machine.host}/p1/f2"):
        os.unlink(f"{machine.host}/p1/f2/{name}")
    os.mkdir(f"{machine.host}/p1/f2/made")
    deadline = time.monotonic() + 30
    while peek(f"{inside}/p1/f2") != "made" or os.listdir(f"{inside}/p1/f2") != ["made"]:
        assert time.monotonic() < deadline
    os.rmdir(f"{inside}/p1/f2/made")
    assert os.listdir(f"{inside}/p1/f2") == []


def test_a_walk_goes_on_when_the_server_is_replaced(boot):
    machine = boot()
    grow(machine.host, 5, 6)
    assert machine.wait_ready() == ""
    walk = os.walk(machine.path(""))
    found = {}
    for turn, (path, _, names) in enumerate(walk):
        found[os.path.relpath(path, machine.path(""))] = sorted(names)
        if turn in (3, 12, 20):
            machine.kill_files()
            machine.start_files()
            assert machine.wait_ready() == ""
    assert len(found) == 1 + 5 + 5 * 6
    assert all(names == ["a", "b", "c"] for path, names in found.items() if path.count("/") == 1)


def test_names_are_found_one_after_the_other(boot):
    """As git does it: no folder is listed, each name is asked for."""
    machine = boot()
    grow(machine.host, 4, 6)
    assert machine.wait_ready() == ""
    for i in range(4):
        for j in range(6):
            for name in ("a", "b", "c"):
                inside = os.stat(machine.path(f"p{i}/f{j}/{name}"))
                host = os.stat(f"{machine.host}/p{i}/f{j}/{name}")
                assert (inside.st_ino, inside.st_size) == (host.st_ino, host.st_size)
            assert not os.path.exists(machine.path(f"p{i}/f{j}/none"))
            with open(machine.path(f"p{i}/f{j}/none"), "w", encoding="ascii") as file:
                file.write("x")
            assert os.path.exists(machine.path(f"p{i}/f{j}/none"))


def drop_all(sock):
    with contextlib.suppress(BlockingIOError):
        while sock.recv(1 << 20):
            pass


def serve(machine, seconds=40):
    """As the launcher: until the relay is ready."""
    deadline = time.monotonic() + seconds
    while not select.select([machine.control], [], [], 0.02)[0]:
        assert time.monotonic() < deadline, "nobody is ready"
        if machine.files.poll() is not None:
            machine.start_files()
    return machine.wait_ready()


# Writes whatever happens; what was written and read in one mount is right.
STUBBORN = """
import os, sys, threading

stop, wrong, done = threading.Event(), [], threading.Semaphore(0)

def work(number):
    count = 0
    while not stop.is_set():
        count += 1
        name = f"{sys.argv[1]}/s{number}-{count}"
        data = os.urandom(100 + 7919 * count % 70000)
        try:
            with open(name, "wb") as file:
                file.write(data)
                os.fsync(file.fileno())
            with open(name, "rb") as file:
                got = file.read()
            if got != data:
                wrong.append(name)
            os.unlink(name)
            done.release()
        except OSError:
            pass

threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
while True:
    while done.acquire(blocking=False):
        pass
    for _ in range(20):
        done.acquire()
    print("more", flush=True)
    if not sys.stdin.readline():
        break
stop.set()
for thread in threads:
    thread.join()
print("\\n".join(wrong), end="")
"""


def test_a_killed_relay_is_replaced(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    held = open(machine.path("held"), "wb", buffering=0)  # pylint: disable=R1732
    held.write(b"before")
    os.fsync(held.fileno())
    machine.relay.kill()
    machine.relay.wait()
    with pytest.raises(OSError) as caught:
        held.write(b"lost")
        os.fsync(held.fileno())
    assert caught.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    with contextlib.suppress(OSError):  # of a kernel that has not closed one before
        held.close()
    machine.start_relay(again=True)
    assert machine.files.wait(timeout=10) != 0  # it was told something that is no record
    machine.start_files()
    assert machine.wait_ready() == ""
    with open(machine.path("held"), "rb") as file:
        assert file.read() == b"before"


@pytest.mark.parametrize("taken", (32, 20))
def test_a_marker_that_died_with_its_relay_is_asked_for(boot, taken):
    """Killed between the read and the echo: nobody says the marker again by itself."""
    machine = boot()
    assert machine.wait_ready() == ""
    machine.relay.kill()
    machine.relay.wait()
    machine.kill_files()
    marker = bytes.fromhex(machine.marker)
    drop_all(machine.theirs)
    machine.start_files()
    assert select.select([machine.theirs], [], [], 20)[0]
    assert machine.theirs.recv(taken) == marker[:taken]
    machine.start_relay(again=True)
    assert machine.wait_ready() == ""
    assert machine.files.poll() is None
    with open(machine.path("file"), "wb") as file:
        file.write(b"there")
        os.fsync(file.fileno())


def test_a_welcome_that_died_with_its_relay_is_not_missed(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    machine.relay.kill()
    machine.relay.wait()
    machine.marker = os.urandom(32).hex()
    machine.start_relay(again=True)
    assert serve(machine) == ""


def test_a_relay_that_was_killed_before_any_welcome(boot):
    machine = boot(start=False)
    machine.start_relay()
    assert select.select([machine.ours], [], [], 20)[0]  # HELLO
    machine.relay.kill()
    machine.relay.wait()
    machine.start_relay(again=True)
    machine.start_files()
    assert machine.files.wait(timeout=10) != 0  # the second HELLO is one too many
    machine.start_files()
    assert serve(machine) == ""
    with open(machine.path("file"), "wb") as file:
        file.write(b"there")
        os.fsync(file.fileno())


def test_a_relay_that_is_killed_again_and_again_under_load_comes_back(boot):
    dice = random.Random(4713)
    machine = boot()
    assert machine.wait_ready() == ""
    with subprocess.Popen([sys.executable, "-c", STUBBORN, machine.path("")], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        for _ in range(12):
            assert load.stdout.readline() == "more\n"
            for _ in range(dice.randrange(1, 4)):
                time.sleep(dice.random() ** 4 / 10)  # at any moment
                machine.relay.kill()
                machine.relay.wait()
                machine.start_relay(again=True)
                if machine.files.poll() is not None:
                    machine.start_files()
            assert serve(machine) == ""
            print(file=load.stdin, flush=True)
        wrong = load.communicate(timeout=60)[0]
    assert wrong.replace("more\n", "") == ""


def test_shares_in_shares_files_and_overlays(boot, tmp_path):
    for name in ("inner", "lower", "later"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        os.chown(tmp_path / name, USER, USER)
    (tmp_path / "single").write_text("single\n")
    os.chown(tmp_path / "single", USER, USER)
    inside = str(tmp_path / "inside")
    machine = boot([share(tmp_path / "inner", guest_path=inside + "/sub/inner", read_only=True),
                    share(tmp_path / "single", guest_path="/run/one/file"),
                    share(tmp_path / "lower", guest_path="/run/over", overlay=True)])
    assert machine.wait_ready() == ""
    with pytest.raises(OSError) as caught:
        open(machine.path("new", 1), "w", encoding="ascii")
    assert caught.value.errno == errno.EROFS
    with open(machine.path("sub/inner/file"), encoding="ascii") as file:
        assert file.read() == "inner"
    with open(machine.root + "/run/one/file", "a", encoding="ascii") as file:
        file.write("more\n")
    assert (tmp_path / "single").read_text() == "single\nmore\n"
    with open(machine.path("file", 3), "a", encoding="ascii") as file:
        file.write(" changed")
    os.mkdir(machine.path("made", 3))
    assert (tmp_path / "lower/file").read_text() == "lower"
    assert os.listdir(tmp_path / "lower") == ["file"]
    assert sorted(os.listdir(machine.root + "/var/lib/bawn/overlay/3/upper")) == ["file", "made"]

    # A planned restart: one more at the end, one gone; an open file goes on.
    with open(machine.path("kept"), "w", encoding="ascii") as kept:
        kept.write("one\n")
        machine.shares[1]["gone"] = True
        machine.shares.append(share(tmp_path / "later", guest_path="/run/later"))
        machine.files.terminate()
        assert machine.files.wait() == 0
        machine.start_files()
        assert machine.wait_ready() == ""
        kept.write("two\n")
    with open(f"{machine.host}/kept", encoding="ascii") as file:
        assert file.read() == "one\ntwo\n"
    with open(machine.path("file", 4), encoding="ascii") as file:
        assert file.read() == "later"
    assert os.listdir(machine.path("sub/inner")) == []


def test_a_marker_of_pid_1_is_the_next_servers(boot):
    machine = boot()
    assert machine.wait_ready() == ""
    machine.marker = os.urandom(32).hex()
    machine.tell(MARKER, bytes.fromhex(machine.marker))
    assert machine.heard()[0] == TAKEN
    machine.kill_files()
    machine.start_files()
    assert machine.wait_ready() == ""
    assert os.listdir(machine.path("")) == []


def test_a_share_that_cannot_be_mounted_is_a_problem(boot, tmp_path):
    (tmp_path / "other").mkdir()
    machine = boot([share(tmp_path / "other", guest_path="/proc/nowhere/x")])
    problem = machine.wait_ready()
    assert "/proc/nowhere" in problem
    assert os.listdir(machine.path("")) == []
