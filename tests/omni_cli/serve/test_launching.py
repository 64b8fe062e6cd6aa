"""What every composition root needs."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from omni_cli.serve.launching import compiles_nothing, keep_log, stopping, without_keys
from omni_cli.terminal import Terminal


@pytest.mark.parametrize(
    ("args", "nothing"),
    [
        ({}, False),
        ({"enforce_eager": True}, True),
        ({"enforce_eager": True, "optimization_level": "3"}, True),
        ({"enforce_eager": False, "optimization_level": "3"}, False),
        ({"enforce_eager": False, "optimization_level": "0"}, True),
        ({"optimization_level": "0", "compilation_config": {"mode": 3}}, False),
    ],
)
def test_what_compiles_nothing(args: dict[str, object], nothing: bool) -> None:
    assert compiles_nothing(args) is nothing


def test_children_are_given_no_key() -> None:
    given = {"OMNI_API_KEY": "a", "VLLM_API_KEY": "b", "HOME": "/root", "VLLM_USE_V1": "1"}
    assert without_keys(given) == {"HOME": "/root", "VLLM_USE_V1": "1"}


def test_log_of_a_failed_child_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "deep"
    keep_log(Terminal(), folder, "stage chat", ["one", "grüße"])
    path = folder / f"stage-chat.{os.getpid()}.log"
    assert path.read_text(encoding="utf-8") == "one\ngrüße\n"
    assert capsys.readouterr().err == f"the last lines of stage chat are in {path}\n"


def test_log_that_cannot_be_kept_is_not_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    keep_log(Terminal(), tmp_path / "file", "stage chat", ["one"])
    keep_log(Terminal(), tmp_path / "none", "stage chat", [])
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "none").exists()


async def test_signals_are_told_within_the_block_and_ignored_after_it() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    told: asyncio.Queue[signal.Signals] = asyncio.Queue()
    try:
        with stopping(told.put_nowait):
            os.kill(os.getpid(), signal.SIGTERM)
            assert await asyncio.wait_for(told.get(), 5) == signal.SIGTERM
            os.kill(os.getpid(), signal.SIGINT)
            assert await asyncio.wait_for(told.get(), 5) == signal.SIGINT
        os.kill(os.getpid(), signal.SIGTERM)
        assert told.empty()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
