"""How a check ends: it returns, or it raises ``Fault`` or ``Skip``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from omni_cli.check.family import Family
from omni_cli.check.rules import Rule
from omni_cli.check.wire import Answer
from omni_cli.terminal import one_line

if TYPE_CHECKING:
    from omni_cli.check.session import Session

__all__ = ["Check", "Fault", "Outcome", "Result", "Skip", "excerpt", "quoted"]

Outcome = Literal["pass", "fail", "skip"]

# Of what a server sent; enough to recognise it, and a report stays readable
MAX_EXCERPT_CHARS = 300


class Fault(Exception):
    """The server breaks the rule.

    Args:
        expected: What the rule asks for; no full stop.
        came: What came instead; cut to MAX_EXCERPT_CHARS where it is shown.
        answer: The answer that shows it, or None; its request becomes the curl line.
    """

    def __init__(self, expected: str, came: str, answer: Answer | None = None) -> None:
        super().__init__(expected, came)
        self.expected = expected
        self.came = came
        self.answer = answer


class Skip(Exception):
    """The rule cannot be tested here; the reason has no full stop."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule, tested in one way.

    Attributes:
        name: Unique within the family (``chat.done``).
        title: What holds if it passes.
        rule: Where that is written.
        run: Returns a remark, mostly empty; raises Fault or Skip.
    """

    family: Family
    name: str
    title: str
    rule: Rule
    run: Callable[[Session], str]

    @property
    def id(self) -> str:
        """Unique among all."""
        return f"{self.family.value}.{self.name}"


@dataclass(frozen=True, slots=True)
class Result:
    """How one check ended.

    Attributes:
        reason: Why it was skipped, or a remark of a pass.
        expected: Of a failure: what the rule asks for.
        came: Of a failure: what came instead, at most MAX_EXCERPT_CHARS characters in one line.
        curl: Of a failure: a line for a shell that shows it again; empty if none can.
    """

    check: Check
    outcome: Outcome
    reason: str = ""
    expected: str = ""
    came: str = ""
    curl: str = ""
    elapsed_s: float = 0.0


def excerpt(text: str) -> str:
    """A text in one line that no terminal can mistake for a command, cut to MAX_EXCERPT_CHARS."""
    line = one_line(text[: 4 * MAX_EXCERPT_CHARS])
    return line if len(line) <= MAX_EXCERPT_CHARS else f"{line[:MAX_EXCERPT_CHARS]}..."


def quoted(value: Any) -> str:
    """A value as JSON, for messages."""
    return json.dumps(value, ensure_ascii=False)
