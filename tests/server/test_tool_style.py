"""Tool calls of chat replies in one style: frames and whole replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import tool_style
from server.tool_style import one_style, styled_frames

DONE = "data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 5, "model": "m"}


def frame(delta: dict[str, Any], *, choice: int = 0, finish: str | None = None) -> str:
    entry = {"index": choice, "delta": delta, "logprobs": None, "finish_reason": finish}
    return encoded({**HEAD, "choices": [entry]})


def encoded(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"


def part(arguments: str, call: int = 0) -> dict[str, Any]:
    return {"index": call, "function": {"arguments": arguments}}


class Source:
    """A chat stream of upstream's that notes when it is closed."""

    def __init__(self, frames: list[str | Exception]) -> None:
        self.frames = frames
        self.closed = False

    async def stream(self) -> AsyncGenerator[str, None]:
        try:
            for item in self.frames:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed = True


async def styled(*frames: str | Exception) -> list[str]:
    return [item async for item in styled_frames(Source(list(frames)).stream())]


def arguments_of(frames: list[str]) -> dict[tuple[int, int], str]:
    """The joined arguments by choice and call, none of them after their choice's finish."""
    found: dict[tuple[int, int], str] = {}
    finished: set[int] = set()
    for item in frames:
        if item == DONE:
            continue
        for choice in json.loads(item.removeprefix("data: "))["choices"]:
            for call in choice["delta"].get("tool_calls", ()):
                assert choice["index"] not in finished
                key = (choice["index"], call["index"])
                found[key] = found.get(key, "") + call["function"].get("arguments", "")
            if choice["finish_reason"]:
                finished.add(choice["index"])
    return found


class TestFrames:
    async def test_arguments_get_the_style_and_all_else_stays(self) -> None:
        named = {"id": "call-1", "type": "function", "index": 0, "function": {"name": "weather"}}
        frames = [
            frame({"role": "assistant", "content": ""}),
            frame({"tool_calls": [named]}),
            frame({"tool_calls": [part('{\n  "city" :')]}),
            frame({"tool_calls": [part('"Zürich"}')]}),
            frame({}, finish="tool_calls"),
            DONE,
        ]
        assert await styled(*frames) == [
            *frames[:2],
            frame({"tool_calls": [part('{"city":')]}),
            frame({"tool_calls": [part(' "Zürich"}')]}),
            *frames[4:],
        ]

    async def test_frames_without_tool_calls_are_not_decoded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        frames = [
            'data: {not JSON "finish_reason":"tool_calls"}\n\n',
            frame({"content": 'I write "tool_calls":[ now'}),
            ": keep-alive\n\n",
            DONE,
        ]
        monkeypatch.setattr(tool_style, "json", None)
        assert await styled(*frames) == frames

    async def test_frame_with_all_of_it_held_keeps_name_and_id(self) -> None:
        call = {"id": "call-1", "index": 0, "function": {"name": "f", "arguments": " \n"}}
        first, second, _ = await styled(
            frame({"content": None, "tool_calls": [call]}),
            frame({"tool_calls": [part("{ }")]}),
            DONE,
        )
        assert first == frame(
            {
                "content": None,
                "tool_calls": [
                    {"id": "call-1", "index": 0, "function": {"name": "f", "arguments": ""}}
                ],
            }
        )
        assert second == frame({"tool_calls": [part("{}")]})

    async def test_other_fields_and_their_order_stay(self) -> None:
        choice: dict[str, Any] = {"finish_reason": None, "token_ids": [1, 2], "index": 0}
        chunk = {"usage": {"total_tokens": 1}, **HEAD, "choices": [choice]}
        choice["delta"] = {"tool_calls": [part("{}")], "reasoning": "hm\u2028"}
        assert await styled(encoded(chunk)) == [encoded(chunk)]

    async def test_held_text_goes_out_before_a_finish_without_arguments(self) -> None:
        out = await styled(
            frame({"tool_calls": [part('{"a":12')]}), frame({}, finish="length"), DONE
        )
        assert out == [
            frame({"tool_calls": [part('{"a":')]}),
            frame({"tool_calls": [part("12")]}),
            frame({}, finish="length"),
            DONE,
        ]

    async def test_held_text_joins_the_arguments_of_the_finish(self) -> None:
        out = await styled(frame({"tool_calls": [part('{"a":12')]}, finish="length"), DONE)
        assert out == [frame({"tool_calls": [part('{"a":12')]}, finish="length"), DONE]

    async def test_finish_of_one_choice_leaves_the_other_held(self) -> None:
        out = await styled(
            frame({"tool_calls": [part("[1")]}, choice=0),
            frame({"tool_calls": [part("[2")]}, choice=1),
            frame({}, choice=1, finish="length"),
            frame({"tool_calls": [part("0 ]")]}, choice=0),
            frame({}, choice=0, finish="stop"),
            DONE,
        )
        assert arguments_of(out) == {(0, 0): "[10]", (1, 0): "[2"}

    @pytest.mark.parametrize("last", [DONE, 'data: {"error":{"message":"no"}}\n\n'])
    async def test_held_text_goes_out_before_an_end_without_finish(self, last: str) -> None:
        out = await styled(frame({"tool_calls": [part("[1")]}), last)
        assert out == [
            frame({"tool_calls": [part("[")]}),
            frame({"tool_calls": [part("1")]}),
            last,
        ]

    @settings(deadline=None)
    @given(st.data())
    def test_calls_of_several_choices_are_kept_apart(self, data: st.DataObject) -> None:
        texts = {
            (i, k): json.dumps({"é": [i, k, "\n😀"]}, indent=i) for i in (0, 1) for k in (0, 1)
        }
        left = dict(texts)
        frames: list[str] = []
        while left:
            choice, call = key = data.draw(st.sampled_from(sorted(left)))
            size = data.draw(st.integers(1, 9))
            frames.append(frame({"tool_calls": [part(left[key][:size], call)]}, choice=choice))
            left[key] = left[key][size:]
            left = {key: text for key, text in left.items() if text}
        frames += [frame({}, choice=1, finish="stop"), frame({}, choice=0, finish="stop"), DONE]

        out = asyncio.run(styled(*frames))
        expected = {key: json.dumps(json.loads(t), ensure_ascii=False) for key, t in texts.items()}
        assert arguments_of(out) == expected

    async def test_closing_closes_the_source(self) -> None:
        source = Source([frame({"tool_calls": [part("[")]}), DONE])
        stream = styled_frames(source.stream())
        await anext(stream)
        await stream.aclose()
        assert source.closed

    async def test_failure_of_the_source_passes(self) -> None:
        with pytest.raises(ZeroDivisionError):
            await styled(frame({"content": "a"}), ZeroDivisionError())


def reply(*arguments: str) -> Any:
    calls = [SimpleNamespace(function=SimpleNamespace(arguments=item)) for item in arguments]
    choice = SimpleNamespace(message=SimpleNamespace(tool_calls=calls))
    without = SimpleNamespace(message=SimpleNamespace(tool_calls=None))
    return SimpleNamespace(choices=[without, choice])


class TestOneStyle:
    async def test_plain_arguments_get_the_style_and_no_json_stays(self) -> None:
        async def work() -> Any:
            return reply('{\n"city":"Z\\u00fcrich"}', '{"cut" :1', "")

        result = await one_style(work())
        arguments = [call.function.arguments for call in result.choices[1].message.tool_calls]
        assert arguments == ['{"city": "Zürich"}', '{"cut" :1', ""]

    async def test_stream_is_styled(self) -> None:
        source = Source([frame({"tool_calls": [part('{"a":1}')]}), DONE])

        async def work() -> Any:
            return source.stream()

        out = [item async for item in await one_style(work())]
        assert out == [frame({"tool_calls": [part('{"a": 1}')]}), DONE]

    async def test_error_of_upstream_passes(self) -> None:
        error = SimpleNamespace(error="no")

        async def work() -> Any:
            return error

        assert await one_style(work()) is error
