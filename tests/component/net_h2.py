# SPDX-License-Identifier: Apache-2.0
"""net_h2.py - HTTP/2 as a client through the gate, and as a server behind it"""
import h2.config
import h2.connection
import h2.events

WAIT_SECONDS = 10


def connection(is_client):
    # What a case says is what is sent, right or wrong.
    return h2.connection.H2Connection(config=h2.config.H2Configuration(
        client_side=is_client, header_encoding="latin-1", validate_outbound_headers=False,
        normalize_outbound_headers=False, validate_inbound_headers=True))


class Client:
    """On a stream of the port, inside TLS."""

    def __init__(self, stream):
        self.stream, self.conn = stream, connection(True)
        self.heads, self.bodies, self.over = {}, {}, {}
        self.conn.initiate_connection()
        stream.send(self.conn.data_to_send())

    def ask(self, fields, body=""):
        number = self.conn.get_next_available_stream_id()
        self.conn.send_headers(number, fields, end_stream=not body)
        if body:
            self.conn.send_data(number, body.encode("latin-1"), end_stream=True)
        self.stream.send(self.conn.data_to_send())
        return number

    def feed(self):
        data = self.stream.take(len(self.stream.received))
        for event in self.conn.receive_data(data) if data else ():
            self.note(event)
        self.stream.send(self.conn.data_to_send())

    def note(self, event):
        number = getattr(event, "stream_id", None)
        if isinstance(event, h2.events.ResponseReceived):
            self.heads[number] = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self.bodies[number] = self.bodies.get(number, b"") + event.data
            self.conn.acknowledge_received_data(event.flow_controlled_length, number)
        elif isinstance(event, h2.events.StreamEnded):
            self.over[number] = None
        elif isinstance(event, h2.events.StreamReset):
            self.over.setdefault(number, int(event.error_code))

    def answer(self, number):
        """Status (or -1 and less: the error of a reset), fields and body."""
        def is_over():
            self.feed()
            return number in self.over
        self.stream.pump(is_over, f"the end of stream {number}")
        assert number in self.over, self.stream.code
        if self.over[number] is not None:
            return -self.over[number], {}, b""
        head = self.heads[number]
        return int(head[":status"]), head, self.bodies.get(number, b"")


def answer(conn, number, head):
    fields, body = [(":status", "200"), ("server", "two")], b"hi"
    if ":path: /echo\n" in head:
        body = head.encode("latin-1")
        fields.append(("x-echo", head.replace("\n", " ").strip()))
    conn.send_headers(number, fields)
    for at in range(0, len(body), 7):
        conn.send_data(number, body[at:at + 7])
    conn.end_stream(number)


def serve(sock, seen):
    """Answers each request with "hi", /echo with its head; what came is kept as text."""
    conn, heads = connection(False), {}
    conn.initiate_connection()
    sock.sendall(conn.data_to_send())
    while True:
        data = sock.recv(65536)
        if not data:
            return
        for event in conn.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                text = "".join(f"{name}: {value}\n" for name, value in event.headers)
                seen += b"HTTP/2\n" + text.encode("latin-1")
                heads[event.stream_id] = text
            elif isinstance(event, h2.events.DataReceived):
                seen += event.data
                conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                answer(conn, event.stream_id, heads.pop(event.stream_id))
        sock.sendall(conn.data_to_send())
