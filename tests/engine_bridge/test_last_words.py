from __future__ import annotations

import pytest

from engine_bridge.last_words import MAX_CAUSE_CHARS, one_line


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("no such file", "no such file"),
        (
            "1 validation error for ModelConfig\n\n  Value error, bad [type=value_error]\n"
            "    For further information visit a page",
            "1 validation error for ModelConfig Value error, bad [type=value_error]",
        ),
        ("a\x1b[31mred\x07", "a?[31mred?"),
        ("", "ValueError"),
        ("\n \n", "ValueError"),
    ],
)
def test_error_is_one_printable_line(said: str, line: str) -> None:
    assert one_line(ValueError(said)) == line


def test_long_error_is_cut_with_a_sign() -> None:
    line = one_line(ValueError("arch " * 1000))
    assert len(line) <= MAX_CAUSE_CHARS
    assert line.endswith("…")
