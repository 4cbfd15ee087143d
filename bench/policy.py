#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""policy - instructions for one decision of the policy engine

10,000 random rules over all kinds, 1,000 random targets near them, some seeds:
the connection, a request on it and its resolved address are decided, each alone
under callgrind. The bar is for the worst. Ten times fewer rules are shown beside
it: the cost must not grow with their number.
"""
import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from common import TOP, bar, row, title

DRIVER = f"{TOP}/build/bench/policy_driver"


def measure(seed, rules, targets):
    """Instructions of each decision, with what was decided."""
    work = tempfile.mkdtemp(prefix="bawn-bench-")
    try:
        done = subprocess.run(
            ["valgrind", "--quiet", "--tool=callgrind", "--combine-dumps=yes",
             "--toggle-collect=measured", "--dump-after=measured",
             "--compress-strings=yes", f"--callgrind-out-file={work}/out",
             DRIVER, str(seed), str(rules), str(targets)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"policy_driver under valgrind: {done.returncode}: {done.stderr}")
        counts = []
        for path in glob.glob(f"{work}/out*"):
            with open(path, encoding="ascii", errors="replace") as file:
                counts += [int(line.split()[1]) for line in file
                           if re.match(r"summary: \d+", line)]
    finally:
        shutil.rmtree(work)
    lines = done.stdout.splitlines()
    counts = [count for count in counts if count]
    if len(counts) != len(lines):
        sys.exit(f"{len(lines)} decisions, but {len(counts)} counts")
    return list(zip(counts, lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rules", type=int, default=10000)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", type=int, default=0, help="the worst N decisions")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("no valgrind")
    if not os.path.exists(DRIVER):
        sys.exit(f"no {DRIVER}")
    title("policy decisions")
    few = [found for seed in range(1, options.seeds + 1)
           for found in measure(seed, max(options.rules // 10, 1), options.targets)]
    many = [found for seed in range(1, options.seeds + 1)
            for found in measure(seed, options.rules, options.targets)]
    for kind in ("connect", "request", "resolved"):
        for name, found in (("few", few), ("many", many)):
            costs = [count for count, line in found if line.startswith(kind)]
            rules = options.rules if name == "many" else options.rules // 10
            row(f"{kind}, {rules} rules: median", statistics.median(costs), "instr.")
            row(f"{kind}, {rules} rules: worst", max(costs), "instr.")
    for count, line in sorted(many, reverse=True)[:options.show]:
        print(f"  {count:>6} {line}")
    bar(f"worst decision with {options.rules} rules", max(count for count, _ in many), 3000,
        " instructions")


if __name__ == "__main__":
    main()
