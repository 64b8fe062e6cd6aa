"""When the requests of a load are sent. Pure: the same seed gives the same times."""

from __future__ import annotations

import random

__all__ = ["poisson_arrivals"]


def poisson_arrivals(count: int, rate: float, seed: int) -> list[float]:
    """Times of a Poisson process, as independent users make it.

    Args:
        count: Number of requests.
        rate: Mean requests per second, above 0.

    Returns:
        Seconds after the start, ascending; the first is 0.
    """
    source = random.Random(f"arrivals:{seed}")
    times, now = [], 0.0
    for _ in range(count):
        times.append(now)
        now += source.expovariate(rate)
    return times
