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
import stat
import struct
import subprocess
import sys
import threading

from fuse_client import FUSE, TICKET, Files

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
READ_BYTES = (1 << 20) + 65536
UTIME_OMIT, AT_SYMLINK_NOFOLLOW = (1 << 30) - 2, 0x100
MODIFY, CLOSE_WRITE, ATTRIB, CREATE, REMOVE, RENAME = range(1, 7)


class Relay:
    def __init__(self, shares, where):
        self.files = Files(shares, start=False)
        self.tickets, self.where, self.lock = queue.SimpleQueue(), where, threading.Lock()
        ready = queue.SimpleQueue()
        threading.Thread(target=self.notify, args=(ready,), daemon=True).start()
        self.files.notifier = ready.get()
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
                self.send(FUSE, message)
            except FileNotFoundError:  # interrupted before we had it
                continue
            except OSError:
                return

    def send(self, kind, payload):
        with self.lock:
            self.files.send_record(kind, payload)

    def to_kernel(self):
        while True:
            try:
                kind, _, payload = self.files.read_record()
            except (OSError, ValueError):
                return
            if kind == TICKET:
                self.notices.put((kind, payload))
            if kind != FUSE:
                continue
            if struct.unpack_from("<Q", payload, 8)[0] == 0:
                self.notices.put((kind, payload))
            else:
                self.write(payload)

    def to_kernel_notices(self):
        """The kernel may wait for a reply while it takes one of these."""
        while True:
            kind, payload = self.notices.get()
            if kind == TICKET:  # what was told before must be true by then
                self.tickets.put(payload)
            else:
                self.write(payload)
                self.told += 1

    def notify(self, ready):
        """The notifier: what the host did once more, for its events."""
        ready.put(threading.get_native_id())
        libc = ctypes.CDLL(None, use_errno=True)
        while True:
            payload = self.tickets.get()
            what, number = struct.unpack_from("<II", payload)
            try:
                root = os.open(self.where, os.O_PATH)  # kept, it would keep the mount
                try:
                    again(libc, root, what & 0xff, what & ~0xff, payload[8:].split(b"\0"))
                finally:
                    os.close(root)
            except OSError:
                pass  # changed again meanwhile
            self.send(TICKET, struct.pack("<I", number))

    def write(self, payload):
        try:
            os.write(self.device, payload)
        except OSError:
            pass  # forgotten or interrupted meanwhile


def again(libc, root, kind, mode, paths):
    if kind in (MODIFY, ATTRIB):
        # Both times together are an attribute; the later one alone is a change.
        times = struct.pack("<qqqq", 0, 0 if kind == ATTRIB else UTIME_OMIT, 0, 0)
        libc.utimensat(root, paths[0], times, AT_SYMLINK_NOFOLLOW)
    elif kind == CLOSE_WRITE:
        os.close(os.open(paths[0], os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root))
    elif kind == CREATE and mode == stat.S_IFDIR:
        os.mkdir(paths[0], dir_fd=root)
    elif kind == CREATE and mode == stat.S_IFLNK:
        os.symlink("x", paths[0], dir_fd=root)
    elif kind == CREATE:
        os.mknod(paths[0], mode | 0o600, dir_fd=root)
    elif kind == REMOVE and mode == stat.S_IFDIR:
        os.rmdir(paths[0], dir_fd=root)
    elif kind == REMOVE:
        os.unlink(paths[0], dir_fd=root)
    elif kind == RENAME:
        os.rename(paths[0], paths[1], src_dir_fd=root, dst_dir_fd=root)


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
        out, _ = self.process.communicate(timeout=20)
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
