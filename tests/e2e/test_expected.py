# SPDX-License-Identifier: Apache-2.0
"""Command lines that people already type, in cases/commands/expected, run as written

The agent is a row of the user's own table by the name of claude: a script on the
tiny template, which says with what it was called.
"""
import json
import os
import shutil
import subprocess

import pytest

from bawn import BAWN, START_SECONDS

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = """#!/bin/sh
case "$*" in
*--once*) cat > /dev/null; date > made; echo '<promise>COMPLETE</promise>'; exit;;
esac
echo "agent: $*"
echo "agent in $(basename "$PWD")"
echo "env: $NODE_ENV $DEBUG"
echo "url: $DATABASE_URL"
env | grep -i anthropic
true
"""
TABLE = {"agents": [{"name": name, "template": "tiny", "output": "text",
                     "variables": [key], "environment": {}, "seeds": [],
                     "interactive": ["sh", "agent.sh", "--dangerously-skip-permissions"],
                     "once": ["sh", "agent.sh", "--once"]}
                    for name, key in (("claude", "ANTHROPIC_API_KEY"),
                                      ("codex", "CODEX_API_KEY"))]}


class Row:
    def __init__(self, command):
        self.command, self.code, self.wants = command, 0, []
        self.see = self.types = None


def read_rows():
    rows = []
    with open(f"{HERE}/cases/commands/expected", encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                rows.append(Row(line[2:]))
            elif line.startswith("  "):
                word, text = line.split(maxsplit=1)
                if word == "code":
                    rows[-1].code = int(text)
                elif word in ("see", "types"):
                    setattr(rows[-1], word, text)
                elif word in ("out", "err", "none"):
                    rows[-1].wants.append((word, text))
                else:
                    assert word == "differs", line
    return rows


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def world(lone, tmp_path):
    """A home with the folders that the commands name, and the programs' names."""
    docker = shutil.which("docker")
    if not docker:
        pytest.skip("there is no docker client on this machine")
    home, folder = f"{tmp_path}/me", f"{tmp_path}/me/my-app"
    for name in ("my-app", "my-project", "with-ssh", "with-data"):
        put(f"{home}/{name}/agent.sh", AGENT)
    put(f"{home}/.ssh/config", "")
    put(f"{home}/datasets/set", "numbers\n")
    os.makedirs(f"{home}/.cache/pip")
    for name in ("my-app", "my-project"):
        put(f"{home}/{name}/.agent/PROMPT.md", "do it\n")
    put(f"{lone.home}/config/agents.d/claude.json", json.dumps(TABLE))
    os.chmod(f"{lone.home}/config", 0o700)
    for name in ("bin/bawn", "bin/sbx", "bin/ralph", "docker/cli-plugins/docker-sandbox"):
        os.makedirs(os.path.dirname(f"{tmp_path}/{name}"), exist_ok=True)
        os.symlink(BAWN, f"{tmp_path}/{name}")
    env = {**lone.env, "HOME": home, "DOCKER_CONFIG": f"{tmp_path}/docker",
           "PATH": f"{tmp_path}/bin:{os.path.dirname(docker)}:{lone.env['PATH']}"}
    small = ("-t", "tiny", "-m", "256M", "--cpus", "1", "claude")
    lone("create", "--name", "claude-my-app", *small, folder, timeout=START_SECONDS)
    lone("create", "--name", "my-sandbox", *small, f"{home}/my-project")
    yield folder, env
    lone.raw("reset", "-f")


def run(row, folder, env):
    """As a script would, or on a terminal when something is typed there."""
    words = ["sh", "-c", row.command]
    if row.types:
        words = ["script", "-qec", row.command, "/dev/null"]
    return subprocess.run(words, cwd=folder, env=env, text=True, capture_output=True, timeout=150,
                          input=f"{row.types}\n" if row.types else "", check=False)


@pytest.mark.seconds(600)
def test_what_people_type_works_as_written(world):
    folder, env = world
    wrong = []
    for row in read_rows():
        if row.see:
            assert os.path.exists(f"{HERE}/{row.see}"), row.command
            continue
        done = run(row, folder, env)
        said = {"out": done.stdout, "err": done.stderr, "none": done.stdout + done.stderr}
        bad = [want for want in row.wants if (want[1] in said[want[0]]) == (want[0] == "none")]
        if done.returncode != row.code or bad:
            wrong.append(f"$ {row.command}\n-> {done.returncode}, not so: {bad}\n"
                         f"{done.stdout[-600:]}{done.stderr[-600:]}")
    assert not wrong, "\n".join(wrong)
