# SPDX-License-Identifier: Apache-2.0
"""Whole loops with the real claude and codex; test_loop.py has all of them with a script

Each iteration is a real agent's process against the model that stands in for
its own: a minute under emulation, so that only `make soak` runs them, but for
those of test_agents.py.
"""
import os

import pytest

from agent_loop import COMPLETE, AgentLoop, end_of, named, turns_of
from agent_world import KEYS
from bawn import SOAK, wait
from model_stub import Turn

pytestmark = [pytest.mark.seconds(900),
              pytest.mark.skipif(not SOAK, reason="minutes under emulation: make soak runs it")]


@pytest.fixture(scope="module", params=["claude", "codex"])
def loop(agent_net, agent_host, request):
    loop = AgentLoop(agent_net, agent_host, request.param)
    loop.create()
    yield loop
    loop.bawn.rm(loop.name)


def check_counts(loop, turn):
    """The real parser read what the agent said about its own work."""
    assert turn["tokens_in"] >= 3 and turn["tokens_out"] >= 2, turn
    assert (turn["cost_usd"] > 0) == (loop.agent == "claude"), turn
    assert turn["actions"] == 1 and turn["exit_code"] == 0 and turn["fault"] == "none", turn


def test_it_completes_on_the_last_iteration(loop):
    done = loop([Turn("One is made.", loop.change()), Turn(f"All.\n{COMPLETE}", loop.change())],
                "-n", "2")
    assert done.code == 0 and end_of(done)["status"] == "complete", done
    for turn in turns_of(done):
        check_counts(loop, turn)
        assert len(turn["files"]) == 1 and turn["files"][0].startswith(loop.agent), turn
        # what codex tries first, a WebSocket, is refused once and not again and again
        refused = sum(host["count"] for host in turn["egress"] if host["denied"])
        assert refused <= 2, turn
        assert [host for host in turn["egress"] if not host["denied"]], turn


@pytest.mark.parametrize("text, code, status, detail", [
    ("<promise>BLOCKED:no access to the registry</promise>", 2, "blocked",
     "no access to the registry"),
    ("Hm.\n\n**<promise>DECIDE:tea or coffee?</promise>**\n", 3, "decide", "tea or coffee?")])
def test_it_asks_for_help(loop, text, code, status, detail):
    said = loop([Turn(text)])
    assert said.code == code and end_of(said)["status"] == status, said
    assert end_of(said)["detail"] == detail


def test_quotes_of_a_promise_complete_nothing_and_the_cap_holds(loop):
    """In the prompt, in what a tool says, in a fence, and before another tool."""
    capped = loop([Turn(f"I would say\n```\n{COMPLETE}\n```\nwhen it is done.",
                        f"echo '{COMPLETE}' | tee quoted.txt")],
                  "-n", "1", prompt=f"Say this at the end:\n{COMPLETE}\n")
    assert capped.code == 1 and end_of(capped)["status"] == "limit", capped
    assert turns_of(capped)[0]["promise"] == ""


def test_open_tasks_and_a_failing_check_refuse_completion(loop):
    loop.bawn("loop", "--add-task", "A-1: the first", loop.agent, ".")
    done = loop([Turn(COMPLETE, loop.change()),
                 Turn(f"<promise>A-1:DONE</promise>\n{COMPLETE}", loop.change()),
                 Turn(COMPLETE, f"touch {loop.agent}-ok")],
                "--verify", f"echo it is; test -e {loop.agent}-ok")
    assert done.code == 0 and end_of(done)["iterations"] == 3, done
    assert [event["why"] for event in named(done, "refused")] == ["tasks", "verify"], done
    assert "1 of the tasks is open, first A-1: the first" in loop.model.prompts[2]
    assert "code 1. It said:\\nit is" in loop.model.prompts[3]
    loop.clear()


def test_an_agent_that_changes_nothing_trips_the_breaker(loop):
    stopped = loop([Turn("I looked at it.")])
    assert stopped.code == 1 and "breaker" in end_of(stopped)["detail"], stopped
    assert len(turns_of(stopped)) == 3


def test_a_refused_key_stops_it_at_once(loop):
    stopped = loop([Turn()], status=401)
    assert stopped.code == 5 and len(turns_of(stopped)) == 1, stopped
    assert end_of(stopped)["status"] == "auth"


def test_a_rate_limit_is_waited_out(loop):
    """As long as the agent itself bears it, and then by the loop; it counts nothing."""
    def relent(event):
        if event["event"] == "wait":
            loop.model.status = None
    done = loop([Turn(COMPLETE, loop.change())], "-n", "1", "--backoff", "1s", on=relent,
                status=429)
    assert done.code == 0 and end_of(done)["iterations"] == 1, done
    assert [event["why"] for event in named(done, "wait")] == ["rate limit"], done
    assert [turn["fault"] for turn in turns_of(done)] == ["rate", "none"]


@pytest.mark.parametrize("attempts", [None, 12])
def test_a_lost_network_is_waited_out(loop, attempts):
    """claude gives up; codex waits as long as it takes, or until --inactivity ends it."""
    if attempts and loop.agent != "codex":
        pytest.skip("it gives up before")
    def come_back(event):
        if event["event"] == "wait":
            loop.host.find(loop.agent)
    loop.host.lose(loop.agent, attempts)
    try:
        done = loop([Turn(COMPLETE, loop.change())], "-n", "1", "--backoff", "1s",
                    *(("--inactivity", "90s") if loop.agent == "codex" else ()), on=come_back)
    finally:
        loop.host.find(loop.agent)
    assert done.code == 0 and end_of(done)["iterations"] == 1, done
    lost = [] if attempts else ["network"]
    assert [event["why"] for event in named(done, "wait")] == lost, done
    assert [turn["fault"] for turn in turns_of(done)] == [*lost, "none"], done


def test_a_killed_agent_is_an_iteration(loop):
    done = loop([Turn(during=loop.kill_agent), Turn(COMPLETE, loop.change())], "-n", "3")
    assert done.code == 0 and end_of(done)["iterations"] == 2, done
    first, second = turns_of(done)
    assert first["fault"] == "other" and first["exit_code"] == 137, first
    assert second["fault"] == "none"
    assert "It ended with an error" in loop.model.prompts[2]


def test_a_killed_loop_goes_on(loop):
    """Its agent goes with it."""
    def kill():
        loop.process.kill()
    killed = loop([Turn("One.", loop.change()), Turn(during=kill)])
    assert killed.code == -9 and len(turns_of(killed)) == 1, killed
    status = loop.bawn("loop", "--status", "--json", loop.agent, ".").json
    assert status["died"] and status["iteration"] == 1, status
    wait(lambda: loop.bawn.raw("exec", loop.name, "pidof", loop.agent).code, 30, "its end")
    done = loop([Turn(), Turn(COMPLETE, loop.change())], prompt=None)
    assert done.code == 0 and end_of(done)["iterations"] == 2, done
    assert done.events[0]["resumed"] == "yes"


def test_what_is_added_meanwhile_is_told_to_the_next(loop):
    def add():
        loop.bawn("loop", "--add-context", "Mind the tests.", loop.agent, ".")
    done = loop([Turn("One.", loop.change(), add), Turn(COMPLETE, loop.change())])
    assert done.code == 0 and end_of(done)["iterations"] == 2, done
    assert "Mind the tests." not in loop.model.prompts[1]
    assert "Mind the tests." in loop.model.prompts[2]
    assert not os.path.exists(loop.file(".ralph/ralph-context.md"))


# copilot with a key of the user's own for another service: GitHub's login has no stand-in here
BYOK = ("-e", "COPILOT_PROVIDER_BASE_URL=https://api.anthropic.com", "-e", "COPILOT_OFFLINE=true",
        "-e", "COPILOT_PROVIDER_TYPE=anthropic", "-e", "COPILOT_MODEL=claude-sonnet-4.5",
        "-e", f"COPILOT_PROVIDER_API_KEY={KEYS['copilot']}", "--allow", "api.anthropic.com",
        "--inspect", "api.anthropic.com")  # so that the guest need not trust the stand-in


@pytest.mark.seconds(1800)
@pytest.mark.parametrize("agent, options", [("gemini", ()), ("opencode", ()), ("copilot", BYOK)])
def test_others_complete_a_loop_and_a_refused_key_stops_it(agent_net, agent_host, agent, options):
    """Each in the template of its own."""
    pulled = agent_net.outside.raw("template", "pull", agent, timeout=600)
    assert pulled.code == 0, pulled
    loop = AgentLoop(agent_net, agent_host, agent, ("-m", "2G", "--cpus", "2", *options))
    try:
        loop.create()
        done = loop([Turn(f"All.\n{COMPLETE}", loop.change())], "-n", "1")
        assert done.code == 0 and end_of(done)["status"] == "complete", done
        turn, = turns_of(done)
        assert turn["actions"] == 1 and turn["fault"] == "none" and turn["files"], turn
        assert agent == "copilot" or turn["tokens_in"] >= 6, turn
        stopped = loop([Turn()], status=401)
        assert stopped.code == 5 and len(turns_of(stopped)) == 1, stopped
    finally:
        loop.bawn.rm(loop.name)
        agent_net.outside.raw("template", "rm", "-f", agent)
