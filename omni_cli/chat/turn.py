"""One question and its answer, from the client onto the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from omni_cli.chat.client import ChatClient
from omni_cli.client.answer import Answer, Sampling
from omni_cli.client.writers import AnswerWriter

__all__ = ["run_turn"]


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
