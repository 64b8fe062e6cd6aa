from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from server.accept import AcceptLedger
from server.settings import MAX_HEAD_BYTES, MAX_HEADER_COUNT, HttpPlan

RANK = 1
DEADLINE_S = 10.0


@pytest.fixture
async def address(make_server: Callable[..., Any]) -> AsyncIterator[tuple[str, int]]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    fd = AcceptLedger.create(RANK + 1)
    ledger = AcceptLedger.attach(fd, RANK + 1)
    os.close(fd)
    server = make_server(PlainTextResponse("served"), ledger, RANK, HttpPlan(), drain_timeout_s=1)
    serving = asyncio.ensure_future(server.serve(sockets=[listener.dup()]))
    yield listener.getsockname()
    server.should_exit = True
    await serving
    ledger.close()
    listener.close()


async def exchange(address: tuple[str, int], *parts: bytes) -> str:
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
async def test_what_is_no_request_is_400_with_rank_and_id(
    address: tuple[str, int], sent: bytes
) -> None:
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
    address: tuple[str, int], sent: bytes
) -> None:
    answer = await exchange(address, sent)
    assert answer.startswith("http/1.1 431 ")
    assert f"x-omni-rank: {RANK}" in answer
    assert "served" not in answer


async def test_head_up_to_the_bound_is_served(address: tuple[str, int]) -> None:
    big = LINE + b"a: " + b"b" * (MAX_HEAD_BYTES - 100) + b"\r\nconnection: close\r\n\r\n"
    assert (await exchange(address, big)).endswith("served")


async def test_many_requests_and_large_bodies_on_one_connection_are_served(
    address: tuple[str, int],
) -> None:
    body = b"b" * (2 * MAX_HEAD_BYTES)
    post = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    padded = LINE + b"a: " + b"b" * (MAX_HEAD_BYTES // 2) + b"\r\n\r\n"
    last = LINE + b"connection: close\r\n\r\n"
    answer = await exchange(address, *[post, padded] * 3, last)
    assert answer.count("http/1.1 200 ") == 7
