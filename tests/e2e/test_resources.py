# SPDX-License-Identifier: Apache-2.0
"""Resources: limits, hostile guests, a full disk."""
import ctypes
import mmap
import os
import subprocess
import time

import pytest

from bawn import SOAK, wait

HOGS = {
    "fork bomb": "while :; do sleep 1000 & done",
    "memory hog": "tail /dev/zero & tail /dev/zero & wait",
    "disk filler": "while :; do cat /dev/zero > /filler 2>/dev/null; rm /filler; done",
    "console flood": "yes 0123456789012345678901234567890123456789 > /dev/console",
}


@pytest.mark.parametrize("option, value, word", [
    ("-m", "100T", "memory"), ("-m", "1", "memory"), ("-m", "much", "memory"),
    ("--cpus", "100000", "CPU"), ("--cpus", "0x", "CPU"), ("--cpus", "-1", "CPU"),
    ("--disk", "1K", "disk"), ("--disk", "9999999T", "disk"),
])
def test_what_the_host_cannot_give_is_a_clear_error(bawn, option, value, word):
    before = bawn.names()
    done = bawn.raw("create", "-t", "tiny", f"{option}={value}"
                    if option.startswith("--") else f"{option}{value}", "shell", ".")
    assert done.code in (1, 2) and word.lower() in done.err.lower(), done
    assert len(done.err.splitlines()) == 1, done
    assert bawn.names() == before


def median(action, rounds=5):
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        action()
        times.append(time.monotonic() - start)
    return sorted(times)[rounds // 2]


@pytest.mark.seconds(240)
@pytest.mark.parametrize("hog", HOGS)
def test_a_hog_in_one_guest_leaves_the_host_and_others_usable(bawn, hog):
    """The ratio is measured by the benchmark; here it must only go on working."""
    quiet = bawn.create()
    loud = bawn.create("--disk", "20G")
    bawn("exec", "-d", "-u", "root", loud, "sh", "-c", HOGS[hog])
    deadline = time.monotonic() + 5
    rounds = 0
    while time.monotonic() < deadline or rounds < 3:
        assert bawn("ls", timeout=20).code == 0
        assert bawn("exec", quiet, "true", timeout=30).code == 0
        rounds += 1
    bawn("rm", "-f", loud, timeout=60)
    assert bawn.sh(quiet, "echo fine") == "fine"


# Queues of sockets: memory of the guest's kernel, which no page of a program shows.
SOCKETS = """
import socket
kept = []
while True:
    kept.append(socket.socketpair())
    kept[-1][0].setblocking(False)
    try:
        while True:
            kept[-1][0].send(b"x" * 65536)
    except BlockingIOError:
        pass
"""


@pytest.mark.seconds(600)
@pytest.mark.skipif(not SOAK, reason="a minute under emulation: make soak runs it")
def test_a_session_that_fills_the_kernels_memory_ends_and_the_guest_does_not(bawn):
    """Under emulation that is not counted for the session."""
    box = "t-kernel-memory"
    bawn("create", "--name", box, "-t", "base", "-m", "1G", "shell", ".", timeout=300)
    marker = bawn.sh(box, "cat /proc/sys/kernel/random/boot_id")
    script = f"ulimit -n 60000; for i in 1 2 3; do python3 -c '{SOCKETS}' & done; wait"
    bawn.raw("exec", "-u", "root", box, "bash", "-c", script, timeout=500)
    assert bawn.sh(box, "cat /proc/sys/kernel/random/boot_id") == marker
    assert bawn.sh(box, 'ls "$WORKSPACE_DIR" > /dev/null && echo fine') == "fine"


def test_a_fork_bomb_can_be_ended(bawn, box):
    bawn("exec", "-d", "-u", "root", box, "sh", "-c", HOGS["fork bomb"])
    wait(lambda: bawn.raw("exec", box, "true", timeout=60).code is not None)
    bawn("stop", "--power-off", box, timeout=60)
    assert bawn.status(box) == "stopped"


def test_logs_of_a_flooding_guest_stay_small(bawn, box):
    bawn.raw("exec", "-u", "root", box, "timeout", "5", "sh", "-c",
             HOGS["console flood"], timeout=60)
    size = sum(entry.stat().st_blocks * 512 for entry in os.scandir(bawn.folder(box))
               if "log" in entry.name)
    assert size < 32 * 1024 * 1024
    assert bawn.sh(box, "echo fine") == "fine"


def test_a_guest_out_of_disk_gets_enospc_and_goes_on(bawn):
    name = bawn.create("--disk", "20G")
    room = int(bawn.sh(name, "df -k / | awk 'NR==2 {print $4}'"))
    done = bawn.raw("exec", "-u", "root", name, "sh", "-c",
                    f"fallocate -l {(room - 20_000) * 1024} /most; "
                    "dd if=/dev/zero of=/fill bs=1M 2>&1; rm /fill /most", timeout=170)
    assert "No space" in done.out, done
    assert bawn.sh(name, "echo fine") == "fine"


def test_disk_use_is_given_back_by_discard(bawn, box):
    disk = f"{bawn.machine(box)}/disk.qcow2"
    bawn.sh(box, "dd if=/dev/urandom of=/big bs=1M count=64 2>/dev/null; sync")
    grown = os.stat(disk).st_blocks
    assert grown * 512 > 60e6
    bawn.sh(box, "rm /big; sync")
    wait(lambda: os.stat(disk).st_blocks < grown - 60_000_000 // 512, 20,
         "the host has its blocks back")


def holes_in_memory(path):
    """Bytes of a file's holes that the host's page cache has pages for."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    with open(path, "rb", buffering=0) as file:
        size, held, at = os.fstat(file.fileno()).st_size, 0, 0
        there = (ctypes.c_ubyte * (size // mmap.PAGESIZE))()
        start = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED,
                          file.fileno(), ctypes.c_long(0))
        failed = libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), there)
        libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(size))
        assert not failed
        while at < size:
            hole = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            try:
                at = os.lseek(file.fileno(), hole, os.SEEK_DATA)
            except OSError:
                at = size
            held += sum(byte & 1 for byte in
                        there[hole // mmap.PAGESIZE:at // mmap.PAGESIZE])
    return held * mmap.PAGESIZE


def test_memory_of_a_guest_is_not_in_the_page_cache_as_well(bawn, box, as_root):
    folder = f"/proc/{bawn.qemu_pid(box)}/fd"
    ram = next(f"{folder}/{fd}" for fd in os.listdir(folder)
               if os.readlink(f"{folder}/{fd}").endswith("/ram"))
    before = holes_in_memory(ram)
    bawn.sh(box, "dd if=/dev/zero of=/dev/shm/much bs=1M count=64 2>/dev/null")
    assert holes_in_memory(ram) - before < 16e6


@pytest.mark.seconds(500)
def test_a_full_host_disk_pauses_the_guest_and_it_goes_on_when_there_is_room(
        tmp_path, session, as_root):
    """The home is a small file system in a mount namespace of its own."""
    script = os.path.join(os.path.dirname(__file__), "full_disk.py")
    done = subprocess.run(
        ["unshare", "--mount", "/usr/bin/python3", "-B", script, str(tmp_path),
         session.home], capture_output=True, text=True, timeout=480, check=False,
        env=dict(os.environ))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
