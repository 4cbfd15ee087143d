# SPDX-License-Identifier: Apache-2.0
"""The sandbox's own Docker: started by its first client, behind the same gate"""
import os
import pathlib
import secrets
import sys
import tarfile

import pytest

from bawn import SOAK, wait

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))

from images import Counted, Image, RealRegistry, entry, make_tar, need  # noqa: E402

SLOW = pytest.mark.skipif(not SOAK, reason="20 to 100 s under emulation: make soak runs it")
TOOLS = ("sh", "cat", "echo", "httpd", "id", "ls", "sleep", "wget")
ENGINE_SECONDS = 120
INPUT_BYTES = 3 * 1000 * 1000  # more than is on its way at any time


def busybox_image():
    with open("/bin/busybox", "rb") as file:
        program = file.read()
    folders = [entry(name, tarfile.DIRTYPE, mode=0o755) for name in ("bin", "etc", "tmp")]
    links = [entry(f"bin/{name}", tarfile.SYMTYPE, linkname="busybox") for name in TOOLS]
    return Image([make_tar([*folders, entry("bin/busybox", data=program, mode=0o755), *links])],
                 config={"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]})


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    if need("docker-registry"):
        pytest.skip("no docker-registry")
    one = RealRegistry(tmp_path_factory.mktemp("registry"))
    one.put(busybox_image(), "small")
    yield one
    one.close()


@pytest.fixture(scope="module")
def docker_box(session):
    name = "t-" + secrets.token_hex(4)
    session("create", "--name", name, "-t", "base", "-m", "1536M", "shell", ".", timeout=300)
    yield name
    session.raw("rm", "-f", name)


@pytest.fixture(scope="module")
def small(session, docker_box, registry):
    """The image's name; its registry is a port of the host, which a rule opens."""
    return f"{registry.host}/small"


def docker(bawn, box, *words, **kwargs):
    """As the agent, without sudo."""
    return bawn.raw("exec", box, "docker", *words, timeout=ENGINE_SECONDS, **kwargs)


def host_sockets():
    """Of Docker engines on this host, by what their file is called (a client's has none)."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        names = {line.split()[-1] for line in file}
    # Cases beside this one make sockets in folders that are called after them.
    return {name for name in names if name.startswith("/") and "/docker" in name}


@pytest.mark.seconds(300)
def test_the_first_client_starts_the_engine(bawn, docker_box, registry, small):
    before = host_sockets()
    assert bawn.running(docker_box, "dockerd") == 0
    # Its own input goes on and ends, although the engine was forked meanwhile.
    told = bawn("exec", "-i", docker_box, "sh", "-c", "docker version -f x && cat | wc -c",
                input=b"x" * INPUT_BYTES, timeout=ENGINE_SECONDS)
    assert told.out.split() == [b"x", b"%d" % INPUT_BYTES], told
    refused = docker(bawn, docker_box, "pull", small)
    assert refused.code != 0 and "refused" in refused.err, refused
    bawn("policy", "allow", docker_box, f"localhost:{registry.port}")
    # A container is behind the gate like everybody else.
    told = docker(bawn, docker_box, "run", "--rm", small, "sh", "-c",
                  "id -u; wget -q -O - http://blocked.example/ 2>&1; "
                  "wget -q -O - http://10.0.0.1/ 2>&1; echo end")
    assert told.code == 0 and told.out.split()[0] == "0", told
    assert told.out.count("403 Forbidden") == 2 and "end" in told.out, told
    denied = bawn("policy", "log", docker_box).out
    assert "blocked.example" in denied and "10.0.0.1" in denied
    # Neither sees the other's engine.
    shown = docker(bawn, docker_box, "info", "-f", "{{.Driver}} {{.Name}}")
    assert shown.out.split() == ["overlay2", bawn.sh(docker_box, "hostname")], shown
    assert host_sockets() <= before


def test_without_an_engine_there_is_no_socket(bawn, box):
    bawn("exec", box, "sh", "-c", "test ! -e /var/run/docker.sock")


@SLOW
@pytest.mark.seconds(300)
def test_a_sandbox_that_was_saved_is_an_image_of_the_engine(bawn, docker_box, box):
    archive = pathlib.Path(bawn.workspace, "saved.tar")
    bawn("exec", "-u", "root", box, "sh", "-c", "echo was saved > /etc/kept")
    bawn("save", "-o", str(archive), box, "saved-for-docker:1", timeout=ENGINE_SECONDS)
    bawn("template", "rm", "-f", "saved-for-docker:1")
    loaded = docker(bawn, docker_box, "load", "-i", str(archive))
    assert loaded.code == 0 and "saved-for-docker:1" in loaded.out, loaded
    archive.unlink()
    told = docker(bawn, docker_box, "run", "--rm", "saved-for-docker:1", "sh", "-c",
                  "cat /etc/kept; id -un")
    assert told.out == "was saved\nagent\n", told


@SLOW
@pytest.mark.seconds(600)
def test_an_image_is_built_in_stages(bawn, docker_box, registry, small):
    bawn("policy", "allow", docker_box, f"localhost:{registry.port}")
    context = pathlib.Path(bawn.workspace, "stages")
    context.mkdir()
    (context / "Dockerfile").write_text(
        f"FROM {small} AS first\nRUN echo made > /made\n"
        f"FROM {small}\nCOPY --from=first /made /copied\nCMD [\"cat\", \"/copied\"]\n")
    built = docker(bawn, docker_box, "build", "-t", "staged", str(context))
    assert built.code == 0, built
    assert docker(bawn, docker_box, "run", "--rm", "staged").out == "made\n"


@SLOW
@pytest.mark.seconds(600)
def test_two_services_of_a_composition_talk(bawn, docker_box, registry, small):
    bawn("policy", "allow", docker_box, f"localhost:{registry.port}")
    folder = pathlib.Path(bawn.workspace, "composed")
    folder.mkdir()
    (folder / "docker-compose.yml").write_text(f"""version: "3"
services:
  web:
    image: {small}
    command: sh -c 'echo served > /tmp/index.html; exec httpd -f -p 80 -h /tmp'
    ports: ["8081:80"]
  client:
    image: {small}
    depends_on: [web]
    command: sh -c 'until wget -q -O - http://web/; do sleep 1; done'
""")
    up = docker(bawn, docker_box, "compose", "-f", str(folder / "docker-compose.yml"), "up",
                "--exit-code-from", "client")
    assert up.code == 0 and "served" in up.out, up
    assert docker(bawn, docker_box, "compose", "-f", str(folder / "docker-compose.yml"),
                  "up", "-d", "web").code == 0
    served = bawn.sh(docker_box, "curl -s --retry 20 --retry-connrefused http://localhost:8081/",
                     timeout=ENGINE_SECONDS)
    assert served == "served"
    assert docker(bawn, docker_box, "compose", "-f", str(folder / "docker-compose.yml"),
                  "down").code == 0


@SLOW
@pytest.mark.seconds(600)
def test_containers_outlive_a_stop_and_a_broken_setting_is_told(bawn, docker_box, registry,
                                                                small):
    bawn("policy", "allow", docker_box, f"localhost:{registry.port}")
    made = docker(bawn, docker_box, "run", "-d", "--name", "kept", small, "sleep", "1000")
    assert made.code == 0, made
    # With its memory kept it goes on, without it only its disk is there.
    bawn("stop", docker_box)
    shown = docker(bawn, docker_box, "ps", "--format", "{{.Names}} {{.Status}}")
    assert "kept Up" in shown.out, shown
    # So it is in another one that goes on from here, and after a way back.
    bawn("checkpoint", docker_box, "with-it", timeout=ENGINE_SECONDS)
    fork = bawn("fork", docker_box, timeout=ENGINE_SECONDS).out.split()[0]
    try:
        shown = docker(bawn, fork, "ps", "--format", "{{.Names}} {{.Status}}")
        assert "kept Up" in shown.out, shown
    finally:
        bawn.raw("rm", "-f", fork)
    assert docker(bawn, docker_box, "rm", "-f", "kept").code == 0
    bawn("restore", docker_box, "with-it", timeout=ENGINE_SECONDS)
    shown = docker(bawn, docker_box, "ps", "--format", "{{.Names}} {{.Status}}")
    assert "kept Up" in shown.out, shown
    bawn("stop", "--power-off", docker_box)
    shown = docker(bawn, docker_box, "ps", "-a", "--format", "{{.Names}} {{.Status}}")
    assert "kept Exited" in shown.out, shown
    bawn.sh(docker_box, "cp /etc/docker/daemon.json /etc/docker/good; "
            "echo '{' > /etc/docker/daemon.json; kill $(cat /var/run/docker.pid); "
            "while test -e /var/run/docker.pid; do sleep 0.1; done")
    failed = docker(bawn, docker_box, "ps")
    assert failed.code != 0 and "/var/log/dockerd.log" in failed.err, failed
    bawn.sh(docker_box, "mv /etc/docker/good /etc/docker/daemon.json")
    # For some seconds after it failed, the keeper answers.
    again = docker(bawn, docker_box, "ps", "-a")
    while again.code != 0 and "/var/log/dockerd.log" in again.err:
        again = docker(bawn, docker_box, "ps", "-a")
    assert "kept" in again.out, again


@SLOW
@pytest.mark.seconds(600)
def test_the_second_sandbox_gets_layers_from_the_host(bawn, docker_box, registry):
    """Also once the sandbox was powered off: it asks its gate anew."""
    door = Counted(registry.port)
    name = f"localhost:{door.port}/small"
    other = "t-" + secrets.token_hex(4)
    store = pathlib.Path(bawn.home, "cache/layers")
    bawn("prune")
    bawn("create", "--name", other, "-t", "base", "-m", "1536M", "shell", ".", timeout=300)
    try:
        for box in (docker_box, other):
            bawn("policy", "allow", box, f"localhost:{door.port}")
        assert docker(bawn, docker_box, "pull", name).code == 0
        first = door.sent
        wait(lambda: len(list(store.iterdir())) == 2)  # the layer and the configuration
        kept = sum(file.stat().st_size for file in store.iterdir())
        assert first > kept > 500 * 1000
        pulled = docker(bawn, other, "pull", name)
        assert pulled.code == 0 and "Downloaded newer image" in pulled.out, pulled
        # The manifest, and heads: no byte of what the image is made of.
        assert door.sent - first < 16384 < kept
        assert docker(bawn, other, "run", "--rm", name, "echo", "runs").out == "runs\n"
        assert "from the host's cache of layers" in bawn("policy", "log", other).out
        dry = bawn("prune", "--dry-run").out
        assert "cached layers of images" in dry, dry
        bawn("prune")
        assert not list(store.iterdir())
    finally:
        bawn.raw("rm", "-f", other)
        door.close()
