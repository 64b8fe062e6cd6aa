"""Which lines of the input have a result, as the result files tell: one bit for each line."""

from __future__ import annotations

import os
from typing import BinaryIO

from server.batch.results import ID_BYTES, line_number_of

__all__ = ["DoneLines", "ForeignLine"]

CHUNK_BYTES = 1 << 20


class ForeignLine(Exception):
    """A result file holds a line that is no result of this input.

    Args:
        name: The file, as the user spells it.
        number: Of the line in it.
    """

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name, number)
        self.name = name
        self.number = number


class DoneLines:
    """A set of line numbers.

    Args:
        lines: The highest number that there can be.

    Attributes:
        count: Numbers in the set.
    """

    def __init__(self, lines: int) -> None:
        self._bits = bytearray((lines >> 3) + 1)
        self.count = 0

    def __contains__(self, number: int) -> bool:
        place = number >> 3
        return place < len(self._bits) and bool(self._bits[place] >> (number & 7) & 1)

    def add(self, number: int) -> None:
        """Add a number that is not in the set."""
        self._bits[number >> 3] |= 1 << (number & 7)
        self.count += 1

    def read(self, fd: int, digest: str, name: str) -> int:
        """Add every line that a result file is about; it holds whole lines only.

        Args:
            fd: The file, readable.
            digest: Of the input.
            name: Of the file, for the error.

        Returns:
            How many lines the file has.

        Raises:
            ForeignLine: A line is no result of this input, or is there twice.
        """
        found = 0
        with open(os.dup(fd), "rb") as file:
            file.seek(0)
            while start := file.readline(ID_BYTES):
                found += 1
                number = line_number_of(start, digest)
                if number is None or number >> 3 >= len(self._bits) or number in self:
                    raise ForeignLine(name, found)
                self.add(number)
                if not start.endswith(b"\n"):
                    _skip_line(file)
        return found


def _skip_line(file: BinaryIO) -> None:
    while rest := file.readline(CHUNK_BYTES):
        if rest.endswith(b"\n"):
            return
