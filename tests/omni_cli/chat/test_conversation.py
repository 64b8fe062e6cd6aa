"""What is sent with each question."""

from __future__ import annotations

from omni_cli.chat.conversation import Conversation


def test_messages_hold_what_was_answered() -> None:
    talk = Conversation(system="Be brief")
    talk.record("one", "1")
    talk.record("failed", "")
    assert talk.messages("two") == [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two"},
    ]


def test_take_back_returns_the_last_question() -> None:
    talk = Conversation()
    assert talk.take_back() is None
    talk.record("one", "1")
    talk.record("failed", "")
    assert [talk.take_back(), talk.take_back(), talk.take_back()] == ["failed", "one", None]


def test_clear_keeps_the_system_prompt() -> None:
    talk = Conversation(system="Be brief")
    talk.record("one", "1")
    talk.clear()
    assert [message["role"] for message in talk.messages("two")] == ["system", "user"]
