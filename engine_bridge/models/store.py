"""The cache of prepared models.

``<root>/models/<name>`` is a complete model: it appears there by one rename, after all of it is on
the disk, with a manifest of its files. While it is built, and while it is removed, its folder is a
hidden one beside it. A process that is killed leaves such a folder at most, and the next one that
holds the model's lock removes it: whoever made it held that lock, so it is gone.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine_bridge.models import catalogue as bundled
from engine_bridge.models import manifest
from engine_bridge.models.build import Meter, build
from engine_bridge.models.catalogue import Catalogue, Entry
from engine_bridge.models.deadline import Deadline
from engine_bridge.models.disk import disk_errors, sync_folder
from engine_bridge.models.lock import locked
from engine_bridge.models.progress import Progress, ProgressCallback, ignore

__all__ = ["PULL_TIMEOUT_S", "Installed", "ModelStore", "cache_root"]

# A whole pull, the wait for another process included: 93 MB at 100 kB/s, and some seconds of
# preparation.
PULL_TIMEOUT_S = 1800.0

# A removal waits this long for a pull of the same model.
REMOVE_TIMEOUT_S = 10.0

VALID_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return the cache folder that an environment asks for: ``OMNI_CACHE_DIR``, or ``omni`` in the
    user's cache.

    Args:
        environ: ``os.environ``, read by the caller; this package reads no environment.
    """
    if given := environ.get("OMNI_CACHE_DIR"):
        return Path(given).expanduser().absolute()
    user_cache = environ.get("XDG_CACHE_HOME", "")
    if Path(
        user_cache
    ).is_absolute():  # a relative one is to be ignored, says the XDG specification
        return Path(user_cache) / "omni"
    return Path("~/.cache/omni").expanduser()


@dataclass(frozen=True, slots=True)
class Installed:
    """A model in the cache.

    Attributes:
        name: Its name.
        path: Its folder.
        bytes: Size of its files.
        entry: What the catalogue says about it; None if the catalogue no longer has it.
    """

    name: str
    path: Path
    bytes: int
    entry: Entry | None


class ModelStore:
    """The models below ``root``, which need not exist yet. Safe with other processes and threads
    at work on it.

    Args:
        root: The cache folder; see ``cache_root``.
        catalogue: Which models there are to pull; the bundled ones unless given.
    """

    def __init__(self, root: Path, catalogue: Catalogue | None = None) -> None:
        self.root = root
        self.catalogue = bundled.load() if catalogue is None else catalogue

    @property
    def folder(self) -> Path:
        """Where the models are."""
        return self.root / "models"

    def list(self) -> list[Installed]:
        """Return the complete models, by name."""
        try:
            names = sorted(path.name for path in self.folder.iterdir())
        except OSError:
            return []
        return [found for name in names if (found := self._installed(name))]

    def find(self, name: str) -> Path | None:
        """Return the folder of a complete model, ready for vLLM, or None; changes nothing."""
        found = self._installed(name)
        return found.path if found else None

    def pull(
        self, name: str, progress: ProgressCallback | None = None, timeout_s: float = PULL_TIMEOUT_S
    ) -> Path:
        """Return the folder of a bundled model; fetch and prepare it first if it is not in the
        cache.

        Args:
            name: A name of the catalogue.
            progress: Called often, from this thread. What it raises ends the pull.
            timeout_s: For all of it, the wait for another process that pulls the same model
                included.

        Raises:
            ModelError: If the name is unknown, or the model cannot be fetched, prepared or stored.
                Nothing half written is left, then or on KeyboardInterrupt.
        """
        entry = self.catalogue.require(name)
        if found := self.find(name):
            return found
        report = progress or ignore
        deadline = Deadline(name, timeout_s)
        with disk_errors(name, self.root):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked(deadline, report):
                return self.find(name) or self._build(entry, deadline, report)

    def remove(self, name: str) -> bool:
        """Remove a model and what a killed pull of it left; False if there was no such model.

        Raises:
            ModelError: If another process is pulling it, or the file system refuses.
        """
        if not VALID_NAME.fullmatch(name) or not self.folder.is_dir():
            return False
        with disk_errors(name, self.root), self._locked(Deadline(name, REMOVE_TIMEOUT_S), ignore):
            there = self._hide(name)
            self._remove_hidden(name)
            return there

    def _installed(self, name: str) -> Installed | None:
        if not VALID_NAME.fullmatch(name):
            return None
        path = self.folder / name
        found = manifest.read(path)
        entry = self.catalogue.entry(name)
        if found is None or found.name != name or (entry and found.recipe != entry.recipe):
            return None
        return Installed(name, path, found.bytes, entry)

    def _build(self, entry: Entry, deadline: Deadline, progress: ProgressCallback) -> Path:
        """Build in a hidden folder, then publish it. The lock is held."""
        self._remove_hidden(entry.name)
        hidden = self._hidden(entry.name)
        hidden.mkdir()
        try:
            build(entry, hidden, deadline, progress)
            checking = Meter("check", entry.disk_bytes, deadline, progress)
            manifest.write(hidden, entry.name, entry.recipe, checking.tick)
            checking.finish()
            self._hide(entry.name)  # an older or a damaged one
            target = self.folder / entry.name
            hidden.rename(target)
            sync_folder(self.folder)
        finally:
            self._remove_hidden(entry.name)
        return target

    @contextmanager
    def _locked(self, deadline: Deadline, progress: ProgressCallback) -> Iterator[None]:
        path = self.folder / f".{deadline.model}.lock"
        with locked(path, deadline, lambda: progress(Progress(0, 0, "wait"))):
            yield

    def _hidden(self, name: str) -> Path:
        return self.folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"

    def _hide(self, name: str) -> bool:
        """Take a model out of sight in one step; False if there is none."""
        try:
            (self.folder / name).rename(self._hidden(name))
        except FileNotFoundError:
            return False
        return True

    def _remove_hidden(self, name: str) -> None:
        """Remove what is hidden under that name. The lock is held: it is stale or ours."""
        pattern = re.compile(rf"\.{re.escape(name)}\.\d+\.[0-9a-f]{{8}}")
        for path in self.folder.iterdir():
            if pattern.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)
