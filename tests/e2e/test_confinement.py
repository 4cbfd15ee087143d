# SPDX-License-Identifier: Apache-2.0
"""The guest is hostile, so QEMU and the supervisor hold as little as they can."""
import os
import re
import socket
import subprocess

import pytest

from bawn import (ROOT, START_SECONDS, alive, children_of, command_of, status_of, wait)

LIB = os.environ.get("BAWN_TEST_LIB", "/nonexistent")


@pytest.fixture(scope="module")
def machine(session, shared_box):
    supervisor = session.supervisor_pid(shared_box)
    helpers = {command_of(pid): pid for pid in children_of(supervisor)}
    return {"name": shared_box, "qemu": session.qemu_pid(shared_box),
            "supervisor": supervisor, "launch": helpers["bawn-launch"],
            "files": helpers["bawn-files"], "net": helpers["bawn-net"]}


# Root's launcher becomes the owner of a share and reaches it, and binds low
# ports; what makes a namespace for bawn-files is dormant, and not for children.
LAUNCH_CAPABILITIES = sum(1 << number for number in (0, 1, 2, 3, 5, 6, 7, 8, 10))
LAUNCH_DORMANT = 1 << 21


@pytest.mark.parametrize("role", ["qemu", "supervisor", "launch", "files", "net"])
def test_no_capability_no_new_privileges_and_a_seccomp_filter(machine, role):
    facts = status_of(machine[role])
    for key in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"):
        # Without new privileges the bounding set bounds nothing; it is empty all
        # the same where we may make it so.
        if key == "CapBnd" and not ROOT:
            continue
        more = LAUNCH_CAPABILITIES if ROOT and role == "launch" else 0
        more |= LAUNCH_DORMANT if more and key == "CapPrm" else 0
        assert int(facts[key], 16) & ~more == 0, (key, facts[key])
    assert facts["NoNewPrivs"].strip() == "1"
    assert facts["Seccomp"].strip() == "2"


@pytest.mark.parametrize("role", ["qemu", "supervisor", "net"])
def test_run_by_root_it_has_an_unprivileged_uid_of_its_own(session, machine, role,
                                                           as_root):
    uids = set(status_of(machine[role])["Uid"].split())
    assert len(uids) == 1 and int(uids.pop()) >= 0x70000000
    assert status_of(machine[role])["Groups"].strip() in ("", str(
        status_of(machine[role])["Gid"].split()[0]))
    other = session.create()
    assert status_of(session.qemu_pid(other))["Uid"] != status_of(machine["qemu"])["Uid"]
    session.rm(other)


def test_qemu_has_no_network_interface(machine):
    with open(f"/proc/{machine['qemu']}/net/dev", encoding="utf-8") as file:
        names = [line.split(":")[0].strip() for line in file if ":" in line]
    assert names in ([], ["lo"])
    assert os.stat(f"/proc/{machine['qemu']}/ns/net").st_ino != os.stat(
        "/proc/self/ns/net").st_ino


def test_qemu_has_namespaces_of_its_own(machine):
    for kind in ("net", "mnt", "ipc", "pid"):
        assert os.readlink(f"/proc/{machine['qemu']}/ns/{kind}") != os.readlink(
            f"/proc/self/ns/{kind}"), kind


def test_qemu_sees_no_path_outside_its_own(session, machine):
    root = f"/proc/{machine['qemu']}/root"
    for path in ("/home", "/root", "/etc/passwd", "/proc/1", "/var", "/tmp", "/bin",
                 session.home):
        assert not os.path.exists(f"{root}{path}"), path


def test_qemu_holds_no_writable_descriptor_of_a_shared_file(session, machine):
    """V8: a write to the shared RAM file would change a neighbour."""
    folder = f"/proc/{machine['qemu']}"
    own = session.folder(machine["name"])
    seen_ram, memories = False, {}
    for fd in os.listdir(f"{folder}/fd"):
        target = os.readlink(f"{folder}/fd/{fd}")
        if not target.startswith("/") or target.startswith(("/dev/", "/proc/")):
            continue
        with open(f"{folder}/fdinfo/{fd}", encoding="utf-8") as file:
            flags = int(re.search(r"flags:\s*(\d+)", file.read()).group(1), 8)
        writable = flags & os.O_ACCMODE != os.O_RDONLY
        seen_ram |= "/ram" in target
        if target.startswith("/memfd:"):
            memories[target.split(":")[1].split()[0]] = writable
            continue
        assert not writable or target.startswith(own), (target, oct(flags))
    # Of this sandbox alone; bawn-files reads one that the guest writes, and both write the last.
    assert memories == {"slots": False, "to-guest": False, "from-guest": True, "rings": True}
    maps = open(f"{folder}/maps", encoding="utf-8").read()
    ram = [line for line in maps.splitlines() if line.endswith("/ram")]
    assert ram or seen_ram, "the RAM file is mapped"
    assert all(line.split()[1][3] == "p" for line in ram), ram


def test_shared_files_are_read_only_on_disk(session, machine):
    for folder, _, files in os.walk(f"{session.home}/data/warm"):
        for name in files:
            if name in ("ram", "state", "disk.qcow2"):
                mode = os.stat(f"{folder}/{name}").st_mode & 0o777
                assert mode & 0o222 == 0, (folder, name, oct(mode))


def test_the_files_server_has_no_network_and_no_other_folder(session, machine, as_root):
    """Its filter knows no socket; Landlock knows the share alone."""
    pid = machine["files"]
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    assert status_of(pid)["Seccomp_filters"].strip() == "2"
    own = (session.workspace, session.folder(machine["name"]) + "/files", "socket:", "pipe:",
           "anon_inode:", "/memfd:", "/dev/null", "/proc")
    for fd in os.listdir(f"/proc/{pid}/fd"):
        target = os.readlink(f"/proc/{pid}/fd/{fd}")
        assert target.startswith(own), target


def test_the_network_server_has_no_file_but_its_own(session, machine):
    own = (session.folder(machine["name"]) + "/net/", "socket:", "pipe:", "anon_inode:",
           "/memfd:", "/dev/null", "/etc/ssl/")
    try:
        fds = os.listdir(f"/proc/{machine['net']}/fd")
    except PermissionError:
        assert not ROOT  # it cannot be looked into
        return
    for fd in fds:
        target = os.readlink(f"/proc/{machine['net']}/fd/{fd}")
        assert target.startswith(own), target


@pytest.mark.parametrize("role,call", [
    ("launch", ("mount", "x", "/", "tmpfs", "0", "0")), ("launch", ("ptrace", "16", "1")),
    ("launch", ("socket", "17", "3", "0")), ("files", ("socket", "2", "1", "0")),
    ("net", ("socket", "1", "1", "0")), ("net", ("socket", "16", "3", "0")),
    ("net", ("socket", "2", "3", "1")), ("net", ("openat", "-100", "/etc/passwd", "0")),
    ("net", ("execve", "/bin/true", "0", "0"))], ids=str)
def test_a_system_call_injected_into_a_helper_fails(session, role, call):
    tool = f"{LIB}/inject_syscall"
    name = session.create()
    pids = {command_of(pid): pid for pid in children_of(session.supervisor_pid(name))}
    try:
        done = subprocess.run([tool, str(pids[f"bawn-{role}"]), *call],
                              capture_output=True, text=True, timeout=30, check=False)
        if done.returncode == 1 and not ROOT:
            pytest.skip(f"tracing is refused here: {done.stderr.strip()}")
        assert done.returncode == 0, done
        assert re.search(r"^\w+ = -\d+|killed by signal", done.stdout), done
    finally:
        session.rm(name)


def test_no_process_of_a_sandbox_dumps_core(machine):
    for role in ("qemu", "supervisor", "launch", "files", "net"):
        with open(f"/proc/{machine[role]}/limits", encoding="utf-8") as file:
            line = next(line for line in file if "core file" in line)
        assert line.split()[4] == "0", line


def test_qemus_environment_carries_nothing_of_the_callers(machine):
    with open(f"/proc/{machine['qemu']}/environ", "rb") as file:
        names = {pair.split(b"=")[0] for pair in file.read().split(b"\0") if pair}
    assert names <= {b"LD_PRELOAD", b"PATH", b"LANG", b"TZ", b"HOME"} | {
        name for name in names if name.startswith(b"BAWN_RAM")
        or name.startswith(b"BAWN_SHIM")}, names


def test_qemu_holds_no_socket_file_and_no_foreign_descriptor(session, machine):
    folder = f"/proc/{machine['qemu']}/fd"
    for fd in os.listdir(folder):
        target = os.readlink(f"{folder}/{fd}")
        if target.endswith("/bawn-ramshim.so"):
            continue
        assert target.startswith((session.home, "socket:", "pipe:", "anon_inode:",
                                  "/dev/null", "/memfd:", "/usr/share/",
                                  os.environ.get("BAWN_TEST_SYSTEM", "/none"))), target


INJECTED = {
    "execve": ["/usr/bin/true", "0", "0"], "socket": ["2", "1", "0"],
    "openat": ["-100", "/etc/passwd", "0"], "open": ["/etc/hostname", "0"],
    "ptrace": ["16", "1", "0", "0"], "unshare": ["0x10000000"],
    "mount": ["none", "/", "tmpfs", "0", "0"], "setns": ["0", "0"],
    "connect": ["0", "0", "0"], "bpf": ["0", "0", "0"], "userfaultfd": ["0"],
    "keyctl": ["0", "0"], "io_uring_setup": ["4", "0"], "fork": [], "kill": ["1", "9"],
    "process_vm_readv": ["1", "0", "0", "0", "0", "0"], "setuid": ["0"],
}


@pytest.mark.parametrize("syscall", INJECTED)
def test_a_system_call_injected_into_qemu_fails(session, syscall):
    """It is refused, or it costs QEMU its life; the host loses nothing."""
    tool = f"{LIB}/inject_syscall"
    assert os.access(tool, os.X_OK), "tests/lib/inject_syscall was built"
    name = session.create()
    try:
        done = subprocess.run([tool, str(session.qemu_pid(name)), syscall,
                               *INJECTED[syscall]], capture_output=True, text=True,
                              timeout=30, check=False)
        if done.returncode == 1 and not ROOT:
            pytest.skip(f"tracing is refused here: {done.stderr.strip()}")
        assert done.returncode == 0, done
        assert re.search(rf"^{syscall} = -\d+|killed by signal", done.stdout), done
    finally:
        session.rm(name)


def test_the_control_socket_refuses_another_uid(session, machine, as_root):
    """V1: mode 0600 in a 0700 folder, and the peer is asked who it is."""
    path = f"{session.machine(machine['name'])}/control.sock"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
    code = ("import os, socket, sys\n"
            "fd = os.open(sys.argv[1], os.O_PATH)\n"
            "os.setgroups([]); os.setgid(65000); os.setuid(65000)\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "try:\n"
            "    s.connect(f'/proc/self/fd/{fd}/control.sock')\n"
            "    s.sendall(b'{\"op\":\"status\"}\\n')\n"
            "    print(s.recv(100).decode())\n"
            "except OSError as error:\n"
            "    print('refused', error)\n")
    done = subprocess.run(["/usr/bin/python3", "-c", code, os.path.dirname(path)],
                          capture_output=True, text=True, timeout=20, check=False)
    assert '"ok": true' not in done.stdout and '"ok":true' not in done.stdout, done
    assert done.stdout.strip(), done


def control(session, name):
    one = socket.socket(socket.AF_UNIX)
    folder = os.open(session.machine(name), os.O_PATH)
    one.connect(f"/proc/self/fd/{folder}/control.sock")
    os.close(folder)
    one.settimeout(20)
    return one


@pytest.mark.parametrize("bytes_sent", [
    b"not json\n", b"{}\n", b'{"op":"nothing"}\n', b'{"op":"status","more":1}\n',
    b'[1,2]\n', b'{"op":"exec"}\n', b'{"op":"exec","argv":"x"}\n', b"\0\0\0\0\n",
    b"x" * 600_000 + b"\n", b'{"op":"kill","session":-1}\n',
])
def test_a_bad_request_is_an_error_and_hurts_nobody(session, machine, bytes_sent):
    with control(session, machine["name"]) as one:
        try:
            one.sendall(bytes_sent)
            answer = one.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    assert answer == b"" or b'"ok":false' in answer.replace(b" ", b""), answer
    assert session.sh(machine["name"], "echo fine") == "fine"


def test_clients_that_never_read_or_write_hurt_nobody(session, machine):
    idle = [control(session, machine["name"]) for _ in range(40)]
    assert session.sh(machine["name"], "echo fine") == "fine"
    for one in idle:
        one.close()


# Root in the guest takes PID 1's own descriptor of the port and writes into it.
BREAK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pidfd = os.pidfd_open(1)
for name in os.listdir("/proc/1/fd"):
    if os.readlink("/proc/1/fd/" + name).startswith("/dev/vport"):
        port = libc.syscall(438, pidfd, int(name), 0)
        os.set_blocking(port, True)
        os.write(port, eval(sys.argv[1]))
"""
GARBAGE = ["os.urandom(4096)", "bytes(4096)",
           "b'\\2\\0\\0\\0\\1\\0\\0\\0\\xff\\xff\\xff\\xff'",
           "b'\\1\\0\\0\\0\\0\\0\\0\\0\\2\\0\\0\\0\\xff\\xff'"]


@pytest.mark.parametrize("garbage", GARBAGE if ROOT else GARBAGE[:1])
def test_a_guest_that_breaks_the_protocol_is_stopped_with_a_reason(bawn, garbage):
    name = "broken-" + os.urandom(3).hex()
    done = bawn.raw("create", "--name", name, "-m", "1G", "shell", ".", timeout=240)
    if done.code and not ROOT:
        pytest.skip(f"no base template here: {done.err.strip()}")
    assert done.code == 0, done
    supervisor, qemu = bawn.supervisor_pid(name), bawn.qemu_pid(name)
    job = bawn.popen("exec", "-u", "root", name, "python3", "-c", BREAK, garbage)
    out, err = job.communicate(timeout=60)
    wait(lambda: not alive(qemu) and not alive(supervisor), 10, f"it ended {out} {err}")
    assert bawn.status(name) == "failed"
    assert "protocol" in bawn.row(name)["reason"], bawn.row(name)
    if garbage == GARBAGE[0]:
        assert bawn.sh(name, "echo again", timeout=START_SECONDS) == "again"


def test_state_is_private(session, machine):
    for kind in ("state", "data", "cache", "config"):
        path = f"{session.home}/{kind}"
        if os.path.isdir(path):
            assert os.stat(path).st_mode & 0o077 == 0, path


def test_the_guest_has_no_network_card(session, machine):
    assert session.sh(machine["name"], "ls -d /sys/class/net/*/device 2>/dev/null || true"
                      ) == ""
