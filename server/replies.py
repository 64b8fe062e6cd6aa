"""From a stage's reply to an HTTP response, for a client that may leave at any time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from server.error_shape import error_body
from server.errors import ApiError, StageDown
from server.middleware import CLIENT_LEFT
from server.ports import JsonReply, Reply, Stage, StreamReply

__all__ = ["answer", "until_disconnect"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ERROR_PREFIX = 'data: {"error"'


class EventStream(StreamingResponse):
    """Server-sent events; closes its frames on every path, so that the engine stops at once."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[str, None]) -> None:
        super().__init__(frames, headers={"cache-control": "no-cache"})
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._frames.aclose()


async def answer(request: Request, stage: Stage, work: Awaitable[Reply]) -> Response:
    """Run a call into a stage and make its response.

    A client that leaves cancels the work. A stream begins only once its first frame is there, so
    that whatever fails before the first token keeps its true status.

    Raises:
        ApiError: The stage refused, or failed before the first token.
    """

    async def respond() -> Response:
        reply = await work
        if isinstance(reply, JsonReply):
            return Response(reply.body, reply.status, media_type="application/json")
        return await _begin(stage, reply)

    response = await until_disconnect(request.receive, respond())
    return Response(status_code=CLIENT_LEFT) if response is None else response


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """The work's result, or None when the client left first; the work has then been cancelled.

    The request's body must have been read: this consumes the messages that follow.
    """
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return None
    finally:
        leaving.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _begin(stage: Stage, reply: StreamReply) -> Response:
    frames = reply.frames
    try:
        first = await anext(frames, reply.terminator)
        if first.startswith(_ERROR_PREFIX):
            raise _refusal(stage, first)
    except BaseException:
        await frames.aclose()
        raise
    return EventStream(_one_ending(stage, first, frames, reply.terminator))


def _refusal(stage: Stage, frame: str) -> ApiError:
    """The error that a first frame carries, as the response that it should have been."""
    if stage.dead:
        return StageDown(stage.name)
    error = json.loads(frame.removeprefix("data: "))["error"]
    return ApiError(
        int(error["code"]), error["message"], type_=error["type"], param=error.get("param")
    )


async def _one_ending(
    stage: Stage, first: str, frames: AsyncGenerator[str, None], terminator: str
) -> AsyncGenerator[str, None]:
    """The frames, then exactly one terminator, whatever upstream's generator does."""
    last = first
    try:
        yield first
        async for frame in frames:
            last = frame
            yield frame
        if last != terminator:
            yield terminator
    except Exception:
        logger.exception("stream of stage %s failed", stage.name)
        status = 503 if stage.dead else 500
        yield f"data: {error_body('openai', status, 'The stream failed.').decode()}\n\n"
        yield terminator
    finally:
        await frames.aclose()
