# SPDX-License-Identifier: Apache-2.0
"""Overlay mode: diff, apply, discard, conflicts, and a guest that lies."""
import json
import os
import subprocess

import pytest

from bawn import SMALL, START_SECONDS, wait

FILES = {
    "keep.txt": "kept\n",
    "edit.txt": "".join(f"line {n}\n" for n in range(1, 21)),
    "both.txt": "base\n",
    "gone.txt": "going\n",
    "mode.sh": "#!/bin/sh\n",
    "folder/one": "1\n",
    "folder/two": "2\n",
    ".env": "SECRET=1\n",
    ".envrc": "host\n",
    ".git/config": "[core]\n\thooksPath = tools\n",
    ".vscode/mine": "host\n",
    "tree/.git": "gitdir: elsewhere\n",
}


@pytest.fixture
def project(bawn, tmp_path):
    """A folder with files, and a sandbox in overlay mode on it."""
    top = tmp_path / "project"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
        (top / name).chmod(0o644)
    (top / "binary").write_bytes(bytes(range(256)))
    (top / "link").symlink_to("keep.txt")
    name = "o-" + os.urandom(4).hex()
    bawn("create", "--name", name, *SMALL, "--workspace-mode", "overlay", "--hide",
         ".env", "shell", top, timeout=START_SECONDS)
    return name, top


def inside(bawn, name, top, script):
    return bawn("exec", "-u", "agent", "-w", top, name, "sh", "-ec", script).out


CHANGE = r"""
sed -i 's/^line 3$/line three/' edit.txt
echo guest > both.txt
rm gone.txt
chmod 755 mode.sh
mv folder moved
ln -sfn edit.txt link
printf 'a\0b' > binary
mkdir -p new/deep
printf 'no newline' > new/deep/file
printf 'x' > "$(printf 'odd\033]0;x\007 name')"
echo planted > .env
mkfifo pipe
cat keep.txt >> keep.txt.copy
touch keep.txt
"""


def test_changes_are_shown_applied_and_discarded(bawn, project, tmp_path):
    box, top = project
    before = snapshot(top)
    inside(bawn, box, top, CHANGE)
    assert snapshot(top) == before  # nothing reaches the host by itself

    diff = bawn("diff", box, cwd=top)
    assert snapshot(top) == before
    for part in ["diff --git a/edit.txt b/edit.txt\n--- a/edit.txt\n+++ b/edit.txt\n"
                 "@@ -1,6 +1,6 @@\n line 1\n line 2\n-line 3\n+line three\n",
                 "deleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n",
                 "old mode 100644\nnew mode 100755\n",
                 "Binary files a/binary and b/binary differ\n",
                 "+no newline\n\\ No newline at end of file\n",
                 "-keep.txt\n\\ No newline at end of file\n+edit.txt\n",
                 '"b/odd\\033]0;x\\a name"', "--- a/folder/one\n+++ /dev/null\n",
                 "--- /dev/null\n+++ b/moved/one\n",
                 "# conflict: .env: hidden from the sandbox\n"]:
        assert part in diff.out, (part, diff.out)
    assert "keep.txt\n+++" not in diff.out and "\x1b" not in diff.out
    assert "pipe" not in diff.out
    # git takes it, but for what is binary and for the file that git has not
    plain = tmp_path / "plain"
    subprocess.run(["cp", "-a", top, plain], check=True)
    text = bawn("diff", box, "edit.txt", "gone.txt", "mode.sh", "folder", "moved", "new",
                "link", cwd=top).out
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=plain, check=True,
                   env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    assert (plain / "new/deep/file").read_text() == "no newline"
    assert os.readlink(plain / "link") == "edit.txt" and not (plain / "folder/one").exists()

    listed = {one["path"]: one for one in bawn("diff", "--json", box).json}
    assert listed["mode.sh"]["change"] == "mode"
    assert listed["moved/two"]["change"] == "new" and listed["edit.txt"]["added"] == 1
    assert "gone.txt" in bawn("diff", "--name-only", box).out.splitlines()
    stat = bawn("diff", "--stat", box).out
    assert " edit.txt" in stat and "| 2 +-" in stat and "Bin 256 -> 3 bytes" in stat
    assert bawn.raw("diff", "--exit-code", box).code == 1
    assert bawn("diff", box, "keep.txt", cwd=top).out == ""

    # part of it; what the guest does after diff is not in it (W12)
    inside(bawn, box, top, "echo later >> edit.txt; echo later > after.txt")
    bawn("apply", box, "edit.txt", "moved", cwd=top)
    assert "line three\n" in (top / "edit.txt").read_text()
    assert "later" not in (top / "edit.txt").read_text()
    assert (top / "moved/one").read_text() == "1\n" and (top / "gone.txt").exists()

    # the host goes on as well
    (top / "both.txt").write_text("host\n")
    (top / "folder/three").write_text("3\n")
    done = bawn.raw("apply", "--json", box)
    assert done.code == 1 and "conflict" in done.err, done
    assert sorted(json.loads(done.out)["conflicts"]) == [
        ".env", "both.txt", "folder/three"]
    assert (top / "both.txt").read_text() == "host\n"
    assert (top / ".env").read_text() == "SECRET=1\n"
    assert not (top / "gone.txt").exists() and not (top / "folder/one").exists()
    assert (top / "folder/three").read_text() == "3\n"
    assert os.access(top / "mode.sh", os.X_OK) and os.readlink(top / "link") == "edit.txt"
    assert (top / "binary").read_bytes() == b"a\0b" and not (top / "after.txt").exists()
    owner = os.stat(top)
    assert os.stat(top / "new/deep/file").st_uid == owner.st_uid

    # what was applied is no change any more, also when the host changes it
    (top / "binary").write_bytes(b"host")
    names = bawn("diff", "--name-only", box).out.splitlines()
    assert sorted(names) == [".env", "after.txt", "both.txt", "edit.txt",
                             "folder", "folder/three"]
    assert "# conflict: both.txt: changed on the host" in bawn("diff", box, "both.txt",
                                                                cwd=top).out
    bawn("apply", "-f", box, "both.txt", cwd=top)
    assert (top / "both.txt").read_text() == "guest\n"
    # the guest sees what is below again after the host replaced it
    wait(lambda: "line three" in inside(bawn, box, top, "cat edit.txt 2>/dev/null || true"),
         20, "no stale name")

    # discard: not under somebody's feet, then in part, then all
    sleeper = bawn.popen("exec", "-w", top, box, "sleep", "1000")
    wait(lambda: bawn.running(box, "sleep 1000"), 20, "it runs there")
    done = bawn.raw("discard", "-f", box)
    assert done.code == 1 and "sleep (" in done.err
    sleeper.terminate()
    sleeper.wait()
    wait(lambda: not bawn.running(box, "sleep 1000"), 20, "it is gone")
    assert bawn.raw("discard", box).code == 1  # nobody to ask
    bawn("discard", "-f", box, "after.txt", cwd=top)
    assert inside(bawn, box, top, "ls after.txt 2>&1 || true").startswith("ls:")
    assert "edit.txt" in bawn("diff", "--name-only", box).out
    bawn("discard", "-f", box)
    assert bawn("diff", box).out == ""
    assert inside(bawn, box, top, "cat binary folder/three both.txt") == "host3\nguest\n"


def test_the_overlay_acts_for_its_owner_and_everybody_keeps_their_rights(bawn, project):
    """Also when it was mounted again; and no time of access is kept, as on the disk."""
    box, top = project

    def as_root(script):
        return bawn("exec", "-u", "root", "-w", top, box, "sh", "-ec", script).out

    owner = inside(bawn, box, top, "id -u").strip()
    for _ in range(2):
        inside(bawn, box, top, "rm gone.txt; chmod 0 edit.txt; mkdir read; "
                               "touch -d @1 read; ls read")
        assert as_root("stat -c %X read") == "1\n"
        # the mark for what is gone is the work of who mounted it
        assert as_root("stat -c '%F %u' /var/lib/bawn/overlay/*/upper/gone.txt") == \
            f"character special file {owner}\n"
        as_root("echo root > secret; chmod 600 secret; mkdir -m 700 closed; "
                "echo in > closed/file; cat edit.txt > copy; mv edit.txt closed; "
                "mv folder/one closed; chown 7:7 folder/two; chmod 600 folder/two")
        said = inside(bawn, box, top, "cat secret closed/one folder/two mode.sh 2>&1 || true; "
                                      "echo x >> folder/two || echo refused; "
                                      "chown 0 mode.sh 2>/dev/null || echo refused; "
                                      "stat -c %u secret closed folder/two mode.sh; "
                                      "rm secret && ls")
        assert said.count("ermission denied") == 3 and said.count("refused") == 2, said
        assert f"\n0\n0\n7\n{owner}\n" in said and "#!/bin/sh" in said, said
        assert "secret" not in said.rsplit(f"\n{owner}\n", 1)[1], said
        assert as_root("cat closed/file closed/one folder/two copy").startswith("in\n1\n2\nline 1")
        bawn("discard", "-f", box)
    assert snapshot(top).keys() == {str(top / name) for name in [*FILES, "binary", "link"]}


def snapshot(top):
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            found[path] = (st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns)
    return found


HOLD = r"""
exec 9<keep.txt
cd folder
cat one ../later 2>/dev/null || true
touch /tmp/holds
n=0
while [ ! -e /tmp/replaced ] && [ $n -lt 600 ]; do usleep 50000; n=$((n + 1)); done
cat <&9
cat ../keep.txt ../later one
"""


def test_what_the_host_replaces_is_seen_also_by_who_has_it_open(bawn, project):
    box, top = project
    holder = bawn.popen("exec", "-u", "agent", "-w", top, box, "sh", "-ec", HOLD)
    wait(lambda: bawn.raw("exec", box, "test", "-e", "/tmp/holds").code == 0,
         what="the files are open")
    (top / "new").write_text("replaced\n")
    os.rename(top / "new", top / "keep.txt")
    (top / "later").write_text("came\n")
    os.rename(top / "folder", top / "away")
    (top / "folder").mkdir()
    (top / "folder/one").write_text("another\n")
    bawn("exec", box, "touch", "/tmp/replaced")
    out, _ = holder.communicate(timeout=60)
    assert out.decode() == "1\nreplaced\nreplaced\ncame\nanother\n"


def test_a_guest_that_lies_changes_nothing_outside(bawn, project, tmp_path):
    """W5 and W12: the upper folder is the guest's to fill with anything."""
    box, top = project
    check_what_tools_would_run(bawn, box, top)
    bawn("discard", "-f", box)
    outside = tmp_path / "outside"
    outside.mkdir()
    upper = "/var/lib/bawn/overlay/0/upper"
    bawn.sh(box, f"cd {upper} && ln -s {outside} out && echo x > suid && chmod 6755 suid && "
                 "mknod disk b 8 0 && mkfifo fifo && mkdir d && ln -s ../../outside d/up && "
                 f"mknod keep.txt c 0 0 && chown -R 1000:1000 {upper}")
    bawn("diff", box)
    # a link where the guest's folder is: planted on the host after diff
    bawn.sh(box, f"mkdir {upper}/e && echo pwned > {upper}/e/pwned")
    bawn("diff", box)
    os.symlink(outside, top / "e")
    done = bawn.raw("apply", box)
    assert done.code == 1, done
    assert os.listdir(outside) == [] and (top / "e").is_symlink()
    assert os.stat(top / "suid").st_mode & 0o7777 == 0o755
    assert not (top / "disk").exists() and not (top / "fifo").exists()
    assert not (top / "keep.txt").exists() and os.readlink(top / "d/up") == "../../outside"
    done = bawn.raw("apply", "-f", box)
    assert done.code == 0 and os.listdir(outside) == [], done
    assert (top / "e/pwned").read_text() == "pwned\n" and not (top / "e").is_symlink()


PLANT = r"""
mkdir -p .git/hooks .git/objects/aa sub/.git/hooks sub/.git/refs bare/objects
printf 'x\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit
printf 'x\n' > .git/hooks/post-merge
printf 'x\n' > .git/config; printf 'x\n' > .git/objects/aa/bb
rm .envrc
for f in HEAD config hooks/x refs/r; do printf 'x\n' > sub/.git/$f; done
printf 'x\n' > sub/source; printf 'x\n' > bare/HEAD; printf 'x\n' > bare/config
rm -r .vscode; ln -s sub .vscode
rm tree/.git; mkdir tree/.git; printf 'x\n' > tree/.git/config; printf 'x\n' > tree/.git/index
mkdir tools; echo x > tools/pre-push
echo free > plain
"""
HELD = {".git/hooks/pre-commit", ".git/hooks/post-merge", ".git/config", ".envrc",
        "sub/.git/config", "sub/.git/hooks/x", "bare/HEAD", "bare/config", ".vscode", ".vscode/mine",
        "tree/.git", "tree/.git/config", "tree/.git/index", "tools/pre-push"}


def check_what_tools_would_run(bawn, box, top):
    """Planted files are shown, marked, and applied by name alone."""
    inside(bawn, box, top, PLANT)
    diff = bawn("diff", box)
    for path in HELD:
        assert f"# held: {path}: a tool of the host" in diff.out, (path, diff.out)
    assert "# held: plain" not in diff.out and "unasked" in diff.err
    assert {one["path"] for one in bawn("diff", "--json", box).json if one["held"]} == HELD
    stat = bawn("diff", "--stat", box).out.splitlines()
    assert {line.split()[0] for line in stat if "(held)" in line} == HELD

    # -f is about conflicts; a folder with other things in it names nothing
    for words in [("-f", "--json", box), ("-f", "--json", box, ".git", "sub", ".")]:
        done = bawn.raw("apply", *words, cwd=top)
        assert done.code == 1 and set(json.loads(done.out)["held"]) == HELD, done
        told = [line for line in done.err.splitlines() if "left out" in line]
        assert len(told) == 1 and f"`bawn apply {box} PATH`" in told[0], done.err
        for name in [".envrc", ".git/config", ".git/hooks", "bare/HEAD", "sub/.git/hooks"]:
            assert f" {name} " in told[0].replace(",", " "), told
    assert (top / "plain").read_text() == "free\n" and (top / "sub/source").exists()
    assert (top / "sub/.git/HEAD").exists() and (top / "sub/.git/refs/r").exists()
    assert (top / ".git/objects/aa/bb").exists() and (top / "bare/objects").exists()
    assert (top / ".git/config").read_text() == FILES[".git/config"]
    for gone in ["tools/pre-push", "sub/.git/config", "bare/HEAD", "bare/config",
                 "tree/.git/index"]:
        assert not os.path.lexists(top / gone), gone
    assert os.listdir(top / ".git/hooks") == [] and os.listdir(top / "sub/.git/hooks") == []
    assert (top / ".envrc").read_text() == "host\n"
    assert (top / "tree/.git").read_text() == "gitdir: elsewhere\n"
    assert (top / ".vscode/mine").read_text() == "host\n"

    # by name, as it was shown
    inside(bawn, box, top, "echo later > .git/hooks/pre-commit")
    bawn("apply", box, ".git/hooks", ".envrc", ".vscode", cwd=top)
    assert (top / ".git/hooks/pre-commit").read_text() == "x\n"
    assert os.access(top / ".git/hooks/pre-commit", os.X_OK)
    assert not (top / ".envrc").exists() and os.readlink(top / ".vscode") == "sub"
    done = bawn.raw("apply", box, "tree/.git", cwd=top)
    assert done.code == 1 and " tree/.git/config (" in done.err, done
    assert (top / "tree/.git/index").exists() and not (top / "tree/.git/config").exists()
    bawn("apply", box, "tree/.git/config", cwd=top)
    assert (top / "tree/.git/config").read_text() == "x\n"


def test_files_made_of_nothing_do_not_fill_the_host(bawn, project):
    box, top = project
    inside(bawn, box, top, "truncate -s 8192G huge; truncate -s 32M hole; echo end >> hole")
    done = bawn.raw("diff", box, "--stat", cwd=top, timeout=60)
    assert done.code == 1 and "no room" in done.err and "huge" in done.err, done
    assert len(done.err.splitlines()) == 1
    inside(bawn, box, top, "rm huge")
    assert "hole" in bawn("diff", box, "--stat", cwd=top, timeout=120).out
    kept = os.stat(f"{bawn.folder(box)}/changes/0.tar")
    assert kept.st_size > 32 << 20 and kept.st_blocks * 512 < 4 << 20
    bawn("apply", box, cwd=top)
    with open(top / "hole", "rb") as file:
        assert os.stat(top / "hole").st_size == (32 << 20) + 4
        assert file.seek(32 << 20) and file.read() == b"end\n"


LINK = r"""
import os
open("edit.txt", "a").write("guest\n")
os.link("edit.txt", "folder/again")
os.link("keep.txt", "beside")
os.link(".envrc", "plain")
os.chmod("both.txt", 0o600)
os.setxattr("edit.txt", "user.note", b"guest\x1b")
os.setxattr("folder", "user.a=b%3D", b"=")
os.removexattr("gone.txt", "user.old")
os.setxattr("folder", "user.kind", b"folder")
os.setxattr("mode.sh", "user.both", b"guest")
"""


def attributes(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path)
            if name.startswith("user.")}


def test_attributes_and_names_of_one_file_come_along(bawn, tmp_path):
    top = tmp_path / "project"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
        (top / name).chmod(0o644)
    try:
        os.setxattr(top / "gone.txt", "user.old", b"1")
    except OSError:
        pytest.skip("the file system of the test has no attributes")
    box = "o-" + os.urandom(4).hex()
    # a template with Python; no other tool there sets attributes
    bawn("create", "--name", box, "-m", "512M", "--workspace-mode", "overlay", "shell", top,
         timeout=START_SECONDS)
    bawn("exec", "-u", "agent", "-w", top, box, "python3", "-c", LINK)
    # of others than users none leaves, also when root sets them
    bawn("exec", "-u", "root", "-w", top, box, "python3", "-c",
         'import os; os.setxattr("edit.txt", "trusted.x", b"1")')
    os.setxattr(top / "mode.sh", "user.both", b"host")
    diff = bawn("diff", box, cwd=top).out
    for part in ['# attribute user.note of edit.txt: "guest\\033", was none\n',
                 '# attribute user.old of gone.txt: none, was "1"\n',
                 '# attribute user.kind of folder: "folder", was none\n',
                 '# attribute user.a=b%3D of folder: "=", was none\n',
                 "# one file: folder/again and edit.txt\n",
                 "# one file: beside and keep.txt\n",
                 "# conflict: mode.sh: changed on the host meanwhile\n"]:
        assert part in diff, (part, diff)
    assert "trusted" not in diff and "\x1b" not in diff
    stat = bawn("diff", "--stat", box, cwd=top).out
    for line in stat.splitlines()[:-1]:
        name = line.split()[0]
        assert ("(attributes)" in line) == (name not in ["beside", "both.txt", "plain"]), line
    plain = tmp_path / "plain"
    subprocess.run(["cp", "-a", top, plain], check=True)
    subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=plain, check=True,
                   env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path)})

    # one name, then the others
    bawn("apply", box, "folder/again", cwd=top)
    assert attributes(top / "folder/again") == {"user.note": b"guest\x1b"}
    assert "guest" not in (top / "edit.txt").read_text()
    done = bawn.raw("apply", box, cwd=top)
    assert done.code == 1 and "mode.sh: changed on the host" in done.err, done
    assert attributes(top / "mode.sh") == {"user.both": b"host"}
    assert attributes(top / "gone.txt") == {} and (top / "gone.txt").read_text() == "going\n"
    assert attributes(top / "folder") == {"user.kind": b"folder", "user.a=b%3D": b"="}
    assert os.path.samefile(top / "folder/again", top / "edit.txt")
    assert os.listxattr(top / "edit.txt") == ["user.note"]
    assert os.path.samefile(top / "beside", top / "keep.txt")
    # who edits the one must not edit what a tool runs unasked
    assert (top / "plain").read_text() == "host\n" and os.stat(top / ".envrc").st_nlink == 1
    assert bawn("diff", "--name-only", box, cwd=top).out == "mode.sh\n"


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 8 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    top = tmp_path / "small"
    top.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8M", "tmpfs", top], check=True)
    yield top
    subprocess.run(["umount", "-l", top], check=True)


def test_a_full_or_read_only_disk_gets_nothing_or_whole_files(bawn, small_disk):
    top = small_disk
    for name in ["one", "two", "gone"]:
        (top / name).write_text(name)
    box = "o-" + os.urandom(4).hex()
    bawn("create", "--name", box, *SMALL, "--workspace-mode", "overlay", "shell", top,
         timeout=START_SECONDS)
    inside(bawn, box, top, "for f in one two; do head -c 6000000 /dev/urandom > $f; done; "
                           "mv gone moved; truncate -s 64M hole")
    bawn("diff", "--stat", box, cwd=top)
    before = snapshot(top)
    done = bawn.raw("apply", box, cwd=top)
    assert done.code == 1 and "no room" in done.err and "nothing was applied" in done.err
    assert len(done.err.splitlines()) == 1 and snapshot(top) == before, done.err
    subprocess.run(["mount", "-o", "remount,ro", top], check=True)
    done = bawn.raw("apply", box, "one", cwd=top)
    assert done.code == 1 and "one: Read-only file system" in done.err, done.err
    subprocess.run(["mount", "-o", "remount,rw", top], check=True)
    assert snapshot(top) == before
    # a part fits; a hole takes no room
    bawn("apply", box, "one", "hole", cwd=top)
    assert (top / "one").stat().st_size == 6000000 and (top / "two").read_text() == "two"
    assert (top / "hole").stat().st_size == 64 << 20
    assert bawn.raw("apply", box, cwd=top).code == 1 and (top / "gone").exists()
    subprocess.run(["mount", "-o", "remount,size=20M", top], check=True)
    bawn("apply", box, cwd=top)
    assert (top / "two").stat().st_size == 6000000 and not (top / "gone").exists()
    assert bawn("diff", box, cwd=top).out == ""


def test_a_quota_holds_for_what_is_applied(bawn, tmp_path):
    top = tmp_path / "project"
    top.mkdir()
    (top / "old").write_bytes(os.urandom(400 << 10))
    box = "o-" + os.urandom(4).hex()
    bawn("create", "--name", box, *SMALL, "--workspace-mode", "overlay", "--quota", "1M,6",
         "shell", top, timeout=START_SECONDS)
    # more than that on its own disk
    inside(bawn, box, top, "head -c 1500000 /dev/urandom > large; echo a > a; echo b > b")
    before = snapshot(top)
    done = bawn.raw("apply", "-f", box, cwd=top)
    assert done.code == 1 and "--quota lets the sandbox add 1024 KiB: 0 KiB" in done.err
    assert len(done.err.splitlines()) == 1 and snapshot(top) == before
    bawn("diff", "--stat", box, cwd=top)
    bawn("apply", box, "a", "b", cwd=top)
    # what goes makes room for what comes
    inside(bawn, box, top, "rm old; head -c 1300000 large > part; rm large")
    bawn("diff", "--stat", box, cwd=top)
    bawn("apply", box, cwd=top)
    assert not (top / "old").exists() and (top / "part").stat().st_size == 1300000
    inside(bawn, box, top, "head -c 200000 /dev/urandom > more")
    done = bawn.raw("apply", box, cwd=top)
    assert done.code == 1 and "nothing was applied" in done.err, done.err
    inside(bawn, box, top, "rm more part; for i in 1 2 3 4 5 6; do echo > $i; done")
    done = bawn.raw("apply", box, cwd=top)
    assert done.code == 1 and "6 files: 2 were added" in done.err, done.err
    inside(bawn, box, top, "rm 6 5")
    bawn("apply", box, cwd=top)
    assert sorted(os.listdir(top)) == ["1", "2", "3", "4", "a", "b"]


def test_what_lies_too_deep_is_named_and_the_rest_is_applied(bawn, project):
    box, top = project
    inside(bawn, box, top, "echo y > plain; n=0; "
                           "while [ $n -lt 560 ]; do mkdir d; cd d; n=$((n + 1)); done")
    done = bawn("diff", "--stat", box, cwd=top)
    assert " plain " in done.out and "too deep to be copied" in done.err
    bawn("apply", box, cwd=top)
    assert (top / "plain").read_text() == "y\n" and (top / "d/d/d").is_dir()
    # now that the host has what is deep
    inside(bawn, box, top, "echo z > plain")
    assert bawn("diff", "--name-only", box, cwd=top).out == "plain\n"


FILL = r"""
room() { df -k "$1" | tail -1 | awk '{print $4}'; }
fallocate -l $((($(room /) - 65536) * 1024)) /ballast
echo begun > rest
dd if=/dev/zero bs=64k >> rest
"""


def test_a_guest_whose_disk_is_full_is_looked_at_applied_and_discarded(bawn, project):
    box, top = project
    inside(bawn, box, top, "echo guest >> edit.txt; rm gone.txt")
    done = bawn.raw("exec", "-u", "root", "-w", top, box, "sh", "-c", FILL, timeout=120)
    assert done.code == 1 and "No space left on device" in done.err, done
    # nor is there room for the copy that an edit of the host's file needs
    (top / "large").write_bytes(os.urandom(1 << 20))
    wait(lambda: "large" in inside(bawn, box, top, "ls"), 10, "the guest sees it")
    done = bawn.raw("exec", "-w", top, box, "sh", "-c", "echo x >> large")
    assert done.code != 0 and "No space left on device" in done.err, done
    # nothing of this needs room inside
    names = bawn("diff", "--name-only", box, cwd=top).out.splitlines()
    assert set(names) == {"edit.txt", "gone.txt", "rest"}
    bawn("apply", box, "edit.txt", "gone.txt", cwd=top)
    assert (top / "edit.txt").read_text().endswith("guest\n") and not (top / "gone.txt").exists()
    (top / "keep.txt").write_text("of the host\n")
    assert (top / "large").stat().st_size == 1 << 20 and not (top / "rest").exists()
    bawn("discard", "-f", box, "rest", cwd=top)
    inside(bawn, box, top, "test ! -e rest; echo x >> large; head -c 30000000 /dev/zero > rest")
    bawn("discard", "-f", box, cwd=top)
    inside(bawn, box, top, "test ! -e rest; test $(wc -c < large) = 1048576")
    # and what comes next stands on what the host has now
    inside(bawn, box, top, "echo guest >> keep.txt")
    assert bawn("diff", "--name-only", box, cwd=top).out == "keep.txt\n"
    bawn("apply", box, cwd=top)
    assert (top / "keep.txt").read_text() == "of the host\nguest\n"


def test_only_overlay_mode_has_changes(bawn, shared_box):
    for command in ["diff", "apply", "discard"]:
        done = bawn.raw(command, shared_box)
        assert done.code == 1 and "direct mode" in done.err
        assert len(done.err.splitlines()) == 1
