"""From words, variables and files to typed values; the rules are vLLM's own types.

Every refusal is one phrase that follows the value in a message. It never repeats the value, which
may be a secret.

Source: vllm/engine/arg_utils.py (``optional_type``, ``union_dict_and_str``, ``parse_dataclass``),
vllm/utils/argparse_utils.py (``human_readable_int``).
"""

from __future__ import annotations

import difflib

from engine_bridge.quantities import parse_count
from omni_cli.flags.dispositions import UNBUILT_VALUES
from omni_cli.flags.flag import Flag
from omni_cli.flags.limits import (
    MAX_LISTED_CHOICES,
    BadValue,
    any_of,
    checked,
    limits,
    out_of_limits,
)
from omni_cli.flags.objects import checked_object, plain_json, read_json, read_object

__all__ = ["BadValue", "limits", "read_native", "read_text", "read_word"]

# The kernel's limit for one word of a command line or environment (MAX_ARG_STRLEN).
MAX_TEXT_CHARS = 128 * 1024
# vLLM's "the longest that fits".
AUTO_LENGTH = -1

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


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
            return checked(flag, _integer(flag, word))
        case "number":
            return checked(flag, _number(flag, word))
        case "count":
            return checked(flag, _count(flag, word))
        case "length":
            auto = word.strip().lower() == "auto" or word.strip() == "-1"
            return AUTO_LENGTH if auto else checked(flag, _count(flag, word))
        case "json":
            return read_json(word)
        case "object":
            return read_object(flag, word)
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
        return read_native(flag, read_json(text))
    if flag.kind == "object" and text.lstrip().startswith("{"):
        return [read_word(flag, text)]
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
        raise out_of_limits(flag) from None


def _number(flag: Flag, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise out_of_limits(flag) from None


def _count(flag: Flag, word: str) -> int:
    try:
        return parse_count(word)
    except ValueError as error:
        if word.strip()[:1] == "-":
            raise out_of_limits(flag) from None
        suffix = ", or auto" if flag.kind == "length" else ""
        raise BadValue(f"{error}{suffix}") from None


def _text(flag: Flag, word: str) -> str:
    text = word.lower().replace("-", "_") if flag.folded else word
    unbuilt = UNBUILT_VALUES.get(flag.dest, {}).get(text)
    if unbuilt:
        raise BadValue(unbuilt, f"use {any_of(flag.choices)}")
    if flag.choices and text not in flag.choices:
        raise _not_a_choice(flag, text)
    if not text and flag.scope == "run":
        raise BadValue("must not be empty")
    return text


def _not_a_choice(flag: Flag, text: str) -> BadValue:
    near = difflib.get_close_matches(text.lower(), flag.choices, n=1)
    if len(flag.choices) <= MAX_LISTED_CHOICES:
        return BadValue(f"must be {any_of(flag.choices)}")
    reason = f"is none of its {len(flag.choices)} values"
    help_ = f"`omni serve --help={flag.name.lstrip('-')}` lists them"
    return BadValue(reason, f"did you mean {near[0]}? {help_}" if near else help_)


def _native_item(flag: Flag, value: object) -> object:
    """One value of a document: numbers are numbers there, but may be written as text too."""
    if flag.kind == "switch":
        if isinstance(value, bool):
            return value
        raise BadValue("must be true or false")
    if flag.kind == "json":
        written = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
        return read_json(value) if isinstance(value, str) and written else plain_json(value)
    if flag.kind == "object" and not isinstance(value, str):
        return checked_object(flag, plain_json(value))
    if isinstance(value, str):
        return read_word(flag, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise out_of_limits(flag)
    return _native_number(flag, value)


def _native_number(flag: Flag, value: int | float) -> object:
    if flag.kind == "text":
        return _number_as_text(flag, value)
    if flag.kind == "length" and value == AUTO_LENGTH:
        return AUTO_LENGTH
    if flag.kind == "number":
        return checked(flag, float(value))
    if isinstance(value, float):
        raise out_of_limits(flag)
    return checked(flag, value)


def _number_as_text(flag: Flag, value: int | float) -> str:
    if isinstance(value, float) or flag.secret:  # in YAML 0123 is 83
        raise BadValue("must be text", "put it into quotes")
    return _text(flag, str(value))
