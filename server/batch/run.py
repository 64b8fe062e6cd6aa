"""The batch itself: lines in, a bounded number of them at work, a result out for each.

The same for both ways to run: what a line is sent to is a `Sender`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import msgspec

from server.batch.done import DoneLines
from server.batch.lines import Line, read_lines
from server.batch.requests import BatchRequest, parse_request
from server.batch.results import Answer, Failure, Result, render, result_id
from server.batch.retry import may_retry, retry_delay_s
from server.batch.sink import Sink

__all__ = [
    "Batch",
    "Broken",
    "Sender",
    "Tally",
    "TimedOut",
    "Unreachable",
    "run_batch",
]

# Between two reports; a bar that moves faster only costs time.
REPORT_EVERY_S = 0.5


class Unreachable(Exception):
    """No connection can be made; nothing was sent."""


class Broken(Exception):
    """The connection broke before the answer was there."""


class TimedOut(Exception):
    """The answer did not come in time."""


class Sender(Protocol):
    """Where requests go."""

    async def send(self, url: str, body: msgspec.Raw) -> Answer:
        """Make one request.

        Raises:
            Unreachable: Nobody is there.
            Broken: The connection broke.
            TimedOut: No answer came in time.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One run's part of a batch.

    Attributes:
        file: The input, seekable, checked.
        digest: Of it.
        done: Lines that have a result already.
        concurrency: Lines at work at once, 1 to ``MAX_CONCURRENCY``.
        max_retries: Further attempts for a line, 0 for none.
    """

    file: BinaryIO
    digest: str
    done: DoneLines
    concurrency: int
    max_retries: int


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is.

    Attributes:
        done: Lines finished by this run, failed ones included.
        failed: Of those.
        retries: Attempts beyond the first.
        prompt_tokens: As the answers say.
        output_tokens: Likewise.
        seconds: From the first line sent to the last one finished.
    """

    done: int = 0
    failed: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


async def run_batch(
    batch: Batch, sender: Sender, sink: Sink, on_progress: Callable[[Tally], None]
) -> Tally:
    """Run every line that has no result yet.

    Args:
        batch: What to run.
        sender: Where to send it.
        sink: Where results go.
        on_progress: Told how far it is, now and then; returns at once.

    Raises:
        WriteFailed: A result could not be written; every file is whole.
        Unreachable: The server has gone; lines without a result stay so.
    """
    run = _Run(batch, sender, sink)
    lines = run.lines()
    reporting = asyncio.create_task(run.report(on_progress))
    try:
        async with asyncio.TaskGroup() as group:
            turn = asyncio.Lock()
            for _ in range(batch.concurrency):
                group.create_task(run.work(lines, turn))
    except BaseExceptionGroup as errors:
        # The first one ended the others.
        raise _first(errors) from None
    finally:
        reporting.cancel()
        await lines.aclose()
        on_progress(run.tally())
    return run.tally()


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Run:
    def __init__(self, batch: Batch, sender: Sender, sink: Sink) -> None:
        self._batch = batch
        self._sender = sender
        self._sink = sink
        self._done = self._failed = self._retries = 0
        self._prompt_tokens = self._output_tokens = 0
        self._began_at: float | None = None
        self._ended_at = 0.0

    def tally(self) -> Tally:
        seconds = 0.0 if self._began_at is None else self._ended_at - self._began_at
        return Tally(
            done=self._done,
            failed=self._failed,
            retries=self._retries,
            prompt_tokens=self._prompt_tokens,
            output_tokens=self._output_tokens,
            seconds=max(0.0, seconds),
        )

    async def report(self, on_progress: Callable[[Tally], None]) -> None:
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            on_progress(self.tally())

    async def lines(self) -> AsyncGenerator[tuple[int, Line], None]:
        """Lines to run, each with its position among the results of this run."""
        position = 0
        for line in read_lines(self._batch.file):
            if line.number in self._batch.done:
                continue
            if not await self._sink.adopt(position, line.number):
                await self._sink.has_room(position)
                yield position, line
            position += 1

    async def work(self, lines: AsyncIterator[tuple[int, Line]], turn: asyncio.Lock) -> None:
        """Run one line after the other until there are no more."""
        while True:
            async with turn:
                try:
                    position, line = await anext(lines)
                except StopAsyncIteration:
                    return
            if self._began_at is None:
                self._began_at = time.monotonic()
            result = await self._result_of(line)
            await self._sink.finish(position, line.number, result)
            self._count(result)

    def _count(self, result: Result) -> None:
        self._done += 1
        self._failed += result.failed
        self._prompt_tokens += result.prompt_tokens
        self._output_tokens += result.output_tokens
        self._ended_at = time.monotonic()

    async def _result_of(self, line: Line) -> Result:
        id_ = result_id(self._batch.digest, line.number)
        try:
            request = parse_request(line.data or b"")
        except (msgspec.MsgspecError, UnicodeError) as error:
            failure = Failure("invalid_line", f"The line has changed since the check: {error}.")
            return render(id_, "", failure)
        return render(id_, request.custom_id, await self._outcome_of(request))

    async def _outcome_of(self, request: BatchRequest) -> Answer | Failure:
        attempt = 0
        while True:
            attempt += 1
            last = attempt > self._batch.max_retries
            outcome: Answer | Failure
            retry_after = ""
            try:
                outcome = await self._sender.send(request.url, request.body)
                if last or not may_retry(outcome):
                    return outcome
                retry_after = outcome.retry_after
            except TimedOut as error:
                return Failure("timeout", str(error))
            except Broken as error:
                if last:
                    return Failure("connection_error", str(error))
            except Unreachable:
                if last:
                    # Every further line would fail alike: better none of them does.
                    raise
            self._retries += 1
            await asyncio.sleep(retry_delay_s(attempt, retry_after))
