#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""save.py - a sandbox's disk as a template, against `cp` of the same bytes

A small disk with a few large files, so that mostly bytes are moved, and the base
template with its 40,000 small ones. A boot of the copy is in both.
"""
import json
import os
import re

import common

NAME = "bench-save"
TAG = "bench-save:now"
ROUNDS = 3
MB = 200


def layer_bytes():
    facts = json.loads(common.bawn("template", "inspect", TAG))
    return facts["image"]["layers"][0]["size"]


def longest_pause():
    """Of those that the supervisor tells: programs stood until the copy had begun."""
    path = f"{common.HOME}/state/sandboxes/{NAME}/machine/supervisor.log"
    with open(path, encoding="utf-8") as file:
        return max(float(one) for one in re.findall(r"stood for (\d+) ms", file.read()))


def copy(path):
    common.quiet(["cp", "--reflink=never", path, f"{path}.copy"])
    common.quiet(["sync", f"{path}.copy"])


def measure(template, what, fill):
    common.bawn("rm", "-f", NAME, check=False)
    common.bawn("create", "--name", NAME, "-t", template, "-m", "1G", "shell", ".")
    common.bawn("exec", "-u", "root", NAME, "sh", "-c", fill)
    common.bawn("save", NAME, TAG)
    path = f"{common.HOME}/save-bytes"
    with open(path, "wb") as file:
        size = layer_bytes()
        file.write(os.urandom(1 << 20) * (size >> 20))
    ours, theirs = common.alternate(ROUNDS, lambda: common.bawn("save", NAME, TAG),
                                    lambda: copy(path))
    common.row(f"bawn save: {what}, {size / 1e6:.0f} MB", ours * 1e3)
    common.row("cp of as many bytes, synced", theirs * 1e3)
    common.row("save / cp", ours / theirs, "x")
    common.row("programs of the sandbox stood still at most", longest_pause())
    common.bawn("rm", "-f", NAME)
    common.bawn("template", "rm", "-f", TAG)
    for name in (path, f"{path}.copy"):
        os.unlink(name)


def main():
    common.title("A sandbox's disk as a template")
    measure("tiny", "large files",
            f"for i in 1 2 3 4; do dd if=/dev/urandom of=/root/$i bs=1M count={MB // 4}; done")
    measure("base", "40,000 small files", "true")


if __name__ == "__main__":
    main()
