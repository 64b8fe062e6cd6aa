"""The parent's answers on the listening socket until the first frontend takes over.

One connection serves one request, each answer says ``connection: close``, and everything is
bounded: this runs in the parent, beside the work that the client is waiting for. The listening
socket belongs to somebody else and is never closed here: what was not accepted stays in its
backlog for the frontends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import uuid
from collections.abc import Callable
from http import HTTPStatus

import h11

from engine_bridge.status import RuntimeStatus
from server import health
from server.error_shape import error_body
from server.health import Answer
from server.request_id import MAX_REQUEST_ID_CHARS, valid_request_id

__all__ = ["EarlyResponder"]

logger = logging.getLogger(__name__)

# Connections answered at once; the others wait in the backlog. Each lives at most
# CONNECTION_TIMEOUT_S.
MAX_CONNECTIONS = 64
# Request line and headers together; uvicorn's own default.
MAX_HEADER_BYTES = 64 * 1024
# A body is read and thrown away after the answer, so that closing does not reset the connection
# under the answer.
MAX_DRAIN_BYTES = 1024 * 1024
DRAIN_TIMEOUT_S = 1.0
CONNECTION_TIMEOUT_S = 5.0
# How long stop() waits for answers that are being written.
STOP_TIMEOUT_S = 2.0
# Accepts per wake-up, so that a flood does not starve the parent's loop.
ACCEPTS_PER_WAKE = 16
READ_BYTES = 16 * 1024

_RANK = (b"x-omni-rank", b"parent")


class EarlyResponder:
    """Answers ``/livez``, ``/startupz`` and, with 503, everything else.

    Call ``start`` once the socket listens, and ``stop`` when the first frontend accepts. Both may
    be called twice.

    Args:
        sock: The listening socket. It stays the caller's; it is set to non-blocking.
        status: Called for each request.
    """

    def __init__(self, sock: socket.socket, status: Callable[[], RuntimeStatus]) -> None:
        self._sock = sock
        self._status = status
        self._connections: set[asyncio.Task[None]] = set()
        self._running = False
        self._reading = False

    async def start(self) -> None:
        """Begin to accept."""
        self._sock.setblocking(False)
        self._running = True
        self._watch()

    async def stop(self) -> None:
        """Stop accepting at once, then finish the open answers, within STOP_TIMEOUT_S.

        Connections that have not sent a whole request by then are closed.
        """
        self._running = False
        self._unwatch()
        if not self._connections:
            return
        _, late = await asyncio.wait(self._connections, timeout=STOP_TIMEOUT_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _watch(self) -> None:
        if self._running and not self._reading and len(self._connections) < MAX_CONNECTIONS:
            asyncio.get_running_loop().add_reader(self._sock, self._accept)
            self._reading = True

    def _unwatch(self) -> None:
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._sock)
            self._reading = False

    def _accept(self) -> None:
        # Accepted here and not by loop.sock_accept: cancelling that may lose a connection it has
        # already taken.
        for _ in range(ACCEPTS_PER_WAKE):
            if len(self._connections) >= MAX_CONNECTIONS:
                self._unwatch()
                return
            try:
                connection, _ = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                logger.exception("cannot accept a connection")
                self._unwatch()
                asyncio.get_running_loop().call_later(1.0, self._watch)
                return
            task = asyncio.ensure_future(self._serve(connection))
            self._connections.add(task)
            task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        self._watch()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("early answer failed", exc_info=error)

    async def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            async with asyncio.timeout(CONNECTION_TIMEOUT_S):
                await self._converse(connection)
        except (TimeoutError, ConnectionError):
            logger.debug("early connection ended without an answer", exc_info=True)
        finally:
            connection.close()

    async def _converse(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
        try:
            request = await _read_request(loop, connection, http)
        except h11.RemoteProtocolError as error:
            body = error_body("openai", error.error_status_hint, f"not a valid request: {error}")
            await _send(loop, connection, http, Answer(error.error_status_hint, body), None)
        else:
            if request is None:
                return
            await _send(loop, connection, http, self._answer(request), request)
        await _drain(loop, connection)

    def _answer(self, request: h11.Request) -> Answer:
        path = request.target.split(b"?", 1)[0].decode("ascii", "replace")
        status = self._status()
        if path not in {"/livez", "/startupz", "/readyz"}:
            return health.waiting(status)
        if request.method not in {b"GET", b"HEAD"}:
            message = f"{path} answers GET and HEAD only"
            return Answer(405, error_body("openai", 405, message), (("allow", "GET, HEAD"),))
        if path == "/livez":
            return health.livez()
        return health.startupz(status) if path == "/startupz" else health.readyz(status)


async def _read_request(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, http: h11.Connection
) -> h11.Request | None:
    """The request's head, or None if the client closed before it had sent one."""
    while True:
        event = http.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        http.receive_data(await loop.sock_recv(connection, READ_BYTES))


async def _send(
    loop: asyncio.AbstractEventLoop,
    connection: socket.socket,
    http: h11.Connection,
    answer: Answer,
    request: h11.Request | None,
) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer.body)).encode()),
        (b"connection", b"close"),
        _RANK,
        (b"x-request-id", _request_id(request)),
        *((name.encode(), value.encode()) for name, value in answer.headers),
    ]
    reason = HTTPStatus(answer.status).phrase.encode()
    parts = [http.send(h11.Response(status_code=answer.status, headers=headers, reason=reason))]
    if request is None or request.method != b"HEAD":
        parts.append(http.send(h11.Data(data=answer.body)))
    parts.append(http.send(h11.EndOfMessage()))
    await loop.sock_sendall(connection, b"".join(part for part in parts if part))


def _request_id(request: h11.Request | None) -> bytes:
    given = [value for name, value in request.headers if name == b"x-request-id"] if request else []
    if given and valid_request_id(given[0], MAX_REQUEST_ID_CHARS):
        return given[0]
    return uuid.uuid4().hex.encode()


async def _drain(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """Say that nothing more comes, then read on until the client closes or a bound is reached."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    left = MAX_DRAIN_BYTES
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            while left > 0 and (data := await loop.sock_recv(connection, READ_BYTES)):
                left -= len(data)
