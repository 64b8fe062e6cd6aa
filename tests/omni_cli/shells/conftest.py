"""The shells, each started once, with the completion script that is in the repository."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.omni_cli.conftest import ROOT
from tests.omni_cli.shells.shell import SHELLS, Shell

FILES = ("a.yaml", "my pipeline.yml", "my notes.txt")
FOLDER = "sub folder"


@pytest.fixture(scope="session", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """A shell in a folder that holds FILES and FOLDER."""
    name = str(request.param)
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed; requirements/system.sh installs it where it may"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(name)
    for file in FILES:
        (folder / file).touch()
    (folder / FOLDER).mkdir()
    started = Shell(name, Path(path), folder)
    try:
        started.source(ROOT / "completions" / f"omni.{name}")
        yield started
    finally:
        started.close()
