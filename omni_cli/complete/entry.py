"""What `omni complete` does, as one call: read the prompt, ask, write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from engine_bridge.errors import ClientError, UsageError
from omni_cli.client.piped import is_piped, read_file, read_stdin
from omni_cli.client.summary import conclude
from omni_cli.client.target import Target
from omni_cli.client.writers import AnswerWriter, PlainWriter, SilentWriter
from omni_cli.complete.client import CompletionClient
from omni_cli.complete.completion import Completion, Wishes
from omni_cli.terminal import Terminal

__all__ = ["complete", "read_prompt"]

SEPARATOR = "---\n"  # between two completions of one prompt

_WAY_OUT = "give a PROMPT, name a --file, or pipe one in"


def complete(
    words: Sequence[str],
    file: Path | None,
    wishes: Wishes,
    target: Target,
    *,
    model: str | None,
    stats: bool,
    as_json: bool,
) -> None:
    """Ask for the completion of a prompt and write it to stdout as it comes.

    Args:
        words: The prompt; a single ``-`` stands for stdin.
        file: Where the prompt is instead, or None.
        model: None for the first served one that generates text.

    Raises:
        UsageError: There is no prompt, or more than one.
        ClientError: The server is not there, refuses, or fails; what had arrived was written.
    """
    terminal = Terminal()
    if wishes.logprobs is not None and not as_json:
        raise UsageError("--logprobs", None, "shows nothing as text", "add --json")
    prompt = read_prompt(words, file, terminal)
    completion = Completion()
    completion.answer.model = model or ""
    error: ClientError | None = None
    with CompletionClient(target, progress=terminal.progress) as client:
        try:
            writer = SilentWriter() if as_json else PlainWriter(terminal.out)
            chosen = model or client.default_model()
            _write(client, chosen, prompt, wishes, completion, writer)
            if not as_json:
                _write_others(completion, terminal)
        except ClientError as fault:
            error = fault
    conclude(
        completion.answer,
        error,
        terminal,
        fields=completion.as_fields() if as_json else None,
        stats=stats,
        limit_given=wishes.sampling.max_tokens is not None,
    )


def read_prompt(words: Sequence[str], file: Path | None, terminal: Terminal) -> str:
    """The prompt, from the one place where it is: the words, a file, or stdin.

    Text from a file or a pipe loses one newline at its end, which editors and ``echo`` add: it
    would change how a model goes on.

    Raises:
        UsageError: There is none, or it is given twice.
    """
    if file is not None:
        if words:
            raise UsageError("--file", file, "there is a PROMPT as well", "give one of the two")
        prompt = _without_newline(read_file("--file", file))
    elif list(words) == ["-"] or (not words and terminal.stdin and is_piped(terminal.stdin)):
        stdin = terminal.stdin
        prompt = "" if stdin is None else _without_newline(read_stdin(stdin, terminal))
    else:
        prompt = " ".join(words)
    if not prompt:
        where = "--file" if file is not None else "PROMPT"
        raise UsageError(where, file, "there is no text to complete", _WAY_OUT)
    return prompt


def _without_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _write(
    client: CompletionClient,
    model: str,
    prompt: str,
    wishes: Wishes,
    completion: Completion,
    writer: AnswerWriter,
) -> None:
    """Ask, and write the first choice as it comes."""
    try:
        with closing(client.complete(model, prompt, wishes, completion)) as pieces:
            for index, text in pieces:
                if index == 0:
                    writer.write(text)
    finally:
        if completion.choices:
            writer.finish()


def _write_others(completion: Completion, terminal: Terminal) -> None:
    for choice in completion.in_order()[1:]:
        terminal.out.write(SEPARATOR)
        writer = PlainWriter(terminal.out)
        writer.write(choice.text)
        writer.finish()
