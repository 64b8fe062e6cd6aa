"""How fast an answer is said to have come."""

from __future__ import annotations

import pytest

from omni_cli.client.answer import Answer
from omni_cli.client.summary import stats_line


@pytest.mark.parametrize(
    ("reads", "rate"),
    [
        ([1, 2, 3, 4], "150.0"),  # three tokens in the 20 ms after the first
        ([1, 1, 2, 2], "150.0"),
        ([1, 1, 1, 1], "4.0"),  # at once: four in the whole second
        ([0], "4.0"),
    ],
)
def test_a_rate_between_tokens_needs_two_arrivals(reads: list[int], rate: str) -> None:
    answer = Answer()
    for read in reads:
        answer.add("a", read)
    answer.usage = {"completion_tokens": 4}
    answer.first_s, answer.total_s = 0.98, 1.0
    assert stats_line(answer) == f"stats: first token 0.98 s, 4 tokens in 1.00 s, {rate} tokens/s"
