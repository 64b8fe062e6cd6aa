"""docs/flags.md says what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.reference import flags_page, write_flags_page
from tests.omni_cli.conftest import ROOT


def test_the_document_is_up_to_date() -> None:
    assert (ROOT / "docs" / "flags.md").read_text() == flags_page(), "run `make completions`"


def test_it_is_written(tmp_path: Path) -> None:
    write_flags_page(tmp_path / "flags.md")
    assert (tmp_path / "flags.md").read_text() == flags_page()


def test_every_flag_has_a_section_and_every_refusal_a_row() -> None:
    page = flags_page()
    for flag in catalogue():
        assert f"{flag.name}" in page
        if flag.scope in ("refused", "satisfied"):
            assert f"| `{flag.name}` | {flag.scope} | " in page
    assert page.count("\n### ") == len(catalogue().by_dest)
