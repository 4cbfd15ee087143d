# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a share with canaries around it, served as root and as a user"""
import os
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from fuse_client import BINARY, Files, share  # noqa: E402
from net_fixtures import make, world  # noqa: E402,F401
from relay_fixtures import boot  # noqa: E402,F401

USER = 61234


def digest(folder, skip):
    """Everything beneath folder but `skip`; times of access excepted."""
    found = {}
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if os.path.join(path, name) != skip)
        for name in sorted(files) + folders + ["."]:
            full = os.path.join(path, name)
            st = os.lstat(full)
            if os.path.realpath(full) == os.path.realpath(folder):
                continue
            found[full] = (st.st_mode, st.st_uid, st.st_nlink, st.st_size, st.st_mtime_ns,
                           st.st_ctime_ns, st.st_ino)
            if os.path.isfile(full) and not os.path.islink(full):
                with open(full, "rb") as file:
                    found[full] += (file.read(),)
    return found


class Place:
    """outside/ with canaries; outside/share is what the guest gets"""

    def __init__(self, uid):
        self.uid = uid
        self.outside = os.path.realpath(tempfile.mkdtemp(prefix="bawn-files-"))
        self.path = os.path.join(self.outside, "share")
        os.mkdir(self.path)
        os.mkdir(os.path.join(self.outside, "canaries"))
        for name in ("canary", "canaries/secret", "canaries/other"):
            with open(os.path.join(self.outside, name), "w", encoding="ascii") as file:
                file.write("untouched\n")
        self.own(self.outside)
        self.running = []
        self.before = digest(self.outside, self.path)

    def own(self, folder=None):
        """What the test made on the host belongs to the user of the share."""
        for path, folders, files in os.walk(folder or self.path):
            for name in folders + files + ["."]:
                if os.geteuid() == 0:
                    os.lchown(os.path.join(path, name), self.uid, self.uid)

    def host(self, name):
        return os.path.join(self.path, name)

    def put(self, name, text="", mode=0o644):
        with open(self.host(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.host(name), mode)
        if os.geteuid() == 0:
            os.chown(self.host(name), self.uid, self.uid)

    def folder(self, name, mode=0o755):
        os.makedirs(self.host(name), mode=mode)
        while name and os.geteuid() == 0:
            os.chown(self.host(name), self.uid, self.uid)
            name = os.path.dirname(name)

    def get(self, name):
        with open(self.host(name), "rb") as file:
            return file.read()

    def serve(self, shares=None, **more):
        """As the supervisor would: root lets it take the owner's user itself."""
        own = {key: more.pop(key) for key in list(more)
               if key in ("read_only", "quota_bytes", "quota_inodes", "hide")}
        shares = shares or [share(self.path, **own)]
        if self.uid and more.pop("as_user", False):
            more["uid"] = self.uid
        files = Files(shares, **more)
        self.running.append(files)
        return files

    def check(self):
        """Nothing outside changed, nothing crashed."""
        codes = [files.close() for files in self.running]
        assert all(code == 0 for code in codes), codes
        assert digest(self.outside, self.path) == self.before


@pytest.fixture(params=["root", "owner taken", "user"])
def place(request):
    """root's share; a user's share served by root; a user's own process"""
    if not os.path.exists(BINARY):
        pytest.skip(f"{BINARY} is not built")
    if os.geteuid() != 0 and request.param != "user":
        pytest.skip("needs root")
    uid = {"root": 0}.get(request.param, USER if os.geteuid() == 0 else os.geteuid())
    place = Place(uid)
    if request.param == "user" and os.geteuid() == 0:
        serve = place.serve
        place.serve = lambda *args, **more: serve(*args, as_user=True, **more)
    yield place
    for files in place.running:
        if files.process.poll() is None:
            files.process.kill()
            files.process.wait()
    subprocess.run(["rm", "-rf", place.outside], check=True)


@pytest.fixture
def files(place):
    served = place.serve()
    yield served
    place.check()
