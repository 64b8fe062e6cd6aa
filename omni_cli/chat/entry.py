"""What `omni chat` does, as one call: pick the model, then a single question or a session."""

from __future__ import annotations

from collections.abc import Sequence

from engine_bridge.errors import ClientError, UsageError
from omni_cli.chat.address import Address
from omni_cli.chat.answer import Sampling
from omni_cli.chat.client import ChatClient
from omni_cli.chat.console import Prompt, ended_by_signals
from omni_cli.chat.conversation import Conversation
from omni_cli.chat.oneshot import ask_once, read_question
from omni_cli.chat.repl import Repl
from omni_cli.terminal import Terminal

__all__ = ["chat"]


def chat(
    words: Sequence[str],
    sampling: Sampling,
    *,
    url: str,
    api_key: str | None,
    timeout_s: float,
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
        UsageError: An address or a key that cannot be one, or no question.
        ClientError: The server is not there, refuses, or fails (in a session only before it
            starts).
    """
    terminal = Terminal()
    address = Address.parse(url)
    _check_key(api_key)
    question = read_question(words, terminal)
    if question is None and as_json:
        raise UsageError("--json", None, "needs a question", "give a MESSAGE or pipe one in")
    with ChatClient(
        address, api_key=api_key, timeout_s=timeout_s, progress=terminal.progress
    ) as client:
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


def _check_key(key: str | None) -> None:
    if key is not None and not (key.isascii() and key.isprintable()):
        raise UsageError("--api-key", None, "has characters that an HTTP header cannot carry")
