"""From an engine process to the parent. Readiness itself comes by the engine's own handshake."""

from __future__ import annotations

import msgspec

__all__ = ["ConfigWritten", "EngineFailed", "FromEngine"]


class ConfigWritten(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engine's configuration lies at the agreed path: frontends can begin to load."""


class EngineFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Last words before the process ends.

    Attributes:
        cause: One line.
        rejected: Whether the configuration was refused, so that nothing was loaded.
    """

    cause: str
    rejected: bool


FromEngine = ConfigWritten | EngineFailed
