"""The client of ``omni complete``: a prompt out, the texts of its choices in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from omni_cli.client.connection import Connection
from omni_cli.complete.completion import Completion, Wishes

__all__ = ["CompletionClient"]


class CompletionClient(Connection):
    """A connection that asks the completions route."""

    def complete(
        self, model: str, prompt: str, wishes: Wishes, completion: Completion
    ) -> Generator[tuple[int, str]]:
        """Ask, and yield each piece of text with the index of its choice as it arrives;
        ``completion`` grows along. Close the iterator to stop the server.

        Raises:
            ClientError: The server refused, failed midway, or ended the stream early.
                ``completion`` keeps what came.
        """
        body = {"model": model, "prompt": prompt, **wishes.body()}
        answer = completion.answer
        answer.model = model
        answer.restart_clock()
        frames = self.frames("/completions", body, ready_again=answer.restart_clock)
        try:
            with closing(frames):
                for frame in frames:
                    yield from completion.take(frame, self.reads)
        finally:
            answer.end()
            if choices := completion.in_order():
                answer.finish_reason = choices[0].finish_reason
