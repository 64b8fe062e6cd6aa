"""Requests straight into the application of this process: no socket, no second parser."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import ASGIApp, Message, Scope

from server.batch.results import Answer

__all__ = ["AppSender"]

_ASGI = {"version": "3.0", "spec_version": "2.3"}


class AppSender:
    """A ``Sender`` to an ASGI application.

    Args:
        app: Answers every request, whatever happens in it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def send(self, url: str, body: msgspec.Raw) -> Answer:
        exchange = _Exchange(bytes(body))
        await self._app(_scope(url, len(exchange.body)), exchange.receive, exchange.send)
        return exchange.answer()


def _scope(path: str, size: int) -> Scope:
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % size),
        ],
        "client": None,
        "server": None,
        "state": {},
    }


class _Exchange:
    """One request: a client that sends a whole body, and waits for the answer."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._sent = False
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._sent:
            # This client never leaves; whoever waits for that is cancelled with the request.
            await asyncio.get_running_loop().create_future()
        self._sent = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))

    def answer(self) -> Answer:
        headers = {name.lower(): value.decode("latin-1") for name, value in self._headers}
        return Answer(
            status=self._status,
            request_id=headers.get(b"x-request-id", ""),
            body=b"".join(self._parts),
            retry_after=headers.get(b"retry-after", ""),
        )
