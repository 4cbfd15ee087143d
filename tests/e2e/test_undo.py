# SPDX-License-Identifier: Apache-2.0
"""bawn undo: what a guest did to the workspace is taken back, byte for byte.

One sandbox for all of it: while it runs, after it was powered off, after the
host wrote into the same files, and with links that the guest planted.
"""
import os
import stat

import pytest

from bawn import SMALL, START_SECONDS, wait

NAME = "undo-box"
CHANGES = r"""
set -e
printf changed >> changed
rm removed
mv renamed 'another name'
printf new > temporary; mv temporary replaced
chmod 755 mode
rm -r folder
rm link; ln -s elsewhere link
mkdir made; printf x > made/file
truncate -s 3 cut
mkdir passing; mv 'another name' passing/; mv passing/* third; rmdir passing
touch -d '2001-01-01' 'host and guest' 2>/dev/null || touch 'host and guest'
sync
"""


def put(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tree(folder):
    found = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files + ["."]:
            full = os.path.normpath(os.path.join(path, name))
            st = os.lstat(full)
            content = None
            if stat.S_ISLNK(st.st_mode):
                content = os.readlink(full)
            elif stat.S_ISREG(st.st_mode):
                content = read(full)
            found[os.path.relpath(full, folder)] = (oct(st.st_mode), st.st_uid, st.st_mtime_ns,
                                                    content)
    return found


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    project = f"{tmp_path_factory.mktemp('undo')}/project"
    for name in ("changed", "removed", "renamed", "replaced", "mode", "host and guest",
                 "folder/deep/file"):
        put(f"{project}/{name}", f"{name} before\n")
    put(f"{project}/cut", "0123456789" * 1000)
    os.symlink("changed", f"{project}/link")
    os.chmod(f"{project}/mode", 0o600)
    session("create", "--name", NAME, *SMALL, "shell", project, timeout=START_SECONDS)
    yield project
    session.rm(NAME)


def guest(session, script):
    return session.exec(NAME, "sh", "-c", script).out


def test_a_running_sandbox_is_taken_back_and_sees_it(session, project):
    before = tree(project)
    guest(session, CHANGES)
    after = tree(project)
    assert after != before
    plan = session("undo", "--dry-run", NAME).out
    assert f"restore {project}/removed\n" in plan and f"remove {project}/made\n" in plan
    assert "temporary" not in plan and tree(project) == after
    done = session.raw("undo", NAME)
    assert done.code == 1 and "-y" in done.err and tree(project) == after
    said = session("undo", "-y", NAME)
    assert "restored" in said.out
    assert tree(project) == before
    wait(lambda: guest(session, "cat changed removed; ls") ==
         "changed before\nremoved before\n" + guest(session, "ls"), 5, "the guest sees it")
    assert "third" not in guest(session, "ls")
    assert "nothing to undo" in session("undo", "-y", NAME).out


def test_a_run_begins_with_a_mark(session, project):
    """A second run on the same machine is taken back alone, then the first."""
    before = tree(project)
    session("run", NAME, "--", "-c", "echo one > changed; echo one > first")
    first = tree(project)
    session("run", NAME, "--", "-c", "echo two > changed; rm first")
    session("undo", "--mark", "half-way", NAME)
    second = tree(project)
    guest(session, "echo three > changed; sync")
    session("undo", "-y", "--to", "half-way", NAME)
    assert tree(project) == second
    assert session.raw("undo", "--mark", "half way", NAME).code == 2
    session("undo", "-y", NAME)
    assert tree(project) == first
    marks = [row["label"] for row in session("undo", "--list", "--json", NAME).json]
    runs = [label for label in marks if label.startswith("run-")]
    assert len(set(runs)) == len(runs)
    session("undo", "-y", "--to", runs[0], NAME)
    assert tree(project) == before


def test_what_the_host_changed_and_what_was_planted(session, project, tmp_path):
    """After power-off: conflicts are shown; P7: a planted link is not followed."""
    outside = f"{tmp_path}/outside"
    put(f"{outside}/file", "untouched\n")
    guest(session, "echo guest > changed; echo guest > 'host and guest'; rm removed;"
                   "echo guest > folder/deep/file; chmod 640 mode; sync")
    session("stop", "--power-off", NAME, timeout=60)
    assert "not running" in session.raw("undo", "--mark", "late", NAME).err
    put(f"{project}/host and guest", "the host's\n")
    os.rename(f"{project}/folder/deep", f"{project}/aside")
    os.symlink(outside, f"{project}/folder/deep")
    done = session.raw("undo", "-y", NAME)
    assert done.code == 1
    assert f"leave alone {project}/host and guest: was changed on the host" in done.err, done
    assert "folder/deep/file" in done.err
    assert read(f"{project}/host and guest") == "the host's\n"
    assert read(f"{outside}/file") == "untouched\n"
    assert os.listdir(outside) == ["file"]
    assert read(f"{project}/changed") == "changed before\n"
    assert read(f"{project}/removed") == "removed before\n"
    assert stat.S_IMODE(os.stat(f"{project}/mode").st_mode) == 0o600
    session.raw("undo", "-f", NAME)
    assert read(f"{project}/host and guest") == "host and guest before\n"
    assert read(f"{outside}/file") == "untouched\n"
