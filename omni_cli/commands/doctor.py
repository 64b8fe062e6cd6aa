"""``omni doctor``: what is installed, what is in the way."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_cli import options

__all__ = ["doctor"]

Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=1,
        max=65535,
        help="Port to look for; by default the one that `omni serve` takes.",
        show_default=False,
    ),
]


def doctor(port: Port = None, json: options.Json = False) -> None:
    """Report what is installed here, and what is in the way.

    It changes nothing. Each finding is ok, a note or a problem, with the way out; the exit code is
    1 if there is a problem. Keys and tokens are masked: the output can be pasted into a bug report.
    """
    from omni_cli.doctor.entry import doctor as run

    raise typer.Exit(run(port=port, as_json=json))
