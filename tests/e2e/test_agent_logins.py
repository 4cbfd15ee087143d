# SPDX-License-Identifier: Apache-2.0
"""The real claude and codex log in inside, at vendors that stand in for theirs

What the host sends to renew a login is compared with what the program itself
sends: a program that changed its way is seen here.
"""
import json
import os
import re
import subprocess

import pytest

from agent_world import SIZE
from bawn import SOAK
from nowhere import check_nowhere

SLOW = pytest.mark.skipif(not SOAK, reason="two minutes under emulation: make soak runs it")
PROMPT = "Do what you must."


class LoggedIn:
    """A sandbox of an agent that nobody gave a key."""

    def __init__(self, net, host, agent):
        self.bawn, self.agent, self.name = net, agent, f"t-login-{agent}"
        self.vendor, self.model = host.vendors[agent], host.accounts[agent]
        self.bawn("create", "--name", self.name, *SIZE, agent, ".", timeout=600)

    def read(self, path):
        return json.loads(self.bawn("exec", self.name, "sh", "-c", f"cat ~/{path}").out)

    def check_login(self):
        """The tokens are on the host, and something of their shape in the guest."""
        rows = json.loads(self.bawn("secret", "ls", "--sandbox", self.name, "--json").out)
        assert any(row["renews"] for row in rows), rows
        check_nowhere(self.bawn, self.name, *self.vendor.hidden())

    def check_renewals(self, path, *, more=()):
        """The program's own and the host's: the same request, but for who asks."""
        (theirs, *_), (ours, *_) = self.vendor.renewals()
        assert theirs["path"] == ours["path"] == path
        assert theirs["type"] == ours["type"] == "application/json"
        assert set(theirs["fields"]) == set(ours["fields"]), (theirs, ours)
        for name in ("client_id", *more):
            assert theirs["fields"][name] == ours["fields"][name]
        last = self.vendor.issued[-1]["access_token"]
        asked = [head["authorization"] for head, what in zip(self.model.heads, self.model.paths)
                 if what.startswith("POST") and "authorization" in head]
        assert asked and asked[-1] == f"Bearer {last}", (asked, self.vendor.asked)
        check_nowhere(self.bawn, self.name, *self.vendor.hidden())
        self.bawn("checkpoint", self.name, "after", timeout=120)
        check_nowhere(self.bawn, self.name, *self.vendor.hidden())


@pytest.fixture
def logged_in(agent_net, agent_host):
    made = []

    def make(agent):
        made.append(LoggedIn(agent_net, agent_host, agent))
        return made[-1]
    yield make
    for one in made:
        one.bawn.rm(one.name)


@SLOW
@pytest.mark.seconds(900)
def test_codex_logs_in_and_is_renewed_as_it_does_itself(logged_in):
    """Rows: C3, C6."""
    codex = logged_in("codex")
    done = codex.bawn.raw("exec", codex.name, "codex", "login", "--device-auth", timeout=170)
    assert done.code == 0 and "Successfully logged in" in done.out + done.err, done
    assert codex.vendor.asked[0]["path"] == "/oauth/token"
    codex.check_login()
    kept = codex.read(".codex/auth.json")["tokens"]
    first = codex.vendor.issued[0]
    # what it reads from a token is as it was
    assert kept["id_token"].rsplit(".", 1)[0] == first["id_token"].rsplit(".", 1)[0]
    assert kept["refresh_token"].startswith("rt_") and kept["refresh_token"] != first["refresh_token"]
    done = codex.bawn.raw("exec", "-i", codex.name, "codex", "exec", "--json",
                          "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                          "--disable", "enable_request_compression", "--model", "stub-model",
                          "-", input=PROMPT, timeout=170)
    assert done.code == 0 and "All is done." in done.out, (done, codex.vendor.asked)
    with open(f"{codex.bawn.workspace}/login.txt", encoding="ascii") as file:
        assert file.read() == "codex was here\n"
    codex.check_renewals("/oauth/token", more=("refresh_reason",))


def log_in(claude):
    """As who copies the code from a browser."""
    process = claude.bawn.popen("exec", "-i", claude.name, "claude", "auth", "login",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    said = b""
    try:
        while found := os.read(process.stdout.fileno(), 4096):
            said += found
            state = re.search(rb"[?&]state=([\w-]+)\s", said)
            if state and not process.stdin.closed:
                process.stdin.write(b"code#%s\n" % state[1])
                process.stdin.close()
        assert process.wait(60) == 0 and b"Login successful" in said, said
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@SLOW
@pytest.mark.seconds(900)
def test_claude_logs_in_and_is_renewed_as_it_does_itself(logged_in):
    """Rows: C3, C6."""
    claude = logged_in("claude")
    log_in(claude)
    assert claude.vendor.asked[0]["path"] == "/v1/oauth/token"
    claude.check_login()
    kept = claude.read(".claude/.credentials.json")["claudeAiOauth"]
    first = claude.vendor.issued[0]
    assert kept["accessToken"].startswith("sk-ant-oat01-")
    assert len(kept["refreshToken"]) == len(first["refresh_token"])
    done = claude.bawn.raw("exec", "-i", claude.name, "claude", "-p",
                           "--dangerously-skip-permissions", input=PROMPT, timeout=170)
    assert done.code == 0 and "All is done." in done.out, (done, claude.vendor.asked)
    claude.check_renewals("/v1/oauth/token")
    ours = claude.vendor.renewals()[1][0]["fields"]
    assert ours["scope"] == claude.vendor.scope
