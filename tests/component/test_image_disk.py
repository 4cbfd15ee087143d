# SPDX-License-Identifier: Apache-2.0
"""bawn-image load --from disk: the files of a guest's disk, whatever they look like"""
import hashlib
import io
import json
import os
import pathlib
import socket
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = ROOT / os.environ.get("BAWN_BUILD", "build") / "src/image/bawn-image"
WAIT_SECONDS = 60
RUN = {"config": {"User": "you", "Env": ["A=b"], "WorkingDir": "/w", "Entrypoint": ["x"],
                  "Cmd": []}, "created": "2026-01-02T03:04:05Z"}


def disk(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_json", ".json"))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def memfd(data):
    fd = os.memfd_create("data")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Starter:
    """The other end of src/image/talk.h."""

    def __init__(self, data, order):
        self.order, self.blobs, self.asked, self.image = order, {}, [], None
        self.talk, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.talk.settimeout(WAIT_SECONDS)
        fds = [memfd(data), theirs.fileno(), os.memfd_create("image")]
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$0" load --from disk <&{fds[0]} 3<&{fds[1]} 4<>'
             f'/proc/self/fd/{fds[2]}', str(IMAGE)],
            pass_fds=fds, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={})
        theirs.close()
        os.close(fds[0])
        self.memory = fds[2]
        self.serve()
        self.errors = self.process.communicate(timeout=WAIT_SECONDS)[1].decode()
        self.code = self.process.returncode
        self.talk.close()
        os.close(self.memory)

    def serve(self):
        while True:
            try:
                packet = self.talk.recv(1 << 16)
            except ConnectionResetError:
                return
            if not packet:
                return
            self.answer(json.loads(packet))

    def send(self, op, *fds):
        socket.send_fds(self.talk, [json.dumps({"op": op}).encode()], list(fds))

    def answer(self, packet):
        if packet["op"] == "open":
            self.asked.append(packet["name"])
            if self.order is None:
                self.send("none")
            else:
                self.give(memfd(self.order))
        elif packet["op"] == "image":
            self.image = json.loads(os.pread(self.memory, 1 << 20, 0))
            self.send("go")
        elif packet["op"] == "blob":
            self.blobs[packet["digest"]] = os.memfd_create("blob")
            self.send("take", self.blobs[packet["digest"]])

    def give(self, fd):
        self.send("take", fd)
        os.close(fd)

    def blob(self, digest):
        return os.pread(self.blobs[digest], 1 << 20, 0)


def load(data, order=None):
    return Starter(data, json.dumps(RUN).encode() if order is None else order)


def test_a_disk_becomes_one_layer_that_is_run_as_was_said():
    data = disk(etc__kept=b"kept\n")
    done = load(data)
    assert done.code == 0, done.errors
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    assert [one["digest"] for one in done.image["layers"]] == [digest]
    config = json.loads(done.blob(done.image["config"]["digest"]))
    assert config["config"] == RUN["config"] and config["created"] == RUN["created"]
    assert config["rootfs"] == {"type": "layers", "diff_ids": [digest]}
    assert done.blob(digest) == data and done.asked == ["config.json"]
    assert done.image["run"]["User"] == "you"


def test_files_of_a_disk_are_never_an_image():
    """A guest may lay out its root like an archive of somebody else's image."""
    inner = disk(etc__evil=b"evil\n")
    name = hashlib.sha256(inner).hexdigest()
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"User": "root"},
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name}"]}}).encode()
    listed = json.dumps([{"Config": "c.json", "RepoTags": ["base:latest"],
                          "Layers": ["l"]}]).encode()
    data = disk(manifest_json=listed, c_json=config, l=inner, index_json=b'{"manifests": []}')
    done = load(data)
    assert done.code == 0, done.errors
    assert [one["digest"] for one in done.image["layers"]] == \
        ["sha256:" + hashlib.sha256(data).hexdigest()]
    assert done.image["names"] == [] and done.image["run"]["User"] == "you"


@pytest.mark.parametrize("order", [b"", b"{", b"[]", b'{"config": 7}', b'{"config": {"Env": 7}}',
                                   b'{"config": {"User": ["x"]}}', b" " * (2 << 20)])
def test_an_order_that_is_none_is_refused(order):
    done = load(disk(a=b"b"), order)
    assert done.code == 1 and done.image is None and done.blobs == {}, done.errors


def test_a_starter_without_an_order_gets_no_image():
    done = Starter(disk(a=b"b"), None)
    assert done.code == 1 and done.image is None
