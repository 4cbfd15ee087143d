# SPDX-License-Identifier: Apache-2.0
"""OCSP: what servers bring about their certificates, and what they promised to bring"""
import subprocess

import pytest

import net_origin
from net_fixtures import make, world  # noqa: F401 pylint: disable=unused-import
from test_net_https import connect

NEEDED = "promises a statement of its authority (OCSP) that did not come"
REVOKED = "its certificate was revoked"


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_leaf(folder, promises):
    """An authority (a.crt), and a certificate by it (leaf.crt)."""
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "30", "-subj", "/CN=authority", "-keyout", "a.key",
            "-out", "a.crt", "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=good.example", "-keyout", "leaf.key", "-out", "leaf.csr")
    with open(f"{folder}/leaf.ext", "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:good.example\n" +
                   ("tlsfeature=status_request\n" if promises else ""))
    openssl(folder, "x509", "-req", "-in", "leaf.csr", "-CA", "a.crt", "-CAkey", "a.key",
            "-set_serial", "0x1234", "-days", "30", "-extfile", "leaf.ext",
            "-out", "leaf.crt")


def make_statement(folder, verdict, signer="a", days="7"):
    """What the authority says: V good, R revoked."""
    revoked = "250101000000Z" if verdict == "R" else ""
    with open(f"{folder}/index", "w", encoding="ascii") as file:
        file.write(f"{verdict}\t491231235959Z\t{revoked}\t1234\tunknown\t/CN=good.example\n")
    openssl(folder, "ocsp", "-index", "index", "-CA", "a.crt", "-issuer", "a.crt",
            "-cert", "leaf.crt", "-rsigner", f"{signer}.crt", "-rkey", f"{signer}.key",
            "-ndays", days, "-respout", "statement", "-noverify")


def ask(made, folder, statement):
    """The answer to a request through the gate."""
    words = ["openssl", "s_server", "-accept", "203.0.113.10:443", "-cert", "leaf.crt",
             "-key", "leaf.key", "-www", "-quiet"]
    if statement:
        words += ["-status_file", "statement"]
    made.program(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_listener(made)
    net = made.net("allow GET good.example", trust=f"{folder}/a.crt",
                   ca=net_origin.sandbox_authority(folder))
    stream = connect(net, folder)
    stream.send(b"GET / HTTP/1.0\r\n\r\n")
    head = stream.expect(b"\r\n\r\n").decode()
    return head.split()[1], stream.read_all().decode()


def wait_for_listener(made):
    for _ in range(500):
        text = made.world.call(lambda: subprocess.run(
            ["ss", "-Hltn", "sport = :443"], check=True, capture_output=True, text=True).stdout)
        if text:
            return
    raise TimeoutError("openssl s_server")


@pytest.mark.parametrize("promises, verdict, status, text", [
    (True, None, "502", NEEDED),
    (True, "V", "200", ""),
    (True, "R", "502", REVOKED),
    (False, "R", "502", REVOKED),
    (False, None, "200", ""),
], ids=["promised_and_missing", "promised_and_good", "promised_and_revoked", "revoked", "none"])
def test_a_statement_of_the_authority_counts(make, tmp_path, promises, verdict, status, text):
    make_leaf(tmp_path, promises)
    if verdict:
        make_statement(tmp_path, verdict)
    found, body = ask(make, str(tmp_path), verdict)
    assert found == status and text in body, body


@pytest.mark.parametrize("promises", [True, False])
def test_a_statement_of_somebody_else_is_none(make, tmp_path, promises):
    make_leaf(tmp_path, promises)
    net_origin.self_signed(tmp_path, "b.key", "b.crt")
    make_statement(tmp_path, "R", signer="b")
    found, body = ask(make, str(tmp_path), True)
    assert found == ("502" if promises else "200"), body
    assert not promises or NEEDED in body
