"""Goodput: the requests that were as fast as they had to be. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine_bridge.errors import UsageError
from omni_cli.bench.record import Outcome, Record

__all__ = ["LIMITS", "met", "parse_limits"]

# What a limit may be set on; e2el is what vLLM's benchmark calls the end-to-end time.
LIMITS = ("ttft", "tpot", "e2e")
_ALIASES = {"e2el": "e2e"}
_WAY_OUT = "give it like ttft:500 tpot:50, in milliseconds"


def parse_limits(words: Sequence[str]) -> dict[str, float]:
    """Read limits such as ``ttft:500``; several may stand in one word, with commas.

    Returns:
        Milliseconds by name.

    Raises:
        UsageError: One is none, or a name stands twice.
    """
    limits: dict[str, float] = {}
    for word in (part for given in words for part in given.replace(",", " ").split()):
        name, colon, number = word.partition(":")
        name = _ALIASES.get(name, name)
        if not colon or name not in LIMITS:
            known = ", ".join(LIMITS)
            raise UsageError("--goodput", word, f"limits none of {known}", _WAY_OUT)
        if name in limits:
            raise UsageError("--goodput", word, "sets a limit twice", "give each once")
        try:
            limits[name] = float(number)
        except ValueError as error:
            raise UsageError("--goodput", word, "has no number", _WAY_OUT) from error
        if not 0 < limits[name] < float("inf"):
            raise UsageError("--goodput", word, "must be above 0", _WAY_OUT)
    return limits


def met(record: Record, limits_ms: Mapping[str, float]) -> bool | None:
    """Whether a request met every limit; None if it cannot be told, as nobody counted its tokens.

    A request that failed met none.
    """
    if record.outcome is not Outcome.OK:
        return False
    found = {"ttft": record.ttft_s, "tpot": record.tpot_s, "e2e": record.e2e_s}
    verdicts = [
        None if found[name] is None else _ms(found[name]) <= limit
        for name, limit in limits_ms.items()
    ]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _ms(seconds: float | None) -> float:
    return 1000.0 * (seconds or 0.0)
