"""uvicorn's HTTP protocol with a bound on the head of a request, and refusals in omni's own shape.

What cannot be parsed never reaches the application, so that the headers of every answer are written
here as well.
"""

from __future__ import annotations

import uuid

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from server.error_shape import error_body

__all__ = ["MAX_HEAD_BYTES", "MAX_HEADER_COUNT", "WireProtocol", "protocol_of_rank"]

# Line and headers of one request.
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADER_COUNT = 128


class _HeadTooLarge(Exception):
    """Ends the parsing; the parser wraps it in its own error."""


class WireProtocol(HttpToolsProtocol):
    """One connection. Made by ``protocol_of_rank``.

    Attributes:
        rank: The frontend's, for ``x-omni-rank``.
    """

    rank = -1
    # Bytes of the head that the parser has given out, and those that it was given since the head
    # began: it keeps an unfinished header to itself.
    _given_out = 0
    _fed = 0
    _in_head = True
    _too_large = False

    def data_received(self, data: bytes) -> None:
        """Parse; a head that does not end within the bound is refused."""
        self._fed += len(data)
        super().data_received(data)
        if self._in_head and self._fed > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._too_large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._given_out = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        # What comes next is another head, of which this read may hold a part.
        self._in_head = True
        self._fed = 0

    def _count(self, size: int) -> None:
        self._given_out += size
        if self._given_out > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADER_COUNT:
            self._too_large = True
            raise _HeadTooLarge

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request and close the connection."""
        status, message = 400, "This is not a valid HTTP request."
        if self._too_large:
            limits = f"{MAX_HEAD_BYTES} bytes or {MAX_HEADER_COUNT} headers"
            status, message = 431, f"The head of the request has more than {limits}."
        body = error_body("openai", status, message)
        head = (
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            f"x-omni-rank: {self.rank}\r\nx-request-id: {uuid.uuid4().hex}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + body)
        self.transport.close()


def protocol_of_rank(rank: int) -> type[WireProtocol]:
    """The protocol class of one frontend, for ``uvicorn.Config(http=...)``."""
    return type("RankProtocol", (WireProtocol,), {"rank": rank})
