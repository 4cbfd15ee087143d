# SPDX-License-Identifier: Apache-2.0
"""net_fixtures.py - fixtures for what runs bawn-net: `world` and `make`"""
import os
import socket

import pytest

import net_origin
import net_world

HOSTS = {"servers": [], "hosts": [["good.example", "203.0.113.10"]]}


def rules(text):
    return [{"scope": "sandbox", "name": "rules", "text": text}]


@pytest.fixture(scope="module")
def world():
    """A network of its own."""
    if os.geteuid() != 0:
        pytest.skip("a network of its own needs root")
    if not os.path.exists(net_world.BINARY):
        pytest.skip(f"{net_world.BINARY} is not built")
    made = net_world.World()
    yield made
    made.stop()


class Make:
    """Starts bawn-nets, origins and programs, and ends them."""

    def __init__(self, world_, folder):
        self.world, self.folder = world_, folder
        self.made = []

    def net(self, text="", hello=True, trust=None, slots=False, **settings):
        settings.setdefault("resolver", HOSTS)
        net = net_world.Net(self.world, self.folder, policy=rules(text), **settings)
        net.trust = trust
        net.reads_slots = slots
        self.made.append(net.kill)
        return net.start(hello)

    def origin(self, at, *args, **kwargs):
        origin = net_origin.Origin(self.world, at, *args, folder=str(self.folder),
                                   **kwargs)
        self.made.append(origin.stop)
        return origin

    def listen(self, address, port, backlog=128):
        """A listening socket that the test serves itself."""
        sock = self.world.listen(address, port, backlog)

        def end():
            # Whoever waits in accept() would keep it alive.
            sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.made.append(end)
        return sock

    def program(self, argv, **kwargs):
        process = self.world.spawn(argv, **kwargs)

        def end():
            process.terminate()
            process.wait(20)
        self.made.append(end)
        return process

    def end(self):
        for action in reversed(self.made):
            action()


@pytest.fixture
def make(world, tmp_path):  # pylint: disable=redefined-outer-name
    os.chmod(tmp_path, 0o755)
    made = Make(world, tmp_path)
    yield made
    made.end()
