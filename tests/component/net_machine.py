# SPDX-License-Identifier: Apache-2.0
"""net_machine - the net relay in a network namespace of this machine's own kernel

Plays PID 1 (with net_relay_alone) and the host. Sockets of programs are made in
the namespace; a second namespace behind a bridge is the container. Needs root
and a kernel with nf_tables.
"""
import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lib"))
from net_peer import Peer  # noqa: E402  pylint: disable=C0413

RELAY = os.path.join(TOP, os.environ.get("BAWN_BUILD", "build"),
                     "tests/component/net_relay_alone")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
GUEST = """
ip link set lo up
ip link add bawn0 type dummy 2>/dev/null || ip link add bawn0 type bridge
ip link add br0 type bridge
ip addr add 172.30.0.1/24 dev br0
ip link set br0 up
ip link add inside type veth peer name outside
ip link set outside master br0 up
echo 1 >/proc/sys/net/ipv4/ip_forward
"""
CONTAINER = """
ip link set lo up
ip addr add 172.30.0.2/24 dev inside
ip link set inside up
ip route add default via 172.30.0.1
"""


def place(fd, slots):
    """The port is descriptor 3 of the relay, the memory of the slots 4."""
    port, slots = fcntl.fcntl(fd, fcntl.F_DUPFD, 100), fcntl.fcntl(slots, fcntl.F_DUPFD, 100)
    os.dup2(port, 3, True)
    os.dup2(slots, 4, True)
    os.closerange(5, 110)


class NoRules(Exception):
    """This machine's kernel knows no such packet rules."""


class Namespace:
    """A network namespace that lives as long as its process."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "echo ready; exec sleep infinity"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.fd = os.open(f"/proc/{self.process.pid}/ns/net", os.O_RDONLY)

    def argv(self, *words):
        return ["nsenter", "-t", str(self.process.pid), "-n", *words]

    def run(self, script):
        return subprocess.run(self.argv("sh", "-ec", script), check=True, text=True,
                              capture_output=True).stdout

    @contextlib.contextmanager
    def entered(self):
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            assert LIBC.setns(self.fd, CLONE_NEWNET) == 0
            yield
        finally:
            assert LIBC.setns(here, CLONE_NEWNET) == 0
            os.close(here)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
        with self.entered():
            sock = socket.socket(family, kind, protocol)
        sock.settimeout(10)
        return sock

    def close(self):
        os.close(self.fd)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class NetMachine:
    def __init__(self, log):
        self.guest, self.container = Namespace(), Namespace()
        self.sockets = []
        self.guest.run(GUEST)
        self.guest.run(f"ip link set inside netns {self.container.process.pid}")
        self.container.run(CONTAINER)
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self.peer = Peer(ours)
        slots = os.memfd_create("slots")
        self.peer.use_slots(slots)
        with open(log, "ab") as file:
            self.relay = subprocess.Popen(
                self.guest.argv(RELAY), preexec_fn=lambda: place(theirs.fileno(), slots),
                close_fds=False, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
                env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        self.port = theirs  # the relay's, to take something from a dead one
        os.close(slots)
        self.pid = self.next_pid()

    def next_pid(self):
        assert select.select([self.relay.stdout], [], [], 20)[0], "no relay"
        line = self.relay.stdout.readline()
        if not line and self.relay.wait(timeout=10) == 77:
            raise NoRules
        assert line, f"the relay ended: {self.relay.wait(timeout=10)}"
        return int(line)

    @contextlib.contextmanager
    def without_relay(self):
        """It was killed, and PID 1 has not seen it yet."""
        dead = os.pidfd_open(self.pid)
        self.relay.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.relay.pid, os.WSTOPPED)
        os.kill(self.pid, signal.SIGKILL)
        assert select.select([dead], [], [], 20)[0]
        os.close(dead)
        yield
        self.relay.send_signal(signal.SIGCONT)
        self.pid = self.next_pid()

    def prepare(self, marker):
        self.relay.stdin.write(marker)
        self.relay.stdin.flush()
        assert self.next_pid() == self.pid

    def program(self, address, port, container=False):
        """A connected socket of a program in the guest or in a container."""
        sock = (self.container if container else self.guest).socket()
        self.sockets.append(sock)
        sock.connect((address, port))
        return sock

    def connection(self, address="198.18.0.7", port=443, container=False):
        """A program's socket, and the stream at the host."""
        sock = self.program(address, port, container)
        return sock, self.peer.accept()

    def close(self):
        for sock in self.sockets:
            sock.close()
        alive = self.relay.poll() is None
        self.relay.stdin.close()
        code = self.relay.wait(timeout=20)
        self.relay.stdout.close()
        self.peer.socket.close()
        self.port.close()
        self.guest.close()
        self.container.close()
        return code if alive else f"ended before: {code}"
