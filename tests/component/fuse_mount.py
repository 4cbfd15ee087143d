# SPDX-License-Identifier: Apache-2.0
"""fuse_mount - this machine's own kernel as the guest: /dev/fuse to bawn-files

A relay as simple as can be, one thread each way, in a process of its own: a page
fault in the process that serves it would never end. Needs root and /dev/fuse.

usage: fuse_mount.py FOLDER SHARES(JSON)
"""
import ctypes
import json
import os
import queue
import struct
import subprocess
import sys
import threading

from fuse_client import FUSE, Files

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
READ_BYTES = (1 << 20) + 65536


class Relay:
    def __init__(self, shares, where):
        self.files = Files(shares, start=False)
        self.files.hello()
        self.files.socket.settimeout(None)
        self.notices = queue.SimpleQueue()
        self.told = 0
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        options = (f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other,"
                   "default_permissions")
        if libc.mount(b"bawn", os.fsencode(where), b"fuse", MS_NOSUID | MS_NODEV,
                      options.encode()) != 0:
            error = ctypes.get_errno()
            self.files.close()
            raise OSError(error, os.strerror(error))

    def run(self):
        for target in (self.to_kernel, self.to_kernel_notices):
            threading.Thread(target=target, daemon=True).start()
        self.to_server()

    def to_server(self):
        """Until it is unmounted."""
        while True:
            try:
                message = os.read(self.device, READ_BYTES)
                self.files.send_record(FUSE, message)
            except FileNotFoundError:  # interrupted before we had it
                continue
            except OSError:
                return

    def to_kernel(self):
        while True:
            try:
                kind, _, payload = self.files.read_record()
            except (OSError, ValueError):
                return
            if kind != FUSE:
                continue
            if struct.unpack_from("<Q", payload, 8)[0] == 0:
                self.notices.put(payload)
            else:
                self.write(payload)

    def to_kernel_notices(self):
        """The kernel may wait for a reply while it takes one of these."""
        while True:
            self.write(self.notices.get())
            self.told += 1

    def write(self, payload):
        try:
            os.write(self.device, payload)
        except OSError:
            pass  # forgotten or interrupted meanwhile


class Mount:
    """A relay in its own process, for tests."""

    def __init__(self, shares, where):
        self.where = where
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), where,
                                         json.dumps(shares)], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "mounted\n":
            self.process.wait()
            raise PermissionError("not mounted")

    def close(self):
        """How many notices were told; raises when bawn-files ended badly."""
        ctypes.CDLL(None).umount2(os.fsencode(self.where), MNT_DETACH)
        out, _ = self.process.communicate(timeout=60)
        code, told = out.split()
        assert int(code) == 0, code
        return int(told)


def main():
    relay = Relay(json.loads(sys.argv[2]), sys.argv[1])
    print("mounted", flush=True)
    relay.run()
    print(relay.files.close(), relay.told)


if __name__ == "__main__":
    main()
