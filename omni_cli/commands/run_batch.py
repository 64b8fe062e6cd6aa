"""`omni run-batch`: words to a batch, and one call.

The words are read as those of ``omni serve``, since every flag of an engine may stand among them.
"""

from __future__ import annotations

import os

import typer

from omni_cli import help as pages
from omni_cli.app import UnparsedCommand
from omni_cli.terminal import Terminal

__all__ = ["app"]

USAGE = 2

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class BatchCommand(UnparsedCommand):
    """A command whose help comes from its catalogue of flags."""

    def page(self) -> pages.Page:
        """The short page, as docs/cli.md shows it."""
        from omni_cli.batch.flags import batch_catalogue
        from omni_cli.batch.help import short_batch_page

        return short_batch_page(batch_catalogue())


@app.command(name="run-batch", cls=BatchCommand)
def run_batch(ctx: typer.Context) -> None:
    """Run a file of requests, against a server or on engines of its own."""
    from omni_cli.batch.asked import read_asked
    from omni_cli.batch.flags import batch_catalogue
    from omni_cli.flags.parser import parse

    flags = batch_catalogue()
    parsed = parse(ctx.args, flags)
    if parsed.help is not None:
        from omni_cli.batch.help import batch_help

        terminal = Terminal()
        page = batch_help(flags, parsed.help)
        terminal.out.write(pages.render(page, width=pages.page_width(), bold=terminal.out.colour))
        return
    asked, problems = read_asked(parsed, flags, os.environ)
    if asked is None:
        for problem in problems:
            Terminal().error(str(problem))
        raise typer.Exit(USAGE)
    from omni_cli.batch.entry import run_batch as run

    raise typer.Exit(run(asked))
