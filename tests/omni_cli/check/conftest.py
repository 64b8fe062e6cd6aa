"""A server that keeps the rules until told otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.omni_cli.check.conforming import KEY, Conforming


@pytest.fixture(scope="session")
def shared() -> Iterator[Conforming]:
    made = Conforming(KEY)
    yield made
    made.close()


@pytest.fixture
def conforming(shared: Conforming) -> Conforming:
    """The server, as if new."""
    shared.twist = lambda asked, reply: None
    shared.deaf.clear()
    shared.asked.clear()
    shared.forget()
    return shared
