"""``omni check``: a conformance self-test of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_cli import options
from omni_cli.check.family import Family

__all__ = ["check"]

# For one check with all its requests; on a CPU a request takes a second or two
DEFAULT_TIMEOUT_S = 30.0

Families = Annotated[
    list[Family] | None,
    typer.Option(
        "--family", help="Check this family alone; can be given several times.", show_default=False
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="NAME", help="Served model to use; by default the first that can."
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Longest time for one check."),
]


def check(
    url: options.Url = options.DEFAULT_URL,
    api_key: options.ApiKey = None,
    model: Model = None,
    family: Families = None,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    json: options.Json = False,
) -> None:
    """Test whether a server keeps the rules of its APIs.

    The rules are those of the OpenAI and Anthropic APIs, of HTTP and of server-sent events; the
    server need not be omni's. Each check passes, fails or is skipped with the reason;
    a failure shows the rule, what was expected, what came, and a curl line that shows it again.
    With --api-key it also checks that every route asks for the key.

      omni check
      omni check --url http://127.0.0.1:8080 --family sse --family usage
    """
    from omni_cli.check.entry import check as run

    code = run(
        url=url,
        api_key=api_key,
        model=model,
        families=family or (),
        timeout_s=timeout,
        as_json=json,
        ca_file=ca_file,
        insecure=insecure,
    )
    raise typer.Exit(code)
