# SPDX-License-Identifier: Apache-2.0
"""Odd hosts: read-only homes, long paths, missing variables."""
import os
import subprocess

import pytest

from bawn import BAWN, ROOT, SMALL, START_SECONDS, Bawn


def test_a_read_only_home_is_an_error_that_says_what_to_do(session, tmp_path):
    if ROOT:
        code = ("mount -t tmpfs -o ro tmpfs \"$1\" && "
                "BAWN_HOME= HOME=\"$1\" exec \"$2\" create -t tiny shell .")
        argv = ["unshare", "--mount", "sh", "-c", code, "sh", str(tmp_path), BAWN]
    else:
        os.chmod(tmp_path, 0o555)
        argv = [BAWN, "create", "-t", "tiny", "shell", "."]
    env = dict(session.env, HOME=str(tmp_path))
    del env["BAWN_HOME"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60,
                          cwd="/", check=False)
    os.chmod(tmp_path, 0o755)
    assert done.returncode in (1, 125) and "BAWN_HOME" in done.stderr, done
    assert len(done.stderr.splitlines()) == 1, done


def test_a_home_with_a_long_path_works(session, tmp_path):
    home = str(tmp_path / ("deep" * 20) / ("deeper" * 10))
    os.makedirs(home)
    assert len(f"{home}/state/sandboxes/x/machine/control.sock") > 107
    os.symlink(f"{session.home}/cache", f"{home}/cache")
    bawn = Bawn(home, session.workspace)
    name = bawn.create()
    try:
        assert bawn.sh(name, "echo long") == "long"
    finally:
        bawn("rm", "-f", name)


def test_a_home_with_spaces_quotes_commas_and_utf8_works(session, tmp_path):
    """A comma or an = in a path would end an option of QEMU's."""
    home = str(tmp_path / "it's, a \"höme\"=x")
    os.makedirs(home)
    os.symlink(f"{session.home}/cache", f"{home}/cache")
    bawn = Bawn(home, session.workspace)
    name = bawn.create()
    try:
        assert bawn.sh(name, "echo odd") == "odd"
    finally:
        bawn("rm", "-f", name)


def test_no_runtime_folder_and_no_other_variable_is_needed(session, box_env):
    bawn, name = box_env
    bare = bawn.with_env(XDG_RUNTIME_DIR=None, LANG=None, TERM=None, PATH=None)
    assert bare("exec", name, "echo", "bare").out == "bare\n"


@pytest.fixture
def box_env(session):
    name = session.create()
    yield session, name
    session.rm(name)


def test_xdg_folders_are_used_without_bawn_home(session, tmp_path):
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower())
           for kind in ("STATE", "CACHE", "CONFIG", "DATA")}
    os.makedirs(tmp_path / "cache")
    os.symlink(f"{session.home}/cache", tmp_path / "cache" / "bawn")
    bawn = session.with_env(BAWN_HOME=None, **env)
    bawn.home = str(tmp_path)
    bawn("create", "--name", "xdg", *SMALL, "shell", ".", timeout=START_SECONDS)
    try:
        assert os.path.isfile(tmp_path / "state/bawn/sandboxes/xdg/sandbox.json")
        assert os.path.isdir(tmp_path / "data/bawn/warm")
    finally:
        bawn("rm", "-f", "xdg")


def test_stdin_stdout_and_stderr_may_be_closed(session, box_env):
    bawn, name = box_env
    done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', BAWN, "exec", name,
                           "echo", "x"], env=bawn.env, timeout=30, check=False)
    assert done.returncode in (0, 1)
    assert bawn.sh(name, "echo fine") == "fine"


def test_output_into_a_closed_pipe_ends_quietly(session, box_env):
    bawn, name = box_env
    done = subprocess.run(["sh", "-c", '"$0" exec "$1" yes | head -n 1', BAWN, name],
                          env=bawn.env, timeout=30, capture_output=True, check=False)
    assert done.stdout == b"y\n"


def test_a_changed_host_path_does_not_matter_after_start(session, box_env):
    bawn, name = box_env
    assert bawn("exec", name, "echo", "x", cwd="/").out == "x\n"
