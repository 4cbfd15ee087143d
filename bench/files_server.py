#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""files_server - requests a second that bawn-files answers, without a machine

Batches of requests over a socketpair, as a relay would send them; the client
sends prepared bytes and only counts what comes back, so the server is what is
measured. Also its memory after touching many files.
"""
import argparse
import os
import shutil
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests",
                                "component"))
from fuse_client import FUSE, IN_HEADER, OPS, OUT_HEADER, Files, share  # noqa: E402

READ = struct.Struct("<QQIIQII")
RECORD = struct.Struct("<IBBH")
UNIQUE = 2  # of every request that run() sends


def request(op, node, body):
    message = IN_HEADER.pack(40 + len(body), OPS[op], UNIQUE, node, 0, 0, 0, 0, 0) + body
    return RECORD.pack(len(message), FUSE, 0, 0) + message


def run(files, requests):
    """Sends all, reads until each has its reply; seconds.

    Other records lie between the replies: files that are sent before they are asked for.
    """
    sender = threading.Thread(target=files.socket.sendall, args=(b"".join(requests),))
    data, left = files.buffer[files.position:], len(requests)
    at = 0  # where the next record begins, which may be behind the data
    begin = time.monotonic()
    sender.start()
    while True:
        while at + RECORD.size + OUT_HEADER.size <= len(data):
            length, kind, _, _ = RECORD.unpack_from(data, at)
            if kind == FUSE and OUT_HEADER.unpack_from(data, at + RECORD.size)[2] == UNIQUE:
                left -= 1
            at += RECORD.size + length
        if left <= 0 and at <= len(data):
            break
        data, at = data[at:] + files.socket.recv(1 << 20), max(0, at - len(data))
    seconds = time.monotonic() - begin
    sender.join()
    files.buffer, files.position = data, at
    return seconds


def memory(files):
    with open(f"/proc/{files.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folders", type=int, default=1000)
    parser.add_argument("--files", type=int, default=10, help="in each folder")
    options = parser.parse_args()
    top = tempfile.mkdtemp(prefix="bawn-bench-")
    try:
        for i in range(options.folders):
            os.mkdir(f"{top}/d{i}")
            for j in range(options.files):
                with open(f"{top}/d{i}/f{j}", "wb") as file:
                    file.write(b"x" * 2000)
        measure(top, options)
    finally:
        shutil.rmtree(top)


def measure(top, options):
    files = Files([share(top)])
    begin = time.monotonic()
    folders, nodes = [], []
    for name, entry in files.readdir(plus=True).items():
        if entry.node:
            folders.append(entry.node)
    for node in folders:
        nodes += [entry.node for entry in files.readdir(node, plus=True).values() if entry.node]
    print(f"walk with READDIRPLUS, one at a time: {time.monotonic() - begin:.2f} s "
          f"for {len(nodes)} files in {len(folders)} folders")
    wide = [request("GETATTR", node, bytes(16)) for node in nodes]
    report("GETATTR", len(wide), run(files, wide))
    wide = [request("LOOKUP", folder, b"f0\0") for folder in folders]
    report("LOOKUP", len(wide), run(files, wide))
    wide = [request("READ", node, READ.pack(0, 0, 4096, 0, 0, 0, 0)) for node in nodes]
    report("READ of 2,000 bytes, each another file", len(wide), run(files, wide))
    big = files.create("big").node
    data = os.urandom(1 << 20)
    wide = [request("WRITE", big, struct.pack("<QQIIQII", 0, i << 20, 1 << 20, 0, 0, 0, 0) + data)
            for i in range(128)]
    seconds = run(files, wide)
    print(f"WRITE in mebibytes: {128 / seconds:.0f} MiB/s")
    wide = [request("READ", big, READ.pack(0, i << 20, 1 << 20, 0, 0, 0, 0)) for i in range(128)]
    seconds = run(files, wide)
    print(f"READ in mebibytes: {128 / seconds:.0f} MiB/s")
    print(f"memory: {memory(files):.1f} MB, descriptors: "
          f"{len(os.listdir(f'/proc/{files.process.pid}/fd'))}")
    print(f"ended with {files.close()}")


def report(what, count, seconds):
    print(f"{what}: {count / seconds:.0f} a second")


if __name__ == "__main__":
    main()
