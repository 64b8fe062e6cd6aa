"""One script for each shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_cli.completions.bash import bash
from omni_cli.completions.fish import fish
from omni_cli.completions.words import Place, places
from omni_cli.completions.zsh import zsh

__all__ = ["SHELLS", "script"]

HEADER = "# Generated from the application by `make completions`; do not edit."
SHELLS: Mapping[str, Callable[[str, list[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""What makes the script, by the name of the shell."""


def script(shell: str) -> str:
    """The script for one of SHELLS."""
    return SHELLS[shell](HEADER, places())
