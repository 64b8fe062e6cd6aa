"""Whether the completion scripts that are installed for the user are those of this version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from omni_cli.doctor.finding import Finding, note, ok
from omni_cli.doctor.machine import read

__all__ = ["completion"]


def completion(environ: Mapping[str, str]) -> Iterator[Finding]:
    """One finding per script that is there, or one that says that none is."""
    found = [(shell, path) for shell, path in _places(environ) if path.is_file()]
    if not found:
        yield ok("completion", "no script is installed (`omni completion` prints one)")
        return
    from omni_cli.completions import script  # noqa: PLC0415 - late: it asks every command

    for shell, path in found:
        if read(path) == script(shell):
            yield ok(shell, f"{path} is of this version")
        else:
            yield note(shell, f"{path} is of another version", f"omni completion {shell} > {path}")


def _places(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Where `omni completion --help` puts the scripts."""
    home = Path(environ.get("HOME") or "~").expanduser()
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    yield "bash", data / "bash-completion/completions/omni"
    yield "zsh", home / ".zfunc/_omni"
    yield "fish", config / "fish/completions/omni.fish"
