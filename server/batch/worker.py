"""Entry point of a batch's process: attaches to every stage as a rank, as a frontend does, and runs
the lines through the same application, without a socket.

The parent is told how far it is and when it has ended; its Drain stops at once what still runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence

import msgspec
import uvloop

from engine_bridge.channel import SocketChannel
from engine_bridge.errors import ChannelClosed
from engine_bridge.last_words import one_line
from engine_bridge.messages.from_frontend import (
    BatchFinished,
    BatchProgress,
    FrontendFailed,
    FrontendReady,
)
from engine_bridge.messages.to_frontend import StartFrontend, ToFrontend
from server.app import create_app
from server.batch.asgi import AppSender
from server.batch.bounds import MAX_CONCURRENCY
from server.batch.files import WriteFailed
from server.batch.job import Descriptors, Job, Opened
from server.batch.run import Batch, Tally, run_batch
from server.frontend import ParentLink, attached
from server.settings import FrontendSettings
from server.upstream import UpstreamStage

__all__ = ["main"]

# Beyond what the engines compute at once: lines that wait inside them, so that none is idle while
# the next line is being prepared.
MIN_AHEAD = 16
FDS = 4


def main(sock: socket.socket) -> int:
    """Run one batch.

    Args:
        sock: This side of the control channel.

    Returns:
        The process's exit code.
    """
    return uvloop.run(_serve(SocketChannel(sock, ToFrontend)))


async def _serve(channel: SocketChannel) -> int:
    start, fds = await channel.receive()
    assert isinstance(start, StartFrontend), "the first message"
    link = ParentLink(channel)
    try:
        stages = [stage async for stage in attached(start, iter(fds[FDS:]))]
        settings = FrontendSettings(
            rank=start.rank, api_server_count=start.api_server_count, version=start.version
        )
        app = create_app(settings, stages, link)
        link.own_metrics = app.registry
        job = msgspec.json.decode(start.settings, type=Job)
        opened = Opened(job, Descriptors(*fds[:FDS]))
    except Exception as error:
        # The edge of the process: the parent says it in one line.
        await channel.send(FrontendFailed(cause=one_line(error)))
        raise
    listening = asyncio.create_task(link.listen())
    await channel.send(FrontendReady())
    await link.accept.wait()
    batch = Batch(
        file=opened.source,
        digest=job.digest,
        done=opened.done,
        concurrency=job.concurrency or _concurrency(stages),
        max_retries=job.max_retries,
    )
    running = asyncio.create_task(_run(batch, AppSender(app), opened, channel))
    await link.drain.wait()
    # What has not finished stays without a result; what is being written is written first.
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    listening.cancel()
    opened.close()
    return 0


async def _run(batch: Batch, sender: AppSender, opened: Opened, channel: SocketChannel) -> None:
    latest = Tally()
    over = False
    changed = asyncio.Event()

    def report(tally: Tally) -> None:
        nonlocal latest
        latest = tally
        changed.set()

    async def pass_on() -> None:
        while not over:
            await changed.wait()
            changed.clear()
            await _send(channel, _progress(latest))

    passing = asyncio.create_task(pass_on())
    finished = BatchFinished()
    try:
        await run_batch(batch, sender, opened.sink, report)
    except WriteFailed as error:
        finished = BatchFinished(cause=one_line(error), pipe_closed=error.pipe_closed)
    except Exception as error:  # noqa: BLE001 - the edge of the process, as above
        await _send(channel, FrontendFailed(cause=one_line(error)))
        os._exit(1)
    # The last count comes before the end; a message that is on its way is never cut.
    over = True
    changed.set()
    await passing
    await _send(channel, finished)


async def _send(channel: SocketChannel, message: msgspec.Struct) -> None:
    # Without a parent this process is about to end.
    with contextlib.suppress(ChannelClosed):
        await channel.send(message)


def _progress(tally: Tally) -> BatchProgress:
    return BatchProgress(**msgspec.structs.asdict(tally))


def _concurrency(stages: Sequence[UpstreamStage]) -> int:
    """Enough to keep every engine full, and some more."""
    slots = sum(stage.llm.vllm_config.scheduler_config.max_num_seqs for stage in stages)
    return int(min(MAX_CONCURRENCY, slots + max(MIN_AHEAD, slots // 2)))
