"""``omni completion``: the completion script of a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["completion"]


class ShellName(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


Shell = Annotated[ShellName, typer.Argument(metavar="SHELL", help="Which one: bash, zsh or fish.")]


def completion(shell: Shell) -> None:
    """Print the completion script of a shell.

    It completes commands, flags, their values, bundled models and files, without calling omni.

      omni completion bash > ~/.local/share/bash-completion/completions/omni
      omni completion zsh > ~/.zfunc/_omni   (with fpath+=~/.zfunc before compinit in ~/.zshrc)
      omni completion fish > ~/.config/fish/completions/omni.fish

    A folder that is not there yet has to be made first (mkdir -p).
    """
    from omni_cli.completions import script
    from omni_cli.terminal import Terminal

    Terminal().out.write(script(shell.value))
