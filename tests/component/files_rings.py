# SPDX-License-Identifier: Apache-2.0
"""files_rings - the guest's end of the rings beside the files port (PROTOCOL.md §8)"""
import ctypes
import mmap
import os
import select
import time

BYTES, TO_HOST_BYTES, TO_GUEST_BYTES = 512 << 10, 128 << 10, 256 << 10
GUEST_WORDS, HOST_WORDS, TO_HOST, TO_GUEST = 0, 4096, 128 << 10, 256 << 10
WRITTEN, READ, SLEEPS = 0, 4, 8
AWAKE, FOR_BYTES, FOR_ROOM = 0, 1, 2


class Rings:
    """One memory and bell; servers come and go."""

    def __init__(self):
        self.fd = os.memfd_create("rings")
        os.ftruncate(self.fd, BYTES)
        self.memory = mmap.mmap(self.fd, BYTES)
        self.bell = os.eventfd(0, os.EFD_NONBLOCK)
        self.active = False
        self.written = self.taken = 0

    def reset(self):
        self.active = False

    def word(self, at):
        """Read and written at once, which struct does not do."""
        return ctypes.c_uint32.from_buffer(self.memory, at)

    def get(self, side, word):
        return self.word(side + word).value

    def put(self, word, value):
        self.word(GUEST_WORDS + word).value = value & 0xffffffff

    def begin(self, start):
        """The server's first byte lies there; ours where it has read to."""
        self.taken = start
        self.put(READ, start)
        self.written = self.get(HOST_WORDS, READ)
        self.put(WRITTEN, self.written)
        return self.written

    def ring(self):
        os.eventfd_write(self.bell, 1)

    def room(self):
        return TO_HOST_BYTES - ((self.written - self.get(HOST_WORDS, READ)) & 0xffffffff)

    def put_bytes(self, data):
        start = self.written % TO_HOST_BYTES
        first = data[:TO_HOST_BYTES - start]
        self.memory[TO_HOST + start:TO_HOST + start + len(first)] = first
        self.memory[TO_HOST:TO_HOST + len(data) - len(first)] = data[len(first):]
        self.written = (self.written + len(data)) & 0xffffffff
        self.put(WRITTEN, self.written)

    def write(self, data):
        deadline = time.monotonic() + 20
        while data:
            assert time.monotonic() < deadline, "nobody reads"
            room = self.room()
            self.put_bytes(data[:room])
            data = data[room:]
            self.ring()

    def take(self):
        there = (self.get(HOST_WORDS, WRITTEN) - self.taken) & 0xffffffff
        assert there <= TO_GUEST_BYTES, there
        start = self.taken % TO_GUEST_BYTES
        ring = self.memory[TO_GUEST:TO_GUEST + TO_GUEST_BYTES]
        data = (ring[start:] + ring[:start])[:there]
        self.taken = (self.taken + there) & 0xffffffff
        self.put(READ, self.taken)
        if there and self.get(HOST_WORDS, SLEEPS) >= FOR_ROOM:
            self.ring()
        return data

    def read(self, port, seconds=20):
        """At least one byte; nothing: the server has ended."""
        data = self.take()
        while not data:
            self.put(SLEEPS, FOR_BYTES)
            data = self.take()
            if not data:
                assert select.select([port], [], [], seconds)[0], "nobody wakes us"
                woken = port.recv(4096)
                if not woken:
                    return self.take()
                assert woken == bytes([0, 0, 0, 0, 11, 0, 0, 0]) * (len(woken) // 8), woken
                data = self.take()
            self.put(SLEEPS, AWAKE)
        return data
