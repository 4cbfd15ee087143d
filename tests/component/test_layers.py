# SPDX-License-Identifier: Apache-2.0
"""bawn-image layers: whiteouts, links across layers and hostile entries; what
comes out is compared with what umoci unpacks of the same image.

The comparison mounts the result, so it needs root.
"""
import gzip
import hashlib
import json
import os
import random
import stat
import subprocess
import tarfile
import tempfile

import pytest

from images import IMAGE, Image, digest, entry, make_tar, need, zstd

DIR, SYM, LNK = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
CHR, BLK, FIFO = tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE
GIB = 1 << 30
SOAK = os.environ.get("BAWN_TEST_SOAK")


class Result:
    def __init__(self, code, said, peak, path):
        self.code, self.path, self.peak = code, path, peak
        for file in said:
            file.seek(0)
        self.out, self.err = [file.read().decode() for file in said]


@pytest.fixture
def unpack(tmp_path):
    """Runs `bawn-image layers` on packed layers, all of them complete."""
    def run(blobs, diff_ids, *args):
        path = tmp_path / f"out-{random.randrange(1 << 40)}.img"
        out = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fds = []
        for data in blobs:
            fds.append(os.memfd_create("layer"))
            os.write(fds[-1], data)
            os.lseek(fds[-1], 0, os.SEEK_SET)
        ready, tell = os.pipe()
        os.write(tell, b"x" * len(blobs))
        os.close(tell)
        moves = [(ready, 3), (out, 4)] + [(fd, 10 + i) for i, fd in enumerate(fds)]
        # above all that is moved, so that no move hits another's source
        high = {fd: os.dup2(fd, 500 + i) for i, (fd, _) in enumerate(moves)}
        script = "; ".join(f"exec {to}<&{high[fd]}" for fd, to in moves)
        command = ["/bin/bash", "-c", f'{script}; exec "$@"', "sh", str(IMAGE), "layers",
                   *args]
        for name in diff_ids:
            command += ["--layer", name]
        said = [tempfile.TemporaryFile() for _ in range(2)]
        process = subprocess.Popen(command, stdout=said[0], stderr=said[1],
                                   pass_fds=list(high.values()))
        peak = 0
        while process.poll() is None:
            peak = max(peak, high_water(process.pid))
            try:
                process.wait(0.005)
            except subprocess.TimeoutExpired:
                continue
        for fd in [out, ready, *fds, *high.values()]:
            os.close(fd)
        return Result(process.returncode, said, peak, path)
    return run


def high_water(pid):
    """The most memory that this program has had: not what it was before its exec."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            text = file.read()
    except OSError:
        return 0
    if "bawn-image" not in text.split("\n", 1)[0]:
        return 0
    found = [line.split()[1] for line in text.splitlines() if line.startswith("VmHWM")]
    return int(found[0]) * 1024 if found else 0


def good(unpack, layers, packing=gzip.compress, *args):
    tars = [make_tar(layer) for layer in layers]
    done = unpack([packing(tar) for tar in tars], [digest(tar) for tar in tars], *args)
    assert done.code == 0, done.err
    check = subprocess.run(["/sbin/e2fsck", "-fn", done.path], capture_output=True,
                           text=True)
    assert check.returncode == 0, check.stdout
    return done


def names(path, folder="/"):
    done = subprocess.run(["/sbin/debugfs", "-R", f'ls -p "{folder}"', path],
                          capture_output=True, text=True)
    found = [line.split("/")[5] for line in done.stdout.splitlines() if "/" in line]
    return sorted(set(found) - {".", "..", "lost+found", ""})


def refused(unpack, layers, words):
    tars = [make_tar(layer) for layer in layers]
    done = unpack(tars, [digest(tar) for tar in tars])
    assert done.code == 1, done.out
    assert done.err.count("\n") == 1 and words in done.err, done.err
    return done


# ---- what layers do to each other ----

def test_whiteouts_take_what_is_below(unpack):
    done = good(unpack, [
        [entry("a/x"), entry("a/y/z"), entry("b"), entry("keep")],
        [entry("a/.wh.x"), entry(".wh.b"), entry(".wh.never-was"), entry("new")],
    ])
    assert names(done.path) == ["a", "keep", "new"]
    assert names(done.path, "/a") == ["y"]


def test_an_opaque_folder_keeps_only_its_own(unpack):
    done = good(unpack, [
        [entry("d/old"), entry("d/sub/old")],
        [entry("d/new"), entry("d/.wh..wh..opq"), entry("d/sub/new")],
    ])
    assert names(done.path, "/d") == ["new", "sub"]
    assert names(done.path, "/d/sub") == ["new"]


def test_the_order_in_a_layer_does_not_matter(unpack):
    for upper in ([entry("d/f", data=b"2"), entry("d/.wh.f")],
                  [entry("d/.wh.f"), entry("d/f", data=b"2")]):
        done = good(unpack, [[entry("d/f", data=b"1")], upper])
        out = subprocess.run(["/sbin/debugfs", "-R", "cat /d/f", done.path],
                             capture_output=True).stdout
        assert out == b"2"


def test_hard_links_reach_across_layers(unpack):
    done = good(unpack, [
        [entry("one", data=b"shared")],
        [entry("two", LNK, linkname="one")],
        [entry(".wh.one"), entry("three", LNK, linkname="two")],
    ])
    assert names(done.path) == ["three", "two"]
    said = subprocess.run(["/sbin/debugfs", "-R", "stat /two", done.path],
                          capture_output=True, text=True).stdout
    assert "Links: 2" in said


def test_names_behind_links_are_put_where_these_lead(unpack):
    done = good(unpack, [
        [entry("usr/lib", DIR), entry("lib", SYM, linkname="usr/lib"),
         entry("abs", SYM, linkname="/usr"), entry("out", SYM, linkname="../../../etc")],
        [entry("lib/a"), entry("abs/b"), entry("out/passwd")],
    ])
    assert names(done.path) == ["abs", "etc", "lib", "out", "usr"]
    assert names(done.path, "/usr/lib") == ["a"]
    assert names(done.path, "/usr") == ["b", "lib"]
    assert names(done.path, "/etc") == ["passwd"]


def test_kinds_change_from_layer_to_layer(unpack):
    done = good(unpack, [
        [entry("a/b/c"), entry("f"), entry("l", SYM, linkname="a")],
        [entry("a", data=b"now a file"), entry(".wh.f"), entry("l", DIR)],
    ])
    assert names(done.path) == ["a", "l"]
    assert names(done.path, "/l") == []


@pytest.mark.parametrize("packing", [gzip.compress, zstd, lambda data: data],
                         ids=["gzip", "zstd", "plain"])
def test_every_packing_is_unpacked(unpack, packing):
    done = good(unpack, [[entry("f", data=os.urandom(300_000))]], packing)
    assert json.loads(done.out)["bytes"] == 300_000


@pytest.mark.parametrize("packing", [
    lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:]),
    lambda data: zstd(data[:1000]) + zstd(data[1000:]),
    lambda data: b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(data),
], ids=["gzip members", "zstd frames", "zstd skippable"])
def test_packings_in_pieces_are_unpacked(unpack, packing):
    good(unpack, [[entry("f", data=b"x" * 100_000)]], packing)


def test_an_image_without_layers_is_an_empty_file_system(unpack):
    done = good(unpack, [])
    assert names(done.path) == []


def test_many_layers_are_unpacked(unpack):
    done = good(unpack, [[entry(f"f{i}"), entry("same", data=b"%d" % i)]
                         for i in range(130)])
    assert len(names(done.path)) == 131


# ---- what is not as it should be ----

def test_content_that_is_not_what_was_named_is_refused(unpack):
    tars = [make_tar([entry(name)]) for name in "abc"]
    diff_ids = [digest(tar) for tar in tars]
    diff_ids[1] = digest(b"other")
    done = unpack(tars, diff_ids)
    assert done.code == 1 and "layer 2" in done.err and "not what" in done.err
    assert json.loads(done.out) == {"bad_layer": 1}


def test_a_layer_that_never_comes_is_an_error(tmp_path):
    path = tmp_path / "out.img"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    done = subprocess.run(["/bin/bash", "-c", f'exec 4<&{fd}; exec "$@" 3</dev/null', "sh",
                           IMAGE, "layers", "--layer", digest(b"")],
                          capture_output=True, pass_fds=[fd], text=True)
    os.close(fd)
    assert done.returncode == 1 and "never came" in done.stderr


@pytest.mark.parametrize("bad, words", [
    ([entry("../x")], ".."), ([entry("a/../../x")], ".."),
    ([entry(".wh...")], "whiteout of nothing"), ([entry("a/.wh.")], "whiteout of nothing"),
    ([entry("h", LNK, linkname="../../etc/passwd")], ".."),
    ([entry("h", LNK, linkname="not-there")], "not in the archive"),
    ([entry("d", DIR), entry("h", LNK, linkname="d")], "folder"),
    ([entry("loop", SYM, linkname="loop"), entry("loop/x")], "too many"),
    ([entry("f"), entry("f/x")], "not a folder"),
    ([entry("x" * 300)], ""),
    ([entry("d", CHR, devmajor=1 << 20, devminor=0)], "device"),
], ids=range(11))
def test_hostile_entries_are_refused(unpack, bad, words):
    refused(unpack, [[entry("fine")], bad], words)


def test_a_bomb_is_stopped(unpack, tmp_path):
    """40 GB of zeros in a few MB: never written, never more than the image."""
    info = tarfile.TarInfo("bomb")
    info.size = 40 * GIB
    head = info.tobuf(tarfile.PAX_FORMAT)
    done = unpack([gzip.compress(head + b"\0" * (64 << 20))], [digest(b"any")])
    assert done.code == 1 and "larger than the whole image" in done.err
    assert done.path.stat().st_blocks * 512 < 200 << 20


def test_a_sparse_bomb_is_a_hole(unpack):
    """A sparse file may claim much; what it does not have takes no room."""
    tar = subprocess.run(["/bin/sh", "-c", "cd $(mktemp -d) && truncate -s 10G hole && "
                          "tar --sparse -cf - hole; rm -f hole"], capture_output=True,
                         check=True).stdout
    done = unpack([tar], [digest(tar)])
    assert done.code == 0, done.err
    assert done.path.stat().st_blocks * 512 < 200 << 20


def test_names_without_end_are_stopped(unpack):
    """Hard links are names without a file each: they are counted too."""
    tar = bytearray(make_tar([entry("f")])[:512])
    link = tarfile.TarInfo("x")
    link.type, link.linkname = LNK, "f"
    for number in range(70_000):
        link.name = "l%07d" % number
        tar += link.tobuf(tarfile.USTAR_FORMAT)
    done = unpack([bytes(tar) + b"\0" * 1024], [digest(b"any")])
    assert done.code == 1 and "too many hard links" in done.err


# ---- as umoci does it ----

NOT_HERE = need("umoci", "mount") or ([] if os.geteuid() == 0 else ["root's rights"])


def describe(root):
    """path: kind, mode, owner, size, content, device, attributes, links."""
    found, inodes = {}, {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if key == "lost+found":
                continue
            st = os.lstat(path)
            inodes.setdefault(st.st_ino, []).append(key)
            facts = [stat.S_IFMT(st.st_mode), oct(st.st_mode), st.st_uid, st.st_gid]
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest() \
                        if hasattr(hashlib, "file_digest") else \
                        hashlib.sha256(file.read()).hexdigest()
                facts += [st.st_size, content]
            if stat.S_ISLNK(st.st_mode):
                facts += [os.readlink(path)]
            if stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
                facts += [st.st_rdev]
            facts += [sorted((name, os.getxattr(path, name, follow_symlinks=False))
                             for name in os.listxattr(path, follow_symlinks=False))]
            found[key] = facts
        if "lost+found" in folders:
            folders.remove("lost+found")
    for keys in inodes.values():
        for key in keys:
            found[key].append(keys if stat.S_IFDIR != found[key][0] else [])
    return found


def compare(unpack, tmp_path, image):
    layout = image.layout(tmp_path / "layout")
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:latest", tmp_path / "bundle"],
                   check=True, capture_output=True)
    theirs = describe(tmp_path / "bundle/rootfs")
    done = unpack([image.blobs[layer["digest"]] for layer in image.layers],
                  [digest(tar) for tar in image.tars])
    assert done.code == 0, done.err
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mount", "-o", "loop,ro", done.path, place], check=True)
    try:
        ours = describe(place)
    finally:
        subprocess.run(["umount", place], check=True)
    assert sorted(ours) == sorted(theirs)
    for key in sorted(theirs):
        assert ours[key] == theirs[key], key
    return ours


CAPABILITY = b"\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0"


def odd_layers():
    pax = {"SCHILY.xattr.user.note": "value",
           "SCHILY.xattr.security.capability": CAPABILITY.decode("latin-1")}
    return [
        [entry("etc", DIR, mode=0o755), entry("etc/passwd", data=b"root:x:0:0\n"),
         entry("tmp", DIR, mode=0o1777), entry("usr/bin", DIR),
         entry("usr/bin/su", data=b"#!", mode=0o4755, uid=0, gid=42),
         entry("usr/bin/ping", data=b"ping", mode=0o755, pax_headers=pax),
         entry("usr/lib", DIR), entry("lib", SYM, linkname="usr/lib"),
         entry("usr/lib/libc.so.6", data=os.urandom(70_000)),
         entry("home/user", DIR, uid=1000, gid=1000, mode=0o700),
         entry("home/user/link", SYM, linkname="../" * 40 + "x"),
         entry("dev/null", CHR, devmajor=1, devminor=3, mode=0o666),
         entry("dev/sda", BLK, devmajor=8, devminor=0, mode=0o660, gid=6),
         entry("run/pipe", FIFO, mode=0o600), entry("a/b/c/d/e", data=b"deep"),
         entry("unic\u00f6de/\u65e5\u672c", data=b"name"),
         entry("empty"), entry("hard1", data=b"hard"), entry("hard2", LNK, linkname="hard1"),
         entry("gone/with/all", data=b"x"), entry("opaque/old/one"), entry("opaque/two"),
         entry("dir2file/x"), entry("file2dir", data=b"f"),
         entry("n" * 255, data=b"long name"), entry("spaces and\ttabs")],
        [entry("lib/new.so", data=b"behind a link"), entry("gone/.wh.with"),
         entry("opaque", DIR, mode=0o750, uid=7), entry("opaque/.wh..wh..opq"),
         entry("opaque/new", data=b"n"), entry("dir2file", data=b"file now"),
         entry(".wh.file2dir"), entry("hard3", LNK, linkname="hard1"),
         entry("etc", DIR, mode=0o711, uid=3, gid=4),
         entry("usr/bin/ping", data=b"ping2", mode=0o755),
         entry("home/user/late", data=b"z" * 5000, uid=1000, gid=1000)],
        [entry("file2dir", DIR), entry("file2dir/in", data=b"i"), entry(".wh.hard1"),
         entry("a/b/.wh.c"), entry("a/b/.wh.never"), entry("lib/.wh.new.so"),
         entry("hard4", LNK, linkname="usr/bin/su"), entry("usr/bin/.wh.su")],
    ]


@pytest.mark.skipif(bool(NOT_HERE), reason=f"not here: {NOT_HERE}")
@pytest.mark.parametrize("packing", ["+gzip", ""])
def test_the_result_is_what_umoci_unpacks(unpack, tmp_path, packing):
    ours = compare(unpack, tmp_path, Image([make_tar(layer) for layer in odd_layers()],
                                           packing))
    assert "hard2" in ours and "hard1" not in ours
    assert "usr/lib/new.so" not in ours and "opaque/new" in ours


@pytest.mark.skipif(bool(NOT_HERE), reason=f"not here: {NOT_HERE}")
@pytest.mark.parametrize("seed", range(60 if SOAK else 4))
def test_random_layers_are_what_umoci_unpacks(unpack, tmp_path, seed):
    dice = random.Random(seed)
    layers, known = [], [""]

    def place():
        return dice.choice(known) + dice.choice("abcdef") + str(dice.randrange(4))

    for number in range(dice.randrange(2, 7)):
        layer, added = [], []
        for _ in range(dice.randrange(5, 60)):
            name, kind = place(), dice.random()
            if kind < 0.45:
                layer.append(entry(name, data=dice.randbytes(dice.choice([0, 9, 9000])),
                                   mode=dice.choice([0o644, 0o755, 0o2755, 0o400]),
                                   uid=dice.randrange(3), gid=dice.randrange(3)))
                added.append(name)
            elif kind < 0.7:
                layer.append(entry(name, DIR, mode=dice.choice([0o755, 0o700, 0o1777]),
                                   uid=dice.randrange(3)))
                known.append(name + "/")
            elif kind < 0.78:
                layer.append(entry(name, SYM, linkname=dice.choice(["x", "/a", "../b1"])))
            elif kind < 0.86 and added:
                layer.append(entry(name, LNK, linkname=dice.choice(added)))
            elif number and kind < 0.96:
                folder, _, last = name.rpartition("/")
                layer.append(entry(f"{folder}/.wh.{last}".lstrip("/")))
            elif number:
                layer.append(entry(dice.choice(known) + ".wh..wh..opq"))
        layers.append(layer)
    tars = [make_tar(layer) for layer in layers]
    image = Image(tars)
    layout = tmp_path / "try"
    image.layout(layout)
    done = subprocess.run(["umoci", "unpack", "--image", f"{layout}:latest",
                           tmp_path / "try-bundle"], capture_output=True)
    ours = unpack(tars, [digest(tar) for tar in tars])
    if done.returncode or ours.code:
        # a name beneath a file, a link to what is gone: refused by both or by us alone
        assert ours.code == 1 and ours.err.count("\n") == 1, ours.err
        return
    compare(unpack, tmp_path, image)


@pytest.mark.skipif(bool(NOT_HERE), reason=f"not here: {NOT_HERE}")
def test_very_many_files_are_what_umoci_unpacks(unpack, tmp_path):
    """100,000 of them in the long form; umoci takes its time."""
    many = 90_000 if SOAK else 9_000
    lower = [entry(f"d{i % 50}/e{i % 7}/f{i}", data=b"%d" % i) for i in range(many)]
    upper = [entry(f"d{i % 50}/e{i % 7}/.wh.f{i}") for i in range(0, many, 9)]
    upper += [entry(f"flat/g{i}", data=b"x" * (i % 50)) for i in range(many // 4)]
    ours = compare(unpack, tmp_path, Image([make_tar(lower), make_tar(upper)]))
    assert len(ours) > many


def test_a_hundred_thousand_files_are_unpacked(unpack):
    done = good(unpack, [[entry(f"d{i % 50}/f{i}") for i in range(60_000)],
                         [entry(f"d{i % 50}/.wh.f{i}") for i in range(0, 60_000, 2)] +
                         [entry(f"e/f{i}") for i in range(40_000)]])
    assert json.loads(done.out)["files"] == 30_000 + 40_000 + 51


def test_memory_stays_small(unpack):
    """40,000 files: what the kernel says that it had at most."""
    tar = make_tar([entry(f"a{i % 100}/f{i}", data=b"x" * 3000) for i in range(40_000)])
    done = unpack([tar], [digest(tar)])
    assert done.code == 0
    assert 1e6 < done.peak < 80e6, done.peak
