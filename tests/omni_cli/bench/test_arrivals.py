"""The times of a Poisson process."""

from __future__ import annotations

import statistics

import pytest

from omni_cli.bench.arrivals import poisson_arrivals


def test_the_seed_decides() -> None:
    assert poisson_arrivals(50, 4.0, seed=1) == poisson_arrivals(50, 4.0, seed=1)
    assert poisson_arrivals(50, 4.0, seed=1) != poisson_arrivals(50, 4.0, seed=2)
    # A longer load begins as a shorter one does
    assert poisson_arrivals(80, 4.0, seed=1)[:50] == poisson_arrivals(50, 4.0, seed=1)


def test_gaps_are_exponential() -> None:
    times = poisson_arrivals(20_000, 5.0, seed=0)
    gaps = [after - before for before, after in zip(times, times[1:], strict=False)]
    assert times[0] == 0.0
    assert statistics.fmean(gaps) == pytest.approx(0.2, rel=0.03)
    # An exponential distribution has its mean as its deviation, and ln 2 of it as its median
    assert statistics.stdev(gaps) == pytest.approx(0.2, rel=0.05)
    assert statistics.median(gaps) == pytest.approx(0.2 * 0.6931, rel=0.05)
