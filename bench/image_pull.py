#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pulling an image: fetched and unpacked, against skopeo and umoci.

usage: bench/image_pull.py     (BAWN_BUILD names the build folder)

The image has 1 GiB in LAYERS layers, made of files of /usr, and lies in a
docker-registry on this machine. `bawn template pull` against `skopeo copy` to
an OCI layout and `umoci unpack` of that, in turns, each from nothing; the median
of ROUNDS counts. Memory is the most that all processes of the pull had at one
time.
"""
import gzip
import hashlib
import io
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import common

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("BAWN_BUILD", "build")
sys.path.insert(0, str(ROOT / "tests/lib"))
import images  # noqa: E402 - made by hand, as the tests have them

BAWN = BUILD / "src/cli/bawn"
ROUNDS = 3
LAYERS = 20
LAYER_BYTES = (1 << 30) // LAYERS
SMALL = 4096  # of the time between two looks at memory, in microseconds
MEMORY_BAR = 100e6


def files_of_usr():
    """Regular files below /usr, again and again under other names."""
    number = 0
    while True:
        number += 1
        for folder, folders, names in os.walk("/usr"):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield path, f"copy{number}{path}"


def make_layer(files):
    out, total = io.BytesIO(), 0
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, name in files:
            size = os.path.getsize(path)
            if size > LAYER_BYTES // 4:
                continue
            tar.add(path, name, recursive=False)
            total += size
            if total >= LAYER_BYTES:
                break
    return out.getvalue()


class Image:
    """As images.Image, one layer at a time: a GiB is not held in memory."""

    def __init__(self, registry, name):
        self.registry, self.base = registry, f"http://{registry.host}/v2/{name}"
        files, layers, diff_ids = files_of_usr(), [], []
        for _ in range(LAYERS):
            tar = make_layer(files)
            diff_ids.append("sha256:" + hashlib.sha256(tar).hexdigest())
            layers.append(self.put(gzip.compress(tar, 6),
                                   images.OCI + "layer.v1.tar+gzip"))
        self.packed = sum(layer["size"] for layer in layers)
        config = self.put(images.json.dumps({
            "os": "linux", "architecture": "amd64", "config": {},
            "rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode(),
            images.OCI + "config.v1+json")
        manifest = images.json.dumps({
            "schemaVersion": 2, "mediaType": images.OCI + "manifest.v1+json",
            "config": config, "layers": layers}).encode()
        registry.call("PUT", f"{self.base}/manifests/latest", manifest,
                      images.OCI + "manifest.v1+json").close()

    def put(self, data, kind):
        name = images.digest(data)
        with self.registry.call("POST", f"{self.base}/blobs/uploads/", b"") as answer:
            place = answer.headers["Location"]
        self.registry.call("PUT", f"{place}&digest={name}", data,
                           "application/octet-stream").close()
        return {"mediaType": kind, "digest": name, "size": len(data)}


class Memory(threading.Thread):
    """The most that a process and its children have at one time."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.over = pid, 0, threading.Event()
        self.start()

    def tree(self):
        found = [str(self.pid)]
        for pid in found:
            try:
                found += pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except OSError:
                continue
        return found

    def run(self):
        page = os.sysconf("SC_PAGE_SIZE")
        while not self.over.wait(SMALL / 1e6):
            total = 0
            for pid in self.tree():
                try:
                    statm = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
                    total += (int(statm[1]) - int(statm[2])) * page
                except (OSError, IndexError):
                    continue
            self.peak = max(self.peak, total)


def time_ours(scratch, image):
    home = scratch / "home"
    shutil.rmtree(home, ignore_errors=True)
    os.sync()
    start = time.monotonic()
    process = subprocess.Popen([BAWN, "template", "pull", image], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE,
                               env={**os.environ, "BAWN_HOME": str(home),
                                    "BAWN_SYSTEM_DIR": "/nonexistent"})
    memory = Memory(process.pid)
    said = process.communicate()[1].decode()
    taken = time.monotonic() - start
    memory.over.set()
    memory.join()
    assert process.returncode == 0, said
    return taken, memory.peak


def time_theirs(scratch, image):
    for name in ("layout", "bundle"):
        shutil.rmtree(scratch / name, ignore_errors=True)
    os.sync()
    start = time.monotonic()
    subprocess.run(["skopeo", "--insecure-policy", "copy", "--src-tls-verify=false",
                    f"docker://{image}", f"oci:{scratch}/layout:latest"], check=True,
                   capture_output=True)
    copied = time.monotonic() - start
    subprocess.run(["umoci", "unpack", "--image", f"{scratch}/layout:latest",
                    *([] if os.geteuid() == 0 else ["--rootless"]),
                    scratch / "bundle"], check=True, capture_output=True)
    return time.monotonic() - start, copied


def main():
    common.title("pulling an image of 1 GiB in 20 layers")
    missing = images.need("docker-registry", "skopeo", "umoci")
    if missing:
        print(f"  skipped: not installed: {' '.join(missing)}")
        return
    with tempfile.TemporaryDirectory(prefix="bawn-bench-") as name:
        scratch = pathlib.Path(name)
        registry = images.RealRegistry(scratch)
        try:
            measure(scratch, registry)
        finally:
            registry.close()


def measure(scratch, registry):
    image = Image(registry, "bench/large")
    reference = f"{registry.host}/bench/large:latest"
    ours, theirs, copies, peaks = [], [], [], []
    for _ in range(ROUNDS):
        taken, peak = time_ours(scratch, reference)
        ours.append(taken)
        peaks.append(peak)
        taken, copied = time_theirs(scratch, reference)
        theirs.append(taken)
        copies.append(copied)
    print(f"  {image.packed / 1e6:.0f} MB packed")
    common.row("bawn template pull", statistics.median(ours) * 1e3)
    common.row("skopeo copy", statistics.median(copies) * 1e3)
    common.row("skopeo copy, then umoci unpack", statistics.median(theirs) * 1e3)
    common.bar("pull against skopeo and umoci",
               statistics.median(ours) / statistics.median(theirs), 1)
    common.bar("peak memory of a pull", max(peaks) / 1e6, MEMORY_BAR / 1e6, " MB")


if __name__ == "__main__":
    main()
