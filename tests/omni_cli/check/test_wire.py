"""The tester's HTTP: exact bytes out, anything at all in, always within bounds and time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from omni_cli.check import wire as wire_module
from omni_cli.check.catalogue import ALL
from omni_cli.check.family import Family
from omni_cli.check.runner import MAX_SILENT, run_checks
from omni_cli.check.session import Session
from omni_cli.check.wire import Answer, Request, Unreachable, Wire
from tests.omni_cli.check.conforming import KEY, Conforming

TIMEOUT_S = 10.0
SHORT_TIMEOUT_S = 0.3

Behaviour = Callable[[socket.socket], None]
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


class OddServer:
    """Does one odd thing on every connection, each on a thread of its own."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._run)]
        self._threads[0].start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._behave(connection)
        connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(TIMEOUT_S)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(TIMEOUT_S)


@pytest.fixture
def odd() -> Iterator[Callable[[Behaviour], OddServer]]:
    made: list[OddServer] = []

    def start(behave: Behaviour) -> OddServer:
        made.append(OddServer(behave))
        return made[-1]

    yield start
    for server in made:
        server.close()


def says(data: bytes) -> Behaviour:
    """Answers with these bytes, then closes once the client has."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    return behave


def repeats(first: bytes, piece: bytes) -> Behaviour:
    """Answers, and never stops."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(first)
        while True:
            connection.sendall(piece)

    return behave


def drips(connection: socket.socket) -> None:
    """One byte at a time, so that no single read ever waits long."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not threading.Event().wait(0.02):
        connection.sendall(b"a")


def waits(connection: socket.socket) -> None:
    """Reads, and says nothing."""
    while connection.recv(65536):
        pass


def leaves(connection: socket.socket) -> None:
    connection.recv(65536)


ODD: dict[str, Behaviour] = {
    "a stream without an end": repeats(
        CHUNKED, b"4000\r\n" + b'data: {"ab":1}\n\n' * 1024 + b"\r\n"
    ),
    "headers without an end": repeats(b"HTTP/1.1 200 OK\r\n", b"x-more: and more\r\n"),
    "interim answers without an end": repeats(b"", b"HTTP/1.1 103 Early\r\n\r\n"),
    "one byte at a time": drips,
    "no answer": waits,
    "an end without an answer": leaves,
    "another protocol": says(b"220 mail.example ESMTP\r\n"),
    "half a body": says(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    "no JSON": says(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p/>"),
    "deep JSON": says(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 200_000),
    "a list": says(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1,[],{}]"),
    "odd types": says(b'HTTP/1.1 200 OK\r\n\r\n{"data":[5,{"id":{}}],"choices":7,"error":[]}'),
    "no text": says(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe\x00"),
    "another status": says(b"HTTP/1.1 999 ?\r\ncontent-length: 0\r\n\r\n"),
    "a redirect": says(b"HTTP/1.1 302 X\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_server_fails_checks_and_upsets_nothing(
    name: str, odd: Callable[[Behaviour], OddServer]
) -> None:
    server = odd(ODD[name])
    families = (Family.MODELS, Family.REPLIES, Family.SSE, Family.USAGE)
    checks = [check for check in ALL if check.family in families]
    began = time.monotonic()
    session = Session(Wire(server.url, KEY))
    results = run_checks(session, checks, timeout_s=SHORT_TIMEOUT_S, shown_base=server.url)
    assert time.monotonic() - began < TIMEOUT_S
    assert len(results) == len(checks)
    failures = [result for result in results if result.outcome == "fail"]
    assert failures
    assert all(result.came for result in failures)


@pytest.mark.parametrize("behave", [waits, leaves])
def test_a_silent_server_is_not_asked_for_ever(
    behave: Behaviour, odd: Callable[[Behaviour], OddServer]
) -> None:
    server = odd(behave)
    wire = Wire(server.url, KEY)
    results = run_checks(Session(wire), ALL, timeout_s=SHORT_TIMEOUT_S, shown_base=server.url)
    skipped = [result for result in results if "checks in a row" in result.reason]
    assert sum(result.outcome == "fail" for result in results) >= MAX_SILENT
    assert len(skipped) > len(ALL) - 3 * MAX_SILENT


class TestWire:
    def test_what_is_sent_is_what_was_asked(self, conforming: Conforming) -> None:
        request = Request(
            "GET", "/v1/../v1//models?x=%2F", headers={"host": "elsewhere", "X-A": "b"}, key=""
        )
        Wire(conforming.url, KEY).send(request, time.monotonic() + TIMEOUT_S)
        (asked,) = conforming.asked
        assert asked.target == "/v1/../v1//models?x=%2F"
        assert asked.headers == {"host": "elsewhere", "accept": "*/*", "x-a": "b"}

    def test_a_body_is_json_and_the_key_is_a_bearer_token(self, conforming: Conforming) -> None:
        request = Request("POST", "/x", body={"a": 1})
        Wire(conforming.url, KEY).send(request, time.monotonic() + TIMEOUT_S)
        (asked,) = conforming.asked
        assert asked.raw == b'{"a": 1}'
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["authorization"] == f"Bearer {KEY}"

    def test_a_prefix_of_the_address_comes_first(self, conforming: Conforming) -> None:
        wire = Wire(f"{conforming.url}/behind", KEY)
        wire.send(Request("GET", "/v1/models"), time.monotonic() + TIMEOUT_S)
        assert conforming.asked[0].target == "/behind/v1/models"

    def test_no_server(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with pytest.raises(Unreachable, match="refused"):
            Wire(f"http://127.0.0.1:{port}").send(Request("GET", "/"), time.monotonic() + 1)

    @pytest.mark.parametrize(
        ("name", "broken"),
        [
            ("headers without an end", "not HTTP/1.1 as it should be"),
            ("another protocol", "not HTTP/1.1 as it should be"),
            ("half a body", "not HTTP/1.1 as it should be"),
            ("no answer", "no answer"),
            ("one byte at a time", "the answer did not end in time"),
            ("a stream without an end", f"the body has more than {wire_module.MAX_BODY_BYTES}"),
        ],
    )
    def test_what_is_not_whole_says_why(
        self, name: str, broken: str, odd: Callable[[Behaviour], OddServer]
    ) -> None:
        server = odd(ODD[name])
        timeout_s = TIMEOUT_S if "more than" in broken else SHORT_TIMEOUT_S
        answer = Wire(server.url).send(Request("GET", "/"), time.monotonic() + timeout_s)
        assert answer.broken.startswith(broken)
        assert answer.timed_out is (timeout_s == SHORT_TIMEOUT_S and "not HTTP" not in broken)


def test_an_answer_is_read_leniently() -> None:
    answer = Answer(Request("GET", "/"), headers=[("a", "1"), ("a", "2")], body=b"\xff")
    assert (answer.header("a"), answer.header("b"), answer.text) == ("1, 2", "", "\ufffd")
    assert answer.json is None
