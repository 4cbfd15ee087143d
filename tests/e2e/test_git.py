# SPDX-License-Identifier: Apache-2.0
"""git in a sandbox: whose commits they are"""
import os

import pytest

from bawn import ROOT
from test_guard import has_base

NAME = "git-box"
CONFIG = """[user]
	name = Host \\"the\\" User
	email = host@user.example
"""


@pytest.fixture(scope="module")
def host(session, tmp_path_factory):
    """A sandbox of a user whose git knows who they are."""
    if not has_base(session) and not ROOT:
        pytest.skip("no base template: root made none, and this user cannot")
    folder = tmp_path_factory.mktemp("git")
    (folder / "gitconfig").write_text(CONFIG)
    os.mkdir(folder / "project")
    one = session.with_env(GIT_CONFIG_GLOBAL=str(folder / "gitconfig"))
    one("create", "--name", NAME, "-m", "1G", "shell", ".", cwd=str(folder / "project"),
        timeout=240)
    yield one
    session.rm(NAME)


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
