"""What is known of one request after it has ended."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Failure", "FailureKind", "Outcome", "Record"]


class Outcome(StrEnum):
    """How a request ended."""

    OK = "ok"
    FAILED = "failed"
    UNFINISHED = "unfinished"  # still running when the load was stopped


class FailureKind(StrEnum):
    """What can go wrong with a request; a status other than 200 is ``http_`` and the status."""

    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    BROKEN = "connection_broke"
    PROTOCOL = "protocol"
    NOT_A_STREAM = "not_a_stream"
    BAD_CHUNK = "bad_chunk"
    ERROR_FRAME = "error_frame"
    CUT = "cut_stream"
    EMPTY = "empty_answer"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request failed.

    Attributes:
        kind: A FailureKind, or ``http_500`` and the like.
        message: What the server or the network said.
    """

    kind: str
    message: str


@dataclass(slots=True)
class Record:
    """One request. Times are in seconds; those of the clock count from the start of the load.

    Attributes:
        scheduled_s: When it was to be sent, or None if that was as soon as there was room.
        sent_s: When it was sent.
        ttft_s: From sending to the first chunk with text.
        decode_s: From the first chunk with text to the last event that belongs to the choice, with
            text or without: a last token may have none.
        gaps_s: From each chunk with text to the next.
        gap_tokens: The tokens in the chunk at the end of each gap; empty if not known.
        e2e_s: From sending to the end of a whole answer.
        took_s: From sending to whatever ended it: an answer, a failure, a stop.
        exact: Whether the server's own counts say which chunk holds how many tokens.
    """

    index: int
    sent_s: float
    scheduled_s: float | None = None
    outcome: Outcome = Outcome.UNFINISHED
    failure: Failure | None = None
    ttft_s: float | None = None
    decode_s: float | None = None
    e2e_s: float | None = None
    took_s: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    gaps_s: array[float] = field(default_factory=lambda: array("d"))
    gap_tokens: array[int] = field(default_factory=lambda: array("l"))
    exact: bool = False

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first; 0 for one token, None if nobody counted."""
        if self.decode_s is None or self.output_tokens is None:
            return None
        return self.decode_s / (self.output_tokens - 1) if self.output_tokens > 1 else 0.0

    def as_json(self) -> dict[str, Any]:
        """One line of ``--save``."""
        return {
            "index": self.index,
            "outcome": str(self.outcome),
            "failure": self.failure.kind if self.failure else None,
            "message": self.failure.message if self.failure else None,
            "scheduled_s": _rounded(self.scheduled_s),
            "sent_s": _rounded(self.sent_s),
            "ttft_s": _rounded(self.ttft_s),
            "e2e_s": _rounded(self.e2e_s),
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "finish_reason": self.finish_reason,
            "gaps_s": [round(gap, 6) for gap in self.gaps_s],
            "gap_tokens": list(self.gap_tokens),
        }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
