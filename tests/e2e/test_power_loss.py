# SPDX-License-Identifier: Apache-2.0
"""test_power_loss.py - the state folder as it was at some moment, started elsewhere

Every process of the home stands still while it is copied, so that the copy is
what a power cut at that moment would have left, at the best. A machine that is
started from it has the memory that it was suspended with or none, and the disk
of that moment: never an older one, never one of another moment than its memory.
"""
import os
import random
import secrets
import shutil
import signal
import subprocess
import threading

import pytest

from bawn import SOAK, START_SECONDS, Bawn, kill, processes_beneath, wait

VALUE = "/dev/shm/value"
COPIES = 30 if SOAK else 3


class Worker:
    """Operations on a sandbox, and which values it may have at this moment."""

    def __init__(self, bawn, name, dice):
        self.bawn, self.name, self.dice = bawn, name, dice
        self.known = [("none", "none")]  # what was written last; while writing, both
        self.enough, self.problem = False, None
        self.thread = threading.Thread(target=self.run)
        self.write()

    def write(self):
        values = (secrets.token_hex(8), secrets.token_hex(8))
        self.known.append(values)
        self.bawn.sh(self.name, f"echo {values[0]} > {VALUE}; echo {values[1]} > /root/value; sync",
                     timeout=START_SECONDS)
        self.known = [values]

    def suspend(self):
        self.bawn("stop", self.name, timeout=START_SECONDS)

    def checkpoint(self):
        self.bawn("checkpoint", self.name, timeout=START_SECONDS)

    def run(self):
        try:
            while not self.enough:
                self.dice.choice([self.write, self.suspend, self.suspend, self.checkpoint])()
        except AssertionError as problem:
            self.problem = problem


def stands(pid):
    """All its threads do, or it is gone: a signal has not arrived when kill() returns."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
                if file.read().rpartition(")")[2].split()[0] not in "TtZX":
                    return False
    except (FileNotFoundError, ProcessLookupError):
        pass
    return True


def stop_all(home):
    stopped = []
    while True:
        more = [pid for pid in processes_beneath(home) if pid not in stopped]
        if not more:
            return stopped
        for pid in more:
            kill(pid, signal.SIGSTOP)
        for pid in more:
            wait(lambda pid=pid: stands(pid), 10, "it to stand")
        stopped += more


def copy_home(bawn, name, place, stopped):
    """The sandbox as it is now; what never changes is linked."""
    folder = f"{place}/state/sandboxes"
    os.makedirs(folder, mode=0o700)
    for part in ("data", "cache"):
        if os.path.isdir(f"{bawn.home}/{part}"):
            subprocess.run(["cp", "-al", f"{bawn.home}/{part}", place], check=True)
    argv = ["cp", "-a", "--sparse=always", bawn.folder(name), folder]
    if subprocess.run(argv, check=False).returncode:
        # A command that began after all others stood took a file away.
        stopped += stop_all(bawn.home)
        shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
        subprocess.run(argv, check=True)


def look(bawn, place, name, known):
    """Starts the copy; what it says is what was there."""
    copy = Bawn(place, bawn.workspace)
    try:
        done = copy("exec", "-u", "root", name, "sh", "-c",
                    f"cat {VALUE} 2>/dev/null || echo none; cat /root/value",
                    timeout=START_SECONDS)
        memory, disk = done.out.split()
        if memory == "none":
            assert disk in [pair[1] for pair in known], (done, known)
        else:
            # it writes the one and then the other
            fine = [*known, *((new[0], old[1]) for old, new in zip(known, known[1:]))]
            assert (memory, disk) in fine, (done, known)
        copy("checkpoint", "ls", name)
        return memory != "none"
    finally:
        copy.raw("rm", "-f", name)
        for pid in copy.processes():
            kill(pid)
        wait(lambda: not copy.processes(), 10, "no process is left")
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.seconds(3600 if SOAK else 240)
def test_a_copy_of_any_moment_starts_with_what_was_there(bawn, box, tmp_path):
    seed = int(os.environ.get("BAWN_TEST_SEED", secrets.randbelow(1 << 32)))
    print(f"BAWN_TEST_SEED={seed}")
    dice = random.Random(seed)
    worker = Worker(bawn, box, random.Random(seed + 1))
    copies = []
    worker.thread.start()
    try:
        for number in range(COPIES):
            # a moment within its work, whatever that is
            threading.Event().wait(dice.uniform(0.1, 1.5))
            place = f"{tmp_path}/copy{number}"
            stopped = stop_all(bawn.home)
            try:
                known = list(worker.known)
                copy_home(bawn, box, place, stopped)
            finally:
                for pid in stopped:
                    kill(pid, signal.SIGCONT)
            copies.append((place, known))
    finally:
        worker.enough = True
        worker.thread.join(START_SECONDS)
    assert not worker.problem, worker.problem
    kept = [look(bawn, place, box, known) for place, known in copies]
    print(f"{sum(kept)} of {len(kept)} had their memory")
