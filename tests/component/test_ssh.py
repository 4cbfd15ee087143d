# SPDX-License-Identifier: Apache-2.0
"""bawn-ssh between the real ssh-agent and its real clients"""
import base64
import os
import shutil
import socket
import struct
import subprocess
import threading

import pytest

BUILD = os.environ.get("BAWN_BUILD", os.path.join(os.path.dirname(__file__), "../../build"))
BINARY = os.path.join(BUILD, "src/ssh/bawn-ssh")
WAIT_SECONDS = 15


def blob_of(folder, name):
    """The key itself: the middle of its .pub file."""
    return base64.b64decode((folder / f"{name}.pub").read_text().split()[1])


def answer(*blobs):
    """As an agent lists them, without comments."""
    body = struct.pack(">BI", 12, len(blobs))
    for blob in blobs:
        body += struct.pack(">I", len(blob)) + blob + struct.pack(">I", 0)
    return struct.pack(">I", len(body)) + body


class Filter:
    """Listens where a guest would, with a bawn-ssh for each connection."""

    def __init__(self, folder, agent, allowed):
        self.path, self.agent, self.allowed = str(folder / "filtered"), agent, allowed
        self.errors = open(folder / "errors", "ab")
        self.started, self.codes = [], None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                guest = self.listener.accept()[0]
            except OSError:
                break
            self.started.append(self.start(guest))
        # they die with the thread that started them
        self.codes = [process.wait(WAIT_SECONDS) for process in self.started]

    def start(self, guest):
        agent = socket.socket(socket.AF_UNIX)
        agent.connect(self.agent)
        keys = os.memfd_create("keys")
        os.write(keys, answer(*self.allowed))
        os.lseek(keys, 0, os.SEEK_SET)
        fds = [guest.fileno(), agent.fileno(), keys]
        moves = " ".join(f"{13 + i}<&{fd}" for i, fd in enumerate(fds))
        down = " ".join(f"{3 + i}<&{13 + i} {13 + i}<&-" for i in range(3))
        process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec {moves}; exec "$0" 0 {down}', BINARY], pass_fds=fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors, env={})
        guest.close()
        agent.close()
        os.close(keys)
        return process

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(2 * WAIT_SECONDS)
        self.errors.close()
        return self.codes


@pytest.fixture(name="host")
def host_of(tmp_path):
    """Two keys in an agent; of them `good` was named."""
    if not shutil.which("ssh-agent"):
        pytest.skip("openssh-client is not installed")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(tmp_path / "agent")],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert agent.stdout.readline()  # it says where it listens when it does
    for name in ("good", "bad"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
                        str(tmp_path / name)], check=True)
        client(tmp_path / "agent", "ssh-add", "-q", str(tmp_path / name))
        os.remove(tmp_path / name)
    one = Filter(tmp_path, str(tmp_path / "agent"), [blob_of(tmp_path, "good")])
    yield tmp_path
    codes = one.close()
    assert codes and not any(codes), (tmp_path / "errors").read_text()
    agent.kill()
    agent.wait()


def client(path, *argv, code=0):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
                          stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": str(path)})
    assert done.returncode == code, done
    return done.stdout


def test_only_the_named_key_is_seen(host):
    assert client(host / "agent", "ssh-add", "-L").count("\n") == 2
    listed = client(host / "filtered", "ssh-add", "-L")
    assert listed == (host / "good.pub").read_text()


def test_only_the_named_key_signs(host):
    (host / "text").write_text("text")
    client(host / "filtered", "ssh-keygen", "-Y", "sign", "-n", "test", "-f",
           str(host / "good.pub"), str(host / "text"))
    (host / "signers").write_text(f"me {(host / 'good.pub').read_text()}")
    with open(host / "text", encoding="ascii") as text:
        subprocess.run(["ssh-keygen", "-Y", "verify", "-n", "test", "-I", "me", "-f",
                        str(host / "signers"), "-s", str(host / "text.sig")],
                       stdin=text, check=True, capture_output=True)
    os.remove(host / "text.sig")
    client(host / "filtered", "ssh-keygen", "-Y", "sign", "-n", "test", "-f",
           str(host / "bad.pub"), str(host / "text"), code=255)
    assert not os.path.exists(host / "text.sig")


def test_the_agent_cannot_be_changed(host):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host / "new")],
                   check=True)
    client(host / "filtered", "ssh-add", "-q", str(host / "new"), code=1)
    client(host / "filtered", "ssh-add", "-D", code=1)
    client(host / "filtered", "ssh-add", "-d", str(host / "good.pub"), code=1)
    assert client(host / "agent", "ssh-add", "-L").count("\n") == 2


def test_every_other_request_gets_a_failure(host):
    failure = b"\0\0\0\1\5"
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(WAIT_SECONDS)
        one.connect(str(host / "filtered"))
        for kind in range(256):
            if kind == 11:
                continue
            one.sendall(struct.pack(">IB", 5, kind) + b"\xff\xff\xff\xff")
            assert one.recv(64) == failure, kind


def test_a_hostile_client_is_cut_off(tmp_path):
    """With an agent that says nothing: it must not be asked at all."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen(8)
        one = Filter(tmp_path, str(tmp_path / "agent"), [b"KEY"])
        for message in (b"\0\0\0\0", b"\xff\xff\xff\xff\x0b", b"\0\4\0\1", b"\0\0", b"\0\0\0\5\x0d"):
            with socket.socket(socket.AF_UNIX) as client_end:
                client_end.settimeout(WAIT_SECONDS)
                client_end.connect(one.path)
                client_end.sendall(message)
                client_end.shutdown(socket.SHUT_WR)
                try:
                    assert client_end.recv(64) == b""
                except ConnectionResetError:
                    pass  # with bytes of ours unread
        assert one.close() == [1, 1, 1, 1, 1]
        while True:
            agent.setblocking(False)
            try:
                asked = agent.accept()[0]
            except BlockingIOError:
                break
            assert asked.recv(64) == b""
