# SPDX-License-Identifier: Apache-2.0
"""net_origin.py - servers on the other side of the gate, which remember all

Each has a thread and one for each connection. What a client sent is kept, so
that a case can say that nothing arrived, or exactly what.
"""
import os
import select
import socket
import ssl
import subprocess
import threading
import time

import net_h2

WAIT_SECONDS = 10


class Origin:
    """Listens at ADDRESS:PORT; behaviour by `kind`:

    http   answers each request head with the next of `replies`
    tls    the same inside TLS, and remembers the names (SNI); `tls` has `names` (of its
           certificate), `version` (the highest) and `wants` (a client's certificate)
    h2     HTTP/2 inside TLS with who wants it (net_h2.serve), else as `tls`
    raw    sends `greeting`, answers the first bytes with `replies`
    echo   sends back what comes
    mute   accepts and says nothing
    """

    def __init__(self, world, at, kind="http", replies=None, greeting="", keep=True,
                 folder=None, tls=None):
        address, _, port = at.rpartition(":")
        self.at, self.kind, self.keep = at, kind, keep
        self.answers = replies is not None  # of a raw one
        self.replies = [text.encode("latin-1") for text in replies or [DEFAULT_REPLY]]
        self.greeting = greeting.encode("latin-1")
        self.connections, self.names = [], []
        self.sockets = []
        self.context = None
        if kind in ("tls", "h2"):
            self.context = tls_context(folder, self.names, **(tls or {}))
        if kind == "h2":
            self.context.set_alpn_protocols(["h2", "http/1.1"])
        self.listener = world.listen(address.strip("[]"), int(port))
        self.listener.settimeout(0.1)
        self.stopping = False
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while not self.stopping:
            try:
                sock, _ = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            # As servers do; else an answer waits for the client's kernel.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            seen = bytearray()
            self.connections.append(seen)
            self.sockets.append(sock)
            threading.Thread(target=self.serve, args=(sock, seen), daemon=True).start()

    def serve(self, sock, seen):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
                self.sockets.append(sock)
            getattr(self, {"tls": "http"}.get(self.kind, self.kind))(sock, seen)
        except OSError:
            pass

    def http(self, sock, seen):
        rest, turn = b"", 0
        while True:
            while b"\r\n\r\n" not in rest:
                data = sock.recv(65536)
                if not data:
                    sock.close()
                    return
                seen += data
                rest += data
            rest = rest.split(b"\r\n\r\n", 1)[1] if self.keep else b""
            sock.sendall(self.replies[min(turn, len(self.replies) - 1)])
            turn += 1
            if not self.keep:
                sock.shutdown(socket.SHUT_WR)
                return

    def h2(self, sock, seen):
        if sock.selected_alpn_protocol() == "h2":
            net_h2.serve(sock, seen)
        else:
            self.http(sock, seen)

    def raw(self, sock, seen):
        sock.sendall(self.greeting)
        answered = False
        while True:
            data = sock.recv(65536)
            if not data:
                sock.close()
                return
            seen += data
            if not answered and self.answers:
                sock.sendall(b"".join(self.replies))
                answered = True

    def echo(self, sock, seen):
        while True:
            data = sock.recv(65536)
            if not data:
                sock.shutdown(socket.SHUT_WR)
                return
            seen += data
            sock.sendall(data)

    def mute(self, sock, seen):
        while True:
            data = sock.recv(65536)
            if not data:
                return
            seen += data

    def received(self):
        return b"".join(bytes(seen) for seen in self.connections)

    def wait(self, condition, seconds=WAIT_SECONDS):
        deadline = time.monotonic() + seconds
        while not condition(self):
            assert time.monotonic() < deadline, (self.at, self.received()[-500:])
            threading.Event().wait(0.01)

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.listener.close()
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


DEFAULT_REPLY = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def self_signed(folder, key, cert, *extensions):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=test",
         *(word for text in extensions for word in ("-addext", text)),
         "-keyout", f"{folder}/{key}", "-out", f"{folder}/{cert}"],
        check=True, capture_output=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def certificate(folder, names=("*.example", "*.good.example", "good.example",
                               "proxy.example", "localhost")):
    """One authority and one server certificate for every name of the cases."""
    path = f"{folder}/server-{len(names)}-{names[0].strip('*.')}.pem"
    if os.path.exists(path):
        return path
    self_signed(folder, "key.pem", "cert.pem",
                "subjectAltName=" + ",".join(f"DNS:{name}" for name in names))
    with open(path, "w", encoding="utf-8") as out:
        out.write(read(f"{folder}/key.pem") + read(f"{folder}/cert.pem"))
    return path


def tls_context(folder, seen, wants=False, version=None, **options):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if version == "1.1":
        context.set_ciphers("DEFAULT@SECLEVEL=0")
    if version:
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = VERSIONS[version]
    context.load_cert_chain(certificate(folder, **options))
    if wants:
        context.verify_mode = ssl.CERT_REQUIRED
    context.sni_callback = lambda sock, name, ctx: seen.append(name)
    return context


def sandbox_authority(folder):
    """The start message's "ca", made once; clients trust its certificate."""
    if not os.path.exists(f"{folder}/ca.crt"):
        self_signed(folder, "ca.key", "ca.crt",
                    "keyUsage=critical,keyCertSign,cRLSign")
    return {"certificate": read(f"{folder}/ca.crt"), "key": read(f"{folder}/ca.key")}


VERSIONS = {"1.1": ssl.TLSVersion.TLSv1_1, "1.2": ssl.TLSVersion.TLSv1_2,
            "1.3": ssl.TLSVersion.TLSv1_3}


class TlsClient:
    """TLS through a stream of the port, with Python's own library.

    Trusts whoever it is, or, with `authority` (a file), that one alone.
    """

    def __init__(self, stream, name, version=None, authority=None, alpn=()):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if authority:
            context.load_verify_locations(authority)
        else:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if version == ssl.TLSVersion.TLSv1_1:
            context.set_ciphers("DEFAULT@SECLEVEL=0")
            context.minimum_version = version
        if version:
            context.maximum_version = version
        if alpn:
            context.set_alpn_protocols(list(alpn))
        self.stream = stream
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing,
                                    server_hostname=name)

    def step(self, action):
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                result = action()
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
            stream = self.stream
            stream.port.pump(lambda: stream.received or stream.over,
                             deadline - time.monotonic(), "TLS")
            if not stream.received:
                raise ConnectionResetError(stream.code)
            self.incoming.write(stream.take(len(stream.received)))

    def flush(self):
        self.stream.send(self.outgoing.read())

    def begin(self):
        """The first words, and no waiting for an answer."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            self.flush()

    def handshake(self):
        self.step(self.tls.do_handshake)

    def request(self, data):
        self.step(lambda: self.tls.write(data))
        return self.step(lambda: self.tls.read(65536))


class SecureStream:
    """A stream of the port with TLS on it; to be used as one without."""

    def __init__(self, client):
        self.client, self.stream = client, client.stream
        self.received = b""
        self.ended = False      # in order, by TLS itself

    @property
    def over(self):
        return self.ended or self.stream.over

    @property
    def code(self):
        return self.stream.code

    def decrypt(self):
        client, stream = self.client, self.stream
        if stream.received:
            client.incoming.write(stream.take(len(stream.received)))
        while not self.ended:
            try:
                data = client.tls.read(65536)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                data = b""
            self.received += data
            self.ended = not data
        client.flush()

    def pump(self, condition, what, seconds=WAIT_SECONDS):
        def check():
            self.decrypt()
            return condition() or self.over
        self.stream.port.pump(check, seconds, what)
        self.decrypt()

    def send(self, data):
        self.client.tls.write(data)
        self.client.flush()

    def expect(self, data):
        self.pump(lambda: data in self.received, data)
        assert data in self.received, (data, self.received[-2000:], self.code)
        return self.take(self.received.index(data) + len(data))

    def read(self, count):
        self.pump(lambda: len(self.received) >= count, f"{count} bytes")
        assert len(self.received) >= count, (len(self.received), self.code)
        return self.take(count)

    def read_all(self):
        self.pump(lambda: False, "the end")
        assert self.ended, f"cut: {self.code}"
        return self.take(len(self.received))

    def take(self, count):
        data, self.received = self.received[:count], self.received[count:]
        return data

    def wait_closed(self):
        self.pump(lambda: False, "a reset")
        return self.code

    def finish(self):
        try:
            self.client.tls.unwrap()
        except ssl.SSLWantReadError:
            pass  # the other side has not said goodbye yet
        self.client.flush()

    def close(self):
        self.stream.close()


def first_hello(name):
    """The ClientHello that Python's library sends for this name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def hello(sni=None, raw_sni=None, ech=False, alpn=(), fragment=0, version=b"\x03\x03",
          sni_twice=False):
    """A ClientHello made by hand, as odd as is asked for."""
    def block(data, size):
        return len(data).to_bytes(size, "big") + data

    def extension(number, data):
        return number.to_bytes(2, "big") + block(data, 2)

    extensions = b""
    name = raw_sni if raw_sni is not None else sni.encode() if sni else None
    if name is not None:
        one = extension(0, block(b"\0" + block(name, 2), 2))
        extensions += one * (2 if sni_twice else 1)
    if alpn:
        extensions += extension(16, block(b"".join(block(p.encode(), 1) for p in alpn), 2))
    if ech:
        extensions += extension(0xfe0d, b"\0" * 16)
    extensions += extension(43, b"\x02\x03\x04")
    body = version + bytes(range(32)) + block(b"", 1) + block(b"\x13\x01\x00\xff", 2) + \
        block(b"\0", 1) + block(extensions, 2)
    message = b"\x01" + block(body, 3)
    size = fragment or len(message)
    pieces = [message[at:at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + block(piece, 2) for piece in pieces)


def readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
