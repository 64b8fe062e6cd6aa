"""One row of the combination table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from omni_cli.serve.problems import Problem
from omni_cli.serve.rules.line import Line, Named

__all__ = ["CUDA", "Example", "Found", "Rule", "problems"]

Words = Mapping[str, object]
Found = bool | Words | Sequence[Words]
"""What a rule makes of a line: whether it is refused; or with which words the sentence is filled,
once for each problem.

Words named ``blame`` (a destination), ``subject``, ``value`` and ``origin`` say what the problem
names instead of the first flag of the rule that was given.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A command line, for the tests and for the documentation.

    Attributes:
        words: What stands after ``omni serve``, as in a shell. ``{busy_port}`` stands for a port on
            which somebody else listens.
        files: Files of the current folder, by their path.
        environ: Variables, laid over those of the machine.
        facts: Facts that not every machine has, by the field of ``Facts``; on any other machine the
            example is judged from them alone and not run.
    """

    words: str
    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)


CUDA: Mapping[str, object] = {
    "platform": "cuda",
    "gpus": 2,
    "packages": frozenset({"triton"}),
}
"""Facts of a machine with two GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row: lines that are refused before anything starts.

    Attributes:
        id: Its name, in words joined by hyphens.
        flags: Destinations it is about; the problem names the first of them that was given.
        when: Finds out whether a line is refused; pure.
        reason: Why, without full stop. ``{max_num_seqs}`` is a flag as the user spelt it,
            ``{max_num_seqs.value}`` its value; other names are words that ``when`` gave.
        way_out: What to do instead, written in the same way.
        source: File and function of vLLM that would refuse the line later; empty if the rule is
            omni's own.
        each: Whether it is asked once for a run, or for every stage of it.
        example: A line that is refused by this rule.
        allowed: The nearest line that is not.
    """

    id: str
    flags: tuple[str, ...]
    when: Callable[[Line], Found]
    reason: str
    way_out: str = ""
    source: str = ""
    each: Literal["run", "stage"] = "stage"
    example: Example
    allowed: Example


def problems(rule: Rule, line: Line) -> Iterator[Problem]:
    """What one rule finds in one line."""
    found = rule.when(line)
    if isinstance(found, bool):
        found = [{}] if found else []
    for words in [found] if isinstance(found, Mapping) else found:
        yield _problem(rule, line, words)


def _problem(rule: Rule, line: Line, words: Words) -> Problem:
    given = (dest for dest in rule.flags if line.given(dest))
    blame = str(words.get("blame") or next(given, rule.flags[0]))
    names = _Names(line, words)
    return Problem(
        subject=str(words.get("subject") or line.subject(blame)),
        value=words["value"] if "value" in words else line.shown(blame),
        origin=words.get("origin") or line.origin(blame),  # type: ignore[arg-type]
        reason=rule.reason.format_map(names),
        way_out=rule.way_out.format_map(names),
    )


class _Names(dict[str, object]):
    """Words for a sentence; any name that a rule did not give is a flag's destination."""

    def __init__(self, line: Line, words: Mapping[str, object]) -> None:
        super().__init__(words)
        self.line = line

    def __missing__(self, name: str) -> Named:
        return Named(self.line, name)
