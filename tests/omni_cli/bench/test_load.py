"""A load against a scripted server: what is measured is what the script did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from omni_cli.bench.arrivals import poisson_arrivals
from omni_cli.bench.client import LoadClient
from omni_cli.bench.load import Ending, Load, LoadResult
from omni_cli.bench.measures import Measures, measure
from omni_cli.bench.prompts import Endpoint
from omni_cli.bench.record import Outcome, Record
from omni_cli.bench.samples import Distribution
from omni_cli.client.address import Address
from omni_cli.client.target import Target
from tests.omni_cli.bench.conftest import (
    COMMENT,
    DONE,
    ROLE,
    Script,
    TimedServer,
    finish,
    sse,
    text,
    usage,
)

# How much later than scripted something may be on a machine that is busy with other tests. A gap
# may be shorter as well, if the chunk before it was late, and two chunks may even arrive as one.
# What has to be exact is compared within a record.
LATE_S = 1.0


async def load(
    timed: TimedServer,
    count: int,
    *,
    concurrency: int = 8,
    arrivals: list[float] | None = None,
    timeout_s: float = 20.0,
    max_seconds: float = 30.0,
    endpoint: Endpoint = Endpoint.CHAT,
) -> LoadResult:
    target = Target(address=Address.parse(timed.url))
    async with LoadClient.open(target, endpoint, timeout_s) as client:
        body: Callable[[int], bytes] = lambda index: b'{"index": %d}' % index  # noqa: E731
        run = Load(client.ask, body, count, concurrency=concurrency, arrivals=arrivals)
        return await run.run(max_seconds)


def told(result: LoadResult, **more: Any) -> Measures:
    return measure(result, len(result.records), expected_tokens=True, **more)


def near(found: Distribution | None, mean_s: float) -> bool:
    assert found is not None
    return mean_s / 2 < found.mean < mean_s + LATE_S


def means(m: Measures) -> tuple[float, float]:
    """Inter-token by token, and by chunk."""
    assert m.itl_token is not None
    assert m.itl_chunk is not None
    return m.itl_token.mean, m.itl_chunk.mean


class TestTimes:
    async def test_steady_tokens(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(4, first_s=0.2, gap_s=0.1)
        result = await load(timed, 8, concurrency=4)
        m = told(result)
        assert (m.ok, m.failed, m.unfinished, m.estimated) == (8, 0, 0, 0)
        assert near(m.ttft, 0.2)
        assert near(m.itl_chunk, 0.1)
        assert m.itl_token is not None
        assert m.itl_chunk is not None
        # The same time, whoever shares it
        whole = m.itl_chunk.mean * m.itl_chunk.count
        assert m.itl_token.mean * m.itl_token.count == pytest.approx(whole)
        assert near(m.e2e, 0.5)
        assert m.ttft is not None
        assert m.ttft.count == 8
        assert 16 <= m.itl_token.count <= 24
        assert (m.prompt_tokens, m.output_tokens, m.total_tokens) == (24, 32, 56)
        assert m.per_second(m.output_tokens) == pytest.approx(32 / m.duration_s)
        assert m.mean_concurrency == pytest.approx(4, abs=0.5)
        assert timed.most_in_flight == m.peak_concurrency == 4

    async def test_percentiles_follow_the_script(self, timed: TimedServer) -> None:
        # 1 of 10 answers is slow to begin: p50 must not see it, p99 and max must
        timed.script = lambda index: Script.tokens(2, 2.0 if index == 4 else 0.05, 0.01)
        m = told(await load(timed, 10, concurrency=5))
        assert m.ttft is not None
        assert 0.05 <= m.ttft.percentiles[50.0] < 0.05 + LATE_S
        assert 2.0 <= m.ttft.max < 2.0 + LATE_S
        assert m.ttft.percentiles[50.0] < m.ttft.percentiles[99.0] < m.ttft.max

    async def test_gaps_are_those_of_the_wire(self, timed: TimedServer) -> None:
        gaps = (0.1, 0.5, 0.02, 0.3)
        steps: list[float | bytes] = [text("a")]
        for gap in gaps:
            steps += [gap, text("a")]
        timed.script = lambda index: Script((*steps, finish(), usage(5), DONE))
        (record,) = (await load(timed, 1)).records
        sent = timed.asked[0].sent_s[:5]
        wire = [after - before for before, after in zip(sent, sent[1:], strict=False)]
        assert list(record.gaps_s) == pytest.approx(wire, abs=0.08)

    async def test_merged_chunks_count_by_token(self, timed: TimedServer) -> None:
        pair = text("a") + text("b")
        steps = (text("a"), 0.2, pair, 0.2, pair, finish(), usage(5), DONE)
        timed.script = lambda index: Script(steps)
        m = told(await load(timed, 2))
        assert near(m.itl_chunk, 0.2)
        by_token, by_chunk = means(m)
        assert by_token == pytest.approx(by_chunk / 2)
        assert m.itl_chunk is not None
        assert m.itl_token is not None
        assert (m.itl_chunk.count, m.itl_token.count, m.estimated) == (4, 8, 0)

    async def test_merged_tokens_in_one_event_are_said_to_be_spread(
        self, timed: TimedServer
    ) -> None:
        timed.script = lambda index: Script((text("ab"), 0.2, text("cd"), finish(), usage(4), DONE))
        m = told(await load(timed, 2))
        by_token, by_chunk = means(m)
        assert by_token == pytest.approx(by_chunk / 2)
        assert m.estimated == 2
        assert any("spread evenly" in note for note in m.notes)

    async def test_what_has_no_text_is_no_chunk(self, timed: TimedServer) -> None:
        steps = (ROLE, 0.1, COMMENT, 0.1, text("a"), 0.1, text(""), COMMENT, 0.1, text("b"))
        timed.script = lambda index: Script((*steps, finish(), usage(2), DONE))
        m = told(await load(timed, 2))
        assert near(m.ttft, 0.2)
        assert near(m.itl_chunk, 0.2)
        assert m.itl_chunk is not None
        assert m.itl_chunk.count == 2

    async def test_without_usage_nothing_is_said_by_token(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script((text("a"), 0.2, text("b"), finish(), DONE))
        m = told(await load(timed, 3), limits_ms={"tpot": 1000.0})
        assert (m.itl_token, m.tpot, m.output_tokens, m.total_tokens) == (None, None, None, None)
        assert m.itl_chunk is not None
        assert m.goodput is None
        assert "the server sent no usage with 3 of 3 answers" in m.notes[0]
        assert any("goodput cannot be told" in note for note in m.notes)

    async def test_an_embedding_has_its_end_only(self, timed: TimedServer) -> None:
        body = {"data": [{"embedding": [0.1]}], "usage": {"prompt_tokens": 4, "total_tokens": 4}}
        timed.script = lambda index: Script.json(body)
        m = measure(await load(timed, 3, endpoint=Endpoint.EMBEDDINGS), 3)
        assert (m.ok, m.prompt_tokens, m.ttft, m.itl_chunk) == (3, 12, None, None)
        assert not any("usage" in note for note in m.notes)
        assert m.e2e is not None


class TestGoodput:
    async def test_it_counts_the_fast(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(3, 1.5 if index in (1, 2) else 0.01, 0.01)
        m = told(await load(timed, 8), limits_ms={"ttft": 1400.0, "tpot": 1000.0})
        assert m.goodput is not None
        assert (m.goodput.met, m.goodput.share) == (6, 0.75)
        assert m.goodput.requests_per_s == pytest.approx(6 / m.duration_s)

    async def test_a_failure_is_not_good(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(1, 0, 0) if index else Script.json({}, 500)
        m = told(await load(timed, 4), limits_ms={"ttft": 9000.0})
        assert m.goodput is not None
        assert (m.goodput.met, m.goodput.share) == (3, 0.75)


class TestFailures:
    @pytest.mark.parametrize(
        ("script", "kind", "message"),
        [
            (Script.json({"error": {"message": "boom"}}, 500), "http_500", "boom"),
            (Script.json({"detail": "Not Found"}, 404), "http_404", "Not Found"),
            (Script((text("a"), sse({"error": {"message": "died"}}), DONE)), "error_frame", "died"),
            (Script((text("a"), finish())), "cut_stream", "the stream ended early"),
            (Script((text("a"),), end="cut"), "cut_stream", "the stream ended early"),
            (Script((b"<html>",), content_type="text/html"), "not_a_stream", "text/html"),
            (Script((b"data: {nope\n\n", DONE)), "bad_chunk", "not JSON"),
            (Script((b"data: []\n\n", DONE)), "bad_chunk", "no object"),
            (Script((ROLE, finish(), usage(1), DONE)), "empty_answer", "no text"),
            (Script((text("a"), DONE), head_s=5.0), "timeout", "not ended after 0.7 s"),
            (Script((text("a"), 5.0, DONE)), "timeout", "not ended after 0.7 s"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    async def test_each_has_its_kind(
        self, timed: TimedServer, script: Script, kind: str, message: str
    ) -> None:
        timed.script = lambda index: script if index == 0 else Script.tokens(2, 0.0, 0.0)
        m = told(await load(timed, 3, concurrency=1, timeout_s=0.7))
        assert (m.ok, m.failed, m.unfinished) == (2, 1, 0)
        (found,) = m.failures
        assert (found.kind, found.count) == (kind, 1)
        assert message in found.example
        # A failure tells nothing about speed
        assert m.e2e is not None
        assert m.e2e.count == 2

    async def test_nobody_there(self, timed: TimedServer) -> None:
        timed.close()
        m = told(await load(timed, 2))
        assert [(found.kind, found.count) for found in m.failures] == [("connect", 2)]


class TestPace:
    async def test_a_rate_sends_as_planned(self, timed: TimedServer) -> None:
        # Answers are slower than requests come: a closed loop would fall behind
        timed.script = lambda index: Script.tokens(1, 0.3, 0.0)
        arrivals = poisson_arrivals(12, rate=30.0, seed=3)
        result = await load(timed, 12, arrivals=arrivals, concurrency=100)
        m = told(result)
        assert m.send_delay is not None
        assert m.send_delay.max < LATE_S
        sent = [(record.sent_s, record.scheduled_s) for record in result.records]
        assert all(scheduled is not None and at >= scheduled for at, scheduled in sent)
        begun = timed.asked[0].at_s
        seen = [asked.at_s - begun for asked in timed.asked]
        assert seen == pytest.approx(arrivals, abs=LATE_S)
        assert [asked.body["index"] for asked in timed.asked] == list(range(12))

    async def test_no_room_is_told_as_delay(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(1, 0.1, 0.0)
        m = told(await load(timed, 4, arrivals=[0.0] * 4, concurrency=1))
        assert m.send_delay is not None
        assert 0.3 <= m.send_delay.max < 0.3 + LATE_S
        assert any("later than planned" in note for note in m.notes)
        # Latencies count from the sending
        assert near(m.ttft, 0.1)

    async def test_the_whole_is_bounded(self, timed: TimedServer) -> None:
        timed.script = lambda index: (
            Script((text("a"), 9.0, DONE)) if index else Script.tokens(1, 0, 0)
        )
        begun = time.monotonic()
        result = await load(timed, 9, concurrency=2, max_seconds=0.4)
        assert time.monotonic() - begun < 3
        m = told(result)
        assert (m.ended, m.ok, m.unfinished) == (Ending.MAX_SECONDS, 1, 2)
        assert 0.2 < m.duration_s < 0.4 + LATE_S

    async def test_a_stop_keeps_what_was_measured(self) -> None:
        async def ask(body: bytes, record: Record, start_s: float) -> None:
            if record.index < 3:
                record.outcome = Outcome.OK
                return
            run.stop(Ending.INTERRUPTED)
            await asyncio.sleep(9)

        run = Load(ask, lambda index: b"", 10, concurrency=1)
        result = await run.run(5.0)
        assert result.ended is Ending.INTERRUPTED
        outcomes = [str(record.outcome) for record in result.records]
        assert outcomes == ["ok", "ok", "ok", "unfinished"]

    async def test_a_defect_is_not_swallowed(self) -> None:
        async def ask(body: bytes, record: Record, start_s: float) -> None:
            raise ZeroDivisionError

        with pytest.raises(ExceptionGroup):
            await Load(ask, lambda index: b"", 3).run(5.0)


class TestLag:
    async def test_a_blocked_loop_is_seen(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(5, 0.01, 0.02)
        target = Target(address=Address.parse(timed.url))
        async with LoadClient.open(target, Endpoint.CHAT, 20.0) as client:

            async def ask(body: bytes, record: Record, start_s: float) -> None:
                time.sleep(0.2)  # noqa: ASYNC251 - what is to be seen
                await client.ask(body, record, start_s)

            m = told(await Load(ask, lambda index: b"{}", 3, concurrency=1).run(20.0))
        assert m.loop_lag is not None
        assert m.loop_lag.max > 0.15
        assert any("its event loop lagged by" in note for note in m.notes)

    async def test_an_idle_one_is_not_blamed(self, timed: TimedServer) -> None:
        timed.script = lambda index: Script.tokens(5, 0.05, 0.05)
        m = told(await load(timed, 2))
        assert m.loop_lag is not None
        assert m.loop_lag.percentiles[50.0] < 0.05
        assert m.loop_lag.count >= 5
        assert 0 < m.busy_share < 0.9
