"""From a frontend to the parent."""

from __future__ import annotations

import msgspec

from engine_bridge.metrics import Snapshot

__all__ = [
    "BatchFinished",
    "BatchProgress",
    "FrontendFailed",
    "FrontendReady",
    "FromFrontend",
    "MetricsCollected",
    "Scrape",
]


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


class BatchProgress(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How far a batch is. The fields are those of ``server.batch.run.Tally``.

    Attributes:
        done: Lines finished, failed ones included.
        failed: Of those.
        retries: Attempts beyond the first of a line.
        prompt_tokens: As the answers say.
        output_tokens: Likewise.
        seconds: From the first line sent to the last one finished.
    """

    done: int
    failed: int
    retries: int
    prompt_tokens: int
    output_tokens: int
    seconds: float


class BatchFinished(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nothing of the batch runs any more; the last `BatchProgress` came before.

    Attributes:
        cause: Why it ended before its end, in one line; empty if every line has its result.
        pipe_closed: Whether that was because the reader of a pipe left.
    """

    cause: str = ""
    pipe_closed: bool = False


FromFrontend = (
    FrontendReady | FrontendFailed | Scrape | MetricsCollected | BatchProgress | BatchFinished
)
