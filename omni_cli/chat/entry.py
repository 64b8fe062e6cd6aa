"""What `omni chat` does, as one call: pick the model, then a single question or a session."""

from __future__ import annotations

from collections.abc import Sequence

from engine_bridge.errors import ClientError, UsageError
from omni_cli.chat.client import ChatClient
from omni_cli.chat.console import Prompt, ended_by_signals
from omni_cli.chat.conversation import Conversation
from omni_cli.chat.oneshot import ask_once, read_question
from omni_cli.chat.repl import Repl
from omni_cli.client.answer import Sampling
from omni_cli.client.target import Target
from omni_cli.terminal import Terminal

__all__ = ["chat"]


def chat(
    words: Sequence[str],
    sampling: Sampling,
    target: Target,
    *,
    model: str | None,
    system: str | None,
    stats: bool,
    as_json: bool,
) -> None:
    """Ask one question, or hold a session on the terminal until the person leaves.

    Args:
        words: The question; none of them for a pipe's or a session.
        model: None for the first served one that can chat.

    Raises:
        UsageError: There is no question.
        ClientError: The server is not there, refuses, or fails (in a session only before it
            starts).
    """
    terminal = Terminal()
    question = read_question(words, terminal)
    if question is None and as_json:
        raise UsageError("--json", None, "needs a question", "give a MESSAGE or pipe one in")
    with ChatClient(target, progress=terminal.progress) as client:
        if question is not None:
            ask_once(
                client,
                model,
                question,
                sampling,
                terminal,
                system=system,
                as_json=as_json,
                stats=stats,
            )
            return
        with ended_by_signals():
            chosen = _served(client, model)
            conversation = Conversation(system=system)
            Repl(client, chosen, conversation, sampling, terminal, Prompt(), stats=stats).run()


def _served(client: ChatClient, model: str | None) -> str:
    """The model to talk to; a wrong name is found before a person has typed a question."""
    if model is None:
        return client.default_model()
    names = [str(card["id"]) for card in client.models()]
    if model not in names:
        served = ", ".join(names) or "none"
        raise ClientError(
            client.address.shown, f"model {model} is not served there", f"served: {served}"
        )
    return model
