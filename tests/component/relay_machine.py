# SPDX-License-Identifier: Apache-2.0
"""relay_machine - the files relay and bawn-files around this machine's own kernel

Plays PID 1 and the launcher. The relay mounts in a mount namespace of its own;
its folders are reached through the root of the process that holds it. Needs
root and /dev/fuse.
"""
import json
import os
import signal
import socket
import struct
import subprocess

from fuse_client import BINARY, TOP, place, share

RELAY = os.path.join(TOP, os.environ.get("BAWN_BUILD", "build"), "tests/component/relay_alone")
MARKER, TAKEN, READY, FINISH = 1, 2, 3, 4
BULK_BYTES, RINGS_BYTES = 8 << 20, 512 << 10
MESSAGE = struct.Struct("<I256s")
HOLDER = ("mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && echo ready && "
          "exec sleep infinity")


def spawn(argv, fds, **more):
    """fds become 3, 4, ..."""
    return subprocess.Popen(argv, preexec_fn=lambda: place(fds), close_fds=False,
                            stdin=subprocess.DEVNULL,
                            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, **more)


class Machine:
    def __init__(self, shares, log, bulk=True, rings=True):
        self.shares, self.log = shares, open(log, "ab")  # pylint: disable=R1732
        self.ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.control = self.files = self.relay = None
        self.memory = os.memfd_create("nodes")
        self.bulk = [os.memfd_create(name) for name in ("to-guest", "from-guest")] if bulk else []
        for memory in self.bulk:
            os.ftruncate(memory, BULK_BYTES)
        self.beside = ["to_guest", "from_guest"] if bulk else []
        if bulk and rings:
            self.bulk += [os.memfd_create("rings"), os.eventfd(0, os.EFD_NONBLOCK)]
            self.beside += ["rings", "bell"]
            os.ftruncate(self.bulk[2], RINGS_BYTES)
        self.shared = os.memfd_create("relay")
        self.marker, self.next = None, os.urandom(32).hex()
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-c", HOLDER],
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        self.root = f"/proc/{self.holder.pid}/root"

    def start_files(self):
        config = {"shares": self.shares, "absent": [], "guest_uid": 1000, "guest_gid": 1000,
                  "guard": None, "undo": False, "marker": self.marker,
                  "next_marker": self.next, "memory": 5, "control": None, "state": None}
        config |= {name: 6 + i for i, name in enumerate(self.beside)}
        reading, writing = os.pipe()
        self.files = spawn([BINARY], (self.ours.fileno(), reading, self.memory, *self.bulk),
                           stderr=self.log)
        os.close(reading)
        with os.fdopen(writing, "w") as file:
            json.dump(config, file)
        self.marker, self.next = self.next, os.urandom(32).hex()

    def start_relay(self, again=False):
        if self.control:
            self.control.close()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(20)
        self.relay = spawn(["nsenter", "-t", str(self.holder.pid), "-m", RELAY,
                            "again" if again else "new"],
                           (self.theirs.fileno(), theirs.fileno(), self.shared, *self.bulk),
                           stderr=self.log)
        theirs.close()

    def tell(self, kind, body=b""):
        self.control.send(MESSAGE.pack(kind, body))

    def heard(self):
        message = self.control.recv(4096)
        if not message:
            raise AssertionError(f"the relay has ended with {self.relay.wait(timeout=10)}")
        kind, body = MESSAGE.unpack(message)
        return kind, body.split(b"\0")[0].decode()

    def wait_ready(self):
        kind, problem = self.heard()
        assert kind == READY, kind
        return problem

    def path(self, name, index=0):
        return self.root + self.shares[index]["guest_path"] + "/" + name

    def kill_files(self):
        self.files.kill()
        self.files.wait()

    def close(self):
        """How the relay ended; 0 is in order."""
        code = self.relay.poll()
        if code is None:
            self.tell(FINISH)
            try:
                code = self.relay.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.relay.kill()
                code = self.relay.wait()
        self.files.send_signal(signal.SIGTERM)
        ended = self.files.wait(timeout=10)
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
        for item in (self.ours, self.theirs, self.control, self.log):
            item.close()
        for memory in [self.memory, *self.bulk]:
            os.close(memory)
        os.close(self.shared)
        return code or ended


def started(shares, log, bulk=True, rings=True):
    machine = Machine(shares, log, bulk, rings)
    machine.start_files()
    machine.start_relay()
    return machine


__all__ = ["Machine", "started", "share", "MARKER", "TAKEN", "READY", "FINISH"]
