# SPDX-License-Identifier: Apache-2.0
"""kill -9 of what serves the shared folders: the guest's work goes on, nothing is orphaned."""
import json
import os
import random
import socket
import time

import pytest

from bawn import (SMALL, SOAK, START_SECONDS, alive, children_of, command_of, kill,
                  status_of, wait)

KILLS = 8 if SOAK else 3  # ten in a minute, and the launcher gives up


def ask(bawn, name, **request):
    """One request to the sandbox's launcher."""
    folder = os.open(bawn.folder(name), os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            one.connect(f"/proc/self/fd/{folder}/launch.sock")
            one.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(one.makefile().readline())
    finally:
        os.close(folder)


def files_pid(bawn, name):
    return ask(bawn, name, op="status")["files_pid"]


def machine_of(bawn, name):
    """Pids by program."""
    supervisor = bawn.supervisor_pid(name)
    return {command_of(pid): pid for pid in [supervisor, *children_of(supervisor)]}


@pytest.fixture
def shared(bawn, tmp_path):
    """A running sandbox on a folder of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    name = f"restart-{os.urandom(3).hex()}"
    bawn("create", "--name", name, *SMALL, "shell", ".", cwd=folder, timeout=START_SECONDS)
    return name, folder


# Numbers on the disk; how far it came is kept outside of the share.
WRITER = """
cd {0} || exit 1
n=0
while [ ! -e stop ]; do
    n=$((n + 1))
    echo "line $n" | dd of=log oflag=append conv=notrunc,fsync 2>/dev/null || exit 3
    echo $n > /tmp/synced.new && mv /tmp/synced.new /tmp/synced
done
echo end > /tmp/writer
"""
READER = """
cd {0} || exit 1
while [ ! -e stop ]; do
    [ "$(md5sum < big)" = "$(cat sum)" ] || exit 4
    find tree -type f > /tmp/found
    [ $(wc -l < /tmp/found) = 60 ] || {{ cat /tmp/found; exit 5; }}
done
echo end > /tmp/reader
"""
# Each of these fails when it is done a second time.
NAMER = """
mkdir {0}/names && cd {0}/names || exit 1
while [ ! -e ../stop ]; do
    mkdir one && mv one two && ln -s two link && rm link && rmdir two &&
    ln ../sum sum && mv sum same && rm same || exit 7
done
echo end > /tmp/namer
"""
# One that was opened before and stays open.
HOLDER = """
cd {0} || exit 1
exec 8>>held 9>orphan
rm orphan
echo ready > /tmp/holder
while [ ! -e stop ]; do
    echo held >&8 || exit 6
    echo orphan >&9
    sleep 0.1
done
echo end > /tmp/holder
"""


def test_a_killed_server_under_load_costs_nothing_that_was_synced(bawn, shared):
    name, folder = shared
    data = os.urandom(3 << 20)
    (folder / "big").write_bytes(data)
    for number in range(60):
        (folder / f"tree/{number % 6}").mkdir(parents=True, exist_ok=True)
        (folder / f"tree/{number % 6}/{number}").write_text(str(number))
    bawn.sh(name, f"cd {folder}; md5sum < big > sum")
    jobs = [bawn.popen("exec", "-u", "root", name, "sh", "-c", script.format(folder))
            for script in (WRITER, READER, HOLDER, NAMER)]
    wait(lambda: bawn.sh(name, "cat /tmp/synced /tmp/holder 2>/dev/null || true"
                         ).endswith("ready"), 20, "all work")
    for number in range(KILLS):
        time.sleep(random.uniform(0.1, 0.6))
        pid = wait(lambda: files_pid(bawn, name), 10, "it is served")
        kill(pid)
        wait(lambda: files_pid(bawn, name) not in (0, pid), 10, "a successor serves")
        assert ask(bawn, name, op="status")["restarts"] == number + 1
    before = int(bawn.sh(name, "cat /tmp/synced"))
    wait(lambda: int(bawn.sh(name, "cat /tmp/synced")) > before + 2, 20, "the writer goes on")
    (folder / "stop").touch()
    for job, what in zip(jobs, ("writer", "reader", "holder", "namer")):
        out, err = job.communicate(timeout=30)
        assert job.returncode == 0, (what, job.returncode, out, err)
    synced = int(bawn.sh(name, "cat /tmp/synced"))
    lines = (folder / "log").read_text().splitlines()
    assert set(lines) >= {f"line {number}" for number in range(1, synced + 1)}
    assert (folder / "held").read_text().splitlines().count("held") > 3
    assert (folder / "big").read_bytes() == data
    assert not os.listdir(folder / "names")
    assert bawn.status(name) == "running"
    # Made by the host since: the last server looks, too.
    (folder / "late").write_text("late")
    assert bawn.sh(name, f"cat {folder}/late") == "late"


def test_a_killed_launcher_leaves_nothing_and_the_next_start_works(bawn, shared):
    name, folder = shared
    (folder / "file").write_text("shared")
    assert bawn.sh(name, f"cat {folder}/file") == "shared"
    machine = machine_of(bawn, name)
    assert {"bawn-supervisor", "bawn-launch", "bawn-files"} < set(machine), machine
    kill(machine["bawn-launch"])
    wait(lambda: not any(alive(pid) for pid in machine.values()), 1.5, f"{machine} are gone")
    assert bawn.status(name) == "failed" and "bawn-launch" in bawn.row(name)["reason"]
    assert bawn.sh(name, f"cat {folder}/file", timeout=START_SECONDS) == "shared"
    # The same for the supervisor, whose launcher is not told by a signal.
    machine = machine_of(bawn, name)
    assert {"bawn-supervisor", "bawn-launch", "bawn-files"} < set(machine), machine
    kill(machine["bawn-supervisor"])
    wait(lambda: not any(alive(pid) for pid in machine.values()), 1.5, f"{machine} are gone")
    # A folder that is gone now fails the start, by its name.
    os.rename(folder, f"{folder}.away")
    done = bawn.raw("exec", name, "true", timeout=START_SECONDS, cwd="/")
    assert done.code != 0 and str(folder) in done.err and done.err.count("\n") == 1, done


def test_a_sandbox_of_rm_goes_also_without_its_command(bawn, tmp_path):
    name = f"throwaway-{os.urandom(3).hex()}"
    job = bawn.popen("run", "--rm", "--name", name, *SMALL, "shell", ".", "--", "-c",
                     "echo ready; sleep 600", cwd=tmp_path)
    assert job.stdout.readline() == b"ready\n", job.communicate()
    machine = machine_of(bawn, name)
    job.kill()
    job.communicate()
    kill(machine["bawn-supervisor"])
    wait(lambda: not os.path.exists(bawn.folder(name)), 2, "the folder is gone")
    wait(lambda: not any(alive(pid) for pid in machine.values()), 1, f"{machine} are gone")


def test_run_by_root_the_server_is_the_owner_of_the_folder(bawn, tmp_path, as_root):
    folder = tmp_path / "owned"
    folder.mkdir()
    os.chown(folder, 61234, 61234)
    name = f"owned-{os.urandom(3).hex()}"
    bawn("create", "--name", name, *SMALL, "shell", ".", cwd=folder, timeout=START_SECONDS)
    facts = status_of(files_pid(bawn, name))
    assert set(facts["Uid"].split()) == {"61234"} and int(facts["CapEff"], 16) == 0
    bawn("exec", name, "sh", "-c", f"echo mine > {folder}/file")
    assert os.stat(folder / "file").st_uid == 61234
    assert os.stat(f"{bawn.folder(name)}/files").st_uid == 61234
    assert os.stat(f"{bawn.folder(name)}/sandbox.json").st_uid == 0
