"""What is said about an answer once it has ended."""

from __future__ import annotations

import json

from engine_bridge.errors import ClientError
from omni_cli.client.answer import Answer, JsonObject
from omni_cli.terminal import Terminal

__all__ = ["conclude", "ending_note", "stats_line"]


def conclude(
    answer: Answer,
    error: ClientError | None,
    terminal: Terminal,
    *,
    fields: JsonObject | None,
    stats: bool,
    limit_given: bool = False,
) -> None:
    """Say what is left to say about an answer whose text was written.

    Args:
        error: What ended it, or None.
        fields: With ``--json`` what stands for the text in the object that is printed; else None.
        limit_given: Whether the user chose where it may be cut, and need not be told.

    Raises:
        ClientError: ``error``, after it was put into the object.
    """
    if fields is not None:
        found = {**fields, **_facts(answer)}
        if error is not None:
            found["error"] = str(error)
        terminal.out.write(f"{json.dumps(found, ensure_ascii=False)}\n")
    if error is not None:
        raise error
    note = ending_note(answer)
    if note and not (limit_given and answer.text):
        terminal.note(note)
    if stats:
        terminal.note(stats_line(answer))


def stats_line(answer: Answer) -> str:
    """What ``--stats`` says about an answer."""
    if answer.first_s is None:
        return f"stats: no text, {answer.total_s:.2f} s"
    tokens = _tokens(answer)
    count = f"{tokens} tokens" if tokens is not None else f"{answer.pieces} pieces"
    rate = _tokens_per_s(answer)
    speed = "" if rate is None else f", {rate:.1f} tokens/s"
    return f"stats: first token {answer.first_s:.2f} s, {count} in {answer.total_s:.2f} s{speed}"


def ending_note(answer: Answer) -> str | None:
    """What a reader should know about how an answer ended, or None."""
    if not answer.text:
        return "the answer is empty"
    if answer.finish_reason == "length":
        tokens = _tokens(answer)
        where = "its limit" if tokens is None else f"{tokens} tokens"
        return f"the answer was cut at {where}; --max-tokens N sets another limit"
    return None


def _facts(answer: Answer) -> JsonObject:
    """What the object that ``--json`` prints says beside the text."""
    rate = _tokens_per_s(answer)
    return {
        "model": answer.model,
        "finish_reason": answer.finish_reason,
        "usage": answer.usage,
        "timings": {
            "first_token_s": None if answer.first_s is None else round(answer.first_s, 4),
            "total_s": round(answer.total_s, 4),
            "tokens_per_s": None if rate is None else round(rate, 2),
        },
    }


def _tokens(answer: Answer) -> int | None:
    count = (answer.usage or {}).get("completion_tokens")
    return count if isinstance(count, int) else None


def _tokens_per_s(answer: Answer) -> float | None:
    """Tokens after the first one over the time after it; over the whole time if they all came at
    once, which says nothing of the time between them."""
    tokens = _tokens(answer)
    if tokens is None or answer.first_s is None:
        return None
    if answer.arrivals > 1 and tokens > 1:
        return (tokens - 1) / max(answer.total_s - answer.first_s, 1e-6)
    return tokens / max(answer.total_s, 1e-6)
