"""The name that is likely to be meant by one that is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["MIN_LIKENESS", "did_you_mean"]

MIN_LIKENESS = 0.6  # difflib's own


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str, *, likeness: float = MIN_LIKENESS
) -> str:
    """A way out for a name that nobody knows.

    Args:
        name: As given.
        known: The names there are.
        otherwise: What to say if none of them is like it.
        likeness: How alike two names must be, 0 to 1 (``difflib.SequenceMatcher.ratio``).
    """
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=likeness)
    return f"did you mean {near[0]}?" if near else otherwise
