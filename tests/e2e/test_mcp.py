# SPDX-License-Identifier: Apache-2.0
"""test_mcp.py - another agent makes a sandbox and works in it, over MCP"""
import json
import os
import subprocess

import pytest

from bawn import BAWN, SMALL, START_SECONDS, alive, wait


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


HOST_SERVER = """
import json, os, sys
for line in sys.stdin:
    call = json.loads(line)
    if call.get("method") == "bad":
        print("no message", flush=True)
    elif "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {
            "uid": os.getuid(), "cwd": os.getcwd(), "pid": os.getpid(),
            "fds": len(os.listdir("/proc/self/fd"))}}), flush=True)
"""


def test_a_server_of_the_host_is_a_command_in_the_guest(bawn, tmp_path):
    """For as long as the command runs; each call is logged, and only calls pass."""
    server = tmp_path / "server.py"
    server.write_text(HOST_SERVER)
    call = '{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"name":"tool"}}'
    name = f"m-{os.urandom(3).hex()}"
    script = f"""ask() {{ printf '%s\\n' "$@" | bawn-mcp here 2>&1; echo "code $?"; }}
        ask '{call % (1, "tools/call")}' '{call % (2, "tools/list")}'
        ask rubbish; ask '{call % (3, "bad")}'
        head -c 5000000 /dev/zero | tr '\\0' '{{' | bawn-mcp here 2>&1; bawn-mcp there 2>&1"""
    try:
        done = bawn.raw("run", "--name", name, *SMALL, "--mcp", f"here=exec python3 {server}",
                        "shell", ".", "--", "sh", "-c", script, timeout=START_SECONDS)
        answers = [json.loads(line)["result"] for line in done.out.splitlines()
                   if line.startswith("{")]
        assert len(answers) == 2 and answers[0]["pid"] == answers[1]["pid"], done
        assert answers[0]["uid"] == os.getuid() and answers[0]["fds"] == 4, answers
        assert answers[0]["cwd"] == os.path.realpath(bawn.env["HOME"]), answers
        assert done.out.count("does not answer") == 3 and "there is not there" in done.out, done
        wait(lambda: not alive(answers[0]["pid"]), 10, "the server is gone")
        with open(f"{bawn.home}/state/sandboxes/{name}/mcp.jsonl", encoding="utf-8") as file:
            log = [json.loads(line) for line in file]
        assert [(entry["from"], entry["kind"]) for entry in log if entry.get("id") in ("1", "2")] \
            == [("guest", "request")] * 2 + [("server", "result")] * 2, log
        assert log[0]["tool"] == "tool" and log[0]["method"] == "tools/call", log
        assert [entry["from"] for entry in log if entry["kind"] == "refused"] == ["server"], log
        shown = bawn("logs", "--mcp", name).out.splitlines()
        assert len(shown) == len(log) and shown[0].endswith("request      tools/call tool"), shown
        assert [json.loads(line) for line in
                bawn("logs", "--mcp", "--json", name).out.splitlines()] == log
        # nobody serves it any more
        late = bawn.raw("exec", name, "sh", "-c", "echo '{}' | bawn-mcp here")
        assert late.code == 1 and "does not answer" in late.err, late
    finally:
        bawn.rm(name)


def test_what_create_was_given_is_served_by_later_commands(bawn, tmp_path):
    """Of two at once one serves, and when it ends the other does."""
    server = tmp_path / "server.py"
    server.write_text(HOST_SERVER)
    name = f"m-{os.urandom(3).hex()}"
    call = """ask() { echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | bawn-mcp here; }; """
    try:
        bawn("create", "--name", name, *SMALL, "--mcp", f"here=exec python3 {server}", "shell",
             str(tmp_path), timeout=START_SECONDS)
        assert "result" in bawn("exec", name, "sh", "-c", call + "ask").out
        # one that is made only now, as after a start
        assert "result" in bawn(
            "exec", "-u", "root", name, "sh", "-c", "cd /run/bawn/mcp && "
            "{ { sleep 0.3; mv here.sock soon.sock; } & "
            """echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | bawn-mcp soon; """
            "mv soon.sock here.sock; }").out
        first = bawn.popen("exec", "-i", name, "sh", "-c", call + "ask; cat", stdin=-1,
                           text=True)
        assert "result" in first.stdout.readline()
        # until the other has noticed, nobody answers
        second = bawn.popen("exec", name, "sh", "-c", call + "until ask; do sleep 0.1; done; "
                            "echo ready; until ls go; do sleep 0.1; done; "
                            "until ask; do sleep 0.1; done", text=True)
        assert "result" in second.stdout.readline() and "ready" in second.stdout.readline()
        first.communicate(timeout=30)
        (tmp_path / "go").write_text("")
        out, err = second.communicate(timeout=60)
        assert second.returncode == 0 and "result" in out, (out, err)
        assert bawn("logs", "--mcp", name).out.count(" ping") >= 4
    finally:
        bawn.rm(name)


def test_a_fork_has_the_servers_that_create_was_given(bawn, tmp_path):
    """With a log of its own; the parent may be gone by then."""
    server = tmp_path / "server.py"
    server.write_text(HOST_SERVER)
    name = f"m-{os.urandom(3).hex()}"
    ask = """echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | bawn-mcp here"""
    try:
        bawn("create", "--name", name, *SMALL, "--mcp", f"here=exec python3 {server}", "shell",
             str(tmp_path), timeout=START_SECONDS)
        fork = bawn("fork", name, timeout=START_SECONDS).out.strip()
        bawn("rm", "-f", name)
        assert "result" in bawn("exec", fork, "sh", "-c", ask).out
        assert bawn("logs", "--mcp", fork).out.count(" ping") == 1
    finally:
        bawn.rm(name)
        bawn.rm(f"{name}-1")
