"""The state of a run as the parent knows it, and as every process reports it."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

__all__ = ["ChildState", "Phase", "RuntimeStatus"]

ChildState = Literal["starting", "ready", "draining", "stopped", "failed"]


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the start.

    Times are CLOCK_MONOTONIC seconds, which on Linux all processes of a machine share.
    """

    name: str
    started_at: float
    ended_at: float | None = None

    def elapsed_s(self) -> float:
        """Seconds from the phase's start to its end, or until now."""
        return (time.monotonic() if self.ended_at is None else self.ended_at) - self.started_at


class RuntimeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What `/readyz` and `/startupz` answer from; broadcast to every frontend at each change.

    Attributes:
        started_at: CLOCK_MONOTONIC seconds.
        phases: In the order of their starts.
        stages: State of each stage by name.
        frontends: State of each frontend by rank, in the order of ranks.
    """

    started_at: float
    phases: tuple[Phase, ...] = ()
    stages: dict[str, ChildState] = {}
    frontends: tuple[ChildState, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether every stage and every frontend is ready."""
        return not self.waiting_for()

    def waiting_for(self) -> list[str]:
        """Names of the children that are not ready, stages first (``frontend 1``)."""
        late = [f"stage {name}" for name, state in self.stages.items() if state != "ready"]
        late += [
            f"frontend {rank}" for rank, state in enumerate(self.frontends) if state != "ready"
        ]
        return late if self.stages or self.frontends else ["start"]
