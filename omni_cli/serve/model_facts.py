"""What is known about a model from its name and the disk; imports nothing that could run it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine_bridge.errors import ModelError
from engine_bridge.models.catalogue import Entry
from engine_bridge.models.resolve import resolve
from engine_bridge.models.store import ModelStore

__all__ = ["ModelFacts", "hub_snapshot", "look_up"]

# Larger ones exist nowhere; reading must not take long.
MAX_CONFIG_BYTES = 4 * 1024 * 1024

_OFFLINE = ("1", "on", "yes", "true")
# In the order in which vLLM prefers them; a folder that holds several formats is counted once.
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model.

    Attributes:
        kind: ``bundled`` comes from the catalogue, ``folder`` from the disk, ``hub`` from Hugging
            Face.
        path: What vLLM loads: a folder, or the Hugging Face id.
        here: Whether it is on this machine.
        weight_bytes: Size of the weights; None if unknown.
        config: What its config.json says; empty if it has none that can be read.
        json_files: Names of the JSON files beside it.
        entry: The catalogue's entry of a bundled model.
        fault: Why it cannot be served, or None.
    """

    kind: Literal["bundled", "folder", "hub"]
    path: str
    here: bool
    weight_bytes: int | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    json_files: frozenset[str] = frozenset()
    entry: Entry | None = None
    fault: ModelError | None = None


def look_up(
    model: str, store: ModelStore, environ: Mapping[str, str], *, needs_weights: bool = True
) -> ModelFacts:
    """Find out what a model's name means, and whether it is here. Uses no network.

    Args:
        model: A bundled model's name, a Hugging Face id or a folder.
        store: The cache of bundled models.
        environ: Where HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE are read.
        needs_weights: False for a model that gets random ones.
    """
    entry = store.catalogue.entry(model)
    if entry is not None and store.find(model) is None:  # not a fault: it is fetched at the start
        path, size = str(store.folder / model), entry.disk_bytes
        return ModelFacts(kind="bundled", path=path, here=False, weight_bytes=size, entry=entry)
    try:
        found = resolve(model, store, needs_weights=needs_weights)
    except ModelError as fault:
        return ModelFacts(kind="folder", path=model, here=False, entry=entry, fault=fault)
    if found.kind == "hub":
        return _hub(model, environ)
    return ModelFacts(
        kind=found.kind,
        path=found.path_or_id,
        here=True,
        weight_bytes=_weight_bytes(Path(found.path_or_id)) if needs_weights else None,
        config=_config(Path(found.path_or_id)),
        json_files=_json_files(Path(found.path_or_id)),
        entry=entry,
    )


def hub_snapshot(model: str, environ: Mapping[str, str]) -> Path | None:
    """The newest snapshot of a Hugging Face model in the user's cache, or None."""
    user_cache = Path(environ.get("XDG_CACHE_HOME") or "~/.cache")
    home = Path(environ.get("HF_HOME") or user_cache / "huggingface")
    cache = Path(environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    repository = cache / f"models--{model.replace('/', '--')}"
    try:
        snapshot = repository / "snapshots" / (repository / "refs" / "main").read_text().strip()
    except OSError:
        return None
    return snapshot if (snapshot / "config.json").exists() else None


def _hub(model: str, environ: Mapping[str, str]) -> ModelFacts:
    snapshot = hub_snapshot(model, environ)
    if snapshot is not None:
        size = _weight_bytes(snapshot)
        return ModelFacts(
            kind="hub",
            path=model,
            here=True,
            weight_bytes=size,
            config=_config(snapshot),
            json_files=_json_files(snapshot),
        )
    fault = None
    if environ.get("HF_HUB_OFFLINE", "").lower() in _OFFLINE:
        reason = "is not in the Hugging Face cache, and HF_HUB_OFFLINE forbids to fetch it"
        way_out = "unset HF_HUB_OFFLINE, or name a bundled model or a folder"
        fault = ModelError(model, reason, way_out)
    return ModelFacts(kind="hub", path=model, here=False, fault=fault)


def _weight_bytes(folder: Path) -> int | None:
    try:
        sizes = (sum(file.stat().st_size for file in folder.glob(glob)) for glob in _WEIGHTS)
        return next((size for size in sizes if size), None)
    except OSError:
        return None


def _config(folder: Path) -> Mapping[str, object]:
    """The model's config.json; what is wrong with it is for others to say."""
    file = folder / "config.json"
    try:
        if file.stat().st_size > MAX_CONFIG_BYTES:
            return {}
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _json_files(folder: Path) -> frozenset[str]:
    try:
        return frozenset(file.name for file in folder.glob("*.json"))
    except OSError:
        return frozenset()
