# SPDX-License-Identifier: Apache-2.0
"""Clone mode: a private clone inside, and commits that come back by git fetch."""
import json
import os
import signal
import subprocess

import pytest

from bawn import BAWN, ROOT, wait

MACHINE = ("-m", "1G")  # as test_template.py: one warm image for both
SYSTEM = os.environ.get("BAWN_TEST_SYSTEM", "/nonexistent")


class Repository:
    """A repository of the host, and its git as a user runs it."""

    def __init__(self, path, environ):
        self.path, self.environ = str(path), environ

    def git(self, *args, check=True, **kwargs):
        identity = ["-c", "user.name=host", "-c", "user.email=host@example.org"]
        done = subprocess.run(["git", *identity, *args], cwd=self.path, env=self.environ,
                              capture_output=True, text=True, errors="replace",
                              timeout=60, stdin=subprocess.DEVNULL, check=False, **kwargs)
        assert not check or done.returncode == 0, f"{args}: {done.stderr}"
        return done

    def write(self, name, text):
        os.makedirs(os.path.dirname(f"{self.path}/{name}"), exist_ok=True)
        with open(f"{self.path}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


@pytest.fixture
def environ(bawn, tmp_path):
    """With git-remote-bawn in PATH: the installed one, or a link."""
    place = os.path.dirname(BAWN)
    if not os.path.exists(f"{place}/git-remote-bawn"):
        place = str(tmp_path / "bin")
        os.mkdir(place)
        os.symlink(BAWN, f"{place}/git-remote-bawn")
    return {**bawn.env, "PATH": f"{place}:{bawn.env['PATH']}"}


@pytest.fixture
def repository(bawn, tmp_path, environ):
    places = (f"{bawn.home}/data", SYSTEM)
    if not any(os.path.isfile(f"{place}/templates/base/disk.ext4") for place in places):
        assert not ROOT, "the base template was built (see base-template.log)"
        pytest.skip("no base template: root made none, and this user cannot")
    path = tmp_path / "project with a space"
    path.mkdir()
    one = Repository(path, environ)
    one.git("init", "-q", "-b", "main")
    one.write("kept", "kept\n")
    one.write("changed", "before\n")
    one.write("deleted", "deleted\n")
    one.write("script", "#!/bin/sh\n")
    one.write(".gitignore", "*.secret\n")
    one.git("add", "-A")
    one.git("commit", "-q", "-m", "first")
    return one


def create(bawn, name, repository, *options):
    return bawn("create", "--name", name, *MACHINE, "--clone", *options, "shell",
                repository.path, timeout=240)


def inside(bawn, name, repository, script):
    return bawn("exec", "-w", repository.path, name, "sh", "-ec", script).out


@pytest.mark.seconds(300)
def test_commits_come_back_and_nothing_else_does(bawn, repository, tmp_path):
    os.chmod(f"{repository.path}/script", 0o755)
    os.symlink("kept", f"{repository.path}/link")
    os.unlink(f"{repository.path}/deleted")
    repository.write("changed", "after\n")
    repository.write("new/-x file", "new\n")
    repository.write("a.secret", "password\n")
    before = repository.git("status", "--porcelain").stdout
    # what is hidden is not carried in: neither as a file nor as a deletion
    repository.write(".env", "password\n")
    repository.write("kept", "hidden\n")
    repository.write(".bawnignore", "/.env\nk*t\n.bawnignore\n")
    name = "clone-box"
    create(bawn, name, repository, "--with-changes")

    for path in (".env", ".bawnignore"):
        os.unlink(f"{repository.path}/{path}")
    repository.git("checkout", "kept")
    # what is inside: the commit, the changes, nothing that git ignores
    assert inside(bawn, name, repository, "git status --porcelain") == before
    assert inside(bawn, name, repository,
                  "id -un; cat changed 'new/-x file'; readlink link; git branch --show-current; "
                  "test ! -e a.secret; test ! -e .git/objects/info/alternates"
                  ) == "agent\nafter\nnew\nkept\nmain\n"
    # the work tree was there for the carrying-in only; the origin is read-only
    assert bawn.sh(name, "ls /run/bawn/changes | wc -l") == "0"
    assert bawn.raw("exec", "-u", "root", name, "sh", "-c",
                    "echo x > /run/bawn/origin/HEAD").code != 0

    # and back
    inside(bawn, name, repository,
           "git config user.name agent; git config user.email agent@example.org;"
           "git checkout -q -b feature; git add -A; git commit -q -m inside; git tag planted;"
           "mkdir -p .git/hooks; echo 'touch /tmp/ran' > .git/hooks/post-checkout")
    done = repository.git("fetch", "sandbox-" + name)
    assert "feature" in done.stderr
    assert repository.git("show", "sandbox-clone-box/feature:changed").stdout == "after\n"
    assert repository.git("status", "--porcelain").stdout == before
    assert repository.git("tag").stdout == ""
    assert repository.git("branch", "--format=%(refname:short)").stdout == "main\n"

    # a newer commit of the host reaches the clone
    repository.git("commit", "-q", "--allow-empty", "-m", "later")
    assert "later" in inside(bawn, name, repository,
                             "git fetch -q origin; git log -1 --format=%s origin/main")

    push = repository.git("push", "sandbox-" + name, "main", check=False)
    assert push.returncode != 0 and "takes no push" in push.stderr
    other_objects(bawn, name, repository, tmp_path)
    hostile(bawn, name, repository)

    bawn("rm", "-f", name)
    assert repository.git("remote").stdout == ""
    # what was fetched is the user's now
    assert repository.git("show", "sandbox-clone-box/feature:changed").stdout == "after\n"


def hostile(bawn, name, repository):
    """A git-upload-pack of the guest's own making."""
    def replace(script):
        bawn("exec", "-i", "-u", "root", name, "sh", "-c",
             "rm -f /usr/bin/git-upload-pack; cat > /usr/bin/git-upload-pack; "
             "chmod 755 /usr/bin/git-upload-pack", input=f"#!/bin/sh\n{script}\n")

    replace(r"printf '\033]0;title\007garbage\n' >&2; printf '\033[31mgarbage'; sleep 1000")
    done = repository.git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "not git's protocol" in done.stderr
    assert "\033" not in done.stderr and "\007" not in done.stderr
    replace(r"printf '0018ERR no\033[31m\033[2J here'")
    done = repository.git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "ERR" not in done.stdout
    assert "no?[31m?[2J here" in done.stderr and "\033" not in done.stderr
    # objects are told by what a pack starts with: git quotes a line of another kind
    replace(r"printf '000b\001a\302\233zz\n'; exec cat > /dev/null")
    done = repository.git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "zz" in done.stderr and "\x9b" not in done.stderr
    plant_names(bawn, name, repository)
    send_without_end(repository, name, replace)
    send_large_objects(repository, name, replace)
    replace("exec sleep 1000")
    with subprocess.Popen(["git", "fetch", "sandbox-" + name], cwd=repository.path,
                          env=repository.environ, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as fetch:
        wait(lambda: bawn.running(name, "sleep 1000"), 30, "the fetch hangs")
        os.killpg(fetch.pid, signal.SIGINT)
        fetch.wait(timeout=10)
    wait(lambda: not bawn.running(name, "sleep 1000"), 30, "its session ends")


ENDLESS = r"""
import struct, sys

def say(line):
    sys.stdout.buffer.write(b"%%04x" %% (len(line) + 4) + line)

words = %r
while words:
    say(b"1" * 40 + b" refs/heads/" + b"x" * 60000 + b"\n")
say(b"1" * 40 + b" refs/heads/x\0side-band-64k agent=x\n")
sys.stdout.buffer.write(b"0000")
sys.stdout.flush()
sys.stdin.buffer.read(1)
say(b"NAK\n")
# many objects, of which the first is a blob of 32 TiB in blocks that are not compressed
say(b"\1PACK\0\0\0\2\0\1\0\0" + b"\xb0" + b"\x80" * 5 + b"\x40" + b"\x78\x01")
while True:
    say(b"\1\0" + struct.pack("<HH", 65000, 65000 ^ 0xffff) + b"x" * 65000)
"""


def unfinished(repository):
    return [one for _, _, names in os.walk(f"{repository.path}/.git/objects") for one in names
            if one.startswith("tmp_")]


def send_without_end(repository, name, replace):
    """Objects for the host's disk, names for git's memory."""
    server = "exec python3 -c '" + ENDLESS + "'"
    replace(server % False)
    assert not unfinished(repository)
    limited = {**repository.environ, "BAWN_FETCH_MAX": "3M"}
    done = Repository(repository.path, limited).git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "more than 3145728 bytes of objects" in done.stderr, done
    wait(lambda: not unfinished(repository), 30, "nothing is left behind")
    limited["BAWN_FETCH_MAX"] = "much"
    done = Repository(repository.path, limited).git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "BAWN_FETCH_MAX is not a size: much" in done.stderr
    replace(server % True)
    done = repository.git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "says too much" in done.stderr, done


LARGE = r"""
import hashlib, struct, sys, zlib

def say(line):
    sys.stdout.buffer.write(b"%%04x" %% (len(line) + 4) + line)

def head(kind, size):
    out, byte, size = b"", kind << 4 | size & 15, size >> 4
    while size:
        out, byte, size = out + bytes([byte | 128]), size & 127, size >> 7
    return out + bytes([byte])

def number(size):
    out = b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size])

kind, size = "%s", 1 << 30
objects, count = b"", 2
if kind == "count":
    count = 60 << 20
elif kind == "commit":
    objects = head(1, size)
else:
    # a copy of the first 65536 bytes is one byte
    delta = number(65536) + number(size) + b"\x80" * (size >> 16)
    first = head(3, 65536) + zlib.compress(bytes(65536))
    objects = first + head(6, len(delta)) + bytes([len(first)]) + zlib.compress(delta)
say(b"1" * 40 + b" refs/heads/x\0side-band-64k ofs-delta agent=x\n")
sys.stdout.buffer.write(b"0000")
sys.stdout.flush()
asked, more = b"", b"x"
while b"done" not in asked and more:
    more = sys.stdin.buffer.read1(65536)
    asked += more
say(b"NAK\n")
pack = b"PACK\0\0\0\2" + struct.pack(">I", count) + objects
say(b"\1" + pack + hashlib.sha1(pack).digest())
sys.stdout.buffer.write(b"0000")
"""


def send_large_objects(repository, name, replace):
    """Some bytes that say how much memory git needs: it asks for that, and has not got it."""
    limited = Repository(repository.path, {**repository.environ, "BAWN_FETCH_MEMORY": "256M"})
    for kind in ("count", "commit", "delta"):
        replace("exec python3 -c '" + LARGE % kind + "'")
        for how in ([], ["-c", "fetch.unpackLimit=1"]):
            done = limited.git(*how, "fetch", "sandbox-" + name, check=False)
            assert done.returncode != 0 and done.stderr.count("Out of memory") == 1, (kind, done)
    limited.environ["BAWN_FETCH_MEMORY"] = "much"
    done = limited.git("fetch", "sandbox-" + name, check=False)
    assert done.returncode != 0 and "BAWN_FETCH_MEMORY is not a size: much" in done.stderr


def other_objects(bawn, name, repository, tmp_path):
    """A repository of the guest's that keeps objects elsewhere, or says that they are the host's."""
    (tmp_path / "other").mkdir()
    other = Repository(tmp_path / "other", repository.environ)
    other.git("init", "-q")
    other.git("commit", "-q", "--allow-empty", "-m", "not shared")
    secret = other.git("rev-parse", "HEAD").stdout.strip()
    inside(bawn, name, repository,
           "git branch elsewhere $(git commit-tree -m moved HEAD^{tree}); mkdir /tmp/moved;"
           "cp -r .git/objects /tmp/moved; rm -rf .git/objects/??; mkdir -p .git/objects/info;"
           f"printf '/tmp/moved/objects\\n{other.path}/.git/objects\\n' "
           "> .git/objects/info/alternates")
    repository.git("fetch", "sandbox-" + name)
    assert repository.git("log", "-1", "--format=%s", f"sandbox-{name}/elsewhere").stdout == "moved\n"
    inside(bawn, name, repository, f"echo {secret} > .git/refs/heads/stolen")
    repository.git("fetch", "sandbox-" + name, check=False)
    assert repository.git("cat-file", "-e", secret, check=False).returncode
    assert not os.path.exists(f"{repository.path}/.git/objects/info/alternates")
    assert repository.git("fsck", "--connectivity-only").returncode == 0
    inside(bawn, name, repository, "rm .git/refs/heads/stolen .git/objects/info/alternates;"
           "cp -r /tmp/moved/objects .git")


def plant_names(bawn, name, repository):
    """Names that lead out of the remote's own; of a commit that the host has, so no pack is needed."""
    commit = repository.git("rev-parse", "HEAD").stdout.strip().encode()
    names = [b"HEAD\0side-band-64k agent=x"] + [b"refs/heads/" + one for one in (
        b"fine", b"../../heads/pwned", b"../../../config", b"/abs", b"a..b", b"x.lock", b".hidden",
        b"esc\033[2J", b"c1\xc2\x9b", b"sp ace", b"@{1}")] + [b"refs/../config", b"refs/tags/t"]
    lines = [b"%s %s\n" % (commit, one) for one in names]
    said = b"".join(b"%04x%s" % (len(line) + 4, line) for line in lines) + b"0000"
    bawn("exec", "-i", "-u", "root", name, "sh", "-c", "cat > /tmp/said; printf '#!/bin/sh\\ncat "
         "/tmp/said; exec cat > /dev/null\\n' > /usr/bin/git-upload-pack", input=said)
    before = set(repository.git("for-each-ref").stdout.splitlines())
    done = repository.git("fetch", "sandbox-" + name, check=False)
    assert "\033" not in done.stderr and "\x9b" not in done.stderr
    new = set(repository.git("for-each-ref").stdout.splitlines()) - before
    assert {line.split("\t")[1] for line in new} == {f"refs/remotes/sandbox-{name}/fine"}


@pytest.mark.seconds(300)
def test_a_worktree_of_a_shallow_repository_can_be_cloned(bawn, repository, tmp_path, environ):
    repository.git("commit", "-q", "--allow-empty", "-m", "second")
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.path}",
                   str(tmp_path / "shallow"))
    shallow = Repository(tmp_path / "shallow", environ)
    shallow.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side", environ)
    side.git("config", "remote.sandbox-side-box.url", "elsewhere")
    done = create(bawn, "side-box", side)
    assert "another remote" in done.err
    assert inside(bawn, "side-box", side,
                  "git branch --show-current; git log --format=%s; git status --porcelain"
                  ) == "side\nsecond\n"
    assert "refs/heads/side" in side.git("ls-remote", "bawn::side-box").stdout
    bawn("rm", "-f", "side-box")
    assert side.git("config", "remote.sandbox-side-box.url").stdout == "elsewhere\n"


@pytest.mark.seconds(300)
def test_submodules_are_cloned_and_their_commits_come_back(bawn, tmp_path, repository, environ):
    def other(name):
        (tmp_path / name).mkdir()
        one = Repository(tmp_path / name, environ)
        one.git("init", "-q", "-b", "main")
        one.write(name + ".txt", name)
        one.git("add", "-A")
        one.git("commit", "-q", "-m", name)
        return one

    add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]
    inner, lib, absent = other("inner"), other("lib"), other("absent")
    lib.git(*add, inner.path, "in/ner")
    lib.git("commit", "-q", "-m", "nested")
    repository.git(*add, "--name", "my lib", lib.path, "libs/lib")
    repository.git(*add, absent.path, "absent")
    repository.git("commit", "-q", "-m", "submodules")
    repository.git("-c", "protocol.file.allow=always", "submodule", "update", "--init",
                   "--recursive")
    repository.git("submodule", "deinit", "-f", "absent")
    subprocess.run(["rm", "-rf", f"{repository.path}/.git/modules/absent"], check=True)
    name = "clone-modules"
    said = create(bawn, name, repository).err
    assert "submodule absent is empty inside" in said and "2 submodules were cloned" in said
    assert inside(bawn, name, repository, "git status --porcelain; cat libs/lib/lib.txt "
                  "libs/lib/in/ner/inner.txt") == "libinner"
    inside(bawn, name, repository,
           "git config --global user.name agent; git config --global user.email a@example.org;"
           "cd libs/lib; echo inside > lib.txt; git commit -q -a -m sub; cd ../..;"
           "git commit -q -a -m above")
    repository.git("-C", "libs/lib", "fetch", f"bawn::{name}:libs/lib")
    assert repository.git("-C", "libs/lib", "show", "FETCH_HEAD:lib.txt").stdout == "inside\n"
    repository.git("fetch", "sandbox-" + name)
    assert "above" in repository.git("log", "-1", f"sandbox-{name}/main").stdout
    for path in ("absent/../../..", "../../etc", "nothing"):
        assert repository.git("fetch", f"bawn::{name}:{path}", check=False).returncode
    bawn("rm", "-f", name)


def test_what_cannot_be_cloned_is_refused_before_anything_is_made(bawn, tmp_path, environ):
    before = bawn.names()
    done = bawn.raw("create", "--clone", "shell", tmp_path)
    assert done.code == 1 and "not the top folder of a git repository" in done.err
    done = bawn.raw("create", "--with-changes", "shell", tmp_path)
    assert done.code == 2 and "goes with --clone" in done.err
    one = Repository(tmp_path, environ)
    one.git("init", "-q")
    done = bawn.raw("create", "-t", "tiny", "-m", "256M", "--cpus", "1", "--clone", "shell",
                    tmp_path, timeout=120)
    assert done.code == 1 and "no git" in done.err
    assert bawn.names() == before
    for name in ("none", "../x", "-x"):
        done = one.git("ls-remote", f"bawn::{name}", check=False)
        assert done.returncode == 128 and "bawn: " in done.stderr


def loop(bawn, repository, agent, *options):
    words = ["loop", "--json", *MACHINE, "--clone", "--agent-command", agent, "-p", "the work",
             *options, "shell", repository.path]
    done = bawn.raw(*words, timeout=240)
    done.events = [json.loads(line) for line in done.out.splitlines()]
    return done


@pytest.mark.seconds(300)
def test_loops_and_attempts_work_in_clones(bawn, repository):
    """Tasks go in and are done there; of two attempts the one with the smaller change stays."""
    name = bawn("loop", "--print-name", "shell", repository.path).out.strip()
    bawn("loop", "--add-task", "A-1: the first", repository.path)
    promise = "echo '<promise>A-1:DONE</promise>'; echo '<promise>COMPLETE</promise>'"
    commit = "git add -A; git -c user.name=a -c user.email=a@b commit -qm work"
    done = loop(bawn, repository, f"seq 5 > made; {commit}; {promise}", "--tasks", "-n", "2",
                "--verify", "grep -q 'x. A-1' .ralph/ralph-tasks.md && test -e made")
    assert done.code == 0, done
    turn = next(event for event in done.events if event["event"] == "turn")
    assert turn["files"] == ["made"] and turn["task"], turn
    assert repository.git("status", "--porcelain").stdout == "?? .ralph/\n"
    repository.git("fetch", "sandbox-" + name)
    assert repository.git("show", f"sandbox-{name}/main:made").stdout == "1\n2\n3\n4\n5\n"

    # both stand on what the loop before has made, and only the second passes with little
    done = loop(bawn, repository, f"seq $((60 / ${{RALPH_LOOP##*-}})) > new; {commit}; {promise}",
                "--attempts", "2", "-n", "1", "--verify", "test -e made && test -s new")
    last = done.events[-1]
    assert done.code == 0 and last["event"] == "winner" and last["attempt"] == 2, done
    assert sorted(one for one in bawn.names() if one.startswith(name)) == [name, name + "-2"]
    repository.git("fetch", f"sandbox-{name}-2")
    assert repository.git("show", f"sandbox-{name}-2/main:new").stdout.count("\n") == 30
    assert f"sandbox-{name}-1" not in repository.git("remote").stdout
