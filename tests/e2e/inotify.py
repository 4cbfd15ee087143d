# SPDX-License-Identifier: Apache-2.0
"""inotify - events of files and folders, as (kinds, name)"""
import ctypes
import os
import select
import struct
import time

KINDS = {1: "ACCESS", 2: "MODIFY", 4: "ATTRIB", 8: "CLOSE_WRITE", 0x10: "CLOSE_NOWRITE", 0x20: "OPEN",
         0x40: "MOVED_FROM", 0x80: "MOVED_TO", 0x100: "CREATE", 0x200: "DELETE",
         0x400: "DELETE_SELF", 0x800: "MOVE_SELF", 0x4000: "OVERFLOW", 0x8000: "IGNORED"}
WANTED = 2 | 4 | 8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800


class Inotify:
    def __init__(self, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self.events, self.cookies = [], {}
        for path in paths:
            self.add(path)

    def add(self, path):
        if self.libc.inotify_add_watch(self.fd, os.fsencode(path), WANTED) < 0:
            raise OSError(ctypes.get_errno(), path)

    def read(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return
        while data:
            _, mask, cookie, length = struct.unpack_from("<iIII", data)
            name = os.fsdecode(data[16:16 + length].rstrip(b"\0"))
            self.events += [(kind, name) for bit, kind in KINDS.items() if mask & bit]
            if cookie:
                self.cookies.setdefault(cookie, []).append(name)
            data = data[16 + length:]

    def wait(self, *wanted, seconds=1):
        """Until all of these came, in any order; all events so far."""
        end = time.monotonic() + seconds
        while not set(wanted) <= set(self.events):
            left = end - time.monotonic()
            assert left > 0, f"{self.events} without {set(wanted) - set(self.events)}"
            select.select([self.fd], [], [], left)
            self.read()
        found, self.events = self.events, []
        return found

    def quiet(self, seconds=0.3):
        """What comes within a while."""
        time.sleep(seconds)
        self.read()
        found, self.events = self.events, []
        return found

    def close(self):
        os.close(self.fd)
