"""What is tried again, and when."""

from __future__ import annotations

import email.utils
import time

import pytest

from server.batch.results import Answer
from server.batch.retry import MAX_DELAY_S, MAX_RETRY_AFTER_S, may_retry, retry_delay_s


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_retried(status: int) -> None:
    assert may_retry(Answer(status, "", b""))


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 413, 422, 501, 505])
def test_not_retried(status: int) -> None:
    assert not may_retry(Answer(status, "", b""))


def test_delays_grow_up_to_a_bound_and_are_spread() -> None:
    for attempt, longest in ((1, 0.5), (2, 1.0), (5, 8.0), (9, MAX_DELAY_S), (1000, MAX_DELAY_S)):
        delays = [retry_delay_s(attempt) for _ in range(200)]
        assert longest / 2 <= min(delays) < max(delays) <= longest
        assert len({round(delay, 6) for delay in delays}) > 50


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [("0", 0.0), ("7", 7.0), ("9999999999", MAX_RETRY_AFTER_S), ("9" * 500, MAX_RETRY_AFTER_S)],
)
def test_server_names_the_delay(retry_after: str, expected: float) -> None:
    assert retry_delay_s(1, retry_after) == expected


def test_server_names_a_date() -> None:
    date = email.utils.formatdate(time.time() + 20, usegmt=True)
    assert 18 <= retry_delay_s(1, date) <= 20
    assert retry_delay_s(1, "Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@pytest.mark.parametrize("retry_after", ["soon", "-1", "1.5", "²"])
def test_nonsense_counts_as_nothing(retry_after: str) -> None:
    assert 0.25 <= retry_delay_s(1, retry_after) <= 0.5
