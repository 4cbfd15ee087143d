# SPDX-License-Identifier: Apache-2.0
"""net_host.py - a host with a network of its own, in which bawn runs

A network namespace without a way out, and a mount namespace with an /etc/hosts,
an /etc/resolv.conf and a list of trusted authorities of its own; for a user both
are in a user namespace. The
addresses 203.0.113.0/24 and 2001:db8:1::/48 are local by a route and belong to
no interface, so they are as public as any. A process holds the namespaces; it
makes sockets in them and passes them to the test, which serves on them.

This file is run twice: by the test (class Host), and in the namespaces
(serve()).
"""
import json
import os
import socket
import subprocess
import sys
import threading

SECONDS = 20
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
IPV6_FREEBIND = 78  # an address that is local by a route alone


class Host:
    def __init__(self, folder):
        self.folder = str(folder)
        self.write("resolv.conf", "nameserver 127.0.0.1\n")
        self.write("hosts", "127.0.0.1 localhost\n")
        self.write("authorities", "")
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(SECONDS)
        self.lock = threading.Lock()
        self.servers = []
        user = [] if os.getuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        self.process = subprocess.Popen(
            ["unshare", *user, "--net", "--mount", sys.executable, "-B", __file__,
             str(theirs.fileno()), self.folder], pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        theirs.close()
        self.why = None
        try:
            self.ask(do="nothing")
        except OSError:
            self.why = self.process.stderr.read().decode() or "no namespaces"

    def prefix(self, folder):
        """What a command begins with to run here, in that working folder."""
        user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self.process.pid), *user, "-n", "-m", f"--wdns={folder}"]

    def ask(self, **what):
        with self.lock:
            self.socket.send(json.dumps(what).encode())
            answer, fds, _, _ = socket.recv_fds(self.socket, 4096, 1)
        if not answer:
            raise ConnectionError("the namespaces are gone")
        error = json.loads(answer).get("error")
        if error:
            raise OSError(*error)
        return socket.socket(fileno=fds[0]) if fds else None

    def write(self, name, text):
        """hosts or resolv.conf, in place: they are mounts."""
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def listen(self, address, port):
        return self.ask(do="listen", address=address, port=port)

    def bind_udp(self, address, port):
        return self.ask(do="udp", address=address, port=port)

    def connect(self, address, port):
        one = self.ask(do="connect", address=address, port=port)
        one.settimeout(SECONDS)
        return one

    def serve(self, address, port, speak, wrap=None):
        """speak(connection) for each, in a thread of its own; gives the Server."""
        server = Server(self.listen(address, port), speak, wrap)
        self.servers.append(server)
        return server

    def close(self):
        for server in self.servers:
            server.close()
        self.socket.close()
        self.process.wait(SECONDS)
        self.process.stderr.close()


class Server:
    def __init__(self, listener, speak, wrap=None):
        self.listener, self.speak, self.wrap = listener, speak, wrap
        self.peers = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            self.peers.append(one)
            threading.Thread(target=self.one, args=(one,), daemon=True).start()

    def one(self, connection):
        connection.settimeout(SECONDS)
        try:
            if self.wrap:
                connection = self.wrap(connection)
            with connection:
                self.speak(connection)
        except OSError:
            pass  # the other side went, or a test is over

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


def read_head(connection):
    """An HTTP request's head; "" when none came."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(4096)
        if not piece:
            return ""
        data += piece
    return data.decode("ascii", "replace")


def http(text):
    """A server that answers each request with this text, Host and path."""
    def speak(connection):
        while True:
            head = read_head(connection)
            if not head:
                return
            host = next(line.split(":", 1)[1].strip() for line in head.split("\r\n")
                        if line.lower().startswith("host:"))
            body = f"{text} {host} {head.split()[1]}\n".encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                               b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    return speak


def hello(text):
    """A server that speaks first, then repeats what it hears."""
    def speak(connection):
        connection.sendall(text.encode() + b"\n")
        while True:
            data = connection.recv(65536)
            if not data:
                return
            connection.sendall(data)
    return speak


def make_socket(what):
    address, port = what["address"], what["port"]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_DGRAM if what["do"] == "udp" else socket.SOCK_STREAM
    one = socket.socket(family, kind)
    one.settimeout(SECONDS)
    if what["do"] == "connect":
        one.connect((address, port))
        return one
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    one.bind((address, port))
    if kind == socket.SOCK_STREAM:
        one.listen(128)
    one.setblocking(True)
    return one


def serve(control, folder):
    for line in ("ip link set lo up", "ip route add local 203.0.113.0/24 dev lo",
                 "ip -6 route add local 2001:db8:1::/48 dev lo",
                 f"mount --bind {folder}/hosts /etc/hosts",
                 f"mount --bind {folder}/resolv.conf /etc/resolv.conf",
                 f"mount --bind {folder}/authorities {AUTHORITIES}"):
        subprocess.run(line.split(), check=True)
    while True:
        request = control.recv(4096)
        if not request:
            return
        what = json.loads(request)
        try:
            made = [] if what["do"] == "nothing" else [make_socket(what)]
            socket.send_fds(control, [b"{}"], [one.fileno() for one in made])
            for one in made:
                one.close()
        except OSError as error:
            control.send(json.dumps({"error": [error.errno, str(error)]}).encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
