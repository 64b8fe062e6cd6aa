"""``omni models``: the bundled models in the cache."""

from __future__ import annotations

import json as json_lib
import os
from typing import TYPE_CHECKING, Annotated

import typer

from omni_cli import options
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    from engine_bridge.models.catalogue import Entry
    from engine_bridge.models.store import Installed, ModelStore

__all__ = ["app"]

INTERRUPTED = 130

app = typer.Typer(help="Fetch, list and remove the bundled models.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `omni models list` shows.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1.0,
        help="Give up after this many seconds. [default: 1800]",
    ),
]


@app.command("list")
def list_models(json: options.Json = False) -> None:
    """List the bundled models, and which of them are in the cache."""
    store = _store()
    known = set(store.catalogue.names())
    rows = [_row(store, entry) for entry in store.catalogue.models]
    rows += [_forgotten(model) for model in store.list() if model.name not in known]
    terminal = Terminal()
    terminal.out.write(f"{json_lib.dumps({'models': rows})}\n" if json else _table(rows))


@app.command()
def pull(name: Name, timeout: Timeout = None) -> None:
    """Fetch a bundled model and prepare it for vLLM; print its folder."""
    from engine_bridge.models.store import PULL_TIMEOUT_S
    from omni_cli.progress import reporter

    terminal = Terminal()
    store = _store()
    store.catalogue.require(name)
    try:
        with reporter(name, terminal) as report:
            folder = store.pull(name, report, PULL_TIMEOUT_S if timeout is None else timeout)
    except KeyboardInterrupt:
        terminal.error("interrupted; nothing was stored")
        raise typer.Exit(INTERRUPTED) from None
    terminal.out.write(f"{folder}\n")


@app.command()
def path(name: Name) -> None:
    """Print the folder of a bundled model that is in the cache."""
    from engine_bridge.errors import ModelError

    store = _store()
    folder = store.find(name)
    if folder is None:
        store.catalogue.require(name)
        raise ModelError(name, f"is not in the cache {store.root}", f"run: omni models pull {name}")
    Terminal().out.write(f"{folder}\n")


@app.command()
def remove(name: Name) -> None:
    """Remove a bundled model from the cache."""
    from engine_bridge.errors import ModelError

    store = _store()
    if not store.remove(name):
        store.catalogue.require(name)
        raise ModelError(name, f"is not in the cache {store.root}")
    Terminal().note(f"removed {name}")


def _store() -> ModelStore:
    from engine_bridge.models.store import ModelStore, cache_root

    return ModelStore(cache_root(os.environ))


def _row(store: ModelStore, entry: Entry) -> dict[str, object]:
    folder = store.find(entry.name)
    return {
        "name": entry.name,
        "task": entry.task,
        "licence": entry.licence,
        "download_bytes": entry.download_bytes,
        "disk_bytes": entry.disk_bytes,
        "path": None if folder is None else str(folder),
    }


def _forgotten(model: Installed) -> dict[str, object]:
    """A model that an older catalogue had: it takes space, and can be removed."""
    unknown = dict.fromkeys(("task", "licence", "download_bytes"))
    return {"name": model.name, **unknown, "disk_bytes": model.bytes, "path": str(model.path)}


def _table(rows: list[dict[str, object]]) -> str:
    """Columns as wide as their widest cell, two spaces between them, no colour."""
    lines = [("NAME", "TASK", "LICENCE", "DOWNLOAD", "DISK", "FOLDER")]
    for row in rows:
        sizes = (_megabytes(row["download_bytes"]), _megabytes(row["disk_bytes"]))
        cells = (row["name"], row["task"], row["licence"], *sizes, row["path"])
        lines.append(tuple("-" if cell is None else str(cell) for cell in cells))  # type: ignore[arg-type]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _megabytes(count: object) -> str:
    return f"{count / 1e6:.0f} MB" if isinstance(count, int) else "-"
