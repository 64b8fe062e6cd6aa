"""What a batch says while it runs, and at its end: on stderr, but for ``--json``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from omni_cli.terminal import Terminal, escape
from server.batch.run import Tally

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["BatchShow"]

# Between two lines of a log that nobody may be watching.
LINE_EVERY_S = 10.0
BAR_REDRAWS_PER_S = 4


class BatchShow:
    """Speaks for one batch; a context manager around its running.

    Args:
        terminal: Where to speak.
        lines: Lines of the batch.
        done: Those that had their result before this run.
        failed: Of those.
        bar: Whether a bar may be drawn; lines of results on the same terminal would break it.
        clock: In seconds.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        lines: int,
        done: int,
        failed: int,
        bar: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal = terminal
        self._lines = lines
        self._before = done
        self._failed_before = failed
        self._clock = clock
        self._tally = Tally()
        self._next_line_at: float | None = None
        self._bar: Progress | None = None
        if bar and terminal.err.moves and terminal.verbosity >= 0:
            self._bar = _make_bar()
            self._bar.add_task("lines", total=self._lines, completed=self._before, rest="")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def tally(self) -> Tally:
        """What this run was last said to have done."""
        return self._tally

    @property
    def done(self) -> int:
        """Lines that have their result."""
        return self._before + self._tally.done

    @property
    def failed(self) -> int:
        """Lines that have failed, before or now."""
        return self._failed_before + self._tally.failed

    def show(self, tally: Tally) -> None:
        """Take a new count."""
        self._tally = tally
        if self._bar is not None:
            self._bar.start()  # with the first count: until then the engines load
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=self.done, rest=self._rest())
        elif self._next_line_at is None:
            self._next_line_at = self._clock() + LINE_EVERY_S
        elif self._clock() >= self._next_line_at:
            self._next_line_at = self._clock() + LINE_EVERY_S
            left = self._left_s()
            ending = "" if left is None else f", {left:.0f} s left"
            self._terminal.note(f"{self.done} of {self._lines} lines{self._rest()}{ending}")

    def correct(self, *, done: int, failed: int) -> None:
        """Take how many lines have their result, and how many of them have failed, as the files
        say."""
        self._tally = replace(
            self._tally, done=done - self._before, failed=failed - self._failed_before
        )

    def line(self, text: str) -> None:
        """Pass on a line of a child, above the bar."""
        if self._bar is not None and self._bar.live.is_started:
            self._bar.console.print(escape(text), markup=False, highlight=False, soft_wrap=True)
        else:
            self._terminal.err.show(f"{text}\n")

    def summary(self, errors: str) -> str:
        """One line for people.

        Args:
            errors: Where the failed lines are.
        """
        tally = self._tally
        where = f" (see {errors})" if self.failed and errors else ""
        before = f", {self._before} of them before this run" if self._before else ""
        rate = self._rates() if tally.done else ""
        retried = f", {tally.retries} retries" if tally.retries else ""
        return (
            f"{self.done} of {self._lines} lines in {tally.seconds:.1f} s{before}: "
            f"{self.done - self.failed} done, {self.failed} failed{where}{rate}{retried}"
        )

    def summary_object(self, **more: object) -> str:
        """One JSON object for programs."""
        tally = self._tally
        return json.dumps(
            {
                "lines": self._lines,
                "done": self.done,
                "failed": self.failed,
                "done_before": self._before,
                "retries": tally.retries,
                "prompt_tokens": tally.prompt_tokens,
                "output_tokens": tally.output_tokens,
                "seconds": round(tally.seconds, 3),
                "lines_per_s": round(_rate(tally.done, tally.seconds), 3),
                "output_tokens_per_s": round(_rate(tally.output_tokens, tally.seconds), 3),
                **more,
            }
        )

    def _rest(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return failed + (self._rates() if self._tally.done else "")

    def _rates(self) -> str:
        tally = self._tally
        text = f", {_rate(tally.done, tally.seconds):.1f} lines/s"
        tokens = tally.output_tokens or tally.prompt_tokens
        return text + (f", {_rate(tokens, tally.seconds):.0f} tokens/s" if tokens else "")

    def _left_s(self) -> float | None:
        rate = _rate(self._tally.done, self._tally.seconds)
        return (self._lines - self.done) / rate if rate else None


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _make_bar() -> Progress:
    from rich import progress  # noqa: PLC0415 - 0.1 s that only a terminal needs
    from rich.console import Console  # noqa: PLC0415

    return progress.Progress(
        progress.BarColumn(bar_width=None),
        progress.MofNCompleteColumn(),
        progress.TextColumn("lines{task.fields[rest]}"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        expand=True,
        refresh_per_second=BAR_REDRAWS_PER_S,
    )
