from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from server.accept import AcceptLedger
from server.settings import HttpPlan

RANKS = 3


@pytest.fixture
async def url(make_server: Callable[..., Any]) -> AsyncIterator[str]:
    """Three servers on one listening socket, as three processes would have it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    fd = AcceptLedger.create(RANKS)
    ledgers = [AcceptLedger.attach(fd, RANKS) for _ in range(RANKS)]
    os.close(fd)
    servers: list[Any] = [
        make_server(
            PlainTextResponse(str(rank)), ledgers[rank], rank, HttpPlan(), drain_timeout_s=1
        )
        for rank in range(RANKS)
    ]
    serving = [asyncio.ensure_future(s.serve(sockets=[listener.dup()])) for s in servers]
    async with asyncio.timeout(10):
        while any(ledgers[0].connections(rank) is None for rank in range(RANKS)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*serving)
    assert [ledgers[0].connections(rank) for rank in range(RANKS)] == [None] * RANKS
    for ledger in ledgers:
        ledger.close()
    listener.close()


async def test_new_connections_on_an_idle_server_go_round_robin(url: str) -> None:
    seen = []
    for _ in range(4 * RANKS):
        async with httpx.AsyncClient() as client:
            seen.append((await client.get(url)).text)
    assert {rank: seen.count(rank) for rank in set(seen)} == dict.fromkeys("012", 4)


async def test_open_connections_are_spread_evenly(url: str) -> None:
    clients = [httpx.AsyncClient() for _ in range(2 * RANKS)]
    seen = [(await client.get(url)).text for client in clients]
    assert sorted(seen) == sorted("012" * 2)
    for client in clients:
        await client.aclose()
