"""`omni chat MESSAGE` and `... | omni chat`: one question, one answer."""

from __future__ import annotations

from collections.abc import Sequence

from engine_bridge.errors import ClientError, UsageError
from omni_cli.chat.client import ChatClient
from omni_cli.chat.conversation import Conversation
from omni_cli.chat.rendering import answer_writer
from omni_cli.chat.turn import run_turn
from omni_cli.client.answer import Answer, Sampling
from omni_cli.client.piped import is_piped, read_stdin
from omni_cli.client.summary import conclude
from omni_cli.client.writers import SilentWriter
from omni_cli.terminal import Terminal

__all__ = ["ask_once", "read_question"]

_WAY_OUT = "give a MESSAGE, pipe one in, or run it on a terminal"


def read_question(words: Sequence[str], terminal: Terminal) -> str | None:
    """The question of a one-shot run: the words, a pipe or file on stdin, or both with a blank line
    between.

    Args:
        words: MESSAGE; a single ``-`` stands for stdin, which is then read even from a terminal.

    Returns:
        The question, or None if there is a person to talk to instead.

    Raises:
        UsageError: Neither a question nor a person.
    """
    explicit = list(words) == ["-"]
    message = "" if explicit else " ".join(words).strip()
    if not words and terminal.may_prompt:
        return None
    if words and not message and not explicit:
        raise UsageError("MESSAGE", None, "is empty", _WAY_OUT)
    piped = ""
    if terminal.stdin is not None and (explicit or is_piped(terminal.stdin)):
        piped = read_stdin(terminal.stdin, terminal).strip("\r\n")
    question = "\n\n".join(part for part in (message, piped) if part.strip())
    if not question:
        raise UsageError(
            "MESSAGE", None, "there is no question: none given, none on stdin", _WAY_OUT
        )
    return question


def ask_once(
    client: ChatClient,
    model: str | None,
    question: str,
    sampling: Sampling,
    terminal: Terminal,
    *,
    system: str | None = None,
    as_json: bool = False,
    stats: bool = False,
) -> None:
    """Ask and write the answer to stdout.

    Raises:
        ClientError: After what had arrived was written.
    """
    answer = Answer(model=model or "")
    messages = Conversation(system=system).messages(question)
    writer = SilentWriter() if as_json else answer_writer(terminal)
    error: ClientError | None = None
    try:
        run_turn(client, model or client.default_model(), messages, sampling, answer, writer)
    except ClientError as fault:
        error = fault
    fields = {"answer": answer.text} if as_json else None
    conclude(answer, error, terminal, fields=fields, stats=stats)
