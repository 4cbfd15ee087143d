# SPDX-License-Identifier: Apache-2.0
"""bawn-net and the host's network: name servers, several addresses, proxies"""
import glob
import os
import shutil
import socket
import tempfile
import time

import pytest

import net_origin
from net_upstream import NameServer, Socks, TlsProxy

GET = b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"
SERVERS = {"servers": ["203.0.113.53"], "hosts": []}


def get(net, target="good.example:80"):
    """The status of a plain request."""
    stream = net.connect(target)
    host = target.rpartition(":")[0]
    stream.send(GET.replace(b"good.example", host.encode()))
    status = int(stream.expect(b"\r\n").split()[1])
    stream.close()
    return status


# -- names

def test_a_name_is_asked_for_after_it_was_allowed(make):
    """Row: E12. No question leaves for a name that is denied."""
    servers = NameServer(make)
    servers.table = {"good.example": ["203.0.113.10"], "evil.example": ["203.0.113.10"]}
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example", resolver=SERVERS)
    assert get(net, "evil.example:80") == 403
    assert not servers.asked
    assert get(net) == 200
    assert {name for name, _ in servers.asked} == {"good.example"}


def test_the_hosts_own_table_comes_first(make):
    servers = NameServer(make)
    servers.table = {"good.example": ["203.0.113.99"]}
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example",
                   resolver={**SERVERS, "hosts": [["good.example", "203.0.113.10"]]})
    assert get(net) == 200
    assert not servers.asked


def test_a_second_answer_that_differs_gains_nothing(make):
    """Row: E10. Public at first, private then: each connection is judged anew."""
    servers = NameServer(make)
    servers.table = {"good.example": [["203.0.113.10"], ["10.1.2.3"], ["127.0.0.1"],
                                      ["169.254.169.254"], ["203.0.113.10"]]}
    public = make.origin("203.0.113.10:80")
    private = make.origin("10.1.2.3:80")
    net = make.net("allow good.example", resolver=SERVERS)
    assert [get(net) for _ in range(5)] == [200, 403, 403, 403, 200]
    assert public.received() and not private.received()


def test_an_alias_leads_where_it_leads(make):
    """Row: E10. The rule is for the name that was asked for, the guard for where
    it ends."""
    servers = NameServer(make)
    servers.aliases = {"good.example": "cdn.other.example", "bad.example": "inside.example"}
    servers.table = {"cdn.other.example": ["203.0.113.10"], "inside.example": ["10.1.2.3"]}
    make.origin("203.0.113.10:80")
    private = make.origin("10.1.2.3:80")
    net = make.net("allow good.example\nallow bad.example", resolver=SERVERS)
    assert get(net) == 200
    assert get(net, "bad.example:80") == 403
    assert not private.received()


def test_names_that_do_not_exist_and_servers_that_do_not_answer(make):
    servers = NameServer(make)
    net = make.net("allow **.example", resolver=SERVERS)
    assert get(net, "nowhere.example:80") == 502
    net.wait_log({"reason": "the name does not exist", "verdict": "allow"})
    servers.silent = True
    stream = net.connect("silent.example:80")
    stream.send(GET.replace(b"good", b"silent"))
    # Other servers, and those that waited for the old ones hear of it.
    assert net.configure(resolver={"servers": [], "hosts": []}) is None
    assert b"502" in stream.expect(b"\r\n")
    net.wait_log({"reason": "the name servers changed"})
    assert get(net, "nowhere.example:80") == 502
    net.wait_log({"reason": "the host has no name server"})


def test_new_servers_are_used_at_once(make):
    servers = NameServer(make, "203.0.113.54")
    servers.table = {"good.example": ["203.0.113.10"]}
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example", resolver={"servers": [], "hosts": []})
    assert get(net) == 502
    net.configure(resolver={"servers": ["203.0.113.54:53"], "hosts": []})
    assert get(net) == 200


def test_a_cut_answer_is_asked_for_again_by_tcp(make):
    servers = NameServer(make)
    servers.table = {"good.example": ["203.0.113.10"]}
    servers.cut = True
    servers.serve_tcp(make)
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example", resolver=SERVERS)
    assert get(net) == 200
    assert servers.by_tcp > 0


# -- several addresses

def full(make, address, port):
    """A server whose queue is full: connections to it hang."""
    sock = make.listen(address, port, 0)
    held = []
    for _ in range(3):
        one = make.world.call(lambda: socket.socket(sock.family, socket.SOCK_STREAM))
        one.setblocking(False)
        try:
            one.connect((address, port))
        except BlockingIOError:
            pass
        held.append(one)
        make.made.append(one.close)
    return sock


def test_an_address_that_hangs_delays_a_quarter_of_a_second(make):
    full(make, "2001:db8::10", 22)
    make.origin("203.0.113.10:22", "echo")
    net = make.net("allow good.example:22",
                   resolver={"servers": [], "hosts": [["good.example", "2001:db8::10"],
                                                      ["good.example", "203.0.113.10"]]})
    start = time.monotonic()
    stream = net.connect("good.example:22")
    stream.wait_opened()
    assert 0.2 < time.monotonic() - start < 2
    stream.send(b"x")
    stream.expect(b"x")
    stream.close()
    net.wait_log({"address": "203.0.113.10", "verdict": "allow"})


def test_an_address_that_refuses_delays_nothing(make):
    make.origin("203.0.113.12:22", "echo")
    net = make.net("allow good.example:22",
                   resolver={"servers": [], "hosts": [
                       ["good.example", address] for address in
                       ("2001:db8::10", "203.0.113.10", "203.0.113.11", "203.0.113.12")]})
    start = time.monotonic()
    stream = net.connect("good.example:22")
    stream.wait_opened()
    assert time.monotonic() - start < 0.2


def test_both_families_take_turns(make):
    servers = NameServer(make)
    servers.table = {"good.example": ["203.0.113.10", "2001:db8::10"]}
    v6 = make.origin("[2001:db8::10]:80")
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example", resolver=SERVERS)
    assert get(net) == 200
    v6.wait(lambda one: one.received())
    net.wait_log({"address": "2001:db8::10"})


def test_no_address_answers(make):
    net = make.net("allow good.example:22",
                   resolver={"servers": [], "hosts": [["good.example", "203.0.113.10"],
                                                      ["good.example", "203.0.113.11"]]})
    assert net.connect("good.example:22").wait_closed() == 111
    net.wait_log({"reason": "the server refuses connections"})


def test_a_client_that_goes_while_it_is_connected(make):
    full(make, "203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    net.port.poll()
    stream.close()
    net.wait_log({"reason": "the client went before the connection"})
    net.stop()


def test_rules_that_change_while_it_is_connected(make):
    """Row: E10. An address that is closed meanwhile is not used."""
    listener = full(make, "203.0.113.10", 22)
    net = make.net("allow good.example:22")
    stream = net.connect("good.example:22")
    net.port.poll()
    assert net.rules("allow good.example:22\ndeny 203.0.113.10") is None
    for _ in range(2):
        listener.accept()[0].close()
    assert stream.wait_closed() == 13
    net.wait_log({"reason": "the name leads to a closed address", "verdict": "deny"})


# -- proxies of the host

def proxies(http=None, https=None, no_proxy=None):
    return {"http": http, "https": https, "no_proxy": no_proxy}


def tls(net, target="good.example:443", name="good.example"):
    stream = net.connect(target)
    client = net_origin.TlsClient(stream, name)
    client.handshake()
    reply = client.request(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
    stream.close()
    return reply


def wait_listening(make, address, port, process):
    deadline = time.monotonic() + 20
    while True:
        try:
            make.world.connect(address, port).close()
            return
        except OSError:
            assert process.poll() is None, "the proxy has ended"
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.fixture
def squid(make):
    if not shutil.which("squid"):
        pytest.skip("no squid")
    # It becomes another user, who must get there.
    folder = tempfile.mkdtemp(prefix="bawn-squid-")
    os.chmod(folder, 0o777)
    name = f"test{os.getpid()}"

    def clean():
        shutil.rmtree(folder)
        for path in glob.glob(f"/dev/shm/{name}-*"):
            os.unlink(path)
    make.made.append(clean)
    with open(f"{folder}/hosts", "w", encoding="ascii") as file:
        file.write("203.0.113.10 good.example\n")
    with open(f"{folder}/squid.conf", "w", encoding="ascii") as file:
        file.write(f"""
http_port 203.0.113.3:3128
acl good dstdomain good.example
http_access allow good
http_access deny all
hosts_file {folder}/hosts
cache deny all
access_log stdio:{folder}/access.log squid
cache_log {folder}/cache.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
cache_effective_user proxy
pinger_enable off
via off
forwarded_for delete
shutdown_lifetime 0 seconds
""")
    process = make.program(["squid", "-N", "-n", name, "-f",
                            f"{folder}/squid.conf"])
    wait_listening(make, "203.0.113.3", 3128, process)
    return "http://203.0.113.3:3128"


@pytest.fixture
def tinyproxy(make):
    if not shutil.which("tinyproxy"):
        pytest.skip("no tinyproxy")
    with open(make.folder / "tinyproxy.conf", "w", encoding="ascii") as file:
        file.write("Port 3129\nListen 203.0.113.3\nTimeout 60\nBasicAuth me secret\n"
                   "DisableViaHeader Yes\n")
    process = make.program(["tinyproxy", "-d", "-c", f"{make.folder}/tinyproxy.conf"])
    wait_listening(make, "203.0.113.3", 3129, process)
    return "http://me:secret@203.0.113.3:3129"


def test_through_squid(make, squid):
    make.origin("203.0.113.10:443", "tls")
    plain = make.origin("203.0.113.10:80")
    net = make.net("allow good.example\nallow other.example",
                   resolver={"servers": [], "hosts": []}, proxy=proxies(squid, squid))
    assert b"hi" in tls(net)
    line = net.wait_log({"port": 443, "verdict": "allow"})
    assert line["address"] is None
    stream = net.connect("good.example:80")
    for _ in range(3):
        stream.send(GET)
        assert b"200" in stream.expect(b"\r\n\r\nhi")
    assert b"GET / HTTP/1.1" in plain.received()
    # What the proxy refuses is refused.
    assert net.connect("other.example:443").number
    stream = net.connect("other.example:443")
    stream.send(net_origin.hello("other.example"))
    assert stream.wait_closed() == 111
    net.wait_log({"reason": "the upstream proxy refuses", "name": "other.example"})
    net.stop()


def test_through_tinyproxy_with_a_login(make, tinyproxy):
    make.origin("203.0.113.10:443", "tls")
    plain = make.origin("203.0.113.10:80")
    net = make.net("allow 203.0.113.10", proxy=proxies(tinyproxy, tinyproxy))
    stream = net.port.open("203.0.113.10", 443)
    client = net_origin.TlsClient(stream, None)
    client.handshake()
    assert b"hi" in client.request(b"GET / HTTP/1.1\r\n\r\n")
    stream = net.port.open("203.0.113.10", 80)
    stream.send(GET.replace(b"good.example", b"203.0.113.10"))
    assert b"200" in stream.expect(b"hi")
    assert b"roxy-Authorization" not in plain.received()


def test_a_wrong_login_is_told(make, tinyproxy):
    wrong = tinyproxy.replace("secret", "wrong")
    net = make.net("allow 203.0.113.10", proxy=proxies(wrong, wrong))
    stream = net.port.open("203.0.113.10", 443)
    stream.send(net_origin.hello())
    assert stream.wait_closed() == 111
    line = net.wait_log({"port": 443})
    assert line["reason"] in ("the upstream proxy wants a login",
                              "the upstream proxy refuses")
    with open(make.folder / "log.jsonl", encoding="ascii") as file:
        assert "wrong" not in file.read()


@pytest.mark.parametrize("login", [None, ("me", "p@ss:word")], ids=["plain", "login"])
def test_through_socks(make, login):
    make.origin("203.0.113.10:443", "tls")
    proxy = Socks(make, "203.0.113.3:1080", ("203.0.113.10", 443), login)
    url = "socks5://me:p%40ss%3aword@203.0.113.3:1080"
    net = make.net("allow good.example", resolver={"servers": [], "hosts": []},
                   proxy=proxies(https=url, http=url))
    assert b"hi" in tls(net)
    assert proxy.seen == [(3, b"good.example", 443)]
    assert proxy.logins == ([login] if login else [])


def test_plain_requests_through_socks(make):
    origin = make.origin("203.0.113.10:80")
    proxy = Socks(make, "203.0.113.3:1080", ("203.0.113.10", 80))
    net = make.net("allow good.example", resolver={"servers": [], "hosts": []},
                   proxy=proxies(http="socks5h://203.0.113.3:1080"))
    assert get(net) == 200
    assert proxy.seen == [(3, b"good.example", 80)]
    # As to the server itself: there is no proxy that reads it.
    assert origin.received().startswith(b"GET / HTTP/1.1\r\nHost: good.example\r\n")


def test_a_wrong_login_at_socks(make):
    Socks(make, "203.0.113.3:1080", ("203.0.113.10", 443), ("me", "right"))
    url = "socks5://me:wrong@203.0.113.3:1080"
    net = make.net("allow good.example", proxy=proxies(https=url))
    stream = net.connect("good.example:443")
    stream.send(net_origin.hello("good.example"))
    assert stream.wait_closed() == 111
    net.wait_log({"reason": "the upstream proxy refuses the login"})


def test_through_an_encrypted_proxy(make):
    make.origin("203.0.113.10:443", "tls")
    net_origin.certificate(make.folder)
    proxy = TlsProxy(make, "203.0.113.3:8443", ("203.0.113.10", 443))
    url = "https://me:secret@proxy.example:8443"
    net = make.net("allow good.example", trust=make.folder / "cert.pem",
                   resolver={"servers": [], "hosts": [["proxy.example", "203.0.113.3"]]},
                   proxy=proxies(url, url))
    assert b"hi" in tls(net)
    assert proxy.seen[0] == (b"CONNECT good.example:443 HTTP/1.1\r\n"
                             b"Host: good.example:443\r\n"
                             b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n")
    stream = net.connect("good.example:80")
    stream.send(GET)
    stream.expect(b"by proxy\n")
    assert proxy.seen[1] == (b"GET http://good.example/ HTTP/1.1\r\n"
                             b"Host: good.example\r\n"
                             b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n")
    net.stop()


@pytest.mark.parametrize("host,trusted", [("proxy.example", False), ("other.test", True)],
                         ids=["unknown authority", "another name"])
def test_an_encrypted_proxy_that_is_not_trusted(make, host, trusted):
    net_origin.certificate(make.folder)
    proxy = TlsProxy(make, "203.0.113.3:8443", ("203.0.113.10", 443))
    net = make.net("allow good.example",
                   trust=make.folder / "cert.pem" if trusted else None,
                   resolver={"servers": [], "hosts": [[host, "203.0.113.3"]]},
                   proxy=proxies(https=f"https://{host}:8443"))
    stream = net.connect("good.example:443")
    stream.send(net_origin.hello("good.example"))
    assert stream.wait_closed() == 111
    net.wait_log({"reason": "the upstream proxy is not trusted"})
    assert not proxy.seen


def test_no_proxy_goes_directly(make):
    make.origin("203.0.113.10:80")
    net = make.net("allow good.example",
                   proxy=proxies("http://203.0.113.3:3128", None, "x.example,.good.example"))
    assert get(net) == 200


@pytest.mark.parametrize("url", ["socks4://203.0.113.3", "http://203.0.113.3:x", "nonsense://"])
def test_a_proxy_that_is_not_understood_closes(make, url):
    """Row: E21. Nothing goes past a setting that we do not understand."""
    origin = make.origin("203.0.113.10:80")
    net = make.net("allow good.example", proxy=proxies(url, url))
    assert get(net) == 502
    net.wait_log({"reason": "the host's proxy setting is not understood"})
    assert not origin.received()


def test_a_proxy_that_is_away_closes(make):
    origin = make.origin("203.0.113.10:80")
    net = make.net("allow good.example",
                   proxy=proxies("http://203.0.113.3:9", "http://203.0.113.3:9"))
    assert get(net) == 502
    assert not origin.received()


@pytest.mark.parametrize("reply", [
    b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!",
    b"HTTP/1.1 200 OK\nBad: line\n\n", b"SSH-2.0-x\r\n\r\n", b"\0" * 70000, b""],
    ids=["login", "forbidden", "bare LF", "not HTTP", "endless", "nothing"])
def test_a_proxy_that_says_something_else(make, reply):
    listener = make.listen("203.0.113.3", 3128)
    net = make.net("allow good.example", proxy=proxies(https="http://203.0.113.3:3128"))
    stream = net.connect("good.example:443")
    stream.send(net_origin.hello("good.example"))
    sock, _ = listener.accept()
    sock.settimeout(10)
    sock.recv(1000)
    try:
        sock.sendall(reply)
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it has heard enough
    assert stream.wait_closed() == 111
    line = net.wait_log({"port": 443})
    assert "upstream proxy" in line["reason"]
    sock.close()


def test_bytes_behind_the_proxys_answer_are_the_servers(make):
    listener = make.listen("203.0.113.3", 3128)
    net = make.net("allow good.example:22", proxy=proxies(https="http://203.0.113.3:3128"))
    stream = net.connect("good.example:22")
    sock, _ = listener.accept()
    sock.settimeout(10)
    sock.recv(1000)
    sock.sendall(b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0-server\r\n")
    stream.expect(b"SSH-2.0-server\r\n")
    sock.close()


@pytest.mark.parametrize("port", [22, 80])
def test_rules_that_change_while_the_proxy_answers(make, port):
    """Row: E21. Then only a rule for many hosts is left, which passes no proxy."""
    listener = make.listen("203.0.113.3", 1080)
    socks = "socks5://203.0.113.3:1080"
    net = make.net(f"allow good.example:{port}", proxy=proxies(http=socks, https=socks))
    stream = net.connect(f"good.example:{port}")
    stream.send(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
    sock, _ = listener.accept()
    sock.settimeout(10)
    assert sock.recv(3)
    assert net.rules(f"allow **:{port}") is None
    with pytest.raises(ConnectionResetError):
        sock.recv(100)
    assert stream.wait_closed()
    net.wait_log({"reason": "revoked", "verdict": "deny"})
    sock.close()
