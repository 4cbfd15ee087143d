#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""exec.py - `bawn exec NAME true` against `runsc exec`, with its phases

Outside the guest = the command line's own time (the whole less the exchange on
the control socket) and what the supervisor computes. The rest is QEMU's and the
guest's.
"""
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile

import common

NAME = "bench-exec"
ROUNDS = 40
REQUEST = {"op": "exec", "argv": ["true"], "env": [], "folder": "", "user": "",
           "tty": False, "rows": 0, "cols": 0, "stdin": False, "detach": False,
           "main": False}


class Container:
    """A gVisor container that sleeps."""

    def __init__(self, folder):
        self.base = [common.runsc(), f"--root={folder}/state", "--rootless",
                     "--network=none"]
        bundle = f"{folder}/bundle"
        os.makedirs(f"{bundle}/rootfs/bin")
        os.makedirs(f"{folder}/state")
        shutil.copy("/bin/busybox", f"{bundle}/rootfs/bin/busybox")
        for name in ("true", "sleep"):
            os.symlink("busybox", f"{bundle}/rootfs/bin/{name}")
        common.quiet([common.runsc(), "spec", "--", "/bin/sleep", "100000"], cwd=bundle)
        with open(f"{bundle}/config.json", encoding="utf-8") as file:
            config = json.load(file)
        config["process"]["terminal"] = False
        with open(f"{bundle}/config.json", "w", encoding="utf-8") as file:
            json.dump(config, file)
        subprocess.run([*self.base, "run", "-detach", "-bundle", bundle, "bench"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def exec_true(self):
        common.quiet([*self.base, "exec", "bench", "/bin/true"])

    def close(self):
        subprocess.run([*self.base, "kill", "bench", "KILL"], check=False)
        subprocess.run([*self.base, "delete", "-force", "bench"], check=False)


def receive(one, count):
    data = b""
    while len(data) < count:
        piece = one.recv(count - len(data))
        if not piece:
            raise SystemExit("the supervisor hung up")
        data += piece
    return data


def exchange():
    """What the command line does on the control socket, and nothing else."""
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.open(f"{common.HOME}/state/sandboxes/{NAME}/machine", os.O_PATH)
        one.connect(f"/proc/self/fd/{folder}/control.sock")
        os.close(folder)
        one.sendall(json.dumps(REQUEST).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += receive(one, 1)
        if not json.loads(line)["ok"]:
            raise SystemExit(line)
        while True:
            kind, length = struct.unpack("<B3xI", receive(one, 8))
            receive(one, length)
            if kind == 6:
                return


def computed_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[0])


def main():
    common.title("exec on a running sandbox")
    common.bawn("rm", "-f", NAME, check=False)
    common.bawn("create", "--name", NAME, "shell", ".")
    supervisor = common.state(NAME)["supervisor_pid"]

    def ours():
        common.bawn("exec", NAME, "true")
    for _ in range(5):
        ours()
    with tempfile.TemporaryDirectory() as folder:
        if common.runsc():
            container = Container(folder)
            whole, theirs, inner = common.alternate(ROUNDS, ours, container.exec_true,
                                                    exchange)
            container.close()
        else:
            theirs = None
            whole, inner = common.alternate(ROUNDS, ours, exchange)
    before = computed_ns(supervisor)
    for _ in range(ROUNDS):
        exchange()
    supervising = (computed_ns(supervisor) - before) / ROUNDS / 1e9
    common.row("bawn exec NAME true, median", whole * 1e3)
    common.row("  command line: start, connect, end", (whole - inner) * 1e3)
    common.row("  supervisor: computing", supervising * 1e3)
    common.row("  QEMU and guest: start true, wait for it", (inner - supervising) * 1e3)
    if theirs:
        common.row("runsc exec NAME true, median", theirs * 1e3)
        common.bar("bawn exec / runsc exec", whole / theirs, 1)
    common.bar("exec outside the guest", (whole - inner + supervising) * 1e3, 10, " ms")
    common.bawn("rm", "-f", NAME)


if __name__ == "__main__":
    main()
