# SPDX-License-Identifier: Apache-2.0
"""trees.py - what the workspace benchmark works on, made from a fixed seed

    ROOT/tree       git repository: 10,000 files in 1,000 folders
    ROOT/project    a small C project with a Makefile
    ROOT/work       empty: what a row makes goes here
    ROOT/big        256 MiB
"""
import hashlib
import io
import os
import random
import shutil
import subprocess
import tarfile
import time

FOLDERS, FILES = 1000, 10
TAR_FOLDERS, TAR_FILES = 500, 10
SAMPLE_FOLDERS = 20
UNITS = 8
BIG_BYTES = 256 << 20
NEEDLE = "quicksilver"
NEEDLES = 100
WORDS = ("int return void static const char for while if else struct sizeof size_t buffer "
         "length offset pointer value result error open close read write").split()


def text(rng, size):
    out = []
    left = size
    while left > 0:
        line = " ".join(rng.choices(WORDS, k=8))
        out.append(line)
        left -= len(line) + 1
    return ("\n".join(out) + "\n").encode()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def git(folder, *args, user=()):
    subprocess.run([*user, "git", "-c", "user.name=bench", "-c", "user.email=bench@example.org",
                    "-c", "gc.auto=0", "-C", folder, *args], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def make_tree(folder, folders=FOLDERS, needles=NEEDLES):
    rng = random.Random(1)
    marked = set(rng.sample(range(folders * FILES), needles))
    for number in range(folders * FILES):
        outer, inner = divmod(number // FILES, 25)
        content = text(rng, rng.randint(200, 4000))
        if number in marked:
            content += NEEDLE.encode() + b"\n"
        write(f"{folder}/part{outer}/folder{inner}/file{number % FILES}.c", content)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "bench")
    git(folder, "repack", "-adq")


def make_project(folder):
    calls = "".join(f"int unit{n}(int x);\n" for n in range(UNITS))
    write(f"{folder}/units.h", calls.encode())
    for n in range(UNITS):
        body = "".join(f"static int step{n}_{i}(int x) {{ return x * {i + 3} + {n}; }}\n"
                       for i in range(60))
        total = " + ".join(f"step{n}_{i}(x)" for i in range(60))
        write(f"{folder}/unit{n}.c",
              f'#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n'
              f'#include "units.h"\n{body}int unit{n}(int x) {{ return {total}; }}\n'.encode())
    total = " + ".join(f"unit{n}(argc)" for n in range(UNITS))
    write(f"{folder}/main.c", f'#include <stdio.h>\n#include "units.h"\nint main(int argc, '
                              f'char **argv) {{ printf("%d\\n", {total}); }}\n'.encode())
    objects = "main.o " + " ".join(f"unit{n}.o" for n in range(UNITS))
    write(f"{folder}/Makefile", f"CFLAGS = -O1\nprogram: {objects}\n\t$(CC) -o $@ $^\n"
                                f"{objects}: units.h\nclean:\n\trm -f program *.o\n".encode())


def make_tar(folders=TAR_FOLDERS):
    """The archive's bytes, and the digest of every file in it."""
    rng = random.Random(2)
    out, digests = io.BytesIO(), {}
    with tarfile.open(fileobj=out, mode="w") as tar:
        for number in range(folders * TAR_FILES):
            name = f"unpacked/folder{number // TAR_FILES}/file{number % TAR_FILES}"
            content = text(rng, rng.randint(200, 6000))
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o644, 1600000000
            tar.addfile(info, io.BytesIO(content))
            digests[name] = hashlib.sha256(content).hexdigest()
    return out.getvalue(), digests


def digests_of(folder, below):
    found = {}
    for top, _, names in os.walk(f"{folder}/{below}"):
        for name in names:
            path = f"{top}/{name}"
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def give_away(folder, uid):
    for top, folders, names in os.walk(folder):
        for name in (*folders, *names):
            os.lchown(f"{top}/{name}", uid, uid)
    os.chown(folder, uid, uid)


def make_root(root, uid):
    os.makedirs(f"{root}/work")
    make_tree(f"{root}/tree")
    make_project(f"{root}/project")
    rng = random.Random(3)
    with open(f"{root}/big", "wb") as file:
        for _ in range(BIG_BYTES >> 20):
            file.write(rng.randbytes(1 << 20))
    user = ()
    if os.getuid() == 0:
        give_away(root, uid)
        user = ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    # The first one who asks for the status would read every file: their owners are new, and
    # they are as young as the index.
    time.sleep(1.1)
    git(f"{root}/tree", "update-index", "-q", "--refresh", user=user)


def make_sample(folder):
    """A handful of the same kind, with the archive, packed."""
    make_tree(f"{folder}/tree", folders=SAMPLE_FOLDERS, needles=1)
    make_project(f"{folder}/project")
    os.mkdir(f"{folder}/work")
    write(f"{folder}/tar", make_tar(SAMPLE_FOLDERS)[0])
    return subprocess.run(["tar", "c", "-C", folder, "."], check=True,
                          stdout=subprocess.PIPE).stdout


def tidy(root):
    """Back to how make_root() left it, seen from the host."""
    shutil.rmtree(f"{root}/work")
    os.mkdir(f"{root}/work")
    if os.getuid() == 0:
        st = os.stat(root)
        os.chown(f"{root}/work", st.st_uid, st.st_gid)
    subprocess.run(["make", "-s", "-C", f"{root}/project", "clean"], check=True)
