"""Results that are finished but whose turn has not come: kept in a file, found again after a crash.

    {"omni_batch":1,"input":...}\\n        the head: what this run is about
    17 o {"id":...}\\n                     the result of line 17, for the output
    19 e {"id":...}\\n                     the result of line 19, for the errors

A record is there as soon as its line is finished, so that no kill loses it. Whether a result has
meanwhile been moved on is told by the output itself, never by this file: the two cannot disagree.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from server.batch.files import LineFile, WriteFailed

__all__ = ["Head", "Journal", "Record", "new_path", "read_head"]

FORMAT = 1
# A head is a few names and numbers.
MAX_HEAD_BYTES = 64 << 10
# Above this size the records that have been moved on are dropped.
COMPACT_BYTES = 64 << 20
_RECORD = re.compile(rb"([0-9]{1,18}) ([oe]) ")
_MAX_PREFIX = 18 + len(" o ")


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is about; a resumed run must be about the same.

    Attributes:
        omni_batch: Version of the format.
        size: Of the input, in bytes.
        digest: Of the input.
        ordered: Whether results are in the order of the input.
        errors: Absolute path of the error file.
    """

    size: int
    digest: str
    ordered: bool
    errors: str
    omni_batch: int = FORMAT


@dataclass(frozen=True, slots=True)
class Record:
    """Where a result lies in the journal.

    Attributes:
        number: Of its input line.
        failed: Whether it belongs into the error file.
        offset: Of the result line, in bytes.
        size: Of it, newline included.
    """

    number: int
    failed: bool
    offset: int
    size: int


def read_head(fd: int) -> Head | None:
    """The head of a journal; None if it was never written as a whole.

    Raises:
        ValueError: It is no journal, or of another version.
    """
    line, newline, _ = os.pread(fd, MAX_HEAD_BYTES, 0).partition(b"\n")
    if not newline:
        return None
    try:
        head = msgspec.json.decode(line, type=Head)
    except msgspec.MsgspecError as error:
        raise ValueError("is no journal of a batch") from error
    if head.omni_batch != FORMAT:
        raise ValueError(f"is of version {head.omni_batch}, not {FORMAT}")
    return head


class Journal:
    """The journal of one run, in the hands of the process that writes the results.

    Args:
        fd: Open for reading and writing, empty or with a head; closed by `close`.
        path: Where it is; None if nobody will look for it after a crash.
    """

    def __init__(self, fd: int, path: Path | None) -> None:
        self._file = LineFile(fd, str(path or "the journal"))
        self._path = path
        self._file.cut_tail()
        self._head = self._first_line()
        self._size = os.fstat(fd).st_size

    def _first_line(self) -> bytes:
        if self._path is None:
            return b""
        head, newline, _ = os.pread(self._file.fd, MAX_HEAD_BYTES, 0).partition(b"\n")
        return head + newline

    async def add(self, number: int, failed: bool, line: bytes) -> Record:
        """Keep a result.

        Raises:
            WriteFailed: It could not be written.
        """
        prefix = b"%d %s " % (number, b"e" if failed else b"o")
        await self._file.append(prefix + line)
        record = Record(number, failed, self._size + len(prefix), len(line))
        self._size = record.offset + record.size
        return record

    def read(self, record: Record) -> bytes:
        """The result line of a record.

        Raises:
            WriteFailed: It is not there any more: somebody else has written to the file.
        """
        line = os.pread(self._file.fd, record.size, record.offset)
        if len(line) != record.size:
            raise WriteFailed(self._file.name, "was changed by another program")
        return line

    def records(self) -> Iterator[Record]:
        """What a killed run left, in the order in which it was finished."""
        with open(os.dup(self._file.fd), "rb") as file:
            offset = len(self._head)
            file.seek(offset)
            while prefix := file.read(_MAX_PREFIX):
                found = _RECORD.match(prefix)
                if found is None:
                    # Zeros, after a loss of power: nothing behind them can be trusted.
                    self._cut(offset)
                    return
                start = offset + found.end()
                file.seek(start)
                size = _line_size(file)
                yield Record(int(found[1]), found[2] == b"e", start, size)
                offset = start + size
                file.seek(offset)

    def clear(self) -> None:
        """Forget every record: all have been moved on."""
        if self._size > len(self._head):
            self._cut(len(self._head))

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file.fd, size)
        os.lseek(self._file.fd, size, os.SEEK_SET)
        self._size = size

    def wants_compaction(self, live_bytes: int) -> bool:
        """Whether it has grown, and most of it is not needed any more.

        Args:
            live_bytes: Of the results that still wait.
        """
        return self._size > COMPACT_BYTES and self._size > 2 * live_bytes

    async def compact(self, live: Iterable[Record]) -> list[Record]:
        """Drop all but these records, whose new places are returned in the same order.

        The new file replaces the old one in one step, so a crash finds one of them.

        Raises:
            WriteFailed: There is no room for it.
        """
        path = None if self._path is None else new_path(self._path)
        try:
            new = Journal(_create(path, self._head), path)
            moved = [await new.add(each.number, each.failed, self.read(each)) for each in live]
            if path is not None and self._path is not None:
                os.replace(path, self._path)
        except OSError as error:
            raise WriteFailed(self._file.name, error.strerror or str(error)) from error
        self._file.close()
        self._file = new._file
        self._size = new._size
        return moved

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()


def new_path(path: Path) -> Path:
    """Where the successor of a journal is written."""
    return path.with_name(f"{path.name}.new")


def _create(path: Path | None, head: bytes) -> int:
    if path is None:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    os.write(fd, head)
    return fd


def _line_size(file: BinaryIO) -> int:
    size = 0
    while part := file.readline(1 << 20):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size
