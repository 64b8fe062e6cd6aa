from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from server import tls_watch, wire
from server.accept import AcceptLedger
from server.body import read_body
from server.settings import MAX_HEAD_BYTES, MAX_HEADER_COUNT, HttpPlan
from tests.certificates import make_pair, serial_of

RANK = 1
DEADLINE_S = 10.0


Address = tuple[str, int]
Serve = Callable[..., AbstractAsyncContextManager[Address]]


@pytest.fixture
def serve(make_server: Callable[..., Any]) -> Serve:
    """A server for as long as the context lasts, which ends within the drain time."""

    @asynccontextmanager
    async def serving(app: ASGIApp, http: HttpPlan) -> AsyncIterator[Address]:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        fd = AcceptLedger.create(RANK + 1)
        ledger = AcceptLedger.attach(fd, RANK + 1)
        os.close(fd)
        server = make_server(app, ledger, RANK, http, drain_timeout_s=1)
        running = asyncio.ensure_future(server.serve(sockets=[listener.dup()]))
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            await running
            ledger.close()
            listener.close()

    return serving


@pytest.fixture
async def address(serve: Serve) -> AsyncIterator[Address]:
    async with serve(PlainTextResponse("served"), HttpPlan()) as made:
        yield made


async def exchange(address: Address, *parts: bytes) -> str:
    """Send the parts and read until the server closes the connection."""
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(*address)
        for part in parts:
            writer.write(part)
            await writer.drain()
        answer = await reader.read()
        writer.close()
    return answer.decode().lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"garbage\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_400_with_rank_and_id(address: Address, sent: bytes) -> None:
    head, body = (await exchange(address, sent)).split("\r\n\r\n")
    assert head.startswith("http/1.1 400 ")
    assert head.count(f"\r\nx-omni-rank: {RANK}") == head.count("\r\nx-request-id: ") == 1
    assert "not a valid http request" in body


LINE = b"GET / HTTP/1.1\r\nhost: a\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        LINE + b"a: " + b"b" * MAX_HEAD_BYTES + b"\r\n\r\n",
        LINE + b"a: b\r\n" * MAX_HEADER_COUNT + b"\r\n",
        b"GET /" + b"b" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n",
        LINE + b"a: " + b"b" * MAX_HEAD_BYTES,
    ],
    ids=["header", "count", "url", "header without an end"],
)
async def test_head_beyond_the_bound_is_431_and_ends_the_connection(
    address: Address, sent: bytes
) -> None:
    answer = await exchange(address, sent)
    assert answer.startswith("http/1.1 431 ")
    assert f"x-omni-rank: {RANK}" in answer
    assert "served" not in answer


@pytest.mark.parametrize(
    "target", [b"/v1/messages", b"/pre/v1/messages?a=b", b"http://a/v1/messages"]
)
@pytest.mark.parametrize("rest", [b"a: b\r\n" * MAX_HEADER_COUNT, b"no header\r\n"])
async def test_refusal_has_the_shape_of_the_api_that_was_called(
    serve: Serve, target: bytes, rest: bytes
) -> None:
    async with serve(PlainTextResponse("served"), HttpPlan(root_path="/pre")) as address:
        head = b"POST %s HTTP/1.1\r\nhost: a\r\n" % target
        answer = await exchange(address, head + rest + b"\r\n")
    assert '\r\n\r\n{"type":"error","error":{"type":"' in answer


async def test_head_up_to_the_bound_is_served(address: Address) -> None:
    big = LINE + b"a: " + b"b" * (MAX_HEAD_BYTES - 100) + b"\r\nconnection: close\r\n\r\n"
    assert (await exchange(address, big)).endswith("served")


async def test_many_requests_and_large_bodies_on_one_connection_are_served(
    address: Address,
) -> None:
    body = b"b" * (2 * MAX_HEAD_BYTES)
    post = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    padded = LINE + b"a: " + b"b" * (MAX_HEAD_BYTES // 2) + b"\r\n\r\n"
    last = LINE + b"connection: close\r\n\r\n"
    answer = await exchange(address, *[post, padded] * 3, last)
    assert answer.count("http/1.1 200 ") == 7


async def test_requests_sent_ahead_are_answered_up_to_the_bound(address: Address) -> None:
    *answers, last = (await exchange(address, (LINE + b"\r\n") * 20_000)).split("http/1.1 200 ")[1:]
    assert len(answers) == wire.MAX_PIPELINED - 1
    assert not any("connection: close" in answer for answer in answers)
    assert "\r\nconnection: close\r\n" in last
    assert last.endswith("served")


async def test_white_space_around_a_value_is_no_part_of_it(serve: Serve) -> None:
    async def show(scope: Scope, receive: Receive, send: Send) -> None:
        values = dict(scope["headers"])
        await PlainTextResponse(repr([values[b"host"], values[b"x-api-key"]]))(scope, receive, send)

    async with serve(show, HttpPlan()) as address:
        head = b"GET / HTTP/1.1\r\nhost: \ta \t\r\nx-api-key:\tb \r\nconnection: close\r\n\r\n"
        assert (await exchange(address, head)).endswith("[b'a', b'b']")


async def test_bounds_come_from_the_plan(serve: Serve) -> None:
    small = HttpPlan(max_head_bytes=200, max_header_count=3)
    async with serve(PlainTextResponse("served"), small) as address:
        for sent in (LINE + b"a: b\r\n" * 3 + b"\r\n", LINE + b"a: " + b"b" * 200 + b"\r\n\r\n"):
            answer = await exchange(address, sent)
            assert answer.startswith("http/1.1 431 ")
            assert "more than 200 bytes or 3 headers" in answer


async def send_host(scope: Scope, receive: Receive, send: Send) -> None:
    hosts = [value.decode() for name, value in scope["headers"] if name == b"host"]
    await PlainTextResponse(f"{hosts} {scope['raw_path'].decode()}")(scope, receive, send)


async def test_authority_in_the_target_overrules_the_host_header(serve: Serve) -> None:
    async with serve(send_host, HttpPlan()) as address:
        sent = b"GET http://evil:1/livez HTTP/1.1\r\nhost: ok\r\nconnection: close\r\n\r\n"
        assert (await exchange(address, sent)).endswith("['evil:1'] /livez")


PIECE = b"b" * 65536


UPGRADE = LINE + b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAEA\r\n"


async def test_wish_for_another_protocol_is_ignored_without_a_body(address: Address) -> None:
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(*address)
        for sent in (UPGRADE + b"\r\n", UPGRADE + b"content-length: 0\r\n\r\n", LINE + b"\r\n"):
            writer.write(sent)
            assert (await reader.readuntil(b"served")).startswith(b"HTTP/1.1 200 ")
        writer.close()


@pytest.mark.parametrize(
    "body", [b"content-length: 5\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"]
)
async def test_wish_for_another_protocol_with_a_body_is_refused(
    address: Address, body: bytes
) -> None:
    answer = await exchange(address, UPGRADE + body, LINE + b"\r\n")
    assert answer.count("http/1.1 ") == answer.count("http/1.1 400 ") == 1
    assert "without upgrade" in answer


class TestUnreadBodies:
    """The application answers without reading, as for a request without a key."""

    @staticmethod
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"connection": "close"} if b"close" in scope["query_string"] else {}
        await PlainTextResponse("refused", 401, headers)(scope, receive, send)

    async def test_answer_reaches_a_client_that_sends_on(self, serve: Serve) -> None:
        body = b"b" * (wire.MAX_LINGER_BYTES - MAX_HEAD_BYTES)
        async with serve(self.refuse, HttpPlan()) as (_, port), httpx.AsyncClient() as client:
            for _ in range(3):
                reply = await client.post(f"http://127.0.0.1:{port}/?close", content=body)
                assert (reply.status_code, reply.text) == (401, "refused")

    async def test_what_is_sent_after_it_is_no_further_request(self, serve: Serve) -> None:
        head = b"POST /?close HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n"
        async with serve(self.refuse, HttpPlan()) as address:
            answer = await exchange(address, head, b"123456789" + LINE + b"\r\n")
        assert answer.count("http/1.1") == 1

    async def test_client_that_sends_for_ever_is_cut(self, serve: Serve) -> None:
        head = b"POST /?close HTTP/1.1\r\nhost: a\r\ncontent-length: 999999999\r\n\r\n"
        async with serve(self.refuse, HttpPlan()) as address:
            _, writer = await asyncio.open_connection(*address)
            writer.write(head)
            # What the kernels hold of a connection comes on top.
            for _ in range(4 * wire.MAX_LINGER_BYTES // len(PIECE)):
                writer.write(PIECE)
                try:
                    await asyncio.wait_for(writer.drain(), DEADLINE_S)
                except ConnectionError:
                    break
            else:
                pytest.fail("it was not cut")
            writer.close()

    async def test_client_that_stays_silent_is_cut(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "LINGER_S", 0.05)
        monkeypatch.setattr(wire, "HEAD_TIMEOUT_S", 0.05)
        for query in (b"?close", b""):
            head = b"POST /%s HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n1" % query
            async with serve(self.refuse, HttpPlan()) as address:
                assert (await exchange(address, head)).endswith("refused")

    async def test_connection_that_stays_serves_on_after_a_small_one(self, serve: Serve) -> None:
        post = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n"
        last = LINE + b"connection: close\r\n\r\n"
        async with serve(self.refuse, HttpPlan()) as address:
            answer = await exchange(address, post, b"123456789", post + b"123456789", last)
        assert answer.count("http/1.1 401 ") == 3


class TestPatience:
    async def test_head_that_does_not_end_is_408(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "HEAD_TIMEOUT_S", 0.05)
        async with serve(PlainTextResponse("served"), HttpPlan()) as address:
            first = LINE + b"\r\n"
            for sent in ([LINE], [first, LINE]):
                answer = await exchange(address, *sent)
                assert "http/1.1 408 " in answer
                assert f"x-omni-rank: {RANK}" in answer

    async def test_connection_that_asks_nothing_is_closed(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("server.upstream_http.KEEP_ALIVE_S", 0.05)
        async with serve(PlainTextResponse("served"), HttpPlan()) as address:
            assert await exchange(address) == ""
            assert "served" in await exchange(address, LINE + b"\r\n")

    async def test_answer_that_takes_long_is_not_cut(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "HEAD_TIMEOUT_S", 0.05)

        async def slow() -> AsyncIterator[str]:
            for _ in range(4):
                await asyncio.sleep(0.05)
                yield "part "

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await StreamingResponse(slow())(scope, receive, send)

        async with serve(app, HttpPlan()) as address:
            # The head of a next request is there, but not its end.
            answer = await exchange(address, LINE + b"\r\n" + LINE)
            assert answer.count("part ") == 4


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"


class TestTrailers:
    @staticmethod
    async def names(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        names = b" ".join(name for name, _ in scope["headers"]).decode()
        await PlainTextResponse(names, headers={"connection": "close"})(scope, receive, send)

    async def test_they_are_no_headers(self, serve: Serve) -> None:
        late = b"1\r\nb\r\n0\r\nauthorization: Bearer x\r\nhost: b\r\n\r\n"
        async with serve(self.names, HttpPlan()) as address:
            for parts in ([CHUNKED + late], [CHUNKED, late]):
                answer = await exchange(address, *parts)
                assert answer.endswith("\r\n\r\nhost transfer-encoding")

    @pytest.mark.parametrize("piece", [b"x: y\r\n", b"y"], ids=["many", "one without an end"])
    async def test_they_are_bounded_and_the_application_is_told(
        self, serve: Serve, piece: bytes
    ) -> None:
        left = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if await read_body(receive) is None:
                left.set()

        endless = piece * (MAX_HEAD_BYTES // len(piece) + 1)
        async with serve(app, HttpPlan()) as address:
            parts = [CHUNKED, b"1\r\nb\r\n0\r\nx: ", endless, endless, endless, endless]
            assert (await exchange(address, *parts)).startswith("http/1.1 431 ")
            await asyncio.wait_for(left.wait(), DEADLINE_S)

    async def test_long_body_in_small_chunks_is_served(self, serve: Serve) -> None:
        chunks = b"1\r\nb\r\n" * MAX_HEAD_BYTES
        async with serve(self.names, HttpPlan()) as address:
            answer = await exchange(address, CHUNKED, chunks, b"0\r\n\r\n")
        assert answer.startswith("http/1.1 200 ")


class TestPipelines:
    @staticmethod
    def streaming(left: asyncio.Event) -> ASGIApp:
        async def pieces() -> AsyncIterator[str]:
            try:
                while True:
                    yield "begun"
                    await asyncio.sleep(0.01)
            finally:
                left.set()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await StreamingResponse(pieces())(scope, receive, send)

        return app

    @pytest.mark.parametrize(
        "second", [LINE + b"\r\n", b"", b"garbage\r\n\r\n", CHUNKED + b"no\r\n"]
    )
    async def test_client_that_leaves_or_errs_behind_its_request_stops_the_answer(
        self, serve: Serve, second: bytes
    ) -> None:
        left = asyncio.Event()
        async with serve(self.streaming(left), HttpPlan()) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(LINE + b"\r\n")
            async with asyncio.timeout(DEADLINE_S):
                await reader.readuntil(b"begun")
                writer.write(second)
                await writer.drain()
                if b"\r\n" not in second or b"HTTP" in second:
                    writer.close()
                else:
                    assert b"HTTP" not in await reader.read()
                await left.wait()
            writer.close()


class TestTls:
    async def test_changed_certificate_is_served_and_no_stream_is_cut(
        self, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tls_watch, "RELOAD_INTERVAL_S", 0.01)
        go_on = asyncio.Event()

        async def frames() -> AsyncIterator[str]:
            yield "first "
            await go_on.wait()
            yield "last"

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await StreamingResponse(frames())(scope, receive, send)

        old, new = make_pair(), make_pair()
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        async with serve(app, HttpPlan(tls=old.write(tmp_path))) as address:
            reader, writer = await asyncio.open_connection(*address, ssl=trust)
            assert serial_of(writer.get_extra_info("ssl_object").getpeercert(True)) == old.serial
            writer.write(LINE + b"connection: close\r\n\r\n")
            async with asyncio.timeout(DEADLINE_S):
                await reader.readuntil(b"first ")
                new.write(tmp_path)
                while (found := await self.serial(address, trust)) != new.serial:
                    assert found == old.serial
                go_on.set()
                assert b"last" in await reader.read()
            writer.close()

    @staticmethod
    async def serial(address: Address, trust: ssl.SSLContext) -> int:
        _, writer = await asyncio.open_connection(*address, ssl=trust)
        found = serial_of(writer.get_extra_info("ssl_object").getpeercert(True))
        writer.close()
        await writer.wait_closed()
        return found

    async def test_plain_request_and_broken_handshake_harm_nobody(
        self, serve: Serve, tmp_path: Path
    ) -> None:
        pair = make_pair()
        plan = HttpPlan(tls=pair.write(tmp_path))
        trust = ssl.create_default_context(cadata=pair.certificate.decode())
        async with serve(PlainTextResponse("served"), plan) as address:
            for sent in (LINE + b"\r\n", b"\x16\x03\x01\x00\x05hello", b""):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(sent)
                writer.write_eof()
                async with asyncio.timeout(DEADLINE_S):
                    with contextlib.suppress(ConnectionError):
                        assert b"served" not in await reader.read()
                writer.close()
            async with httpx.AsyncClient(verify=trust) as client:
                reply = await client.get(f"https://127.0.0.1:{address[1]}/")
            assert reply.text == "served"

    async def test_refused_upload_gets_its_answer(self, serve: Serve, tmp_path: Path) -> None:
        pair = make_pair()
        plan = HttpPlan(tls=pair.write(tmp_path))
        trust = ssl.create_default_context(cadata=pair.certificate.decode())
        body = b"b" * (4 * 1024 * 1024)
        async with (
            serve(TestUnreadBodies.refuse, plan) as (_, port),
            httpx.AsyncClient(verify=trust) as client,
        ):
            reply = await client.post(f"https://127.0.0.1:{port}/?close", content=body)
            assert reply.text == "refused"
