"""One scrape over all ranks and engines: who is asked, how long, and the text that results."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import msgspec
import zmq

from engine_bridge.messages.from_frontend import MetricsCollected
from engine_bridge.messages.to_frontend import CollectMetrics
from engine_bridge.metrics import EngineGauges, MetricsOwner
from engine_bridge.stage_link import EngineDead, StageLink

__all__ = ["Scraper"]

# A frontend answers between two callbacks of its loop; a scrape must not hang on one that is busy.
SCRAPE_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _Collection:
    """Answers of the frontends to one scrape."""

    missing: set[int]
    done: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Scraper:
    """The owner of a run's metrics.

    Args:
        tell: Sends a message to a rank.
    """

    def __init__(self, tell: Callable[[int, msgspec.Struct], Awaitable[None]]) -> None:
        self._tell = tell
        self._owner = MetricsOwner()
        self._collections: dict[int, _Collection] = {}
        self._ids = itertools.count(1)

    async def scrape(self, ranks: Iterable[int], engines: Iterable[tuple[str, StageLink]]) -> str:
        """Ask every rank for its counters and every engine for its gauges.

        Args:
            ranks: Frontends that can answer. One that does not in time counts as it last was.
            engines: Canonical served name and link of each stage that is ready.

        Returns:
            Prometheus text, the same whoever asks.
        """
        scrape_id = next(self._ids)
        collection = self._collections[scrape_id] = _Collection(set(ranks))
        try:
            for rank in sorted(collection.missing):
                await self._tell(rank, CollectMetrics(id=scrape_id))
            gauges = await asyncio.gather(*(_gauges(name, link) for name, link in engines))
            if collection.missing:
                await asyncio.wait([collection.done], timeout=SCRAPE_TIMEOUT_S)
        finally:
            del self._collections[scrape_id]
        return self._owner.render([gauge for gauge in gauges if gauge is not None])

    def take(self, rank: int, answer: MetricsCollected) -> None:
        """Take a rank's answer, also one that comes too late for its scrape."""
        self._owner.update(rank, answer.snapshot)
        collection = self._collections.get(answer.id)
        if collection is None:
            return
        collection.missing.discard(rank)
        if not collection.missing and not collection.done.done():
            collection.done.set_result(None)


async def _gauges(model_name: str, link: StageLink) -> EngineGauges | None:
    try:
        answer = await link.call("omni_gauges", timeout_s=SCRAPE_TIMEOUT_S)
    except (TimeoutError, EngineDead, RuntimeError, zmq.ZMQError):
        return None
    if not isinstance(answer, dict):
        return None
    return msgspec.convert({"model_name": model_name, **answer}, EngineGauges)
