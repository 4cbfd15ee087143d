#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""start.py - how long until a sandbox has run one command

A warm start against a boot that this file does by plain QEMU (same kernel,
initramfs, template, memory and CPUs; stock firmware) and against gVisor's
`runsc do`; a cold start against that boot; twenty at once against one.
"""
import os
import socket
import subprocess
import tempfile

import common

MEMORY = "4096"
FRAME_BYTES = 12


def warm():
    common.bawn("run", "--rm", "shell", "--", "-c", "true")


def cold():
    common.bawn("run", "--rm", "--cold", "shell", "--", "-c", "true")


def gvisor():
    common.quiet([common.runsc(), "--rootless", "--network=none", "do", "true"])


class PlainBoot:
    """qemu-system-x86_64 to the first word of the guest's init."""

    def __init__(self, folder):
        self.disk = f"{folder}/overlay.qcow2"
        self.kernel = common.newest(f"{common.HOME}/cache/kernels/*/vmlinux")
        self.initramfs = common.newest(f"{common.HOME}/cache/initramfs/*.cpio")
        self.template = common.template_disk()
        self.cpus = min(os.cpu_count(), 8)

    def __call__(self):
        common.quiet(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                      self.template, self.disk, "100G"])
        ours, theirs = socket.socketpair()
        process = subprocess.Popen(
            ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu",
             "max", "-smp", str(self.cpus), "-m", MEMORY, "-nodefaults",
             "-no-user-config", "-display", "none", "-no-reboot",
             "-kernel", self.kernel, "-initrd", self.initramfs,
             "-append", "console=ttyS0 panic=-1 reboot=t quiet",
             "-chardev", f"socket,id=control,fd={theirs.fileno()}",
             "-device", "virtio-serial-pci",
             "-device", "virtserialport,chardev=control,name=bawn.control",
             "-drive", f"if=none,id=root,file={self.disk},format=qcow2",
             "-device", "virtio-blk-pci,drive=root", "-device", "virtio-rng-pci"],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        theirs.close()
        ours.settimeout(120)
        got = b""
        while len(got) < FRAME_BYTES:
            piece = ours.recv(65536)
            if not piece:
                raise SystemExit("plain boot: QEMU ended before the guest spoke")
            got += piece
        process.kill()
        process.wait()
        ours.close()


def at_once(count):
    """So little memory that the host admits all of them."""
    jobs = [subprocess.Popen([common.BAWN, "run", "--rm", "--name", f"many-{n}", "-m",
                              "512M", "shell", "--", "-c", "true"], env=common.ENV,
                             cwd=common.workspace(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for n in range(count)]
    for job in jobs:
        err = job.communicate()[1]
        if job.returncode:
            raise SystemExit(f"{count} at once: {job.returncode}: {err.decode()}")


def main():
    common.title("Start: create, start, run one command, remove")
    warm()  # makes the template and the warm image when they are missing
    with tempfile.TemporaryDirectory() as folder:
        plain = PlainBoot(folder)
        boot, cold_start = common.alternate(3, plain, cold)
    if common.runsc():
        ours, theirs = common.alternate(15, warm, gvisor)
    else:
        ours, theirs = common.alternate(15, warm)[0], None
    common.row("bawn run --rm shell -- -c true (warm)", ours * 1e3)
    common.row("bawn run --rm --cold shell -- -c true", cold_start * 1e3)
    common.row("plain QEMU boot to the guest's init", boot * 1e3)
    common.bar("warm start / plain boot", ours / boot, 1 / 8)
    common.bar("cold start / plain boot", cold_start / boot, 1.2)
    if theirs:
        common.row("runsc --rootless --network=none do true", theirs * 1e3)
        common.bar("warm start / runsc do true", ours / theirs, 2.5)
    at_once(1)  # makes the warm image of this size
    one = common.alternate(5, lambda: at_once(1))[0]
    many = common.seconds(lambda: at_once(20))
    common.row("1 warm start of 512 MiB", one * 1e3)
    common.row("20 warm starts at once", many * 1e3)
    cores = os.cpu_count()
    common.bar(f"20 at once / (20/{cores} x one)", many / (20 / cores * one), 1.2)


if __name__ == "__main__":
    main()
