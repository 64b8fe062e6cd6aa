"""How a long step tells its caller how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "ProgressCallback", "Step", "ignore"]

Step = Literal["wait", "download", "unpack", "prepare", "check"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step is.

    Attributes:
        done: Bytes done, never falling within a step. 0 while waiting.
        total: Bytes to do, or 0 if that is not known.
        step: ``wait`` for another process that prepares the same model, ``download`` the packages,
            ``unpack`` their members, ``prepare`` the weights, ``check`` what was written.
    """

    done: int
    total: int
    step: Step


ProgressCallback = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """Take no notice."""
