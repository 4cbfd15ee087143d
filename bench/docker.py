#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docker.py - the first `docker run` after a start, against an engine by hand

The same guest, the same image, a fresh boot before each: in turns the engine is
started by its first client, and by hand, as one would: wait for the socket,
then run.
"""
import os

import common

NAME = "bench-docker"
ROUNDS = int(os.environ.get("BAWN_BENCH_ROUNDS", "3"))
RUN = "docker run --rm bench /busybox true"
BY_HAND = """dockerd -H unix:///run/hand.sock >/var/log/hand.log 2>&1 &
until test -S /run/hand.sock; do sleep 0.05; done
DOCKER_HOST=unix:///run/hand.sock """ + RUN


def fresh():
    common.bawn("stop", "--power-off", NAME)
    common.bawn("exec", NAME, "true")


def by_first_client():
    common.bawn("exec", "-u", "root", NAME, "sh", "-c", RUN)


def by_hand():
    common.bawn("exec", "-u", "root", NAME, "sh", "-c", BY_HAND)


def main():
    common.title("Docker in the sandbox, first run after a boot")
    common.bawn("rm", "-f", NAME, check=False)
    common.bawn("create", "--name", NAME, "shell", ".")
    common.bawn("cp", "/bin/busybox", f"{NAME}:/tmp/busybox")
    common.bawn("exec", "-u", "root", NAME, "sh", "-c",
                "tar -C /tmp -c busybox | docker import - bench && " + RUN)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        for times, action in ((ours, by_first_client), (theirs, by_hand)):
            fresh()
            times.append(common.seconds(action))
    ours, theirs = sorted(ours)[ROUNDS // 2], sorted(theirs)[ROUNDS // 2]
    common.row("started by its first client, and run; median", ours * 1e3)
    common.row("dockerd by hand, and run; median", theirs * 1e3)
    common.bar("first docker run / dockerd by hand and run", ours / theirs, 1.3)
    common.bawn("rm", "-f", NAME)


if __name__ == "__main__":
    main()
