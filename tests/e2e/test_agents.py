# SPDX-License-Identifier: Apache-2.0
"""The real claude and codex in a guest, against models that stand in for theirs

Both are in one template, made from a file of the user's as anybody could write
it: the agents' programs come from the npm registry that npm knows here.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import secrets
import subprocess
import tarfile
import threading

import pytest

from bawn import ROOT, SOAK, Bawn, children_of, command_of
from model_stub import Anthropic, Openai
from net_host import Host
from test_https import make_certificate
from test_secrets import memory_holds

ADDRESS = {"api.anthropic.com": "203.0.113.10", "api.openai.com": "203.0.113.11"}
KEYS = {"claude": "sk-ant-api03-" + secrets.token_hex(40),
        "codex": "sk-proj-" + secrets.token_hex(60)}
VARIABLES = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY"}
SIZE = ("-t", "two-agents", "-m", "1G", "--cpus", "2")
SLOW = pytest.mark.skipif(not SOAK, reason="a minute under emulation: make soak runs it")


def template_text():
    """claude's and codex' own files in one."""
    folder = os.path.join(os.path.dirname(__file__), "../../data/templates")
    lines = ["description = both", "builder = npm", "from = base", "needs = 5G"]
    for agent in ("claude", "codex"):
        with open(f"{folder}/{agent}.ini", encoding="utf-8") as file:
            lines += [line for line in file.read().splitlines()
                      if line.split(" ")[0] in ("npm", "take", "link")]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nethost")
    one = Host(folder)
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", "127.0.0.1 localhost\n"
              + "".join(f"{address} {name}\n" for name, address in ADDRESS.items()))
    one.models = {"claude": Anthropic("echo claude was here > claude.txt && cat claude.txt"),
                  "codex": Openai("echo codex was here > codex.txt && cat codex.txt")}
    trusted = ""
    for (name, address), model in zip(ADDRESS.items(), one.models.values()):
        one.serve(address, 443, model.speak, make_certificate(folder, name))
        with open(f"{folder}/{name}.crt", encoding="ascii") as file:
            trusted += file.read()
    one.write("authorities", trusted)
    yield one
    one.close()


@pytest.fixture(scope="module")
def net(session, host):
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
    outside("create", "--name", "t-warm-agents", *SIZE, "shell", ".", timeout=300)
    outside.rm("t-warm-agents")
    inside = Bawn(session.home, session.workspace)
    inside.prefix = host.prefix
    yield inside
    outside.rm("t-claude", "t-codex")
    outside.raw("template", "rm", "-f", "two-agents")
    os.unlink(f"{folder}/two-agents.ini")


def run(net, agent, *args, text="Do what you must.", timeout=170):
    bawn = net.with_env(**{VARIABLES[agent]: KEYS[agent]})
    return bawn.raw("run", "--name", f"t-{agent}", *SIZE, agent, ".", "--", *args, input=text,
                    timeout=timeout)


def check_nowhere(net, name, key):
    """Not in the guest: its memory, its disk, its files; nor in any file of the sandbox."""
    # those three are told keys of the caller's environment, and no guest is in them
    for pid in [net.supervisor_pid(name), *children_of(net.supervisor_pid(name))]:
        if command_of(pid) not in ("bawn-net", "bawn-keys", "bawn-launch"):
            assert not memory_holds(pid, key.encode()), command_of(pid)
    net("exec", "-u", "root", name, "sync")
    found = subprocess.run(["grep", "-rlaF", "--devices=skip", key, net.folder(name),
                            net.workspace], capture_output=True, text=True, check=False)
    assert found.stdout == "" and found.returncode == 1, found
    script = (f"grep -rlaF '{key[:16]}'\"{key[16:]}\" --devices=skip /etc /home /root /run /tmp "
              "/var /proc/[0-9]*/environ 2>/dev/null | grep -v '^/proc/self' || true")
    assert net("exec", "-u", "root", name, "sh", "-c", script, timeout=120).out == ""


def made_by(net, agent):
    with open(f"{net.workspace}/{agent}.txt", encoding="ascii") as file:
        return file.read()


@pytest.mark.seconds(600)
def test_claude_works_and_never_has_the_key(net, host):
    """Rows: C3, C4, C6."""
    model, key = host.models["claude"], KEYS["claude"]
    done = run(net, "claude", "-p", "--output-format", "stream-json", "--verbose")
    assert done.code == 0, done
    last = json.loads(done.out.splitlines()[-1])
    assert last["type"] == "result" and last["is_error"] is False, last
    assert last["result"] == "All is done."
    assert made_by(net, "claude") == "claude was here\n"
    assert "claude was here" in json.dumps(model.results)
    asked = [head for head, path in zip(model.heads, model.paths) if "/v1/messages" in path]
    assert asked and all(head.get("x-api-key") == key for head in asked)
    assert key not in done.out and "bound to this sandbox" in done.err
    check_nowhere(net, "t-claude", key)
    # what it was given, and what it made of it
    settings = json.loads(net("exec", "t-claude", "sh", "-c", "cat ~/.claude.json").out)
    assert settings["hasCompletedOnboarding"] is True
    seen = net("exec", "t-claude", "sh", "-c", "cat ~/.claude/CLAUDE.md; env").out
    assert "t-claude" in seen and "DISABLE_AUTOUPDATER=1" in seen


@pytest.mark.seconds(600)
def test_codex_works_and_never_has_the_key(net, host):
    """Rows: C3, C4, C6."""
    model, key = host.models["codex"], KEYS["codex"]
    done = run(net, "codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--json",
               "--skip-git-repo-check", "-m", "stub-model", "-")
    assert done.code == 0, done
    items = [json.loads(line).get("item", {}) for line in done.out.splitlines()
             if line.startswith("{")]
    assert "All is done." in [item.get("text") for item in items], done
    assert made_by(net, "codex") == "codex was here\n"
    assert "codex was here" in json.dumps(model.results)
    asked = [head for head, path in zip(model.heads, model.paths)
             if path.startswith("POST /v1/responses")]
    assert asked and all(head.get("authorization") == f"Bearer {key}" for head in asked)
    assert key not in done.out
    check_nowhere(net, "t-codex", key)


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
def test_claude_opens_on_a_terminal_without_dialogs(net, host, screen):
    bawn = net.with_env(ANTHROPIC_API_KEY=KEYS["claude"])
    shown = screen(100, 40, of=bawn)
    words = bawn.prefix(bawn.workspace)
    shown.start(*words, os.environ["BAWN"], "run", "--name", "t-claude", *SIZE, "claude", ".")
    shown.see(r"bypass permissions on", 180)
    shown.type("Do what you must.")
    shown.see(r"All is done\.", 120)
    for question in ("Do you trust", "text style", "Detected a custom API key"):
        assert question not in shown.text()
    shown.keys("C-c")
    shown.keys("C-c")


@SLOW
@pytest.mark.seconds(600)
def test_claude_goes_on_where_it_was(net, host):
    done = run(net, "claude", "--continue", "-p", "--output-format", "json", text="And now?")
    assert done.code == 0 and json.loads(done.out)["is_error"] is False, done


@SLOW
@pytest.mark.seconds(900)
@pytest.mark.parametrize("agent", ["copilot", "gemini", "opencode"])
def test_other_agents_have_templates(session, net, agent):
    """No model stands in for theirs here; they start and say their version."""
    name = f"t-{agent}"
    done = session.raw("run", "--name", name, "-m", "2G", agent, ".", "--", "--version",
                       timeout=600)
    session.rm(name)
    session.raw("template", "rm", "-f", agent)
    assert done.code == 0 and done.out.strip()[-1:].isalnum(), done
