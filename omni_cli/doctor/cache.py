"""The cache of models, and the disk that it is on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine_bridge.models.store import ModelStore, cache_root
from omni_cli.doctor.finding import Finding, note, ok, problem
from omni_cli.doctor.machine import gigabytes

__all__ = ["cache"]

# The bundled chat model needs this while it is prepared
NEEDED_BYTES = 1024**3
# A folder that a pull works in: the model's name, its process, and letters (models/store.py)
_HIDDEN = re.compile(r"\.(?P<name>[a-z0-9][a-z0-9.-]*)\.(?P<pid>\d+)\.[0-9a-f]{8}")
MAX_NAMED = 10


def cache(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Models, half-finished downloads, and room for more."""
    root = cache_root(environ)
    store = ModelStore(root)
    models = store.list()
    if models:
        named = ", ".join(f"{model.name} ({gigabytes(model.bytes)})" for model in models)
        yield ok("models", f"{named} in {store.folder}")
    else:
        yield note(
            "models",
            f"none in {store.folder}",
            "omni models pull NAME; `omni serve` fetches its own",
        )
    yield from _unfinished(store.folder)
    yield _disk(root)
    hub = Path(environ.get("HF_HUB_CACHE") or Path(_hub_home(environ)) / "hub").expanduser()
    yield ok("hugging face cache", f"{hub} ({'is there' if hub.is_dir() else 'is empty'})")


def _hub_home(environ: Mapping[str, str]) -> str:
    return environ.get("HF_HOME") or "~/.cache/huggingface"


def _unfinished(folder: Path) -> Iterator[Finding]:
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return
    found = [match for name in sorted(names) if (match := _HIDDEN.fullmatch(name))]
    stale = [match for match in found if not Path("/proc", match["pid"]).exists()]
    if stale:
        named = ", ".join(match.group() for match in stale[:MAX_NAMED])
        models = " ".join(dict.fromkeys(match["name"] for match in stale))
        way_out = f"the next `omni models pull {models.split()[0]}` removes it"
        yield note("unfinished", f"left by pulls that were killed: {named}", way_out)
    elif found:
        yield ok("unfinished", f"{len(found)} being fetched now")
    else:
        yield ok("unfinished", "none")


def _disk(root: Path) -> Finding:
    """Of the nearest folder that is there."""
    near = next((each for each in (root, *root.parents) if each.is_dir()), Path("/"))
    free = shutil.disk_usage(near).free
    text = f"{gigabytes(free)} free in {near}"
    if not os.access(near, os.W_OK):
        way_out = "set OMNI_CACHE_DIR to a folder that you can write to"
        return problem("disk", f"{near} cannot be written to", way_out)
    if free < NEEDED_BYTES:
        return note("disk", text, "free some space, or set OMNI_CACHE_DIR to another disk")
    return ok("disk", text)
