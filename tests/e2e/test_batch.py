"""`omni run-batch` with engines of its own, killed twice and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.serving import OMNI, poll_until
from tests.e2e.tiny_model import write_tiny_model

pytestmark = pytest.mark.engine

LINES = 300
FAILING = 41
# Long enough that a run is not over before it is killed, on the fastest machine.
MAX_TOKENS = 48
# A start on a busy machine.
RUN_TIMEOUT_S = 150.0
GONE_TIMEOUT_S = 10.0
ENV = {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "100"}


def body(number: int) -> dict[str, object]:
    """Every kind of line; one of them asks for more than the model can hold."""
    if number == FAILING:
        return {"prompt": "x", "max_tokens": 100_000}
    if number % 3:
        return {"prompt": f"Number {number}", "max_tokens": MAX_TOKENS, "ignore_eos": True}
    messages = [{"role": "user", "content": f"Say {number}."}]
    return {"messages": messages, "max_tokens": MAX_TOKENS, "ignore_eos": True}


def write_input(path: Path) -> None:
    lines = []
    for number in range(1, LINES + 1):
        asked = body(number)
        url = "/v1/chat/completions" if "messages" in asked else "/v1/completions"
        line = {"custom_id": f"id-{number}", "method": "POST", "url": url, "body": asked}
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines))


class Run:
    """One `omni run-batch` in a process group of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.output = folder / "out.jsonl"
        self.log = folder / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [OMNI, "run-batch", "in.jsonl", "-o", "out.jsonl", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, **ENV},
                start_new_session=True,
            )
        self.before = self.lines()
        self.family: list[psutil.Process] = []

    def lines(self) -> int:
        return self.output.read_bytes().count(b"\n") if self.output.exists() else 0

    def wait_for(self, lines: int) -> None:
        """Wait for results, and note its family at the first new one; its death ends the wait."""

        def there() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            found = self.lines()
            if found > self.before and not self.family:
                self.family = psutil.Process(self.process.pid).children(recursive=True)
            return found >= lines

        poll_until(there, RUN_TIMEOUT_S, f"{lines} lines")

    def worker(self) -> psutil.Process:
        return next(
            child for child in self.family if "omni: frontend 0" in " ".join(child.cmdline())
        )

    def gone(self) -> bool:
        return not any(
            child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in self.family
        )

    def end(self) -> tuple[int, bytes]:
        out, _ = self.process.communicate(timeout=RUN_TIMEOUT_S)
        poll_until(self.gone, GONE_TIMEOUT_S, "no process is left")
        return self.process.returncode, out


@pytest.fixture
def folder(tmp_path: Path, bundled_models: None) -> Path:
    write_tiny_model(tmp_path / "tiny")
    write_input(tmp_path / "in.jsonl")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Iterator[Callable[..., Run]]:
    """Starts a run of the test's own; all are ended with the test."""
    runs: list[Run] = []

    def start(*arguments: str) -> Run:
        runs.append(Run(folder, *arguments))
        return runs[-1]

    yield start
    for each in runs:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


def test_killed_twice_each_line_is_there_once_and_in_order(
    folder: Path, run: Callable[..., Run]
) -> None:
    engines = ("tiny", "--load-format", "dummy", "--max-num-seqs", "8", "--max-model-len", "512")
    flags = (*engines, "--concurrency", "10", "--kv-cache-memory-bytes", "64M")

    first = run(*flags)
    first.wait_for(40)
    # Torch listens on loopback inside an engine, whoever runs it.
    listening = [
        connection
        for process in (psutil.Process(first.process.pid), first.worker())
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == []
    first.process.kill()
    assert first.end()[0] == -signal.SIGKILL

    before = ids(folder)
    second = run(*flags, "--resume")
    second.wait_for(150)
    second.worker().kill()
    assert second.end()[0] == 1
    assert "frontend 0 died" in second.log.read_text()
    after = ids(folder)
    assert {line: after[line] for line in before} == before

    third = run(*flags, "--resume", "--json")
    code, out = third.end()
    assert code == 1, third.log.read_text()
    found = ids(folder)
    assert {line: found[line] for line in after} == after
    expected = [n for n in range(1, LINES + 1) if n != FAILING]
    assert numbers(folder / "out.jsonl") == expected
    assert numbers(folder / "out.errors.jsonl") == [FAILING]
    assert sorted(os.listdir(folder)) == [
        "in.jsonl",
        "log",
        "out.errors.jsonl",
        "out.jsonl",
        "tiny",
    ]
    summary = json.loads(out)
    assert (summary["done"], summary["failed"]) == (LINES, 1)
    assert summary["done_before"] >= 150

    line = json.loads((folder / "out.jsonl").read_bytes().splitlines()[0])
    assert line["response"]["status_code"] == 200
    assert line["response"]["body"]["usage"]["completion_tokens"] == MAX_TOKENS
    failed = json.loads((folder / "out.errors.jsonl").read_bytes())
    assert failed["response"]["status_code"] == 400
    assert failed["response"]["body"]["error"]["type"] == "BadRequestError"


def numbers(path: Path) -> list[int]:
    return [
        int(json.loads(line)["custom_id"].removeprefix("id-"))
        for line in path.read_bytes().splitlines()
    ]


def ids(folder: Path) -> dict[int, str]:
    """The server's own id of each answer that is there, by line; a line run twice has another.
    Every file is whole but for a torn tail."""
    found = {}
    for path in (folder / "out.jsonl", folder / "out.errors.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            parsed = json.loads(line)
            found[int(parsed["custom_id"].removeprefix("id-"))] = parsed["response"]["request_id"]
    journal = folder / "out.jsonl.journal"
    records = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
    for record in records:
        parsed = json.loads(record.split(b" ", 2)[2])
        found[int(parsed["custom_id"].removeprefix("id-"))] = parsed["response"]["request_id"]
    return found
