"""The report, for people and as JSON."""

from __future__ import annotations

from omni_cli.check.family import Family
from omni_cli.check.outcome import MAX_EXCERPT_CHARS, Check, Result, excerpt
from omni_cli.check.report import Report
from omni_cli.check.rules import Rule


def check(name: str, family: Family) -> Check:
    return Check(family, name, f"the {name}", Rule("RFC 1", "http://r"), lambda session: "")


RESULTS = (
    Result(check("first", Family.MODELS), "pass", reason="two", elapsed_s=0.25),
    Result(check("second", Family.SSE), "fail", "", "one", "none", "curl http://h"),
    Result(check("third", Family.SSE), "skip", "no model"),
)
REPORT = Report("http://h", "nginx", "tiny", RESULTS, 9, 1.25, planned=3)

TEXT = """\
http://h, model tiny

models: passed (1 passed)
  pass  the first

sse: failed (1 failed, 1 skipped)
  fail  the second
        check     sse.second
        rule      RFC 1 <http://r>
        expected  one
        came      none
        again     curl http://h
  skip  the third: no model

failed: 1 failed, 1 passed, 1 skipped; 9 requests, 1.2 s
"""


def test_text() -> None:
    assert "".join(f"{line}\n" for line in REPORT.lines(lambda text, code: text)) == TEXT


def test_json() -> None:
    found = REPORT.as_json()
    assert {key: found[key] for key in ("url", "server", "model", "verdict", "requests")} == {
        "url": "http://h",
        "server": "nginx",
        "model": "tiny",
        "verdict": "failed",
        "requests": 9,
    }
    assert found["families"] == {
        "models": {"verdict": "passed", "passed": 1, "failed": 0, "skipped": 0},
        "sse": {"verdict": "failed", "passed": 0, "failed": 1, "skipped": 1},
    }
    assert found["checks"][1] == {
        "id": "sse.second",
        "family": "sse",
        "title": "the second",
        "rule": "RFC 1",
        "rule_url": "http://r",
        "outcome": "fail",
        "reason": None,
        "expected": "one",
        "came": "none",
        "curl": "curl http://h",
        "elapsed_s": 0.0,
    }


def test_nothing_but_skips_is_no_pass() -> None:
    assert Report("http://h", "", "", RESULTS[2:], 0, 0.0, planned=1).verdict == "skipped"


def test_an_excerpt_is_short_and_harmless() -> None:
    assert excerpt("a\x1b[2J\n b") == "a\u241b[2J b"
    assert len(excerpt("x" * 10_000)) == MAX_EXCERPT_CHARS + 3


def test_a_family_that_is_skipped_for_one_reason_is_one_line() -> None:
    results = tuple(
        Result(check(name, Family.AUTH), "skip", "no key was given") for name in ("a", "b")
    )
    lines = list(
        Report("http://h", "", "", results, 0, 0.0, planned=2).lines(lambda text, code: text)
    )
    assert lines[2:] == [
        "auth: skipped (2 skipped): no key was given",
        "",
        "skipped: 2 skipped; 0 requests, 0.0 s",
    ]


def test_what_was_found_until_a_ctrl_c() -> None:
    report = Report("http://h", "", "tiny", RESULTS[:1], 2, 1.0, planned=3)
    last = list(report.lines(lambda text, code: text))[-1]
    assert last == "interrupted after 1 of 3 checks: 1 passed; 2 requests, 1.0 s"
    assert (report.as_json()["interrupted"], report.as_json()["verdict"]) == (True, "passed")
