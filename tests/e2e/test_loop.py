# SPDX-License-Identifier: Apache-2.0
"""bawn loop: a script as the agent in one real sandbox, whatever may come.

The sandbox runs before the first loop and is left running by it, but for the
case that sees to the loop's own one.
"""
import json
import os
import secrets
import signal
import subprocess

import pytest

from bawn import BAWN, SMALL, SOAK, START_SECONDS, wait

COMPLETE = "echo '<promise>COMPLETE</promise>'"


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Project:
    """A folder, its sandbox, and loops in it."""

    def __init__(self, bawn, path):
        self.bawn, self.path = bawn, path
        os.makedirs(path)
        self.name = bawn("loop", "--print-name", "shell", path).out.strip()

    def file(self, name):
        return f"{self.path}/{name}"

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def clear(self):
        for name in ("ralph-tasks.md", "ralph-context.md"):
            if os.path.exists(self.file(f".ralph/{name}")):
                os.unlink(self.file(f".ralph/{name}"))

    def words(self, script, *options, prompt="the work"):
        # it reads its prompt first, as agents do; the guest has not seen this name before
        agent = f"agent-{secrets.token_hex(4)}.sh"
        put(self.file(agent), "cat > prompt.txt\n" + script + "\n")
        given = ("-p", prompt) if prompt else ()
        return ("loop", "--json", "--agent-command", f"sh {agent}", *given, *options, self.path)

    def loop(self, script, *options, prompt="the work"):
        result = self.bawn.raw(*self.words(script, *options, prompt=prompt), timeout=90)
        result.events = [json.loads(line) for line in result.out.splitlines()]
        return result

    def status(self):
        return self.bawn("loop", "--status", "--json", self.path).json


def turns(result):
    return [event for event in result.events if event["event"] == "turn"]


def end(result):
    last = result.events[-1]
    assert last["event"] == "end", result
    return last


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    project = Project(session, f"{tmp_path_factory.mktemp('loop')}/project")
    session("create", "--name", project.name, *SMALL, "shell", project.path,
            timeout=START_SECONDS)
    yield project
    session.rm(project.name)


def test_a_promise_completes_it_on_the_last_iteration(project):
    done = project.loop(f"date >> f$RALPH_ITERATION; [ $RALPH_ITERATION = 2 ] && {COMPLETE}; "
                        "true", "-n", "2")
    assert done.code == 0 and end(done)["status"] == "complete", done
    assert [turn["files"] for turn in turns(done)] == [["prompt.txt", "f1"],
                                                       ["prompt.txt", "f2"]], done
    assert "iteration 2 of at most 2" in project.read("prompt.txt")
    assert project.read("prompt.txt").startswith("the work\n")
    assert not project.status()["active"]
    with open(project.file(".ralph/ralph-history.json"), encoding="utf-8") as file:
        assert len(json.load(file)["iterations"]) == 2
    report = project.bawn("loop", "report", project.path).out
    assert "- f2\n" in report and "Result: complete" in report
    assert "<svg" in project.bawn("loop", "report", "--html", project.path).out


def test_quotes_of_a_promise_complete_nothing(project):
    """In the prompt, in a fence, in what a tool says; the cap is 1."""
    capped = project.loop(f"cat prompt.txt; date > f; echo '```'; {COMPLETE}; echo '```'",
                          "-n", "1", prompt="say\n<promise>COMPLETE</promise>")
    assert capped.code == 1 and end(capped)["status"] == "limit", capped
    tool = {"type": "user", "message": {"content": [
        {"type": "tool_result", "content": "<promise>COMPLETE</promise>"}]}}
    last = {"type": "result", "subtype": "success", "is_error": False, "result": "no",
            "total_cost_usd": 0.5, "usage": {"input_tokens": 3, "output_tokens": 4}}
    put(project.file("said"), json.dumps(tool) + "\n" + json.dumps(last) + "\n")
    capped = project.loop("date > g; cat said", "--output", "claude-stream-json",
                          "-n", "9", "--max-cost", "0.9")
    assert capped.code == 1 and "0.9" not in capped.err, capped
    assert len(turns(capped)) == 2 and turns(capped)[0]["cost_usd"] == 0.5, capped


def test_blocked_and_decide_are_told_to_the_hook(project):
    hook = f"echo $BAWN_LOOP_STATUS: \"$BAWN_LOOP_DETAIL\" > {project.file('hook')}"
    said = project.loop("echo '<promise>BLOCKED:no `key` $(here)</promise>'", "--hook", hook)
    assert said.code == 2 and project.read("hook") == "blocked: no `key` $(here)\n", said
    said = project.loop("echo '<promise>DECIDE:tea or coffee?</promise>'", "--hook", hook)
    assert said.code == 3 and project.read("hook") == "decide: tea or coffee?\n", said


def test_open_tasks_and_a_failing_check_refuse_completion(project):
    bawn = project.bawn
    bawn("loop", "--add-task", "A-1: the first", project.path)
    bawn("loop", "--add-task", "to be removed", project.path)
    bawn("loop", "--remove-task", "2", project.path)
    assert bawn("loop", "--list-tasks", project.path).out == "  1 [ ] A-1: the first\n"
    done = project.loop(
        f"""date > f; case $RALPH_ITERATION in
        1) {COMPLETE};;
        2) cp prompt.txt second; echo '<promise>A-1:DONE</promise>'; {COMPLETE};;
        *) cp prompt.txt third; touch ok; {COMPLETE};;
        esac""", "--verify", "echo it is; test -e ok")
    assert done.code == 0, done
    refused = [(event["why"], event.get("open")) for event in done.events
               if event["event"] == "refused"]
    assert refused == [("tasks", 1), ("verify", None)], done
    assert "1 of the tasks is open, first A-1: the first" in project.read("second")
    assert "code 1. It said:\nit is\n" in project.read("third")
    assert "- [x] A-1: the first" in project.read(".ralph/ralph-tasks.md")
    assert "[x] A-1" in bawn("loop", "--status", "--tasks", project.path).out
    project.clear()


def test_a_loop_that_does_nothing_is_stopped(project):
    put(project.file("prompt.txt"), "")
    stopped = project.bawn.raw("loop", "--agent-command", "cat > /dev/null; echo well",
                               "-p", "x", project.path)
    assert stopped.code == 1 and "breaker" in stopped.out, stopped
    assert "iteration 3/30" in stopped.out and "iteration 4/30" not in stopped.out


def test_waiting_does_not_count_and_a_bad_key_stops(project):
    done = project.loop(f"""if [ ! -e tried ]; then touch tried
        echo 'API Error: 429 rate limit' >&2; exit 1; fi; {COMPLETE}""",
                        "-n", "1", "--backoff", "1s")
    assert done.code == 0 and end(done)["iterations"] == 1, done
    assert [event["seconds"] for event in done.events if event["event"] == "wait"] == [1]
    stopped = project.loop("echo 'API Error: 401 invalid api key' >&2; exit 1")
    assert stopped.code == 5 and len(turns(stopped)) == 1, stopped
    # the tiny template has no bash, which is the shell agent's
    assert project.bawn.raw("loop", "shell", "-p", "x", project.path).code == 6


def test_a_killed_loop_is_seen_as_dead_and_goes_on(project):
    script = """echo run >> runs
    if [ $RALPH_ITERATION = 2 ]; then touch here; sleep 600; fi"""
    process = project.bawn.popen(*project.words(script))
    try:
        wait(lambda: os.path.exists(project.file("here")), 30, "the second iteration")
        assert project.status()["active"]
        again = project.loop(script)
        assert again.code == 125 and "runs already" in again.err, again
        project.bawn("loop", "--add-context", "look at the auth module", project.path)
    finally:
        process.kill()
        process.communicate()
    status = project.status()
    assert status["died"] and not status["active"] and status["iteration"] == 1, status
    done = project.loop(f"[ $RALPH_ITERATION = 3 ] && {COMPLETE}; true", prompt=None)
    assert done.code == 0 and end(done)["iterations"] == 3, done
    assert done.events[0]["resumed"] == "yes"
    first = next(event for event in done.events if event["event"] == "iteration")
    assert first["iteration"] == 2
    assert any(event["event"] == "context" for event in done.events), done
    wait(lambda: project.bawn.running(project.name, "sleep 600") == 0, 20, "its agent's end")


def test_interrupts_end_the_iteration_or_all(project):
    script = "touch begun{0}; while [ ! -e end{0} ]; do sleep 0.1; done; date > f"
    process = project.bawn.popen(*project.words(script.format(1)))
    try:
        wait(lambda: os.path.exists(project.file("begun1")), 30, "the iteration")
        process.send_signal(signal.SIGINT)
        put(project.file("end1"), "")
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130 and json.loads(out.splitlines()[-1])["iterations"] == 1
        process = project.bawn.popen(*project.words(script.format(2)))
        wait(lambda: os.path.exists(project.file("begun2")), 30, "the iteration")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130 and json.loads(out.splitlines()[-1])["iterations"] == 0
    finally:
        process.kill()
        process.communicate()


def test_a_terminal_shows_what_goes_on(project, screen):
    """Also a narrow one; Ctrl-C once lets the iteration end, twice stops it."""
    agent = f"agent-{secrets.token_hex(4)}.sh"
    put(project.file(agent), """cat > prompt.txt; echo reads the code
        while [ ! -e end3 ]; do sleep 0.1; done; date > f\n""")
    project.bawn("loop", "--add-task", "A-1: the first", project.path)
    words = ("loop", "--agent-command", f"sh {agent}", "-p", "x", project.path)
    shown = screen(100, 20, of=project.bawn).bawn(*words)
    shown.see(r"^iteration 1/30: A-1: the first$")
    shown.see(r"^1/30  \d+s  0 tokens  0\.00 USD  0 blocked  A-1: the first  reads the code$")
    shown.resize(40, 20)
    shown.see(r"^1/30  \d+s  reads the code$")
    shown.keys("C-c")
    shown.see(r"stops after this iteration; Ctrl-C")
    put(project.file("end3"), "")
    assert shown.exit_code() == 130
    assert "reads the code" not in shown.text() and "interrupted after 1 iter" in shown.text()
    os.unlink(project.file("end3"))
    shown = screen(100, 20, of=project.bawn).bawn(*words)
    shown.see(r"reads the code$")
    shown.keys("C-c")
    shown.see(r"stops after this iteration; Ctrl-C again stops now")
    shown.keys("C-c")
    assert shown.exit_code() == 130 and "interrupted after 0 iterations" in shown.text()
    project.clear()


def test_forged_files_of_the_workspace_decide_nothing(project):
    """The guest writes a state, a link for the tasks, and a link for .ralph."""
    project.loop("true", "--once")
    capped = project.loop(f"""rm -f .ralph/*; ln -s /etc/passwd .ralph/ralph-tasks.md
        echo '{{"active": false, "iteration": 900}}' > .ralph/ralph-loop.state.json
        ln -s /etc/shadow .ralph/ralph-context.md; date > f; {COMPLETE}""", "-n", "2")
    assert capped.code == 1 and end(capped)["iterations"] == 2, capped
    assert any(event["event"] == "tasks_unreadable" for event in capped.events)
    capped = project.loop(f"rm -rf .ralph; ln -s /tmp .ralph; date > f; {COMPLETE}", "-n", "1")
    assert not os.path.exists("/tmp/ralph-loop.state.json"), capped
    assert project.bawn.raw("loop", "--add-context", "x", project.path).code == 125
    os.unlink(project.file(".ralph"))


def test_a_state_from_before_each_iteration_is_kept_beside_the_agent(project):
    """The agent works while it is copied; of many the last five stay."""
    def labels():
        return [label for label in project.bawn("checkpoint", "ls", "-q", project.name).out.split()
                if label.startswith("loop-")]
    before = set(labels())
    process = project.bawn.popen(*project.words("while [ ! -e go ]; do sleep 0.1; done; date > f",
                                                "-n", "6"))
    try:
        wait(lambda: set(labels()) - before, 30, "the first checkpoint")
        assert process.poll() is None
        put(project.file("go"), "")
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    kept = [json.loads(line)["checkpoint"] for line in out.splitlines()
            if json.loads(line)["event"] == "turn"]
    assert len(kept) == 6 and labels() == kept[1:], (kept, labels())
    bad = project.loop("true", "--rollback-on-failure", "--no-checkpoints")
    assert bad.code == 64 and "needs checkpoints" in bad.err, bad
    os.unlink(project.file("go"))
    none = project.loop("true", "--once", "--no-checkpoints")
    assert "checkpoint" not in turns(none)[0] and labels() == kept[1:]


def test_an_error_is_rolled_back(project):
    """The workspace and the machine are as they were before the iteration."""
    done = project.loop(f"""case $RALPH_ITERATION in
        1) touch /tmp/kept; date > good;;
        2) echo x > bad; touch /tmp/lost; exit 1;;
        *) [ -e /tmp/kept ] && [ ! -e /tmp/lost ] && {COMPLETE};;
        esac; true""", "--rollback-on-failure", "-n", "3")
    assert done.code == 0 and end(done)["iterations"] == 3, done
    assert [event["event"] for event in done.events].count("rollback") == 1
    assert os.path.exists(project.file("good")) and not os.path.exists(project.file("bad"))


def test_many_iterations_leave_the_folder_served(project):
    """Each has a mark of its own in the undo journal."""
    capped = project.loop("date > many$RALPH_ITERATION", "-n", "15", "--no-checkpoints")
    assert capped.code == 1 and end(capped)["iterations"] == 15, capped
    assert project.bawn.exec(project.name, "cat", project.file("many15")).out


class Helpers:
    """A project with what `init` writes, and an agent of the user's that is a script."""

    def __init__(self, session, folder, agent):
        self.bawn, self.agent = session, agent
        self.path = f"{folder}/My App"
        self.table = f"{session.home}/config/agents.d/{agent}.json"
        put(self.table, json.dumps({"agents": [{
            "name": agent, "template": "tiny", "interactive": ["sh"],
            "once": ["sh", "agent.sh"], "output": "text", "variables": [], "environment": {}}]}))
        put(f"{self.path}/.agent/PROMPT.md", "do it\n")
        for name in ("bawn", "ralph"):
            os.makedirs(f"{folder}/bin", exist_ok=True)
            os.symlink(BAWN, f"{folder}/bin/{name}")
        self.env = {**session.env, "PATH": f"{folder}/bin:{session.env['PATH']}",
                    "SANDBOX_OPTIONS": "-m 256M --cpus 1"}
        session("init", self.path)
        self.name = session("loop", "--print-name", agent, self.path).out.strip()

    def run(self, *words, timeout=150):
        return subprocess.run(words, cwd=self.path, env=self.env, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def close(self):
        self.bawn.rm(self.name)
        os.unlink(self.table)


@pytest.fixture
def helpers(session, tmp_path):
    made = Helpers(session, tmp_path, f"mine{secrets.token_hex(2)}")
    yield made
    made.close()


def test_init_writes_scripts_and_keeps_what_is_there(session, tmp_path):
    put(f"{tmp_path}/ralph.sh", "mine")
    said = session("init", tmp_path).out
    assert "ralph.sh is there already\n" in said and ".sandbox/sandbox-ralph.sh\n" in said
    with open(f"{tmp_path}/ralph.sh", encoding="utf-8") as file:
        assert file.read() == "mine"


def test_the_scripts_of_init_do_what_they_say(helpers):
    """As they are written: the agent's own template, for nothing is added to it."""
    put(f"{helpers.path}/agent.sh",
        f"cat > prompt.txt; date > f$RALPH_ITERATION; [ -e f2 ] && {COMPLETE}; true\n")
    done = helpers.run(".sandbox/sandbox-ralph.sh", ".", "5", helpers.agent)
    assert done.returncode == 0 and "complete after 2 iterations" in done.stdout, done
    assert f"watch it:  bawn loop --status {helpers.agent} .\n" in done.stdout
    assert "template:" not in done.stdout
    bawn, name = helpers.bawn, helpers.name
    assert bawn.status(name) in ("stopped", "suspended")
    assert bawn.raw("policy", "check", name, "https://api.anthropic.com/").code == 0
    assert bawn.raw("policy", "check", name, "https://pypi.org/").code == 1
    # the same sandbox once more, by the other script, up to the cap
    put(f"{helpers.path}/agent.sh", "cat > prompt.txt; date > g\n")
    done = helpers.run("./ralph.sh", "--agent", helpers.agent, "-n", "1")
    assert done.returncode == 1 and "iteration 1/1\n" in done.stdout, done
    assert helpers.run(".sandbox/network-policy.sh").returncode == 2


@pytest.mark.skipif(not SOAK, reason="builds an image under emulation: make soak runs it")
@pytest.mark.seconds(1500)
def test_sandbox_ralph_builds_its_template_once(helpers):
    """And again when the Dockerfile has changed."""
    put(f"{helpers.path}/agent.sh", f"cat > prompt.txt; cp /made made.txt; {COMPLETE}\n")
    for text, builds in (("one", True), ("one", False), ("two", True)):
        put(f"{helpers.path}/.sandbox/Dockerfile", f"FROM tiny\nRUN echo {text} > /made\n")
        done = helpers.run(".sandbox/sandbox-ralph.sh", ".", "2", helpers.agent, timeout=700)
        assert done.returncode == 0, done
        assert ("is built from" in done.stdout) == builds, done
    # the sandbox that is there stays as it was made, and one line says so
    assert "was made from another template" in done.stdout, done
    with open(f"{helpers.path}/made.txt", encoding="utf-8") as file:
        assert file.read() == "one\n"
    helpers.bawn.rm("template-builder")
    built = [row["name"] for row in helpers.bawn("template", "ls", "--json").json
             if row["name"].startswith("sandbox-ralph")]
    helpers.bawn.rm(helpers.name)
    assert len(built) == 2
    helpers.bawn("template", "rm", "-f", *built)


def test_the_sandbox_of_a_loop_is_its_own(session, tmp_path):
    """Made by it, with the other name of the program, and stopped at the end."""
    project = Project(session, f"{tmp_path}/My App")
    ralph = f"{tmp_path}/ralph"
    os.symlink(BAWN, ralph)
    put(project.file("agent.sh"), "cat > prompt.txt; pwd >> prompt.txt; exit 0\n")
    done = subprocess.run([ralph, "--agent", "shell", "--agent-command", "sh agent.sh", *SMALL,
                           "do", "it", "1"], cwd=project.path, env=session.env, timeout=150,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    assert project.read("prompt.txt").startswith("do it\n")
    assert session.status(project.name) in ("stopped", "suspended")
    session.rm(project.name)


def test_the_guest_has_a_ralph_of_its_own(project):
    """The same files from inside: the agent's user, in the workspace."""
    project.clear()
    inside = [("--add-task", "B-1: from inside"), ("--add-context", "be quick"), ("--list-tasks",)]
    said = [project.bawn.exec(project.name, "ralph", *words).out for words in inside]
    assert said[2] == "  1 [ ] B-1: from inside\n", said
    done = project.loop(f"ralph --status > seen; echo '<promise>B-1:DONE</promise>'; {COMPLETE}",
                        "-n", "1")
    assert done.code == 0 and "be quick" in project.read("prompt.txt"), done
    assert project.name in project.read("seen") and "running" in project.read("seen")
    refused = project.bawn.raw("exec", project.name, "ralph", "do it")
    assert refused.code == 64 and "runs on the host" in refused.err, refused
    project.clear()


def test_who_only_waits_for_the_network_is_ended_and_waited_for(project):
    """As codex does it: it says so for ever, and ends only when it is told to."""
    back = json.dumps({"type": "item.completed", "item": {
        "type": "agent_message", "text": "<promise>COMPLETE</promise>"}})
    lost = json.dumps({"type": "error", "message": "Reconnecting... 2/5"})
    done = project.loop(f"""if [ -e back ]; then echo '{back}'; exit; fi
        touch back; while echo '{lost}'; do sleep 0.2; done""", "--output", "codex-json",
                        "--inactivity", "1s", "--backoff", "1s", "-n", "1")
    assert done.code == 0 and end(done)["iterations"] == 1, done
    assert [turn["fault"] for turn in turns(done)] == ["network", "none"], done


def test_attempts_in_workspaces_of_their_own(session, tmp_path):
    """A loop over an overlay, and then two at once from its state: the smaller change wins."""
    project = Project(session, f"{tmp_path}/project")
    put(project.file("text"), "one\n")
    session("loop", "--add-task", "A-1: the first", project.path)
    try:
        done = project.loop(f"""echo two > mine; rm text
            echo '<promise>A-1:DONE</promise>'; {COMPLETE}""", *SMALL, "--workspace-mode", "overlay",
                            "--verify", "test -e mine && grep -q 'x. A-1' .ralph/ralph-tasks.md")
        assert done.code == 0 and "1 of" not in done.err, done
        assert sorted(turns(done)[0]["files"]) == ["mine", "prompt.txt", "text"], done
        assert os.path.exists(project.file("text")) and not os.path.exists(project.file("mine"))
        assert "-one" in session("diff", project.name).out
        bad = project.loop("true", *SMALL, "--attempts", "2")
        assert bad.code == 64 and "--verify" in bad.err, bad
        process = session.popen(*project.words(
            f"""touch there; n=${{RALPH_LOOP##*-}}; seq $((30 / n)) > new
            while [ ! -e go ]; do sleep 0.1; done; {COMPLETE}""", *SMALL, "--attempts", "3",
            "--verify", "test $(cat new | wc -l) -gt 10", "-n", "1"))
        try:
            wait(lambda: session("ls").out.count(", iteration 1/1") == 3, 60, "three at once")
            put(project.file("go"), "")
            out, err = process.communicate(timeout=90)
        finally:
            process.kill()
            process.communicate()
        last = json.loads(out.splitlines()[-1])
        assert process.returncode == 0 and last["event"] == "winner", (out, err)
        assert last["name"] == f"{project.name}-2" and last["attempt"] == 2, last
        mine = [name for name in session.names() if name.startswith(project.name)]
        assert sorted(mine) == [project.name, last["name"]], mine
        assert "- [x] A-1" in project.read(".ralph/ralph-tasks.md")
        session("apply", last["name"])
        assert project.read("new").count("\n") == 15 and project.read("mine") == "two\n"
    finally:
        session.raw("rm", "-f", *[name for name in session.names()
                                  if name.startswith(project.name)])
