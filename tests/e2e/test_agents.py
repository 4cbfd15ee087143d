# SPDX-License-Identifier: Apache-2.0
"""The real claude and codex in a guest, against models that stand in for theirs

The template and the models are those of agent_world.py; whole loops with them
are in test_agent_loops.py.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import tarfile
import threading

import pytest

from agent_loop import COMPLETE, AgentLoop, end_of, turns_of
from agent_world import KEYS, SIZE
from bawn import SOAK
from model_stub import Turn
from nowhere import HOLDERS, check_nowhere

SLOW = pytest.mark.skipif(not SOAK, reason="a minute under emulation: make soak runs it")


@pytest.fixture(scope="module")
def claude(agent_net, agent_host):
    loop = AgentLoop(agent_net, agent_host, "claude")
    yield loop
    loop.bawn.rm(loop.name)


@pytest.fixture(scope="module")
def codex(agent_net, agent_host):
    loop = AgentLoop(agent_net, agent_host, "codex")
    yield loop
    loop.bawn.rm(loop.name)


def run(loop, *args, text="Do what you must.", timeout=170):
    loop.model.begin()
    return loop.bawn.raw("run", "--name", loop.name, *SIZE, loop.agent, ".", "--", *args,
                         input=text, timeout=timeout)


def check_key(loop):
    """These three are told keys of the caller's environment, and no guest is in them."""
    check_nowhere(loop.bawn, loop.name, KEYS[loop.agent], holders=(*HOLDERS, "bawn-launch"))


def made_by(loop):
    with open(loop.file(f"{loop.agent}.txt"), encoding="ascii") as file:
        return file.read()


def heads_of(loop, path):
    return [head for head, asked in zip(loop.model.heads, loop.model.paths) if path in asked]


@pytest.mark.seconds(600)
def test_claude_works_and_never_has_the_key(claude):
    """Rows: C3, C4, C6."""
    key = KEYS["claude"]
    done = run(claude, "-p", "--output-format", "stream-json", "--verbose")
    assert done.code == 0, done
    last = json.loads(done.out.splitlines()[-1])
    assert last["type"] == "result" and last["is_error"] is False, last
    assert last["result"] == "All is done."
    assert made_by(claude) == "claude was here\n"
    assert "claude was here" in json.dumps(claude.model.results)
    asked = heads_of(claude, "/v1/messages")
    assert asked and all(head.get("x-api-key") == key for head in asked)
    assert key not in done.out and "bound to this sandbox" in done.err
    check_key(claude)
    # what it was given, and what it made of it
    settings = json.loads(claude.bawn("exec", claude.name, "sh", "-c", "cat ~/.claude.json").out)
    assert settings["hasCompletedOnboarding"] is True
    seen = claude.bawn("exec", claude.name, "sh", "-c", "cat ~/.claude/CLAUDE.md; env").out
    assert claude.name in seen and "DISABLE_AUTOUPDATER=1" in seen


@SLOW
@pytest.mark.seconds(600)
def test_claude_completes_a_loop(claude):
    """In the sandbox of the case before, with what its own output says of tokens and cost."""
    done = claude([Turn(f"All.\n{COMPLETE}", claude.change())], "-n", "1", timeout=170)
    assert done.code == 0 and end_of(done)["status"] == "complete", done
    turn, = turns_of(done)
    assert turn["tokens_in"] >= 6 and turn["tokens_out"] >= 4 and turn["cost_usd"] > 0, turn
    assert turn["actions"] == 1 and len(turn["files"]) == 1, turn


@pytest.mark.seconds(600)
def test_codex_completes_a_loop_and_never_has_the_key(codex):
    """Rows: C3, C4, C6."""
    key = KEYS["codex"]
    codex.create()
    done = codex([Turn(COMPLETE, "echo codex was here > codex.txt && cat codex.txt")],
                 "-n", "1", timeout=170)
    assert done.code == 0 and end_of(done)["status"] == "complete", done
    turn, = turns_of(done)
    assert turn["tokens_in"] >= 6 and turn["tokens_out"] >= 4, turn
    assert turn["actions"] == 1 and turn["files"] == ["codex.txt"], turn
    assert made_by(codex) == "codex was here\n"
    assert "codex was here" in json.dumps(codex.model.results)
    asked = heads_of(codex, "POST /v1/responses")
    assert asked and all(head.get("authorization") == f"Bearer {key}" for head in asked)
    assert key not in done.out
    check_key(codex)


class Npm(http.server.ThreadingHTTPServer):
    """A registry with one package, a script."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), NpmHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.tarball = io.BytesIO()
        with tarfile.open(fileobj=self.tarball, mode="w:gz") as tar:
            info = tarfile.TarInfo("package/run")
            info.size = len(script)
            tar.addfile(info, io.BytesIO(script))
        digest = base64.b64encode(hashlib.sha512(self.tarball.getvalue()).digest()).decode()
        self.manifest = {"name": "small", "version": "1.0.0", "dist": {
            "tarball": f"{self.url}/x.tgz", "integrity": f"sha512-{digest}"}}
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class NpmHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.tarball.getvalue() if self.path == "/x.tgz"
                         else json.dumps(self.server.manifest).encode())


@pytest.mark.seconds(400)
@pytest.mark.parametrize("word, works", [("broken", False), ("fine", True)])
def test_a_new_template_is_tried_once(bawn, word, works):
    """A package, a template and an agent of the user's own."""
    config = {f"templates/{word}.ini": f"""
builder = npm
from = tiny
npm = small latest
take = package/run usr/lib/small/run
link = usr/lib/small/run bin/small
check = small --version
""", f"agents.d/{word}.json": json.dumps({"agents": [{
        "name": word, "template": word, "interactive": ["small", "-y"], "once": ["small"],
        "output": "text", "variables": [], "environment": {"MINE": "1"}}]})}
    os.makedirs(f"{bawn.home}/config", mode=0o700, exist_ok=True)
    for name, text in config.items():
        os.makedirs(os.path.dirname(f"{bawn.home}/config/{name}"), exist_ok=True)
        with open(f"{bawn.home}/config/{name}", "w", encoding="ascii") as file:
            file.write(text)
    script = f"#!/bin/sh\necho {word}\n" + ("" if works else "exit 3\n")
    mine = bawn.with_env(npm_config_registry=Npm(script.encode()).url)
    try:
        done = mine.raw("run", "--name", "t-small", "-m", "256M", "--cpus", "1", word, ".",
                        timeout=170)
        if works:
            assert done.code == 0 and done.out == "fine\n", done
            assert bawn("exec", "t-small", "sh", "-c", "echo $MINE").out == "1\n"
        else:
            assert done.code == 125, done
            assert "`small --version` does not work in it: broken" in done.err
        assert ("t-small" in bawn.names()) == works
        assert os.path.exists(f"{bawn.home}/data/templates/.check-{word}") != works
    finally:
        bawn.rm("t-small")
        bawn.raw("template", "rm", word)
        for name in config:
            os.unlink(f"{bawn.home}/config/{name}")


MINI = {"name": "mini", "template": "tiny", "interactive": ["sh"], "once": ["sh"], "output": "text",
        "variables": [], "environment": {}, "notice": ".mini/MINI.md",
        "settings": {"skills": ".mini/skills", "settings.json": ".mini/settings.json",
                     "MINI.md": ".mini/MINI.md", "linked": ".mini/linked"}}


def test_own_settings_come_in_by_name(bawn, tmp_path):
    """Copied or read-only; nothing that was not named, and no credential."""
    table = f"{bawn.home}/config/agents.d/mini.json"
    skill = tmp_path / "home/.mini/skills/s/run.sh"
    skill.parent.mkdir(parents=True)
    skill.write_text("#!/bin/sh\necho skill\n")
    skill.chmod(0o755)
    (skill.parent / "out").symlink_to("/etc/shadow")
    mini = tmp_path / "home/.mini"
    (mini / "settings.json").write_text('{"env": {"K": "v"}, "model": "m"}')
    (mini / "auth.json").write_text("login")
    (mini / "MINI.md").write_text("my words\n")
    (mini / "linked").symlink_to(tmp_path)
    os.makedirs(os.path.dirname(table), exist_ok=True)
    with open(table, "w", encoding="ascii") as file:
        json.dump({"agents": [MINI]}, file)
    mine = bawn.with_env(HOME=str(tmp_path / "home"))
    words = ("create", "-m", "256M", "--cpus", "1", "--name")
    try:
        mine(*words, "t-copy", "--settings", "skills,settings.json,MINI.md", "mini", ".",
             timeout=120)
        said = mine.exec("t-copy", "sh", "-c", "cd ~/.mini; ls; skills/s/run.sh; echo x > new; "
                         "head -n 3 MINI.md; cat settings.json skills/s/out 2>&1; true").out
        assert said.startswith("MINI.md\nsettings.json\nskills\nskill\nmy words\n\n# Where"), said
        assert '"model": "m"' in said and "env" not in said and "root:" not in said, said
        mine(*words, "t-shared", "--settings", "skills:ro", "mini", ".", timeout=60)
        said = mine.exec("t-shared", "sh", "-c", "cd ~/.mini; skills/s/run.sh; touch new && "
                         "touch skills/x 2>&1 || true").out
        assert said.startswith("skill\n") and "Read-only" in said, said
        for word, code, why in (("linked", 1, "is a link"), ("linked:ro", 1, "symbolic link"),
                                ("auth.json", 2, "mini has these"), ("settings.json:ro", 2, "copied")):
            refused = mine.raw(*words, "t-no", "--settings", word, "mini", ".")
            assert refused.code == code and why in refused.err, refused
            assert "t-no" not in mine.names()
    finally:
        mine.raw("rm", "-f", "t-copy", "t-shared")
        os.unlink(table)


@SLOW
@pytest.mark.seconds(600)
def test_claude_opens_on_a_terminal_without_dialogs(claude, screen):
    claude.model.begin()
    shown = screen(100, 40, of=claude.bawn)
    words = claude.bawn.prefix(claude.bawn.workspace)
    shown.start(*words, os.environ["BAWN"], "run", "--name", claude.name, *SIZE, "claude", ".")
    shown.see(r"bypass permissions on", 180)
    shown.type("Do what you must.")
    shown.see(r"All is done\.", 120)
    for question in ("Do you trust", "text style", "Detected a custom API key"):
        assert question not in shown.text()
    shown.keys("C-c")
    shown.keys("C-c")


@SLOW
@pytest.mark.seconds(600)
def test_claude_goes_on_where_it_was(claude):
    done = run(claude, "--continue", "-p", "--output-format", "json", text="And now?")
    assert done.code == 0 and json.loads(done.out)["is_error"] is False, done


@SLOW
@pytest.mark.seconds(900)
@pytest.mark.parametrize("agent", ["copilot", "gemini", "opencode"])
def test_other_agents_have_templates(session, agent_net, agent):
    """No model stands in for theirs here; they start and say their version."""
    name = f"t-{agent}"
    done = session.raw("run", "--name", name, "-m", "2G", agent, ".", "--", "--version",
                       timeout=600)
    session.rm(name)
    session.raw("template", "rm", "-f", agent)
    assert done.code == 0 and done.out.strip()[-1:].isalnum(), done
