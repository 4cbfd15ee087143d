# SPDX-License-Identifier: Apache-2.0
"""kill -9 of anything at any time: the next command works, nothing is orphaned."""
import os
import random
import signal
import time

import pytest

from conftest import lone_home
from bawn import (BAWN, SMALL, SOAK, START_SECONDS, alive, children_of, kill, wait)

ROUNDS = 60 if SOAK else 2


def gone(pids, seconds=1.5):
    """Within one second, and a little for a machine that is busy."""
    wait(lambda: not any(alive(pid) for pid in pids), seconds, f"{pids} are gone")


def machine_of(bawn, name):
    supervisor = bawn.supervisor_pid(name)
    return supervisor, [supervisor, *children_of(supervisor)]


def test_a_killed_supervisor_leaves_no_process(bawn, box):
    supervisor, everything = machine_of(bawn, box)
    assert len(everything) >= 4, "supervisor, QEMU, launcher and files server"
    kill(supervisor)
    gone(everything)


def test_after_a_killed_supervisor_ls_says_failed_and_exec_starts_again(bawn, box):
    bawn.sh(box, "echo kept > /root/kept; sync")
    supervisor, everything = machine_of(bawn, box)
    kill(supervisor)
    gone(everything)
    assert bawn.status(box) == "failed"
    assert bawn.sh(box, "cat /root/kept", timeout=START_SECONDS) == "kept"
    assert bawn.status(box) == "running"


def test_a_killed_qemu_is_reported_and_the_next_exec_starts_again(bawn, box):
    supervisor = bawn.supervisor_pid(box)
    kill(bawn.qemu_pid(box))
    wait(lambda: not alive(supervisor), 5, "the supervisor ended")
    assert bawn.status(box) == "failed"
    assert bawn.sh(box, "echo up", timeout=START_SECONDS) == "up"


def test_a_session_learns_that_the_machine_is_gone(bawn, box):
    job = bawn.popen("exec", box, "sh", "-c", "echo ready; exec sleep 5000")
    assert job.stdout.readline() == b"ready\n"
    kill(bawn.qemu_pid(box))
    _, err = job.communicate(timeout=20)
    assert job.returncode == 125 and err


def test_a_session_learns_that_the_supervisor_is_gone(bawn, box):
    job = bawn.popen("exec", box, "sh", "-c", "echo ready; exec sleep 5000")
    assert job.stdout.readline() == b"ready\n"
    kill(bawn.supervisor_pid(box))
    _, err = job.communicate(timeout=20)
    assert job.returncode == 125 and err


def test_a_killed_cli_leaves_the_sandbox_running(bawn):
    name = bawn.create()
    job = bawn.popen("run", name, "--", "-c", "echo ready; exec sleep 5000")
    assert job.stdout.readline() == b"ready\n"
    job.kill()
    job.wait()
    assert bawn.status(name) == "running"


def random_moment(seconds):
    """The one sleep that is meant: the kill must come at no known point."""
    time.sleep(random.uniform(0, seconds))


def victims(bawn, job, role):
    if role == "cli":
        return [job.pid]
    found = [pid for pid in bawn.processes() if pid != job.pid]
    wanted = "qemu-system" if role == "qemu" else "bawn-supervisor"
    return [pid for pid in found if wanted in command(pid)]


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return ""


@pytest.fixture(scope="module")
def spare(session, tmp_path_factory):
    """A home for kills, apart from the shared one; its warm image exists."""
    folder = tmp_path_factory.mktemp("spare")
    yield from lone_home(session, folder)


@pytest.mark.seconds(1800 if SOAK else 240)
@pytest.mark.parametrize("role", ["cli", "supervisor", "qemu"])
def test_kill_at_any_point_of_start(spare, role):
    lone = spare
    for number in range(ROUNDS):
        name = f"victim-{number}"
        job = lone.popen("create", "--name", name, *SMALL, "shell", ".")
        random_moment(0.8)
        for pid in victims(lone, job, role):
            kill(pid)
        job.communicate(timeout=START_SECONDS)
        done = lone("run", "--name", name, *SMALL, "shell", ".", "--", "-c",
                    "echo works", timeout=START_SECONDS)
        assert done.out == "works\n", done
        lone("rm", "-f", name)
        assert lone.names() == []
    wait(lambda: not lone.processes(), 3, "no process is left")


@pytest.mark.seconds(1800 if SOAK else 240)
@pytest.mark.parametrize("role", ["cli", "supervisor", "qemu"])
def test_kill_at_any_point_of_stop(spare, role):
    lone = spare
    name = lone.create()
    for _ in range(ROUNDS):
        job = lone.popen("stop", "--power-off", name)
        random_moment(0.5)
        for pid in victims(lone, job, role):
            kill(pid)
        job.communicate(timeout=60)
        assert lone.sh(name, "echo works", timeout=START_SECONDS) == "works"
    lone("rm", "-f", name)
    wait(lambda: not lone.processes(), 3, "no process is left")


@pytest.mark.seconds(1800 if SOAK else 240)
def test_kill_while_the_warm_image_is_made(bare):
    """Half-made ones are found and cleaned by the next command."""
    for _ in range(max(2, ROUNDS // 3)):
        job = bare.popen("create", "--name", "early", *SMALL, "shell", ".")
        random_moment(4)
        for pid in {job.pid, *bare.processes()}:
            kill(pid)
        job.communicate(timeout=30)
    done = bare("run", "--name", "early", *SMALL, "shell", ".", "--", "-c",
                "echo works", timeout=START_SECONDS)
    assert done.out == "works\n"
    bare("rm", "-f", "early")
    left = [name for name in os.listdir(f"{bare.home}/data/warm")
            if not os.path.isfile(f"{bare.home}/data/warm/{name}/warm.json")
            and os.path.isdir(f"{bare.home}/data/warm/{name}")]
    assert left == []


def test_ctrl_c_during_create_ends_at_once_and_the_next_command_works(bare):
    job = bare.popen("create", "--name", "broken-off", *SMALL, "shell", ".")
    random_moment(2)
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=30)
    done = bare("run", "--name", "broken-off", *SMALL, "shell", ".", "--", "-c",
                "echo works", timeout=START_SECONDS)
    assert done.out == "works\n"


def test_a_half_made_sandbox_folder_does_not_disturb(lone):
    os.makedirs(f"{lone.home}/state/sandboxes/half", mode=0o700)
    assert lone.raw("ls").code == 0
    lone.create(name="half")
    assert lone.sh("half", "echo works") == "works"


def test_a_damaged_record_is_an_error_that_says_what_to_do(lone):
    name = lone.create()
    lone("stop", "--power-off", name)
    with open(f"{lone.folder(name)}/sandbox.json", "w", encoding="utf-8") as file:
        file.write('{"version": 1, "name": ')
    done = lone.raw("exec", name, "true")
    assert done.code == 125 and done.err.strip()
    assert lone.raw("ls").code in (0, 1)
    lone("rm", "-f", name)
    assert not os.path.exists(lone.folder(name))


def test_the_guest_powering_off_stops_the_sandbox(bawn, box):
    bawn.raw("exec", "-u", "root", box, "sh", "-c",
             "sync; echo o > /proc/sysrq-trigger")
    wait(lambda: bawn.status(box) in ("stopped", "failed"), 30, "it stopped")
    assert bawn.sh(box, "echo up", timeout=START_SECONDS) == "up"


def test_a_file_can_be_removed_after_the_caches_were_dropped(bawn, box):
    """Debian's 6.1.192 crashed there, and every later sync hung."""
    assert bawn.sh(box, "dd if=/dev/zero of=/x bs=1M count=8 2>/dev/null; sync; "
                        "echo 3 > /proc/sys/vm/drop_caches; rm /x; sync; echo fine") == "fine"
    assert bawn.sh(box, "echo still here") == "still here"


def test_a_crashed_kernel_is_said_in_one_line_and_the_next_start_works(bawn, box):
    bawn.sh(box, "echo kept > /root/kept; sync")
    done = bawn.raw("exec", "-u", "root", box, "sh", "-c",
                    "echo c > /proc/sysrq-trigger; sleep 5000", timeout=30)
    line, = done.err.splitlines()
    assert done.code == 125 and "kernel crashed" in line and f"bawn logs {box}" in line, done
    wait(lambda: bawn.status(box) == "failed", 10, "it failed")
    assert "Kernel panic" in bawn("logs", box).out
    assert bawn.sh(box, "cat /root/kept", timeout=START_SECONDS) == "kept"


def test_helpers_are_never_found_through_path(bawn, tmp_path, box):
    """V3: a bawn-supervisor or qemu in PATH or in the folder is not run."""
    trap = tmp_path / "bin"
    trap.mkdir()
    for name in ("bawn-supervisor", "bawn-image", "qemu-system-x86_64", "mmdebstrap"):
        (trap / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\n")
        (trap / name).chmod(0o755)
    bawn("stop", "--power-off", box)
    other = bawn.with_env(PATH=f"{trap}:{bawn.env['PATH']}")
    assert other("exec", box, "echo", "up", cwd=trap,
                 timeout=START_SECONDS).out == "up\n"
    assert not (tmp_path / "taken").exists()
    assert BAWN
