# SPDX-License-Identifier: Apache-2.0
"""test_package.py - what `make deb` and `make install` put where"""
import os
import shutil
import subprocess

import pytest

from bawn import BAWN, ROOT, SOAK

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pytestmark = pytest.mark.skipif(
    not SOAK or not ROOT, reason="builds everything once more, in a copy: make soak runs it")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(TOP, folder / "bawn",
                    ignore=shutil.ignore_patterns("build", "build-*", ".git"))
    return folder / "bawn"


@pytest.mark.seconds(900)
def test_the_package_has_everything_and_runs(copy, tmp_path):
    done = subprocess.run(["make", "deb"], cwd=copy, capture_output=True, text=True,
                          timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    package = done.stdout.split()[-1]
    subprocess.run(["dpkg", "-x", package, tmp_path], check=True, timeout=60)
    for path in ("bin/bawn", "bin/sbx", "lib/bawn/bawn-init", "share/bawn/policy/balanced",
                 "lib/docker/cli-plugins/docker-sandbox", "share/man/man1/bawn-run.1.gz"):
        assert os.path.exists(tmp_path / "usr" / path), path
    said = subprocess.run([tmp_path / "usr/bin/bawn", "version"], capture_output=True,
                          text=True, timeout=20, check=True).stdout
    assert said == subprocess.run([BAWN, "version"], capture_output=True, text=True,
                                  timeout=20, check=True).stdout
    depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True,
                             text=True, timeout=20, check=True).stdout
    for word in ("libc6", "libssl3", "qemu-system-x86", "mmdebstrap"):
        assert word in depends


@pytest.mark.seconds(900)
def test_an_installation_at_home_is_seen_by_docker(copy, tmp_path):
    if not shutil.which("docker"):
        pytest.skip("there is no docker client on this machine")
    environ = {**os.environ, "HOME": str(tmp_path), "BAWN_HOME": str(tmp_path / "state")}
    environ.pop("DOCKER_CONFIG", None)
    subprocess.run(["make", "install", f"PREFIX={tmp_path}/.local"], cwd=copy, env=environ,
                   check=True, timeout=800, capture_output=True)
    done = subprocess.run(["docker", "sandbox", "version"], env=environ, timeout=20,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "bawn" in done.stdout, done
