"""What a flag takes, as a phrase and as a check; and the error for what it does not take."""

from __future__ import annotations

import math

from omni_cli.flags.flag import Flag

__all__ = [
    "MAX_INTEGER",
    "MAX_LISTED_CHOICES",
    "BadValue",
    "any_of",
    "checked",
    "limits",
    "out_of_limits",
]

# More choices are not listed in a refusal; help lists them.
MAX_LISTED_CHOICES = 8
# What a message between processes carries as a number.
MAX_INTEGER = 2**63 - 1


class BadValue(ValueError):
    """A value that a flag does not take.

    Attributes:
        reason: Why, as a phrase that follows the value; no full stop.
        way_out: What to do instead, or empty.
    """

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.way_out = way_out


def limits(flag: Flag) -> str:
    """The values that a flag takes, as a phrase: ``a whole number from 0 to 65535``."""
    if flag.choices:
        return any_of(flag.choices)
    nouns = {
        "switch": "true or false",
        "integer": "a whole number",
        "number": "a number",
        "count": "a whole number",
        "length": "a whole number",
        "json": "JSON",
        "object": "a JSON object",
    }
    noun = nouns.get(flag.kind, "text")
    if flag.kind in ("integer", "number", "count", "length"):
        noun += _range(flag)
    return f"{noun} or auto" if flag.kind == "length" else noun


def _range(flag: Flag) -> str:
    low, high = flag.low, flag.high
    above, below = flag.above_low, flag.below_high
    if low is not None and above and flag.kind != "number":
        low, above = low + 1, False
    if low is not None and high is not None and not above and not below:
        return f" from {_plain(low)} to {_plain(high)}"
    parts = []
    if low is not None:
        parts.append(f"{'above' if above else 'of at least'} {_plain(low)}")
    if high is not None:
        parts.append(f"{'below' if below else 'at most'} {_plain(high)}")
    return f" {' and '.join(parts)}" if parts else ""


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def checked(flag: Flag, number: int | float) -> int | float:
    """A number that is one of the choices, and within the bounds.

    Raises:
        BadValue: If it is not.
    """
    if isinstance(number, float) and not math.isfinite(number):
        raise out_of_limits(flag)
    if isinstance(number, int) and abs(number) > MAX_INTEGER:
        raise BadValue(f"is more than {MAX_INTEGER}")
    low, high = flag.low, flag.high
    if flag.choices and str(number) not in flag.choices:
        raise out_of_limits(flag)
    if low is not None and (number < low or (flag.above_low and number == low)):
        raise out_of_limits(flag)
    if high is not None and (number > high or (flag.below_high and number == high)):
        raise out_of_limits(flag)
    return number


def out_of_limits(flag: Flag) -> BadValue:
    """The error for a value that is not what ``limits`` says."""
    return BadValue(f"must be {limits(flag)}")


def any_of(values: tuple[str, ...]) -> str:
    """Values as a phrase: ``auto, fork or spawn``."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"
