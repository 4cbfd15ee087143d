# SPDX-License-Identifier: Apache-2.0
"""bawn-files behind a real kernel: what programs do, on this machine's /dev/fuse"""
import errno
import fcntl
import hashlib
import mmap
import os
import shutil
import stat
import subprocess
import time

import pytest

from fuse_client import BINARY, share
from fuse_mount import Mount

SYNC = os.path.join(os.path.dirname(BINARY), "../../tests/component/sync_alone")
USER = 61234  # owns the share; shown as uid 1000


@pytest.fixture
def mount(tmp_path):
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("needs root and /dev/fuse")
    host, inside = tmp_path / "host", tmp_path / "inside"
    host.mkdir()
    inside.mkdir()
    os.chown(host, USER, USER)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)
    try:
        mounted = Mount([share(host)], str(inside))
    except PermissionError:
        pytest.skip("may not mount here")
    mounted.host, mounted.inside = str(host), str(inside)
    yield mounted
    mounted.close()


def run(mount, script, **more):
    """A shell in the mounted share, as the user that the owner is shown as"""
    return subprocess.run(["/bin/sh", "-eu", "-c", script], cwd=mount.inside, user=1000,
                          group=1000, extra_groups=[], check=True, timeout=120,
                          stdout=subprocess.PIPE, text=True,
                          env={"PATH": "/usr/bin:/bin", "HOME": mount.inside}, **more).stdout


def wait_for(condition, seconds=2):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_files_links_and_owners(mount):
    run(mount, """
        echo one > a; echo two >> a; ln a b; ln -s a c; mkdir -p d/e; mv a d/e/; chmod 700 d
        test "$(cat c 2>/dev/null)" = ""; test "$(cat b)" = "one
two"; test "$(stat -c %u:%g b)" = 1000:1000; rm b; rmdir d 2>/dev/null && exit 1
        : > x; chmod 0 x; chmod 644 x; touch -d @5.5 x; test "$(stat -c %.2Y x)" = 5.50
    """)
    st = os.stat(f"{mount.host}/d/e/a")
    assert (st.st_uid, st.st_gid) == (USER, USER)
    assert stat.S_IMODE(os.stat(f"{mount.host}/d").st_mode) == 0o700


def test_git_from_init_to_gc(mount):
    if not shutil.which("git"):
        pytest.skip("no git")
    out = run(mount, """
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git init -q . ; for i in 1 2 3 4 5 6 7 8; do mkdir -p d$i; echo $i > d$i/f; done
        git add . ; git commit -qm one; echo x >> d1/f; git commit -qam two
        git checkout -q -b side HEAD~1; git rm -q d2/f; git commit -qm three
        git merge -q -m m master 2>/dev/null || git merge -q -m m main
        git gc -q; git fsck --strict 2>&1; git status --porcelain; git log --oneline | wc -l
    """)
    assert out.strip().endswith("4")
    subprocess.run(["git", "-c", "safe.directory=*", "-C", mount.host, "fsck", "--strict"],
                   check=True, capture_output=True)


def test_tar_and_back_again(mount, tmp_path):
    tree = tmp_path / "tree"
    for i in range(20):
        (tree / f"d{i}").mkdir(parents=True)
        for j in range(20):
            (tree / f"d{i}" / f"f{j}").write_bytes(os.urandom(i * j * 37))
    subprocess.run(["tar", "cf", str(tmp_path / "t.tar"), "-C", str(tree), "."], check=True)
    with open(tmp_path / "t.tar", "rb") as archive:
        run(mount, "tar xf - --no-same-owner; find . -type f | xargs cat > /dev/null", stdin=archive)
    for place in (mount.inside, mount.host):
        subprocess.run(["diff", "-r", str(tree), place], check=True)
    run(mount, "rm -rf d*")
    assert os.listdir(mount.host) == []


def test_unlinked_and_replaced_files_stay_open(mount):
    path = f"{mount.inside}/file"
    with open(path, "w+b", buffering=0) as file:
        os.chown(path, 1000, 1000)
        file.write(b"first")
        os.unlink(path)
        file.seek(0)
        assert file.read() == b"first"
        file.write(b" and more")
        assert os.fstat(file.fileno()).st_size == 14 and os.fstat(file.fileno()).st_nlink == 0
    with open(path, "wb") as file:
        file.write(b"old")
    with open(path, "rb", buffering=0) as old:
        with open(path + ".new", "wb") as file:
            file.write(b"new")
        os.rename(path + ".new", path)
        assert old.read() == b"old"
    with open(path, "rb") as file:
        assert file.read() == b"new"


def test_exclusive_append_truncate_and_holes(mount):
    path = f"{mount.inside}/file"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    with pytest.raises(FileExistsError):
        os.open(path, os.O_CREAT | os.O_EXCL)
    with open(path, "ab") as a, open(path, "ab") as b:
        for i in range(50):
            (a if i % 2 else b).write(b"%02d\n" % i)
            (a if i % 2 else b).flush()
    with open(f"{mount.host}/file", "rb") as file:
        assert file.read() == b"".join(b"%02d\n" % i for i in range(50))
    with open(path, "r+b") as file:
        file.truncate(5 << 30)
        file.seek(4 << 30)
        file.write(b"x")
        file.flush()
        assert os.lseek(file.fileno(), 1 << 20, os.SEEK_DATA) == 4 << 30
        os.posix_fallocate(file.fileno(), 0, 4096)
        os.fsync(file.fileno())
    open(path, "wb").close()
    assert os.stat(f"{mount.host}/file").st_size == 0


def test_mappings_and_locks(mount):
    path = f"{mount.inside}/file"
    with open(path, "w+b") as file:
        file.truncate(65536)
        with mmap.mmap(file.fileno(), 65536) as memory:
            memory[0:4] = memory[60000:60004] = b"map!"
            memory.flush()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(path, "rb") as other:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(f"{mount.host}/file", "rb") as file:
        data = file.read()
    assert data[:4] == data[60000:60004] == b"map!"


def test_large_folders_and_large_files(mount):
    for i in range(5000):
        open(f"{mount.host}/f{i}", "w", encoding="ascii").close()
    assert len(os.listdir(mount.inside)) == 5000
    assert len(run(mount, "ls -l").splitlines()) == 5001
    data = os.urandom(48 << 20)
    with open(f"{mount.inside}/big", "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    with open(f"{mount.host}/big", "rb") as file:
        assert hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()
    with open(f"{mount.inside}/big", "rb") as file:
        assert hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()


def test_edits_on_the_host_show_inside_at_once(mount):
    def write(name, text):
        with open(f"{mount.host}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def read(name):
        try:
            with open(f"{mount.inside}/{name}", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return None

    assert read("file") is None
    write("file", "one")
    wait_for(lambda: read("file") == "one")
    write("file", "two")  # the same size
    wait_for(lambda: read("file") == "two")
    write("new", "replaced")
    os.rename(f"{mount.host}/new", f"{mount.host}/file")
    wait_for(lambda: read("file") == "replaced")
    os.unlink(f"{mount.host}/file")
    wait_for(lambda: read("file") is None and "file" not in os.listdir(mount.inside))
    os.mkdir(f"{mount.host}/folder")
    wait_for(lambda: os.path.isdir(f"{mount.inside}/folder"))
    write("folder/x", "x")
    wait_for(lambda: read("folder/x") == "x")
    os.rename(f"{mount.host}/folder", f"{mount.host}/moved")
    wait_for(lambda: read("folder/x") is None and read("moved/x") == "x")


def test_what_the_guest_may_not(mount):
    path = f"{mount.inside}/file"
    open(path, "wb").close()
    os.chmod(path, 0o6777)
    assert os.stat(f"{mount.host}/file").st_mode & 0o7000 == 0
    for call in (lambda: os.mknod(f"{mount.inside}/dev", stat.S_IFCHR | 0o666, os.makedev(1, 3)),
                 lambda: os.mkfifo(f"{mount.inside}/fifo"),
                 lambda: os.chown(path, 55, 55)):
        with pytest.raises(PermissionError):
            call()
    for name in ("security.capability", "trusted.x"):
        with pytest.raises(OSError) as caught:
            os.setxattr(path, name, b"\1\0\0\2" + bytes(16))
        assert caught.value.errno in (errno.EOPNOTSUPP, errno.EPERM)
    os.setxattr(path, "user.mine", b"1")
    assert os.listxattr(path) == ["user.mine"]
    os.symlink("/etc/passwd", f"{mount.inside}/link")
    assert os.readlink(f"{mount.host}/link") == "/etc/passwd"


def test_a_build(mount):
    if not shutil.which("make") or not shutil.which("cc"):
        pytest.skip("no compiler")
    with open(f"{mount.host}/Makefile", "w", encoding="ascii") as file:
        file.write("OBJ = $(addsuffix .o,$(basename $(wildcard *.c)))\n"
                   "prog: $(OBJ)\n\tcc -o $@ $(OBJ)\n%.o: %.c\n\tcc -c -o $@ $<\n")
    for i in range(6):
        with open(f"{mount.host}/f{i}.c", "w", encoding="ascii") as file:
            file.write(f"int f{i}(void) {{ return {i}; }}\n")
    with open(f"{mount.host}/main.c", "w", encoding="ascii") as file:
        file.write("int f5(void); int main(void) { return f5() - 5; }\n")
    run(mount, "make -s -j2 && ./prog && make -q")

    def runs():
        try:
            return subprocess.run([f"{mount.host}/prog"], check=False).returncode == 0
        except OSError as error:
            assert error.errno == errno.ETXTBSY
            return False

    wait_for(runs)


def host_has(mount, content):
    with open(f"{mount.host}/mapped", "rb") as file:
        return file.read() == content


def test_pages_of_mappings_are_written_out_for_a_snapshot(mount):
    """W9: a snapshot that held them would write them over what the host wrote since."""
    with open(f"{mount.inside}/mapped", "wb+") as file:
        file.write(b"-" * 8192)
        file.flush()
        os.fsync(file.fileno())
        with mmap.mmap(file.fileno(), 8192) as pages:
            sync = subprocess.Popen([SYNC], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert sync.stdout.readline() == b"begun\n"
            pages[4096:4099] = b"new"
            sync.communicate(timeout=30)
            assert sync.returncode == 0
            # A kernel may end its sync before the server has what it wrote; the relay
            # waits for that. By itself it would keep such pages for 30 s.
            wait_for(lambda: host_has(mount, b"-" * 4096 + b"new" + b"-" * 4093), seconds=10)
