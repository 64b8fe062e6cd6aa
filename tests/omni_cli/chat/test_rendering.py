"""What an answer looks like in a pipe and on a terminal, and that no text of it is lost."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_cli.chat.rendering import MarkdownWriter, answer_writer, keeps_text, rows_of
from omni_cli.client.writers import PlainWriter
from omni_cli.terminal import Stream, Terminal, escape


@dataclass
class Emulator:
    """A small terminal: text, newline, CR, cursor up, erase below; what scrolls off is kept."""

    columns: int
    rows: int
    lines: list[list[str]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0

    def feed(self, text: str) -> None:
        for part in re.findall(r"\x1b\[\d*[A-Zm]|\x1b\[[\d;]*m|.", text, re.DOTALL):
            if part.startswith("\x1b"):
                self._control(part)
            elif part == "\n":
                self.column = 0
                self._down()
            elif part == "\r":
                self.column = 0
            else:
                self._put(part)

    def _control(self, part: str) -> None:
        if part.endswith("A"):
            top = max(0, len(self.lines) - self.rows)
            self.row = max(top, self.row - int(part[2:-1]))
        elif part.endswith("J"):
            del self.lines[self.row + 1 :]
            del self.lines[self.row][self.column :]
        else:
            assert part.endswith("m"), part

    def _put(self, char: str) -> None:
        if self.column >= self.columns:
            self.column = 0
            self._down()
        line = self.lines[self.row]
        line += [" "] * (self.column + 1 - len(line))
        line[self.column] = char
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines)


class Sized(Terminal):
    """A terminal of a known size whose output an emulator shows."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(0, {"TERM": "xterm"})
        self.file = io.StringIO()
        self.out = Stream(self.file, {})
        self.out.is_terminal = self.out.moves = True
        self.now = (columns, rows)

    @property
    def size(self) -> tuple[int, int]:
        return self.now


def shown(text: str, columns: int = 80, rows: int = 24) -> str:
    terminal = Sized(columns, rows)
    writer = MarkdownWriter(terminal)
    for char in text:
        writer.write(char)
    writer.finish()
    emulator = Emulator(columns, rows)
    emulator.feed(terminal.file.getvalue())
    return emulator.text()


class TestPlainWriter:
    @pytest.mark.parametrize("pieces", [["a\n", "\nb\n\n"], ["a", "\n\nb", "\r\n"], ["a\n\nb"]])
    def test_text_ends_in_one_newline(self, pieces: list[str]) -> None:
        file = io.StringIO()
        writer = PlainWriter(Stream(file, {}))
        for piece in pieces:
            writer.write(piece)
        writer.finish()
        assert file.getvalue() == "a\n\nb\n"


class TestMarkdownWriter:
    def test_blocks_are_rendered(self) -> None:
        text = "Some **bold** `code`.\n\n- a\n- b\n\n```py\nx = 1\n```\n\n"
        text += "| h | i |\n|---|---|\n| 1 | 2 |\n"
        lines = [line.strip() for line in shown(text).split("\n") if line.strip()]
        assert lines[:4] == ["Some bold code.", "• a", "• b", "x = 1"]
        assert "**" not in shown(text)
        assert "|---" not in shown(text)

    @pytest.mark.parametrize(
        "text",
        [
            "<div>in html</div>",
            "<think>so</think> yes",
            "see [text](http://host/path) and ![alt](http://host/x.png)",
            "[ref]: http://host/hidden",
            "| a | b |\n|---|---|\n| " + "long" * 30 + " | x |",
            "&amp; &copy; \\* <b>",
        ],
    )
    def test_nothing_is_lost(self, text: str) -> None:
        assert keeps_text(text, shown(text)) or escape(text) in shown(text)

    def test_a_block_longer_than_the_screen_stays_as_it_is(self) -> None:
        text = "\n".join(f"**row {number}**" for number in range(30))
        assert shown(f"**b**\n\n{text}\n\n**c**", rows=10) == f"b\n\n{text}\n\nc\n"

    def test_a_block_during_which_the_size_changed_stays_as_it_is(self) -> None:
        terminal = Sized(40, 24)
        writer = MarkdownWriter(terminal)
        writer.write("**bold**")
        terminal.now = (20, 24)
        writer.finish()
        assert terminal.file.getvalue() == "**bold**\n"

    @settings(deadline=None, max_examples=60)
    @given(
        st.text(st.sampled_from(list("abc12   \n\n-.*`#|>_é漢\t🎉\u200d")), max_size=120),
        st.integers(12, 40),
        st.integers(4, 12),
    )
    def test_every_letter_is_shown_once(self, text: str, columns: int, rows: int) -> None:
        if "漢" in text or "🎉" in text or "\t" in text:
            text = re.sub("[漢🎉\u200d\t]", "x", text)  # the emulator knows narrow characters only
        letters = [char for char in re.sub(r"(?m)^\s*\d+[.)]\s", "", text) if char.isalpha()]
        assert [char for char in shown(text, columns, rows) if char.isalpha()] == letters

    def test_an_empty_answer_is_an_empty_line(self) -> None:
        assert shown("") == "\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 1),
        ("x" * 10, 1),
        ("x" * 11, 2),
        ("a\n\nb", 3),
        ("漢" * 5, 1),
        ("漢" * 6, 2),
        ("x" * 9 + "漢", 2),
        ("\t\tx", 1),
        ("👍 ok", 1),
        ("👍" * 6, None),
    ],
)
def test_rows_of_is_sure_or_silent(text: str, rows: int | None) -> None:
    assert rows_of(text, 10) == rows


def test_a_dumb_terminal_gets_plain_text() -> None:
    terminal = Sized(80, 24)
    terminal.out.moves = False
    assert isinstance(answer_writer(terminal), PlainWriter)
