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
from server.error_shape import NOT_HTTP, error_body, head_too_large
from server.gate import Gate, split_target
from server.health import Answer
from server.request_id import valid_request_id
from server.settings import HttpPlan
from server.tls_watch import TlsWatch

__all__ = ["EarlyResponder"]

logger = logging.getLogger(__name__)

# Connections answered at once; the others wait in the backlog. Each lives at most
# CONNECTION_TIMEOUT_S.
MAX_CONNECTIONS = 64
# A body is read and thrown away after the answer, so that closing does not reset the connection
# under the answer.
MAX_DRAIN_BYTES = 1024 * 1024
DRAIN_TIMEOUT_S = 1.0
# From the accept on, a TLS handshake included.
CONNECTION_TIMEOUT_S = 5.0
# For the other side's part in closing TLS; the answer is out by then.
TLS_CLOSE_TIMEOUT_S = 1.0
# How long stop() waits for answers that are being written.
STOP_TIMEOUT_S = 2.0
# Accepts per wake-up, so that a flood does not starve the parent's loop.
ACCEPTS_PER_WAKE = 16
READ_BYTES = 16 * 1024
HEAD_TOO_LARGE = 431

_RANK = (b"x-omni-rank", b"parent")
_PLAIN = HttpPlan()


class EarlyResponder:
    """Answers ``/livez``, ``/startupz`` and, with 503, everything else.

    Call ``start`` once the socket listens, and ``stop`` when the first frontend accepts. Both may
    be called twice.

    Args:
        sock: The listening socket. It stays the caller's; it is set to non-blocking.
        status: Called for each request.
        http: As for the frontends: the same names, keys, bounds and certificate.

    Raises:
        UsageError: If the certificate or its key cannot be used.
    """

    def __init__(
        self,
        sock: socket.socket,
        status: Callable[[], RuntimeStatus],
        http: HttpPlan = _PLAIN,
    ) -> None:
        self._sock = sock
        self._status = status
        self._http = http
        self._gate = Gate(http)
        self._tls = TlsWatch(http.tls) if http.tls is not None else None
        self._watching: asyncio.Task[None] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._running = False
        self._reading = False

    async def start(self) -> None:
        """Begin to accept."""
        self._sock.setblocking(False)
        self._running = True
        if self._tls is not None and self._watching is None:
            self._watching = asyncio.ensure_future(self._tls.run(lambda context: None))
        self._watch()

    async def stop(self) -> None:
        """Stop accepting at once, then finish the open answers, within STOP_TIMEOUT_S.

        Connections that have not sent a whole request by then are closed.
        """
        self._running = False
        self._unwatch()
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
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
        reader = asyncio.StreamReader(limit=READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(CONNECTION_TIMEOUT_S):
                transport = await self._connect(connection, protocol)
                loop = asyncio.get_running_loop()
                writer = asyncio.StreamWriter(transport, protocol, reader, loop)
                await self._converse(reader, writer)
                transport.close()
        except (TimeoutError, OSError):  # the latter is a handshake that failed, too
            logger.debug("early connection ended without an answer", exc_info=True)
        finally:
            if transport is None:
                connection.close()
            elif not transport.is_closing():
                transport.abort()

    async def _connect(
        self, connection: socket.socket, protocol: asyncio.Protocol
    ) -> asyncio.Transport:
        connect = asyncio.get_running_loop().connect_accepted_socket
        if self._tls is None:
            transport, _ = await connect(lambda: protocol, connection)
        else:
            transport, _ = await connect(
                lambda: protocol,
                connection,
                ssl=self._tls.context,
                ssl_handshake_timeout=CONNECTION_TIMEOUT_S,
                ssl_shutdown_timeout=TLS_CLOSE_TIMEOUT_S,
            )
        return transport

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=self._http.max_head_bytes)
        request: h11.Request | None = None
        try:
            request = await _read_request(reader, http)
            if request is None:
                return
            answer = self._answer(request)
        except h11.RemoteProtocolError as error:
            answer = self._refused(error.error_status_hint, request)
        request_id = _request_id(request, self._http.max_request_id_chars)
        head_only = request is not None and request.method == b"HEAD"
        writer.write(_encoded(http, answer, request_id, head_only))
        await writer.drain()
        await _drain(reader, writer, request)

    def _refused(self, status: int, request: h11.Request | None) -> Answer:
        """Of what is no request or too large a one; ``request`` is None if it was not parsed."""
        bounds = self._http.max_head_bytes, self._http.max_header_count
        message = head_too_large(*bounds) if status == HEAD_TOO_LARGE else NOT_HTTP
        family = self._gate.family(b"" if request is None else request.target)
        return Answer(status, error_body(family, status, message))

    def _answer(self, request: h11.Request) -> Answer:
        if len(request.headers) > self._http.max_header_count:
            raise h11.RemoteProtocolError("too many headers", error_status_hint=HEAD_TOO_LARGE)
        target, authority = split_target(request.target)
        raw_path, method = self._gate.inner_path(target), request.method.decode("ascii")
        headers = [pair for pair in request.headers if authority is None or pair[0] != b"host"]
        if authority is not None:
            headers.append((b"host", authority))
        refusal = self._gate.refusal(method, raw_path, headers)
        if refusal is not None:
            return refusal
        path, status = raw_path.decode("ascii", "replace"), self._status()
        if path not in {"/livez", "/startupz", "/readyz"}:
            return health.waiting(status)
        if method not in {"GET", "HEAD"}:
            message = f"{path} answers GET and HEAD only"
            return Answer(405, error_body("openai", 405, message), (("allow", "GET, HEAD"),))
        if path == "/livez":
            return health.livez()
        return health.startupz(status) if path == "/startupz" else health.readyz(status)


async def _read_request(reader: asyncio.StreamReader, http: h11.Connection) -> h11.Request | None:
    """The request's head, or None if the client closed before it had sent one."""
    while True:
        event = http.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        http.receive_data(await reader.read(READ_BYTES))


def _encoded(http: h11.Connection, answer: Answer, request_id: bytes, head_only: bool) -> bytes:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer.body)).encode()),
        (b"connection", b"close"),
        _RANK,
        (b"x-request-id", request_id),
        *((name.encode(), value.encode()) for name, value in answer.headers),
    ]
    reason = HTTPStatus(answer.status).phrase.encode()
    parts = [http.send(h11.Response(status_code=answer.status, headers=headers, reason=reason))]
    if not head_only:
        parts.append(http.send(h11.Data(data=answer.body)))
    parts.append(http.send(h11.EndOfMessage()))
    return b"".join(part for part in parts if part)


def _request_id(request: h11.Request | None, max_chars: int) -> bytes:
    given = [value for name, value in request.headers if name == b"x-request-id"] if request else []
    if given and valid_request_id(given[0], max_chars):
        return given[0]
    return uuid.uuid4().hex.encode()


async def _drain(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: h11.Request | None
) -> None:
    """Say that nothing more comes, then read on until the client closes or a bound is reached."""
    if writer.can_write_eof():
        with contextlib.suppress(OSError):
            writer.write_eof()
    elif request is not None and not _has_body(request):
        # TLS has no half-closed state: a client that has said all waits for our end.
        return
    left = MAX_DRAIN_BYTES
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            while left > 0 and (data := await reader.read(READ_BYTES)):
                left -= len(data)


def _has_body(request: h11.Request) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in request.headers)
