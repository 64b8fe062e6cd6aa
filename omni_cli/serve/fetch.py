"""Bundled models that are not in the cache are fetched before the start.

The listening socket is bound by then, so the parent answers on it already: a probe sees a server
that is starting, and what it waits for, from the first second on.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine_bridge.models.progress import Progress, ProgressCallback
from engine_bridge.models.store import ModelStore
from engine_bridge.status import Phase, RuntimeStatus
from omni_cli.progress import reporter
from omni_cli.serve.model_facts import ModelFacts
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    from server.settings import HttpPlan

__all__ = ["Stopped", "fetch_missing"]


class Stopped(SystemExit):
    """A SIGTERM ended the fetch, which is a good end of the process; nothing half-written is
    left."""


def fetch_missing(
    models: Mapping[str, ModelFacts],
    store: ModelStore,
    terminal: Terminal,
    listener: socket.socket | None = None,
    http: HttpPlan | None = None,
) -> dict[str, ModelFacts]:
    """Fetch and prepare every bundled model that is not here.

    Args:
        models: By the name of the stage.
        store: Where they are kept.
        terminal: Gets the progress.
        listener: Bound and listening; answered on meanwhile, and left open. None if there is none.
        http: How those answers are given; plainly if None.

    Returns:
        The same models, all bundled ones in the cache.

    Raises:
        ModelError: If one cannot be fetched.
        Stopped: On SIGTERM.
        KeyboardInterrupt: On SIGINT.
    """
    if all(facts.entry is None or facts.here for facts in models.values()):
        return dict(models)
    try:
        return asyncio.run(_Fetch(models, store, terminal).run(listener, http))
    except asyncio.CancelledError:
        raise Stopped(0) from None


class _Fetch:
    def __init__(
        self, models: Mapping[str, ModelFacts], store: ModelStore, terminal: Terminal
    ) -> None:
        self._models = models
        self._store = store
        self._terminal = terminal
        self._started_at = time.monotonic()
        self._phases: list[Phase] = []
        self._cancelled = threading.Event()

    async def run(
        self, listener: socket.socket | None, http: HttpPlan | None
    ) -> dict[str, ModelFacts]:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as answering:
            if listener is not None:
                await self._answer(listener, http, answering)
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
            try:
                return await asyncio.to_thread(self._fetch_all)
            finally:
                # The thread ends at its next progress, which raises; the loop waits for it.
                self._cancelled.set()
                loop.remove_signal_handler(signal.SIGTERM)

    async def _answer(
        self,
        listener: socket.socket,
        http: HttpPlan | None,
        answering: contextlib.AsyncExitStack,
    ) -> None:
        # Late: only a first start fetches.
        from server.early import EarlyResponder  # noqa: PLC0415
        from server.settings import HttpPlan as Plan  # noqa: PLC0415

        early = EarlyResponder(listener, self._status, http or Plan())
        await early.start()
        answering.push_async_callback(early.stop)

    def _status(self) -> RuntimeStatus:
        return RuntimeStatus(started_at=self._started_at, phases=tuple(self._phases))

    def _fetch_all(self) -> dict[str, ModelFacts]:
        return {name: self._fetched(facts) for name, facts in self._models.items()}

    def _fetched(self, facts: ModelFacts) -> ModelFacts:
        if facts.entry is None or facts.here:
            return facts
        name = facts.entry.name
        self._phases.append(Phase(name=f"fetch {name}", started_at=time.monotonic()))
        megabytes = facts.entry.download_bytes / 1e6
        self._terminal.note(f"model {name} is not in the cache: fetching {megabytes:.0f} MB, once")
        with reporter(name, self._terminal) as report:
            path = self._store.pull(name, self._cancellable(report))
        self._terminal.note(f"model {name} is ready in {path}")
        self._phases[-1] = Phase(
            name=f"fetch {name}",
            started_at=self._phases[-1].started_at,
            ended_at=time.monotonic(),
        )
        return replace(facts, path=str(path), here=True)

    def _cancellable(self, report: ProgressCallback) -> ProgressCallback:
        def checked(progress: Progress) -> None:
            if self._cancelled.is_set():
                raise asyncio.CancelledError
            report(progress)

        return checked
