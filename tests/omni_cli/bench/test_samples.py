"""Percentiles against the standard library's, which follow the same definition."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_cli.bench.samples import summarise

VALUES = st.floats(0, 1e6, allow_nan=False)
NUMBERS = tuple(float(number) for number in range(1, 100))


@given(st.lists(VALUES, min_size=2, max_size=60))
def test_percentiles_are_those_of_the_standard_library(values: list[float]) -> None:
    found = summarise(values, NUMBERS)
    expected = statistics.quantiles(values, n=100, method="inclusive")
    assert found is not None
    assert list(found.percentiles.values()) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert (found.count, found.max) == (len(values), max(values))


@given(st.lists(st.tuples(VALUES, st.integers(0, 5)), min_size=1, max_size=30))
def test_a_weight_is_the_value_repeated(pairs: list[tuple[float, int]]) -> None:
    values, weights = [list(column) for column in zip(*pairs, strict=True)]
    repeated = [value for value, weight in pairs for _ in range(weight)]
    numbers = (0.0, 12.5, 50.0, 99.9, 100.0)
    found = summarise(values, numbers, weights)
    expected = summarise(repeated, numbers)
    if found is None or expected is None:
        assert found is expected
        return
    assert found.count == expected.count
    assert found.percentiles == pytest.approx(expected.percentiles)
    assert found.mean == pytest.approx(expected.mean)


def test_a_case_worked_by_hand() -> None:
    found = summarise([40.0, 10.0, 30.0, 20.0], (0.0, 50.0, 90.0, 100.0))
    assert found is not None
    # Ranks 0 to 3: the 50th lies at 1.5, the 90th at 2.7
    assert found.percentiles == pytest.approx({0.0: 10.0, 50.0: 25.0, 90.0: 37.0, 100.0: 40.0})
    assert found.as_json() == {
        "count": 4, "mean": 25.0, "p0": 10.0, "p50": 25.0, "p90": 37.0, "p100": 40.0, "max": 40.0,
    }  # fmt: skip


def test_nothing_measured_is_nothing_said() -> None:
    assert summarise([]) is None
    assert summarise([1.0], weights=[0]) is None
