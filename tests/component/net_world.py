# SPDX-License-Identifier: Apache-2.0
"""net_world.py - a network of its own for bawn-net, and bawn-net in it

The network namespace has nothing but a loopback device with addresses that
are public as far as any rule is concerned. Servers of a test listen there. A
thread has entered the namespace; what is made in it belongs to it.
"""
import ctypes
import json
import mmap
import os
import queue
import signal
import socket
import subprocess
import threading
import time

import dns.message

import net_port
from net_peer import CALL_HEAD, CUT

BUILD = os.environ.get("BAWN_BUILD", os.path.join(os.path.dirname(__file__), "../../build"))
BINARY = os.environ.get("BAWN_TEST_NET", os.path.join(BUILD, "src/net/bawn-net"))
SANDBOX_UID = 61234
CLONE_NEWNET = 0x40000000
WAIT_SECONDS = 10
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

PUBLIC = ["203.0.113.1/24", "10.1.2.3/24", "192.168.7.7/24", "169.254.169.254/32",
          "100.64.1.1/32", "198.51.100.1/24"]
PUBLIC6 = ["2001:db8::/64", "fd00::/64", "64:ff9b::a01:203/128"]


class World:
    """Runs what it is given in a thread inside the namespace."""

    def __init__(self):
        self.jobs = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()
        self.call(self.make)

    def work(self):
        while True:
            job, reply = self.jobs.get()
            if job is None:
                return
            try:
                reply.put((job(), None))
            except BaseException as problem:  # pylint: disable=broad-except
                reply.put((None, problem))

    def call(self, job):
        reply = queue.Queue()
        self.jobs.put((job, reply))
        value, problem = reply.get()
        if problem:
            raise problem
        return value

    def stop(self):
        self.jobs.put((None, None))
        self.thread.join()

    @staticmethod
    def make():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        lines = ["link set lo up"]
        lines += [f"addr add {address} dev lo" for address in PUBLIC]
        lines += [f"route add local {prefix} dev lo" for prefix in PUBLIC6]
        for line in lines:
            family = ["-6"] if "::" in line else []
            subprocess.run(["ip", *family, *line.split()], check=True)

    def listen(self, address, port, backlog=128):
        def make():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # An address of the range that is not the device's own.
            sock.setsockopt(socket.IPPROTO_IP, 15, 1)
            sock.bind((address, port))
            sock.listen(backlog)
            return sock
        return self.call(make)

    def connect(self, address, port):
        return self.call(lambda: socket.create_connection((address, port), WAIT_SECONDS))

    def spawn(self, argv, **kwargs):
        return self.call(lambda: subprocess.Popen(argv, **kwargs))


def memfd(text):
    fd = os.memfd_create("config")
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Net:
    """One bawn-net: its port, its launcher's end, its files."""

    def __init__(self, world, folder, **settings):
        self.world, self.folder = world, str(folder)
        self.settings = {
            "sandbox": "box", "marker": None, "next_marker": os.urandom(32).hex(),
            "uid": SANDBOX_UID if os.geteuid() == 0 else 0,
            "policy": [], "preset": "none", "ask_ms": 0,
            "resolver": {"servers": [], "hosts": []},
            "proxy": {"http": None, "https": None, "no_proxy": None},
            "addresses": [], "published": [], "sockets": [],
        }
        self.settings.update(settings)
        self.trust = None       # a file in the place of the host's certificates
        self.secrets = None     # a list, as bawn-keys tells it; None: there is none
        self.logins = []        # beside them
        self.packets = []
        self.started = False
        self.reads_slots = False  # as the guest
        self.host_end, self.guest_end = socket.socketpair()

    def start(self, hello=True):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        self.control.settimeout(WAIT_SECONDS)
        files = [os.open(f"{self.folder}/{name}", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
                 for name in ("names", "log.jsonl")]
        self.settings["keys"] = self.secrets is not None
        config = memfd(json.dumps(self.settings))
        self.keys, keys_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.keys.settimeout(WAIT_SECONDS)
        if self.secrets is not None:
            self.send_secrets(self.secrets)
        slots = os.memfd_create("slots")
        os.ftruncate(slots, net_port.SLOT_BYTES * net_port.SLOT_COUNT)
        fds = [self.host_end.fileno(), config, theirs.fileno(), *files, keys_end.fileno(), slots]
        moves = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(fds))
        closes = " ".join(f"{fd}<&-" for fd in fds if fd > 9)
        self.errors = open(f"{self.folder}/errors", "ab")
        words = ["/bin/bash", "-c", f'exec "$0" {moves} {closes}', BINARY]
        if self.trust:
            words[2] = f'mount --bind "{self.trust}" {CERTIFICATES} && ' + words[2]
            words = ["unshare", "-m", "--propagation", "private", *words]
        self.process = self.world.spawn(
            words, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self.errors, env={"PATH": "/usr/bin:/bin"})
        for fd in [config, *files]:
            os.close(fd)
        theirs.close()
        keys_end.close()
        if not self.started:
            self.port = net_port.Port(self.guest_end)
            self.started = True
        if self.reads_slots:
            self.port.slots = mmap.mmap(slots, 0)
        os.close(slots)
        self.packet("ready")
        if self.secrets is not None:
            assert self.taken() is None
        if hello:
            self.port.hello()
            self.packet("welcomed")
        return self

    def restart(self, word=b""):
        """As the launcher does after a crash: with the announced marker. A relay with
        a word does not know that, and calls."""
        marker = self.port.welcome
        self.settings["marker"] = marker.hex()
        self.settings["next_marker"] = os.urandom(32).hex()
        self.port.marker, self.port.welcome, self.port.pending = word + marker, None, b""
        self.port.ended = False
        self.start(hello=False)
        if word:
            self.port.raw(CUT + CALL_HEAD + word)
        self.port.pump(lambda: self.port.welcome, WAIT_SECONDS, "WELCOME")
        self.packet("welcomed")

    # -- a program in the guest

    def address_of(self, name):
        """What its resolver says; None: nothing."""
        query = dns.message.make_query(name, "A").to_wire()
        answer = dns.message.from_wire(self.port.answer(self.port.ask(query)))
        return answer.answer[0][0].address if answer.answer else None

    def connect(self, target):
        host, _, port = target.rpartition(":")
        return self.port.open(self.address_of(host), int(port))

    # -- the launcher's end

    def send(self, packet, fds=()):
        socket.send_fds(self.control, [json.dumps(packet).encode()], list(fds))

    def packet(self, op, seconds=WAIT_SECONDS):
        """The next packet of that kind; others are kept."""
        for index, packet in enumerate(self.packets):
            if packet["op"] == op:
                return self.packets.pop(index)
        deadline = time.monotonic() + seconds
        while True:
            self.control.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.control.recv(65536)
            except (TimeoutError, ConnectionResetError):
                data = b""
            assert data, f"no packet {op}; {self.stderr()}"
            packet = json.loads(data)
            if packet["op"] == op:
                return packet
            self.packets.append(packet)

    def send_secrets(self, secrets):
        """The whole list, in bawn-keys' place."""
        fd = memfd(json.dumps({"secrets": secrets, "logins": self.logins}))
        socket.send_fds(self.keys, [b'{"op": "secrets"}'], [fd])
        os.close(fd)

    def taken(self):
        """What became of the list: the error, or None."""
        packet = json.loads(self.keys.recv(65536))
        assert packet["op"] == "taken"
        return packet.get("error")

    def configure(self, **changes):
        """New settings; returns the error, or None."""
        self.settings.update(changes)
        start_only = ("sandbox", "marker", "next_marker", "uid", "ca", "keys")
        text = json.dumps({key: value for key, value in self.settings.items()
                           if key not in start_only})
        fd = memfd(text)
        self.send({"op": "config"}, [fd])
        os.close(fd)
        return self.packet("configured").get("error")

    def rules(self, text, scope="sandbox"):
        return self.configure(policy=[{"scope": scope, "name": "rules", "text": text}])

    # -- what it left behind

    def stderr(self):
        with open(f"{self.folder}/errors", encoding="utf-8", errors="replace") as file:
            return file.read()

    def log(self):
        """Lines written so far."""
        with open(f"{self.folder}/log.jsonl", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def wait_log(self, wanted, seconds=WAIT_SECONDS):
        """Until a line has these values."""
        deadline = time.monotonic() + seconds
        while True:
            self.port.poll()
            lines = self.log()
            for line in lines:
                if all(line.get(key) == value for key, value in wanted.items()):
                    return line
            assert time.monotonic() < deadline, (wanted, lines[-5:], self.stderr())
            select_wait(0.01)

    def stop(self):
        """The planned end; everything it had must be released."""
        self.process.send_signal(signal.SIGTERM)
        code = self.wait()
        assert code == 0, (code, self.stderr())

    def wait(self, seconds=WAIT_SECONDS):
        code = self.process.wait(timeout=seconds)
        self.errors.close()
        self.control.close()
        self.keys.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.wait()


def select_wait(seconds):
    """A file has no event to wait for: look again after a moment."""
    threading.Event().wait(seconds)
