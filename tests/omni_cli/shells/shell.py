"""An interactive shell on a terminal of its own: keys in, screen out.

The shell is clean: no files of the user's, a fixed prompt, and no program that it could call. After
what was typed one more key is pressed, bound to a function that reports the line being edited in an
escape sequence. A shell handles its keys in order, so what it wrote before that sequence is its
whole answer, and nothing has to be waited for.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pyte

__all__ = ["SHELLS", "Answer", "Shell"]

DEADLINE_S = 20.0  # of any single wait; a shell answers in milliseconds
COLUMNS, ROWS = 160, 1000  # so tall that no listing is paged
REPORT = "\x18r"  # Ctrl-X r
EMPTY = "\x15\x0c"  # Ctrl-U, Ctrl-L: an empty line on an empty screen
_REPORTED = re.compile(rb"\x1b\]777;([^\a]*)\a")

# One TAB is enough for a list; no pager, no bell, and nothing drawn that was not asked for.
BASH = r"""
PS1='$ ' PS2=
bind 'set show-all-if-ambiguous on' 'set completion-query-items 0' 'set page-completions off'
bind 'set enable-bracketed-paste off' 'set bell-style none'
report() { printf '\033]777;%s\a' "$READLINE_LINE" >/dev/tty; }
bind -x '"\C-xr": report'
"""
# fish's own Ctrl-L calls a program.
# With BAUD=0 the screen is brought up to date before the next key is read.
ZSH = r"""
PROMPT='$ ' RPROMPT= BAUD=0 LISTMAX=0
unsetopt prompt_sp prompt_cr list_ambiguous beep
autoload -Uz compinit && compinit -D
report() { printf '\033]777;%s\a' "$BUFFER" >/dev/tty }
zle -N report && bindkey -e && bindkey '^Xr' report
"""
FISH = r"""
set -g fish_greeting
set -g fish_autosuggestion_enabled 0
function fish_prompt; printf '$ '; end
function fish_title; end
function report; printf '\033]777;%s\a' (commandline | string collect) >/dev/tty; end
bind \cXr report
bind \cL 'printf "\033[H\033[2J"; commandline -f repaint'
"""
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], BASH),
    "zsh": (["-f", "-i"], ZSH),
    "fish": (["--no-config", "-i"], FISH),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a shell did with some keys.

    Attributes:
        line: The line being edited.
        offers: What it listed, with a description or an empty text each, in no order.
        seconds: From the keys to the report, without the time that the reader of this took.
    """

    line: str
    offers: dict[str, str]
    seconds: float


class Shell:
    """One shell.

    Args:
        name: One of SHELLS.
        path: The program.
        folder: Its HOME and its folder.
    """

    def __init__(self, name: str, path: Path, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._reported_at = 0.0
        words, setup = SHELLS[name]
        self._terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        setsid = shutil.which("setsid")
        assert setsid is not None
        self._process = subprocess.Popen(
            [setsid, "--ctty", str(path), *words],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=folder,
            env={"HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": "/nowhere"},
        )
        os.close(inner)
        start = folder / ".start"
        start.write_text(setup)
        self.source(start)

    def source(self, script: Path) -> None:
        """Let it read a script."""
        self._type(f". {script}\n{REPORT}")
        self._read()

    def press(self, keys: str) -> Answer:
        """Type on an empty line and an empty screen, and see what comes of it."""
        self._screen.reset()
        self._type(EMPTY + REPORT)
        self._read()
        started = time.monotonic()
        self._type(keys + REPORT)
        line = self._read()
        return Answer(line, self._offers(self._rows()[1:]), self._reported_at - started)

    def close(self) -> None:
        os.close(self._terminal)
        self._process.kill()
        self._process.wait()

    def _type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def _read(self) -> str:
        """Draw what it writes up to its next report, and give the line that it reports."""
        seen = b""
        deadline = time.monotonic() + DEADLINE_S
        while (found := _REPORTED.search(seen)) is None:
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            assert ready, f"{self.name} did not answer: {seen!r}"
            seen += os.read(self._terminal, 65536)
        self._reported_at = time.monotonic()
        self._stream.feed(seen[: found.start()])
        return found[1].decode()

    def _rows(self) -> list[str]:
        """The rows that something stands in; ``pyte.Screen.display`` looks at every cell."""
        rows = []
        for _, cells in sorted(self._screen.buffer.items()):
            row = "".join(cells[column].data for column in range(max(cells, default=-1) + 1))
            if row.strip():
                rows.append(row.rstrip())
        return rows

    def _offers(self, rows: list[str]) -> dict[str, str]:
        """Read a list below the line, in the columns that this shell makes of it."""
        found: dict[str, str] = {}
        for row in rows:
            if self.name == "zsh":
                names, _, text = row.partition(" -- ")
                words = re.split(r"\s{2,}", names.strip())
                found |= {word.replace("\\ ", " "): text for word in words}
            elif self.name == "fish":
                # In each column: spellings of one thing, then what it is, in parentheses
                for cell in re.finditer(r"(.+?)(?:\s{2,}\((.*?)\)(?=\s{2,}|$)|$)", row.strip()):
                    words = re.split(r"\s{2,}", cell[1].strip())
                    found |= {word: cell[2] or "" for word in words}
            else:
                found |= {word: "" for word in re.split(r"\s{2,}", row.strip())}
        return found
