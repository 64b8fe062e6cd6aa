"""The words of a command line, brought into the one form in which the parser reads them.

What vLLM's own parser does before argparse sees anything: underscores become dashes in
names, ``-O3`` a whole flag, and dotted flags (``--compilation-config.mode 3``) are taken out and
put together to one JSON object for each spelling.

Source: ``FlexibleArgumentParser.parse_args`` in vllm/utils/argparse_utils.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine_bridge.quantities import parse_count

__all__ = ["Dotted", "Line", "is_number", "normalised"]

# Dots in one flag; vLLM's own configurations have three levels.
MAX_KEYS = 24
# From the first dashes to the first dot.
_NAME = re.compile(r"(?<=--)[^.]*")
_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")
_LEVELS = ("0", "1", "2", "3")
_OPTIMIZATION = "--optimization-level"


@dataclass(slots=True)
class Dotted:
    """All dotted flags of one spelling.

    Attributes:
        value: The object that they make.
        first: The first of them, as written.
    """

    value: dict[str, object] = field(default_factory=dict)
    first: str = ""


@dataclass(slots=True)
class Line:
    """A command line, taken apart.

    Attributes:
        words: The words without dotted flags; names have dashes. Ends before ``--``.
        rest: The words after ``--``.
        written: How a word of ``words`` was written, where it is not the same.
        dotted: By the spelling before the first dot.
        faults: Dotted flags that lack a value or a key, as written.
    """

    words: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    dotted: dict[str, Dotted] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def is_number(word: str) -> bool:
    """Whether argparse takes a word that starts with a dash for a negative number."""
    return _NEGATIVE.match(word) is not None


def normalised(words: Sequence[str]) -> Line:
    """Take a command line apart."""
    line = Line()
    end = words.index("--") if "--" in words else len(words)
    line.rest = list(words[end + 1 :])
    given = list(words[:end])
    index = 0
    while index < len(given):
        word = given[index]
        index += 1
        name, equals, value = word.partition("=")
        if not word.startswith("-") or is_number(word):
            line.words.append(word)
        elif "." in name:
            if not equals:
                if index == len(given):
                    line.faults.append(word)
                    continue
                value = given[index]
                index += 1
            _add_dotted(line, name, value)
        elif word.startswith("--"):
            _add(line, _NAME.sub(_dashes, name, count=1) + equals + value, word)
        elif word.startswith("-O") and word != "-O":
            level = word[3:] if word[2] == "=" else word[2:]
            _add(line, f"{_OPTIMIZATION}={level}", word)
        elif word == "-O" and given[index : index + 1] and given[index] in _LEVELS:
            _add(line, _OPTIMIZATION, word)
        else:
            line.words.append(word)
    return line


def _dashes(match: re.Match[str]) -> str:
    return match.group(0).replace("_", "-")


def _add(line: Line, word: str, written: str) -> None:
    line.words.append(word)
    if word != written:
        line.written.setdefault(word, written)


def _add_dotted(line: Line, name: str, text: str) -> None:
    name = _NAME.sub(_dashes, name, count=1) if name.startswith("--") else name
    written = name
    if name.endswith("+"):
        name = name[:-1]
        text = json.dumps(text.split(","))
    spelling, *keys = name.split(".")
    if not all(keys) or len(keys) > MAX_KEYS:
        line.faults.append(written)
        return
    dotted = line.dotted.setdefault(spelling, Dotted(first=written))
    value: object = _dotted_value(text)
    for key in reversed(keys):
        value = {key: value}
    assert isinstance(value, dict), "there is a dot, so a key"
    _merge(dotted.value, value)


def _dotted_value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass  # a text that needs no quotes, or a number with a suffix
    for read in (parse_count, int):  # the latter takes 1_000 and +5 as well
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _merge(into: dict[str, object], update: Mapping[str, object]) -> None:
    """Lists grow, objects are merged, all else is replaced."""
    for key, value in update.items():
        there = into.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            _merge(there, value)
        elif isinstance(value, list) and isinstance(there, list):
            there += value
        else:
            into[key] = value
