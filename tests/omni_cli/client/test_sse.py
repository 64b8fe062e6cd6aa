"""The decoder of server-sent events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_cli.client.sse import MAX_EVENT_BYTES, EventTooLong, SseDecoder

STREAM = (
    "\ufeffdata: first\n\n: comment\n\r\nevent: x\ndata:second é\r\ndata:  line 2\rid: 7\r\r"
    "data\n\nignored\n\ndata: 漢🎉\n\n"
).encode()
EVENTS = ["first", "second é\n line 2", "", "漢🎉"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    decoder = SseDecoder()
    edges = [0, *sorted(cuts), len(STREAM)]
    parts = [STREAM[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    assert [event for part in parts for event in decoder.feed(part)] == EVENTS


def test_an_unfinished_event_is_not_given_out() -> None:
    assert SseDecoder().feed(b"data: half\n") == []


@pytest.mark.parametrize("part", [b"data: " + b"x" * 65536, b"data: " + b"x" * 65536 + b"\n"])
def test_an_endless_event_is_refused(part: bytes) -> None:
    decoder = SseDecoder()
    parts = [part] * (MAX_EVENT_BYTES // len(part) + 2)
    with pytest.raises(EventTooLong):
        [decoder.feed(part) for part in parts]
