"""One question and its answer, from the client onto the screen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from engine_bridge.errors import OmniError
from omni_cli.chat.answer import Answer, Sampling
from omni_cli.chat.client import ChatClient
from omni_cli.chat.rendering import AnswerWriter

__all__ = ["answer_as_json", "ending_note", "run_turn", "stats_line"]


def run_turn(
    client: ChatClient,
    model: str,
    messages: Sequence[Mapping[str, str]],
    sampling: Sampling,
    answer: Answer,
    writer: AnswerWriter,
) -> None:
    """Ask and write the answer as it comes. However it ends, the writer is finished if anything was
    written.

    Raises:
        ClientError: As ``ChatClient.ask``; ``answer`` keeps what came.
        KeyboardInterrupt: The connection is closed by then.
    """
    try:
        with closing(client.ask(model, messages, sampling, answer)) as pieces:
            for piece in pieces:
                writer.write(piece)
    finally:
        if answer.text or answer.finish_reason:
            writer.finish()


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


def answer_as_json(answer: Answer, error: OmniError | None = None) -> str:
    """The object that ``--json`` prints, as one line. An error stands in it beside the text that
    came before."""
    rate = _tokens_per_s(answer)
    fields: dict[str, Any] = {
        "answer": answer.text,
        "model": answer.model,
        "finish_reason": answer.finish_reason,
        "usage": answer.usage,
        "timings": {
            "first_token_s": None if answer.first_s is None else round(answer.first_s, 4),
            "total_s": round(answer.total_s, 4),
            "tokens_per_s": None if rate is None else round(rate, 2),
        },
    }
    if error is not None:
        fields["error"] = str(error)
    return json.dumps(fields, ensure_ascii=False)


def _tokens(answer: Answer) -> int | None:
    count = (answer.usage or {}).get("completion_tokens")
    return count if isinstance(count, int) else None


def _tokens_per_s(answer: Answer) -> float | None:
    """Tokens after the first one over the time after it; over the whole time if they came in one
    piece."""
    tokens = _tokens(answer)
    if tokens is None or answer.first_s is None:
        return None
    if answer.pieces > 1 and tokens > 1:
        return (tokens - 1) / max(answer.total_s - answer.first_s, 1e-6)
    return tokens / max(answer.total_s, 1e-6)
