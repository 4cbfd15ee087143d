# SPDX-License-Identifier: Apache-2.0
"""Servers understand what the gate passes on as the gate understood it

The same odd bytes go through bawn-net to three servers: nginx (with Node behind
it, which says what nginx made of them), Node, and Node with its lenient parser.
What bawn-net understood is in its log: each request that a server tells of must
stand there (as allowed, unless it was cut before it was whole), in the same order, with the same method, path, host and length of
its body. What is in the log and not told of, a server must have refused.

The bytes are tests/component/http_odd/*.toml, and mutations of them with a fixed
seed; BAWN_TEST_SOAK makes more of these.
"""
import glob
import json
import os
import queue
import random
import shutil
import subprocess
import threading
import time
import tomllib

import pytest

from net_fixtures import make, rules, world  # noqa: F401 pylint: disable=unused-import
import net_world

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = {"nginx": "203.0.113.10", "node": "203.0.113.11", "lenient": "203.0.113.12"}
MUTATIONS = 10000 if os.environ.get("BAWN_TEST_SOAK") else 600
WAIT_SECONDS = 20
TOKENS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b"\x0b", b"\xff", b"0", b"5",
          b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Host: good.example\r\n",
          b"Connection: close\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"5\r\n", b"HTTP/1.1", b"GET / "]


def corpus():
    cases = {}
    for path in sorted(glob.glob(f"{HERE}/http_odd/*.toml")):
        with open(path, "rb") as file:
            for name, case in tomllib.load(file).items():
                cases[name] = (case["send"].encode("latin-1"), case.get("passes"))
    return cases


def mutate(dice, data, others):
    """A few small changes, so that most of it stays a request."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            data = data[:at] + dice.choice(TOKENS) + data[at:]
        elif kind == 1:
            data = data[:at] + data[at + dice.randint(1, 4):]
        elif kind == 2 and at < len(data):
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1:]
        elif kind == 3:
            lines = data.split(b"\r\n")
            lines.insert(dice.randrange(len(lines)), dice.choice(lines))
            data = b"\r\n".join(lines)
        else:
            data += dice.choice(others)
    return data


class Servers:
    """nginx and Node; what they tell, in order."""

    def __init__(self, made, folder):
        self.told = queue.Queue()
        words = [f"node={SERVERS['node']}:80", f"lenient={SERVERS['lenient']}:80:lenient",
                 "nginx=127.0.0.1:8080"]
        self.node = made.program(["node", f"{HERE}/http_origin.js", *words],
                                 stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.listen, daemon=True).start()
        for _ in words:
            assert "ready" in self.told.get(timeout=WAIT_SECONDS)
        with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
            file.write(f"""
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ }}
http {{
  access_log off; keepalive_timeout 60s; client_body_temp_path {folder}/t1;
  proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    listen {SERVERS['nginx']}:80 default_server;
    location / {{
      proxy_pass http://127.0.0.1:8080; proxy_http_version 1.1;
      proxy_set_header Host $http_host; proxy_set_header Connection close;
    }}
  }}
}}
""")
        self.nginx = made.program(["nginx", "-e", f"{folder}/nginx.log", "-c",
                                   f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                made.world.connect(SERVERS["nginx"], 80).close()
                return
            except OSError:
                assert time.monotonic() < deadline and self.nginx.poll() is None
                threading.Event().wait(0.02)

    def listen(self):
        for line in self.node.stdout:
            self.told.put(json.loads(line))

    def take(self):
        """Up to the sentinel of each."""
        found, sentinels = [], 0
        while sentinels < len(SERVERS):
            line = self.told.get(timeout=WAIT_SECONDS)
            if line["url"] == "/sentinel":
                sentinels += 1
            else:
                found.append(line)
        return found


class Gate:
    """Three bawn-nets, each with its server behind the same name."""

    def __init__(self, made, folder):
        self.nets, self.files, self.addresses = {}, {}, {}
        for name, address in SERVERS.items():
            place = f"{folder}/{name}"
            os.mkdir(place)
            net = net_world.Net(made.world, place, policy=rules("allow good.example:80"),
                                resolver={"servers": [],
                                          "hosts": [["good.example", address]]})
            made.made.append(net.kill)
            self.nets[name] = net.start()
            self.addresses[name] = net.address_of("good.example")
            self.files[name] = open(f"{place}/log.jsonl", encoding="utf-8")

    def say(self, data):
        """To each server; all connections are over when this returns."""
        streams = {name: net.port.open(self.addresses[name], 80)
                   for name, net in self.nets.items()}
        for stream in streams.values():
            stream.send(data)
            stream.finish()
        for name, stream in streams.items():
            self.nets[name].port.pump(lambda one=stream: one.over, WAIT_SECONDS,
                                      f"end with {name}")
            if not stream.eof and stream.code is None:
                stream.close()
        sentinels = {name: net.port.open(self.addresses[name], 80)
                     for name, net in self.nets.items()}
        for stream in sentinels.values():
            stream.send(b"GET /sentinel HTTP/1.1\r\nHost: good.example\r\n"
                        b"Connection: close\r\n\r\n")
        for stream in sentinels.values():
            stream.expect(b"HTTP/1.1 204 ", WAIT_SECONDS)
            stream.close()

    def understood(self, name):
        """The requests that it read, from the log, up to the sentinel."""
        deadline = time.monotonic() + WAIT_SECONDS
        found, rest = [], ""
        while True:
            rest += self.files[name].readline()
            if not rest.endswith("\n"):
                assert time.monotonic() < deadline, found
                self.nets[name].port.poll()
                threading.Event().wait(0.002)
                continue
            line, rest = json.loads(rest), ""
            if line.get("path") == "/sentinel":
                return found
            if "method" in line:
                found.append(line)


def path_of(url):
    return url.split("?", 1)[0]


def same(told, line):
    """Does the server tell of the request that the line is about?"""
    return (told["method"] == line["method"] and path_of(told["url"]) == line["path"] and
            told["host"] in ("good.example", "good.example:80") and
            line["name"] == "good.example" and
            (not told["whole"] or told["length"] == line.get("bytes_out")))


def refused(line):
    """By the gate or the server, or it was cut before it was whole."""
    return line.get("status", 0) >= 400 or not line.get("status") or "reason" in line


def compare(told, lines):
    """None, or what is understood differently."""
    lines = list(lines)
    for one in told:
        while lines and not same(one, lines[0]) and refused(lines[0]):
            lines.pop(0)
        if not lines or not same(one, lines[0]):
            return f"the server understood {one}; the gate had {lines[:1]}"
        lines.pop(0)
    left = [line for line in lines if not refused(line)]
    return f"the server does not tell of {left}" if left else None


@pytest.fixture(name="stage")
def fixture_stage(make, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    for program in ("nginx", "node"):
        if not shutil.which(program):
            pytest.skip(f"no {program}")
    return Servers(make, tmp_path), Gate(make, tmp_path)


def check(stage, data):
    """How many requests reached each server; fails on any difference."""
    servers, gate = stage
    gate.say(data)
    told = servers.take()
    counts = {}
    for name in SERVERS:
        its = [one for one in told if one["server"] == name]
        problem = compare(its, gate.understood(name))
        assert not problem, (name, data, problem)
        counts[name] = sum(one["whole"] for one in its)
    return counts


def test_servers_understand_odd_requests_as_the_gate_does(stage):
    cases = corpus()
    assert len(cases) > 80
    for name, (data, passes) in cases.items():
        counts = check(stage, data)
        if passes is not None:
            assert set(counts.values()) == {passes}, (name, counts)


def test_servers_understand_mutated_requests_as_the_gate_does(stage):
    dice = random.Random(5)
    seeds = [data for data, _ in corpus().values()]
    passed = 0
    for _ in range(MUTATIONS):
        counts = check(stage, mutate(dice, dice.choice(seeds), seeds))
        passed += any(counts.values())
    # Else it would compare nothing.
    assert passed > MUTATIONS // 10, passed
