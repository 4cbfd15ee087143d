# SPDX-License-Identifier: Apache-2.0
"""net_peer - the host's end of the network port, played by a test

Frames and streams of PROTOCOL.md §2, §3 and §10, as plainly as they can be
written: no threads, every wait has a deadline.
"""
import mmap
import os
import re
import select
import struct
import time

FRAME = struct.Struct("<B3xII")
MESSAGE, DATA, WINDOW, EOF, CLOSE, SLOT, FREE = 1, 2, 3, 4, 5, 6, 7
(HELLO, WELCOME, OPEN, OPEN_SOCKET, CONNECT, OPENED, DNS_QUERY, DNS_ANSWER, FORWARDS,
 SOCKETS) = range(1, 11)
FIRST_WINDOW = 1 << 20
PIECE = 32768
SLOT_BYTES, SLOT_COUNT = 65536, 64
CUT = b"\xff" * 40960
CALL_HEAD = bytes.fromhex("870638435fed484d0deb48f5a8a1d6e9")
CALL_BYTES = len(CALL_HEAD) + 32
CALL = re.compile(re.escape(CALL_HEAD) + b"(.{32})", re.DOTALL)
SECONDS = 20


class Cut(Exception):
    """The relay sent what is no frame."""


class Stream:
    def __init__(self, peer, number, what):
        self.peer, self.number = peer, number
        self.what = what  # the fields of OPEN, OPEN_SOCKET or CONNECT
        self.data, self.eof, self.closed, self.opened = b"", False, None, False
        self.window = FIRST_WINDOW
        self.ungranted = 0
        self.grant = True
        self.in_slots = False  # what is sent
        self.received = 0  # bytes, also those that are gone from data

    def send(self, data):
        """All of it, or what the window allows; returns the rest."""
        data = memoryview(data)
        while len(data) and self.window and self.in_slots and self.peer.free:
            count = min(SLOT_BYTES, self.window, len(data))
            self.window -= count
            self.peer.send(SLOT, self.number, self.peer.fill(bytes(data[:count])))
            data = data[count:]
        while len(data) and self.window:
            count = min(PIECE, self.window, len(data))
            self.window -= count  # sending may read a WINDOW already
            self.peer.send(DATA, self.number, bytes(data[:count]))
            data = data[count:]
        return data

    def send_all(self, data, seconds=SECONDS):
        data = self.send(data)
        while len(data):
            self.peer.wait(lambda: self.window or self.closed is not None, seconds)
            if self.closed is not None:
                raise ConnectionError(self.closed)
            data = self.send(data)

    def end(self):
        self.peer.send(EOF, self.number, b"")

    def close(self, code):
        self.peer.send(CLOSE, self.number, struct.pack("<I", code))
        self.peer.streams.pop(self.number, None)

    def read(self, count, seconds=SECONDS):
        self.peer.wait(lambda: len(self.data) >= count or self.eof or self.closed is not None,
                       seconds)
        data, self.data = self.data[:count], self.data[count:]
        return data


class Peer:
    def __init__(self, sock):
        self.socket = sock
        self.socket.setblocking(False)
        self.buffer, self.raw, self.out = b"", b"", bytearray()
        self.streams, self.messages, self.opens = {}, [], []
        self.marker = None  # the echo that is waited for
        self.word = None  # of the last call that was answered
        self.next = os.urandom(32)
        self.even = 0
        self.splitting = False
        self.answer = None  # of questions: a function of their bytes, or None
        self.features, self.free, self.slots = 0, 0, None  # HELLO's; those to fill; memory

    def use_slots(self, fd):
        os.ftruncate(fd, SLOT_BYTES * SLOT_COUNT)
        self.slots = mmap.mmap(fd, SLOT_BYTES * SLOT_COUNT)

    def fill(self, data):
        """Puts it into a free slot; the frame's payload that says so."""
        slot = (self.free & -self.free).bit_length() - 1
        self.slots[slot * SLOT_BYTES:slot * SLOT_BYTES + len(data)] = data
        self.free &= ~(1 << slot)
        return struct.pack("<II", slot, len(data))

    # bytes
    def pump(self, seconds=0.0):
        """What is there, both ways; True when something moved."""
        moved = False
        readable, _, _ = select.select([self.socket], [self.socket] if self.out else [], [],
                                       seconds)
        if self.out:
            try:
                sent = self.socket.send(self.out)
                del self.out[:sent]
                moved = sent > 0
            except BlockingIOError:
                pass
        if not readable:
            return moved
        try:
            piece = self.socket.recv(1 << 20)
        except BlockingIOError:
            return moved
        if not piece:
            raise ConnectionError("the machine ended")
        self.buffer += piece
        self.splitting = True
        try:
            self.split()
        finally:
            self.splitting = False
        return True

    def wait(self, fact, seconds=SECONDS, what="it"):
        deadline = time.monotonic() + seconds
        while True:
            value = fact()
            if value:
                return value
            left = deadline - time.monotonic()
            assert left > 0, f"{what}: not so after {seconds} s"
            self.pump(min(left, 0.1))

    def drain(self, seconds=0.2):
        """Until nothing has come for so long."""
        while self.pump(seconds):
            pass

    def raw_send(self, data):
        self.out += data
        if not self.splitting:
            self.pump()

    def send(self, kind, stream, payload):
        self.raw_send(FRAME.pack(kind, stream, len(payload)) + payload)

    def message(self, kind, payload=b""):
        self.send(MESSAGE, 0, struct.pack("<H", kind) + payload)

    # frames
    def split(self):
        if self.marker:
            at = self.buffer.find(self.marker)
            if at < 0:
                self.hear_calls()
                self.buffer = self.buffer[-CALL_BYTES + 1:]
                return
            self.buffer, self.marker = self.buffer[at + 32:], None
        at = 0
        while len(self.buffer) - at >= FRAME.size:
            kind, stream, length = FRAME.unpack_from(self.buffer, at)
            if kind > FREE or length > PIECE:
                raise Cut(self.buffer[at:at + 64])
            end = at + FRAME.size + length
            if len(self.buffer) < end:
                break
            payload, at = self.buffer[at + FRAME.size:end], end
            self.on_frame(kind, stream, payload)
        self.buffer = self.buffer[at:]

    def hear_calls(self):
        """A relay that was killed is told the marker, once."""
        words = CALL.findall(self.buffer)
        if words and words[-1] != self.word:
            self.word = words[-1]
            self.raw_send(self.word + self.marker)

    def on_frame(self, kind, number, payload):
        if kind == MESSAGE:
            self.on_message(struct.unpack_from("<H", payload)[0], payload[2:])
            return
        if kind == FREE:
            back = struct.unpack("<Q", payload)[0]
            assert back and not back & self.free, "FREE of what is free"
            self.free |= back
            return
        stream = self.streams.get(number)
        if not stream:
            return
        if kind == DATA:
            assert not stream.eof, "DATA after EOF"
            stream.received += len(payload)
            stream.data += payload
            stream.ungranted += len(payload)
            if stream.grant and stream.ungranted >= FIRST_WINDOW // 2:
                self.send(WINDOW, number, struct.pack("<I", stream.ungranted))
                stream.ungranted = 0
        elif kind == WINDOW:
            stream.window += struct.unpack("<I", payload)[0]
            assert stream.window <= FIRST_WINDOW
        elif kind == EOF:
            stream.eof = True
        else:
            stream.closed = struct.unpack("<I", payload)[0]
            del self.streams[number]

    def on_message(self, kind, body):
        if kind == OPEN:
            number, family, address, port, origin = struct.unpack("<IB16sHB", body)
            assert number % 2 == 1 and number not in self.streams
            assert family == 4 and address[4:] == bytes(12)
            text = ".".join(map(str, address[:4]))
            stream = Stream(self, number, (text, port, origin))
            self.streams[number] = stream
            self.opens.append(stream)
        elif kind == OPEN_SOCKET:
            number, index = struct.unpack("<IH", body)
            stream = Stream(self, number, index)
            self.streams[number] = stream
            self.opens.append(stream)
        elif kind == OPENED:
            self.streams[struct.unpack("<I", body)[0]].opened = True
        elif kind == DNS_QUERY and self.answer:
            query, transport, length = struct.unpack_from("<IBH", body)
            question = body[7:]
            assert len(question) == length
            answer = self.answer(question, transport)
            self.message(DNS_ANSWER, struct.pack("<IH", query, len(answer)) + answer)
        else:
            self.messages.append((kind, body))

    # the talk
    def expect(self, kind, seconds=SECONDS):
        found = self.wait(lambda: [m for m in self.messages if m[0] == kind], seconds,
                          f"message {kind}")
        self.messages.remove(found[0])
        return found[0][1]

    def greet(self, seconds=SECONDS):
        """HELLO came; WELCOME goes."""
        version, self.features = struct.unpack("<II", self.expect(HELLO, seconds))
        assert version == 1 and self.features in (0, 1)
        self.free = (1 << SLOT_COUNT) - 1
        self.message(WELCOME, struct.pack("<I", 1) + self.next)

    def begin_again(self, marker=None):
        """As a new server: the marker, then everything up to its echo is dropped."""
        self.marker, self.word = marker or self.next, None
        self.next = os.urandom(32)
        self.buffer, self.out = b"", bytearray()
        self.streams, self.messages, self.opens, self.even = {}, [], [], 0
        self.raw_send(self.marker)

    def accept(self, seconds=SECONDS):
        self.wait(lambda: self.opens, seconds, "an OPEN")
        return self.opens.pop(0)

    def connect(self, port):
        self.even += 2
        stream = Stream(self, self.even, port)
        self.streams[self.even] = stream
        self.message(CONNECT, struct.pack("<IH", self.even, port))
        return stream

    def forwards(self, ports):
        self.message(FORWARDS, struct.pack(f"<I{len(ports)}H", len(ports), *ports))

    def sockets(self, paths):
        self.message(SOCKETS, struct.pack("<I", len(paths)) +
                     b"".join(path.encode() + b"\0" for path in paths))


def question(name, number=0x1234, kind=1):
    """A DNS question for an address."""
    labels = b"".join(bytes([len(word)]) + word.encode() for word in name.split("."))
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


def answer(asked, address="198.18.0.7"):
    """The same with one address."""
    return (asked[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0) + asked[12:] +
            struct.pack(">HHHIH4B", 0xc00c, 1, 1, 60, 4, *map(int, address.split("."))))
