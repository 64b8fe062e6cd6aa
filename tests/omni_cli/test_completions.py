"""The completion scripts: up to date, and bash's tried in bash."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from omni_cli.completions import CATALOGUE, scripts
from tests.omni_cli.conftest import ROOT

FOLDER = ROOT / "completions"


@pytest.mark.parametrize("name", ["omni.bash", "omni.zsh", "omni.fish"])
def test_a_script_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == scripts()[name], "run `make completions`"


def complete(*words: str) -> list[str]:
    """What bash offers for the last word; no program but bash itself is there to be called."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {FOLDER / 'omni.bash'}; complete -p omni; COMP_WORDS=({quoted}); "
        f"COMP_CWORD={len(words) - 1}; _omni; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    run = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": "/nonexistent"},
    )
    assert (run.returncode, run.stderr) == (0, "")
    first, *offers = run.stdout.split("\n")[:-1]
    assert first == "complete -F _omni omni"
    return [offer for offer in offers if offer]


def models() -> list[str]:
    return [entry["name"] for entry in json.loads(CATALOGUE.read_text())["models"]]


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["omni", ""], ["serve", "chat", "models", "version"]),
        (["omni", "ch"], ["chat"]),
        (["omni", "--v"], ["--version"]),
        (["omni", "models", ""], ["list", "pull", "path", "remove"]),
        (["omni", "chat", "--te"], ["--temperature"]),
        (["omni", "chat", "--seed", "1", "--st"], ["--stats"]),
        (["omni", "chat", "--model", ""], []),
        (["omni", "serve", "--start-method", ""], ["auto", "fork", "spawn"]),
        (["omni", "serve", "--start-method", "=", "s"], ["spawn"]),
        (["omni", "serve", "--start-method", "="], ["auto", "fork", "spawn"]),
        (["omni", "version", "chat", "--te"], []),
    ],
)
def test_bash_offers(words: list[str], offers: list[str]) -> None:
    assert complete(*words) == offers


@pytest.mark.parametrize("command", [["serve"], ["models", "pull"], ["models", "path"]])
def test_bash_offers_bundled_models(command: list[str]) -> None:
    assert complete("omni", *command, "") == models()
    assert models()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_script_is_read_without_errors(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    run = subprocess.run(
        [shell, "-n", str(FOLDER / f"omni.{shell}")], capture_output=True, text=True, timeout=20
    )
    assert (run.returncode, run.stderr) == (0, "")
