"""The completion scripts: up to date, quick to read, and calling nothing. What they offer is tried
in the shells themselves, in tests/omni_cli/shells."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from omni_cli.completions import SHELLS, script
from tests.omni_cli.conftest import ROOT
from tests.tools import needed

FOLDER = ROOT / "completions"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_up_to_date(shell: str) -> None:
    assert (FOLDER / f"omni.{shell}").read_text() == script(shell), "run `make completions`"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_never_calls_the_program(shell: str) -> None:
    text = re.sub(r"'[^']*'|#.*", "", script(shell))
    called = re.findall(r"[$(`]\(?\s*(?:command\s+)?omni\b[^)]*", text)
    assert called == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_read_without_errors(shell: str) -> None:
    run = subprocess.run(
        [needed(shell), "-n", str(FOLDER / f"omni.{shell}")],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_bash_takes_words_that_are_not_broken_at_an_equals_sign() -> None:
    # Some people take = out of COMP_WORDBREAKS
    lines = (
        f"source {FOLDER / 'omni.bash'}; COMP_WORDS=(omni serve --dtype=h); COMP_CWORD=2; _omni; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    run = subprocess.run(
        [needed("bash"), "--norc", "-c", lines],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": "/nowhere"},
    )
    assert (run.stdout, run.stderr) == ("--dtype=half\n", "")


def test_an_installed_wheel_carries_the_scripts() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    carried = build["targets"]["wheel"]["shared-data"]
    assert set(carried) == {f"completions/omni.{shell}" for shell in SHELLS}
