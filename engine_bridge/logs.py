"""What children write to their standard output and error, read by the parent.

Each child has one pipe. The parent keeps its last lines, for last words, and passes on the lines at
or above a level, each with the child's name before it. A child that is dying can therefore never
hide its cause in a file that nobody opens, and a healthy one does not fill the terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections import deque
from collections.abc import Callable

__all__ = ["LEVELS", "OutputRelay", "say_levels"]

# Lines kept of each child, for the log that a failure leaves behind.
KEPT_LINES = 2000
# A line longer than this is cut; vLLM prints whole configurations in one.
MAX_LINE_BYTES = 16 << 10
READ_CHUNK = 1 << 16
# A pipe holds READ_CHUNK; one that is still full after this many reads belongs to a process that
# goes on writing.
LAST_READS = 4
LEVELS = ("debug", "info", "warning", "error")
# vLLM's and uvicorn's lines open with their level, after an optional "(EngineCore pid=1) " and
# colours around either.
LEVEL = re.compile(
    r"^(?:\x1b\[[0-9;]*m)*(?:\([^)]*\)(?:\s|\x1b\[[0-9;]*m)*)?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b"
)


class _EachLine(logging.Formatter):
    """Puts the level before every line, of a traceback as well: the parent sorts lines by it."""

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines() or [""]
        return "\n".join(f"{record.levelname} {line}" for line in lines)


def say_levels() -> None:
    """Have this process, a child, log to its standard error in the form that `OutputRelay` reads.

    For every logger that has no handler of its own; vLLM's has one, in the same form.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_EachLine("%(asctime)s [%(name)s] %(message)s", "%m-%d %H:%M:%S"))
    logging.getLogger().addHandler(handler)


class OutputRelay:
    """Reads one child's pipe until it ends.

    Args:
        name: The child's name, put before each line that is passed on.
        fd: Read end of the pipe; owned from now on.
        level: Lowest level that is passed on, one of `LEVELS`. A line without one counts as
            ``info``.
        write: Called with each line that is passed on, without its newline.
    """

    def __init__(self, name: str, fd: int, level: str, write: Callable[[str], None]) -> None:
        self.name = name
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._fd = fd
        self._threshold = LEVELS.index(level)
        self._write = write
        self._partial = b""
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ_CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        self._split(data)

    def _split(self, data: bytes) -> None:
        *lines, rest = (self._partial + data).split(b"\n")
        self._partial = rest[:MAX_LINE_BYTES]
        for line in lines:
            self._take(line)

    def _take(self, data: bytes) -> None:
        line = data[:MAX_LINE_BYTES].decode(errors="replace").rstrip("\r")
        self.lines.append(line)
        match = LEVEL.match(line)
        level = {"CRITICAL": "error"}.get(match[1], match[1].lower()) if match else "info"
        if line and LEVELS.index(level) >= self._threshold:
            self._write(f"[{self.name}] {line}")

    def close(self) -> None:
        """Take what lies in the pipe and stop reading; safe to call twice."""
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        with contextlib.suppress(BlockingIOError):
            for _ in range(LAST_READS):
                self._split(os.read(self._fd, READ_CHUNK))
        os.close(self._fd)
        self._fd = -1
        if self._partial:
            self._take(self._partial)
            self._partial = b""
        self.ended.set_result(None)
