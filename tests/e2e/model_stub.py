# SPDX-License-Identifier: Apache-2.0
"""model_stub.py - models that ask for one shell command and are content then

Each stands in for the host that an agent talks to, and keeps what it heard. It
speaks as little as the agents understand. In a loop it may do something else in
each iteration, whose number it reads in the prompt: see Turn.
"""
import dataclasses
import http.server
import json
import re
import threading
import typing

USAGE = {"input_tokens": 3, "output_tokens": 2}
DONE = "All is done."
ITERATION = re.compile(r"This is iteration (\d+) of at most")
# what gemini asks a small model first: which one is to work
ROUTE = json.dumps({"reasoning": "it is small", "model_choice": "flash",
                    "complexity_reasoning": "it is small", "complexity_score": 10})
FAULTS = {401: ("authentication_error", "invalid api key"),
          429: ("rate_limit_error", "Number of requests has exceeded your rate limit"),
          529: ("overloaded_error", "Overloaded")}


@dataclasses.dataclass
class Turn:
    """What a model does in one iteration of a loop."""

    text: str = DONE
    command: str | None = None  # no shell command: only the text
    during: typing.Callable | None = None  # called once, before the first answer


class Model:
    """speak() is for net_host's servers."""

    def __init__(self, command):
        self.turn = Turn(command=command)
        self.heads, self.paths, self.results = [], [], []
        self.begin()

    def begin(self, *turns, status=None):
        """A loop: its iterations. The last turn also stands for those after it."""
        self.turns, self.status = turns, status  # a status is answered to every question
        self.prompts, self.lock = {}, threading.Lock()

    def speak(self, connection):
        self.handler(connection, ("stub", 0), self)

    def turn_of(self, question):
        text = json.dumps(question)
        numbers = ITERATION.findall(text)
        if not numbers or not self.turns:
            return self.turn
        number = int(numbers[-1])
        turn = self.turns[min(number, len(self.turns)) - 1]
        with self.lock:
            is_first = number not in self.prompts
            self.prompts.setdefault(number, text)
        if is_first and turn.during:
            turn.during()
        return turn


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_events(self, events):
        text = "".join((f"event: {one['type']}\n" if "type" in one else "")
                       + f"data: {json.dumps(one)}\n\n" for one in events)
        self.send(200, text.encode(), "text/event-stream")

    def note(self):
        self.server.heads.append(dict((k.lower(), v) for k, v in self.headers.items()))
        self.server.paths.append(f"{self.command} {self.path}")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def do_HEAD(self):
        self.note()
        self.send(200, b"")

    def do_GET(self):
        self.note()
        if self.headers.get("Upgrade"):
            self.send(426, b"{}")  # no WebSocket here: at once by HTTP
        else:
            self.send(200, b'{"data": [], "models": []}')

    def refuse(self, status):
        kind, text = FAULTS[status]
        self.send(status, json.dumps({"type": "error", "error": {
            "type": kind, "code": kind, "message": text}}).encode())

    def do_POST(self):
        self.note()
        data = self.body()
        if self.server.status:
            self.refuse(self.server.status)
        else:
            self.answer(json.loads(data or b"{}"))


class AnthropicHandler(Handler):
    def do_GET(self):
        self.note()
        self.send(404, b"{}")  # no settings of an organisation: anything else is asked for again

    def answer(self, question):
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            return self.send(200, b'{"input_tokens": 1}')
        results = [part for message in question["messages"]
                   if isinstance(message["content"], list)
                   for part in message["content"] if part.get("type") == "tool_result"]
        self.server.results += results
        tools = {tool["name"].lower(): tool["name"] for tool in question.get("tools", [])}
        turn = self.server.turn_of(question) if tools else Turn()
        if turn.command and "bash" in tools and not results:
            return self.reply(question, {"type": "tool_use", "id": "toolu_1",
                                         "name": tools["bash"],
                                         "input": {"command": turn.command,
                                                   "description": "the command"}}, "tool_use")
        return self.reply(question, {"type": "text", "text": turn.text}, "end_turn")

    def reply(self, question, part, why):
        message = {"id": "msg_1", "type": "message", "role": "assistant",
                   "model": question["model"], "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": USAGE}
        if not question.get("stream"):
            message |= {"content": [part], "stop_reason": why}
            return self.send(200, json.dumps(message).encode())
        if part["type"] == "text":
            begin, delta = part | {"text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            begin = part | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        return self.send_events([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": begin},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None},
             "usage": USAGE},
            {"type": "message_stop"}])


class OpenaiHandler(Handler):
    def do_GET(self):
        if not self.path.endswith("/accounts/check"):
            return super().do_GET()
        self.note()
        account = {"id": "a-1", "name": "me", "structure": "personal", "plan_type": "pro",
                   "is_deactivated": False, "workspace_backend_origin": "https://chatgpt.com",
                   "account_routing_override": "us"}
        return self.send(200, json.dumps({"accounts": [account], "default_account_id": "a-1",
                                          "account_ordering": ["a-1"]}).encode())

    def answer(self, question):
        # of an account with a login it is below another folder
        if not self.path.split("?")[0].endswith("/responses"):
            return self.send(200, b"{}")
        results = [item for item in question.get("input", [])
                   if item.get("type") == "function_call_output"]
        self.server.results += results
        turn = self.server.turn_of(question)
        if results or not turn.command:
            item = {"type": "message", "role": "assistant", "id": "m1",
                    "content": [{"type": "output_text", "text": turn.text}]}
        else:
            item = {"type": "function_call", "name": "exec_command", "call_id": "c1", "id": "f1",
                    "arguments": json.dumps({"cmd": turn.command})}
        usage = {**USAGE, "total_tokens": 5, "input_tokens_details": None,
                 "output_tokens_details": None}
        return self.send_events([
            {"type": "response.created", "response": {"id": "r1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r1", "usage": usage}}])


class GoogleHandler(Handler):
    def refuse(self, status):
        """A bad key is a bad request there."""
        code, kind, text = {
            401: (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            429: (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")
        }[status]
        self.send(code, json.dumps({"error": {"code": code, "message": text,
                                              "status": kind}}).encode())

    def answer(self, question):
        if not self.path.split("?")[0].lower().endswith("generatecontent"):
            return self.send(200, b'{"totalTokens": 1}')
        parts = [part for content in question.get("contents", [])
                 for part in content.get("parts", [])]
        results = [part for part in parts if "functionResponse" in part]
        self.server.results += results
        turn = self.server.turn_of(question) if question.get("tools") else Turn()
        part = {"text": turn.text}
        if turn.command and not results:
            part = {"functionCall": {"name": "run_shell_command",
                                     "args": {"command": turn.command}}}
        reply = {"candidates": [{"content": {"role": "model", "parts": [part]},
                                 "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2,
                                   "totalTokenCount": 5}}
        if "streamGenerateContent" in self.path:
            return self.send_events([reply])
        part["text"] = ROUTE
        return self.send(200, json.dumps(reply).encode())


class Anthropic(Model):
    handler = AnthropicHandler


class Openai(Model):
    handler = OpenaiHandler


class Google(Model):
    handler = GoogleHandler
