"""Requests to a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import msgspec
import pytest

from omni_cli.batch.http import HttpSender
from omni_cli.client.address import Address
from omni_cli.client.target import Target
from server.batch.run import Broken, TimedOut, Unreachable
from tests.omni_cli.batch.serving import BatchServer, Step


@pytest.fixture
def server() -> Iterator[BatchServer]:
    made = BatchServer()
    yield made
    made.close()


def sender(server: BatchServer, **target: object) -> HttpSender:
    return HttpSender(Target(address=Address.parse(server.url), **target), 4)  # type: ignore[arg-type]


async def test_answer_has_status_headers_and_body(server: BatchServer) -> None:
    server.step = lambda path, body: Step(429, {"path": path}, {"retry-after": "7"})
    async with sender(server, api_key="k") as sending:
        answer = await sending.send("/v1/completions", msgspec.Raw(b'{"a": 1}'))
    assert (answer.status, answer.request_id, answer.retry_after) == (429, "req-1", "7")
    assert json.loads(answer.body) == {"path": "/v1/completions"}
    assert server.asked == [{"a": 1}]
    assert server.heads[0]["authorization"] == "Bearer k"
    assert server.heads[0]["content-type"] == "application/json"


async def test_cut_answer_is_a_broken_connection(server: BatchServer) -> None:
    server.step = lambda path, body: Step(body=body, cut=True)
    async with sender(server) as sending:
        with pytest.raises(Broken, match=r"^The connection broke: "):
            await sending.send("/v1/completions", msgspec.Raw(b"{}"))


async def test_nobody_is_there(server: BatchServer) -> None:
    gone = BatchServer()
    gone.close()
    async with sender(gone) as sending:
        with pytest.raises(Unreachable):
            await sending.send("/v1/completions", msgspec.Raw(b"{}"))


async def test_answer_that_does_not_come(server: BatchServer) -> None:
    let_go = threading.Event()

    def wait(path: str, body: object) -> Step:
        let_go.wait(20)
        return Step()

    server.step = wait
    async with sender(server, timeout_s=0.2) as sending:
        with pytest.raises(TimedOut, match=r"^No answer within 0.2 s; --timeout sets"):
            await sending.send("/v1/completions", msgspec.Raw(b"{}"))
    let_go.set()
