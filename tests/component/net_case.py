# SPDX-License-Identifier: Apache-2.0
"""net_case.py - runs one file of tests/component/gate: a case of the gate

A case is TOML:

  row = "E8"                       of the list of known attacks
  policy = '''allow good.example'''
  hosts = { "good.example" = "203.0.113.10" }     what the host resolves
  intercept = true                 there is an authority; the host trusts the origins,
                                   unless distrust = true
  settings = { ... }               more of the start message
  [[secret]]                       as bawn-keys tells them; see secret_of()
  hosts = ["good.example"]
  [[origin]]                       servers; see net_origin.Origin
  at = "203.0.113.10:80"
  [[step]]                         in order; each does one thing, see STEPS
  connect = "good.example:80"
  [[log]]                          each is found among the lines of the log
  verdict = "deny"
  [never]                          no line of the log has all of this
  verdict = "allow"
  untouched = true                 no origin got a byte
  only = true                      the log has exactly the lines above
  silent = ["203.0.113.53"]        name servers that never answer

A name in `connect` is first asked for with DNS, as a program would do. Texts
are Latin-1: "\\u00ff" is the byte 255.
"""
import glob
import json
import socket
import ssl
import subprocess
import sys

import dns.message
import dns.rcode
import dns.rdatatype

import net_h2
import net_origin
import net_world

PROXY = ("198.19.255.2", 3128)


def secret_of(**given):
    """A secret "sk-true-key-1" that goes into X-Key or a Bearer, but for what is given."""
    secret = {"name": "it", "placeholder": "ph-0123456789abcdef", "value": "sk-true-key-1",
              "why": None, "hosts": [], "query": [], "methods": [], "paths": [],
              "headers": [{"name": "x-key", "format": "%s"},
                          {"name": "authorization", "format": "Bearer %s"}],
              "plain_http": False}
    secret.update(given)
    if secret["value"] == "":
        secret["value"] = None
    return secret


class Case:
    def __init__(self, world, folder, case):
        self.world, self.folder, self.case = world, str(folder), case
        self.origins = {}
        self.streams, self.last, self.many = {}, None, []
        # Name servers that never answer.
        self.silent = [world.call(lambda at=at: silent_server(at))
                       for at in case.get("silent", [])]
        hosts = [[name, address] for name, addresses in case.get("hosts", {}).items()
                 for address in ([addresses] if isinstance(addresses, str) else addresses)]
        settings = {"resolver": {"servers": [], "hosts": hosts}}
        settings.update(case.get("settings", {}))
        sources = case.get("sources") or [
            {"scope": "sandbox", "name": "rules", "text": case.get("policy", "")}]
        for settings_of in case.get("origin", []):
            options = dict(settings_of)
            at = options.pop("at")
            self.origins[at] = net_origin.Origin(world, at, folder=self.folder, **options)
        settings.setdefault("policy", sources)
        if case.get("intercept"):
            settings["ca"] = net_origin.sandbox_authority(self.folder)
        self.net = net_world.Net(world, folder, **settings)
        if "secret" in case:
            self.net.secrets = [secret_of(**one) for one in case["secret"]]
        if case.get("intercept") and not case.get("distrust"):
            self.net.trust = self.trust()

    def trust(self):
        """All that origins have, as the host's list of authorities."""
        net_origin.certificate(self.folder)
        path = f"{self.folder}/trusted"
        with open(path, "w", encoding="utf-8") as file:
            for name in sorted(glob.glob(f"{self.folder}/server-*.pem")):
                file.write(net_origin.read(name).split("-----END PRIVATE KEY-----")[1])
        return path

    def run(self):
        try:
            self.net.start()
            for number, step in enumerate(self.case.get("step", []), 1):
                try:
                    self.do(dict(step))
                except Exception:
                    print(f"in step {number}: {step}", file=sys.stderr)
                    raise
            self.check()
            self.net.stop()
        finally:
            self.net.kill()
            for origin in self.origins.values():
                origin.stop()
            for sock in self.silent:
                sock.close()
            print("log:", *self.net.log(), self.net.stderr(), sep="\n  ")

    def do(self, step):
        if "on" in step:
            self.last = self.streams[step.pop("on")]
        name = step.pop("as", None)
        for key in list(step):
            if key in STEPS:
                STEPS[key](self, step.pop(key), step)
        assert not step, f"unknown: {step}"
        if name:
            self.streams[name] = self.last

    # -- the steps

    def resolve(self, name, more):
        kind = more.pop("type", "A")
        query = dns.message.make_query(name, kind)
        query.flags |= 0x100
        self.check_answer(query.to_wire(), more)

    def dns_hex(self, text, more):
        self.check_answer(bytes.fromhex(text), more)

    def check_answer(self, wire, more):
        number = self.net.port.ask(wire, 1 if more.pop("by_tcp", False) else 0)
        if more.pop("unanswered", False):
            # The answer to another question shows that this one has none.
            self.address_of("other.example")
            assert number not in self.net.port.answers
            return
        answer = dns.message.from_wire(self.net.port.answer(number))
        assert dns.rcode.to_text(answer.rcode()) == more.pop("rcode", "NOERROR"), answer
        found = [item.address for rrset in answer.answer for item in rrset]
        wanted = more.pop("answer", None)
        if wanted == "none":
            assert not found, found
        elif wanted == "pool":
            assert found[0].startswith(("198.18.", "198.19.")), found
        elif wanted:
            assert found == [wanted], found

    def address_of(self, name):
        query = dns.message.make_query(name, "A")
        answer = dns.message.from_wire(self.net.port.answer(
            self.net.port.ask(query.to_wire())))
        assert answer.answer, f"{name}: {dns.rcode.to_text(answer.rcode())}"
        return answer.answer[0][0].address

    def connect(self, target, more):
        host, _, port = target.rpartition(":")
        host = host.strip("[]")
        is_literal = ":" in host or host.replace(".", "").isdigit()
        self.last = self.net.port.open(host if is_literal else self.address_of(host),
                                       int(port), more.pop("origin", 0))

    def proxy(self, _, __):
        self.last = self.net.port.open(*PROXY)

    def connect_many(self, count, more):
        """That many connections; `{}` in `to` is the number of each."""
        host, _, port = more.pop("to").rpartition(":")
        self.many = [self.net.port.open(self.address_of(host.format(number)), int(port))
                     for number in range(count)]

    def refused(self, count, _):
        """So many of them at once, and no more of them."""
        def over():
            return sum(stream.over for stream in self.many)
        self.net.port.pump(lambda: over() >= count, net_world.WAIT_SECONDS, "refusals")
        self.address_of("other.example")  # what came meanwhile was read
        assert over() == count, over()

    def reset_many(self, _, __):
        for stream in self.many:
            if not stream.over:
                stream.close()

    def opened(self, _, __):
        self.last.wait_opened()

    def send(self, text, more):
        self.send_bytes(text.encode("latin-1") * more.pop("times", 1), more)

    def send_hex(self, text, more):
        self.send_bytes(bytes.fromhex(text), more)

    def hello(self, options, more):
        options = dict(options)
        if "raw_sni" in options:
            options["raw_sni"] = options["raw_sni"].encode("latin-1")
        self.send_bytes(net_origin.hello(**options), more)

    def second_hello(self, options, more):
        """Behind a first one, as after HelloRetryRequest."""
        self.hello(options, more)

    def send_bytes(self, data, more):
        size = more.pop("pieces", len(data)) or 1
        for at in range(0, len(data), size):
            self.last.send(data[at:at + size])
            self.net.port.poll()

    def tls(self, name, more):
        version = net_origin.VERSIONS.get(more.pop("version", ""))
        client = net_origin.TlsClient(self.last, name or None, version)
        client.handshake()
        reply = client.request(more.pop("request", "GET / HTTP/1.1\r\n\r\n").encode())
        wanted = more.pop("answer", "")
        assert wanted.encode() in reply, reply

    def secure(self, name, more):
        """TLS with who answers; what follows on the stream goes inside."""
        version = net_origin.VERSIONS.get(more.pop("version", ""))
        ca = None if more.pop("trusting", False) else f"{self.folder}/ca.crt"
        client = net_origin.TlsClient(self.last, name, version, ca, more.pop("alpn", ()))
        failure = more.pop("fails", None)
        if "asked" in more:
            client.begin()
            self.ask(more.pop("asked"), more)
        try:
            client.handshake()
        except (ssl.SSLError, ConnectionError) as problem:
            client.flush()
            assert failure and failure in str(problem), problem
            return
        assert not failure, "TLS works"
        protocol = more.pop("protocol", None)
        assert protocol is None or client.tls.selected_alpn_protocol() == protocol
        self.last = net_origin.SecureStream(client)

    def expect(self, texts, _):
        for text in [texts] if isinstance(texts, str) else texts:
            self.last.expect(text.encode("latin-1"))

    def expect_not(self, text, _):
        assert text.encode("latin-1") not in self.last.received, self.last.received

    def status(self, code, more):
        head = self.last.expect(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % code), head
        for text in more.pop("head", []):
            assert text.encode() in head, head
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                body = self.last.read(int(line.split(b":")[1]))
                for text in more.pop("body", []):
                    assert text.encode() in body, body

    def ask2(self, request, more):
        """HTTP/2: a request, and what comes back; `error` is that of a reset."""
        if not hasattr(self.last, "http2"):
            self.last.http2 = net_h2.Client(self.last)
        client, request = self.last.http2, dict(request)
        fields = [(":method", request.get("method", "GET")), (":scheme", "https"),
                  (":authority", request.get("authority", "good.example")),
                  (":path", request.get("path", "/"))]
        fields += list(request.get("fields", {}).items())
        status, head, body = client.answer(client.ask(fields, request.get("body", "")))
        assert status == more.pop("status2", 200), (status, body)
        for name, value in more.pop("head", {}).items():
            assert head.get(name) == value, head
        for text in more.pop("body", []):
            assert text.encode() in body, body

    def closed(self, how, _):
        if how == "eof":
            self.last.read_all()
        else:
            self.last.wait_closed()
            assert not self.last.received or how == "after", self.last.received

    def finish(self, _, __):
        self.last.finish()

    def reset(self, _, __):
        self.last.close()

    def rules(self, text, more):
        error = self.net.rules(text)
        wanted = more.pop("error", None)
        assert (error is None) == (wanted is None), error
        assert wanted is None or wanted in error, error

    def secrets(self, wanted, more):
        """Another list of secrets."""
        self.net.send_secrets([secret_of(**one) for one in wanted])
        error = self.net.taken()
        wanted = more.pop("error", None)
        assert (error is None) == (wanted is None), error
        assert wanted is None or wanted in error, error

    def configure(self, changes, _):
        assert self.net.configure(**changes) is None

    def restart(self, _, __):
        self.net.process.kill()
        self.net.wait()
        self.net.restart()

    def wait_log(self, wanted, _):
        self.net.wait_log(wanted)

    def unlogged(self, text, _):
        """Neither the log nor the errors have it, as far as they were written."""
        self.address_of("other.example")  # what was before is done
        for name in ("log.jsonl", "errors"):
            with open(f"{self.folder}/{name}", "rb") as file:
                assert text.encode() not in file.read(), name

    def received(self, wanted, more):
        """What the origin `at` got contains this."""
        origin = self.origins[more.pop("at", next(iter(self.origins)))]
        for text in [wanted] if isinstance(wanted, str) else wanted:
            origin.wait(lambda one, text=text: text.encode("latin-1") in one.received())

    def not_received(self, text, more):
        origin = self.origins[more.pop("at", next(iter(self.origins)))]
        assert text.encode("latin-1") not in origin.received(), origin.received()

    def exactly(self, text, more):
        origin = self.origins[more.pop("at", next(iter(self.origins)))]
        origin.wait(lambda one: one.received() == text.encode("latin-1"))

    def ask(self, wanted, more):
        packet = self.net.packet("ask")
        assert all(packet.get(key) == value for key, value in wanted.items()), packet
        verdict = more.pop("verdict", None)
        if verdict:
            self.net.send({"op": "answer", "id": packet["id"], "verdict": verdict})

    # -- the end

    def check(self):
        case = self.case
        for wanted in case.get("log", []):
            self.net.wait_log(wanted)
        lines = self.net.log()
        never = case.get("never")
        if never:
            found = [line for line in lines
                     if all(line.get(key) == value for key, value in never.items())]
            assert not found, found
        if case.get("only"):
            assert len(lines) == len(case.get("log", [])), lines
        if case.get("untouched"):
            touched = {at: bytes(origin.received())
                       for at, origin in self.origins.items() if origin.received()}
            assert not touched, touched


def silent_server(address):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
    sock.bind((address, 53))
    return sock


STEPS = {name: getattr(Case, name) for name in (
    "resolve", "dns_hex", "connect", "connect_many", "refused", "reset_many", "proxy", "opened",
    "send", "send_hex", "hello",
    "second_hello", "tls", "secure", "expect", "expect_not", "status", "closed", "finish", "reset",
    "rules", "secrets", "configure", "restart", "wait_log", "unlogged", "received",
    "not_received", "exactly", "ask", "ask2")}


def main():
    """One case by hand: net_case.py FILE..."""
    import tempfile
    import tomllib
    world = net_world.World()
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            case = tomllib.load(file)
        folder = tempfile.mkdtemp()
        subprocess.run(["chmod", "755", folder], check=True)
        Case(world, folder, case).run()
        print(json.dumps(case.get("row")), path, "passed")


if __name__ == "__main__":
    main()
