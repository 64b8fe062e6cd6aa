"""Whole numbers as people write them: ``256M``, ``1G``, ``25.6k``."""

from __future__ import annotations

import re

__all__ = ["parse_count"]

_WRITTEN = re.compile(r"(\d{1,18})(\.\d{1,6})?([kKmMgGtT])?")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_count(text: str) -> int:
    """Read a whole number with an optional suffix, by vLLM's rules.

    Args:
        text: Digits, then nothing, or ``k m g t`` (powers of 1000, decimals allowed), or
            ``K M G T`` (powers of 1024).

    Raises:
        ValueError: If it is not such a number; the message is one line without the value.

    Source: ``human_readable_int`` in vllm/utils/argparse_utils.py.
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError("must be a whole number, optionally with a suffix such as 256M or 1G")
    digits, decimals, suffix = match.groups()
    if suffix is None:
        if decimals is not None:
            raise ValueError("must be a whole number")
        return int(digits)
    if suffix.isupper():
        if decimals is not None:
            lower = suffix.lower()
            raise ValueError(f"decimals need a lower-case suffix ({lower}, powers of 1000)")
        return int(digits) << 10 * _POWERS[suffix.lower()]
    thousands: int = 1000 ** _POWERS[suffix]
    return int(float(digits + (decimals or "")) * thousands)
