"""A stage and a parent that do as they are told, and the application over them."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from engine_bridge.status import RuntimeStatus
from server.errors import StageDown
from server.ports import JsonReply, Reply, StreamReply
from server.settings import FrontendSettings, HttpPlan

MAX_BODY_BYTES = 10_000
DONE = "data: [DONE]\n\n"


class ScriptedStage:
    """A ``server.ports.Stage`` that answers from ``frames`` or ``reply``."""

    def __init__(self, name: str, served: str, *tasks: str) -> None:
        self.name = name
        self.names = (served,)
        self.tasks = frozenset(tasks)
        self.dead = False
        self.keep_alive_s = 0.0
        self.options: set[str] = set()
        self.frames: list[str | Exception] = ['data: {"x":1}\n\n', DONE]
        self.calls: list[tuple[str, Any]] = []
        self.request_ids: list[str | None] = []
        self.hang = False
        self.error: Exception | None = None
        self.cancelled = asyncio.Event()
        self.started = asyncio.Event()
        self.closed = 0

    def enabled(self, option: str) -> bool:
        return option in self.options

    async def chat(self, request: Any, raw: Request) -> Reply:
        return await self._answer("chat", request, raw)

    async def complete(self, request: Any, raw: Request) -> Reply:
        return await self._answer("complete", request, raw)

    async def tokenize(self, request: Any, raw: Request) -> Reply:
        return await self._answer("tokenize", request, raw)

    async def detokenize(self, request: Any, raw: Request) -> Reply:
        return await self._answer("detokenize", request, raw)

    async def models(self) -> list[dict[str, Any]]:
        return [{"id": name, "object": "model"} for name in self.names]

    async def check_health(self) -> None:
        if self.dead:
            raise StageDown(self.name)

    def openapi(self) -> dict[str, Any]:
        paths = {"/v1/embeddings": {"post": {"summary": "theirs"}}, "/sleep": {"post": {}}}
        return {"paths": paths, "components": {"schemas": {"Theirs": {}}}}

    def passthrough(self) -> ASGIApp:
        async def upstream(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            body = await request.body()
            if self.hang:
                self.started.set()
                assert (await receive())["type"] == "http.disconnect"
                self.cancelled.set()
                return
            content = {
                "stage": self.name,
                "body": body.decode(),
                "id": request.headers["x-request-id"],
                "keys": sorted(scope),
            }
            await JSONResponse(content)(scope, receive, send)

        return upstream

    async def _answer(self, call: str, request: Any, raw: Request) -> Reply:
        self.calls.append((call, request))
        self.request_ids.append(raw.headers.get("x-request-id"))
        self.started.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        if self.error is not None:
            raise self.error
        if getattr(request, "stream", False):
            return StreamReply(self._stream())
        return JsonReply(json.dumps({"stage": self.name}).encode())

    async def _stream(self) -> AsyncGenerator[str, None]:
        try:
            for frame in self.frames:
                if isinstance(frame, Exception):
                    raise frame
                if frame == "hang":
                    await asyncio.Event().wait()
                yield frame
        finally:
            self.closed += 1
            self.cancelled.set()


class ScriptedParent:
    """A ``server.ports.Parent``."""

    def __init__(self) -> None:
        self.now = RuntimeStatus(
            started_at=0.0, stages={"chat": "ready", "embed": "ready"}, frontends=("ready",)
        )
        self.error: Exception | None = None

    async def scrape(self) -> str:
        if self.error is not None:
            raise self.error
        return "# HELP a A.\n"

    def status(self) -> RuntimeStatus:
        return self.now


@pytest.fixture
def chat() -> ScriptedStage:
    return ScriptedStage("chat", "talker", "generate")


@pytest.fixture
def embed() -> ScriptedStage:
    return ScriptedStage("embed", "org/embedder", "embed", "pooling", "score")


@pytest.fixture
def parent() -> ScriptedParent:
    return ScriptedParent()


@pytest.fixture(scope="session")
def make_app() -> Callable[..., Any]:
    # Late, because it imports vLLM, which takes seconds; and vLLM's own warnings are not ours.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from server.app import create_app  # noqa: PLC0415

    return create_app


@pytest.fixture(scope="session")
def make_server() -> Callable[..., Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from server.upstream_http import build_server  # noqa: PLC0415

    return build_server


@pytest.fixture
def app(
    make_app: Callable[..., Any],
    chat: ScriptedStage,
    embed: ScriptedStage,
    parent: ScriptedParent,
) -> Any:
    settings = FrontendSettings(
        rank=2,
        api_server_count=3,
        version="9.9",
        http=HttpPlan(max_body_bytes=MAX_BODY_BYTES),
        body_idle_timeout_s=0.2,
    )
    return make_app(settings, [chat, embed], parent)


@pytest.fixture
async def client(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://omni") as made:
        yield made
