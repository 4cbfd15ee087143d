# SPDX-License-Identifier: Apache-2.0
"""git in a sandbox: whose commits they are, and whose keys sign"""
import os
import shutil
import subprocess

import pytest

from bawn import ROOT
from test_guard import has_base

NAME = "git-box"
CONFIG = """[user]
	name = Host \\"the\\" User
	email = host@user.example
"""


def start_agent(folder):
    """Two keys; the files of the private ones are gone."""
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(folder / "agent")],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert agent.stdout.readline()
    for name in ("good", "bad"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
                        str(folder / name)], check=True)
        subprocess.run(["ssh-add", "-q", str(folder / name)], check=True,
                       env={**os.environ, "SSH_AUTH_SOCK": str(folder / "agent")})
        os.remove(folder / name)
    return agent


@pytest.fixture(scope="module")
def host(session, tmp_path_factory):
    """A sandbox of a user whose git knows who they are."""
    if not has_base(session) and not ROOT:
        pytest.skip("no base template: root made none, and this user cannot")
    folder = tmp_path_factory.mktemp("git")
    (folder / "gitconfig").write_text(CONFIG)
    os.mkdir(folder / "project")
    if not shutil.which("ssh-agent"):
        pytest.skip("openssh-client is not installed")
    agent = start_agent(folder)
    one = session.with_env(GIT_CONFIG_GLOBAL=str(folder / "gitconfig"),
                           SSH_AUTH_SOCK=str(folder / "agent"))
    one.keys = folder
    one("create", "--name", NAME, "-m", "1G", "--ssh-agent=good", "shell", ".",
        cwd=str(folder / "project"), timeout=240)
    yield one
    session.rm(NAME)
    agent.kill()
    agent.wait()


def commit(host, user, folder, before=""):
    return host("exec", "-u", user, NAME, "sh", "-ec",
                f"mkdir -p {folder}; cd {folder}; git init -q .; {before}\n"
                "git commit -q --allow-empty -m one; git log --format='%an <%ae>'",
                timeout=120).out.strip()


def test_a_commit_is_the_hosts_users(host):
    assert commit(host, "agent", "/tmp/one") == 'Host "the" User <host@user.example>'
    assert commit(host, "root", "/root/one") == 'Host "the" User <host@user.example>'
    assert commit(host, "agent", "/tmp/two", "git config --global user.name Inside"
                  ) == "Inside <host@user.example>"
    # another identity is the sandbox's own business, until it is made anew
    refused = host.raw("create", "--name", NAME, "--git-identity", "off")
    assert refused.code == 1 and "--git-identity" in refused.err, refused


def test_what_is_kept_for_work_trees_of_the_host_stays(host):
    """Made since the start, so nothing of it is held; old enough for git to remove it."""
    project = host.keys / "project"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(project)]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"],
                  ["worktree", "add", "-q", str(host.keys / "elsewhere")]):
        subprocess.run([*git, *words], check=True)
    kept = project / ".git/worktrees/elsewhere"
    names = sorted(os.listdir(kept))
    for name in (*names, "."):
        os.utime(kept / name, (10 ** 9, 10 ** 9))
    host("exec", "-w", project, NAME, "git", "gc", "-q", timeout=120)
    assert sorted(os.listdir(kept)) == names


def test_a_named_key_signs_and_no_other_one(host):
    refused = host.raw("create", "--name", "other-box", "--ssh-agent", "shell", ".")
    assert refused.code == 1 and "name the keys" in refused.err, refused
    refused = host.raw("create", "--name", "other-box", "--ssh-agent=worse", "shell", ".")
    assert refused.code == 1 and "there is: good, bad" in refused.err, refused
    good = (host.keys / "good.pub").read_text()
    assert host("exec", NAME, "ssh-add", "-L", timeout=60).out == good
    signed = host.raw("exec", NAME, "sh", "-ec", f"cd; echo '{good}' > good.pub\n"
                      f"echo '{(host.keys / 'bad.pub').read_text()}' > bad.pub\n"
                      "echo text > text; ssh-keygen -Y sign -n test -f good.pub text\n"
                      "ls text.sig; rm text.sig; ! ssh-keygen -Y sign -n test -f bad.pub text\n"
                      "! ssh-add -D; ssh-add -l | wc -l", timeout=120)
    assert signed.code == 0 and signed.out.split() == ["text.sig", "1"], signed
