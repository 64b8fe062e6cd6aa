"""Gives an error of upstream's the type names of the family whose route was asked.

Upstream answers Anthropic's routes in Anthropic's shape, but with OpenAI's names for what went
wrong, which Anthropic's clients do not know.
"""

from __future__ import annotations

import msgspec
from starlette.types import Message, Send

from server.error_shape import ANTHROPIC_TYPES, family_of, type_name

__all__ = ["renaming"]

_KNOWN = frozenset({*ANTHROPIC_TYPES.values(), "api_error"})
# Larger bodies are no errors of upstream's and go through as they are
MAX_ERROR_BYTES = 256 * 1024


def renaming(path: str, send: Send) -> Send:
    """``send``, or on an Anthropic route one that corrects the type of errors on their way."""
    return _Renaming(send) if family_of(path) == "anthropic" else send


class _Renaming:
    """Holds the head of an error back until its body is whole."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        more = message.get("more_body", False)
        if more and len(self._body) <= MAX_ERROR_BYTES:
            return
        start, self._start = self._start, None
        body = self._body if more else _renamed(self._body, start["status"])
        if body != self._body:
            start["headers"] = _with_length(start["headers"], len(body))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


def _renamed(body: bytes, status: int) -> bytes:
    try:
        content = msgspec.json.decode(body)
        if content["error"]["type"] in _KNOWN:
            return body
        content["error"]["type"] = type_name("anthropic", status)
    except (msgspec.DecodeError, LookupError, TypeError):
        return body
    return msgspec.json.encode(content)


def _with_length(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    kept = [pair for pair in headers if pair[0].lower() != b"content-length"]
    return [*kept, (b"content-length", str(length).encode())]
