# SPDX-License-Identifier: Apache-2.0
"""Two bawn-nets on one host: a guest that floods its own leaves the other alone"""
import os
import select
import statistics
import struct
import threading
import time

import net_port
from net_fixtures import Make

ROUNDS = 40
PIECE = 500             # of each kind in one write
NAMES = 32768           # of a sandbox, with those that have rules
OPENS = 16384
FLOOD_MAX = 1 << 19     # operations: the flood ends, whatever happens
FLOOD_SECONDS = 60
PEAK_KIB = 64 * 1024
EMPTY_QUERY = bytes.fromhex("000101000001000000000000")


def message(kind, payload):
    return struct.pack("<B3xIIH", net_port.MESSAGE, 0, len(payload) + 2, kind) + payload


def open_one(number, address):
    packed = bytes(map(int, address.split("."))).ljust(16, b"\0")
    return message(net_port.OPEN, struct.pack("<IB16sHB", number, 4, packed, 80, 0))


def ask_one(number):
    query = EMPTY_QUERY + b"\x08%08x" % number + b"\x07example\0\0\1\0\1"
    return message(net_port.DNS_QUERY, struct.pack("<IBH", number, 0, len(query)) + query)


class Flood:
    """Connections and names without end, as fast as they are taken."""

    def __init__(self, net, address):
        self.net, self.address = net, address
        self.sock = net.port.sock
        self.count = 0
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        deadline = time.monotonic() + FLOOD_SECONDS
        while not self.stopped and self.count < FLOOD_MAX and time.monotonic() < deadline:
            first = self.net.port.next_stream
            piece = b"".join(open_one(first + 2 * n, self.address) + ask_one(first + 2 * n)
                             for n in range(PIECE))
            self.net.port.next_stream += 2 * PIECE
            self.send(piece, deadline)
            self.count += PIECE

    def send(self, piece, deadline):
        """All of it, however late: a frame that is cut would end the server."""
        view = memoryview(piece)
        while view and time.monotonic() < deadline:
            readable, writable, _ = select.select([self.sock], [self.sock], [], 1)
            if readable:
                self.net.port.receive()
            if writable:
                view = view[self.sock.send(view):]

    def wait(self, count):
        """Until so many were sent, which is more than there may be."""
        deadline = time.monotonic() + FLOOD_SECONDS
        while self.count < count:
            assert self.thread.is_alive() and time.monotonic() < deadline, self.count
            self.thread.join(0.01)

    def stop(self):
        self.stopped = True
        self.thread.join(FLOOD_SECONDS)
        assert not self.thread.is_alive()


def visit(net, number):
    """A new name, its connection, an answer; seconds."""
    begin = time.monotonic()
    stream = net.connect(f"{number}.good.example:22")
    stream.send(b"hi %d" % number)
    stream.expect(b"hi %d" % number)
    stream.close()
    return time.monotonic() - begin


def peak_kib(net):
    with open(f"/proc/{net.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_a_flood_beside_does_not_hold_up_others(make, world, tmp_path):
    """Row: E17. At every limit at once; the neighbour has its time, and memory is bounded."""
    os.mkdir(tmp_path / "beside", 0o755)
    other = Make(world, tmp_path / "beside")
    make.origin("203.0.113.10:22", "echo")
    hosts = [["good.example", "203.0.113.10"]]
    hosts += [[f"{number}.good.example", "203.0.113.10"] for number in range(2 * ROUNDS)]
    flooded = make.net("allow good.example:22")
    try:
        calm = other.net("allow **.good.example:22", resolver={"servers": [], "hosts": hosts})
        alone = [visit(calm, number) for number in range(ROUNDS)]
        flood = Flood(flooded, flooded.address_of("good.example"))
        flood.wait(max(NAMES, OPENS) + PIECE)
        before = flood.count
        beside = [visit(calm, number) for number in range(ROUNDS, 2 * ROUNDS)]
        assert flood.count > before
        flood.stop()
    finally:
        other.end()
    flooded.wait_log({"reason": "too many names", "verdict": "deny"})
    # Two processes and this one on as few cores: slower, but never waiting.
    assert statistics.median(beside) < max(0.2, 20 * statistics.median(alone)), beside
    assert max(beside) < 5, beside
    assert peak_kib(flooded) < PEAK_KIB
    recovers(flooded)


def recovers(net):
    """Of what is open some is closed, and the guest goes on."""
    for number in range(1, 201, 2):
        net.port.frame(net_port.CLOSE, number, struct.pack("<I", 104))
    stream = net.connect("good.example:22")
    stream.send(b"again")
    stream.expect(b"again")
    net.stop()
