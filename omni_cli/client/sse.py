"""Server-sent events, as a client reads them: bytes in, the ``data`` of whole events out.
Sans-IO."""

from __future__ import annotations

__all__ = ["MAX_EVENT_BYTES", "EventTooLong", "SseDecoder"]

# One event; a chunk of a chat answer has some hundred bytes, with log-probabilities kilobytes
MAX_EVENT_BYTES = 4 * 1024 * 1024


class EventTooLong(Exception):
    """An event that grew beyond MAX_EVENT_BYTES."""


class SseDecoder:
    """Collects bytes into events.

    Lines end in LF, CR LF or CR, wherever the network cut them; a UTF-8 sequence may be cut as
    well. Comments (the keep-alives of servers and proxies) and fields other than ``data`` are
    dropped.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._size = 0
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[str]:
        """Take the next bytes and return the data of every event that they complete.

        Raises:
            EventTooLong: The event in progress is larger than MAX_EVENT_BYTES.
        """
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if chunk.endswith(b"\r"):
            self._after_cr = True
        text = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        events = []
        for line in lines:
            data = self._line(line)
            if data is not None:
                events.append(data)
        if self._size + len(self._rest) > MAX_EVENT_BYTES:
            raise EventTooLong(f"an event of more than {MAX_EVENT_BYTES} bytes")
        return events

    def _line(self, line: bytes) -> str | None:
        if self._first:
            line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark may open the stream
            self._first = False
        if not line:
            data, self._data, self._size = self._data, [], 0
            return "\n".join(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._size += len(value)
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        return None
