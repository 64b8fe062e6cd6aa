"""Launchers for tests, and the end of processes seen from outside."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from engine_bridge.launcher import Launcher, SpawnLauncher, ZygoteLauncher
from engine_bridge.process import ChildProcess
from tests.engine_bridge.targets import HERE, Facts, FromTarget

ROOT = Path(__file__).parents[2]
KINDS = ("spawn", "fork")
# Cheap modules, and the targets, in the places of vLLM's.
PRELOAD = {"engine": ("json", HERE), "frontend": ("decimal",)}
DEADLINE_S = 30.0
# After a SIGKILL of the parent nothing of its children may be left.
ORPHAN_LIMIT_S = 5.0
POLL_S = 0.01


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **more}


def make_launcher(
    kind: str,
    write: Callable[[str], None],
    *,
    level: str = "debug",
    preload: Mapping[str, tuple[str, ...]] = PRELOAD,
    on_preloaded: Callable[[str, float], None] = lambda group, seconds: None,
    **env: str,
) -> Launcher:
    if kind == "spawn":
        return SpawnLauncher(environment(**env), level, write)
    return ZygoteLauncher(environment(**env), preload, level, write, on_preloaded)


class Kept:
    """A launcher that remembers its children, so that a test can leave them where it ends."""

    def __init__(self, inner: Launcher) -> None:
        self.inner = inner
        self._children: list[ChildProcess] = []

    async def start(self) -> None:
        await self.inner.start()

    async def launch(self, *, name: str, target: str, needs: str, incoming: object) -> ChildProcess:
        child = await self.inner.launch(name=name, target=target, needs=needs, incoming=incoming)
        self._children.append(child)
        return child

    async def stop(self) -> None:
        if isinstance(self.inner, ZygoteLauncher) and self.inner.process is not None:
            self._children.append(self.inner.process)
        await self.inner.stop()
        for child in self._children:
            child.signal(signal.SIGKILL)
            await child.exited
            child.channel.close()
            child.output.close()


async def launch(launcher: Launcher, target: str, name: str = "stage chat") -> ChildProcess:
    return await launcher.launch(
        name=name, target=f"{HERE}:{target}", needs="engine", incoming=FromTarget
    )


async def told(child: ChildProcess) -> Facts:
    message, _ = await child.channel.receive()
    assert isinstance(message, Facts)
    return message


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def wait_until(condition: Callable[[], bool], limit_s: float = ORPHAN_LIMIT_S) -> bool:
    """Whether the condition came to hold within the limit."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def wait_gone(pids: set[int]) -> set[int]:
    """Those that are still there after `ORPHAN_LIMIT_S`."""
    wait_until(lambda: all(map(gone, pids)))
    return {pid for pid in pids if not gone(pid)}
