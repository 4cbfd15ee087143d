# SPDX-License-Identifier: Apache-2.0
"""Images made by hand, a registry to keep them in, and a starter of bawn-registry

Everything is local: the registry is Debian's docker-registry on a free port of
this machine.
"""
import array
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BAWN_BUILD", "build"))
if not BUILD.is_absolute():
    BUILD = ROOT / BUILD
IMAGE = BUILD / "src/image/bawn-image"
REGISTRY = BUILD / "src/image/bawn-registry"
OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker."


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def entry(name, kind=tarfile.REGTYPE, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = len(data)
    info.mode = fields.pop("mode", 0o755 if kind == tarfile.DIRTYPE else 0o644)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def make_tar(entries, fmt=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt, encoding="utf-8",
                      errors="surrogateescape") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True,
                          check=True).stdout


PACKINGS = {"": lambda data: data, "+gzip": lambda data: gzip.compress(data, 1, mtime=0),
            "+zstd": zstd}


class Image:
    """An image of tar layers: its blobs, and the manifest that names them."""

    def __init__(self, tars, packing="+gzip", config=None, docker=False,
                 platform=("linux", "amd64")):
        self.tars = tars
        self.blobs = {}
        layer_type = OCI + "layer.v1.tar" + packing
        if docker:
            layer_type = DOCKER + "image.rootfs.diff.tar" + packing.replace("+", ".")
        layers = [self.add(PACKINGS[packing](tar), layer_type) for tar in tars]
        self.config = json.dumps({
            "os": platform[0], "architecture": platform[1], "config": config or {},
            "rootfs": {"type": "layers", "diff_ids": [digest(tar) for tar in tars]},
        }).encode()
        config_type = DOCKER + "container.image.v1+json" if docker else \
            OCI + "config.v1+json"
        self.media_type = DOCKER + "distribution.manifest.v2+json" if docker else \
            OCI + "manifest.v1+json"
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": self.media_type,
            "config": self.add(self.config, config_type), "layers": layers}).encode()
        self.layers = layers
        self.digest = digest(self.manifest)

    def add(self, data, media_type):
        self.blobs[digest(data)] = data
        return {"mediaType": media_type, "digest": digest(data), "size": len(data)}

    def layout(self, folder, tag="latest"):
        """Writes it as an OCI layout."""
        blobs = folder / "blobs/sha256"
        blobs.mkdir(parents=True)
        for name, data in {**self.blobs, self.digest: self.manifest}.items():
            (blobs / name.split(":")[1]).write_bytes(data)
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        (folder / "index.json").write_text(json.dumps({
            "schemaVersion": 2, "manifests": [{
                "mediaType": self.media_type, "digest": self.digest,
                "size": len(self.manifest),
                "annotations": {"org.opencontainers.image.ref.name": tag}}]}))
        return folder

    def docker_archive(self, path, names):
        """Writes it as `docker save` has always done."""
        files = []
        for tar in self.tars:
            name = digest(tar).split(":")[1]
            files.append(entry(f"{name}/layer.tar", data=tar))
        config = digest(self.config).split(":")[1] + ".json"
        files.append(entry(config, data=self.config))
        files.append(entry("manifest.json", data=json.dumps([{
            "Config": config, "RepoTags": names,
            "Layers": [info.name for info, _ in files[:-1]]}]).encode()))
        path.write_bytes(make_tar(files, tarfile.USTAR_FORMAT))
        return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(check, seconds=60):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


class RealRegistry:
    """Debian's docker-registry in a folder, with or without a lock on its door"""

    def __init__(self, folder, auth="", extra=""):
        self.port = free_port()
        self.host = f"localhost:{self.port}"
        config = folder / "registry.yml"
        config.write_text(
            f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n"
            f"storage: {{filesystem: {{rootdirectory: {folder}/store}}}}\n"
            f"http: {{addr: 'localhost:{self.port}'{extra}}}\n{auth}")
        self.log = open(folder / "registry.log", "wb")
        self.process = subprocess.Popen(["docker-registry", "serve", config],
                                        stdout=self.log, stderr=self.log)
        wait_until(self.answers)

    def answers(self):
        assert self.process.poll() is None, "docker-registry ended"
        try:
            urllib.request.urlopen(f"http://{self.host}/v2/", timeout=5)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def put(self, image, name, tag="latest"):
        """Straight through its interface."""
        base = f"http://{self.host}/v2/{name}"
        for blob, data in image.blobs.items():
            with self.call("POST", f"{base}/blobs/uploads/", b"") as answer:
                place = answer.headers["Location"]
            mark = "&" if "?" in place else "?"
            self.call("PUT", f"{place}{mark}digest={blob}", data,
                      "application/octet-stream").close()
        self.call("PUT", f"{base}/manifests/{tag}", image.manifest,
                  image.media_type).close()
        return image

    @staticmethod
    def call(method, url, data, kind=None):
        request = urllib.request.Request(url, data=data, method=method)
        if kind:
            request.add_header("Content-Type", kind)
        return urllib.request.urlopen(request, timeout=20)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


# bcrypt by the C library: no package for it is needed
HASH = """
import ctypes
crypt = ctypes.CDLL("libcrypt.so.1").crypt
crypt.restype = ctypes.c_char_p
print(crypt(b"pass word", b"$2b$05$abcdefghijklmnopqrstuu").decode())
"""
AUTH = {"auth": "dXNlcjpwYXNzIHdvcmQ="}  # user:pass word, as docker's settings have it


def locked_registry(folder):
    """One behind a user and a password."""
    done = subprocess.run(["/usr/bin/python3", "-c", HASH], capture_output=True, text=True,
                          check=True)
    (folder / "htpasswd").write_text(f"user:{done.stdout.strip()}\n")
    return RealRegistry(folder, f"auth: {{htpasswd: {{realm: r, path: "
                        f"{folder}/htpasswd}}}}\n")


class Counted:
    """A port before a registry that counts what it sends."""

    def __init__(self, port):
        self.target, self.sent = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("localhost", self.target))
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.move, args=pair, daemon=True).start()

    def move(self, source, to, counted):
        try:
            while (data := source.recv(65536)):
                self.sent += len(data) if counted else 0
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Starter:
    """Does for bawn-registry or bawn-image what their starter does."""

    def __init__(self, argv, order=b"", uid=None, stdin=None):
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.memory = os.memfd_create("image")
        self.store = {}   # digest: bytes that are there
        self.files = {}   # digest: descriptor that was given
        self.done, self.progress, self.verdict = [], [], None
        self.go, self.image, self.opens = True, None, []
        command = ["/bin/bash", "-c", 'exec 3<&$0 4<&$1; shift; exec "$@"',
                   str(theirs.fileno()), str(self.memory), *map(str, argv)]

        def drop():
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)

        self.process = subprocess.Popen(
            command, stdin=stdin or subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=[theirs.fileno(), self.memory],
            preexec_fn=drop)
        theirs.close()
        if stdin is None:
            self.process.stdin.write(order)
            self.process.stdin.close()
            self.process.stdin = None

    def answer(self, message, *fds):
        self.ours.sendmsg([json.dumps(message).encode()], [
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def on_blob(self, packet):
        name = packet["digest"]
        if name in self.store:
            self.answer({"op": "have"})
            return
        if name not in self.files:
            self.files[name] = os.memfd_create("blob")
        self.answer({"op": "take"}, self.files[name])

    def on_packet(self, packet):
        kind = packet["op"]
        if kind == "image":
            size = os.fstat(self.memory).st_size
            self.image = json.loads(os.pread(self.memory, size, 0))
            self.answer({"op": "go" if self.go else "enough"})
        elif kind == "blob":
            self.on_blob(packet)
        elif kind == "done":
            self.done.append(packet["digest"])
        elif kind == "progress":
            self.progress.append(packet["parts"])
        elif kind == "failed":
            self.verdict = packet["verdict"]
        elif kind == "open":
            self.on_open(packet)
        else:
            raise AssertionError(packet)

    def on_open(self, packet):
        raise AssertionError(packet)

    def step(self):
        """One packet; False at the end."""
        bytes_ = self.ours.recv(65536)
        if not bytes_:
            return False
        self.on_packet(json.loads(bytes_))
        return True

    def run(self, seconds=60):
        self.ours.settimeout(seconds)
        try:
            while self.step():
                pass
        except ConnectionResetError:
            pass
        out, err = self.process.communicate(timeout=seconds)
        self.code, self.out, self.err = self.process.returncode, out, err.decode()
        for name, fd in self.files.items():
            self.store[name] = os.pread(fd, os.fstat(fd).st_size, 0)
            os.close(fd)
        os.close(self.memory)
        self.ours.close()
        return self


def order(host, repository, tag="latest", **more):
    """An order to fetch, with little patience."""
    place = {"host": host, "repository": repository}
    for key in ("login", "http", "ca"):
        if key in more:
            place[key] = more.pop(key)
    return {"places": [place], "tag": tag,
            "platform": {"os": "linux", "architecture": "amd64"},
            "back_off_ms": 20, "attempts": 4, "connect_ms": 3000,
            "stall_ms": 2000, "small_ms": 5000, **more}


def fetch(given, uid=None, prepare=None, seconds=60):
    starter = Starter([REGISTRY, "fetch"], json.dumps(given).encode(), uid)
    if prepare:
        prepare(starter)
    return starter.run(seconds)


def need(*tools):
    """Names those that are missing, or nothing."""
    return [tool for tool in tools if not shutil.which(tool)]
