# SPDX-License-Identifier: Apache-2.0
"""The gate of a sandbox that was restored: in place before the first command"""
import os
import shutil

from bawn import SMALL, START_SECONDS

PROBE = os.path.join(os.environ["BAWN_TEST_LIB"], "net_probe")
# Without the rules a connection would find nobody, and a datagram would vanish.
SCRIPT = """
cat /etc/resolv.conf
ls /sys/class/net
./net_probe send 198.18.0.7 443
./net_probe send 224.0.0.251 5353
./net_probe refused 198.18.0.7 443 1 | grep -c '^[0-9.]*$'
"""
EXPECTED = ["nameserver 198.19.255.1", "bawn0", "lo", "send: Operation not permitted",
            "send: Operation not permitted", "1"]


def test_the_first_command_after_a_restore_finds_the_gate_closed(bawn):
    shutil.copy(PROBE, bawn.workspace)
    for again in range(2):  # the first may have made the warm image
        name = f"gate-{again}"
        done = bawn("run", "--name", name, *SMALL, "shell", ".", "--", "sh", "-c", SCRIPT,
                    timeout=START_SECONDS)
        assert done.out.split("\n")[:-1] == EXPECTED, done
    # A stopped sandbox boots: the same there.
    bawn("stop", "--power-off", name)
    done = bawn("run", name, "--", "sh", "-c", SCRIPT, timeout=START_SECONDS)
    assert done.out.split("\n")[:-1] == EXPECTED, done
