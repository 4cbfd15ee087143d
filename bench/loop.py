#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""loop.py - what an iteration of `bawn loop` costs beside its agent

A shell stub is the agent. An iteration takes a checkpoint, attaches, runs the
agent, reads the tasks and the journal, and keeps state; the last one also runs
the check. N iterations less one, divided by N - 1, leaves out the start of the
command. The checkpoint is copied beside the agent, so that the stub works for a
while; its own time is what `exec` takes for it beyond `exec true`.
"""
import tempfile

import common

ROUNDS = 5
MORE = 6
AGENT = "echo $RALPH_ITERATION > f; sleep 1"


def main():
    common.title("iterations of a loop with a shell stub")
    with tempfile.TemporaryDirectory() as folder:
        name = common.bawn("loop", "--print-name", "shell", folder).strip()
        common.bawn("rm", "-f", name, check=False)
        common.bawn("create", "--name", name, "shell", folder)

        def exec_true():
            common.bawn("exec", name, "true")

        def loop(count):
            done = f"[ $RALPH_ITERATION = {count} ] && echo '<promise>COMPLETE</promise>'"
            common.bawn("loop", "--json", "-n", str(count), "--verify", "true", "-p", "x",
                        "--agent-command", f"{AGENT}; {done}; true", folder)

        def exec_agent():
            common.bawn("exec", name, "sh", "-c", AGENT)

        for _ in range(3):
            exec_true()
        one, many, exec_once, agent = common.alternate(ROUNDS, lambda: loop(1), lambda: loop(MORE),
                                                       exec_true, exec_agent)
        each = (many - one) / (MORE - 1) - (agent - exec_once)
        common.row("bawn exec NAME true, median", exec_once * 1e3)
        common.row("bawn loop, one iteration and its check", one * 1e3)
        common.row("an iteration more, without its agent's own time", each * 1e3)
        common.bar("an iteration / exec true", each / exec_once, 3)
        common.bawn("rm", "-f", name)


if __name__ == "__main__":
    main()
