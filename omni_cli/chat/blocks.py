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
        self._gap = ""  # what ended the last line, and the blank lines since
        self._held = ""  # text of the current line that is not given out yet
        self._line = ""  # the whole current line so far
        self._fence = ""  # the mark that opened the fence we are in
        self._is_list = False
        self._first_line = True
        self._open = False

    def feed(self, text: str) -> list[BlockEvent]:
        """Take the next piece of the stream."""
        events: list[BlockEvent] = []
        for part in re.findall(r"\n|[^\n]+", text):
            if part == "\n":
                self._end_line(events)
            else:
                self._line += part
                self._held += part
                self._give_out(events, force=False)
        return events

    def finish(self) -> list[BlockEvent]:
        """The stream is over: give out what was held back, and end the block."""
        events: list[BlockEvent] = []
        self._give_out(events, force=True)
        if self._open:
            events.append(BlockEnd())
        self._open = False
        return events

    def _end_line(self, events: list[BlockEvent]) -> None:
        self._give_out(events, force=True)
        if self._line.strip():
            self._gap = f"{self._held}\n"  # with spaces at the line's end, which mean a break
            if self._first_line:
                self._is_list = bool(_ITEM.match(f"{self._line} "))
            self._first_line = False
            self._note_fence(self._line)
        else:
            self._gap += "\n"
        self._held = self._line = ""

    def _give_out(self, events: list[BlockEvent], *, force: bool) -> None:
        """Give out what is held of the current line, once it is clear which block it belongs to.

        Args:
            force: The line is complete, so it has to be clear now.
        """
        within_line = self._open and not self._gap
        if not self._held.strip() and not (self._held and (self._fence or within_line)):
            return
        if self._open and self._gap.count("\n") > 1 and not self._fence:
            if self._is_list and not force and _UNDECIDED.match(self._held):
                return
            if not self._goes_on():
                events.append(BlockEnd())
                self._open = False
        if not self._open:
            self._gap = ""
            self._open = self._first_line = True
        events.append(BlockText(self._gap + self._held))
        self._gap = self._held = ""

    def _goes_on(self) -> bool:
        """Whether the line that is held goes on with the list that the block is."""
        return self._is_list and bool(self._held[0] in " \t" or _ITEM.match(f"{self._held} "))

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
