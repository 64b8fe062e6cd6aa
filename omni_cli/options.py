"""Options of the client commands, declared once; those of `omni serve` stand in omni_cli/flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "DEFAULT_URL",
    "ApiKey",
    "CaFile",
    "ChatModel",
    "ClientTimeout",
    "Insecure",
    "Json",
    "MaxTokens",
    "NoStream",
    "Seed",
    "Stats",
    "SystemPrompt",
    "Temperature",
    "TopP",
    "Url",
]

DEFAULT_URL = "http://127.0.0.1:8000"  # where `omni serve` listens unless told otherwise
DEFAULT_TIMEOUT_S = 300.0  # a long prompt on a slow CPU takes minutes to its first token

_SERVER = "Server"
_ANSWER = "Answer"
_OUTPUT = "Output"

Url = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        envvar="OMNI_URL",
        help="Address of the server, with or without /v1.",
        rich_help_panel=_SERVER,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar="OMNI_API_KEY",
        help="Key that the server asks for.",
        rich_help_panel=_SERVER,
    ),
]
ClientTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="Longest wait for a server that is starting, and for the next piece of an answer.",
        rich_help_panel=_SERVER,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="PATH",
        help="Trust the certificates in this PEM file instead of the well-known authorities.",
        rich_help_panel=_SERVER,
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Trust any certificate: whoever sits between may read and change everything.",
        rich_help_panel=_SERVER,
    ),
]
ChatModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="Served model to talk to; the first one that generates text unless given.",
        rich_help_panel=_ANSWER,
    ),
]
SystemPrompt = Annotated[
    str | None,
    typer.Option("--system", "-s", metavar="TEXT", help="System prompt.", rich_help_panel=_ANSWER),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="X",
        min=0.0,
        help="Randomness: 0 always takes the likeliest token.",
        rich_help_panel=_ANSWER,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        metavar="X",
        min=0.0,
        max=1.0,
        help="Choose among the likeliest tokens that make up this share, 0 to 1.",
        rich_help_panel=_ANSWER,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        envvar="OMNI_MAX_TOKENS",
        help="Longest answer, in tokens.",
        rich_help_panel=_ANSWER,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the randomness, for answers that can be repeated.",
        rich_help_panel=_ANSWER,
    ),
]
Stats = Annotated[
    bool,
    typer.Option(
        "--stats",
        help="Say on stderr how fast the answer came: time to the first token, tokens, tokens/s.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object instead of text.", rich_help_panel=_OUTPUT),
]
NoStream = Annotated[
    bool,
    typer.Option(
        "--no-stream",
        help="Ask for the answer in one piece.",
        rich_help_panel=_OUTPUT,
    ),
]
