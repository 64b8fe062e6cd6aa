"""What has been said in a session, and what is sent with the next question."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Conversation", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer; the answer is None if there was none, and such a turn is not sent
    again."""

    question: str
    answer: str | None


@dataclass(slots=True)
class Conversation:
    """The turns of a session under one system prompt."""

    system: str | None = None
    turns: list[Turn] = field(default_factory=list)

    def messages(self, question: str) -> list[dict[str, str]]:
        """Everything that was answered so far, then the question, as the chat API takes it."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns:
            if turn.answer is not None:
                messages.append({"role": "user", "content": turn.question})
                messages.append({"role": "assistant", "content": turn.answer})
        return [*messages, {"role": "user", "content": question}]

    def record(self, question: str, answer: str) -> None:
        """Keep a turn; an empty answer (stopped before its first word, or failed) only serves
        ``take_back``."""
        self.turns.append(Turn(question, answer or None))

    def take_back(self) -> str | None:
        """Forget the last turn and return its question, or None if there is none."""
        return self.turns.pop().question if self.turns else None

    def clear(self) -> None:
        """Forget all turns; the system prompt stays."""
        self.turns.clear()
