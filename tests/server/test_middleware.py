from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.types import Message, Scope

from server.metrics import snapshot

CHAT = {"model": "talker", "messages": [{"role": "user", "content": "Hello"}]}
EVERYTHING = [
    ("GET", "/livez"),
    ("GET", "/nothing"),
    ("GET", "/v1/chat/completions"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/embeddings"),
    ("POST", "/collective_rpc"),
    ("GET", "/load"),
    ("GET", "/docs"),
]


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
async def test_every_answer_carries_rank_and_id(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    first, second = [await client.request(method, path) for _ in range(2)]
    assert first.headers.get_list("x-omni-rank") == ["2"]
    assert len(first.headers.get_list("x-request-id")) == 1
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_valid_id_is_echoed_and_reaches_the_stage(
    client: httpx.AsyncClient, chat: Any
) -> None:
    headers = {"x-request-id": "abc/1:2_3"}
    reply = await client.post("/v1/chat/completions", json=CHAT, headers=headers)
    assert reply.headers["x-request-id"] == chat.request_ids[0] == "abc/1:2_3"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "\x7f", "ä"])
async def test_invalid_id_is_replaced_also_for_the_stage(
    client: httpx.AsyncClient, chat: Any, given: str
) -> None:
    headers = [(b"x-request-id", given.encode())]
    reply = await client.post("/v1/chat/completions", json=CHAT, headers=headers)
    assert reply.headers["x-request-id"] == chat.request_ids[0]
    assert reply.headers["x-request-id"] != given


async def test_requests_are_counted_once_by_route_pattern(
    app: Any, client: httpx.AsyncClient
) -> None:
    await client.post("/v1/chat/completions", json=CHAT)
    await client.get("/v1/models/org/embedder")
    await client.post("/v1/embeddings", json={"input": "a"})
    await client.get("/secret/path")
    await client.request("BREW", "/livez")
    families = {family.name: family for family in snapshot([app.registry]).families}
    counted = {
        (s.labels["route"], s.labels["method"], s.labels["code"]): s.value
        for s in families["omni_http_requests"].samples
    }
    assert counted == {
        ("/v1/chat/completions", "POST", "200"): 1,
        ("/v1/models/{model:path}", "GET", "200"): 1,
        ("/v1/embeddings", "POST", "200"): 1,
        ("unmatched", "GET", "404"): 1,
        ("/livez", "OTHER", "405"): 1,
    }


class Wire:
    """The server's side of one ASGI exchange, message by message."""

    def __init__(self, path: str, body: bytes | None) -> None:
        self.scope: Scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "client": ("127.0.0.1", 1), "server": ("omni", 80),
            "headers": [(b"content-type", b"application/json")],
        }  # fmt: skip
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        self.left = False
        self.sent: list[Message] = []
        if body is not None:
            self.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})

    async def receive(self) -> Message:
        if self.left:  # uvicorn says so as often as it is asked
            return {"type": "http.disconnect"}
        message = await self.incoming.get()
        self.left = message["type"] == "http.disconnect"
        return message

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})


HELLO = b'{"model": "talker", "messages": [{"role": "user", "content": "a"}]'


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", HELLO + b"}"),
        ("/v1/chat/completions", HELLO + b', "stream": true}'),
        ("/v1/responses", HELLO + b"}"),
    ],
)
async def test_client_that_leaves_before_the_answer_stops_the_work(
    app: Any, chat: Any, path: str, body: bytes
) -> None:
    chat.hang = True
    wire = Wire(path, body)
    serving = asyncio.ensure_future(app(wire.scope, wire.receive, wire.send))
    async with asyncio.timeout(5):
        await chat.started.wait()
        wire.leave()
        await serving
        await chat.cancelled.wait()


@pytest.mark.parametrize("frames", [["hang"], ['data: {"x":1}\n\n', "hang"]])
async def test_client_that_leaves_a_stream_closes_it(
    app: Any, chat: Any, frames: list[str]
) -> None:
    chat.frames = frames
    wire = Wire("/v1/chat/completions", HELLO + b', "stream": true}')
    serving = asyncio.ensure_future(app(wire.scope, wire.receive, wire.send))
    async with asyncio.timeout(5):
        await chat.started.wait()
        wire.leave()
        await serving
    assert chat.closed == 1


async def test_body_that_stops_coming_is_408(app: Any) -> None:
    wire = Wire("/v1/chat/completions", None)
    wire.incoming.put_nowait({"type": "http.request", "body": b"{", "more_body": True})
    async with asyncio.timeout(5):
        await app(wire.scope, wire.receive, wire.send)
    assert wire.sent[0]["status"] == 408


async def test_client_that_leaves_within_its_body_is_counted_as_gone(app: Any) -> None:
    wire = Wire("/v1/embeddings", None)
    wire.leave()
    async with asyncio.timeout(5):
        await app(wire.scope, wire.receive, wire.send)
    assert wire.sent == []
    (family,) = [f for f in snapshot([app.registry]).families if f.name == "omni_http_requests"]
    assert [sample.labels["code"] for sample in family.samples] == ["499"]
