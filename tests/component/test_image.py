# SPDX-License-Identifier: Apache-2.0
"""bawn-image alone: real archives in, e2fsck and debugfs on what comes out.

Run: /usr/bin/python3 -m pytest tests/component/test_image.py
BAWN_BUILD names the build folder (default: build). Started by root, each case
runs twice: as root, and as an unprivileged uid.
"""
import gzip
import io
import json
import os
import pathlib
import random
import re
import subprocess
import tarfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BAWN_BUILD", "build"))
if not BUILD.is_absolute():
    BUILD = ROOT / BUILD
IMAGE = BUILD / "src/image/bawn-image"
UID = 1879000001
GIB = 1 << 30
MIB = 1 << 20

IDENTITIES = ["root", "unprivileged"] if os.geteuid() == 0 else ["self"]
# Long, and the same work whoever does it: as both in `make soak`.
ONE_IDENTITY = pytest.mark.parametrize(
    "image", IDENTITIES if os.environ.get("BAWN_TEST_SOAK") else IDENTITIES[-1:], indirect=True)


def become(identity):
    if identity != "unprivileged":
        return None

    def drop():
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)

    return drop


class Result:
    def __init__(self, code, out, err, path):
        self.code, self.out, self.err, self.path = code, out, err, path

    def json(self):
        return json.loads(self.out)


@pytest.fixture(params=IDENTITIES)
def image(request, tmp_path):
    """Runs bawn-image JOB with bytes on descriptor 0 and a file as 4."""

    def run(job, data, *args):
        path = tmp_path / f"out-{time.monotonic_ns()}.img"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        command = ["/bin/bash", "-c", f'exec "$@" 4<&{fd}', "sh",
                   str(IMAGE), job, *args]
        done = subprocess.run(command, input=data, capture_output=True,
                              pass_fds=[fd], timeout=300,
                              preexec_fn=become(request.param))
        os.close(fd)
        if done.returncode:
            os.truncate(path, 0)
        return Result(done.returncode, done.stdout.decode(),
                      done.stderr.decode(), path)

    return run


def entry(name, kind=tarfile.REGTYPE, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = len(data)
    info.mode = fields.pop("mode", 0o644)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def make_tar(entries, fmt=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt,
                      encoding="utf-8", errors="surrogateescape") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def fsck(path):
    done = subprocess.run(["/sbin/e2fsck", "-fn", str(path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def debugfs(path, request):
    done = subprocess.run(["/sbin/debugfs", "-R", request, str(path)],
                          capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def content(path, name):
    done = subprocess.run(["/sbin/debugfs", "-R", f'cat "{name}"', str(path)],
                          capture_output=True)
    return done.stdout


def good(image, entries, *args, fmt=tarfile.PAX_FORMAT):
    done = image("ext4", make_tar(entries, fmt), *args)
    assert done.code == 0, done.err
    fsck(done.path)
    return done


def refused(image, entries, words, *args, fmt=tarfile.PAX_FORMAT):
    done = image("ext4", make_tar(entries, fmt), *args)
    assert done.code == 1
    assert done.err.count("\n") == 1, done.err
    assert words in done.err, done.err
    assert done.out == ""
    return done


def test_every_kind_of_entry_arrives(image):
    done = good(image, [
        entry("./", tarfile.DIRTYPE, mode=0o755),
        entry("./dir", tarfile.DIRTYPE, mode=0o2750, uid=1000, gid=70000),
        entry("./dir/file", data=b"hello", mode=0o4755, uid=70001, gid=5),
        entry("./dir/hard", tarfile.LNKTYPE, linkname="./dir/file"),
        entry("./dir/soft", tarfile.SYMTYPE, linkname="../x"),
        entry("./dir/long", tarfile.SYMTYPE, linkname="y" * 300),
        entry("./dir/edge59", tarfile.SYMTYPE, linkname="z" * 59),
        entry("./dir/edge60", tarfile.SYMTYPE, linkname="z" * 60),
        entry("./console", tarfile.CHRTYPE, devmajor=5, devminor=1),
        entry("./disk", tarfile.BLKTYPE, devmajor=259, devminor=300),
        entry("./pipe", tarfile.FIFOTYPE),
    ])
    stat = debugfs(done.path, "stat dir/file")
    assert "Mode:  04755" in stat and "Links: 2" in stat
    assert "User: 70001" in stat and "Group:     5" in stat
    assert content(done.path, "/dir/file") == b"hello"
    assert content(done.path, "/dir/hard") == b"hello"
    assert "Mode:  02750" in debugfs(done.path, "stat dir")
    assert 'Fast link dest: "../x"' in debugfs(done.path, "stat dir/soft")
    assert "y" * 60 in debugfs(done.path, "cat dir/long")
    assert 'Fast link dest: "' + "z" * 59 in debugfs(done.path,
                                                     "stat dir/edge59")
    assert "Size: 60" in debugfs(done.path, "stat dir/edge60")
    assert "05:01" in debugfs(done.path, "stat console")
    assert "259:300" in debugfs(done.path, "stat disk")
    assert "Type: FIFO" in debugfs(done.path, "stat pipe")
    assert done.json()["files"] == 9
    assert done.json()["bytes"] == 5


def test_the_digest_is_of_the_tar_whatever_packed_it(image):
    import hashlib
    tar = make_tar([entry("a", data=b"x" * 100000)])
    want = "sha256:" + hashlib.sha256(tar).hexdigest()
    packed = [tar, gzip.compress(tar)]
    zstd = subprocess.run(["zstd", "-qc"], input=tar, capture_output=True)
    if zstd.returncode == 0:
        packed.append(zstd.stdout)
    for data in packed:
        done = image("ext4", data)
        assert done.code == 0, done.err
        assert done.json()["digest"] == want
        fsck(done.path)


def test_the_same_archive_gives_the_same_image(image):
    tar = make_tar([entry("a/b", data=b"x" * 5000),
                    entry("l", tarfile.SYMTYPE, linkname="a")])
    first = image("ext4", tar, "--size", "64M")
    second = image("ext4", tar, "--size", "64M")
    assert first.code == second.code == 0
    assert first.path.read_bytes() == second.path.read_bytes()


def test_it_can_grow_to_a_terabyte(image):
    done = good(image, [entry("a", data=b"x")])
    head = subprocess.run(["/sbin/dumpe2fs", "-h", str(done.path)],
                          capture_output=True, text=True).stdout
    features = re.search(r"Filesystem features: +(.*)", head).group(1).split()
    for name in ["has_journal", "resize_inode", "metadata_csum", "extent",
                 "flex_bg", "dir_index", "64bit", "ext_attr", "filetype"]:
        assert name in features
    reserved = int(re.search(r"Reserved GDT blocks: +(\d+)", head).group(1))
    # 64 descriptors of 128 MiB in each block
    assert reserved * 64 * 128 * MIB >= 1024 * GIB
    assert done.path.stat().st_size == 16 * GIB
    assert done.path.stat().st_blocks * 512 < 32 * MIB


def test_resize2fs_grows_it_offline(image, tmp_path):
    done = good(image, [entry("a", data=b"x" * 10000)], "--size", "256M")
    os.truncate(done.path, 2 * GIB)
    grown = subprocess.run(["/sbin/resize2fs", "-f", str(done.path)],
                           capture_output=True, text=True)
    assert grown.returncode == 0, grown.stderr
    fsck(done.path)
    assert content(done.path, "/a") == b"x" * 10000


def test_attributes_arrive(image):
    acl = "user::rw-,user:joe:r--:1234,group::r--,mask::r--,other::---"
    default = "user::rwx,group::r-x,other::---"
    capability = b"\x01\x00\x00\x02\x00\x04\x00\x00" + b"\0" * 12
    done = good(image, [
        entry("plain", data=b"x", pax_headers={
            "SCHILY.xattr.user.note": "value",
            "SCHILY.xattr.user.big": "b" * 3000,
            "SCHILY.xattr.com.example.unknown": "left out"}),
        entry("cap", data=b"x", pax_headers={
            "SCHILY.xattr.security.capability":
                capability.decode("utf-8", "surrogateescape")}),
        entry("acl", data=b"x", mode=0o640,
              pax_headers={"SCHILY.acl.access": acl}),
        entry("dir", tarfile.DIRTYPE, mode=0o750, pax_headers={
            "SCHILY.acl.default": default,
            "SCHILY.xattr.user.dir": "d" * 500}),
        entry("dir/file", data=b"x"),
    ])
    names = debugfs(done.path, "ea_list plain")
    assert 'user.note (5) = "value"' in names
    assert "user.big (3000)" in names and "unknown" not in names
    assert "security.capability (20)" in debugfs(done.path, "ea_list cap")
    assert "system.posix_acl_access" in debugfs(done.path, "ea_list acl")
    names = debugfs(done.path, "ea_list dir")
    assert "system.posix_acl_default" in names and "user.dir (500)" in names


def test_times_keep_their_nanoseconds(image):
    done = good(image, [
        entry("a", data=b"x", pax_headers={"mtime": "1234567890.123456789"}),
        entry("far", data=b"x", pax_headers={"mtime": "5000000000.5"}),
        entry("past", data=b"x", pax_headers={"mtime": "-100"}),
    ])
    stat = debugfs(done.path, "stat a")
    assert f"mtime: 0x{1234567890:08x}:{123456789 << 2:08x}" in stat
    stat = debugfs(done.path, "stat far")
    seconds, extra = 5000000000 & 0xffffffff, 1 | 500000000 << 2
    assert f"mtime: 0x{seconds:08x}:{extra:08x}" in stat
    assert "mtime: 0xffffff9c" in debugfs(done.path, "stat past")


def test_sparse_files_keep_their_holes(image, tmp_path):
    source = tmp_path / "sparse"
    with open(source, "wb") as file:
        file.truncate(300 * MIB)
        file.seek(100 * MIB + 17)
        file.write(b"middle")
        file.seek(300 * MIB - 1)
        file.write(b"!")
    for flags in (["--format=gnu"], ["--format=pax"]):
        tar = subprocess.run(
            ["tar", "-C", str(tmp_path), "-S", *flags, "-cf", "-", "sparse"],
            capture_output=True, check=True).stdout
        assert len(tar) < MIB
        done = image("ext4", tar)
        assert done.code == 0, done.err
        fsck(done.path)
        assert "Size: 314572800" in debugfs(done.path, "stat sparse")
        assert done.json()["bytes"] < MIB
        assert content(done.path, "/sparse") == source.read_bytes()


def test_long_names_and_paths(image):
    deep = "/".join(["d" * 100] * 38)
    names = ["n" * 255, deep + "/file", "ünï/cödé", "with space/and \"quote"]
    for fmt in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        done = good(image, [entry(n, data=b"x") for n in names], fmt=fmt)
        assert "n" * 255 in debugfs(done.path, "ls -p /")
        assert content(done.path, "/" + deep + "/file") == b"x"
        assert content(done.path, "/ünï/cödé") == b"x"


def test_names_that_are_no_utf8_keep_their_bytes(image):
    name = b"latin-\xe4\xff".decode("utf-8", "surrogateescape")
    for fmt in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        done = good(image, [entry(name, data=b"x")], fmt=fmt)
        raw = subprocess.run(["/sbin/debugfs", "-R", "ls -p /", done.path],
                             capture_output=True).stdout
        assert b"latin-\xe4\xff" in raw


@ONE_IDENTITY
def test_a_folder_of_100000_entries(image):
    done = good(image, [entry(f"many/name-of-file-{i:06}")
                        for i in range(100000)])
    assert "Flags: 0x81000" in debugfs(done.path, "stat many")
    assert "Inode:" in debugfs(done.path, "stat many/name-of-file-054321")
    assert done.json()["files"] == 100001


@ONE_IDENTITY
def test_folders_around_the_limits_of_a_block(image):
    entries = []
    for count in list(range(250, 260)) + [1000, 30000]:
        entries += [entry(f"d{count}/{i:04}") for i in range(count)]
    for i in range(200):
        entries.append(entry("long/" + f"{i:03}" + "x" * 252))
    good(image, entries)


@ONE_IDENTITY
def test_large_files_and_many_extents(image):
    big = os.urandom(MIB) * 300
    done = good(image, [entry("big", data=big), entry("after", data=b"x")])
    assert content(done.path, "/big") == big
    # one file after the other replaced: free space in pieces
    entries = [entry(f"f{i}", data=b"a" * 8192) for i in range(3000)]
    entries += [entry(f"f{i}", tarfile.SYMTYPE, linkname="x")
                for i in range(0, 3000, 2)]
    entries += [entry("last", data=os.urandom(12 * MIB))]
    done = good(image, entries, "--size", "48M")
    assert content(done.path, "/last") == entries[-1][1]


def test_later_entries_replace_earlier_ones(image):
    done = good(image, [
        entry("a", data=b"first"), entry("b", tarfile.LNKTYPE, linkname="a"),
        entry("a", data=b"second"),
        entry("dir/x", data=b"1"), entry("dir/y/z", data=b"2"),
        entry("dir", tarfile.SYMTYPE, linkname="elsewhere"),
        entry("l", tarfile.SYMTYPE, linkname="a"), entry("l", data=b"file"),
    ])
    assert content(done.path, "/a") == b"second"
    assert content(done.path, "/b") == b"first"
    assert "Links: 1" in debugfs(done.path, "stat b")
    assert "Type: symlink" in debugfs(done.path, "stat dir")
    assert content(done.path, "/l") == b"file"


def random_entry(dice, names):
    name = "/".join(dice.choice("abcd") * dice.choice([1, 1, 90])
                    for _ in range(dice.randint(1, 3)))
    kind = dice.choice([tarfile.REGTYPE] * 4 + [
        tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE,
        tarfile.CHRTYPE])
    fields = {"uid": dice.randint(0, 1 << 20), "mode": 0o700}
    data = b""
    if kind == tarfile.REGTYPE:
        data = dice.randbytes(dice.choice([0, 1, 4095, 4096, 4097, 70000]))
    elif kind == tarfile.SYMTYPE:
        fields["linkname"] = "t" * dice.choice([1, 59, 60, 61, 1000])
    elif kind == tarfile.LNKTYPE:
        if not names:
            return None
        fields["linkname"] = dice.choice(names)
    if kind != tarfile.LNKTYPE and dice.random() < 0.4:
        fields["pax_headers"] = {
            f"SCHILY.xattr.user.{i}": "v" * dice.choice([1, 60, 900])
            for i in range(dice.randint(1, 3))}
    if kind in (tarfile.REGTYPE, tarfile.FIFOTYPE):
        names.append(name)
    return entry(name, kind, data, **fields)


def first_refused(image, entries):
    low, high = 0, len(entries) - 1
    while low < high:
        middle = (low + high) // 2
        done = image("ext4", make_tar(entries[:middle + 1]), "--size", "32M")
        low, high = (low, middle) if done.code else (middle + 1, high)
    return low


def expected(entries):
    """What lies where after the last entry: path to content, None if no file."""
    tree = {}
    for info, data in entries:
        value = data if info.isreg() else None
        if info.islnk():
            value = tree.get(info.linkname)
            if info.linkname == info.name:
                continue
        if not (info.isdir() and tree.get(info.name, 0) == "folder"):
            for path in [p for p in tree
                         if p == info.name or p.startswith(info.name + "/")]:
                del tree[path]
        tree[info.name] = "folder" if info.isdir() else value
        parts = info.name.split("/")
        for i in range(1, len(parts)):
            tree["/".join(parts[:i])] = "folder"
    return {path: data for path, data in tree.items()
            if isinstance(data, bytes)}


def check_content(path, entries, folder):
    folder.mkdir()
    debugfs(path, f'rdump / "{folder}"')
    want = expected(entries)
    for name, data in want.items():
        assert (folder / name).read_bytes() == data, name
    found = [os.path.join(top, name) for top, _, names in os.walk(folder)
             for name in names]
    found = [file for file in found if not os.path.islink(file)]
    assert len(found) == len(want)


@ONE_IDENTITY
def test_random_archives_are_clean(image, tmp_path):
    """Whatever replaces whatever: an image is clean, or there is none."""
    seeds = int(os.environ.get("BAWN_TEST_SEEDS", "12"))
    for seed in range(seeds):
        dice = random.Random(seed)
        names = []
        entries = [random_entry(dice, names)
                   for _ in range(dice.randint(20, 60))]
        entries = [one for one in entries if one]
        done = image("ext4", make_tar(entries), "--size", "32M")
        while done.code:
            assert done.code == 1 and done.err.count("\n") == 1
            del entries[first_refused(image, entries)]
            done = image("ext4", make_tar(entries), "--size", "32M")
        fsck(done.path)
        check_content(done.path, entries, tmp_path / f"seed{seed}")
        done.path.unlink()


def test_parents_that_were_not_named_are_made(image):
    done = good(image, [entry("a/b/c", data=b"x")])
    assert "Mode:  0755" in debugfs(done.path, "stat a/b")


@pytest.mark.parametrize("name, words", [
    ("/etc/passwd", "absolute"),
    ("../x", '".."'),
    ("a/../../x", '".."'),
    ("a/..", '".."'),
    ("n" * 256, "longer than 255"),
    ("d/" * 2100 + "x", "longer than 4095"),
])
def test_hostile_names_are_refused(image, name, words):
    refused(image, [entry(name, data=b"x")], words)


def test_the_error_names_the_entry_printably(image):
    done = refused(image, [entry("../\x1b[31mred\x07", data=b"x")], '".."')
    assert "\x1b" not in done.err and "red" in done.err


@pytest.mark.parametrize("entries, words", [
    ([entry("s", tarfile.SYMTYPE, linkname="/etc"),
      entry("s/x", data=b"x")], "symbolic link"),
    ([entry("f", data=b"x"), entry("f/x", data=b"x")], "not a folder"),
    ([entry("h", tarfile.LNKTYPE, linkname="missing")], "hard link"),
    ([entry("h", tarfile.LNKTYPE, linkname="../../etc/passwd")], '".."'),
    ([entry("h", tarfile.LNKTYPE, linkname="/etc/passwd")], "absolute"),
    ([entry("d", tarfile.DIRTYPE),
      entry("h", tarfile.LNKTYPE, linkname="d")], "folder"),
    ([entry("s", tarfile.SYMTYPE, linkname="d"),
      entry("h", tarfile.LNKTYPE, linkname="s/x")], "hard link"),
    ([entry("lost+found", data=b"x")], "lost+found"),
    ([entry("s", tarfile.SYMTYPE, linkname="x" * 4096)], "too long"),
    ([entry("x", data=b"x", pax_headers={
        "SCHILY.xattr.user.a": "a" * 5000})], "too large"),
    ([entry("x", data=b"x", pax_headers={
        f"SCHILY.xattr.user.{i}": "a" * 900 for i in range(9)})], "fit"),
])
def test_hostile_entries_are_refused(image, entries, words):
    refused(image, entries, words)


def test_sizes_that_cannot_be_are_refused(image):
    def lie(size):
        info, _ = entry("big")
        info.size = size
        return info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024

    for size, words in [(1 << 62, "larger"), (17 * GIB, "larger"),
                        (-1, "")]:
        done = image("ext4", lie(size))
        assert done.code == 1 and words in done.err
    done = image("ext4", make_tar([entry("big", data=b"x" * 40 * MIB)]),
                 "--size", "32M")
    assert done.code == 1 and "No space left" in done.err


def test_sparse_bombs_are_bounded(image):
    bomb, data = entry("bomb", data=b"1\n0\n1\n".ljust(512, b"\0"),
                       pax_headers={"GNU.sparse.major": "1",
                                    "GNU.sparse.minor": "0",
                                    "GNU.sparse.name": "bomb",
                                    "GNU.sparse.realsize": str(1 << 50)})
    refused(image, [(bomb, data)], "larger than the whole image")
    many = []
    for i in range(50):
        info, data = entry(f"b{i}", data=b"1\n0\n1\n".ljust(512, b"\0") + b"x",
                           pax_headers={"GNU.sparse.major": "1",
                                        "GNU.sparse.minor": "0",
                                        "GNU.sparse.name": f"b{i}",
                                        "GNU.sparse.realsize": str(10 * GIB)})
        many.append((info, data))
    done = good(image, many)
    assert done.path.stat().st_blocks * 512 < 64 * MIB


@ONE_IDENTITY
def test_compression_bombs_are_bounded(image):
    tar = make_tar([entry("a", data=b"x")]) + b"\0" * (1200 * MIB)
    done = image("ext4", gzip.compress(tar, 1), "--size", "16M")
    assert done.code == 1 and "larger than the image can be" in done.err


def test_broken_archives_are_errors(image):
    tar = make_tar([entry("a", data=b"x" * 5000), entry("b", data=b"y" * 99)])
    for data in [b"", b"\0", b"nonsense" * 1000, tar[:700], tar[:3000],
                 gzip.compress(tar)[:60], b"\x28\xb5\x2f\xfd garbage",
                 b"\x1f\x8b garbage"]:
        done = image("ext4", data)
        assert done.code == 1, data[:20]
        assert done.err.startswith("bawn-image: ")
        assert done.err.count("\n") == 1


def test_other_formats_stay_switched_off(image, tmp_path):
    (tmp_path / "x").write_text("x")
    import zipfile
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "x", "x")
    done = image("ext4", (tmp_path / "a.zip").read_bytes())
    assert done.code == 1


def test_wrong_use_is_explained(image, tmp_path):
    assert image("nonsense", b"").code == 2
    assert image("ext4", b"", "--size").code == 2
    assert image("ext4", b"", "--size", "tiny").code == 2
    assert "16 MiB" in image("ext4", b"x", "--size", "1M").err
    done = subprocess.run([IMAGE, "ext4"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "descriptor 4" in done.stderr


@pytest.mark.parametrize("identity", IDENTITIES)
def test_it_is_confined_before_it_reads(identity, tmp_path):
    fd = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT, 0o600)
    process = subprocess.Popen(
        ["/bin/bash", "-c", f'exec "$@" 4<&{fd}', "sh", str(IMAGE), "ext4"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[fd],
        preexec_fn=become(identity))
    try:
        # It waits in read(0): by then it must be locked up.
        deadline = time.monotonic() + 10
        while True:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            if "Seccomp:\t2" in status or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        fields = dict(line.split(":\t", 1) for line in status.splitlines()
                      if ":\t" in line)
        assert fields["Seccomp"] == "2"
        assert fields["NoNewPrivs"] == "1"
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(fields[name], 16) == 0, name
        uids = fields["Uid"].split()
        assert uids == [{"root": "65534", "unprivileged": str(UID),
                         "self": str(os.getuid())}[identity]] * 4
        if os.geteuid() == 0:
            own = os.readlink("/proc/self/ns/net")
            try:
                assert os.readlink(f"/proc/{process.pid}/ns/net") != own
            except PermissionError:
                pass
        out, _ = process.communicate(make_tar([entry("a", data=b"x")]))
        assert process.returncode == 0
        assert json.loads(out)["files"] == 1
    finally:
        process.kill()
        process.wait()
        os.close(fd)


def bzimage(payload, size):
    image = bytearray(2048)
    image[0x1f1] = 1
    image[0x202:0x206] = b"HdrS"
    image[0x206:0x208] = b"\x0f\x02"
    if payload[:2] != b"\x1f\x8b":
        payload += size.to_bytes(4, "little")
    image[0x248:0x24c] = (1024).to_bytes(4, "little")
    image[0x24c:0x250] = len(payload).to_bytes(4, "little")
    return bytes(image) + payload


PACKERS = {
    "gzip": ["gzip", "-c"],
    "xz": ["xz", "--check=crc32", "-c"],
    "zstd": ["zstd", "-qc"],
    "bzip2": ["bzip2", "-c"],
    "lz4": ["lz4", "-qlc"],
    "lzma": ["xz", "--format=lzma", "-c"],
}


def pack(name, data):
    try:
        return subprocess.run(PACKERS[name], input=data, check=True,
                              capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip(f"{PACKERS[name][0]} is not installed")


@pytest.mark.parametrize("name", PACKERS)
def test_a_kernel_is_unpacked(image, name):
    elf = b"\x7fELF" + os.urandom(1000) + b"\0" * 3000000
    done = image("vmlinux", bzimage(pack(name, elf), len(elf)))
    assert done.code == 0, done.err
    assert done.path.read_bytes() == elf
    done = image("unpack", pack(name, elf))
    assert done.code == 0 and done.path.read_bytes() == elf


def test_what_is_no_kernel_is_refused(image):
    elf = b"\x7fELF" + b"x" * 5000
    assert image("vmlinux", elf).path.read_bytes() == elf
    for data in [b"", b"x" * 5000, bzimage(b"nonsense!" * 9, 1),
                 bzimage(gzip.compress(b"not an ELF file"), 1)]:
        done = image("vmlinux", data)
        assert done.code == 1 and done.err.count("\n") == 1


def test_unpacking_is_bounded(image):
    bomb = gzip.compress(b"\0" * (600 * MIB), 1)
    done = image("unpack", bomb)
    assert done.code == 1 and "512 MiB" in done.err
