"""``omni chat``: talk to a served model."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_cli import options

__all__ = ["chat"]

Message = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MESSAGE", help="The question; - reads it from stdin.", show_default=False
    ),
]


def chat(
    message: Message = None,
    url: options.Url = options.DEFAULT_URL,
    api_key: options.ApiKey = None,
    timeout: options.ClientTimeout = options.DEFAULT_TIMEOUT_S,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = False,
    model: options.ChatModel = None,
    system: options.SystemPrompt = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    max_tokens: options.MaxTokens = None,
    seed: options.Seed = None,
    stats: options.Stats = False,
    json: options.Json = False,
    no_stream: options.NoStream = False,
) -> None:
    """Talk to a served model, or ask it one question.

    With MESSAGE or piped text it asks once and prints the answer; a piped text is added to MESSAGE.
    Otherwise it holds a conversation on the terminal.

      omni chat
      omni chat "Who wrote Hamlet?"
      git diff | omni chat "Summarise this change."
    """
    from omni_cli.chat.entry import chat as run
    from omni_cli.client.answer import Sampling
    from omni_cli.client.target import Target

    sampling = Sampling(
        temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, stream=not no_stream
    )
    target = Target.parse(
        url, api_key=api_key, timeout_s=timeout, ca_file=ca_file, insecure=insecure
    )
    run(message or (), sampling, target, model=model, system=system, stats=stats, as_json=json)
