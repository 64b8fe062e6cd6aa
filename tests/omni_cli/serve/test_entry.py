"""Setup as a whole: what is bound, what is shown, what is fetched."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models.progress import Progress, ProgressCallback
from engine_bridge.models.store import ModelStore
from omni_cli.serve.entry import Prepared, prepare, serve
from omni_cli.serve.listen import bind_listener
from omni_cli.serve.pull import pull_missing
from omni_cli.terminal import Terminal
from tests.omni_cli.serve.wishes import model_facts

CONFIG = '{"architectures": ["LlamaForCausalLM"]}'


@pytest.fixture
def dummy() -> str:
    """A model's folder that needs no weights."""
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text(CONFIG)
    return "./tiny"


def given(target: str, **flags: object) -> dict[str, object]:
    return {"target": target, "port": 0, "load_format": "dummy", **flags}


def prepared(flags: dict[str, object]) -> Prepared:
    found = prepare(flags)
    assert found is not None
    return found


def test_good_run_is_planned_and_listens(dummy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_CACHE_DIR", "/somewhere")
    found = prepared(given(dummy, verbose=True))
    with found.listener as listener:
        address = listener.getsockname()
        with socket.create_connection(address, timeout=5):
            pass
        assert found.settings.runtime.target == dummy
        assert [stage.name for stage in found.plan.stages] == ["tiny"]
        assert found.plan.stages[0].vllm_args["load_format"] == "dummy"
        assert found.terminal.verbosity == 1
        assert found.log_folder == Path("/somewhere/logs")


def test_pipeline_is_planned(dummy: str) -> None:
    text = f"stages:\n  - {{name: a, model: {dummy}}}\n  - {{name: b, model: {dummy}}}\n"
    Path("p.yaml").write_text(text)
    found = prepared(given("p.yaml"))
    with found.listener:
        assert [stage.name for stage in found.plan.stages] == ["a", "b"]


def test_refused_run_shows_all_problems_and_binds_nothing(
    dummy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    flags = given(dummy, port=port, pipeline_parallel_size=2, api_server_count=0)
    assert serve(flags) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        "error: --api-server-count 0: must be 1 to 64\n"
        "error: --pipeline-parallel-size 2: pipeline parallelism is not built yet; leave it at 1\n"
    )
    bind_listener("127.0.0.1", port).close()


def test_refused_pipeline_hides_no_problem_of_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("p.yaml").write_text("stages:\n  - name: a\n")
    with bind_listener("127.0.0.1", 0) as holder:
        port = holder.getsockname()[1]
        assert prepare(given("p.yaml", port=port)) is None
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: p.yaml:2: stages[0].model: is missing"
    assert lines[1].startswith(f"error: --port {port}: is in use by ")
    assert len(lines) == 2


def test_bad_value_is_reported_once(dummy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(given(dummy, host="", threads=0)) is None
    assert capsys.readouterr().err == (
        "error: --host '': must not be empty\nerror: --threads 0: must be 1 to 1024\n"
    )


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


class TestPull:
    def test_only_what_is_missing_is_fetched(self, capsys: pytest.CaptureFixture[str]) -> None:
        store = FakeStore()
        bundled = model_facts("minilm-l6")
        hub = model_facts("org/name")
        found = pull_missing({"a": bundled, "b": hub}, store, Terminal())
        assert (found, store.pulled) == ({"a": bundled, "b": hub}, [])
        assert capsys.readouterr().err == ""

    def test_progress_is_noted_once_a_step(self, capsys: pytest.CaptureFixture[str]) -> None:
        store = FakeStore()
        absent = replace(model_facts("minilm-l6"), here=False)
        found = pull_missing({"a": absent}, store, Terminal())
        assert found["a"].here
        assert found["a"].path == "cache/models/minilm-l6"
        assert capsys.readouterr().err == (
            "model minilm-l6 is not in the cache: fetching 84 MB, once\n"
            "model minilm-l6: downloading 0%\n"
            "model minilm-l6: waiting for another process that prepares it\n"
            "model minilm-l6 is ready in cache/models/minilm-l6\n"
        )

    def test_failure_is_passed_on(self) -> None:
        error = ModelError("minilm-l6", "cannot be fetched", retryable=True)
        absent = replace(model_facts("minilm-l6"), here=False)
        with pytest.raises(ModelError) as caught:
            pull_missing({"a": absent}, FakeStore(error), Terminal())
        assert caught.value is error
