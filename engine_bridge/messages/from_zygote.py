"""From the zygote to the parent."""

from __future__ import annotations

import msgspec

__all__ = ["Forked", "FromZygote", "Preloaded", "ZygoteFailed"]


class Preloaded(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A preload group is in.

    Attributes:
        group: ``engine`` or ``frontend``.
        seconds: Time that it took.
        threads: Threads of the zygote; 1, or a fork would not be safe.
    """

    group: str
    seconds: float
    threads: int


class Forked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The child asked for longest is there; answers come in the order of the requests."""

    pid: int


class ZygoteFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Last words: a module of a preload group cannot be imported. One line."""

    cause: str


FromZygote = Preloaded | Forked | ZygoteFailed
