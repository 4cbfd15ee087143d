# SPDX-License-Identifier: Apache-2.0
"""Which sandbox: names, paths, and what re-attaches."""
import hashlib
import os

import pytest

from bawn import SMALL, START_SECONDS


def create(bawn, folder, *options):
    os.makedirs(folder, exist_ok=True)
    return bawn("create", *SMALL, *options, "shell", folder,
                timeout=START_SECONDS).out.strip()


def test_the_name_is_agent_and_folder(bawn, tmp_path):
    assert create(bawn, tmp_path / "plain") == "shell-plain"


def test_the_same_folder_is_the_same_sandbox(bawn, tmp_path):
    assert create(bawn, tmp_path / "same") == create(bawn, tmp_path / "same")


def test_a_second_folder_of_that_name_gets_a_hash(bawn, tmp_path):
    create(bawn, tmp_path / "a" / "proj")
    second = tmp_path / "b" / "proj"
    digest = hashlib.sha256(os.fsencode(str(second))).hexdigest()[:8]
    assert create(bawn, second) == f"shell-proj-{digest}"


@pytest.mark.parametrize("folder, name", [
    ("with space", "shell-with-space"),
    ("it's \"quoted\"", "shell-it-s--quoted"),
    ("grüße 🙂", None),
    ("a" * 200, None),
    ("semi;colon&$(touch x)`y`", None),
    ("new\nline", None),
    ("-dash", None),
])
def test_any_folder_works(bawn, tmp_path, folder, name):
    path = tmp_path / folder
    os.makedirs(path)
    done = bawn("create", *SMALL, "shell", f"{path}", timeout=START_SECONDS)
    made = done.out.strip()
    if name:
        assert made == name
    assert 2 <= len(made) <= 63 and made[-1] not in "-."
    assert all(c.isascii() and (c.isalnum() or c in ".-") for c in made)
    assert bawn.sh(made, "hostname")
    variables = bawn("exec", made, "sh", "-c", 'printf %s "$WORKSPACE_DIR"').out
    assert variables == str(path)


def test_run_from_inside_such_a_folder_works(bawn, tmp_path):
    path = tmp_path / "b'l ä\"nk"
    os.makedirs(path)
    done = bawn("run", "--rm", *SMALL, "--", "-c", "echo $WORKSPACE_DIR", cwd=path,
                timeout=START_SECONDS)
    assert done.out == f"{path}\n"


def test_name_makes_a_second_sandbox_on_one_folder(bawn, tmp_path):
    one = create(bawn, tmp_path / "dup")
    assert create(bawn, tmp_path / "dup", "--name", "dup-two") == "dup-two"
    assert {one, "dup-two"} <= set(bawn.names())


@pytest.mark.parametrize("name", ["a", "-a", "a-", "a.", "a b", "ü-name", "../up", "a/b",
                                  "x" * 64, "claude", "shell", ""])
def test_bad_names_are_refused(bawn, name):
    done = bawn.raw("create", f"--name={name}", *SMALL, "shell", ".")
    assert done.code in (1, 2) and done.err and name not in bawn.names()


def test_a_word_that_is_neither_agent_nor_sandbox_is_an_error(bawn):
    done = bawn.raw("run", "no-such-thing")
    assert done.code in (1, 2, 125) and "no-such-thing" in done.err


def test_a_missing_folder_is_an_error(bawn, tmp_path):
    done = bawn.raw("create", *SMALL, "shell", f"{tmp_path}/missing")
    assert done.code == 1 and "missing" in done.err


def test_other_options_than_the_existing_ones_are_an_error_with_both_values(bawn):
    name = bawn.create()
    done = bawn.raw("run", "--name", name, "-t", "tiny", "-m", "512M", "--cpus", "1",
                    "shell", ".", "--", "-c", "true")
    assert done.code in (1, 2, 125), done
    assert "256" in done.err and "512" in done.err


def test_run_name_with_arguments_starts_a_new_session(bawn, box):
    assert bawn("run", box, "--", "-c", "echo again").out == "again\n"


def test_run_name_starts_a_stopped_sandbox(bawn, box):
    bawn("stop", "--power-off", box)
    done = bawn("run", box, "--", "-c", "echo up", timeout=START_SECONDS)
    assert done.out == "up\n"


def test_two_workspaces_and_read_only_are_recorded(bawn, tmp_path):
    for name in ("w1", "w2"):
        os.mkdir(tmp_path / name)
    done = bawn("create", *SMALL, "shell", f"{tmp_path}/w1", f"{tmp_path}/w2:ro",
                timeout=START_SECONDS)
    facts = str(bawn.inspect(done.out.strip())["workspaces"])
    assert f"{tmp_path}/w1" in facts and f"{tmp_path}/w2" in facts
