# SPDX-License-Identifier: Apache-2.0
"""agent_world.py - real agents in guests, and models that stand in for theirs

claude and codex are in one template, made from a file of the user's as anybody
could write it: the agents' programs come from the npm registry that npm knows
here. Both fixtures live as long as the run, for more than one file uses them.
"""
import contextlib
import os
import secrets
import socket

import pytest

import vendor_stub
from bawn import ROOT, Bawn
from model_stub import Anthropic, Google, Openai
from net_host import Host

ADDRESS = {"api.anthropic.com": "203.0.113.10", "api.openai.com": "203.0.113.11",
           "generativelanguage.googleapis.com": "203.0.113.12"}
# where a login is made, and the model for who has one
LOGINS = {"platform.claude.com": "203.0.113.13", "auth.openai.com": "203.0.113.14"}
ACCOUNTS = {"chatgpt.com": "203.0.113.15"}
KEYS = {"claude": "sk-ant-api03-" + secrets.token_hex(40),
        "codex": "sk-proj-" + secrets.token_hex(60),
        "gemini": "AIza" + secrets.token_hex(18)}
VARIABLES = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY",
             "gemini": "GEMINI_API_KEY"}
# whose models others talk to here
KEYS |= {agent: KEYS["claude"] for agent in ("copilot", "opencode")}
VARIABLES |= {"copilot": "COPILOT_PROVIDER_API_KEY", "opencode": "ANTHROPIC_API_KEY"}
SIZE = ("-t", "two-agents", "-m", "1G", "--cpus", "2")


def template_text():
    """claude's and codex' own files in one."""
    folder = os.path.join(os.path.dirname(__file__), "../../data/templates")
    lines = ["description = both", "builder = npm", "from = base", "needs = 5G"]
    for agent in ("claude", "codex"):
        with open(f"{folder}/{agent}.ini", encoding="utf-8") as file:
            lines += [line for line in file.read().splitlines()
                      if line.split(" ")[0] in ("npm", "take", "link") and line not in lines]
    return "\n".join(lines) + "\n"


class AgentHost(Host):
    """The hosts of the models, which can be lost and come back."""

    def __init__(self, folder):
        super().__init__(folder)
        self.models = {"claude": Anthropic("echo claude was here > claude.txt && cat claude.txt"),
                       "codex": Openai("echo codex was here > codex.txt && cat codex.txt"),
                       "gemini": Google("echo gemini was here > gemini.txt && cat gemini.txt")}
        self.models |= {agent: self.models["claude"] for agent in ("copilot", "opencode")}
        self.vendors = {"claude": vendor_stub.Claude(), "codex": vendor_stub.Codex()}
        self.accounts = {"claude": self.models["claude"],
                         "codex": Openai("echo codex was here > login.txt && cat login.txt")}
        self.lost = {}  # agents, and how many connections fail yet; None: all

    def open(self):
        from test_https import make_certificate  # conftest reads this file before pytest does that
        all_of_them = {**ADDRESS, **LOGINS, **ACCOUNTS}
        self.write("hosts", "127.0.0.1 localhost\n"
                   + "".join(f"{address} {name}\n" for name, address in all_of_them.items()))
        trusted = ""
        speakers = [*zip(ADDRESS, self.models, self.models.values()),
                    *zip(LOGINS, self.vendors, self.vendors.values()),
                    *((name, "codex", self.accounts["codex"]) for name in ACCOUNTS)]
        for name, agent, one in speakers:
            self.serve(all_of_them[name], 443, one.speak,
                       self.wrapped(agent, make_certificate(self.folder, name)))
            with open(f"{self.folder}/{name}.crt", encoding="ascii") as file:
                trusted += file.read()
        self.write("authorities", trusted)

    def wrapped(self, agent, wrap):
        def try_it(connection):
            if agent not in self.lost:
                return wrap(connection)
            left = self.lost[agent]
            if left is not None:
                self.lost[agent] = left - 1
            if left == 1:
                self.find(agent)
            connection.close()
            raise ConnectionError("the network is lost")
        try_it.agent = agent
        return try_it

    def lose(self, agent, attempts=None):
        """Nobody answers there, nor on what is connected; for so many attempts."""
        self.lost[agent] = attempts
        for server in self.servers:
            if server.wrap.agent == agent:
                for peer in server.peers:
                    with contextlib.suppress(OSError):
                        peer.shutdown(socket.SHUT_RDWR)

    def find(self, agent):
        self.lost.pop(agent, None)


@pytest.fixture(scope="session")
def agent_host(tmp_path_factory):
    one = AgentHost(tmp_path_factory.mktemp("nethost"))
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.open()
    yield one
    one.close()


@pytest.fixture(scope="session")
def agent_net(session, agent_host):
    """What runs in the host of its own; the template is made outside it."""
    if not ROOT:
        pytest.skip("the template is root's, whom a user namespace does not know")
    registry = {name: os.environ[name] for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY")
                if name in os.environ}
    outside = session.with_env(**registry)
    folder = f"{session.home}/config/templates"
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/two-agents.ini", "w", encoding="ascii") as file:
        file.write(template_text())
    made = outside.raw("template", "pull", "two-agents", timeout=400)
    if made.code and "npm registry" in made.err:
        pytest.skip(f"no npm registry in reach: {made.err[-200:]}")
    assert made.code == 0, made
    # the warm image too
    outside("create", "--name", "t-warm-agents", *SIZE, "shell", ".", timeout=400)
    outside.rm("t-warm-agents")
    inside = Bawn(session.home, session.workspace)
    inside.prefix = agent_host.prefix
    inside.outside = outside
    yield inside
    outside.rm("t-warm-agents")
    outside.raw("template", "rm", "-f", "two-agents")
    os.unlink(f"{folder}/two-agents.ini")
