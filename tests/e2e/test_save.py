# SPDX-License-Identifier: Apache-2.0
"""test_save.py - the disk of a sandbox as a template: what is in it, and what never is"""
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile

import pytest

from bawn import SMALL, SOAK, START_SECONDS, wait

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))

from images import AUTH, Counted, locked_registry, need  # noqa: E402

HOST_FILE = "only-on-the-host"


def own_name():
    """Neither a sandbox nor a template was ever called so."""
    return "t-" + secrets.token_hex(4)


def root_of(archive, folder):
    """The files of the image's one layer, and its configuration."""
    with tarfile.open(archive) as file:
        file.extractall(folder)
    with open(f"{folder}/manifest.json", encoding="utf-8") as file:
        listed = json.load(file)
    assert len(listed) == 1 and len(listed[0]["Layers"]) == 1
    with open(f"{folder}/{listed[0]['Config']}", encoding="utf-8") as file:
        config = json.load(file)
    with tarfile.open(f"{folder}/{listed[0]['Layers'][0]}") as file:
        return listed[0], config, {member.name: member for member in file}


def bytes_of(folder):
    found = b""
    for place, _, names in os.walk(folder):
        for name in names:
            with open(f"{place}/{name}", "rb") as file:
                found += file.read()
    return found


def wait_for_copy(bawn, process):
    wait(lambda: process.poll() is not None
         or any(name.startswith("saving-") for name in os.listdir(f"{bawn.home}/state/sandboxes")),
         60, "the machine on the copy")
    assert process.poll() is None


def test_what_is_wrong_is_said_before_anything_starts(bawn, tmp_path):
    for words, text in [(("nobody-there", "x:1"), "no sandbox is called"),
                        (("x",), "TAG"),
                        (("x", "base"), "cannot be the name"),
                        (("x", "0123456789abcdef"), "cannot be the name"),
                        (("x", "a@sha256:" + 64 * "0"), "cannot be the name"),
                        (("x", "Not/Valid:"), "Not/Valid"),
                        (("-o", str(tmp_path), "x", "a:1"), "is not a file"),
                        (("-o", f"{tmp_path}/none/a.tar", "x", "a:1"), "No such file")]:
        told = bawn.raw("save", *words)
        assert told.code != 0 and text in told.err and told.err.count("\n") <= 2, told


@pytest.fixture
def locked(tmp_path):
    """A registry that wants a login, if there is one, and what it sent."""
    if need("docker-registry"):
        yield None
        return
    folder = tmp_path / "registry"
    folder.mkdir()
    server = locked_registry(folder)
    door = Counted(server.port)
    yield door
    door.close()
    server.close()


def travel(bawn, tag, door, tmp_path):
    """To a registry and back, where nothing of it is left; the name that it has then."""
    there = f"localhost:{door.port}/team/saved:v1"
    (tmp_path / "config.json").write_text(
        json.dumps({"auths": {f"localhost:{door.port}": AUTH}}))
    known = bawn.with_env(DOCKER_CONFIG=str(tmp_path))
    bawn("template", "tag", tag, there)
    told = bawn.raw("template", "push", there)
    assert told.code == 1 and "it wants a login" in told.err, told
    known("template", "push", there)
    bawn("template", "rm", "-f", tag, there)
    bawn("template", "prune")
    before = door.sent
    known("template", "pull", there)
    assert door.sent - before > 1000 * 1000
    return there


def sums(bawn, name):
    """Of files with holes, of many pieces, and of one that was written over."""
    return bawn.sh(name, "cd /root && md5sum hole pieces over")


def fill(bawn, name):
    """Things to keep, things to leave out; a program that goes on."""
    bawn.sh(name, "cd /root && head -c 3000001 /dev/urandom > pieces && "
                  "printf begin > hole && printf end | dd of=hole bs=1 seek=5000000 conv=notrunc "
                  "2> /dev/null && cp pieces over && sync && "
                  "head -c 5000 /dev/urandom | dd of=over bs=1000 seek=900 conv=notrunc "
                  "2> /dev/null")
    bawn.sh(name, "echo kept > /etc/kept; echo deep > /root/deep; chown 7:8 /root/deep; "
                  "chmod 2711 /root/deep; ln /root/deep /root/again; mkfifo /root/pipe; "
                  "mkdir -p /etc/ssh /var/lib/bawn; echo HOST-KEY > /etc/ssh/ssh_host_rsa_key; "
                  "echo in-tmp > /tmp/file; : > /index.json; echo '[]' > /manifest.json")
    bawn("exec", "-d", "-u", "root", name, "sh", "-c",
         "i=0; while :; do i=$((i+1)); echo $i > /dev/shm/n; mv /dev/shm/n /dev/shm/count; "
         "sleep 0.05; done")


def test_a_running_sandbox_is_saved_and_others_stand_on_it(bawn, tmp_path, locked):
    tag, archive = f"{own_name()}:v1", f"{tmp_path}/saved.tar"
    project = tmp_path / "project"
    project.mkdir()
    (project / HOST_FILE).write_text("WORKSPACE-CONTENT\n")
    name = own_name()
    bawn("create", "--name", name, *SMALL, "--workspace-mode", "overlay", "shell", str(project),
         timeout=START_SECONDS)
    bawn("exec", name, "sh", "-c", "echo OVERLAY-CONTENT > made-inside; ls " + HOST_FILE)
    fill(bawn, name)
    bawn("secret", "set", "anthropic", "-", "--sandbox", name, input="sk-ant-the-real-one-0123456789\n")
    held = bawn("exec", name, "sh", "-c", "echo $ANTHROPIC_API_KEY | tee /home/agent/key").out[:-1]
    assert len(held) > 20 and "real" not in held
    pem = bawn.sh(name, "cat /run/bawn/ca.crt")
    summed = sums(bawn, name)
    count = int(bawn.sh(name, "cat /dev/shm/count"))
    # written the moment before, and not synced
    done = bawn("save", "-o", archive, name, tag, timeout=START_SECONDS)
    assert done.out == f"{tag}\n"
    wait(lambda: int(bawn.sh(name, "cat /dev/shm/count")) > count)
    assert bawn.sh(name, "cat /etc/ssh/ssh_host_rsa_key") == "HOST-KEY"
    assert not [one for one in bawn.names() if one.startswith("saving-")]

    listed, config, files = root_of(archive, tmp_path / "image")
    assert listed["RepoTags"] == [tag] and config["config"]["User"] == "agent"
    assert {"etc/kept", "root/pipe", "index.json", "run", "tmp"} <= set(files)
    assert files["root/deep"].mode == 0o2711
    assert (files["root/deep"].uid, files["root/deep"].gid) == (7, 8)
    assert {files["root/deep"].islnk(), files["root/again"].islnk()} == {True, False}
    assert files["etc/machine-id"].size == 0
    for path in files:
        assert not path.startswith(("tmp/", "run/", "var/lib/bawn", "etc/ssh/ssh_host")), path
        assert HOST_FILE not in path and "made-inside" not in path and "project" not in path
    content = bytes_of(tmp_path / "image")
    for text in ("WORKSPACE-CONTENT", "OVERLAY-CONTENT", "HOST-KEY", "the-real-one", held[-20:],
                 pem.split("\n")[5]):
        assert text.encode() not in content, text
    if shutil.which("skopeo"):
        shown = json.loads(subprocess.run(
            ["skopeo", "inspect", f"docker-archive:{archive}"], check=True,
            capture_output=True, timeout=60).stdout)
        assert shown["Layers"] == config["rootfs"]["diff_ids"]
    facts = bawn("template", "inspect", tag).json
    assert facts["source"] == f"sandbox {name}" and facts["users"] == []

    # The archive alone is as good as the template, whose sandbox may go.
    bawn.rm(name)
    bawn("template", "rm", "-f", tag)
    assert bawn("template", "load", archive).out == f"{tag}\n"
    assert bawn("template", "inspect", tag).json["digest"] == facts["digest"]
    if locked:
        tag = travel(bawn, tag, locked, tmp_path)
        assert bawn("template", "inspect", tag).json["digest"] == facts["digest"]
    other = own_name()
    bawn("create", "--name", other, "-t", tag, "--pull", "never", "--cold", "-m", "256M",
         "--cpus", "1", "shell", ".", timeout=START_SECONDS)
    assert bawn.sh(other, "cat /etc/kept /root/again; stat -c '%a %u' /root/deep; "
                    "test -e /tmp/file || echo clean") == "kept\ndeep\n2711 7\nclean"
    assert bawn.sh(other, "cat /etc/machine-id") != "" and sums(bawn, other) == summed
    # one that is in use stays
    told = bawn.raw("template", "rm", "-f", tag)
    assert told.code == 1 and other in told.err, told
    bawn.rm(other)
    bawn("template", "rm", "-f", tag)


@pytest.mark.parametrize("how", [(), ("--power-off",)] if SOAK else [()])
def test_one_that_does_not_run_is_saved_and_stays_as_it_is(bawn, box, how):
    """Under a name that meant something else before."""
    tag = f"{own_name()}:v1"
    bawn.sh(box, "echo one > /root/note")
    bawn("stop", *how, box)
    status = bawn.status(box)
    assert bawn("save", box, tag, timeout=START_SECONDS).out == f"{tag}\n"
    assert bawn.status(box) == status
    first = bawn("template", "inspect", tag).json["digest"]
    if SOAK:
        bawn.sh(box, "echo two > /root/note", timeout=START_SECONDS)
        assert bawn("template", "save", box, tag, timeout=START_SECONDS).out == f"{tag}\n"
        assert bawn("template", "inspect", tag).json["digest"] != first
    bawn("template", "rm", "-f", tag)


def test_one_that_is_killed_leaves_nothing(bawn, box):
    tag = f"{own_name()}:v1"
    for number in (signal.SIGKILL, signal.SIGINT) if SOAK else (signal.SIGKILL,):
        process = bawn.popen("save", box, tag)
        wait_for_copy(bawn, process)
        os.kill(process.pid, number)
        process.wait(60)
        # the next command removes what is left, as soon as its machine is idle
        wait(lambda: bawn("ls", "-q").out.split() == bawn.names()
             and not [one for one in bawn.names() if one.startswith("saving-")], 30,
             "the copy is gone")
        assert tag not in bawn("template", "ls", "-q").out
    assert bawn.sh(box, "echo alive") == "alive"
