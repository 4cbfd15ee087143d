# SPDX-License-Identifier: Apache-2.0
"""Instant start: a sandbox is restored, not booted."""
import glob
import os
import platform
import time

import pytest

from bawn import SMALL, START_SECONDS, wait

# When the kernel made these device files, to the nanosecond: a fact of one boot
# that is kept nowhere but in RAM. (Not the boot id: it is drawn when first read.)
IN_RAM = "stat -c %z /dev/full /dev/zero"


def test_one_command_creates_starts_runs_and_removes(bawn):
    done = bawn("run", "--rm", *SMALL, "shell", ".", "--", "-c", "echo inside",
                timeout=START_SECONDS)
    assert done.out == "inside\n"
    assert not [name for name in bawn.names() if name.startswith("shell-")]


def test_the_first_run_says_which_policy_holds_in_one_line(bawn):
    done = bawn("run", "--rm", *SMALL, "shell", ".", "--", "-c", "true",
                timeout=START_SECONDS)
    lines = [line for line in done.err.splitlines() if "network policy" in line]
    assert len(lines) == 1 and "bawn policy allow" in lines[0], done


def test_guest_runs_another_kernel_than_the_host(bawn, shared_box):
    guest = bawn.sh(shared_box, "uname -r")
    assert guest and guest != platform.release()
    assert bawn.sh(shared_box, "cat /proc/version") != open("/proc/version").read().strip()


def test_guest_has_its_own_processes_only(bawn, shared_box):
    assert bawn.sh(shared_box, "cat /proc/1/comm") in ("init", "bawn-init")
    assert int(bawn.sh(shared_box, "ls /proc | grep -c '^[0-9]'")) < 200


def test_a_warm_start_is_a_restore(bawn):
    """Two machines that share what only RAM knew come from one boot."""
    first, second = bawn.create(), bawn.create()
    assert bawn.sh(first, IN_RAM) == bawn.sh(second, IN_RAM)


def test_a_cold_start_is_a_boot(bawn):
    warm, cold = bawn.create(), bawn.create("--cold")
    assert bawn.sh(warm, IN_RAM) != bawn.sh(cold, IN_RAM)


def test_clones_differ_in_urandom_machine_id_and_hostname(bawn):
    names = [bawn.create() for _ in range(3)]
    script = ("head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n'; echo; "
              "cat /etc/machine-id; hostname")
    facts = [bawn.sh(name, script).split("\n") for name in names]
    assert [fact[2] for fact in facts] == names
    for column in range(3):
        assert len({fact[column] for fact in facts}) == 3, facts
    assert all(len(fact[1]) == 32 for fact in facts)


def test_clones_differ_in_getrandom_of_a_process_started_at_once(bawn):
    names = [bawn.create() for _ in range(2)]
    script = "cat /proc/sys/kernel/random/uuid"
    assert len({bawn.sh(name, script) for name in names}) == 2


def test_machine_id_stays_over_a_restart(bawn, box):
    before = bawn.sh(box, "cat /etc/machine-id")
    bawn("stop", "--power-off", box)
    assert bawn.sh(box, "cat /etc/machine-id", timeout=START_SECONDS) == before


def test_clock_is_right_after_a_restore(bawn, box):
    before = time.time()
    guest = float(bawn.sh(box, "date +%s"))
    assert before - 2 <= guest <= time.time() + 2


def test_clock_is_right_although_the_warm_image_is_older(bawn):
    """Its RAM was written when the first case of this run made it."""
    first = bawn.create()
    uptime = float(bawn.sh(first, "cut -d' ' -f1 /proc/uptime"))
    wait(lambda: float(bawn.sh(first, "cut -d' ' -f1 /proc/uptime")) > uptime + 2)
    second = bawn.create()
    before = time.time()
    guest = float(bawn.sh(second, "date +%s"))
    assert before - 2 <= guest <= time.time() + 2


def test_a_sandbox_keeps_its_disk_over_stop_and_start(bawn, box):
    bawn.sh(box, "echo kept > /root/note; sync")
    bawn("stop", "--power-off", box)
    assert bawn.status(box) == "stopped"
    assert bawn.sh(box, "cat /root/note", timeout=START_SECONDS) == "kept"


def test_memory_and_cpus_are_what_was_asked_for(bawn, box):
    total = int(bawn.sh(box, "awk '/MemTotal/ {print $2}' /proc/meminfo"))
    assert 180_000 < total <= 256 * 1024
    assert bawn.sh(box, "nproc") == "1"


def test_root_disk_is_as_large_as_asked_for(bawn):
    name = bawn.create("--disk", "30G")
    size_k = int(bawn.sh(name, "df -k / | awk 'NR==2 {print $2}'"))
    assert 28e6 < size_k <= 30 * 1024 * 1024


def test_another_memory_size_makes_another_warm_image(bawn):
    warm = f"{bawn.home}/data/warm"
    bawn.create()
    before = set(os.listdir(warm))
    bawn("run", "--rm", "-t", "tiny", "-m", "192M", "--cpus", "1", "shell", ".",
         "--", "-c", "true", timeout=START_SECONDS)
    assert len(set(os.listdir(warm)) - before) >= 1


@pytest.mark.parametrize("harm", ["truncated", "changed"])
def test_a_damaged_warm_image_is_not_loaded_and_the_user_is_told(bare, harm):
    first = bare.create()
    before = bare.sh(first, IN_RAM)
    bare.rm(first)
    ram, = glob.glob(f"{bare.home}/data/warm/*/ram")
    os.chmod(ram, 0o600)
    with open(ram, "r+b") as file:
        if harm == "truncated":
            file.truncate(os.path.getsize(ram) // 2)
        else:
            file.seek(4096)
            file.write(b"harm" * 1024)
    os.chmod(ram, 0o444)
    done = bare("create", "--name", "after", *SMALL, "shell", ".",
                timeout=START_SECONDS)
    assert "warm image" in done.err and "damaged" in done.err, done
    assert bare.sh("after", IN_RAM) != before


def test_two_runs_on_one_name_at_the_same_moment_make_one_sandbox(bawn):
    bawn.create()  # the warm image exists
    jobs = [bawn.popen("run", "--name", "twice", *SMALL, "shell", ".", "--", "-c",
                       "cat /etc/machine-id") for _ in range(2)]
    outs = [job.communicate(timeout=START_SECONDS) for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], outs
    assert outs[0][0] == outs[1][0] != b""
    assert bawn.names().count("twice") == 1


@pytest.mark.seconds(300)
def test_twenty_sandboxes_at_once(bawn):
    bawn.create()
    names = [f"many-{number}" for number in range(20)]
    jobs = [bawn.popen("create", "--name", name, *SMALL, "shell", ".")
            for name in names]
    outs = [job.communicate(timeout=240) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * 20, outs
    jobs = [bawn.popen("exec", name, "cat", "/etc/machine-id") for name in names]
    ids = [job.communicate(timeout=120)[0] for job in jobs]
    assert len(set(ids)) == 20 and b"" not in ids
    rows = {row["name"]: row for row in bawn("ls", "--json").json}
    assert all(rows[name]["status"] == "running" for name in names)
    bawn("rm", "-f", *names, timeout=120)
