"""From a frontend to the parent."""

from __future__ import annotations

import msgspec

from engine_bridge.metrics import Snapshot

__all__ = ["FrontendFailed", "FrontendReady", "FromFrontend", "MetricsCollected", "Scrape"]


class FrontendReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Every stage answers and the app is built; waits for `Accept`."""


class FrontendFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Last words before the process ends; one line."""

    cause: str


class Scrape(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask for the merged metrics of all ranks; answered by `Scraped` with the same id."""

    id: int


class MetricsCollected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Answer to `CollectMetrics`."""

    id: int
    snapshot: Snapshot


FromFrontend = FrontendReady | FrontendFailed | Scrape | MetricsCollected
