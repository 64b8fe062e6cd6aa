"""Children come to life in two ways and behave the same in both."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from engine_bridge.errors import ChannelClosed
from engine_bridge.launcher import ZygoteLauncher
from engine_bridge.process import KILL_HINT
from tests.engine_bridge.launching import DEADLINE_S, Kept, launch, told
from tests.engine_bridge.targets import Say

ENDS = {
    "returns_nothing": (0, "exited with code 0"),
    "returns_seven": (7, "exited with code 7"),
    "exits_with_five": (5, "exited with code 5"),
    "exits_with_a_message": (1, "exited with code 1"),
    "raises": (1, "exited with code 1"),
    "not_there": (1, "exited with code 1"),
    "aborts": (-signal.SIGABRT, "ended by SIGABRT"),
    "kills_itself": (-signal.SIGKILL, KILL_HINT),
}


@pytest.mark.parametrize("target", ENDS)
async def test_end_of_a_child_is_seen(launcher: Kept, target: str) -> None:
    child = await launch(launcher, target)
    code = await asyncio.wait_for(child.exited, DEADLINE_S)
    assert (code, child.describe_exit()) == ENDS[target]
    assert not child.alive


async def test_last_words_are_read_after_the_end(launcher: Kept) -> None:
    child = await launch(launcher, "kills_itself")
    await asyncio.wait_for(child.exited, DEADLINE_S)
    with pytest.raises(ChannelClosed):
        await child.channel.send(Say("too late"))
    assert await child.channel.receive() == (Say("last words"), [])
    with pytest.raises(ChannelClosed):
        await child.channel.receive()


async def test_exception_of_a_target_is_in_its_output(launcher: Kept) -> None:
    child = await launch(launcher, "raises")
    await asyncio.wait_for(child.output.ended, DEADLINE_S)
    lines = list(child.output.lines)
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "RuntimeError: what went wrong"


async def test_output_is_relayed_with_the_childs_name(launcher: Kept, passed_on: list[str]) -> None:
    child = await launch(launcher, "writes", name="frontend 3")
    await asyncio.wait_for(child.output.ended, DEADLINE_S)
    assert set(passed_on) == {
        "[frontend 3] INFO on stdout",
        "[frontend 3] ERROR on stderr",
        "[frontend 3] WARNING by a program",
        "[frontend 3] INFO without a newline",
    }


async def test_messages_and_descriptors_go_both_ways(launcher: Kept) -> None:
    child = await launch(launcher, "echo")
    await told(child)
    read_end, write_end = os.pipe()
    await child.channel.send(Say("hello"), [read_end])
    message, (back,) = await asyncio.wait_for(child.channel.receive(), DEADLINE_S)
    os.write(write_end, b"x")
    assert (message, os.read(back, 1)) == (Say("hello"), b"x")
    for fd in (read_end, write_end, back):
        os.close(fd)


async def test_child_is_ours_and_leads_its_group(launcher: Kept) -> None:
    child = await launch(launcher, "echo")
    facts = await told(child)
    assert (facts.pid, facts.parent, facts.group) == (child.pid, os.getpid(), child.pid)
    assert (facts.frozen > 0) == isinstance(launcher.inner, ZygoteLauncher)


async def test_child_has_its_title(launcher: Kept) -> None:
    pytest.importorskip("setproctitle")
    assert (await told(await launch(launcher, "echo", name="frontend 3"))).title == (
        "omni: frontend 3"
    )


async def test_child_holds_its_own_descriptors_only(launcher: Kept) -> None:
    others = [await launch(launcher, "echo", name=f"frontend {rank}") for rank in range(2)]
    everything = [await told(child) for child in others]
    last = await launch(launcher, "echo")
    everything.append(await told(last))
    for facts in everything:
        assert sorted(facts.fds)[:3] == [0, 1, 2]
        kinds = sorted(facts.fds[fd].partition(":")[0] for fd in facts.fds if fd > 2)
        assert kinds == ["socket"], facts.fds
        assert facts.fds[0] == "/dev/null"
        assert facts.fds[1] == facts.fds[2]
    ends = [facts.fds[fd] for facts in everything for fd in facts.fds if fd > 1]
    assert len(set(ends)) == len(ends), "two children share a pipe or a socket"


async def test_launching_leaves_no_descriptor_behind(launcher: Kept) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        child = await launch(launcher, "returns_nothing")
        await asyncio.wait_for(child.exited, DEADLINE_S)
        child.channel.close()
        child.output.close()
    assert len(os.listdir("/proc/self/fd")) == before


async def test_many_children_at_once(launcher: Kept) -> None:
    children = await asyncio.gather(
        *(launch(launcher, "echo", name=f"frontend {rank}") for rank in range(5))
    )
    told_by = [await told(child) for child in children]
    assert [facts.pid for facts in told_by] == [child.pid for child in children]
    assert len({child.pid for child in children}) == 5
