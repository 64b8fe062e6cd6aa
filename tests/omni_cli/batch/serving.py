"""A real HTTP server that does with each request what a script says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = {"object": "list", "data": [{"id": "tiny"}]}


@dataclass(frozen=True)
class Step:
    """What is done with one request.

    Attributes:
        cut: Close the connection in the middle of the answer.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class BatchServer:
    """Answers POSTs by ``step``, which is given the path and the body.

    Attributes:
        asked: Bodies, in the order in which they came.
        heads: Their headers.
    """

    def __init__(self, step: Callable[[str, Any], Step] | None = None) -> None:
        self.asked: list[Any] = []
        self.heads: list[dict[str, str]] = []
        self.step = step or (lambda path, body: Step(body={"echo": body, "path": path}))
        self.models = Step(body=MODELS)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self, server.models)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with server._lock:
                    server.asked.append(body)
                    server.heads.append({k.lower(): v for k, v in self.headers.items()})
                server.answer(self, server.step(self.path, body))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._lock = threading.Lock()

        class Quiet(ThreadingHTTPServer):
            request_queue_size = 256

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that leaves is part of the tests."""

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop answering; new connections are refused."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler, step: Step) -> None:
        body = json.dumps(step.body, indent=1).encode()
        request.send_response(step.status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(body)))
        request.send_header("x-request-id", "req-1")
        for name, value in step.headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if step.cut else body)
        if step.cut:
            request.close_connection = True
