from __future__ import annotations

import os
import pty
import subprocess
import sys

from engine_bridge.models.progress import Progress
from omni_cli.progress import line_reporter

DRAW = """
from engine_bridge.models.progress import Progress
from omni_cli.progress import reporter
from omni_cli.terminal import Terminal
with reporter("plain", Terminal()) as report:
    report(Progress(0, 0, "wait"))
    report(Progress(1_000_000, 4_000_000, "download"))
    report(Progress(4_000_000, 4_000_000, "download"))
print("the result")
"""


def test_lines_at_each_step_and_then_every_few_seconds() -> None:
    lines: list[str] = []
    times = iter((0.0, 1.0, 2.9, 3.0, 3.1, 3.2))
    report = line_reporter("plain", lines.append, lambda: next(times))
    for done in (0, 10_000_000, 20_000_000, 30_000_000):
        report(Progress(done, 40_000_000, "download"))
    report(Progress(0, 40_000_000, "unpack"))
    report(Progress(0, 0, "wait"))
    assert lines == [
        "plain: downloading 0 of 40 MB",
        "plain: downloading 30 of 40 MB",
        "plain: unpacking 0 of 40 MB",
        "plain: waiting for another process that prepares it",
    ]


def test_bar_is_drawn_on_a_terminal_only_and_cleared() -> None:
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", DRAW], stdout=subprocess.PIPE, stderr=follower, env=env, text=True
    ) as process:
        os.close(follower)
        out, _ = process.communicate(timeout=30)
    shown = b""
    while chunk := _read(leader):
        shown += chunk
    os.close(leader)
    assert process.returncode == 0
    assert out == "the result\n"
    assert b"plain: downloading" in shown
    assert shown.rstrip().endswith(b"\x1b[2K")  # the last thing done is to clear the bar's line


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # how a pty says that nobody is left
        return b""
