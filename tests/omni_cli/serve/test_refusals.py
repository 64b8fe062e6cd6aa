from __future__ import annotations

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.refusals import refusal


@pytest.mark.parametrize("value", [0, 3])
def test_refusal_of_a_number(value: int) -> None:
    flag = catalogue().by_dest["data_parallel_rank"]
    problem = refusal(flag, "-dpn", value, "flag")
    assert problem is not None
    assert problem.subject == "-dpn"
    assert problem.value == value
    assert problem.reason


@pytest.mark.parametrize(
    ("dest", "value"), [("headless", False), ("data_parallel_rank", None), ("middleware", [])]
)
def test_refusal_of_what_asks_for_nothing(dest: str, value: object) -> None:
    assert refusal(catalogue().by_dest[dest], f"--{dest}", value, "file") is None


def test_refusal_of_what_is_served() -> None:
    assert refusal(catalogue().by_dest["port"], "--port", 9000, "flag") is None
