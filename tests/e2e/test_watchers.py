# SPDX-License-Identifier: Apache-2.0
"""Programs that people leave running see an edit on the host within a second

The real ones: inotifywait and watchman from Debian, Vite, webpack and jest from the npm
registry. Installing them and starting them under emulation takes minutes.
"""
import glob
import json
import os
import shutil
import subprocess
import time

import pytest

from bawn import SOAK, wait
from test_watch import Lines, put

pytestmark = pytest.mark.skipif(
    not SOAK, reason="minutes of npm and emulation: make soak runs it")
SECONDS = 1.0
PACKAGES = ("inotify-tools", "libinotifytools0", "watchman", "libpcre3")
MODULES = ("vite@5", "webpack@5", "webpack-cli@5", "jest@29")

PAGE = "<!doctype html><script type=module src=/main.js></script>"
WEBPACK = ("module.exports = {mode: 'development', entry: './main.js',"
           " output: {path: __dirname + '/dist'}}")
JEST = "const word = require('./word'); test('word', () => expect(word).toBe('old'))"
# Prints each message of Vite's own channel to browsers.
HOT = """
const {WebSocket} = require('ws')
const socket = new WebSocket('ws://localhost:5173', 'vite-hmr')
socket.on('message', text => console.log(JSON.parse(text).type))
"""


def programs(folder):
    """Debian's programs, unpacked: a guest has them without an installation."""
    subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root",
                    *PACKAGES], cwd=folder, check=True, timeout=120)
    for package in glob.glob(f"{folder}/*.deb"):
        subprocess.run(["dpkg", "-x", package, f"{folder}/root"], check=True, timeout=60)


def modules(folder):
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent",
                           *MODULES, "ws@8"], cwd=folder, timeout=300, check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    folder = str(tmp_path_factory.mktemp("watchers"))
    programs(folder)
    modules(folder)
    put(f"{folder}/index.html", PAGE)
    put(f"{folder}/main.js", "console.log('old')\n")
    put(f"{folder}/webpack.config.js", WEBPACK)
    put(f"{folder}/word.js", "module.exports = 'old'\n")
    put(f"{folder}/word.test.js", JEST)
    return folder


@pytest.fixture(scope="module", params=["direct", "overlay"])
def box(session, project, request):
    name = f"t-watchers-{request.param}"
    session("create", "--name", name, "-m", "2G", "--workspace-mode", request.param, "shell",
            project, timeout=240)
    yield name, project, request.param
    session.raw("rm", "-f", name)


@pytest.fixture
def lines(session, box):
    started = []

    def start(script):
        libs = ":".join(f"{box[1]}/root/{place}/x86_64-linux-gnu" for place in ("lib", "usr/lib"))
        started.append(Lines(session.popen(
            "exec", "-e", f"LD_LIBRARY_PATH={libs}", "-e", "CI=", box[0], "bash", "-c",
            f"cd {box[1]} && {script}")))
        return started[-1]
    yield start
    for each in started:
        each.close()


def seen_after(lines, word, change, limit=SECONDS):
    """Seconds from the change to the first line with this word."""
    lines.take()
    begin = time.monotonic()
    change()
    wait(lambda: any(word in line for _, line in lines.lines), 60,
         f"{word} among {[line for _, line in lines.lines]}")
    at = next(at for at, line in lines.lines if word in line)
    assert at - begin < limit, f"{at - begin:.2f} s until {word}"


def printed(lines, word, seconds=120):
    wait(lambda: any(word in line for _, line in lines.lines), seconds,
         f"{word} among {[line for _, line in lines.lines][-20:]}")


@pytest.mark.seconds(400)
def test_inotifywait(box, lines):
    folder = box[1]
    seen = lines("echo begins; exec root/usr/bin/inotifywait -m -q --format '%e %f' . 2>&1")
    printed(seen, "begins")
    seen.take()
    # It says nothing when it has begun: the first edit is repeated until it is seen.
    wait(lambda: put(f"{folder}/first", "x") or seen.lines, 30, "the first event")
    event = "CLOSE_WRITE,CLOSE" if box[2] == "direct" else "ATTRIB"
    seen_after(seen, f"{event} noted", lambda: put(f"{folder}/noted", box[2]))


@pytest.mark.seconds(400)
def test_watchman(box, session, lines):
    folder = box[1]
    os.makedirs(f"{folder}/src", exist_ok=True)
    put(f"{folder}/src/one.c", "1")
    man = "root/usr/bin/watchman --statefile=/tmp/wm.state -U /tmp/wm.sock --logfile=/tmp/wm.log"
    order = json.dumps(["subscribe", f"{folder}/src", "all", {"fields": ["name"]}])
    seen = lines(f"{man} watch src && echo '{order}' | {man} -p --server-encoding=json -j 2>&1")
    printed(seen, "one.c")
    seen_after(seen, "two.c", lambda: put(f"{folder}/src/two.c", box[2]))


@pytest.mark.seconds(400)
def test_vite_tells_the_browser(box, lines):
    folder = box[1]
    server = lines("exec node_modules/.bin/vite --port 5173 --strictPort 2>&1")
    printed(server, "ready in")
    # Vite watches what was asked for.
    put(f"{folder}/hot.cjs", HOT)
    page = lines("curl -s localhost:5173/ localhost:5173/main.js && exec node hot.cjs 2>&1")
    printed(page, "connected")
    seen_after(page, "full-reload", lambda: put(f"{folder}/main.js", f"console.log('new in {box[2]}')\n"))


@pytest.mark.seconds(400)
def test_webpack_builds_again(box, session, lines):
    name, folder, mode = box
    seen = lines("exec node_modules/.bin/webpack --watch 2>&1")
    printed(seen, "compiled")
    put(f"{folder}/main.js", f"console.log('fresh in {mode}')\n")
    # The event takes a second at most, webpack under emulation takes its time.
    if mode == "direct":
        wait(lambda: "fresh" in open(f"{folder}/dist/main.js", encoding="utf-8").read(), 30,
             "the new bundle on the host")
    else:
        wait(lambda: session.raw("exec", name, "grep", "-q", f"fresh in {mode}",
                                 f"{folder}/dist/main.js").code == 0, 30, "the new bundle")


@pytest.mark.seconds(400)
def test_jest_runs_again(box, lines):
    folder = box[1]
    put(f"{folder}/word.js", "module.exports = 'old'\n")
    seen = lines("script -qec 'node_modules/.bin/jest --watchAll' /dev/null")
    printed(seen, "1 passed")
    # It counts while it still runs, and overlooks what changes until it says how it is used.
    printed(seen, "Watch Usage")
    seen.take()
    put(f"{folder}/word.js", f"module.exports = 'new in {box[2]}'\n")
    printed(seen, "1 failed", 60)
