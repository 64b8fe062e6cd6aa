"""Writes vllm_flags.json: every flag of ``vllm serve``, as data.

Help, validation, settings, completions and docs read that file, so that none of them imports vLLM.
``python -m engine_bridge.vllm_flags`` (``make flags``) brings it up to date after vLLM has changed;
a test compares it with the vLLM that is installed.

Source: vllm/entrypoints/launchers/cli_args.py (``make_arg_parser``), vllm/engine/arg_utils.py
(``_compute_kwargs``, which makes argparse's types of annotations), vllm/config/.
"""

from __future__ import annotations

import argparse
import enum
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from vllm.config.mamba import MambaBackendEnum
from vllm.engine import arg_utils
from vllm.entrypoints.launchers.cli_args import LoRAParserAction, make_arg_parser
from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS
from vllm.model_executor.model_loader import _LOAD_FORMAT_TO_MODEL_LOADER
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.transformers_utils.config import _CONFIG_FORMAT_TO_CONFIG_PARSER
from vllm.utils import argparse_utils
from vllm.v1.attention.backends.registry import AttentionBackendEnum
from vllm.version import __version__

from engine_bridge.vllm_flag_keys import bounds, inner_values, keys

__all__ = ["PATH", "as_text", "flags", "main"]

PATH = Path(__file__).with_name("vllm_flags.json")

# Not arguments of a server: what is served, and help.
_LEFT_OUT = ("model_tag", "help")
# Defaults that depend on the environment in which this runs.
_LOCAL_DEFAULTS = ("log_error_stack",)
# vLLM adds the name of the platform's device; here stands what any platform has.
_PLATFORM_CHOICES = {"mm_processor_device": ("auto", "cpu", "cuda")}
_UNTITLED = {"options": "Server"}
# Paragraphs that vLLM adds to the help of whole kinds of flags.
_BOILERPLATE = ("API docs:", "Should either be a valid JSON string", "Parse human-readable")
# Stands between a flag's help and the place of its field, on the way through the parser.
_MARK = "\0"


def main() -> None:
    """Bring vllm_flags.json up to date."""
    PATH.write_text(as_text())


def as_text() -> str:
    """The file's content: each attribute of a flag on a line of its own, all sorted."""
    groups, found = flags()
    version = __version__.partition("+")[0]
    head = f' "vllm": {_json(version)},\n "groups": {{\n{_lines(groups, 2)}\n }}'
    blocks = [
        f"  {_json(dest)}: {{\n{_lines(entry, 3)}\n  }}" for dest, entry in sorted(found.items())
    ]
    all_flags = ",\n".join(blocks)
    return f'{{\n{head},\n "flags": {{\n{all_flags}\n }}\n}}\n'


def _lines(entries: Mapping[str, object], indent: int) -> str:
    return ",\n".join(
        f"{' ' * indent}{_json(key)}: {_json(value)}" for key, value in sorted(entries.items())
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def flags() -> tuple[dict[str, str], dict[str, dict[str, object]]]:
    """Walk vLLM's parser.

    Returns:
        What each group is about, by title; and the attributes of each flag by destination, those
        that have their usual value left out (omni_cli/flags/flag.py says what they mean).
    """
    parser = _parser()
    groups: dict[str, str] = {}
    found: dict[str, dict[str, object]] = {}
    deprecated = {action.dest for action in parser._deprecated}
    for group in parser._action_groups:
        for action in group._group_actions:
            if action.dest in _LEFT_OUT:
                continue
            title = _UNTITLED.get(group.title, group.title)
            groups.setdefault(title, _sentence(argparse_utils.summary_line(group.description)))
            entry = {**_attributes(action, action.dest in deprecated), "group": title}
            found[action.dest] = {key: each for key, each in entry.items() if not _usual(key, each)}
    return groups, found


def _usual(key: str, value: object) -> bool:
    if key in ("default", "low", "high"):
        return value is None
    return not value or (key, value) == ("many", "one")


def _parser() -> Any:
    """vLLM's parser with help texts, each of which carries the place of its field."""
    arg_utils.NEEDS_HELP = True
    arg_utils._compute_kwargs.cache_clear()
    original = arg_utils.get_kwargs

    def get_kwargs(cls: type) -> dict[str, dict[str, Any]]:
        kwargs: dict[str, dict[str, Any]] = original(cls)
        for name, each in kwargs.items():
            _PLACES[f"{cls.__name__}.{name}"] = (cls, name)
            each["help"] += f"{_MARK}{cls.__name__}.{name}"
        return kwargs

    arg_utils.get_kwargs = get_kwargs
    try:
        return make_arg_parser(argparse_utils.FlexibleArgumentParser(prog="vllm serve"))
    finally:
        arg_utils.get_kwargs = original


_PLACES: dict[str, tuple[type, str]] = {}


def _attributes(action: argparse.Action, deprecated: bool) -> dict[str, object]:
    text, _, at = (action.help or "").partition(_MARK)
    place = _PLACES.get(at)
    switch = action.nargs == 0
    read, nullable = _without_none(action.type)
    kind = "switch" if switch else _kind(action, read)
    off = [name for name in action.option_strings if switch and name.startswith("--no-")]
    names = [name for name in action.option_strings if name not in off]
    configuration = _configuration(read)
    return {
        "names": sorted(names, key=lambda name: not name.startswith("--")),
        "off": off,
        "kind": kind,
        "many": {None: "one", 0: "one", "?": "optional", "+": "some"}[action.nargs],
        "repeatable": isinstance(action, argparse._AppendAction),
        "nullable": nullable,
        "folded": read is not None and _folds(read),
        "or_text": read is arg_utils.union_dict_and_str or isinstance(action, LoRAParserAction),
        "suffixes": getattr(read, "__name__", "") == "parse_dataclass",
        "choices": [] if switch else _choices(action),
        "known": _known(action),
        "keys": keys(configuration),
        "inner": inner_values(configuration),
        "default": _default(action),
        "help": _clean(text),
        "deprecated": deprecated or " is deprecated" in text,
        **(bounds(*place) if place and kind in ("integer", "number", "count", "length") else {}),
    }


def _without_none(read: Any) -> tuple[Any, bool]:
    """The type behind ``optional_type`` and ``parse_type``, and whether None may be written."""
    nullable = False
    while getattr(read, "__name__", "") in ("_optional_type", "_parse_type"):
        nullable = nullable or read.__name__ == "_optional_type"
        read = read.__closure__[0].cell_contents
    return read, nullable


def _kind(action: argparse.Action, read: Any) -> str:
    if isinstance(action, LoRAParserAction):
        return "object"
    if read is json.loads:
        return "json" if isinstance(action.default, list) else "object"
    if read is arg_utils.union_dict_and_str or getattr(read, "__name__", "") == "parse_dataclass":
        return "object"
    kinds: dict[Any, str] = {
        None: "text",
        str: "text",
        int: "integer",
        float: "number",
        argparse_utils.human_readable_int: "count",
        argparse_utils.human_readable_int_or_auto: "length",
    }
    if read in kinds:
        return kinds[read]
    # A list written with commas (device_ids), or a name that is brought into shape.
    assert getattr(read, "__name__", "") == "<lambda>", f"{action.dest}: unknown type {read}"
    return "text"


def _folds(read: Callable[[str], object]) -> bool:
    """Whether a name may be written with capitals and dashes."""
    return getattr(read, "__name__", "") == "<lambda>" and read("A-b") == "a_b"


def _choices(action: argparse.Action) -> list[str]:
    if action.dest in _PLATFORM_CHOICES:
        return list(_PLATFORM_CHOICES[action.dest])
    return [str(choice) for choice in action.choices or () if choice is not None]


def _known(action: argparse.Action) -> list[str]:
    """Values of an open set: names that vLLM knows of itself."""
    registries: dict[str, Iterable[str]] = {
        "tool_call_parser": ToolParserManager.list_registered(),
        "reasoning_parser": ReasoningParserManager.list_registered(),
        "quantization": QUANTIZATION_METHODS,
        "load_format": _LOAD_FORMAT_TO_MODEL_LOADER,
        "config_format": ("auto", *_CONFIG_FORMAT_TO_CONFIG_PARSER),
        "attention_backend": ("auto", *AttentionBackendEnum.__members__),
        "mamba_backend": [name.lower() for name in MambaBackendEnum.__members__],
    }
    if action.dest in registries:
        return sorted(registries[action.dest])
    return [str(value) for value in action.metavar] if isinstance(action.metavar, list) else []


def _configuration(read: Any) -> Any:
    """The dataclass that an object becomes, or None."""
    if getattr(read, "__name__", "") != "parse_dataclass":
        return None
    (cls,) = read.__defaults__
    return cls


def _default(action: argparse.Action) -> object:
    value = action.default
    if value == argparse.SUPPRESS or action.dest in _LOCAL_DEFAULTS:
        return None
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set | frozenset | tuple):
        return sorted(value)
    return value if isinstance(value, str | int | float | list | dict) else None


def _clean(text: str) -> str:
    """One paragraph without what vLLM says about every flag of a kind."""
    paragraphs = re.split(r"\n\s*\n", text.replace("%%", "%"))
    kept = [part for part in paragraphs if not part.strip().startswith(_BOILERPLATE)]
    kept = [part for part in kept if not part.strip().startswith(("Examples:\n- '1k'",))]
    return _sentence(" ".join(" ".join(kept).split()))


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", ":", "!", ")", "`")) else f"{text}."


if __name__ == "__main__":
    main()
