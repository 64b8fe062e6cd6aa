"""Stopping a child, its group, and no orphans whatever ends the parent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_bridge.process import reap_unknown
from tests.engine_bridge.launching import (
    DEADLINE_S,
    KINDS,
    Kept,
    environment,
    gone,
    launch,
    told,
    wait_gone,
    wait_until,
)
from tests.engine_bridge.targets import Say

SHORT_S = 0.2


async def test_stop_lets_a_child_end_by_itself(launcher: Kept) -> None:
    child = await launch(launcher, "ends_on_sigterm")
    await told(child)
    assert await child.stop(DEADLINE_S) == 9
    assert await child.stop(DEADLINE_S) == 9
    assert child.describe_exit() == "exited with code 9"


async def test_stop_kills_a_child_that_ignores_it(launcher: Kept) -> None:
    child = await launch(launcher, "ignores_sigterm")
    await told(child)
    begun = time.monotonic()
    assert await child.stop(SHORT_S) == -signal.SIGKILL
    assert time.monotonic() - begun >= SHORT_S


@pytest.mark.parametrize(
    ("target", "code"), [("ends_on_sigterm", 9), ("ignores_sigterm", -signal.SIGKILL)]
)
async def test_stop_ends_a_child_that_was_stopped(launcher: Kept, target: str, code: int) -> None:
    child = await launch(launcher, target)
    await told(child)
    child.signal(signal.SIGSTOP)
    assert await child.stop(DEADLINE_S if code == 9 else SHORT_S) == code


async def test_stop_that_was_cancelled_can_be_asked_again(launcher: Kept) -> None:
    child = await launch(launcher, "ignores_sigterm")
    await told(child)
    stopping = asyncio.create_task(child.stop(DEADLINE_S))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert child.alive
    assert await child.stop(0) == -signal.SIGKILL


async def test_signal_to_a_child_that_has_ended_is_no_error(launcher: Kept) -> None:
    child = await launch(launcher, "returns_nothing")
    await asyncio.wait_for(child.exited, DEADLINE_S)
    child.signal(signal.SIGTERM)
    assert await child.stop(SHORT_S) == 0


@pytest.mark.parametrize("target", ["has_a_worker", "has_a_program"])
async def test_group_of_a_child_ends_with_it(launcher: Kept, target: str) -> None:
    child = await launch(launcher, target)
    facts = await told(child)
    assert not gone(facts.grandchild)
    child.signal(signal.SIGKILL)
    await asyncio.wait_for(child.exited, DEADLINE_S)
    assert wait_gone({facts.grandchild}) == set()
    # It came to this process as an orphan, and is reaped without knowing of it.
    assert reap_unknown(set()) == [facts.grandchild]


async def test_reaping_of_orphans_leaves_launched_children_alone(launcher: Kept) -> None:
    child = await launch(launcher, "echo")
    os.kill(child.pid, signal.SIGKILL)
    assert wait_gone({child.pid}) == set()
    # As if its launch were not yet known: the callback that reaps it has not run.
    assert child.alive
    assert reap_unknown(set()) == []
    assert await asyncio.wait_for(child.exited, DEADLINE_S) == -signal.SIGKILL


async def test_ctrl_c_ends_no_child(launcher: Kept) -> None:
    child = await launch(launcher, "echo")
    await told(child)
    child.signal(signal.SIGINT)
    await child.channel.send(Say("still here"))
    assert await asyncio.wait_for(child.channel.receive(), DEADLINE_S) == (Say("still here"), [])


# ----------------------------------------------------------------------- no orphans


@contextlib.contextmanager
def parent(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    """A parent in a session of its own, and the pids of what it launched."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine_bridge.parent", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        pids: dict[str, int] = {}
        try:
            pids = json.loads(process.stdout.readline())
            yield process, pids
        finally:
            process.kill()
            for pid in pids.values():
                if not gone(pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize("how", ["running", "stopped"])
@pytest.mark.parametrize("target", ["ignores_the_channel", "ignores_sigterm", "has_a_worker"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_a_killed_parent(kind: str, target: str, how: str) -> None:
    with parent(kind, target, *(["stop"] if how == "stopped" else [])) as (process, pids):
        if how == "stopped":
            assert wait_until(lambda: stopped(pids["child"]))
        assert not any(map(gone, pids.values()))
        process.kill()
        assert wait_gone(set(pids.values())) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_on_the_terminal_reaches_the_parent_only(kind: str) -> None:
    with parent(kind, "ignores_the_channel") as (process, pids):
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        alive = json.loads(process.stdout.readline())
        assert alive == dict.fromkeys(pids, True)
        assert not any(map(gone, pids.values()))
