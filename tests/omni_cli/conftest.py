"""A scripted OpenAI-style server, the command in a process of its own, and a real terminal."""

from __future__ import annotations

import json
import os
import select
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.tools import needed

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 20.0  # of any single wait; generous, the machine may be busy


def chunk(text: str | None = None, **fields: Any) -> bytes:
    """One SSE frame of a chat answer."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": None}
    choice["finish_reason"] = fields.pop("finish", None)
    return sse({"model": "tiny", "choices": [choice], **fields})


def sse(frame: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


@dataclass
class Reply:
    """What the server does with one request: a head, some pieces, and an end."""

    pieces: list[bytes] = field(default_factory=list)
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    end: str = "whole"  # or "cut": drop the connection; "hang": wait until the client leaves

    @classmethod
    def answer(cls, *texts: str, end: str = "whole", tokens: int | None = None) -> Reply:
        """A streamed answer in the given pieces."""
        pieces = [chunk(text) for text in texts]
        if end == "whole":
            usage = {"prompt_tokens": 3, "completion_tokens": tokens or len(texts)}
            pieces.append(chunk(finish="stop"))
            pieces += [sse({"model": "tiny", "choices": [], "usage": usage}), DONE]
        return cls(pieces, end=end)

    @classmethod
    def json(cls, body: Any, status: int = 200, **headers: str) -> Reply:
        return cls([json.dumps(body).encode()], status, "application/json", headers)


class ScriptedServer:
    """Answers POST with the enqueued replies in order; what was asked is in ``asked``."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.heads: list[dict[str, str]] = []
        self.client_left = threading.Event()
        self.models = Reply.json({"object": "list", "data": [{"id": "tiny"}]})
        self.before: list[Reply] = []  # answers to whatever is asked first
        self.startup: Any = {}
        self._replies: list[Reply] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.handle(self, None)

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                server.handle(self, json.loads(self.rfile.read(length)))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def enqueue(self, *replies: Reply) -> None:
        self._replies += replies

    def handle(self, request: BaseHTTPRequestHandler, body: Any) -> None:
        self.paths.append(request.path)
        self.heads.append({name.lower(): value for name, value in request.headers.items()})
        self._send(request, self._choose(request.path, body))

    def _choose(self, path: str, body: Any) -> Reply:
        if path == "/startupz":
            return Reply.json(self.startup, 503)
        if self.before:
            return self.before.pop(0)
        if path == "/v1/models":
            return self.models
        if path not in ("/v1/chat/completions", "/v1/completions"):
            return Reply.json({"detail": "Not Found"}, 404)
        self.asked.append(body)
        return self._replies.pop(0)

    def _send(self, request: BaseHTTPRequestHandler, reply: Reply) -> None:
        request.send_response(reply.status)
        request.send_header("content-type", reply.content_type)
        request.send_header("transfer-encoding", "chunked")
        for name, value in reply.headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        for piece in reply.pieces:
            request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            request.wfile.flush()
        if reply.end == "hang":
            readable, _, _ = select.select([request.connection], [], [], DEADLINE_S)
            if readable and not request.connection.recv(1):
                self.client_left.set()
        if reply.end == "whole":
            request.wfile.write(b"0\r\n\r\n")
        else:
            request.close_connection = True


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str


RunOmni = Callable[..., Run]
COMMAND = [sys.executable, "-m", "omni_cli.main"]


def omni_env(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


@pytest.fixture
def omni() -> RunOmni:
    """Run the command with stdin empty unless told otherwise."""

    def run(*args: str, stdin: str | bytes | None = None, **env: str) -> Run:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*COMMAND, *args],
            stdin=subprocess.DEVNULL if data is None else None,
            input=data,
            capture_output=True,
            timeout=60,
            env=omni_env(**env),
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


class Screen:
    """A shell in a real terminal of its own."""

    def __init__(self, folder: Path, columns: int = 80, rows: int = 24) -> None:
        self._socket = str(folder / "tmux")
        shell = "env PS1='$ ' NO_COLOR=1 sh"
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, shell)
        self._tmux("set-option", "-g", "history-limit", "5000")
        self.wait_for("$ ")

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *args],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            env=omni_env(TERM="xterm-256color", LC_ALL="C.UTF-8"),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        self._tmux("kill-server")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def paste(self, text: str) -> None:
        """Paste as a terminal does: bracketed, if the program asked for that."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p", "-r")

    def lines(self) -> list[str]:
        """All lines from the start of the history, without empty ones at the end."""
        return self._tmux("capture-pane", "-p", "-S", "-").rstrip("\n").split("\n")

    def text(self) -> str:
        return "\n".join(self.lines())

    def wait_for(self, *texts: str, times: int = 1) -> str:
        """The screen once all the texts are on it; a space at the end of a line cannot be seen."""
        texts = tuple(text.rstrip(" ") for text in texts)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            shown = self.text()
            if all(shown.count(text) >= times for text in texts):
                return shown
            assert time.monotonic() < deadline, f"{texts} not in:\n{shown}"
            threading.Event().wait(0.02)

    def child(self) -> int:
        """The process that the shell is running."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def flags(self) -> dict[str, str]:
        """The state of the terminal itself that a program could leave behind."""
        formats = "#{cursor_flag} #{keypad_flag} #{mouse_any_flag} #{alternate_on}"
        return {"tmux": self._tmux("display-message", "-p", formats).strip()}


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    needed("tmux")
    shown = Screen(tmp_path)
    yield shown
    shown.close()
