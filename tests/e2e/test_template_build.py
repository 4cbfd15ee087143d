# SPDX-License-Identifier: Apache-2.0
"""template build: a Dockerfile, built by the Docker of a sandbox that shares nothing"""
import json
import os
import pathlib
import signal
import tarfile

import pytest

from bawn import SOAK, wait
from test_docker import registry  # noqa: F401 (a fixture)

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = pytest.mark.skipif(not SOAK, reason="minutes under emulation: make soak runs it")
BUILDER = "template-builder"
BUILD_SECONDS = 500


def folder(tmp_path, text, **files):
    place = tmp_path / "Some Project"
    place.mkdir(exist_ok=True)
    (place / "Dockerfile").write_text(text)
    for name, content in files.items():
        (place / name).write_text(content)
    return str(place)


def layers_of(archive):
    """Every file of an image that `docker save` wrote, as its last layer has it."""
    files = {}
    with tarfile.open(archive) as whole:
        for name in json.load(whole.extractfile("manifest.json"))[0]["Layers"]:
            with tarfile.open(fileobj=whole.extractfile(name)) as layer:
                files.update((one.name, layer.extractfile(one).read())
                             for one in layer if one.isreg())
    return files


def build(bawn, *words, timeout=BUILD_SECONDS, **kwargs):
    return bawn.raw("template", "build", *words, timeout=timeout, **kwargs)


def test_what_is_wrong_here_is_said_before_anything_starts(bawn, tmp_path):
    place = folder(tmp_path, "FROM scratch\n")
    for words, text in [(("nowhere",), "nowhere: No such file"),
                        ((f"{place}/Dockerfile",), "Not a directory"),
                        (("-f", f"{place}/none", place), "none: No such file"),
                        ((str(tmp_path),), "-f names another"),
                        (("-t", "base", place), "cannot be the name"),
                        (("-t", "Not/Valid:", place), "Not/Valid"),
                        ((), "DIR")]:
        told = build(bawn, *words)
        assert told.code != 0 and text in told.err, told
    assert BUILDER not in bawn.names()


def begin(bawn, out, place):
    """A build whose only step never ends."""
    with open(out, "wb") as words:
        process = bawn.popen("template", "build", "-t", "never:1", place,
                             stdout=words, stderr=words)
    wait(lambda: b" begun" in out.read_bytes().replace(b"echo begun", b"")
         or process.poll() is not None, BUILD_SECONDS, "the step runs")
    assert process.poll() is None, out.read_text()
    return process


@SLOW
@pytest.mark.seconds(400)
def test_a_build_on_what_was_saved_that_is_killed_and_the_next(bawn, box, tmp_path):
    """In two stages; the result is looked at in its archive, which takes no start."""
    archive = tmp_path / "built.tar"
    bawn("exec", "-u", "root", box, "sh", "-c", "echo from-saved > /etc/kept")
    bawn("save", box, "saved-to-build-on:1", timeout=BUILD_SECONDS)
    text = "FROM saved-to-build-on:1 AS first\nUSER root\nRUN {}\n"
    try:
        process = begin(bawn, tmp_path / "words",
                        folder(tmp_path, text.format("echo begun && sleep 1000")))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        assert "never" not in bawn("template", "ls").out
        other = tmp_path / "Other.Dockerfile"
        other.write_text(text.format("sed s/from/on/ /etc/kept > /made")
                         + "FROM saved-to-build-on:1\nCOPY --from=first /made /copied\n"
                         "CMD [\"x\"]\n")
        made = build(bawn, "-t", "stages:1", "-f", str(other), folder(tmp_path, "FROM never\n"))
        assert made.code == 0 and made.out == "stages:1\n", made
        bawn("template", "save", "-o", str(archive), "stages:1")
        assert layers_of(archive)["copied"] == b"on-saved\n"
        run = bawn("template", "inspect", "stages:1").json["image"]["run"]
        assert run["User"] == "agent" and run["Cmd"] == ["x"], run
    finally:
        bawn.raw("rm", "-f", BUILDER)
        bawn.raw("template", "rm", "-f", "stages:1", "saved-to-build-on:1")


def test_nothing_but_from_gives_a_template_another_name(bawn, tmp_path):
    place = folder(tmp_path, "# RUN nothing\n\nFROM tiny\n")
    try:
        made = build(bawn, "-t", "just:1", place)
        assert made.code == 0 and made.out == "just:1\n", made
        assert bawn("template", "inspect", "just:1").json["digest"] == \
            bawn("template", "inspect", "tiny").json["digest"]
        assert BUILDER not in bawn.names()
        put = build(bawn, "-t", "just:2", folder(tmp_path, "FROM /not/a/name\n"))
        assert put.code == 1 and "/not/a/name" in put.err, put
    finally:
        bawn.raw("template", "rm", "just:1")


@SLOW
@pytest.mark.seconds(1500)
def test_a_dockerfile_becomes_a_template(bawn, tmp_path, registry):  # noqa: F811
    small = f"{registry.host}/small"
    place = folder(tmp_path, f"FROM {small} AS first\nARG WHO=nobody\n"
                   "RUN echo made for $WHO > /made\n"
                   f"FROM {small}\nCOPY --from=first /made /made\nCOPY sent /sent\n"
                   "CMD [\"cat\", \"/made\", \"/sent\"]\n", sent="as it is\n")
    # Behind its own rules.
    refused = build(bawn, "-t", "made:1", place)
    assert refused.code == 1 and "could not be built" in refused.err, refused
    bawn("policy", "allow", BUILDER, f"localhost:{registry.port}")
    made = build(bawn, "-t", "made:1", "--build-arg", "WHO=you", place)
    assert made.code == 0 and made.out == "made:1\n", made
    assert bawn.status(BUILDER) == "stopped"
    shown = bawn("run", "--rm", "-t", "made:1", "-m", "256M", "--cpus", "1", timeout=300)
    assert shown.out == "made for you\nas it is\n"
    # The same once more takes nothing from the registry, nor does one that stands on it.
    bawn("policy", "rm", BUILDER, f"localhost:{registry.port}")
    other = folder(tmp_path, "FROM made:1\nRUN echo more >> /made\n")
    built = build(bawn, other)
    assert built.code == 0 and built.out == "some-project:latest\n", built
    shown = bawn("run", "--rm", "-t", "some-project", "-m", "256M", "--cpus", "1", timeout=300)
    assert shown.out == "made for you\nmore\nas it is\n"
    bawn("rm", "-f", BUILDER)
    bawn("template", "rm", "-f", "made:1", "some-project")


@SLOW
@pytest.mark.seconds(1500)
def test_a_build_that_is_interrupted_leaves_no_template(bawn, tmp_path, registry):  # noqa: F811
    """FROM tiny: a template that is no image has its files copied."""
    place = folder(tmp_path, "FROM tiny\nRUN echo begun && sleep 1000\n")
    out = pathlib.Path(tmp_path, "words")
    for number in (signal.SIGINT, signal.SIGKILL):
        process = begin(bawn, out, place)
        os.kill(process.pid, number)
        code = process.wait(60)
        assert code == (128 + number if number == signal.SIGINT else -number)
    # Its machine is killed: one line says so.
    process = begin(bawn, out, place)
    os.kill(bawn.qemu_pid(BUILDER), signal.SIGKILL)
    assert process.wait(60) == 1
    assert "bawn: the sandbox has ended: QEMU was killed" in out.read_text()
    assert "never" not in bawn("template", "ls").out
    # What was killed does not stand in the way of the next.
    made = build(bawn, "-t", "after:1", folder(tmp_path, "FROM tiny\nRUN echo fine\n"))
    assert made.code == 0 and made.out == "after:1\n", made
    bawn("rm", "-f", BUILDER)
    bawn("template", "rm", "-f", "after:1")


@SLOW
@pytest.mark.seconds(3000)
def test_a_dockerfile_of_the_usual_form_builds_on_base(bawn, tmp_path):
    """As guides have it: a ready-made name, root for what is added, then the agent."""
    text = ("FROM {}\nUSER root\nRUN apt-get --version && groupadd added\n"
            "COPY tool /usr/local/bin/tool\nRUN chmod 755 /usr/local/bin/tool\n"
            "USER agent\nRUN id -un > /home/agent/who\n")
    try:
        for base in ("docker/sandbox-templates:shell", "base"):
            place = folder(tmp_path, text.format(base), tool="#!/bin/sh\necho tool runs\n")
            made = build(bawn, "-t", "kit:1", place, timeout=2000)
            assert made.code == 0 and made.out == "kit:1\n", made
            # The name is a registry's that nobody asked, or could ask: one line says so.
            assert ("is bawn's own template base" in made.err) == (base != "base"), made.err
        told = bawn("run", "--rm", "-t", "kit:1", "-m", "1G", "shell", ".", "--", "sh", "-c",
                    "tool; id -un; cat ~/who; getent group added | cut -d: -f1", timeout=400)
        assert told.out.split("\n")[:4] == ["tool runs", "agent", "agent", "added"], told
        shown = bawn("template", "inspect", "kit:1").out
        assert "kit:1" in shown, shown
    finally:
        bawn.raw("rm", "-f", BUILDER)
        bawn.raw("template", "rm", "-f", "kit:1")


STAND_IN = """description = claude without claude: what is built on it needs npm alone
builder = npm
from = base
needs = 4G
"""


@pytest.fixture
def small_claude(bawn):
    """The template claude as `bawn` makes it, without the agent itself, which is 366 MB."""
    with open(f"{HERE}/../../data/templates/claude.ini", encoding="utf-8") as file:
        lines = file.read().splitlines()
    at = lines.index(next(line for line in lines if line.startswith("npm = npm ")))
    rows = [line for line in lines[at:] if line.split(" ")[0] in ("npm", "take", "link")]
    path = pathlib.Path(bawn.home, "config/templates/claude.ini")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.parent.chmod(0o700)
    path.write_text(STAND_IN + "\n".join(rows) + "\n")
    registry_words = {name: os.environ[name]
                      for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY")
                      if name in os.environ}
    made = bawn.with_env(**registry_words).raw("template", "pull", "claude", timeout=400)
    if made.code and "npm registry" in made.err:
        path.unlink()
        pytest.skip(f"no npm registry in reach: {made.err[-200:]}")
    assert made.code == 0, made
    yield
    bawn.raw("template", "rm", "-f", "claude")
    path.unlink()


@SLOW
@pytest.mark.seconds(3000)
@pytest.mark.usefixtures("small_claude")
def test_the_template_of_guides_builds_with_packages_and_npm(bawn, tmp_path):
    """Debian's packages and npm's come through the builder's own gate."""
    place = folder(tmp_path, "FROM docker/sandbox-templates:claude-code\nUSER root\n"
                   "RUN apt-get update && apt-get install -y --no-install-recommends tree\n"
                   "RUN npm install -g semver\nUSER agent\n"
                   "RUN id -un > /home/agent/who && semver 1.2.3 >> /home/agent/who\n")
    try:
        made = build(bawn, "-t", "guide:1", place, timeout=2400)
        assert made.code == 0 and made.out == "guide:1\n", made
        assert made.err.count("is bawn's own template claude") == 1, made.err
        told = bawn("run", "--rm", "-t", "guide:1", "-m", "1G", "shell", ".", "--", "sh", "-c",
                    "id -un; cat ~/who; tree --version | cut -c 1-4; semver 2.0.0", timeout=600)
        assert told.out.split() == ["agent", "agent", "1.2.3", "tree", "2.0.0"], told
    finally:
        bawn.raw("rm", "-f", BUILDER)
        bawn.raw("template", "rm", "-f", "guide:1")
