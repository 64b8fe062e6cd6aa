"""``omni complete``: what a served model goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_cli import options

__all__ = ["complete"]

Prompt = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROMPT", help="The text to go on from; - reads it from stdin.", show_default=False
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="PATH", help="Read the prompt from a file."),
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="TEXT",
        help="End before this text; may be given several times.",
        rich_help_panel="Answer",
    ),
]
Echo = Annotated[
    bool,
    typer.Option("--echo", help="Show the prompt before its completion.", rich_help_panel="Answer"),
]
Count = Annotated[
    int | None,
    typer.Option(
        "-n",
        metavar="N",
        min=1,
        help="Ask for N completions; a line of --- stands between them.",
        rich_help_panel="Answer",
    ),
]
Logprobs = Annotated[
    int | None,
    typer.Option(
        "--logprobs",
        metavar="N",
        min=0,
        help="With --json: how likely each token was, and its N likeliest rivals.",
        rich_help_panel="Answer",
    ),
]


def complete(
    prompt: Prompt = None,
    file: PromptFile = None,
    url: options.Url = options.DEFAULT_URL,
    api_key: options.ApiKey = None,
    timeout: options.ClientTimeout = options.DEFAULT_TIMEOUT_S,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = False,
    model: options.ChatModel = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    max_tokens: options.MaxTokens = None,
    seed: options.Seed = None,
    stop: Stop = None,
    echo: Echo = False,
    n: Count = None,
    logprobs: Logprobs = None,
    stats: options.Stats = False,
    json: options.Json = False,
    no_stream: options.NoStream = False,
) -> None:
    """Let a served model go on from a text, once.

    The prompt is PROMPT, the text of --file, or what is piped in; it is sent as it is, but for one
    newline at the end of a file or a pipe.

      omni complete "The capital of France is"
      omni complete --file story.txt --max-tokens 200
      omni complete --stop . -n 3 --json "Once upon a time" | jq -r '.choices[].text'
    """
    from omni_cli.client.answer import Sampling
    from omni_cli.client.target import Target
    from omni_cli.complete.completion import Wishes
    from omni_cli.complete.entry import complete as run

    target = Target.parse(
        url, api_key=api_key, timeout_s=timeout, ca_file=ca_file, insecure=insecure
    )
    sampling = Sampling(
        temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, stream=not no_stream
    )
    wishes = Wishes(sampling=sampling, stop=tuple(stop or ()), echo=echo, n=n, logprobs=logprobs)
    run(prompt or (), file, wishes, target, model=model, stats=stats, as_json=json)
