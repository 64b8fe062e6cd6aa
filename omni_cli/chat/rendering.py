"""How an answer reaches stdout: as it is into a pipe, as markdown onto a terminal.

On a terminal the block in progress is shown raw as it streams. Once it is complete it is replaced,
in one write, by its rendered form, provided that three things are sure: all of it is still on the
screen, the number of rows that it takes is known, and the rendered form keeps every letter and
digit of it. Otherwise it stays as it is. So no text can get lost or appear twice, however long an
answer is.
"""

from __future__ import annotations

import re

from omni_cli.chat.blocks import BlockEnd, BlockEvent, BlockSplitter
from omni_cli.client.writers import AnswerWriter, PlainWriter
from omni_cli.terminal import Terminal, escape

__all__ = [
    "MarkdownWriter",
    "answer_writer",
    "keeps_text",
    "rows_of",
]

MAX_WIDTH = 100  # columns of rendered text; longer lines are hard to read
TAB = 8  # columns between the tab stops of a terminal


class MarkdownWriter:
    """Renders block by block, as described above."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._splitter = BlockSplitter()
        self._block = ""
        self._first = True
        self._size = (0, 0)
        self._held_cr = ""

    def write(self, text: str) -> None:
        text = self._held_cr + text
        # Its newline may come with the next piece
        self._held_cr = "\r" if text.endswith("\r") else ""
        self._handle(self._splitter.feed(escape(text.removesuffix("\r"))))

    def finish(self) -> None:
        self._handle(self._splitter.finish())
        if self._first:
            self._terminal.out.write("\n")

    def _handle(self, events: list[BlockEvent]) -> None:
        for event in events:
            if isinstance(event, BlockEnd):
                self._end_block()
            else:
                self._add(event.text)

    def _add(self, text: str) -> None:
        gap = ""
        if not self._block:
            self._size = self._terminal.size
            gap = "" if self._first else "\n"
            self._first = False
        self._block += text
        self._terminal.out.write(gap + text)

    def _end_block(self) -> None:
        block, self._block = self._block, ""
        columns, rows = self._terminal.size
        taken = rows_of(block, columns)
        rendered = None
        if taken is not None and taken < rows and self._size == (columns, rows):
            rendered = _render(block, min(columns, MAX_WIDTH))
        if rendered is None or taken is None:
            self._terminal.out.write("\n")
            return
        up = f"\x1b[{taken - 1}A" if taken > 1 else ""
        self._terminal.out.write(f"{up}\r\x1b[J{rendered}\n")


def answer_writer(terminal: Terminal) -> AnswerWriter:
    """The writer that suits stdout."""
    return MarkdownWriter(terminal) if terminal.out.moves else PlainWriter(terminal.out)


def rows_of(text: str, columns: int) -> int | None:
    """Rows that a text takes on a terminal that breaks lines at its edge, or None if that is not
    sure.

    Terminals disagree about the width of joined emoji, combining marks and the like; for these it
    is only sure that they take 0 to 2 columns, and the answer is sure if it is the same for both.
    """
    least = sum(_line_rows(line, columns, 0) for line in text.split("\n"))
    most = sum(_line_rows(line, columns, 1) for line in text.split("\n"))
    return least if least == most else None


def keeps_text(source: str, rendered: str) -> bool:
    """Whether every letter and digit of a markdown text is in its rendered form, in order.

    What a renderer may drop or change is left out: the numbers of list items and a fence's
    language.
    """
    source = re.sub(r"(?m)^\s*(`{3,}|~{3,}).*$|^\s*\d+[.)]\s", "", source)
    letters = iter(rendered)
    return all(char in letters for char in source if char.isalnum())


def _line_rows(line: str, columns: int, doubtful: int) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 - late: rich costs more than a help page may take

    rows, column = 1, 0
    for char in line:
        if char == "\t":
            column = min((column // TAB + 1) * TAB, columns - 1)
            continue
        width = 1 if char < "\u0300" else cell_len(char) if _is_certain(char) else 2 * doubtful
        column += width
        if column > columns:
            rows, column = rows + 1, width
    return rows


def _is_certain(char: str) -> bool:
    """Whether all terminals agree on a character's width: alphabets without marks, dashes, quotes,
    CJK, Hangul."""
    ranges = (
        ("\u0370", "\u0482"),
        ("\u048a", "\u0590"),
        ("\u2010", "\u2027"),
        ("\u3041", "\u3096"),
    )
    more = (("\u30a1", "\u30fa"), ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uac00", "\ud7a3"))
    return any(low <= char <= high for low, high in (*ranges, *more, ("\uff01", "\uff60")))


def _render(block: str, width: int) -> str | None:
    """A block as text with escapes and without a final newline, or None if rendering would lose
    some of it."""
    import io  # noqa: PLC0415 - late, with what follows

    from markdown_it import MarkdownIt  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.markdown import Markdown  # noqa: PLC0415

    markdown = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    markdown.parsed = parser.parse(block)
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, highlight=False)
    console.print(markdown)
    rendered = re.sub(r"(?m) +$", "", file.getvalue()).strip("\n")  # it pads lines to the width
    plain = re.sub(r"\x1b\[[0-9;]*m", "", rendered)
    return rendered if keeps_text(block, plain) else None
