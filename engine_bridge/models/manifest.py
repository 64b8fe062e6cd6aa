"""The list of files in a prepared model's folder. A folder without a true one is no model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from engine_bridge.models.disk import sync_folder

__all__ = ["MANIFEST_NAME", "Manifest", "ManifestFile", "read", "write"]

MANIFEST_NAME = "omni-manifest.json"

# Ours are below 2 kB; what is larger was not written by us.
MAX_MANIFEST_BYTES = 1024 * 1024

# Read at once while hashing.
CHUNK_BYTES = 4 * 1024 * 1024


class ManifestFile(msgspec.Struct, frozen=True):
    """One file: path relative to the folder, size, hash of its content."""

    path: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a prepared folder holds.

    Attributes:
        name: The model's name.
        recipe: ``Entry.recipe`` of the entry that it was prepared from.
        files: Every file but the manifest.
        format: Of the manifest itself.
    """

    name: str
    recipe: str
    files: tuple[ManifestFile, ...]
    format: Literal[1] = 1

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)


def write(folder: Path, name: str, recipe: str, tick: Callable[[int], None]) -> Manifest:
    """Hash every file below ``folder``, write the manifest, and force all of it to the disk.

    Args:
        folder: The complete model.
        name: The model's name.
        recipe: ``Entry.recipe``.
        tick: Called with the number of bytes after each piece that was hashed.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = tuple(
        ManifestFile(str(path.relative_to(folder)), path.stat().st_size, _hash_and_sync(path, tick))
        for path in paths
    )
    manifest = Manifest(name, recipe, files)
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with (folder / MANIFEST_NAME).open("xb") as file:
        file.write(encoded)
        file.flush()
        os.fsync(file.fileno())
    for inner in sorted(path for path in folder.rglob("*") if path.is_dir()):
        sync_folder(inner)
    sync_folder(folder)
    return manifest


def read(folder: Path) -> Manifest | None:
    """Return the manifest of ``folder`` if every file in it is there with its size, otherwise None.

    Contents are not hashed again: that would cost a second at every start.
    """
    try:
        with (folder / MANIFEST_NAME).open("rb") as file:
            manifest = msgspec.json.decode(file.read(MAX_MANIFEST_BYTES), type=Manifest)
        complete = all((folder / file.path).stat().st_size == file.bytes for file in manifest.files)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    return manifest if complete else None


def _hash_and_sync(path: Path, tick: Callable[[int], None]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            tick(len(chunk))
        os.fsync(file.fileno())
    return digest.hexdigest()
