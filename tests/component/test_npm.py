# SPDX-License-Identifier: Apache-2.0
"""Packages of npm registries: fetched by bawn-registry, added by bawn-image.

The registry and the packages are hostile; the disk is one of ours.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import subprocess
import tarfile
import threading
import urllib.parse

import pytest

from test_image import BUILD, IMAGE

REGISTRY = BUILD / "src/image/bawn-registry"


def package(entries):
    """entries: (path, bytes or None for a folder, mode) or a TarInfo"""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for one in entries:
            if isinstance(one, tarfile.TarInfo):
                tar.addfile(one)
                continue
            info = tarfile.TarInfo(one[0])
            info.size, info.mode = len(one[1]), one[2]
            tar.addfile(info, io.BytesIO(one[1]))
    return out.getvalue()


class Npm(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/npm/"
        self.versions, self.tarballs, self.asked, self.answers = {}, {}, [], {}
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def put(self, name, version, content, tags=(), **changes):
        file = f"/files/{version}.tgz"
        self.tarballs[file] = content
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        facts = {"name": name, "version": version, "dist": {
            "tarball": f"http://127.0.0.1:{self.server_port}{file}",
            "integrity": "sha512-" + digest} | changes}
        for tag in (version, *tags):
            self.versions[f"/npm/{name}/{tag}"] = json.dumps(facts).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        path = urllib.parse.unquote(self.path)
        server.asked.append(self.path)
        queue = server.answers.get(path)
        if queue:
            status, headers = queue.pop(0)
            return self.send(status, b"", headers)
        body = server.versions.get(path) or server.tarballs.get(path)
        return self.send(200, body, {}) if body else self.send(404, b"{}", {})

    def send(self, status, body, headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def npm():
    server = Npm()
    yield server
    server.shutdown()
    server.server_close()


def run(program, job, stdin, fd, args=()):
    command = ["/bin/bash", "-c", f'exec "$@" 4<&{fd}', "sh", program, job, *args]
    return subprocess.run(command, input=stdin, capture_output=True, pass_fds=[fd],
                          timeout=60, check=False)


def fetch(npm, tmp_path, version="latest", suffix="", name="@a/b"):
    path = tmp_path / "package.tgz"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    order = {"registry": npm.url, "package": name, "version": version, "suffix": suffix}
    done = run(REGISTRY, "npm", json.dumps(order).encode(), fd)
    os.close(fd)
    return done, path


def test_package_comes_by_its_tag_and_platform(npm, tmp_path):
    tarball = package([("package/run", os.urandom(300_000), 0o755)])
    npm.put("@a/b", "1.0.0", b"not this one", tags=["latest"])
    npm.put("@a/b", "1.0.0-linux-x64", tarball)
    done, path = fetch(npm, tmp_path, suffix="-linux-x64")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "version": "1.0.0-linux-x64", "digest": "sha512:" + hashlib.sha512(tarball).hexdigest()}
    assert path.read_bytes() == tarball
    assert npm.asked[0] == "/npm/@a%2fb/latest"


def test_tarball_is_what_its_digest_says_or_nothing(npm, tmp_path):
    npm.put("@a/b", "1.0.0", b"good", tags=["latest"])
    npm.tarballs["/files/1.0.0.tgz"] = b"evil"
    done, _ = fetch(npm, tmp_path)
    assert done.returncode == 1 and b"SHA-512" in done.stderr and not done.stdout


@pytest.mark.parametrize("changes, said", [
    ({"integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}, b"SHA-512"),
    ({"tarball": "http://example.invalid/x.tgz"}, b""),
    ({"tarball": "file:///etc/passwd"}, b""),
    ({"tarball": "https://user:word@127.0.0.1/x.tgz"}, b""),
])
def test_manifest_that_leads_astray_is_refused(npm, tmp_path, changes, said):
    npm.put("@a/b", "1.0.0", b"good", tags=["latest"], **changes)
    done, path = fetch(npm, tmp_path)
    assert done.returncode == 1 and said in done.stderr and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and path.stat().st_size == 0


def test_other_package_or_none_is_told(npm, tmp_path):
    npm.put("@a/c", "1.0.0", b"good", tags=["latest"])
    npm.versions["/npm/@a/b/latest"] = npm.versions["/npm/@a/c/latest"]
    assert b"another package" in fetch(npm, tmp_path)[0].stderr
    assert b"404" in fetch(npm, tmp_path, name="nothing")[0].stderr


def test_busy_registry_is_asked_again_and_redirects_are_followed(npm, tmp_path):
    npm.put("@a/b", "1.0.0", b"good", tags=["latest"])
    npm.tarballs["/there"] = b"good"
    npm.answers["/npm/@a/b/latest"] = [(503, {})]
    npm.answers["/files/1.0.0.tgz"] = [(302, {"Location": "/there"})]
    done, path = fetch(npm, tmp_path)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == b"good" and npm.asked.count("/there") == 1


# ---- adding ----

@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """An image of ours with a few names."""
    path = tmp_path_factory.mktemp("disk") / "disk.ext4"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    folder = tarfile.TarInfo("usr/local/bin")
    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
    link = tarfile.TarInfo("usr/out")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    done = run(IMAGE, "ext4", package([folder, link, ("etc/hosts", b"there", 0o644)]), fd,
               ["--size", "64M"])
    os.close(fd)
    assert done.returncode == 0, done.stderr
    return path


def add(disk, tmp_path, tarball, *args):
    path = tmp_path / "copy.ext4"
    subprocess.run(["cp", "--sparse=always", disk, path], check=True)
    fd = os.open(path, os.O_RDWR)
    done = run(IMAGE, "add", tarball, fd, args)
    os.close(fd)
    return done, path


def shown(path, command):
    return subprocess.run(["debugfs", "-R", command, path], capture_output=True, text=True,
                          check=True, env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}).stdout


def check(path):
    done = subprocess.run(["e2fsck", "-fn", path], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
    assert done.returncode == 0, done.stdout


def test_files_and_links_are_added_and_the_disk_stays_sound(disk, tmp_path):
    big = os.urandom(5_000_000)
    many = [(f"package/lib/{i:04}.js", b"x" * i, 0o644) for i in range(600)]
    done, path = add(disk, tmp_path, package([("package/run", big, 0o700), *many,
                                              ("package/other", b"no", 0o644)]),
                     "--take", "package/run=usr/local/lib/a/run",
                     "--take", "package/lib=usr/local/lib/a/lib",
                     "--link", "usr/local/lib/a/lib/0007.js=usr/local/bin/seven")
    assert done.returncode == 0, done.stderr
    check(path)
    out = tmp_path / "run"
    shown(path, f"dump /usr/local/lib/a/run {out}")
    assert out.read_bytes() == big
    assert "Mode:  0755" in shown(path, "stat /usr/local/lib/a/run")
    assert "Mode:  0755" in shown(path, "stat /usr/local/lib/a/lib/0007.js")
    assert "Mode:  0644" in shown(path, "stat /usr/local/lib/a/lib/0008.js")
    assert "/usr/local/lib/a/lib/0007.js" in shown(path, "stat /usr/local/bin/seven")
    assert shown(path, "ls -p /usr/local/lib/a/lib").count(".js/") == 600
    assert "other" not in shown(path, "ls -p /usr/local/lib/a")
    assert "there" in shown(path, "cat /etc/hosts")


def hostile_entries():
    up = tarfile.TarInfo("package/../../etc/passwd")
    link = tarfile.TarInfo("package/run")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/shadow"
    hard = tarfile.TarInfo("package/run")
    hard.type, hard.linkname = tarfile.LNKTYPE, "/etc/shadow"
    device = tarfile.TarInfo("package/run")
    device.type = tarfile.BLKTYPE
    return [("climbs", [up]), ("a link", [link]), ("a hard link", [hard]),
            ("a device", [device]), ("nothing", []),
            ("twice", [("package/run", b"1", 0o755), ("package/run", b"2", 0o755)])]


@pytest.mark.parametrize("entries", [e for _, e in hostile_entries()],
                         ids=[n for n, _ in hostile_entries()])
def test_package_without_the_file_is_refused(disk, tmp_path, entries):
    done, _ = add(disk, tmp_path, package(entries), "--take", "package/run=usr/local/run")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1


def test_what_is_there_stays(disk, tmp_path):
    tarball = package([("package/run", b"new", 0o755)])
    done, _ = add(disk, tmp_path, tarball, "--take", "package/run=etc/hosts")
    assert done.returncode == 1 and b"there already" in done.stderr
    done, _ = add(disk, tmp_path, tarball, "--take", "package/run=usr/out/run")
    assert done.returncode == 1
    for rule in ("package/run=../etc/x", "package/run=/etc/x", "=etc/x", "package/run="):
        done, _ = add(disk, tmp_path, tarball, "--take", rule)
        assert done.returncode == 2, rule


def test_package_cut_anywhere_is_refused(disk, tmp_path):
    tarball = package([("package/run", os.urandom(20_000), 0o755)])
    for end in (0, 1, 20, 5_000, len(tarball) // 2, len(tarball) - 9):
        done, _ = add(disk, tmp_path, tarball[:end], "--take", "package/run=usr/run")
        assert done.returncode == 1, end
