# SPDX-License-Identifier: Apache-2.0
"""test_spelling.py - the same program under the names that other tools have"""
import json
import os
import shutil
import subprocess

import pytest

from bawn import BAWN

DOCKER = shutil.which("docker")


class Spelled:
    """A program called by another name, or the Docker client with our plugin."""

    def __init__(self, bawn, argv, **env):
        self.bawn, self.argv = bawn, argv
        self.env = {**bawn.env, **env}

    def __call__(self, *args):
        done = subprocess.run([*self.argv, *args], env=self.env, text=True,
                              cwd=self.bawn.workspace, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def docker(lone, tmp_path):
    """The real client, which finds the plugin in its configuration folder."""
    if not DOCKER:
        pytest.skip("there is no docker client on this machine")
    os.makedirs(tmp_path / "docker/cli-plugins")
    os.symlink(BAWN, tmp_path / "docker/cli-plugins/docker-sandbox")
    return Spelled(lone, [DOCKER], DOCKER_CONFIG=str(tmp_path / "docker"))


@pytest.fixture
def sbx(lone, tmp_path):
    os.symlink(BAWN, tmp_path / "sbx")
    return Spelled(lone, [str(tmp_path / "sbx")])


def test_docker_takes_it_for_a_plugin(docker):
    code, out, _ = docker("sandbox", "ls", "--json")
    assert (code, json.loads(out)) == (0, [])
    code, out, _ = docker("--help")
    assert code == 0 and "sandbox*" in out


def test_options_of_the_docker_client_are_its_own(docker):
    assert docker("-D", "--log-level", "error", "sandbox", "version")[1] == \
        docker("sandbox", "version")[1]


def test_help_is_written_as_it_is_typed(docker):
    code, out, _ = docker("sandbox", "run", "--help")
    assert code == 0 and out.startswith("usage: docker sandbox run ")
    assert docker("help", "sandbox", "run")[1] == out


def test_docker_sandbox_has_its_verbs_and_no_others(docker):
    out = docker("sandbox", "help")[1]
    for verb in ("run", "create", "exec", "ls", "inspect", "stop", "rm", "version"):
        assert f"\n  {verb} " in out, verb
    code, _, err = docker("sandbox", "review", "x")
    assert code == 2 and "unknown command" in err


def test_rm_never_asks_in_the_docker_spelling(docker):
    code, _, err = docker("sandbox", "rm", "none")
    assert code == 1 and "-f" not in err and "none" in err


def test_sbx_has_its_verbs(sbx):
    code, out, _ = sbx("ls", "--quiet")
    assert (code, out) == (0, "")
    assert sbx("cp", "--help")[1].startswith("usage: sbx cp ")
    assert sbx("inspect", "x")[0] == 2


def test_sbx_login_succeeds_and_says_why_nobody_needs_it(sbx, docker):
    code, out, err = sbx("login", "--username", "me")
    assert (code, out) == (0, "") and "need no account" in err, err
    assert docker("sandbox", "login")[0] == 2


def test_ralph_is_one_command(lone, tmp_path):
    os.symlink(BAWN, tmp_path / "ralph")
    ralph = Spelled(lone, [str(tmp_path / "ralph")])
    code, out, _ = ralph("--help")
    assert code == 0 and out.startswith("usage: ralph [OPTIONS] [PROMPT] [N]"), out
    code, _, err = ralph("--status")
    assert code == 125 and "no loop has run" in err
