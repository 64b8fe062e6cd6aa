"""``replies`` and ``lengths``: a plain answer has the documented shape, and keeps its bound."""

from __future__ import annotations

from functools import partial
from typing import Any

from omni_cli.check import rules
from omni_cli.check.apis import (
    APIS,
    CHAT,
    EMBEDDINGS,
    GENERATE,
    SHORT_TOKENS,
    Api,
    dig,
)
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.session import Session, came
from omni_cli.check.wire import Answer

__all__ = ["CHECKS"]

_FINISHES = {
    "chat": ("stop", "length", "tool_calls", "content_filter", "function_call"),
    "completions": ("stop", "length", "content_filter"),
    "responses": ("completed", "max_output_tokens", "content_filter"),
    "messages": (
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    ),
}
_OBJECTS = {"chat": "chat.completion", "completions": "text_completion", "responses": "response"}


def _shape(api: Api, session: Session) -> str:
    answer = session.first_answer(api)
    if answer.broken or answer.status != 200 or not isinstance(answer.json, dict):
        raise Fault("200 with a JSON object", came(answer), answer)
    if "application/json" not in answer.header("content-type"):
        raise Fault("content-type: application/json", came(answer), answer)
    reply = answer.json
    faults = _embedding_faults(reply) if api is EMBEDDINGS else _faults(api, reply)
    if faults:
        raise Fault(f"the documented fields; at fault: {', '.join(faults)}", came(answer), answer)
    return f"model {session.model(api)}"


def _faults(api: Api, reply: Any) -> list[str]:
    said = {
        "id": isinstance(dig(reply, "id"), str),
        "model": isinstance(dig(reply, "model"), str),
        "the text": api.text(reply) is not None,
        f"why it ended (one of {', '.join(_FINISHES[api.name])})": api.finish(reply)
        in _FINISHES[api.name],
    }
    if api.is_anthropic:
        said["type"] = dig(reply, "type") == "message"
        said["role"] = dig(reply, "role") == "assistant"
    else:
        said["object"] = dig(reply, "object") == _OBJECTS[api.name]
        created = "created_at" if api.name == "responses" else "created"
        said[created] = isinstance(dig(reply, created), int | float)
    if api is CHAT:
        said["message.role"] = dig(reply, "choices", 0, "message", "role") == "assistant"
    return [name for name, good in said.items() if not good]


def _embedding_faults(reply: Any) -> list[str]:
    vector = dig(reply, "data", 0, "embedding")
    numbers = (
        isinstance(vector, list) and vector and all(isinstance(x, int | float) for x in vector)
    )
    said = {
        "object": dig(reply, "object") == "list",
        "data[0].object": dig(reply, "data", 0, "object") == "embedding",
        "data[0].index": dig(reply, "data", 0, "index") == 0,
        "data[0].embedding": bool(numbers),
        "usage": isinstance(dig(reply, "usage", "prompt_tokens"), int),
    }
    return [name for name, good in said.items() if not good]


def _some(session: Session) -> str:
    served = session.served()
    if not served:
        paths = ", ".join(api.path for api in APIS)
        raise Fault(f"an answer from one of {paths}", "none answers", session.last)
    return ", ".join(api.name for api in served)


def _bounded(api: Api, name: str, session: Session) -> str:
    most = max(SHORT_TOKENS, api.least)
    body = session.body(api)
    del body[api.limit]
    answer = session.whole(session.request(api, {**body, name: most}))
    _require(answer, api, most)
    return ""


def _require(answer: Answer, api: Api, most: int) -> None:
    if answer.status != 200:
        raise Fault("status 200", came(answer), answer)
    usage = api.usage(answer.json)
    if usage and usage[1] > most:
        raise Fault(f"at most {most} tokens", f"{usage[1]} tokens, by the server's count", answer)
    if usage and usage[1] < most:
        raise Skip(f"the model ended by itself after {usage[1]} tokens")
    if api.finish(answer.json) != api.at_limit:
        raise Fault(f"the end's reason {api.at_limit}", f"{api.finish(answer.json)}", answer)


def _checks() -> list[Check]:
    checks = [
        Check(Family.REPLIES, "some", "at least one API is served", rules.CREATE["chat"], _some)
    ]
    checks += [
        Check(
            Family.REPLIES,
            api.name,
            f"{api.name}: a plain reply has the documented shape",
            rules.REPLY[api.name],
            partial(_shape, api),
        )
        for api in APIS
    ]
    limits = [(api, api.name, api.limit) for api in GENERATE]
    limits.append((CHAT, "chat.completion", "max_completion_tokens"))
    checks += [
        Check(
            Family.LENGTHS,
            name,
            f"{api.name}: {limit} holds, and the reply says so",
            rules.CREATE[api.name],
            partial(_bounded, api, limit),
        )
        for api, name, limit in limits
    ]
    return checks


CHECKS = tuple(_checks())
