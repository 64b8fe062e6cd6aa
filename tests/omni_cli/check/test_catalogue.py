"""Every check passes against a server that keeps the rules, and each can fail alone."""

from __future__ import annotations

import re

import pytest

from omni_cli.check.catalogue import ALL
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Result
from omni_cli.check.runner import run_checks
from omni_cli.check.session import Session
from omni_cli.check.wire import Wire
from tests.omni_cli.check.conforming import KEY, Conforming
from tests.omni_cli.check.faults import FAULTS
from tests.omni_cli.conftest import ROOT

# Longer than anything here takes
TIMEOUT_S = 10.0
# Where waiting in vain is what is tested
SHORT_TIMEOUT_S = 0.5
BY_ID = {check.id: check for check in ALL}
# Their faults are clients that a server does not see leaving
LEAVING = [name for name in BY_ID if name.startswith("disconnect.")]


def run(
    server: Conforming, checks: tuple[Check, ...] = ALL, timeout_s: float = TIMEOUT_S
) -> list[Result]:
    session = Session(Wire(server.url, KEY))
    return run_checks(session, checks, timeout_s=timeout_s, shown_base=server.url)


def failed(results: list[Result]) -> list[str]:
    return [result.check.id for result in results if result.outcome == "fail"]


def test_a_server_that_keeps_the_rules_passes_every_check(conforming: Conforming) -> None:
    results = run(conforming)
    assert [(r.check.id, r.reason, r.came) for r in results if r.outcome != "pass"] == []
    assert len(results) == len(ALL)


def test_every_check_has_a_fault_and_a_name_of_its_own() -> None:
    assert len(BY_ID) == len(ALL)
    assert {check.family for check in ALL} == set(Family)
    assert set(FAULTS) | set(LEAVING) == set(BY_ID)


def test_the_page_has_every_family() -> None:
    rows = re.findall(r"^\| (\w+) \| ", (ROOT / "docs/check.md").read_text(), re.MULTILINE)
    assert [row for row in rows if row in set(Family)] == list(Family)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_check_of_its_rule_alone(name: str, conforming: Conforming) -> None:
    conforming.twist = FAULTS[name]
    # A huge header takes longer than all the rest
    left_out = {*LEAVING, "limits.header"} - {name}
    checks = tuple(check for check in ALL if check.id not in left_out)
    timeout_s = SHORT_TIMEOUT_S if name == "limits.body" else TIMEOUT_S
    results = run(conforming, checks, timeout_s)
    assert failed(results) == [name]
    (result,) = (result for result in results if result.outcome == "fail")
    assert result.expected
    assert result.came
    assert result.curl.startswith(("curl ", "(printf ", "printf ")) or name == "replies.some"
    assert KEY not in result.curl
    # whatever came before it must not be what makes it fail
    assert failed(run(conforming, (BY_ID[name],), timeout_s)) == [name]


@pytest.mark.parametrize("name", LEAVING)
def test_a_server_that_works_on_for_a_client_that_left_fails(
    name: str, conforming: Conforming
) -> None:
    _, api, kind = name.split(".")
    conforming.deaf.add((api, kind == "stream"))
    (result,) = run(conforming, (BY_ID[name],), SHORT_TIMEOUT_S)
    assert (result.outcome, result.came) == ("fail", "it runs on")


def test_without_a_key_the_checks_of_keys_are_skipped(conforming: Conforming) -> None:
    checks = tuple(check for check in ALL if check.family is Family.AUTH)
    session = Session(Wire(conforming.url))
    results = run_checks(session, checks, timeout_s=TIMEOUT_S, shown_base="")
    assert {result.reason for result in results} == {"no key was given (--api-key)"}
    assert conforming.asked == []
