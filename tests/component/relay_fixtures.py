# SPDX-License-Identifier: Apache-2.0
"""relay_fixtures.py - the fixture of what runs the files relay: `boot`"""
import os
import re

import pytest

from relay_machine import Machine, share, started

USER = 61234  # owns the share; shown as uid 1000


@pytest.fixture
def boot(tmp_path):
    """A function that starts a machine with one share and more."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("needs root and /dev/fuse")
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    host, machines = tmp_path / "host", []
    host.mkdir()
    os.chown(host, USER, USER)

    def boot(more=(), bulk=True, start=True, **options):
        shares = [share(host, guest_path=str(tmp_path / "inside"), **options), *more]
        machine = started(shares, tmp_path / "log", bulk) if start else \
            Machine(shares, tmp_path / "log", bulk)
        machines.append(machine)
        machine.host, machine.tmp = str(host), str(tmp_path)
        return machine

    yield boot
    codes = [machine.close() for machine in machines]
    print((tmp_path / "log").read_text())
    assert codes == [0] * len(codes)


def writes_of(pid):
    """System calls, since it was started."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(re.search(r"syscw: (\d+)", file.read())[1])
