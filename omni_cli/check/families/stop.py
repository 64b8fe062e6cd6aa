"""``stop``: a stop string is never shown, and stream and plain reply end at the same character.

The strings are taken from what the server has just said: one that lies within one piece of the
stream, and one that is split over two, where servers that look for it piece by piece let its
beginning out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from omni_cli.check import rules
from omni_cli.check.apis import CHAT, COMPLETIONS, MESSAGES, Api, dig
from omni_cli.check.events import Events, read_events
from omni_cli.check.families.sse import finishes, joined_text, pieces
from omni_cli.check.families.sse_typed import block_text, text_deltas
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip, quoted
from omni_cli.check.session import Session, came

__all__ = ["CHECKS", "inside", "split"]

# No model says this
NEVER = "\u2603\u2603 never \u2603\u2603"
MIN_CHARS = 3
_FIELDS = {"chat": "stop", "completions": "stop", "messages": "stop_sequences"}
_STOPPED = {"chat": "stop", "completions": "stop", "messages": "stop_sequence"}


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the server says without a stop string, as it streams it."""

    text: str
    finish: str | None
    pieces: list[str]


def inside(pieces: list[str]) -> str | None:
    """A stop string that lies within one piece, is not the text's beginning, and does not occur
    before; None if there is none."""
    text = "".join(pieces)
    begin = 0
    for piece in pieces:
        word = piece.strip()
        if begin and len(word) >= MIN_CHARS and text.find(word) >= begin:
            return word
        begin += len(piece)
    return None


def split(pieces: list[str]) -> str | None:
    """A stop string that begins in one piece and ends in the next; None if there is none."""
    text = "".join(pieces)
    begin = 0
    for first, second in zip(pieces, pieces[1:], strict=False):
        head, tail = first[-MIN_CHARS:], second[:MIN_CHARS]
        word = (head + tail).strip()
        at = begin + len(first) - len(head)
        starts = at + len(head + tail) - len((head + tail).lstrip())
        crosses = starts < begin + len(first) < starts + len(word)
        if starts and crosses and len(word) >= MIN_CHARS and text.find(word) == starts:
            return word
        begin += len(first)
    return None


def _reply(api: Api, session: Session) -> _Reply:
    session.require_determinism(api)
    reply = session.reply(api).json
    text = api.text(reply) or ""
    events = session.events(api)
    parts = text_deltas(events) if api is MESSAGES else pieces(events)
    parts = [part for part in parts if part]
    if "".join(parts) != text or len(parts) < 4:
        raise Skip("the reply is too short, or its stream differs from it")
    return _Reply(text, api.finish(reply), parts)


def _word(kind: str, reply: _Reply) -> str:
    word = (inside if kind == "inside" else split)(reply.pieces)
    if word is None:
        raise Skip(f"the reply has no place for such a stop string: {quoted(reply.text)}")
    return word


def _plain(kind: str, api: Api, session: Session) -> str:
    reply = _reply(api, session)
    word = _word(kind, reply)
    _require_cut(api, session, [word], reply.text[: reply.text.find(word)])
    return quoted(word)


def _several(api: Api, session: Session) -> str:
    reply = _reply(api, session)
    words = [word for word in (split(reply.pieces), inside(reply.pieces)) if word]
    if not words:
        raise Skip("the reply has no place for a stop string")
    end = min(reply.text.find(word) for word in words)
    _require_cut(api, session, [NEVER, *words], reply.text[:end])
    return quoted([NEVER, *words])


def _require_cut(api: Api, session: Session, stop: list[str], expected: str) -> None:
    answer = session.post(api, **{_FIELDS[api.name]: stop})
    if answer.status != 200:
        raise Fault("status 200", came(answer), answer)
    text, finish = api.text(answer.json), api.finish(answer.json)
    if text != expected:
        raise Fault(f"the text before {quoted(stop)}: {quoted(expected)}", quoted(text), answer)
    if finish != _STOPPED[api.name]:
        raise Fault(f"the end's reason {_STOPPED[api.name]}", quoted(finish), answer)
    if api is MESSAGES and dig(answer.json, "stop_sequence") not in stop:
        raise Fault("the sequence in stop_sequence", came(answer), answer)


def _streamed(api: Api, session: Session) -> str:
    """The stream, joined, says what the same request says plainly."""
    reply = _reply(api, session)
    word = _word("split", reply)
    plain = session.post(api, **{_FIELDS[api.name]: [word]})
    answer = session.post(api, **{_FIELDS[api.name]: [word], "stream": True})
    if answer.status != 200:
        raise Fault("status 200", came(answer), answer)
    events = read_events(answer.body)
    text, finish = _joined(api, events)
    if text != api.text(plain.json):
        expected = f"the plain reply's text {quoted(api.text(plain.json))}"
        raise Fault(expected, quoted(text), answer)
    if finish != api.finish(plain.json):
        raise Fault(f"the plain reply's reason {api.finish(plain.json)}", quoted(finish), answer)
    return quoted(word)


def _joined(api: Api, events: Events) -> tuple[str, object]:
    if api is MESSAGES:
        reasons = [dig(frame, "delta", "stop_reason") for frame in events.frames]
        return block_text(events), next((reason for reason in reasons if reason), None)
    return joined_text(events), dig(finishes(events), 0)


def _unmatched(api: Api, session: Session) -> str:
    reply = _reply(api, session)
    answer = session.post(api, **{_FIELDS[api.name]: [NEVER]})
    found = (api.text(answer.json), api.finish(answer.json))
    if found != (reply.text, reply.finish):
        expected = f"the reply as without one: {quoted(reply.text)}, {reply.finish}"
        raise Fault(expected, f"{quoted(found[0])}, {found[1]}", answer)
    return ""


_TESTS = (
    ("inside", "a stop string within a token ends the plain reply", partial(_plain, "inside")),
    ("split", "one that is split over tokens does as well", partial(_plain, "split")),
    ("stream", "the stream ends at the same character", _streamed),
    ("several", "of several the first to come counts", _several),
    ("none", "one that never comes changes nothing", _unmatched),
)


CHECKS = tuple(
    Check(
        Family.STOP,
        f"{api.name}.{name}",
        f"{api.name}: {title}",
        rules.CREATE[api.name],
        partial(test, api),
    )
    for api in (CHAT, COMPLETIONS, MESSAGES)
    for name, title, test in _TESTS
)
