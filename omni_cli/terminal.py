"""The terminal as omni sees it: stdout is the result, stderr is everything else.

Text that a model or a server chose is escaped before it reaches a terminal, so that it cannot move
the cursor, set the title or reorder what is shown. Pipes and files get it byte for byte.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

__all__ = ["Stream", "Terminal", "escape", "one_line"]

# C0 but tab and newline, DEL, C1, lone surrogates, and the bidirectional embeddings, overrides and
# isolates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def escape(text: str) -> str:
    """Make every character that could command a terminal visible; newline and tab stay, CR LF
    becomes LF."""
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Escape a text and join its lines, for messages that are one line by contract."""
    return escape(" ".join(text.split()))


class Stream:
    """One output stream: where it goes, and what may be sent there.

    Attributes:
        is_terminal: Whether a person watches it.
        colour: Whether escapes for colour and weight may be written.
        moves: Whether the cursor may be moved, which a dumb terminal cannot.

    Args:
        file: The stream, or None if the process has none.
        env: The environment to read NO_COLOR, FORCE_COLOR and TERM from.
        optional: Whether a full disk behind it is passed over, and the rest of the text with it.
    """

    def __init__(
        self, file: TextIO | None, env: Mapping[str, str], *, optional: bool = False
    ) -> None:
        self._file = file
        self._optional = optional
        self.is_terminal = _isatty(file)
        dumb = env.get("TERM", "") in ("dumb", "")
        self.moves = self.is_terminal and not dumb
        self.colour = _colour(self.moves, env)
        if file is not None and hasattr(file, "reconfigure"):
            # A character that the locale lacks must not end a command
            file.reconfigure(errors="replace")

    def write(self, text: str) -> None:
        """Write text that omni made itself, at once."""
        if self._file is None:
            return
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:  # with EPIPE this raises BrokenPipeError again
            if self._optional and not isinstance(error, BrokenPipeError):
                _forget(self._file)
                return
            raise OSError(error.errno, f"cannot write the output: {error.strerror}") from error

    def show(self, text: str) -> None:
        """Write text from a model or a server: escaped on a terminal, untouched elsewhere."""
        self.write(escape(text) if self.is_terminal else text)

    def styled(self, text: str, code: str) -> str:
        """Wrap a text in an SGR code (``1`` bold, ``2`` dim) where colour is on."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


class Terminal:
    """The three standard streams of one command.

    Args:
        verbosity: 0 shows notes, 1 shows details as well, -1 shows only errors.
        env: The environment to read NO_COLOR, FORCE_COLOR and TERM from.
    """

    def __init__(self, verbosity: int = 0, env: Mapping[str, str] | None = None) -> None:
        env = os.environ if env is None else env
        self.verbosity = verbosity
        self._progress = ""
        self.stdin: TextIO | None = sys.stdin
        self.out = Stream(sys.stdout, env)
        # What cannot be said must not change what is done, nor the exit code.
        self.err = Stream(sys.stderr, env, optional=True)

    @property
    def may_prompt(self) -> bool:
        """Whether a person sits at both ends: input and output are terminals."""
        return _isatty(self.stdin) and self.out.is_terminal

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows now."""
        columns, rows = shutil.get_terminal_size()
        return columns, rows

    def note(self, text: str) -> None:
        """Say something that is not the result; one line on stderr."""
        if self.verbosity >= 0:
            self.err.write(f"{self.err.styled(one_line(text), '2')}\n")

    def progress(self, text: str) -> None:
        """Say what is being waited for; each text replaces the one before, and an empty one ends
        the wait.

        Where the cursor cannot be moved, a text that says something new is a line of its own.
        """
        if self.verbosity < 0 or (not text and not self._progress):
            return
        if self.err.moves:
            columns, _ = self.size
            self.err.write(f"\r\x1b[K{self.err.styled(one_line(text)[: columns - 1], '2')}")
        elif text and _without_seconds(text) != _without_seconds(self._progress):
            self.note(text)
        self._progress = text

    def detail(self, text: str) -> None:
        """A note for those who asked for more."""
        if self.verbosity > 0:
            self.note(text)

    def error(self, text: str) -> None:
        """Say what went wrong; one line on stderr."""
        self.err.write(f"{self.err.styled('error:', '1;31')} {one_line(text)}\n")


def _without_seconds(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? s$", "", text)


def _forget(file: TextIO) -> None:
    """Point a stream at nothing, so that what waits in it cannot fail a second time, at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, file.fileno())
        os.close(null)
        file.flush()
    except (OSError, ValueError):  # a stream without a descriptor
        return


def _isatty(file: TextIO | None) -> bool:
    try:
        return file is not None and file.isatty()
    except ValueError:  # closed
        return False


def _colour(able: bool, env: Mapping[str, str]) -> bool:
    if env.get("NO_COLOR"):
        return False
    forced = env.get("FORCE_COLOR", "")
    return forced not in ("", "0") or able


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # the control picture
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"
