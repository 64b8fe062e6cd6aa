"""What a run found: for people, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from omni_cli.check.family import Family
from omni_cli.check.outcome import Outcome, Result

__all__ = ["Report"]

Styled = Callable[[str, str], str]  # a text and an SGR code
_WORDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_COLOURS: dict[Outcome, str] = {"pass": "32", "fail": "1;31", "skip": "2"}


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run.

    Attributes:
        url: The server's address, without a user and a password.
        server: What it calls itself (its ``server`` header), or empty.
        model: The model that was used, or empty.
        requests: How many were sent.
        planned: Checks that were to be made; more than there are results after a Ctrl-C.
    """

    url: str
    server: str
    model: str
    results: tuple[Result, ...]
    requests: int
    elapsed_s: float
    planned: int

    @property
    def verdict(self) -> str:
        """``failed`` if any check failed, ``passed`` if any passed, else ``skipped``."""
        return _verdict(self.results)

    @property
    def interrupted(self) -> bool:
        """Whether it ended before all checks were made."""
        return len(self.results) < self.planned

    def as_json(self) -> dict[str, Any]:
        """The whole report, with nothing but JSON's own types."""
        return {
            "url": self.url,
            "server": self.server or None,
            "model": self.model or None,
            "verdict": self.verdict,
            "interrupted": self.interrupted,
            **_counts(self.results),
            "requests": self.requests,
            "elapsed_s": round(self.elapsed_s, 3),
            "families": {
                family.value: {"verdict": _verdict(results), **_counts(results)}
                for family, results in self._families()
            },
            "checks": [_as_json(result) for result in self.results],
        }

    def lines(self, styled: Styled) -> Iterator[str]:
        """The report for people, line by line, grouped by family."""
        yield f"{self.url}, model {self.model or '(none)'}"
        for family, results in self._families():
            yield ""
            head = styled(f"{family.value}: {_verdict(results)} ({_sentence(results)})", "1")
            reasons = {result.reason if result.outcome == "skip" else None for result in results}
            if len(results) > 1 and reasons != {None} and len(reasons) == 1:
                yield f"{head}: {results[0].reason}"  # once, not behind each
                continue
            yield head
            for result in results:
                yield from _lines(result, styled)
        yield ""
        took = f"{self.requests} requests, {self.elapsed_s:.1f} s"
        verdict = self.verdict
        if self.interrupted:
            verdict = f"interrupted after {len(self.results)} of {self.planned} checks"
        yield styled(f"{verdict}: {_sentence(self.results)}; {took}", "1")

    def _families(self) -> Iterator[tuple[Family, list[Result]]]:
        for family in Family:
            results = [result for result in self.results if result.check.family is family]
            if results:
                yield family, results


def _counts(results: tuple[Result, ...] | list[Result]) -> dict[str, int]:
    counted = Counter(result.outcome for result in results)
    return {word: counted[outcome] for outcome, word in _WORDS.items()}  # type: ignore[index]


def _verdict(results: tuple[Result, ...] | list[Result]) -> str:
    counts = _counts(results)
    return next((word for word in ("failed", "passed") if counts[word]), "skipped")


def _sentence(results: tuple[Result, ...] | list[Result]) -> str:
    counts = _counts(results)
    order = ("failed", "passed", "skipped")
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word]) or "no check"


def _lines(result: Result, styled: Styled) -> Iterator[str]:
    remark = f": {result.reason}" if result.outcome == "skip" else ""
    mark = styled(result.outcome, _COLOURS[result.outcome])
    yield f"  {mark}  {result.check.title}{remark}"
    if result.outcome != "fail":
        return
    rule = result.check.rule
    yield f"        check     {result.check.id}"
    yield f"        rule      {rule.text} <{rule.url}>"
    yield f"        expected  {result.expected}"
    yield f"        came      {result.came}"
    if result.curl:
        yield f"        again     {result.curl}"


def _as_json(result: Result) -> dict[str, Any]:
    check = result.check
    return {
        "id": check.id,
        "family": check.family.value,
        "title": check.title,
        "rule": check.rule.text,
        "rule_url": check.rule.url,
        "outcome": result.outcome,
        "reason": result.reason or None,
        "expected": result.expected or None,
        "came": result.came or None,
        "curl": result.curl or None,
        "elapsed_s": round(result.elapsed_s, 3),
    }
