"""What a completion is asked for with, and its choices as they grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omni_cli.client.answer import Answer, JsonObject, Sampling

__all__ = ["Choice", "Completion", "Wishes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is sent with a prompt; None and the empty leave the choice to the server.

    Attributes:
        stop: Texts that end a completion.
        echo: Whether the prompt comes back before the completion.
        n: Number of completions of the one prompt.
        logprobs: Number of likeliest tokens to be told of at each place.
    """

    sampling: Sampling
    stop: tuple[str, ...] = ()
    echo: bool = False
    n: int | None = None
    logprobs: int | None = None

    def body(self) -> JsonObject:
        """The request's fields, without those that were not given."""
        body = self.sampling.body()
        if self.stop:
            body["stop"] = list(self.stop)
        if self.echo:
            body["echo"] = True
        if self.n is not None:
            body["n"] = self.n
        if self.logprobs is not None:
            body["logprobs"] = self.logprobs
        return body


@dataclass(slots=True)
class Choice:
    """One completion as it grows; ``logprobs`` is what the server sent, its lists joined."""

    text: str = ""
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None

    def take(self, choice: JsonObject) -> str:
        """Read a choice of a chunk or a body and return its text."""
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        if isinstance(choice.get("logprobs"), dict):
            self._take_logprobs(choice["logprobs"])
        text = choice.get("text")
        if not isinstance(text, str):
            return ""
        self.text += text
        return text

    def _take_logprobs(self, found: dict[str, Any]) -> None:
        self.logprobs = self.logprobs or {}
        for name, value in found.items():
            before = self.logprobs.get(name)
            joined = isinstance(before, list) and isinstance(value, list)
            self.logprobs[name] = [*before, *value] if before and joined else value


@dataclass(slots=True)
class Completion:
    """All the choices of one prompt, and what is known of the answer as a whole."""

    answer: Answer = field(default_factory=Answer)
    choices: dict[int, Choice] = field(default_factory=dict)

    def take(self, frame: JsonObject, read: int) -> list[tuple[int, str]]:
        """Read a chunk or a body.

        Args:
            read: The read of the connection that brought it.

        Returns:
            The texts in it, each with the index of its choice.
        """
        found = []
        for raw in self.answer.take(frame):
            index = raw.get("index")
            index = index if isinstance(index, int) else 0
            text = self.choices.setdefault(index, Choice()).take(raw)
            if text:
                self.answer.add(text, read)
                found.append((index, text))
        return found

    def in_order(self) -> list[Choice]:
        """The choices by index."""
        return [self.choices[index] for index in sorted(self.choices)]

    def as_fields(self) -> JsonObject:
        """What ``--json`` shows of the texts: the first one, and all with what belongs to them."""
        choices = self.in_order()
        shown = [
            {"text": choice.text, "finish_reason": choice.finish_reason}
            | ({} if choice.logprobs is None else {"logprobs": choice.logprobs})
            for choice in choices
        ]
        return {"text": choices[0].text if choices else "", "choices": shown}
