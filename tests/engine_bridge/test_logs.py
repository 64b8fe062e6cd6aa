"""What children write: which lines are passed on, and what is kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from engine_bridge.logs import KEPT_LINES, LEVELS, MAX_LINE_BYTES, OutputRelay

DEADLINE_S = 10.0


class Written:
    """One relay over a pipe, and what it passed on."""

    def __init__(self, level: str = "debug", name: str = "stage chat") -> None:
        read_end, self.fd = os.pipe()
        self.passed: list[str] = []
        self.relay = OutputRelay(name, read_end, level, self.passed.append)

    async def all_of(self, *parts: bytes) -> list[str]:
        """Write the parts, close, and return all lines that were kept."""
        for part in parts:
            await asyncio.to_thread(self._write, part)
        os.close(self.fd)
        await asyncio.wait_for(self.relay.ended, DEADLINE_S)
        return list(self.relay.lines)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.fd, data) :]


PREFIXES: dict[str, Callable[[str], str]] = {
    "vLLM": lambda level: f"{level} 07-14 10:00:00 [core.py:113] text",
    "engine": lambda level: f"(EngineCore pid=12) {level} 07-14 10:00:00 [core.py:113] text",
    "worker": lambda level: f"(Worker_TP0 pid=12) {level} 07-14 [gpu_worker.py:1] text",
    "coloured prefix": lambda level: f"\x1b[0;36m(EngineCore pid=1)\x1b[0;0m {level} 07-14 text",
    "coloured level": lambda level: f"\x1b[32m{level}\x1b[0m 07-14 text",
    "both coloured": lambda level: f"\x1b[0;36m(APIServer pid=1)\x1b[0;0m \x1b[33m{level}\x1b[0m x",
    "uvicorn": lambda level: f"{level}:     Started server process [1]",
}


@pytest.mark.parametrize("threshold", LEVELS)
@pytest.mark.parametrize("level", [*LEVELS, "critical"])
@pytest.mark.parametrize("form", PREFIXES.values(), ids=PREFIXES)
async def test_line_is_passed_on_from_its_level_up(
    form: Callable[[str], str], level: str, threshold: str
) -> None:
    line = form(level.upper())
    written = Written(threshold)
    assert await written.all_of(line.encode() + b"\n") == [line]
    wanted = level == "critical" or LEVELS.index(level) >= LEVELS.index(threshold)
    assert written.passed == ([f"[stage chat] {line}"] if wanted else [])


@pytest.mark.parametrize(
    "line",
    ["Traceback (most recent call last):", "INFORMATION", "DEBUGGER attached", "an ERROR inside"],
)
async def test_line_without_a_level_counts_as_info(line: str) -> None:
    shown, hidden = Written("info"), Written("warning")
    assert await shown.all_of(line.encode() + b"\n") == [line]
    assert await hidden.all_of(line.encode() + b"\n") == [line]
    assert (shown.passed, hidden.passed) == ([f"[stage chat] {line}"], [])


async def test_lines_are_put_together_from_pieces() -> None:
    assert await Written().all_of(b"on", b"e\ntw", b"o\n", b"\n", b"three") == [
        "one",
        "two",
        "",
        "three",
    ]


async def test_last_line_without_a_newline_is_kept_and_passed_on() -> None:
    written = Written("error")
    assert await written.all_of(b"ERROR no newline\r") == ["ERROR no newline"]
    assert written.passed == ["[stage chat] ERROR no newline"]


async def test_empty_line_is_not_passed_on() -> None:
    written = Written()
    await written.all_of(b"\n\r\n")
    assert written.passed == []


async def test_carriage_return_before_the_newline_goes() -> None:
    assert await Written().all_of(b"one\r\n 10%\r 20%\n") == ["one", " 10%\r 20%"]


async def test_character_split_between_two_reads_survives() -> None:
    data = "grüße 你好\n".encode()
    assert await Written().all_of(*(data[i : i + 1] for i in range(len(data)))) == ["grüße 你好"]


async def test_invalid_utf8_is_replaced() -> None:
    assert await Written().all_of(b"a\xff\xfeb\n") == ["a\ufffd\ufffdb"]


async def test_very_long_line_is_cut_and_the_next_one_whole() -> None:
    long = b"x" * (3 << 20)
    lines = await Written().all_of(long + b"\nnext\n")
    assert lines == ["x" * MAX_LINE_BYTES, "next"]


async def test_very_long_last_line_is_cut() -> None:
    assert await Written().all_of(b"y" * (1 << 20)) == ["y" * MAX_LINE_BYTES]


async def test_old_lines_make_room() -> None:
    data = b"".join(b"%d\n" % number for number in range(KEPT_LINES + 10))
    lines = await Written().all_of(data)
    assert (lines[0], lines[-1], len(lines)) == ("10", str(KEPT_LINES + 9), KEPT_LINES)


async def test_close_keeps_what_lies_in_the_pipe() -> None:
    written = Written("error")
    os.write(written.fd, b"ERROR the cause\nhalf")
    written.relay.close()
    written.relay.close()
    assert list(written.relay.lines) == ["ERROR the cause", "half"]
    assert written.passed == ["[stage chat] ERROR the cause"]
    assert written.relay.ended.done()
    os.close(written.fd)


async def test_close_ends_although_the_child_goes_on_writing() -> None:
    written = Written("error")
    writing = threading.Event()

    def flood() -> None:
        try:
            while True:
                writing.set()
                os.write(written.fd, b"z" * 4096)
        except BrokenPipeError:
            os.close(written.fd)

    writer = asyncio.create_task(asyncio.to_thread(flood))
    assert await asyncio.to_thread(writing.wait, DEADLINE_S)
    written.relay.close()
    await asyncio.wait_for(writer, DEADLINE_S)


CHILD = """
import logging
from engine_bridge.logs import say_levels
say_levels()
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("server.middleware").exception("request %s failed", "abc")
logging.getLogger("any").info("nothing to see")
"""


async def test_failure_logged_by_a_child_is_passed_on_with_its_traceback() -> None:
    child = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", CHILD], stderr=subprocess.PIPE, check=True
    )
    written = Written("warning")
    await written.all_of(child.stderr)
    assert "request abc failed" in written.passed[0]
    assert "ZeroDivisionError" in written.passed[-1]
    assert not any("nothing to see" in line for line in written.passed)
