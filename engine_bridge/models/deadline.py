"""One end of time for a pull, whatever step it is in."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from engine_bridge.errors import ModelError

__all__ = ["Deadline"]


@dataclass(frozen=True, slots=True)
class Deadline:
    """Starts when it is made.

    Attributes:
        model: The name that the error names.
        seconds: The time allowed.
    """

    model: str
    seconds: float
    _started: float = field(default_factory=time.monotonic)

    def remaining(self) -> float:
        """Return the seconds that are left, never below 0."""
        return max(0.0, self._started + self.seconds - time.monotonic())

    def check(self, doing: str) -> None:
        """Do nothing while there is time.

        Raises:
            ModelError: If the time is used up; says what was being done.
        """
        if self.remaining() <= 0:
            raise ModelError(
                self.model,
                f"{doing} took longer than {self.seconds:g} s",
                "try again, or give it more time with --timeout",
                retryable=True,
            )
