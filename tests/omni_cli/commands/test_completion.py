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


@pytest.mark.parametrize("words", [(), ("tcsh",)])
def test_another_shell_is_refused_in_one_line(omni: RunOmni, words: tuple[str, ...]) -> None:
    run = omni("completion", *words)
    assert (run.code, run.out) == (2, "")
    assert len(run.err.splitlines()) == 1
    assert "`omni completion --help`" in run.err
