"""What is shown while a load runs."""

from __future__ import annotations

import pytest

from omni_cli.bench import progress
from omni_cli.bench.progress import LoadProgress
from omni_cli.bench.record import Outcome, Record
from omni_cli.terminal import Terminal


class Heard(Terminal):
    """A terminal that keeps what it is told."""

    def __init__(self, *, moves: bool) -> None:
        super().__init__(env={})
        self.err.moves = moves
        self.texts: list[str] = []

    def progress(self, text: str) -> None:
        self.texts.append(text)


@pytest.mark.parametrize("moves", [True, False])
def test_it_counts_and_ends(moves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REDRAW_S" if moves else "LINE_EVERY_S", 0.0)
    terminal = Heard(moves=moves)
    with LoadProgress(3, terminal) as shown:
        shown.note(Record(0, 0.0, outcome=Outcome.OK))
        shown.note(Record(1, 0.0, outcome=Outcome.FAILED))
    assert terminal.texts == ["1 of 3 requests, 0 s", "2 of 3 requests, 1 failed, 0 s", ""]


def test_it_does_not_chatter() -> None:
    terminal = Heard(moves=False)
    with LoadProgress(100, terminal) as shown:
        for index in range(100):
            shown.note(Record(index, 0.0, outcome=Outcome.OK))
    assert terminal.texts == [""]
