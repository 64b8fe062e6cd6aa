"""Server-sent events as a tester reads them: the whole stream at once, with what is wrong in it.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["DONE", "Event", "Events", "read_events"]

DONE = "[DONE]"

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        name: Its ``event`` field, or empty.
        data: Its ``data`` fields, joined.
        frame: The data's JSON object; None if it is none.
    """

    name: str
    data: str
    frame: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Events:
    """A stream's events in order.

    Attributes:
        faults: What breaks the format, in words.
    """

    all: tuple[Event, ...]
    faults: tuple[str, ...]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The JSON objects, in order."""
        return [event.frame for event in self.all if event.frame is not None]


def read_events(body: bytes) -> Events:
    """Read a whole stream; whatever it holds, something is returned."""
    faults = []
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.append(f"byte {error.start} of the stream is not UTF-8")
        text = body.decode("utf-8", "replace")
    events = []
    name = ""
    data: list[str] = []
    *lines, rest = _LINE_END.split(text.removeprefix("\ufeff"))
    for line in [*lines, rest] if rest else lines:
        field, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                events.append(_event(name, "\n".join(data)))
            name, data = "", []
        elif not field:
            continue  # a comment
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif not colon or field not in ("id", "retry"):
            faults.append(f"a line that belongs to no field: {line[:80]}")
    if data:
        faults.append(f"the last event has no empty line after it and is lost: {data[0][:80]}")
        events.append(_event(name, "\n".join(data)))
    faults += [
        f"the data of an event is neither a JSON object nor [DONE]: {event.data[:80]}"
        for event in events
        if event.frame is None and event.data != DONE
    ]
    return Events(tuple(events), tuple(faults))


def _event(name: str, data: str) -> Event:
    try:
        frame = json.loads(data)
    except (ValueError, RecursionError):
        frame = None
    return Event(name, data, frame if isinstance(frame, dict) else None)
