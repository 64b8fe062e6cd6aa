"""From the parent to a frontend."""

from __future__ import annotations

import msgspec

from engine_bridge.status import RuntimeStatus

__all__ = [
    "Accept",
    "CollectMetrics",
    "Drain",
    "Scraped",
    "StageEndpoint",
    "StartFrontend",
    "StatusChanged",
    "ToFrontend",
]


class StageEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How this rank reaches one stage.

    Attributes:
        name: The stage's name.
        served_names: Names by which requests select it.
        config_path: The engine's configuration, in the private run directory.
        input_address: ZMQ address of the listener on which this rank sends.
        output_address: ZMQ address of the listener on which this rank receives.
    """

    name: str
    served_names: tuple[str, ...]
    config_path: str
    input_address: str
    output_address: str


class StartFrontend(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message. Descriptors: the HTTP listener, the accept ledger, then input and output
    of each stage.

    Attributes:
        rank: This frontend's client rank, from 0.
        api_server_count: Number of frontends.
        clients: Ranks of each engine: the frontends, and the parent.
        stages: In the pipeline's order.
        drain_timeout_s: Longest that running requests may take after `Drain`.
        version: omni's own version.
        settings: Whatever else the entry point wants to be told, encoded as JSON by the
            composition root.
    """

    rank: int
    api_server_count: int
    clients: int
    stages: tuple[StageEndpoint, ...]
    drain_timeout_s: float
    version: str
    settings: bytes = b"{}"


class Accept(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Begin to accept connections: the parent has let go of the listening socket."""


class StatusChanged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What health routes answer from."""

    status: RuntimeStatus


class CollectMetrics(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask for this rank's counters; answered by `MetricsCollected` with the same id."""

    id: int


class Scraped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Answer to `Scrape`: the merged exposition text."""

    id: int
    text: str


class Drain(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Accept nothing new, finish what runs, then exit with 0."""


ToFrontend = StartFrontend | Accept | StatusChanged | CollectMetrics | Scraped | Drain
