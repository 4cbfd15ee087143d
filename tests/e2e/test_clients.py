# SPDX-License-Identifier: Apache-2.0
"""Real clients in a guest, and what they reach: what has a rule, and nothing else"""
import json
import os
import secrets
import shutil
import ssl
import subprocess
import tarfile

import pytest

import client_servers
import git_server
from bawn import ROOT, SOAK, Bawn, wait
from net_host import Host

GOOD, OTHER = "203.0.113.10", "203.0.113.11"
HOSTS = f"127.0.0.1 localhost\n{GOOD} good.test\n{OTHER} bad.test\n"
PSQL = "/usr/lib/postgresql/{}/bin/psql"
SLOW = pytest.mark.skipif(not SOAK, reason="20 to 100 s under emulation: make soak runs it")
RULES = """
allow good.test
allow good.test:22
allow localhost:5432
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    one = Host(tmp_path_factory.mktemp("nethost"))
    if one.why:
        pytest.skip(f"no namespaces for a host of its own: {one.why}")
    one.write("hosts", HOSTS)
    yield one
    one.close()


@pytest.fixture(scope="module")
def asked():
    """What was asked of each address over TLS."""
    return {GOOD: [], OTHER: []}


@pytest.fixture(scope="module")
def served(host, asked, tmp_path_factory):
    """The folder that good.test and bad.test have, in plain and over TLS."""
    folder = tmp_path_factory.mktemp("served")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=good.test", "-addext", "subjectAltName=DNS:good.test,DNS:bad.test",
                    "-keyout", f"{folder}/key", "-out", f"{folder}/crt"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/crt", f"{folder}/key")
    client_servers.write(f"{folder}/www/hello", "hello from the web\n")
    for make in (client_servers.make_git, client_servers.make_pip, client_servers.make_apt,
                 client_servers.make_go):
        make(f"{folder}/www")
    client_servers.make_npm(f"{folder}/www", "https://good.test")
    for address in (GOOD, OTHER):
        host.serve(address, 80, client_servers.files(f"{folder}/www"))
        host.serve(address, 443, git_server.Repositories(f"{folder}/www", asked[address]).speak,
                   lambda one: context.wrap_socket(one, server_side=True))
    return str(folder)


@pytest.fixture(scope="module")
def net(session, host):
    bawn = Bawn(session.home, session.workspace)
    bawn.prefix = host.prefix
    return bawn


@pytest.fixture(scope="module")
def box(session, net, served):
    """A sandbox on the base template; ./clients has what that one lacks."""
    # In the user namespace of this host, root's template would be nobody's.
    if not ROOT and os.stat(f"{os.environ['BAWN_TEST_SYSTEM']}/templates").st_uid == 0:
        pytest.skip("the template is root's, whom a user namespace does not know")
    name = "t-" + secrets.token_hex(4)
    options = ("-t", "base", "-m", "1536M", "shell", ".")
    # A host without a way out cannot fetch a kernel: what is needed is made now.
    session("create", "--name", name + "x", *options, timeout=300)
    session.rm(name + "x")
    clients = f"{session.workspace}/clients"
    os.makedirs(clients)
    shutil.copy(f"{served}/crt", f"{clients}/crt")
    net("create", "--name", name, *options, timeout=300)
    answer = net.launcher(name, op="net", net={
        "policy": [{"scope": "sandbox", "name": "policy", "text": RULES}],
        "preset": "deny-all", "ask_ms": 0, "published": [], "sockets": []})
    assert answer == {"ok": True}
    yield name
    net.rm(name)
    shutil.rmtree(clients)


def sh(net, box, script, user="agent", **kwargs):
    """Output and complaints of a script in the workspace."""
    done = net.raw("exec", "-u", user, box, "bash", "-c", script, timeout=150, **kwargs)
    return done.code, done.out + done.err


def works(net, box, script, said, **kwargs):
    code, out = sh(net, box, script.replace("HOST", "good.test"), **kwargs)
    assert code == 0 and said in out, out


def both(net, box, script, said, **kwargs):
    """With good.test it works, with bad.test it fails, soon and by itself."""
    works(net, box, script, said, **kwargs)
    code, out = sh(net, box, "timeout 60 bash -c '" + script.replace("HOST", "bad.test")
                   .replace("'", "'\\''") + "'", **kwargs)
    assert code not in (0, 124) and said not in out, out


def log(net, box):
    with open(f"{net.folder(box)}/net/log.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_curl(net, box):
    both(net, box, "curl -sS --cacert clients/crt https://HOST/hello", "hello from the web")
    both(net, box, "curl -sSf http://HOST/hello", "hello from the web")
    both(net, box, "curl -sSf -x http://host.docker.internal:3128 --cacert clients/crt "
         "https://HOST/hello", "hello from the web")
    # The name of one host at the address of another.
    code, out = sh(net, box, "curl -sS -m 60 --cacert clients/crt "
                   "--connect-to bad.test:443:good.test:443 https://bad.test/hello")
    assert code not in (0, 28) and "hello" not in out, out
    verdicts = {(line["name"], line["protocol"], line["verdict"]) for line in log(net, box)
                if line["protocol"] in ("tls", "https", "http")}
    assert verdicts >= {("good.test", "tls", "allow"), ("bad.test", "https", "deny"),
                        ("good.test", "http", "allow"), ("bad.test", "http", "deny")}
    assert not any(name == "bad.test" and verdict == "allow" for name, _, verdict in verdicts)


def test_wget(net, box, session):
    path = shutil.which("wget")
    if not path:
        pytest.skip("no wget here to put into the sandbox")
    client_servers.put_in(f"{session.workspace}/clients", path)
    both(net, box, "LD_LIBRARY_PATH=$PWD/clients clients/wget -q -t 1 -O - "
         "--ca-certificate=clients/crt https://HOST/hello", "hello from the web")


def test_git_over_https(net, box, served, asked):
    """The smart protocol: a clone, and a push of more than one POST holds."""
    if not git_server.backend():
        pytest.skip("no git-http-backend here")
    both(net, box, "rm -rf /tmp/r-HOST; GIT_SSL_CAINFO=$PWD/clients/crt git clone -q "
         "https://HOST/smart/repo.git /tmp/r-HOST && cat /tmp/r-HOST/hello", "hello from git")
    code, out = sh(net, box, "export GIT_SSL_CAINFO=$PWD/clients/crt; cd /tmp/r-good.test && "
                   "head -c 1500000 /dev/urandom >big && git add big && "
                   "git -c user.name=t -c user.email=t@t.test commit -qm two && "
                   "git push -q origin HEAD:more && git rev-parse HEAD")
    assert code == 0, out
    assert out.split()[-1] == client_servers.run(
        "git", "-C", f"{served}/www/repo.git", "rev-parse", "more").strip()
    assert ("POST", "/smart/repo.git/git-upload-pack") in asked[GOOD]
    assert ("POST", "/smart/repo.git/git-receive-pack") in asked[GOOD]
    assert not asked[OTHER]


def test_git_over_ssh(net, box, host, session, tmp_path, served, as_root):
    if not os.path.exists(client_servers.SSHD):
        pytest.skip("no sshd here")
    sshd = client_servers.Sshd(str(tmp_path))
    for address in (GOOD, OTHER):
        host.serve(address, 22, sshd.speak)
    shutil.copy(tmp_path / "user", f"{session.workspace}/clients/key")
    both(net, box, "rm -rf /tmp/s; cp clients/key /tmp/key; chmod 600 /tmp/key; "
         "GIT_SSH_COMMAND=\"ssh -i /tmp/key -o StrictHostKeyChecking=no -o BatchMode=yes\" "
         f"git clone -q -u \"git -c safe.directory=* upload-pack\" root@HOST:{served}/www/repo.git "
         "/tmp/s && cat /tmp/s/hello", "hello from git")


@pytest.mark.seconds(300)
def test_pip(net, box):
    """The list of authorities in the environment comes before --cert."""
    (both if SOAK else works)(
        net, box, "rm -rf /tmp/p; REQUESTS_CA_BUNDLE=$PWD/clients/crt pip install -v "
        "--disable-pip-version-check --no-cache-dir --no-compile --retries 0 --target /tmp/p "
        "--index-url https://HOST/simple demo-bawn && cat /tmp/p/demo_bawn.py",
        "hello from pip")


@SLOW
@pytest.mark.seconds(300)
def test_npm(net, box, session):
    folder = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("npm") or "/")))
    if not folder.endswith("/node_modules/npm"):
        pytest.skip("no npm here that is one folder, to put into the sandbox")
    # One file: thousands of small ones would take their time.
    with tarfile.open(f"{session.workspace}/clients/npm.tar", "w") as tar:
        tar.add(folder, "npm", filter=lambda one: None if one.name.startswith(
            ("npm/docs", "npm/man")) else one)
    assert sh(net, box, "tar -C /tmp -xf clients/npm.tar")[0] == 0
    both(
        net, box, "rm -rf /tmp/n; mkdir /tmp/n; export NODE_EXTRA_CA_CERTS=$PWD/clients/crt; "
        "cd /tmp/n; node /tmp/npm/bin/npm-cli.js install --no-audit --no-fund "
        "--no-update-notifier --fetch-retries=0 --loglevel=error --registry=https://HOST/npm "
        "demo-bawn && cat node_modules/demo-bawn/index.js", "hello from npm")


@pytest.mark.seconds(300)
def test_apt(net, box):
    """Its fetching runs as another user again."""
    options = ("-o Dir::Etc::sourcelist=/tmp/list -o Dir::Etc::sourceparts=- "
               "-o APT::Get::List-Cleanup=0 -o Acquire::Languages=none -o Acquire::Retries=0 -qq")
    both(net, box, f"rm -rf /var/lib/apt/lists/*test*; "
         "echo \"deb [trusted=yes] http://HOST/apt ./\" > /tmp/list; "
         f"apt-get {options} -o APT::Update::Error-Mode=any update && "
         f"apt-get {options} -y install demo-bawn >/dev/null && cat /usr/share/demo-bawn",
         "hello from apt", user="root")


def test_python(net, box):
    both(net, box, "SSL_CERT_FILE=clients/crt python3 -c \"import urllib.request as r; "
         "print(r.urlopen(\\\"https://HOST/hello\\\").read())\"", "hello from the web")


def test_node(net, box):
    both(net, box, "NODE_EXTRA_CA_CERTS=clients/crt node -e \"require(\\\"https\\\").get("
         "\\\"https://HOST/hello\\\", r => { process.exitCode = r.statusCode == 200 ? 0 : 1; "
         "r.pipe(process.stdout) })\"", "hello from the web")


@pytest.mark.seconds(300)
def test_go(net, box):
    both(net, box, "rm -rf /tmp/g; mkdir /tmp/g; export HOME=/tmp/g GOFLAGS=-modcacherw GOSUMDB=off "
         "SSL_CERT_FILE=$PWD/clients/crt GOPROXY=https://HOST/go; cd /tmp/g; "
         "go mod download -x good.test/demo@v1.0.0 >/dev/null && "
         "cat go/pkg/mod/good.test/demo@v1.0.0/demo.go", "hello from go")


def test_a_database_of_the_host(net, box, host, session, tmp_path_factory, as_root):
    if not os.path.isdir(client_servers.POSTGRES):
        pytest.skip("no PostgreSQL here")
    version = max(os.listdir(client_servers.POSTGRES), key=int)
    folder = tmp_path_factory.mktemp("pg")
    os.chmod(folder.parent, 0o755)
    client_servers.put_in(f"{session.workspace}/clients", PSQL.format(version))
    database = client_servers.Postgres(host, str(folder))
    try:
        for name in ("localhost", "127.0.0.1", "host.docker.internal"):
            code, out = sh(net, box, "LD_LIBRARY_PATH=$PWD/clients clients/psql -At "
                           f"-h {name} -p 5432 -U me -c 'select 6 * 7' postgres")
            assert (code, out) == (0, "42\n"), out
        code, out = sh(net, box, "LD_LIBRARY_PATH=$PWD/clients timeout 60 clients/psql -At "
                       "-h host.docker.internal -p 5433 -U me -c 'select 1' postgres")
        assert code not in (0, 124), out
    finally:
        database.close()


def test_a_dev_server_of_the_guest(net, box, host):
    script = ("require('http').createServer((q, r) => r.end('hello ' + q.url))"
              ".listen(3000, '127.0.0.1')")
    job = net.popen("exec", box, "node", "-e", script)
    try:
        port = 20000 + secrets.randbelow(20000)
        answer = net.launcher(box, op="ports", published=[
            {"address": "127.0.0.1", "host": port, "guest": 3000}])
        assert answer["ports"][0]["error"] is None, answer

        def page():
            try:
                with host.connect("127.0.0.1", port) as one:
                    one.sendall(b"GET /x HTTP/1.0\r\n\r\n")
                    return one.makefile("rb").read()
            except ConnectionError:
                return b""
        assert wait(page, 60, "a page").endswith(b"hello /x")
    finally:
        job.kill()
        job.communicate()


# What an engine makes of a container's network, without the engine.
NESTED = """
set -e
ip netns add nested
ip link add outside type veth peer name inside netns nested
ip addr add 172.31.9.1/24 dev outside
ip link set outside up
ip -n nested addr add 172.31.9.2/24 dev inside
ip -n nested link set inside up
ip -n nested link set lo up
ip -n nested route add default via 172.31.9.1
echo 1 >/proc/sys/net/ipv4/ip_forward
"""


def test_a_network_namespace_in_the_sandbox(net, box):
    """What is forwarded comes through the same gate, and past it nothing."""
    code, out = sh(net, box, "PATH=$PATH:/usr/sbin:/sbin; " + NESTED, user="root")
    assert code == 0, out
    inside = "PATH=$PATH:/usr/sbin:/sbin; ip netns exec nested "
    both(net, box, inside + "curl -sSf -m 60 http://HOST/hello", "hello from the web",
         user="root")
    both(net, box, inside + "curl -sS -m 60 --cacert clients/crt https://HOST/hello",
         "hello from the web", user="root")
    # No name: an address that no answer has told, by TCP and by datagrams.
    code, out = sh(net, box, inside + f"curl -sS -m 60 http://{OTHER}/hello || echo $?",
                   user="root")
    assert code == 0 and "hello" not in out and not out.endswith("28\n"), out
    code, out = sh(net, box, inside + "python3 -c 'import socket; s = socket.socket("
                   "socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20); "
                   f"s.connect((\"{GOOD}\", 443)); s.send(b\"x\"); s.recv(1)'", user="root")
    assert code == 1 and "timed out" not in out and "Error" in out, out
    code, out = sh(net, box, "PATH=$PATH:/usr/sbin:/sbin; ip netns del nested", user="root")
    assert code == 0, out


@SLOW
@pytest.mark.seconds(400)
def test_a_container_in_the_sandbox(net, box, session):
    """dockerd by hand; what is in a container comes through the same gate."""
    shutil.copy("/bin/busybox", f"{session.workspace}/clients/busybox")
    begin = ("dockerd --iptables=true >/tmp/dockerd.log 2>&1 </dev/null & "
             "until docker version >/dev/null 2>&1; do sleep 0.2; "
             "kill -0 $! || { tail -5 /tmp/dockerd.log; exit 1; }; done; "
             "mkdir -p /tmp/i/bin; cp clients/busybox /tmp/i/bin; tar -C /tmp/i -c . | "
             "docker import - demo >/dev/null && echo made")
    code, out = sh(net, box, begin, user="root")
    assert code == 0 and "made" in out, out
    inside = ("for host in good bad; do busybox wget -q -O - http://$host.test/hello || "
              f"echo no $host; done; busybox wget -q -O - http://{OTHER}/hello || echo no address")
    code, out = sh(net, box, f"docker run --rm -e PATH=/bin demo /bin/busybox sh -c '{inside}'",
                   user="root")
    said = [line for line in out.splitlines() if not line.startswith("wget: ")]
    assert said == ["hello from the web", "no bad", "no address"], out
    both(net, box, "mkdir -p /tmp/HOST; cd /tmp/HOST; echo \"FROM demo\" > Dockerfile; "
         "echo \"RUN [\\\"/bin/busybox\\\", \\\"wget\\\", \\\"-q\\\", \\\"-O\\\", "
         "\\\"-\\\", \\\"http://HOST/hello\\\"]\" >> Dockerfile; docker build .",
         "hello from the web", user="root")


def test_root_without_rules_reaches_nothing_more(net, box):
    """The last one: it takes away what leads programs to the gate."""
    code, _ = sh(net, box, "PATH=$PATH:/usr/sbin; nft flush ruleset && "
                 "! nft list ruleset | grep -q redirect", user="root")
    assert code == 0
    fetch = "curl -sS -m 3 http://{}/hello || echo no"
    for target in ("good.test", "bad.test", OTHER, "127.0.0.1:5432"):
        code, out = sh(net, box, fetch.format(target), user="root")
        assert code == 0 and out.startswith("no\n"), out
    # PID 1 makes them anew with the next relay.
    code, _ = sh(net, box, "PATH=$PATH:/usr/sbin; kill -9 $(pgrep bawn-net-relay); "
                 "timeout 30 sh -c 'until nft list ruleset | grep -q redirect; do sleep 0.1; "
                 "done'", user="root")
    assert code == 0
    both(net, box, "curl -sSf -m 30 http://HOST/hello", "hello from the web")
