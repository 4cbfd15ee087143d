# SPDX-License-Identifier: Apache-2.0
"""A machine that does not answer in time: the log says what its CPUs do"""
import json
import os
import re
import socket
import subprocess

import pytest

from bawn import BAWN, ROOT, SMALL, START_SECONDS, command_of, kill, wait

# Beside bawn in the build, or where it is installed.
PARTS = next(folder for folder in (os.path.join(os.path.dirname(BAWN), below)
                                   for below in ("src/supervisor", "../libexec/bawn"))
             if os.path.isdir(folder))
MAKER = 64017  # who runs the machine; root's only


def newest(folder, *names):
    found = [os.path.join(folder, one, *names) for one in os.listdir(folder)]
    return max(filter(os.path.isfile, found), key=os.path.getmtime)


def spec_of(session, name, folder):
    """A machine like that of a sandbox, which has a second to answer."""
    with open(f"/proc/{session.qemu_pid(name)}/cmdline", "rb") as file:
        words = file.read().decode().split("\0")
    said = {word: words[words.index(word) + 1] for word in ("-M", "-cpu")}
    empty = ("spool", "marker", "files", "net", "key", "facts", "sessions", "authority", "git")
    return {
        "goal": "make-warm", "accel": "tcg", "name": "late", "id": "ab" * 16,
        "folder": str(folder), "qemu": words[0],
        "ram_shim": f"{PARTS}/bawn-ramshim.so", "ram": f"{folder}/ram",
        "device_state": f"{folder}/state",
        "kernel": newest(f"{session.home}/cache/kernels", "vmlinux"),
        "initramfs": newest(f"{session.home}/cache/initramfs"),
        "disks": [f"{folder}/disk", f"{session.home}/data/templates/tiny/disk.ext4"],
        "cpus": 2, "memory_mib": 256, "machine": said["-M"].split(",")[0], "cpu": said["-cpu"],
        "append": "console=ttyS0", "uid": MAKER if ROOT else 0, "gid": MAKER if ROOT else 0,
        "boot_timeout_ms": 1000, "remove_at_end": False, "agent_once": False, "shares": 0,
        "idle_s": 0, "consume": False, **dict.fromkeys(empty)}


@pytest.mark.seconds(180)
def test_the_log_says_what_the_cpus_do_of_a_machine_that_is_late(session, shared_box, tmp_path):
    folder = tmp_path / "machine"
    folder.mkdir()
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", folder / "disk", "17G"], check=True)
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    spec = spec_of(session, shared_box, folder)
    with subprocess.Popen([f"{PARTS}/bawn-supervisor"], close_fds=False,
                          preexec_fn=lambda: os.dup2(theirs.fileno(), 3, True),
                          stdin=subprocess.DEVNULL, env=session.env) as supervisor:
        theirs.close()
        ours.sendall(f'{json.dumps(spec)}\n{{"op":"wait"}}\n'.encode())
        answer = ours.makefile().readline()
        ours.close()
        supervisor.wait(timeout=60)
    log = (folder / "supervisor.log").read_text()
    assert "the guest did not answer within 1 s" in json.loads(answer)["error"], log
    assert re.search(r"the machine's state: running$", log, re.M), log
    seen = re.findall(r"vCPU (\d+): (?:runs|halted) at 0x[0-9a-f]+, in the kernel$", log, re.M)
    assert seen == ["0", "1"], log


@pytest.mark.seconds(180)
def test_a_warm_image_that_fails_leaves_its_log(bare):
    job = bare.popen("create", "--name", "early", *SMALL, "shell", ".", text=True)

    def making():
        assert job.poll() is None, job.communicate()
        return [pid for pid in bare.processes() if "qemu" in (command_of(pid) or "")]
    for pid in wait(making, START_SECONDS, "a machine"):
        kill(pid)
    _, text = job.communicate(timeout=60)
    assert job.returncode == 1 and "making a warm image: QEMU was killed by signal 9" in text
    with open(re.search(r"\(its log: (.+)\)", text)[1], encoding="utf-8") as file:
        assert "QEMU was killed by signal 9" in file.read()
    bare.raw("rm", "-f", "early")
