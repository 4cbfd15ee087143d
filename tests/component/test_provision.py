# SPDX-License-Identifier: Apache-2.0
"""Kernels and templates alone, through provision_tool: no QEMU, no supervisor.

Run: /usr/bin/python3 -m pytest tests/component/test_provision.py
BAWN_BUILD names the build folder (default: build). Started by root, each case
runs twice: as root, and as an unprivileged uid without an entry in passwd.
"""
import hashlib
import io
import json
import lzma
import os
import pathlib
import platform
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BAWN_BUILD", "build")
TOOL = BUILD / "tests/unit/provision/provision_tool"
UID = 1879000002
IS_ROOT = os.geteuid() == 0
IDENTITIES = ["root", "unprivileged"] if IS_ROOT else ["self"]
NO_SYSTEM = "/nonexistent/bawn"


def drop():
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


class Place:
    """A BAWN_HOME, and who works in it."""

    def __init__(self, home, identity):
        self.home, self.identity = home, identity
        home.mkdir(parents=True, exist_ok=True)
        if identity == "unprivileged":
            os.chown(home, UID, UID)

    def start(self, *args, wrap=(), **env):
        env = {"BAWN_HOME": str(self.home), "PATH": "/usr/bin:/bin",
               "BAWN_SYSTEM_DIR": NO_SYSTEM, **env}
        preexec = drop if self.identity == "unprivileged" else None
        return subprocess.Popen([*wrap, TOOL, *args], env=env, text=True,
                                stdout=subprocess.PIPE, preexec_fn=preexec,
                                stderr=subprocess.PIPE)

    def run(self, *args, **env):
        process = self.start(*args, **env)
        out, err = process.communicate(timeout=300)
        process.facts = dict(line.split(" ", 1) for line in out.splitlines())
        process.err = err
        return process


@pytest.fixture(params=IDENTITIES)
def place(request, tmp_path):
    # pytest's own folders are closed to others
    for folder in [tmp_path, tmp_path.parent, tmp_path.parent.parent]:
        if IS_ROOT:
            folder.chmod(0o755)
    return Place(tmp_path / "home", request.param)


def fsck(path):
    done = subprocess.run(["/sbin/e2fsck", "-fn", path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout


def debugfs(path, request):
    return subprocess.run(["/sbin/debugfs", "-R", request, path],
                          capture_output=True, text=True).stdout


def test_tiny_is_made_without_root(place):
    made = place.run("template", "tiny")
    assert made.returncode == 0, made.err
    disk = made.facts["disk"]
    fsck(disk)
    assert "agent:x:1000:1000" in debugfs(disk, "cat /etc/passwd")
    assert 'dest: "busybox"' in debugfs(disk, "stat /bin/sh")
    assert "User:  1000" in debugfs(disk, "stat /home/agent")
    assert os.stat(disk).st_mode & 0o777 == 0o444
    assert "step making the template tiny" in made.err
    again = place.run("template", "tiny")
    assert again.facts == made.facts and "step" not in again.err


def test_the_same_content_has_the_same_id(place, tmp_path):
    other = Place(tmp_path / "other", place.identity)
    first, second = place.run("template", "tiny"), other.run("template", "tiny")
    assert first.facts["id"] == second.facts["id"]


def test_two_makers_at_once_agree(place):
    makers = [place.start("template", "tiny") for _ in range(6)]
    results = [maker.communicate(timeout=60) for maker in makers]
    assert all(maker.returncode == 0 for maker in makers)
    assert len({out for out, _ in results}) == 1
    assert sum("step" in err for _, err in results) == 1


def test_a_killed_maker_leaves_no_trouble(place):
    for delay in [0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03]:
        maker = place.start("template", "tiny")
        time.sleep(delay)
        maker.send_signal(signal.SIGKILL)
        maker.communicate()
        made = place.run("template", "tiny")
        assert made.returncode == 0, made.err
        fsck(made.facts["disk"])
        store = place.home / "data/templates"
        assert not [p for p in store.iterdir() if p.name.startswith(".making")]
        shutil.rmtree(store)


def test_a_changed_disk_is_refused(place):
    disk = pathlib.Path(place.run("template", "tiny").facts["disk"])
    disk.chmod(0o600)
    with open(disk, "r+b") as file:
        file.write(b"x")
    found = place.run("template", "tiny")
    assert found.returncode == 1 and "changed" in found.err
    assert place.run("templates").facts == {}


def test_a_disk_that_others_may_write_is_refused(place):
    disk = pathlib.Path(place.run("template", "tiny").facts["disk"])
    disk.chmod(0o666)
    assert "another user" in place.run("template", "tiny").err


def test_unknown_names_are_not_found(place):
    for name in ["nonsense", "../base", "/etc", ".hidden", "a/b", ""]:
        found = place.run("template", name)
        assert found.returncode == 1
        assert found.err.startswith("error 2 "), found.err


@pytest.mark.parametrize("name", ["with space", "quote'\"", "ünïcödé", "$HOME"])
def test_odd_homes_work(place, name):
    odd = Place(place.home / name, place.identity)
    made = odd.run("template", "tiny")
    assert made.returncode == 0, made.err
    fsck(made.facts["disk"])


def test_a_read_only_home_is_a_clear_error(tmp_path):
    if not IS_ROOT:
        pytest.skip("needs root to become somebody else")
    home = tmp_path / "home"
    home.mkdir()
    for folder in [tmp_path, tmp_path.parent, tmp_path.parent.parent]:
        folder.chmod(0o755)
    closed = Place(home, "root")
    closed.identity = "unprivileged"
    made = closed.run("template", "tiny")
    assert made.returncode == 1 and "BAWN_HOME" in made.err


def test_little_space_is_said_before_anything_is_made(place):
    if not IS_ROOT:
        pytest.skip("needs root to mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o",
                              "size=2m,mode=0777", "tmpfs", place.home])
    if mounted.returncode:
        pytest.skip("cannot mount here")
    try:
        made = place.run("template", "tiny")
        assert made.returncode == 1 and "are free" in made.err
        assert "step" not in made.err
    finally:
        subprocess.run(["umount", place.home], check=True)


def test_everybody_finds_the_system_wide_template(tmp_path):
    if not IS_ROOT:
        pytest.skip("needs root")
    for folder in [tmp_path, tmp_path.parent, tmp_path.parent.parent]:
        folder.chmod(0o755)
    system = tmp_path / "system"
    owner = Place(tmp_path / "owner", "root")
    user = Place(tmp_path / "user", "unprivileged")
    where = {"BAWN_SYSTEM_DIR": str(system)}
    refused = user.run("template-system", "tiny", **where)
    assert refused.returncode == 1 and "sudo" in refused.err
    old = os.umask(0o077)
    try:
        made = owner.run("template-system", "tiny", **where)
    finally:
        os.umask(old)
    assert made.returncode == 0 and made.facts["system"] == "1"
    found = user.run("template", "tiny", **where)
    assert found.returncode == 0 and "step" not in found.err
    assert found.facts["disk"] == f"{system}/templates/tiny/disk.ext4"
    # what a stranger put there is nothing to boot from
    os.chown(found.facts["disk"], 12345, 12345)
    assert user.run("template", "tiny", **where).returncode == 1


def test_a_wrong_kernel_source_is_an_error(place):
    found = place.run("kernel", BAWN_KERNEL_SOURCE="nonsense")
    assert found.returncode == 1 and "debian or host" in found.err


# ---- the kernel from Debian's package ----

def cpio_entries(data):
    entries, at = {}, 0
    while True:
        fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16)
                  for i in range(13)]
        assert data[at:at + 6] == b"070701"
        name_at = at + 110
        name = data[name_at:name_at + fields[11] - 1].decode()
        body = (name_at + fields[11] + 3) & ~3
        if name == "TRAILER!!!":
            return entries
        entries[name] = (fields[1], data[body:body + fields[6]],
                         (fields[9], fields[10]))
        at = (body + fields[6] + 3) & ~3


def depends_of(module):
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [d.replace("-", "_") for d in found.group(1).decode().split(",")
            if d]


def check_initramfs(path):
    entries = cpio_entries(pathlib.Path(path).read_bytes())
    assert entries["init"][0] == 0o100755
    for folder in ["dev", "proc", "sys", "newroot"]:
        assert entries[folder][0] == 0o40755
    assert entries["dev/console"][0] == 0o20600
    assert entries["dev/console"][2] == (5, 1)
    lines = entries["modules.order"][1].decode().split()
    assert lines[0] == "[boot]"
    order = [line for line in lines if not line.startswith("[")]
    loaded = set()
    for name in order:
        mode, module, _ = entries["modules/" + name]
        assert mode == 0o100644
        assert set(depends_of(module)) <= loaded, name
        loaded.add(name[:-3])
    return order


def have_package():
    try:
        done = subprocess.run(
            ["apt-cache", "depends", "linux-image-cloud-amd64"],
            capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0 and platform.machine() == "x86_64"


@pytest.fixture(scope="module", params=IDENTITIES)
def fetched(request, tmp_path_factory):
    if not have_package():
        pytest.skip("the host's apt does not know the kernel package")
    folder = tmp_path_factory.mktemp("kernel")
    if IS_ROOT:
        for parent in [folder, folder.parent, folder.parent.parent]:
            parent.chmod(0o755)
    place = Place(folder / "home", request.param)
    makers = [place.start("kernel", BAWN_KERNEL_SOURCE="debian")
              for _ in range(2)]
    results = [maker.communicate(timeout=300) for maker in makers]
    if all("Temporary failure" in err for _, err in results):
        pytest.skip("no network")
    assert all(m.returncode == 0 for m in makers), results
    assert results[0][0] == results[1][0]
    assert sum("step fetching" in err for _, err in results) == 1
    facts = dict(line.split(" ", 1) for line in results[0][0].splitlines())
    return place, facts


def test_the_fetched_kernel_is_whole(fetched):
    place, facts = fetched
    folder = pathlib.Path(facts["vmlinux"]).parent
    assert pathlib.Path(facts["vmlinux"]).read_bytes()[:4] == b"\x7fELF"
    manifest = json.loads((folder / "kernel.json").read_text())
    assert manifest["source"].startswith("Debian package ")
    for file in manifest["files"]:
        data = (folder / file["name"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file["sha256"]
    assert not (folder.parent / ".making").exists()


def test_the_initramfs_has_what_the_guest_needs(fetched):
    _, facts = fetched
    order = check_initramfs(facts["initramfs"])
    for name in ["virtio_pci", "virtio_blk", "virtio_console", "virtio_rng",
                 "fuse", "overlay", "dummy", "tun", "bridge", "br_netfilter",
                 "veth", "nf_tables", "nft_chain_nat", "nft_compat",
                 "xt_MASQUERADE", "xt_addrtype", "xt_conntrack"]:
        assert name + ".ko" in order
    assert order.index("virtio_blk.ko") < order.index("fuse.ko")
    # What the boot does not wait for comes after what it does.
    assert order.index("nf_tables.ko") < order.index("bridge.ko")
    assert os.path.getsize(facts["initramfs"]) < 16 << 20


def test_a_second_look_fetches_nothing(fetched):
    place, facts = fetched
    found = place.run("kernel-find")
    assert found.returncode == 0 and found.facts == facts
    assert "step" not in found.err


def test_a_damaged_kernel_is_not_used(fetched):
    place, facts = fetched
    module = pathlib.Path(facts["vmlinux"]).parent / "modules/fuse.ko"
    kept, stat = module.read_bytes(), module.stat()
    module.chmod(0o600)
    module.write_bytes(kept[:-1] + b"?")
    assert place.run("kernel-find").err.startswith("error 2 ")
    module.write_bytes(kept)
    os.utime(module, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert place.run("kernel-find").returncode == 0


def test_the_fetched_kernel_is_not_one_that_crashes(fetched):
    _, facts = fetched
    version = facts["source"].removeprefix("Debian package ").split("-")[0]
    assert version not in ("6.1.191", "6.1.192")


# ---- the host's kernel, in a mount namespace with a /boot of its own ----

def fake_module(depends):
    info = b"license=GPL\0depends=" + depends.encode() + b"\0name=x\0"
    names = b"\0.shstrtab\0.modinfo\0"
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 62, 1,
                       0, 0, 64 + len(names) + len(info), 0, 64, 0, 0, 64, 3, 1)

    def section(name, kind, offset, size):
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size,
                           0, 0, 1, 0)

    return (head + names + info + section(0, 0, 0, 0) +
            section(1, 3, 64, len(names)) +
            section(11, 1, 64 + len(names), len(info)))


def fake_host(folder, mode):
    release = platform.release()
    boot, modules = folder / "boot", folder / "upper/modules"
    boot.mkdir()
    (folder / "work").mkdir()
    kernel = boot / f"vmlinuz-{release}"
    kernel.write_bytes(b"\x7fELF" + b"kernel" * 1000)
    kernel.chmod(mode)
    tree = modules / release / "kernel"
    tree.mkdir(parents=True)
    (modules / release / "modules.builtin").write_text(
        "kernel/drivers/virtio/virtio_pci.ko\n")
    (tree / "virtio_blk.ko.xz").write_bytes(
        lzma.compress(fake_module("virtio-core"), check=lzma.CHECK_CRC32))
    (tree / "virtio-core.ko").write_bytes(fake_module(""))
    (tree / "virtio_pci.ko").write_bytes(fake_module(""))
    return ["unshare", "--mount", "sh", "-c",
            'set -e; mount --bind "$1/boot" /boot; mount -t overlay -o '
            '"lowerdir=/usr/lib,upperdir=$1/upper,workdir=$1/work" '
            'overlay /usr/lib; shift; exec setpriv $SETPRIV "$@"', "sh", folder]


def run_mounted(place, wrap, source):
    who = "--no-new-privs"
    if place.identity == "unprivileged":
        who += (f" --reuid {UID} --regid {UID} --clear-groups "
                "--inh-caps=-all")
    rooted = Place(place.home, "root")
    if place.identity == "unprivileged":
        os.chown(place.home, UID, UID)
    process = rooted.start("kernel", wrap=wrap, SETPRIV=who,
                           BAWN_KERNEL_SOURCE=source)
    out, err = process.communicate(timeout=60)
    if "mount:" in err or "unshare:" in err:
        pytest.skip("cannot mount here")
    return process.returncode, out, err


@pytest.fixture
def on_fake_host(place, tmp_path):
    if not IS_ROOT:
        pytest.skip("needs root to mount")

    def run(mode):
        folder = tmp_path / "host"
        folder.mkdir()
        return run_mounted(place, fake_host(folder, mode), "host")

    return run


def test_the_hosts_kernel_serves_with_compressed_modules(on_fake_host):
    code, out, err = on_fake_host(0o644)
    assert code == 0, err
    facts = dict(line.split(" ", 1) for line in out.splitlines())
    assert facts["source"].startswith("host /boot/vmlinuz-")
    assert check_initramfs(facts["initramfs"]) == ["virtio_core.ko",
                                                   "virtio_blk.ko"]


def test_an_unreadable_host_kernel_says_what_to_do(on_fake_host, place):
    if place.identity != "unprivileged":
        pytest.skip("root reads everything")
    code, _, err = on_fake_host(0o600)
    assert code == 1
    assert "Permission denied" in err and "sudo chmod +r /boot/vmlinuz-" in err


# ---- kernels that crash, from an archive of our own in place of apt ----

APT = """#!/bin/sh
cd {folder} && echo "$*" >> asked || exit 1
case $1 in
depends) echo "  Depends: $(cat newest)" ;;
pkgnames) ls packages ;;
madison) shift; for name; do echo "$name |  $(cat packages/$name) | here"; done ;;
show) echo ;;
*) shift $(($# - 1)); cp debs/$1.deb "$OLDPWD" ;;
esac
"""


class Archive:
    """What apt knows (packages), and what can be downloaded (debs)."""

    def __init__(self, folder, place):
        self.folder, self.place = folder, place
        for name in ["packages", "debs"]:
            (folder / name).mkdir(parents=True)
        (folder / "asked").touch()
        (folder / "asked").chmod(0o666)
        (folder / "apt").write_text(APT.format(folder=folder))
        (folder / "apt").chmod(0o755)

    def add(self, abi, version, download=True):
        release = f"6.1.0-{abi}-cloud-amd64"
        name = "linux-image-" + release
        (self.folder / "packages" / name).write_text(version)
        (self.folder / "newest").write_text(max(
            path.name for path in (self.folder / "packages").iterdir()))
        if not download:
            return
        tree = self.folder / name
        for path, data in {
                "DEBIAN/control": f"Package: {name}\nVersion: {version}\n"
                "Architecture: amd64\nMaintainer: a\nDescription: a\n".encode(),
                f"boot/vmlinuz-{release}": b"\x7fELF" + b"kernel" * 1000,
                f"lib/modules/{release}/modules.builtin": b"",
                f"lib/modules/{release}/virtio_blk.ko": fake_module("")}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)
        subprocess.run(["dpkg-deb", "-Znone", "-b", tree,
                        self.folder / "debs" / f"{name}.deb"],
                       check=True, capture_output=True)

    def kernel(self):
        """The ABI that serves, what was said, and what apt was asked."""
        asked = self.folder / "asked"
        asked.write_text("")
        code, out, err = run_mounted(self.place, [
            "unshare", "--mount", "sh", "-c",
            'set -e; mount --bind "$1" /usr/bin/apt-cache; '
            'mount --bind "$1" /usr/bin/apt-get; shift; '
            'exec setpriv $SETPRIV "$@"', "sh", self.folder / "apt"], "debian")
        assert code == 0, err
        facts = dict(line.split(" ", 1) for line in out.splitlines())
        return int(facts["release"].split("-")[1]), err, asked.read_text()

    def forget(self):
        """The day is over."""
        for mark in self.place.home.glob("cache/kernels/*/in-vain"):
            os.utime(mark, (time.time() - 90000,) * 2)


@pytest.fixture
def archive(place, tmp_path):
    if not IS_ROOT or not have_package():
        pytest.skip("needs root to mount, and an apt to mount over")
    return Archive(tmp_path / "archive", place)


def test_a_kernel_that_crashes_is_passed_over(archive):
    for abi, version in [(53, "6.1.187-1"), (54, "6.1.190-1"), (55, "6.1.192-1")]:
        archive.add(abi, version)
    abi, said, _ = archive.kernel()
    assert abi == 54
    assert "(linux-image-6.1.0-54-cloud-amd64; 6.1.0-55 crashes in ext4)" in said
    assert archive.kernel() == (54, "", "")


def test_where_there_is_no_other_the_one_that_crashes_serves(archive):
    archive.add(55, "6.1.192-1")
    abi, said, _ = archive.kernel()
    assert abi == 55
    assert said.count("6.1.0-55-cloud-amd64 crashes in ext4, and no other") == 1
    assert archive.kernel() == (55, "", "")


def test_a_kernel_in_the_cache_that_crashes_is_replaced_when_it_can_be(archive):
    archive.add(55, "6.1.192-1")
    archive.kernel()
    archive.forget()
    archive.add(54, "6.1.190-1", download=False)
    abi, said, asked = archive.kernel()
    assert abi == 55 and "no other can be had" in said
    assert "download linux-image-6.1.0-54" in asked
    assert "download linux-image-6.1.0-55" not in asked
    assert archive.kernel() == (55, "", "")
    archive.forget()
    archive.add(53, "6.1.187-1")
    archive.add(54, "6.1.190-1")
    assert archive.kernel()[0] == 54
    assert archive.kernel() == (54, "", "")


VENDOR = """builder = vendor
from = tiny
needs = 10M
vendor = https://vendor.example/install
install = sh "$INSTALLER"
check = acme --version
allow = vendor.example
"""


def test_a_vendors_template_is_what_its_installer_left(place, tmp_path):
    folder = place.home / "config/templates"
    folder.mkdir(parents=True)
    (folder / "acme.ini").write_text(VENDOR)
    for path in (place.home / "config", folder):
        if place.identity == "unprivileged":
            os.chown(path, UID, UID)
    failed = place.run("template", "acme")
    assert failed.returncode == 1
    assert "template acme: its vendor cannot be reached (https://vendor.example" in failed.err
    assert "name acme" not in place.run("templates").err + str(place.run("templates").facts)
    with tarfile.open(tmp_path / "files.tar", "w") as tar:
        info = tarfile.TarInfo("bin/acme")
        info.size, info.mode = 3, 0o755
        tar.addfile(info, io.BytesIO(b"one"))
    made = place.run("template", "acme", FAKE_VENDOR=str(tmp_path / "files.tar"))
    assert made.returncode == 0, made.err
    assert made.facts["source"] == "tiny, https://vendor.example/install"
    fsck(made.facts["disk"])
    shown = subprocess.run(["/sbin/debugfs", "-R", "cat /bin/acme", made.facts["disk"]],
                           capture_output=True, check=True)
    assert shown.stdout == b"one"
    # The first sandbox on it is to try it.
    assert (place.home / "data/templates/.check-acme").exists()
    # What is missing in the file is said before anything begins.
    (folder / "half.ini").write_text(VENDOR.replace("install = ", "# "))
    assert "needs from, vendor, install" in place.run("template", "half").err


@pytest.mark.parametrize("name", ["cursor", "kiro", "docker-agent", "bd"])
def test_vendors_of_ours_are_named_when_they_cannot_be_reached(tmp_path, name):
    told = Place(tmp_path / "home", "self").run("template", name)
    assert told.returncode == 1
    assert f"template {name}: its vendor cannot be reached (https://" in told.err, told.err
