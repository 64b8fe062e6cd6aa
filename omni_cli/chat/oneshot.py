"""`omni chat MESSAGE` and `... | omni chat`: one question, one answer."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Sequence
from typing import TextIO

from engine_bridge.errors import ClientError, UsageError
from omni_cli.chat.answer import Answer, Sampling
from omni_cli.chat.client import ChatClient
from omni_cli.chat.conversation import Conversation
from omni_cli.chat.rendering import answer_writer
from omni_cli.chat.turn import answer_as_json, ending_note, run_turn, stats_line
from omni_cli.terminal import Terminal

__all__ = ["ask_once", "read_question"]

MAX_INPUT_BYTES = 16 * 1024 * 1024  # of piped text; no model's context holds more
SILENCE_S = 2.0  # after which a user is told that we wait for a pipe

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
    if terminal.stdin is not None and (explicit or _is_piped(terminal.stdin)):
        piped = _read(terminal.stdin, terminal).strip("\r\n")
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
    writer = _Discard() if as_json else answer_writer(terminal)
    error: ClientError | None = None
    try:
        run_turn(client, model or client.default_model(), messages, sampling, answer, writer)
    except ClientError as fault:
        error = fault
    if as_json:
        terminal.out.write(f"{answer_as_json(answer, error)}\n")
    if error is not None:
        raise error
    if note := ending_note(answer):
        terminal.note(note)
    if stats:
        terminal.note(stats_line(answer))


class _Discard:
    """Writes nothing: with ``--json`` the answer is printed in the end."""

    def write(self, text: str) -> None:
        pass

    def finish(self) -> None:
        pass


def _is_piped(stdin: TextIO) -> bool:
    """Whether stdin is a pipe, a socket or a file: anything else (/dev/null, a terminal) is not
    read unasked."""
    try:
        mode = os.fstat(stdin.fileno()).st_mode
    except (OSError, ValueError):  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read(stdin: TextIO, terminal: Terminal) -> str:
    """All of stdin as UTF-8, saying so if nothing comes."""
    descriptor = stdin.fileno()
    collected = bytearray()
    if not stdin.isatty() and not select.select([descriptor], [], [], SILENCE_S)[0]:
        terminal.note("waiting for text on stdin; close it, or use </dev/null if there is none")
    try:
        while chunk := os.read(descriptor, 65536):
            collected += chunk
            if len(collected) > MAX_INPUT_BYTES:
                raise UsageError("stdin", None, f"holds more than {MAX_INPUT_BYTES} bytes")
        return collected.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("stdin", None, f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError("stdin", None, f"cannot be read: {error.strerror}") from error
