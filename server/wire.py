"""uvicorn's HTTP protocol with bounds on what a client may send and how long it may take, and
refusals in omni's own shape.

What cannot be parsed never reaches the application, so that the headers of every answer are written
here as well.

A connection waits for its client in three places, each with a bound: for a request to begin
(uvicorn's keep-alive time, from the first moment on), for a head that has begun, and for the rest
of a body that nobody reads any more.
"""

from __future__ import annotations

import uuid
from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from server.error_shape import NOT_HTTP, error_body, head_too_large
from server.gate import Gate, split_target
from server.settings import MAX_HEAD_BYTES, MAX_HEADER_COUNT, HttpPlan

__all__ = ["WireProtocol", "protocol_of_rank"]

# From the first byte of a head to its last; and for the rest of a body on a connection that stays.
HEAD_TIMEOUT_S = 30.0
# A connection that closes while its client still sends reads on for so long and so much: closing
# at once would reset it, and with it the answer. Beyond, a client loses the answer and not more.
LINGER_S = 2.0
MAX_LINGER_BYTES = 16 * 1024 * 1024
# Requests that a client may have sent on one connection and not seen answered. Each is kept as a
# few kilobytes until its turn, whatever it asks; one read brings thousands of short ones, and each
# answer lets the next read in.
MAX_PIPELINED = 128


class _Refused(Exception):
    """Ends the parsing; the parser wraps it in its own error."""


class _AnswerTransport:
    """The transport as one answer sees it: it closes it only once the client can have read on."""

    def __init__(self, protocol: WireProtocol) -> None:
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing
        self._protocol = protocol
        self._cycle = protocol.cycle

    def close(self) -> None:
        if self._cycle.more_body or self._protocol.sated:
            self._protocol.linger()
        else:
            self._protocol.transport.close()


class WireProtocol(HttpToolsProtocol):
    """One connection. Made by ``protocol_of_rank``.

    Attributes:
        rank: The frontend's, for ``x-omni-rank``.
        max_head_bytes: Of line and headers of one request.
        max_header_count: Of one request.
        gate: Tells in whose shape a path is refused.
        sated: No request is taken any more; the connection ends with the last answer.
    """

    rank = -1
    max_head_bytes = MAX_HEAD_BYTES
    max_header_count = MAX_HEADER_COUNT
    gate = Gate(HttpPlan())
    sated = False
    # Bytes of the head that the parser has given out, and those that it was given since the head
    # began: it keeps an unfinished header to itself.
    _given_out = 0
    _fed = 0
    _in_head = True
    # The same for what may follow a chunked body: fields that nobody needs, but the parser keeps.
    _held = 0
    # Whether the first byte of a head is there, but not its last.
    _begun = False
    _problem = (400, NOT_HTTP)
    # When the client's turn ends.
    _deadline: TimerHandle | None = None
    # Bytes that are still read and thrown away before the connection closes; None while it is open.
    _lingers: int | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Requests without a whole answer, the oldest first; more than one if they are pipelined.
        self._open: list[RequestResponseCycle] = []
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up()
        self._clear_deadline()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; a head that does not end within the bounds is refused."""
        if self._lingers is not None:
            self._lingers -= len(data)
            if self._lingers < 0:
                self.transport.close()
            return
        if self.sated:
            return
        self._fed += len(data)
        self._held += len(data)
        super().data_received(data)
        if self._lingers is not None or self.sated or self.transport.is_closing():
            return
        if self.transport.get_protocol() is not self:  # a WebSocket from here on
            return
        if (self._fed if self._in_head else self._held) > self.max_head_bytes:
            self._problem = self._too_large()
            self.send_400_response("")
        elif self._begun and self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._head_too_slow)
        elif not self._open:
            self._await_request()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._begun = True
        self._given_out = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            # White space after a value is no part of it (RFC 9110, 5.5), but the parser leaves it.
            super().on_header(name, value.rstrip(b" \t"))
        # Else it is a trailer: after the checks of a head, nothing may be added to it.
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_head = self._begun = False
        self._clear_deadline()
        if len(self._open) >= MAX_PIPELINED:
            self._open[-1].keep_alive = False
            self.sated = True
            raise _Refused
        self._adopt_authority()
        self._check_upgrade()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:  # it is the same where a WebSocket handshake goes elsewhere
            self.cycle.transport = _AnswerTransport(self)  # type: ignore[assignment]
            self._open.append(self.cycle)

    def on_chunk_header(self) -> None:
        self._held = 0

    def on_body(self, body: bytes) -> None:
        self._held = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        # What comes next is another head, of which this read may hold a part.
        self._in_head = True
        self._fed = 0
        self._clear_deadline()

    def on_response_complete(self) -> None:
        self._open = [cycle for cycle in self._open if not cycle.response_complete]
        if self._lingers is not None:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if not self._in_head and not self.transport.is_closing() and self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request and close the connection."""
        if not self.sated:
            self._refuse(*self._problem)

    def linger(self) -> None:
        """Close, but read on within bounds what the client is sending."""
        if self._lingers is not None or self.transport.is_closing():
            return
        self._lingers = MAX_LINGER_BYTES
        self._clear_deadline()
        self._unset_keepalive_if_required()
        self._deadline = self.loop.call_later(LINGER_S, self.transport.close)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _refuse(self, status: int, message: str) -> None:
        answering = len(self._open) > 1 or any(cycle.response_started for cycle in self._open)
        self._give_up()
        if answering:  # a second answer in the middle of the first would be taken for a part of it
            self.transport.close()
            return
        # None before the first request.
        family = self.gate.family(self.url or b"")
        body = error_body(family, status, message)
        head = (
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            f"x-omni-rank: {self.rank}\r\nx-request-id: {uuid.uuid4().hex}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + body)
        self.linger()

    def _give_up(self) -> None:
        """What the application still says on this connection is for nobody."""
        for cycle in self._open:
            cycle.disconnected = True
            cycle.message_event.set()

    def _head_too_slow(self) -> None:
        if not self._open:
            self._refuse(408, f"The head of the request was not there within {HEAD_TIMEOUT_S:g} s.")
        else:  # the client has begun its next request before it had the answer to this one
            self._open[-1].keep_alive = False

    def _count(self, size: int) -> None:
        self._given_out += size
        if self._given_out > self.max_head_bytes or len(self.headers) > self.max_header_count:
            self._problem = self._too_large()
            raise _Refused

    def _too_large(self) -> tuple[int, str]:
        return 431, head_too_large(self.max_head_bytes, self.max_header_count)

    def _check_upgrade(self) -> None:
        """Refuse a wish for another protocol together with a body.

        It may be ignored (RFC 9110, 7.8), but the parser takes no body after it: the request would
        reach the application without, and its body be read as the next request.
        """
        has_body = any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )
        if has_body and self.parser.should_upgrade():
            message = "A request with a body cannot change the protocol; send it without Upgrade."
            self._problem = (400, message)
            raise _Refused

    def _adopt_authority(self) -> None:
        """``GET http://host/`` is for that host, whatever the Host header says."""
        _, authority = split_target(self.url)
        if authority is not None:
            # The scope has this very list.
            self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
            self.headers.append((b"host", authority))

    def _await_request(self) -> None:
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def protocol_of_rank(rank: int, http: HttpPlan) -> type[WireProtocol]:
    """The protocol class of one frontend, for ``uvicorn.Config(http=...)``."""
    bounds = {"max_head_bytes": http.max_head_bytes, "max_header_count": http.max_header_count}
    own = {"rank": rank, "gate": Gate(http), **bounds}
    return type("RankProtocol", (WireProtocol,), own)
