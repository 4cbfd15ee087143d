# SPDX-License-Identifier: Apache-2.0
"""client_servers.py - what real clients of a guest talk to, on the host of a test

A web server for files, an sshd for each connection, a PostgreSQL; and folders in
the forms that package managers expect.
"""
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

from bawn import wait
from net_host import read_head

POSTGRES = "/usr/lib/postgresql"
SSHD = "/usr/sbin/sshd"


def run(*argv, **kwargs):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **kwargs).stdout


def files(folder):
    """A web server for a folder."""
    def speak(connection):
        while True:
            head = read_head(connection)
            if not head:
                return
            status, kind, body = find(folder, head.split()[1])
            connection.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n"
                               % (status.encode(), kind, len(body)) + body)
    return speak


def find(folder, target):
    """Status, header and body for a path in it; a folder is its index."""
    path = f"{folder}/{target.split('?')[0].strip('/')}"
    if os.path.isdir(path):
        path += "/index.html"
    kind = b"Content-Type: %s\r\n" % (b"application/json" if path.endswith(".json")
                                      else b"text/html")
    if not os.path.isfile(path):
        return "404 Not Found", kind, b"none\n"
    with open(path, "rb") as file:
        return "200 OK", kind, file.read()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def make_git(folder):
    """A bare repository that may be pushed to."""
    work = f"{folder}/work"
    run("git", "init", "-q", "-b", "main", work)
    write(f"{work}/hello", "hello from git\n")
    run("git", "-C", work, "add", ".")
    run("git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-qm", "one")
    run("git", "clone", "-q", "--bare", work, f"{folder}/repo.git")
    run("git", "-C", f"{folder}/repo.git", "config", "http.receivepack", "true")
    shutil.rmtree(work)


def make_pip(folder):
    data = io.BytesIO()
    info = "demo_bawn-1.0.dist-info"
    with zipfile.ZipFile(data, "w") as wheel:
        wheel.writestr("demo_bawn.py", "WORD = 'hello from pip'\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: demo-bawn\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
                       "Tag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    name = "demo_bawn-1.0-py3-none-any.whl"
    write(f"{folder}/simple/demo-bawn/index.html", f'<a href="/simple/demo-bawn/{name}">{name}</a>')
    write(f"{folder}/simple/demo-bawn/{name}", data.getvalue())


def make_npm(folder, url):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in (("package.json", '{"name": "demo-bawn", "version": "1.0.0"}'),
                           ("index.js", "module.exports = 'hello from npm'\n")):
            one = tarfile.TarInfo(f"package/{name}")
            one.size = len(text)
            tar.addfile(one, io.BytesIO(text.encode()))
    sha1 = hashlib.sha1(data.getvalue()).hexdigest()
    write(f"{folder}/npm/demo-bawn/demo-bawn-1.0.0.tgz", data.getvalue())
    write(f"{folder}/npm/demo-bawn/index.html", json.dumps({
        "name": "demo-bawn", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "demo-bawn", "version": "1.0.0", "dist": {
                "tarball": f"{url}/npm/demo-bawn/demo-bawn-1.0.0.tgz", "shasum": sha1}}}}))


def make_apt(folder):
    package = f"{folder}/package"
    write(f"{package}/DEBIAN/control", "Package: demo-bawn\nVersion: 1.0\nArchitecture: all\n"
          "Maintainer: t <t@t.test>\nDescription: t\n")
    write(f"{package}/usr/share/demo-bawn", "hello from apt\n")
    os.makedirs(f"{folder}/apt")
    run("dpkg-deb", "--root-owner-group", "--build", package, f"{folder}/apt/demo.deb")
    with open(f"{folder}/apt/demo.deb", "rb") as file:
        data = file.read()
    control = run("dpkg-deb", "-f", f"{folder}/apt/demo.deb")
    write(f"{folder}/apt/Packages", f"{control}Filename: ./demo.deb\nSize: {len(data)}\n"
          f"SHA256: {hashlib.sha256(data).hexdigest()}\n")
    shutil.rmtree(package)


def make_go(folder):
    base = f"{folder}/go/good.test/demo/@v"
    module = "module good.test/demo\n"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("good.test/demo@v1.0.0/go.mod", module)
        archive.writestr("good.test/demo@v1.0.0/demo.go", "package demo // hello from go\n")
    write(f"{base}/v1.0.0.info", '{"Version": "v1.0.0", "Time": "2020-01-01T00:00:00Z"}')
    write(f"{base}/v1.0.0.mod", module)
    write(f"{base}/v1.0.0.zip", data.getvalue())


def put_in(folder, *programs):
    """Programs of this host that the template has not, with their libraries."""
    for path in programs:
        shutil.copy(path, folder)
        for line in run("ldd", path).splitlines():
            words = line.split()
            if "=>" in words and not words[0].startswith(("libc.", "libm.", "libresolv.")):
                shutil.copy(words[2], folder)
    run("chmod", "-R", "a+rX", folder)


class Sshd:
    """One sshd a connection, on a socket of the host."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}")
        os.chmod(folder, 0o755)
        os.makedirs("/run/sshd", exist_ok=True)
        write(f"{folder}/config", f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
              "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n")

    def speak(self, connection):
        connection.settimeout(None)
        subprocess.run([SSHD, "-i", "-e", "-f", f"{self.folder}/config"], stdin=connection,
                       stdout=connection, stderr=subprocess.DEVNULL, check=False)


class Postgres:
    """A server on 127.0.0.1:5432 of the host; None of it is left behind."""

    def __init__(self, host, folder):
        version = max(os.listdir(POSTGRES), key=int)
        programs = f"{POSTGRES}/{version}/bin"
        os.makedirs(f"{folder}/data")
        shutil.chown(folder, "postgres")
        shutil.chown(f"{folder}/data", "postgres")
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        run(*user, f"{programs}/initdb", "-A", "trust", "-N", "-U", "me", f"{folder}/data",
            cwd="/")
        self.process = subprocess.Popen(
            [*host.prefix("/"), *user, f"{programs}/postgres", "-D", f"{folder}/data", "-F",
             "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(lambda: os.path.exists(f"{folder}/.s.PGSQL.5432"), 30, "PostgreSQL")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
