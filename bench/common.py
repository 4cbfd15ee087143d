# SPDX-License-Identifier: Apache-2.0
"""common.py - one table for every benchmark: ours, theirs, ratio, bar

Numbers of other machines say little, so each bar is a ratio of two things
measured in the same run, alternately. A benchmark never fails a build: it says
PASS or MISS.
"""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAWN = f"{TOP}/build/bawn"
HOME = os.environ.get("BAWN_BENCH_HOME", f"{TOP}/.cache/bench")
ENV = {**os.environ, "BAWN_HOME": HOME}
ENV.setdefault("HOME", "/root")


def bawn(*args, check=True, **kwargs):
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([BAWN, *args], env=ENV, cwd=workspace(), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **kwargs)
    if check and done.returncode:
        sys.exit(f"bawn {' '.join(args)}: {done.returncode}: {done.stderr}")
    return done.stdout


def workspace():
    path = f"{HOME}/project"
    os.makedirs(path, exist_ok=True)
    return path


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternate(rounds, *actions):
    """Median of each; they take turns, so that a noisy moment hits all."""
    times = [[] for _ in actions]
    for _ in range(rounds):
        for index, action in enumerate(actions):
            times[index].append(seconds(action))
    return [statistics.median(column) for column in times]


def quiet(argv, **kwargs):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False, **kwargs)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: {done.returncode}: {done.stderr.decode()}")


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def row(name, value, unit="ms"):
    print(f"  {name:<52} {value:>9.1f} {unit}", flush=True)


def bar(name, value, limit, unit="x"):
    """One bar of the project: value must be at most limit."""
    verdict = "PASS" if value <= limit else "MISS"
    print(f"{verdict} {name}: {value:.2f}{unit} (at most {limit:g}{unit})", flush=True)


def at_least(name, value, limit, unit="x"):
    verdict = "PASS" if value >= limit else "MISS"
    print(f"{verdict} {name}: {value:.2f}{unit} (at least {limit:g}{unit})", flush=True)


def newest(pattern):
    found = glob.glob(pattern)
    if not found:
        sys.exit(f"nothing at {pattern}")
    return max(found, key=os.path.getmtime)


def template_disk(name="base"):
    for place in (f"{HOME}/data", os.environ.get("BAWN_SYSTEM_DIR", "/var/lib/bawn")):
        path = f"{place}/templates/{name}/disk.ext4"
        if os.path.isfile(path):
            return path
    sys.exit(f"no template {name}")


def state(name):
    with open(f"{HOME}/state/sandboxes/{name}/machine/state.json", encoding="utf-8") as file:
        return json.load(file)


def qemu_pid(name):
    return state(name)["qemu_pid"]


def children_of(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.split("/")[2])
            found += [child, *children_of(child)]
    return found


def command(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return os.path.basename(file.read().split(b"\0")[0].decode(errors="replace"))


def runsc():
    return shutil.which("runsc")
