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

from bawn import BAWN, SMALL, START_SECONDS, wait

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
    assert "changed: f2" in report and "Result: complete" in report
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
    assert "1 of the tasks are open, first A-1: the first" in project.read("second")
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


def test_init_writes_scripts_and_keeps_what_is_there(session, tmp_path):
    put(f"{tmp_path}/ralph.sh", "mine")
    said = session("init", tmp_path).out
    assert "ralph.sh is there already\n" in said and ".sandbox/sandbox-ralph.sh\n" in said
    for name in ("sandbox-ralph.sh", "network-policy.sh"):
        assert os.access(f"{tmp_path}/.sandbox/{name}", os.X_OK)
        subprocess.run(["sh", "-n", f"{tmp_path}/.sandbox/{name}"], check=True)
    with open(f"{tmp_path}/ralph.sh", encoding="utf-8") as file:
        assert file.read() == "mine"


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
