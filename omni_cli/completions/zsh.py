"""The script for zsh: one function per command, each a call of zsh's own _arguments."""

from __future__ import annotations

from omni_cli.completions.words import Option, Place, bundled_models

__all__ = ["zsh"]

# What an operand is, in the heading of a list.
KINDS = {"words": "word", "models": "bundled model", "targets": "model", "files": "file"}
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
            *(line for shared in {place.shared for place in places} for line in _shared(shared)),
            *(line for place in places for line in _function(place)),
            "",
            "# Autoloaded from a folder of $fpath, or read by a startup file",
            'if [[ $funcstack[1] == _omni ]]; then _omni "$@"; else compdef _omni omni; fi',
            "",
        ]
    )


def _shared(options: tuple[Option, ...]) -> list[str]:
    """The flags that several commands have, once: their specifications, and their keys."""
    if not options:
        return []
    cases = [
        f"  {'|'.join(option.names)}) keys=({' '.join(option.keys)}) ;;"
        for option in options
        if option.keys
    ]
    return [
        "",
        "typeset -ga __omni_shared=(",
        *(f"  {spec}" for option in options for spec in _specs(option)),
        ")",
        "",
        "__omni_keys() { # the keys of --flag.key, of which _arguments knows nothing",
        "  local -a keys",
        "  case ${PREFIX%%.*} in",
        *cases,
        "  esac",
        "  compset -P 1 '*.'",
        "  compadd -a keys",
        "}",
    ]


def _function(place: Place) -> list[str]:
    specs = [spec for option in place.options for spec in _specs(option)]
    if place.members:
        return _group(place, specs)
    actions = {
        "words": f"({' '.join(place.words)})",
        "models": "__omni_models",
        "targets": "__omni_targets",
        "files": "_files",
    }
    for number, operand in enumerate(place.operands, start=1):
        repeated = place.many and number == len(place.operands)
        before = "*" if repeated else str(number)
        specs.append(_quote(f"{before}:{KINDS[operand]}:{actions[operand]}"))
    keys = []
    if place.shared:
        keys = ["  if [[ $PREFIX == -*.* ]]; then __omni_keys; return; fi"]
        specs.insert(0, "$__omni_shared")
    return ["", f"{_name(place.at)}() {{", *keys, *_call("_arguments -S", specs), "}"]


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
    return " \\\n    ".join([f"  {command}", *specs]).split("\n")


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
