"""The type names of upstream's errors on Anthropic's routes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.family_errors import MAX_ERROR_BYTES, renaming

Message = dict[str, Any]


def error(kind: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": "m"}}).encode()


async def sent(path: str, status: int, *parts: bytes) -> tuple[list[Message], bytes]:
    """What goes on, and the joined body."""
    messages: list[Message] = []

    async def send(message: Any) -> None:
        messages.append(message)

    through = renaming(path, send)
    length = str(sum(map(len, parts))).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await through({"type": "http.response.start", "status": status, "headers": headers})
    for number, part in enumerate(parts, 1):
        more = number < len(parts)
        await through({"type": "http.response.body", "body": part, "more_body": more})
    return messages, b"".join(message.get("body", b"") for message in messages[1:])


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "BadRequestError", "invalid_request_error"),
        (404, "NotFoundError", "not_found_error"),
        (500, "InternalServerError", "api_error"),
        (404, "not_found_error", "not_found_error"),
    ],
)
async def test_a_type_becomes_anthropics(status: int, kind: str, expected: str) -> None:
    whole = error(kind)
    messages, body = await sent("/v1/messages", status, whole[:9], whole[9:])
    assert messages[0]["status"] == status
    assert json.loads(body) == json.loads(error(expected))
    assert dict(messages[0]["headers"])[b"content-length"] == str(len(body)).encode()


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/messages", 200), ("/v1/responses", 400), ("/v1/messagesx", 400)]
)
async def test_what_is_no_error_of_anthropics_is_left_alone(path: str, status: int) -> None:
    messages, body = await sent(path, status, error("BadRequestError"))
    assert (len(messages), body) == (2, error("BadRequestError"))


@pytest.mark.parametrize("body", [b"", b"no", b"[]", b'{"error":"x"}', b'{"error":{"type":[]}}'])
async def test_other_bodies_go_through(body: bytes) -> None:
    assert (await sent("/v1/messages", 400, body))[1] == body


async def test_a_body_beyond_the_bound_goes_through_in_pieces() -> None:
    parts = (b"a" * MAX_ERROR_BYTES, b"b", b"c")
    messages, body = await sent("/v1/messages", 400, *parts)
    assert (len(messages), body) == (3, b"".join(parts))
