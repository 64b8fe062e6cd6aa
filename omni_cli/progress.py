"""How a pull is shown on stderr: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine_bridge.models.progress import Progress, ProgressCallback
from omni_cli.terminal import Terminal

__all__ = ["line_reporter", "reporter"]

# Between two lines of a log that nobody may be watching.
LINE_EVERY_S = 3.0

# A bar that moves faster only costs time.
BAR_REDRAWS_PER_S = 8

WORDS = {
    "wait": "waiting for another process that prepares it",
    "download": "downloading",
    "unpack": "unpacking",
    "prepare": "preparing",
    "check": "checking",
}


@contextmanager
def reporter(name: str, terminal: Terminal) -> Iterator[ProgressCallback]:
    """Yield the callback for a pull of ``name``; what it draws is gone at the end of the block."""
    if terminal.err.moves:
        with _bar(name) as report:
            yield report
    else:
        yield line_reporter(name, terminal.note, time.monotonic)


def line_reporter(
    name: str, write: Callable[[str], None], clock: Callable[[], float]
) -> ProgressCallback:
    """Return a callback that writes a line when a step begins, and every few seconds within it."""
    last_step = ""
    next_at = 0.0

    def report(progress: Progress) -> None:
        nonlocal last_step, next_at
        now = clock()
        if progress.step == last_step and now < next_at:
            return
        last_step, next_at = progress.step, now + LINE_EVERY_S
        amount = (
            f" {progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB" if progress.total else ""
        )
        write(f"{name}: {WORDS[progress.step]}{amount}")

    return report


@contextmanager
def _bar(name: str) -> Iterator[ProgressCallback]:
    from rich import progress as rich_progress  # noqa: PLC0415 - 0.1 s that only a terminal needs
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.DownloadColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=BAR_REDRAWS_PER_S,
    ) as bar:
        task = bar.add_task(name, total=None)

        def report(progress: Progress) -> None:
            bar.update(
                task,
                description=f"{name}: {WORDS[progress.step]}",
                completed=progress.done,
                total=progress.total or None,
            )

        yield report
