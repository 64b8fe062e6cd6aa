"""``sse``: a stream of chat or completions ends in exactly one way, and says what the plain reply
says. The typed streams are in ``sse_typed``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from omni_cli.check import rules
from omni_cli.check.apis import CHAT, COMPLETIONS, GENERATE, Api, dig
from omni_cli.check.events import DONE, Events, read_events
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip, quoted
from omni_cli.check.session import Session, came

__all__ = ["CHECKS", "finishes", "joined_text", "pieces"]

_CHUNK = {"chat": "chat.completion.chunk", "completions": "text_completion"}
CHOICES = 2
N_TOKENS = 6  # of each of several choices


def _choices(events: Events) -> Iterator[Any]:
    """Every choice of every frame, in order."""
    for frame in events.frames:
        found = frame.get("choices")
        yield from found if isinstance(found, list) else []


def _piece(choice: Any) -> str:
    """The text of one choice of one frame, of either API."""
    text = dig(choice, "delta", "content")
    text = dig(choice, "text") if text is None else text
    return text if isinstance(text, str) else ""


def pieces(events: Events, index: int = 0) -> list[str]:
    """The text of one choice as it came."""
    return [_piece(choice) for choice in _choices(events) if dig(choice, "index") == index]


def joined_text(events: Events) -> str:
    """The text of the first choice, joined."""
    return "".join(pieces(events))


def finishes(events: Events, index: int = 0) -> list[Any]:
    """Every finish_reason of one choice that is not null."""
    found = (choice for choice in _choices(events) if dig(choice, "index") == index)
    return [reason for choice in found if (reason := dig(choice, "finish_reason")) is not None]


def _content_type(api: Api, session: Session) -> str:
    answer = session.reply(api, "stream")
    kind = answer.header("content-type")
    if kind.partition(";")[0].strip().lower() != "text/event-stream":
        raise Fault("content-type: text/event-stream", kind or "none", answer)
    if "charset" in kind.lower() and "utf-8" not in kind.lower():
        raise Fault("charset=utf-8, if any", kind, answer)
    return ""


def _framing(api: Api, session: Session) -> str:
    events = session.events(api)
    if events.faults:
        raise Fault(
            "events that a reader of the format takes whole", events.faults[0], session.last
        )
    if not events.all:
        raise Fault("at least one event", came(session.reply(api, "stream")), session.last)
    return f"{len(events.all)} events"


def _chunks(api: Api, session: Session) -> str:
    frames = session.events(api).frames
    for frame in frames:
        fields = {
            "id": isinstance(frame.get("id"), str) and frame["id"] == frames[0].get("id"),
            "object": frame.get("object") == _CHUNK[api.name],
            "created": isinstance(frame.get("created"), int),
            "model": isinstance(frame.get("model"), str),
            "choices": isinstance(frame.get("choices"), list),
        }
        wrong = [name for name, good in fields.items() if not good]
        if wrong:
            raise Fault(
                f"the documented fields, one id; at fault: {', '.join(wrong)}",
                quoted(frame),
                session.last,
            )
    return ""


def _finish(api: Api, session: Session) -> str:
    found = finishes(session.events(api))
    if len(found) != 1:
        raise Fault("exactly one finish_reason that is not null", quoted(found), session.last)
    return f"{found[0]}"


def _nothing_after(api: Api, session: Session) -> str:
    finished = False
    for choice in _choices(session.events(api)):
        if finished and (_piece(choice) or dig(choice, "delta", "tool_calls")):
            raise Fault("no text after the finish_reason", quoted(choice), session.last)
        finished = finished or dig(choice, "finish_reason") is not None
    return ""


def _done(api: Api, session: Session) -> str:
    events = session.events(api).all
    count = sum(event.data == DONE for event in events)
    if count != 1:
        raise Fault("exactly one [DONE]", f"{count} of them", session.last)
    if events[-1].data != DONE:
        raise Fault("[DONE] as the last event", f"after it: {events[-1].data}", session.last)
    return ""


def _joined(api: Api, session: Session) -> str:
    session.require_determinism(api)
    reply = session.reply(api).json
    events = session.events(api)
    whole, streamed = api.text(reply), joined_text(events)
    if whole != streamed:
        raise Fault(f"the plain reply's text {quoted(whole)}", quoted(streamed), session.last)
    ends = finishes(events)
    if len(ends) == 1 and ends[0] != api.finish(reply):
        expected = f"the plain reply's finish_reason {api.finish(reply)}"
        raise Fault(expected, quoted(ends[0]), session.last)
    return ""


def _several(api: Api, session: Session) -> str:
    changes = {"n": CHOICES, "temperature": 1, "max_tokens": N_TOKENS, "stream": True}
    answer = session.post(api, **changes)
    if 400 <= answer.status < 500:
        raise Skip(f"n={CHOICES} is refused with {answer.status}")
    if answer.status != 200:
        raise Fault("status 200", came(answer), answer)
    found = Counter(
        dig(choice, "index")
        for choice in _choices(read_events(answer.body))
        if dig(choice, "finish_reason") is not None
    )
    if found != Counter(range(CHOICES)):
        shown = ", ".join(f"index {index}: {count}" for index, count in found.items()) or "none"
        raise Fault(f"one finish_reason for each index 0 to {CHOICES - 1}", shown, answer)
    return ""


_TESTS = (
    ("chunks", "every chunk has the documented fields", rules.CHUNK, _chunks),
    ("finish", "exactly one finish_reason", rules.CHUNK, _finish),
    ("after", "no text after the finish_reason", rules.CHUNK, _nothing_after),
    ("done", "exactly one [DONE], and it is last", rules.CREATE, _done),
    ("joined", "the joined stream equals the plain reply", rules.CREATE, _joined),
    ("n", f"n={CHOICES} has one finish_reason per index", rules.CREATE, _several),
)


def _checks() -> list[Check]:
    checks = []
    for api in GENERATE:
        title = f"{api.name}: the stream is text/event-stream"
        run = partial(_content_type, api)
        checks.append(Check(Family.SSE, f"{api.name}.type", title, rules.SSE_TYPE, run))
        title = f"{api.name}: every event can be read"
        run = partial(_framing, api)
        checks.append(Check(Family.SSE, f"{api.name}.framing", title, rules.SSE_FRAMING, run))
    for api in (CHAT, COMPLETIONS):
        checks += [
            Check(
                Family.SSE,
                f"{api.name}.{name}",
                f"{api.name}: {title}",
                rule[api.name],
                partial(test, api),
            )
            for name, title, rule, test in _TESTS
        ]
    return checks


CHECKS = tuple(_checks())
