#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tar to ext4 against mke2fs -d of the same tree already unpacked.

usage: bench/image.py [TAR]     (BAWN_BUILD names the build folder)

Both work on a warm page cache, in turns, in one run; the median of ROUNDS
counts. Without TAR the tree is made from /usr/lib, at most TREE_BYTES of it.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import common

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("BAWN_BUILD", "build")
IMAGE = BUILD / "src/image/bawn-image"
ROUNDS = 5
TREE_BYTES = 800 << 20


def make_tar(scratch):
    """A tar of whole folders of /usr/lib, until there are enough bytes."""
    chosen, total = [], 0
    for folder in sorted(pathlib.Path("/usr/lib").iterdir()):
        if folder.is_symlink() or not folder.is_dir():
            continue
        du = subprocess.run(["du", "-sb", folder], capture_output=True,
                            text=True)
        size = int(du.stdout.split()[0]) if du.stdout else 0
        if total + size <= TREE_BYTES:
            chosen.append(folder.name)
            total += size
    tar = scratch / "tree.tar"
    subprocess.run(["tar", "-C", "/usr/lib", "-cf", tar, *chosen],
                   check=False, stderr=subprocess.DEVNULL)
    return tar


def clear(path):
    path.unlink(missing_ok=True)
    os.sync()


def time_ours(tar, out):
    clear(out)
    with open(tar, "rb") as source:
        fd = os.open(out, os.O_RDWR | os.O_CREAT)
        start = time.monotonic()
        done = subprocess.run(
            ["/bin/bash", "-c", f'exec "$@" 4<&{fd}', "sh", IMAGE, "ext4"],
            stdin=source, capture_output=True, pass_fds=[fd], check=True)
        taken = time.monotonic() - start
        os.close(fd)
    return taken, json.loads(done.stdout)


def time_mke2fs(tree, out, size):
    clear(out)
    start = time.monotonic()
    with open(out, "wb") as file:
        file.truncate(size)
    subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-d", tree, out],
                   check=True)
    return time.monotonic() - start


def main():
    common.title("tar to ext4")
    with tempfile.TemporaryDirectory(prefix="bawn-bench-") as name:
        scratch = pathlib.Path(name)
        tar = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 \
            else make_tar(scratch)
        tree = scratch / "tree"
        tree.mkdir()
        subprocess.run(["tar", "-C", tree, "-xf", tar], check=True)
        subprocess.run(["tar", "-C", tree, "-cf", "/dev/null", "."],
                       check=True)
        ours, theirs, facts = [], [], {}
        for _ in range(ROUNDS):
            taken, facts = time_ours(tar, scratch / "ours.img")
            ours.append(taken)
            theirs.append(time_mke2fs(tree, scratch / "theirs.img",
                                      facts["size"]))
        subprocess.run(["/sbin/e2fsck", "-fn", scratch / "ours.img"],
                       check=True, capture_output=True)
    print(f"  {facts['files']} files, {facts['bytes'] / 1e6:.0f} MB")
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    common.row("tar to ext4 by bawn-image", ours * 1e3)
    common.row("mke2fs -d of the unpacked tree", theirs * 1e3)
    common.bar("tar to ext4 against mke2fs -d", ours / theirs, 1)


if __name__ == "__main__":
    main()
