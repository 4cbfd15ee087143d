# SPDX-License-Identifier: Apache-2.0
"""Templates: the base, the tiny one, and one without a shell."""
import os
import subprocess

import pytest

from bawn import ROOT, START_SECONDS

PROGRAMS = ["sudo", "git", "curl", "python3", "node", "go", "gh", "rg", "jq", "gcc",
            "make", "pip3", "docker", "dockerd", "ip", "nft", "less", "vi", "ssh"]
SYSTEM = os.environ.get("BAWN_TEST_SYSTEM", "/nonexistent")


def template_disk(session, name):
    for place in (f"{session.home}/data", SYSTEM):
        path = f"{place}/templates/{name}/disk.ext4"
        if os.path.isfile(path):
            return path
    return None


@pytest.fixture(scope="module")
def base(session):
    disk = template_disk(session, "base")
    if not disk and not ROOT:
        pytest.skip("no base template: root made none, and this user cannot")
    assert disk, "the base template was built (see base-template.log)"
    name = "base-box"
    session("create", "--name", name, "-m", "1G", "shell", ".", timeout=240)
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


def test_an_unknown_template_is_an_error_that_names_those_there_are(bawn):
    done = bawn.raw("create", "-t", "no-such-template", "shell", ".")
    assert done.code == 1 and "no-such-template" in done.err
    assert len(done.err.splitlines()) == 1
    assert START_SECONDS
