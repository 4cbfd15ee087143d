#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""intercept - bawn-net's TLS interception against mitmdump and squid, in one run

Everything lives in a network namespace with nginx as the origin (HTTP/1.1 and
HTTP/2, one worker). wrk and h2load speak TCP and bawn-net does not, so there is
a bridge (bench/lib/net_bridge.c), and the others get one, too: all pay for the
same way. All verify the origin and put a key into a header; all write a log.
bawn-net also searches every response for the key, which the others do not.
squid has no HTTP/2: there its HTTP/1.1 stands in, by the same driver.

A new connection is one TLS handshake on each side and one request. An idle one
has had a request and its answer. The delay of an event is the time from the
origin's write to the client's read, less the same without anybody in between.
"""
import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from common import TOP, at_least, bar, row, title
from net import memory

sys.path.insert(0, f"{TOP}/tests/component")
import net_case  # noqa: E402
import net_origin  # noqa: E402
import net_world  # noqa: E402

BRIDGE = f"{TOP}/build/bench/net_bridge"
NAME, ADDRESS = "origin.example", "203.0.113.10"
SECRET = "sk-bench-0123456789abcdefghijklmnopqrstuvwxyz"
PORT, EVENT_PORT, BRIDGE_PORT, PROXY_PORT = 443, 8443, 443, 8802
BODY = json.dumps({"id": "msg_01", "role": "assistant", "content": "sk-" + "lorem ipsum " * 80})


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def with_hosts(folder, address, argv):
    """The program sees NAME at this address."""
    hosts = write(f"{folder}/hosts-{address}", f"127.0.0.1 localhost\n{address} {NAME}\n")
    return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
            f'mount --bind "{hosts}" /etc/hosts && exec "$0" "$@"', *argv]


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Stage:
    """A namespace with an origin, for one measurement of one subject."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="bawn-bench-")
        os.chmod(self.folder, 0o777)
        self.world = net_world.World()
        self.pair = net_origin.certificate(self.folder, names=(NAME,))
        self.trusted = write(f"{self.folder}/trusted", net_origin.read(
            self.pair).split("-----END PRIVATE KEY-----")[1])
        self.ca = net_origin.sandbox_authority(self.folder)
        self.processes = []
        self.nginx()

    def nginx(self):
        conf = write(f"{self.folder}/nginx.conf", f"""
daemon off; worker_processes 1; pid {self.folder}/nginx.pid; user root;
error_log {self.folder}/nginx.log; worker_rlimit_nofile 20000;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {self.folder}/nginx-1; proxy_temp_path {self.folder}/nginx-2;
  fastcgi_temp_path {self.folder}/nginx-3; uwsgi_temp_path {self.folder}/nginx-4;
  scgi_temp_path {self.folder}/nginx-5; default_type application/json;
  server {{
    listen {ADDRESS}:{PORT} ssl http2 backlog=4096;
    ssl_certificate {self.pair}; ssl_certificate_key {self.pair};
    location / {{ return 200 '{BODY}'; }}
  }}
}}
""")
        self.spawn(["nginx", "-e", f"{self.folder}/nginx.log", "-c", conf],
                   stderr=subprocess.DEVNULL)
        self.wait_for(ADDRESS, PORT)

    def spawn(self, argv, **kwargs):
        process = self.world.spawn(argv, **kwargs)
        self.processes.append(process)
        return process

    def wait_for(self, address, port, seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                self.world.connect(address, port).close()
                return
            if time.monotonic() > deadline or self.processes[-1].poll() is not None:
                sys.exit(f"nothing listens at {address}:{port}")
            time.sleep(0.05)

    def bridge(self, *words, **kwargs):
        argv = [BRIDGE, str(BRIDGE_PORT), *words]
        process = self.spawn(argv, stdout=subprocess.PIPE, text=True, **kwargs)
        if process.stdout.readline() != "ready\n":
            sys.exit("the bridge does not start")

    def run(self, argv):
        """A client's output; it finds the bridge under NAME."""
        process = self.world.spawn(with_hosts(self.folder, "127.0.0.1", argv),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text, _ = process.communicate(timeout=120)
        return text

    def stop(self):
        for process in reversed(self.processes):
            end(process)
        self.world.stop()
        shutil.rmtree(self.folder)


class Direct:
    """Nobody in between but the bridge."""
    name = "nobody"

    def __init__(self, stage, port=PORT):
        stage.bridge("tcp", ADDRESS, str(port))
        self.pid = stage.processes[-1].pid

    def stop(self):
        pass


class Bawn:
    name = "bawn-net"

    def __init__(self, stage, port=PORT):
        self.net = net_world.Net(
            stage.world, stage.folder, ca=stage.ca,
            policy=[{"scope": "sandbox", "name": "rules",
                     "text": f"allow {NAME}:{port}\ninspect {NAME}:{port}\n"}],
            resolver={"servers": [], "hosts": [[NAME, ADDRESS]]})
        self.net.trust = stage.trusted
        self.net.secrets = [net_case.secret_of(value=SECRET, hosts=[f"{NAME}:{port}"])]
        self.net.start(hello=False)
        self.pid = self.net.process.pid
        fd = self.net.guest_end.fileno()
        argv = ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{fd}', BRIDGE, str(BRIDGE_PORT),
                "port", NAME, str(port)]
        process = stage.spawn(argv, stdout=subprocess.PIPE, text=True, pass_fds=[fd])
        if process.stdout.readline() != "ready\n":
            sys.exit("the bridge does not start")

    def stop(self):
        self.net.kill()


class Mitmdump:
    """The mode with the least work for it: one origin, known beforehand."""
    name = "mitmdump"

    def __init__(self, stage, port=PORT):
        self.log = open(f"{stage.folder}/mitm.log", "wb")
        argv = ["mitmdump", "--mode", f"reverse:https://{NAME}:{port}",
                "--set", "connection_strategy=lazy",
                "--listen-host", "127.0.0.1", "--listen-port", str(PROXY_PORT),
                "--set", f"confdir={stage.folder}/mitm",
                "--set", f"ssl_verify_upstream_trusted_ca={stage.trusted}",
                "--modify-headers", f"/~q/X-Key/{SECRET}"]
        process = stage.spawn(with_hosts(stage.folder, ADDRESS, argv),
                              stdout=self.log, stderr=self.log)
        stage.wait_for("127.0.0.1", PROXY_PORT)
        self.pid = process.pid
        stage.bridge("tcp", "127.0.0.1", str(PROXY_PORT))

    def stop(self):
        self.log.close()


def no_names():
    """A name server that knows nothing and says so at once: squid asks it for the
    names of addresses, and would wait."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))

    def answer():
        with contextlib.suppress(OSError):
            while True:
                query, peer = sock.recvfrom(2048)
                sock.sendto(query[:2] + b"\x81\x83" + query[4:], peer)
    threading.Thread(target=answer, daemon=True).start()
    return sock


class Squid:
    """Connections to the origin are redirected to it, as those of a guest are."""
    name = "squid"

    def __init__(self, stage, port=PORT):
        folder = stage.folder
        binary = shutil.which("squid")
        certgen = os.path.join(os.path.dirname(binary),
                               "../lib/squid/security_file_certgen")
        pair = write(f"{folder}/squid-ca.pem", stage.ca["certificate"] + stage.ca["key"])
        subprocess.run([certgen, "-c", "-s", f"{folder}/ssl_db", "-M", "16MB"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["chown", "-R", "proxy", f"{folder}/ssl_db", pair], check=True)
        conf = write(f"{folder}/squid.conf", f"""
http_port 127.0.0.1:{PROXY_PORT + 1}
https_port 0.0.0.0:{PROXY_PORT} intercept ssl-bump tls-cert={pair} generate-host-certificates=on
sslcrtd_program {certgen} -s {folder}/ssl_db -M 16MB
sslcrtd_children 2
acl first at_step SslBump1
ssl_bump peek first
ssl_bump bump all
tls_outgoing_options cafile={stage.trusted}
http_access allow all
request_header_add X-Key "{SECRET}" all
hosts_file {write(f"{folder}/hosts", f"{ADDRESS} {NAME}{chr(10)}")}
dns_nameservers 127.0.0.1
cache deny all
cache_mem 8 MB
access_log stdio:{folder}/access.log squid
cache_log {folder}/cache.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
cache_effective_user proxy
max_filedescriptors 20000
client_idle_pconn_timeout 10 minutes
shutdown_lifetime 1 seconds
pinger_enable off
""")
        rules = f"""table ip bench {{ chain out {{ type nat hook output priority -100;
            ip daddr {ADDRESS} tcp dport {port} meta skuid 0 redirect to :{PROXY_PORT}; }}; }}"""
        self.service = f"bench{os.getpid()}"
        self.names = stage.world.call(no_names)
        process = stage.spawn([binary, "-N", "-n", self.service, "-f", conf],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stage.wait_for("127.0.0.1", PROXY_PORT + 1)
        stage.world.call(lambda: subprocess.run(["nft", rules.replace("\n", " ")], check=True))
        self.pid = process.pid
        stage.bridge("tcp", ADDRESS, str(port))

    def stop(self):
        self.names.close()
        for name in os.listdir("/dev/shm"):
            if name.startswith(self.service + "-"):
                os.unlink(f"/dev/shm/{name}")


def squid_bumps():
    binary = shutil.which("squid")
    if not binary:
        return False
    text = subprocess.run([binary, "-v"], check=True, capture_output=True, text=True).stdout
    return "--with-openssl" in text


@contextlib.contextmanager
def subject(maker, port=PORT):
    stage = Stage()
    try:
        made = maker(stage, port)
        try:
            yield stage, made
        finally:
            made.stop()
    finally:
        stage.stop()


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f"no result: {text}")
    return float(found.group(1))


def by_wrk(stage, made, seconds):
    text = stage.run(["wrk", "-t1", "-c16", f"-d{seconds}s", f"https://{NAME}/v1/messages?a=1"])
    assert "Non-2xx" not in text and "Socket errors" not in text, text
    return number(r"Requests/sec: +([\d.]+)", text)


def by_h2load(stage, made, seconds):
    """16 requests at a time: on two connections, or, with HTTP/1.1, on 16."""
    how = ["--h1", "-c16"] if made.name == "squid" else ["-c2", "-m8"]
    text = stage.run(["h2load", *how, "-t1", "-D", str(seconds),
                      f"https://{NAME}/v1/messages?a=1"])
    assert re.search(r" 0 failed, 0 errored, 0 timeout", text), text
    assert ("protocol: h2" in text) == (made.name != "squid"), text
    return number(r"finished in [\d.]+\w+, ([\d.]+) req/s", text)


def by_new_connections(stage, made, seconds):
    text = stage.run(["wrk", "-t1", "-c16", f"-d{seconds}s", "-H", "Connection: close",
                      f"https://{NAME}/"])
    assert "Non-2xx" not in text, text
    return number(r"Requests/sec: +([\d.]+)", text)


def compare(makers, options, measure):
    """The median of the rounds for each, in turns: the machine is shared."""
    found = {maker.name: [] for maker in makers}
    for _ in range(options.rounds):
        for maker in makers:
            with subject(maker) as (stage, made):
                measure(stage, made, 1)     # certificates are made, caches warm
                found[maker.name].append(measure(stage, made, options.seconds))
    medians = {name: statistics.median(values) for name, values in found.items()}
    for name, value in medians.items():
        row(name, value, "/s")
    return medians


def client(stage):
    """A client's TLS connection through the bridge."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False      # squid signs for what is self-signed by itself
    context.verify_mode = ssl.CERT_NONE
    sock = stage.world.connect("127.0.0.1", BRIDGE_PORT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(sock, server_hostname=NAME)


def idle(maker, count):
    """KiB for each idle connection: private memory of the process."""
    with subject(maker) as (stage, made):
        held = []

        def more(wanted):
            while len(held) < wanted:
                sock = client(stage)
                sock.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode())
                got = b""
                while not got.endswith(BODY.encode()):
                    data = sock.recv(65536)
                    assert data, got
                    got += data
                held.append(sock)
        more(20)
        before = memory(made.pid)
        more(20 + count)
        after = memory(made.pid)
        for sock in held:
            sock.close()
        return (after - before) / count


def serve_events(listener, pair, count):
    """One client: events with the time when they were written."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock = context.wrap_socket(sock, server_side=True)
    got = b""
    while b"\r\n\r\n" not in got:
        got += sock.recv(65536)
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(count):
        time.sleep(0.005)
        event = f"event: delta\ndata: {time.monotonic_ns()}\n\n".encode()
        sock.sendall(b"%x\r\n%s\r\n" % (len(event), event))
    sock.sendall(b"0\r\n\r\n")
    sock.recv(1)


def events(maker, count):
    """Milliseconds from the origin's write to the client's read: the median."""
    with subject(maker, EVENT_PORT) as (stage, _):
        listener = stage.world.listen(ADDRESS, EVENT_PORT)
        threading.Thread(target=serve_events, args=(listener, stage.pair, count),
                         daemon=True).start()
        sock = client(stage)
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}:{EVENT_PORT}\r\n\r\n".encode())
        delays, rest = [], b""
        while len(delays) < count:
            data = sock.recv(65536)
            now = time.monotonic_ns()
            assert data, rest
            rest += data
            found = list(re.finditer(rb"data: (\d+)\n", rest))
            delays += [(now - int(one.group(1))) / 1e6 for one in found]
            rest = rest[found[-1].end():] if found else rest
        sock.close()
        listener.close()
        return statistics.median(delays)


def requests(makers, options, driver, measure):
    title(f"intercepted requests on kept connections, {driver}")
    found = compare(makers, options, measure)
    at_least(f"requests per second against mitmdump, {driver}",
             found["bawn-net"] / found["mitmdump"], 10)
    if "squid" in found:
        at_least(f"requests per second against squid, {driver}",
                 found["bawn-net"] / found["squid"], 0.8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=int, default=500)
    parser.add_argument("--events", type=int, default=400)
    parser.add_argument("--only", default="h1,h2,new,events,idle")
    parser.add_argument("--against", default="mitmdump,squid")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("a network namespace needs root")
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    makers = [maker for maker in (Bawn, Mitmdump, Squid)
              if maker is Bawn or maker.name in options.against.split(",")]
    if Squid in makers and not squid_bumps():
        print("MISS bars against squid: no squid with OpenSSL (package squid-openssl)")
        makers.remove(Squid)
    only = options.only.split(",")
    if "h1" in only:
        requests(makers, options, "HTTP/1.1 by wrk", by_wrk)
    if "h2" in only:
        requests(makers, options, "HTTP/2 by h2load", by_h2load)
    if "new" in only:
        title("new intercepted connections")
        found = compare(makers, options, by_new_connections)
        at_least("new connections per second against mitmdump",
                 found["bawn-net"] / found["mitmdump"], 5)
    if "events" in only:
        title("server-sent events, from the origin's write to the client's read")
        direct, ours = events(Direct, options.events), events(Bawn, options.events)
        row("without anybody", direct)
        row("bawn-net", ours)
        bar("delay of an event, median", ours - direct, 1, " ms")
    if "idle" in only and Squid in makers:
        title("memory of an idle intercepted connection")
        ours, theirs = idle(Bawn, options.idle), idle(Squid, options.idle)
        row("bawn-net", ours, "KiB")
        row("squid", theirs, "KiB")
        bar("memory of an idle connection against squid", ours / theirs, 1)


if __name__ == "__main__":
    main()
