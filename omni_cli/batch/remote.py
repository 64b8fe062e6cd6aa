"""A batch run by this process: its lines go to a server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from engine_bridge.errors import ClientError
from omni_cli.batch.ending import Ending
from omni_cli.batch.http import HttpSender
from omni_cli.client.target import Target
from server.batch.files import WriteFailed
from server.batch.job import Job, Opened
from server.batch.results import Answer
from server.batch.run import Batch, Sender, Tally, Unreachable, run_batch

if TYPE_CHECKING:
    import msgspec

__all__ = ["DEFAULT_CONCURRENCY", "run_on_server"]

# What vLLM itself takes at once on a CPU; a server that has less room lets the rest wait.
DEFAULT_CONCURRENCY = 128


def run_on_server(
    target: Target | None, job: Job, opened: Opened, on_progress: Callable[[Tally], None]
) -> Ending:
    """Run what is left of a batch.

    Args:
        target: The server; None if no line is left, and results have only to be put in their place.
        job: What to do.
        opened: Its files; closed at the end.
        on_progress: Told how far it is.

    Raises:
        ClientError: The server has gone.
        BrokenPipeError: The reader of the output left.
    """
    try:
        return Ending(signal=asyncio.run(_run(target, job, opened, on_progress)))
    except WriteFailed as error:
        if error.pipe_closed:
            raise BrokenPipeError from error
        return Ending(cause=str(error))
    except Unreachable as error:
        assert target is not None
        raise ClientError(target.address.shown, f"cannot be reached any more: {error}") from error
    finally:
        opened.close()


async def _run(
    target: Target | None, job: Job, opened: Opened, on_progress: Callable[[Tally], None]
) -> signal.Signals | None:
    concurrency = job.concurrency or DEFAULT_CONCURRENCY
    batch = Batch(
        file=opened.source,
        digest=job.digest,
        done=opened.done,
        concurrency=concurrency,
        max_retries=job.max_retries,
    )
    async with AsyncExitStack() as closing:
        sender: Sender = _Nobody()
        if target is not None:
            sender = await closing.enter_async_context(HttpSender(target, concurrency))
        running = asyncio.create_task(run_batch(batch, sender, opened.sink, on_progress))
        return await _until_signal(running)


async def _until_signal(running: asyncio.Task[Tally]) -> signal.Signals | None:
    """Wait for the end, which a signal brings at once; no line is cut, since one is written in one
    step."""
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        received.append(number)
        running.cancel()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        await running
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
    return received[0] if received else None


class _Nobody:
    async def send(self, url: str, body: msgspec.Raw) -> Answer:
        raise AssertionError("no line is left")
