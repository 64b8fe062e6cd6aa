"""`omni serve`: words to settings, and one call.

The words are read by a parser of our own (``omni_cli.flags``), since vLLM has some 300 flags in
forms that Typer does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from omni_cli import help as pages
from omni_cli.app import UnparsedCommand
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    from omni_cli.flags.catalogue import Catalogue

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class ServeCommand(UnparsedCommand):
    """A command whose help comes from the catalogue of flags."""

    def page(self) -> pages.Page:
        """The short page, as docs/cli.md shows it."""
        from omni_cli.flags.catalogue import catalogue
        from omni_cli.flags.help import short_page

        return short_page(catalogue())


@app.command(name="serve", cls=ServeCommand)
def serve(ctx: typer.Context) -> None:
    """Serve a model, or a pipeline of models, over HTTP until interrupted."""
    from omni_cli.flags.catalogue import catalogue
    from omni_cli.flags.parser import parse

    flags = catalogue()
    parsed = parse(ctx.args, flags)
    if parsed.help is not None:
        _show_help(flags, parsed.help)
        return
    from omni_cli.serve.entry import serve as run

    raise typer.Exit(run(parsed, flags))


def _show_help(flags: Catalogue, word: str) -> None:
    from omni_cli.flags.help import find_help

    terminal = Terminal()
    page = find_help(flags, word)
    terminal.out.write(pages.render(page, width=pages.page_width(), bold=terminal.out.colour))
