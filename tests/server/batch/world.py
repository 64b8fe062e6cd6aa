"""A batch on disk, and a server that answers as it is told."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from server.batch.job import Descriptors, Job, Opened
from server.batch.journal import Head
from server.batch.lines import survey
from server.batch.results import Answer
from server.batch.run import Batch, Tally, Unreachable, run_batch

DEADLINE_S = 30.0


def request(custom_id: str, **fields: object) -> bytes:
    """One line of an input, without its end."""
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/completions", "body": {}}
    return json.dumps({**line, **fields}).encode()


def input_of(count: int, size: int = 0) -> bytes:
    """`count` lines; each names its own number in its body, and has `size` further bytes."""
    rest = "x" * size
    lines = [request(f"id-{n}", body={"n": n, "rest": rest}) for n in range(1, count + 1)]
    return b"".join(line + b"\n" for line in lines)


class Server:
    """A ``Sender``.

    Args:
        failing: Lines that get a 400.
        turns: How many turns of the loop a line takes, by its number; 0 unless given.
        dies_after: Answers after which nobody is there any more.
        on_answer: Told each number that is answered.
    """

    def __init__(
        self,
        *,
        failing: frozenset[int] = frozenset(),
        turns: Mapping[int, int] | None = None,
        dies_after: int | None = None,
    ) -> None:
        self.failing = failing
        self.turns = turns or {}
        self.left = dies_after
        self.asked: list[int] = []
        self.at_work = 0
        self.most_at_work = 0

    async def send(self, url: str, body: msgspec.Raw) -> Answer:
        asked = json.loads(bytes(body))
        number = asked["n"]
        self.asked.append(number)
        self.at_work += 1
        self.most_at_work = max(self.at_work, self.most_at_work)
        for _ in range(self.turns.get(number, 0)):
            await asyncio.sleep(0)
        self.at_work -= 1
        if self.left is not None:
            if self.left == 0:
                raise Unreachable("gone")
            self.left -= 1
        status = 400 if number in self.failing else 200
        return Answer(status, f"req-{number}", json.dumps({"echo": asked}).encode())


class World:
    """The files of one batch in a folder."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.input = folder / "in.jsonl"
        self.output = folder / "out.jsonl"
        self.errors = folder / "errors.jsonl"
        self.journal = folder / "out.jsonl.journal"
        self.input.write_bytes(data)
        self.survey = survey(io.BytesIO(data))

    def opened(self, *, ordered: bool = True, resumed: bool = False) -> Opened:
        """The files at the beginning of a run; the journal gets its head."""
        if not self.journal.exists():
            head = Head(
                size=self.survey.size,
                digest=self.survey.digest,
                ordered=ordered,
                errors=str(self.errors),
            )
            self.journal.write_bytes(msgspec.json.encode(head) + b"\n")
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        targets = (self.output, self.errors, self.journal)
        fds = [os.open(path, flags, 0o600) for path in targets]
        return Opened(self.job(ordered, resumed), Descriptors(os.open(self.input, 0), *fds))

    def job(self, ordered: bool, resumed: bool) -> Job:
        return Job(
            lines=self.survey.lines,
            digest=self.survey.digest,
            ordered=ordered,
            resumed=resumed,
            journal=str(self.journal),
            output="out",
            errors="errors",
            concurrency=None,
            max_retries=0,
        )

    async def run(
        self,
        server: Server,
        *,
        concurrency: int = 4,
        ordered: bool = True,
        resumed: bool = False,
        on_progress: Callable[[Tally], None] = lambda tally: None,
    ) -> Tally:
        """Run what has no result yet."""
        opened = self.opened(ordered=ordered, resumed=resumed)
        batch = Batch(
            file=opened.source,
            digest=self.survey.digest,
            done=opened.done,
            concurrency=concurrency,
            max_retries=0,
        )
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await run_batch(batch, server, opened.sink, on_progress)
        finally:
            opened.close()

    def numbers(self, path: Path) -> list[int]:
        """The input lines that a result file is about; every line of it is whole."""
        data = path.read_bytes()
        assert data == b"" or data.endswith(b"\n")
        ids = [json.loads(line)["custom_id"] for line in data.splitlines()]
        return [int(custom_id.removeprefix("id-")) for custom_id in ids]
