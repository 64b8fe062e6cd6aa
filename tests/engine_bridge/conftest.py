"""Launchers of both kinds, in a process that adopts orphans as the parent of a run does."""

from __future__ import annotations

import ctypes
from collections.abc import AsyncIterator, Iterator

import pytest

from engine_bridge.process import PR_SET_CHILD_SUBREAPER, become_subreaper
from tests.engine_bridge.launching import KINDS, Kept, make_launcher


@pytest.fixture
def subreaper() -> Iterator[None]:
    """This process as the parent of what its descendants leave behind, for the length of a test."""
    become_subreaper()
    yield
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


@pytest.fixture
def passed_on() -> list[str]:
    """The children's lines."""
    return []


@pytest.fixture(params=KINDS)
async def launcher(
    request: pytest.FixtureRequest, subreaper: None, passed_on: list[str]
) -> AsyncIterator[Kept]:
    """A started launcher; what it launched is killed and reaped at the end."""
    made = Kept(make_launcher(request.param, passed_on.append))
    await made.start()
    yield made
    await made.stop()
