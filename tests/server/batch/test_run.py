"""The batch itself: order, bounds, retries, ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.batch import retry
from server.batch import sink as sink_module
from server.batch.done import DoneLines
from server.batch.results import Answer
from server.batch.run import Batch, Broken, Tally, TimedOut, Unreachable, run_batch
from server.batch.sink import UnorderedSink
from tests.server.batch.world import Server, World, input_of, request


async def test_results_come_in_the_order_of_the_input(tmp_path: Path) -> None:
    world = World(tmp_path, input_of(20))
    server = Server(
        failing=frozenset({3, 17}), turns={**dict.fromkeys(range(1, 21), 2), 1: 50, 5: 30}
    )
    tally = await world.run(server, concurrency=6)
    assert world.numbers(world.output) == [n for n in range(1, 21) if n not in (3, 17)]
    assert world.numbers(world.errors) == [3, 17]
    assert (tally.done, tally.failed) == (20, 2)
    assert server.most_at_work == 6


async def test_unordered_results_come_as_they_are_ready(tmp_path: Path) -> None:
    world = World(tmp_path, input_of(6))
    await world.run(Server(turns={1: 50}), ordered=False, concurrency=6)
    assert sorted(world.numbers(world.output)) == [1, 2, 3, 4, 5, 6]
    assert world.numbers(world.output)[-1] == 1


async def test_blank_lines_leave_no_gap(tmp_path: Path) -> None:
    data = b"\n" + request("id-1", body={"n": 1}) + b"\n\n\n" + request("id-2", body={"n": 2})
    world = World(tmp_path, data)
    await world.run(Server(turns={1: 20}))
    assert world.numbers(world.output) == [1, 2]
    ids = [json.loads(line)["id"] for line in world.output.read_text().splitlines()]
    assert [each.rpartition("_")[2] for each in ids] == ["2", "5"]


async def test_slow_line_holds_the_others_up_only_after_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_module, "WINDOW", 5)
    world = World(tmp_path, input_of(12))
    let_go, fifth = asyncio.Event(), asyncio.Event()
    asked: list[int] = []

    class Slow(Server):
        async def send(self, url: str, body: msgspec.Raw) -> Answer:
            asked.append(json.loads(bytes(body))["n"])
            if len(asked) == 5:
                fifth.set()
            if asked[-1] == 1:
                await let_go.wait()
            return await super().send(url, body)

    running = asyncio.create_task(world.run(Slow(), concurrency=3))
    async with asyncio.timeout(10):
        await fifth.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert asked == [1, 2, 3, 4, 5]
        let_go.set()
        await running
    assert world.numbers(world.output) == list(range(1, 13))


class TestRetries:
    class Flaky:
        """Does for each attempt what the script says; then answers 200."""

        def __init__(self, *script: Answer | Exception) -> None:
            self.script = list(script)
            self.attempts = 0

        async def send(self, url: str, body: msgspec.Raw) -> Answer:
            self.attempts += 1
            if not self.script:
                return Answer(200, "", b"{}")
            step = self.script.pop(0)
            if isinstance(step, Exception):
                raise step
            return step

    async def one(
        self, tmp_path: Path, server: Flaky, max_retries: int
    ) -> tuple[Tally, dict[str, object]]:
        world = World(tmp_path, input_of(1))
        opened = world.opened()
        batch = Batch(
            file=opened.source,
            digest=world.survey.digest,
            done=DoneLines(1),
            concurrency=1,
            max_retries=max_retries,
        )
        try:
            async with asyncio.timeout(10):
                tally = await run_batch(batch, server, opened.sink, lambda tally: None)
        finally:
            opened.close()
        return tally, json.loads(world.output.read_bytes() + world.errors.read_bytes())

    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retry, "FIRST_DELAY_S", 0.001)

    async def test_busy_server_is_asked_again(self, tmp_path: Path) -> None:
        server = self.Flaky(
            Answer(503, "", b"", "0"), Answer(429, "", b""), Broken("cut"), Unreachable("x")
        )
        tally, line = await self.one(tmp_path, server, 4)
        assert (tally.done, tally.failed, tally.retries, server.attempts) == (1, 0, 4, 5)
        assert line["response"]["status_code"] == 200  # type: ignore[index]

    async def test_last_answer_is_the_result(self, tmp_path: Path) -> None:
        server = self.Flaky(*[Answer(503, "", b"{}", "0")] * 5)
        tally, line = await self.one(tmp_path, server, 2)
        assert (tally.failed, tally.retries, server.attempts) == (1, 2, 3)
        assert line["response"]["status_code"] == 503  # type: ignore[index]

    async def test_broken_connections_are_the_result(self, tmp_path: Path) -> None:
        tally, line = await self.one(tmp_path, self.Flaky(Broken("cut"), Broken("again")), 1)
        assert tally.failed == 1
        assert line["error"] == {"code": "connection_error", "message": "again"}

    async def test_refusal_is_not_tried_again(self, tmp_path: Path) -> None:
        server = self.Flaky(Answer(400, "", b"{}"))
        await self.one(tmp_path, server, 5)
        assert server.attempts == 1

    async def test_wait_that_ran_out_is_not_tried_again(self, tmp_path: Path) -> None:
        server = self.Flaky(TimedOut("late"))
        _, line = await self.one(tmp_path, server, 5)
        assert line["error"] == {"code": "timeout", "message": "late"}
        assert server.attempts == 1

    async def test_server_that_has_gone_ends_the_run(self, tmp_path: Path) -> None:
        world = World(tmp_path, input_of(9))
        with pytest.raises(Unreachable):
            await world.run(Server(dies_after=4), concurrency=2)
        assert world.errors.read_bytes() == b""
        assert world.numbers(world.output) == [1, 2, 3, 4]


async def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Tally] = []
    world = World(tmp_path, input_of(3))
    tally = await world.run(Server(failing=frozenset({2})), on_progress=told.append)
    assert told[-1] == tally
    assert tally.seconds > 0


async def test_line_that_has_changed_since_the_check_fails(tmp_path: Path) -> None:
    world = World(tmp_path, b'{"custom_id": 1}\n')
    tally = await world.run(Server())
    assert tally.failed == 1
    assert json.loads(world.errors.read_bytes())["error"]["code"] == "invalid_line"


async def test_output_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    world = World(tmp_path, input_of(4))
    opened = world.opened(ordered=False)
    assert isinstance(opened.sink, UnorderedSink)
    batch = Batch(
        file=opened.source,
        digest=world.survey.digest,
        done=opened.done,
        concurrency=2,
        max_retries=0,
    )
    full = open("/dev/full", "wb")  # noqa: ASYNC230 - a device
    opened.sink._targets[False].fd = full.fileno()
    try:
        with pytest.raises(Exception, match="No space left"):
            await run_batch(batch, Server(), opened.sink, lambda tally: None)
    finally:
        full.close()
        opened.sink._targets[False].fd = -1
        opened.close()


def cut(path: Path, keep: float, at_least: int = 0) -> None:
    """Cut a file somewhere, as a crash of the machine might."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(at_least + int((size - at_least) * keep))


@given(
    count=st.integers(1, 14),
    failing=st.frozensets(st.integers(1, 14)),
    turns=st.dictionaries(st.integers(1, 14), st.integers(0, 12)),
    dies_after=st.lists(st.integers(0, 10), max_size=3),
    concurrency=st.integers(1, 5),
    ordered=st.booleans(),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_stopped_at_any_moment_no_line_runs_twice(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    failing: frozenset[int],
    turns: dict[int, int],
    dies_after: list[int],
    concurrency: int,
    ordered: bool,
) -> None:
    world = World(tmp_path_factory.mktemp("world"), input_of(count, size=40))
    finished: list[int] = []
    for index, deaths in enumerate([*dies_after, None]):
        server = Server(failing=failing, turns=turns, dies_after=deaths)
        try:
            asyncio.run(
                world.run(server, concurrency=concurrency, ordered=ordered, resumed=index > 0)
            )
        except Unreachable:
            assert deaths is not None
        assert not set(finished) & set(server.asked)
        opened = world.opened(ordered=ordered, resumed=True)
        finished = [n for n in range(1, count + 1) if n in opened.done]
        if ordered:
            finished += [record for record in opened.sink._left]  # type: ignore[attr-defined]
        opened.close()
    check_complete(world, count, failing, ordered)


@given(
    count=st.integers(1, 12),
    failing=st.frozensets(st.integers(1, 12)),
    turns=st.dictionaries(st.integers(1, 12), st.integers(0, 12)),
    dies_after=st.integers(0, 12),
    keep=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    ordered=st.booleans(),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_cut_at_any_byte_each_line_is_there_exactly_once(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    failing: frozenset[int],
    turns: dict[int, int],
    dies_after: int,
    keep: tuple[float, float, float],
    ordered: bool,
) -> None:
    world = World(tmp_path_factory.mktemp("world"), input_of(count, size=40))
    server = Server(failing=failing, turns=turns, dies_after=dies_after)
    try:
        asyncio.run(world.run(server, ordered=ordered))
    except Unreachable:
        pass
    head = len(world.journal.read_bytes().partition(b"\n")[0]) + 1
    cut(world.output, keep[0])
    cut(world.errors, keep[1])
    cut(world.journal, keep[2], at_least=head)
    asyncio.run(world.run(Server(failing=failing), ordered=ordered, resumed=True))
    check_complete(world, count, failing, ordered)


def check_complete(world: World, count: int, failing: frozenset[int], ordered: bool) -> None:
    every = range(1, count + 1)
    expected = [n for n in every if n not in failing], [n for n in every if n in failing]
    found = world.numbers(world.output), world.numbers(world.errors)
    assert (found if ordered else tuple(map(sorted, found))) == expected
