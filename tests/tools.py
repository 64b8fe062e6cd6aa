"""Programs of the system that tests run omni in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

__all__ = ["needed"]


def needed(name: str) -> Path:
    """Where a program is. Without it a test is skipped, but in CI (CI=true) it fails."""
    path = shutil.which(name)
    if path is not None:
        return Path(path)
    reason = f"{name} is not installed; requirements/system.sh installs it where it may"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
