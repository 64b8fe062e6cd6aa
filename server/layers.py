"""The layers between the envelope and the routes: CORS, then the gate."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.body import declared_length
from server.errors import BodyTooLarge, error_response
from server.gate import Gate
from server.health import Answer
from server.keys import KEY_HEADERS
from server.settings import Cors, HttpPlan

__all__ = ["CorsLayer", "GateLayer"]

# What a page of another origin may read of an answer, beside what every page may.
EXPOSED_HEADERS = ("x-omni-rank", "x-request-id", "retry-after")

# Close code of a handshake that is denied where the server cannot send an HTTP answer instead.
POLICY_VIOLATION = 1008


class GateLayer:
    """Lets in what passes the gate, without its key and without the proxy's prefix.

    A refused request is answered before any of its body is read.
    """

    def __init__(self, app: ASGIApp, gate: Gate, http: HttpPlan) -> None:
        self._app = app
        self._gate = gate
        self._max_body_bytes = http.max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._app(scope, receive, send)
            return
        path = self._take_prefix_off(scope)
        refusal = self._gate.refusal(scope.get("method", ""), path, scope["headers"])
        # The scope itself, not a copy: the envelope reads from it which route was taken.
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in KEY_HEADERS]
        if refusal is not None:
            deny = _deny if kind == "websocket" else _refuse
            await deny(refusal, scope, receive, send)
        elif kind == "http" and declared_length(scope) > self._max_body_bytes:
            too_large = error_response(scope["path"], BodyTooLarge(self._max_body_bytes))
            await too_large(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _take_prefix_off(self, scope: Scope) -> bytes:
        """Routes see the same paths whatever a proxy does; returns the raw one."""
        sent: bytes = scope.get("raw_path") or scope["path"].encode()
        inner = self._gate.inner_path(sent)
        if inner != sent:
            scope["raw_path"] = inner
            scope["path"] = unquote(inner.decode(errors="replace"))
        return inner


class CorsLayer(CORSMiddleware):
    """Answers preflights, which carry no key, and marks all other answers, refusals too."""

    def __init__(self, app: ASGIApp, gate: Gate, cors: Cors) -> None:
        super().__init__(
            app,
            allow_origins=cors.origins,
            allow_methods=cors.methods,
            allow_headers=cors.headers,
            allow_credentials=cors.credentials,
            expose_headers=EXPOSED_HEADERS,
        )
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; a preflight too must name a host of this server."""
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            path = self._gate.inner_path(scope.get("raw_path") or scope["path"].encode())
            refusal = self._gate.wrong_host(path, scope["headers"])
            if refusal is not None:
                await _refuse(refusal, scope, receive, send)
                return
        await super().__call__(scope, receive, send)


async def _refuse(refusal: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    headers = dict(refusal.headers)
    response = Response(refusal.body, refusal.status, headers, media_type="application/json")
    await response(scope, receive, send)


async def _deny(refusal: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """End a WebSocket handshake with the answer, where the server can send one, else with 403."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), value.encode()) for name, value in refusal.headers]
    start = {"type": "websocket.http.response.start", "status": refusal.status, "headers": headers}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": refusal.body})
