# SPDX-License-Identifier: Apache-2.0
"""plain_machine.py - bawn's machine without bawn, with virtiofsd if wanted

The arguments are those of a sandbox that was started cold, read from its QEMU:
same machine type, CPU, kernel, initramfs and template. What differs is named
here: RAM that can be shared with virtiofsd, disks by path, our own ends of the
ports, and one module more in the initramfs. Commands run as sessions of
bawn-init (PROTOCOL.md §1-§4).

Who uses it gives a `place`: HOME, bawn(*args), qemu_pid(name), newest(pattern),
template_disk(), quiet(argv). bench/common.py is one.
"""
import atexit
import glob
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import time

FRAME = struct.Struct("<B3xII")
MESSAGE, DATA, WINDOW, EOF, CLOSE = 1, 2, 3, 4, 5
HELLO, WAKE, AWAKE, START, STARTED, EXITED = 1, 2, 3, 4, 5, 9
WITH_STDIN = 2
FIRST_WINDOW = 262144
PIECE = 32768
SLOTS_BYTES = 64 * 65536
BOOT_SECONDS = 120
VIRTIOFSD = "/usr/lib/qemu/virtiofsd"


def string(text):
    return text.encode() + b"\0"


def strings(texts):
    return struct.pack("<I", len(texts)) + b"".join(map(string, texts))


def cold_arguments(place):
    """QEMU's arguments of a cold sandbox; kernel and template are made now."""
    name = "plain-arguments"
    place.bawn("rm", "-f", name, check=False)
    place.bawn("create", "--cold", "--name", name, "shell", ".")
    with open(f"/proc/{place.qemu_pid(name)}/cmdline", "rb") as file:
        words = [word.decode() for word in file.read().split(b"\0")[1:-1]]
    place.bawn("rm", "-f", name)
    return words


def own_arguments(words, files, disk, slots):
    """The same list with what only a supervisor's child can have replaced, and
    the names of the ports whose other end is ours."""
    out, ports = [], []
    while words:
        word = words.pop(0)
        value = words.pop(0) if words and not words[0].startswith("-") else None
        if word in ("-add-fd", "-blockdev", "-mon"):
            continue
        if "bell" in (value or ""):
            continue  # nobody would answer it
        if word == "-chardev":
            name = value.split("id=")[1].split(",")[0]
            if name == "console":
                out += [word, "null,id=console"]
            elif name != "monitor":
                ports.append(name)
            continue
        if word == "-object" and "id=slots" in value:
            value = value.replace("/bawn/slots", f"/dev/fd/{slots}")
        elif word == "-object":
            name, size = (value.split(f"{key}=")[1].split(",")[0] for key in ("id", "size"))
            value = f"memory-backend-memfd,id={name},size={size},share=on"
        if word in ("-kernel", "-initrd"):
            value = files[word]
        out += [word] if value is None else [word, value]
    return [*out, "-blockdev",
            f"driver=qcow2,node-name=disk0,discard=unmap,file.driver=file,"
            f"file.filename={disk},file.discard=unmap"], ports


def module_of(place, release, name, folder):
    """A module that bawn's guests have no need of, from Debian's package."""
    kept = f"{folder}/{release}-{name}.ko"
    if not os.path.exists(kept):
        package = f"linux-image-{release}"
        work = f"{folder}/package"
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        done = subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", package],
                              cwd=work, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"{package}: {done.stdout}")
        place.quiet(["dpkg-deb", "-x", glob.glob(f"{work}/*.deb")[0], f"{work}/root"])
        found = glob.glob(f"{work}/root/**/{name}.ko", recursive=True)
        if not found:
            sys.exit(f"{package} has no module {name}")
        shutil.copy(found[0], kept)
        shutil.rmtree(work)
    return kept


def cpio(entries):
    """An archive in the kernel's format; it goes behind the one of bawn."""
    out = b""
    for number, (name, content) in enumerate([*entries, ("TRAILER!!!", None)]):
        mode = 0 if content is None else 0o100644
        fields = [number + 1 if mode else 0, mode, 0, 0, 1, 0, len(content or b""),
                  0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields)
        out += string(name)
        out += bytes(-len(out) % 4) + (content or b"")
        out += bytes(-len(out) % 4)
    return out


class Blueprint:
    """What every plain machine of one run has in common."""

    def __init__(self, place, module=None):
        """module: one more for the guest."""
        self.place = place
        self.folder = f"{place.HOME}/workspace"
        os.makedirs(self.folder, exist_ok=True)
        self.words = cold_arguments(place)
        kernel = place.newest(f"{place.HOME}/cache/kernels/*/vmlinux")
        initrd = place.newest(f"{place.HOME}/cache/initramfs/*.cpio")
        self.files = {"-kernel": kernel, "-initrd": initrd}
        self.template = place.template_disk()
        if module:
            self.add_module(kernel, initrd, module)

    def add_module(self, kernel, initrd, name):
        release = os.path.basename(os.path.dirname(kernel)).rsplit("-", 1)[0]
        with open(f"{os.path.dirname(kernel)}/modules.order", "rb") as file:
            order = file.read()
        with open(module_of(self.place, release, name, self.folder), "rb") as file:
            module = file.read()
        with open(initrd, "rb") as file:
            first = file.read()
        more = cpio([(f"modules/{name}.ko", module),
                     ("modules.order", order.rstrip(b"\n") + f"\n[gate]\n{name}.ko\n".encode())])
        self.files["-initrd"] = f"{self.folder}/initramfs.cpio"
        with open(self.files["-initrd"], "wb") as file:
            file.write(first + bytes(-len(first) % 512) + more)


class PlainMachine:
    """A booted guest; share is (folder, cache mode) for virtiofsd, or None; port
    is one more (number, name)."""

    def __init__(self, blueprint, share=None, port=None):
        self.disk = f"{blueprint.folder}/disk.qcow2"
        self.daemon = None
        self.slots = os.memfd_create("slots", os.MFD_CLOEXEC)
        os.ftruncate(self.slots, SLOTS_BYTES)
        blueprint.place.quiet(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                      blueprint.template, self.disk, "100G"])
        words, ports = own_arguments(list(blueprint.words), blueprint.files, self.disk,
                                     self.slots)
        self.ports, theirs = {}, []
        for name in ports:
            self.ports[name], end = socket.socketpair()
            words += ["-chardev", f"socket,id={name},fd={end.fileno()}"]
            theirs.append(end)
        if port:
            self.ports[port[1]], end = socket.socketpair()
            words += ["-chardev", f"socket,id=more,fd={end.fileno()}", "-device",
                      f"virtserialport,bus=ports.0,nr={port[0]},chardev=more,name={port[1]}"]
            theirs.append(end)
        if share:
            words += self.start_daemon(*share, blueprint.folder)
        self.qemu = subprocess.Popen(["qemu-system-x86_64", *words],
                                     pass_fds=[self.slots, *(end.fileno() for end in theirs)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        atexit.register(self.close)
        for end in theirs:
            end.close()
        self.socket = self.ports["control"]
        self.buffer = b""
        self.stream = self.session = 0
        self.wake()
        if share:
            self.mount(share[0])

    def mount(self, folder):
        """The template has no mount program."""
        call = f"libc.mount(b'bench', b'{folder}', b'virtiofs', 0, None)"
        self.sh(f"mkdir -p {folder} && python3 -c \"import ctypes; libc = ctypes.CDLL(None, "
                f"use_errno=True); exit({call} and ctypes.get_errno())\"")

    def start_daemon(self, folder, cache, scratch):
        path = f"{scratch}/virtiofsd.sock"
        if os.path.exists(path):
            os.unlink(path)
        with open(f"{scratch}/virtiofsd.log", "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(
                [VIRTIOFSD, f"--socket-path={path}", "-o",
                 f"source={folder},cache={cache},writeback,xattr"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while not os.path.exists(path):
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"virtiofsd did not start: see {scratch}/virtiofsd.log")
            time.sleep(0.01)
        return ["-chardev", f"socket,id=share,path={path}",
                "-device", "vhost-user-fs-pci,chardev=share,tag=bench,queue-size=1024"]

    def send(self, kind, stream, payload):
        self.socket.sendall(FRAME.pack(kind, stream, len(payload)) + payload)

    def message(self, kind, payload):
        self.send(MESSAGE, 0, struct.pack("<H", kind) + payload)

    def receive(self):
        while True:
            if len(self.buffer) >= FRAME.size:
                kind, stream, length = FRAME.unpack_from(self.buffer)
                end = FRAME.size + length
                if len(self.buffer) >= end:
                    payload, self.buffer = self.buffer[FRAME.size:end], self.buffer[end:]
                    return kind, stream, payload
            piece = self.socket.recv(1 << 20)
            if not piece:
                sys.exit("the plain machine ended")
            self.buffer += piece

    def expect(self, wanted):
        while True:
            kind, _, payload = self.receive()
            if kind == MESSAGE and struct.unpack_from("<H", payload)[0] == wanted:
                return payload[2:]

    def wake(self):
        self.socket.settimeout(BOOT_SECONDS)
        self.expect(HELLO)
        self.message(WAKE, struct.pack("<Q", time.time_ns()) + os.urandom(64 + 16) +
                     string("bench") + struct.pack("<I", 0) + string("") + string(""))
        self.expect(AWAKE)
        self.socket.settimeout(None)

    def run(self, argv, user="root", given=None):
        """Output (both kinds together) and wait status."""
        self.session += 1
        self.stream += 1
        flags = WITH_STDIN if given is not None else 0
        self.message(START, struct.pack("<IIIIHH", self.session, flags, self.stream, 0, 0, 0)
                     + string(user) + string("/") + strings(argv) + strings([]))
        return Conversation(self, given).result()

    def sh(self, script, user="root", given=None):
        out, status = self.run(["/bin/bash", "-c", script], user, given)
        if status:
            sys.exit(f"plain machine: {script}: {status}: {out.decode(errors='replace')}")
        return out.decode(errors="replace")

    def close(self):
        atexit.unregister(self.close)
        self.qemu.kill()
        self.qemu.wait()
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()
        for end in self.ports.values():
            end.close()
        os.close(self.slots)
        os.unlink(self.disk)


class Conversation:
    """The frames of one session."""

    def __init__(self, machine, given):
        self.machine = machine
        self.left = memoryview(given or b"")
        self.ended = given is None
        self.window = FIRST_WINDOW
        self.out = []

    def feed(self):
        """Sends input while there is some and the guest has room."""
        machine = self.machine
        while len(self.left) and self.window and not machine.buffer:
            count = min(PIECE, self.window, len(self.left))
            machine.send(DATA, machine.stream, bytes(self.left[:count]))
            self.left = self.left[count:]
            self.window -= count
            if select.select([machine.socket], [], [], 0)[0]:
                return
        if not len(self.left) and not self.ended:
            machine.send(EOF, machine.stream, b"")
            self.ended = True

    def result(self):
        machine = self.machine
        while True:
            self.feed()
            kind, stream, payload = machine.receive()
            if kind == DATA and stream == machine.stream:
                self.out.append(payload)
                machine.send(WINDOW, stream, struct.pack("<I", len(payload)))
            if kind == WINDOW and stream == machine.stream:
                self.window += struct.unpack("<I", payload)[0]
            if kind != MESSAGE:
                continue
            what, session = struct.unpack_from("<HI", payload)
            if session != machine.session:
                continue
            if what == STARTED and struct.unpack_from("<I", payload, 6)[0] == 0:
                sys.exit(f"plain machine: a session did not start: {payload!r}")
            if what == EXITED:
                return b"".join(self.out), struct.unpack_from("<I", payload, 6)[0]
