"""A server whose answers, and the times of their pieces, are scripted: real sockets, no engine."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

DEADLINE_S = 20.0  # of any single wait; generous, the machine may be busy
DONE = b"data: [DONE]\n\n"


def sse(frame: object) -> bytes:
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


def text(content: str, **fields: Any) -> bytes:
    """An event with text, as the chat route has it."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    return sse({"model": "tiny", "choices": [choice], **fields})


def finish(reason: str = "stop") -> bytes:
    return sse({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def usage(output: int, prompt: int = 3) -> bytes:
    counts = {"prompt_tokens": prompt, "completion_tokens": output}
    return sse({"choices": [], "usage": counts})


ROLE = sse({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
COMMENT = b": keep-alive\n\n"


@dataclass(frozen=True)
class Script:
    """What the server does with one request.

    Attributes:
        steps: Seconds to wait, or bytes to send, in order.
        head_s: Seconds before the head of the answer.
        end: ``whole``, or ``cut`` to drop the connection.
    """

    steps: tuple[float | bytes, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    head_s: float = 0.0
    end: str = "whole"

    @classmethod
    def tokens(cls, count: int, first_s: float, gap_s: float) -> Script:
        """One token an event: the first after ``first_s``, the others ``gap_s`` apart."""
        steps: list[float | bytes] = [ROLE, first_s]
        for index in range(count):
            steps += [gap_s, text("w ")] if index else [text("w ")]
        return cls((*steps, finish(), usage(count), DONE))

    @classmethod
    def json(cls, body: object, status: int = 200) -> Script:
        return cls((json.dumps(body).encode(),), status, "application/json")


@dataclass
class Asked:
    """One request, as it arrived."""

    path: str
    body: Any
    at_s: float
    sent_s: list[float] = field(default_factory=list)  # when each piece was sent


class TimedServer:
    """Answers POST with what ``script`` returns for its number, in a thread of its own."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.in_flight = self.most_in_flight = 0
        self.script: Callable[[int], Script] = lambda index: Script.tokens(3, 0.0, 0.0)
        self.models: object = {"data": [{"id": "tiny"}]}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(DEADLINE_S)

    def close(self) -> None:
        """Refuse connections from now on; may be called twice."""
        if self._loop.is_closed():
            return

        async def end() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split("\r\n", 1)[0].split(" ")
        lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length")]
        body = await reader.readexactly(int(lengths[0].split(":")[1])) if lengths else b""
        if method == "GET":
            await self._play(writer, Script.json(self.models), [])
            return True
        asked = Asked(path, json.loads(body), self._loop.time())
        self.asked.append(asked)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        script = self.script(len(self.asked) - 1)
        try:
            await self._play(writer, script, asked.sent_s)
        finally:
            self.in_flight -= 1
        return script.end != "cut"

    async def _play(
        self, writer: asyncio.StreamWriter, script: Script, sent_s: list[float]
    ) -> None:
        await asyncio.sleep(script.head_s)
        writer.write(
            f"HTTP/1.1 {script.status} X\r\ncontent-type: {script.content_type}\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        for step in script.steps:
            if isinstance(step, bytes):
                sent_s.append(self._loop.time())
                writer.write(b"%x\r\n%s\r\n" % (len(step), step))
                await writer.drain()
            else:
                await asyncio.sleep(step)
        if script.end == "whole":
            writer.write(b"0\r\n\r\n")
            await writer.drain()


@pytest.fixture
def timed() -> Iterator[TimedServer]:
    server = TimedServer()
    yield server
    server.close()
