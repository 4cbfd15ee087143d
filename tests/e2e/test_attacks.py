# SPDX-License-Identifier: Apache-2.0
"""What a guest does that has taken over QEMU or its supervisor, and what it must not gain."""
import itertools
import json
import os
import re
import signal
import subprocess

import pytest

from bawn import ROOT, SOAK, alive, kill, status_of, wait

LIB = os.environ.get("BAWN_TEST_LIB", "/nonexistent")


@pytest.fixture
def victim():
    """A process of ours that nobody else may end."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def rewrite_state(bawn, name, **changes):
    path = f"{bawn.machine(name)}/state.json"
    owner = os.stat(path)
    state = {**bawn.state(name), **changes}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.chown(path + ".new", owner.st_uid, owner.st_gid)
    os.rename(path + ".new", path)


def inject(pid, syscall, *args):
    """What the system call gave inside that process; "" where tracing is refused."""
    done = subprocess.run([f"{LIB}/inject_syscall", str(pid), syscall, *map(str, args)],
                          capture_output=True, text=True, timeout=30, check=False)
    if done.returncode == 1 and not ROOT:
        pytest.skip(f"tracing is refused here: {done.stderr.strip()}")
    assert done.returncode == 0, done
    return done.stdout


def test_a_pid_in_the_state_file_is_not_believed(bawn, box, victim):
    """The supervisor writes that file: the CLI may be root and kills nobody for it."""
    supervisor = bawn.supervisor_pid(box)
    rewrite_state(bawn, box, supervisor_pid=victim.pid, qemu_pid=victim.pid)
    os.kill(supervisor, signal.SIGSTOP)
    bawn("rm", "-f", box, timeout=60)
    assert victim.poll() is None, "the process that the file names was killed"
    assert not alive(supervisor), "the one that holds the lock was not"


def test_a_supervisor_can_signal_nobody(bawn, box, victim):
    supervisor = bawn.supervisor_pid(box)
    inject(supervisor, "tgkill", victim.pid, victim.pid, 9)
    assert victim.poll() is None
    wait(lambda: not alive(supervisor), 5, "the attempt cost it its life")


def test_a_supervisor_can_open_nothing_outside_its_sandbox(bawn, box):
    got = inject(bawn.supervisor_pid(box), "openat", -100, "/etc/passwd", 0)
    assert re.search(r"^openat = -\d+|killed by signal", got), got


def test_a_supervisor_cannot_say_which_folders_are_shared(bawn, box):
    """W: sandbox.json is the command's; a supervisor reaches machine/ alone."""
    record = f"{bawn.folder(box)}/sandbox.json"
    supervisor = bawn.supervisor_pid(box)
    own = next(fd for fd in os.listdir(f"/proc/{supervisor}/fd")
               if os.readlink(f"/proc/{supervisor}/fd/{fd}") == bawn.machine(box))
    with open(record, "rb") as file:
        before = file.read()
    got = inject(supervisor, "openat", own, "state.json", os.O_RDWR)
    assert re.search(r"^openat = \d+", got), got
    for folder, path in ((-100, record), (own, "../sandbox.json")):
        got = inject(supervisor, "openat", folder, path, os.O_RDWR)
        assert re.search(r"^openat = -13\b", got), got
    got = inject(supervisor, "renameat", own, "state.json", own, "../sandbox.json")
    assert re.search(r"^renameat = -\d+", got), got
    with open(record, "rb") as file:
        assert file.read() == before


@pytest.mark.parametrize("role", ["qemu", "supervisor"])
def test_no_descriptor_can_be_made_to_send_signals(bawn, box, role):
    """F_SETOWN has the kernel send SIGIO, or any other, to a pid of one's choice."""
    pid = bawn.qemu_pid(box) if role == "qemu" else bawn.supervisor_pid(box)
    inject(pid, "fcntl", 0, 8, 1)
    wait(lambda: not alive(pid), 5, "the attempt cost it its life")


def test_terminal_controls_in_a_supervisors_words_stay_harmless(bawn, box):
    """P6: the 8-bit CSI is an ordinary character to JSON, and a command to a terminal."""
    evil = "\x1b]0;owned\x07\x9b31m\u202e\x7f"
    job = bawn.popen("exec", box, "sh", "-c", "sleep 60", evil)
    try:
        wait(lambda: bawn.inspect(box)["sessions"], 20, "the session is listed")
        out = bawn.raw("inspect", box, input=b"").out
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x80-\xff]", out), out
    finally:
        kill(job.pid)
        job.wait()
    kill(bawn.supervisor_pid(box))
    wait(lambda: bawn.status(box) == "failed", 10, "it is seen as failed")
    rewrite_state(bawn, box, status="failed", reason=evil, accel=evil)
    with open(f"{bawn.machine(box)}/console.log", "a", encoding="utf-8") as file:
        file.write(evil + "\n")
    for command in (("ls",), ("ls", "--json"), ("inspect", box), ("logs", box),
                    ("events",), ("events", "--json")):
        out = bawn.raw(*command, input=b"").out.decode()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x80-\x9f\u202a-\u202e]", out), (
            command, out)


# Root's CLI works in machine/, which belongs to the sandbox's uid; the rest is
# only the user's, and yet nothing hangs there.
PLANTED = ["machine/state.json", "machine/alive", "machine/console.log",
           "machine/supervisor.log", "machine/disk.qcow2", "machine/control.sock",
           "env.json", "used", "lock", "owner", "sandbox.json", "fresh"]
KINDS = ["fifo", "symlink", "folder"]
PAIRS = list(itertools.product(PLANTED, KINDS)) if SOAK else list(zip(PLANTED, KINDS))


@pytest.mark.both
@pytest.mark.parametrize("name,kind", PAIRS)
def test_what_is_planted_in_a_sandboxs_folder_holds_up_nobody(bawn, box, tmp_path, name,
                                                             kind):
    """No command hangs, follows the link, or changes what lies behind it."""
    treasure = tmp_path / "treasure"
    treasure.write_text("precious")
    os.chmod(treasure, 0o640)
    before = os.stat(treasure)
    bawn("stop", "--power-off", box)
    path = f"{bawn.folder(box)}/{name}"
    if os.path.lexists(path):
        os.unlink(path)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "symlink":
        os.symlink(treasure, path)
    else:
        os.mkdir(path)
    for command in (("ls",), ("inspect", box), ("logs", box), ("exec", box, "true"),
                    ("stop", box), ("env", box), ("env", box, "A=b"), ("rm", "-f", box)):
        bawn.raw(*command, timeout=40)
    assert treasure.read_text() == "precious"
    after = os.stat(treasure)
    assert (before.st_uid, before.st_mode, before.st_ino, before.st_mtime) == (
        after.st_uid, after.st_mode, after.st_ino, after.st_mtime)
    assert not os.path.lexists(bawn.folder(box)), "it can be removed all the same"
    assert bawn.raw("ls").code == 0


def test_variables_that_a_supervisor_planted_are_not_used(bawn, box, as_root):
    """They would be printed, escape sequences and all, and given to sessions."""
    path = f"{bawn.folder(box)}/env.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"PLANTED": "\x1b]0;owned\x07", "NUMBER": 1}, file)
    os.chown(path, *[os.stat(bawn.machine(box)).st_uid] * 2)
    for command in (("env", box), ("exec", box, "env")):
        done = bawn.raw(*command)
        assert done.code != 0 and "not a file of ours" in done.err, done
        assert "PLANTED" not in done.out


def test_the_supervisor_stands_in_no_folder_of_the_user(bawn, box):
    assert os.readlink(f"/proc/{bawn.supervisor_pid(box)}/cwd") == "/"


@pytest.mark.parametrize("role", ["qemu", "supervisor"])
def test_no_descriptor_of_the_caller_is_inherited(bawn, role, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    box = bawn.create()
    bawn("stop", "--power-off", box)
    bawn("exec", box, "true", close_fds=False)
    pid = bawn.qemu_pid(box) if role == "qemu" else bawn.supervisor_pid(box)
    links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
    os.close(fd)
    assert str(secret) not in links, links


def test_a_console_flood_is_paced_and_kept_small(bawn, box):
    """V7: the guest's kernel log goes to a file of the host."""
    supervisor = bawn.supervisor_pid(box)
    bawn("exec", "-d", "-u", "root", box, "sh", "-c",
         "while :; do echo flood-flood-flood-flood-flood-flood > /dev/console; done")
    ticks = os.sysconf("SC_CLK_TCK")

    def used():
        with open(f"/proc/{supervisor}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / ticks
    begin = used()
    bawn("exec", box, "sleep", "3")
    assert used() - begin < 1, "it costs the host a fraction of a CPU"
    size = sum(os.path.getsize(f"{bawn.machine(box)}/{log}")
               for log in os.listdir(bawn.machine(box)) if log.startswith("console.log"))
    assert size < 8 << 20, size
    assert int(status_of(supervisor)["VmRSS"].split()[0]) < 64 << 10
