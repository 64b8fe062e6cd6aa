"""How late the event loop of the load generator itself is.

A chunk that has arrived is timed when the loop gets to it. If the loop is busy, the numbers
describe this client; so a task asks to be woken at fixed times and notes how late that happens.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from types import TracebackType
from typing import Self

__all__ = ["LagSampler"]

# Between two samples: short against a token's time (10 ms and more), and 100 wake-ups a second cost
# next to nothing.
PERIOD_S = 0.01
# Two hours of samples; a longer run keeps the first of them.
MAX_SAMPLES = 720_000


class LagSampler:
    """Samples while its context is open.

    Attributes:
        lags_s: One value per wake-up, not below 0.
        busy_share: CPU time of this process over the time that passed; set at the end. 1 is one
            core.
    """

    def __init__(self) -> None:
        self.lags_s = array("d")
        self.busy_share = 0.0
        self._task: asyncio.Task[None] | None = None
        self._began = (0.0, 0.0)

    async def __aenter__(self) -> Self:
        self._began = (time.monotonic(), time.process_time())
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        passed = time.monotonic() - self._began[0]
        self.busy_share = (time.process_time() - self._began[1]) / passed if passed > 0 else 0.0
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _sample(self) -> None:
        loop = asyncio.get_running_loop()
        while len(self.lags_s) < MAX_SAMPLES:
            due = loop.time() + PERIOD_S
            await asyncio.sleep(PERIOD_S)
            self.lags_s.append(max(loop.time() - due, 0.0))
