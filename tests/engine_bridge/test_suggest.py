from __future__ import annotations

import pytest

from engine_bridge.suggest import did_you_mean

NAMES = ("tool-call-parser", "tokenizer", "threads")


@pytest.mark.parametrize(
    ("name", "said"),
    [("tokeniser", "did you mean tokenizer?"), ("thread", "did you mean threads?"), ("x", "no")],
)
def test_the_nearest_name_is_told_if_one_is_near(name: str, said: str) -> None:
    assert did_you_mean(name, NAMES, "no") == said


def test_likeness_decides_what_is_near() -> None:
    assert did_you_mean("tok", NAMES, "no") == "no"
    assert did_you_mean("tok", NAMES, "no", likeness=0.5) == "did you mean tokenizer?"
