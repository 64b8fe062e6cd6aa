"""Where results go: at once, or when their turn comes.

In order means that a result is written when every earlier line has its own. Until then it lies in
the journal; in memory is only where.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from server.batch.files import LineFile
from server.batch.journal import Journal, Record
from server.batch.results import Result

__all__ = ["WINDOW", "OrderedSink", "Sink", "UnorderedSink"]

# Lines that may run or wait behind the first unfinished one. At some hundred bytes each they cost a
# few megabytes; one slow line holds up the others only after so many.
WINDOW = 8192


class Sink(Protocol):
    """Takes results in any order. Positions count the lines that this run writes, from 0."""

    async def has_room(self, position: int) -> None:
        """Return when the line at this position may start."""

    async def finish(self, position: int, number: int, result: Result) -> None:
        """Write or keep a result.

        Raises:
            WriteFailed: It could not be written.
        """

    async def adopt(self, position: int, number: int) -> bool:
        """Give a line that a run before has finished its position; False if none has.

        Raises:
            WriteFailed: Its result could not be written.
        """


class UnorderedSink:
    """Writes each result as it comes."""

    def __init__(self, output: LineFile, errors: LineFile) -> None:
        self._targets = {False: output, True: errors}
        self._turn = asyncio.Lock()

    async def has_room(self, position: int) -> None:
        return None

    async def finish(self, position: int, number: int, result: Result) -> None:
        async with self._turn:
            await self._targets[result.failed].append(result.data)

    async def adopt(self, position: int, number: int) -> bool:
        return False


class OrderedSink:
    """Writes results in the order of their positions.

    Args:
        output: For the results of what succeeded.
        errors: For the rest.
        journal: For results whose turn has not come.
        left: Those that a run before has left there, by the number of the line.
    """

    def __init__(
        self, output: LineFile, errors: LineFile, journal: Journal, left: dict[int, Record]
    ) -> None:
        self._targets = {False: output, True: errors}
        self._journal = journal
        self._left = left
        self._next = 0
        self._waiting: dict[int, Record] = {}
        self._waiting_bytes = sum(record.size for record in left.values())
        self._turn = asyncio.Lock()
        self._moved = asyncio.Condition()

    async def has_room(self, position: int) -> None:
        if position - self._next < WINDOW:
            return
        async with self._moved:
            await self._moved.wait_for(lambda: position - self._next < WINDOW)

    async def finish(self, position: int, number: int, result: Result) -> None:
        async with self._turn:
            if position == self._next:
                await self._targets[result.failed].append(result.data)
                self._next += 1
                await self._flush()
                return
            record = await self._journal.add(number, result.failed, result.data)
            self._waiting[position] = record
            self._waiting_bytes += record.size
            if self._journal.wants_compaction(self._waiting_bytes):
                await self._compact()

    async def adopt(self, position: int, number: int) -> bool:
        async with self._turn:
            record = self._left.pop(number, None)
            if record is None:
                return False
            self._waiting[position] = record
            await self._flush()
            return True

    async def _compact(self) -> None:
        kept = [*self._waiting.values(), *self._left.values()]
        moved = iter(await self._journal.compact(kept))
        self._waiting = {position: next(moved) for position in self._waiting}
        self._left = {number: next(moved) for number in self._left}

    async def _flush(self) -> None:
        while (record := self._waiting.get(self._next)) is not None:
            await self._targets[record.failed].append(self._journal.read(record))
            del self._waiting[self._next]
            self._waiting_bytes -= record.size
            self._next += 1
        if not self._waiting and not self._left:
            self._journal.clear()
        async with self._moved:
            self._moved.notify_all()
