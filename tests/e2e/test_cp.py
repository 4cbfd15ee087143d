# SPDX-License-Identifier: Apache-2.0
"""cp: both ways, the rules of destinations, pipes, and what must not happen."""
import hashlib
import io
import os
import signal
import tarfile

import pytest

from bawn import START_SECONDS, wait


@pytest.fixture
def tree(tmp_path):
    """A small tree with everything that is copied."""
    top = tmp_path / "tree"
    (top / "deep" / "er").mkdir(parents=True)
    (top / "empty").mkdir(mode=0o750)
    (top / "deep" / "er" / "big").write_bytes(os.urandom(3_000_000))
    (top / "deep" / "odd \u00e4 name").write_text("text")
    (top / "run.sh").write_text("#!/bin/sh\n")
    (top / "run.sh").chmod(0o755)
    (top / "sparse").write_bytes(b"")
    os.truncate(top / "sparse", 5_000_000)
    (top / "link").symlink_to("/etc/passwd")
    os.link(top / "run.sh", top / "again.sh")
    os.utime(top / "run.sh", ns=(1_500_000_000_123_456_789,) * 2)
    return top


def facts(top):
    """Everything about a tree that a copy keeps."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else None
            if what is None and os.path.isfile(path):
                with open(path, "rb") as file:
                    what = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(path, top)] = (st.st_mode, what, st.st_mtime_ns)
    return found


def test_a_tree_goes_in_and_comes_back_as_it_was(bawn, shared_box, tree, tmp_path):
    bawn("cp", tree, f"{shared_box}:/home/agent/in")
    assert bawn.sh(shared_box, "stat -c '%U %a' /home/agent/in/run.sh") == "agent 755"
    assert bawn.sh(shared_box, "readlink /home/agent/in/link") == "/etc/passwd"
    bawn("cp", f"{shared_box}:/home/agent/in", tmp_path / "out")
    assert facts(tmp_path / "out") == facts(tree)
    out = tmp_path / "out"
    assert os.stat(out / "run.sh").st_ino == os.stat(out / "again.sh").st_ino
    assert os.stat(out / "sparse").st_blocks < 1000


def test_what_is_there_decides_where_a_copy_goes(bawn, shared_box, tree, tmp_path):
    box = shared_box
    bawn.sh(box, "rm -rf /tmp/d && mkdir /tmp/d && echo old > /tmp/file && chown 7 /tmp/d")
    bawn("cp", tree / "run.sh", f"{box}:/tmp/d")            # into the folder
    bawn("cp", tree / "run.sh", f"{box}:/tmp/d/new")        # under a new name
    bawn("cp", tree / "run.sh", f"{box}:/tmp/file")         # over a file
    bawn("cp", tree, f"{box}:/tmp/d")                       # as a folder in it
    bawn("cp", f"{tree}/.", f"{box}:/tmp/d/content")        # what is in it
    assert bawn.sh(box, "cd /tmp/d && stat -c %u run.sh new && cat /tmp/file && "
                        "ls tree/deep content/deep && stat -c %U /tmp/file") == (
        "7\n7\n#!/bin/sh\ncontent/deep:\ner\nodd \u00e4 name\n\n"
        "tree/deep:\ner\nodd \u00e4 name\nagent")
    for source, target, why in [
            (tree, f"{box}:/tmp/file", "Not a directory"),
            (tree / "run.sh", f"{box}:/tmp/missing/", "No such file"),
            (tree / "run.sh", f"{box}:/tmp/missing/x", "No such file"),
            (tree / "nothing", f"{box}:/tmp", "nothing"),
            (f"{box}:/no/such", tmp_path, "/no/such"),
            (f"{box}:/nonexist", tmp_path, ": /nonexist: ")]:
        done = bawn.raw("cp", source, target)
        assert done.code == 1 and why in done.err, done
        assert len(done.err.splitlines()) == 1, done
    done = bawn.raw("cp", tree, tmp_path / "x")
    assert done.code == 2 and "NAME:PATH" in done.err
    assert bawn.raw("cp", tree, "no-such-box:/tmp").code == 1
    assert bawn.raw("cp", f"{box}:", tmp_path).code == 2


def test_pipes_carry_tar_archives(bawn, shared_box, tree):
    done = bawn("cp", f"{shared_box}:/etc/passwd", "-", input=b"")
    with tarfile.open(fileobj=io.BytesIO(done.out)) as archive:
        assert archive.getnames() == ["passwd"]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(tree, "x" * 120 + "/tree")
    bawn.sh(shared_box, "rm -rf /tmp/p && mkdir /tmp/p")
    bawn("cp", "-", f"{shared_box}:/tmp/p", input=packed.getvalue())
    assert bawn.sh(shared_box, "cat /tmp/p/x*/tree/deep/odd*") == "text"
    cut = packed.getvalue()[:1_000_000]
    done = bawn.raw("cp", "-", f"{shared_box}:/tmp/p", input=cut)
    assert done.code == 1 and b"cut off" in done.err
    done = bawn.raw("cp", "-", f"{shared_box}:/tmp/p", input=b"no tar" * 1000)
    assert done.code == 1 and b"not a tar" in done.err
    assert bawn.sh(shared_box, "find /tmp/p -name '.bawn*'") == ""


def test_hostile_archives_write_nothing_outside(bawn, shared_box):
    """W5, from the host's side: the same reader serves both directions."""
    def archive(*entries):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, kind, target in entries:
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.mode = kind, target, 0o6777
                tar.addfile(info)
        return packed.getvalue()
    bawn.sh(shared_box, "rm -rf /tmp/w /tmp/pwned && mkdir /tmp/w && ln -s /tmp /tmp/w/up")
    for entries in [
            [("../pwned", tarfile.REGTYPE, "")],
            [("/tmp/pwned", tarfile.REGTYPE, "")],
            [("up/pwned", tarfile.REGTYPE, "")],
            [("l", tarfile.SYMTYPE, "/tmp"), ("l/pwned", tarfile.REGTYPE, "")],
            [("h", tarfile.LNKTYPE, "../../etc/shadow")],
            [("h", tarfile.LNKTYPE, "up/x")],
            [("dev", tarfile.CHRTYPE, "")],
            [("fifo", tarfile.FIFOTYPE, "")]]:
        done = bawn.raw("cp", "-", f"{shared_box}:/tmp/w", input=archive(*entries))
        assert done.code == 1, (entries, done)
    bawn("cp", "-", f"{shared_box}:/tmp/w",
         input=archive(("suid", tarfile.REGTYPE, "")))
    assert bawn.sh(shared_box, "stat -c %a /tmp/w/suid; ls -d /tmp/pwned || ls /tmp/w") == (
        "777\nl\nsuid\nup")


def test_a_hostile_guest_writes_nothing_outside_the_destination(
        bawn, box, tmp_path):
    """The tool in the guest is replaced by one that lies."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, target in [("d", tarfile.DIRTYPE, ""),
                                   ("d/\x1b]0;owned\x07", tarfile.SYMTYPE, ".."),
                                   ("d/l", tarfile.SYMTYPE, str(tmp_path)),
                                   ("d/l/pwned", tarfile.REGTYPE, "")]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    bawn("stop", "--power-off", box)  # cp starts it
    bawn("cp", "-", f"{box}:/", input=archive_of("lie.tar", packed.getvalue()),
         timeout=START_SECONDS)
    script = b"#!/bin/sh\nprintf 'a\\033[2Jb\\n' >&2\nexec cat /lie.tar\n"
    bawn("cp", "-", f"{box}:/", input=archive_of("lie.sh", script, 0o755))
    # what /proc/1/exe names in a session is the guest's to choose
    bawn.sh(box, "mkdir -p /lie/1 && ln -s /lie.sh /lie/1/exe && "
                 "mount --bind /lie /proc && ls -l /proc/1/exe")
    target = tmp_path / "target"
    target.mkdir()
    done = bawn.raw("cp", f"{box}:/x", target)
    assert done.code == 1 and "symbolic link" in done.err, done
    assert "\x1b" not in done.err
    assert sorted(os.listdir(tmp_path)) == ["target"]


def archive_of(name, content, mode=0o644):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), mode
        tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def test_links_in_a_shared_folder_do_not_lead_out(bawn, shared_box, tmp_path):
    """P7: the sandbox plants a link where the user copies to or from."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    planted = f"{bawn.workspace}/planted-{os.getpid()}"
    os.symlink(outside, planted)
    try:
        done = bawn.raw("cp", f"{shared_box}:/etc/passwd", f"{planted}/")
        assert done.code == 1 and "symbolic link" in done.err
        name = os.path.basename(planted)
        done = bawn.raw("cp", f"{shared_box}:/etc/passwd", f"./{name}/x")
        assert done.code == 1
        done = bawn.raw("cp", f"{name}/secret", f"{shared_box}:/tmp")
        assert done.code == 1
        assert os.listdir(outside) == ["secret"]
        bawn("cp", f"{shared_box}:/etc/passwd", f"../up-{os.getpid()}")
        os.unlink(f"{bawn.workspace}/../up-{os.getpid()}")
    finally:
        os.unlink(planted)


def test_an_interrupted_copy_leaves_no_half_file(bawn, shared_box, tmp_path):
    box = shared_box
    bawn.sh(box, "rm -rf /tmp/i; mkdir /tmp/i; truncate -s 4G /tmp/large")
    out = bawn.popen("cp", f"{box}:/tmp/large", tmp_path)
    wait(lambda: bawn.running(box, "tar-out"), 20, "it copies")
    out.send_signal(signal.SIGINT)
    assert out.wait(30) == 130
    assert os.listdir(tmp_path) == []
    # nobody reads what it writes
    out = bawn.popen("cp", f"{box}:/tmp/large", "-")
    assert out.stdout.read(1)
    out.send_signal(signal.SIGINT)
    assert out.wait(30) == 130
    out.communicate()
    source = bawn.popen("cp", "-", f"{box}:/tmp/i", stdin=-1)
    source.stdin.write(archive_of("half", b"x" * 3_000_000)[:2_000_000])
    source.stdin.flush()
    wait(lambda: bawn.running(box, "tar-in"), 20, "it copies")
    source.kill()
    source.communicate()
    wait(lambda: not bawn.running(box, "tar-in"), 20, "the tool has ended")
    assert bawn.sh(box, "ls -A /tmp/i; rm /tmp/large") == ""
