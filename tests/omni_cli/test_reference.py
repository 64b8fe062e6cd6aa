"""docs/cli.md says what the application says."""

from __future__ import annotations

from omni_cli.reference import reference, with_reference
from tests.omni_cli.conftest import ROOT


def test_the_document_is_up_to_date() -> None:
    document = (ROOT / "docs" / "cli.md").read_text()
    assert with_reference(document) == document, "run `make completions`"


def test_every_command_has_a_section() -> None:
    headings = [line for line in reference().splitlines() if line.startswith("## ")]
    assert headings[:2] == ["## omni", "## omni serve"]
    assert {"## omni chat", "## omni models pull", "## omni version"} <= set(headings)
