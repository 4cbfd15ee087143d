# SPDX-License-Identifier: Apache-2.0
"""model_stub.py - models that ask for one shell command and are content then

Each stands in for the host that an agent talks to, and keeps what it heard. It
speaks as little as the agents understand.
"""
import http.server
import json

USAGE = {"input_tokens": 3, "output_tokens": 2}


class Model:
    """speak() is for net_host's servers."""

    def __init__(self, command):
        self.command = command
        self.heads, self.paths, self.results = [], [], []
        self.status = None  # answered to every question instead

    def speak(self, connection):
        self.handler(connection, ("stub", 0), self)


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
        text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
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

    def do_POST(self):
        self.note()
        data = self.body()
        if self.server.status:
            self.send(self.server.status, b'{"type": "error", "error": {"type": '
                      b'"authentication_error", "message": "no"}}')
        else:
            self.answer(json.loads(data or b"{}"))


class AnthropicHandler(Handler):
    def answer(self, question):
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            return self.send(200, b'{"input_tokens": 1}')
        results = [part for message in question["messages"]
                   if isinstance(message["content"], list)
                   for part in message["content"] if part.get("type") == "tool_result"]
        self.server.results += results
        tools = [tool["name"] for tool in question.get("tools", [])]
        if "Bash" in tools and not results:
            return self.reply(question, {"type": "tool_use", "id": "toolu_1", "name": "Bash",
                                         "input": {"command": self.server.command,
                                                   "description": "the command"}}, "tool_use")
        return self.reply(question, {"type": "text", "text": "All is done."}, "end_turn")

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
    def answer(self, question):
        if not self.path.startswith("/v1/responses"):
            return self.send(200, b"{}")
        results = [item for item in question.get("input", [])
                   if item.get("type") == "function_call_output"]
        self.server.results += results
        if results:
            item = {"type": "message", "role": "assistant", "id": "m1",
                    "content": [{"type": "output_text", "text": "All is done."}]}
        else:
            item = {"type": "function_call", "name": "exec_command", "call_id": "c1", "id": "f1",
                    "arguments": json.dumps({"cmd": self.server.command})}
        usage = {**USAGE, "total_tokens": 5, "input_tokens_details": None,
                 "output_tokens_details": None}
        return self.send_events([
            {"type": "response.created", "response": {"id": "r1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r1", "usage": usage}}])


class Anthropic(Model):
    handler = AnthropicHandler


class Openai(Model):
    handler = OpenaiHandler
