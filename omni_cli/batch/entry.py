"""What `omni run-batch` does, as one call: read the flags, check every line, run them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine_bridge.errors import ClientError
from omni_cli.batch.asked import Asked
from omni_cli.batch.ending import Ending
from omni_cli.batch.remote import run_on_server
from omni_cli.batch.show import BatchShow
from omni_cli.batch.source import Source, open_source
from omni_cli.batch.targets import Targets, foreign, refuse_early
from omni_cli.batch.wish import STDIO, BatchWish
from omni_cli.client.connection import Connection
from omni_cli.client.target import Target
from omni_cli.flags.catalogue import catalogue
from omni_cli.terminal import Terminal
from server.batch.check import Report, check
from server.batch.done import ForeignLine
from server.batch.job import Descriptors, Job, Opened
from server.batch.run import Tally

if TYPE_CHECKING:
    from omni_cli.serve.entry import Ready

__all__ = ["run_batch"]

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def run_batch(asked: Asked) -> int:
    """Check and run a batch.

    Returns:
        The exit code: 1 if a line failed, or has no result.

    Raises:
        UsageError: A file cannot be what the command line says it is.
        ModelError: A bundled model cannot be fetched.
        ClientError: The server cannot be reached, or refuses.
        StartError: An engine never became ready.
        ChildDied: An engine died.
        BrokenPipeError: The reader of the output left.
    """
    wish = asked.wish
    terminal = Terminal(wish.verbosity)
    if not wish.check:
        refuse_early(wish)
    ready: Ready | None = None
    if asked.target is None:
        ready = _stages(asked)
        if ready is None:
            return USAGE
    models = _models(asked.target, ready, terminal, wish)
    source = open_source(wish.source, _folder(wish))
    with source.file:
        report = check(source.file, source.survey.lines, models)
        if report.bad or wish.check:
            return _tell(report, wish, terminal)
        return _Batch(asked, ready, source, report, terminal).run()


def _stages(asked: Asked) -> Ready | None:
    from omni_cli.serve.entry import prepare_stages  # noqa: PLC0415 - late: a server needs none

    # A check runs nothing, so it fetches nothing.
    return prepare_stages(asked.stages, catalogue(), fetch=not asked.wish.check)


def _models(
    target: Target | None, ready: Ready | None, terminal: Terminal, wish: BatchWish
) -> Collection[str] | None:
    """The names that lines may give as their model; None if they cannot be known."""
    if ready is not None:
        if any(stage.vllm_args.get("lora_modules") for stage in ready.plan.stages):
            return None
        return frozenset(name for stage in ready.plan.stages for name in stage.served_names)
    assert target is not None
    try:
        with Connection(target, progress=terminal.progress) as connection:
            return frozenset(str(card["id"]) for card in connection.models())
    except ClientError as error:
        if not wish.check:
            raise
        terminal.note(f"the models' names are not checked: {error}")
        return None


def _folder(wish: BatchWish) -> Path | None:
    """Where a copy of the input goes: beside the output, where there is room for that too."""
    if wish.check or wish.output == STDIO:
        return None
    return Path(wish.output).absolute().parent


def _tell(report: Report, wish: BatchWish, terminal: Terminal) -> int:
    """Say what the check has found."""
    for bad in report.faults:
        terminal.error(f"{wish.source_name} {bad}")
    if report.hidden:
        terminal.error(f"{wish.source_name}: {report.hidden} more faults are not shown")
    good = "every line can be run" if report.lines else "there are no lines"
    ran = "" if wish.check else "; nothing was run"
    found = f"{report.bad} of {report.lines} lines are bad{ran}" if report.bad else good
    terminal.note(f"{wish.source_name}: {report.lines} lines, {found}")
    if wish.json:
        faults = [
            {
                "line": bad.number,
                "custom_id": bad.custom_id,
                "field": bad.fault.field or None,
                "reason": bad.fault.reason,
                "way_out": bad.fault.way_out or None,
            }
            for bad in report.faults
        ]
        found_object = {"lines": report.lines, "bad": report.bad, "faults": faults}
        terminal.out.write(f"{json.dumps(found_object, ensure_ascii=False)}\n")
    return USAGE if report.bad else DONE


class _Batch:
    """A checked batch, about to run."""

    def __init__(
        self,
        asked: Asked,
        ready: Ready | None,
        source: Source,
        report: Report,
        terminal: Terminal,
    ) -> None:
        self._asked = asked
        self._wish = asked.wish
        self._ready = ready
        self._source = source
        self._report = report
        self._terminal = terminal

    def run(self) -> int:
        wish = self._wish
        with Targets(wish, self._source.survey, self._report.lines) as targets:
            job = self._job(targets)
            files = Descriptors(
                self._source.file.fileno(), targets.output, targets.errors, targets.journal
            )
            try:
                opened = Opened(job, _copied(files))
            except ForeignLine as error:
                raise foreign(error, wish) from error
            show = BatchShow(
                self._terminal,
                lines=self._report.lines,
                done=opened.done.count + opened.waiting,
                failed=opened.failed_before,
                bar=STDIO not in (wish.output, wish.error_target),
            )
            try:
                ending = self._execute(job, files, opened, show)
            except BaseException:
                self._recount(job, files, show)
                self._conclude(show, Ending(), complete=False)
                raise
            complete = show.done == self._report.lines
            if complete:
                targets.finish()
            else:
                self._recount(job, files, show)
        if ending.cause:
            self._terminal.error(ending.cause)
        self._conclude(show, ending, complete=complete)
        if ending.signal == signal.SIGINT and not complete:
            return INTERRUPTED
        if self._source.has_changed:
            self._terminal.error(f"INPUT {wish.source_name}: has changed while it was read")
            return FAILED
        return DONE if complete and not show.failed else FAILED

    def _job(self, targets: Targets) -> Job:
        wish = self._wish
        return Job(
            lines=self._source.survey.lines,
            digest=self._source.survey.digest,
            ordered=wish.ordered,
            resumed=wish.existing == "resume",
            journal=None if targets.journal_path is None else str(targets.journal_path),
            output="stdout" if wish.output == STDIO else wish.output,
            errors="stderr" if wish.error_target == STDIO else wish.error_target,
            concurrency=wish.concurrency,
            max_retries=wish.max_retries,
        )

    def _execute(self, job: Job, files: Descriptors, opened: Opened, show: BatchShow) -> Ending:
        """Run what is left."""
        left = self._report.lines - opened.done.count - opened.waiting
        with show:
            if self._ready is None or not left:
                return run_on_server(self._asked.target, job, opened, show.show)
            opened.close()
            return self._on_engines(self._ready, job, files, show)

    def _on_engines(self, ready: Ready, job: Job, files: Descriptors, show: BatchShow) -> Ending:
        from omni_cli.serve.batch_root import run_on_engines  # noqa: PLC0415 - as late as the start

        end = run_on_engines(
            ready.plan,
            job,
            files,
            self._terminal,
            lambda progress: show.show(_tally(progress)),
            show.line,
            on_cpu=ready.on_cpu,
            log_level=ready.log_level,
            log_folder=ready.log_folder,
        )
        finished = end.finished
        if finished is not None and finished.pipe_closed:
            raise BrokenPipeError
        cause = "" if finished is None else finished.cause
        return Ending(signal=end.signal, cause=cause, load_s=end.load_s)

    def _recount(self, job: Job, files: Descriptors, show: BatchShow) -> None:
        """Count what is in the files: a process that was killed has not told all of it."""
        if job.journal is not None:
            # The one that is there: the worker may have put another in its place.
            journal = os.open(job.journal, os.O_RDWR | os.O_APPEND)
            source, output, errors = map(os.dup, (files.source, files.output, files.errors))
            now = Descriptors(source, output, errors, journal)
            found = Opened(replace(job, resumed=True), now)
            show.correct(done=found.done.count + found.waiting, failed=found.failed_before)
            found.close()

    def _conclude(self, show: BatchShow, ending: Ending, *, complete: bool) -> None:
        wish = self._wish
        errors = "" if wish.error_target == STDIO else wish.error_target
        self._terminal.note(show.summary(errors))
        if not complete and show.done and wish.output != STDIO:
            self._terminal.note("--resume goes on with the lines that have no result")
        if wish.json:
            load_s = None if ending.load_s is None else round(ending.load_s, 3)
            self._terminal.out.write(f"{show.summary_object(load_s=load_s)}\n")


def _tally(progress: object) -> Tally:
    names = Tally.__struct_fields__
    return Tally(**{name: getattr(progress, name) for name in names})


def _copied(files: Descriptors) -> Descriptors:
    return Descriptors(*map(os.dup, files.all()))
