"""Streams, colour, and text that must not command a terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_cli.terminal import Stream, Terminal, escape, one_line
from tests.omni_cli.conftest import omni_env

TEXT = "a\x1b[2J\x9b \u202e\n"
ANY_TERM = {"TERM": "xterm"}


@pytest.fixture
def tty() -> Iterator[TextIO]:
    parent, child = pty.openpty()
    with os.fdopen(child, "w", encoding="utf-8") as file:
        yield file
    os.close(parent)


class TestEscape:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("tab\tand\nnewline", "tab\tand\nnewline"),
            ("a\r\nb\rc", "a\nb\u240dc"),
            ("\x1b]0;t\x07", "\u241b]0;t\u2407"),
            ("\x00\x7f\x9b", "\u2400\u2421<U+009B>"),
            ("a\u202eb\u2066c\u200fd", "a<U+202E>b<U+2066>c<U+200F>d"),
            ("\ud83d", "<U+D83D>"),
            ("ü 漢 🎉 👩‍👩‍👧 عربي", "ü 漢 🎉 👩‍👩‍👧 عربي"),
        ],
    )
    def test_escape_shows_what_could_command(self, text: str, shown: str) -> None:
        assert escape(text) == shown

    @given(st.text())
    def test_escape_leaves_nothing_that_could_command(self, text: str) -> None:
        shown = escape(text)
        assert all(char in "\n\t" or ord(char) >= 32 for char in shown)
        assert not any(0x7F <= ord(char) <= 0x9F for char in shown)
        assert escape(shown) == shown

    def test_one_line_is_one_line(self) -> None:
        assert one_line("a\n  b\r\n\x1b") == "a b \u241b"


class TestStream:
    def test_a_terminal_gets_escaped_text(self, tty: TextIO) -> None:
        sent = io.StringIO()
        stream = Stream(tty, ANY_TERM)
        stream._file = sent
        stream.show(TEXT)
        assert sent.getvalue() == escape(TEXT)

    def test_a_pipe_gets_the_text_itself(self) -> None:
        file = io.StringIO()
        Stream(file, ANY_TERM).show(TEXT)
        assert file.getvalue() == TEXT

    @pytest.mark.parametrize(
        ("env", "on_terminal", "on_pipe"),
        [
            ({"TERM": "xterm"}, True, False),
            ({"TERM": "dumb"}, False, False),
            ({}, False, False),
            ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
            ({"TERM": "xterm", "NO_COLOR": ""}, True, False),
            ({"TERM": "xterm", "FORCE_COLOR": "1"}, True, True),
            ({"TERM": "xterm", "FORCE_COLOR": "0"}, True, False),
            ({"TERM": "xterm", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ],
    )
    def test_colour_follows_the_environment(
        self, tty: TextIO, env: dict[str, str], on_terminal: bool, on_pipe: bool
    ) -> None:
        assert Stream(tty, env).colour is on_terminal
        assert Stream(io.StringIO(), env).colour is on_pipe

    def test_a_character_that_the_locale_lacks_is_replaced(self) -> None:
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding="ascii")
        Stream(file, ANY_TERM).write("ü")
        assert raw.getvalue() == b"?"

    def test_a_closed_stream_swallows(self) -> None:
        Stream(None, ANY_TERM).write("text")


class TestTerminal:
    @pytest.mark.parametrize(
        ("verbosity", "said"), [(-1, ""), (0, "note\n"), (1, "note\ndetail\n")]
    )
    def test_verbosity_chooses_what_is_said(
        self, capsys: pytest.CaptureFixture[str], verbosity: int, said: str
    ) -> None:
        terminal = Terminal(verbosity, {})
        terminal.note("note")
        terminal.detail("detail")
        terminal.error("bad\nnews")
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == f"{said}error: bad news\n"

    def test_progress_in_a_pipe_says_each_thing_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        terminal = Terminal(0, {})
        for text in ("", "load, 1 s", "load, 2 s", "warm up, 3 s", ""):
            terminal.progress(text)
        assert capsys.readouterr().err == "load, 1 s\nwarm up, 3 s\n"

    def test_progress_on_a_terminal_stays_on_one_line(self, tty: TextIO) -> None:
        terminal = Terminal(0, ANY_TERM | {"NO_COLOR": "1"})
        terminal.err = Stream(tty, ANY_TERM | {"NO_COLOR": "1"})
        sent = io.StringIO()
        terminal.err._file = sent
        terminal.progress("load, 1 s")
        terminal.progress("")
        terminal.progress("")
        assert sent.getvalue() == "\r\x1b[Kload, 1 s\r\x1b[K"

    def test_it_may_prompt_only_with_a_person_at_both_ends(
        self, tty: TextIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert not Terminal(0, ANY_TERM).may_prompt
        monkeypatch.setattr(sys, "stdin", tty)
        assert not Terminal(0, ANY_TERM).may_prompt
        monkeypatch.setattr(sys, "stdout", tty)
        assert Terminal(0, ANY_TERM).may_prompt
        monkeypatch.setattr(sys, "stdin", None)
        assert not Terminal(0, ANY_TERM).may_prompt


@pytest.mark.parametrize("device", ["/dev/full", "/dev/null"])
def test_error_that_nobody_can_read_leaves_the_exit_code(device: str) -> None:
    code = "import sys; from omni_cli.main import run; sys.exit(run(['serve', '--port', 'x']))"
    with open(device, "wb") as stderr:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stderr=stderr, stdout=subprocess.PIPE, timeout=60,
            env={**omni_env(), "OMNI_PROT": "1"},
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
