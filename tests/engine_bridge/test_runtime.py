"""A whole run with real processes, without vLLM: its start, its ends, and what it leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from engine_bridge import runtime as runtime_module
from engine_bridge import scrape
from engine_bridge.errors import ChildDied, StartError
from engine_bridge.plan import RuntimePlan, StagePlan
from engine_bridge.process import KILL_HINT
from engine_bridge.run_directory import RunDirectory
from engine_bridge.runtime import FrontDoor, StageRuntime
from engine_bridge.status import RuntimeStatus
from tests.engine_bridge import fakes
from tests.engine_bridge.launching import DEADLINE_S, KINDS, POLL_S, make_launcher

PRELOAD = {"engine": ("tests.engine_bridge.fakes",), "frontend": ("decimal",)}
GATED = {"engine": ("tests.engine_bridge.fakes",), "frontend": ("tests.engine_bridge.gated",)}
# Time for what must not take it, on a busy machine.
PROMPT_S = 6.0


class Run:
    """One run in a task, and all that it said."""

    def __init__(
        self,
        *,
        kind: str = "fork",
        stages: tuple[str, ...] = ("well",),
        frontends: int = 2,
        ready_timeout_s: float = 60.0,
        drain_timeout_s: float = 20.0,
        preload: Mapping[str, tuple[str, ...]] = PRELOAD,
        **env: str,
    ) -> None:
        self.lines: list[str] = []
        self.statuses: list[RuntimeStatus] = []
        self.hand_overs = 0
        self._changed = asyncio.Event()
        self._fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]
        self._base = tempfile.TemporaryDirectory(dir="/tmp", prefix="t")
        self.directory = RunDirectory(Path(self._base.name))
        names = ("chat", "embed")
        plan = RuntimePlan(
            stages=tuple(
                StagePlan(
                    name=name,
                    model="m",
                    model_path="/m",
                    served_names=(f"served-{name}",),
                    vllm_args={"behave": behave},
                )
                for name, behave in zip(names, stages, strict=False)
            ),
            api_server_count=frontends,
            start_method="fork" if kind == "fork" else "spawn",
            ready_timeout_s=ready_timeout_s,
            stop_timeout_s=2.0,
        )
        door = FrontDoor(
            target=fakes.FRONTEND,
            preload="frontend",
            fds=tuple(self._fds),
            hand_over=self._hand_over,
            drain_timeout_s=drain_timeout_s,
            version="0",
        )
        self.launcher = make_launcher(
            kind,
            self._line,
            preload=preload,
            on_preloaded=lambda group, seconds: self.runtime.preloaded(group, seconds),
            **env,
        )
        self.runtime = StageRuntime(plan, self.launcher, self.directory, door, self._status)
        self.task = asyncio.create_task(self.runtime.run())
        self.task.add_done_callback(lambda _: self._changed.set())

    async def _hand_over(self) -> None:
        self.hand_overs += 1

    def _status(self, status: RuntimeStatus) -> None:
        self.statuses.append(status)
        self._changed.set()

    def _line(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the run says; a run that ends first fails the test."""
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                assert not self.task.done(), (self.task, self.lines)
                self._changed.clear()
                # Not everything that changes is told.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), POLL_S)

    async def ready(self) -> None:
        await self.until(lambda: bool(self.statuses) and self.statuses[-1].ready)

    def reports(self, key: str) -> list[dict[str, object]]:
        """What the fakes reported that has the key."""
        found = [
            json.loads(line.partition(" INFO ")[2]) for line in self.lines if " INFO {" in line
        ]
        return [report for report in found if key in report]

    def phases(self) -> set[str]:
        return {phase.name for phase in self.runtime.status().phases}

    def pid(self, child: str) -> int:
        return self.runtime._children[child].pid

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.directory.remove()
        self._base.cleanup()
        for fd in self._fds:
            os.close(fd)


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.fixture(autouse=True)
def clean(subreaper: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fake engine in the place of vLLM's; no process and no descriptor is left by a run."""
    monkeypatch.setattr(runtime_module, "ENGINE_TARGET", fakes.ENGINE)
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert children() == ""
    left = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in _open() - before}
    assert left == {}


def _open() -> set[str]:
    return {fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")}


@contextlib.asynccontextmanager
async def run(**wishes: object) -> AsyncIterator[Run]:
    others = asyncio.all_tasks()
    begun = Run(**wishes)  # type: ignore[arg-type]
    try:
        yield begun
    finally:
        await begun.close()
        assert asyncio.all_tasks() == others, "the run left tasks"


async def failed(begun: Run) -> BaseException | None:
    """How the run ended by itself."""
    await asyncio.wait([begun.task], timeout=DEADLINE_S)
    assert begun.task.done(), (begun.lines, begun.statuses[-1:])
    return begun.task.exception()


# ------------------------------------------------------------------------- the start


@pytest.mark.parametrize("kind", KINDS)
async def test_run_becomes_ready_serves_and_stops(kind: str) -> None:
    async with run(kind=kind, stages=("well", "well")) as begun:
        await begun.ready()
        await begun.until(lambda: len(begun.reports("accepts")) == 2)
        assert begun.hand_overs == 1
        assert sorted(str(each["rank"]) for each in begun.reports("accepts")) == ["0", "1"]
        for each in begun.reports("fds"):
            # The listener and the ledger, then two of each stage.
            assert each["fds"] == 2 + 2 * 2
            assert each["stages"] == ["chat", "embed"]
        assert begun.runtime._links["chat"].ready_payload == fakes.READY_PAYLOAD
        begun.runtime.request_stop()
        assert await failed(begun) is None
        assert len(begun.reports("drains")) == 2
        assert begun.runtime.stopping
        assert {*begun.runtime.status().stages.values()} == {"stopped"}
        assert {*begun.runtime.status().frontends} == {"stopped"}


@pytest.mark.parametrize(
    "kind",
    [
        "fork",
        "spawn",
    ],
)
async def test_phases_of_a_start_are_told_and_end(kind: str) -> None:
    async with run(kind=kind, frontends=1) as begun:
        await begun.ready()
        await begun.until(lambda: len(begun.reports("accepts")) == 1)
        phases = {phase.name: phase for phase in begun.runtime.status().phases}
        assert {"stage chat", "frontend 0"} <= set(phases)
        assert all(phase.ended_at for phase in phases.values()), phases
        # Never ready again without a change: each status but the last waits for somebody.
        assert [status.ready for status in begun.statuses].index(True) == len(begun.statuses) - 1


async def test_child_of_a_run_has_its_name_and_lines() -> None:
    async with run(frontends=1) as begun:
        await begun.ready()
        await begun.until(lambda: len(begun.reports("accepts")) == 1)
        assert begun.lines[0].startswith("[frontend 0] INFO ")
        assert len(begun.runtime.last_lines("frontend 0")) == len(begun.lines)
        assert begun.runtime.last_lines("frontend 9") == []


# ---------------------------------------------------------------- what fails a start


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("behave", "sentence"),
    [
        ("rejects", "stage embed could not start: max-model-len is too large"),
        ("dies", "stage embed could not start: exited with code 3"),
    ],
)
async def test_stage_that_fails_to_start_ends_the_run(
    kind: str, behave: str, sentence: str
) -> None:
    async with run(kind=kind, stages=("well", behave)) as begun:
        error = await failed(begun)
        assert (type(error), str(error)) == (StartError, sentence)
        # The fake frontends wait for no stage, so beside one that dies late they may be ready.
        assert begun.hand_overs == 0 or behave == "dies"


async def test_frontend_that_fails_to_start_ends_the_run() -> None:
    async with run(FRONTEND_BEHAVES="fails", FRONTEND_RANK="1") as begun:
        error = await failed(begun)
        assert isinstance(error, StartError)
        assert str(error) == "frontend 1 could not start: the app cannot be built"


@pytest.mark.parametrize("who", ["stage chat", "frontend 0"])
async def test_child_that_is_never_ready_ends_the_run(who: str) -> None:
    behave = "is never ready"
    stages = (behave,) if who == "stage chat" else ("well",)
    env = {"FRONTEND_BEHAVES": behave} if who == "frontend 0" else {}
    async with run(stages=stages, frontends=1, ready_timeout_s=1.0, **env) as begun:
        error = await failed(begun)
        assert isinstance(error, StartError)
        # The frontend may be given up for waiting, or the stage first: both have the same time.
        assert str(error) == f"{who} could not start: not ready after 1 s"


async def test_import_that_never_ends_ends_the_run(tmp_path: Path) -> None:
    async with run(preload=GATED, ready_timeout_s=1.0, GATE=str(tmp_path / "never")) as begun:
        error = await asyncio.wait_for(failed(begun), PROMPT_S)
        assert isinstance(error, StartError)


async def test_stage_that_dies_while_the_zygote_imports_ends_the_run(tmp_path: Path) -> None:
    async with run(stages=("dies",), preload=GATED, GATE=str(tmp_path / "never")) as begun:
        error = await asyncio.wait_for(failed(begun), PROMPT_S)
        assert str(error) == "stage chat could not start: exited with code 3"


async def test_death_of_the_zygote_while_it_imports_ends_the_run(tmp_path: Path) -> None:
    async with run(preload=GATED, GATE=str(tmp_path / "never")) as begun:
        await begun.until(lambda: "zygote" in begun.runtime._children)
        os.kill(begun.pid("zygote"), signal.SIGKILL)
        error = await failed(begun)
        assert (type(error), str(error)) == (StartError, f"zygote could not start: {KILL_HINT}")


async def test_module_that_cannot_be_imported_is_named() -> None:
    preload = {"engine": ("tests.engine_bridge.fakes",), "frontend": ("json.nowhere",)}
    async with run(preload=preload) as begun:
        error = await failed(begun)
        assert isinstance(error, StartError)
        assert str(error) == (
            "zygote could not start: cannot import json.nowhere: "
            "ModuleNotFoundError: No module named 'json.nowhere'"
        )


# ----------------------------------------------------------------- deaths after ready


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("who", ["stage chat", "stage embed", "frontend 1"])
async def test_death_after_ready_ends_the_run(kind: str, who: str) -> None:
    async with run(kind=kind, stages=("well", "well")) as begun:
        await begun.ready()
        os.kill(begun.pid(who), signal.SIGKILL)
        error = await failed(begun)
        assert (type(error), str(error)) == (ChildDied, f"{who} died: {KILL_HINT}")


async def test_death_of_the_zygote_after_ready_ends_the_run() -> None:
    async with run(frontends=1) as begun:
        await begun.ready()
        os.kill(begun.pid("zygote"), signal.SIGKILL)
        assert isinstance(await failed(begun), ChildDied)


# ---------------------------------------------------------------------------- metrics


async def test_scrape_merges_all_ranks_and_stages() -> None:
    async with run(stages=("well", "well")) as begun:
        await begun.ready()
        texts = await asyncio.gather(*(begun.runtime.scrape() for _ in range(4)))
        assert len(set(texts)) == 1
        assert "requests_total 3.0\n" in texts[0]
        for name in ("served-chat", "served-embed"):
            row = f'vllm:num_requests_running{{engine="0",model_name="{name}"}} 2.0\n'
            assert row in texts[0]
        assert begun.runtime._scraper._collections == {}


async def test_frontends_scrapes_are_each_answered() -> None:
    async with run(FRONTEND_BEHAVES="scrapes") as begun:
        await begun.until(lambda: len(begun.reports("scraped")) == 10)
        for rank in (0, 1):
            mine = [each for each in begun.reports("scraped") if each["rank"] == rank]
            assert sorted(int(str(each["scraped"])) for each in mine) == [0, 1, 2, 3, 4]
        assert all("requests_total" in str(each["text"]) for each in begun.reports("scraped"))


async def test_scrape_does_not_wait_for_ever_for_a_busy_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scrape, "SCRAPE_TIMEOUT_S", 0.3)
    async with run(FRONTEND_BEHAVES="is silent", FRONTEND_RANK="1") as begun:
        await begun.ready()
        assert "requests_total 1.0\n" in await begun.runtime.scrape()


async def test_scrape_before_ready_has_nothing_to_wait_for() -> None:
    async with run(stages=("is never ready",)) as begun:
        await begun.until(lambda: "stage chat" in begun.runtime._children)
        assert await asyncio.wait_for(begun.runtime.scrape(), PROMPT_S) == ""


# --------------------------------------------------------------------------- the end


async def test_stop_while_starting_ends_at_once() -> None:
    async with run(stages=("is never ready",)) as begun:
        await begun.until(lambda: "frontend 1" in begun.runtime._children)
        begun.runtime.request_stop()
        await asyncio.wait_for(begun.task, PROMPT_S)


async def test_stop_while_the_zygote_imports_ends_at_once(tmp_path: Path) -> None:
    async with run(preload=GATED, GATE=str(tmp_path / "never")) as begun:
        await begun.until(lambda: "frontend 0" in begun.phases())
        begun.runtime.request_stop()
        await asyncio.wait_for(begun.task, PROMPT_S)


async def test_second_stop_does_not_wait_for_the_drain() -> None:
    async with run(FRONTEND_BEHAVES="does not drain") as begun:
        await begun.ready()
        begun.runtime.request_stop()
        await begun.until(lambda: len(begun.reports("drains")) == 2)
        begun.runtime.request_stop()
        await asyncio.wait_for(begun.task, PROMPT_S)


async def test_frontend_that_does_not_drain_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "DRAIN_MARGIN_S", 0.2)
    async with run(FRONTEND_BEHAVES="does not drain", drain_timeout_s=0.3) as begun:
        await begun.ready()
        stopped_at = time.monotonic()
        begun.runtime.request_stop()
        await asyncio.wait_for(begun.task, PROMPT_S)
        assert time.monotonic() - stopped_at >= 0.5


async def test_drain_outlasts_the_time_to_become_ready() -> None:
    async with run(FRONTEND_BEHAVES="does not drain", ready_timeout_s=3.0) as begun:
        await begun.ready()
        begun.runtime.request_stop()
        await begun.until(lambda: len(begun.reports("drains")) == 2)
        # Longer than what is left of the three seconds, shorter than the drain.
        await asyncio.wait([begun.task], timeout=3.5)
        assert not begun.task.done()
        assert begun.runtime.status().frontends == ("draining", "draining")


async def test_stage_that_dies_while_frontends_drain_is_no_error() -> None:
    async with run(FRONTEND_BEHAVES="does not drain", FRONTEND_RANK="0") as begun:
        await begun.ready()
        begun.runtime.request_stop()
        await begun.until(lambda: len(begun.reports("drains")) == 2)
        os.kill(begun.pid("stage chat"), signal.SIGKILL)
        await begun.until(lambda: begun.runtime.status().stages["chat"] == "stopped")
        os.kill(begun.pid("frontend 0"), signal.SIGKILL)
        await asyncio.wait_for(begun.task, PROMPT_S)


@pytest.mark.parametrize("after_s", [0.1, 0.15, 0.2, 0.25, 0.3, 0.4])
async def test_run_cancelled_at_any_moment_of_its_start_leaves_nothing(after_s: float) -> None:
    async with run(frontends=4) as begun:
        await asyncio.wait([begun.task], timeout=after_s)
    # The fixture looks for processes and descriptors.


async def test_cancelled_run_leaves_nothing() -> None:
    async with run() as begun:
        await begun.ready()
        begun.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await begun.task


async def test_run_leaves_no_socket_file() -> None:
    async with run(frontends=1) as begun:
        await begun.ready()
        path = begun.directory.path
        assert (path / "s0.0" / "in0").is_socket()
        begun.runtime.request_stop()
        await asyncio.wait_for(begun.task, PROMPT_S)
        begun.directory.remove()
        assert not path.exists()
