#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""net_guest.py - the gate's guest side: a download against the bare port

One machine, booted as a cold sandbox is, with one virtio-serial port more. The
bare port is read by a program in the guest, as fast as it can; the download is
a TCP connection of such a program, through the rules and the relay, with this
script as the host. Both in turns, the same number of bytes, timed by the guest.
The same by curl, whose smaller reads and writes count as well, is a row without
a bar. The host answers names and refusals at once, so those times are the
guest's and the port's.
"""
import argparse
import os
import statistics
import struct
import sys
import threading

import common

sys.path.insert(0, f"{common.TOP}/tests/lib")
from net_peer import (CLOSE, DATA, FIRST_WINDOW, FRAME, PIECE, SLOT, SLOT_BYTES,  # noqa: E402
                      Peer, answer)
from plain_machine import Blueprint, PlainMachine  # noqa: E402

PROBE = f"{common.TOP}/build/tests/e2e/net_probe"
RAW_PORT = (4, "bench.raw")
ADDRESS = "198.18.0.7"
REFUSED, DOWN, UP, WEB = 1, 2, 3, 80  # ports


class Host:
    """The host's end of the gate, in a thread of its own."""

    def __init__(self, sock, size, slots):
        self.peer, self.size = Peer(sock), size
        self.peer.use_slots(slots)
        self.peer.answer = lambda asked, transport: answer(asked)
        self.sending = {}
        self.payload = os.urandom(SLOT_BYTES)
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        self.peer.greet(60)
        while not self.stopped:
            self.peer.pump(0.5)
            while self.peer.opens:
                self.on_open(self.peer.opens.pop(0))
            for stream in list(self.sending):
                self.send(stream)
            for stream in list(self.peer.streams.values()):
                stream.data = b""
                if stream.eof and stream not in self.sending:
                    self.end(stream)

    def on_open(self, stream):
        if stream.what[1] == REFUSED:
            self.peer.send(CLOSE, stream.number, struct.pack("<I", 111))
            del self.peer.streams[stream.number]
        elif stream.what[1] == WEB:
            stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.size)
        if stream.what[1] in (DOWN, WEB):
            self.sending[stream] = self.size

    def frame(self, stream, left):
        """The next bytes in a slot, or in the frame where none is free."""
        if not self.peer.free:
            count = min(PIECE - FRAME.size, stream.window, left)
            return count, FRAME.pack(DATA, stream.number, count) + self.payload[:count]
        count = min(SLOT_BYTES, stream.window, left)
        return count, FRAME.pack(SLOT, stream.number, 8) + self.peer.fill(self.payload[:count])

    def send(self, stream):
        """As many whole frames as the window allows, in one write."""
        frames, left = [], self.sending[stream]
        while left and stream.window and len(self.peer.out) < FIRST_WINDOW:
            count, frame = self.frame(stream, left)
            frames.append(frame)
            stream.window -= count
            left -= count
        self.sending[stream] = left
        if frames:
            self.peer.raw_send(b"".join(frames))
        if not left or stream.closed is not None:
            del self.sending[stream]
            self.end(stream)

    def end(self, stream):
        if stream.closed is None:
            stream.end()
        self.peer.streams.pop(stream.number, None)


def raw(machine, size):
    sock, data = machine.ports[RAW_PORT[1]], bytes(1 << 20)

    def feed():
        left = size
        while left:
            left -= sock.send(data[:min(left, len(data))])
    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    took = float(machine.sh(f"/run/probe raw /dev/vport0p{RAW_PORT[0]} {size}"))
    thread.join()
    return took


def probe(machine, *words):
    return float(machine.sh("/run/probe " + " ".join(map(str, words))))


def curl(machine):
    """From its first byte to its last, as the other download is timed."""
    first, last = machine.sh(
        "curl -sS -o /dev/null -w '%{time_starttransfer} %{time_total}' "
        f"http://{ADDRESS}:{WEB}/").split()
    return float(last) - float(first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    size = options.megabytes << 20
    machine = PlainMachine(Blueprint(common), port=RAW_PORT)
    with open(PROBE, "rb") as file:
        machine.sh("cat >/run/probe && chmod 755 /run/probe", given=file.read())
    host = Host(machine.ports["gate"], size, machine.slots)
    times = {"raw": [], "down": [], "curl": [], "up": []}
    for _ in range(options.rounds):
        times["raw"].append(raw(machine, size))
        times["down"].append(probe(machine, "get", ADDRESS, DOWN, size))
        times["curl"].append(curl(machine))
        times["up"].append(probe(machine, "put", ADDRESS, UP, size))
    common.title(f"The gate's guest side, {options.megabytes} MB, {options.rounds} rounds")
    speed = {name: options.megabytes / statistics.median(column)
             for name, column in times.items()}
    common.row("the port, read by a program", speed["raw"], "MB/s")
    common.row("a download through the relay", speed["down"], "MB/s")
    common.row("the same by curl", speed["curl"], "MB/s")
    common.row("an upload through the relay", speed["up"], "MB/s")
    lookup = probe(machine, "lookup", "198.19.255.1", 500)
    refusal = probe(machine, "refused", ADDRESS, REFUSED, 300)
    common.row("looking up a name", lookup)
    common.row("being refused", refusal)
    common.at_least("a download in a guest against the bare port",
                    speed["down"] / speed["raw"], 0.7)
    common.bar("looking up a name in a guest, median", lookup, 5, " ms")
    common.bar("being refused in a guest, median", refusal, 5, " ms")
    host.stopped = True
    host.thread.join()
    machine.close()


if __name__ == "__main__":
    main()
