"""What a model's name means: a bundled model, a local folder, or an id of the Hugging Face hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine_bridge.errors import ModelError
from engine_bridge.models.catalogue import Entry
from engine_bridge.models.folder import check_folder
from engine_bridge.models.store import ModelStore

__all__ = ["ResolvedModel", "resolve"]

# Of one part of a hub id.
HUB_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
HUB_ID = re.compile(rf"{HUB_PART}/{HUB_PART}")

# How a text begins that can only mean a path.
PATH_STARTS = ("/", ".", "~")


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """What vLLM is told to load.

    Attributes:
        path_or_id: A folder, absolute, or a hub id.
        entry: What the catalogue says about it, if it is bundled.
        kind: Which of the three it is. Nothing is known of a hub id but its form.
    """

    path_or_id: str
    entry: Entry | None
    kind: Literal["bundled", "folder", "hub"]


def resolve(model: str, store: ModelStore, *, needs_weights: bool = True) -> ResolvedModel:
    """Find out what the user means. Uses no network.

    Args:
        model: A name of the catalogue, else an existing folder, else a hub id (``org/name``).
        store: Where bundled models are.
        needs_weights: False for dummy weights, when a folder with a configuration alone is enough.

    Raises:
        ModelError: If it is a bundled model that is not in the cache, a folder that cannot be a
            model, a path that does not exist, or nothing that is known; says what is missing.
    """
    if entry := store.catalogue.entry(model):
        folder = store.find(model)
        if folder is None:
            raise ModelError(
                model, f"is not in the cache {store.root}", f"run: omni models pull {model}"
            )
        return ResolvedModel(str(folder), entry, "bundled")
    if model.strip() == "" or "\0" in model:
        raise ModelError(repr(model), "is not a name", "give a bundled model, a folder or a hub id")
    path = Path(model).expanduser()
    if path.is_dir():
        check_folder(model, path, needs_weights=needs_weights)
        return ResolvedModel(str(path.absolute()), None, "folder")
    if path.exists():
        raise ModelError(model, "is a file, not a folder", "give the folder that holds config.json")
    if model.startswith(PATH_STARTS):
        raise ModelError(model, "there is no such folder", "check the path")
    if HUB_ID.fullmatch(model) and ".." not in model and "--" not in model:
        return ResolvedModel(model, None, "hub")
    raise ModelError(
        model,
        "is neither a bundled model, nor a folder, nor a Hugging Face id (org/name)",
        store.catalogue.suggest(model),
    )
