# SPDX-License-Identifier: Apache-2.0
"""test_snapshots.py - suspend, checkpoint, restore, fork: what comes back and what does not

Each case puts a random value where only memory holds it (a tmpfs) and looks for
it afterwards. A boot would lose it.
"""
import json
import os
import random
import re
import secrets
import signal
import socket
import threading
import time

import pytest

from bawn import SOAK, START_SECONDS, alive, kill, wait

PROBE = os.environ.get("BAWN_TEST_LIB", "/nonexistent") + "/posix_probe"
VALUE = "/dev/shm/value"
# Both suites run these: 40 operations and 30 cycles together.
CYCLES = 300 if SOAK else 15
OPERATIONS = 200 if SOAK else 20


def remember(bawn, name, value=None):
    value = value or secrets.token_hex(16)
    bawn.sh(name, f"echo {value} > {VALUE}")
    return value


def recall(bawn, name):
    return bawn.sh(name, f"cat {VALUE} 2>/dev/null || echo none", timeout=START_SECONDS)


def suspended_files(bawn, name):
    return f"{bawn.machine(name)}/suspended"


@pytest.mark.both
def test_stop_keeps_memory_and_programs(bawn, box):
    """A counter, an open file without a name, a connection between two programs."""
    bawn("exec", "-d", "-u", "root", box, "sh", "-c",
         "i=0; while :; do i=$((i+1)); echo $i > /dev/shm/n; mv /dev/shm/n /dev/shm/count; "
         "sleep 0.05; done")
    bawn("exec", "-d", "-u", "root", box, "sh", "-c",
         "echo deep > /root/gone; exec 3< /root/gone; rm /root/gone; touch /dev/shm/held; "
         "while [ ! -e /dev/shm/ask ]; do sleep 0.05; done; cat <&3 > /dev/shm/answer")
    bawn("exec", "-d", "-u", "root", box, "sh", "-c", "sleep 9999 | nc -l -p 5000 > /dev/shm/tcp")
    bawn("exec", "-d", "-u", "root", box, "sh", "-c",
         "while :; do echo tick; sleep 0.05; done | "
         "{ while ! nc 127.0.0.1 5000; do sleep 0.1; done; }")
    wait(lambda: bawn.sh(box, "cat /dev/shm/held /dev/shm/count 2>/dev/null; "
                              "grep -c tick /dev/shm/tcp || true") not in ("", "0"))
    wait(lambda: int(bawn.sh(box, "grep -c tick /dev/shm/tcp || true") or 0) > 2)
    value = remember(bawn, box)
    pids = [bawn.supervisor_pid(box), bawn.qemu_pid(box)]
    bawn("stop", box)
    assert bawn.status(box) == "suspended"
    assert not any(alive(pid) for pid in pids[1:])
    before = time.time()
    assert recall(bawn, box) == value
    assert before - 2 <= float(bawn.sh(box, "date +%s")) <= time.time() + 2
    count = int(bawn.sh(box, "cat /dev/shm/count"))
    ticks = int(bawn.sh(box, "grep -c tick /dev/shm/tcp"))
    wait(lambda: int(bawn.sh(box, "cat /dev/shm/count")) > count)
    wait(lambda: int(bawn.sh(box, "grep -c tick /dev/shm/tcp")) > ticks)
    bawn.sh(box, "touch /dev/shm/ask")
    wait(lambda: bawn.sh(box, "cat /dev/shm/answer 2>/dev/null || true") == "deep")
    assert not os.path.exists(suspended_files(bawn, box))
    # once more, from a memory that is its own by now; and the host's shutdown
    supervisor = bawn.supervisor_pid(box)
    os.kill(supervisor, signal.SIGTERM)
    wait(lambda: not alive(supervisor), 60, "the supervisor ends")
    assert bawn.status(box) == "suspended"
    assert recall(bawn, box) == value


def test_folders_are_there_after_a_resume(bawn, tmp_path):
    project = tmp_path / "project"
    project.mkdir(mode=0o777)
    (project / "old").write_text("old\n")
    name = bawn.create(name="t-" + secrets.token_hex(4))
    bawn("mount", name, f"{project}:/mnt/p")
    value = remember(bawn, name)
    bawn("exec", "-d", "-u", "root", name, "sh", "-c",
         "exec 3>> /mnt/p/log; while :; do echo line >&3; sleep 0.05; done")
    wait(lambda: (project / "log").exists() and (project / "log").stat().st_size > 10)
    bawn("stop", name)
    size = (project / "log").stat().st_size
    (project / "new").write_text("new\n")
    (project / "old").write_text("changed\n")
    assert recall(bawn, name) == value
    assert bawn.sh(name, "cat /mnt/p/old /mnt/p/new") == "changed\nnew"
    # only of these folders was anything forgotten
    assert bawn.sh(name, "grep ^drop_ /proc/vmstat") == "drop_pagecache 0\ndrop_slab 0"
    # the file that it had open goes on growing
    wait(lambda: (project / "log").stat().st_size > size)


def test_power_off_and_kill_lose_memory_and_nothing_older_comes_back(bawn, box):
    first = remember(bawn, box)
    bawn("stop", box)
    assert recall(bawn, box) == first
    bawn.sh(box, "echo disk > /root/note; sync")
    for pid in (bawn.supervisor_pid(box), bawn.qemu_pid(box)):
        kill(pid)
    wait(lambda: bawn.status(box) == "failed")
    assert recall(bawn, box) == "none"
    assert bawn.sh(box, "cat /root/note") == "disk"
    remember(bawn, box)
    bawn("stop", box)
    bawn("stop", "--power-off", box)
    assert bawn.status(box) == "stopped"
    assert recall(bawn, box) == "none"


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x55]))


HARMS = [
    (lambda folder: flip(f"{folder}/state", 1000), "state has another content"),
    (lambda folder: os.truncate(f"{folder}/ram", 4096), "ram has another size"),
    (lambda folder: flip(f"{folder}/snapshot.json", 1), "snapshot.json"),
]


@pytest.mark.parametrize("harm, says", HARMS if SOAK else HARMS[:1])
def test_a_damaged_state_is_refused_with_its_reason(bawn, box, harm, says):
    remember(bawn, box)
    bawn.sh(box, "echo disk > /root/note; sync")
    bawn("stop", box)
    harm(suspended_files(bawn, box))
    done = bawn("exec", "-u", "root", box, "sh", "-c", f"cat /root/note {VALUE} || true",
                timeout=START_SECONDS)
    assert says in done.err and "booting from its disk" in done.err, done
    assert done.out == "disk\n"
    assert not os.path.exists(suspended_files(bawn, box))


FOREIGN = ["QEMU", "machine type", "accelerator", "CPU model", "host CPU", "memory size", "bawn"]


@pytest.mark.parametrize("fact", FOREIGN if SOAK else FOREIGN[:1])
def test_a_foreign_state_is_refused_and_says_what_differs(bawn, box, fact):
    remember(bawn, box)
    bawn("stop", box)
    manifest = f"{suspended_files(bawn, box)}/snapshot.json"
    with open(manifest, encoding="utf-8") as file:
        content = json.load(file)
    here = re.search(rf"^{fact}: (.+)$", content["facts"], re.M).group(1)
    content["facts"] = content["facts"].replace(f"{fact}: {here}", f"{fact}: x{here}")
    content["key"] = "0" * 64
    with open(manifest, "w", encoding="utf-8") as file:
        json.dump(content, file)
    done = bawn("exec", "-u", "root", box, "cat", "/etc/hostname", timeout=START_SECONDS)
    assert done.err.count("\n") == 1, done.err
    assert f"another {fact} (kept: x{here}, here: {here}); booting from its disk" in done.err
    assert not os.path.exists(suspended_files(bawn, box))


def test_a_state_of_another_disk_is_refused(bawn, box):
    remember(bawn, box)
    bawn("stop", box)
    os.utime(f"{bawn.machine(box)}/disk.qcow2", (5, 5))
    done = bawn("exec", "-u", "root", box, "cat", "/etc/hostname", timeout=START_SECONDS)
    assert "the disk has changed" in done.err
    facts = bawn("inspect", box).json
    facts = facts[0] if isinstance(facts, list) else facts
    assert facts["disk"]["memory_bytes"] == 0


@pytest.mark.both
def test_restore_goes_back_and_the_source_went_on(bawn, box):
    first = remember(bawn, box)
    bawn.sh(box, "echo one > /root/note; sync")
    job = bawn.popen("exec", "-i", "-u", "root", box, "sh", "-c",
                     "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done; cat; "
                     "echo end", stdin=-1)
    out = []
    reader = threading.Thread(target=lambda: out.append(job.stdout.read()))
    reader.start()
    assert bawn("checkpoint", box, "one").out == "one\n"
    # its sessions noticed nothing: no byte is lost in either direction
    job.stdin.write(b"typed\n")
    job.stdin.close()
    reader.join(60)
    assert job.wait(20) == 0
    lines = out[0].decode().split("\n")
    assert lines == [f"line {i}" for i in range(1, 3001)] + ["typed", "end", ""]
    second = remember(bawn, box)
    bawn.sh(box, "echo two > /root/note; sync")
    bawn("checkpoint", box, "two")
    assert bawn("checkpoint", "ls", box).out.split()[:3] == ["LABEL", "SIZE", "AGE"]
    rows = bawn("checkpoint", "ls", "--json", box).json
    assert [row["label"] for row in rows] == ["one", "two"]
    assert rows[1]["parent"] == "one" and rows[0]["bytes"] > 1 << 20
    bawn("restore", box, "one", timeout=START_SECONDS)
    assert recall(bawn, box) == first
    assert bawn.sh(box, "cat /root/note") == "one"
    bawn("restore", box, "two", timeout=START_SECONDS)
    assert recall(bawn, box) == second
    assert bawn.sh(box, "cat /root/note") == "two"
    done = bawn.raw("checkpoint", box, "two")
    assert done.code == 1 and "already" in done.err
    bawn("checkpoint", "rm", box, "one", "two")
    assert bawn("checkpoint", "ls", "-q", box).out == ""
    assert recall(bawn, box) == second


def test_checkpoints_of_a_suspended_and_of_a_stopped_sandbox(bawn, box):
    value = remember(bawn, box)
    bawn.sh(box, "echo one > /root/note; sync")
    bawn("stop", box)
    bawn("checkpoint", box, "asleep")
    assert bawn.status(box) == "suspended"
    assert recall(bawn, box) == value
    bawn.sh(box, "echo two > /root/note; sync")
    bawn("stop", "--power-off", box)
    bawn("checkpoint", box, "off")
    assert [row["memory"] for row in bawn("checkpoint", "ls", "--json", box).json] == [True, False]
    facts = bawn("inspect", box).json
    facts = facts[0] if isinstance(facts, list) else facts
    assert facts["disk"]["checkpoint_bytes"] > 1 << 20
    assert facts["disk"]["own_bytes"] >= facts["disk"]["checkpoint_bytes"]
    bawn("restore", box, "asleep", timeout=START_SECONDS)
    assert recall(bawn, box) == value
    assert bawn.sh(box, "cat /root/note") == "one"
    bawn("restore", box, "off", timeout=START_SECONDS)
    assert recall(bawn, box) == "none"
    assert bawn.sh(box, "cat /root/note") == "two"


def test_pages_of_the_past_do_not_replace_what_the_host_wrote_since(bawn, tmp_path):
    """W9: a page that a program wrote through a mapping, and nobody to the host."""
    project = tmp_path / "p"
    project.mkdir(mode=0o777)
    (project / "file").write_bytes(b"-" * 8192)
    (project / "file").chmod(0o666)
    name = "t-" + secrets.token_hex(4)
    bawn("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
         str(project), timeout=START_SECONDS)
    bawn("cp", PROBE, f"{name}:/root/probe")
    bawn("exec", "-d", "-u", "root", name, "/root/probe", "hold", project / "file", "/dev/shm")
    wait(lambda: bawn.sh(name, "ls /dev/shm/ready 2>/dev/null || true"), 20, "it is mapped")
    bawn("checkpoint", name, "c")
    (project / "file").write_bytes(b"h" * 8192)
    bawn("restore", name, "c", timeout=START_SECONDS)
    assert bawn.sh(name, f"head -c 4 {project}/file") == "hhhh"
    bawn.sh(name, "touch /dev/shm/go")
    wait(lambda: bawn.sh(name, "ls /dev/shm/done 2>/dev/null || true"), 20, "it went on")
    assert (project / "file").read_bytes() == b"h" * 4096 + b"new" + b"h" * 4093


def test_restore_takes_the_folder_back_when_asked(bawn, tmp_path):
    project = tmp_path / "p"
    project.mkdir(mode=0o777)
    name = "t-" + secrets.token_hex(4)
    bawn("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
         str(project), timeout=START_SECONDS)
    value = remember(bawn, name)
    bawn.sh(name, f"echo first > {project}/kept")
    bawn("checkpoint", name, "c")
    bawn.sh(name, f"echo second > {project}/kept; echo x > {project}/made")
    bawn("restore", name, "c", timeout=START_SECONDS)
    assert (project / "kept").read_text() == "second\n"
    bawn("restore", "--workspace", name, "c", timeout=START_SECONDS)
    assert (project / "kept").read_text() == "first\n" and not (project / "made").exists()
    assert recall(bawn, name) == value
    assert bawn.sh(name, f"cat {project}/kept") == "first"


HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
# The template has no sshd: a key, and a program that makes one as ssh-keygen would.
KEYGEN = f"""mkdir -p /etc/ssh /usr/bin
echo 'cat /proc/sys/kernel/random/uuid > "$7.new" && mv "$7.new" "$7"' > /tmp/make
{{ echo '#!/bin/sh'; cat /tmp/make; }} > /usr/bin/ssh-keygen; chmod 755 /usr/bin/ssh-keygen
ssh-keygen -q -N '' -t ed25519 -f {HOST_KEY}; test -s {HOST_KEY}"""


@pytest.mark.both
def test_forks_differ_and_outlive_their_parent(bawn):
    parent = bawn.create("--workspace-mode", "overlay")
    value = remember(bawn, parent)
    bawn.sh(parent, "echo common > /root/note; sync")
    bawn.sh(parent, f"echo upper > {bawn.workspace}/of-the-guest")
    bawn.sh(parent, KEYGEN)
    names = bawn("fork", parent, "-n", "2", timeout=START_SECONDS).out.split()
    assert names == [f"{parent}-1", f"{parent}-2"]
    # what programs in memory already trust was not touched
    assert len({bawn.sh(name, "stat -c %z /run/bawn/ca.crt") for name in (parent, *names)}) == 1
    facts = "hostname; cat /etc/machine-id; cat /proc/sys/kernel/random/uuid"
    seen = [bawn.sh(name, facts).split("\n") for name in (parent, *names)]
    for column in range(3):
        assert len({fact[column] for fact in seen}) == 3, seen
    assert [fact[0] for fact in seen] == [parent, *names]
    keys = [wait(lambda name=name: bawn.sh(name, f"cat {HOST_KEY} 2>/dev/null || true"))
            for name in (parent, *names)]
    assert len(set(keys)) == 3, keys
    for name in names:
        assert recall(bawn, name) == value
        assert abs(float(bawn.sh(name, "date +%s")) - time.time()) < 3
        assert bawn.sh(name, f"cat /root/note {bawn.workspace}/of-the-guest") == "common\nupper"
        bawn.sh(name, f"echo {name} > /root/note; echo {name} > {bawn.workspace}/mine; sync")
    assert bawn.sh(parent, "cat /root/note") == "common"
    bawn("rm", "-f", parent)
    bawn("stop", names[0])
    bawn("stop", "--power-off", names[1])
    for name in names:
        assert bawn.sh(name, f"cat /root/note {bawn.workspace}/mine",
                       timeout=START_SECONDS) == f"{name}\n{name}"
    assert recall(bawn, names[0]) == value and recall(bawn, names[1]) == "none"
    # a fork of a fork, from a checkpoint that is removed then
    bawn("checkpoint", names[0], "again")
    grandchild = bawn("fork", names[0], "--from", "again", "--name", f"{parent}-g",
                      timeout=START_SECONDS).out.strip()
    bawn("checkpoint", "rm", names[0], "again")
    bawn("rm", "-f", names[0])
    assert recall(bawn, grandchild) == value
    assert bawn.sh(grandchild, "cat /root/note") == names[0]


def test_a_fork_need_not_make_the_process_of_its_first_session(bawn):
    """The checkpoint follows a session that took the one there was, in the two seconds after a
    resume in which no other is made. In the fork a program gets a pid before the session."""
    parent = bawn.create()
    bawn("stop", parent)
    path = f"{bawn.workspace}/pid-of-{parent}"
    bawn("exec", "-d", "-u", "root", parent, "sh", "-c",
         f"name={parent}; while [ $name = {parent} ]; do sleep 0.05; read name < /etc/hostname; "
         f"done; sh -c 'echo $$' > {path}.new; mv {path}.new {path}", timeout=START_SECONDS)
    bawn("checkpoint", parent, "here")
    child = bawn("fork", parent, "--from", "here", "--share-workspace",
                 timeout=START_SECONDS).out.strip()
    wait(lambda: os.path.exists(path), 60, "its program goes on")
    with open(path, encoding="utf-8") as file:
        later = int(file.read())
    assert int(bawn.sh(child, "echo $$")) < later


def test_a_fork_writes_over_a_folder_that_its_parent_writes_to(bawn, tmp_path):
    project = tmp_path / "p"
    project.mkdir(mode=0o777)
    (project / "old").write_text("old\n")
    parent = "t-" + secrets.token_hex(4)
    bawn("create", "--name", parent, "-t", "tiny", "-m", "256M", "--cpus", "1", "shell",
         str(project), timeout=START_SECONDS)
    value = remember(bawn, parent)
    # one that is in the folder when the state is taken
    bawn("exec", "-d", "-u", "root", "-w", str(project), parent, "sh", "-c",
         "while [ ! -e /dev/shm/go ]; do sleep 0.1; done; "
         "{ cat old; echo bad > old || echo refused; cd $PWD; echo new > mine; } "
         "> /dev/shm/told 2>/dev/null; touch /dev/shm/done; exec sleep 9999")
    wait(lambda: bawn.running(parent, "sleep 0.1"))
    child = bawn("fork", parent, timeout=START_SECONDS).out.strip()
    assert recall(bawn, child) == value
    bawn.sh(child, f"cd {project}; echo changed > old; echo made > fresh; touch /dev/shm/go")
    wait(lambda: bawn.sh(child, "test -e /dev/shm/done && echo yes || true"))
    assert bawn.sh(child, "cat /dev/shm/told") == "old\nrefused"
    assert bawn.sh(child, f"cat {project}/old {project}/fresh {project}/mine") == \
        "changed\nmade\nnew"
    assert sorted(os.listdir(project)) == ["old"]
    assert (project / "old").read_text() == "old\n"
    assert "+made" in bawn("diff", child).out
    bawn.sh(parent, f"echo parent > {project}/old")
    assert (project / "old").read_text() == "parent\n"
    # it stays so after a suspend and a boot
    bawn("stop", child)
    assert bawn.sh(child, f"cat {project}/old", timeout=START_SECONDS) == "changed"
    bawn("stop", "--power-off", child)
    assert bawn.sh(child, f"cat {project}/fresh", timeout=START_SECONDS) == "made"
    # asked for, it writes into the folder as its parent does
    other = bawn("fork", "--share-workspace", parent, "--name", f"{parent}-s",
                 timeout=START_SECONDS).out.strip()
    bawn.sh(other, f"echo other > {project}/old")
    assert (project / "old").read_text() == "other\n"


def test_the_agents_session_goes_on_on_its_screen(bawn, screen):
    name = bawn.create()
    first = screen().bawn("run", name)
    first.see("[#$]")
    first.type("export ONLY=$(cat /proc/sys/kernel/random/uuid); echo $ONLY > /dev/shm/only")
    only = wait(lambda: bawn.sh(name, "cat /dev/shm/only 2>/dev/null || true"))
    bawn("stop", name)
    first.see("suspended")
    second = screen().bawn("run", name)
    wait(lambda: bawn.status(name) == "running")
    second.type("echo again-$ONLY")
    second.see(f"^again-{only}")
    # a program that draws when its size changes shows itself, unasked
    second.type("sh -c 'trap \"stty size\" WINCH; while :; do sleep 0.1; done'")
    wait(lambda: bawn.running(name, "sleep 0.1"))
    second.keys("C-p", "C-q")
    second.see("EXIT:0")
    bawn("stop", name)
    third = screen().bawn("run", name)
    third.see("^24 80")


class Model:
    """What memory and disk of a sandbox must be, and of its checkpoints."""

    def __init__(self, bawn, box, choose):
        self.bawn, self.box, self.choose = bawn, box, choose
        self.memory, self.disk, self.kept = "none", "none", {}
        self.forks, self.done = [], []
        self.write()

    def write(self):
        self.memory, self.disk = secrets.token_hex(16), secrets.token_hex(8)
        self.bawn.sh(self.box, f"echo {self.memory} > {VALUE}; echo {self.disk} > /root/value; "
                               "sync", timeout=START_SECONDS)

    def suspend(self):
        self.bawn("stop", self.box, timeout=120)

    def power_off(self):
        self.bawn("stop", "--power-off", self.box)
        self.memory = "none"

    def kill(self):
        if self.bawn.status(self.box) == "running":
            kill(self.bawn.qemu_pid(self.box))
            wait(lambda: self.bawn.status(self.box) == "failed")
            self.memory = "none"

    def checkpoint(self):
        label = "c" + secrets.token_hex(3)
        self.bawn("checkpoint", self.box, label, timeout=120)
        self.kept[label] = (self.memory, self.disk)

    def restore(self):
        if self.kept:
            label = self.choose(sorted(self.kept))
            self.bawn("restore", self.box, label, timeout=START_SECONDS)
            self.memory, self.disk = self.kept[label]

    def fork(self):
        if self.kept and len(self.forks) < 2:
            label = self.choose(sorted(self.kept))
            name = self.bawn("fork", "--share-workspace", self.box, "--from", label,
                             timeout=START_SECONDS).out.strip()
            self.forks.append((name, *self.kept[label]))

    def look(self, name, memory, disk):
        seen = self.bawn.sh(name, f"cat {VALUE} 2>/dev/null || echo none; cat /root/value",
                            timeout=START_SECONDS)
        assert seen == f"{memory}\n{disk}", (name, self.done)

    def check(self):
        self.look(self.box, self.memory, self.disk)


@pytest.mark.both
@pytest.mark.seconds(3600 if SOAK else 240)
def test_random_operations_do_what_a_model_says(bawn, box):
    seed = int(os.environ.get("BAWN_TEST_SEED", secrets.randbelow(1 << 32)))
    print(f"BAWN_TEST_SEED={seed}")
    dice = random.Random(seed)
    model = Model(bawn, box, dice.choice)
    steps = [model.write, model.suspend, model.checkpoint, model.restore, model.fork, model.kill,
             model.suspend, model.checkpoint, model.restore]
    for _ in range(OPERATIONS):
        step = dice.choice(steps)
        begin = time.monotonic()
        step()
        model.done.append(f"{step.__name__} {time.monotonic() - begin:.1f}")
        if dice.random() < 0.4:
            model.check()
    model.check()
    for fork in model.forks:
        model.look(*fork)
    print(", ".join(model.done))


@pytest.mark.both
@pytest.mark.seconds(3600 if SOAK else 240)
def test_cycles_leave_nothing_behind(lone):
    name = lone.create()
    value = remember(lone, name)
    places = (lone.machine(name), lone.folder(name))

    def shape():
        lone("stop", name)
        wait(lambda: not lone.processes(), 10, "no process is left")
        files = {f"{place}/{entry}" for place in places for entry in os.listdir(place)}
        return files, os.stat(f"{lone.machine(name)}/suspended/ram").st_blocks * 512
    files, size = shape()
    for _ in range(CYCLES):
        assert recall(lone, name) == value
        again, grown = shape()
        assert {path for path in again if "console.log" not in path} <= \
            {path for path in files if "console.log" not in path}
    assert grown < size + (64 << 20), (size, grown)


def echo(port):
    """What comes back from a published port."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as one:
            one.sendall(b"word")
            return one.recv(100)
    except OSError:
        return b""


def try_host(bawn, name, host):
    bawn.sh(name, f"nc -w 5 {host} 2222 < /dev/null > /dev/null 2>&1; true")


def hosts_of(bawn, name):
    """In the order in which its log first names them."""
    text = bawn("policy", "log", name, "--json").out
    return list(dict.fromkeys(json.loads(line).get("name") for line in text.splitlines()))


def test_ports_rules_and_log_go_on(bawn):
    """After a resume, a restore, and on a fork, which has its own port and log."""
    name = bawn.create("-p", "7000")
    bawn("exec", "-d", "-u", "root", name, "sh", "-c", "while :; do nc -l -p 7000 -e cat; done")
    bawn("policy", "allow", name, "allowed.example:2222")
    port = bawn.inspect(name)["ports"][0]["host"]
    value = remember(bawn, name)
    wait(lambda: echo(port) == b"word", 30, "the port answers")
    tried = []

    def holds(when):
        assert recall(bawn, name) == value, when
        assert bawn.inspect(name)["ports"][0]["host"] == port, when
        wait(lambda: echo(port) == b"word", 30, f"the port answers {when}")
        assert "allow allowed.example:2222" in bawn("policy", "ls", name).out, when
        tried.append(f"n{len(tried)}.example")
        try_host(bawn, name, tried[-1])
        wait(lambda: [host for host in hosts_of(bawn, name) if host in tried] == tried, 30,
             f"the log goes on {when}")

    holds("at first")
    bawn("stop", name)
    holds("after a resume")
    bawn("checkpoint", name, "c")
    bawn("restore", name, "c", timeout=START_SECONDS)
    holds("after a restore")
    child = bawn("fork", name, "--from", "c", timeout=START_SECONDS).out.strip()
    own = bawn.inspect(child)["ports"][0]["host"]
    assert own != port
    wait(lambda: echo(own) == b"word", 30, "the fork's port answers")
    assert recall(bawn, child) == value
    assert "allow allowed.example:2222" in bawn("policy", "ls", child).out
    try_host(bawn, child, "child.example")
    wait(lambda: "child.example" in hosts_of(bawn, child), 30, "it has a log")
    assert not set(tried) & set(hosts_of(bawn, child))
    assert "child.example" not in hosts_of(bawn, name)
    holds("beside a fork")


def test_space_and_parents_are_told(bawn):
    name = bawn.create()
    bawn("checkpoint", name, "one")
    bawn("checkpoint", name, "two")
    rows = [line.split() for line in bawn("checkpoint", "ls", name).out.splitlines()]
    assert rows[0] == ["LABEL", "SIZE", "AGE", "KEEPS", "PARENT"]
    assert rows[1][0] == "one" and rows[1][-1] == "disk" and rows[2][-1] == "one"
    assert re.fullmatch(r"bawn: \d[\d.]* MB given back\n",
                        bawn("checkpoint", "rm", name, "one").err)
    assert bawn("checkpoint", "ls", name).out.splitlines()[1].split()[-2:] == ["one", "(removed)"]
    done = bawn("rm", "-f", name)
    assert done.out == ""
    assert re.fullmatch(rf"bawn: {name}: \d[\d.]* MB given back\n", done.err), done


class Visitor:
    """Says a word through a published port now and then, and counts the answers."""

    def __init__(self, port):
        self.port, self.answers, self.enough = port, 0, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.enough.wait(0.2):
            try:
                with socket.create_connection(("127.0.0.1", self.port), 5) as one:
                    while not self.enough.wait(0.4):
                        one.sendall(b"word")
                        if not one.recv(100):
                            break
                        self.answers += 1
            except OSError:
                pass  # the server is not there yet

    def stop(self):
        self.enough.set()
        self.thread.join(20)
        return self.answers


def test_an_idle_sandbox_is_suspended_and_a_busy_one_is_not(bawn):
    busy, idle = bawn.create("--idle", "2s"), bawn.create("--idle", "2s")
    visited = bawn.create("--idle", "2s", "-p", "7000")
    bawn("exec", "-d", "-u", "root", visited, "sh", "-c", "while :; do nc -l -p 7000 -e cat; done")
    visitor = Visitor(bawn.inspect(visited)["ports"][0]["host"])
    bawn("exec", "-d", "-u", "root", busy, "sh", "-c", "while :; do :; done")
    value = remember(bawn, idle)
    wait(lambda: bawn.status(idle) == "suspended", 60, "it is suspended")
    assert bawn.status(busy) == "running"
    assert recall(bawn, idle) == value
    assert bawn.status(visited) == "running" and visitor.stop() > 3
    wait(lambda: bawn.status(visited) == "suspended", 60, "nobody uses its port any more")
