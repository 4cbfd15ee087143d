# SPDX-License-Identifier: Apache-2.0
"""bawn.py - run bawn, look at its processes, drive its terminal

Everything here has a deadline, and nothing sleeps for a guessed time: wait()
asks again until a fact holds.
"""
import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time

BAWN = os.environ["BAWN"]
SMALL = ("-t", "tiny", "-m", "256M", "--cpus", "1")
START_SECONDS = 120  # the first start of a key makes its warm image
ROOT = os.getuid() == 0
SOAK = bool(os.environ.get("BAWN_TEST_SOAK"))


def wait(fact, seconds=20, what="it"):
    """The first true value of fact(); fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not so after {seconds} s")
        time.sleep(0.02)


class Result:
    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return (f"{' '.join(map(str, self.argv))} -> {self.code}\n"
                f"stdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}")


class Bawn:
    """One BAWN_HOME and the commands on it."""

    def __init__(self, home, workspace, **extra):
        self.home, self.workspace = home, workspace
        self.prefix = lambda folder: []  # words in front of a command in folder
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": os.environ["HOME"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "BAWN_HOME": home,
            "BAWN_SYSTEM_DIR": os.environ.get("BAWN_TEST_SYSTEM", "/nonexistent"),
        }
        self.env.update(extra)

    def with_env(self, **extra):
        other = Bawn(self.home, self.workspace)
        other.env = {k: v for k, v in {**self.env, **extra}.items()
                     if v is not None}
        other.prefix = self.prefix
        return other

    def popen(self, *args, **kwargs):
        kwargs.setdefault("cwd", self.workspace)
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("env", self.env)
        return subprocess.Popen([*self.prefix(kwargs["cwd"]), BAWN, *map(str, args)], **kwargs)

    def raw(self, *args, input=None, timeout=60, **kwargs):
        """Any exit code; bytes when input is bytes, else text."""
        if input is not None:
            kwargs["stdin"] = subprocess.PIPE
        process = self.popen(*args, **kwargs)
        given = input.encode() if isinstance(input, str) else input
        try:
            out, err = process.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(
                f"no end after {timeout} s: bawn {' '.join(map(str, args))}\n"
                f"stdout: {(out or b'')[-2000:]!r}\nstderr: {(err or b'')[-2000:]!r}"
            ) from None
        except BaseException:
            process.kill()
            process.wait()
            raise
        if not isinstance(input, bytes):
            out = (out or b"").decode(errors="replace")
            err = (err or b"").decode(errors="replace")
        return Result(args, process.returncode, out, err)

    def __call__(self, *args, **kwargs):
        """A command that must succeed."""
        result = self.raw(*args, **kwargs)
        assert result.code == 0, result
        return result

    def create(self, *options, name=None, timeout=START_SECONDS):
        name = name or "t-" + secrets.token_hex(4)
        self("create", "--name", name, *SMALL, *options, "shell", ".",
             timeout=timeout)
        return name

    def exec(self, name, *argv, **kwargs):
        return self("exec", name, *argv, **kwargs)

    def sh(self, name, script, **kwargs):
        """Output of a script in the guest, as root, without the last newline."""
        return self("exec", "-u", "root", name, "sh", "-c", script,
                    **kwargs).out.rstrip("\n")

    def running(self, name, word):
        """How many guest processes have this word in their arguments."""
        script = ("for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done "
                  f"2>/dev/null | grep -c '{word[:-1]}[{word[-1]}]'")
        return int(self("exec", "-u", "root", name, "sh", "-c", script + " || true").out)

    def rm(self, *names):
        return self.raw("rm", "-f", *names)

    def folder(self, name):
        return f"{self.home}/state/sandboxes/{name}"

    def machine(self, name):
        """What its supervisor can reach."""
        return f"{self.folder(name)}/machine"

    def inspect(self, name):
        value = self("inspect", name).json
        return value[0] if isinstance(value, list) else value

    def row(self, name):
        for row in self("ls", "--json").json:
            if row["name"] == name:
                return row
        return None

    def status(self, name):
        row = self.row(name)
        return row and row["status"]

    def names(self):
        return self("ls", "-q").out.split()

    def state(self, name):
        with open(f"{self.machine(name)}/state.json", encoding="utf-8") as file:
            return json.load(file)

    def launcher(self, name, **request):
        """One request to a sandbox's launcher."""
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            with folder_of(self.folder(name)) as folder:
                one.connect(f"/proc/self/fd/{folder}/launch.sock")
            one.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(one.makefile().readline())

    def supervisor_pid(self, name):
        return self.state(name)["supervisor_pid"]

    def qemu_pid(self, name):
        return self.state(name)["qemu_pid"]

    def events(self):
        return [json.loads(line) for line in
                self("events", "--json").out.splitlines()]

    def processes(self):
        return processes_beneath(self.home)


@contextlib.contextmanager
def folder_of(path):
    """Its descriptor: a socket's path may be too long."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def alive(pid):
    """Whether it runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def status_of(pid):
    """/proc/PID/status as a dict."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file
                    if ":\t" in line)


def command_of(pid):
    """The name of its program, cut as the kernel does."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def children_of(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(status_of(name)["PPid"]) == pid:
                found += [int(name), *children_of(int(name))]
        except (OSError, KeyError):
            continue
    return found


def processes_beneath(folder):
    """Pids whose arguments, environment, folder or open files are in folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) != os.getpid() and alive(name) and _beneath(name, folder):
            found.append(int(name))
    return found


def _beneath(pid, folder):
    for name in ("cmdline", "environ"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if folder.encode() in file.read():
                    return True
        except OSError:
            pass
    links = [f"/proc/{pid}/cwd"]
    try:
        links += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        pass
    for link in links:
        try:
            if os.readlink(link).startswith(folder):
                return True
        except OSError:
            continue
    return False


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Screen:
    """A command on a terminal of its own (tmux), seen as a user sees it."""

    def __init__(self, folder, env, cwd, cols=80, rows=24):
        self.socket = f"{folder}/tmux-{secrets.token_hex(4)}"
        self.env, self.cwd, self.size = env, cwd, (cols, rows)

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *args],
                              capture_output=True, timeout=20, env=self.env,
                              cwd=self.cwd, check=False)
        return done.stdout.decode(errors="replace")

    def start(self, *argv):
        """Runs argv; afterwards the screen says `EXIT:code` and stays, also after Ctrl-C."""
        words = " ".join(quote(word) for word in argv)
        cols, rows = self.size
        self.tmux("new-session", "-d", "-s", "s", "-x", str(cols), "-y", str(rows),
                  f"trap : INT; {words}; echo EXIT:$?; exec sleep 1000")
        return self

    def bawn(self, *args):
        return self.start(BAWN, *args)

    def child(self):
        """The pid of the command that start() runs."""
        shell = self.tmux("display-message", "-p", "-t", "s", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="utf-8") as file:
            return int(file.read().split()[0])

    def text(self):
        return self.tmux("capture-pane", "-p", "-t", "s")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "s", *keys)

    def type(self, line):
        self.tmux("send-keys", "-t", "s", "-l", line)
        self.keys("Enter")

    def resize(self, cols, rows):
        self.tmux("resize-window", "-t", "s", "-x", str(cols), "-y", str(rows))

    def see(self, pattern, seconds=30):
        """Waits until the screen matches; gives the match."""
        last = [""]

        def look():
            last[0] = self.text()
            return re.search(pattern, last[0], re.M)
        try:
            return wait(look, seconds)
        except AssertionError:
            raise AssertionError(f"{pattern!r} not on the screen:\n{last[0]}") from None

    def exit_code(self, seconds=30):
        return int(self.see(r"EXIT:(\d+)", seconds).group(1))

    def close(self):
        self.tmux("kill-server")


def quote(word):
    return "'" + str(word).replace("'", "'\\''") + "'"
