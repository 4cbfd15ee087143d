# SPDX-License-Identifier: Apache-2.0
"""agent_loop.py - `bawn loop` with a real agent and a model that is told what to do"""
import json
import os
import secrets
import tempfile
import threading

from agent_world import KEYS, SIZE, VARIABLES
from bawn import Result

MODEL = {"codex": ("--model", "stub-model"),
         "opencode": ("--model", "anthropic/claude-sonnet-4-5")}
COMPLETE = "<promise>COMPLETE</promise>"


class AgentLoop:
    """A folder, the loop's sandbox for it, and loops in it."""

    def __init__(self, net, host, agent, size=SIZE):
        self.agent, self.host, self.size = agent, host, size
        self.model = host.models[agent]
        self.bawn = net.with_env(**{VARIABLES[agent]: KEYS[agent]})
        self.name = self.bawn("loop", "--print-name", agent, ".").out.strip()
        self.process = None

    def create(self):
        self.bawn("create", "--name", self.name, *self.size, self.agent, ".", timeout=600)

    def file(self, name):
        return f"{self.bawn.workspace}/{name}"

    def change(self):
        """A command that leaves a new file."""
        return f"date > {self.agent}-{secrets.token_hex(4)}"

    def popen(self, *options, prompt="Do what you must.", stderr=None):
        given = ("-p", prompt) if prompt else ()
        self.process = self.bawn.popen("loop", "--json", *given, *MODEL.get(self.agent, ()),
                                       *options, self.agent, ".", stderr=stderr)
        return self.process

    def __call__(self, turns, *options, on=None, status=None, prompt="Do what you must.",
                 timeout=600):
        """Its end; `on` is called with each event as it comes."""
        self.model.begin(*turns, status=status)
        with tempfile.TemporaryFile() as errors:
            process = self.popen(*options, prompt=prompt, stderr=errors)
            timer = threading.Timer(timeout, process.kill)
            timer.start()
            events = []
            for line in process.stdout:
                events.append(json.loads(line))
                if on:
                    on(events[-1])
            code = process.wait()
            timer.cancel()
            errors.seek(0)
            result = Result(("loop", self.agent), code, json.dumps(events, indent=1),
                            errors.read().decode(errors="replace"))
        result.events = events
        return result

    def kill_agent(self):
        """Its own process in the guest, as memory pressure would."""
        self.bawn("exec", "-u", "root", self.name, "sh", "-c",
                  f"kill -9 $(pidof {self.agent})")

    def clear(self):
        for name in ("ralph-tasks.md", "ralph-context.md"):
            if os.path.exists(self.file(f".ralph/{name}")):
                os.unlink(self.file(f".ralph/{name}"))


def turns_of(result):
    return [event for event in result.events if event["event"] == "turn"]


def named(result, name):
    return [event for event in result.events if event["event"] == name]


def end_of(result):
    assert result.events and result.events[-1]["event"] == "end", result
    return result.events[-1]
