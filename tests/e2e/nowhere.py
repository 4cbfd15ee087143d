# SPDX-License-Identifier: Apache-2.0
"""nowhere.py - is a secret anywhere that a guest, a file or another process has it?"""
import re
import subprocess

from bawn import ROOT, children_of, command_of

HOLDERS = ("bawn-net", "bawn-keys")


def memory_holds(pid, *texts):
    """The first of these that a process has anywhere in its memory."""
    overlap = max(len(text) for text in texts)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
            open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if "r" not in mode or "[v" in line:
                continue
            rest, at = b"", int(begin, 16)
            while at < int(end, 16):
                size = min(4 << 20, int(end, 16) - at)
                try:
                    memory.seek(at)
                    data = rest + memory.read(size)
                except (OSError, ValueError):
                    break
                for text in texts:
                    if text in data:
                        return text
                rest, at = data[-overlap:], at + size
    return None


def check_nowhere(bawn, name, *values, holders=HOLDERS):
    """Not in the guest's memory, disk, files and environments, not in another process than
    those that hold it, nor in a file of the sandbox: state, logs, checkpoints."""
    supervisor = bawn.supervisor_pid(name)
    pids = {pid: command_of(pid) for pid in children_of(supervisor)}
    pids[supervisor] = "bawn-supervisor"
    assert set(HOLDERS) <= set(pids.values())
    texts = [value.encode() for value in values]
    for pid, command in pids.items():
        for part in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{part}", "rb") as file:
                shown = file.read()
            assert not any(text in shown for text in texts), (command, part)
        if command not in holders and ROOT:
            assert memory_holds(pid, *texts) is None, command
    bawn("exec", "-u", "root", name, "sync")
    words = [word for value in values for word in ("-e", value)]
    found = subprocess.run(["grep", "-rlaF", "--devices=skip", *words, bawn.folder(name),
                            bawn.workspace], capture_output=True, text=True, check=False)
    assert found.stdout == "" and found.returncode == 1, found
    # a half, and its own words: what searches would be found by the next search
    words = " ".join(f"-e '{value[len(value) // 2:-6]}'\"{value[-6:]}\"" for value in values)
    script = (f"grep -rlaF {words} --devices=skip /etc /home /root /run /tmp /var "
              "/proc/[0-9]*/environ 2>/dev/null | grep -v '^/proc/self' || true")
    assert bawn("exec", "-u", "root", name, "sh", "-c", script, timeout=120).out == ""
