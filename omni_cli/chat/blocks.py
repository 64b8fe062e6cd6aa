"""Cuts a stream of markdown into blocks that can be rendered one by one. Pure.

A block ends at a blank line, unless it is inside a fence, or a list goes on after it (by
indentation or by another item): so what belongs together is rendered together, and what is complete
never changes again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BlockEnd", "BlockEvent", "BlockSplitter", "BlockText"]

_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,})(?P<rest>[^\n]*)$")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s")
# The start of a line that may still become an item
_UNDECIDED = re.compile(r"\s*([-*+]?|\d{1,9}[.)]?)$")


@dataclass(frozen=True, slots=True)
class BlockText:
    """More text of the current block; the first of it if a block has just ended."""

    text: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """The current block is complete."""


BlockEvent = BlockText | BlockEnd


class BlockSplitter:
    """Feed text, get what to append to the current block and where it ends.

    Newlines at a block's end are left out: the texts of a block are joined by what was fed between
    them.
    """

    def __init__(self) -> None:
        self._held = ""  # newlines, and the undecided start of a line after a blank one
        self._line = ""  # the current line so far
        self._fence = ""  # the mark that opened the fence we are in
        self._is_list = False
        self._open = False

    def feed(self, text: str) -> list[BlockEvent]:
        """Take the next piece of the stream."""
        events: list[BlockEvent] = []
        for part in re.findall(r"\n|[^\n]+", text):
            if part == "\n":
                self._newline(events)
            else:
                self._text(part, events)
        return events

    def finish(self) -> list[BlockEvent]:
        """The stream is over: give out what was held back, and end the block."""
        events: list[BlockEvent] = []
        rest = self._held.lstrip("\n")
        if rest:
            self._start_line(events, force=True)
        if self._open:
            events.append(BlockEnd())
        self._open = False
        return events

    def _newline(self, events: list[BlockEvent]) -> None:
        if self._held.strip("\n"):  # a short line that was undecided is decided by its end
            if self._held.strip():
                self._start_line(events, force=True)
            else:
                self._held = self._held.rstrip(" \t")
        self._note_fence(self._line)
        self._line = ""
        self._held += "\n"

    def _text(self, part: str, events: list[BlockEvent]) -> None:
        self._line += part
        if not self._held and self._open:
            events.append(BlockText(part))
            return
        self._held += part
        self._start_line(events, force=False)

    def _start_line(self, events: list[BlockEvent], *, force: bool) -> None:
        """Decide whether the line that begins in ``_held`` goes on with the block."""
        line = self._held.lstrip("\n")
        blank = self._held.count("\n", 0, len(self._held) - len(line)) > 1
        if self._open and blank and not self._fence:
            if self._is_list and not force and _UNDECIDED.match(line):
                return
            if not self._goes_on(line):
                events.append(BlockEnd())
                self._open = False
        if self._open:
            events.append(BlockText(self._held))
        else:
            events.append(BlockText(line))
            self._is_list = bool(_ITEM.match(f"{line} "))
            self._open = True
        self._held = ""

    def _goes_on(self, line: str) -> bool:
        return self._is_list and (line[0] in " \t" or bool(_ITEM.match(line)))

    def _note_fence(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        mark, rest = match["mark"], match["rest"]
        if not self._fence:
            if not (mark[0] == "`" and "`" in rest):
                self._fence = mark
        elif mark.startswith(self._fence) and not rest.strip():
            self._fence = ""
