# SPDX-License-Identifier: Apache-2.0
"""Requests inside TLS, decided by the gate: real clients, without any flag"""
import glob
import os
import re
import secrets
import ssl
import subprocess

import pytest

from bawn import ROOT, SOAK, Bawn
from net_host import Host, http, read_head
from test_network import logged, rules

GOOD, OTHER = "203.0.113.10", "203.0.113.11"
HOSTS = f"""127.0.0.1 localhost
{GOOD} good.test
{OTHER} bad.test self.test
"""
SLOW = pytest.mark.skipif(not SOAK, reason="20 to 100 s under emulation: make soak runs it")
COMMIT = "0123456789012345678901234567890123456789"


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                    "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    return lambda one: context.wrap_socket(one, server_side=True)


def site(seen):
    """As http(), and a git repository with one branch."""
    plain = http("inside TLS")

    class Reader:
        """Gives the head that was read to who reads it again."""

        def __init__(self, connection, head):
            self.connection, self.head = connection, head.encode()

        def recv(self, _):
            head, self.head = self.head, b""
            return head

        def sendall(self, data):
            self.connection.sendall(data)

    def speak(connection):
        while True:
            head = read_head(connection)
            if not head:
                return
            seen.append(head)
            if "/info/refs" in head:
                body = f"{COMMIT}\trefs/heads/main\n".encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            else:
                plain(Reader(connection, head))
    return speak


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nethost")
    one = Host(folder)
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", HOSTS)
    one.seen = []
    one.serve(GOOD, 443, site(one.seen), make_certificate(folder, "good.test"))
    one.serve(OTHER, 443, site(one.seen), make_certificate(folder, "self.test"))
    with open(f"{folder}/good.test.crt", encoding="ascii") as file:
        one.write("authorities", file.read())
    yield one
    one.close()


@pytest.fixture(scope="module")
def net(session, host):
    session.rm(session.create())
    bawn = Bawn(session.home, session.workspace)
    bawn.prefix = host.prefix
    return bawn


@pytest.fixture(scope="module")
def base(session, net):
    """A sandbox with real clients in it."""
    if not ROOT and os.stat(f"{os.environ['BAWN_TEST_SYSTEM']}/templates").st_uid == 0:
        pytest.skip("the template is root's, whom a user namespace does not know")
    name = "t-" + secrets.token_hex(4)
    options = ("-t", "base", "-m", "1G", "shell", ".")
    session("create", "--name", name + "x", *options, timeout=300)
    session.rm(name + "x")
    net("create", "--name", name, *options, timeout=300)
    yield name
    net.rm(name)


CLIENTS = {
    "curl": "curl -sS --max-time 60 https://good.test/open/a",
    "python": "python3 -c \"import urllib.request as r; "
              "print(r.urlopen('https://good.test/open/a').read().decode(), end='')\"",
    "requests": "python3 -c \"import requests; "
                "print(requests.get('https://good.test/open/a').text, end='')\"",
    "node": "node -e \"fetch('https://good.test/open/a').then(r => r.text())"
            ".then(t => process.stdout.write(t))\"",
    "wget": "wget -q -O - https://good.test/open/a",
    "openssl": "printf 'GET /open/a HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: close"
               "\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -connect "
               "good.test:443 -servername good.test 2>/dev/null | tail -n 1",
}
PRESENT = {"requests": "python3 -c 'import requests'"}


@pytest.mark.seconds(400)
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_trust_the_gate_without_a_flag(net, base, client):
    there = PRESENT.get(client, f"command -v {client.replace('python', 'python3')}")
    if net.raw("exec", base, "sh", "-c", there, timeout=120).code != 0:
        pytest.skip(f"the template has no {client}")
    rules(net, base, "allow GET good.test/open/**\n")
    assert net("exec", base, "sh", "-c", CLIENTS[client]).out == \
        "inside TLS good.test /open/a\n"


@pytest.mark.seconds(400)
def test_go_trusts_the_gate_without_a_flag(net, base):
    """Its own client (net/http) asks a proxy for modules, and tells what came."""
    if net.raw("exec", base, "sh", "-c", "command -v go", timeout=120).code != 0:
        pytest.skip("the template has no go")
    rules(net, base, "allow GET good.test/open/**\n")
    said = net("exec", base, "sh", "-c", "cd $(mktemp -d); export GOPATH=$PWD GOFLAGS=-modcacherw "
               "GOSUMDB=off GOPROXY=https://good.test/open; go mod download -x x.test/y@v1.0.0 2>&1; "
               "true", timeout=170).out
    assert re.search(r"get https://good\.test/open/x\.test/y/@v/v1\.0\.0\.\w+: 200 OK", said), said


FETCH = """
public class Fetch {
    public static void main(String[] words) throws Exception {
        var stream = new java.net.URL(words[0]).openStream();
        System.out.write(stream.readAllBytes());
        System.out.flush();
    }
}
"""


def find_jdk():
    """A folder of the host with a JDK that reads the system's list; None: there is none."""
    for folder in sorted(glob.glob("/usr/lib/jvm/*/lib/security/cacerts")):
        folder = folder[:-len("/lib/security/cacerts")]
        if os.path.exists(f"{folder}/bin/javac") and not os.path.islink(folder):
            return folder
    return None


@SLOW
@pytest.mark.seconds(900)
def test_java_trusts_the_gate(session, net):
    """The host's JDK, shared with a sandbox that has none; no word about it on stderr."""
    jdk = find_jdk()
    if not jdk:
        pytest.skip("no JDK here to share with a sandbox")
    with open(f"{session.workspace}/Fetch.java", "w", encoding="ascii") as file:
        file.write(FETCH)
    subprocess.run([f"{jdk}/bin/javac", f"{session.workspace}/Fetch.java"], check=True)
    name = "t-" + secrets.token_hex(4)
    # Debian's has its settings in /etc.
    folders = [jdk, *glob.glob("/etc/java-*-openjdk")]
    options = ["-t", "base", "-m", "2G", *(word for folder in folders
                                           for word in ("-v", f"{folder}:{folder}:ro"))]
    net("create", "--name", name, *options, "shell", ".", timeout=300)
    try:
        rules(net, name, "allow GET good.test/open/**\n")
        told = net.raw("exec", name, f"{jdk}/bin/java", "-XX:TieredStopAtLevel=1", "-cp", ".",
                       "Fetch", "https://good.test/open/a", timeout=600)
        assert not told.err, told.err
        assert told.out == "inside TLS good.test /open/a\n"
    finally:
        net.rm(name)
        for path in glob.glob(f"{session.workspace}/Fetch.*"):
            os.unlink(path)


# A container with the sandbox's programs, and of /etc what it brings itself.
IMAGE = """
mkdir -p /tmp/i/etc/ssl/certs /tmp/i/usr && cd /tmp/i &&
for name in bin lib lib64; do test -L $name || ln -s usr/$name $name; done &&
{ tar -c bin lib lib64 usr | docker import - bare &&
  echo 'of the image' >etc/ssl/certs/ca-certificates.crt &&
  tar -c . | docker import - listed; } >/dev/null
"""
RUN = "docker run --rm -v /usr:/usr:ro"
# By the engine's BuildKit. A step sees what the image has: curl comes along.
BUILD = """
mkdir -p /tmp/b/fetch && cd /tmp/b &&
cp -L $(ldd /usr/bin/curl | grep -o '/[^ ]*') /usr/bin/curl fetch &&
cat >Dockerfile <<'END' &&
FROM listed
COPY fetch /fetch
RUN ["/fetch/ld-linux-x86-64.so.2", "--library-path", "/fetch", "/fetch/curl", "-sS", "-m", "60", \\
"-o", "/told", "https://good.test/open/a"]
END
docker build -q --no-cache -t built . >/tmp/b.log 2>&1 || cat /tmp/b.log
docker create --name made built x >/dev/null && docker export made >/tmp/b.tar &&
tar -xOf /tmp/b.tar told && { tar -tf /tmp/b.tar | grep bawn || echo nothing of ours; }
"""


@SLOW
@pytest.mark.seconds(900)
def test_containers_trust_the_gate_without_a_flag(net, base):
    def sh(script):
        return net.raw("exec", base, "bash", "-c", script, timeout=400)
    fetch = "curl -sS --max-time 60 https://good.test/open/a"
    rules(net, base, "allow GET good.test/open/**\n")
    made = sh(IMAGE)
    assert made.code == 0, made
    for image in ("bare", "listed"):
        told = sh(f"{RUN} {image} {fetch}")
        assert told.out == "inside TLS good.test /open/a\n", told
    # The image's own list is part of it; what the container sets itself stays.
    told = sh(f"{RUN} -e PIP_CERT=/x listed bash -c 'head -n 1 $SSL_CERT_FILE; echo $PIP_CERT; "
              "tail -n 1 $NODE_EXTRA_CA_CERTS; cat /etc/ssl/certs/ca-certificates.crt'")
    assert told.out == "of the image\n/x\n-----END CERTIFICATE-----\nof the image\n", told
    # A process that comes later; and nothing of it would be in an image made from this.
    told = sh(f"docker run -d --name later -v /usr:/usr:ro bare sleep 1000 >/dev/null && "
              f"docker exec later {fetch}; docker diff later; docker rm -f later >/dev/null")
    assert told.out.splitlines()[0] == "inside TLS good.test /open/a", told
    assert "bawn" not in told.out, told
    # A step of a build; and nothing of it is in the image.
    told = sh(BUILD)
    assert told.out == "inside TLS good.test /open/a\nnothing of ours\n", told


@pytest.mark.seconds(400)
def test_git_over_https(net, base):
    rules(net, base, "allow GET good.test/open/**\n")
    out = net("exec", base, "git", "ls-remote", "https://good.test/open/it.git").out
    assert out == f"{COMMIT}\trefs/heads/main\n"
    wrong = net.raw("exec", base, "git", "ls-remote", "https://good.test/closed/it.git")
    assert wrong.code != 0 and "403" in wrong.err


@pytest.mark.seconds(400)
def test_requests_are_decided_one_by_one(net, base, host):
    rules(net, base, "allow GET good.test/open/**\n")
    curl = ("exec", base, "curl", "-sS", "--max-time", "60")
    two = net(*curl, "https://good.test/open/b", "https://good.test/closed/c").out
    assert two.startswith("inside TLS good.test /open/b\nbawn: good.test is blocked")
    assert f"bawn policy allow {base} 'GET good.test/closed/c'" in two
    upload = net(*curl, "-d", "all my files", "https://good.test/open/d").out
    assert "is blocked" in upload
    assert not any("/closed" in head or "POST" in head for head in host.seen)
    line = logged(net, base, method="POST")
    assert line["protocol"] == "https" and line["path"] == "/open/d"
    assert line["verdict"] == "deny" and line["status"] == 403


STREAMS = """
const one = require('http2').connect('https://good.test');
let left = 30, bad = 0;
for (let i = 0; i < 30; i++) {
  const stream = one.request({':path': i % 3 ? '/open/' + i : '/closed/' + i});
  let text = '', status;
  stream.on('response', head => { status = head[':status']; });
  stream.on('data', part => { text += part; });
  stream.on('end', () => {
    bad += i % 3 ? !text.endsWith(' /open/' + i + '\\n') : status !== 403;
    if (!--left) { console.log(bad); one.close(); }
  });
}
"""


@pytest.mark.seconds(400)
def test_clients_that_speak_http2_do_so_with_the_gate(net, base):
    rules(net, base, "allow GET good.test/open/**\n")
    out = net("exec", base, "curl", "-sS", "--max-time", "60", "-w",
              " %{http_version} %{num_connects}\n", "https://good.test/open/a",
              "https://good.test/open/b").out
    assert out == ("inside TLS good.test /open/a\n 2 1\n"
                   "inside TLS good.test /open/b\n 2 0\n")
    # Many on one connection; each is decided on its own.
    assert net("exec", base, "node", "-e", STREAMS).out == "0\n"


@pytest.mark.seconds(400)
def test_what_is_blocked_says_so_in_the_clients_words(net, base):
    rules(net, base, "allow GET self.test\n")
    curl = ("exec", base, "curl", "-sS", "--max-time", "60", "-w", "%{http_code}")
    out = net(*curl, "https://bad.test/").out
    assert "bad.test is blocked" in out and out.endswith("403")
    # The host does not trust this server: nothing of the request reaches it.
    out = net(*curl, "https://self.test/").out
    assert "its certificate is not trusted by the host" in out and out.endswith("502")


@pytest.mark.seconds(400)
def test_the_authority_is_the_sandboxs_own_and_stays(net, base):
    rules(net, base, "allow GET good.test\n")
    shown = ("exec", base, "sh", "-c", "cat /run/bawn/ca.crt; id -u; env | grep -c /ca")
    before = net(*shown).out
    assert "BEGIN CERTIFICATE" in before and before.splitlines()[-1] != "0"
    with open(f"{net.folder(base)}/net/ca.crt", encoding="ascii") as file:
        assert file.read() in before
    key = f"{net.folder(base)}/net/ca.key"
    assert os.stat(key).st_mode & 0o777 == 0o600
    # It may make its list anew, and trusts us all the same.
    net("exec", "-u", "root", base, "sh", "-c",
        "! command -v update-ca-certificates || update-ca-certificates", timeout=120)
    assert net("exec", base, "sh", "-c", CLIENTS["curl"]).out.startswith("inside TLS")
    net("stop", "--power-off", base)
    assert net(*shown, timeout=120).out == before
    rules(net, base, "allow GET good.test\n")
    assert net("exec", base, "sh", "-c", CLIENTS["curl"]).out.startswith("inside TLS")


@pytest.mark.seconds(400)
def test_inspected_hosts_have_whole_urls_in_the_log(net, base):
    name = f"{base}-i"
    net("create", "--name", name, "-t", "base", "-m", "1G", "--policy", "deny-all",
        "--allow", "good.test", "--inspect", "good.test", "shell", ".", timeout=300)
    try:
        out = net("exec", name, "curl", "-sS", "https://good.test/open/a?page=2&q=x",
                  timeout=120).out
        assert out == "inside TLS good.test /open/a?page=2&q=x\n"
        line = logged(net, name, name="good.test")
        assert line["path"] == "/open/a" and line["query"] == "?page=2&q=x"
        assert line["status"] == 200 and line["protocol"] == "https"
        assert "good.test:443  https GET /open/a?page=2&q=x 200  allow good.test" in \
            net("policy", "log", name).out
    finally:
        net.rm(name)
