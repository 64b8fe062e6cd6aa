"""HTTP/1.1 as a tester needs it: the exact bytes of a request, one connection each, every answer
within bounds and a deadline.

A client library would tidy paths, add headers, follow redirects and retry, and its time limits
begin anew with every byte. h11 is strict about what comes back, which is a check in itself.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

__all__ = ["Answer", "Request", "Unreachable", "Wire"]

# Status line and headers of an answer; the largest that common servers let through is 64 KiB
MAX_HEAD_BYTES = 128 * 1024
# Of an answer's body. The largest wanted is an /openapi.json, of some hundred kilobytes
MAX_BODY_BYTES = 4 * 1024 * 1024
# Of everything on one connection, head and framing included
MAX_RECEIVED_BYTES = 2 * MAX_BODY_BYTES
# A server that is there accepts at once
CONNECT_TIMEOUT_S = 10.0
READ_BYTES = 64 * 1024


class Unreachable(Exception):
    """No connection could be made.

    Args:
        reason: No full stop.
        way_out: What to do; no full stop.
    """

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.way_out = way_out or "start a server, or point --url at yours"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent.

    Attributes:
        target: The request target as it stands on the wire, without the address's prefix.
        headers: Beside host, content-type, content-length and the key, which ``Wire`` adds; one
            given here replaces its namesake.
        body: Bytes as they are, anything else as JSON; None for no body.
        key: The key to show: None for the run's own, empty for none.
        declared_length: Sent as content-length instead of the body's own.
        body_shell: A shell command that writes the body, for one too long for a command line.
        head_shell: A shell command that writes the whole request, for a head that curl refuses.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    key: str | None = None
    declared_length: int | None = None
    body_shell: str = ""
    head_shell: str = ""

    @property
    def is_anthropic(self) -> bool:
        """Whether it is one of Anthropic's API, whose clients send the key in x-api-key."""
        return "anthropic-version" in self.headers

    @property
    def payload(self) -> bytes:
        """The body's bytes."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(slots=True)
class Answer:
    """What came back, as far as it came.

    Attributes:
        status: 0 if no status line came.
        headers: Names in lower case.
        broken: Why the answer is not whole, or empty; no full stop.
        timed_out: Whether the deadline ended it.
    """

    request: Request
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    broken: str = ""
    timed_out: bool = False

    def header(self, name: str) -> str:
        """The header's value, several joined with a comma, or empty."""
        return ", ".join(value for key, value in self.headers if key == name)

    @property
    def text(self) -> str:
        """The body, with replacement characters where it is not UTF-8."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        """The body's value; None if it is not JSON (or is null)."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Wire:
    """Sends requests to one server.

    Args:
        base: Scheme, host, port and perhaps a prefix; no final slash.
        key: Sent as a bearer token unless a request says otherwise, or None.
        context: For https.
    """

    def __init__(
        self, base: str, key: str | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urlsplit(base)
        self.base = base
        self.key = key
        self.sent = 0
        self._host = parts.hostname or ""
        self._netloc = parts.netloc.rpartition("@")[2]
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._prefix = parts.path
        self._context = context

    def send(self, request: Request, deadline: float) -> Answer:
        """Send, and read until the answer's end, a bound, or the deadline on the monotonic clock.

        Raises:
            Unreachable: No connection.
        """
        answer = Answer(request)
        connection = self.connect(deadline)
        with connection:
            try:
                self._exchange(connection, request, answer, deadline)
            except TimeoutError:
                answer.timed_out = True
                answer.broken = "the answer did not end in time" if answer.status else "no answer"
            except OSError as error:
                answer.broken = f"the connection broke: {error.strerror or error}"
        return answer

    def connect(self, deadline: float) -> socket.socket:
        """A connection that the caller closes.

        Raises:
            Unreachable: None could be made.
        """
        self.sent += 1
        wait = min(CONNECT_TIMEOUT_S, max(deadline - time.monotonic(), 0.1))
        try:
            plain = socket.create_connection((self._host, self._port), wait)
        except TimeoutError as error:
            raise Unreachable("the connection timed out") from error
        except (OSError, UnicodeError) as error:
            raise Unreachable(getattr(error, "strerror", None) or str(error)) from error
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is None:
            return plain
        try:
            return self._context.wrap_socket(plain, server_hostname=self._host)
        except OSError as error:  # ssl.SSLError is one
            plain.close()
            cause = getattr(error, "verify_message", "") or getattr(error, "reason", "") or error
            way_out = "is it http://, or must its certificate be given with --ca-file?"
            raise Unreachable(f"no TLS connection ({cause})", way_out) from error

    def head(self, request: Request) -> list[tuple[str, str]]:
        """The headers as they are sent."""
        headers = {"host": self._netloc, "accept": "*/*"}
        key = self.key if request.key is None else request.key
        if key:
            headers["authorization"] = f"Bearer {key}"
            if request.is_anthropic:
                headers["x-api-key"] = key
        if request.body is not None:
            headers["content-type"] = "application/json"
        headers |= {name.lower(): value for name, value in request.headers.items()}
        length = (
            len(request.payload) if request.declared_length is None else request.declared_length
        )
        if request.body is not None:
            headers["content-length"] = str(length)
        return list(headers.items())

    def start(self, connection: socket.socket, request: Request, deadline: float) -> Any:
        """Send the request; the h11 connection that reads the answer.

        A server that refuses early may close before all is sent: its answer is still read.
        """
        import h11  # noqa: PLC0415 - late: 20 ms

        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        target = f"{self._prefix}{request.target}"
        head = http.send(
            h11.Request(method=request.method, target=target, headers=self.head(request))
        )
        data = (head or b"") + request.payload
        if request.declared_length is None:
            if request.payload:
                http.send(h11.Data(data=request.payload))
            http.send(h11.EndOfMessage())
        _limit(connection, deadline)
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return http
        return http

    def _exchange(
        self, connection: socket.socket, request: Request, answer: Answer, deadline: float
    ) -> None:
        import h11  # noqa: PLC0415 - late

        http = self.start(connection, request, deadline)
        reading = _Reading(answer)
        received = 0
        try:
            while not answer.broken:
                event = http.next_event()
                if event is not h11.NEED_DATA:
                    if reading.takes_last(event):
                        return
                    continue
                _limit(connection, deadline)
                data = connection.recv(READ_BYTES)
                received += len(data)
                if received > MAX_RECEIVED_BYTES:
                    answer.broken = f"more than {MAX_RECEIVED_BYTES} bytes came"
                http.receive_data(data)
        except h11.RemoteProtocolError as error:
            answer.broken = f"not HTTP/1.1 as it should be: {error}"
        finally:
            answer.body = b"".join(reading.pieces)


class _Reading:
    """Puts h11's events into an answer."""

    def __init__(self, answer: Answer) -> None:
        self.pieces: list[bytes] = []
        self._answer = answer
        self._size = 0

    def takes_last(self, event: Any) -> bool:
        """Take an event; whether the answer is over."""
        import h11  # noqa: PLC0415 - late

        answer = self._answer
        if isinstance(event, h11.Response):
            answer.status = event.status_code
            pairs = event.headers
            answer.headers = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in pairs]
        elif isinstance(event, h11.Data):
            self._size += len(event.data)
            if self._size > MAX_BODY_BYTES:
                answer.broken = f"the body has more than {MAX_BODY_BYTES} bytes"
                return True
            self.pieces.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            return True
        elif not isinstance(event, h11.InformationalResponse):
            answer.broken = "the connection was closed without an answer"
            return True
        return False


def _limit(connection: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
