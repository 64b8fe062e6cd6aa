"""Puts a server under load: sends what is planned when it is planned, and stops when told to.

Two shapes of load. With a number of streams (``--concurrency``) the next request is sent as soon as
one ends: the server sets the pace. With a rate the requests come when a Poisson process says so, as
from independent users, whether or not the server keeps up. Both together bound the second by the
first; what then waits in this client is told as send delay.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from omni_cli.bench.bounds import MAX_CONCURRENCY
from omni_cli.bench.lag import LagSampler
from omni_cli.bench.record import Outcome, Record

__all__ = ["Ending", "Load", "LoadResult"]

Ask = Callable[[bytes, Record, float], Awaitable[None]]


class Ending(StrEnum):
    """Why a load ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    MAX_SECONDS = "max_seconds"


@dataclass(slots=True)
class LoadResult:
    """What a load has measured.

    Attributes:
        records: Of all requests that were sent, in order of sending.
        ended: Why it ended.
        lags_s: Lateness of the client's event loop, sampled.
        busy_share: CPU time of the client over the time; 1 is one core.
    """

    records: list[Record] = field(default_factory=list)
    ended: Ending = Ending.COMPLETE
    lags_s: Sequence[float] = ()
    busy_share: float = 0.0


class Load:
    """One load. ``stop`` may be called at any time, ``run`` once.

    Args:
        ask: Sends one request and fills its record.
        body: The JSON of a request, by its index.
        count: Number of requests.
        concurrency: Requests in flight at most.
        arrivals: When each is to be sent, in seconds from the start; None for as soon as there is
            room.
        report: Told the records of those that have ended, each time one has.
    """

    def __init__(
        self,
        ask: Ask,
        body: Callable[[int], bytes],
        count: int,
        *,
        concurrency: int = MAX_CONCURRENCY,
        arrivals: Sequence[float] | None = None,
        report: Callable[[Record], None] = lambda record: None,
    ) -> None:
        self._ask = ask
        self._body = body
        self._count = count
        self._slots = asyncio.Semaphore(concurrency)
        self._arrivals = arrivals
        self._report = report
        self._running: set[asyncio.Task[None]] = set()
        self._dispatcher: asyncio.Task[None] | None = None
        self._result = LoadResult()

    def stop(self, ending: Ending) -> None:
        """End it now; what is in flight stays unfinished. The first reason is kept."""
        if self._dispatcher is None or self._result.ended is not Ending.COMPLETE:
            return
        self._result.ended = ending
        self._dispatcher.cancel()
        for task in self._running:
            task.cancel()

    async def run(self, max_seconds: float) -> LoadResult:
        """Send everything and wait for the end of it.

        Args:
            max_seconds: After which it is stopped.
        """
        timer = asyncio.get_running_loop().call_later(max_seconds, self.stop, Ending.MAX_SECONDS)
        try:
            async with LagSampler() as lag, asyncio.TaskGroup() as group:
                self._dispatcher = group.create_task(self._dispatch(group))
        finally:
            timer.cancel()
            self._dispatcher = None
        self._result.lags_s = lag.lags_s
        self._result.busy_share = lag.busy_share
        return self._result

    async def _dispatch(self, group: asyncio.TaskGroup) -> None:
        start = time.monotonic()
        for index in range(self._count):
            scheduled = None if self._arrivals is None else self._arrivals[index]
            if scheduled is not None:
                await asyncio.sleep(start + scheduled - time.monotonic())
            await self._slots.acquire()
            record = Record(index=index, sent_s=time.monotonic() - start, scheduled_s=scheduled)
            self._result.records.append(record)
            task = group.create_task(self._one(record, start))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _one(self, record: Record, start: float) -> None:
        try:
            await self._ask(self._body(record.index), record, start)
        finally:
            self._slots.release()
            if record.outcome is not Outcome.UNFINISHED:
                self._report(record)
