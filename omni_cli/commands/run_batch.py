"""``omni run-batch``: words to a batch, and one call.

The words are read as those of ``omni serve``, since every flag of an engine may stand among them.
"""

from __future__ import annotations

import typer

from omni_cli.app import UnparsedCommand

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(name="run-batch", cls=UnparsedCommand)
def run_batch(ctx: typer.Context) -> None:
    """Run a file of requests, against a server or on engines of its own.

    INPUT has one JSON object on each line, as OpenAI's batches have: custom_id, method, url, body.
    Every flag of an engine that `omni serve` takes is taken here as well.

      omni run-batch requests.jsonl -o results.jsonl smollm2-135m-instruct
      omni run-batch requests.jsonl -o results.jsonl --url http://127.0.0.1:8000
      omni run-batch requests.jsonl --check
    """
    from omni_cli.batch.flags import batch_catalogue
    from omni_cli.flags.parser import parse

    flags = batch_catalogue()
    parsed = parse(ctx.args, flags)
    if parsed.help is not None:
        typer.echo(ctx.get_help())
        return
    from omni_cli.batch.entry import run_batch as run

    raise typer.Exit(run(parsed, flags))
