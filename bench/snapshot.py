#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""snapshot.py - suspend, checkpoint and fork of a 2 GiB guest that uses 600 MiB

A resume against a warm start, a checkpoint against `cp` of the bytes that it
writes, the largest hole in a counter of milliseconds while one is taken, eight
forks against eight warm starts on these cores.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import common

NAME = "bench-snapshot"
SIZE = ("-m", "2G")
USED, RATE = "600", "50"
FORKS = 8
# What others publish; read, not measured here.
PUBLISHED = ("Firecracker: restore of a snapshot from 4 ms (KVM, memory mapped); "
             "smolvm: fork below 250 ms; Sprites: checkpoint about 300 ms")


def warm():
    common.bawn("run", "--rm", *SIZE, "shell", "--", "-c", "true")


def cold():
    common.bawn("run", "--rm", "--cold", *SIZE, "shell", "--", "-c", "true")


def private_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        text = file.read()
    return sum(int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M).group(1))
               for key in ("Private_Clean", "Private_Dirty", "Swap")) / 1000


class Counter:
    """The dirtier in the guest; when each of its bytes arrived."""

    def __init__(self):
        common.bawn("cp", f"{common.TOP}/build/bench/dirtier", f"{NAME}:/tmp/dirtier")
        self.job = subprocess.Popen([common.BAWN, "exec", NAME, "/tmp/dirtier", USED, RATE],
                                    env=common.ENV, cwd=common.workspace(),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        os.read(self.job.stdout.fileno(), 1)
        self.times = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while os.read(self.job.stdout.fileno(), 65536):
            self.times.append(time.monotonic())

    def stop(self):
        self.job.kill()
        self.job.wait()

    def largest_gap(self, begin, end):
        inside = [begin, *(moment for moment in self.times if begin <= moment <= end), end]
        return max(after - before for before, after in zip(inside, inside[1:]))


def hold_memory():
    """The same memory in use, and nobody writes to it."""
    job = subprocess.Popen([common.BAWN, "exec", NAME, "/tmp/dirtier", USED, "0"],
                           env=common.ENV, cwd=common.workspace(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    os.read(job.stdout.fileno(), 1)


def resume():
    """From suspended to the first command's output; the stop is not counted."""
    common.bawn("stop", NAME)
    return common.seconds(lambda: common.bawn("exec", NAME, "true"))


def checkpoint_files(label):
    folder = f"{common.HOME}/state/sandboxes/{NAME}/checkpoints/{label}"
    return [f"{folder}/{name}" for name in ("ram", "state", "disk.qcow2")]


def copy(files, folder):
    """As a checkpoint is made: new files, sparse, on the disk at the end."""
    copies = [f"{folder}/{os.path.basename(path)}" for path in files]
    for path, target in zip(files, copies):
        common.quiet(["cp", "--sparse=always", "--reflink=never", path, target])
    common.quiet(["sync", *copies])


def one_checkpoint(counter):
    """How long it took, and the largest gap; how long a copy of its bytes.

    Both are removed: pages that a virtual machine touches for the first time
    cost many times as much as others, and whoever comes second would have them.
    """
    begin = time.monotonic()
    took = common.seconds(lambda: common.bawn("checkpoint", NAME, "taken"))
    time.sleep(0.5)
    gap = counter.largest_gap(begin, time.monotonic())
    files = checkpoint_files("taken")
    with tempfile.TemporaryDirectory(dir=common.HOME) as place:
        copied = common.seconds(lambda: copy(files, place))
    common.bawn("checkpoint", "rm", NAME, "taken")
    return took, gap, copied


def measure_checkpoints(counter):
    one_checkpoint(counter)
    rounds = [one_checkpoint(counter) for _ in range(5)]
    take, gap, copied = (statistics.median(column) for column in zip(*rounds))
    calm = counter.largest_gap(time.monotonic() - 0.4, time.monotonic())
    common.row("largest gap of the counter, nothing else going on", calm * 1e3)
    common.row("largest gap around a checkpoint, median of 5", gap * 1e3)
    common.row("bawn checkpoint", take * 1e3)
    common.row("cp of the same bytes, synced", copied * 1e3)
    common.bar("gap of a checkpoint", gap * 1e3, 400, " ms")
    common.bar("checkpoint / cp", take / copied, 2)


def start(words, **kwargs):
    return subprocess.Popen([common.BAWN, *words], env=common.ENV, cwd=common.workspace(),
                            stdin=subprocess.DEVNULL, **kwargs)


def fork_all():
    """A command in each as soon as its name is told."""
    words = ["fork", NAME, "--from", "still", "-n", str(FORKS), "--share-workspace"]
    maker = start(words, stdout=subprocess.PIPE, text=True)
    commands = [start(["exec", name.strip(), "true"]) for name in maker.stdout]
    if any(job.wait() for job in (maker, *commands)) or len(commands) != FORKS:
        sys.exit("a fork does not answer")


def measure_forks():
    """In turns with warm starts; the first round is for pages never touched."""
    names = [f"{NAME}-{n}" for n in range(1, FORKS + 1)]
    takes, ones, private = [], [], []
    common.bawn("checkpoint", NAME, "still")
    for _ in range(4):
        takes.append(common.seconds(fork_all))
        private += [private_mb(common.qemu_pid(name)) for name in names]
        common.bawn("rm", "-f", *names)
        ones += [common.seconds(warm) for _ in range(2)]
    took, one, cores = statistics.median(takes[1:]), statistics.median(ones), os.cpu_count()
    common.row(f"{FORKS} forks, each has answered", took * 1e3)
    common.row("warm start beside them", one * 1e3)
    common.bar(f"{FORKS} forks / ({FORKS}/{cores} x warm start)", took / (FORKS / cores * one), 1.2)
    common.bar("private memory that a fork adds", max(private), 90, " MB")


def main():
    common.title("Snapshots of a 2 GiB guest with 600 MiB in use")
    common.bawn("rm", "-f", NAME, check=False)
    warm()
    one, boot = common.alternate(5, warm)[0], common.alternate(2, cold)[0]
    common.bawn("create", "--name", NAME, *SIZE, "shell", ".")
    counter = Counter()
    measure_checkpoints(counter)
    counter.stop()
    hold_memory()
    again = statistics.median(resume() for _ in range(5))
    common.row("warm start to the first command's end", one * 1e3)
    common.row("cold start", boot * 1e3)
    common.row("resume to the first command's end", again * 1e3)
    common.bar("resume / warm start", again / one, 2)
    measure_forks()
    common.bawn("rm", "-f", NAME)
    print(PUBLISHED)


if __name__ == "__main__":
    main()
