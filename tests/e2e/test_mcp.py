# SPDX-License-Identifier: Apache-2.0
"""test_mcp.py - another agent makes a sandbox and works in it, over MCP"""
import json
import os
import subprocess

import pytest

from bawn import BAWN, START_SECONDS


class Mcp:
    def __init__(self, bawn, *options):
        self.count = 0
        self.process = subprocess.Popen(
            [BAWN, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=bawn.env, cwd=bawn.workspace, text=True)

    def ask(self, method, **params):
        self.count += 1
        self.process.stdin.write(json.dumps(
            {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.count
        return answer

    def call(self, tool, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result["content"][0]["text"], result["isError"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=10) == 0
        self.process.stdout.close()


@pytest.fixture
def mcp(bawn):
    server = Mcp(bawn)
    yield server
    server.close()


@pytest.mark.seconds(START_SECONDS + 60)
def test_an_agent_works_in_a_sandbox(bawn, mcp, tmp_path):
    hello = mcp.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                    clientInfo={"name": "test", "version": "1"})["result"]
    assert hello["serverInfo"]["name"] == "bawn" and "tools" in hello["capabilities"]
    schemas = {tool["name"]: tool["inputSchema"]
               for tool in mcp.ask("tools/list")["result"]["tools"]}
    assert schemas["sandbox_exec"]["required"] == ["name", "script"]

    name = "mcp-" + os.urandom(3).hex()
    text, failed = mcp.call("sandbox_create", name=name, template="tiny", memory="256M",
                            cpus="1", path=str(tmp_path))
    assert not failed and text.split("\n")[0] == name, text
    assert name in mcp.call("sandbox_list")[0]
    assert mcp.call("sandbox_exec", name=name, script="echo out; echo err >&2; exit 4") == (
        "out\n\n[stderr]\nerr\n\n[exit code 4]", True)
    path = str(tmp_path / "made")
    assert mcp.call("sandbox_write_file", name=name, path=path, text="é\n") == ("done", False)
    assert (tmp_path / "made").read_text(encoding="utf-8") == "é\n"
    assert mcp.call("sandbox_read_file", name=name, path=path) == ("é\n", False)
    assert json.loads(mcp.call("sandbox_inspect", name=name)[0])["name"] == name
    assert mcp.call("sandbox_exec", name="mcp-none", script="true")[1]
    assert not mcp.call("sandbox_remove", name=name)[1] and name not in bawn.names()


def test_a_reader_is_offered_nothing_that_changes(bawn):
    server = Mcp(bawn, "--read-only")
    names = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
    assert "sandbox_list" in names and "sandbox_exec" not in names
    assert "error" in server.ask("tools/call", name="sandbox_exec",
                                 arguments={"name": "a1", "script": "true"})
    server.close()
