"""JSON values, and the objects that vLLM makes configurations of: their keys and what stands under
them.

Only what vLLM certainly refuses is refused here (engine_bridge/vllm_flag_keys.py); the rest is left
to vLLM when the stage starts.

Source: ``parse_dataclass`` and ``union_dict_and_str`` in vllm/engine/arg_utils.py; conversion table
of pydantic (lax mode).
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from engine_bridge.quantities import parse_count
from engine_bridge.suggest import did_you_mean
from omni_cli.flags.flag import Flag
from omni_cli.flags.limits import MAX_LISTED_CHOICES, BadValue, checked, limits

__all__ = ["checked_object", "plain_json", "read_json", "read_object"]

# Numbers with a suffix outside the quoted texts of a JSON document.
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')
_SUFFIXED = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_BRACES = re.compile(r"(?s)^\s*{.*}\s*$")
# As in files; vLLM's own configurations have three levels.
MAX_DEPTH = 24
# Keys that older vLLM versions had, with their names of today.
_FORMER_KEYS = {"compilation_config": {"level": "mode"}}
# Not the same as null, which not every key takes.
_MISSING = object()
# Texts and numbers that pydantic takes for a truth value.
_TRUTHS = frozenset(("0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"))


def read_json(word: str) -> object:
    """Any JSON value written as one word.

    Raises:
        BadValue: If it is none.
    """
    try:
        value: object = json.loads(word)
    except json.JSONDecodeError as error:
        raise BadValue(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, ValueError):
        raise BadValue("is not JSON that can be read") from None
    _check_inside(value)
    return value


def read_object(flag: Flag, word: str) -> object:
    """A JSON object written as one word, or the text that a flag takes in its place.

    Raises:
        BadValue: If vLLM would not take it.
    """
    if flag.or_text and not _BRACES.match(word):
        return word
    if flag.suffixes:
        word = _without_suffixes(word)
    return checked_object(flag, read_json(word))


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


def checked_object(flag: Flag, value: object) -> object:
    """An object whose keys and plain values vLLM takes.

    Raises:
        BadValue: If it is none.
    """
    if not isinstance(value, dict):
        raise BadValue("must be a JSON object, such as '{\"key\": 1}'")
    if flag.keys:
        for key in _unknown_keys(value, flag.keys):
            raise BadValue(f"has no key {key}", _nearest_key(flag, key))
    for inner in flag.inner:
        found = _at(value, inner.dest.split("."))
        if found is not _MISSING and not (
            found is None and inner.nullable or _may_be(inner, found)
        ):
            raise _bad_inner(inner, found)
    return value


def _bad_inner(inner: Flag, value: object) -> BadValue:
    if len(inner.choices) <= MAX_LISTED_CHOICES:
        return BadValue(f"its {inner.dest} must be {limits(inner)}")
    listed = f"it may be {', '.join(inner.choices)}"
    reason = f"its {inner.dest} is none of {len(inner.choices)} names"
    return BadValue(reason, did_you_mean(_name(inner, value), inner.choices, listed))


def _at(value: object, path: list[str]) -> object:
    for key in path:
        value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _may_be(inner: Flag, value: object) -> bool:
    """Whether pydantic makes a value of this kind of it: texts may stand for numbers, and so on."""
    try:
        match inner.kind:
            case "text" if inner.choices:
                return _name(inner, value) in inner.choices
            case "text":
                return isinstance(value, str)
            case "switch":
                return isinstance(value, bool) or str(value).lower() in _TRUTHS
            case "integer" if isinstance(value, bool | int | float | str):
                whole = float(value).is_integer()
                return whole and checked(inner, int(float(value))) is not None
            case "number" if isinstance(value, bool | int | float | str):
                return checked(inner, float(value)) is not None
    except (ValueError, OverflowError):
        return False
    return False


def _name(inner: Flag, value: object) -> str:
    """A value as the choices write it; numbers among them are whole."""
    if isinstance(value, bool | float) and float(value).is_integer():
        value = int(value)
    if not isinstance(value, str | int):
        return ""
    return str(value).lower().replace("-", "_") if inner.folded else str(value)


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


def plain_json(value: object) -> object:
    """What JSON can carry; TOML and YAML have dates as well.

    Raises:
        BadValue: If there is something else in it.
    """
    _check_inside(value)
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise BadValue("must be made of texts, numbers, lists and mappings") from None
    return value


def _check_inside(value: object) -> None:
    """Depth, by levels and not by recursion, which would end before the bound is reached; and
    numbers, of which Python reads some that JSON cannot write."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if any(isinstance(each, float) and not math.isfinite(each) for each in level):
            raise BadValue("holds a number that is not finite")
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise BadValue(f"is nested deeper than {MAX_DEPTH} levels")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
