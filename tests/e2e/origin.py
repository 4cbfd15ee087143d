# SPDX-License-Identifier: Apache-2.0
"""origin.py - the Internet of a test: an upstream proxy that answers for every host

A sandbox that was started with http_proxy reaches any name through it, without
a name server. Each tunnel greets with the name that was asked for and echoes.
"""
import os
import socket
import threading


class Origin:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def env(self):
        url = f"http://127.0.0.1:{self.port}"
        return {"http_proxy": url, "https_proxy": url, "no_proxy": ""}

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client:
                self._answer(client)
        except OSError:
            pass

    def _answer(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(65536)
            if not part:
                return
            head += part
        method, target = head.split(b"\r\n", 1)[0].decode().split(" ")[:2]
        self.asked.append(f"{method} {target}")
        if method != "CONNECT":
            body = f"page of {target}\n".encode()
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                           b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
                           + body)
            return
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n"
                       + f"hello of {target}\n".encode())
        while part := client.recv(65536):
            client.sendall(part)


class Greeter:
    """A server on the host's loopback, or on a Unix socket, that says one line."""

    def __init__(self, path=None, line=b"hello of the host\n"):
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen()
            os.chmod(path, 0o777)
            self.port = None
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
        self.line = line
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.sendall(self.line)
