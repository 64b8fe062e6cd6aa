"""docs/validation.md, and the flags that are counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.rules import RULES
from omni_cli.serve.rules.page import counts, page

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "validation.md"


def test_document_is_what_the_table_says() -> None:
    assert DOCUMENT.read_text() == page(), "run `make completions`"


def test_document_has_every_row() -> None:
    text = page()
    assert [rule.id for rule in RULES if f"\n### {rule.id}\n" not in text] == []


@pytest.mark.parametrize("dest", counts())
def test_count_below_one_is_refused(dest: str) -> None:
    flags = catalogue()
    name = flags.by_dest[dest].name
    problems = parse([name, "0"], flags).problems
    assert [(problem.subject, str(problem.value)) for problem in problems] == [(name, "0")]


def test_counts_are_those_that_matter() -> None:
    assert {"api_server_count", "tensor_parallel_size", "threads", "max_num_seqs"} <= {*counts()}
