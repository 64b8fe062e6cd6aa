"""Request bodies: bounded while they stream in, read once, replayed for whoever reads again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from server.errors import ApiError, BodyTooLarge, BodyTooSlow

__all__ = [
    "MAX_UNREAD_BYTES",
    "BoundedReceive",
    "declared_length",
    "form_model",
    "json_model",
    "leaves_unread",
    "read_body",
    "refuse_unsendable",
    "replay",
]

# A body that nobody read is let through to keep the connection up to this size; for more of it a
# new connection costs less.
MAX_UNREAD_BYTES = 64 * 1024

# A multipart form of the audio routes has a handful of fields and one file.
MAX_FORM_FIELDS = 64
MAX_FORM_FILES = 4


class BoundedReceive:
    """An ASGI ``receive`` that stops a body which is too large or makes no progress.

    Args:
        receive: The server's own.
        max_bytes: Most bytes of one body.
        idle_s: Longest wait for the next part of it.

    Raises:
        BodyTooLarge: From the call that crosses the bound.
        BodyTooSlow: From a call that waited too long.
    """

    __slots__ = ("_idle_s", "_left", "_max_bytes", "_receive", "complete")

    def __init__(self, receive: Receive, max_bytes: int, idle_s: float) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._idle_s = idle_s
        self.complete = False

    async def __call__(self) -> Message:
        if self.complete:  # what comes now is the disconnect, for which any wait is right
            return await self._receive()
        try:
            async with asyncio.timeout(self._idle_s):
                message = await self._receive()
        except TimeoutError:
            raise BodyTooSlow(self._idle_s) from None
        if message["type"] != "http.request":
            self.complete = True
            return message
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise BodyTooLarge(self._max_bytes)
        self.complete = not message.get("more_body", False)
        return message


def declared_length(scope: Scope) -> int:
    """The body's size as the head says it, or 0 where it does not."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def leaves_unread(scope: Scope) -> bool:
    """Whether an answer that came before the body ends the connection.

    It does if much may follow, or if the client may send nothing at all: one that waits for
    ``100 Continue`` may give up the body and then begin the next request in its place.
    """
    names = {name for name, _ in scope["headers"]}
    unsure = b"transfer-encoding" in names or b"expect" in names
    return unsure or declared_length(scope) > MAX_UNREAD_BYTES


async def read_body(receive: Receive) -> bytes | None:
    """The whole body, or None if the client left before it was complete."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def replay(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body first, then whatever the server says."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


class _Model(msgspec.Struct):
    model: str | None = None


_MODEL_DECODER = msgspec.json.Decoder(_Model)


def json_model(body: bytes) -> str | None:
    """The body's ``model``, or None, also when the body is wrong: upstream says that better."""
    try:
        return _MODEL_DECODER.decode(body).model
    except (msgspec.MsgspecError, RecursionError):
        # What reads the body next takes more than strict JSON: a byte order mark, UTF-16, NaN.
        given = _lenient(body)
        model = given.get("model") if isinstance(given, dict) else None
        return model if isinstance(model, str) else None


def _lenient(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


# What a value that cannot go to the engine looks like in a body; valid pairs look like it too.
_SUSPECT = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]|[0-9]{19}")
# The integers that msgpack has.
_INTEGERS = range(-(1 << 63), 1 << 64)


def refuse_unsendable(body: bytes) -> None:
    """Refuse values that JSON has and a message to the engine has not.

    These are text with half of a surrogate pair, and integers beyond 64 bits as the value or the
    direct member of a field; deeper ones belong to JSON schemas, which travel as text. The engine's
    client would fail on them in the middle of a call, and keep the request.

    Raises:
        ApiError: 400, naming the field.
    """
    if not _SUSPECT.search(body):
        return
    given = _lenient(body)
    for name, value in given.items() if isinstance(given, dict) else ():
        if not (_is_text(name) and _all_text(value)):
            shown = name.encode("utf-8", "replace").decode()
            reason = "has half of a surrogate pair, which is no text"
            raise ApiError(400, f"{shown}: {reason}.", param=shown)
        if not all(member in _INTEGERS for member in _members(value) if isinstance(member, int)):
            raise ApiError(400, f"{name}: an integer has more than 64 bits.", param=name)


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else (value,)


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _all_text(value: Any) -> bool:
    """Whether all strings in a JSON value are text; a loop, since it may be nested deeply."""
    open_values = [value]
    while open_values:
        item = open_values.pop()
        if isinstance(item, str):
            if not _is_text(item):
                return False
        elif isinstance(item, dict):
            open_values += item
            open_values += item.values()
        elif isinstance(item, list):
            open_values += item
    return True


async def form_model(scope: Scope, body: bytes) -> str | None:
    """The ``model`` field of a multipart or urlencoded form, or None, as ``json_model``."""

    async def nothing_more() -> Message:
        return {"type": "http.disconnect"}

    request = Request(scope, replay(body, nothing_more))
    async with request.form(max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS) as form:
        model = form.get("model")
    return model if isinstance(model, str) else None
