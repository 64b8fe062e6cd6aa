"""`omni completion`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.omni_cli.conftest import ROOT

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_prints_the_script(omni: RunOmni, shell: str) -> None:
    run = omni("completion", shell)
    assert (run.code, run.err) == (0, "")
    assert run.out == (ROOT / "completions" / f"omni.{shell}").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "SHELL: is missing; give bash, zsh or fish (see `omni completion --help`)"),
        (("tcsh",), "SHELL tcsh: must be bash, zsh or fish"),
    ],
)
def test_another_shell_is_refused_in_one_line(
    omni: RunOmni, words: tuple[str, ...], line: str
) -> None:
    run = omni("completion", *words)
    assert (run.code, run.out, run.err) == (2, "", f"error: {line}\n")
