"""What only the zygote has: groups that load in order, one thread, and its own death."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from engine_bridge.errors import StartError
from engine_bridge.launcher import ZygoteLauncher
from engine_bridge.process import ChildProcess
from tests.engine_bridge.launching import (
    DEADLINE_S,
    PRELOAD,
    Kept,
    environment,
    launch,
    told,
    wait_gone,
)
from tests.engine_bridge.targets import HERE, FromTarget, Say

GATED = {"engine": (HERE,), "frontend": ("tests.engine_bridge.gated",)}


@contextlib.asynccontextmanager
async def started(
    preload: Mapping[str, tuple[str, ...]], **env: str
) -> AsyncIterator[tuple[Kept, ChildProcess, asyncio.Queue[str]]]:
    """A zygote, its process, and the groups that are in."""
    groups: asyncio.Queue[str] = asyncio.Queue()
    launcher = ZygoteLauncher(
        environment(**env),
        preload,
        "debug",
        lambda line: None,
        lambda group, seconds: groups.put_nowait(group),
    )
    kept = Kept(launcher)
    await kept.start()
    assert launcher.process is not None
    try:
        yield kept, launcher.process, groups
    finally:
        await kept.stop()


async def launch_late(launcher: Kept) -> ChildProcess:
    return await launcher.launch(
        name="frontend 0", target=f"{HERE}:echo", needs="frontend", incoming=FromTarget
    )


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.usefixtures("subreaper")
async def test_groups_load_in_order() -> None:
    async with started(PRELOAD) as (_, _, groups):
        async with asyncio.timeout(DEADLINE_S):
            assert [await groups.get() for _ in PRELOAD] == list(PRELOAD)


@pytest.mark.usefixtures("subreaper")
async def test_child_of_an_early_group_does_not_wait_for_a_later_group(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with started(GATED, GATE=str(gate)) as (launcher, _, groups):
        early = asyncio.create_task(launch(launcher, "echo"))
        late = asyncio.create_task(launch_late(launcher))
        async with asyncio.timeout(DEADLINE_S):
            child = await early
            await told(child)
            assert groups.get_nowait() == "engine"
            assert not late.done()
            gate.touch()
            second = await late
            assert (await told(second)).pid == second.pid


@pytest.mark.usefixtures("subreaper")
async def test_zygote_has_one_thread() -> None:
    async with started(PRELOAD) as (launcher, zygote, _):
        await launch(launcher, "echo")
        assert len(os.listdir(f"/proc/{zygote.pid}/task")) == 1


@pytest.mark.usefixtures("subreaper")
async def test_zygote_keeps_nothing_of_its_children() -> None:
    async with started(PRELOAD) as (launcher, zygote, groups):
        async with asyncio.timeout(DEADLINE_S):
            for _ in PRELOAD:
                await groups.get()
        before = sorted(os.listdir(f"/proc/{zygote.pid}/fd"))
        for _ in range(3):
            await launch(launcher, "echo")
        assert sorted(os.listdir(f"/proc/{zygote.pid}/fd")) == before
        assert children_of(zygote.pid) == [], "the intermediate of a fork is still there"


@pytest.mark.usefixtures("subreaper")
async def test_child_survives_the_zygote() -> None:
    async with started(PRELOAD) as (launcher, zygote, _):
        child = await launch(launcher, "echo")
        await told(child)
        zygote.signal(signal.SIGKILL)
        await asyncio.wait_for(zygote.exited, DEADLINE_S)
        await child.channel.send(Say("still here"))
        assert await child.channel.receive() == (Say("still here"), [])


@pytest.mark.usefixtures("subreaper")
async def test_death_of_the_zygote_fails_what_waits_and_what_follows(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with started(GATED, GATE=str(tmp_path / "never")) as (launcher, zygote, groups):
        waiting = [asyncio.create_task(launch_late(launcher)) for _ in range(2)]
        async with asyncio.timeout(DEADLINE_S):
            assert await groups.get() == "engine"
            zygote.signal(signal.SIGKILL)
            for task in waiting:
                with pytest.raises(StartError, match="^zygote could not start: was killed"):
                    await task
            with pytest.raises(StartError, match="^zygote could not start: was killed"):
                await launch(launcher, "echo")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.usefixtures("subreaper")
async def test_module_that_cannot_be_imported_ends_the_zygote_with_its_traceback() -> None:
    async with started({"engine": ("no_such_module",)}) as (launcher, zygote, _):
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(
                StartError, match="cannot import no_such_module: ModuleNotFoundError: No module"
            ):
                await launch(launcher, "echo")
            await zygote.output.ended
        assert zygote.output.lines[-1] == "ModuleNotFoundError: No module named 'no_such_module'"
        assert await zygote.exited == 1


@pytest.mark.usefixtures("subreaper")
async def test_child_that_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with started(GATED, GATE=str(gate)) as (launcher, zygote, groups):
        waiting = asyncio.create_task(launch_late(launcher))
        async with asyncio.timeout(DEADLINE_S):
            assert await groups.get() == "engine"
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            gate.touch()
            # Answers come in order: this one is not taken for that of the one before.
            child = await launch_late(launcher)
            assert (await told(child)).pid == child.pid
            await child.stop(DEADLINE_S)
        assert children_of(os.getpid()) == [zygote.pid]


@pytest.mark.usefixtures("subreaper")
async def test_end_of_the_channel_ends_the_zygote() -> None:
    async with started(PRELOAD) as (_, zygote, _):
        zygote.channel.close()
        assert await asyncio.wait_for(zygote.exited, DEADLINE_S) == 0
        assert wait_gone({zygote.pid}) == set()
