"""`omni run-batch` as a process, against a real HTTP server without an engine."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.omni_cli.batch.serving import BatchServer, Step
from tests.omni_cli.conftest import COMMAND, DEADLINE_S, RunOmni, Screen, omni_env
from tests.server.batch.world import input_of

POLL_S = 0.01


@pytest.fixture
def server() -> Iterator[BatchServer]:
    made = BatchServer()
    yield made
    with contextlib.suppress(OSError):
        made.close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OMNI_URL", raising=False)
    (tmp_path / "in.jsonl").write_bytes(input_of(20))
    return tmp_path


def numbers(path: str | Path) -> list[int]:
    """Input lines that a result file is about; all of its lines are whole."""
    data = Path(path).read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [int(json.loads(line)["custom_id"].removeprefix("id-")) for line in data.splitlines()]


def started(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "run-batch", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=omni_env(),
        start_new_session=True,
    )


def wait_for_lines(path: str, count: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not os.path.exists(path) or Path(path).read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, f"{path} has no {count} lines"
        threading.Event().wait(POLL_S)


class TestRun:
    def test_results_and_failures(self, omni: RunOmni, server: BatchServer) -> None:
        server.step = lambda path, body: (
            Step(400, {"error": {"message": "no"}}) if body["n"] == 7 else Step(body={"n": body})
        )
        run = omni("run-batch", "in.jsonl", "-o", "out.jsonl", "--url", server.url)
        assert (run.code, run.out) == (1, "")
        assert numbers("out.jsonl") == [n for n in range(1, 21) if n != 7]
        assert numbers("out.errors.jsonl") == [7]
        assert "20 of 20 lines in" in run.err
        assert "19 done, 1 failed (see out.errors.jsonl)" in run.err
        assert sorted(os.listdir()) == ["in.jsonl", "out.errors.jsonl", "out.jsonl"]

    def test_without_failures_there_is_no_error_file(
        self, omni: RunOmni, server: BatchServer
    ) -> None:
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--json", "--quiet")
        assert run.code == 0
        assert run.err == ""
        summary = json.loads(run.out)
        assert (summary["lines"], summary["done"], summary["failed"]) == (20, 20, 0)
        assert sorted(os.listdir()) == ["in.jsonl", "out"]

    def test_pipes(self, omni: RunOmni, server: BatchServer) -> None:
        server.step = lambda path, body: Step(400 if body["n"] == 2 else 200, {})
        run = omni(
            "run-batch", "-", "-o", "-", "--url", server.url, stdin=input_of(3), OMNI_DEBUG="1"
        )
        assert run.code == 1
        assert [json.loads(line)["custom_id"] for line in run.out.splitlines()] == ["id-1", "id-3"]
        failed = [json.loads(line) for line in run.err.splitlines() if line.startswith("{")]
        assert [line["custom_id"] for line in failed] == ["id-2"]
        assert os.listdir() == ["in.jsonl"]

    def test_busy_and_broken_server_is_asked_again(
        self, omni: RunOmni, server: BatchServer
    ) -> None:
        first: dict[int, Step] = {
            3: Step(503, {}, {"retry-after": "1"}),
            5: Step(200, {"cut": "in the middle"}, cut=True),
            9: Step(429, {}, {"retry-after": "0"}),
        }
        server.step = lambda path, body: first.pop(body["n"], Step(body={}))
        begun = time.monotonic()
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--json")
        assert run.code == 0
        assert json.loads(run.out)["retries"] == 3
        assert numbers("out") == list(range(1, 21))
        assert time.monotonic() - begun >= 1.0
        assert len(server.asked) == 23

    def test_concurrency_is_bounded(self, omni: RunOmni, server: BatchServer) -> None:
        at_work, most = 0, 0
        lock, full = threading.Lock(), threading.Event()

        def step(path: str, body: Any) -> Step:
            nonlocal at_work, most
            with lock:
                at_work += 1
                most = max(most, at_work)
                if at_work == 3:
                    full.set()
            full.wait(5)
            with lock:
                at_work -= 1
            return Step(body={})

        server.step = step
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--concurrency", "3")
        assert (run.code, most) == (0, 3)

    def test_full_disk(self, omni: RunOmni, server: BatchServer) -> None:
        run = omni("run-batch", "in.jsonl", "-o", "/dev/full", "--errors", "e", "--url", server.url)
        assert run.code == 1
        assert "error: /dev/full: cannot be written: No space left on device\n" in run.err

    def test_reader_of_the_output_has_left(self, server: BatchServer) -> None:
        process = started("in.jsonl", "-o", "-", "--url", server.url)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(DEADLINE_S) == 141
        assert process.stderr is not None
        process.stderr.close()

    def test_server_that_leaves_ends_the_run(self, omni: RunOmni, server: BatchServer) -> None:
        def step(path: str, body: Any) -> Step:
            if body["n"] == 5:
                threading.Thread(target=server.close).start()
            return Step(body={}, headers={"connection": "close"})

        server.step = step
        # A connection that the closing socket had taken breaks, and is tried again.
        arguments = ("in.jsonl", "-o", "out", "--concurrency", "1", "--max-retries", "2")
        run = omni("run-batch", *arguments, "--url", server.url)
        assert run.code == 1
        assert f"error: {server.url}: cannot be reached any more" in run.err
        assert "--resume goes on with the lines that have no result" in run.err
        done = numbers("out")
        assert done == list(range(1, len(done) + 1))
        assert 4 <= len(done) < 20
        assert numbers("out.errors.jsonl") == []
        again = BatchServer()
        try:
            assert omni("run-batch", *arguments, "--url", again.url, "--resume").code == 0
        finally:
            again.close()
        assert numbers("out") == list(range(1, 21))

    def test_nobody_is_there(self, omni: RunOmni) -> None:
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", "http://127.0.0.1:9")
        assert run.code == 1
        assert "no server there (connection refused)" in run.err
        assert os.listdir() == ["in.jsonl"]


class TestStops:
    def slow_server(self, server: BatchServer, after: int) -> threading.Event:
        """Answers `after` lines at once, and the others when the event is set."""
        let_go = threading.Event()
        left = iter(range(after))

        def step(path: str, body: Any) -> Step:
            if next(left, None) is None:
                let_go.wait(DEADLINE_S)
            return Step(body={"n": body["n"]})

        server.step = step
        return let_go

    def test_interrupt(self, omni: RunOmni, server: BatchServer) -> None:
        let_go = self.slow_server(server, 6)
        process = started("in.jsonl", "-o", "out", "--url", server.url, "--concurrency", "2")
        wait_for_lines("out", 6)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE_S)
        let_go.set()
        assert process.returncode == 130
        assert b"6 of 20 lines" in err
        assert b"--resume goes on" in err
        assert numbers("out") == [1, 2, 3, 4, 5, 6]
        assert omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--resume").code == 0
        assert numbers("out") == list(range(1, 21))

    def test_kill(self, omni: RunOmni, server: BatchServer) -> None:
        done: list[int] = []
        for after in (4, 3):
            let_go = self.slow_server(server, after)
            extra = ("--resume",) if done else ()
            arguments = ("in.jsonl", "-o", "out", "--url", server.url, "--concurrency", "2")
            process = started(*arguments, *extra)
            wait_for_lines("out", len(done) + after)
            process.kill()
            process.communicate(timeout=DEADLINE_S)
            let_go.set()
            done = numbers("out")
        with Path("out").open("ab") as file:
            file.write(b'{"id":"torn')  # what a kill inside a large write leaves
        before = len(server.asked)
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--resume")
        assert run.code == 0
        assert numbers("out") == list(range(1, 21))
        assert sorted(body["n"] for body in server.asked[before:]) == list(range(8, 21))
        assert sorted(os.listdir()) == ["in.jsonl", "out"]


class TestResultFiles:
    def test_existing_output_is_refused(self, omni: RunOmni, server: BatchServer) -> None:
        Path("out").write_text("mine\n")
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url)
        assert (run.code, run.err) == (
            2,
            "error: -o out: is there already; name another, or give --overwrite\n",
        )
        assert Path("out").read_text() == "mine\n"
        assert (
            omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--overwrite").code == 0
        )
        assert numbers("out") == list(range(1, 21))

    def test_unfinished_output_is_refused(self, omni: RunOmni, server: BatchServer) -> None:
        Path("out").touch()
        Path("out.journal").touch()
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url)
        assert (run.code, run.err) == (
            2,
            "error: -o out: belongs to a batch that has not ended; "
            "--resume goes on with it, --overwrite begins again\n",
        )

    def test_resuming_what_is_complete_runs_nothing(
        self, omni: RunOmni, server: BatchServer
    ) -> None:
        server.step = lambda path, body: Step(400 if body["n"] == 2 else 200, {})
        for resume in ((), ("--resume",), ("--resume",)):
            run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, *resume)
            assert run.code == 1
        assert len(server.asked) == 20
        assert "20 of 20 lines in 0.0 s, 20 of them before this run" in run.err

    def test_resuming_nothing_begins(self, omni: RunOmni, server: BatchServer) -> None:
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--resume")
        assert run.code == 0
        assert numbers("out") == list(range(1, 21))

    def test_another_batch_is_not_resumed(self, omni: RunOmni, server: BatchServer) -> None:
        url = ("--url", server.url)
        server.close()
        begun = omni("run-batch", "in.jsonl", "-o", "out", *url, "--max-retries", "0")
        assert begun.code == 1
        again = BatchServer()
        url = ("--url", again.url)
        let_go = TestStops().slow_server(again, 3)
        process = started("in.jsonl", "-o", "out", *url, "--concurrency", "1")
        wait_for_lines("out", 3)
        process.kill()
        process.communicate(timeout=DEADLINE_S)
        let_go.set()
        Path("other.jsonl").write_bytes(input_of(21))
        errors = os.path.realpath("out.errors.jsonl")
        cases = {
            ("other.jsonl", "-o", "out"): (
                "INPUT other.jsonl: is not the input with which out was begun; "
                "give that file, or --overwrite to begin again"
            ),
            ("in.jsonl", "-o", "out", "--unordered"): (
                "--unordered: was not so when the batch was begun; leave --unordered out"
            ),
            ("in.jsonl", "-o", "out", "--errors", "e"): (
                f"--errors e: was {errors} when the batch was begun; give that file again"
            ),
        }
        for arguments, err in cases.items():
            run = omni("run-batch", *arguments, *url, "--resume")
            assert (run.code, run.err) == (2, f"error: {err}\n")
        again.close()

    def test_foreign_file_is_not_resumed(self, omni: RunOmni, server: BatchServer) -> None:
        Path("out").write_text("mine\n")
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--resume")
        assert (run.code, run.err) == (
            2,
            "error: --resume out: line 1 is no result of in.jsonl; --overwrite begins again\n",
        )
        assert Path("out").read_text() == "mine\n"

    def test_one_run_at_a_time(self, omni: RunOmni, server: BatchServer) -> None:
        with Path("out").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url, "--overwrite")
        assert (run.code, run.err) == (
            2,
            "error: -o out: is being written by another run-batch; "
            "wait for its end, or name another file\n",
        )

    @pytest.mark.parametrize(
        ("arguments", "err"),
        [
            (("-o", "in.jsonl", "--overwrite"), "-o in.jsonl: is the same file as INPUT"),
            (("-o", "x", "--errors", "x"), "--errors x: is the same file as -o"),
            (("-o", "no/x"), "-o no/x: its folder is not there; make it first"),
            (("-o", "."), "-o .: is a folder; name a file in it"),
            (("-o", "-", "--resume"), "-o -: cannot be resumed"),
            (("-o", "x", "--errors", "/dev/null", "--resume"), "--errors /dev/null: cannot be"),
        ],
    )
    def test_files_that_cannot_be(
        self, omni: RunOmni, arguments: tuple[str, ...], err: str
    ) -> None:
        run = omni("run-batch", "in.jsonl", *arguments, "--url", "http://127.0.0.1:9")
        assert run.code == 2
        assert run.err.startswith(f"error: {err}")
        assert run.err.count("\n") == 1
        assert os.listdir() == ["in.jsonl"]


class TestCheck:
    BAD = b'{"custom_id": "a", "method": "GET", "url": "/v1/completions", "body": {}}\n{\n'

    def test_good_lines(self, omni: RunOmni) -> None:
        run = omni("run-batch", "in.jsonl", "--check")
        assert (run.code, run.out, run.err) == (
            0,
            "",
            "in.jsonl: 20 lines, every line can be run\n",
        )

    def test_bad_lines_run_nothing(self, omni: RunOmni, server: BatchServer) -> None:
        Path("in.jsonl").write_bytes(self.BAD)
        told = (
            "error: in.jsonl line 1 (a): method GET: must be POST\n"
            "error: in.jsonl line 2: is not JSON: Expecting property name enclosed in double "
            "quotes (column 2); write one JSON object on one line\n"
        )
        run = omni("run-batch", "in.jsonl", "--check")
        assert (run.code, run.err) == (2, f"{told}in.jsonl: 2 lines, 2 of 2 lines are bad\n")
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url)
        ending = "in.jsonl: 2 lines, 2 of 2 lines are bad; nothing was run\n"
        assert (run.code, run.err) == (2, told + ending)
        assert server.asked == []
        assert os.listdir() == ["in.jsonl"]

    def test_object(self, omni: RunOmni) -> None:
        run = omni("run-batch", "-", "--check", "--json", stdin=self.BAD)
        found = json.loads(run.out)
        assert (run.code, found["lines"], found["bad"]) == (2, 2, 2)
        assert found["faults"][0] == {
            "line": 1,
            "custom_id": "a",
            "field": "method",
            "reason": "must be POST",
            "way_out": None,
        }

    def test_models_of_a_server(self, omni: RunOmni, server: BatchServer) -> None:
        line = {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/completions",
            "body": {"model": "x"},
        }
        Path("in.jsonl").write_text(json.dumps(line))
        run = omni("run-batch", "in.jsonl", "--check", "--url", server.url)
        assert run.code == 2
        assert "body.model x: is not served; served: tiny\n" in run.err
        run = omni("run-batch", "in.jsonl", "--check", "--url", "http://127.0.0.1:9")
        assert run.code == 0
        assert "the models' names are not checked: " in run.err

    def test_models_of_engines(self, omni: RunOmni) -> None:
        line = {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/completions",
            "body": {"model": "x"},
        }
        Path("in.jsonl").write_text(json.dumps(line))
        arguments = ("--served-model-name", "mine", "--check", "smollm2-135m-instruct")
        run = omni("run-batch", "in.jsonl", *arguments)
        assert run.code == 2
        assert "body.model x: is not served; served: mine\n" in run.err

    def test_no_lines(self, omni: RunOmni, server: BatchServer) -> None:
        Path("in.jsonl").write_text("\n\n")
        assert omni("run-batch", "in.jsonl", "--check").code == 0
        run = omni("run-batch", "in.jsonl", "-o", "out", "--url", server.url)
        assert run.code == 0
        assert numbers("out") == []


class TestBar:
    def test_bar_on_a_terminal(self, screen: Screen, server: BatchServer, folder: Path) -> None:
        let_go = TestStops().slow_server(server, 6)
        command = f"{' '.join(COMMAND)} run-batch {folder}/in.jsonl -o {folder}/out"
        screen.type(f"{command} --url {server.url} --concurrency 2")
        screen.wait_for("6/20 lines")
        let_go.set()
        shown = screen.wait_for("20 done, 0 failed")
        assert "/20 lines" not in shown.rpartition("20 of 20 lines")[2]
