# SPDX-License-Identifier: Apache-2.0
"""bawn-launch alone; the test is its supervisor, its clients and the guest"""
import json
import os
import socket
import subprocess
import threading
import time

from fuse_client import TOP, Files, place

BINARY = os.environ.get("BAWN_TEST_LAUNCH", os.path.join(
    TOP, os.environ.get("BAWN_BUILD", "build"), "src/launch/bawn-launch"))


def wait(fact, seconds=10):
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Guest(Files):
    """A relay: it knows the next server by its marker."""

    def __init__(self, port):  # pylint: disable=super-init-not-called
        self.socket, self.unique, self.buffer, self.position = port, 2, b"", 0
        self.notices, self.replies, self.raw = [], {}, []
        self.lock = threading.Lock()
        self.notifier = self.pid = self.bits = 0
        self.marker = None
        port.settimeout(10)

    def greet(self):
        """The next server's marker, our echo, HELLO, WELCOME."""
        if self.marker:
            self.buffer, self.position = self.buffer[self.position:], 0
            self._expect_marker(self.marker)
            self.socket.sendall(self.marker)
        self.hello(self.bits)
        self.marker = self.welcome[8:40]
        count = int.from_bytes(self.welcome[4:8], "little")
        for index in range(count):
            if not self.bits >> index & 1:
                self.init(share=index)
                self.bits |= 1 << index
        return count


class Launch:
    # pylint: disable=too-many-locals
    def __init__(self, sandbox, shares, marker=None, remove_at_end=False, net=None,
                 binary=BINARY, uid=0, prefix=(), **more):
        self.folder, self.log = str(sandbox), ""
        ours, channel = socket.socketpair()
        port, theirs = socket.socketpair()
        self.net_port, net_theirs = socket.socketpair()
        message = os.memfd_create("message")
        files = files_of(shares, **more) if shares else None
        os.write(message, json.dumps({
            "name": os.path.basename(self.folder), "folder": self.folder,
            "marker": marker.hex() if marker else None, "remove_at_end": remove_at_end,
            "uid": uid, "files": files, "net": net}).encode())
        os.lseek(message, 0, os.SEEK_SET)
        given = (channel.fileno(), theirs.fileno(), message, net_theirs.fileno())

        self.process = subprocess.Popen([*prefix, binary], preexec_fn=lambda: place(given),
                                        close_fds=False,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                             "ASAN_OPTIONS": os.environ.get(
                                                 "ASAN_OPTIONS", "detect_leaks=0")})
        for end in (channel, theirs, net_theirs):
            end.close()
        os.close(message)
        self.channel = ours
        ours.settimeout(10)
        self.guest = Guest(port)
        self.guest.marker = marker

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            # It may be coming up, or the name may be a killed predecessor's.
            wait(lambda: one.connect_ex(f"{self.folder}/launch.sock") == 0)
            one.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(one.makefile().readline())

    def files_pid(self):
        return self.ask(op="status")["files_pid"]

    def change(self, shares):
        """Asked in the background; result() waits for the answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            self.ask(op="shares", files=files_of(shares))))
        thread.start()

        def result():
            thread.join(20)
            return answers[0]
        return result

    def end(self):
        self.channel.close()
        self.guest.socket.close()
        self.net_port.close()
        code = self.process.wait(timeout=5)
        self.log = self.process.stderr.read().decode()
        self.process.stderr.close()
        return code


def files_of(shares, **more):
    return {"shares": shares, "absent": [], "guest_uid": 1000, "guest_gid": 1000,
            "guard": None, "undo": False, **more}
