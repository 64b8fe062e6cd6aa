"""What validation finds. All of it is shown at once, one line each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine_bridge.errors import ModelError, UsageError
from omni_cli.terminal import Terminal

__all__ = ["Origin", "Problem", "as_written", "show_problems"]

Origin = Literal["flag", "environment", "file", "pipeline", "default"]
"""Who gave a value, the strongest first; ``file`` is the one that ``--config`` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that keeps a run from starting.

    Attributes:
        subject: The flag, variable, argument, file or package at fault, as the user spells it.
        value: What was given, or None if the point is that nothing was given.
        origin: Where the value comes from.
        reason: Why it cannot be used; no full stop.
        way_out: What to do instead; no full stop. May be empty.
    """

    subject: str
    value: object | None
    origin: Origin
    reason: str
    way_out: str = ""

    def __str__(self) -> str:
        value = None if self.value is None else as_written(self.value)
        return str(UsageError(self.subject, value, self.reason, self.way_out))

    @classmethod
    def of(cls, error: UsageError | ModelError, origin: Origin) -> Problem:
        """Carry over what another part has found."""
        subject, value = (
            (f"model {error.model}", None)
            if isinstance(error, ModelError)
            else (error.subject, error.value)
        )
        return cls(
            subject=subject,
            value=value,
            origin=origin,
            reason=error.reason,
            way_out=error.way_out,
        )


def as_written(value: object) -> str:
    """A value as a user writes it: truth values, lists and objects as JSON, all else as text."""
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def show_problems(problems: Iterable[Problem], terminal: Terminal) -> None:
    """Say all of them, one line each."""
    for problem in problems:
        terminal.error(str(problem))
