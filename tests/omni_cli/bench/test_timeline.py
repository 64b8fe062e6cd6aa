"""Which frames are chunks, and how many tokens each holds."""

from __future__ import annotations

from typing import Any

import pytest

from omni_cli.bench.record import Record
from omni_cli.bench.timeline import Timeline


def event(text: str = "w", count: int | None = None) -> dict[str, Any]:
    usage = {} if count is None else {"usage": {"prompt_tokens": 5, "completion_tokens": count}}
    return {"choices": [{"text": text, "finish_reason": None}], **usage}


def total(count: int) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": count}}


FINISH = {"choices": [{"text": "", "finish_reason": "stop"}]}


def record(*reads: tuple[float, list[dict[str, Any]]]) -> Record:
    timeline = Timeline(sent_s=10.0)
    for now, frames in reads:
        timeline.receive(10.0 + now, frames)
    found = Record(0, 0.0)
    timeline.fill(found)
    return found


def test_one_token_a_chunk() -> None:
    found = record(
        (1.0, [event()]), (3.0, [event()]), (4.0, [event()]), (4.5, [FINISH]), (4.5, [total(3)])
    )
    assert found.ttft_s == 1.0
    assert list(found.gaps_s) == [2.0, 1.0]
    assert list(found.gap_tokens) == [1, 1]
    assert (found.exact, found.prompt_tokens, found.output_tokens) == (True, 5, 3)
    assert found.finish_reason == "stop"
    # The finish belongs to the choice: a last token may have no text
    assert (found.decode_s, found.tpot_s) == (3.5, 1.75)


def test_events_of_one_read_are_one_chunk() -> None:
    found = record((1.0, [event()]), (3.0, [event(), event()]), (3.0, [total(3)]))
    assert list(found.gaps_s) == [2.0]
    assert (list(found.gap_tokens), found.exact) == ([2], True)


def test_events_without_text_are_no_chunks() -> None:
    role = {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
    found = record((0.5, [role]), (1.0, [event()]), (2.0, [event("")]), (3.0, [event()]))
    assert (found.ttft_s, list(found.gaps_s)) == (1.0, [2.0])
    assert (found.output_tokens, found.tpot_s, list(found.gap_tokens)) == (None, None, [])


@pytest.mark.parametrize("name", ["content", "reasoning_content", "reasoning", "tool_calls"])
def test_all_that_a_model_makes_is_text(name: str) -> None:
    found = record((1.0, [{"choices": [{"delta": {name: ["x"]}}]}]))
    assert found.ttft_s == 1.0


def test_counts_of_the_server_are_believed() -> None:
    reads = [(1.0, [event(count=2)]), (2.0, [event(count=3)]), (4.0, [event(count=7)])]
    found = record(*reads, (4.0, [total(8)]))
    assert (list(found.gap_tokens), found.exact, found.output_tokens) == ([1, 4], True, 8)


@pytest.mark.parametrize("first", [None, 0])
def test_without_them_tokens_are_spread_over_events(first: int | None) -> None:
    # Six tokens in three events; a 0 with each event is no count
    reads = [(float(now), [event(count=first)]) for now in (1, 2, 3)]
    found = record(*reads, (3.0, [total(6)]))
    assert (list(found.gap_tokens), found.exact) == ([2, 2], False)


def test_fewer_tokens_than_events_are_spread_as_well() -> None:
    found = record(*[(float(now), [event()]) for now in range(1, 6)], (5.0, [total(3)]))
    assert (list(found.gap_tokens), found.exact) == ([0, 1, 0, 1], False)


def test_no_text_is_no_time() -> None:
    found = record((1.0, [FINISH]), (1.0, [total(1)]))
    assert (found.ttft_s, found.decode_s, found.output_tokens) == (None, None, 1)
