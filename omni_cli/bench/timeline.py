"""An answer as it arrives: which chunks carried text, when, and how many tokens each held.

Pure: the times are passed in. A chunk is all the text that arrives in one read, however many events
the server made of it: to whoever waits it is one. Comments, events without text (a role, a usage)
and empty texts are no chunks, since nothing has become readable.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from omni_cli.bench.record import Record

__all__ = ["Timeline"]

# Where a chat delta carries what the model made
_TEXT_FIELDS = ("content", "reasoning", "reasoning_content", "refusal", "tool_calls", "audio")


class Timeline:
    """Feed it the frames of each read; in the end it fills a record."""

    def __init__(self, sent_s: float) -> None:
        self._sent_s = sent_s
        self._times = array("d")
        self._events = array("l")  # events with text in each chunk
        self._counts = array("l")  # the server's running count of tokens at each chunk, or -1
        self._running = -1
        self._last_s = sent_s
        self._prompt_tokens: int | None = None
        self._output_tokens: int | None = None
        self._finish_reason: str | None = None

    @property
    def has_text(self) -> bool:
        """Whether anything became readable."""
        return bool(self._times)

    def receive(self, now_s: float, frames: Sequence[dict[str, Any]]) -> None:
        """Take the frames that arrived in one read."""
        events = 0
        for frame in frames:
            self._note_usage(frame.get("usage"))
            choices = frame.get("choices")
            choice = choices[0] if isinstance(choices, list) and choices else None
            if isinstance(choice, dict):
                self._last_s = now_s
                events += _carries_text(choice)
                if isinstance(choice.get("finish_reason"), str):
                    self._finish_reason = choice["finish_reason"]
        if events:
            self._times.append(now_s)
            self._events.append(events)
            self._counts.append(self._running)

    def fill(self, record: Record) -> None:
        """Write what was measured into a record; the end of the answer is the caller's to set."""
        record.prompt_tokens = self._prompt_tokens
        record.output_tokens = self._output_tokens
        record.finish_reason = self._finish_reason
        if not self._times:
            return
        record.ttft_s = self._times[0] - self._sent_s
        record.decode_s = self._last_s - self._times[0]
        pairs = zip(self._times, self._times[1:], strict=False)
        record.gaps_s = array("d", (after - before for before, after in pairs))
        if self._output_tokens is not None:
            record.exact, counts = self._token_counts(self._output_tokens)
            steps = zip(counts, counts[1:], strict=False)
            record.gap_tokens = array("l", (max(after - before, 0) for before, after in steps))

    def _token_counts(self, total: int) -> tuple[bool, list[int]]:
        """Tokens up to and with each chunk, and whether that is sure.

        It is if the server counted along, or if there are as many events as tokens. Otherwise the
        tokens are spread evenly over the events.
        """
        first, last = self._counts[0], self._counts[-1]
        # Some servers send a count of 0 with the first chunk and the true one with the last only
        if min(self._counts) > 0 and (last == total or last > first):
            return True, list(self._counts)
        events, seen, counts = sum(self._events), 0, list[int]()
        for number in self._events:
            seen += number
            counts.append(round(seen * total / events))
        return events == total, counts

    def _note_usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(prompt, int):
            self._prompt_tokens = prompt
        if isinstance(output, int):
            self._output_tokens = self._running = output


def _carries_text(choice: dict[str, Any]) -> bool:
    if choice.get("text"):
        return True
    delta = choice.get("delta")
    return isinstance(delta, dict) and any(delta.get(name) for name in _TEXT_FIELDS)
