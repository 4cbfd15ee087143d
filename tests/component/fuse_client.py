# SPDX-License-Identifier: Apache-2.0
"""fuse_client - a guest's kernel and relay in Python: raw FUSE over a socketpair

Starts the real bawn-files, confined as it always is, and speaks records to it
(PROTOCOL.md, files port). Nothing is checked on the way out: tests send what a
kernel never would.
"""
import errno
import json
import mmap
import os
import socket
import struct
import subprocess
import threading

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BINARY = os.environ.get("BAWN_FILES",
                        os.path.join(TOP, os.environ.get("BAWN_BUILD", "build"),
                                     "src/files/bawn-files"))
(HELLO, WELCOME, FUSE, DROP, TICKET, AHEAD, BULK, WRITE, ROOM, RINGS, WAKE, SPARE,
 MAKE) = range(1, 14)
READS_BULK, WRITES_BULK, READS_ROOM, KEEPS_LISTINGS, HAS_RINGS, MAKES_FILES = 1, 2, 4, 8, 16, 32
BULK_BYTES = 8 << 20
OPS = {name: number for number, name in {
    1: "LOOKUP", 2: "FORGET", 3: "GETATTR", 4: "SETATTR", 5: "READLINK", 6: "SYMLINK",
    8: "MKNOD", 9: "MKDIR", 10: "UNLINK", 11: "RMDIR", 12: "RENAME", 13: "LINK", 14: "OPEN",
    15: "READ", 16: "WRITE", 17: "STATFS", 18: "RELEASE", 20: "FSYNC", 21: "SETXATTR",
    22: "GETXATTR", 23: "LISTXATTR", 24: "REMOVEXATTR", 25: "FLUSH", 26: "INIT",
    27: "OPENDIR", 28: "READDIR", 29: "RELEASEDIR", 30: "FSYNCDIR", 34: "ACCESS",
    35: "CREATE", 36: "INTERRUPT", 38: "DESTROY", 42: "BATCH_FORGET", 43: "FALLOCATE",
    44: "READDIRPLUS", 45: "RENAME2", 46: "LSEEK", 47: "COPY_FILE_RANGE", 50: "SYNCFS",
}.items()}
NO_REPLY = {OPS["FORGET"], OPS["BATCH_FORGET"]}
ROOT = 1
IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
ENTRY = struct.Struct("<QQQQII")
ATTR_FIELDS = ("ino size blocks atime mtime ctime atimensec mtimensec ctimensec mode nlink "
               "uid gid rdev blksize flags").split()
INVAL_INODE, INVAL_ENTRY = 2, 3
FATTR_MODE, FATTR_UID, FATTR_GID, FATTR_SIZE = 1, 2, 4, 8
FATTR_ATIME, FATTR_MTIME = 16, 32


class Attr:
    def __init__(self, data):
        self.__dict__.update(zip(ATTR_FIELDS, ATTR.unpack(data)))


class Entry:
    def __init__(self, data):
        (self.node, self.generation, self.entry_valid, self.attr_valid,
         _, _) = ENTRY.unpack_from(data)
        self.attr = Attr(data[ENTRY.size:ENTRY.size + ATTR.size])


class Notice:
    def __init__(self, share, code, body):
        self.share, self.code = share, code
        if code == INVAL_INODE:
            self.node, self.off, self.len = struct.unpack("<Qqq", body)
        elif code == INVAL_ENTRY:
            self.node, length, _ = struct.unpack_from("<QII", body)
            self.name = body[16:16 + length]


def share(path, **more):
    return {"path": str(path), "guest_path": str(path), "read_only": False, "overlay": False,
            "gone": False, "quota_bytes": 0, "quota_inodes": 0, "hide": [], **more}


# Above every descriptor that a long run of pytest has open.
FAR = 500


def place(fds):
    """In a child that is to be a program: fds become 3, 4, ...; None leaves one out."""
    # Out of the way first: the numbers may be each other's.
    for i, fd in enumerate(fds):
        if fd is not None:
            os.dup2(fd, FAR + i, True)
    os.closerange(3, FAR)
    for i, fd in enumerate(fds):
        if fd is not None:
            os.dup2(FAR + i, 3 + i, True)
    os.closerange(FAR, FAR + len(fds))


class Files:
    """One bawn-files and the connection to it."""
    features = 0  # of HELLO
    rings = None  # files_rings.py
    gives_back = True  # what was read of the memory

    def __init__(self, shares, uid=None, absent=(), marker=None, memory=None,
                 initialised=0, start=True, next_marker=None, control=None, state=None,
                 notifier=0, bulk=False, features=0, rings=None, **more):
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        self.socket, self.unique, self.buffer, self.position = ours, 2, b"", 0
        self.notifier, self.pid = notifier, 0
        self.features = features | (READS_BULK | WRITES_BULK if bulk else 0)
        self.pieces = []  # (start, length) of each BULK that came
        memories = self._share_memory() if bulk else []
        self.rings = rings
        if rings:
            self.features |= HAS_RINGS
            rings.reset()
            memories += [os.dup(rings.fd), os.dup(rings.bell)]
        self.notices, self.replies, self.raw = [], {}, []
        self.lock = threading.Lock()
        config = {"shares": shares, "absent": [str(path) for path in absent],
                  "guest_uid": 1000, "guest_gid": 1000, "guard": None, "undo": False,
                  "marker": marker, "next_marker": next_marker,
                  "memory": 5 if memory is not None else None,
                  "control": 6 if control is not None else None,
                  "state": 7 if state is not None else None, **more}
        if bulk:
            config |= {"to_guest": 8, "from_guest": 9}
        if rings:
            config |= {"rings": 6 + len(memories), "bell": 7 + len(memories)}
        reading, writing = os.pipe()
        self.process = self._spawn((theirs.fileno(), reading, memory, control, state,
                                    *memories), uid)
        for fd in memories:
            os.close(fd)
        theirs.close()
        os.close(reading)
        with os.fdopen(writing, "w") as file:
            json.dump(config, file)
        if marker:
            self._expect_marker(bytes.fromhex(marker))
        if start:
            self.hello(initialised)
            for index in range(len(shares)):
                if not initialised >> index & 1:
                    self.init(share=index)

    def _spawn(self, fds, uid):
        def begin():
            place(fds)
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
        return subprocess.Popen([BINARY], preexec_fn=begin, close_fds=False,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                # The leak check at the end needs calls that seccomp forbids.
                                env={"ASAN_OPTIONS": "detect_leaks=0"})

    def _share_memory(self):
        """What bawn-files reads is not its own to write, and the other way round."""
        fds = []
        for name, ours in (("to_guest", mmap.PROT_READ),
                           ("from_guest", mmap.PROT_READ | mmap.PROT_WRITE)):
            fd = os.memfd_create(name)
            os.ftruncate(fd, BULK_BYTES)
            setattr(self, name, mmap.mmap(fd, BULK_BYTES, prot=ours))
            theirs = os.O_RDWR if name == "to_guest" else os.O_RDONLY
            fds.append(os.open(f"/proc/self/fd/{fd}", theirs))
            os.close(fd)
        return fds

    def _expect_marker(self, marker):
        while marker not in self.buffer:
            self.buffer += self.socket.recv(65536)
        self.buffer = self.buffer[self.buffer.index(marker) + len(marker):]

    # Records

    def send_record(self, kind, payload, share=0):
        data = struct.pack("<IBBH", len(payload), kind, share, 0) + payload
        if self.rings and self.rings.active:
            self.rings.write(data)
        else:
            self.socket.sendall(data)

    def read_record(self):
        head = self._take(8)
        length, kind, index, _ = struct.unpack("<IBBH", head)
        payload = self._take(length)
        if kind != BULK:
            return kind, index, payload
        start, length = struct.unpack("<II", payload)
        assert self.features & READS_BULK and 0 < length <= BULK_BYTES - start
        self.pieces.append((start, length))
        # In the place of the record; nothing else of it was taken yet.
        self.buffer = self.to_guest[start:start + length] + self.buffer[self.position:]
        self.position = 0
        if self.gives_back:
            self.send_record(BULK, struct.pack("<I", 1))
        return self.read_record()

    def _take(self, length):
        """The next bytes; what was used is cut off now and then, not each time."""
        while len(self.buffer) - self.position < length:
            if self.rings and self.rings.active:
                data = self.rings.read(self.socket)
            else:
                data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError(f"bawn-files ended: {self.end()}")
            self.buffer = self.buffer[self.position:] + data
            self.position = 0
        start, self.position = self.position, self.position + length
        return self.buffer[start:self.position]

    def hello(self, initialised=0):
        self.send_record(HELLO, struct.pack("<IIQI", 3, self.notifier, initialised,
                                            self.features))
        while True:
            kind, _, payload = self.read_record()
            if kind == WELCOME:
                self.welcome = payload
                if not self.rings:
                    return
            elif kind == RINGS:
                start = self.rings.begin(*struct.unpack("<I", payload))
                self.send_record(RINGS, struct.pack("<I", start))
                self.rings.active = True
                return

    # Requests

    def send(self, op, node=ROOT, body=b"", share=0, length=None, extra=0, make=b""):
        """make: what follows the message when it is a MAKE."""
        op = OPS.get(op, op)
        self.unique += 2
        head = IN_HEADER.pack(40 + len(body) if length is None else length, op, self.unique,
                              node, 0, 0, self.pid, extra, 0)
        self.send_record(MAKE if make else FUSE, head + body + make, share)
        return self.unique

    def receive(self, unique):
        while unique not in self.replies:
            kind, index, payload = self.read_record()
            if kind != FUSE:
                self.raw.append((kind, index, payload))
                continue
            length, error, found = OUT_HEADER.unpack_from(payload)
            assert length == len(payload)
            if found == 0:
                self.notices.append(Notice(index, error, payload[16:]))
            else:
                self.replies[found] = (-error, payload[16:])
        return self.replies.pop(unique)

    def call(self, op, node=ROOT, body=b"", share=0, **more):
        """errno and the body of the reply."""
        return self.receive(self.send(op, node, body, share, **more))

    def ok(self, op, node=ROOT, body=b"", share=0):
        error, reply = self.call(op, node, body, share)
        if error:
            raise OSError(error, f"{op}: {os.strerror(error)}")
        return reply

    def init(self, share=0):
        flags = 0xffffffff & ~(1 << 31)
        reply = self.ok("INIT", 0, struct.pack("<IIIII", 7, 38, 1 << 20, flags, 0) + bytes(44),
                        share)
        return reply

    def lookup(self, name, node=ROOT, share=0):
        entry = Entry(self.ok("LOOKUP", node, name_of(name), share))
        if not entry.node:
            raise OSError(errno.ENOENT, "negative entry")
        return entry

    def walk(self, path, share=0):
        node = ROOT
        for name in path.split("/"):
            node = self.lookup(name, node, share).node
        return node

    def create(self, name, node=ROOT, mode=0o644, flags=os.O_RDWR | os.O_CREAT, share=0):
        reply = self.ok("CREATE", node,
                        struct.pack("<IIII", flags, mode, 0o022, 0) + name_of(name), share)
        return Entry(reply)

    def send_make(self, name, spare, node=ROOT, flags=os.O_RDWR | os.O_CREAT | os.O_EXCL,
                  mode=0o644, share=0, more=b""):
        """CREATE that the kernel was told is done: as this node."""
        return self.send("CREATE", node, struct.pack("<IIII", flags, mode, 0o022, 0)
                         + name_of(name) + more, share, make=struct.pack("<Q", spare))

    def make(self, *args, **more):
        """errno, and what the reply says when there is none."""
        error, reply = self.receive(self.send_make(*args, **more))
        assert error or len(reply) == ENTRY.size + ATTR.size + 16
        return error, None if error else Entry(reply)

    def spares(self, share=0):
        """All nodes that were given for this, up to now."""
        self.ok("STATFS", ROOT, share=share)
        return [node for kind, index, payload in self.raw if kind == SPARE and index == share
                for node, in struct.iter_unpack("<Q", payload)]

    def mkdir(self, name, node=ROOT, mode=0o755, share=0):
        return Entry(self.ok("MKDIR", node, struct.pack("<II", mode, 0o022) + name_of(name),
                             share))

    def getattr(self, node, share=0):
        return Attr(self.ok("GETATTR", node, bytes(16), share)[16:])

    def setattr(self, node, valid, share=0, size=0, mode=0, uid=0, gid=0, atime=(0, 0),
                mtime=(0, 0)):
        body = struct.pack("<IIQQQQQQIIIIIIII", valid, 0, 0, size, 0, atime[0], mtime[0], 0,
                           atime[1], mtime[1], 0, mode, 0, uid, gid, 0)
        return Attr(self.ok("SETATTR", node, body, share)[16:])

    def read(self, node, offset=0, size=65536, share=0):
        return self.ok("READ", node, struct.pack("<QQIIQII", 0, offset, size, 0, 0, 0, 0), share)

    def write(self, node, data, offset=0, flags=0, share=0, claim=None):
        claim = len(data) if claim is None else claim
        reply = self.ok("WRITE", node, struct.pack("<QQIIQII", 0, offset, claim, 0, 0, flags, 0)
                        + data, share)
        return struct.unpack_from("<I", reply)[0]

    def rename(self, old, new, node=ROOT, to=ROOT, flags=None, share=0):
        if flags is None:
            self.ok("RENAME", node, struct.pack("<Q", to) + name_of(old) + name_of(new), share)
        else:
            self.ok("RENAME2", node, struct.pack("<QII", to, flags, 0) + name_of(old)
                    + name_of(new), share)

    def readdir(self, node=ROOT, share=0, plus=False, size=4096):
        """All names with their inode numbers (and entries)."""
        found, offset = {}, 0
        while True:
            data = self.ok("READDIRPLUS" if plus else "READDIR", node,
                           struct.pack("<QQIIQII", 0, offset, size, 0, 0, 0, 0), share)
            if not data:
                return found
            while data:
                entry = None
                if plus:
                    entry = Entry(data)
                    data = data[ENTRY.size + ATTR.size:]
                ino, offset, length, kind = struct.unpack_from("<QQII", data)
                found[os.fsdecode(data[24:24 + length])] = entry if plus else (ino, kind)
                data = data[(24 + length + 7) & ~7:]

    def wait_notice(self, wanted, seconds=5):
        """Until a notice satisfies wanted; keeps asking, as a live guest does."""
        self.socket.settimeout(seconds)
        try:
            while True:
                for notice in self.notices:
                    if wanted(notice):
                        return notice
                kind, index, payload = self.read_record()
                if kind != FUSE:
                    self.raw.append((kind, index, payload))
                    continue
                _, code, unique = OUT_HEADER.unpack_from(payload)
                assert unique == 0
                self.notices.append(Notice(index, code, payload[16:]))
        finally:
            self.socket.settimeout(20)

    # The end

    def alive(self):
        return self.process.poll() is None

    def end(self):
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "still running"
        return f"status {status}: {self.process.stderr.read().decode(errors='replace')}"

    def close(self):
        """Ends it and says how it ended: 0 is in order."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # another thread may be reading
        except OSError:
            pass
        self.socket.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        return self.process.returncode


def name_of(name):
    return (name if isinstance(name, bytes) else os.fsencode(name)) + b"\0"
