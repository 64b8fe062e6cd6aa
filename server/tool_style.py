"""The arguments of tool calls in one style, streamed and plain.

Some of upstream's parsers write the arguments of a plain reply anew and stream them as the model
spaced and escaped them; others keep the model's text in both. Here both kinds of reply get the
style of ``server.json_style``, so that the streamed arguments, joined, equal the plain ones byte
for byte.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Iterator
from typing import Any

from server.json_style import JsonStyle, json_styled

__all__ = ["one_style", "styled_frames"]

_DATA = "data: "
# Inside a JSON string the quotes would be escaped, so this finds the field only.
_CALLS_MARK = '"tool_calls":['
_FINISH_MARK = '"finish_reason":"'
_LAST_FRAMES = ("data: [DONE]", 'data: {"error"')


async def one_style(work: Awaitable[Any]) -> Any:
    """Upstream's result of a chat call with tools, plain or streamed, in the one style."""
    result = await work
    if isinstance(result, AsyncGenerator):
        return styled_frames(result)
    for choice in getattr(result, "choices", ()):
        for call in choice.message.tool_calls or ():
            call.function.arguments = json_styled(call.function.arguments)
    return result


async def styled_frames(frames: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """The frames of one chat stream, with the arguments of its tool calls in the one style.

    Only frames with tool calls are decoded; while some text is held, the finishing frame as well.
    What is held goes out before the choice's finish, in the finishing frame itself if that carries
    arguments of the call. Closing this closes ``frames``.
    """
    calls = _Calls()
    try:
        async for frame in frames:
            if _CALLS_MARK in frame or (calls.held and _FINISH_MARK in frame):
                for styled in calls.restyled(frame):
                    yield styled
                continue
            if calls.held and frame.startswith(_LAST_FRAMES):
                for rest in calls.rests():
                    yield rest
            yield frame
    finally:
        await frames.aclose()


class _Calls:
    """The tool calls of one stream, by the indices of choice and call."""

    def __init__(self) -> None:
        self._styles: dict[tuple[int, int], JsonStyle] = {}
        self._head: dict[str, Any] = {}  # what stands beside the choices in every chunk

    @property
    def held(self) -> bool:
        return any(style.held for style in self._styles.values())

    def restyled(self, frame: str) -> Iterator[str]:
        """The frame in the style, after frames for what its finish must not overtake."""
        chunk = json.loads(frame.removeprefix(_DATA))
        self._head = {key: chunk.get(key) for key in ("id", "object", "created", "model")}
        for choice in chunk.get("choices", ()):
            last = self._restyle(choice)
            if choice.get("finish_reason") is None:
                continue
            for call, rest in self._finished(choice["index"]):
                if call in last:
                    last[call]["arguments"] += rest
                else:
                    yield self._rest_frame(choice["index"], call, rest)
        yield _encoded(chunk)

    def rests(self) -> Iterator[str]:
        """Frames for all that is held, where a stream ends without a finish."""
        for choice in sorted({choice for choice, _ in self._styles}):
            for call, rest in self._finished(choice):
                yield self._rest_frame(choice, call, rest)

    def _restyle(self, choice: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """Restyle a choice's delta; the last function of each call that has arguments in it."""
        last = {}
        for call in (choice.get("delta") or {}).get("tool_calls") or ():
            function = call.get("function") or {}
            if function.get("arguments") is None:
                continue
            style = self._styles.setdefault((choice["index"], call["index"]), JsonStyle())
            function["arguments"] = style.feed(function["arguments"])
            last[call["index"]] = function
        return last

    def _finished(self, choice: int) -> Iterator[tuple[int, str]]:
        """Finish a choice's calls: the index and held text of each that has some."""
        for of, call in sorted(self._styles):
            if of == choice and (rest := self._styles[of, call].finish()):
                yield call, rest

    def _rest_frame(self, choice: int, call: int, rest: str) -> str:
        delta = {"tool_calls": [{"index": call, "function": {"arguments": rest}}]}
        entry = {"index": choice, "delta": delta, "logprobs": None, "finish_reason": None}
        return _encoded({**self._head, "choices": [entry]})


def _encoded(chunk: dict[str, Any]) -> str:
    return f"{_DATA}{json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"
