from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models.progress import Progress, ProgressCallback
from engine_bridge.models.store import ModelStore
from omni_cli.serve.fetch import Stopped, fetch_missing
from omni_cli.terminal import Terminal
from tests.omni_cli.serve.wishes import model_facts

# Bound of every wait; reached only by a hang.
WAIT_S = 20.0


class FakeStore(ModelStore):
    """A store whose pull takes no network."""

    def __init__(self, error: ModelError | None = None) -> None:
        super().__init__(Path("cache"))
        self.error = error
        self.pulled: list[str] = []

    def pull(
        self, name: str, progress: ProgressCallback | None = None, timeout_s: float = 0.0
    ) -> Path:
        assert progress is not None
        self.pulled.append(name)
        if self.error is not None:
            raise self.error
        for done in (0, 50, 100):
            progress(Progress(done, 100, "download"))
        progress(Progress(0, 0, "wait"))
        return self.folder / name


class SlowStore(FakeStore):
    """A store whose pull goes on, in small steps, until `finish` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.finish = threading.Event()

    def pull(
        self, name: str, progress: ProgressCallback | None = None, timeout_s: float = 0.0
    ) -> Path:
        assert progress is not None
        done = 0
        while not self.finish.wait(0.01):
            progress(Progress(done := done + 1, 0, "download"))
            self.begun.set()
        return self.folder / name


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


class TestFetch:
    def test_only_what_is_missing_is_fetched(
        self, listener: socket.socket, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = FakeStore()
        bundled = model_facts("minilm-l6")
        hub = model_facts("org/name")
        found = fetch_missing({"a": bundled, "b": hub}, store, Terminal(), listener)
        assert (found, store.pulled) == ({"a": bundled, "b": hub}, [])
        assert capsys.readouterr().err == ""

    def test_progress_is_noted_once_a_step(
        self, listener: socket.socket, capsys: pytest.CaptureFixture[str]
    ) -> None:
        models = {"a": replace(model_facts("minilm-l6"), here=False)}
        found = fetch_missing(models, FakeStore(), Terminal(), listener)
        assert found["a"].here
        assert found["a"].path == "cache/models/minilm-l6"
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == "model minilm-l6 is not in the cache: fetching 84 MB, once"
        assert [line.split(" 0 of")[0] for line in lines[1:-1]] == [
            "minilm-l6: downloading",
            "minilm-l6: waiting for another process that prepares it",
        ]
        assert lines[-1] == "model minilm-l6 is ready in cache/models/minilm-l6"

    def test_failure_is_passed_on(self, listener: socket.socket) -> None:
        error = ModelError("minilm-l6", "cannot be fetched", retryable=True)
        models = {"a": replace(model_facts("minilm-l6"), here=False)}
        with pytest.raises(ModelError) as caught:
            fetch_missing(models, FakeStore(error), Terminal(), listener)
        assert caught.value is error


class TestMeanwhile:
    def test_probes_are_answered_and_the_socket_stays_open(self, listener: socket.socket) -> None:
        store = SlowStore()
        answers: dict[str, httpx.Response] = {}

        def probe() -> None:
            port = listener.getsockname()[1]
            try:
                assert store.begun.wait(WAIT_S)
                for path in ("/livez", "/startupz", "/v1/models"):
                    url = f"http://127.0.0.1:{port}{path}"
                    answers[path] = httpx.get(url, timeout=WAIT_S)
            finally:
                store.finish.set()

        prober = threading.Thread(target=probe)
        prober.start()
        models = {"a": replace(model_facts("minilm-l6"), here=False)}
        assert fetch_missing(models, store, Terminal(), listener)["a"].here
        prober.join(WAIT_S)
        assert {path: answer.status_code for path, answer in answers.items()} == {
            "/livez": 200,
            "/startupz": 503,
            "/v1/models": 503,
        }
        phases = json.loads(answers["/startupz"].text)["phases"]
        assert [phase["name"] for phase in phases] == ["fetch minilm-l6"]
        assert answers["/v1/models"].headers["retry-after"]
        assert listener.fileno() >= 0

    @pytest.mark.parametrize(
        ("number", "raised"),
        [(signal.SIGTERM, Stopped), (signal.SIGINT, KeyboardInterrupt)],
    )
    def test_signals_end_it(
        self, listener: socket.socket, number: signal.Signals, raised: type[BaseException]
    ) -> None:
        store = SlowStore()

        def interrupt() -> None:
            if store.begun.wait(WAIT_S):
                os.kill(os.getpid(), number)

        threading.Thread(target=interrupt).start()
        models = {"a": replace(model_facts("minilm-l6"), here=False)}
        with pytest.raises(raised):
            fetch_missing(models, store, Terminal(), listener)
        assert not store.finish.is_set()
