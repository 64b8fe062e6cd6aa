"""Event streams, good and bad, as a tester reads them."""

from __future__ import annotations

import pytest

from omni_cli.check.events import read_events


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_all_line_ends_and_fields_are_understood(end: str) -> None:
    lines = [
        "\ufeff: a comment",
        "event: one",
        "id: 7",
        'data: {"a":',
        "data: 1}",
        "",
        "data: [DONE]",
    ]
    events = read_events((end.join([*lines, "", ""])).encode())
    assert events.faults == ()
    assert [(e.name, e.data, e.frame) for e in events.all] == [
        ("one", '{"a":\n1}', {"a": 1}),
        ("", "[DONE]", None),
    ]
    assert events.frames == [{"a": 1}]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"data: {}\n", "the last event has no empty line after it and is lost: {}"),
        (b"data: {}\n\nnoise\n\n", "a line that belongs to no field: noise"),
        (b"data: {}\n\n\xff\n\n", "byte 10 of the stream is not UTF-8"),
        (b"data: 5\n\n", "the data of an event is neither a JSON object nor [DONE]: 5"),
        (b"data: {\n\n", "the data of an event is neither a JSON object nor [DONE]: {"),
    ],
)
def test_what_breaks_the_format_is_told(body: bytes, fault: str) -> None:
    assert fault in read_events(body).faults


def test_nothing_is_no_event() -> None:
    assert read_events(b"").all == ()
