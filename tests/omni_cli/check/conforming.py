"""A server that keeps every rule that `omni check` knows, and a place to make it break one.

One thread, one connection after the other: the checks send one request at a time. A request that
would take minutes is held, and counts as running until its client leaves.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from omni_cli.check.apis import APIS, Api
from omni_cli.check.families.auth import PROBES

MODEL = "tiny"
KEY = "the-key"
CONTEXT = 400
PIECES = ["The", " moon", " shines", " on", " all", " of", " us", ", ol", "d and young", "."]
DEADLINE_S = 10.0
READ_BYTES = 256 * 1024
MAX_HEAD = 64 * 1024
MAX_BODY = 1024 * 1024
HELD_TOKENS = 100  # an answer of more is never finished
ROUTES = ("/v1/models", "/metrics", "/openapi.json", "/version", *(api.path for api in APIS))


@dataclass
class Asked:
    """One request; ``changes`` is what differs from the API's small request."""

    method: str
    target: str
    headers: dict[str, str]
    raw: bytes
    body: Any = None
    api: Api | None = None

    @property
    def name(self) -> str:
        return self.api.name if self.api else ""

    @property
    def changes(self) -> dict[str, Any]:
        assert self.api is not None
        base = {"model": MODEL, **self.api.body}
        changed = {key: value for key, value in self.body.items() if base.get(key) != value}
        return {**changed, **{key: None for key in base if key not in self.body}}

    def is_plain(self, name: str, **changes: Any) -> bool:
        """Whether it is the small request of that API with these changes."""
        if self.name != name or self.api is None or not isinstance(self.body, dict):
            return False
        base = self.api.body
        return self.changes == {key: new for key, new in changes.items() if base.get(key) != new}


@dataclass
class Reply:
    """What is answered; a twist may alter all of it."""

    status: int = 200
    body: Any = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    frames: list[Any] | None = None  # of a stream: objects, or [DONE]
    prefix: bytes = b""
    names: dict[int, str] = field(default_factory=dict)  # event names that differ
    end: str = "whole"  # or "hold", "hang", "cut"

    def payload(self) -> bytes:
        if self.frames is None:
            return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = [self.prefix]
        for number, frame in enumerate(self.frames):
            if isinstance(frame, str):
                lines.append(f"data: {frame}\n\n".encode())
                continue
            kind = frame.get("type", "")
            if kind.startswith("response."):
                frame = {"sequence_number": number, **frame}
            name = self.names.get(number, kind)
            event = f"event: {name}\n" if name else ""
            lines.append(f"{event}data: {json.dumps(frame)}\n\n".encode())
        return b"".join(lines)


Twist = Callable[[Asked, Reply], None]


class Conforming:
    """The server. Close it."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.twist: Twist = lambda asked, reply: None
        self.deaf: set[tuple[str, bool]] = set()  # API and stream whose clients may leave unseen
        self.asked: list[Asked] = []
        self._held: list[tuple[socket.socket, tuple[str, bool]]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._wake, self._stop = socket.socketpair()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def forget(self) -> None:
        """Let go of the requests that are held."""
        held, self._held = self._held, []
        for connection, _ in held:
            connection.close()

    def close(self) -> None:
        self._stop.send(b"x")
        self._thread.join(DEADLINE_S)
        self.forget()
        for each in (self._listener, self._wake, self._stop):
            each.close()

    def _run(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._wake], [], [], DEADLINE_S)
            if self._listener not in ready:
                return
            connection, _ = self._listener.accept()
            connection.settimeout(DEADLINE_S)
            try:
                if not self._serve(connection):
                    connection.close()
            except OSError:  # the client has seen enough
                connection.close()

    def _serve(self, connection: socket.socket) -> bool:
        """Answer one request; whether the connection is kept."""
        asked, reply = self._read(connection)
        if asked is not None:
            self.asked.append(asked)
            if reply is None:
                reply = self._answer(asked)
            self.twist(asked, reply)
        assert reply is not None
        return self._send(connection, asked, reply)

    def _read(self, connection: socket.socket) -> tuple[Asked | None, Reply | None]:
        data = bytearray()
        while data.find(b"\r\n\r\n", max(0, len(data) - READ_BYTES - 4)) < 0:
            more = connection.recv(READ_BYTES)
            if not more:
                return None, Reply(end="cut")
            data += more
        head, _, raw = bytes(data).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        pairs = [line.split(":", 1) for line in lines]
        headers = {name.lower(): value.strip() for name, value in pairs}
        asked = Asked(method, target, headers, raw)
        if len(head) > MAX_HEAD:
            return asked, refusal(431, "The head is too large.")
        length = int(headers.get("content-length", "0"))
        if length > MAX_BODY:
            return asked, refusal(413, "The body is too large.")
        while len(asked.raw) < length:
            asked.raw += connection.recv(READ_BYTES)
        return asked, None

    def _send(self, connection: socket.socket, asked: Asked | None, reply: Reply) -> bool:
        payload = reply.payload()
        if reply.end == "cut":
            return False
        headers = {"content-type": reply.kind, "connection": "close", **reply.headers}
        if reply.end == "whole":
            headers["content-length"] = str(len(payload))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode("latin-1")
        if reply.end == "hang":
            self._held.append((connection, ("", False)))
            return True
        if reply.end == "hold":
            assert asked is not None
            stream = bool(asked.body.get("stream"))
            if stream:
                connection.sendall(head)
            self._held.append((connection, (asked.name, stream)))
            return True
        connection.sendall(head + payload)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(READ_BYTES):  # closing would reset what was just sent
            pass
        return False

    def _running(self) -> int:
        """Held requests whose client is there, or whose going is not noticed."""
        kept = []
        for connection, what in self._held:
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and what not in self.deaf and not connection.recv(1, socket.MSG_PEEK):
                connection.close()
            else:
                kept.append((connection, what))
        self._held = kept
        return len([what for _, what in kept if what[0]])

    def _answer(self, asked: Asked) -> Reply:
        path = asked.target.partition("?")[0]
        asked.api = next((api for api in APIS if api.path == path), None)
        anthropic = path.startswith("/v1/messages")
        if path in PROBES[:2]:
            return Reply(body={"status": "alive"})
        if self.key and not self._has_key(asked.headers):
            reply = refusal(401, "The API key is missing or wrong.", anthropic=anthropic)
            reply.headers["www-authenticate"] = "Bearer"
            return reply
        if asked.api is not None:
            return self._api(asked, asked.api)
        if asked.method == "GET":
            found = self._page(path)
            if found is not None:
                return found
        return refusal(404, "There is no such route.", anthropic=anthropic)

    def _has_key(self, headers: dict[str, str]) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = scheme.lower() == "bearer" and token == self.key
        return bearer or headers.get("x-api-key") == self.key

    def _page(self, path: str) -> Reply | None:
        card: dict[str, Any] = {"id": MODEL, "object": "model", "created": 1, "owned_by": "us"}
        card["max_model_len"] = CONTEXT
        if path == "/v1/models":
            return Reply(body={"object": "list", "data": [card]})
        if path.startswith("/v1/models/"):
            missing = refusal(404, "There is no such model.", "model")
            return Reply(body=card) if path == f"/v1/models/{MODEL}" else missing
        if path == "/metrics":
            text = f'# HELP x y\nvllm:num_requests_running{{engine="0"}} {self._running()}\n'
            return Reply(body=text.encode(), kind="text/plain")
        if path == "/openapi.json":
            return Reply(body={"paths": {route: {} for route in ROUTES}})
        return Reply(body={"version": "1"}) if path == "/version" else None

    def _api(self, asked: Asked, api: Api) -> Reply:
        if asked.method != "POST":
            reply = refusal(405, "Use POST.", anthropic=api.is_anthropic)
            reply.headers["allow"] = "POST"
            return reply
        fault = _fault(asked, api)
        if fault is not None:
            return refusal(*fault, anthropic=api.is_anthropic)
        if asked.body.get(api.limit, 0) >= HELD_TOKENS:
            kind = "text/event-stream" if asked.body.get("stream") else "application/json"
            return Reply(end="hold", kind=kind)
        return answer(api, asked.body)


def refusal(status: int, message: str, param: str = "", *, anthropic: bool = False) -> Reply:
    """An error in its family's shape."""
    if anthropic:
        names = {401: "authentication_error", 404: "not_found_error"}
        inner = {"type": names.get(status, "invalid_request_error"), "message": message}
        return Reply(status, {"type": "error", "error": inner})
    error = {"message": message, "type": "BadRequestError", "param": param or None, "code": status}
    return Reply(status, {"error": error})


def _fault(asked: Asked, api: Api) -> tuple[int, str, str] | tuple[int, str] | None:
    """What is wrong with a request, if anything is."""
    if asked.headers.get("content-type") != "application/json":
        return 415, "The body has to be JSON."
    try:
        body = asked.body = json.loads(asked.raw)
    except ValueError:
        return 400, "The body is not JSON."
    for name in ("model", api.required):
        if name not in body:
            return 400, f"The field {name} is missing.", name
    wrong = _wrong_field(body, api)
    if wrong:
        return 400, f"The field {wrong} has a wrong value.", wrong
    if body["model"] != MODEL:
        return 404, "There is no such model.", "model"
    if len(asked.raw.split()) > CONTEXT:
        return 400, "The prompt is longer than the context."
    return None


def _wrong_field(body: dict[str, Any], api: Api) -> str | None:
    for name in ("temperature", api.limit, "n"):
        if not isinstance(body.get(name, 0), int) or body.get(name, 0) < 0:
            return name
    for name in (api.prompt, "tools", "stop", "encoding_format"):
        if name in body and not _is_text(body[name]):
            return name
    return None


def _is_text(value: Any) -> bool:
    """Whether it is a text, or a list of texts or of messages with texts."""
    if not isinstance(value, list):
        return isinstance(value, str)
    contents = [part.get("content") if isinstance(part, dict) else part for part in value]
    return all(isinstance(content, str) for content in contents)


def answer(api: Api, body: dict[str, Any]) -> Reply:
    """What the model says, in the API's form."""
    if api.name == "embeddings":
        data = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
        usage = {"prompt_tokens": 2, "total_tokens": 2}
        return Reply(body={"object": "list", "data": data, "model": MODEL, "usage": usage})
    tokens = body.get(api.limit, body.get("max_completion_tokens"))
    pieces = (PIECES * 10)[:tokens]
    text = "".join(pieces)
    stops = body.get("stop_sequences" if api.name == "messages" else "stop") or []
    found = [(text.find(stop), stop) for stop in stops if stop in text]
    stopped = min(found)[1] if found else None
    if found:
        text = text[: min(found)[0]]
        pieces = [text[:3], text[3:]]
    maker = {"responses": _responses, "messages": _messages}.get(api.name)
    if maker is not None:
        return maker(body, text, pieces, stopped)
    return _openai(api.name, body, text, pieces, "stop" if stopped else "length")


def _openai(name: str, body: dict[str, Any], text: str, pieces: list[str], finish: str) -> Reply:
    chat = name == "chat"
    usage = {"prompt_tokens": 5, "completion_tokens": len(pieces), "total_tokens": 5 + len(pieces)}
    head = {"id": "x-1", "created": 1, "model": MODEL}
    if not body.get("stream"):
        said: dict[str, Any] = {"text": text}
        if chat:
            said = {"message": {"role": "assistant", "content": text}}
        choice = {"index": 0, "finish_reason": finish, **said}
        kind = "chat.completion" if chat else "text_completion"
        return Reply(body={**head, "object": kind, "choices": [choice], "usage": usage})
    head["object"] = "chat.completion.chunk" if chat else "text_completion"
    frames: list[Any] = []
    for index in range(body.get("n", 1)):
        for piece in [*pieces, None]:
            part: dict[str, Any] = {"delta": {"content": piece} if piece else {}}
            if not chat:
                part = {"text": piece or ""}
            end = None if piece is not None else finish
            frames.append({**head, "choices": [{"index": index, "finish_reason": end, **part}]})
    if body.get("stream_options"):
        frames.append({**head, "choices": [], "usage": usage})
    return Reply(kind="text/event-stream", frames=[*frames, "[DONE]"])


def _responses(body: dict[str, Any], text: str, pieces: list[str], stopped: str | None) -> Reply:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 5, "output_tokens": len(pieces), "total_tokens": 5 + len(pieces)}
    response = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": MODEL,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [item],
        "usage": usage,
    }
    if not body.get("stream"):
        return Reply(body=response)
    frames: list[Any] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "item": {**item, "content": []}},
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", "text": text},
        {"type": "response.content_part.done", "part": part},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.incomplete", "response": response},
    ]
    return Reply(kind="text/event-stream", frames=frames)


def _messages(body: dict[str, Any], text: str, pieces: list[str], stopped: str | None) -> Reply:
    end = {"stop_reason": "stop_sequence" if stopped else "max_tokens", "stop_sequence": stopped}
    head = {"id": "m", "type": "message", "role": "assistant", "model": MODEL}
    if not body.get("stream"):
        usage = {"input_tokens": 5, "output_tokens": len(pieces)}
        content = [{"type": "text", "text": text}]
        return Reply(body={**head, "content": content, **end, "usage": usage})
    start = {**head, "content": [], "usage": {"input_tokens": 5, "output_tokens": 0}}
    frames: list[Any] = [
        {"type": "message_start", "message": start},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": len(pieces)}},
        {"type": "message_stop"},
    ]
    return Reply(kind="text/event-stream", frames=frames)
