"""The completion scripts of bash, zsh and fish, made from the application.

They are static: at TAB they call no program, since even a fast start is too slow between two
keystrokes. ``completions/`` holds them for packagers and for whoever works in a clone; ``omni
completion SHELL`` prints the one of the version that is installed.
"""

from __future__ import annotations

from omni_cli.completions.bash import bash
from omni_cli.completions.fish import fish
from omni_cli.completions.words import places
from omni_cli.completions.zsh import zsh

__all__ = ["SHELLS", "script"]

HEADER = "# Generated from the application by `make completions`; do not edit."
SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def script(shell: str) -> str:
    """The script for one of SHELLS."""
    return SHELLS[shell](HEADER, places())
