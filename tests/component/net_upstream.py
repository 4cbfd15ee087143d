# SPDX-License-Identifier: Apache-2.0
"""net_upstream.py - what the host's network has: name servers and proxies"""
import socket
import ssl
import threading

import dns.flags
import dns.message
import dns.rdatatype
import dns.rrset

import net_origin


class NameServer:
    """Answers from a table NAME -> [addresses] or a list of such lists, in turns."""

    def __init__(self, make, address="203.0.113.53"):
        def bind():
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.setsockopt(socket.IPPROTO_IP, 15, 1)
            sock.bind((address, 53))
            return sock
        self.table, self.asked, self.aliases = {}, [], {}
        self.silent = self.cut = False
        self.by_tcp = 0
        self.address = address
        self.sock = make.world.call(bind)
        self.sock.settimeout(0.1)
        self.stopping = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        make.made.append(self.stop)

    def serve(self):
        while not self.stopping:
            try:
                wire, peer = self.sock.recvfrom(4096)
            except TimeoutError:
                continue
            query = dns.message.from_wire(wire)
            question = query.question[0]
            name = question.name.to_text(omit_final_dot=True)
            kind = dns.rdatatype.to_text(question.rdtype)
            self.asked.append((name, kind))
            if self.silent:
                continue
            reply = self.answer(query, name, kind)
            if self.cut:
                reply = dns.message.make_response(query)
                reply.flags |= dns.flags.TC
            self.sock.sendto(reply.to_wire(), peer)

    def serve_tcp(self, make):
        listener = make.listen(self.address, 53)

        def serve(sock):
            while (size := sock.recv(2)):
                query = dns.message.from_wire(sock.recv(int.from_bytes(size, "big")))
                question = query.question[0]
                wire = self.answer(query, question.name.to_text(omit_final_dot=True),
                                   dns.rdatatype.to_text(question.rdtype)).to_wire()
                self.by_tcp += 1
                sock.sendall(len(wire).to_bytes(2, "big") + wire)

        def accept():
            try:
                while True:
                    sock, _ = listener.accept()
                    threading.Thread(target=serve, args=(sock,), daemon=True).start()
            except OSError:
                pass
        threading.Thread(target=accept, daemon=True).start()

    def answer(self, query, name, kind):
        reply = dns.message.make_response(query)
        owner = name
        if name in self.aliases:
            owner = self.aliases[name]
            reply.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME",
                                                    f"{owner}."))
        addresses = self.table.get(owner)
        if addresses is None:
            reply.set_rcode(3)
            return reply
        if addresses and isinstance(addresses[0], list):
            turn = sum(1 for asked in self.asked if asked == (name, kind)) - 1
            addresses = addresses[min(turn, len(addresses) - 1)]
        wanted = [a for a in addresses if (":" in a) == (kind == "AAAA")]
        if wanted and kind in ("A", "AAAA"):
            reply.answer.append(dns.rrset.from_text(f"{owner}.", 60, "IN", kind, *wanted))
        return reply

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.sock.close()


def relay(one, two):
    """Bytes both ways until one side ends."""
    def copy(source, target):
        try:
            while (data := source.recv(65536)):
                target.sendall(data)
        except OSError:
            pass
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    thread = threading.Thread(target=copy, args=(one, two), daemon=True)
    thread.start()
    copy(two, one)
    thread.join()


class SomeProxy:
    """Listens and serves each connection in a thread; `to` is where all leads."""

    def __init__(self, make, at, to):
        address, _, port = at.rpartition(":")
        self.make, self.to = make, to
        self.seen, self.logins = [], []
        self.listener = make.listen(address, int(port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.guarded, args=(sock,), daemon=True).start()

    def guarded(self, sock):
        try:
            self.serve(sock)
        except (OSError, AssertionError):
            sock.close()

    def upstream(self):
        return self.make.world.connect(*self.to)


class Socks(SomeProxy):
    """SOCKS 5, with or without a login (USER, PASSWORD)."""

    def __init__(self, make, at, to, login=None):
        self.login = login
        super().__init__(make, at, to)

    @staticmethod
    def exactly(sock, count):
        data = b""
        while len(data) < count:
            part = sock.recv(count - len(data))
            assert part
            data += part
        return data

    def serve(self, sock):
        version, count = self.exactly(sock, 2)
        methods = self.exactly(sock, count)
        assert version == 5
        wanted = 2 if self.login else 0
        if wanted not in methods:
            sock.sendall(b"\5\xff")
            sock.close()
            return
        # One byte at a time: nobody promised whole messages.
        for byte in (5, wanted):
            sock.sendall(bytes([byte]))
        if self.login:
            self.exactly(sock, 1)
            texts = [self.exactly(sock, self.exactly(sock, 1)[0]) for _ in range(2)]
            self.logins.append(tuple(text.decode() for text in texts))
            good = self.logins[-1] == self.login
            sock.sendall(b"\1" + (b"\0" if good else b"\1"))
            if not good:
                sock.close()
                return
        assert self.exactly(sock, 3) == b"\5\1\0"
        kind = self.exactly(sock, 1)[0]
        length = {1: 4, 4: 16}.get(kind) or self.exactly(sock, 1)[0]
        host = self.exactly(sock, length)
        port = int.from_bytes(self.exactly(sock, 2), "big")
        self.seen.append((kind, host, port))
        upstream = self.upstream()
        sock.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        relay(sock, upstream)


class TlsProxy(SomeProxy):
    """CONNECT and requests inside TLS."""

    def serve(self, sock):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(net_origin.certificate(self.make.folder))
        sock = context.wrap_socket(sock, server_side=True)
        head = b""
        while b"\r\n\r\n" not in head:
            part = sock.recv(65536)
            assert part
            head += part
        self.seen.append(head)
        if head.startswith(b"CONNECT"):
            upstream = self.upstream()
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            relay(sock, upstream)
        else:
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nby proxy\n")
