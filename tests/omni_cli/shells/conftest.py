"""The shells, each started once, with the completion script that is in the repository."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.omni_cli.conftest import ROOT
from tests.omni_cli.shells.shell import SHELLS, Shell
from tests.tools import needed

FILES = ("a.yaml", "my pipeline.yml", "my notes.txt")
FOLDER = "sub folder"


@pytest.fixture(scope="session", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """A shell in a folder that holds FILES and FOLDER."""
    name = str(request.param)
    path = needed(name)
    folder = tmp_path_factory.mktemp(name)
    for file in FILES:
        (folder / file).touch()
    (folder / FOLDER).mkdir()
    started = Shell(name, path, folder)
    try:
        started.source(ROOT / "completions" / f"omni.{name}")
        yield started
    finally:
        started.close()
