"""The script for bash: tables of words, and one function that reads them."""

from __future__ import annotations

import textwrap

from omni_cli.completions.words import Option, Place, bundled_models

__all__ = ["bash"]

WIDTH = 100  # columns of the tables

# The part that is the same whatever the application offers.
READER = r"""
_omni_offer() { # WORDS: those that begin with what is being typed
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}

_omni_files() { # COMPGEN'S ARGUMENTS; they are inserted with their spaces quoted
  local word
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
}

_omni_flags() { # those that are not given yet, or may be given again
  local entry names name given words=""
  for entry in $flags; do
    names=${entry//[=@?]/}
    given=""
    if [[ $entry != *\* ]]; then
      for name in ${names//,/ }; do
        if [[ $seen == *" $name "* ]]; then given=1; fi
      done
    fi
    if [[ ! $given ]]; then words+=" ${names//[,\*]/ }"; fi
  done
  _omni_offer "$words"
}

_omni() {
  local cur=${COMP_WORDS[COMP_CWORD]} at="" flag="" seen=" " count=0 i word
  local flags members values operands words repeated
  COMPREPLY=()
  _omni_place ""
  # Which command, which flags, and whether the last one waits for its value
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $flag ]]; then
      # --flag=value comes as three words
      if [[ $word != "=" ]]; then flag=""; fi
    elif [[ $word == -* ]]; then
      seen+="${word%%=*} "
      # --flag.key takes a value as --flag does
      if [[ $flags == *[[:space:],]"${word%%.*}"[=@]* ]]; then flag=$word; fi
      if [[ $flags == *[[:space:],]"$word"\?* && ${COMP_WORDS[i + 1]} == "=" ]]; then flag=$word; fi
    elif [[ $members == *" $word "* ]]; then
      at=${at:+$at }$word seen=" "
      _omni_place "$at"
    else
      count=$((count + 1))
    fi
  done
  if [[ $flag && $cur == "=" ]]; then cur=""; fi
  if [[ ! $flag && $cur == --*=* ]]; then # where the user does not break words at =
    flag=${cur%%=*} cur=${cur#*=}
  fi
  if [[ $flag ]]; then
    _omni_values "$at" "$flag"
    if [[ $values ]]; then _omni_offer "$values"; fi
    if [[ $flags == *[[:space:],]"$flag@"* ]]; then _omni_files -f; fi
    if [[ ${COMP_WORDS[COMP_CWORD]} == --*=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/$flag=}"); fi
  elif [[ $cur == -*.* ]]; then
    flag=${cur%%.*} cur=${cur#*.}
    _omni_values "$at" "$flag."
    _omni_offer "$values"
    COMPREPLY=("${COMPREPLY[@]/#/$flag.}")
  elif [[ $cur == -* ]]; then
    _omni_flags
  elif [[ $members ]]; then
    _omni_offer "$members"
  else
    _omni_operand
  fi
}

_omni_operand() { # the one that comes after $count others
  local -a kinds=($operands)
  case ${kinds[count]:-${repeated:+${kinds[-1]}}} in
  "") ;;
  files) _omni_files -f ;;
  models) _omni_offer "$_omni_models" ;;
  targets)
    _omni_offer "$_omni_models"
    _omni_files -f -X '!*.yaml'
    _omni_files -f -X '!*.yml'
    _omni_files -d
    ;;
  words) _omni_offer "$words" ;;
  esac
}

complete -F _omni omni
"""


def bash(header: str, places: list[Place]) -> str:
    """The script.

    Args:
        header: A comment to begin with.
        places: Every command.
    """
    lines = [
        header,
        "# A flag ends in = if it takes a value, @ if that is a path, ? if only after a =.",
        "# Spellings of one flag are joined by commas; * at the end: it may be given again.",
        f'_omni_models="{" ".join(bundled_models())}"',
        *(line for shared in {place.shared for place in places} for line in _shared(shared)),
        "",
        "_omni_place() { # COMMAND: sets what can follow it",
        "  case $1 in",
        *(line for place in places for line in _place(place)),
        "  esac",
        "}",
        "",
        "_omni_values() { # COMMAND FLAG: sets its values, if they are known; of FLAG. its keys",
        '  values=""',
        '  case "$1 $2" in',
        *_values(places),
        "  esac",
        "}",
    ]
    return "\n".join([*lines, READER.rstrip("\n"), ""])


def _shared(options: tuple[Option, ...]) -> list[str]:
    """The flags that several commands have, once."""
    if not options:
        return []
    return ['_omni_shared="', *_wrapped([_entry(option) for option in options], "  "), '"']


def _place(place: Place) -> list[str]:
    members = "".join(f" {name}" for name, _ in place.members)
    pattern = f'"{place.at}"' if " " in place.at or not place.at else place.at
    more = [f'words="{" ".join(place.words)}"'] if place.words else []
    more += ["repeated=1"] if place.many else []
    first = [f'members="{members} "' if members else 'members=""']
    settings = [*first, f'operands="{" ".join(place.operands)}"', *more]
    return [
        f"  {pattern})",
        f"    {' '.join(settings)}",
        f'    flags="{" $_omni_shared" if place.shared else ""}',
        *_wrapped([_entry(option) for option in place.options], "      "),
        '    "',
        "    ;;",
    ]


def _entry(option: Option) -> str:
    mark = {"nothing": "", "value": "@" if option.is_path else "=", "perhaps": "?"}[option.takes]
    return ",".join(f"{name}{mark}" for name in option.names) + "*" * option.repeatable


def _values(places: list[Place]) -> list[str]:
    found: dict[str, list[str]] = {}
    for place in places:
        for option in (*place.options, *place.shared):
            for words, end in ((option.values, ""), (option.keys, ".")):
                if words:
                    patterns = found.setdefault(" ".join(words), [])
                    patterns += [f'"{place.at} {name}{end}"' for name in option.names]
    lines = []
    for values, patterns in found.items():
        lines.append(f"  {' | '.join(patterns)})")
        lines += ['    values="', *_wrapped(values.split(" "), "      "), '    "', "    ;;"]
    return lines


def _wrapped(words: list[str], indent: str) -> list[str]:
    return textwrap.wrap(
        " ".join(words),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
