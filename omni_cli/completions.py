"""Writes completions/omni.{bash,zsh,fish} and the commands' part of docs/cli.md from the
application.

``python -m omni_cli.completions`` (``make completions``) is run by whoever changes a command. The
scripts are static: at TAB they call no program, since even a fast start is too slow between two
keystrokes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omni_cli.app import command_tree
from omni_cli.help import choices_of
from omni_cli.reference import write_reference

__all__ = ["main", "scripts"]

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "engine_bridge" / "models" / "catalogue.json"
TAKE_MODELS = ("serve", "models pull", "models path", "models remove")  # by their argument
TAKE_FILES = ("serve",)
HEADER = "# Generated from the application by `make completions`; do not edit."


@dataclass(frozen=True, slots=True)
class Flag:
    """One option as completions see it; ``values`` is None for one without a value."""

    names: tuple[str, ...]
    text: str
    values: tuple[str, ...] | None
    is_path: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A command, by the words that lead to it (``models pull``), and what can follow."""

    at: str
    words: tuple[str, ...]
    texts: tuple[str, ...]  # one per word, or empty
    flags: tuple[Flag, ...]


def scripts() -> dict[str, str]:
    """The three scripts by file name."""
    places = [_place(ctx, command) for ctx, command in command_tree()]
    return {
        "omni.bash": _bash(places),
        "omni.zsh": _zsh(places),
        "omni.fish": _fish(places),
    }


def main() -> None:
    """Write everything that is generated from the application."""
    for name, text in scripts().items():
        (ROOT / "completions" / name).write_text(text)
    write_reference(ROOT / "docs" / "cli.md")


def _place(ctx: Any, command: Any) -> Place:
    at = ctx.command_path.removeprefix("omni").strip()
    words, texts = _models() if at in TAKE_MODELS else ((), ())
    if hasattr(command, "list_commands"):
        members = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
        words = tuple(members)
        texts = tuple((member.help or "").partition("\n")[0] for member in members.values())
    options = [param for param in command.get_params(ctx) if param.param_type_name == "option"]
    return Place(at, words, texts, tuple(_flag(param) for param in options if not param.hidden))


def _flag(param: Any) -> Flag:
    takes_none = param.is_flag or param.count
    return Flag(
        names=(*param.opts, *param.secondary_opts),
        text=" ".join((param.help or "").split()),
        values=None if takes_none else tuple(choices_of(param)),
        is_path=not takes_none
        and ("path" in param.bare_type().lower() or param.metavar in ("PATH", "FILE")),
    )


def _models() -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not CATALOGUE.exists():
        return (), ()
    entries = json.loads(CATALOGUE.read_text())["models"]
    return tuple(str(entry["name"]) for entry in entries), ()


def _paths(places: list[Place]) -> str:
    """The alternatives of a case that matches a place followed by the word that leads one
    further."""
    return " | ".join(f'"{_split(place.at)}"' for place in places if place.at)


def _split(at: str) -> str:
    start, _, last = at.rpartition(" ")
    return f"{start} {last}"


def _value_cases(places: list[Place], act: str, files: str) -> list[str]:
    """Case lines for the words after an option that takes a value, one line per action."""
    patterns: dict[str, list[str]] = {}
    for place in places:
        for flag in place.flags:
            if flag.values is None:
                continue
            free = files if flag.is_path else ":"
            action = act.format(" ".join(flag.values)) if flag.values else free
            patterns.setdefault(action, []).extend(f'"{place.at} {name}"' for name in flag.names)
    return [f"    {' | '.join(found)}) {act}; return ;;" for act, found in patterns.items()]


def _word_cases(places: list[Place], plain: str, with_files: str) -> list[str]:
    lines = []
    for place in places:
        flags = " ".join(name for flag in place.flags for name in flag.names)
        action = with_files if place.at in TAKE_FILES else plain
        lines.append(
            f'    "{place.at}") {action.format(flags=flags, words=" ".join(place.words))} ;;'
        )
    return lines


def _bash(places: list[Place]) -> str:
    values = _value_cases(places, '_omni_offer "{}"', "compopt -o default 2>/dev/null")
    words = _word_cases(
        places,
        'flags="{flags}" words="{words}"',
        'flags="{flags}" words="{words}"; compopt -o default 2>/dev/null',
    )
    return "\n".join(
        [
            HEADER,
            '_omni_offer() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }',
            "_omni() {",
            "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}",
            '  local at="" flags="" words="" i',
            "  COMPREPLY=()",
            "  # --flag=value comes as three words",
            '  if [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi',
            '  if [[ $cur == "=" ]]; then cur=""; fi',
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            '    case "$at ${COMP_WORDS[i]}" in',
            f'    {_paths(places)}) at="${{at:+$at }}${{COMP_WORDS[i]}}" ;;',
            "    esac",
            "  done",
            '  case "$at $prev" in',
            *values,
            "  esac",
            '  case "$at" in',
            *words,
            "  esac",
            '  if [[ $cur == -* ]]; then _omni_offer "$flags"; else _omni_offer "$words"; fi',
            "}",
            "complete -F _omni omni",
            "",
        ]
    )


def _zsh(places: list[Place]) -> str:
    values = _value_cases(places, "compadd -- {}", "_files")
    words = _word_cases(
        places, "flags=({flags}) offers=({words})", "flags=({flags}) offers=({words}); _files"
    )
    return "\n".join(
        [
            "#compdef omni",
            HEADER,
            "_omni() {",
            '  local at="" word',
            "  local -a flags offers",
            "  for word in ${words[2,CURRENT-1]}; do",
            '    case "$at $word" in',
            f'    {_paths(places)}) at="${{at:+$at }}$word" ;;',
            "    esac",
            "  done",
            '  case "$at ${words[CURRENT-1]}" in',
            *values,
            "  esac",
            '  case "$at" in',
            *words,
            "  esac",
            "  if [[ $PREFIX == -* ]]; then compadd -- $flags; else compadd -- $offers; fi",
            "}",
            'if [[ $funcstack[1] == _omni ]]; then _omni "$@"; else compdef _omni omni; fi',
            "",
        ]
    )


def _fish(places: list[Place]) -> str:
    lines = [
        HEADER,
        "function __omni_at",
        "    set -l at ''",
        "    for word in (commandline -opc)[2..-1]",
        '        switch "$at $word"',
        f"            case {' '.join(repr(_split(place.at)) for place in places if place.at)}",
        '                set at (string trim -- "$at $word")',
        "        end",
        "    end",
        '    test "$at" = "$argv[1]"',
        "end",
        "complete -c omni -f",
    ]
    for place in places:
        here = f"complete -c omni -n {_quote(f'__omni_at {_quote(place.at)}')}"
        texts = place.texts or ("",) * len(place.words)
        for word, text in zip(place.words, texts, strict=True):
            lines.append(f"{here} -a {_quote(word)}" + (f" -d {_quote(text)}" if text else ""))
        if place.at in TAKE_FILES:
            lines.append(f"{here} -F")
        lines += [f"{here} {_fish_flag(flag)}" for flag in place.flags]
    return "\n".join([*lines, ""])


def _fish_flag(flag: Flag) -> str:
    names = [f"{_fish_kind(name)} {name.lstrip('-')}" for name in flag.names]
    value = "" if flag.values is None else " -r -F" if flag.is_path else " -x"
    offers = f" -a {_quote(' '.join(flag.values))}" if flag.values else ""
    return f"{' '.join(names)}{value}{offers} -d {_quote(flag.text)}"


def _fish_kind(name: str) -> str:
    if name.startswith("--"):
        return "-l"
    return "-s" if len(name) == 2 else "-o"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


if __name__ == "__main__":
    main()
