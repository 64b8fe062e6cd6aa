"""Entry point of a frontend process: attaches its rank to every stage, builds the app, serves until
told to drain.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import AsyncIterator, Iterator

import msgspec
import uvloop
from prometheus_client import CollectorRegistry

from engine_bridge.channel import SocketChannel
from engine_bridge.errors import ChannelClosed
from engine_bridge.last_words import one_line
from engine_bridge.messages.from_frontend import (
    FrontendFailed,
    FrontendReady,
    MetricsCollected,
    Scrape,
)
from engine_bridge.messages.to_frontend import (
    Accept,
    CollectMetrics,
    Drain,
    Scraped,
    StartFrontend,
    StatusChanged,
    ToFrontend,
)
from engine_bridge.status import RuntimeStatus
from engine_bridge.vllm_client import attach
from server.accept import AcceptLedger
from server.app import create_app
from server.metrics import snapshot
from server.open_files import raise_open_files
from server.settings import FrontendSettings, HttpPlan
from server.upstream import UpstreamStage, build_stage
from server.upstream_http import build_server
from server.upstream_metrics import collecting, registries

__all__ = ["ParentLink", "attached", "main"]

# The parent collects from every rank and asks every engine; each of these has a shorter bound of
# its own.
SCRAPE_TIMEOUT_S = 15.0


class ParentLink:
    """The parent as the routes see it (`server.ports.Parent`), and the driver of its messages."""

    def __init__(self, channel: SocketChannel) -> None:
        self._channel = channel
        self._status = RuntimeStatus(started_at=0.0)
        self._ids = itertools.count(1)
        self._scrapes: dict[int, asyncio.Future[str]] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self.own_metrics: CollectorRegistry | None = None
        self.accept = asyncio.Event()
        self.drain = asyncio.Event()

    def status(self) -> RuntimeStatus:
        """The state of the run as last broadcast."""
        return self._status

    async def scrape(self) -> str:
        """The merged metrics of all ranks.

        Raises:
            ChannelClosed: If the parent is gone.
            TimeoutError: If it does not answer in time.
        """
        scrape_id = next(self._ids)
        answer = self._scrapes[scrape_id] = asyncio.get_running_loop().create_future()
        try:
            await self._channel.send(Scrape(id=scrape_id))
            return await asyncio.wait_for(answer, SCRAPE_TIMEOUT_S)
        finally:
            del self._scrapes[scrape_id]

    async def listen(self) -> None:
        """Take messages until the parent closes the channel, which ends this process: nobody would
        stop it.
        """
        try:
            while True:
                message, _ = await self._channel.receive()
                self._take(message)
        except ChannelClosed:
            os._exit(1)

    def _take(self, message: object) -> None:
        match message:
            case StatusChanged():
                self._status = message.status
            case CollectMetrics():
                task = asyncio.create_task(self._collect(message.id))
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)
            case Scraped():
                answer = self._scrapes.get(message.id)
                if answer is not None and not answer.done():
                    answer.set_result(message.text)
            case Accept():
                self.accept.set()
            case Drain():
                self.drain.set()
            case _:
                raise AssertionError(f"the parent sent {type(message).__name__}")

    async def _collect(self, collection_id: int) -> None:
        own = [self.own_metrics] if self.own_metrics is not None else []
        counted = snapshot([*registries(), *own])
        with contextlib.suppress(ChannelClosed):
            await self._channel.send(MetricsCollected(id=collection_id, snapshot=counted))


def main(sock: socket.socket) -> int:
    """Serve as one rank until the parent says drain.

    Args:
        sock: This side of the control channel.

    Returns:
        The process's exit code.
    """
    raise_open_files()
    return uvloop.run(_serve(SocketChannel(sock, ToFrontend)))


async def _serve(channel: SocketChannel) -> int:
    start, fds = await channel.receive()
    assert isinstance(start, StartFrontend), "the first message"
    link = ParentLink(channel)
    try:
        stages = [stage async for stage in attached(start, iter(fds[2:]))]
        settings = FrontendSettings(
            rank=start.rank,
            api_server_count=start.api_server_count,
            version=start.version,
            http=msgspec.json.decode(start.settings, type=HttpPlan),
        )
        app = create_app(settings, stages, link)
        link.own_metrics = app.registry
        ledger = AcceptLedger.attach(fds[1], start.api_server_count)
        os.close(fds[1])
        server = build_server(
            app, ledger, start.rank, settings.http, drain_timeout_s=start.drain_timeout_s
        )
    except Exception as error:
        # The edge of the process: the parent says it in one line.
        await channel.send(FrontendFailed(cause=one_line(error)))
        raise
    listening = asyncio.create_task(link.listen())
    await channel.send(FrontendReady())
    await link.accept.wait()
    serving = asyncio.create_task(server.serve(sockets=[socket.socket(fileno=fds[0])]))
    draining = asyncio.create_task(link.drain.wait())
    await asyncio.wait([serving, draining], return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    listening.cancel()
    return 0


async def attached(start: StartFrontend, fds: Iterator[int]) -> AsyncIterator[UpstreamStage]:
    """Connect this rank to each stage in turn.

    Args:
        start: The parent's first message.
        fds: Input and output of each stage.

    Raises:
        RuntimeError: A stage cannot be attached; names it.
    """
    for endpoint in start.stages:
        try:
            with collecting(endpoint.name):
                stage = attach(
                    endpoint,
                    rank=start.rank,
                    clients=start.clients,
                    input_fd=next(fds),
                    output_fd=next(fds),
                )
            built = await build_stage(stage.name, stage.served_names, stage.llm, stage.args)
        except Exception as error:
            # What cannot be attached is nearly always the model's tokenizer or template.
            kind = type(error).__name__
            message = f"stage {endpoint.name} cannot be attached: {kind}: {one_line(error)}"
            raise RuntimeError(message) from error
        yield built
