"""The composition root of a batch on engines of its own: stages, and one process that runs the
lines; no listening socket.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import msgspec

from engine_bridge.errors import ChildDied, StartError
from engine_bridge.messages.from_frontend import BatchFinished, BatchProgress
from engine_bridge.plan import RuntimePlan
from engine_bridge.process import become_subreaper
from engine_bridge.run_directory import RunDirectory
from engine_bridge.runtime import FrontDoor, StageRuntime
from engine_bridge.status import RuntimeStatus
from omni_cli.serve.launching import (
    DEFAULT_LOG_LEVEL,
    DISTRIBUTION,
    FRONTEND,
    keep_log,
    loading_text,
    make_launcher,
    stopping,
)
from omni_cli.terminal import Terminal
from server.batch.job import Descriptors, Job

__all__ = ["BatchEnd", "run_on_engines"]

WORKER_TARGET = "server.batch.worker:main"
WORKER_MODULES = ("server.batch.worker",)
# The worker stops its lines at once; what takes time is telling the engines.
DRAIN_TIMEOUT_S = 5.0
TICK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """How a batch on engines of its own ended.

    Attributes:
        finished: What the worker said at its end; None if it never came to it.
        signal: What asked for the end before that, or None.
        load_s: From the start to the first line.
    """

    finished: BatchFinished | None
    signal: signal.Signals | None
    load_s: float


def run_on_engines(
    plan: RuntimePlan,
    job: Job,
    files: Descriptors,
    terminal: Terminal,
    on_progress: Callable[[BatchProgress], None],
    on_line: Callable[[str], None],
    *,
    on_cpu: bool,
    log_level: str | None,
    log_folder: Path,
) -> BatchEnd:
    """Start the stages, run the batch, and stop all of it.

    Args:
        plan: What to run; validated. One process runs the lines, whatever it says.
        job: What that process is told.
        files: The batch's files; the caller keeps them.
        terminal: For messages, on standard error.
        on_progress: Told how far it is.
        on_line: Takes the children's lines that are to be shown.
        on_cpu: Whether vLLM's platform is the CPU.
        log_level: Lowest level of the children's own lines that is shown; None for the default.
        log_folder: Where the lines of a child that failed are kept.

    Raises:
        StartError: If a child never became ready.
        ChildDied: If one died after that.
    """
    become_subreaper()
    directory = RunDirectory()
    try:
        plan = replace(plan, api_server_count=1)
        house = _House(plan, job, files, terminal, directory, on_progress, on_line)
        return asyncio.run(house.run(on_cpu, log_level, log_folder))
    finally:
        directory.remove()


class _House:
    """The parts of one run, wired."""

    def __init__(
        self,
        plan: RuntimePlan,
        job: Job,
        files: Descriptors,
        terminal: Terminal,
        directory: RunDirectory,
        on_progress: Callable[[BatchProgress], None],
        on_line: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._job = job
        self._files = files
        self._terminal = terminal
        self._directory = directory
        self._on_progress = on_progress
        self._on_line = on_line
        self._runtime: StageRuntime | None = None
        self._finished: BatchFinished | None = None
        self._signal: signal.Signals | None = None
        self._status: RuntimeStatus | None = None
        self._shows_lines = False
        self._began_at = time.monotonic()
        self._load_s = 0.0

    async def run(self, on_cpu: bool, log_level: str | None, log_folder: Path) -> BatchEnd:
        self._shows_lines = log_level is not None
        launcher = make_launcher(
            self._plan,
            self._directory,
            on_cpu=on_cpu,
            log_level=log_level or DEFAULT_LOG_LEVEL,
            frontend_modules=WORKER_MODULES,
            write=self._line,
            on_preloaded=self._preloaded,
        )
        door = FrontDoor(
            target=WORKER_TARGET,
            preload=FRONTEND,
            fds=self._files.all(),
            hand_over=_nothing_to_hand_over,
            drain_timeout_s=DRAIN_TIMEOUT_S,
            version=version(DISTRIBUTION),
            settings=msgspec.json.encode(self._job),
            on_report=self._take,
        )
        runtime = StageRuntime(self._plan, launcher, self._directory, door, self._show)
        self._runtime = runtime
        ticking = asyncio.create_task(self._tick())
        try:
            with stopping(self._stop):
                await runtime.run()
        except (StartError, ChildDied) as error:
            self._terminal.progress("")
            lines = runtime.last_lines(error.child)
            keep_log(self._terminal, log_folder, error.child, lines)
            raise
        finally:
            ticking.cancel()
            self._terminal.progress("")
        return BatchEnd(finished=self._finished, signal=self._signal, load_s=self._load_s)

    # ------------------------------------------------------------------- events

    def _take(self, report: BatchProgress | BatchFinished) -> None:
        assert self._runtime is not None
        if isinstance(report, BatchProgress):
            self._on_progress(report)
            return
        self._finished = report
        self._runtime.request_stop()

    def _stop(self, number: signal.Signals) -> None:
        assert self._runtime is not None
        if self._finished is None:
            self._signal = self._signal or number
        self._runtime.request_stop()

    def _preloaded(self, group: str, seconds: float) -> None:
        assert self._runtime is not None
        self._runtime.preloaded(group, seconds)

    # ------------------------------------------------------------------ talking

    def _show(self, status: RuntimeStatus) -> None:
        self._status = status
        if status.ready and not self._load_s:
            self._load_s = time.monotonic() - self._began_at
            self._terminal.progress("")

    def _line(self, text: str) -> None:
        # As for a server: before it is ready, vLLM warns of much that means nothing.
        if self._load_s or self._shows_lines:
            self._terminal.progress("")
            self._on_line(text)

    async def _tick(self) -> None:
        while not self._load_s:
            if self._status is not None and self._signal is None:
                self._terminal.progress(loading_text(self._status))
            await asyncio.sleep(TICK_S)


async def _nothing_to_hand_over() -> None:
    return None
