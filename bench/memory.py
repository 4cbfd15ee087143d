#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""memory.py - what an idle 4 GiB sandbox holds for itself alone

Private_Clean + Private_Dirty + Swap of all its processes, 60 s after its start.
"""
import re
import time

import common

NAME = "bench-memory"
IDLE_SECONDS = 60


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        text = file.read()
    return sum(int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M).group(1))
               for key in ("Private_Clean", "Private_Dirty", "Swap"))


def main():
    common.title("Memory of an idle 4 GiB sandbox after 60 s")
    common.bawn("rm", "-f", NAME, check=False)
    common.bawn("create", "--name", NAME, "-m", "4G", "shell", ".")
    time.sleep(IDLE_SECONDS)
    supervisor = common.state(NAME)["supervisor_pid"]
    total = own = 0
    for pid in [supervisor, *common.children_of(supervisor)]:
        size, name = private_kb(pid) / 1000, common.command(pid)
        common.row(f"{name} ({pid})", size, "MB")
        total += size
        own += 0 if name.startswith("qemu") else size
    common.bar("private memory", total, 90, " MB")
    common.bar("private memory of our own processes", own, 12, " MB")
    common.bawn("rm", "-f", NAME)


if __name__ == "__main__":
    main()
