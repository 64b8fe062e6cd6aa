"""What a user asks of one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DEFAULT_MAX_RETRIES", "JOURNAL_SUFFIX", "STDIO", "BatchWish"]

# With the delays of server.batch.retry some 15 s: a server's frontend is replaced faster.
DEFAULT_MAX_RETRIES = 5
STDIO = "-"
JOURNAL_SUFFIX = ".journal"
_ERRORS_SUFFIX = ".errors.jsonl"

Existing = Literal["refuse", "resume", "overwrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWish:
    """The flags of ``omni run-batch`` itself.

    Attributes:
        source: INPUT; ``-`` is stdin.
        output: ``-`` is stdout.
        errors: As given, or None; ``-`` is stderr.
        existing: What happens to result files that are there already.
        ordered: Whether results come in the order of the input.
        check: Whether to look at the lines and run nothing.
        concurrency: Lines at work at once, or None.
        max_retries: Further attempts for a line.
        json: Whether the summary is printed as an object.
        verbosity: As ``Terminal``'s.
    """

    source: str
    output: str
    errors: str | None = None
    existing: Existing = "refuse"
    ordered: bool = True
    check: bool = False
    concurrency: int | None = None
    max_retries: int = DEFAULT_MAX_RETRIES
    json: bool = False
    verbosity: int = 0

    @property
    def error_target(self) -> str:
        """Where failed lines go."""
        if self.errors is not None:
            return self.errors
        if self.output == STDIO:
            return STDIO
        return f"{self.output.removesuffix('.jsonl')}{_ERRORS_SUFFIX}"

    @property
    def source_name(self) -> str:
        """The input, for messages."""
        return "stdin" if self.source == STDIO else self.source
