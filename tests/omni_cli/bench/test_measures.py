"""Numbers from records: cases worked by hand."""

from __future__ import annotations

from array import array

import pytest

from omni_cli.bench.load import Ending, LoadResult
from omni_cli.bench.measures import measure
from omni_cli.bench.record import Failure, Outcome, Record


def good(
    sent_s: float, took_s: float, gaps_s: tuple[float, ...] = (), tokens: tuple[int, ...] = ()
) -> Record:
    return Record(
        0,
        sent_s,
        outcome=Outcome.OK,
        ttft_s=0.1,
        decode_s=sum(gaps_s),
        e2e_s=took_s,
        took_s=took_s,
        prompt_tokens=10,
        output_tokens=1 + sum(tokens),
        gaps_s=array("d", gaps_s),
        gap_tokens=array("l", tokens),
        exact=True,
    )


def test_by_token_a_gap_counts_once_for_each_of_its_tokens() -> None:
    m = measure(LoadResult([good(0, 1, (0.4, 0.3), (4, 1))]), 1, expected_tokens=True)
    assert m.itl_chunk is not None
    assert m.itl_token is not None
    assert m.itl_chunk.count == 2
    assert m.itl_chunk.mean == pytest.approx(0.35)
    # 0.1 four times and 0.3 once
    assert m.itl_token.count == 5
    assert m.itl_token.mean == pytest.approx(0.14)
    assert m.itl_token.percentiles[50.0] == pytest.approx(0.1)


def test_a_chunk_without_a_whole_token_adds_to_the_next() -> None:
    m = measure(LoadResult([good(0, 1, (0.2, 0.4), (0, 2))]), 1, expected_tokens=True)
    assert m.itl_token is not None
    assert m.itl_token.count == 2
    assert m.itl_token.mean == pytest.approx(0.3)


def test_concurrency_is_what_overlaps() -> None:
    # In flight: one for 1 s, two for 1 s, one for 1 s, none for 1 s, one for 1 s
    m = measure(LoadResult([good(5, 2), good(6, 2), good(9, 1)]), 3)
    assert (m.duration_s, m.peak_concurrency) == (5.0, 2)
    assert m.mean_concurrency == pytest.approx(1.0)
    assert m.per_second(m.ok) == pytest.approx(0.6)
    assert m.per_second(m.total_tokens) == pytest.approx(33 / 5)


def test_one_after_the_other_is_one_at_a_time() -> None:
    assert measure(LoadResult([good(0, 1), good(1, 1)]), 2).peak_concurrency == 1


def test_failures_come_by_number_with_the_first_message() -> None:
    def failed(kind: str, message: str) -> Record:
        record = Record(0, 0.0, outcome=Outcome.FAILED, took_s=1.0)
        record.failure = Failure(kind, message)
        return record

    records = [failed("timeout", "a"), failed("http_500", "b"), failed("http_500", "c"), good(0, 1)]
    m = measure(LoadResult(records), 4)
    found = [(each.kind, each.count, each.example) for each in m.failures]
    assert found == [("http_500", 2, "b"), ("timeout", 1, "a")]
    assert (m.ok, m.failed) == (1, 3)


def test_nothing_sent_is_nothing_told() -> None:
    m = measure(LoadResult(ended=Ending.INTERRUPTED), 5, limits_ms={"ttft": 1.0})
    assert (m.ok, m.failed, m.unfinished, m.duration_s) == (0, 0, 0, 0.0)
    assert (m.e2e, m.goodput, m.per_second(m.ok)) == (None, None, None)


@pytest.mark.parametrize(("lag_s", "told"), [(0.02, False), (0.03, True)])
def test_lag_is_told_where_it_shapes_the_numbers(lag_s: float, told: bool) -> None:
    # A quarter of the 100 ms between two chunks is the bound
    result = LoadResult([good(0, 1, (0.1, 0.1), (1, 1))], lags_s=[lag_s] * 100)
    notes = measure(result, 1, expected_tokens=True).notes
    assert any("its event loop lagged by 30.0 ms" in note for note in notes) is told


@pytest.mark.parametrize(("share", "seconds", "told"), [(0.95, 2, 1), (0.95, 0.5, 0), (0.5, 2, 0)])
def test_a_busy_client_is_told(share: float, seconds: float, told: int) -> None:
    result = LoadResult([good(0, seconds)], busy_share=share)
    assert sum("this client was busy" in note for note in measure(result, 1).notes) == told
