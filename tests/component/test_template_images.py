# SPDX-License-Identifier: Apache-2.0
"""bawn template with images: pull, load, push, tag, ls, inspect, rm, prune.

The whole way from a registry or an archive to a disk, without a machine; what is
killed on the way and tried again; logins, mirrors, and the stand-in for Docker's
own templates.
"""
import bz2
import gzip
import json
import lzma
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tarfile
import threading

import pytest

from images import (AUTH, BUILD, OCI, Image, RealRegistry, digest, entry, locked_registry,
                    make_tar, need, wait_until, zstd)
from test_registry import LOGIN, Front, put_locked

BAWN = BUILD / "src/cli/bawn"
missing = need("docker-registry", "zstd")
if missing:
    pytest.skip(f"not installed: {missing}", allow_module_level=True)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    server = RealRegistry(tmp_path_factory.mktemp("registry"))
    yield server
    server.close()


class Home:
    """A BAWN_HOME, and a HOME with nothing in it."""

    def __init__(self, folder):
        self.path, self.home = folder / "bawn", folder / "home"
        self.home.mkdir()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home),
                    "BAWN_HOME": str(self.path), "BAWN_SYSTEM_DIR": str(folder / "none")}

    def start(self, *args, **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([BAWN, *map(str, args)], env=self.env, cwd=self.home,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def raw(self, *args, input=None, timeout=120):
        process = self.start(*args, stdin=subprocess.PIPE if input is not None else
                             subprocess.DEVNULL)
        out, err = process.communicate(input, timeout=timeout)
        process.out, process.err = out.decode(), err.decode()
        return process

    def __call__(self, *args, **kwargs):
        done = self.raw(*args, **kwargs)
        assert done.returncode == 0, done.err
        return done

    def fails(self, *args, words="", **kwargs):
        done = self.raw(*args, **kwargs)
        assert done.returncode == 1, (done.returncode, done.out, done.err)
        lines = [line for line in done.err.splitlines()
                 if not line.startswith(("bawn: pulling", "bawn: loading",
                                         "bawn: reading", "bawn: pushing"))]
        assert len(lines) == 1, done.err
        assert words in lines[0], done.err
        return lines[0]

    def inspect(self, name):
        return json.loads(self("template", "inspect", name).out)

    def names(self):
        return self("template", "ls", "-q").out.split()

    def blobs(self):
        folder = self.path / "cache/blobs/sha256"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def partials(self):
        return sorted((self.path / "cache/blobs/partial").iterdir())

    def contents(self):
        folder = self.path / "data/images/content"
        return sorted(name for name in os.listdir(folder) if name[0] != ".") \
            if folder.exists() else []


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def layer(name, data=b"content"):
    return make_tar([entry(name, data=data)])


def cat(disk, name):
    return subprocess.run(["/sbin/debugfs", "-R", f'cat "{name}"', disk],
                          capture_output=True).stdout


def fsck(disk):
    done = subprocess.run(["/sbin/e2fsck", "-fn", disk], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# ---- pull ----

def test_an_image_becomes_a_template(home, registry):
    image = registry.put(Image([layer("a", b"one"), layer("b", b"two")],
                               config={"Env": ["A=b"], "Cmd": ["/a"], "User": "7"}),
                         "group/app", "v1")
    name = f"{registry.host}/group/app:v1"
    done = home("template", "pull", name)
    facts = home.inspect(name)
    assert done.out == facts["digest"] + "\n"
    assert facts["name"] == name and facts["reference"] == name
    assert facts["image"]["manifest"]["digest"] == image.digest
    assert facts["image"]["run"]["User"] == "7"
    assert facts["users"] == [] and not facts["stand_in"] and not facts["system"]
    assert cat(facts["disk"], "/a") == b"one" and cat(facts["disk"], "/b") == b"two"
    assert os.stat(facts["disk"]).st_mode & 0o222 == 0
    fsck(facts["disk"])
    assert len(home.blobs()) == 4 and home.partials() == []
    # the table
    line = home("template", "ls").out.splitlines()[1]
    assert name in line and image.digest[:19] in line


@pytest.mark.skipif(bool(need("buildah")) or os.getuid() != 0,
                    reason="needs buildah and root")
@pytest.mark.parametrize("form", ["oci", "docker"])
def test_an_image_that_buildah_made_becomes_a_template(home, registry, tmp_path, form):
    def buildah(*words):
        return subprocess.run(
            ["buildah", "--root", tmp_path / "root", "--runroot", tmp_path / "run",
             "--storage-driver", "vfs", *words], check=True, capture_output=True,
            text=True, env=dict(os.environ, HOME=str(tmp_path))).stdout.strip()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_text("by buildah")
    box = buildah("from", "scratch")
    buildah("copy", "--chown", "7:8", box, tmp_path / "tree", "/data")
    buildah("config", "--env", "A=b", "--workingdir", "/made", "--user", "7",
            "--entrypoint", '["/x"]', "--cmd", "y", box)
    name = f"{registry.host}/built/{form}:1"
    buildah("commit", "-q", "--format", form, "--tls-verify=false", box, f"docker://{name}")
    buildah("rm", box)
    home("template", "pull", name)
    facts = home.inspect(name)
    assert cat(facts["disk"], "/data/file") == b"by buildah"
    run = facts["image"]["run"]
    assert "A=b" in run["Env"] and run["WorkingDir"] == "/made"
    assert run["User"] == "7" and run["Entrypoint"] == ["/x"] and run["Cmd"] == ["y"]
    fsck(facts["disk"])


def test_the_id_is_the_chain_of_layers(home, registry):
    image = registry.put(Image([layer("x"), layer("y"), layer("z")]), "chain")
    ids = [digest(tar) for tar in image.tars]
    chain = ids[0]
    for one in ids[1:]:
        chain = digest(f"{chain} {one}".encode())
    assert home("template", "pull", f"{registry.host}/chain").out == chain + "\n"


def test_the_same_layers_are_unpacked_once(home, registry):
    tars = [layer("same", os.urandom(1000))]
    registry.put(Image(tars, config={"Cmd": ["one"]}), "one")
    registry.put(Image(tars, packing="", config={"Cmd": ["two"]}), "two")
    for name in ("one", "two"):
        home("template", "pull", f"{registry.host}/{name}")
    one, two = [home.inspect(f"{registry.host}/{name}") for name in ("one", "two")]
    assert one["disk"] == two["disk"] and len(home.contents()) == 1
    assert one["image"]["run"] != two["image"]["run"]
    # removing one name leaves the other what it needs
    home("template", "rm", "-f", f"{registry.host}/one")
    assert cat(home.inspect(f"{registry.host}/two")["disk"], "/same")
    home("template", "rm", "-f", f"{registry.host}/two")
    assert home.contents() == [] and home.names() == []


def test_layers_that_are_here_are_not_fetched_again(home, registry):
    shared = layer("shared", os.urandom(100_000))
    registry.put(Image([shared, layer("one")]), "share1")
    front = Front(registry)
    second = registry.put(Image([shared, layer("two")]), "share2")
    home("template", "pull", f"{registry.host}/share1")
    home("template", "pull", f"{front.host}/share2")
    assert second.layers[0]["digest"] not in front.sent
    assert second.layers[1]["digest"] in front.sent
    front.shutdown()


def test_a_tag_that_moves_gives_new_content_and_leaves_the_old(home, registry):
    name = f"{registry.host}/moves"
    registry.put(Image([layer("old")]), "moves")
    old = home("template", "pull", name).out
    registry.put(Image([layer("new")]), "moves")
    assert home("template", "pull", name).out != old
    assert len(home.contents()) == 2
    assert home.raw("template", "inspect", old.strip()).returncode == 0
    assert "1 file system" in home("template", "prune").out
    assert len(home.contents()) == 1


def test_a_digest_is_a_name_too(home, registry):
    image = registry.put(Image([layer("d")]), "digests")
    name = f"{registry.host}/digests@{image.digest}"
    home("template", "pull", name)
    assert home.inspect(name)["image"]["manifest"]["digest"] == image.digest
    home.fails("template", "pull", f"{registry.host}/digests@{digest(b'x')}")


def test_an_id_finds_what_it_belongs_to(home, registry):
    registry.put(Image([layer("id")]), "ids")
    whole = home("template", "pull", f"{registry.host}/ids").out.strip()
    for text in (whole, whole[7:], whole[7:19], whole[:19]):
        assert home.inspect(text)["digest"] == whole


def test_the_digest_that_is_listed_finds_it_too(home, registry):
    image = registry.put(Image([layer("listed")], config={"Cmd": ["x"]}), "listed")
    name = f"{registry.host}/listed:latest"
    home("template", "pull", name)
    home("template", "tag", name, f"{registry.host}/second:1")
    shown = [line.split()[1] for line in home("template", "ls").out.splitlines()
             if line.startswith(name)]
    assert shown == [image.digest[:19]]
    for text in (shown[0], image.digest, image.digest[7:], image.digest[7:19]):
        facts = home.inspect(text)
        assert facts["name"] == name and facts["image"]["run"]["Cmd"] == ["x"]
    home.fails("template", "inspect", digest(b"another"), words="there is no template")
    home.fails("template", "inspect", "sha256:" + "0" * 64, words="no template")


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "x:-", "../x", "x@sha256:1"])
def test_a_name_that_cannot_be_is_an_error(home, name):
    home.fails("template", "pull", name)


def test_what_the_registry_says_is_shown(home, registry):
    assert "404" in home.fails("template", "pull", f"{registry.host}/no/such:tag")
    assert "no/such:tag" in home.fails("template", "pull", f"{registry.host}/no/such:tag")


def test_a_wrong_layer_leaves_nothing_behind(home, registry):
    """Its digest is right, its content is not what the configuration says."""
    image = Image([layer("liar")])
    image.config = image.config.replace(digest(image.tars[0])[7:].encode(), b"0" * 64)
    config = image.add(image.config, OCI + "config.v1+json")
    image.manifest = json.dumps({"schemaVersion": 2, "config": config,
                                 "mediaType": image.media_type,
                                 "layers": image.layers}).encode()
    registry.put(image, "liar")
    home.fails("template", "pull", f"{registry.host}/liar", words="layer 1")
    assert home.contents() == [] and home.names() == []


def test_a_damaged_part_of_the_cache_is_fetched_again(home, registry):
    image = registry.put(Image([layer("solid", os.urandom(10_000))], packing=""), "solid")
    name = f"{registry.host}/solid"
    home("template", "pull", name)
    home("template", "rm", "-f", name)
    blob = home.path / "cache/blobs/sha256" / image.layers[0]["digest"][7:]
    blob.chmod(0o600)
    data = bytearray(blob.read_bytes())
    data[700] ^= 1
    blob.write_bytes(data)
    home("template", "pull", name)
    assert blob.read_bytes() == image.blobs[image.layers[0]["digest"]]
    assert cat(home.inspect(name)["disk"], "/solid")


def test_hostile_layers_leave_nothing_behind(home, registry):
    for number, bad in enumerate([entry("../../x"), entry(".wh..."),
                                  entry("h", tarfile.LNKTYPE, linkname="/etc/shadow")]):
        registry.put(Image([layer("fine"), make_tar([bad])]), f"hostile{number}")
        home.fails("template", "pull", f"{registry.host}/hostile{number}", words="layer 2")
    assert home.contents() == [] and home.names() == []


# ---- killed on the way ----

def slow_front(registry, after):
    """Lets so many bytes of layers through, then waits."""
    front = Front(registry)
    front.gate, front.reached = threading.Event(), threading.Event()
    original = front.RequestHandlerClass.pass_on

    def pass_on(handler, answer):
        if "/blobs/sha256" not in handler.path or front.gate.is_set():
            return original(handler, answer)
        data = answer.read()
        handler.send_response(answer.status)
        for key in ("Content-Length", "Content-Range"):
            if answer.headers[key]:
                handler.send_header(key, answer.headers[key])
        handler.end_headers()
        handler.wfile.write(data[:after])
        handler.wfile.flush()
        name = handler.path.rsplit("/", 1)[1]
        front.sent[name] = front.sent.get(name, 0) + min(len(data), after)
        if len(data) > after:
            front.reached.set()
            front.gate.wait(30)
            handler.close_connection = True
        return None
    handler = type("Slow", (front.RequestHandlerClass,), {"pass_on": pass_on})
    front.RequestHandlerClass = handler
    return front


def tree_of(pid):
    found = [pid]
    for one in found:
        try:
            text = pathlib.Path(f"/proc/{one}/task/{one}/children").read_text()
        except OSError:
            continue
        found += map(int, text.split())
    return found


def kill_hard(process):
    """kill -9 of the command; what it started has to go by itself."""
    pids = tree_of(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") and
                               running(pid) for pid in pids), 10)


def running(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


def test_a_pull_that_was_killed_goes_on_where_it_was(home, registry):
    data = os.urandom(3_000_000)
    image = registry.put(Image([layer("small"), layer("large", data)], packing=""),
                         "killed")
    small, large = (layer["digest"] for layer in image.layers)
    front = slow_front(registry, 1_000_000)
    process = home.start("template", "pull", f"{front.host}/killed")
    assert front.reached.wait(30)
    wait_until(lambda: small in front.sent)  # they come side by side
    wait_until(lambda: any(path.stat().st_size == 1_000_000 for path in home.partials()))
    kill_hard(process)
    assert home.contents() == [] and home.names() == []
    before = dict(front.sent)
    front.gate.set()
    home("template", "pull", f"{front.host}/killed")
    assert front.sent[large] - before[large] == len(image.blobs[large]) - 1_000_000
    disk = home.inspect(f"{front.host}/killed")["disk"]
    assert cat(disk, "/large") == data
    fsck(disk)
    assert home.partials() == []
    front.shutdown()


@pytest.mark.parametrize("victim", ["bawn-registry", "bawn-image"])
def test_a_helper_that_is_killed_ends_the_pull(home, registry, victim):
    registry.put(Image([layer("h", os.urandom(2_000_000))], packing=""), "helper")
    front = slow_front(registry, 100_000)
    process = home.start("template", "pull", f"{front.host}/helper")
    assert front.reached.wait(30)

    def find():
        for pid in tree_of(process.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe").endswith(victim):
                    return pid
            except OSError:
                continue
        return 0
    wait_until(find)
    os.kill(find(), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    front.gate.set()
    home("template", "pull", f"{front.host}/helper")
    fsck(home.inspect(f"{front.host}/helper")["disk"])
    front.shutdown()


def test_a_half_made_disk_is_made_anew(home, registry):
    """As a kill in the middle of unpacking leaves it."""
    registry.put(Image([layer("half", b"whole")]), "half")
    name = f"{registry.host}/half"
    chain = home("template", "pull", name).out.strip()[7:]
    home("template", "rm", "-f", name)
    folder = home.path / "data/images/content" / f".making-{chain}/out"
    folder.mkdir(parents=True)
    (folder / "disk.ext4").write_bytes(b"half of it")
    home("template", "pull", name)
    assert cat(home.inspect(name)["disk"], "/half") == b"whole"
    assert not folder.exists()


def test_an_unpacking_that_was_killed_is_done_again(home, registry):
    """The command goes while its parts become a disk."""
    files = [entry(f"f{number}", data=b"x" * 3000) for number in range(6000)]
    registry.put(Image([make_tar(files)], packing=""), "unpacks")
    name = f"{registry.host}/unpacks"
    content = home.path / "data/images/content"

    def making():
        return list(content.glob(".making-*")) if content.exists() else []
    for _ in range(10):
        process = home.start("template", "pull", name)
        wait_until(lambda: making() or process.poll() is not None)
        kill_hard(process)
        if home.contents() == [] and home.names() == []:
            break
        home("template", "rm", "-f", name)
    else:
        pytest.fail("it was never killed in time")
    assert making()
    home("template", "pull", name)
    assert not making()
    disk = home.inspect(name)["disk"]
    fsck(disk)
    assert cat(disk, "/f0") == cat(disk, "/f5999") == b"x" * 3000


def test_prune_takes_what_killed_makers_left(home, registry):
    registry.put(Image([layer("p")]), "prunes")
    home("template", "pull", f"{registry.host}/prunes")
    left = home.path / "data/images/content" / (".making-" + "0" * 64)
    left.mkdir()
    (home.path / "cache/blobs/partial" / ("1" * 64)).write_bytes(b"x" * 9000)
    assert "could go" in home("template", "prune", "--dry-run").out
    assert len(home.partials()) == 1
    home("template", "prune")
    assert not left.exists() and home.partials() == []
    assert home.names() == [f"{registry.host}/prunes:latest"]


def test_two_pulls_of_one_image_fetch_it_once(home, registry):
    image = registry.put(Image([layer("twice", os.urandom(500_000))], packing=""), "twice")
    front = slow_front(registry, 100_000)
    # both are waiting for the same name; the second finds what the first made
    first = home.start("template", "pull", f"{front.host}/twice")
    assert front.reached.wait(30)
    second = home.start("template", "pull", f"{front.host}/twice")
    front.gate.set()
    outs = [process.communicate(timeout=60) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], outs
    assert outs[0][0] == outs[1][0]
    name = image.layers[0]["digest"]
    assert front.sent[name] <= len(image.blobs[name]) + 100_000
    front.shutdown()


def test_prune_waits_for_a_pull_and_leaves_it_alone(home, registry):
    registry.put(Image([layer("busy", os.urandom(500_000))], packing=""), "busy")
    front = slow_front(registry, 100_000)
    process = home.start("template", "pull", f"{front.host}/busy")
    assert front.reached.wait(30)
    pruning = home.start("template", "prune")
    front.gate.set()
    assert process.wait(60) == 0 and pruning.wait(60) == 0
    for one in (process, pruning):
        one.communicate()
    fsck(home.inspect(f"{front.host}/busy")["disk"])
    front.shutdown()


def test_a_full_disk_is_seen_before(home, registry, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=True)
    try:
        home.env["BAWN_HOME"] = str(place / "bawn")
        home.path = place / "bawn"
        registry.put(Image([layer("big", os.urandom(2_000_000))], packing=""), "large")
        said = home.fails("template", "pull", f"{registry.host}/large", words="needs")
        assert "free" in said
        assert home.partials() == [] or all(path.stat().st_size == 0
                                            for path in home.partials())
    finally:
        subprocess.run(["umount", place], check=True)


# ---- logins and places ----

@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    server = locked_registry(tmp_path_factory.mktemp("locked"))
    put_locked(server, Image([layer("private")]), "private")
    yield server
    server.close()


def write_config(home, text, folder=".docker", file="config.json"):
    (home.home / folder).mkdir(parents=True, exist_ok=True)
    (home.home / folder / file).write_text(json.dumps(text))


def test_the_login_of_docker_is_used(home, locked):
    name = f"{locked.host}/private"
    home.fails("template", "pull", name, words="wants a login")
    write_config(home, {"auths": {locked.host: AUTH}})
    home("template", "pull", name)


def test_the_login_of_podman_is_used(home, locked):
    write_config(home, {"auths": {locked.host: AUTH}}, ".config/containers", "auth.json")
    home("template", "pull", f"{locked.host}/private")


def test_a_login_of_another_registry_is_not(home, locked):
    write_config(home, {"auths": {"other.example": AUTH}})
    home.fails("template", "pull", f"{locked.host}/private", words="wants a login")


HELPER = """#!/bin/sh
read server
echo "$server $*" >> "$HOME/asked"
test "$server" = "{host}" || {{ echo "credentials not found in native keychain"; exit 1; }}
echo '{{"ServerURL":"'$server'","Username":"user","Secret":"pass word"}}'
"""


def add_helper(home, locked, folder, mode=0o755):
    folder.mkdir(parents=True, exist_ok=True)
    helper = folder / "docker-credential-test"
    helper.write_text(HELPER.format(host=locked.host))
    helper.chmod(mode)
    write_config(home, {"credsStore": "test"})


def test_a_credential_helper_is_asked(home, locked, registry, tmp_path):
    add_helper(home, locked, tmp_path / "bin")
    home.env["PATH"] = f"{tmp_path}/bin:/usr/bin:/bin"
    home("template", "pull", f"{locked.host}/private")
    assert (home.home / "asked").read_text() == f"{locked.host} get\n"
    # who knows nothing does not stand in the way
    registry.put(Image([layer("open")]), "open")
    home("template", "pull", f"{registry.host}/open")


def test_a_helper_is_not_taken_from_a_project(home, locked):
    """The current folder may bring one along: it is never run."""
    add_helper(home, locked, home.home / "bin")
    home.env["PATH"] = f"{home.home}/bin:.:/usr/bin:/bin"
    home.fails("template", "pull", f"{locked.host}/private", words="not in your PATH")
    assert not (home.home / "asked").exists()


def test_a_helper_that_others_can_change_is_not_run(home, locked, tmp_path):
    add_helper(home, locked, tmp_path / "open")
    (tmp_path / "open").chmod(0o777)
    home.env["PATH"] = f"{tmp_path}/open:/usr/bin:/bin"
    home.fails("template", "pull", f"{locked.host}/private", words="not in your PATH")
    assert not (home.home / "asked").exists()


def test_a_damaged_file_of_logins_is_told_and_passed_over(home, registry):
    registry.put(Image([layer("still")]), "still")
    (home.home / ".docker").mkdir()
    (home.home / ".docker/config.json").write_text("{not json")
    done = home("template", "pull", f"{registry.host}/still")
    assert "config.json" in done.err and "going on without" in done.err


def test_logins_are_in_no_argument_and_no_environment(home, locked):
    """Of a pull that waits: what others could read about it."""
    write_config(home, {"auths": {locked.host: AUTH}})
    seen = []
    stop = threading.Event()

    def watch():
        while not stop.wait(0.001):
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    if b"bawn" in path.read_bytes():
                        seen.append(path.read_bytes() +
                                    path.with_name("environ").read_bytes())
                except OSError:
                    continue
    watcher = threading.Thread(target=watch)
    watcher.start()
    home("template", "pull", f"{locked.host}/private")
    stop.set()
    watcher.join()
    assert seen and not any(b"pass word" in text or b"dXNlcj" in text for text in seen)


def test_a_mirror_of_the_configuration_is_asked_first(home, registry):
    registry.put(Image([layer("m")]), "hub/library/mirrored")
    (home.path / "config").mkdir(parents=True)
    (home.path / "config/registries").write_text(
        f"[docker.io]\nmirror = http://{registry.host}/hub\n")
    home("template", "pull", "mirrored")
    assert home.names() == ["mirrored:latest"]
    assert home.inspect("docker.io/library/mirrored")["source"] == "docker.io"


def test_a_malformed_file_of_mirrors_is_an_error_that_names_the_line(home):
    (home.path / "config").mkdir(parents=True)
    (home.path / "config/registries").write_text("[docker.io]\n\nmirror = http://far.example\n")
    home.fails("template", "pull", "x", words="line 3")


def unreachable(home):
    """No name is known to anybody here."""
    (home.path / "config").mkdir(parents=True, exist_ok=True)
    (home.path / "config/registries").write_text("[docker.io]\n")
    home.env["https_proxy"] = "http://localhost:1"


def add_template(home, name):
    """A template of ours as if it had been made."""
    source = make_tar([entry("etc/is-ours", data=b"ours")])
    folder = home.path / f"data/templates/{name}"
    folder.mkdir(parents=True)
    disk = folder / "disk.ext4"
    done = subprocess.run(["/bin/bash", "-c", 'exec "$0" ext4 4<>"$1"',
                           BUILD / "src/image/bawn-image", disk], input=source,
                          capture_output=True, check=True)
    disk.chmod(0o444)
    st = disk.stat()
    (folder / "template.json").write_text(json.dumps({
        "version": 1, "name": name, "id": json.loads(done.stdout)["digest"],
        "source": "test", "created": 1, "disk_bytes": st.st_size, "disk_digest": "",
        "disk_inode": st.st_ino, "disk_mtime_ns": st.st_mtime_ns}))
    return json.loads(done.stdout)["digest"]


@pytest.mark.parametrize("tag, ours", [("claude-code", "claude"), ("latest", "base"),
                                       ("codex", "codex")])
def test_dockers_own_templates_have_a_stand_in(home, tag, ours):
    unreachable(home)
    base = add_template(home, ours)
    name = f"docker/sandbox-templates:{tag}"
    done = home("template", "pull", name)
    assert done.out == base + "\n"
    said = [line for line in done.err.splitlines() if "own template" in line]
    assert len(said) == 1 and ours in said[0] and "cannot be reached" in said[0]
    facts = home.inspect(name)
    assert facts["stand_in"] and facts["digest"] == base
    home.fails("template", "pull", "docker/other:x")
    # taking the name away leaves ours
    home("template", "rm", "-f", name)
    assert home.names() == [ours]


def test_a_stand_in_gives_way_to_the_real_one(home, registry):
    unreachable(home)
    add_template(home, "claude")
    name = "docker/sandbox-templates:claude-code"
    home("template", "pull", name)
    registry.put(Image([layer("real")]), "docker/sandbox-templates", "claude-code")
    (home.path / "config/registries").write_text(
        f"[docker.io]\nmirror = http://{registry.host}\n")
    home.env["no_proxy"] = "localhost"
    home("template", "pull", name)
    facts = home.inspect(name)
    assert not facts["stand_in"] and cat(facts["disk"], "/real")


# ---- load ----

def pack(kind, data):
    return {"": lambda: data, "gz": lambda: gzip.compress(data), "zst": lambda: zstd(data),
            "xz": lambda: lzma.compress(data), "bz2": lambda: bz2.compress(data)}[kind]()


def oci_archive(image, folder, tag="latest"):
    image.layout(folder / "layout", tag)
    out = folder / "oci.tar"
    with tarfile.open(out, "w") as tar:
        tar.add(folder / "layout", ".")
    return out


@pytest.mark.parametrize("packing", ["", "gz", "zst", "xz", "bz2"])
@pytest.mark.parametrize("kind", ["oci", "docker", "rootfs"])
def test_every_archive_is_loaded(home, tmp_path, kind, packing):
    image = Image([layer("etc/a", b"1"), layer("etc/b", b"2")], config={"Cmd": ["/x"]})
    if kind == "oci":
        source = oci_archive(image, tmp_path).read_bytes()
    elif kind == "docker":
        source = image.docker_archive(tmp_path / "d.tar", ["group/app:v7"]).read_bytes()
    else:
        source = make_tar([entry("etc/a", data=b"1"), entry("etc/b", data=b"2")])
    path = tmp_path / f"My- Image_.tar.{packing}"
    path.write_bytes(pack(packing, source))
    name = home("template", "load", path).out.strip()
    assert name == {"oci": "my-image:latest", "docker": "group/app:v7",
                    "rootfs": "my-image:latest"}[kind]
    facts = home.inspect(name)
    assert cat(facts["disk"], "/etc/a") == b"1" and cat(facts["disk"], "/etc/b") == b"2"
    fsck(facts["disk"])
    assert facts["image"]["run"]["Cmd"] == ([] if kind == "rootfs" else ["/x"])
    if kind == "oci":
        assert facts["image"]["manifest"]["digest"] == image.digest


def test_a_layout_folder_is_loaded(home, tmp_path):
    image = Image([layer("in-folder")])
    image.layout(tmp_path / "layout", "v3")
    assert home("template", "load", tmp_path / "layout").out == "layout:v3\n"
    assert home.inspect("layout:v3")["image"]["manifest"]["digest"] == image.digest


def test_an_archive_from_stdin_gets_the_name_that_is_given(home, tmp_path):
    data = gzip.compress(make_tar([entry("f")]))
    assert home("template", "load", "-t", "mine/own:1", "-", input=data).out == \
        "mine/own:1\n"
    assert home.names() == ["mine/own:1"]


def test_several_images_of_one_archive_are_loaded(home, tmp_path):
    one, two = Image([layer("1")]), Image([layer("2")])
    files = []
    for image in (one, two):
        files += [entry(digest(image.tars[0])[7:] + ".tar", data=image.tars[0]),
                  entry(digest(image.config)[7:] + ".json", data=image.config)]
    files.append(entry("manifest.json", data=json.dumps([{
        "Config": digest(image.config)[7:] + ".json", "RepoTags": tags,
        "Layers": [digest(image.tars[0])[7:] + ".tar"]}
        for image, tags in ((one, ["a:1", "b:2"]), (two, ["c:3"]))]).encode()))
    path = tmp_path / "both.tar"
    path.write_bytes(make_tar(files))
    assert home("template", "load", path).out.split() == ["a:1", "b:2", "c:3"]
    assert home.inspect("a:1")["digest"] == home.inspect("b:2")["digest"]
    assert cat(home.inspect("c:3")["disk"], "/2") == b"content"


def test_links_between_layers_of_docker_save_are_followed(home, tmp_path):
    image = Image([layer("same"), layer("other")])
    first = digest(image.tars[0])[7:]
    path = tmp_path / "links.tar"
    path.write_bytes(make_tar([
        entry(f"{first}/layer.tar", data=image.tars[0]),
        entry("second/layer.tar", tarfile.SYMTYPE, linkname=f"../{first}/layer.tar"),
        entry("third/layer.tar", data=image.tars[1]),
        entry("c.json", data=image.config),
        entry("manifest.json", data=json.dumps([{
            "Config": "c.json", "RepoTags": ["linked:1"],
            "Layers": ["second/layer.tar", "third/layer.tar"]}]).encode())]))
    home("template", "load", path)
    assert cat(home.inspect("linked:1")["disk"], "/same") == b"content"


def test_a_file_called_manifest_does_not_make_an_image(home, tmp_path):
    path = tmp_path / "web.tar"
    path.write_bytes(make_tar([entry("manifest.json", data=b'{"name": "a web page"}'),
                               entry("index.html", data=b"x")]))
    home("template", "load", path)
    assert cat(home.inspect("web")["disk"], "/index.html") == b"x"


def no_such_archive(tmp_path):
    image = Image([layer("x")])
    blobs = [entry(f"blobs/sha256/{name[7:]}", data=data)
             for name, data in {**image.blobs, image.digest: image.manifest}.items()]
    index = entry("index.json", data=json.dumps({"manifests": [{
        "mediaType": image.media_type, "digest": image.digest,
        "size": len(image.manifest)}]}).encode())
    wrong = [(info, data[:-1] + b"!") if len(data) == image.layers[0]["size"] else
             (info, data) for info, data in blobs]
    save = [{"Config": "c.json", "RepoTags": None, "Layers": ["../../etc/shadow"]}]
    return {
        "empty": b"", "noise": os.urandom(5000),
        "cut": make_tar([entry("f", data=b"x" * 5000)])[:2000],
        "no blobs": make_tar([index]), "a wrong blob": make_tar([*wrong, index]),
        "index is no list": make_tar([entry("index.json", data=b"{}")]),
        "index nonsense": make_tar([entry("index.json", data=b"[" * 9999)]),
        "docker nonsense": make_tar([entry("manifest.json", data=b"[1]")]),
        "docker without layers": make_tar([entry("manifest.json", data=b'[{"Config":"x"}]')]),
        "docker outside": make_tar([entry("c.json", data=image.config),
                                    entry("manifest.json", data=json.dumps(save).encode())]),
        "gzip nonsense": b"\x1f\x8b" + os.urandom(500),
        "gzip cut": gzip.compress(os.urandom(50_000))[:20_000],
        "escape": make_tar([entry("../../x")]),
        "absolute link": make_tar([entry("l", tarfile.LNKTYPE, linkname="/etc/shadow")]),
    }


@pytest.mark.parametrize("kind", list(no_such_archive(None)))
def test_hostile_archives_are_refused_and_leave_nothing(home, tmp_path, kind):
    path = tmp_path / "hostile.tar"
    path.write_bytes(no_such_archive(tmp_path)[kind])
    home.fails("template", "load", path, words="hostile.tar")
    assert home.names() == [] and home.contents() == []


@pytest.mark.parametrize("kind", ["link", "fifo", "device", "outside"])
def test_a_hostile_layout_folder_opens_nothing_else(home, tmp_path, kind):
    image = Image([layer("x")])
    folder = image.layout(tmp_path / "layout")
    blob = folder / "blobs/sha256" / image.layers[0]["digest"][7:]
    blob.unlink()
    secret = tmp_path / "secret"
    secret.write_bytes(image.blobs[image.layers[0]["digest"]])
    if kind == "link":
        blob.symlink_to(secret)
    elif kind == "fifo":
        os.mkfifo(blob)
    elif kind == "device":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        os.mknod(blob, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    else:
        shutil.rmtree(folder / "blobs")
        (folder / "blobs").symlink_to(tmp_path)
    home.fails("template", "load", folder, words="layout")
    assert home.names() == []


def test_what_is_not_there_cannot_be_loaded(home):
    home.fails("template", "load", "/no/such/file", words="No such file")


def test_a_built_in_name_is_not_taken(home, tmp_path):
    path = tmp_path / "base.tar"
    path.write_bytes(make_tar([entry("f")]))
    home.fails("template", "load", path, words="built-in")
    assert home("template", "load", "-t", "base:mine", path).out == "base:mine\n"


# ---- push, tag, rm ----

def test_what_was_pushed_is_what_was_pulled(home, registry, tmp_path):
    image = registry.put(Image([layer("p1", os.urandom(9000)), layer("p2")],
                               config={"Cmd": ["c"]}), "from")
    home("template", "pull", f"{registry.host}/from")
    home("template", "tag", f"{registry.host}/from", f"{registry.host}/to/here:v2")
    home("template", "push", f"{registry.host}/to/here:v2")
    (tmp_path / "second").mkdir()
    other = Home(tmp_path / "second")
    other("template", "pull", f"{registry.host}/to/here:v2")
    assert other.inspect(f"{registry.host}/to/here:v2")["image"]["manifest"]["digest"] == \
        image.digest


def test_what_was_loaded_can_be_pushed(home, registry, tmp_path):
    path = tmp_path / "root.tar.gz"
    path.write_bytes(gzip.compress(make_tar([entry("f", data=b"loaded")])))
    home("template", "load", "-t", f"{registry.host}/loaded:1", path)
    home("template", "push", f"{registry.host}/loaded:1")
    (tmp_path / "second").mkdir()
    other = Home(tmp_path / "second")
    other("template", "pull", f"{registry.host}/loaded:1")
    assert cat(other.inspect(f"{registry.host}/loaded:1")["disk"], "/f") == b"loaded"


@pytest.mark.skipif(bool(need("skopeo")), reason="not installed: skopeo")
def test_what_was_pushed_is_read_by_skopeo(home, registry, tmp_path):
    path = tmp_path / "root.tar"
    path.write_bytes(make_tar([entry("f", data=b"x")]))
    home("template", "load", "-t", f"{registry.host}/skopeo:1", path)
    home("template", "push", f"{registry.host}/skopeo:1")
    done = subprocess.run(["skopeo", "inspect", "--tls-verify=false",
                           f"docker://{registry.host}/skopeo:1"], capture_output=True,
                          text=True, check=True)
    assert json.loads(done.stdout)["Architecture"] == "amd64"


# ---- save ----

@pytest.mark.skipif(bool(need("skopeo")), reason="not installed: skopeo")
@pytest.mark.parametrize("packing", ["", "+gzip", "+zstd"])
def test_what_was_saved_is_what_was_pulled(home, registry, tmp_path, packing):
    registry.put(Image([layer("one", b"1"), layer("two", b"2")], packing=packing), "saved")
    name = f"{registry.host}/saved:latest"
    home("template", "pull", name)
    path = tmp_path / "saved.tar"
    home("template", "save", "-o", path, name)
    (tmp_path / "other").mkdir()
    other = Home(tmp_path / "other")
    assert other("template", "load", path).out == name + "\n"
    assert other.inspect(name)["digest"] == home.inspect(name)["digest"]
    assert other.inspect(name)["image"] == home.inspect(name)["image"]
    subprocess.run(["skopeo", "copy", "-q", f"oci-archive:{path}",
                    f"dir:{tmp_path}/out"], check=True)
    piped = home.start("template", "save", name)
    out, _ = piped.communicate(timeout=60)
    assert piped.returncode == 0 and out == path.read_bytes()


def test_a_save_that_fails_leaves_no_file_and_keeps_the_old(home, registry, tmp_path):
    registry.put(Image([layer("old")]), "unsaved")
    name = f"{registry.host}/unsaved"
    home("template", "pull", name)
    path = tmp_path / "out" / "old.tar"
    path.parent.mkdir()
    path.write_text("old")
    (blob,) = [blob for blob in (home.path / "cache/blobs/sha256").iterdir()
               if digest(blob.read_bytes())[7:] == blob.name
               and blob.read_bytes()[:2] == b"\x1f\x8b"]
    blob.chmod(0o600)
    blob.write_bytes(b"\0" * blob.stat().st_size)
    done = home.raw("template", "save", "-o", path, name)
    assert done.returncode == 1 and "is damaged in the cache" in done.err
    assert path.read_text() == "old" and os.listdir(path.parent) == ["old.tar"]
    home.fails("template", "save", "-o", path.parent, name, words="not a file")
    home.fails("template", "save", "-o", tmp_path / "no/x.tar", name, words="No such file")
    home.fails("template", "save", "-o", path, "none", words="no template")


def test_a_push_says_why_not(home, registry, tmp_path):
    add_template(home, "base")
    home.fails("template", "push", "base", words="not made from an image")
    home.fails("template", "push", "no/such:1", words="no template")
    gone = registry.put(Image([layer("gone")]), "gone")
    name = f"{registry.host}/gone"
    home("template", "pull", name)
    for text in (gone.digest, gone.digest[7:19], f"{name}@{gone.digest}"):
        home.fails("template", "push", text, words="not a digest")
    shutil.rmtree(home.path / "cache/blobs")
    home.fails("template", "push", name, words="not in the cache")
    # and as it says, so it is
    home("template", "rm", "-f", name)
    home("template", "pull", name)
    home("template", "push", name)


def test_names_are_given_and_taken(home, registry):
    registry.put(Image([layer("names")]), "names")
    name = f"{registry.host}/names:latest"
    home("template", "pull", name)
    home("template", "tag", name, "short")
    home("template", "tag", "short", "my/long:v1")
    assert home.names() == sorted([name, "short:latest", "my/long:v1"])
    assert len({home.inspect(one)["digest"] for one in home.names()}) == 1
    home("template", "rm", "-f", name, "short")
    assert len(home.contents()) == 1
    home.fails("template", "inspect", "short", words="no template")
    home("template", "rm", "-f", "my/long:v1")
    assert home.contents() == []
    home.fails("template", "tag", "none", "x", words="no template")
    add_template(home, "base")
    for taken in ("tiny", "tiny:latest", "docker.io/library/base"):
        home.fails("template", "tag", "base", taken, words="built-in")
    home("template", "tag", "base", "mine:1")
    assert home.inspect("mine:1")["digest"] == home.inspect("base")["digest"]
    home.fails("template", "tag", "base", "x@" + digest(b""), words="tag")


def test_parts_without_a_template_are_pruned(home, registry):
    registry.put(Image([layer("keep")]), "keep")
    registry.put(Image([layer("drop", os.urandom(100_000))]), "drop")
    for name in ("keep", "drop"):
        home("template", "pull", f"{registry.host}/{name}")
    home("template", "rm", "-f", f"{registry.host}/drop")
    before = home.blobs()
    assert "3 parts" in home("template", "prune", "--dry-run").out
    assert home.blobs() == before
    home("template", "prune")
    assert len(home.blobs()) == 3
    home("template", "push", f"{registry.host}/keep")


def test_damaged_records_do_not_stand_in_the_way(home, registry):
    registry.put(Image([layer("r1")]), "r1")
    registry.put(Image([layer("r2")]), "r2")
    home("template", "pull", f"{registry.host}/r1")
    (record,) = (home.path / "data/images/names").glob("*.json")
    record.write_text("{")
    home("template", "pull", f"{registry.host}/r2")
    assert home.names() == [f"{registry.host}/r2:latest"]
    home.fails("template", "inspect", f"{registry.host}/r1", words="damaged")
    home("template", "pull", f"{registry.host}/r1")
    assert len(home.names()) == 2


def test_a_login_never_reaches_a_record(home, locked):
    write_config(home, {"auths": {locked.host: AUTH}})
    home("template", "pull", f"{locked.host}/private")
    found = subprocess.run(["grep", "-rlE", "pass word|dXNlcjpwYXNz", home.path],
                           capture_output=True, text=True).stdout
    assert found == "" and LOGIN["secret"] == "pass word"
