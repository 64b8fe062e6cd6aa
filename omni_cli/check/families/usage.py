"""``usage``: the token counts of a stream come once, in their place, and equal the plain
reply's."""

from __future__ import annotations

from functools import partial
from typing import Any

from omni_cli.check import rules
from omni_cli.check.apis import CHAT, COMPLETIONS, GENERATE, MESSAGES, RESPONSES, Api, Usage, dig
from omni_cli.check.events import DONE
from omni_cli.check.families.sse_typed import final_response
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip, quoted
from omni_cli.check.session import Session, came

__all__ = ["CHECKS"]


def _frame(api: Api, session: Session) -> str:
    """One frame with usage, its choices empty, after the last finish_reason and before [DONE]."""
    events = session.events(api, "counted").all
    places = [place for place, event in enumerate(events) if _has_usage(event.frame)]
    if len(places) != 1:
        raise Fault("exactly one frame with usage", f"{len(places)} of them", session.last)
    frame = events[places[0]].frame
    if dig(frame, "choices") != []:
        raise Fault('"choices": [] in the usage frame', quoted(frame), session.last)
    for event in events[places[0] :]:
        if dig(event.frame, "choices", 0) is not None:
            raise Fault("the usage frame after all choices", event.data, session.last)
    if any(event.data == DONE for event in events[: places[0]]):
        raise Fault("the usage frame before [DONE]", "it comes after", session.last)
    return ""


def _has_usage(frame: Any) -> bool:
    return dig(frame, "usage") is not None


def _absent(api: Api, session: Session) -> str:
    for frame in session.events(api).frames:
        if _has_usage(frame):
            raise Fault("no usage where none was asked for", quoted(frame), session.last)
    return ""


def _sum(api: Api, session: Session) -> str:
    answer = session.reply(api)
    usage = api.usage(answer.json)
    if usage is None:
        raise Fault("token counts in the plain reply", came(answer), answer)
    if usage[0] + usage[1] != usage[2] or min(usage) < 1:
        shown = quoted(dig(answer.json, "usage"))
        raise Fault("counts above 0 that add up to the total", shown, answer)
    return ""


def _equal(api: Api, session: Session) -> str:
    plain = api.usage(session.reply(api).json)
    if plain is None:
        raise Skip(f"the plain reply has no token counts, see usage.{api.name}.sum")
    session.require_determinism(api)
    streamed = _streamed(api, session)
    if streamed is None and api in (CHAT, COMPLETIONS):
        raise Skip(f"the stream has no token counts, see usage.{api.name}.frame")
    if streamed is None:
        raise Fault("token counts in the stream", "none", session.last)
    if streamed != plain:
        raise Fault(f"the plain reply's counts {quoted(plain)}", quoted(streamed), session.last)
    return ""


def _streamed(api: Api, session: Session) -> Usage | None:
    if api is RESPONSES:
        return api.usage(final_response(session.events(api)))
    if api is MESSAGES:
        frames = session.events(api).frames
        first = dig(frames, 0, "message", "usage", "input_tokens")
        last = [dig(f, "usage", "output_tokens") for f in frames if _is_delta(f)]
        return api.usage({"usage": {"input_tokens": first, "output_tokens": dig(last, -1)}})
    frames = session.events(api, "counted").frames
    return next((api.usage(frame) for frame in frames if _has_usage(frame)), None)


def _is_delta(frame: Any) -> bool:
    return bool(dig(frame, "type") == "message_delta")


def _checks() -> list[Check]:
    checks = []
    for api in (CHAT, COMPLETIONS):
        checks += [
            Check(
                Family.USAGE,
                f"{api.name}.{name}",
                f"{api.name}: {title}",
                rules.CREATE[api.name],
                partial(test, api),
            )
            for name, title, test in (
                ("frame", "one usage frame if asked, in its place", _frame),
                ("absent", "none if not asked", _absent),
            )
        ]
    for api in GENERATE:
        checks += [
            Check(
                Family.USAGE,
                f"{api.name}.{name}",
                f"{api.name}: {title}",
                rules.REPLY[api.name],
                partial(test, api),
            )
            for name, title, test in (
                ("sum", "the counts are there and add up", _sum),
                ("equal", "stream and plain reply count the same", _equal),
            )
        ]
    return checks


CHECKS = tuple(_checks())
