# SPDX-License-Identifier: Apache-2.0
"""vendor_stub.py - where claude and codex log in, and renew what they got

Each stands in for a vendor's token endpoint. A refresh token is good for one
time. What a login gets is over at once, for the agent and for the host; what
the agent renews then, for the host: both ways are heard in one run of it.
"""
import base64
import json
import secrets
import time
import urllib.parse

from model_stub import Handler

LIFE = 3600


class Vendor:
    """speak() is for net_host's servers."""

    def __init__(self):
        self.asked = []  # requests for tokens: path, type, agent, fields
        self.issued, self.refresh = [], None  # all tokens; the refresh token that is good

    def speak(self, connection):
        self.handler(connection, ("stub", 0), self)

    def issue(self, life):
        tokens = self.make(int(time.time()) + (LIFE if self.issued else life))
        self.refresh = tokens["refresh_token"]
        self.issued.append(tokens)
        return {**tokens, "token_type": "Bearer", "expires_in": life}

    def hidden(self):
        """What nobody else may have: of a JWT its signature."""
        return [value.rsplit(".", 1)[-1] for tokens in self.issued for value in tokens.values()]

    def renewals(self):
        """The agent's own, and the host's."""
        both = [one for one in self.asked if one["fields"]["grant_type"] == "refresh_token"]
        return ([one for one in both if one["agent"] != "bawn"],
                [one for one in both if one["agent"] == "bawn"])


class VendorHandler(Handler):
    def do_GET(self):
        self.send(404, b"{}")

    def do_POST(self):
        data = self.body().decode()
        kind = self.headers["Content-Type"].split(";")[0]
        fields = (json.loads(data or "{}") if kind == "application/json"
                  else dict(urllib.parse.parse_qsl(data)))
        status, answer = self.answer_to(kind, fields)
        self.send(status, json.dumps(answer).encode())

    def answer_to(self, kind, fields):
        vendor, agent = self.server, self.headers.get("User-Agent")
        if "grant_type" not in fields:
            return 404, {}
        vendor.asked.append({"path": self.path, "type": kind, "agent": agent, "fields": fields})
        if fields["grant_type"] == "authorization_code":
            return 200, vendor.issue(1)
        if fields["grant_type"] == "refresh_token" and fields["refresh_token"] == vendor.refresh:
            return 200, vendor.issue(LIFE if agent == "bawn" else 1)
        return 400, {"error": "invalid_grant"}


class Claude(Vendor):
    handler = VendorHandler
    scope = "user:inference user:profile"

    def make(self, ends):
        return {"access_token": "sk-ant-oat01-" + secrets.token_hex(47),
                "refresh_token": "sk-ant-ort01-" + secrets.token_hex(47)}

    def issue(self, life):
        return {**super().issue(life), "scope": self.scope}


class CodexHandler(VendorHandler):
    def answer_to(self, kind, fields):
        if self.path.endswith("/deviceauth/usercode"):
            return 200, {"device_auth_id": "d", "user_code": "ABCD-1234", "interval": "1"}
        if self.path.endswith("/deviceauth/token"):
            return 200, {"authorization_code": "c", "code_challenge": "h", "code_verifier": "v"}
        return super().answer_to(kind, fields)


class Codex(Vendor):
    handler = CodexHandler

    def make(self, ends):
        claims = {"email": "me@example.test", "exp": ends, "https://api.openai.com/auth": {
            "chatgpt_account_id": "a-1", "chatgpt_plan_type": "pro", "chatgpt_user_id": "u-1"}}

        def jwt():
            return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (
                b'{"alg":"RS256"}', json.dumps(claims).encode(), secrets.token_bytes(64)))
        return {"access_token": jwt(), "id_token": jwt(),
                "refresh_token": "rt_" + secrets.token_hex(40)}
