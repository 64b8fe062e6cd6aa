"""Limits, and which requests meet them: worked by hand."""

from __future__ import annotations

import pytest

from engine_bridge.errors import UsageError
from omni_cli.bench.goodput import met, parse_limits
from omni_cli.bench.record import Outcome, Record


def record(
    ttft_s: float | None = 0.4,
    decode_s: float | None = 1.0,
    tokens: int | None = 21,
    outcome: Outcome = Outcome.OK,
) -> Record:
    """By default: 400 ms to the first token, then 50 ms for each."""
    return Record(
        0, 0.0, outcome=outcome, ttft_s=ttft_s, decode_s=decode_s, output_tokens=tokens, e2e_s=1.5
    )


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        (["ttft:500"], {"ttft": 500.0}),
        (["ttft:500", "tpot:50.5"], {"ttft": 500.0, "tpot": 50.5}),
        (["ttft:500,e2el:9000"], {"ttft": 500.0, "e2e": 9000.0}),
        (["ttft:500 tpot:50"], {"ttft": 500.0, "tpot": 50.0}),
    ],
)
def test_limits_are_read_in_every_spelling(words: list[str], limits: dict[str, float]) -> None:
    assert parse_limits(words) == limits


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("ttft", "limits none of ttft, tpot, e2e"),
        ("speed:3", "limits none of ttft, tpot, e2e"),
        ("ttft:", "has no number"),
        ("ttft:0", "must be above 0"),
        ("ttft:nan", "must be above 0"),
        ("ttft:1,ttft:2", "sets a limit twice"),
    ],
)
def test_a_limit_that_is_none_is_refused(word: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_limits([word])


@pytest.mark.parametrize(
    ("found", "limits", "verdict"),
    [
        (record(), {"ttft": 400.0, "tpot": 50.0, "e2e": 1500.0}, True),
        (record(), {"ttft": 399.0}, False),
        (record(), {"tpot": 49.9}, False),
        (record(), {"e2e": 1499.0}, False),
        (record(tokens=1), {"tpot": 1.0}, True),
        (record(tokens=None), {"tpot": 50.0}, None),
        (record(tokens=None), {"tpot": 50.0, "ttft": 1.0}, False),
        (record(outcome=Outcome.FAILED), {"ttft": 9000.0}, False),
    ],
)
def test_a_request_meets_all_or_it_does_not(
    found: Record, limits: dict[str, float], verdict: bool | None
) -> None:
    assert met(found, limits) is verdict
