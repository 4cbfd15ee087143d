# SPDX-License-Identifier: Apache-2.0
"""The guard: what a guest plants for the host, with git itself at both ends."""
import json
import os
import subprocess

import pytest

from bawn import ROOT

NAME = "guard-box"
GIT = ("git", "-c", "user.name=host", "-c", "user.email=host@localhost")


def host_git(folder, *args):
    """As a user who trusts the repository does it; output of a success."""
    done = subprocess.run([*GIT, "-C", folder, *args], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
                               "GIT_CONFIG_NOSYSTEM": "1"})
    assert done.returncode == 0, done
    return done.stdout


def has_base(session):
    return any(os.path.isfile(f"{folder}/templates/base/disk.ext4") for folder in
               (session.env["BAWN_SYSTEM_DIR"], f"{session.home}/data"))


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    """A repository of the host's in a folder that a sandbox with git shares."""
    if not has_base(session) and not ROOT:
        pytest.skip("no base template: root made none, and this user cannot")
    folder = str(tmp_path_factory.mktemp("guard") / "project")
    os.mkdir(folder)
    host_git(folder, "init", "-q", "-b", "main", "repo")
    with open(f"{folder}/repo/file", "w", encoding="ascii") as file:
        file.write("host\n")
    host_git(f"{folder}/repo", "add", "file")
    host_git(f"{folder}/repo", "commit", "-q", "-m", "host")
    session("create", "--name", NAME, "-m", "1G", "shell", ".", cwd=folder, timeout=240)
    yield folder
    session.rm(NAME)


def guest(session, folder, script, code=0):
    done = session.raw("exec", NAME, "sh", "-ec", f"cd {folder}\n{script}", timeout=120)
    assert done.code == code, done
    return done.out


PLANT = """
plant() { printf '#!/bin/sh\\ntouch %s/ran-%s\\n' "$PWD" "$2" > "$1"; chmod +x "$1"; }
git config --global user.name guest; git config --global user.email guest@localhost
git init -q -b main new
plant new/.git/hooks/pre-commit new
echo guest > new/file
git -C new add file; git -C new commit -q --no-verify -m guest
plant repo/.git/hooks/pre-commit hook
plant repo/.git/hooks/post-index-change index
plant evil.sh monitor
git -C repo config core.fsmonitor "$PWD/evil.sh"
git -C repo config core.hooksPath "$PWD/hidden-hooks"
mkdir hidden-hooks; plant hidden-hooks/pre-commit path
git -C repo config core.fsmonitor
echo guest > repo/file; git -C repo commit -q --no-verify -a -m 'by the guest'
git -C repo branch config
echo 'touch ran-envrc' > .envrc
mkdir -p tasks; echo '{}' > tasks/tasks.json; ln -s tasks .vscode
mkdir -p fake/hooks fake/objects fake/refs; echo 'ref: refs/heads/main' > fake/HEAD
printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' "$PWD" > fake/config; plant fake/hooks/pre-commit fake
mv fake .git
printf 'all:\\n\\ttrue\\n' > Makefile
rm -f ran-*  # what ran in the guest is the guest's
"""


@pytest.mark.seconds(400)
def test_what_a_guest_plants_does_not_run_on_the_host(session, project):
    assert guest(session, project, PLANT).strip().endswith("evil.sh")
    assert [name for name in os.listdir(project) if name.startswith("ran-")] == []
    # The guest has what it made; the host has the commits and branches.
    seen = guest(session, project, "cat repo/.git/hooks/pre-commit new/.git/config .envrc\n"
                 "readlink .vscode; test -f .git/config; git -C new log --format=%s")
    assert "ran-hook" in seen and "[core]" in seen and "tasks" in seen and "guest" in seen
    assert host_git(f"{project}/repo", "log", "--format=%s") == "by the guest\nhost\n"
    assert "config" in host_git(f"{project}/repo", "branch")
    # And not one of these.
    for path in ("repo/.git/hooks/pre-commit", "repo/.git/hooks/post-index-change",
                 "new/.git/config", "new/.git/hooks/pre-commit", ".envrc", ".vscode",
                 ".git/config", ".git/hooks/pre-commit"):
        assert not os.path.lexists(f"{project}/{path}"), path
    assert "fsmonitor" not in host_git(f"{project}/repo", "config", "--list")
    with open(f"{project}/repo/file", "a", encoding="ascii") as file:
        file.write("again\n")
    host_git(f"{project}/repo", "status")
    host_git(f"{project}/repo", "commit", "-q", "-a", "-m", "by the host")
    assert [name for name in os.listdir(project) if name.startswith("ran-")] == []
    # Changes of the host arrive by themselves, if not at once.
    log = "git -C repo -c core.hooksPath= -c core.fsmonitor= log --format=%s -1"
    guest(session, project, f"for i in $(seq 20); do {log} | grep -q 'by the host' && exit 0; "
          "sleep 0.25; done; exit 1")


@pytest.mark.seconds(400)
def test_review_shows_and_applies_what_is_held(session, project):
    review = session("review", NAME, "--json").json
    held = {item["path"]: item for item in review["held"]}
    assert held["repo/.git/config"]["change"] == "changed"
    assert held["repo/.git/hooks/pre-commit"] == {
        "path": "repo/.git/hooks/pre-commit", "change": "added", "type": "file",
        "executable": True, "size": held["repo/.git/hooks/pre-commit"]["size"]}
    assert held[".vscode"]["type"] == "link" and ".envrc" in held
    assert "Makefile" in review["shown"] and "evil.sh" in review["shown"]
    text = session("review", NAME, "--diff", "repo/.git/config").out
    assert "+\tfsmonitor = " in text and "--- host/repo/.git/config" in text
    assert ".envrc" not in text
    # Without a terminal nobody can be asked.
    assert session.raw("review", NAME, "--apply", ".envrc").code == 1
    assert not os.path.lexists(f"{project}/.envrc")
    assert session.raw("review", NAME, "--apply", "-f").code == 2
    assert session.raw("review", NAME, "--apply", "-f", "nothing").code == 1
    session("review", NAME, "--apply", "-f", ".envrc", f"{project}/repo/.git/hooks/pre-commit")
    with open(f"{project}/.envrc", encoding="ascii") as file:
        assert file.read() == "touch ran-envrc\n"
    assert os.access(f"{project}/repo/.git/hooks/pre-commit", os.X_OK)
    assert os.stat(f"{project}/.envrc").st_uid == os.stat(project).st_uid
    assert ".envrc" not in [item["path"] for item in
                            json.loads(session("review", NAME, "--json").out)["held"]]
    assert guest(session, project, "cat .envrc") == "touch ran-envrc\n"
    # Dropped: the guest sees the host's version again, within a second or so.
    session("review", NAME, "--drop", "-f", "repo/.git/config", ".vscode")
    assert guest(session, project, "sleep 1.5; git -C repo config core.fsmonitor || echo none; "
                 "ls -d .vscode 2>/dev/null || echo gone") == "none\ngone\n"


@pytest.mark.seconds(400)
def test_names_in_a_review_do_not_reach_the_terminal_raw(session, project):
    guest(session, project, "mkdir -p .husky; printf x > \".husky/$(printf 'a\\033[2Jb')\"; "
          "printf 'evil \\033]0;title\\007\\n' > .npmrc")
    out = session("review", NAME, "--diff", ".husky", ".npmrc").out
    assert "\033" not in out and "\007" not in out and "a\\x1b[2Jb" in out
    guest(session, project, "rm -r .husky .npmrc new")
    assert not os.path.lexists(f"{project}/new") and not os.path.lexists(f"{project}/.husky")


@pytest.mark.seconds(400)
def test_a_restart_keeps_what_is_held(session, project):
    guest(session, project, "echo own > .gdbinit; rm repo/.git/hooks/pre-commit")
    session("stop", "--power-off", NAME, timeout=120)
    assert ".gdbinit" in session("review", NAME).out
    session("run", "-d", NAME, timeout=240)
    assert guest(session, project, "cat .gdbinit; ls repo/.git/hooks/pre-commit || echo none"
                 ) == "own\nnone\n"
    assert os.path.exists(f"{project}/repo/.git/hooks/pre-commit")
    # What it was told is not there, and would believe for minutes, comes back when dropped.
    session("review", NAME, "--drop", "-f", "repo/.git/hooks/pre-commit")
    guest(session, project, "for i in $(seq 40); do [ -e repo/.git/hooks/pre-commit ] && exit 0; "
          "sleep 0.25; done; exit 1")
