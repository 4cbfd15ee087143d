#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""workspace.py - a shared folder: bawn against virtiofsd, the guest's disk, the host

Same kernel, template and machine everywhere. virtiofsd counts with the better of
cache=auto and cache=always, row by row, writeback on. These are two tries, of which on a
noisy machine the better one is better than one; so bawn has two as well. They take turns
stage by stage (a cold row, or all rows that change something), since a shared machine may
be half as fast a minute later; and a stage during which the host's own host took more than
a fiftieth of the CPUs away is measured again, whoever it was. Cold is a fresh machine with
caches dropped on both sides (the guest's own disk: caches dropped). The clock is the
guest's; what writes ends with `sync` inside the time, and every file is hashed on the host
afterwards. The build uses the compiler of the template; it is that compiler and little else,
the same for all, so it is done three times in a row, and the best one counts.

Before the clock starts each program has done the same with a handful of files on the
guest's own disk: it is in memory, and translated by the emulator. A machine that has just
booted has more of the kernel translated than one that was restored, which is worth a
tenth of the build even in memory and says nothing about the workspace.

Run by root, each system works on a file system of its own, a copy of the same image:
ext4 looks at every inode that was removed within the last minutes before it makes a
file, so that whoever comes later would pay for what the others have removed.

Overlay mode is compared with the own disk of such a sandbox, as fresh as the other: a
machine through which all the files have passed has touched its memory before, which
is worth a fifth of a row that writes and says nothing about overlays.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time

import common

sys.path.insert(0, f"{common.TOP}/bench/lib")
sys.path.insert(0, f"{common.TOP}/tests/lib")
import trees  # noqa: E402
from plain_machine import VIRTIOFSD, Blueprint, PlainMachine  # noqa: E402

AGENT_UID = 1000
TAR = "/var/tmp/bench.tar"
SAMPLE = "/var/tmp/sample"  # of a guest
DROP = "sync; echo 3 > /proc/sys/vm/drop_caches"
MEMORY_FOLDERS, MEMORY_FILES, MEMORY_MB = 2000, 100, 64
STOLEN_MOST, STOLEN_TRIES = 0.02, 4
UNMOUNT_SECONDS = 10


class Row:
    """One thing to time. fresh: cold, on a machine of its own; warm: and once more; times: in
    a row, each after `before`."""

    def __init__(self, name, script, expect="", fresh=False, warm=False, before="", times=1):
        self.name, self.script, self.expect = name, script, expect
        self.fresh, self.warm, self.before, self.times = fresh, warm, before, times


ROWS = [
    Row("status", "git -C tree status --porcelain | wc -l", "0", fresh=True,
        warm=True),
    Row("find", "find tree -path tree/.git -prune -o -type f -size +0c -print | wc -l",
        str(trees.FOLDERS * trees.FILES), fresh=True, warm=True),
    Row("rg", f"rg -l {trees.NEEDLE} tree | wc -l", str(trees.NEEDLES), fresh=True,
        warm=True),
    Row("unpack", "tar xf $TAR -C work && sync"),
    Row("rm", "rm -rf work/unpacked && sync",
        before=f"[ -d work/unpacked ] || tar xf {TAR} -C work; sync"),
    Row("build", "make -s -j2 -C project && sync && ./project/program",
        before="rm -f project/*.o project/program; sync", times=3),
    Row("write", "dd if=/dev/zero of=work/zeros bs=1M count=256 status=none && sync"),
    Row("read", "dd if=big of=/dev/null bs=1M status=none", fresh=True),
]
SMALL = ["status cold", "status warm", "find cold", "find warm", "rg cold", "rg warm",
         "unpack", "rm", "build"]
LARGE = ["write", "read"]
PRIME = " && ".join(["dd --version", *(f"{{ {row.script}; }}" for row in ROWS
                                       if row.name not in LARGE)])
WRITING = ["unpack", "rm", "build", "write"]


class Host:
    """No machine at all."""
    name, shares, one_machine = "host", True, False

    def __init__(self, bench):
        self.bench, self.root, self.sample = bench, bench.root, f"{bench.scratch}/sample-host"

    def fresh(self):
        pass

    def sh(self, script, user="root", given=None):
        argv = ["bash", "-c", script]
        if user == "agent" and os.getuid() == 0:
            uid = str(AGENT_UID)
            argv = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", *argv]
        done = subprocess.run(argv, input=given, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, env={**os.environ, "HOME": "/tmp"})
        if done.returncode:
            sys.exit(f"host: {script}: {done.stdout.decode(errors='replace')}")
        return done.stdout.decode()

    def close(self):
        pass


class Plain:
    """The machine without bawn: with virtiofsd, or on its own disk."""
    machine, sample = None, SAMPLE

    def __init__(self, bench, cache=None):
        self.bench, self.root, self.cache = bench, bench.root, cache
        self.name = f"virtiofsd-{cache}" if cache else "disk"
        self.shares, self.one_machine = bool(cache), not cache

    def fresh(self):
        if self.machine and self.one_machine:
            return
        self.close()
        share = (self.bench.root, self.cache) if self.cache else None
        self.machine = PlainMachine(self.bench.blueprint, share)
        self.machine.sh("ulimit -n 8192")
        if not share:
            self.bench.copy_in(self)

    def sh(self, script, user="root", given=None):
        return self.machine.sh(script, user, given)

    def close(self):
        if self.machine:
            self.machine.close()
        self.machine = None


class Bawn:
    """A sandbox with the folder as its workspace."""
    sample = SAMPLE

    def __init__(self, bench, mode):
        self.bench, self.root, self.mode = bench, bench.root, mode
        self.name = "bawn" if mode == "direct" else f"bawn-{mode}"
        self.box = f"bench-{self.name}"
        self.shares, self.one_machine = mode == "direct", False

    def fresh(self):
        self.close()
        options = [] if self.mode == "direct" else ["--workspace-mode", self.mode]
        common.bawn("create", "--name", self.box, *options, "shell", self.bench.root)

    def sh(self, script, user="root", given=None):
        argv = [common.BAWN, "exec", "-i", "-u", user, self.box, "bash", "-c", script]
        how = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(argv, env=common.ENV, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, **how)
        if done.returncode:
            sys.exit(f"{self.name}: {script}: {done.stdout.decode(errors='replace')}")
        return done.stdout.decode()

    def close(self):
        common.bawn("rm", "-f", self.box, check=False)


class Own(Bawn):
    """The own disk of a sandbox in overlay mode: what the overlay costs is all that differs."""

    def __init__(self, bench):
        super().__init__(bench, "overlay")
        self.name, self.root = "own", "/var/tmp/own"

    def fresh(self):
        super().fresh()
        self.sh(f"mkdir {self.root} && cd {self.bench.root} && cp -a work project {self.root} && "
                f"chown -R agent: {self.root} && sync")


class Ground:
    """What lies at a path: a fresh copy of an image, or, without root, one folder for all."""
    SIZE = "6G"

    def __init__(self, scratch, path):
        self.image, self.copy, self.path = f"{scratch}/image", f"{scratch}/copy", path
        self.device = None
        os.mkdir(path)
        if os.getuid() == 0:
            common.quiet(["truncate", "-s", self.SIZE, self.copy])
            common.quiet(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,nodiscard",
                          self.copy])
            self.mount()

    def mount(self):
        # Its blocks are cached once, not in the image as well.
        self.device = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", self.copy],
                                     check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        common.quiet(["mount", self.device, self.path])

    def unmount(self):
        if self.device:
            # What served the folder has up to a second to take in the last writes.
            deadline = time.monotonic() + UNMOUNT_SECONDS
            while subprocess.run(["umount", "-q", self.path], check=False,
                                 stderr=subprocess.DEVNULL).returncode:
                if time.monotonic() > deadline:
                    sys.exit(f"{self.path} is still in use")
                time.sleep(0.05)
            common.quiet(["losetup", "-d", self.device])
        self.device = None

    def keep(self):
        """This is what each of them begins with."""
        if self.device:
            self.unmount()
            os.rename(self.copy, self.image)

    def lay(self):
        if os.path.exists(self.image):
            common.quiet(["cp", "--sparse=always", self.image, self.copy])
            self.mount()

    def clear(self):
        if self.device:
            self.unmount()
            os.unlink(self.copy)
        else:
            trees.tidy(self.path)


class Stolen:
    """What share of the CPUs somebody else had since it was made."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return ticks[7], sum(ticks)

    def share(self):
        stolen, ticks = (after - before for after, before in zip(self.now(), self.before))
        return stolen / ticks if ticks else 0


class Bench:
    """The folders, and the times by row and system."""

    def __init__(self, scratch):
        self.scratch, self.root = scratch, f"{scratch}/workspace"
        self.uid = AGENT_UID if os.getuid() == 0 else os.getuid()
        self.times = {}
        self.stolen = 0  # of the worst row of a stage
        self.blueprint = None
        self.ground = Ground(scratch, self.root)
        trees.make_root(self.root, self.uid)
        self.tar, self.digests = trees.make_tar()
        self.sample = trees.make_sample(f"{scratch}/sample")
        self.ground.keep()

    def copy_in(self, system):
        """The same files at the same path on the guest's own disk; status knows them."""
        packed = subprocess.run(["tar", "c", "-C", self.root, "."], check=True,
                                stdout=subprocess.PIPE).stdout
        system.sh(f"mkdir -p {self.root} && tar x -C {self.root} && chown -R agent: {self.root}",
                  given=packed)
        system.sh(f"git -C {self.root}/tree status > /dev/null; sync", user="agent")

    def begin(self, system):
        """Nothing of the files is in a cache of the host, nor of a new guest.

        The host's first: afterwards it would take the pages of a restored
        machine's memory with it, which are no part of the workspace.
        """
        if os.getuid() == 0:
            subprocess.run(["sh", "-c", DROP], check=True)
        system.fresh()

    def drop_guest(self, system):
        owner = self.uid if system.name == "host" else "agent"
        system.sh(f"rm -rf {system.sample} && mkdir {system.sample} && tar x -C {system.sample} && "
                  f"chown -R {owner} {system.sample}", given=self.sample)
        if system.name != "host":
            system.sh(DROP)
        system.sh(f"cd {system.sample} && TAR={system.sample}/tar && {PRIME}", user="agent")

    def clock(self, system, row):
        stolen = Stolen()
        out = system.sh(f"TAR={TAR} && cd {system.root} && begin=$EPOCHREALTIME && "
                        f"{{ {row.script}; }} && "
                        'end=$EPOCHREALTIME && echo "TIME $begin $end"', user="agent")
        self.stolen = max(self.stolen, stolen.share())
        begin, end = re.search(r"TIME (\S+) (\S+)", out).groups()
        if not out.startswith(row.expect):
            sys.exit(f"{system.name}: {row.name}: {out}")
        return float(end) - float(begin)

    def note(self, system, name, seconds):
        times = self.times.setdefault(name, {})
        times[system.name] = min(seconds, times.get(system.name, seconds))
        common.row(f"{name}, {system.name}", seconds, "s")

    def check(self, row):
        """On the host: what the row wrote, byte for byte."""
        work = f"{self.root}/work"
        if row.name == "unpack" and trees.digests_of(work, "unpacked") != self.digests:
            sys.exit("unpack: the host has other files")
        if row.name == "rm" and os.path.exists(f"{work}/unpacked"):
            sys.exit("rm: the host still has the folder")
        if row.name == "build" and not os.access(f"{self.root}/project/program", os.X_OK):
            sys.exit("build: the host has no program")
        if row.name == "write":
            with open(f"{work}/zeros", "rb") as file:
                if hashlib.sha256(file.read()).digest() != \
                        hashlib.sha256(bytes(256 << 20)).digest():
                    sys.exit("write: the host has other bytes")

    def stage(self, system, rows):
        self.ground.lay()
        try:
            self.measure(system, rows)
        finally:
            system.close()
            self.ground.clear()

    def measure(self, system, rows):
        for row in rows:
            if row.fresh:
                self.begin(system)
                self.drop_guest(system)
                self.note(system, f"{row.name} cold" if row.warm else row.name,
                          self.clock(system, row))
            if row.warm:
                self.note(system, f"{row.name} warm", self.clock(system, row))
        others = [row for row in rows if not row.fresh]
        if others:
            self.begin(system)
            system.sh(f"cat > {TAR}; chmod 644 {TAR}", given=self.tar)
            self.drop_guest(system)
        for row in [row for row in others for _ in range(row.times)]:
            if row.before:
                system.sh(f"cd {system.root}; {row.before}", user="agent")
            self.note(system, row.name, self.clock(system, row))
            if system.shares:
                self.check(row)


def virtiofsd(times):
    """The better of both modes; None when it was not measured."""
    found = [seconds for name, seconds in times.items() if name.startswith("virtiofsd")]
    return min(found) if found else None


def table(times):
    names = ["host", "disk", "virtiofsd-auto", "virtiofsd-always", "bawn", "own", "bawn-overlay"]
    print(f"\n  {'seconds':<12}" + "".join(f"{name:>17}" for name in names) +
          "  virtiofsd/bawn")
    for row, by_name in times.items():
        cells = [f"{by_name[name]:17.2f}" if name in by_name else f"{'-':>17}"
                 for name in names]
        theirs, ours = virtiofsd(by_name), by_name.get("bawn")
        ratio = f"{theirs / ours:15.2f}x" if theirs and ours else ""
        print(f"  {row:<12}{''.join(cells)}{ratio}")


def bars(times):
    both = [row for row in [*SMALL, *LARGE] if row in times and "bawn" in times[row]
            and virtiofsd(times[row])]
    for row in both:
        common.at_least(f"workspace {row}: virtiofsd / bawn",
                        virtiofsd(times[row]) / times[row]["bawn"], 1)
    if set(SMALL) <= set(both):
        common.at_least("workspace, all small rows: virtiofsd / bawn",
                        sum(virtiofsd(times[row]) for row in SMALL) /
                        sum(times[row]["bawn"] for row in SMALL), 3)
    for row in WRITING:
        by_name = times.get(row, {})
        if "bawn-overlay" in by_name and "own" in by_name:
            common.bar(f"workspace {row}: overlay / own disk",
                       by_name["bawn-overlay"] / by_name["own"], 1.3)


def memory():
    done = subprocess.run([sys.executable, f"{common.TOP}/bench/files_server.py", "--folders",
                           str(MEMORY_FOLDERS), "--files", str(MEMORY_FILES)], check=True,
                          stdout=subprocess.PIPE, text=True)
    used, descriptors = re.search(r"memory: ([\d.]+) MB, descriptors: (\d+)", done.stdout).groups()
    count = MEMORY_FOLDERS * MEMORY_FILES
    common.bar(f"bawn-files after {count:,} files", float(used), MEMORY_MB, " MB")
    common.bar("descriptors of bawn-files", float(descriptors), 4096, "")


def chosen(option, known):
    names = option.split(",") if option else known
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    known_rows = [row.name for row in ROWS] + ["memory"]
    known = ["host", "disk", "virtiofsd", "bawn", "own", "overlay"]
    parser.add_argument("--rows", help=",".join(known_rows))
    parser.add_argument("--only", help=",".join(known))
    parser.add_argument("--cache", help="of virtiofsd: auto,always")
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    options = parser.parse_args()
    names, only = chosen(options.rows, known_rows), chosen(options.only, known)
    rows = [row for row in ROWS if row.name in names]
    common.title("Workspace: 10,000 files in 1,000 folders")
    if not os.access(VIRTIOFSD, os.X_OK) or os.getuid():
        print("  virtiofsd: not measured (needs root and qemu-system-common)")
        only = [name for name in only if name != "virtiofsd"]
    with tempfile.TemporaryDirectory(prefix="bawn-bench-", dir="/var/tmp") as scratch:
        os.chmod(scratch, 0o755)
        if rows:
            measure_all(Bench(scratch), rows, only, options)
    if "memory" in names and "bawn" in only:
        memory()


def stages_of(rows):
    """What runs on one machine, and is over before the next one has its turn."""
    fresh = [[row] for row in rows if row.fresh]
    others = [row for row in rows if not row.fresh]
    return [*fresh, others] if others else fresh


def systems_of(bench, only, caches):
    """Those without a bar, each by itself, and those that take turns."""
    alone, turns, own = [], [], []
    if "host" in only:
        alone.append(Host(bench))
    if "disk" in only:
        alone.append(Plain(bench))
    bawn = [Bawn(bench, "direct")] if "bawn" in only else []
    if "virtiofsd" in only:
        for cache in caches:
            turns += [Plain(bench, cache), *bawn]
    else:
        turns += bawn
    if "own" in only:
        own.append(Own(bench))
    if "overlay" in only:
        own.append(Bawn(bench, "overlay"))
    return alone, turns, own


def measure_all(bench, rows, only, options):
    writing = [row for row in rows if row.name in WRITING]
    if {"disk", "virtiofsd"} & set(only):
        bench.blueprint = Blueprint(common, "virtiofs")
    alone, turns, own = systems_of(bench, only, chosen(options.cache, ["auto", "always"]))
    jobs = [(system, rows) for system in alone]
    for stage in stages_of(rows):
        jobs += [(system, stage) for system in turns]
    if writing:
        jobs += [(system, writing) for system in own]
    for _ in range(options.rounds):
        for system, its_rows in jobs:
            for _ in range(STOLEN_TRIES):
                bench.stolen = 0
                bench.stage(system, its_rows)
                if bench.stolen <= STOLEN_MOST:
                    break
                print(f"    {bench.stolen:.0%} of the CPUs were taken away: once more", flush=True)
    table(bench.times)
    bars(bench.times)


if __name__ == "__main__":
    main()
