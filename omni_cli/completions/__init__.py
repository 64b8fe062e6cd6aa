"""The completion scripts of bash, zsh and fish, made from the application.

They are static: at TAB they call no program, since even a fast start is too slow between two
keystrokes. ``completions/`` holds them for packagers and for whoever works in a clone; ``omni
completion SHELL`` prints the one of the version that is installed.
"""

from __future__ import annotations

from omni_cli.completions.scripts import SHELLS, script

__all__ = ["SHELLS", "script"]
