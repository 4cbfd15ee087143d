# SPDX-License-Identifier: Apache-2.0
"""conftest.py - folders, limits and clean-up for every end-to-end case

One BAWN_HOME serves the whole run, so that kernels and warm images are made
once. A case that breaks things takes `lone`, a home of its own that borrows the
kernel cache. Every case has a wall-clock limit, and whatever it left running is
removed after it.
"""
import os
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from agent_world import agent_host, agent_net  # noqa: E402,F401 pylint: disable=unused-import
from bawn import Bawn, Screen, ROOT, kill, wait  # noqa: E402

WORK = os.environ.get("BAWN_TEST_WORK", "/tmp/bawn-e2e")
CASE_SECONDS = 180
# What differs for root and for a user: both suites have it.
BOTH = {"test_confinement", "test_host"}
# The other files are shared out so that the suites take about the same time. What needs the
# base template in namespaces of the case's own is not a user's: the template is root's.
SHARES = {
    "gate": {"test_clients", "test_crash", "test_gate", "test_gate_guest", "test_git",
             "test_https", "test_network", "test_policy_files", "test_secrets", "test_vendor"},
    "user": {"test_attacks", "test_clone", "test_commands", "test_cp", "test_exec",
             "test_expected", "test_files_restart", "test_guard", "test_loop", "test_mcp",
             "test_names", "test_overlay", "test_policy", "test_power_loss", "test_shares",
             "test_start", "test_terminal", "test_undo", "test_watch",
             "test_workspace_posix"},
}


def pytest_configure(config):
    config.addinivalue_line("markers", "seconds(n): wall-clock limit of a case")
    config.addinivalue_line("markers", "both: run as root and as a user")
    os.makedirs(WORK, exist_ok=True)


def share_of(item):
    name = item.module.__name__
    return next((share for share, names in SHARES.items() if name in names), "root")


def in_this_suite(item, suite):
    """A file goes to one suite as a whole, for its cases may build on each other."""
    share = share_of(item)
    if suite in ("", share):
        return True
    marks = {mark.name for mark in item.iter_markers()} | set(item.fixturenames)
    differs = item.module.__name__ in BOTH or "both" in marks
    return suite != "gate" and (differs or share == "user" and "as_root" in marks)


def pytest_collection_modifyitems(config, items):
    """The suites run beside each other: what all would show is tried once."""
    suite = os.environ.get("BAWN_TEST_SHARE", "")
    kept = [item for item in items if in_this_suite(item, suite)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """The limit covers fixtures too: a hanging start is a failure, not a hang."""
    marker = item.get_closest_marker("seconds")
    seconds = marker.args[0] if marker else CASE_SECONDS

    def late(_number, _frame):
        raise AssertionError(f"longer than {seconds} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.failed_call = outcome.get_result().failed


@pytest.fixture(scope="session")
def session():
    home = f"{WORK}/bawn-home"
    workspace = f"{WORK}/project"
    os.makedirs(home, mode=0o700, exist_ok=True)
    os.makedirs(workspace, exist_ok=True)
    bawn = Bawn(home, workspace)
    yield bawn
    for pid in bawn.processes():
        kill(pid)


@pytest.fixture
def bawn(session, request):
    """The shared home; sandboxes that the case made are removed afterwards."""
    before = set(session.names())
    yield session
    made = set(session.names()) - before
    if made:
        if getattr(request.node, "failed_call", False):
            keep_logs(session, made, request.node.name)
        session.raw("rm", "-f", *made)


def lone_home(session, folder, borrowed=("cache", "data")):
    """A home with what the shared one has made (links: a copy would be distrusted)."""
    home, project = f"{folder}/home", f"{folder}/project"
    os.makedirs(home, mode=0o700)
    os.makedirs(project)
    for name in borrowed:
        if os.path.isdir(f"{session.home}/{name}"):
            subprocess.run(["cp", "-al", f"{session.home}/{name}", home], check=True)
    bawn = Bawn(home, project)
    yield bawn
    for pid in bawn.processes():
        kill(pid)
    wait(lambda: not bawn.processes(), 5, "no process is left")
    shutil.rmtree(folder, ignore_errors=True)


def with_logs(request, homes):
    for bawn in homes:
        yield bawn
        if getattr(request.node, "failed_call", False):
            keep_logs(bawn, bawn.raw("ls", "-q").out.split(), request.node.name)


@pytest.fixture
def lone(session, tmp_path, request):
    """A home of its own, for a case that breaks things, but no warm image."""
    yield from with_logs(request, lone_home(session, tmp_path))


@pytest.fixture
def bare(session, tmp_path, request):
    """A home without a warm image, which the case makes, breaks or removes."""
    yield from with_logs(request, lone_home(session, tmp_path, ["cache"]))


def keep_logs(bawn, names, case):
    kept = f"{WORK}/failed/{case}"
    os.makedirs(kept, exist_ok=True)
    for name in names:
        for log in ("machine/supervisor.log", "machine/console.log", "machine/state.json",
                    "sandbox.json"):
            try:
                shutil.copy(f"{bawn.folder(name)}/{log}", f"{kept}/{name}.{os.path.basename(log)}")
            except OSError:
                pass


@pytest.fixture
def box(bawn):
    """A running sandbox on the tiny template."""
    return bawn.create()


@pytest.fixture(scope="module")
def shared_box(session):
    """One running sandbox for all cases of a file that do not harm it."""
    name = session.create()
    yield name
    session.raw("rm", "-f", name)


@pytest.fixture
def screen(bawn):
    screens = []

    def make(cols=80, rows=24, of=None):
        of = of or bawn
        screens.append(Screen(WORK, of.env, of.workspace, cols, rows))
        return screens[-1]
    yield make
    for one in screens:
        one.close()


@pytest.fixture
def as_root():
    if not ROOT:
        pytest.skip("needs root")
