# SPDX-License-Identifier: Apache-2.0
"""test_policy.py - the network's commands on running sandboxes"""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

from bawn import BAWN, START_SECONDS, wait
from origin import Greeter, Origin

BOX = "policy-box"
ASK_BOX = "ask-box"


@pytest.fixture(scope="module")
def origin():
    server = Origin()
    yield server
    server.close()


@pytest.fixture(scope="module")
def world(session, origin):
    """The shared home, with the test's Internet as the user's proxy."""
    # what the first start fetches does not come from there
    session.rm(session.create())
    os.makedirs(f"{session.home}/config", mode=0o700, exist_ok=True)
    return session.with_env(**origin.env)


@pytest.fixture(scope="module")
def running(world):
    world.create("--policy", "deny-all", name=BOX)
    yield BOX
    world.rm(BOX)


@pytest.fixture
def box(world, running):
    """Without rules of its own: what a case added is taken back."""
    yield running
    policy = f"{world.folder(BOX)}/policy"
    with open(policy, encoding="utf-8") as file:
        rules = [line.split(" ", 1)[1] for line in file.read().splitlines()
                 if line.split(" ")[0] in ("allow", "deny", "bypass")]
    if rules:
        world("policy", "rm", BOX, ",".join(rules))


@pytest.fixture(scope="module")
def asking(world):
    """One that asks, on a home where no hook answers."""
    world.create("--policy", "deny-all", "--ask", name=ASK_BOX)
    yield ASK_BOX
    world.rm(ASK_BOX)


def visit(world, name, host, port, seconds=8):
    """What a guest hears there; "" when it is not let."""
    return world.raw("exec", name, "sh", "-c",
                     f"nc -w {seconds} {host} {port} < /dev/null; true", timeout=60).out


def lines(world, sandbox, **wanted):
    found = [json.loads(line) for line in
             world("policy", "log", sandbox, "--json").out.splitlines()]
    return [line for line in found
            if all(line.get(key) == value for key, value in wanted.items())]


def test_a_rule_opens_a_host_at_once_and_its_removal_closes_it(world, box):
    assert visit(world, box, "a.example", 2222) == ""
    world("policy", "allow", box, "a.example:2222")
    assert visit(world, box, "a.example", 2222) == "hello of a.example:2222\n"
    assert visit(world, box, "a.example", 2223) == ""
    world("policy", "rm", box, "a.example:2222")
    assert visit(world, box, "a.example", 2222) == ""


def test_a_revoked_rule_closes_its_connections(world, box):
    world("policy", "allow", box, "long.example:2222")
    process = world.popen("exec", "-i", box, "nc", "long.example", "2222",
                          stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"hello of long.example:2222\n"
        process.stdin.write(b"still there\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"still there\n"
        world("policy", "deny", box, "long.example")
        assert process.stdout.readline() == b""
        process.wait(20)
    finally:
        process.kill()
        process.communicate()
    assert lines(world, box, name="long.example", verdict="deny")


def test_a_rule_for_all_reaches_running_sandboxes(world, box):
    world("policy", "allow", box, "g.example:2222")
    world("policy", "deny", "-g", "g.example:2222")
    try:
        assert visit(world, box, "g.example", 2222) == ""
        denied = lines(world, box, name="g.example", verdict="deny")[-1]
        assert (denied["rule"], denied["scope"]) == ("deny g.example:2222", "global")
    finally:
        world("policy", "rm", "-g", "g.example:2222")
    assert visit(world, box, "g.example", 2222) == "hello of g.example:2222\n"


def test_check_says_what_happens(world, box):
    greeter = Greeter()
    try:
        world("policy", "allow", box,
              f"c.example:2000-2010,*.d.example:2222,localhost:{greeter.port},192.0.2.7")
        world("policy", "deny", box, "no.d.example")
        for host, port in (("c.example", 2005), ("c.example", 2011), ("x.c.example", 2005),
                           ("y.d.example", 2222), ("no.d.example", 2222),
                           ("d.example", 2222), ("localhost", greeter.port),
                           ("host.docker.internal", greeter.port),
                           ("localhost", greeter.port ^ 1), ("192.0.2.8", 2222),
                           ("10.0.0.1", 2222)):
            code = world.raw("policy", "check", box, f"{host}:{port}").code
            # through a proxy a wildcard does not pass: then it is refused there
            heard = bool(visit(world, box, host, port, 4))
            if host == "y.d.example":
                assert code == 0
                assert "proxy" in lines(world, box, name=host)[-1]["reason"]
                continue
            assert heard == (code == 0), (host, port, code)
    finally:
        greeter.close()


def test_requests_are_decided_one_by_one(world, box):
    world("policy", "allow", box, "GET web.example/open/**")

    def request(method, path):
        return world.raw(
            "exec", box, "sh", "-c",
            f"printf '{method} {path} HTTP/1.1\\r\\nHost: web.example\\r\\n"
            "Connection: close\\r\\n\\r\\n' | nc -w 8 web.example 80").out
    assert "page of http://web.example/open/a" in request("GET", "/open/a")
    for method, path in (("POST", "/open/a"), ("GET", "/closed")):
        answer = request(method, path)
        assert answer.startswith("HTTP/1.1 403 ") and "bawn policy allow" in answer
        assert world.raw("policy", "check", box, f"http://web.example{path}", "--method",
                         method).code == 1
    assert world.raw("policy", "check", box, "http://web.example/open/a").code == 0
    seen = lines(world, box, name="web.example", protocol="http")
    assert [(line["method"], line["path"], line["verdict"]) for line in seen] == [
        ("GET", "/open/a", "allow"), ("POST", "/open/a", "deny"), ("GET", "/closed", "deny")]


def test_after_a_failure_the_blocked_hosts_are_named(world, box):
    script = "nc -w 4 b1.example 2222 < /dev/null; nc -w 4 b2.example 80 < /dev/null; exit 3"
    result = world.raw("exec", box, "sh", "-c", script)
    assert result.code == 3
    found = re.search(r"^bawn: blocked: (.*) \(`(bawn policy allow .*)` allows them\)$",
                      result.err, re.M)
    assert found and found.group(1).split(", ") == ["b1.example:2222", "b2.example"], result
    command = found.group(2).split(" ", 1)[1]
    subprocess.run(f"{BAWN} {command}", shell=True, env=world.env, check=True)
    assert visit(world, box, "b1.example", 2222) == "hello of b1.example:2222\n"
    # nothing is said of what was blocked before, nor after success
    result = world.raw("exec", box, "false")
    assert result.code == 1 and result.err == ""
    result = world.raw("exec", box, "sh", "-c", "nc -w 4 b3.example 2222 < /dev/null; true")
    assert result.code == 0 and "bawn:" not in result.err


def test_the_first_run_says_which_policy_applies_once(world):
    first = world.raw("run", "--name", "first-box", "-t", "tiny", "-m", "256M", "--cpus",
                      "1", "--policy", "deny-all", "shell", ".", "--", "true",
                      timeout=START_SECONDS)
    try:
        said = [line for line in first.err.splitlines() if "network policy" in line]
        assert len(said) == 1 and "deny-all" in said[0], first
        assert "bawn policy allow first-box" in said[0]
        again = world("run", "first-box", "--", "true", timeout=START_SECONDS)
        assert again.err == ""
    finally:
        world.rm("first-box")


def test_log_f_shows_decisions_as_they_fall(world, box):
    process = world.popen("policy", "log", box, "-f", "--json")
    try:
        visit(world, box, "follow.example", 2222)
        for line in process.stdout:
            if json.loads(line)["name"] == "follow.example":
                break
        else:
            raise AssertionError("not in the log")
    finally:
        process.kill()
        process.communicate()


def test_network_log_counts_what_happened(world, box):
    for _ in range(2):
        visit(world, box, "count.example", 2222, 4)
    hosts = {row["host"]: row["count"] for row in
             world("network", "log", box, "--json").json["blocked_hosts"]}
    assert hosts["count.example:2222"] == 2
    assert "count.example:2222" in world("network", "log").out


def test_learned_rules_allow_what_was_seen(world, box):
    visit(world, box, "learn.example", 2222)
    rules = world("policy", "learn", box).out
    assert re.search(r"^allow learn\.example:2222$", rules, re.M), rules
    world("policy", "allow", box, "learn.example:2222")
    assert visit(world, box, "learn.example", 2222) == "hello of learn.example:2222\n"


def serve(world, name, port):
    """A web server in the guest on its localhost."""
    world.sh(name, "mkdir -p /tmp/www; echo served > /tmp/www/index.html; "
             f"httpd -p 127.0.0.1:{port} -h /tmp/www")


def is_served(port):
    """Whether the host finds it on its own loopback."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as client:
            client.settimeout(10)
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            heard = b""
            while part := client.recv(4096):
                heard += part
    except OSError:
        return False
    return heard.endswith(b"served\n")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server_socket:
        return server_socket.getsockname()[1]


@pytest.mark.seconds(400)
def test_ports_are_published_live_and_after_a_restart(world):
    port = free_port()
    name = world.create("-p", f"{port}:3000", name="ports-box")
    try:
        serve(world, name, 3000)
        wait(lambda: is_served(port), 30, "the published port")
        other = int(world("ports", name, "--publish", "3000").out.split(":")[1])
        wait(lambda: is_served(other), 30, "one that was added")
        assert all(row["published"] for row in world("ports", name, "--json").json)
        world("ports", name, "--unpublish", f"{other}:3000")
        assert not is_served(other)
        taken = socket.create_server(("127.0.0.1", 0))
        result = world.raw("ports", name, "--publish",
                           f"{taken.getsockname()[1]}:3000")
        assert result.code == 1 and str(taken.getsockname()[1]) in result.err
        taken.close()
        world("stop", "--power-off", name, timeout=120)
        assert not is_served(port)
        world("exec", name, "true", timeout=START_SECONDS)
        serve(world, name, 3000)
        wait(lambda: is_served(port), 30, "the port after a restart")
    finally:
        world.rm(name)


def test_a_unix_socket_of_the_host_by_name(world, tmp_path):
    path = f"{tmp_path}/greet.sock"
    os.chmod(tmp_path, 0o755)
    greeter = Greeter(path)
    name = world.create("--policy", "deny-all", "--socket", f"{path}:/tmp/greet.sock",
                        name="socket-box")
    try:
        wait(lambda: world.raw("exec", name, "test", "-S", "/tmp/greet.sock").code == 0, 20,
             "the socket in the guest")
        assert world.inspect(name)["sockets"] == [{"host": path, "guest": "/tmp/greet.sock"}]
    finally:
        greeter.close()
        world.rm(name)


def questions(world, name):
    return [row for row in world("policy", "approvals", "ls", "--json").json
            if row["sandbox"] == name]


class Held:
    """A connection that waits for an answer."""

    def __init__(self, world, name, host, port=2222):
        self.world, self.name, self.target = world, name, f"{host}:{port}"
        self.heard = None
        self.thread = threading.Thread(target=self._run, args=(host, port))
        self.thread.start()

    def _run(self, host, port):
        self.heard = visit(self.world, self.name, host, port, 40)

    def question(self):
        return wait(lambda: next((row for row in questions(self.world, self.name)
                                  if row["target"] == self.target), None), 20,
                    "the question")

    def result(self):
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.heard


def own_rules(world, name):
    with open(f"{world.folder(name)}/policy", encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.mark.parametrize("words,heard,rule", [
    (("allow",), True, None),
    (("allow", "--always"), True, "allow"),
    (("deny",), False, None),
    (("deny", "--always"), False, "deny"),
])
def test_questions_are_answered_by_command(world, asking, words, heard, rule):
    host = "-".join(word.strip("-") for word in words) + ".example"
    held = Held(world, asking, host)
    row = held.question()
    assert row["target"] == f"{host}:2222" and 0 < row["ms_left"] <= 30000
    world("policy", "approvals", words[0], asking, str(row["id"]), *words[1:])
    assert bool(held.result()) == heard
    wanted = f"{rule} {host}:2222" if rule else None
    if wanted:
        wait(lambda: wanted in own_rules(world, asking), what="the rule")
    assert [line for line in own_rules(world, asking) if host in line] == (
        [wanted] if wanted else [])
    assert not questions(world, asking)


@pytest.mark.seconds(120)
def test_a_question_that_nobody_answers_is_denied(world, asking):
    started = time.monotonic()
    held = Held(world, asking, "nobody.example")
    held.question()
    assert held.result() == "" and 25 < time.monotonic() - started < 60
    assert lines(world, asking, name="nobody.example", verdict="deny")


def test_a_hook_answers_first(world, tmp_path):
    hook = f"{world.home}/config/ask-hook"
    seen = f"{tmp_path}/seen"
    os.chmod(tmp_path, 0o777)
    with open(hook, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n"
                   f"question=$(cat); echo \"$question\" >> {seen}\n"
                   "case $question in *yes.example*) echo once;; "
                   "*never.example*) echo never;; *) echo deny;; esac\n")
    os.chmod(hook, stat.S_IRWXU)
    name = world.create("--policy", "deny-all", "--ask", name="hook-box")
    try:
        assert visit(world, name, "yes.example", 2222) == "hello of yes.example:2222\n"
        assert visit(world, name, "other.example", 2222) == ""
        assert visit(world, name, "never.example", 2222) == ""
        # Written by the launcher, while the guest is told already.
        wait(lambda: "deny never.example:2222" in own_rules(world, name), what="the rule")
        with open(seen, encoding="utf-8") as file:
            asked = [json.loads(line) for line in file]
        assert [(line["sandbox"], line["name"], line["port"]) for line in asked] == [
            (name, "yes.example", 2222), (name, "other.example", 2222),
            (name, "never.example", 2222)]
    finally:
        os.unlink(hook)
        world.rm(name)


# A question on the terminal that the agent is open on.

MARK = r"Your mark: (\w+ \w+ \d+)"
READY = "Press o, a, n or d"  # is there once nothing was typed for a moment


def agent(world, screen, name):
    """The agent's shell on a terminal; the session is live already or new."""
    one = screen(of=world).bawn("run", name)
    one.see(r"[#$>]\s*$", 60)
    one.type("stty -echo; PS1='ready> '; clear")
    one.see("^ready>")
    return one


def leave(one):
    one.keys("C-p", "C-q")
    assert one.exit_code() == 0


@pytest.mark.parametrize("key,heard,rule", [
    ("o", "hello of k-o.example:2222", None),
    ("a", "hello of k-a.example:2222", "allow k-a.example:2222"),
    ("n", "done", "deny k-n.example:2222"),
    ("d", "done", None),
])
def test_a_key_answers_and_the_agents_screen_comes_back(world, asking, screen, key, heard,
                                                       rule):
    one = agent(world, screen, asking)
    one.type(f"echo before the question; nc -w 40 k-{key}.example 2222 < /dev/null; echo done")
    one.see(MARK, 20)
    one.see(f"k-{key}.example:2222")
    assert "before the question" not in one.text()
    one.see(READY)
    one.keys(key)
    one.see(f"^{re.escape(heard)}")
    text = one.text()
    assert "before the question" in text and "Your mark" not in text
    one.see("^ready>")
    if rule:
        wait(lambda: rule in own_rules(world, asking), what="the rule")
    rules = [line for line in own_rules(world, asking) if f"k-{key}." in line]
    assert rules == ([rule] if rule else [])
    leave(one)


def test_a_full_screen_program_is_drawn_anew(world, asking, screen):
    """It does not draw again by itself: what comes back is the supervisor's picture."""
    one = agent(world, screen, asking)
    one.type("printf '\\033[?1049h\\033[2J\\033[5;10Hfull screen\\033[?25l'; "
             "nc -w 40 full.example 2222 < /dev/null > /dev/null; read -n 1 key; "
             "printf '\\033[?1049l\\033[?25h'; echo left with $key")
    one.see(MARK, 20)
    assert "full screen" not in one.text()
    one.see(READY)
    one.keys("d")
    one.see("^         full screen")
    one.keys("x")
    one.see("left with x")
    assert "full screen" not in one.text()
    leave(one)


def test_what_is_typed_ahead_is_no_answer(world, asking, screen):
    one = agent(world, screen, asking)
    one.type("nc -w 40 ahead.example 2222 < /dev/null; echo done")
    # somebody goes on typing for the agent, all the time until after it is there
    deadline = time.monotonic() + 20
    while not re.search(MARK, one.text()) and time.monotonic() < deadline:
        one.keys("a")
    one.see(MARK)
    for _ in range(5):
        one.keys("a")
    assert [row["target"] for row in questions(world, asking)] == ["ahead.example:2222"]
    one.see(READY)
    one.keys("d")
    one.see("done")
    assert not any("ahead." in line for line in own_rules(world, asking))
    # what was typed for the question's screen did not get to the agent either
    one.keys("C-u")
    leave(one)


def test_a_guest_cannot_draw_the_users_mark(world, asking, screen):
    """A picture that looks like a question has another mark, or none."""
    one = agent(world, screen, asking)
    held = Held(world, asking, "real.example")
    mark = one.see(MARK, 20).group(1)
    one.see(READY)
    one.keys("d")
    assert held.result() == ""
    one.see("^ready>")
    guest = world("exec", "-u", "root", asking, "sh", "-c",
                  f"grep -rs '[{mark[0]}]{mark[1:]}' /proc/*/environ /proc/*/cmdline /etc /run /tmp "
                  "/home /root || echo unknown").out
    assert guest == "unknown\n"
    fake = ("printf '\\033[?1049h\\033[2J\\033[H bawn asks. Your mark: red herring 1 \\n"
            "  Sandbox wants to connect to fine.example:443\\n'")
    one.type(f"{fake}; read -n 1 key; printf '\\033[?1049l'; echo got $key")
    assert one.see(MARK).group(1) != mark
    # the key goes to the guest's program, which asked for it
    one.keys("a")
    one.see("got a")
    assert not any("fine." in line for line in own_rules(world, asking))
    leave(one)


def test_a_guest_that_draws_all_the_time_does_not_get_through(world, asking, screen):
    """Behind a question nothing of the guest's is seen, whatever it left open."""
    one = agent(world, screen, asking)
    # an unfinished title string, line drawing letters, no colours
    one.type("(nc -w 40 noise.example 2222 < /dev/null; touch /tmp/over) & "
             "while [ ! -e /tmp/over ]; do printf '\\033[2J\\033[H\\033(0NOISE\\033]0;'; "
             "done; rm /tmp/over; printf '\\033\\\\\\033(B'; clear; echo calm again")
    one.see(MARK, 20)
    shown = one.see(r"Sandbox ask-box wants to connect to")
    assert shown and "NOISE" not in one.text()
    for _ in range(5):
        assert "noise.example:2222" in one.text()
    one.see(READY)
    one.keys("d")
    one.see("calm again", 40)
    leave(one)


def test_a_question_that_was_answered_elsewhere_goes_away(world, asking, screen):
    one = agent(world, screen, asking)
    one.type("nc -w 40 else.example 2222 < /dev/null; echo over")
    one.see(MARK, 20)
    world("policy", "approvals", "allow", asking)
    one.see("hello of else.example:2222")
    one.see("^over")
    leave(one)


def test_what_was_printed_behind_a_question_is_there_afterwards(world, asking, screen):
    """Nothing follows it: all there is comes in one piece with the answer to joining."""
    one = agent(world, screen, asking)
    one.type("rm -f /tmp/said; nc -w 40 behind.example 2222 < /dev/null; echo over; > /tmp/said")
    one.see(MARK, 20)
    command = one.child()
    os.kill(command, signal.SIGSTOP)
    world("policy", "approvals", "allow", asking)
    wait(lambda: world.raw("exec", asking, "test", "-e", "/tmp/said").code == 0, 30,
         "the last word")
    os.kill(command, signal.SIGCONT)
    one.see("hello of behind.example:2222")
    one.see("^over")
    leave(one)


def test_a_session_that_ends_behind_a_question_ends_with_its_code(world, asking, screen):
    one = agent(world, screen, asking)
    one.type("(nc -w 40 last.example 2222 < /dev/null &); exit 7")
    target = "last.example:2222"
    wait(lambda: target in [row["target"] for row in questions(world, asking)], 20)
    world("policy", "approvals", "deny", asking, target)
    assert one.exit_code() == 7


def test_without_a_terminal_nothing_is_asked_there(world, asking):
    process = world.popen("run", asking, "--", "sh", "-c",
                          "nc -w 40 quiet.example 2222 < /dev/null; echo over")
    try:
        target = "quiet.example:2222"
        wait(lambda: target in [row["target"] for row in questions(world, asking)], 20)
        world("policy", "approvals", "deny", asking, target)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert out == b"over\n" and b"mark" not in err


def test_the_docker_spelling_begins_with_the_users_file(world, tmp_path):
    home = tmp_path / "user"
    os.makedirs(home / ".sandboxd")
    os.symlink(BAWN, tmp_path / "docker-sandbox")
    (home / ".sandboxd/proxy-config.json").write_text(json.dumps({
        "policy": "deny", "network": {"allowedDomains": ["start.example:2222"]}}))
    name = "docker-box"

    def docker(*words):
        return subprocess.run(
            [tmp_path / "docker-sandbox", "sandbox", *words], check=False, text=True,
            env={**world.env, "HOME": str(home)}, cwd=world.workspace,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=START_SECONDS)
    made = docker("create", "--name", name, "-t", "tiny", "-m", "256M", "--cpus", "1",
                  "shell", ".")
    try:
        assert made.returncode == 0, made.stderr
        assert own_rules(world, name) == ["preset deny-all", "default deny",
                                          "allow start.example:2222"]
        assert visit(world, name, "start.example", 2222) == "hello of start.example:2222\n"
        written = home / f".docker/sandboxes/vm/{name}/proxy-config.json"
        assert json.loads(written.read_text())["network"]["allowedDomains"] == [
            "start.example:2222"]
        # a copy of one sandbox's file is what the next ones begin with
        assert docker("network", "proxy", name, "--allow-host", "more.example:2222"
                      ).returncode == 0
        assert visit(world, name, "more.example", 2222) == "hello of more.example:2222\n"
        assert "more.example:2222" in written.read_text()
        (home / ".sandboxd/proxy-config.json").write_text('{"policy": "deny", "ports": []}')
        refused = docker("create", "--name", "docker-box-2", "-t", "tiny", "shell", ".")
        assert refused.returncode == 1 and "ports" in refused.stderr
        assert "docker-box-2" not in world.names()
        assert docker("rm", name).returncode == 0
        assert not written.exists()
    finally:
        world.rm(name)
