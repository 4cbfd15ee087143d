# SPDX-License-Identifier: Apache-2.0
"""bawn-files alone: what the guard holds back, shows and lets pass

The guest's side is raw FUSE, so that nothing depends on what a kernel or git
would do; the patterns are those that are installed.
"""
import errno
import os
import stat
import struct

import pytest

from fuse_client import FATTR_MODE, ROOT, TOP, Entry, name_of, share

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2


def patterns():
    """data/guard as the CLI passes it on"""
    held, shown = [], []
    with open(os.path.join(TOP, "data/guard"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            kind, pattern = words
            {"held": held, "free": held, "shown": shown}[kind].append(
                "!" + pattern if kind == "free" else pattern)
    return {"held": held, "shown": shown}


def refused(codes, call, *args, **more):
    with pytest.raises(OSError) as caught:
        call(*args, **more)
    assert caught.value.errno in codes, caught.value


class Guarded:
    """A share with a guard, spoken to by paths"""

    def __init__(self, place, **more):
        self.place = place
        self.state = os.path.join(place.outside, "state")
        os.mkdir(self.state, 0o700)
        place.own(self.state)
        place.before.clear()
        self.fd = os.open(self.state, os.O_RDONLY | os.O_DIRECTORY)
        self.more = more
        self.files = place.serve(guard=patterns(), state=self.fd, **more)

    def again(self, **more):
        return self.place.serve(guard=patterns(), state=self.fd, **self.more, **more)

    def node(self, path):
        return self.files.walk(path) if path else ROOT

    def split(self, path):
        folder, _, name = path.rpartition("/")
        return self.node(folder), name

    def mkdirs(self, path):
        node = ROOT
        for name in path.split("/"):
            try:
                node = self.files.lookup(name, node).node
            except OSError:
                node = self.files.mkdir(name, node).node
        return node

    def put(self, path, data, mode=0o644):
        folder, name = self.split(path)
        flags = os.O_CREAT | os.O_TRUNC | os.O_RDWR
        node = self.files.create(name, folder, mode=mode, flags=flags).node
        self.files.write(node, data)
        return node

    def get(self, path):
        return self.files.read(self.node(path))

    def has(self, path):
        try:
            return bool(self.node(path))
        except OSError as failure:
            assert failure.errno == errno.ENOENT, failure
            return False

    def link(self, path, target):
        folder, name = self.split(path)
        self.files.ok("SYMLINK", folder, name_of(name) + name_of(target))

    def unlink(self, path):
        folder, name = self.split(path)
        self.files.ok("UNLINK", folder, name_of(name))

    def rmdir(self, path):
        folder, name = self.split(path)
        self.files.ok("RMDIR", folder, name_of(name))

    def rename(self, old, new, flags=None):
        folder, name = self.split(old)
        to, new_name = self.split(new)
        self.files.rename(name, new_name, folder, to, flags)

    def names(self, path=""):
        plain = set(self.files.readdir(self.node(path))) - {".", ".."}
        plus = set(self.files.readdir(self.node(path), plus=True)) - {".", ".."}
        assert plain == plus
        return plain

    def on_host(self, path):
        return os.path.lexists(self.place.host(path))

    def shown(self):
        try:
            with open(os.path.join(self.state, "shown"), "rb") as file:
                return [entry.partition(b"/")[2].decode() for entry in
                        file.read().split(b"\0") if entry]
        except FileNotFoundError:
            return []


@pytest.fixture
def guarded(place):
    guarded = Guarded(place)
    yield guarded
    os.close(guarded.fd)
    codes = [files.close() for files in place.running]
    assert all(code == 0 for code in codes), codes


HELD = [
    ".git/hooks/pre-commit", ".git/config", ".git/config.worktree", ".git/modules/a/b/config",
    ".git/modules/a/hooks/post-checkout", ".git/worktrees/w/config.worktree",
    ".git/worktrees/w/commondir", ".git/worktrees/w/gitdir", ".git/commondir",
    ".git/info/attributes", ".git/rebase-merge/git-rebase-todo", "sub/dir/.git/hooks/x",
    "bare.git/config", "bare.git/hooks/update", "any/HEAD", "HEAD", "sub/.git", ".envrc",
    "a/b/.envrc", ".vscode/tasks.json", ".vscode/settings.json", ".idea/runConfigurations/x.xml",
    ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/h.sh", ".mcp.json",
    ".cursor/mcp.json", ".gemini/settings.json", ".codex/config.toml", ".kiro/x/y",
    ".bawnignore", ".sandbox/loop.json", "ralph.sh", ".husky/pre-commit",
    ".pre-commit-config.yaml", ".npmrc", ".yarnrc.yml", ".cargo/config.toml", ".gdbinit",
    ".exrc", ".dir-locals.el", "mise.toml", ".gitconfig", ".githooks/pre-push",
    # Other spellings, for file systems that take them for the same.
    ".GIT/config", ".git/Hooks/pre-commit", ".Git/CONFIG", ".git./config", ".git/config.",
    ".git/hooks /x", ".ENVRC", ".vsCode/Tasks.json",
]
FREE = [
    ".git/HEAD", ".git/index", ".git/objects/ab/cdef", ".git/refs/heads/main",
    ".git/refs/heads/config", ".git/refs/heads/hooks/x", ".git/logs/refs/heads/hooks/x",
    ".git/packed-refs", ".git/worktrees/w/HEAD", ".git/COMMIT_EDITMSG", ".gitignore",
    "src/config", "src/hooks/use.ts", "config", "head", ".vscode/other.json", ".claude/agents/a.md",
    "envrc", ".git/info/exclude",
]


def test_held_files_are_the_guests_alone_and_free_ones_are_not(guarded):
    for path in HELD + FREE:
        if "/" in path:
            guarded.mkdirs(path.rpartition("/")[0])
        guarded.put(path, path.encode())
    for path in HELD + FREE:
        assert guarded.get(path) == path.encode()
        assert guarded.on_host(path) == (path in FREE), path
    assert "config" in guarded.names(".git") and "HEAD" in guarded.names(".git")
    assert {".envrc", "HEAD", "ralph.sh"} <= guarded.names()


def test_the_host_keeps_its_version_and_its_edits_are_seen_until_the_guest_has_one(guarded):
    place = guarded.place
    place.folder(".git/hooks")
    place.put(".git/config", "host 1")
    place.put(".git/hooks/pre-commit", "#!/bin/sh\nhost\n", 0o755)
    assert guarded.get(".git/config") == b"host 1"
    node = guarded.node(".git/config")
    place.put(".git/config", "host 2")
    assert guarded.get(".git/config") == b"host 2"
    # The node that the guest's kernel has open stays good.
    assert guarded.files.write(node, b"GUEST", 0) == 5
    assert guarded.files.read(node) == b"GUEST2"
    assert guarded.get(".git/config") == b"GUEST2"
    assert place.get(".git/config") == b"host 2"
    place.put(".git/config", "host 3")
    assert guarded.get(".git/config") == b"GUEST2"
    # Attributes count too: a hook without x is none.
    node = guarded.node(".git/hooks/pre-commit")
    guarded.files.setattr(node, FATTR_MODE, mode=0o600)
    assert stat.S_IMODE(guarded.files.getattr(node).mode) == 0o600
    assert stat.S_IMODE(os.stat(place.host(".git/hooks/pre-commit")).st_mode) == 0o755
    guarded.put(".git/hooks/pre-commit", b"evil", 0o755)
    assert place.get(".git/hooks/pre-commit") == b"#!/bin/sh\nhost\n"


def test_host_changes_of_a_file_that_the_guest_has_its_own_of_are_not_told(guarded):
    place, files = guarded.place, guarded.files
    place.put(".envrc", "host")
    guarded.put(".envrc", b"guest")
    # That it is another file is told once, so that `review` can take it away.
    files.wait_notice(lambda notice: getattr(notice, "name", b"") == b".envrc")
    assert guarded.names() == {".envrc"}
    files.notices = [notice for notice in files.notices
                     if getattr(notice, "name", b"") != b".envrc"]
    place.put(".envrc", "host again")
    os.rename(place.host(".envrc"), place.host(".envrc.old"))
    place.put("free", "x")
    files.wait_notice(lambda notice: getattr(notice, "name", b"").startswith(b"free"))
    assert not [notice for notice in files.notices
                if getattr(notice, "name", b"") == b".envrc"]
    assert guarded.get(".envrc") == b"guest"


def test_removed_for_the_guest_means_kept_for_the_host(guarded):
    place = guarded.place
    place.put(".envrc", "host")
    node = guarded.node(".envrc")
    guarded.unlink(".envrc")
    assert not guarded.has(".envrc") and ".envrc" not in guarded.names()
    assert place.get(".envrc") == b"host"
    # What it still has open is not a way to the host's file either.
    error, _ = guarded.files.call("WRITE", node, struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0)
                                  + b"evil")
    assert error and place.get(".envrc") == b"host"
    guarded.put(".envrc", b"guest")
    assert guarded.get(".envrc") == b"guest" and place.get(".envrc") == b"host"
    guarded.unlink(".envrc")
    assert not guarded.has(".envrc")
    os.unlink(place.host(".envrc"))
    guarded.put(".envrc", b"again")
    guarded.unlink(".envrc")
    assert not guarded.has(".envrc") and not guarded.on_host(".envrc")


def test_a_repository_can_be_removed_and_made_anew(guarded):
    place = guarded.place
    place.folder("repo/.git/hooks")
    place.folder("repo/.git/objects")
    place.put("repo/.git/config", "host")
    place.put("repo/.git/HEAD", "ref: refs/heads/main\n")
    place.put("repo/.git/hooks/pre-commit.sample", "host")
    for path in ("config", "HEAD", "hooks/pre-commit.sample"):
        guarded.unlink("repo/.git/" + path)
    refused({errno.ENOTEMPTY}, guarded.rmdir, "repo/.git")
    guarded.rmdir("repo/.git/hooks")
    guarded.rmdir("repo/.git/objects")
    assert guarded.names("repo/.git") == set()
    guarded.rmdir("repo/.git")
    guarded.rmdir("repo")
    assert not guarded.has("repo") and "repo" not in guarded.names()
    assert place.get("repo/.git/config") == b"host"
    assert place.get("repo/.git/hooks/pre-commit.sample") == b"host"
    assert not guarded.on_host("repo/.git/HEAD") and not guarded.on_host("repo/.git/objects")
    guarded.mkdirs("repo/.git/hooks")
    assert guarded.names("repo/.git") == {"hooks"} and guarded.names("repo/.git/hooks") == set()
    guarded.put("repo/.git/config", b"guest")
    assert guarded.get("repo/.git/config") == b"guest"
    assert place.get("repo/.git/config") == b"host"
    # With nothing of the host's in it a folder really goes.
    guarded.mkdirs("own/.git")
    guarded.put("own/.git/config", b"x")
    refused({errno.ENOTEMPTY}, guarded.rmdir, "own/.git")
    guarded.unlink("own/.git/config")
    guarded.rmdir("own/.git")
    guarded.rmdir("own")
    assert not guarded.on_host("own")
    guarded.mkdirs("own/.git")
    assert guarded.names("own/.git") == set()


def test_renames_carry_files_into_the_shadow_and_out(guarded):
    place = guarded.place
    guarded.mkdirs(".git/hooks")
    # As git does it.
    lock = guarded.put(".git/config.lock", b"[core]\n")
    assert not guarded.on_host(".git/config.lock")
    guarded.rename(".git/config.lock", ".git/config")
    assert not guarded.on_host(".git/config.lock") and not guarded.on_host(".git/config")
    assert guarded.files.read(lock) == b"[core]\n" == guarded.get(".git/config")
    guarded.files.write(lock, b"[CORE]")
    assert guarded.get(".git/config") == b"[CORE]\n" and not guarded.on_host(".git/config")
    # A free name for a hook, made into one at the last moment.
    evil = guarded.put("evil", b"#!/bin/sh\n", 0o755)
    guarded.rename("evil", ".git/hooks/pre-commit")
    guarded.files.write(evil, b"#!/bin/bash\n")
    assert not guarded.on_host(".git/hooks/pre-commit") and not guarded.on_host("evil")
    assert stat.S_IMODE(guarded.files.getattr(evil).mode) == 0o755
    # Within the shadow, and over a version of the host's.
    place.put(".git/hooks/post-merge", "host", 0o755)
    guarded.rename(".git/hooks/pre-commit", ".git/hooks/post-merge")
    assert guarded.get(".git/hooks/post-merge") == b"#!/bin/bash\n"
    assert place.get(".git/hooks/post-merge") == b"host"
    assert guarded.names(".git/hooks") == {"post-merge"}
    # Out: the host sees it under the name that is free.
    guarded.rename(".git/hooks/post-merge", "script")
    assert place.get("script") == b"#!/bin/bash\n"
    assert not guarded.has(".git/hooks/post-merge")
    assert place.get(".git/hooks/post-merge") == b"host"
    # Of the host's own version only the guest loses the name.
    place.put(".envrc", "host")
    guarded.put("notes", b"old")
    refused({errno.EEXIST}, guarded.rename, ".envrc", "notes", RENAME_NOREPLACE)
    guarded.rename(".envrc", "notes")
    assert place.get(".envrc") == b"host" and place.get("notes") == b"host"
    assert not guarded.has(".envrc") and guarded.get("notes") == b"host"
    assert not any(name.startswith(".bawn") for name in os.listdir(place.path))


def test_a_folder_does_not_become_guarded_by_a_rename(guarded):
    place = guarded.place
    for folder in ("evil/hooks", "fine/deep", "vs", "repo/.git", ".git/modules"):
        guarded.mkdirs(folder)
    guarded.put("evil/config", b"evil")
    guarded.put("evil/hooks/pre-commit", b"evil")
    guarded.put("vs/tasks.json", b"evil")
    for old, new in (("evil", "fine/.git"), ("evil", "fine/.GIT"), ("evil", ".git/modules/m"),
                     ("evil/hooks", ".git/hooks"), ("evil/hooks", "repo/.git/hooks"),
                     ("vs", ".vscode"), ("vs", "fine/.husky"), ("evil", "x.git"),
                     ("repo/.git", "repo/git"), (".git/modules", "modules")):
        refused({errno.EXDEV}, guarded.rename, old, new)
        refused({errno.EXDEV}, guarded.rename, old, new, RENAME_NOREPLACE)
        assert guarded.has(old) and not guarded.on_host(new), (old, new)
    refused({errno.EXDEV}, guarded.rename, "evil", "repo/.git", RENAME_EXCHANGE)
    guarded.put("a", b"a")
    guarded.put(".envrc", b"held")
    refused({errno.EXDEV}, guarded.rename, "a", ".envrc", RENAME_EXCHANGE)
    place.put(".gdbinit", "host")
    refused({errno.EXDEV}, guarded.rename, ".gdbinit", "a", RENAME_EXCHANGE)
    # Any other folder moves, and what is held in it comes along.
    guarded.put("repo/.git/config", b"guest")
    guarded.rename("repo", "fine/moved")
    assert guarded.get("fine/moved/.git/config") == b"guest"
    assert guarded.on_host("fine/moved/.git") and not guarded.on_host("fine/moved/.git/config")
    guarded.mkdirs("repo/.git")
    assert guarded.names("repo/.git") == set()


def test_links_in_the_place_of_guarded_folders_are_held(guarded):
    guarded.mkdirs("evil/hooks")
    guarded.mkdirs("sub/.git/modules")
    for path in (".git", ".vscode", ".husky", "sub/.git/hooks", ".claude", "bare.git",
                 "sub/.git/modules/m", ".GIT", "sub/.git/objects", ".envrc"):
        guarded.link(path, "evil")
        assert guarded.files.ok("READLINK", guarded.node(path)) == b"evil"
        assert not guarded.on_host(path), path
    guarded.link("free", "evil")
    guarded.rename("free", ".idea")
    assert not guarded.on_host("free") and not guarded.on_host(".idea")
    assert guarded.files.ok("READLINK", guarded.node(".idea")) == b"evil"
    guarded.rename(".idea", "free")
    assert os.readlink(guarded.place.host("free")) == "evil"
    # A late folder of the host's there does not let the guest through its link.
    guarded.place.folder(".vscode")
    assert stat.S_ISLNK(guarded.files.getattr(guarded.node(".vscode")).mode)


def test_no_hard_link_leads_to_a_held_file_or_from_one(guarded):
    guarded.place.put(".envrc", "host")
    guarded.mkdirs(".git/hooks")
    guarded.put("free", b"x")
    guarded.put(".npmrc", b"own")

    def link(old, new):
        folder, name = guarded.split(new)
        guarded.files.ok("LINK", folder, struct.pack("<Q", guarded.node(old)) + name_of(name))
    for old, new in ((".envrc", "a"), (".npmrc", "a"), ("free", ".git/hooks/pre-commit"),
                     ("free", ".git/config"), (".npmrc", ".gdbinit")):
        refused({errno.EPERM}, link, old, new)
        assert not guarded.on_host(new)
    link("free", "other")
    # One of two names becomes a hook: the other stays what it is, and apart.
    guarded.rename("other", ".git/hooks/pre-commit")
    guarded.put("free", b"changed")
    assert guarded.get(".git/hooks/pre-commit") == b"x"
    assert not guarded.on_host(".git/hooks/pre-commit")


def test_a_file_that_the_host_also_has_under_a_held_name_is_not_written(place):
    place.folder(".git/hooks")
    place.folder("tools")
    place.put("tools/check", "host", mode=0o755)
    os.link(place.host("tools/check"), place.host(".git/hooks/pre-commit"))
    st = os.stat(place.host("tools/check"))
    guard = {**patterns(), "frozen": [[os.major(st.st_dev), os.minor(st.st_dev), st.st_ino]]}
    state = os.path.join(place.outside, "state")
    os.mkdir(state, 0o700)
    place.own(state)
    place.before.clear()
    fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    files = place.serve(guard=guard, state=fd)
    tools = files.walk("tools")
    node = files.lookup("check", tools).node
    assert files.getattr(node).mode & 0o777 == 0o555
    refused({errno.EPERM}, files.write, node, b"evil")
    refused({errno.EPERM}, files.setattr, node, FATTR_MODE, mode=0o777)
    refused({errno.EPERM}, files.create, "check", tools, flags=os.O_CREAT | os.O_TRUNC)
    # By the held name it gets a version of its own, as ever; replaced it is another file.
    hook = files.lookup("pre-commit", files.walk(".git/hooks")).node
    files.write(hook, b"own!")
    assert place.get(".git/hooks/pre-commit") == b"host"
    files.write(files.create("new", tools).node, b"new")
    files.rename("new", "check", tools, tools)
    assert place.get("tools/check") == b"new" and place.get(".git/hooks/pre-commit") == b"host"
    # Its other name is gone: it is a file like any other.
    os.rename(place.host(".git/hooks/pre-commit"), place.host("tools/check"))
    files.write(files.lookup("check", tools).node, b"free")
    assert place.get("tools/check") == b"free"
    os.close(fd)


def test_a_file_that_the_host_moved_is_not_written_by_its_old_name(guarded):
    place = guarded.place
    place.folder(".git/hooks")
    for name in ("pre-commit", "pre-push"):
        place.put(name, "host", 0o755)
        node = guarded.node(name)
        if name == "pre-push":  # open for writing already
            guarded.files.write(node, b"HOST")
        os.rename(place.host(name), place.host(".git/hooks/" + name))
        error, _ = guarded.files.call("WRITE", node, struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0)
                                      + b"evil")
        assert error == errno.ESTALE
        assert place.get(".git/hooks/" + name).lower() == b"host"
    # Nor when a folder on its way was moved: then it is what it has become, a held file.
    place.folder("store/dot")
    place.put("store/dot/config", "host")
    node = guarded.node("store/dot/config")
    guarded.files.write(node, b"HOST")
    os.rename(place.host("store/dot"), place.host("store/.git"))
    guarded.files.write(node, b"evil")
    assert guarded.files.read(node) == b"evil" and place.get("store/.git/config") == b"HOST"
    node = guarded.node("store/.git/config")
    guarded.files.write(node, b"more")
    assert guarded.files.read(node) == b"more" and place.get("store/.git/config") == b"HOST"
    # What the host's git holds ready is not to be added to either.
    place.put(".git/config.lock", "host")
    guarded.files.write(guarded.node(".git/config.lock"), b"evil")
    assert place.get(".git/config.lock") == b"host"


def test_devices_sockets_and_open_flags_do_not_get_around_it(guarded):
    guarded.place.put(".envrc", "host")
    for kind in (stat.S_IFSOCK, stat.S_IFIFO, stat.S_IFCHR):
        for name in (".gdbinit", ".envrc"):
            error, _ = guarded.files.call("MKNOD", ROOT, struct.pack("<IIII", kind | 0o644, 0, 0,
                                                                     0) + name_of(name))
            assert error in (errno.EPERM, errno.EEXIST)
    error, _ = guarded.files.call("CREATE", ROOT, struct.pack(
        "<IIII", os.O_EXCL | os.O_CREAT, 0o600, 0, 0) + name_of(".envrc"))
    assert error == errno.EEXIST
    reply = guarded.files.ok("MKNOD", ROOT, struct.pack("<IIII", stat.S_IFREG | 0o644, 0, 0, 0)
                             + name_of(".gdbinit"))
    assert Entry(reply).node and not guarded.on_host(".gdbinit")
    source = guarded.put("free", b"evil")
    target = guarded.node(".envrc")
    guarded.files.ok("COPY_FILE_RANGE", source,
                     struct.pack("<QQQQQQQ", 0, 0, target, 0, 0, 4, 0))
    assert guarded.place.get(".envrc") == b"host" and guarded.get(".envrc") == b"evil"


def test_shown_files_are_written_through_and_noted_once(guarded):
    place = guarded.place
    place.put("Makefile", "all:\n")
    for _ in range(3):
        guarded.put("Makefile", b"all: evil\n")
    guarded.mkdirs(".github/workflows")
    guarded.put(".github/workflows/ci.yml", b"x")
    guarded.put("notes.txt", b"x")
    guarded.put("tmp", b"{}")
    guarded.rename("tmp", "package.json")
    assert place.get("Makefile") == b"all: evil\n" and place.get("package.json") == b"{}"
    assert guarded.shown() == ["Makefile", ".github/workflows/ci.yml", "package.json"]
    guarded.files = guarded.again()
    guarded.put("Makefile", b"all: again\n")
    guarded.put("setup.py", b"x")
    assert guarded.shown() == ["Makefile", ".github/workflows/ci.yml", "package.json", "setup.py"]


def test_a_successor_finds_the_nodes_of_the_shadow_again(place):
    memory = os.memfd_create("nodes")
    guarded = Guarded(place, memory=memory)
    place.put(".envrc", "host")
    node = guarded.put(".envrc", b"guest")
    guarded.files.socket.close()
    guarded.files.process.wait()
    guarded.files = guarded.again(marker="ab" * 32, start=False)
    guarded.files.socket.sendall(bytes.fromhex("ab" * 32))
    guarded.files.hello(1)
    assert guarded.files.read(node) == b"guest"
    guarded.files.write(node, b"GUEST")
    assert guarded.get(".envrc") == b"GUEST" and place.get(".envrc") == b"host"


def test_the_quota_counts_what_is_in_the_shadow(place):
    guarded = Guarded(place, quota_bytes=256 << 10, quota_inodes=50)
    node = guarded.put(".envrc", b"x")
    with pytest.raises(OSError) as caught:
        for at in range(64):
            guarded.files.write(node, bytes(65536), at * 65536)
    assert caught.value.errno == errno.EDQUOT
    guarded.unlink(".envrc")
    with pytest.raises(OSError) as caught:
        for number in range(100):
            guarded.put(f".envrc.{number}", b"")
    assert caught.value.errno == errno.EDQUOT


def test_the_place_of_a_share_counts(place):
    """A shared .git (of a worktree), and a bare repository as the share itself."""
    for name in ("repo/.git", "bare"):
        os.makedirs(os.path.join(place.outside, name))
    for name in ("objects", "refs"):
        os.mkdir(os.path.join(place.outside, "bare", name))
    with open(os.path.join(place.outside, "bare/HEAD"), "w", encoding="ascii") as file:
        file.write("ref: refs/heads/main\n")
    place.own(place.outside)
    paths = [os.path.join(place.outside, name) for name in ("share", "repo/.git", "bare")]
    guarded = Guarded(place, shares=[share(path) for path in paths])
    for index in (1, 2):
        node = guarded.files.create("config", share=index).node
        guarded.files.write(node, b"evil", share=index)
        hooks = guarded.files.mkdir("hooks", share=index).node
        guarded.files.create("pre-commit", hooks, share=index)
        assert os.listdir(os.path.join(paths[index], "hooks")) == []
        assert not os.path.exists(os.path.join(paths[index], "config"))
        guarded.files.create("index", share=index)
        assert os.path.exists(os.path.join(paths[index], "index"))


def test_a_bare_repository_of_the_host_may_have_any_name(guarded):
    place = guarded.place
    for name in ("store/repo/hooks", "store/repo/objects", "store/repo/refs/heads", "evil/hooks"):
        place.folder(name)
    place.put("store/repo/HEAD", "ref: refs/heads/main\n")
    place.put("store/repo/config", "host")
    # It stays one, whatever the guest takes out of it.
    guarded.unlink("store/repo/HEAD")
    guarded.rmdir("store/repo/objects")
    guarded.put("store/repo/config", b"evil")
    guarded.put("store/repo/hooks/update", b"evil", 0o755)
    guarded.put("store/repo/index", b"free")
    refused({errno.EXDEV}, guarded.rename, "evil/hooks", "store/repo/hooks")
    assert guarded.get("store/repo/config") == b"evil" and place.get("store/repo/config") == b"host"
    assert os.listdir(place.host("store/repo/hooks")) == []
    assert guarded.on_host("store/repo/HEAD") and guarded.on_host("store/repo/index")
    guarded.rename("store", "moved")
    guarded.put("moved/repo/hooks/post-update", b"evil", 0o755)
    assert guarded.get("moved/repo/config") == b"evil"
    assert os.listdir(place.host("moved/repo/hooks")) == []


@pytest.mark.parametrize("where", ["itself", "above"])
def test_a_folder_that_the_host_moves_is_judged_by_its_new_place(guarded, where):
    """Also at the very next request, while it is remembered how it stood."""
    place = guarded.place
    place.folder(".git/modules")
    for turn in range(20):
        place.folder(f"plain{turn}/hooks")
        node = guarded.node(f"plain{turn}/hooks")
        for name in ("a", "b", "c"):
            guarded.files.create(name, node)
        old, new = (f"plain{turn}", f".git/modules/{turn}")
        if where == "itself":
            place.folder(new)
            old, new = old + "/hooks", new + "/hooks"
        os.rename(place.host(old), place.host(new))
        try:
            guarded.files.create("post-commit", node)
        except OSError as failure:
            assert failure.errno == errno.ESTALE, failure
        hooks = f".git/modules/{turn}/hooks"
        assert set(os.listdir(place.host(hooks))) == {"a", "b", "c"}
        guarded.put(hooks + "/update", b"evil", 0o755)
        assert set(os.listdir(place.host(hooks))) == {"a", "b", "c"}


@pytest.mark.parametrize("how", ["renamed", "linked", "replaced", "above"])
def test_a_new_file_that_the_host_moves_is_judged_by_its_new_place(guarded, how):
    """At the very next write, while it is remembered where it was made."""
    place, files = guarded.place, guarded.files
    place.folder(".git/modules")
    for turn in range(20):
        place.folder(f"plain{turn}/hooks")
        folder = guarded.node(f"plain{turn}/hooks")
        node = files.create("update", folder).node
        if turn % 2:
            files.write(node, b"mine")
        old, new = f"plain{turn}/hooks/update", f"plain{turn}/hooks/.envrc"
        if how == "linked":
            os.link(place.host(old), place.host(new))
            os.unlink(place.host(old))
        elif how == "replaced":
            place.put(new, "host")
            os.rename(place.host(old), place.host(f"plain{turn}/kept"))
            os.rename(place.host(new), place.host(old))
            new = old
        elif how == "above":
            new = f".git/modules/{turn}/hooks/update"
            os.rename(place.host(f"plain{turn}"), place.host(f".git/modules/{turn}"))
        else:
            os.rename(place.host(old), place.host(new))
        before = place.get(new)
        for call, body in (("WRITE", struct.pack("<QQIIQII", 0, 0, 4, 0, 0, 0, 0) + b"evil"),
                           ("SETATTR", struct.pack("<IIQQQQQQIIIIIIII", FATTR_MODE, *[0] * 10,
                                                   0o777, *[0] * 4))):
            files.call(call, node, body)
            assert place.get(new) == before
            assert not os.stat(place.host(new)).st_mode & 0o022


@pytest.mark.parametrize("how", ["made", "moved", "linked"])
def test_a_folder_is_a_repository_as_soon_as_the_host_makes_it_one(guarded, how):
    place = guarded.place
    place.put("elsewhere", "ref: refs/heads/main\n")
    for turn in range(20):
        place.folder(f"plain{turn}/hooks")
        folder, hooks = guarded.node(f"plain{turn}"), guarded.node(f"plain{turn}/hooks")
        for name in ("a", "b", "c"):
            guarded.files.create(name, hooks)
        head = place.host(f"plain{turn}/HEAD")
        if how == "made":
            place.put(f"plain{turn}/HEAD", "ref: refs/heads/main\n")
        elif how == "moved":
            place.put("moved", "ref: refs/heads/main\n")
            os.rename(place.host("moved"), head)
        else:
            os.link(place.host("elsewhere"), head)
        guarded.files.create("post-commit", hooks)
        guarded.files.create("config", folder)
        assert set(os.listdir(place.host(f"plain{turn}/hooks"))) == {"a", "b", "c"}
        assert set(os.listdir(place.host(f"plain{turn}"))) == {"HEAD", "hooks"}
        os.unlink(head)
        guarded.files.create("free", hooks)
        assert guarded.on_host(f"plain{turn}/hooks/free")


def test_a_verdict_is_found_again_after_a_flood_of_changes(guarded):
    """More events than are read at once, or than the queue takes."""
    place = guarded.place
    place.folder("plain/hooks")
    place.folder("noise")
    hooks = guarded.node("plain/hooks")
    guarded.node("noise")
    for count in (300, 18000):
        for name in ("a", "b", "c"):
            guarded.files.create(name + str(count), hooks)
        before = set(os.listdir(place.host("plain/hooks")))
        for number in range(count // 2):
            os.mkdir(place.host(f"noise/{number}"))
            os.rmdir(place.host(f"noise/{number}"))
        place.put("plain/HEAD", "ref: refs/heads/main\n")
        guarded.files.create("post-commit", hooks)
        assert set(os.listdir(place.host("plain/hooks"))) == before
        os.unlink(place.host("plain/HEAD"))


def test_many_own_names_are_listed_in_parts(guarded):
    guarded.mkdirs(".husky")
    guarded.place.put(".husky/host", "x")
    names = {f"hook-{number:03}-{'x' * 60}" for number in range(200)}
    for name in names:
        guarded.put(f".husky/{name}", b"")
    assert guarded.names(".husky") == names | {"host"}
    assert os.listdir(guarded.place.host(".husky")) == ["host"]
