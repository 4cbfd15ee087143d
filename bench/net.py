#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""net - bawn-net against tinyproxy and squid, on one machine in one run

Everything lives in a network namespace with one origin. bawn-net is driven
through its port protocol, the proxies by CONNECT, all by bench/lib/net_driver.c.
bawn-net has the preset `balanced` and 10,000 rules more and its log on; squid
has as many domains in its ACL and its log on; tinyproxy has no rule at all.
A tunnel is open when the origin's answer to a ClientHello came back.
"""
import argparse
import contextlib
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import TOP, at_least, bar, row, title

sys.path.insert(0, f"{TOP}/tests/component")
import net_world  # noqa: E402

DRIVER = f"{TOP}/build/bench/net_driver"
NAME, ADDRESS, PORT = "origin.example", "203.0.113.10", 443
RULES = 10000


def rules():
    with open(f"{TOP}/data/policy/balanced", encoding="utf-8") as file:
        balanced = file.read()
    more = [f"allow host{i}.of{i % 97}.example" for i in range(RULES - 1)]
    return [{"scope": "preset", "name": "balanced", "text": balanced},
            {"scope": "sandbox", "name": "more", "text": "\n".join([*more, f"allow {NAME}"])}]


class Bawn:
    name = "bawn-net"

    def __init__(self, world, folder):
        self.net = net_world.Net(
            world, folder, policy=rules(),
            resolver={"servers": [], "hosts": [[NAME, ADDRESS]]})
        self.net.port_end = self.net.guest_end
        self.world = world
        self.net.start(hello=False)
        self.pid = self.net.process.pid

    def drive(self, *words):
        """The driver has the guest's end as its descriptor 3."""
        fd = self.net.guest_end.fileno()
        return self.world.spawn(
            ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{fd}', DRIVER, "port", *words,
             NAME, str(PORT)],
            pass_fds=[fd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.net.kill()


class Proxy:
    """A program that listens; target is what CONNECT names."""

    def __init__(self, world, folder, port, target):
        self.world, self.folder, self.port, self.target = world, folder, port, target
        self.process = world.spawn(self.command(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                self.world.connect("127.0.0.1", self.port).close()
                break
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    sys.exit(f"{self.name} does not start")
                time.sleep(0.05)
        self.pid = self.find_pid()

    def find_pid(self):
        return self.process.pid

    def drive(self, *words):
        return self.world.spawn(
            [DRIVER, "proxy", "127.0.0.1", str(self.port), *words, self.target, str(PORT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Tinyproxy(Proxy):
    name = "tinyproxy"

    def command(self):
        path = f"{self.folder}/tinyproxy.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Port {self.port}\nListen 127.0.0.1\nTimeout 600\n"
                       f"MaxClients 20000\nLogFile \"{self.folder}/tinyproxy.log\"\n"
                       "LogLevel Connect\n")
        return ["tinyproxy", "-d", "-c", path]


class Squid(Proxy):
    name = "squid"

    def stop(self):
        super().stop()
        for path in glob.glob(f"/dev/shm/bench{os.getpid()}-*"):
            os.unlink(path)

    def command(self):
        with open(f"{self.folder}/domains", "w", encoding="utf-8") as file:
            file.writelines(f"host{i}.of{i % 97}.example\n" for i in range(RULES - 1))
            file.write(f"{NAME}\n")
        with open(f"{self.folder}/hosts", "w", encoding="utf-8") as file:
            file.write(f"{ADDRESS} {NAME}\n")
        path = f"{self.folder}/squid.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"""
http_port 127.0.0.1:{self.port}
acl named dstdomain "{self.folder}/domains"
http_access allow named
http_access deny all
hosts_file {self.folder}/hosts
cache deny all
cache_mem 8 MB
access_log stdio:{self.folder}/access.log squid
cache_log {self.folder}/cache.log
pid_filename {self.folder}/squid.pid
coredump_dir {self.folder}
cache_effective_user proxy
max_filedescriptors 65536
pinger_enable off
""")
        return ["squid", "-N", "-n", f"bench{os.getpid()}", "-f", path]


def origin(world):
    process = world.spawn([DRIVER, "origin", ADDRESS, str(PORT)],
                          stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def result(driver):
    line = driver.stdout.readline().split()
    if len(line) != 2:
        raise RuntimeError(f"the driver failed: {driver.wait()}")
    return float(line[0]), int(line[1])


@contextlib.contextmanager
def stage():
    """A namespace with an origin, and a folder, for one measurement: ports of
    connections that are over must not be missing in the next."""
    folder = tempfile.mkdtemp(prefix="bawn-bench-")
    os.chmod(folder, 0o777)
    world = net_world.World()
    server = origin(world)
    try:
        yield world, folder
    finally:
        server.kill()
        server.wait()
        world.stop()
        shutil.rmtree(folder)


def once(maker, *words):
    """What a fresh proxy did per second."""
    with stage() as (world, folder):
        subject = maker(world, folder)
        try:
            driver = subject.drive(*words)
            taken, done = result(driver)
            driver.wait()
            return done / taken
        finally:
            subject.stop()


def memory(pid):
    """Private memory in KiB: of the process, without what the kernel has."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        text = file.read()
    return sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+)", text, re.M))


def idle(count):
    """KiB for each idle tunnel of bawn-net, and how many were held."""
    with stage() as (world, folder):
        subject = Bawn(world, folder)
        try:
            before = memory(subject.pid)
            driver = subject.drive("idle", str(count))
            _, held = result(driver)
            after = memory(subject.pid)
            driver.stdin.close()
            driver.wait()
            return (after - before) / held, held
        finally:
            subject.stop()


def compare(makers, rounds, *words):
    """The median of the rounds for each, in turns: the machine is shared."""
    found = {maker.name: [] for maker in makers}
    for _ in range(rounds):
        for maker in makers:
            found[maker.name].append(once(maker, *words))
    return {name: statistics.median(values) for name, values in found.items()}


def tiny(port):
    return type("Tiny", (Tinyproxy,), {
        "__init__": lambda self, world, folder:
            Proxy.__init__(self, world, folder, port, ADDRESS)})


def big(port):
    return type("Big", (Squid,), {
        "__init__": lambda self, world, folder:
            Proxy.__init__(self, world, folder, port, NAME)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tunnels", type=int, default=5000)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--idle", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="tunnels,bulk,idle")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("a network namespace needs root")
    makers = [Bawn, tiny(8801), big(8802)]
    only = options.only.split(",")
    if "tunnels" in only:
        title("new tunnels")
        found = compare(makers, options.rounds, "tunnels", str(options.tunnels), "64")
        for name, value in found.items():
            row(name, value, "/s")
        best = max(found["tinyproxy"], found["squid"])
        at_least("new tunnels per second against the better proxy",
                 found["bawn-net"] / best, 1.0)
    if "bulk" in only:
        title("one tunnel")
        found = compare(makers, options.rounds, "bulk", str(options.bytes))
        for name, value in found.items():
            row(name, value / 1e6, "MB/s")
        best = max(found["tinyproxy"], found["squid"])
        at_least("throughput of one tunnel against the better proxy",
                 found["bawn-net"] / best, 0.8)
    if "idle" in only:
        title("idle tunnels")
        each, held = idle(options.idle)
        row("bawn-net, memory of one", each, "KiB")
        bar("memory of an idle tunnel", each, 8, " KiB")
        at_least("idle tunnels held", held, 10000, "")


if __name__ == "__main__":
    main()
