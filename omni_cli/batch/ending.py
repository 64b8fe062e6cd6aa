"""How the running of a batch ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass

__all__ = ["Ending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why nothing of a batch runs any more.

    Attributes:
        signal: What asked for the end before its time, or None.
        cause: What kept results from being written, in one line, or empty.
        load_s: From the start of the engines to the first line; None if there are none.
    """

    signal: signal.Signals | None = None
    cause: str = ""
    load_s: float | None = None
