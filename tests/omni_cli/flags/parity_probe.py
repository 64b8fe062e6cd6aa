"""Run in a process of its own: reads command lines as vLLM does and as omni does, and compares.

Standard input has one JSON list of lists of words; standard output gets one JSON list with what
became of each.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from engine_bridge import vllm_config as config
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parsed import Parsed
from omni_cli.flags.parser import parse

bridge: Any = config  # with all that it takes from vLLM
# Typed by omni's own settings; the engine sees none of them.
NAMES = ("m",)
# Refused by omni, and a list for which the engine's side has no words.
APART = ("middleware",)
# Before the reason of a refusal that only the engine makes, half a minute after the command line.
LATE = "late: "
REFUSALS = (
    bridge.ArgumentRejected,
    TypeError,
    ValueError,
    LookupError,  # of an enumeration, for one
    AssertionError,
)


@functools.cache
def parser() -> Any:
    """One parser for all lines: making one takes a tenth of a second."""
    return original(bridge._Parser())


original = bridge.make_arg_parser
bridge.make_arg_parser = lambda _: parser()


def by_vllm(words: Sequence[str]) -> argparse.Namespace | str:
    """What `vllm serve` makes of a line, or why it refuses."""
    try:
        args: argparse.Namespace = parser().parse_args(list(words))
        bridge.validate_parsed_serve_args(args)
    except (*REFUSALS, bridge.VLLMClientError) as error:
        return f"{type(error).__name__}: {error}"
    if args.model_tag is not None:
        args.model = args.model_tag
    return args


def by_omni(words: Sequence[str]) -> tuple[Parsed, argparse.Namespace] | str:
    """What `omni serve` hands to the engine, or why it refuses."""
    flags = catalogue()
    parsed = parse(words, flags)
    if parsed.problems:
        return "; ".join(map(str, parsed.problems))
    given = {
        dest: each.value
        for dest, each in parsed.given.items()
        if flags.by_dest[dest].scope != "run" and dest not in APART
    }
    try:
        return parsed, bridge.parse(parsed.target or "none", NAMES, given)
    except REFUSALS as error:
        return f"{LATE}{type(error).__name__}: {error}"


def differences(words: Sequence[str], theirs: argparse.Namespace) -> list[str] | str:
    """Destinations that have another value with omni than with vLLM; a text if omni refuses."""
    found = by_omni(words)
    if isinstance(found, str):
        return found
    parsed, ours = found
    lines = []
    for dest, value in vars(theirs).items():
        flag = catalogue().by_dest.get(dest)
        if dest == "model":
            mine = parsed.target if parsed.target is not None else parser().get_default("model")
        elif flag is None:
            continue
        elif flag.scope == "run" or dest in APART:
            default = parser().get_default(dest)
            mine = parsed.given[dest].value if dest in parsed.given else default
        else:
            mine = getattr(ours, dest, None)
        if mine != value and _stable(mine) != _stable(value):
            lines.append(f"{dest}: {mine!r} instead of {value!r}"[:300])
    return lines


def _stable(value: object) -> str:
    """A value as text, without the name that vLLM invents for each configuration."""
    return re.sub(r"engine_id='[0-9a-f-]{36}'", "", repr(value))


def main() -> None:
    """Judge every line."""
    answers: list[dict[str, object]] = []
    for words in json.load(sys.stdin):
        theirs = by_vllm(words)
        if isinstance(theirs, str):
            ours = by_omni(words)
            answers.append(
                {"vllm": theirs, "omni": ours if isinstance(ours, str) else None, "lines": []}
            )
            continue
        lines = differences(words, theirs)
        refused = lines if isinstance(lines, str) else None
        answers.append({"vllm": None, "omni": refused, "lines": [] if refused else lines})
    sys.stdout.write("\n" + json.dumps(answers) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
