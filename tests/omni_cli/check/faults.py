"""For every check one way to break its rule, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_cli.check.apis import (
    APIS,
    CHAT,
    COMPLETIONS,
    GENERATE,
    MESSAGES,
    RESPONSES,
    SHORT_TOKENS,
    Api,
)
from omni_cli.check.families.auth import WRONG_KEY
from omni_cli.check.families.errors import MARKER, MAX_ERROR_BYTES, NO_MODEL
from omni_cli.check.families.stop import NEVER, inside, split
from tests.omni_cli.check.conforming import MODEL, PIECES, Asked, Reply, Twist, answer, refusal

__all__ = ["FAULTS"]

COUNTED = {"stream": True, "stream_options": {"include_usage": True}}
TWICE = {"n": 2, "temperature": 1, "max_tokens": 6, "stream": True}
STOP = {"chat": "stop", "completions": "stop", "messages": "stop_sequences"}
WITHIN, ACROSS = inside(PIECES * 2) or "", split(PIECES * 2) or ""
FAULTS: dict[str, Twist] = {}


def fault(name: str) -> Callable[[Twist], Twist]:
    def keep(twist: Twist) -> Twist:
        FAULTS[name] = twist
        return twist

    return keep


def is_get(asked: Asked, path: str) -> bool:
    return asked.method == "GET" and asked.target == path


# models and replies


@fault("models.list")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/v1/models") and reply.status == 200:
        del reply.body["data"][0]["owned_by"]


@fault("models.retrieve")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, f"/v1/models/{MODEL}"):
        reply.body = {**reply.body, "id": "another"}


@fault("models.unknown")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/v1/models/no-such-model"):
        reply.status = 200


@fault("models.usable")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/v1/models") and reply.status == 200:
        reply.body["data"].append({**reply.body["data"][0], "id": "a-ghost"})


@fault("replies.some")
def _(asked: Asked, reply: Reply) -> None:
    if asked.api is not None and reply.status != 401:
        missing = refusal(404, "There is no such route.", anthropic=asked.api.is_anthropic)
        reply.status, reply.body, reply.frames = 404, missing.body, None
        reply.end = "whole"


def reply_fault(name: str, least: dict[str, int]) -> None:
    @fault(f"replies.{name}")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **least) and reply.status == 200:
            reply.body.pop("object", None)
            reply.body.pop("role", None)


for api in APIS:
    reply_fault(api.name, {api.limit: api.least} if api.limit else {})


# lengths


def length_fault(name: str, api: str, changes: dict[str, Any]) -> None:
    @fault(f"lengths.{name}")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(api, **changes):
            end = {"finish_reason": "stop", "stop_reason": "end_turn", "incomplete_details": None}
            for place in (reply.body, *reply.body.get("choices", ())):
                place.update({key: value for key, value in end.items() if key in place})
            reply.body["status"] = "completed"


for api in GENERATE:
    length_fault(api.name, api.name, {api.limit: max(SHORT_TOKENS, api.least)})
length_fault("chat.completion", "chat", {"max_completion_tokens": SHORT_TOKENS, "max_tokens": None})


# sse


def stream_fault(name: str, test: str, twist: Any) -> None:
    """Break the small stream of one API."""

    @fault(f"sse.{name}.{test}")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, stream=True):
            twist(reply)


def as_text(reply: Reply) -> None:
    reply.kind = "text/plain"


def with_noise(reply: Reply) -> None:
    reply.prefix = b"noise\n\n"


def with_another_object(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames[1]["object"] = "something"


def with_two_finishes(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames.insert(-1, reply.frames[-2])


def with_text_after(reply: Reply) -> None:
    assert reply.frames is not None
    early, last = reply.frames[-4]["choices"][0], reply.frames[-2]["choices"][0]
    early["finish_reason"], last["finish_reason"] = last["finish_reason"], None


def without_done(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames.pop()


def without_a_piece(reply: Reply) -> None:
    assert reply.frames is not None
    del reply.frames[4]


def with_another_name(reply: Reply) -> None:
    reply.names[2] = "another"


def with_a_gap(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames[3]["sequence_number"] = 99


def with_two_ends(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames.append(reply.frames[-1])


def without_part_done(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames = [f for f in reply.frames if f["type"] != "response.content_part.done"]


def with_another_text(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames[-4]["text"] = "something"


def without_block_stop(reply: Reply) -> None:
    assert reply.frames is not None
    reply.frames = [f for f in reply.frames if f["type"] != "content_block_stop"]


for api in GENERATE:
    stream_fault(api.name, "type", as_text)
    stream_fault(api.name, "framing", with_noise)
for api in (CHAT, COMPLETIONS):
    stream_fault(api.name, "chunks", with_another_object)
    stream_fault(api.name, "finish", with_two_finishes)
    stream_fault(api.name, "after", with_text_after)
    stream_fault(api.name, "done", without_done)
    stream_fault(api.name, "joined", without_a_piece)
for api in (RESPONSES, MESSAGES):
    stream_fault(api.name, "names", with_another_name)
stream_fault("responses", "numbers", with_a_gap)
stream_fault("responses", "ends", with_two_ends)
stream_fault("responses", "items", without_part_done)
stream_fault("responses", "joined", with_another_text)
stream_fault("messages", "grammar", without_block_stop)
stream_fault("messages", "joined", without_a_piece)


def several_fault(name: str) -> None:
    @fault(f"sse.{name}.n")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **TWICE):
            assert reply.frames is not None
            del reply.frames[-2]


# usage


def usage_faults(name: str) -> None:
    @fault(f"usage.{name}.frame")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **COUNTED):
            assert reply.frames is not None
            del reply.frames[-2]

    @fault(f"usage.{name}.absent")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, stream=True):
            assert reply.frames is not None
            reply.frames[0]["usage"] = {"prompt_tokens": 5}

    @fault(f"usage.{name}.equal")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **COUNTED):
            assert reply.frames is not None
            reply.frames[-2]["usage"]["prompt_tokens"] += 1


def sum_fault(name: str) -> None:
    @fault(f"usage.{name}.sum")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name):
            del reply.body["usage"]


@fault("usage.responses.equal")
def _(asked: Asked, reply: Reply) -> None:
    if asked.is_plain("responses", stream=True):
        assert reply.frames is not None
        reply.frames[-1]["response"]["usage"]["input_tokens"] += 1


@fault("usage.messages.equal")
def _(asked: Asked, reply: Reply) -> None:
    if asked.is_plain("messages", stream=True):
        assert reply.frames is not None
        reply.frames[-2]["usage"]["output_tokens"] += 1


for api in (CHAT, COMPLETIONS):
    several_fault(api.name)
    usage_faults(api.name)
for api in GENERATE:
    sum_fault(api.name)


# stop strings


def with_stop(asked: Asked, reply: Reply, stop: list[str]) -> None:
    """Answer as if these had been the stop strings."""
    assert asked.api is not None
    again = answer(asked.api, {**asked.body, STOP[asked.name]: stop})
    reply.body, reply.frames = again.body, again.frames


def stop_faults(name: str) -> None:
    key = STOP[name]

    @fault(f"stop.{name}.inside")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **{key: [WITHIN]}):
            with_stop(asked, reply, [WITHIN[1:]])

    @fault(f"stop.{name}.split")
    def _(asked: Asked, reply: Reply) -> None:
        for changes in ({}, {"stream": True}):
            if asked.is_plain(name, **{key: [ACROSS]}, **changes):
                with_stop(asked, reply, [ACROSS[1:]])

    @fault(f"stop.{name}.stream")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **{key: [ACROSS], "stream": True}):
            with_stop(asked, reply, [ACROSS[1:]])


def unmatched_faults(name: str) -> None:
    key = STOP[name]

    @fault(f"stop.{name}.several")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **{key: [NEVER, ACROSS, WITHIN]}):
            with_stop(asked, reply, [ACROSS])

    @fault(f"stop.{name}.none")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **{key: [NEVER]}):
            with_stop(asked, reply, [WITHIN])


for api in (CHAT, COMPLETIONS, MESSAGES):
    stop_faults(api.name)
    unmatched_faults(api.name)


# errors


def refuse(asked: Asked, reply: Reply, status: int, message: str, param: str = "") -> None:
    """Answer with another error."""
    assert asked.api is not None
    other = refusal(status, message, param, anthropic=asked.api.is_anthropic)
    reply.status, reply.body, reply.frames = other.status, other.body, None


def is_post(asked: Asked, name: str, part: str = "") -> bool:
    return asked.name == name and asked.method == "POST" and part.encode() in asked.raw


def named_error_faults(api: Api) -> None:
    name = api.name

    @fault(f"errors.{name}.model")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, model=NO_MODEL):
            refuse(asked, reply, 400, "No such model.", "model")

    @fault(f"errors.{name}.missing")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, **{api.required: None}):
            refuse(asked, reply, 400, "Something is not there.")

    @fault(f"errors.{name}.type")
    def _(asked: Asked, reply: Reply) -> None:
        field, value = api.wrong[-1] if name == "embeddings" else api.wrong[0]
        if asked.is_plain(name, **{field: value}):
            refuse(asked, reply, 500, f"The field {field} has a wrong type.", field)


def protocol_error_faults(api: Api) -> None:
    name = api.name

    @fault(f"errors.{name}.json")
    def _(asked: Asked, reply: Reply) -> None:
        if is_post(asked, name) and asked.body is None and reply.status == 400:
            reply.body = {"detail": "not JSON"}

    @fault(f"errors.{name}.content")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.name == name and asked.headers.get("content-type") == "text/plain":
            reply.status, reply.body = 200, {}

    @fault(f"errors.{name}.method")
    def _(asked: Asked, reply: Reply) -> None:
        if is_get(asked, api.path):
            reply.headers.pop("allow", None)


def large_error_faults(api: Api) -> None:
    name = api.name

    @fault(f"errors.{name}.long")
    def _(asked: Asked, reply: Reply) -> None:
        if is_post(asked, name, "a a a a a") and not asked.body.get("stream"):
            refuse(asked, reply, 500, "Too much.")

    @fault(f"errors.{name}.size")
    def _(asked: Asked, reply: Reply) -> None:
        if is_post(asked, name, '"role": 5'):
            refuse(asked, reply, 400, "wrong " * MAX_ERROR_BYTES)

    @fault(f"errors.{name}.private")
    def _(asked: Asked, reply: Reply) -> None:
        if is_post(asked, name, MARKER):
            refuse(asked, reply, 400, f"wrong: {asked.raw.decode()}")


def generate_error_faults(name: str) -> None:
    @fault(f"errors.{name}.range")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, temperature=-5):
            reply.status = 200

    @fault(f"errors.{name}.stream")
    def _(asked: Asked, reply: Reply) -> None:
        if asked.is_plain(name, model=NO_MODEL, stream=True):
            reply.status, reply.kind = 200, "text/event-stream"
            reply.frames = [reply.body, "[DONE]"]


for api in APIS:
    named_error_faults(api)
    protocol_error_faults(api)
    large_error_faults(api)
for api in GENERATE:
    generate_error_faults(api.name)


@fault("errors.route.openai")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/v1/no-such-route") and reply.status == 404:
        reply.body = {"detail": "Not Found"}


@fault("errors.route.anthropic")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/v1/messages/no-such-route") and reply.status == 404:
        reply.body = refusal(404, "There is no such route.").body


# limits


@fault("limits.header")
def _(asked: Asked, reply: Reply) -> None:
    if "x-filler" in asked.headers:
        reply.status = 200


@fault("limits.body")
def _(asked: Asked, reply: Reply) -> None:
    if reply.status == 413:
        reply.end = "hang"


# auth


@fault("auth.key")
def _(asked: Asked, reply: Reply) -> None:
    if asked.headers.get("authorization", "").startswith("bearer "):
        reply.status = 401


@fault("auth.x-api-key")
def _(asked: Asked, reply: Reply) -> None:
    if "x-api-key" in asked.headers and "authorization" not in asked.headers:
        reply.status = 401


def leak(reply: Reply) -> None:
    reply.status, reply.body = 200, {"data": [{"id": MODEL}]}


@fault("auth.none")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/metrics") and "authorization" not in asked.headers:
        leak(reply)


@fault("auth.wrong")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/metrics") and WRONG_KEY in asked.headers.get("authorization", ""):
        leak(reply)


@fault("auth.shape")
def _(asked: Asked, reply: Reply) -> None:
    if reply.status == 401 and asked.target == "/v1/messages":
        reply.body = {"error": "Unauthorized"}


@fault("auth.challenge")
def _(asked: Asked, reply: Reply) -> None:
    reply.headers.pop("www-authenticate", None)


@fault("auth.probes")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "/health"):
        reply.status = 500


@fault("auth.tricks")
def _(asked: Asked, reply: Reply) -> None:
    if is_get(asked, "//v1/models"):
        leak(reply)
