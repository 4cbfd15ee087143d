# SPDX-License-Identifier: Apache-2.0
"""Programs that people use, in each version of HTTP, with bawn-net's code between

http_alone speaks plain HTTP of the version that it is told, so no program needs
to trust anybody here; gate/*http2*.toml have the same inside TLS.
"""
import hashlib
import http.server
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

BUILD = os.environ.get("BAWN_BUILD", os.path.join(os.path.dirname(__file__), "../../build"))
ALONE = os.path.join(BUILD, "tests", "component", "http_alone")
BIG = 20_000_000
WAIT_SECONDS = 60


class Echo(http.server.BaseHTTPRequestHandler):
    """HTTP/1: what was sent; or a file"""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(self.server.files.get(self.path))

    def do_PUT(self):
        self.answer(self.body())

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def answer(self, data):
        self.send_response(200 if data is not None else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


class Quick(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_listening(port):
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)


@pytest.fixture(scope="module", name="origins")
def make_origins(tmp_path_factory):
    """{version of HTTP: port}, and the big file's content."""
    folder = tmp_path_factory.mktemp("files")
    files = {"/small": b"small\n", "/big": os.urandom(1 << 20) * (BIG >> 20)}
    for name, data in files.items():
        (folder / name[1:]).write_bytes(data)
    one = Quick(("127.0.0.1", 0), Echo)
    one.files = files
    threading.Thread(target=one.serve_forever, daemon=True).start()
    port = free_port()
    two = subprocess.Popen(["nghttpd", "--no-tls", "--echo-upload", "-a", "127.0.0.1",
                            "-d", str(folder), str(port)], stdout=subprocess.DEVNULL)
    wait_listening(port)
    yield {1: one.server_port, 2: port}, files
    two.kill()
    two.wait()
    one.shutdown()
    one.server_close()


class Alone:
    def __init__(self, client, server, port):
        self.port = port
        self.process = subprocess.Popen([ALONE, str(client), str(server), str(port)],
                                        stdout=subprocess.PIPE, text=True)
        self.listens = int(self.process.stdout.readline())
        self.flag = "--http2-prior-knowledge" if client == 2 else "--http1.1"

    def curl(self, *args, stdin=None):
        done = subprocess.run(
            ["curl", "-sS", "--fail", self.flag, "--connect-to", f"::127.0.0.1:{self.listens}",
             *args], input=stdin, capture_output=True, timeout=WAIT_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def url(self, path):
        return f"http://localhost:{self.port}{path}"


@pytest.fixture(name="alone", params=[(1, 1), (1, 2), (2, 1), (2, 2)],
                ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
def make_alone(request, origins):
    client, server = request.param
    alone = Alone(client, server, origins[0][server])
    yield alone
    alone.process.send_signal(signal.SIGTERM)
    # With 1 it says that something was not given back.
    assert alone.process.wait(WAIT_SECONDS) == 0


def digest(data):
    return hashlib.sha256(data).hexdigest()


def test_a_file_comes_whole(alone, origins):
    assert alone.curl(alone.url("/small")) == b"small\n"
    assert digest(alone.curl(alone.url("/big"))) == digest(origins[1]["/big"])


def test_an_upload_arrives_whole(alone, origins, tmp_path):
    path = tmp_path / "up"
    path.write_bytes(origins[1]["/big"])
    back = alone.curl("-T", str(path), alone.url("/up"))
    assert digest(back) == digest(origins[1]["/big"])
    # Of unknown length, in pieces.
    back = alone.curl("-T", "-", alone.url("/up"), stdin=origins[1]["/big"])
    assert digest(back) == digest(origins[1]["/big"])


def test_one_after_the_other_on_a_kept_connection(alone):
    """curl does that with HTTP/1; its version 7.88 cannot with plain HTTP/2."""
    if alone.flag != "--http1.1":
        load(alone, 20, "-c", "1", "-m", "1")
        return
    made = alone.curl("-w", " %{num_connects}\n", *[alone.url("/small")] * 20)
    assert made == b"small\n 1\n" + b"small\n 0\n" * 19


def test_what_is_not_there_is_said_so(alone):
    done = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", alone.flag,
         "--connect-to", f"::127.0.0.1:{alone.listens}", alone.url("/none")],
        capture_output=True, text=True, timeout=WAIT_SECONDS, check=True)
    assert done.stdout.startswith("404 "), done.stdout


def load(alone, count, *args):
    done = subprocess.run(
        ["h2load", "-n", str(count), *args, f"--connect-to=127.0.0.1:{alone.listens}",
         alone.url("/small")], capture_output=True, text=True, timeout=WAIT_SECONDS,
        check=True)
    assert f"{count} succeeded, 0 failed" in done.stdout, done.stdout
    assert f"{count} 2xx" in done.stdout, done.stdout


@pytest.mark.parametrize("server", [1, 2])
def test_thousands_of_requests_lose_none(origins, server):
    alone = Alone(2, server, origins[0][server])
    try:
        load(alone, 4000, "-c", "4", "-m", "50")
    finally:
        alone.process.send_signal(signal.SIGTERM)
        assert alone.process.wait(WAIT_SECONDS) == 0
