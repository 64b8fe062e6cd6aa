"""From words, variables and files to typed values; the rules are vLLM's own types.

Every refusal is one phrase that follows the value in a message. It never repeats the value, which
may be a secret.

Source: vllm/engine/arg_utils.py (``optional_type``, ``union_dict_and_str``, ``parse_dataclass``),
vllm/utils/argparse_utils.py (``human_readable_int``).
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping

from engine_bridge.quantities import parse_count
from omni_cli.flags.dispositions import UNBUILT_VALUES
from omni_cli.flags.flag import Flag

__all__ = ["BadValue", "limits", "read_native", "read_text", "read_word"]

# The kernel's limit for one word of a command line or environment (MAX_ARG_STRLEN).
MAX_TEXT_CHARS = 128 * 1024
# What a message between processes carries as a number.
MAX_INTEGER = 2**63 - 1
# More choices are not listed in a refusal; help lists them.
MAX_LISTED_CHOICES = 8
# vLLM's "the longest that fits".
AUTO_LENGTH = -1

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")
# Numbers with a suffix outside the quoted texts of a JSON document.
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')
_SUFFIXED = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_BRACES = re.compile(r"(?s)^\s*{.*}\s*$")
# Keys that older vLLM versions had, with their names of today.
_FORMER_KEYS = {"compilation_config": {"level": "mode"}}


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


def read_word(flag: Flag, word: str) -> object:
    """Read one word of the command line; a flag that takes several reads each by itself.

    Raises:
        BadValue: If the flag does not take it.
    """
    _check_text(word)
    if flag.nullable and word in ("", "None"):
        return None
    match flag.kind:
        case "switch":
            return _switch(word)
        case "integer":
            return _checked(flag, _integer(flag, word))
        case "number":
            return _checked(flag, _number(flag, word))
        case "count":
            return _checked(flag, _count(flag, word))
        case "length":
            auto = word.strip().lower() == "auto" or word.strip() == "-1"
            return AUTO_LENGTH if auto else _checked(flag, _count(flag, word))
        case "json":
            return _json(word)
        case "object":
            return _object(flag, word)
        case _:
            return _text(flag, word)


def read_text(flag: Flag, text: str) -> object:
    """Read a whole value that is written as one text, as in an environment variable.

    Several values are separated by commas, or given as a JSON list; a switch is true, 1, yes or on,
    or false, 0, no or off.

    Raises:
        BadValue: If the flag does not take it.
    """
    if flag.many == "optional" and text.lower() in _TRUE[:1]:
        return True
    if not flag.list_like:
        return read_word(flag, text)
    if text.lstrip().startswith("["):
        return read_native(flag, _json(text))
    return [read_word(flag, part.strip()) for part in text.split(",")]


def read_native(flag: Flag, value: object) -> object:
    """Read a value from a YAML, TOML or JSON document.

    Raises:
        BadValue: If the flag does not take it.
    """
    if value is None and not flag.nullable or (flag.list_like and value == []):
        raise BadValue("has no value", "give one, or leave the line out")
    if value is None:
        return None
    if flag.list_like:
        items = value if isinstance(value, list) else [value]
        return [_native_item(flag, item) for item in items]
    if flag.many == "optional" and value is True:
        return True
    return _native_item(flag, value)


def limits(flag: Flag) -> str:
    """The values that a flag takes, as a phrase: ``a whole number from 0 to 65535``."""
    if flag.choices:
        return _any_of(flag.choices)
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


def _check_text(text: str) -> None:
    if len(text) > MAX_TEXT_CHARS:
        raise BadValue(f"is longer than {MAX_TEXT_CHARS} characters")
    if "\0" in text:
        raise BadValue("must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadValue("is not valid UTF-8") from None


def _switch(word: str) -> bool:
    if word.lower() in _TRUE + _FALSE:
        return word.lower() in _TRUE
    raise BadValue("must be true or false")


def _integer(flag: Flag, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise _refusal(flag) from None


def _number(flag: Flag, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise _refusal(flag) from None


def _count(flag: Flag, word: str) -> int:
    try:
        return parse_count(word)
    except ValueError as error:
        if word.strip()[:1] == "-":
            raise _refusal(flag) from None
        suffix = ", or auto" if flag.kind == "length" else ""
        raise BadValue(f"{error}{suffix}") from None


def _checked(flag: Flag, number: int | float) -> int | float:
    """A number that is one of the choices, and within the bounds."""
    if isinstance(number, float) and not math.isfinite(number):
        raise _refusal(flag)
    if isinstance(number, int) and abs(number) > MAX_INTEGER:
        raise BadValue(f"is more than {MAX_INTEGER}")
    low, high = flag.low, flag.high
    if flag.choices and str(number) not in flag.choices:
        raise _refusal(flag)
    if low is not None and (number < low or (flag.above_low and number == low)):
        raise _refusal(flag)
    if high is not None and (number > high or (flag.below_high and number == high)):
        raise _refusal(flag)
    return number


def _refusal(flag: Flag) -> BadValue:
    return BadValue(f"must be {limits(flag)}")


def _text(flag: Flag, word: str) -> str:
    text = word.lower().replace("-", "_") if flag.folded else word
    unbuilt = UNBUILT_VALUES.get(flag.dest, {}).get(text)
    if unbuilt:
        raise BadValue(unbuilt, f"use {_any_of(flag.choices)}")
    if flag.choices and text not in flag.choices:
        raise _not_a_choice(flag, text)
    if not text and flag.scope == "run":
        raise BadValue("must not be empty")
    return text


def _not_a_choice(flag: Flag, text: str) -> BadValue:
    near = difflib.get_close_matches(text.lower(), flag.choices, n=1)
    if len(flag.choices) <= MAX_LISTED_CHOICES:
        return BadValue(f"must be {_any_of(flag.choices)}")
    reason = f"is none of its {len(flag.choices)} values"
    help_ = f"`omni serve --help={flag.name.lstrip('-')}` lists them"
    return BadValue(reason, f"did you mean {near[0]}? {help_}" if near else help_)


def _any_of(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def _json(word: str) -> object:
    try:
        value: object = json.loads(word)
    except json.JSONDecodeError as error:
        raise BadValue(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, ValueError):
        raise BadValue("is not JSON that can be read") from None
    return value


def _object(flag: Flag, word: str) -> object:
    if flag.or_text and not _BRACES.match(word):
        return word
    if flag.suffixes:
        word = _without_suffixes(word)
    return _checked_object(flag, _json(word))


def _without_suffixes(text: str) -> str:
    parts = _QUOTED.split(text)
    for index in range(0, len(parts), 2):
        parts[index] = _SUFFIXED.sub(lambda found: str(_suffixed(found.group())), parts[index])
    return "".join(parts)


def _suffixed(text: str) -> int:
    try:
        return parse_count(text)
    except ValueError as error:
        raise BadValue(f"has a number in it that {error}") from None


def _checked_object(flag: Flag, value: object) -> object:
    if not isinstance(value, dict):
        raise BadValue("must be a JSON object, such as '{\"key\": 1}'")
    if flag.keys:
        for key in _unknown_keys(value, flag.keys):
            raise BadValue(f"has no key {key}", _nearest_key(flag, key))
    return value


def _unknown_keys(value: Mapping[object, object], keys: tuple[str, ...]) -> Iterator[str]:
    known = {key for key in keys if "." not in key}
    for key, inner in value.items():
        if key not in known:
            yield str(key)
        inside = tuple(
            name.partition(".")[2] for name in keys if name.partition(".")[0] == key and "." in name
        )
        if inside and isinstance(inner, dict):
            yield from (f"{key}.{name}" for name in _unknown_keys(inner, inside))


def _nearest_key(flag: Flag, key: str) -> str:
    former = _FORMER_KEYS.get(flag.dest, {})
    near = difflib.get_close_matches(key, (*flag.keys, *former), n=1)
    if near:
        return f"did you mean {former.get(near[0], near[0])}?"
    return f"`omni serve --help={flag.name.lstrip('-')}` lists its keys"


def _native_item(flag: Flag, value: object) -> object:
    """One value of a document: numbers are numbers there, but may be written as text too."""
    if flag.kind == "switch":
        if isinstance(value, bool):
            return value
        raise BadValue("must be true or false")
    if flag.kind == "json":
        return _plain_json(value)
    if flag.kind == "object" and not isinstance(value, str):
        return _checked_object(flag, _plain_json(value))
    if isinstance(value, str):
        return read_word(flag, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refusal(flag)
    return _native_number(flag, value)


def _native_number(flag: Flag, value: int | float) -> object:
    if flag.kind == "text":
        return _number_as_text(flag, value)
    if flag.kind == "length" and value == AUTO_LENGTH:
        return AUTO_LENGTH
    if flag.kind == "number":
        return _checked(flag, float(value))
    if isinstance(value, float):
        raise _refusal(flag)
    return _checked(flag, value)


def _number_as_text(flag: Flag, value: int | float) -> str:
    if isinstance(value, float):
        raise BadValue("must be text", "put it into quotes")
    return _text(flag, str(value))


def _plain_json(value: object) -> object:
    """What JSON can carry; TOML and YAML have dates as well."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise BadValue("must be made of texts, numbers, lists and mappings") from None
    return value
