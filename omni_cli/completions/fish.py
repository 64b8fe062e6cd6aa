"""The script for fish: one line per word and flag, each with the command that it belongs to."""

from __future__ import annotations

from omni_cli.completions.words import Option, Place, bundled_models

__all__ = ["fish"]

READER = r"""
function __omni_at # COMMANDS...: whether the line is at one of them
    set -l at
    for word in (commandline -opc)[2..-1]
        contains -- "$at $word" $__omni_places; and set at "$at $word"
    end
    contains -- "$at" $argv
end

function __omni_targets # what can be served beside the bundled models
    set -l word (commandline -ct)
    string match -q -- '-*' $word; and return
    complete -C "__omni_none $word" | string match -r -- '.*(?:/|\.ya?ml)$'
end

function __omni_keys # FLAG KEYS...: --flag.key, once the dot is typed
    string match -q -- "$argv[1].*" (commandline -ct); and printf "$argv[1].%s\n" $argv[2..]
end
"""


def fish(header: str, places: list[Place]) -> str:
    """The script.

    Args:
        header: A comment to begin with.
        places: Every command.
    """
    lines = [
        header,
        f"set -g __omni_places {' '.join(_quote(_at(place)) for place in places if place.at)}",
        READER.rstrip("\n"),
        "",
        "complete -c omni -f",
    ]
    for place in places:
        here = _here(place)
        lines += ["", f"# omni {place.at}".rstrip()]
        lines += [f"{here} {_member(name, text)}" for name, text in place.members]
        lines += [f"{here} {operand}" for operand in _operands(place)]
        lines += [f"{here} {flag}" for option in place.options for flag in _flags(option)]
    for shared in {place.shared for place in places if place.shared}:
        among = [place for place in places if place.shared == shared]
        here = _here(*among)
        lines += ["", f"# {', '.join(f'omni {place.at}' for place in among)}"]
        lines += [f"{here} {flag}" for option in shared for flag in _flags(option)]
    return "\n".join([*lines, ""])


def _here(*places: Place) -> str:
    at = " ".join(_quote(_at(place)) for place in places)
    return f"complete -c omni -n {_quote(f'__omni_at {at}')}"


def _at(place: Place) -> str:
    return f" {place.at}" if place.at else ""


def _member(name: str, text: str) -> str:
    return f"-a {_quote(name)} -d {_quote(text)}"


def _operands(place: Place) -> list[str]:
    models = f"-a {_quote(' '.join(bundled_models()))} -d 'bundled model'"
    lines = {
        "words": [f"-a {_quote(' '.join(place.words))}"],
        "models": [models],
        "targets": [models, "-a '(__omni_targets)'"],
        "files": ["-F"],
    }
    return [line for operand in place.operands for line in lines[operand]]


def _flags(option: Option) -> list[str]:
    """A flag, and the --flag.key of each of its keys."""
    names = " ".join(f"{_kind(name)} {name.lstrip('-')}" for name in option.names)
    follows = {"nothing": "", "value": " -r -F" if option.is_path else " -x", "perhaps": " -f"}
    # A tab and nothing behind it: the flag's description is not repeated with each value
    values = " ".join(f"{value}\\t''" for value in option.values)
    offers = f" -a {_quote(values)}" if values else ""
    lines = [f"{names}{follows[option.takes]}{offers} -d {_quote(option.text)}"]
    if option.keys:
        keys = " ".join(option.keys)
        lines += [f"-a {_quote(f'(__omni_keys {name} {keys})')}" for name in option.names]
    return lines


def _kind(name: str) -> str:
    if name.startswith("--"):
        return "-l"
    return "-s" if len(name) == 2 else "-o"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
