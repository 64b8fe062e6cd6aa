from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from server import open_files
from server.open_files import raise_open_files

LIMIT = resource.RLIMIT_NOFILE


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = resource.getrlimit(LIMIT)
    yield
    resource.setrlimit(LIMIT, before)


def test_limit_is_raised_and_never_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    _, hard = resource.getrlimit(LIMIT)
    monkeypatch.setattr(open_files, "MAX_OPEN_FILES", 512)
    resource.setrlimit(LIMIT, (256, hard))
    raise_open_files()
    assert resource.getrlimit(LIMIT) == (512, hard)
    resource.setrlimit(LIMIT, (600, hard))
    raise_open_files()
    assert resource.getrlimit(LIMIT) == (600, hard)


def test_hard_limit_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    _, hard = resource.getrlimit(LIMIT)
    monkeypatch.setattr(open_files, "MAX_OPEN_FILES", hard + 1)
    resource.setrlimit(LIMIT, (256, hard))
    raise_open_files()
    assert resource.getrlimit(LIMIT) == (hard, hard)
