#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hogs.py - a hostile guest beside us: `ls` and another sandbox's `exec true`"""
import time

import common

SMALL = ["-t", "tiny", "-m", "256M", "--cpus", "1"]
ROUNDS = 15
SETTLE_SECONDS = 3
HOGS = {
    "fork bomb": "while :; do sleep 1000 & done",
    "memory hog": "tail /dev/zero & tail /dev/zero & wait",
    "disk filler": "while :; do cat /dev/zero > /filler 2>/dev/null; rm /filler; done",
    "console flood": "yes 0123456789012345678901234567890123456789 > /dev/console",
}


def listing():
    common.bawn("ls")


def other():
    common.bawn("exec", "hog-quiet", "true")


def main():
    common.title("With a hog in one guest: bawn ls, and exec true in another")
    common.bawn("rm", "-f", "hog-quiet", "hog-loud", check=False)
    common.bawn("create", "--name", "hog-quiet", *SMALL, "shell", ".")
    common.bawn("create", "--name", "hog-loud", *SMALL, "--disk", "20G", "shell", ".")
    idle_ls, idle_exec = common.alternate(ROUNDS, listing, other)
    common.row("idle: bawn ls", idle_ls * 1e3)
    common.row("idle: bawn exec true", idle_exec * 1e3)
    for name, script in HOGS.items():
        common.bawn("rm", "-f", "hog-loud")
        common.bawn("create", "--name", "hog-loud", *SMALL, "--disk", "20G", "shell", ".")
        common.bawn("exec", "-d", "-u", "root", "hog-loud", "sh", "-c", script)
        time.sleep(SETTLE_SECONDS)
        busy_ls, busy_exec = common.alternate(ROUNDS, listing, other)
        common.bar(f"{name}: bawn ls / idle", busy_ls / idle_ls, 3)
        common.bar(f"{name}: exec true / idle", busy_exec / idle_exec, 3)
    common.bawn("rm", "-f", "hog-quiet", "hog-loud")


if __name__ == "__main__":
    main()
