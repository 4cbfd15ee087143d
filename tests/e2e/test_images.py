# SPDX-License-Identifier: Apache-2.0
"""Images as templates, booted: no user, no /etc, no folder, another C library."""
import hashlib
import io
import json
import shutil
import subprocess
import tarfile

import pytest

from bawn import SOAK, START_SECONDS

MUSL = "/lib/ld-musl-x86_64.so.1"
NAME = "example.org/odd:1"
HOST_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
CONFIG = {"Env": ["GREETING=ahoy", "PATH=/odd:/tools"], "Entrypoint": ["greet"],
          "Cmd": ["world"], "WorkingDir": "/srv/made", "User": "1234:77"}
GREET = """#!/tools/sh
[ "$1" != fail ] || exit 7
echo "$*" $GREETING $(pwd) $(id -u):$(id -g)
"""


def add(tar, name, data=b"", mode=0o755, **fields):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    for key, value in fields.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def layer(greeting, musl):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        with open("/bin/busybox", "rb") as file:
            add(tar, "tools/busybox", file.read())
        for name in ("sh", "id", "cat"):
            add(tar, f"tools/{name}", type=tarfile.SYMTYPE, linkname="busybox")
        add(tar, "odd/greet", greeting.encode())
        for name, path in musl.items():
            with open(path, "rb") as file:
                add(tar, name, file.read())
    return out.getvalue()


def save(path, content):
    """As `docker save` writes it."""
    config = json.dumps({"os": "linux", "architecture": "amd64", "config": CONFIG,
                         "rootfs": {"type": "layers", "diff_ids": [
                             "sha256:" + hashlib.sha256(content).hexdigest()]}}).encode()
    with tarfile.open(path, "w") as tar:
        add(tar, "config.json", config)
        add(tar, "1/layer.tar", content)
        add(tar, "manifest.json", json.dumps([{
            "Config": "config.json", "RepoTags": [NAME],
            "Layers": ["1/layer.tar"]}]).encode())
    return path


@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    """A program that needs the other C library, and that; or nothing."""
    if not shutil.which("musl-gcc"):
        return {}
    folder = tmp_path_factory.mktemp("musl")
    (folder / "x.c").write_text('#include <stdio.h>\nint main() { puts("musl"); }\n')
    subprocess.run(["musl-gcc", "-o", folder / "x", folder / "x.c"], check=True)
    return {"odd/other": folder / "x", MUSL[1:]: MUSL}


@pytest.fixture(scope="module")
def odd(session, musl, tmp_path_factory):
    """A sandbox of such an image, made by `run` without an agent."""
    path = save(tmp_path_factory.mktemp("odd") / "odd.tar", layer(GREET, musl))
    assert session("template", "load", path).out == NAME + "\n"
    done = session("run", "--name", "odd-box", "-t", NAME, "--pull", "never", "-m", "256M",
                   "--cpus", "1", ".", timeout=START_SECONDS)
    assert done.out == "world ahoy /srv/made 1234:77\n"
    yield "odd-box"
    session.rm("odd-box")


@pytest.mark.seconds(START_SECONDS + 60)
def test_an_image_runs_its_own_command(session, odd):
    assert session("run", odd, "--", "you", "there").out == \
        "you there ahoy /srv/made 1234:77\n"
    assert session.raw("run", odd, "--", "fail").code == 7


def test_an_image_without_users_gets_one(session, odd):
    assert session("exec", odd, "sh", "-c", "id -un; id -u; echo $PATH $GREETING").out == \
        "agent\n1000\n/odd:/tools ahoy\n"
    assert session("exec", "--user", "root", odd, "id", "-u").out == "0\n"
    assert session("exec", odd, "sh", "-c", "echo x >new; cat new").out == "x\n"


def test_an_image_without_authorities_gets_those_of_the_host(session, odd):
    with open(HOST_BUNDLE, encoding="ascii") as file:
        trusted = file.read()
    listed = session("exec", odd, "cat", HOST_BUNDLE).out
    assert listed.startswith(trusted) and "bawn: the authority" in listed[len(trusted):]


def test_an_image_of_another_c_library_runs(session, odd, musl):
    if not musl:
        pytest.skip("not installed: musl-tools")
    assert session("exec", odd, "other").out == "musl\n"


def test_an_image_that_is_saved_is_run_as_before(session, odd):
    """No shell, no user, no /etc in it; what was changed is there, the user is, too."""
    tag = "example.org/saved/odd:2"
    session("exec", "--user", "root", odd, "sh", "-c", "echo changed > /odd/new")
    assert session("save", odd, tag, timeout=START_SECONDS).out == f"{tag}\n"
    facts = session("template", "inspect", tag).json
    assert facts["image"]["run"] == CONFIG and facts["source"] == f"sandbox {odd}"
    if SOAK:
        done = session("run", "--rm", "--cold", "-t", tag, "--pull", "never", "-m", "256M",
                       "--cpus", "1", ".", timeout=START_SECONDS)
        assert done.out == "world ahoy /srv/made 1234:77\n"
    session("template", "rm", "-f", tag)


def test_a_name_moves_on_and_its_sandboxes_stay(session, odd, tmp_path):
    """The content stays for as long as a sandbox stands on it, then it goes."""
    old = session("template", "inspect", NAME).json
    assert old["users"] == [odd]
    done = session.raw("template", "rm", "-f", NAME)
    assert done.code == 1 and odd in done.err
    path = save(tmp_path / "new.tar", layer("#!/tools/sh\necho new\n", {}))
    session("template", "load", path)
    new = session("template", "inspect", NAME).json
    assert new["digest"] != old["digest"] and new["users"] == []
    session("template", "prune")
    session("stop", "--power-off", odd)
    assert session("run", odd, timeout=START_SECONDS).out == \
        "world ahoy /srv/made 1234:77\n"
    session.rm(odd)
    assert "1 file system" in session("template", "prune").out
    session("template", "rm", "-f", NAME)
