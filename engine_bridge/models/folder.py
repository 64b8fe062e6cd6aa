"""Whether a local folder can be a model: seconds of loading vLLM are spared if it cannot."""

from __future__ import annotations

import json
from pathlib import Path

from engine_bridge.errors import ModelError

__all__ = ["check_folder"]

# Those of large models are below 100 kB.
MAX_JSON_BYTES = 64 * 1024 * 1024

# From the safetensors format: longer headers are refused by every reader.
MAX_SAFETENSORS_HEADER_BYTES = 100_000_000
SAFETENSORS_LENGTH_BYTES = 8

# Read by the tokenizer and the sampler, long after the weights have been loaded.
OPTIONAL_JSON = (
    "generation_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)

WEIGHT_SUFFIXES = frozenset({".safetensors", ".bin", ".gguf", ".pt", ".pth"})

# Files with such a suffix that hold no weights.
NOT_WEIGHTS = frozenset(
    {"training_args.bin", "optimizer.bin", "scheduler.bin", "rng_state.pth", "optimizer.pt"}
)


def check_folder(model: str, folder: Path, *, needs_weights: bool = True) -> None:
    """Check what a glance can tell: a readable configuration, and weights that are all there.

    Args:
        model: The name that errors give.
        folder: An existing folder.
        needs_weights: False if weights are not to be read.

    Raises:
        ModelError: Names the file at fault.
    """
    _read_object(model, folder, "config.json", "point to the folder that holds it")
    for name in OPTIONAL_JSON:
        if (folder / name).is_file():
            _read_object(model, folder, name, "")
    if not needs_weights:
        return
    files = [path for path in folder.iterdir() if _is_weights(path)]
    if not files:
        wanted = ", ".join(f"*{suffix}" for suffix in sorted(WEIGHT_SUFFIXES))
        raise _broken(model, folder, f"holds no weights ({wanted})")
    index = "model.safetensors.index.json"
    if (folder / index).exists():
        shards = _read_object(model, folder, index, "fetch the model again").get("weight_map")
        names = {str(name) for name in shards.values()} if isinstance(shards, dict) else set()
        absent = sorted(name for name in names if not (folder / name).is_file())
        if absent:
            raise _broken(model, folder, f"lacks {absent[0]}, which {index} names")
    for path in sorted(files):
        _check_whole(model, folder, path)


def _is_weights(path: Path) -> bool:
    return path.suffix in WEIGHT_SUFFIXES and path.name not in NOT_WEIGHTS and path.is_file()


def _read_object(model: str, folder: Path, name: str, way_out: str) -> dict[str, object]:
    path = folder / name
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise _broken(model, folder, f"{name} is larger than {MAX_JSON_BYTES} bytes")
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(model, f"the folder {folder} has no {name}", way_out) from None
    except OSError as error:
        raise _broken(model, folder, f"{name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _broken(model, folder, f"{name} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise _broken(model, folder, f"{name} is not a JSON object")
    return content


def _check_whole(model: str, folder: Path, path: Path) -> None:
    """Find a file of weights that a broken download has cut."""
    try:
        size = path.stat().st_size
        expected = _safetensors_size(path) if path.suffix == ".safetensors" else 1
    except OSError as error:
        raise _broken(model, folder, f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(model, folder, f"{path.name} is not a safetensors file") from error
    if size < expected:
        raise _broken(model, folder, f"{path.name} is cut short: {size} of {expected} bytes")


def _safetensors_size(path: Path) -> int:
    """Return the size that the header gives the file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(SAFETENSORS_LENGTH_BYTES), "little")
        if length > MAX_SAFETENSORS_HEADER_BYTES:
            raise ValueError("header too long")
        header = json.loads(file.read(length))
    ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    return SAFETENSORS_LENGTH_BYTES + length + int(max(ends, default=0))


def _broken(model: str, folder: Path, what: str) -> ModelError:
    return ModelError(
        model, f"the folder {folder} is not a complete model: {what}", "fetch it again"
    )
