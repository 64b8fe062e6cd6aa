"""The client of ``omni chat``: messages out, the text of an answer in."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from omni_cli.client.answer import Answer, JsonObject, Sampling
from omni_cli.client.connection import Connection

__all__ = ["ChatClient"]


class ChatClient(Connection):
    """A connection that asks the chat route."""

    def ask(
        self, model: str, messages: Sequence[Mapping[str, str]], sampling: Sampling, answer: Answer
    ) -> Generator[str]:
        """Ask, and yield the text as it arrives; ``answer`` grows along. Close the iterator to stop
        the server.

        Raises:
            ClientError: The server refused, failed midway, or ended the stream early. ``answer``
                keeps what came.
        """
        body = {"model": model, "messages": list(messages), **sampling.body()}
        part = "delta" if sampling.stream else "message"
        answer.model = model
        answer.restart_clock()
        frames = self.frames("/chat/completions", body, ready_again=answer.restart_clock)
        try:
            with closing(frames):
                for frame in frames:
                    if piece := _text(answer.take(frame), part):
                        answer.add(piece, self.reads)
                        yield piece
        finally:
            answer.end()


def _text(choices: Sequence[JsonObject], part: str) -> str:
    content = (choices[0].get(part) or {}).get("content") if choices else None
    return content if isinstance(content, str) else ""
