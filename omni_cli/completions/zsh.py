"""The script for zsh: one function per command, each a call of zsh's own _arguments."""

from __future__ import annotations

from omni_cli.completions.words import Option, Place, bundled_models

__all__ = ["zsh"]

TARGETS = r"""
__omni_models() {
  local -a models=(MODELS)
  compadd "$@" -a models
}

__omni_targets() { # whatever can be served
  _alternative \
    'models:bundled model:__omni_models' \
    'files:pipeline or folder:_files -g "*.(yaml|yml)"'
}
"""


def zsh(header: str, places: list[Place]) -> str:
    """The script.

    Args:
        header: A comment to begin with.
        places: Every command.
    """
    return "\n".join(
        [
            "#compdef omni",
            header,
            TARGETS.rstrip("\n").replace("MODELS", " ".join(bundled_models())),
            *(line for place in places for line in _function(place)),
            "",
            "# Autoloaded from a folder of $fpath, or read by a startup file",
            'if [[ $funcstack[1] == _omni ]]; then _omni "$@"; else compdef _omni omni; fi',
            "",
        ]
    )


def _function(place: Place) -> list[str]:
    specs = [spec for option in place.options for spec in _specs(option)]
    if place.members:
        return _group(place, specs)
    action = {
        "nothing": "",
        "words": f"({' '.join(place.words)})",
        "models": "__omni_models",
        "targets": "__omni_targets",
        "files": "_files",
    }[place.operand]
    if action:
        specs.append(_quote(f"{'*' if place.many else '1'}:{_kind(place)}:{action}"))
    call = _call("_arguments -S", specs)
    return ["", f"{_name(place.at)}() {{", *_keys(place), *call, "}"]


def _keys(place: Place) -> list[str]:
    """Lines that complete --flag.key, of which _arguments knows nothing."""
    cases = [
        f"    {'|'.join(option.names)}) keys=({' '.join(option.keys)}) ;;"
        for option in place.options
        if option.keys
    ]
    if not cases:
        return []
    return [
        "  if [[ $PREFIX == -*.* ]]; then",
        "    local -a keys",
        "    case ${PREFIX%%.*} in",
        *cases,
        "    esac",
        "    compset -P 1 '*.'",
        "    compadd -a keys",
        "    return",
        "  fi",
    ]


def _group(place: Place, specs: list[str]) -> list[str]:
    members = [f"    {_quote(f'{name}:{_plain(text)}')}" for name, text in place.members]
    cases = [f"    {name}) {_name(f'{place.at} {name}'.strip())} ;;" for name, _ in place.members]
    return [
        "",
        f"{_name(place.at)}() {{",
        "  local context state state_descr line",
        "  typeset -A opt_args",
        "  local -a members=(",
        *members,
        "  )",
        *_call("_arguments -C -S", [*specs, "'1: :->member'", "'*:: :->rest'"]),
        "  case $state in",
        "  member) _describe -t commands command members ;;",
        "  rest)",
        "    case $line[1] in",
        *cases,
        "    esac",
        "    ;;",
        "  esac",
        "}",
    ]


def _call(command: str, specs: list[str]) -> list[str]:
    return [f"  {command} \\", *(f"    {spec} \\" for spec in specs[:-1]), f"    {specs[-1]}"]


def _specs(option: Option) -> list[str]:
    """One specification per spelling; each excludes the others, unless it may be given again."""
    before = "*" if option.repeatable else f"({' '.join(option.names)})"
    if "--help" in option.names and option.takes == "nothing":
        before = "(- *)"
    action = "_files" if option.is_path else f"({' '.join(option.values)})"
    if not option.values and not option.is_path:
        action = ""
    mark, value = "", ""
    if option.takes == "value":
        mark, value = "=", f":{option.names[0].lstrip('-')}:{action}"
    elif option.takes == "perhaps":
        mark, value = "=-", f"::topic:{action}"
    text = f"[{_plain(option.text)}]"
    specs = []
    for name in option.names:
        # A value in the same word belongs to the long spellings
        own = (mark, value) if name.startswith("--") or option.takes != "perhaps" else ("", "")
        specs.append(_quote(f"{before}{name}{own[0]}{text}{own[1]}"))
    return specs


def _kind(place: Place) -> str:
    return {"models": "bundled model", "targets": "model", "files": "file"}.get(
        place.operand, "word"
    )


def _name(at: str) -> str:
    return "_omni" + "".join(f"_{word.replace('-', '_')}" for word in at.split())


def _plain(text: str) -> str:
    """A description without what means something in a specification."""
    escaped = text.replace("\\", "\\\\")
    for char in "[]:":
        escaped = escaped.replace(char, f"\\{char}")
    return escaped


def _quote(text: str) -> str:
    quoted = text.replace("'", "'\\''")
    return f"'{quoted}'"
