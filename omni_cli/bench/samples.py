"""Numbers measured many times, and what is said of them. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["DEFAULT_PERCENTILES", "Distribution", "percentile", "summarise"]

DEFAULT_PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class Distribution:
    """What is said of a sample, in the sample's own unit.

    Attributes:
        count: Values in it, each as often as its weight says.
        percentiles: By their number, such as 99.0.
    """

    count: int
    mean: float
    percentiles: dict[float, float]
    max: float

    def as_json(self, scale: float = 1.0, digits: int = 3) -> dict[str, float]:
        """One flat object: ``count``, ``mean``, ``p50`` and so on, ``max``; each value times
        ``scale``."""
        shown: dict[str, float] = {"count": self.count, "mean": round(self.mean * scale, digits)}
        for number, value in self.percentiles.items():
            shown[f"p{number:g}"] = round(value * scale, digits)
        shown["max"] = round(self.max * scale, digits)
        return shown


def percentile(ordered: Sequence[float], ends: Sequence[int], number: float) -> float:
    """The percentile of an ordered weighted sample, by linear interpolation between the two
    nearest ranks: what numpy's default and ``statistics.quantiles(method="inclusive")`` give for
    the sample in which each value stands as often as its weight says.

    Args:
        ordered: The values in ascending order; not empty.
        ends: Sums of the weights (whole, above 0) up to and with each value.
        number: 0 to 100.

    Source: Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), definition 7.
    """
    rank = number / 100.0 * (ends[-1] - 1)
    below = math.floor(rank)
    low = ordered[bisect_right(ends, below)]
    high = ordered[bisect_right(ends, min(below + 1, ends[-1] - 1))]
    return low + (high - low) * (rank - below)


def summarise(
    values: Iterable[float],
    percentiles: Sequence[float] = DEFAULT_PERCENTILES,
    weights: Iterable[int] | None = None,
) -> Distribution | None:
    """Summarise a sample, or None if it is empty.

    Args:
        values: In any order.
        weights: How often each value counts; once if None. One of weight 0 does not.
    """
    if weights is None:
        ordered = sorted(values)
        ends: Sequence[int] = range(1, len(ordered) + 1)
        total = math.fsum(ordered)
    else:
        pairs = sorted(pair for pair in zip(values, weights, strict=True) if pair[1] > 0)
        ordered = [value for value, _ in pairs]
        ends = list(accumulate(weight for _, weight in pairs))
        total = math.fsum(value * weight for value, weight in pairs)
    if not ordered:
        return None
    count = ends[-1]
    found = {number: percentile(ordered, ends, number) for number in percentiles}
    return Distribution(count, total / count, found, ordered[-1])
