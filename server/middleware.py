"""The outermost layer: what every answer carries, whatever gives it.

It names the rank and the request, bounds the body, counts, and is the one place where an exception
that nobody expected ends: logged with its request id, told to the client without its insides. It
stands in a stream's way only at its start.
"""

from __future__ import annotations

import logging
import time
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.body import BoundedReceive, leaves_unread
from server.errors import SERVER_FAILED, ApiError, error_response
from server.metrics import HttpMetrics
from server.request_id import valid_request_id
from server.settings import FrontendSettings

__all__ = ["CLIENT_LEFT", "UNMATCHED", "Envelope"]

logger = logging.getLogger(__name__)

# Counted, never sent: the client closed the connection before there was an answer. nginx's number
# for it.
CLIENT_LEFT = 499
# The route label of a path that no route matches; the path itself would make the number of series
# unbounded.
UNMATCHED = "unmatched"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_ID = b"x-request-id"
_CLOSE = (b"connection", b"close")
# The first message of an answer.
_STARTS = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})


class Envelope:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, settings: FrontendSettings, metrics: HttpMetrics) -> None:
        self.inner = app
        self._settings = settings
        self._metrics = metrics
        self._rank = (b"x-omni-rank", str(settings.rank).encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        exchange = _Exchange(self._settings, self._rank, scope, receive, send)
        if scope["type"] == "http":
            await exchange.run(self.inner, self._metrics)
        else:
            await self.inner(scope, receive, exchange.send)


class _Exchange:
    """One request and its answer."""

    def __init__(
        self,
        settings: FrontendSettings,
        rank: tuple[bytes, bytes],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        http = settings.http
        self._scope = scope
        self._body = BoundedReceive(receive, http.max_body_bytes, settings.body_idle_timeout_s)
        self._send = send
        self._status = CLIENT_LEFT
        self._started = False
        self._request_id = _adopt_request_id(scope, http.max_request_id_chars)
        self._extra = [rank, (_ID, self._request_id)]

    async def run(self, app: ASGIApp, metrics: HttpMetrics) -> None:
        began = time.perf_counter()
        try:
            await app(self._scope, self._body, self.send)
        except ApiError as error:
            await self._refuse(error)
        except Exception:
            logger.exception("request %s failed", self._request_id.decode())
            await self._refuse(ApiError(500, SERVER_FAILED))
        finally:
            route = getattr(self._scope.get("route"), "path", UNMATCHED)
            method = self._scope["method"] if self._scope["method"] in METHODS else "OTHER"
            metrics.observe(route, method, self._status, time.perf_counter() - began)

    async def send(self, message: Message) -> None:
        if message["type"] in _STARTS:
            self._started = True
            self._status = message.get("status", 0)
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != _ID]
            message["headers"] = headers + self._extra
            if not self._body.complete and leaves_unread(self._scope) and _CLOSE not in headers:
                message["headers"].append(_CLOSE)
        await self._send(message)

    async def _refuse(self, error: ApiError) -> None:
        """Answer from out here; one that has begun can only be cut."""
        if not self._started:
            response = error_response(self._scope["path"], error)
            await response(self._scope, _no_more, self.send)


async def _no_more() -> Message:
    return {"type": "http.disconnect"}


def _adopt_request_id(scope: Scope, max_chars: int) -> bytes:
    """The client's id if it is valid, else a new one, put where upstream reads it."""
    given = [value for name, value in scope["headers"] if name == _ID]
    if len(given) == 1 and valid_request_id(given[0], max_chars):
        return bytes(given[0])
    new = uuid.uuid4().hex.encode()
    headers = [pair for pair in scope["headers"] if pair[0] != _ID]
    scope["headers"] = [*headers, (_ID, new)]
    return new
