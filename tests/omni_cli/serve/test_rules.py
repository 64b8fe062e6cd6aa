"""Every row of the combination table: what it refuses, and what it must not."""

from __future__ import annotations

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.rules import RULES, Rule
from omni_cli.serve.rules.judge import judge, opened, place

EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
FLAGS = opened()


def test_rows_have_names_of_their_own() -> None:
    names = [rule.id for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() and name == name.lower() for name in names)


@EACH
def test_row_is_about_known_flags(rule: Rule) -> None:
    known = {*catalogue().by_dest, "target"}
    assert {dest.partition(".")[0] for dest in rule.flags} <= known


@EACH
def test_row_refuses_its_example(rule: Rule) -> None:
    with place(rule.example):
        line = judge(rule.example, FLAGS)
        assert line.problems == []
        found = line.found(rule)
    assert found
    for problem in found:
        assert problem.reason
        assert "{" not in f"{problem.reason}{problem.way_out}"
        assert hash(problem) is not None


@EACH
def test_row_lets_its_near_miss_pass(rule: Rule) -> None:
    with place(rule.allowed):
        line = judge(rule.allowed, FLAGS)
        assert line.problems == []
        assert line.found(rule) == []


@pytest.mark.parametrize(
    "rule",
    [rule for rule in RULES if rule.source and not rule.allowed.facts],
    ids=lambda rule: rule.id,
)
def test_line_that_vllm_takes_is_refused_by_no_row_that_cites_it(rule: Rule) -> None:
    """vLLM is asked about these near misses in test_rules_vllm.py."""
    with place(rule.allowed):
        line = judge(rule.allowed, FLAGS)
        found = [other.id for other in RULES if other.source and line.found(other)]
    assert found == []
