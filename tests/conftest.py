"""What every test starts from: an empty folder, a plain terminal, no settings of the user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Models are fetched once per machine, wherever the user keeps them.
KEPT_SETTINGS = {"OMNI_CACHE_DIR"}


@pytest.fixture(autouse=True)
def isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the folder, the environment, colour and width of the person who runs the tests out."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("OMNI_") and name not in KEPT_SETTINGS:
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "dumb")
    # Servers under test are on this machine; models come from packages, never from a hub.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what starts real servers last: the cheap tests fail first, and no server that is shared
    by a whole session runs beside tests that count this process's children.
    """
    items.sort(key=lambda item: "e2e" in item.path.parts)
