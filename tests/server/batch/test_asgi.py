"""Requests into an application of the same process."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from server.batch.asgi import AppSender
from server.replies import until_disconnect


async def echo(request: Request) -> Response:
    async def work() -> bytes:
        return await request.body()

    body = await request.body()
    answer = await until_disconnect(request.receive, work())
    assert answer == body
    seen = {"type": request.headers["content-type"], "size": request.headers["content-length"]}
    headers = {"x-request-id": "r1", "retry-after": "3"}
    return JSONResponse({"body": body.decode(), **seen}, 429, headers)


async def stream(request: Request) -> Response:
    async def parts() -> object:
        yield b'{"a":'
        await asyncio.sleep(0)
        yield b"1}"

    return StreamingResponse(parts())  # type: ignore[arg-type]


APP = Starlette(
    routes=[Route("/v1/echo", echo, methods=["POST"]), Route("/s", stream, methods=["POST"])]
)


async def test_answer_has_status_headers_and_body() -> None:
    answer = await AppSender(APP).send("/v1/echo", msgspec.Raw(b'{"x": "\xc3\xa9"}'))
    assert (answer.status, answer.request_id, answer.retry_after) == (429, "r1", "3")
    found = msgspec.json.decode(answer.body)
    assert found == {"body": '{"x": "é"}', "type": "application/json", "size": "11"}


async def test_parts_are_joined() -> None:
    assert (await AppSender(APP).send("/s", msgspec.Raw(b"{}"))).body == b'{"a":1}'


async def test_unknown_route_is_an_answer_too() -> None:
    assert (await AppSender(APP).send("/nowhere", msgspec.Raw(b"{}"))).status == 404
