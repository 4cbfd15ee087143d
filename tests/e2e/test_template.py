# SPDX-License-Identifier: Apache-2.0
"""Templates: the base, the tiny one, and one without a shell."""
import json
import os
import shutil
import subprocess

import pytest

from bawn import BAWN, ROOT, START_SECONDS

PROGRAMS = ["sudo", "git", "curl", "python3", "node", "go", "gh", "rg", "jq", "gcc",
            "make", "pip3", "docker", "dockerd", "ip", "nft", "less", "vi", "ssh"]
SYSTEM = os.environ.get("BAWN_TEST_SYSTEM", "/nonexistent")


def template_disk(session, name):
    for place in (f"{session.home}/data", SYSTEM):
        path = f"{place}/templates/{name}/disk.ext4"
        if os.path.isfile(path):
            return path
    return None


def git(folder, *args):
    return subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@example.org",
                           *args], cwd=folder, check=True, capture_output=True,
                          text=True).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A linked work tree, whose repository lies beside it."""
    folder = tmp_path_factory.mktemp("git")
    os.mkdir(folder / "main")
    git(folder / "main", "init", "-q")
    (folder / "main" / "file").write_text("first\n")
    git(folder / "main", "add", ".")
    git(folder / "main", "commit", "-qm", "first")
    for name in ("tree", "other"):
        git(folder / "main", "worktree", "add", "-q", f"../{name}")
    return folder / "tree"


@pytest.fixture(scope="module")
def base(session, tree):
    disk = template_disk(session, "base")
    if not disk and not ROOT:
        pytest.skip("no base template: root made none, and this user cannot")
    assert disk, "the base template was built (see base-template.log)"
    name = "base-box"
    done = session("create", "--name", name, "-m", "1G", "shell", ".", cwd=tree,
                   timeout=240)
    assert f"{tree.parent}/main/.git is shared too" in done.err, done
    yield name
    session.rm(name)


@pytest.mark.seconds(300)
def test_the_base_template_is_the_default_and_has_the_tools(session, base):
    assert "base" in str(session.inspect(base)["template"])
    script = "for p; do command -v $p >/dev/null || echo $p; done"
    done = session("exec", base, "sh", "-c", script, "sh", *PROGRAMS)
    assert done.out == "", f"missing: {done.out}"
    assert session("exec", base, "test", "-s", "/etc/ssl/certs/ca-certificates.crt")


def test_the_user_is_agent_with_sudo_and_docker(session, base):
    done = session("exec", base, "sh", "-c", "id -un; id -u; id -g; id -nG; pwd; echo $HOME")
    lines = done.out.splitlines()
    assert lines[:3] == ["agent", "1000", "1000"]
    assert "docker" in lines[3].split()
    assert lines[5] == "/home/agent"
    assert session("exec", base, "sudo", "-n", "id", "-u").out == "0\n"


def test_programs_of_the_base_template_run(session, base):
    assert session("exec", base, "python3", "-c", "print(6*7)", timeout=60).out == "42\n"
    assert "git version" in session("exec", base, "git", "--version").out


def test_git_works_in_a_linked_work_tree(session, base, tree):
    assert session("exec", base, "git", "status", "--short").out == ""
    session("exec", base, "sh", "-c", "echo second > file && git add file && "
            "git -c user.name=G -c user.email=g@example.org commit -qm second")
    assert git(tree, "log", "-1", "--format=%s %an") == "second G\n"
    assert git(tree, "status", "--short") == ""
    assert session.raw("exec", base, "cat", f"{tree.parent}/main/file").code != 0


def test_a_work_tree_that_is_not_shared_outlives_a_prune_inside(session, base, tree):
    """A git inside takes it for deleted; gc does the same after three months."""
    other = tree.parent / "other"
    assert "prunable" in session("exec", base, "git", "worktree", "list").out
    session("exec", base, "git", "worktree", "prune")
    assert str(other) not in session("exec", base, "git", "worktree", "list").out
    assert git(other, "status", "--short") == "" and git(other, "log", "-1", "--format=%s")
    assert f"{other}" in git(tree, "worktree", "list")
    assert ".git/worktrees/other" in session("review", base).out


def test_every_user_has_the_base_template_that_root_made(session, base):
    """It comes from the system-wide folder, made once by root."""
    row = next(row for row in session("template", "ls", "--json").json
               if row["name"] == "base")
    assert row["system"] or not os.path.isdir(f"{SYSTEM}/templates")


def test_a_template_image_is_a_clean_file_system(session, shared_box):
    disk = template_disk(session, "tiny")
    assert disk, "the tiny template lies somewhere"
    done = subprocess.run(["/sbin/e2fsck", "-fn", disk], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert os.stat(disk).st_mode & 0o222 == 0


def test_the_base_image_is_a_clean_file_system(session, base):
    done = subprocess.run(["/sbin/e2fsck", "-fn", template_disk(session, "base")],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_template_is_an_error_that_says_where_to_look(bawn):
    done = bawn.raw("create", "-t", "no-such-template", "--pull", "never", "shell", ".")
    assert done.code == 1 and "no-such-template" in done.err
    assert "bawn template ls" in done.err
    assert len(done.err.splitlines()) == 1


def image_tool():
    """bawn-image beside the bawn under test: in its build tree, or installed."""
    folder = os.path.dirname(os.path.realpath(BAWN))
    for path in (f"{folder}/../image/bawn-image", f"{folder}/../libexec/bawn/bawn-image"):
        if os.path.exists(path):
            return path
    raise AssertionError("no bawn-image")


def add_template(session, name, tree, tmp_path):
    """A template made of a folder, laid where templates lie."""
    folder = f"{session.home}/data/templates/{name}"
    os.makedirs(folder)
    archive = tmp_path / "tree.tar"
    subprocess.run(["tar", "-C", tree, "--owner=0", "--group=0", "-cf", archive, "."],
                   check=True)
    disk = f"{folder}/disk.ext4"
    done = subprocess.run(["sh", "-c", 'exec "$0" ext4 <"$1" 4<>"$2"', image_tool(),
                           archive, disk], capture_output=True, text=True, check=True)
    os.chmod(disk, 0o444)
    facts = os.stat(disk)
    with open(f"{folder}/template.json", "w", encoding="utf-8") as file:
        json.dump({"version": 1, "name": name, "source": "a test", "created": 1,
                   "id": json.loads(done.stdout)["digest"], "disk_bytes": facts.st_size,
                   "disk_inode": facts.st_ino, "disk_mtime_ns": facts.st_mtime_ns}, file)


def test_a_template_without_a_shell_works(session, shared_box, tmp_path):
    """Nothing but one static program under three names: no sh, no /etc."""
    tree = tmp_path / "tree"
    os.makedirs(tree / "only")
    for name in ("cat", "false", "env"):
        shutil.copy("/bin/busybox", tree / "only" / name)
    add_template(session, "bare", tree, tmp_path)
    session("create", "--name", "bare-box", "-t", "bare", "-m", "256M", "--cpus", "1",
            "shell", ".", timeout=START_SECONDS)
    try:
        done = session("exec", "-i", "bare-box", "/only/cat", input="through")
        assert done.out == "through"
        assert session.raw("exec", "bare-box", "/only/false").code == 1
        assert "SANDBOX_NAME=bare-box" in session("exec", "bare-box", "/only/env").out
        assert session.raw("exec", "bare-box", "sh").code == 127
        assert session.raw("run", "bare-box", "--", "-c", "true").code == 127
        session("stop", "--power-off", "bare-box")
    finally:
        session.rm("bare-box")
