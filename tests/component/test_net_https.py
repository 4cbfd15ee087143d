# SPDX-License-Identifier: Apache-2.0
"""Bodies and waiting inside intercepted TLS: what a case of gate/ cannot say"""
import errno
import os
import threading

import net_origin

HEAD = b"Host: good.example\r\n"
SIZE = 24 << 20
LIMIT_INTERCEPTED = 2048


def begin(make, speak, text="allow GET,POST good.example/**", **settings):
    """A verified stream to an origin that `speak(sock)` plays."""
    folder = str(make.folder)
    origin = net_origin.Origin(make.world, "203.0.113.10:443", "tls", folder=folder)
    make.made.append(origin.stop)
    origin.http = lambda sock, seen: speak(sock)
    net = make.net(text, trust=f"{folder}/cert.pem",
                   ca=net_origin.sandbox_authority(folder), **settings)
    return net, connect(net, folder)


def connect(net, folder, name="good.example"):
    client = net_origin.TlsClient(net.connect(f"{name}:443"), name,
                                  authority=f"{folder}/ca.crt")
    client.handshake()
    return net_origin.SecureStream(client)


def read_head(sock):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            raise OSError("gone")
        data += piece
    return data.split(b"\r\n\r\n", 1)


def memory(net):
    with open(f"/proc/{net.process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) << 10


def test_a_large_response_streams_and_is_held_up_by_its_reader(make):
    data = os.urandom(1 << 19)
    sent = []

    def speak(sock):
        read_head(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
        for _ in range(SIZE // len(data)):
            sock.sendall(data)
            sent.append(len(data))
    net, stream = begin(make, speak)
    before = memory(net)
    stream.send(b"GET /large HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"\r\n\r\n")
    # Nobody reads: the origin is held up, and nothing piles up here.
    stream.stream.reads = False
    stream.pump(lambda: len(stream.received) > 1000 << 10, "a window's worth")
    assert sum(sent) < SIZE
    assert memory(net) - before < 8 << 20
    stream.stream.reads = True
    stream.stream.grant(0)
    got = 0
    while got < SIZE:
        part = stream.read(min(len(data), SIZE - got))
        assert part == data
        got += len(part)
    assert net.wait_log({"path": "/large", "verdict": "allow"})["bytes_in"] == SIZE
    net.stop()


def test_a_large_request_streams(make):
    data = os.urandom(1 << 20)
    done = threading.Event()

    def speak(sock):
        left = SIZE - len(read_head(sock)[1])
        while left > 0:
            left -= len(sock.recv(1 << 18))
        done.set()
        sock.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    net, stream = begin(make, speak)
    before = memory(net)
    stream.send(b"POST /up HTTP/1.1\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % SIZE)
    for _ in range(SIZE // len(data)):
        stream.send(data)
    stream.expect(b"204 No Content")
    assert done.is_set() and memory(net) - before < 8 << 20
    assert net.wait_log({"path": "/up", "verdict": "allow"})["bytes_out"] == SIZE
    net.stop()


def test_an_event_arrives_before_the_next_one_is_there(make):
    go = threading.Event()

    def speak(sock):
        read_head(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
        assert go.wait(10)
        sock.sendall(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
    net, stream = begin(make, speak)
    stream.send(b"GET /events HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"data: 1")
    assert b"data: 2" not in stream.received
    go.set()
    stream.expect(b"data: 2")
    stream.expect(b"0\r\n\r\n")
    net.stop()


def test_a_response_cut_inside_tls_is_a_reset(make):
    def speak(sock):
        read_head(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        # Without the alert that ends TLS, as somebody in between would do it.
        os.close(sock.detach())
    net, stream = begin(make, speak)
    stream.send(b"GET /cut HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"half")
    stream.wait_closed()
    assert not stream.ended
    assert net.wait_log({"path": "/cut"})["reason"] == "the server cut its response"
    net.stop()


def test_a_killed_bawn_net_keeps_its_authority(make):
    def speak(sock):
        while True:
            read_head(sock)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    net, stream = begin(make, speak)
    stream.send(b"GET /a HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"hi")
    net.process.kill()
    net.wait()
    net.restart()
    stream = connect(net, str(make.folder))
    stream.send(b"GET /b HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"hi")
    net.stop()


def test_a_server_that_comes_again_needs_no_second_proof(make):
    """Its session is used again, for the same host alone; the name still counts."""
    reused, folder = [], str(make.folder)

    def speak(sock):
        reused.append(sock.session_reused)
        while True:
            read_head(sock)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    def fetch(name):
        stream = connect(net, folder, name)
        stream.send(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        stream.expect(b"hi")
        return stream
    net, stream = begin(make, speak, "allow GET good.example/**\nallow GET api.good.example/**", resolver={
        "servers": [], "hosts": [["good.example", "203.0.113.10"],
                                 ["api.good.example", "203.0.113.10"]]})
    stream.send(b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"hi")
    for name in ("good.example", "api.good.example", "good.example", "api.good.example"):
        fetch(name)
    assert reused == [False, True, False, True, True]
    net.stop()


def test_too_many_are_refused_and_others_go_on(make):
    """Row: E17."""
    def speak(sock):
        while True:
            read_head(sock)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    net, stream = begin(make, speak)
    hello = net_origin.first_hello("good.example")
    address = net.address_of("good.example")
    half_done = []
    for _ in range(LIMIT_INTERCEPTED):
        half_done.append(net.port.open(address, 443))
        half_done[-1].send(hello)
    assert half_done[-1].wait_closed() == errno.ECONNREFUSED
    net.wait_log({"reason": "too many connections are intercepted"})
    stream.send(b"GET /a HTTP/1.1\r\n" + HEAD + b"\r\n")
    stream.expect(b"hi")
    # There is room again.
    for one in half_done[:-1]:
        one.close()
    connect(net, str(make.folder))
    net.stop()


def test_many_clients_at_once(make):
    def speak(sock):
        while True:
            read_head(sock)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    net, stream = begin(make, speak)
    streams = [stream] + [connect(net, str(make.folder)) for _ in range(40)]
    for turn in range(3):
        for one in streams:
            one.send(b"GET /%d HTTP/1.1\r\n" % turn + HEAD + b"\r\n")
        for one in streams:
            one.expect(b"hi")
    for one in streams:
        one.finish()
        one.pump(lambda: False, "the end")
    net.stop()
