# SPDX-License-Identifier: Apache-2.0
"""net_port.py - the guest's end of the net port: frames, streams, messages

A peer of bawn-net that speaks PROTOCOL.md §10 as the relay does, or, with
raw(), as nobody should. Single-threaded: whoever waits for something pumps.
"""
import errno
import select
import socket
import struct
import time

MESSAGE, DATA, WINDOW, EOF, CLOSE, SLOT, FREE = 1, 2, 3, 4, 5, 6, 7
(HELLO, WELCOME, OPEN, OPEN_SOCKET, CONNECT, OPENED, DNS_QUERY, DNS_ANSWER, FORWARDS,
 SOCKETS) = range(1, 11)
WINDOW_BYTES = 1 << 20
DATA_MAX = 32768
SLOT_BYTES, SLOT_COUNT = 65536, 64
WAIT_SECONDS = 10


class Gone(Exception):
    """bawn-net has closed the port."""


class Stream:
    """One connection of the guest."""

    def __init__(self, port, number):
        self.port, self.number = port, number
        self.received = b""
        self.taken = 0          # not granted again yet
        self.may_send = WINDOW_BYTES
        self.opened = self.eof = False
        self.code = None        # of CLOSE
        self.our_eof = False
        self.reads = True       # grants windows

    def send(self, data, seconds=WAIT_SECONDS):
        """All of it, as windows allow; stops when the other side closes."""
        deadline = time.monotonic() + seconds
        while data and self.code is None:
            part = data[:min(DATA_MAX, self.may_send)]
            if not part:
                self.port.pump(lambda: self.may_send or self.code is not None,
                               deadline - time.monotonic(), "a window")
                continue
            self.port.frame(DATA, self.number, part)
            self.may_send -= len(part)
            data = data[len(part):]

    def finish(self):
        self.our_eof = True
        self.port.frame(EOF, self.number)
        self.forget_if_over()

    def close(self, code=errno.ECONNRESET):
        self.port.frame(CLOSE, self.number, struct.pack("<I", code))
        self.port.streams.pop(self.number, None)

    def forget_if_over(self):
        if self.eof and self.our_eof:
            self.port.streams.pop(self.number, None)

    @property
    def over(self):
        return self.eof or self.code is not None

    def expect(self, data, seconds=WAIT_SECONDS):
        """Waits until `data` came; returns all up to its end and takes it."""
        self.port.pump(lambda: data in self.received or self.over, seconds, data)
        assert data in self.received, (data, self.received[-2000:], self.code)
        return self.take(self.received.index(data) + len(data))

    def read(self, count, seconds=WAIT_SECONDS):
        self.port.pump(lambda: len(self.received) >= count or self.over, seconds,
                       f"{count} bytes")
        assert len(self.received) >= count, (len(self.received), self.code)
        return self.take(count)

    def read_all(self, seconds=WAIT_SECONDS):
        """Up to its end of file; a reset is an error."""
        self.port.pump(lambda: self.over, seconds, "the end")
        assert self.code is None, f"reset: {self.code}"
        return self.take(len(self.received))

    def take(self, count):
        data, self.received = self.received[:count], self.received[count:]
        self.grant(count)
        return data

    def grant(self, count):
        self.taken += count
        if self.reads and self.taken >= WINDOW_BYTES // 4 and not self.eof:
            self.port.frame(WINDOW, self.number, struct.pack("<I", self.taken))
            self.taken = 0

    def wait_closed(self, seconds=WAIT_SECONDS):
        """The code of the reset."""
        self.port.pump(lambda: self.code is not None, seconds, "a reset")
        return self.code

    def wait_opened(self, seconds=WAIT_SECONDS):
        self.port.pump(lambda: self.opened or self.over, seconds, "OPENED")
        assert self.opened, f"not opened: {self.code}"


class Port:
    def __init__(self, sock):
        self.sock = sock
        sock.setblocking(False)
        self.pending = b""       # of input
        self.unsent = b""
        self.streams = {}
        self.next_stream = 1
        self.answers = {}
        self.next_query = 1
        self.welcome = None
        self.forwards = self.sockets = None
        self.inbound = []        # streams of CONNECT, with their ports
        self.ended = False
        self.marker = None       # awaited
        self.slots = None        # the memory of slots.h; None: we read none
        self.slot_frames = 0     # that came
        self.give_back = True

    # -- out

    def raw(self, data):
        self.unsent += data
        self.flush()

    def flush(self):
        while self.unsent and not self.ended:
            try:
                sent = self.sock.send(self.unsent)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self.ended = True
                return
            self.unsent = self.unsent[sent:]

    def frame(self, kind, stream, payload=b""):
        self.raw(struct.pack("<B3xII", kind, stream, len(payload)) + payload)

    def message(self, kind, payload=b""):
        self.frame(MESSAGE, 0, struct.pack("<H", kind) + payload)

    def hello(self, version=1):
        self.message(HELLO, struct.pack("<II", version, 0 if self.slots is None else 1))
        self.pump(lambda: self.welcome, WAIT_SECONDS, "WELCOME")

    def new_stream(self):
        stream = Stream(self, self.next_stream)
        self.streams[self.next_stream] = stream
        self.next_stream += 2
        return stream

    def open(self, address, port, origin=0):
        stream = self.new_stream()
        family = 6 if ":" in address else 4
        packed = socket.inet_pton(socket.AF_INET6 if family == 6 else socket.AF_INET,
                                  address)
        self.message(OPEN, struct.pack("<IB16sHB", stream.number, family,
                                       packed.ljust(16, b"\0"), port, origin))
        return stream

    def open_socket(self, index):
        stream = self.new_stream()
        self.message(OPEN_SOCKET, struct.pack("<IH", stream.number, index))
        return stream

    def opened(self, stream):
        self.message(OPENED, struct.pack("<I", stream.number))

    def ask(self, query, transport=0):
        """The number under which the answer to a DNS message will be."""
        number = self.next_query
        self.next_query += 1
        self.message(DNS_QUERY, struct.pack("<IBH", number, transport, len(query)) + query)
        return number

    def answer(self, number, seconds=WAIT_SECONDS):
        self.pump(lambda: number in self.answers, seconds, "a DNS answer")
        return self.answers.pop(number)

    # -- in

    def pump(self, condition, seconds, what="something"):
        """Reads and writes until the condition holds; fails after a time."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no {what!r} in time")
            if self.ended:
                raise Gone(f"the port ended, no {what!r}")
            writers = [self.sock] if self.unsent else []
            readable, _, _ = select.select([self.sock], writers, [], left)
            self.flush()
            if readable:
                self.receive()

    def poll(self):
        """What is there already."""
        while not self.ended and select.select([self.sock], [], [], 0)[0]:
            self.receive()

    def receive(self):
        try:
            data = self.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            return
        self.pending += data
        if self.marker is not None and not self.find_marker():
            return
        while len(self.pending) >= 12:
            kind, stream, length = struct.unpack("<B3xII", self.pending[:12])
            assert self.pending[1:4] == b"\0\0\0" and length <= 262144, self.pending[:32]
            if len(self.pending) < 12 + length:
                return
            payload = self.pending[12:12 + length]
            self.pending = self.pending[12 + length:]
            self.on_frame(kind, stream, payload)

    def find_marker(self):
        """As the relay: drops all up to the marker, then echoes it."""
        at = self.pending.find(self.marker)
        if at < 0:
            return False
        self.pending = self.pending[at + len(self.marker):]
        # of an answer to a call the marker alone, which follows the word
        echo, self.marker = self.marker[-32:], None
        self.streams.clear()
        self.welcome = None
        self.raw(echo)
        self.message(HELLO, struct.pack("<II", 1, 0 if self.slots is None else 1))
        return True

    def on_frame(self, kind, number, payload):
        if kind == MESSAGE:
            self.on_message(struct.unpack("<H", payload[:2])[0], payload[2:])
            return
        if kind == SLOT:
            payload = self.read_slot(*struct.unpack("<II", payload))
        stream = self.streams.get(number)
        if not stream:
            return
        if kind in (DATA, SLOT):
            stream.received += payload
        elif kind == WINDOW:
            stream.may_send += struct.unpack("<I", payload)[0]
            assert stream.may_send <= WINDOW_BYTES
        elif kind == EOF:
            stream.eof = True
            stream.forget_if_over()
        elif kind == CLOSE:
            stream.code = struct.unpack("<I", payload)[0]
            del self.streams[number]

    def read_slot(self, slot, length):
        assert slot < SLOT_COUNT and 0 < length <= SLOT_BYTES
        data = self.slots[slot * SLOT_BYTES:slot * SLOT_BYTES + length]
        self.slot_frames += 1
        if self.give_back:
            self.frame(FREE, 0, struct.pack("<Q", 1 << slot))
        return data

    def on_message(self, kind, payload):
        if kind == WELCOME:
            version, marker = struct.unpack("<I32s", payload)
            assert version == 1
            self.welcome = marker
        elif kind == OPENED:
            stream = self.streams.get(struct.unpack("<I", payload)[0])
            if stream:
                stream.opened = True
        elif kind == CONNECT:
            number, port = struct.unpack("<IH", payload)
            assert number % 2 == 0 and number
            stream = self.streams[number] = Stream(self, number)
            self.inbound.append((stream, port))
        elif kind == DNS_ANSWER:
            number, length = struct.unpack("<IH", payload[:6])
            assert len(payload) == 6 + length
            self.answers[number] = payload[6:]
        elif kind == FORWARDS:
            count = struct.unpack("<I", payload[:4])[0]
            self.forwards = list(struct.unpack(f"<{count}H", payload[4:]))
        elif kind == SOCKETS:
            self.sockets = payload[4:].decode().split("\0")[:-1]
        else:
            raise AssertionError(f"message {kind} from the host")
