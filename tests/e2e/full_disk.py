#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""full_disk.py - a sandbox whose home is a file system that fills up

Run in a private mount namespace: full_disk.py FOLDER HOME, where HOME lends its
kernel cache and template.
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from bawn import Bawn, Result, children_of, command_of, kill, wait  # noqa: E402

ROOM = 400 << 20  # more than any of the files that a save makes here
TRIES = 4


def main():
    folder, lender = sys.argv[1:3]
    home, project = f"{folder}/full", f"{folder}/project"
    os.makedirs(home)
    os.makedirs(project, exist_ok=True)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500M,mode=700", "tmpfs", home],
                   check=True)
    # What a full tmpfs has no page for: holes of the memory image that are too
    # short to be memory instead. On a disk they cost nothing; it lies elsewhere.
    for data in (f"{folder}/data", f"{home}/data"):
        os.makedirs(data, mode=0o700)
    subprocess.run(["mount", "--bind", f"{folder}/data", f"{home}/data"], check=True)
    # So that each can be full alone.
    for place in (f"{home}/cache", f"{home}/data/images"):
        os.makedirs(place, mode=0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500M,mode=700", "tmpfs", place],
                       check=True)
    if os.path.isdir(f"{lender}/cache"):
        subprocess.run(["cp", "-a", f"{lender}/cache/.", f"{home}/cache/"], check=True)
    bawn = Bawn(home, project)
    try:
        case(bawn)
    finally:
        bawn.raw("rm", "-f", "full", timeout=60)
        for pid in bawn.processes():
            kill(pid)
        wait(lambda: not bawn.processes(), 10, "no process is left")


def fill(home, leave, ballast="ballast"):
    """Takes all room but `leave` bytes."""
    room = os.statvfs(home)
    take = room.f_bavail * room.f_bsize - leave
    with open(f"{home}/{ballast}", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, take)


def case(bawn):
    name = bawn.create(name="full")
    fill(bawn.home, 16 << 20)
    job = bawn.popen("exec", "-u", "root", name, "sh", "-c",
                     "dd if=/dev/urandom of=/fill bs=1M count=64 2>&1 && sync && "
                     "echo written")
    wait(lambda: bawn.status(name) == "paused", 60, "the guest is paused")
    row = bawn.row(name)
    assert "disk" in str(bawn.inspect(name)) + str(row), row
    assert "paused (host disk full" in bawn("ls").out
    os.unlink(f"{bawn.home}/ballast")
    wait(lambda: bawn.status(name) == "running", 60, "it goes on by itself")
    out, err = job.communicate(timeout=120)
    assert b"written" in out, (out, err)
    sum_again = bawn.sh(name, "sync; md5sum /fill | cut -d' ' -f1; "
                        "echo 3 > /proc/sys/vm/drop_caches; md5sum /fill | cut -d' ' -f1")
    first, second = sum_again.split()
    assert first == second
    kinds = [event["event"] for event in bawn.events()]
    assert "paused" in kinds and "resumed" in kinds, kinds
    saves(bawn, name)
    snapshots(bawn, name)


def left_behind(bawn):
    """What a save makes: machines on copies, copies, spooled files, templates."""
    found = [one for one in os.listdir(f"{bawn.home}/state/sandboxes") if one.startswith("saving-")]
    for place in ("cache", "data", "state"):
        for folder, _, files in os.walk(f"{bawn.home}/{place}"):
            found += [f"{folder}/{one}" for one in files if one.endswith((".tmp", ".part"))]
    return found + [one for one in bawn("template", "ls").out.split() if one.startswith("saved")]


def failed_cleanly(bawn, name, done):
    assert done.code == 1 and "No space left" in done.err, done
    said = [line for line in done.err.splitlines() if "No space left" in line]
    assert len(said) == 1 and said[0].startswith(f"bawn: saving {name}: "), done
    assert "signal" not in done.err, done
    assert done.out == "" and bawn.status(name) == "running", done
    assert bawn.sh(name, "cat /dev/shm/value") == "kept"
    assert not os.path.exists(f"{bawn.machine(name)}/checkpoint")


def free_bytes(place):
    room = os.statvfs(place)
    return room.f_bavail * room.f_bsize


def signalled(pid, number):
    """A helper of the save may have done its part and ended meanwhile."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def save_while_it_fills(bawn, name, place):
    """There is room when it is asked for, and none when a part is written."""
    fill(place, ROOM)
    job = bawn.popen("save", name, "saved:1", start_new_session=True)
    wait(lambda: free_bytes(place) < ROOM - (4 << 20) or job.poll() is not None, 240,
         "it writes there")
    writers = [job.pid, *(pid for pid in children_of(job.pid) if command_of(pid) == "bawn-image")]
    writers = [pid for pid in writers if signalled(pid, signal.SIGSTOP)]
    fill(place, 1 << 20, "last")
    for pid in writers:
        signalled(pid, signal.SIGCONT)
    out, err = job.communicate(timeout=240)
    return Result(("save", place), job.returncode, out.decode(), err.decode())


def save_that_met_it(bawn, name, place):
    """Who has written all of its part before it is stopped has met no full disk."""
    for _ in range(TRIES):
        done = save_while_it_fills(bawn, name, place)
        if done.code:
            break
        bawn("template", "rm", "saved:1")
        for ballast in ("ballast", "last"):
            os.unlink(f"{place}/{ballast}")
    return done


def saves(bawn, name):
    """No room for the copy of the disk; for the machine that reads it, from its first moment
    or later; for its files, which pass through the cache; for the template."""
    bawn.sh(name, "echo kept > /dev/shm/value")
    room = os.statvfs(bawn.home)
    copy = os.stat(f"{bawn.machine(name)}/disk.qcow2").st_blocks * 512
    assert copy > 64 << 20
    for place, leave in ((bawn.home, 12 << 20), (bawn.home, copy + (1 << 20)),
                         (bawn.home, copy + (40 << 20)), (f"{bawn.home}/cache", 12 << 20),
                         (f"{bawn.home}/data/images", 12 << 20)):
        fill(place, leave)
        done = bawn.raw("save", name, "saved:1", timeout=240)
        failed_cleanly(bawn, name, done)
        os.unlink(f"{place}/ballast")
        assert left_behind(bawn) == []
    for place in (f"{bawn.home}/cache", f"{bawn.home}/data/images"):
        before = free_bytes(place)
        failed_cleanly(bawn, name, save_that_met_it(bawn, name, place))
        for ballast in ("ballast", "last"):
            os.unlink(f"{place}/{ballast}")
        assert left_behind(bawn) == [] and before - free_bytes(place) < 1 << 20, place
    # all of it is free again
    wait(lambda: abs(os.statvfs(bawn.home).f_bavail - room.f_bavail) * room.f_bsize < 2 << 20,
         10, "the room is free again")


def snapshots(bawn, name):
    """No room for its memory: it says so, goes on, and leaves nothing behind."""
    bawn.sh(name, "rm /fill; echo kept > /dev/shm/value; sync; fstrim / 2>/dev/null || true")
    folder = f"{bawn.folder(name)}/checkpoints"
    fill(bawn.home, 8 << 20)
    for words in (("checkpoint", name, "c"), ("stop", name)):
        done = bawn.raw(*words, timeout=120)
        assert done.code == 1 and "No space left" in done.err, (words, done)
        wait(lambda: bawn.status(name) == "running", 60, "it goes on")
        assert bawn.sh(name, "cat /dev/shm/value") == "kept", words
        assert not os.path.exists(f"{bawn.machine(name)}/suspended")
        assert not os.path.exists(f"{bawn.machine(name)}/checkpoint")
        assert [one for one in os.listdir(folder) if one != ".current"] == []
    os.unlink(f"{bawn.home}/ballast")
    bawn("stop", name)
    assert bawn.status(name) == "suspended"
    assert bawn.sh(name, "cat /dev/shm/value") == "kept"


if __name__ == "__main__":
    main()
