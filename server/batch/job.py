"""What a process that runs a batch is told, and how it makes a run of that."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from server.batch.done import DoneLines
from server.batch.files import LineFile
from server.batch.journal import Journal
from server.batch.sink import OrderedSink, Sink, UnorderedSink

__all__ = ["Descriptors", "Job", "Opened"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run's part of a batch, as JSON where it goes to another process.

    Attributes:
        lines: Most lines of the input.
        digest: Of the input.
        ordered: Whether results come in the order of the input.
        resumed: Whether the result files may hold results already.
        journal: Absolute path of the journal; None if nobody will look for it after a crash.
        output: The output, as the user spells it.
        errors: The error file, likewise.
        concurrency: Lines at work at once; None for what keeps the engines busy.
        max_retries: Further attempts for a line.
    """

    lines: int
    digest: str
    ordered: bool
    resumed: bool
    journal: str | None
    output: str
    errors: str
    concurrency: int | None
    max_retries: int


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The open files of a batch, in the order in which they travel.

    Attributes:
        source: The input, seekable.
        output: For the results of what succeeded.
        errors: For the rest.
        journal: For results whose turn has not come.
    """

    source: int
    output: int
    errors: int
    journal: int

    def all(self) -> tuple[int, ...]:
        """As they travel."""
        return (self.source, self.output, self.errors, self.journal)


class Opened:
    """A job's files at the beginning of a run: torn tails cut, finished lines known.

    Args:
        job: What to do.
        fds: Its files; owned from now on, `close` closes them.

    Attributes:
        done: Lines that have a result in one of the result files.
        failed_before: Of those, the failed ones.
        waiting: Further lines whose result lies in the journal.
        sink: Where results go.

    Raises:
        ForeignLine: A result file holds something else.
    """

    def __init__(self, job: Job, fds: Descriptors) -> None:
        self.source = os.fdopen(fds.source, "rb", buffering=1 << 20)
        output, errors = LineFile(fds.output, job.output), LineFile(fds.errors, job.errors)
        journal = Journal(fds.journal, None if job.journal is None else Path(job.journal))
        self._closing = (output, errors, journal)
        self.done = DoneLines(job.lines)
        self.failed_before = 0
        if job.resumed:
            output.cut_tail()
            errors.cut_tail()
            self.done.read(output.fd, job.digest, job.output)
            self.failed_before = self.done.read(errors.fd, job.digest, job.errors)
        left = {
            record.number: record
            for record in (journal.records() if job.resumed else ())
            if record.number not in self.done
        }
        self.waiting = len(left)
        self.failed_before += sum(record.failed for record in left.values())
        self.sink: Sink = (
            OrderedSink(output, errors, journal, left)
            if job.ordered
            else UnorderedSink(output, errors)
        )

    def close(self) -> None:
        """Close every file."""
        self.source.close()
        for each in self._closing:
            each.close()
