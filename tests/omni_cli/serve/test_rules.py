"""Every row of the combination table: what it refuses, and what it must not."""

from __future__ import annotations

import os

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.rules import RULES, Rule
from tests.omni_cli.serve.rule_examples import opened, prepared, read

EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
FLAGS = opened()


def test_rows_have_names_of_their_own() -> None:
    names = [rule.id for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)


@EACH
def test_row_is_about_known_flags(rule: Rule) -> None:
    known = {*catalogue().by_dest, "target"}
    assert {dest.partition(".")[0] for dest in rule.flags} <= known


@EACH
def test_row_refuses_its_example(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(rule.example, monkeypatch) as words:
        line = read(words, FLAGS, os.environ, **rule.example.facts)
        assert line.problems == []
        found = line.found(rule)
    assert found
    for problem in found:
        assert problem.reason
        assert "{" not in f"{problem.reason}{problem.way_out}"
        assert hash(problem) is not None


@EACH
def test_row_lets_its_near_miss_pass(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(rule.allowed, monkeypatch) as words:
        line = read(words, FLAGS, os.environ, **rule.allowed.facts)
        assert line.problems == []
        assert line.found(rule) == []
