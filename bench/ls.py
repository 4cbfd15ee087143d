#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ls.py - `bawn ls`, completion and the plugin, with 95 stopped and 5 running sandboxes"""
import json
import os
import shutil
import tempfile

import common

STOPPED, RUNNING = 95, 5
SMALL = ["-t", "tiny", "-m", "256M", "--cpus", "1"]


def make_stopped(source):
    """Copies of one stopped sandbox, as the same records under other names."""
    folder = f"{common.HOME}/state/sandboxes"
    names = [f"ls-stopped-{n}" for n in range(STOPPED)]
    for name in names:
        target = f"{folder}/{name}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(f"{folder}/{source}", target,
                        ignore=shutil.ignore_patterns("*.sock"))
        with open(f"{target}/sandbox.json", encoding="utf-8") as file:
            record = json.load(file)
        record["name"] = name
        with open(f"{target}/sandbox.json", "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.chmod(f"{target}/sandbox.json", 0o600)
    return names


def spellings():
    """What a Tab costs, and what the Docker client's way in adds to the command itself."""
    with tempfile.TemporaryDirectory() as folder:
        plugin = f"{folder}/docker-sandbox"
        os.symlink(common.BAWN, plugin)
        tab, ls, same = common.alternate(
            30, lambda: common.bawn("__complete", "stop", "ls-run"), lambda: common.bawn("ls"),
            lambda: common.quiet([plugin, "sandbox", "ls"], env=common.ENV))
    common.row("names for a Tab, median", tab * 1e3)
    common.bar("completion of a name", tab * 1e3, 50, " ms")
    common.row("docker-sandbox sandbox ls, median", same * 1e3)
    common.bar("a plugin call over bawn ls", (same - ls) * 1e3, 20, " ms")


def main():
    common.title(f"bawn ls with {STOPPED} stopped and {RUNNING} running sandboxes")
    running = [f"ls-running-{n}" for n in range(RUNNING)]
    common.bawn("rm", "-f", "ls-source", *running, check=False)
    common.bawn("create", "--name", "ls-source", *SMALL, "shell", ".")
    common.bawn("stop", "--power-off", "ls-source")
    stopped = make_stopped("ls-source")
    for name in running:
        common.bawn("create", "--name", name, *SMALL, "shell", ".")
    rows = json.loads(common.bawn("ls", "--json"))
    states = [row["status"] for row in rows]
    print(f"  {states.count('running')} running, {states.count('stopped')} stopped")
    time = common.alternate(30, lambda: common.bawn("ls"))[0]
    common.row("bawn ls, median", time * 1e3)
    common.bar("bawn ls", time * 1e3, 30, " ms")
    spellings()
    common.bawn("rm", "-f", "ls-source", *running)
    for name in stopped:
        shutil.rmtree(f"{common.HOME}/state/sandboxes/{name}", ignore_errors=True)


if __name__ == "__main__":
    main()
