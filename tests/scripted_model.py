"""A model that follows a script: enough of an OpenAI-compatible server for any client library."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted-1"
ANSWERED_BY = "scripted-1-2026-01-01"
"""What the server calls the model, as real ones do: not by the name it was asked for."""
SCRIPT = (("search_orders", "search_orders"), ("issue_refund",))
"""The tools it asks for, turn by turn; then it answers."""
BREAKS = "X-13"
"""An order for which the model fails where it should answer."""


@contextmanager
def scripted_model(thinks_s: float = 0.0) -> Iterator[str]:
    """Base URL of a running model, which thinks so long before it answers."""
    server = _Model(("127.0.0.1", 0), _Handler)
    server.thinks_s = thinks_s
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Model(ThreadingHTTPServer):
    thinks_s = 0.0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Model

    def do_POST(self) -> None:
        time.sleep(self.server.thinks_s)
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn < len(SCRIPT):
            self._answer(200, completion(turn, SCRIPT[turn]))
        elif BREAKS in json.dumps(messages[0]):
            self._answer(400, {"error": {"message": "the script breaks", "type": "invalid_request_error"}})
        else:
            self._answer(200, completion(turn, ()))

    def _answer(self, status: int, body: Any) -> None:
        sent = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def completion(turn: int, tools: Sequence[str]) -> dict[str, Any]:
    """What the model says: calls of tools, or the answer."""
    calls = [
        {
            "id": f"call_{turn}_{number}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps({"order": f"A-{number}"})},
        }
        for number, tool in enumerate(tools)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    said = {"role": "assistant", "content": "It is done."}
    choice = {"index": 0, "message": message if tools else said}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": ANSWERED_BY,
        "choices": [choice | {"finish_reason": "tool_calls" if tools else "stop"}],
        "usage": {"prompt_tokens": 40 + turn, "completion_tokens": 7, "total_tokens": 47 + turn},
    }
