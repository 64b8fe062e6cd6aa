"""How the text of an answer leaves, piece by piece."""

from __future__ import annotations

from typing import Protocol

from omni_cli.terminal import Stream

__all__ = ["AnswerWriter", "PlainWriter", "SilentWriter"]


class AnswerWriter(Protocol):
    """Writes one answer."""

    def write(self, text: str) -> None:
        """Take the next piece."""

    def finish(self) -> None:
        """The answer is over, complete or not: end it with exactly one newline."""


class PlainWriter:
    """Passes text on as it comes, but for newlines at the end, of which there is one in the end."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held = ""

    def write(self, text: str) -> None:
        text = self._held + text
        kept = text.rstrip("\r\n")
        self._held = text[len(kept) :]
        if kept:
            self._stream.show(kept)

    def finish(self) -> None:
        self._held = ""
        self._stream.write("\n")


class SilentWriter:
    """Writes nothing: with ``--json`` the answer is printed in the end."""

    def write(self, text: str) -> None:
        pass

    def finish(self) -> None:
        pass
