"""What is said while a batch runs, and at its end."""

from __future__ import annotations

import json

import pytest

from omni_cli.batch.show import LINE_EVERY_S, BatchShow
from omni_cli.terminal import Terminal
from server.batch.run import Tally


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(clock: Clock, verbosity: int = 0, *, before: int = 10) -> BatchShow:
    terminal = Terminal(verbosity, {"TERM": "dumb"})
    return BatchShow(terminal, lines=100, done=before, failed=1 if before else 0, clock=clock)


def test_a_line_is_said_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with made(clock) as show:
        show.show(Tally())
        clock.now += LINE_EVERY_S / 2
        show.show(Tally(done=5, seconds=5.0))
        assert capsys.readouterr().err == ""
        clock.now += LINE_EVERY_S / 2
        show.show(Tally(done=20, failed=2, output_tokens=400, seconds=10.0))
        clock.now += 1
        show.show(Tally(done=21, seconds=11.0))
    assert capsys.readouterr().err == (
        "30 of 100 lines, 3 failed, 2.0 lines/s, 40 tokens/s, 35 s left\n"
    )


def test_nothing_is_said_in_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with made(clock, -1) as show:
        show.show(Tally())
        clock.now += 100
        show.show(Tally(done=5, seconds=5.0))
    assert capsys.readouterr().err == ""


def test_lines_of_children_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    made(Clock()).line("[stage chat] WARNING x")
    assert capsys.readouterr().err == "[stage chat] WARNING x\n"


def test_summary() -> None:
    show = made(Clock())
    show.show(Tally(done=90, failed=3, retries=2, prompt_tokens=7, output_tokens=900, seconds=30.0))
    assert show.summary("out.errors.jsonl") == (
        "100 of 100 lines in 30.0 s, 10 of them before this run: 96 done, 4 failed "
        "(see out.errors.jsonl), 3.0 lines/s, 30 tokens/s, 2 retries"
    )
    assert json.loads(show.summary_object(load_s=None)) == {
        "lines": 100,
        "done": 100,
        "failed": 4,
        "done_before": 10,
        "retries": 2,
        "prompt_tokens": 7,
        "output_tokens": 900,
        "seconds": 30.0,
        "lines_per_s": 3.0,
        "output_tokens_per_s": 30.0,
        "load_s": None,
    }


def test_summary_of_nothing() -> None:
    assert made(Clock(), before=0).summary("") == "0 of 100 lines in 0.0 s: 0 done, 0 failed"
