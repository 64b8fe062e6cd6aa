"""Options that more than one command takes, or that a test or the docs name: declared once."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["ApiKey", "Json", "Url"]

DEFAULT_URL = "http://127.0.0.1:8000"  # where `omni serve` listens unless told otherwise

SERVER = "Server"

Url = Annotated[
    str,
    typer.Option(
        "--url", metavar="URL", envvar="OMNI_URL", help="Address of the server.", rich_help_panel=SERVER
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar="OMNI_API_KEY",
        help="Key that the server asks for.",
        rich_help_panel=SERVER,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
