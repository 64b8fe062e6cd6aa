"""How a load is shown on stderr while it runs."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from omni_cli.bench.record import Outcome, Record
from omni_cli.terminal import Terminal

__all__ = ["LoadProgress"]

# Between two texts: on a terminal often enough to look alive, elsewhere a line now and then
REDRAW_S = 0.25
LINE_EVERY_S = 10.0


class LoadProgress:
    """Told of each request that has ended; says so when it is time to. A context manager."""

    def __init__(self, planned: int, terminal: Terminal) -> None:
        self._planned = planned
        self._terminal = terminal
        self._every = REDRAW_S if terminal.err.moves else LINE_EVERY_S
        self._began = time.monotonic()
        self._next = 0.0
        self._ended = 0
        self._failed = 0

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._next = self._began + self._every
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._terminal.progress("")

    def note(self, record: Record) -> None:
        """Count a request that has ended."""
        self._ended += 1
        self._failed += record.outcome is Outcome.FAILED
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        failed = f", {self._failed} failed" if self._failed else ""
        passed = now - self._began
        self._terminal.progress(
            f"{self._ended} of {self._planned} requests{failed}, {passed:.0f} s"
        )
