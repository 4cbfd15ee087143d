# SPDX-License-Identifier: Apache-2.0
"""git_server.py - git's smart protocol over HTTP, by git-http-backend as a CGI program

Paths below /smart are the repositories of a folder; all others are its files.
What was asked for is kept, so that a case can tell what a client did.
"""
import os
import subprocess

import client_servers

BODY_MAX = 1 << 22


def backend():
    """The program, or None."""
    folder = subprocess.run(["git", "--exec-path"], check=True, capture_output=True,
                            text=True).stdout.strip()
    path = f"{folder}/git-http-backend"
    return path if os.path.exists(path) else None


class Reader:
    """A connection, by marks and counts."""

    def __init__(self, connection):
        self.connection, self.data = connection, b""

    def more(self):
        piece = self.connection.recv(65536)
        if not piece:
            raise ConnectionError("it ended")
        self.data += piece

    def until(self, mark):
        while mark not in self.data:
            self.more()
        found, _, self.data = self.data.partition(mark)
        return found

    def exactly(self, count):
        assert count <= BODY_MAX
        while len(self.data) < count:
            self.more()
        found, self.data = self.data[:count], self.data[count:]
        return found

    def chunks(self):
        body = b""
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            body += self.exactly(size)
            self.until(b"\r\n")
            if not size:
                return body


class Repositories:
    """speak(connection) for net_host.Server."""

    def __init__(self, root, asked):
        """asked: a list to which (method, target) is added."""
        self.root, self.asked = root, asked
        self.program = backend()

    def speak(self, connection):
        reader = Reader(connection)
        try:
            while True:
                self.one(connection, reader)
        except ConnectionError:
            return

    def one(self, connection, reader):
        first, *lines = reader.until(b"\r\n\r\n").decode("ascii").split("\r\n")
        method, target, _ = first.split(" ")
        fields = {name.lower(): value.strip()
                  for name, _, value in (line.partition(":") for line in lines)}
        if fields.get("expect") == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if fields.get("transfer-encoding") == "chunked":
            body = reader.chunks()
        else:
            body = reader.exactly(int(fields.get("content-length", 0)))
        self.asked.append((method, target))
        if target.startswith("/smart/"):
            status, head, answer = self.run(method, target, fields, body)
        else:
            status, head, answer = client_servers.find(self.root, target)
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\n".encode()
                           + head + b"\r\n" + answer)

    def run(self, method, target, fields, body):
        path, _, query = target.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.root,
               "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": method,
               "PATH_INFO": path.removeprefix("/smart"), "QUERY_STRING": query,
               "CONTENT_TYPE": fields.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": fields.get("content-encoding", ""),
               "GIT_PROTOCOL": fields.get("git-protocol", ""),
               "REMOTE_USER": "t", "REMOTE_ADDR": "127.0.0.1"}
        done = subprocess.run([self.program], input=body, env=env, capture_output=True,
                              check=False, timeout=60)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        status, kept = "200 OK", b""
        for line in head.split(b"\r\n"):
            if line.startswith(b"Status: "):
                status = line.removeprefix(b"Status: ").decode("ascii")
            elif line:
                kept += line + b"\r\n"
        return status, kept, answer
