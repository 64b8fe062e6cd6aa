"""What is asked beside the messages, and an answer as it grows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "JsonObject", "Sampling"]

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What is sent with each question; None leaves the choice to the server."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stream: bool = True

    def body(self) -> JsonObject:
        """The request's fields, without those that were not given."""
        fields = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
        }
        given: JsonObject = {name: value for name, value in fields.items() if value is not None}
        given["stream"] = self.stream
        if self.stream:
            given["stream_options"] = {"include_usage": True}
        return given


@dataclass(slots=True)
class Answer:
    """An answer as it grows.

    Attributes:
        text: All that has arrived.
        model: The name the server answered under.
        finish_reason: Set when the model stopped by itself or at a limit; None after a cut or a
            Ctrl-C.
        usage: The server's token counts, or None.
        pieces: Number of streamed pieces that carried text.
        arrivals: How often text arrived; pieces that came together are one arrival.
        first_s: Seconds from sending to the first text, or None.
        total_s: Seconds from sending to the end.
    """

    text: str = ""
    model: str = ""
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    pieces: int = 0
    arrivals: int = 0
    first_s: float | None = None
    total_s: float = 0.0
    _started: float = field(default_factory=time.monotonic)
    _read: int | None = None

    def add(self, text: str, read: int) -> None:
        """Take one piece of text.

        Args:
            read: The read of the connection that brought it.
        """
        self.arrivals += read != self._read
        self._read = read
        if self.first_s is None:
            self.first_s = time.monotonic() - self._started
        self.text += text
        self.pieces += 1

    def take(self, frame: JsonObject) -> list[JsonObject]:
        """Read a chunk or a body, all but its text.

        Returns:
            Its choices; the text is in there.
        """
        if isinstance(frame.get("model"), str):
            self.model = frame["model"]
        if isinstance(frame.get("usage"), dict):
            self.usage = frame["usage"]
        found = frame.get("choices")
        listed = found if isinstance(found, list) else []
        choices = [choice for choice in listed if isinstance(choice, dict)]
        if choices and isinstance(choices[0].get("finish_reason"), str):
            self.finish_reason = choices[0]["finish_reason"]
        return choices

    def restart_clock(self) -> None:
        """Count from now: nothing was asked before, or the server was not ready for it."""
        self._started = time.monotonic()

    def end(self) -> None:
        """Stop the clock."""
        self.total_s = time.monotonic() - self._started
