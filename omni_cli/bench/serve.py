"""What `omni bench serve` does, as one call: prepare, warm up, load, tell."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from engine_bridge.errors import ClientError, UsageError
from omni_cli.bench.arrivals import poisson_arrivals
from omni_cli.bench.bounds import MAX_CONCURRENCY
from omni_cli.bench.client import LoadClient
from omni_cli.bench.load import Ending, Load, LoadResult
from omni_cli.bench.measures import Measures, measure
from omni_cli.bench.model_choice import choose_model
from omni_cli.bench.progress import LoadProgress
from omni_cli.bench.report import as_json, as_text
from omni_cli.bench.wishes import LoadWishes
from omni_cli.client.connection import Connection
from omni_cli.client.target import Target
from omni_cli.terminal import Terminal

__all__ = ["bench_serve"]

DONE, FAILED, INTERRUPTED = 0, 1, 130

# Descriptors beside those of the requests: the terminal, the loop, files of the interpreter
SPARE_DESCRIPTORS = 64


def bench_serve(target: Target, wishes: LoadWishes, *, as_object: bool, save: Path | None) -> int:
    """Put a server under load and print what was measured.

    Args:
        as_object: Print one JSON object instead of text.
        save: Where to write a line of JSON per request, or None.

    Returns:
        The exit code: 0 if every request was answered whole, 1 if one failed or was not sent in
        time, 130 after a Ctrl-C.

    Raises:
        UsageError: The file cannot be written.
        ClientError: The server is not there, serves no model, failed every warm-up request, or
            took all the time for them.
    """
    terminal = Terminal()
    with ExitStack() as stack:
        file = stack.enter_context(_created(save)) if save is not None else None
        with Connection(target, progress=terminal.progress) as connection:
            model = choose_model(connection, wishes.endpoint, wishes.model)
        _make_room(wishes.concurrency or MAX_CONCURRENCY)
        result = asyncio.run(_run(target, wishes, model, terminal))
        if file is not None:
            file.writelines(f"{json.dumps(record.as_json())}\n" for record in result.records)
    measures = measure(
        result,
        wishes.count,
        limits_ms=wishes.limits_ms,
        percentiles=wishes.percentiles,
        expected_tokens=wishes.endpoint.streams,
    )
    if as_object:
        about = {"url": target.address.shown, "model": model, "endpoint": str(wishes.endpoint)}
        found = {"target": about, "load": wishes.described, **as_json(measures)}
        terminal.out.write(f"{json.dumps(found)}\n")
    else:
        terminal.out.write(as_text(measures))
    return _code(measures)


async def _run(target: Target, wishes: LoadWishes, model: str, terminal: Terminal) -> LoadResult:
    loop = asyncio.get_running_loop()
    stops: list[Callable[[Ending], None]] = []
    interrupted = asyncio.Event()

    def interrupt() -> None:
        # The next one ends the command at once, should the first not be enough
        loop.remove_signal_handler(signal.SIGINT)
        interrupted.set()
        for stop in stops:
            stop(Ending.INTERRUPTED)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    common = {"model": model, **wishes.fields}

    def body(index: int) -> bytes:
        fields = wishes.prompt(index).body(wishes.endpoint)
        return json.dumps({**common, **fields}).encode()

    async with LoadClient.open(target, wishes.endpoint, target.timeout_s) as client:
        room = wishes.concurrency or MAX_CONCURRENCY
        deadline = loop.time() + wishes.max_seconds
        if wishes.warmup:
            warmer = Load(
                client.ask, lambda i: body(wishes.count + i), wishes.warmup, concurrency=room
            )
            stops.append(warmer.stop)
            terminal.progress("warming up")
            warm = await warmer.run(deadline - loop.time())
            terminal.progress("")
            _check_warm(warm, target)
            if warm.ended is Ending.MAX_SECONDS:
                reason = f"the warm-up took all of --max-seconds {wishes.max_seconds:g}"
                raise ClientError(target.address.shown, reason, "give more, or --warmup 0")
            if warm.ended is not Ending.COMPLETE:
                return LoadResult(ended=warm.ended)
        arrivals = poisson_arrivals(wishes.count, wishes.rate, wishes.seed) if wishes.rate else None
        progress = LoadProgress(wishes.count, terminal)
        load = Load(
            client.ask,
            body,
            wishes.count,
            concurrency=room,
            arrivals=arrivals,
            report=progress.note,
        )
        stops.append(load.stop)
        if interrupted.is_set():
            return LoadResult(ended=Ending.INTERRUPTED)
        with progress:
            return await load.run(max(deadline - loop.time(), 0.0))


def _check_warm(warm: LoadResult, target: Target) -> None:
    """Spare whoever waits a load of which every request would fail."""
    failures = [record.failure for record in warm.records if record.failure is not None]
    if failures and len(failures) == len(warm.records):
        first = failures[0]
        # What the server refuses it would refuse all the same; its message says why
        refused = first.kind.startswith("http_4")
        raise ClientError(
            target.address.shown,
            f"every warm-up request failed ({first.kind}): {first.message}",
            "" if refused else "--warmup 0 measures all the same",
        )


def _code(measures: Measures) -> int:
    if measures.ended is Ending.INTERRUPTED:
        return INTERRUPTED
    whole = measures.ended is Ending.COMPLETE and not measures.failed and measures.ok
    return DONE if whole else FAILED


def _created(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError("--save", path, f"cannot be written: {error.strerror}") from error


def _make_room(requests: int) -> None:
    """Allow this process as many descriptors as the requests in flight take, if it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = requests + SPARE_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
