"""What is known about a model from its name and the disk; imports nothing that could run it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine_bridge.errors import ModelError
from engine_bridge.models.catalogue import Entry
from engine_bridge.models.store import ModelStore

__all__ = ["ModelFacts", "hub_folder", "look_up"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,96})?")
_OFFLINE = ("1", "on", "yes", "true")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
# The header of a safetensors file names its tensors; the largest models have a few hundred kB.
MAX_HEADER_BYTES = 100 * 2**20
MAX_JSON_BYTES = 100 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model.

    Attributes:
        kind: ``bundled`` comes from the catalogue, ``folder`` from the disk, ``hub`` from Hugging
            Face.
        path: What vLLM loads: a folder, or the Hugging Face id.
        here: Whether all of it is on this machine, as far as can be seen.
        weight_bytes: Size of the weights; None if unknown.
        entry: The catalogue's entry of a bundled model.
        fault: Why it cannot be served, or None.
    """

    kind: Literal["bundled", "folder", "hub"]
    path: str
    here: bool
    weight_bytes: int | None = None
    entry: Entry | None = None
    fault: ModelError | None = None


def look_up(
    model: str, store: ModelStore, environ: Mapping[str, str], *, needs_weights: bool = True
) -> ModelFacts:
    """Find out what a model's name means, and whether it is here.

    Args:
        model: A bundled model's name, a Hugging Face id or a folder.
        store: The cache of bundled models.
        environ: Where HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE are read.
        needs_weights: False for a model that gets random ones.
    """
    entry = store.catalogue.entry(model)
    if entry is not None:
        here = store.find(model) is not None
        weights = entry.disk_bytes
        path = str(store.folder / model)
        return ModelFacts(kind="bundled", path=path, here=here, weight_bytes=weights, entry=entry)
    folder = Path(model).expanduser()
    if _exists(folder) or model.startswith(("/", "./", "../", "~")) or model in (".", ".."):
        fault = _folder_fault(model, folder, needs_weights)
        size = None if fault else _weight_bytes(folder)
        path = str(folder.absolute())
        return ModelFacts(kind="folder", path=path, here=True, weight_bytes=size, fault=fault)
    return _hub(model, store, environ)


def hub_folder(model: str, environ: Mapping[str, str]) -> Path | None:
    """The snapshot of a Hugging Face model in its cache, or None."""
    home = (
        environ.get("HF_HOME") or Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    )
    cache = Path(environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    repository = cache / f"models--{model.replace('/', '--')}"
    try:
        snapshot = repository / "snapshots" / (repository / "refs" / "main").read_text().strip()
        return snapshot if (snapshot / "config.json").exists() else None
    except OSError:
        return None


def _hub(model: str, store: ModelStore, environ: Mapping[str, str]) -> ModelFacts:
    snapshot = hub_folder(model, environ) if _HUB_ID.fullmatch(model) else None
    fault = None
    if snapshot is None:
        if not _HUB_ID.fullmatch(model) or "/" not in model:
            reason = "is not a bundled model, a folder or a Hugging Face id (owner/name)"
            fault = ModelError(model, reason, store.catalogue.suggest(model))
        elif environ.get("HF_HUB_OFFLINE", "").lower() in _OFFLINE:
            reason = "is not in the Hugging Face cache, and HF_HUB_OFFLINE forbids to fetch it"
            fault = ModelError(
                model, reason, "unset HF_HUB_OFFLINE, or name a bundled model or a folder"
            )
    size = _weight_bytes(snapshot) if snapshot else None
    here = snapshot is not None
    return ModelFacts(kind="hub", path=model, here=here, weight_bytes=size, fault=fault)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for a path, or with a null byte
        return False


def _folder_fault(model: str, folder: Path, needs_weights: bool) -> ModelError | None:
    way_out = "name a folder with config.json and weights, a bundled model or a Hugging Face id"
    if not _exists(folder):
        return ModelError(model, "no such folder", way_out)
    if not folder.is_dir():
        return ModelError(model, "is a file, not a model's folder", way_out)
    try:
        if not (folder / "params.json").exists():  # Mistral's own format has that instead
            _json(folder / "config.json")
        if needs_weights:
            _check_weights(folder)
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        return ModelError(model, f"the folder has no {name}", way_out)
    except OSError as error:
        name = Path(str(error.filename)).name
        return ModelError(model, f"{name} cannot be read ({error.strerror})")
    except ValueError as error:
        return ModelError(model, str(error), "fetch the model again")
    return None


def _check_weights(folder: Path) -> None:
    files = _weight_files(folder)
    if not files:
        raise ValueError("the folder holds no weights (such as model.safetensors)")
    _check_index(folder)
    for file in files:
        if file.suffix == ".safetensors":
            _check_safetensors(file)


def _weight_files(folder: Path) -> list[Path]:
    return next((found for glob in _WEIGHTS if (found := sorted(folder.glob(glob)))), [])


def _weight_bytes(folder: Path) -> int | None:
    try:
        return sum(file.stat().st_size for file in _weight_files(folder)) or None
    except OSError:
        return None


def _json(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        data = file.read(MAX_JSON_BYTES)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not valid JSON") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is not a JSON object")
    return content


def _check_index(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return
    shards = _json(index).get("weight_map")
    names = sorted({str(name) for name in shards.values()}) if isinstance(shards, dict) else []
    for name in names:
        if not (folder / name).exists():
            raise ValueError(f"{name} is missing, which {index.name} names")


def _check_safetensors(file: Path) -> None:
    """Compare the file's size with what its header says: a download that was cut shows here."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise ValueError(f"{file.name} is not a safetensors file, or is cut short")
        header = stream.read(length)
    try:
        tensors = json.loads(header)
        ends = [each["data_offsets"][1] for name, each in tensors.items() if name != "__metadata__"]
        expected = 8 + length + max(ends, default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"{file.name} has a broken header") from error
    if expected != size:
        raise ValueError(f"{file.name} has {size} bytes instead of {expected}")
