"""``sse`` for the APIs whose events have types: Responses and Messages."""

from __future__ import annotations

from functools import partial
from typing import Any

from omni_cli.check import rules
from omni_cli.check.apis import MESSAGES, RESPONSES, Api, dig
from omni_cli.check.events import Events
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, quoted
from omni_cli.check.session import Session

__all__ = ["CHECKS", "block_text", "final_response", "text_deltas"]

# One of these ends a Responses stream
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXT = "response.output_text"


def _kinds(events: Events) -> list[str]:
    """The types in order; for data that is no object, the data."""
    return [
        str(event.frame.get("type")) if event.frame is not None else event.data
        for event in events.all
    ]


def final_response(events: Events) -> Any:
    """The response that the last event of a Responses stream carries."""
    return next((dig(frame, "response") for frame in reversed(events.frames)), None)


def _names(api: Api, session: Session) -> str:
    for event in session.events(api).all:
        if event.name != dig(event.frame, "type"):
            came = f"event: {event.name} with type {quoted(dig(event.frame, 'type'))}"
            raise Fault("an event name that equals the data's type", came, session.last)
    return ""


def _numbers(session: Session) -> str:
    found = [frame.get("sequence_number") for frame in session.events(RESPONSES).frames]
    first = found[0] if found else None
    if not isinstance(first, int) or found != list(range(first, first + len(found))):
        raise Fault("sequence numbers that grow by one", quoted(found), session.last)
    return ""


def _ends(session: Session) -> str:
    types = _kinds(session.events(RESPONSES))
    if types[:1] != ["response.created"]:
        raise Fault("response.created first", quoted(types[:1]), session.last)
    ends = [kind for kind in types if kind in _ENDS]
    if len(ends) != 1 or types[-1] not in _ENDS:
        expected = f"exactly one of {', '.join(_ENDS)}, and it is last"
        raise Fault(expected, quoted(types[-3:]), session.last)
    return ends[0]


def _items(session: Session) -> str:
    """Items and their parts are added, filled and done, in this order."""
    is_open = {"item": False, "part": False}
    for frame in session.events(RESPONSES).frames:
        kind = str(frame.get("type"))
        fault = _step(kind, is_open)
        if fault:
            raise Fault(fault, quoted(frame), session.last)
    if any(is_open.values()):
        raise Fault("every item and part done before the end", "one stays open", session.last)
    return ""


def _step(kind: str, is_open: dict[str, bool]) -> str:
    """Take one event; what it breaks, or nothing."""
    name = {"response.output_item": "item", "response.content_part": "part"}.get(
        kind.rpartition(".")[0]
    )
    if name and kind.endswith(".added"):
        fault = f"the {name} before it done first" if is_open[name] else ""
        is_open[name] = True
        return fault or ("an item added before its part" if not is_open["item"] else "")
    if name and kind.endswith(".done"):
        fault = "" if is_open[name] else f"the {name} added first"
        is_open[name] = False
        return fault or ("its parts done first" if name == "item" and is_open["part"] else "")
    if kind.startswith(_TEXT) and not (is_open["item"] and is_open["part"]):
        return "an item and a part added before their text"
    return ""


def _responses_joined(session: Session) -> str:
    events = session.events(RESPONSES)
    deltas = [str(f.get("delta")) for f in events.frames if f.get("type") == f"{_TEXT}.delta"]
    streamed = "".join(deltas)
    done = "".join(str(f.get("text")) for f in events.frames if f.get("type") == f"{_TEXT}.done")
    if done != streamed:
        raise Fault(
            f"the joined deltas {quoted(streamed)} when it is done", quoted(done), session.last
        )
    final = RESPONSES.text(final_response(events))
    if final != streamed:
        raise Fault(f"{quoted(streamed)} in the last event", quoted(final), session.last)
    return _equals_plain(RESPONSES, streamed, session)


def _equals_plain(api: Api, streamed: str, session: Session) -> str:
    shown = session.last
    session.require_determinism(api)
    whole = api.text(session.reply(api).json)
    if whole != streamed:
        raise Fault(f"the plain reply's text {quoted(whole)}", quoted(streamed), shown)
    return ""


def _grammar(session: Session) -> str:
    """message_start, the blocks one after the other, message_delta, message_stop; pings
    anywhere."""
    frames = [f for f in session.events(MESSAGES).frames if f.get("type") != "ping"]
    types = [str(frame.get("type")) for frame in frames]
    if types[:1] != ["message_start"] or types[-1:] != ["message_stop"]:
        shown = quoted([*types[:1], "...", *types[-1:]])
        raise Fault("message_start first, message_stop last", shown, session.last)
    tail = types.index("message_delta") if "message_delta" in types else len(types)
    if set(types[tail:-1]) != {"message_delta"}:
        raise Fault("message_delta before message_stop", quoted(types[-3:]), session.last)
    fault = _blocks_fault(frames[1:tail])
    if fault:
        raise Fault(f"content blocks one after the other; {fault}", quoted(types), session.last)
    return ""


def _blocks_fault(frames: list[dict[str, Any]]) -> str:
    current: int | None = None
    coming = 0
    for frame in frames:
        kind, index = frame.get("type"), frame.get("index")
        if kind == "content_block_start" and current is None and index == coming:
            current = coming
        elif kind == "content_block_delta" and current is not None and index == current:
            continue
        elif kind == "content_block_stop" and current is not None and index == current:
            current, coming = None, coming + 1
        else:
            return f"out of place: {kind} with index {index}"
    return "" if current is None else f"block {current} has no content_block_stop"


def text_deltas(events: Events) -> list[str]:
    """The text deltas of a Messages stream."""
    deltas = [dig(frame, "delta") for frame in events.frames]
    return [str(dig(delta, "text")) for delta in deltas if dig(delta, "type") == "text_delta"]


def block_text(events: Events) -> str:
    """The text of a Messages stream, joined."""
    return "".join(text_deltas(events))


def _messages_joined(session: Session) -> str:
    return _equals_plain(MESSAGES, block_text(session.events(MESSAGES)), session)


_TESTS = (
    (RESPONSES, "names", "every event is named after its type", partial(_names, RESPONSES)),
    (RESPONSES, "numbers", "sequence numbers without a gap", _numbers),
    (RESPONSES, "ends", "response.created first, one end, and it is last", _ends),
    (RESPONSES, "items", "items and parts are added, filled, done", _items),
    (RESPONSES, "joined", "the joined stream equals the plain reply", _responses_joined),
    (MESSAGES, "names", "every event is named after its type", partial(_names, MESSAGES)),
    (MESSAGES, "grammar", "message_start, blocks, message_delta, message_stop", _grammar),
    (MESSAGES, "joined", "the joined stream equals the plain reply", _messages_joined),
)

CHECKS = tuple(
    Check(Family.SSE, f"{api.name}.{name}", f"{api.name}: {title}", rules.CHUNK[api.name], run)
    for api, name, title, run in _TESTS
)
