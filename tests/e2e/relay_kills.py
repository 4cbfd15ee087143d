# SPDX-License-Identifier: Apache-2.0
"""relay_kills - a script for a guest: its relay is killed again and again while it works"""

SCRIPT = """
cd /; last=
for i in 1 2 3; do
    while ! test -e /tmp/enough; do
        LOAD
    done 2>/dev/null &
done
for i in 1 2 3 4 5 6 7 8; do
    while :; do
        now=$(for p in /proc/[0-9]*; do
            read -r c < $p/comm && test "$c" = NAME && echo ${p#/proc/}; done 2>/dev/null)
        test "$now" != "$last" && kill -9 $now 2>/dev/null && break
    done
    last=$now
done
touch /tmp/enough; wait; echo killed
"""


def kills(name, load):
    """name: of the process; load: what three programs do meanwhile, number $i of them."""
    return SCRIPT.replace("NAME", name).replace("LOAD", load)
