"""Whole numbers as people write them."""

from __future__ import annotations

import pytest

from engine_bridge.quantities import parse_count


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        (" 4096 ", 4096),
        ("1k", 1_000),
        ("1K", 1_024),
        ("25.6k", 25_600),
        ("256M", 268_435_456),
        ("256m", 256_000_000),
        ("1G", 1_073_741_824),
        ("2T", 2_199_023_255_552),
    ],
)
def test_count_is_read(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be a whole number, optionally with a suffix such as 256M or 1G"),
        ("-1", "must be a whole number, optionally with a suffix such as 256M or 1G"),
        ("1GB", "must be a whole number, optionally with a suffix such as 256M or 1G"),
        ("1e9", "must be a whole number, optionally with a suffix such as 256M or 1G"),
        ("9" * 100, "must be a whole number, optionally with a suffix such as 256M or 1G"),
        ("1.5", "must be a whole number"),
        ("1.5G", "decimals need a lower-case suffix (g, powers of 1000)"),
    ],
)
def test_count_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_count(text)
    assert str(caught.value) == reason
