"""From the first second to the last: early answers, hand-over, ends of every kind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import pytest

from tests.e2e.serving import CHAT_MODEL, Server, poll_until
from tests.e2e.tiny_model import write_tiny_model

pytestmark = pytest.mark.engine

Launch = Callable[..., Server]
GONE_TIMEOUT_S = 5.0


def run_directory(server: Server) -> Path:
    """The server's private directory, found by the lock that it holds there."""

    def held() -> list[Path]:
        targets = []
        for fd in Path(f"/proc/{server.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                targets.append(Path(os.readlink(fd)))
        return [path.parent for path in targets if path.parent.name.startswith("omni-run-")]

    poll_until(held, 30, "a run directory")
    return held()[0]


def stream(server: Server, max_tokens: int) -> Generator[str, None, None]:
    """Lines of a streamed completion that goes on for `max_tokens`."""
    body = {
        "prompt": "Once",
        "max_tokens": max_tokens,
        "stream": True,
        "ignore_eos": True,
    }
    url = f"{server.url}/v1/completions"
    with httpx.stream("POST", url, json=body, timeout=120) as answer:
        assert answer.status_code == 200
        yield from answer.iter_lines()


def kill_parent(server: Server) -> None:
    """SIGKILL the parent, and nothing of its family is left within `GONE_TIMEOUT_S`."""
    server.note_family()
    assert server.seen
    server.process.kill()
    server.process.wait()
    poll_until(lambda: not server.survivors(), GONE_TIMEOUT_S, f"gone: {server.survivors()}")


class TestStart:
    def test_parent_answers_until_the_first_rank_takes_over(self, launch: Launch) -> None:
        begun = time.monotonic()
        server = launch()
        with httpx.Client(base_url=server.url, timeout=5) as client:
            live = client.get("/livez")
            assert (live.status_code, live.headers["x-omni-rank"]) == (200, "parent")
            startup = client.get("/startupz")
            assert startup.status_code == 503
            assert startup.json()["status"] == "starting"
            assert time.monotonic() - begun < 5.0
            refused = client.post("/v1/chat/completions", json={"model": CHAT_MODEL})
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.headers["x-request-id"]
        ranks, failures = self._probe_until_ready(server)
        # Once a frontend has answered, the parent never does again; nobody is ever refused.
        first = ranks.index("0")
        assert set(ranks[first:]) == {"0"}
        assert failures == []
        phases = {phase["name"] for phase in httpx.get(f"{server.url}/startupz").json()["phases"]}
        assert {"import", f"stage {CHAT_MODEL}", "frontend 0"} <= phases
        text = server.text()
        assert f"at {server.url}" in text
        assert f"model  {CHAT_MODEL}" in text
        assert "omni chat --url" in text
        assert server.stop(signal.SIGTERM) == 0

    def _probe_until_ready(self, server: Server) -> tuple[list[str], list[str]]:
        ranks: list[str] = []
        failures: list[str] = []
        ready = threading.Event()

        def probe() -> None:
            while not ready.is_set() or "0" not in ranks[-20:]:
                try:
                    answer = httpx.get(f"{server.url}/livez", timeout=30)
                    ranks.append(answer.headers["x-omni-rank"])
                except httpx.TransportError as error:
                    failures.append(repr(error))
                    return

        prober = threading.Thread(target=probe)
        prober.start()
        try:
            server.wait_ready()
        finally:
            ready.set()
            prober.join(60)
        return ranks, failures


class TestSignals:
    def test_sigterm_lets_a_stream_finish(self, launch: Launch) -> None:
        server = launch("--api-server-count", "2")
        server.wait_ready()
        folder = run_directory(server)
        lines = stream(server, 60)
        next(lines)
        server.process.send_signal(signal.SIGTERM)
        rest = [line for line in lines if line]
        assert rest[-1] == "data: [DONE]"
        assert '"finish_reason":"length"' in rest[-2]
        assert server.process.wait(60) == 0
        assert not server.survivors()
        assert not folder.exists()

    def test_sigint_ends_with_130_and_a_second_one_at_once(self, launch: Launch) -> None:
        server = launch()
        server.wait_ready()
        server.note_family()
        lines = stream(server, 4000)
        next(lines)
        server.process.send_signal(signal.SIGINT)
        poll_until(lambda: "stopping" in server.text(), 10, "says that it stops")
        assert server.process.poll() is None
        begun = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 130
        assert time.monotonic() - begun < 10
        lines.close()
        assert not server.survivors()

    def test_sigterm_while_loading_ends_at_once(self, launch: Launch) -> None:
        server = launch()
        poll_until(lambda: len(server.family()) >= 1, 30, "a child")
        server.note_family()
        assert server.stop(signal.SIGTERM) == 0
        assert not server.survivors()


class TestParentKilled:
    def test_while_importing_nothing_is_left(self, launch: Launch) -> None:
        server = launch()
        poll_until(lambda: "zygote" in server.family(), 60, "the zygote")
        kill_parent(server)

    def test_while_loading_nothing_is_left(self, launch: Launch) -> None:
        server = launch()
        poll_until(lambda: len(server.family()) > 1, 120, "the engine's process")
        kill_parent(server)

    @pytest.mark.parametrize("executor", ["uni", "mp"])
    def test_while_serving_with_a_stopped_engine_nothing_is_left(
        self, launch: Launch, executor: str
    ) -> None:
        server = launch("--distributed-executor-backend", executor)
        server.wait_ready()
        folder = run_directory(server)
        lines = stream(server, 4000)
        next(lines)
        family = server.family()
        assert ("worker" in family) == (executor == "mp")
        for process in family["engine"] + family.get("worker", []):
            process.send_signal(signal.SIGSTOP)
        kill_parent(server)
        # Its sockets are still there, for the next start to remove.
        assert folder.exists()
        again = launch()
        poll_until(lambda: not folder.exists(), 30, "leftovers are removed")
        again.stop()


class TestDeaths:
    def test_a_killed_engine_ends_the_server_with_its_name(self, launch: Launch) -> None:
        server = launch("--api-server-count", "2")
        server.wait_ready()
        (engine,) = server.family()["engine"]
        server.note_family()
        engine.kill()
        assert server.process.wait(30) == 1
        last = server.text().strip().splitlines()[-1]
        assert last == f"error: stage {CHAT_MODEL} died: was killed (out of memory, or by hand)"
        assert not server.survivors()

    def test_a_killed_frontend_ends_the_server_with_its_name(self, launch: Launch) -> None:
        server = launch("--api-server-count", "2")
        server.wait_ready()
        server.note_family()
        server.family()["frontend"][1].kill()
        assert server.process.wait(30) == 1
        assert "error: frontend " in server.text().strip().splitlines()[-1]
        assert not server.survivors()


class TestBadStarts:
    def test_a_port_in_use_is_found_before_anything_starts(self, launch: Launch) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            server = launch("--port", str(port))
            assert server.process.wait(10) == 2
        assert f"error: --port {port}: " in server.text()
        assert not server.seen

    def test_a_broken_checkpoint_is_told_in_one_line(self, launch: Launch, tmp_path: Path) -> None:
        # Its checkpoint is well-formed and empty, which only loading finds.
        server = launch(str(write_tiny_model(tmp_path / "broken")))
        assert server.process.wait(120) == 3
        last = server.text().strip().splitlines()[-1]
        assert last.startswith("error: stage broken could not start: ")
        assert "Traceback" not in server.text()
        assert not server.survivors()

    def test_an_unknown_vllm_argument_is_found_before_anything_starts(
        self, launch: Launch, tmp_path: Path
    ) -> None:
        file = tmp_path / "pipeline.yaml"
        file.write_text(
            f"stages:\n  - name: chat\n    model: {CHAT_MODEL}\n    args:\n      max-modle-len: 5\n"
        )
        server = launch(str(file))
        assert server.process.wait(30) == 2
        place = f"{file}:5: stage chat: args.max-modle-len"
        assert f"error: {place}: is not an argument of vLLM; did you mean max-model-len?" in (
            server.text()
        )
        assert not server.seen


class TestWays:
    def test_tensor_parallel_of_two_serves_a_tiny_model(
        self, launch: Launch, tmp_path: Path
    ) -> None:
        folder = write_tiny_model(tmp_path / "tiny")
        server = launch(str(folder), "-tp", "2", "--load-format", "dummy")
        server.wait_ready()
        assert len(server.family()["worker"]) == 2
        assert [line for line in stream(server, 5) if line][-1] == "data: [DONE]"
        assert server.stop() == 0
        assert not server.survivors()

    def test_spawned_children_serve_as_forked_ones_do(self, launch: Launch, tmp_path: Path) -> None:
        folder = write_tiny_model(tmp_path / "tiny")
        server = launch(str(folder), "--load-format", "dummy", "--start-method", "spawn")
        server.wait_ready()
        assert "zygote" not in server.family()
        assert [line for line in stream(server, 5) if line][-1] == "data: [DONE]"
        assert server.stop() == 0
        assert not server.survivors()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_that_never_stop_coming_change_neither_code_nor_clean_up(
    launch: Launch, number: signal.Signals, code: int
) -> None:
    server = launch()
    directory = run_directory(server)
    deadline = time.monotonic() + 30
    while server.process.poll() is None and time.monotonic() < deadline:
        server.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(0.01)
    assert server.process.wait(5) == code
    assert not directory.exists()
    assert "Traceback" not in server.text()
