"""A person's terminal: a tmux server of its own, a shell in each window; keys in, screens out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.e2e.serving import POLL_S
from tests.tools import needed

__all__ = ["Pane", "Tmux"]

COLUMNS, ROWS = 90, 30
PROMPT = "$ "
HISTORY = 5000  # lines kept of each window
COMMAND_TIMEOUT_S = 20.0  # of one call of tmux, which takes milliseconds


class Tmux:
    """A tmux server; close it.

    Args:
        folder: Where its socket is, and where the shells start.
    """

    def __init__(self, folder: Path) -> None:
        self._program = needed("tmux")
        self._folder = folder
        self._socket = str(folder / "tmux")
        self._panes = 0

    def call(self, *args: str) -> str:
        """Run one command of tmux's and give what it prints."""
        # Nothing of the terminal in which the tests run; our command is in the PATH
        unset = ("NO_COLOR", "COLUMNS", "LINES")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [str(self._program), "-S", self._socket, "-f", "/dev/null", *args],
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            cwd=self._folder,
            env={**kept, "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pane(self) -> Pane:
        """Open a window with a shell."""
        shell = f"env PS1='{PROMPT}' ENV= sh"
        if self._panes:
            self.call("new-window", "-d", "-t", f"omni:{self._panes}", shell)
        else:
            size = ("-x", str(COLUMNS), "-y", str(ROWS))
            self.call("new-session", "-d", "-s", "omni", *size, shell)
            self.call("set-option", "-g", "history-limit", str(HISTORY))
        pane = Pane(self, f"omni:{self._panes}")
        self._panes += 1
        pane.wait_for(PROMPT)
        return pane

    def close(self) -> None:
        self.call("kill-server")


class Pane:
    """One window with a shell in it."""

    def __init__(self, tmux: Tmux, target: str) -> None:
        self._tmux = tmux
        self._target = target

    def call(self, command: str, *args: str) -> str:
        return self._tmux.call(command, "-t", self._target, *args)

    def type(self, text: str) -> None:
        """Type a line and press Enter."""
        self.call("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: ``C-c``, ``Up``."""
        self.call("send-keys", *keys)

    def paste(self, text: str) -> None:
        """Paste as a terminal does: bracketed, if the program has asked for that."""
        self._tmux.call("set-buffer", text)
        self.call("paste-buffer", "-p", "-r")

    def resize(self, columns: int, rows: int) -> None:
        """Drag the window to another size."""
        self.call("resize-window", "-x", str(columns), "-y", str(rows))

    def text(self) -> str:
        """All lines, those that have scrolled away as well; lines that the terminal has broken at
        its edge are joined."""
        return self.call("capture-pane", "-p", "-J", "-S", "-").rstrip()

    def close(self) -> None:
        """Close the window; what runs in it is hung up."""
        self.call("kill-window")

    def wait_for(self, *texts: str, times: int = 1, timeout_s: float = 20.0) -> str:
        """The screen once all the texts are on it."""
        wanted = tuple(text.rstrip(" ") for text in texts)  # the end of a line cannot be seen
        return self.wait(
            lambda shown: all(shown.count(text) >= times for text in wanted), f"{wanted}", timeout_s
        )

    def wait(self, condition: object, what: str, timeout_s: float = 20.0) -> str:
        """The screen once a condition on it is true.

        Raises:
            AssertionError: If it is not within ``timeout_s``; with the screen.
        """
        assert callable(condition)
        deadline = time.monotonic() + timeout_s
        while not condition(shown := self.text()):
            assert time.monotonic() < deadline, f"{what} not within {timeout_s} s:\n{shown}"
            time.sleep(POLL_S)
        return shown

    def cursor(self) -> tuple[int, str]:
        """The column of the cursor, and the row that it stands in."""
        column, row = self.call("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(column), self.call("capture-pane", "-p", "-S", row, "-E", row).rstrip("\n")

    def modes(self) -> str:
        """The state of the terminal that a program could leave behind."""
        names = "cursor_flag keypad_flag mouse_any_flag alternate_on bracket_paste_flag".split()
        return self.call("display-message", "-p", " ".join(f"#{{{name}}}" for name in names))

    def processes(self) -> list[psutil.Process]:
        """What the shell runs, its children's children included."""
        shell = int(self.call("display-message", "-p", "#{pane_pid}"))
        return psutil.Process(shell).children(recursive=True)
