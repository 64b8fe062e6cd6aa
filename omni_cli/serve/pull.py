"""Bundled models that are not in the cache are fetched before the start, with progress notes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from engine_bridge.models.progress import Progress, Step
from engine_bridge.models.store import ModelStore
from omni_cli.serve.model_facts import ModelFacts
from omni_cli.terminal import Terminal

__all__ = ["pull_missing"]

# Often enough to see that it moves, rarely enough for a log file.
NOTE_EVERY_S = 2.0

_DOING: dict[Step, str] = {
    "wait": "waiting for another process that prepares it",
    "download": "downloading",
    "unpack": "unpacking",
    "prepare": "preparing",
    "check": "checking",
}


def pull_missing(
    models: Mapping[str, ModelFacts], store: ModelStore, terminal: Terminal
) -> dict[str, ModelFacts]:
    """Fetch and prepare every bundled model that is not here.

    Args:
        models: By the name of the stage.
        store: Where they are kept.
        terminal: Gets the progress as notes.

    Returns:
        The same models, all bundled ones in the cache.

    Raises:
        ModelError: If one cannot be fetched.
    """
    return {name: _pulled(facts, store, terminal) for name, facts in models.items()}


def _pulled(facts: ModelFacts, store: ModelStore, terminal: Terminal) -> ModelFacts:
    if facts.entry is None or facts.here:
        return facts
    name = facts.entry.name
    megabytes = facts.entry.download_bytes / 1e6
    terminal.note(f"model {name} is not in the cache: fetching {megabytes:.0f} MB, once")
    path = store.pull(name, _Notes(name, terminal))
    terminal.note(f"model {name} is ready in {path}")
    return replace(facts, path=str(path), here=True)


class _Notes:
    def __init__(self, name: str, terminal: Terminal) -> None:
        self.name = name
        self.terminal = terminal
        self.step: Step | None = None
        self.noted_at = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.step == self.step and now - self.noted_at < NOTE_EVERY_S:
            return
        self.step, self.noted_at = progress.step, now
        share = f" {progress.done / progress.total:.0%}" if progress.total else ""
        self.terminal.note(f"model {self.name}: {_DOING[progress.step]}{share}")
