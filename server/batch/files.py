"""Files that only ever hold whole lines.

A line goes out in one ``write``. The kernel may still cut one short: when the disk is full, which
is mended at once, or when a SIGKILL falls into a large one, which `cut_tail` mends later. After a
loss of power the last seconds may be missing or, on some file systems, be zeros: nothing here waits
for the disk.
"""

from __future__ import annotations

import asyncio
import os
import stat

__all__ = ["LineFile", "WriteFailed"]

# Looked at in one step on the way back to the last newline.
BLOCK_BYTES = 1 << 16
# A pipe that is ready to be written takes at least so much (PIPE_BUF).
PIECE_BYTES = 4096


class WriteFailed(Exception):
    """A result could not be written; what the file held before is whole.

    Args:
        name: The file, as the user spells it.
        reason: What the system says.
        pipe_closed: Whether the reader of a pipe has left.
    """

    def __init__(self, name: str, reason: str, *, pipe_closed: bool = False) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason
        self.pipe_closed = pipe_closed

    def __str__(self) -> str:
        return f"{self.name}: cannot be written: {self.reason}"


class LineFile:
    """A regular file, or a stream such as a pipe, to which lines are added.

    Args:
        fd: Open for writing, and for reading if it is to be cut; closed by `close`.
        name: As the user spells it.
    """

    def __init__(self, fd: int, name: str) -> None:
        self.fd = fd
        self.name = name
        mode = os.fstat(fd).st_mode
        self.is_regular = stat.S_ISREG(mode)
        self._waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)

    async def append(self, line: bytes) -> None:
        """Add one line; waits for the reader of a pipe without holding anything else up.

        Raises:
            WriteFailed: If it could not be written as a whole.
        """
        try:
            if not self._waits:
                self._write_whole(line)
                return
            for start in range(0, len(line), PIECE_BYTES):
                await self._writable()
                _write_all(self.fd, line[start : start + PIECE_BYTES])
        except OSError as error:
            closed = isinstance(error, BrokenPipeError)
            raise WriteFailed(
                self.name, error.strerror or str(error), pipe_closed=closed
            ) from error

    def _write_whole(self, line: bytes) -> None:
        written = os.write(self.fd, line)
        if written == len(line):
            return
        # The system could not take all of it; the next call says why.
        try:
            while written < len(line):
                written += os.write(self.fd, line[written:])
        except OSError:
            if self.is_regular:
                end = os.lseek(self.fd, -written, os.SEEK_CUR)
                os.ftruncate(self.fd, end)
            raise

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_writer(self.fd, ready.set)
        except (PermissionError, ValueError):
            return  # what cannot be waited for is always ready
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self.fd)

    def cut_tail(self) -> int:
        """Take away what stands behind the last newline; returns how many bytes that were."""
        if not self.is_regular:
            return 0
        size = os.fstat(self.fd).st_size
        end = size
        while end > 0:
            start = max(0, end - BLOCK_BYTES)
            found = os.pread(self.fd, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(self.fd, end)
        os.lseek(self.fd, 0, os.SEEK_END)
        return size - end

    def close(self) -> None:
        """Close it; safe to call twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
