"""The parent's side of one engine, against an engine that speaks plain msgpack."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
import zmq
import zmq.asyncio

from engine_bridge.stage_link import ENGINE_CORE_DEAD, ENGINE_IDENTITY, EngineDead, StageLink
from tests.engine_bridge.fakes import READY_PAYLOAD, FakeEngine

DEADLINE_S = 10.0
SHORT_S = 0.2


@pytest.fixture
async def link() -> AsyncIterator[StageLink]:
    context = zmq.asyncio.Context()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as folder:
        made = StageLink(context, Path(folder), frontends=2)
        yield made
        await made.close()
        await made.close()
        context.destroy(0)


@pytest.fixture
async def engine(link: StageLink) -> AsyncIterator[FakeEngine]:
    """An engine that is ready; its calls are answered by the tests."""
    connecting = asyncio.create_task(asyncio.to_thread(FakeEngine, link.handshake_address))
    await asyncio.wait_for(link.wait_ready(), DEADLINE_S)
    made = await connecting
    yield made
    made.context.destroy(0)


Answer = Callable[[int, int, str, list[object]], list[object] | bytes]


def answer_once(engine: FakeEngine, answer: Answer) -> threading.Thread:
    """Answer the parent's next call, in a thread, with the whole output message."""

    def serve() -> None:
        kind, payload = engine.inputs[-1].recv_multipart()
        assert kind == b"\x03"
        client, call_id, method, arguments = msgspec.msgpack.decode(payload)
        reply = answer(client, call_id, method, arguments)
        data = reply if isinstance(reply, bytes) else msgspec.msgpack.encode(reply)
        engine.outputs[client].send(data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def output(*utility: object) -> list[object]:
    """As vLLM leaves it: trailing fields with their defaults are omitted."""
    return [0, [], None, 1.0, *([list(utility)] if utility else [])]


async def test_every_rank_is_told_its_own_addresses(link: StageLink, engine: FakeEngine) -> None:
    assert link.clients == 3
    assert link.ready_payload == READY_PAYLOAD
    addresses = [ends.input_address for ends in link.ranks]
    addresses += [ends.output_address for ends in link.ranks]
    assert len(set(addresses)) == 4
    assert [len(ends.fds()) for ends in link.ranks] == [2, 2]
    # Each rank's listener has the engine's connection, also while no frontend is there.
    for ends in link.ranks:
        for listener in (ends.input, ends.output):
            listener.settimeout(DEADLINE_S)
            connection, _ = await asyncio.to_thread(listener.accept)
            connection.close()


async def test_call_is_answered(link: StageLink, engine: FakeEngine) -> None:
    seen: list[object] = []

    def answer(client: int, call_id: int, method: str, arguments: list[object]) -> list[object]:
        seen.extend([client, method, arguments])
        return output(call_id, None, [None, {"running": 1}])

    thread = answer_once(engine, answer)
    assert await link.call("omni_gauges", 1, "two") == {"running": 1}
    thread.join(DEADLINE_S)
    assert seen == [2, "omni_gauges", [1, "two"]]


@pytest.mark.parametrize("result", [None, [None, None]])
async def test_call_of_a_method_that_returns_nothing(
    link: StageLink, engine: FakeEngine, result: object
) -> None:
    answer_once(engine, lambda client, call_id, *_: output(call_id, None, result))
    assert await link.call("reset") is None


async def test_failure_of_a_method_is_told(link: StageLink, engine: FakeEngine) -> None:
    answer_once(engine, lambda client, call_id, *_: output(call_id, "no such method", None))
    with pytest.raises(RuntimeError, match="^no such method$"):
        await link.call("omni_nothing")


async def test_outputs_that_answer_nothing_are_passed_over(
    link: StageLink, engine: FakeEngine
) -> None:
    def answer(client: int, call_id: int, *_: object) -> list[object]:
        for other in ([], [0], output(), output(call_id + 99, None, [None, "not asked for"])):
            engine.outputs[client].send(msgspec.msgpack.encode(other))
        return output(call_id, None, [None, "asked for"])

    answer_once(engine, answer)
    assert await link.call("ask") == "asked for"


async def test_call_that_is_not_answered_times_out(link: StageLink, engine: FakeEngine) -> None:
    answer_once(engine, lambda *_: output())
    with pytest.raises(TimeoutError):
        await link.call("ask", timeout_s=SHORT_S)
    assert link._calls == {}


async def test_answer_that_comes_too_late_is_dropped(link: StageLink, engine: FakeEngine) -> None:
    with pytest.raises(TimeoutError):
        await link.call("slow", timeout_s=SHORT_S)
    # The first call is answered with the second already waiting.
    thread = answer_once(engine, lambda client, call_id, *_: output(call_id, None, [None, 1]))
    call = asyncio.create_task(link.call("ask"))
    await asyncio.to_thread(thread.join)
    answer_once(engine, lambda client, call_id, *_: output(call_id, None, [None, 2]))
    assert await asyncio.wait_for(call, DEADLINE_S) == 2


async def test_death_that_the_engine_tells_fails_the_calls(
    link: StageLink, engine: FakeEngine
) -> None:
    answer_once(engine, lambda *_: ENGINE_CORE_DEAD)
    with pytest.raises(EngineDead):
        await link.call("ask")


async def test_call_to_an_engine_that_never_came_fails_at_once(link: StageLink) -> None:
    with pytest.raises(zmq.ZMQError):
        await asyncio.wait_for(link.call("ask"), DEADLINE_S)


async def test_message_that_is_no_output_does_not_end_the_reader(
    link: StageLink, engine: FakeEngine
) -> None:
    answer_once(engine, lambda *_: b"\xc1 no msgpack")
    with pytest.raises(TimeoutError):
        await link.call("ask", timeout_s=SHORT_S)
    answer_once(engine, lambda client, call_id, *_: output(call_id, None, [None, 2]))
    assert await link.call("ask") == 2


async def test_wrong_word_in_the_handshake_is_refused(link: StageLink) -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.IDENTITY, ENGINE_IDENTITY)
        dealer.connect(link.handshake_address)
        dealer.send(msgspec.msgpack.encode({"status": "READY"}))
        with pytest.raises(RuntimeError, match="the engine said 'READY' where 'HELLO' was due"):
            await asyncio.wait_for(link.wait_ready(), DEADLINE_S)


async def test_close_while_a_call_waits(link: StageLink, engine: FakeEngine) -> None:
    call = asyncio.create_task(link.call("ask", timeout_s=SHORT_S))
    await asyncio.sleep(0)
    await link.close()
    with pytest.raises(TimeoutError):
        await call
