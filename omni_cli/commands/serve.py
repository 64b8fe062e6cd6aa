"""`omni serve`: words to settings, and one call.

The words are read by a parser of our own (``omni_cli.flags``), since vLLM has some 300 flags in
forms that Typer does not know.
"""

from __future__ import annotations

import typer

from omni_cli.app import UnparsedCommand

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(name="serve", cls=UnparsedCommand)
def serve(ctx: typer.Context) -> None:
    """Serve a model, or a pipeline of models, over HTTP until interrupted."""
    from omni_cli.flags.catalogue import catalogue
    from omni_cli.flags.parser import parse

    flags = catalogue()
    parsed = parse(ctx.args, flags)
    if parsed.help is not None:
        typer.echo(ctx.get_help())
        return
    from omni_cli.serve.entry import serve as run

    raise typer.Exit(run(parsed, flags))
